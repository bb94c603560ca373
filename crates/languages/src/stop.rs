//! When the work on one file ends early: its time is over, or nobody waits for the outcome any more.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Steps between two looks at the clock. A step is a node, a definition, a finding, or a byte of text that is read once
/// more; all of them together take well below a millisecond.
const STEPS_A_LOOK: u64 = 4096;

/// The work has to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Late;

/// One file's time and the question whether it is still wanted. Everything that loops over what stands in a file counts
/// its steps here, which also tells tests how the work grows with the file.
pub(super) struct Stop<'c> {
    timeout: Duration,
    deadline: OnceLock<Instant>,
    cancelled: &'c (dyn Fn() -> bool + Sync),
    /// Steps so far. One thread counts; others may read.
    steps: AtomicU64,
    next_look: AtomicU64,
}

impl<'c> Stop<'c> {
    /// Ends `timeout` after [`begin`](Self::begin), or as soon as `cancelled` is true.
    pub(super) fn new(timeout: Duration, cancelled: &'c (dyn Fn() -> bool + Sync)) -> Self {
        Self {
            timeout,
            deadline: OnceLock::new(),
            cancelled,
            steps: AtomicU64::new(0),
            next_look: AtomicU64::new(STEPS_A_LOOK),
        }
    }

    /// Starts the time; the first call counts.
    pub(super) fn begin(&self) {
        self.deadline();
    }

    /// When the time is over.
    pub(super) fn deadline(&self) -> Instant {
        *self.deadline.get_or_init(|| Instant::now() + self.timeout)
    }

    /// Notes work that has been done.
    pub(super) fn count(&self, steps: usize) {
        let sum = self.steps.load(Ordering::Relaxed).saturating_add(steps as u64);
        self.steps.store(sum, Ordering::Relaxed);
    }

    /// Notes work, and looks at the clock now and then.
    ///
    /// # Errors
    /// [`Late`] when the work has to end.
    pub(super) fn step(&self, steps: usize) -> Result<(), Late> {
        self.count(steps);
        let sum = self.steps.load(Ordering::Relaxed);
        if sum < self.next_look.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.next_look.store(sum + STEPS_A_LOOK, Ordering::Relaxed);
        self.look()
    }

    /// Looks at the clock now.
    ///
    /// # Errors
    /// [`Late`] when the work has to end.
    pub(super) fn look(&self) -> Result<(), Late> {
        let deadline = self.deadline();
        if (self.cancelled)() || Instant::now() >= deadline { Err(Late) } else { Ok(()) }
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
    fn work_ends_with_its_time_or_when_it_is_not_wanted() {
        let hour = Duration::from_secs(3600);
        let stop = Stop::new(hour, &|| false);
        assert_eq!((stop.step(1), stop.step(1_000_000), stop.steps()), (Ok(()), Ok(()), 1_000_001));
        assert_eq!(Stop::new(Duration::ZERO, &|| false).look(), Err(Late));
        let looks = AtomicU64::new(0);
        let third = || looks.fetch_add(1, Ordering::Relaxed) == 2;
        let stop = Stop::new(hour, &third);
        let done = (0..).take_while(|_| stop.step(1).is_ok()).count() as u64;
        assert_eq!(done, 3 * STEPS_A_LOOK - 1, "it is looked at now and then");
    }
}
