//! Ends the work on one file early: at its time limit, or when it is cancelled.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Steps between two checks of the clock. A step is a node, a definition, a finding, or a byte of text that is read once
/// more; all of them together take well below a millisecond.
const STEPS_PER_CHECK: u64 = 4096;

/// The time limit passed or the work was cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stopped;

/// The time limit and cancellation of one file. Every loop over the content of a file counts its steps here; tests also use the count to
/// measure how the work grows with the file.
pub(super) struct Stop<'c> {
    timeout: Duration,
    deadline: OnceLock<Instant>,
    cancelled: &'c (dyn Fn() -> bool + Sync),
    /// Steps so far. Only one thread counts; others may read.
    steps: AtomicU64,
    next_check: AtomicU64,
}

impl<'c> Stop<'c> {
    /// A limit that expires `timeout` after [`begin`](Self::begin), or as soon as `cancelled` returns true.
    pub(super) fn new(timeout: Duration, cancelled: &'c (dyn Fn() -> bool + Sync)) -> Self {
        Self {
            timeout,
            deadline: OnceLock::new(),
            cancelled,
            steps: AtomicU64::new(0),
            next_check: AtomicU64::new(STEPS_PER_CHECK),
        }
    }

    /// Starts the time limit; further calls do nothing.
    pub(super) fn begin(&self) {
        self.deadline();
    }

    /// When the time limit passes. The first call starts it.
    pub(super) fn deadline(&self) -> Instant {
        *self.deadline.get_or_init(|| Instant::now() + self.timeout)
    }

    /// Counts steps, without checking the limit.
    pub(super) fn count(&self, steps: usize) {
        let sum = self.steps.load(Ordering::Relaxed).saturating_add(steps as u64);
        self.steps.store(sum, Ordering::Relaxed);
    }

    /// Counts steps, and checks the limit every so often.
    ///
    /// # Errors
    /// [`Stopped`] when the time limit passed or the work was cancelled.
    pub(super) fn step(&self, steps: usize) -> Result<(), Stopped> {
        self.count(steps);
        let sum = self.steps.load(Ordering::Relaxed);
        if sum < self.next_check.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.next_check.store(sum + STEPS_PER_CHECK, Ordering::Relaxed);
        self.check()
    }

    /// Checks the limit now.
    ///
    /// # Errors
    /// [`Stopped`] when the time limit passed or the work was cancelled.
    pub(super) fn check(&self) -> Result<(), Stopped> {
        let deadline = self.deadline();
        if (self.cancelled)() || Instant::now() >= deadline { Err(Stopped) } else { Ok(()) }
    }

    /// Steps so far.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(super) fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_stops_at_its_time_limit_or_when_it_is_cancelled() {
        let hour = Duration::from_secs(3600);
        let stop = Stop::new(hour, &|| false);
        assert_eq!((stop.step(1), stop.step(1_000_000), stop.steps()), (Ok(()), Ok(()), 1_000_001));
        assert_eq!(Stop::new(Duration::ZERO, &|| false).check(), Err(Stopped));
        let checks = AtomicU64::new(0);
        let third = || checks.fetch_add(1, Ordering::Relaxed) == 2;
        let stop = Stop::new(hour, &third);
        let done = (0..).take_while(|_| stop.step(1).is_ok()).count() as u64;
        assert_eq!(done, 3 * STEPS_PER_CHECK - 1, "it is checked at intervals");
    }
}
