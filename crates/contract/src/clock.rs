//! Time as a parameter, so that tests can control it.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Instant;

use jiff::Timestamp;

/// The last time that is stored, in milliseconds since the epoch: the end of the year 9999. The first is the epoch.
pub const MILLIS_MAX: i64 = 253_402_300_799_999;

/// A source of the current time.
pub trait Clock: Send + Sync {
    /// Returns the current time.
    fn now(&self) -> Timestamp;
    /// Returns the current instant of a monotonic clock, for measuring durations.
    fn instant(&self) -> Instant {
        Instant::now()
    }
}

/// The system clock.
#[derive(Debug, Default, Clone, Copy)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the only place that reads the system clock")]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

/// A clock for tests: its time changes only when a test advances it. Its [`Clock::instant`] remains the real one.
#[derive(Debug)]
pub struct FixedClock {
    millis: AtomicI64,
}

impl FixedClock {
    /// Creates a clock at `millis` milliseconds since the epoch.
    #[must_use]
    pub fn at_millis(millis: i64) -> Self {
        Self { millis: AtomicI64::new(millis) }
    }

    /// Advances the clock by `millis` milliseconds.
    pub fn advance_millis(&self, millis: i64) {
        self.millis.fetch_add(millis, Ordering::Relaxed);
    }
}

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millisecond(self.millis.load(Ordering::Relaxed)).unwrap_or_default()
    }
}

/// Formats a time as ISO 8601 in UTC with milliseconds, like `ts` of the envelope.
#[must_use]
pub fn iso_millis(at: Timestamp) -> String {
    format!("{at:.3}")
}

/// Formats milliseconds since the epoch like [`iso_millis`].
#[must_use]
pub fn iso_from_millis(millis: i64) -> String {
    iso_millis(Timestamp::from_millisecond(millis).unwrap_or_default())
}

/// Formats seconds since the epoch as ISO 8601 in UTC without fractions.
#[must_use]
pub fn iso_seconds(seconds: i64) -> String {
    format!("{:.0}", Timestamp::from_second(seconds).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_fraction_digits() {
        let clock = FixedClock::at_millis(1_769_258_096_789);
        assert_eq!(iso_millis(clock.now()), "2026-01-24T12:34:56.789Z");
    }
}
