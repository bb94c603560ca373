//! Tokens: sent to the API of the source and nowhere else, and never shown.

use code_hosts::Source;
use contract::ErrorCode;
use contract::config::{SourceKind, SourceSettings};
use tempfile::TempDir;

use super::fake_host::{FakeHost, Trouble};
use super::{KINDS, listed, refused, settings, source};

const TOKEN: &str = "tok_5b1e9c";

/// Settings with this token, and the folder with its file.
fn with_token(host: &FakeHost, token: &str) -> (SourceSettings, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    std::fs::write(&file, format!("{token}\n")).unwrap();
    (SourceSettings { token_file: Some(file), ..settings(host, &["acme"]) }, folder)
}

#[tokio::test(flavor = "multi_thread")]
async fn each_host_gets_the_token_in_its_own_way() {
    for (kind, token, expected) in [
        (SourceKind::Github, TOKEN, "Bearer tok_5b1e9c"),
        (SourceKind::Gitlab, TOKEN, "Bearer tok_5b1e9c"),
        (SourceKind::Gitea, TOKEN, "token tok_5b1e9c"),
        (SourceKind::Bitbucket, TOKEN, "Bearer tok_5b1e9c"),
        (SourceKind::Bitbucket, "robot:x", "Basic cm9ib3Q6eA=="),
    ] {
        let host = FakeHost::with_acme(kind, 3).await;
        let (settings, _folder) = with_token(&host, token);
        let listing = listed(&Source::new(&settings).unwrap()).await;
        let sent = host.take_requests();
        assert_eq!(sent.len(), 2);
        assert!(sent.iter().all(|request| request.authorization.as_deref() == Some(expected)), "{sent:?}");
        assert!(!format!("{listing:?}").contains(token), "{listing:?}");
        listed(&source(&host)).await;
        assert!(host.take_requests().iter().all(|request| request.authorization.is_none()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_is_not_accepted_is_reported_without_it() {
    for kind in KINDS {
        let host = FakeHost::with_acme(kind, 1).await;
        let (with_token, _folder) = with_token(&host, TOKEN);
        for (status, expected) in [(401, "does not accept"), (403, "does not let")] {
            // A host that quotes the token must not make this program show it.
            host.make_trouble(move |_| {
                Some(Trouble::Answer(status, Vec::new(), format!("bad token {TOKEN}")))
            });
            let fault = refused(&Source::new(&with_token).unwrap()).await;
            assert_eq!((fault.code, fault.retryable), (ErrorCode::InvalidInput, false));
            assert!(fault.message.contains(expected) && fault.message.contains("token_file"), "{fault}");
            assert!(!format!("{fault:?}").contains(TOKEN), "{fault:?}");
            let fault = refused(&source(&host)).await;
            assert!(fault.message.contains("no token_file") && fault.hint.is_some(), "{fault}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_token_file_is_reported_before_any_request() {
    let host = FakeHost::with_acme(KINDS[0], 1).await;
    let (settings, folder) = with_token(&host, TOKEN);
    let source = Source::new(&settings).unwrap();
    drop(folder);
    let fault = refused(&source).await;
    assert_eq!(fault.code, ErrorCode::InvalidInput);
    assert!(fault.message.contains("token_file"), "{fault}");
    assert!(host.take_requests().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn another_server_gets_neither_a_request_nor_the_token() {
    for kind in [SourceKind::Github, SourceKind::Gitlab, SourceKind::Bitbucket] {
        let (host, other) = (FakeHost::with_acme(kind, 1).await, FakeHost::with_acme(kind, 1).await);
        let elsewhere = format!("{}/next?page=2", other.url);
        let (settings, _folder) = with_token(&host, TOKEN);
        let next = elsewhere.clone();
        host.make_trouble(move |_| Some(Trouble::Next(next.clone())));
        let listing = listed(&Source::new(&settings).unwrap()).await;
        assert!(!listing.complete, "{}", kind.as_str());
        assert!(listing.note.as_deref().unwrap().contains("another server"), "{listing:?}");

        host.make_trouble(move |_| {
            Some(Trouble::Answer(302, vec![("location", elsewhere.clone())], String::new()))
        });
        let fault = refused(&Source::new(&settings).unwrap()).await;
        assert!(fault.message.contains("redirects") && fault.hint.is_some(), "{fault}");
        assert!(other.take_requests().is_empty(), "{}", kind.as_str());
    }
}
