//! Measures the duration of each stage of a search.

use std::time::{Duration, Instant};

use crate::search::present::answer::Timings;
use contract::clock::Clock;

/// Times consecutive stages.
pub(super) struct Stopwatch<'a> {
    clock: &'a dyn Clock,
    last: Instant,
    pub(super) timings: Timings,
}

impl<'a> Stopwatch<'a> {
    pub(super) fn start(clock: &'a dyn Clock, at: Instant) -> Self {
        Self { clock, last: at, timings: Timings::default() }
    }

    /// Returns the milliseconds since the last lap.
    pub(super) fn lap(&mut self) -> f64 {
        let now = self.clock.instant();
        let lap = now.duration_since(self.last);
        self.last = now;
        millis(lap)
    }

    pub(super) fn stop(self, started: Instant) -> Timings {
        Timings { total_ms: millis(self.clock.instant().duration_since(started)), ..self.timings }
    }
}

/// Converts to milliseconds, rounded to microseconds.
fn millis(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e3
}
