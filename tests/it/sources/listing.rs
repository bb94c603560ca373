//! Listings of well-behaved hosts: all pages of all owners, reduced to what the source wants.

use code_hosts::{RemoteRepository, Source};
use contract::ErrorCode;
use contract::config::{SourceKind, SourceSettings};

use super::fake_host::{FakeHost, FakeRepository};
use super::{KINDS, listed, names, refused, settings, source};

/// The targets of the requests since the last call.
fn targets(host: &FakeHost) -> Vec<String> {
    host.take_requests().into_iter().map(|request| request.target).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn all_pages_of_all_kinds_are_listed() {
    for kind in KINDS {
        let host = FakeHost::with_acme(kind, 5).await;
        let source = source(&host);
        let listing = listed(&source).await;
        let kind = kind.as_str();
        assert!(listing.complete && listing.note.is_none(), "{kind}: {listing:?}");
        assert_eq!(names(&listing), ["acme/r0", "acme/r1", "acme/r2", "acme/r3", "acme/r4"], "{kind}");
        assert_eq!(targets(&host).len(), 3, "{kind}");
        let first = &listing.repositories[0];
        let clone_url = format!("{}/acme/r0.git", host.url);
        let expected = RemoteRepository {
            full_name: "acme/r0".to_owned(),
            clone_url,
            is_fork: false,
            is_archived: false,
            topics: Vec::new(),
            pushed_at: Some("2026-02-03T04:05:06Z".parse().unwrap()),
        };
        assert_eq!(*first, expected, "{kind}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_without_repositories_is_complete() {
    for kind in KINDS {
        let listing = listed(&source(&FakeHost::with_acme(kind, 0).await)).await;
        assert!(listing.complete && listing.repositories.is_empty(), "{}", kind.as_str());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_is_found_where_there_is_no_organisation() {
    for kind in [SourceKind::Github, SourceKind::Gitlab, SourceKind::Gitea] {
        let host = FakeHost::start(kind).await;
        host.set_user("acme", ["acme/a", "acme/b", "acme/c"].map(FakeRepository::new).to_vec());
        let listing = listed(&source(&host)).await;
        assert!(listing.complete, "{}", kind.as_str());
        assert_eq!(names(&listing), ["acme/a", "acme/b", "acme/c"]);
        let targets = targets(&host);
        assert_eq!(targets.len(), 3, "{targets:?}");
        assert!(!targets[0].contains("/users/") && targets[1].contains("/users/acme/"), "{targets:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn subgroups_of_gitlab_belong_to_their_group() {
    let host = FakeHost::start(SourceKind::Gitlab).await;
    host.set_organisation("acme", ["acme/shop", "acme/web/site"].map(FakeRepository::new).to_vec());
    host.set_organisation("acme/web", vec![FakeRepository::new("acme/web/site")]);
    assert_eq!(names(&listed(&source(&host)).await), ["acme/shop", "acme/web/site"]);
    let asked = targets(&host).remove(0);
    assert!(asked.contains("include_subgroups=true") && asked.contains("with_shared=false"), "{asked}");
    let subgroup = Source::new(&settings(&host, &["acme/web"])).unwrap();
    assert_eq!(names(&listed(&subgroup).await), ["acme/web/site"]);
    assert!(targets(&host)[0].contains("/groups/acme%2Fweb/projects?"));
    let both = Source::new(&settings(&host, &["acme", "acme/web"])).unwrap();
    assert_eq!(names(&listed(&both).await), ["acme/shop", "acme/web/site"], "each once");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_wanted_repositories_are_listed() {
    for kind in [SourceKind::Github, SourceKind::Gitlab, SourceKind::Gitea] {
        let host = FakeHost::start(kind).await;
        let repository = |name: &str| FakeRepository::new(&format!("acme/{name}"));
        host.set_organisation(
            "acme",
            vec![
                FakeRepository { topics: vec!["backend", "rust"], ..repository("shop") },
                FakeRepository { topics: vec!["web"], ..repository("archive-2020") },
                FakeRepository { fork: true, ..repository("fork") },
                FakeRepository { archived: true, ..repository("old") },
            ],
        );
        let wanted = async |change: fn(&mut SourceSettings)| {
            let mut settings = settings(&host, &["acme"]);
            change(&mut settings);
            let listing = listed(&Source::new(&settings).unwrap()).await;
            assert!(listing.complete);
            names(&listing).into_iter().map(|name| name.replace("acme/", "")).collect::<Vec<_>>()
        };
        assert_eq!(wanted(|_| {}).await, ["shop", "archive-2020"]);
        assert_eq!(wanted(|settings| settings.forks = true).await, ["shop", "archive-2020", "fork"]);
        assert_eq!(wanted(|settings| settings.archived = true).await, ["shop", "archive-2020", "old"]);
        assert_eq!(wanted(|settings| settings.topics = vec!["rust".into()]).await, ["shop"]);
        assert_eq!(wanted(|settings| settings.exclude = vec!["*/archive-*".into()]).await, ["shop"]);
        assert_eq!(wanted(|settings| settings.include = vec!["acme/arch*".into()]).await, ["archive-2020"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_owner_leaves_the_listing_incomplete() {
    for kind in KINDS {
        let host = FakeHost::with_acme(kind, 3).await;
        let source = Source::new(&settings(&host, &["gone", "acme"])).unwrap();
        let listing = listed(&source).await;
        assert_eq!((listing.repositories.len(), listing.complete), (3, false));
        assert_eq!(listing.note.as_deref(), Some("`gone` was not found"));

        let fault = refused(&Source::new(&settings(&host, &["gone", "lost"])).unwrap()).await;
        assert_eq!(fault.code, ErrorCode::NotFound);
        assert!(
            fault.message.contains("`acme`") && fault.message.contains("`gone`, `lost` were not found"),
            "{fault}"
        );
        assert!(fault.hint.unwrap().contains("token_file"));
    }
}
