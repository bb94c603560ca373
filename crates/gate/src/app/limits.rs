//! Rate limits: a principal may make at most its limit of calls in any 60 seconds (429, `RATE_LIMITED`).
//!
//! Admitted calls are counted in time slots. The calls of a slot count until all of them are older than 60 seconds, so the limit is
//! never exceeded, and a caller waits at most one slot longer than necessary.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use contract::Refusal;
use tenancy::Principal;

/// Maximum number of principals; beyond it, the least recent one is dropped.
const PRINCIPALS_MAX: usize = 10_000;
/// The sliding window.
const WINDOW: Duration = Duration::from_secs(60);
/// The length of a time slot.
const SLOT: Duration = Duration::from_millis(250);

/// The rate limits of one process.
pub struct Limits {
    calls_per_minute: u32,
    counted: Mutex<CallCounts>,
}

#[derive(Default)]
struct CallCounts {
    /// Time of the first call, where slot 0 begins.
    begin: Option<Instant>,
    calls: HashMap<String, PrincipalCalls>,
}

/// The admitted calls of one principal in the window. The sum never exceeds the limit.
#[derive(Debug, Default)]
struct PrincipalCalls {
    /// Slot and number of calls, oldest first.
    slots: VecDeque<(u32, u32)>,
    sum: u32,
}

impl Limits {
    /// `calls_per_minute` applies to principals without a limit of their own; 0 means unlimited.
    #[must_use]
    pub fn new(calls_per_minute: u32) -> Self {
        Self { calls_per_minute, counted: Mutex::default() }
    }

    /// Counts a call of `principal` at `now`. The local operator has no limit.
    ///
    /// # Errors
    /// [`Refusal::RateLimited`], with the time until the call would be admitted.
    pub fn admit(&self, principal: &Principal, now: Instant) -> Result<(), Refusal> {
        let limit = principal.calls_per_minute.unwrap_or(self.calls_per_minute);
        if principal.is_local { Ok(()) } else { self.admit_as(&principal.id, limit, now) }
    }

    /// Counts a request from this client address whose sender is not known, at `now`. Callers with a key do not share its count.
    ///
    /// # Errors
    /// As [`Limits::admit`].
    pub fn admit_unknown(&self, address: IpAddr, now: Instant) -> Result<(), Refusal> {
        self.admit_as(&format!("address {}", network(address)), self.calls_per_minute, now)
    }

    fn admit_as(&self, id: &str, limit: u32, now: Instant) -> Result<(), Refusal> {
        if limit == 0 {
            return Ok(());
        }
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let begin = *counted.begin.get_or_insert(now);
        let at = now.saturating_duration_since(begin);
        if !counted.calls.contains_key(id) && counted.calls.len() >= PRINCIPALS_MAX {
            counted.make_room(at);
        }
        let calls = counted.calls.entry(id.to_owned()).or_default();
        calls.admit(limit, at).map_err(|wait| Refusal::RateLimited {
            calls_per_minute: limit,
            retry_after_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).max(1),
        })
    }
}

impl CallCounts {
    /// Drops the principals without calls in the window, or if there are none, the one whose last call is oldest.
    fn make_room(&mut self, at: Duration) {
        self.calls.retain(|_, calls| {
            calls.expire(at);
            calls.sum > 0
        });
        if self.calls.len() >= PRINCIPALS_MAX {
            let last = |calls: &PrincipalCalls| calls.slots.back().map(|(slot, _)| *slot);
            let oldest = self.calls.iter().min_by_key(|(_, calls)| last(calls)).map(|(id, _)| id.clone());
            if let Some(id) = oldest {
                self.calls.remove(&id);
            }
        }
    }
}

impl PrincipalCalls {
    /// Counts a call at `at`, or returns the time to wait.
    fn admit(&mut self, limit: u32, at: Duration) -> Result<(), Duration> {
        self.expire(at);
        if self.sum >= limit {
            // The limit may have been lowered, so more than one slot may have to expire.
            let mut left = self.sum;
            let free = self.slots.iter().find(|(_, calls)| {
                left -= calls;
                left < limit
            });
            let free = free.map_or(at + WINDOW, |(slot, _)| counts_until(*slot));
            return Err(free.saturating_sub(at));
        }
        // Calls of several threads may arrive slightly out of order; they are counted in the latest slot.
        let slot = slot_of(at).max(self.slots.back().map_or(0, |(slot, _)| *slot));
        match self.slots.back_mut() {
            Some((last, calls)) if *last == slot => *calls += 1,
            _ => self.slots.push_back((slot, 1)),
        }
        self.sum += 1;
        Ok(())
    }

    /// Drops the slots that are outside the window at `at`.
    fn expire(&mut self, at: Duration) {
        while let Some((_, calls)) = self.slots.pop_front_if(|(slot, _)| counts_until(*slot) <= at) {
            self.sum -= calls;
        }
    }
}

/// Returns the address or, with IPv6, the network of a client, which may choose any address of it.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
        address => address,
    }
}

fn slot_of(at: Duration) -> u32 {
    u32::try_from(at.as_millis() / SLOT.as_millis()).unwrap_or(u32::MAX)
}

/// The time when the slot leaves the window.
fn counts_until(slot: u32) -> Duration {
    SLOT * slot.saturating_add(1) + WINDOW
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key(id: &str, calls_per_minute: Option<u32>) -> Principal {
        Principal { id: id.to_owned(), calls_per_minute, is_local: false, ..Principal::local() }
    }

    #[test]
    fn each_principal_has_its_own_count_and_the_operator_none() {
        let limits = Limits::new(2);
        let now = Instant::now();
        let (one, two, wide) = (key("one", None), key("two", None), key("wide", Some(3)));
        assert!(limits.admit(&one, now).is_ok() && limits.admit(&one, now).is_ok());
        let Err(Refusal::RateLimited { calls_per_minute: 2, retry_after_ms }) = limits.admit(&one, now)
        else {
            panic!("the third call of a minute goes through");
        };
        assert_eq!(retry_after_ms, 60_250);
        let later = now + Duration::from_millis(retry_after_ms);
        assert!(limits.admit(&one, later - Duration::from_millis(1)).is_err());
        assert!(limits.admit(&one, later).is_ok(), "the time that the refusal named");
        assert!(limits.admit(&two, now).is_ok(), "another key is not held up");
        assert_eq!((0..4).filter(|_| limits.admit(&wide, now).is_ok()).count(), 3, "its own limit counts");
        assert!((0..9).all(|_| limits.admit(&Principal::local(), now).is_ok()));
        assert!((0..9).all(|_| Limits::new(0).admit(&one, now).is_ok()), "0 is no limit");
    }

    #[test]
    fn an_address_has_a_count_of_its_own() {
        let limits = Limits::new(1);
        let now = Instant::now();
        let admit = |address: &str| limits.admit_unknown(address.parse().unwrap(), now).is_ok();
        assert!(admit("192.0.2.1") && admit("192.0.2.2") && admit("2001:db8::1"));
        assert!(!admit("192.0.2.1") && !admit("::ffff:192.0.2.1"), "the same address in both forms");
        assert!(!admit("2001:db8::ffff:1"), "the same network");
        assert!(admit("2001:db8:0:1::1") && limits.admit(&key("192.0.2.1", None), now).is_ok());
    }

    #[test]
    fn a_lower_limit_counts_what_went_through_before() {
        let mut calls = PrincipalCalls::default();
        for second in 0..4 {
            calls.admit(4, Duration::from_secs(second)).unwrap();
        }
        let wait = calls.admit(2, Duration::from_secs(4)).unwrap_err();
        assert_eq!(wait, Duration::from_millis(2_250 + 60_000 - 4_000), "until three of the four are gone");
    }

    #[test]
    fn principals_do_not_add_up_for_ever() {
        let limits = Limits::new(5);
        let now = Instant::now();
        for id in 0..PRINCIPALS_MAX + 10 {
            limits.admit(&key(&id.to_string(), None), now).unwrap();
        }
        assert_eq!(limits.counted.lock().unwrap().calls.len(), PRINCIPALS_MAX);
        limits.admit(&key("late", None), now + WINDOW * 2).unwrap();
        assert_eq!(limits.counted.lock().unwrap().calls.len(), 1);
    }

    proptest! {
        /// Whatever the schedule: no window has more calls than the limit, and a refused caller is admitted after the wait that the refusal
        /// named.
        #[test]
        fn no_window_has_more_than_the_limit(
            limit in 1_u32..80,
            pauses in prop::collection::vec(prop_oneof![0_u64..5, 0_u64..2_000, 50_000_u64..70_000], 1..400),
            patient in any::<bool>(),
        ) {
            let mut calls = PrincipalCalls::default();
            let (mut at, mut admitted) = (Duration::ZERO, Vec::new());
            for pause in pauses {
                at += Duration::from_millis(pause);
                match calls.admit(limit, at) {
                    Ok(()) => admitted.push(at),
                    Err(wait) => {
                        prop_assert!(wait > Duration::ZERO && wait <= WINDOW + SLOT);
                        if patient {
                            at += wait;
                            prop_assert!(calls.admit(limit, at).is_ok(), "after the wait that the refusal named");
                            admitted.push(at);
                        }
                    }
                }
                prop_assert!(calls.slots.len() <= 242 && calls.sum as usize <= limit as usize);
            }
            for (index, end) in admitted.iter().enumerate() {
                let within = admitted[..=index].iter().filter(|at| **at + WINDOW >= *end).count();
                prop_assert!(within <= limit as usize, "{} calls in the minute before {:?}", within, end);
            }
        }

        #[test]
        fn an_even_pace_is_never_refused(limit in 1_u64..200, start in 0_u64..100_000) {
            let mut calls = PrincipalCalls::default();
            let pace = (WINDOW + SLOT).as_millis() as u64 / limit + 1;
            for call in 0..500 {
                let at = Duration::from_millis(start + call * pace);
                prop_assert!(calls.admit(u32::try_from(limit).unwrap(), at).is_ok(), "call {}", call);
            }
        }
    }
}
