//! Conditional requests: pages that did not change are not sent again, and what was read is kept when a listing fails.

use std::time::Duration;

use code_hosts::{Limits, ListError, Listing, PageCache, Source};
use contract::config::SourceKind;

use super::fake_host::{FakeHost, FakeRepository, Trouble};
use super::{KINDS, lister, names, source};

async fn list_with(cache: &mut PageCache, source: &Source) -> Result<Listing, ListError> {
    lister(Limits::default()).list(source, cache).await
}

/// The statuses of the requests since the last call.
fn statuses(host: &FakeHost) -> Vec<u16> {
    host.take_requests().iter().map(|request| request.status).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn unchanged_pages_are_not_sent_again() {
    for kind in KINDS {
        let host = FakeHost::with_acme(kind, 5).await;
        let (source, mut cache) = (source(&host), PageCache::default());
        let first = list_with(&mut cache, &source).await.unwrap();
        assert_eq!(statuses(&host), [200, 200, 200], "{}", kind.as_str());
        let again = list_with(&mut cache, &source).await.unwrap();
        assert_eq!(again, first, "{}", kind.as_str());
        // A last page of Gitea may gain a next one without changing itself, so it is always read.
        let last = if kind.as_str() == "gitea" { 200 } else { 304 };
        assert_eq!(statuses(&host), [304, 304, last], "{}", kind.as_str());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_page_is_read() {
    for kind in KINDS {
        let host = FakeHost::with_acme(kind, 4).await;
        let (source, mut cache) = (source(&host), PageCache::default());
        list_with(&mut cache, &source).await.unwrap();
        host.set_organisation("acme", ["acme/r0", "acme/r1", "acme/new"].map(FakeRepository::new).to_vec());
        host.take_requests();
        let listing = list_with(&mut cache, &source).await.unwrap();
        assert_eq!(names(&listing), ["acme/r0", "acme/r1", "acme/new"], "{}", kind.as_str());
        // Every page of Bitbucket has the number of all repositories.
        let first = if kind.as_str() == "bitbucket" { 200 } else { 304 };
        assert_eq!(statuses(&host), [first, 200], "{}", kind.as_str());
        host.set_organisation("acme", vec![FakeRepository::new("acme/r0")]);
        assert_eq!(names(&list_with(&mut cache, &source).await.unwrap()), ["acme/r0"]);
        assert!(cache.pages() <= 1, "pages that are gone are forgotten");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_last_page_that_gains_a_next_one_is_read_again() {
    for kind in KINDS {
        let host = FakeHost::with_acme(kind, 100).await;
        host.set_page_entries(100);
        let (source, mut cache) = (source(&host), PageCache::default());
        assert_eq!(list_with(&mut cache, &source).await.unwrap().repositories.len(), 100);
        let repositories = (0..101).map(|number| FakeRepository::new(&format!("acme/r{number}")));
        host.set_organisation("acme", repositories.collect());
        assert_eq!(
            list_with(&mut cache, &source).await.unwrap().repositories.len(),
            101,
            "{}",
            kind.as_str()
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_last_page_before_the_total_is_read_again() {
    // The total of GitLab is in a header, which an answer without a page does not repeat.
    let host = FakeHost::with_acme(SourceKind::Gitlab, 2).await;
    let (source, mut cache) = (source(&host), PageCache::default());
    host.make_trouble(|_| Some(Trouble::Total(3)));
    let short = list_with(&mut cache, &source).await.unwrap();
    assert_eq!((short.repositories.len(), short.complete), (2, false));
    host.end_trouble();
    let listing = list_with(&mut cache, &source).await.unwrap();
    assert!(listing.complete && listing.note.is_none(), "{listing:?}");
    list_with(&mut cache, &source).await.unwrap();
    assert_eq!(statuses(&host), [200, 200, 304]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listing_that_failed_goes_on_with_what_it_read() {
    for kind in KINDS {
        let host = FakeHost::with_acme(kind, 6).await;
        let (source, mut cache) = (source(&host), PageCache::default());
        host.make_trouble(|request| {
            let limit = Trouble::Answer(429, vec![("retry-after", "7".to_owned())], String::new());
            (request.page() == 3).then_some(limit)
        });
        let failed = list_with(&mut cache, &source).await;
        assert!(
            matches!(failed, Err(ListError::Limited { retry_after }) if retry_after == Duration::from_secs(7)),
            "{failed:?}"
        );
        assert_eq!(statuses(&host), [200, 200, 429], "{}", kind.as_str());
        host.end_trouble();
        assert_eq!(list_with(&mut cache, &source).await.unwrap().repositories.len(), 6);
        assert_eq!(statuses(&host), [304, 304, 200], "{}", kind.as_str());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listing_that_was_dropped_leaves_its_pages() {
    let host = FakeHost::with_acme(KINDS[0], 4).await;
    let (source, mut cache) = (source(&host), PageCache::default());
    host.make_trouble(|request| (request.page() == 2).then_some(Trouble::Silent));
    let lister = lister(Limits::default());
    let dropped = tokio::time::timeout(Duration::from_secs(2), lister.list(&source, &mut cache)).await;
    assert!(dropped.is_err());
    assert_eq!(cache.pages(), 1);
    host.end_trouble();
    assert_eq!(lister.list(&source, &mut cache).await.unwrap().repositories.len(), 4);
    assert_eq!(statuses(&host), [200, 304, 200]);
}
