//! Hosts that send too much, or something else than pages of repositories.

use std::time::{Duration, Instant};

use code_hosts::{Limits, Source};
use contract::ErrorCode;
use contract::config::SourceKind;

use super::fake_host::{FakeHost, FakeRepository, Trouble};
use super::{KINDS, list, listed, names, refused, source};

#[tokio::test(flavor = "multi_thread")]
async fn pages_that_never_end_are_read_up_to_a_limit() {
    for kind in KINDS {
        let host = FakeHost::with_acme(kind, 2).await;
        let url = host.url.clone();
        host.make_trouble(move |request| {
            let (path, _) = request.target.split_once('?').unwrap();
            Some(match kind {
                SourceKind::Gitea => Trouble::Total(usize::MAX),
                _ => Trouble::Next(format!("{url}{path}?page={}", request.page() + 1)),
            })
        });
        let listing = list(&source(&host), Limits { pages_max: 40, ..Limits::default() }).await.unwrap();
        assert_eq!(
            (names(&listing), listing.complete),
            (vec!["acme/r0", "acme/r1"], false),
            "{}",
            kind.as_str()
        );
        assert!(listing.note.as_deref().unwrap().contains("at most 40 requests"), "{listing:?}");
        assert_eq!(host.take_requests().len(), 40, "{}", kind.as_str());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_usual_limit_of_pages_holds_for_all_owners_together() {
    let host = FakeHost::with_acme(SourceKind::Bitbucket, 1).await;
    host.set_organisation("labs", vec![FakeRepository::new("labs/x")]);
    let url = host.url.clone();
    host.make_trouble(move |request| {
        let (path, _) = request.target.split_once('?').unwrap();
        Some(Trouble::Next(format!("{url}{path}?page={}", request.page() + 1)))
    });
    let source = Source::new(&super::settings(&host, &["acme", "labs"])).unwrap();
    let listing = listed(&source).await;
    assert_eq!((names(&listing), listing.complete), (vec!["acme/r0"], false));
    assert!(listing.note.as_deref().unwrap().contains("`labs` were not read"), "{listing:?}");
    assert_eq!(host.take_requests().len(), 1000);
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_that_lead_back_are_not_read_again() {
    for kind in [SourceKind::Github, SourceKind::Gitlab, SourceKind::Bitbucket] {
        let host = FakeHost::with_acme(kind, 1).await;
        let url = host.url.clone();
        host.make_trouble(move |request| {
            let (path, _) = request.target.split_once('?').unwrap();
            Some(Trouble::Next(format!("{url}{path}?page=2#{}", request.page())))
        });
        let listing = listed(&source(&host)).await;
        assert!(!listing.complete && listing.note.as_deref().unwrap().contains("lead back"), "{listing:?}");
        assert_eq!(host.take_requests().len(), 2, "{}", kind.as_str());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_ends_before_its_total_is_not_complete() {
    // GitHub announces no total.
    for kind in [SourceKind::Gitlab, SourceKind::Gitea, SourceKind::Bitbucket] {
        let host = FakeHost::with_acme(kind, 5).await;
        host.make_trouble(|request| (request.page() == 2).then_some(Trouble::Empty));
        let listing = listed(&source(&host)).await;
        let kind = kind.as_str();
        assert_eq!((names(&listing), listing.complete), (vec!["acme/r0", "acme/r1"], false), "{kind}");
        let note = listing.note.as_deref().unwrap();
        assert!(note.contains("`acme`") && note.contains("counts 5 repositories and listed 2"), "{note}");
        assert_eq!(host.take_requests().len(), 2, "{kind}");
        host.end_trouble();
        let listing = listed(&source(&host)).await;
        assert_eq!((listing.repositories.len(), listing.complete, listing.note), (5, true, None), "{kind}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_after_an_empty_one_are_read_as_far_as_the_total_goes() {
    let host = FakeHost::with_acme(SourceKind::Gitea, 120).await;
    host.set_page_entries(50);
    // Gitea leaves out what the caller may not see, and counts it.
    host.make_trouble(|request| (request.page() == 2).then_some(Trouble::Empty));
    let listing = listed(&source(&host)).await;
    assert_eq!((listing.repositories.len(), listing.complete), (70, false));
    assert_eq!(listing.repositories[50].full_name, "acme/r100");
    assert!(
        listing.note.as_deref().unwrap().contains("counts 120 repositories and listed 70"),
        "{listing:?}"
    );
    // The last one is empty: it could have had entries if this host had smaller pages.
    assert_eq!(host.take_requests().len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_without_end_is_refused() {
    for kind in KINDS {
        let host = FakeHost::with_acme(kind, 1).await;
        host.make_trouble(|_| Some(Trouble::Endless));
        let started = Instant::now();
        let fault = refused(&source(&host)).await;
        assert_eq!(fault.code, ErrorCode::CapabilityMissing);
        assert!(fault.message.contains("longer than 8388608 bytes"), "{fault}");
        assert!(started.elapsed() < Duration::from_secs(25), "{}", kind.as_str());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn more_repositories_than_the_limit_are_left_out() {
    for kind in KINDS {
        let host = FakeHost::with_acme(kind, 9).await;
        for (repositories_max, complete) in [(4, false), (5, false), (9, true)] {
            let limits = Limits { repositories_max, ..Limits::default() };
            let listing = list(&source(&host), limits).await.unwrap();
            let kind = kind.as_str();
            assert_eq!(
                (listing.repositories.len(), listing.complete),
                (repositories_max, complete),
                "{kind}"
            );
            assert_eq!(listing.note.is_none(), complete, "{kind}: {listing:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn names_and_addresses_that_cannot_be_used_are_left_out() {
    for kind in KINDS {
        let host = FakeHost::start(kind).await;
        let bad = ["acme/../etc", "acme/.git", "-acme/x", "acme/x\n", "acme/$(id)", "acme", "/acme/x", ""];
        let mut repositories: Vec<FakeRepository> = bad.map(FakeRepository::new).to_vec();
        repositories.push(FakeRepository::new("acme/good"));
        host.set_organisation("acme", repositories);
        host.set_page_entries(100);
        let listing = listed(&source(&host)).await;
        assert_eq!((names(&listing), listing.complete), (vec!["acme/good"], false), "{}", kind.as_str());
        assert!(listing.note.as_deref().unwrap().starts_with("8 entries were left out"), "{listing:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_answers_are_not_empty_lists() {
    for kind in KINDS {
        let host = FakeHost::with_acme(kind, 1).await;
        let nested = "[".repeat(1_000_000);
        for body in
            ["", "<html>login</html>", "{}", "null", r#"[{"id": 1}]"#, r#"{"values": {}}"#, nested.as_str()]
        {
            let sent = body.to_owned();
            host.make_trouble(move |_| Some(Trouble::Answer(200, Vec::new(), sent.clone())));
            let fault = refused(&source(&host)).await;
            assert_eq!(fault.code, ErrorCode::CapabilityMissing, "{fault}");
            assert!(fault.message.contains("did not answer with a list"), "{fault}");
            assert!(fault.message.len() < 1000 && fault.hint.is_some(), "{fault}");
        }
        for status in [204, 304, 400, 418] {
            host.make_trouble(move |_| Some(Trouble::Answer(status, Vec::new(), String::new())));
            let fault = refused(&source(&host)).await;
            let kind = kind.as_str();
            assert!(fault.message.contains(&format!("status {status}")), "{kind}: {fault}");
        }
    }
}
