//! Hosts that want a pause, fail, or are away: each says whether and when another attempt makes sense.

use std::sync::Arc;
use std::time::{Duration, Instant};

use code_hosts::{Limits, ListError, Lister, PageCache, Source};
use contract::clock::FixedClock;
use contract::{ErrorCode, Fault};

use super::fake_host::{FakeHost, Trouble};
use super::{KINDS, list, listed, source};
use crate::loopback::refusing_url;

/// In seconds since the epoch.
const NOW: i64 = 1_770_000_000;

#[tokio::test(flavor = "multi_thread")]
async fn a_rate_limit_says_when_to_come_back() {
    let header = |name: &'static str, value: &str| (name, value.to_owned());
    let used_up = vec![header("x-ratelimit-remaining", "0"), header("x-ratelimit-reset", "1770000600")];
    let cases = [
        (429, vec![header("retry-after", "30")], "", 30),
        (403, used_up, "", 600),
        (403, Vec::new(), "You have exceeded a secondary rate limit.", 60),
        (429, vec![header("retry-after", "999999999")], "", 86_400),
    ];
    let clock = Arc::new(FixedClock::at_millis(NOW * 1000));
    let lister = Lister::new(Limits::default(), clock).unwrap();
    for kind in KINDS {
        let host = FakeHost::with_acme(kind, 1).await;
        for (status, headers, body, seconds) in cases.clone() {
            host.make_trouble(move |_| Some(Trouble::Answer(status, headers.clone(), body.to_owned())));
            let error = lister.list(&source(&host), &mut PageCache::default()).await.unwrap_err();
            let ListError::Limited { retry_after } = error else { panic!("{error:?}") };
            assert_eq!(retry_after, Duration::from_secs(seconds), "{}", kind.as_str());
        }
        host.end_trouble();
        assert_eq!(listed(&source(&host)).await.repositories.len(), 1);
    }
    let fault = Fault::from(ListError::Limited { retry_after: Duration::from_secs(30) });
    assert_eq!((fault.code, fault.retryable), (ErrorCode::RateLimited, true));
}

/// Lists the host, which must be unavailable; returns the reason.
async fn unavailable(host: &FakeHost, limits: Limits) -> String {
    match list(&source(host), limits).await {
        Err(ListError::Unavailable { reason }) => reason,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_fails_may_be_asked_again() {
    for kind in KINDS {
        let host = FakeHost::with_acme(kind, 4).await;
        for status in [500, 502, 503, 504, 408] {
            host.make_trouble(move |request| {
                (request.page() == 2)
                    .then(|| Trouble::Answer(status, Vec::new(), "<html>sorry</html>".to_owned()))
            });
            let reason = unavailable(&host, Limits::default()).await;
            assert!(reason.contains(&format!("status {status}")) && reason.contains(&host.url), "{reason}");
            assert!(!reason.contains("sorry"), "{reason}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_host_does_not_hold_the_listing() {
    let host = FakeHost::with_acme(KINDS[0], 1).await;
    host.make_trouble(|_| Some(Trouble::Silent));
    let started = Instant::now();
    let reason = unavailable(&host, Limits { request_ms_max: 300, ..Limits::default() }).await;
    assert!(reason.contains("no answer"), "{reason}");
    let reason = unavailable(&host, Limits { listing_ms_max: 1000, ..Limits::default() }).await;
    assert!(reason.contains("longer than 1 s"), "{reason}");
    assert!(started.elapsed() < Duration::from_secs(20));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_is_away_may_be_asked_again() {
    let host = FakeHost::with_acme(KINDS[0], 1).await;
    let mut settings = super::settings(&host, &["acme"]);
    settings.url = Some(refusing_url().await);
    let error = list(&Source::new(&settings).unwrap(), Limits::default()).await.unwrap_err();
    assert!(matches!(&error, ListError::Unavailable { reason } if reason.contains("refused")), "{error:?}");
    let fault = Fault::from(error);
    assert!(fault.retryable && fault.hint.is_some(), "{fault}");
}
