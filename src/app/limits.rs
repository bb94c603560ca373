//! How often a principal may call: a bucket each, as large as a minute's calls (429, `RATE_LIMITED`).

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use governor::clock::{Clock, DefaultClock};
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};

use crate::contract::Refusal;
use crate::tenancy::Principal;

/// Beyond this many principals the buckets of all are forgotten, which is better than to grow without bound.
const PRINCIPALS_MAX: usize = 10_000;

/// The buckets of one server.
pub struct Limits {
    calls_per_minute: u32,
    buckets: Mutex<HashMap<String, (u32, Arc<DefaultDirectRateLimiter>)>>,
}

impl Limits {
    /// Limits of `calls_per_minute` where a key has none of its own; 0 means none.
    #[must_use]
    pub fn new(calls_per_minute: u32) -> Self {
        Self { calls_per_minute, buckets: Mutex::default() }
    }

    /// Takes one call of `principal` out of its bucket. The operator on this machine has none.
    ///
    /// # Errors
    /// [`Refusal::RateLimited`] says when the same call is let through.
    pub fn admit(&self, principal: &Principal) -> Result<(), Refusal> {
        let limit = principal.calls_per_minute.unwrap_or(self.calls_per_minute);
        let Some(limit) = NonZeroU32::new(limit).filter(|_| !principal.is_local) else { return Ok(()) };
        let bucket = self.bucket(&principal.id, limit);
        bucket.check().map_err(|until| {
            let wait: Duration = until.wait_time_from(DefaultClock::default().now());
            let retry_after_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).max(1);
            Refusal::RateLimited { calls_per_minute: limit.get(), retry_after_ms }
        })
    }

    /// The bucket of a principal; a new one when its limit was changed.
    fn bucket(&self, id: &str, limit: NonZeroU32) -> Arc<DefaultDirectRateLimiter> {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((had, bucket)) = buckets.get(id)
            && *had == limit.get()
        {
            return Arc::clone(bucket);
        }
        if buckets.len() >= PRINCIPALS_MAX {
            buckets.clear();
        }
        let bucket = Arc::new(RateLimiter::direct(Quota::per_minute(limit)));
        buckets.insert(id.to_owned(), (limit.get(), Arc::clone(&bucket)));
        bucket
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(id: &str, calls_per_minute: Option<u32>) -> Principal {
        Principal { id: id.to_owned(), calls_per_minute, is_local: false, ..Principal::local() }
    }

    #[test]
    fn each_principal_has_its_own_bucket_and_the_operator_none() {
        let limits = Limits::new(2);
        let (one, two, wide) = (key("one", None), key("two", None), key("wide", Some(3)));
        assert!(limits.admit(&one).is_ok() && limits.admit(&one).is_ok());
        let Err(Refusal::RateLimited { calls_per_minute: 2, retry_after_ms }) = limits.admit(&one) else {
            panic!("the third call of a minute goes through");
        };
        assert!((1..=30_000).contains(&retry_after_ms), "{retry_after_ms}");
        assert!(limits.admit(&two).is_ok(), "another key is not held up");
        assert_eq!((0..4).filter(|_| limits.admit(&wide).is_ok()).count(), 3, "its own limit counts");
        assert!((0..9).all(|_| limits.admit(&Principal::local()).is_ok()));
        assert!((0..9).all(|_| Limits::new(0).admit(&one).is_ok()), "0 is no limit");
    }
}
