//! Follows one repository: runs the index job after changes, once they have paused. Only one run at a time; changes during a run
//! cause another one.

use std::mem::discriminant;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::super::App;
use super::GaugeGuard;
use contract::{ErrorCode, Fault};
use engine::indexing::{Changes, RepositoryWatch, TreeScan};
use tenancy::RepositoryRoot;

/// After a change, the pause before the next scan is at least this many times as long as the last scan took.
const SCAN_PAUSE_FACTOR: u32 = 10;
/// Consecutive failures after which the back-off no longer grows.
const FAILURES_MAX: u32 = 10;

/// The outcome of a run, which decides when the next one starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunOutcome {
    /// Everything that existed when the run began is indexed.
    Done,
    /// The call joined a run that may have begun before the change.
    Joined,
    /// The run failed and will fail again until something changes.
    Refused,
    /// The run failed and may succeed later.
    Retry,
    /// Following ends.
    Stop,
}

impl RunOutcome {
    /// The outcome for a failed run.
    #[must_use]
    pub fn from_error(code: ErrorCode, retryable: bool) -> Self {
        match code {
            // Another process took the job over, or its user cancelled it; its result is unknown here.
            ErrorCode::Cancelled | ErrorCode::Internal => Self::Retry,
            _ if retryable => Self::Retry,
            _ => Self::Refused,
        }
    }
}

/// A change in how a repository is followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchEvent {
    /// File events are received for this many directories.
    Watching(usize),
    /// File events are not available, for this reason, so the tree is scanned at this interval.
    Polling(String, Duration),
    /// The repository cannot be read, for this reason; it is checked again at this interval.
    Gone(String, Duration),
    /// The repository can be read again.
    Back,
}

/// Follows the repository until `cancel` fires or a run returns [`RunOutcome::Stop`]. Calls `run` at the start and after each change
/// of the files that would be indexed, never concurrently.
///
/// # Errors
/// `INTERNAL` if scanning fails unexpectedly.
pub async fn follow<R>(
    app: &App,
    root: &RepositoryRoot,
    cancel: &CancellationToken,
    mut on_event: impl FnMut(WatchEvent) + Send,
    mut run: impl FnMut() -> R + Send,
) -> Result<(), Fault>
where
    R: Future<Output = RunOutcome> + Send,
{
    let _watched = GaugeGuard::new(&app.freshness.watched);
    let mut polled = None;
    let timing = FollowTiming::new(app);
    let settings = app.config.indexing.clone();
    let mut watch = RepositoryWatch::new(root.clone(), settings, app.config.freshness.directories_max);
    let changes = watch.changes();
    let (mut indexed_state, mut last_event, mut failures) = (None, None, 0);
    while !cancel.is_cancelled() {
        let started = Instant::now();
        let scanned;
        (watch, scanned) = scan(watch, cancel).await?;
        let took = started.elapsed();
        app.metrics.record_watch_events(changes.count());
        let event = watch_event(&scanned, timing.poll);
        polled = polled.take().filter(|_| scanned.is_ok());
        // Report only changes of the kind: the numbers in an event change all the time.
        let is_new = last_event.as_ref().is_none_or(|last| discriminant(last) != discriminant(&event));
        if is_new && !cancel.is_cancelled() {
            if matches!(last_event, Some(WatchEvent::Gone(..))) && scanned.is_ok() {
                on_event(WatchEvent::Back);
            }
            on_event(event.clone());
            last_event = Some(event);
        }
        let Ok(scan) = scanned else {
            timing.wait(&changes, cancel, Some(timing.poll), took).await;
            continue;
        };
        if scan.events_unavailable.is_some() {
            polled = polled.or_else(|| Some(GaugeGuard::new(&app.freshness.polled)));
        }
        if indexed_state != Some(scan.state) {
            let outcome = run().await;
            failures = if outcome == RunOutcome::Retry { (failures + 1).min(FAILURES_MAX) } else { 0 };
            match outcome {
                RunOutcome::Done | RunOutcome::Refused => indexed_state = Some(scan.state),
                RunOutcome::Joined => continue,
                RunOutcome::Retry => {
                    indexed_state = None;
                    tokio::select! {
                        () = tokio::time::sleep(timing.back_off(failures)) => {}
                        () = cancel.cancelled() => {}
                    }
                    continue;
                }
                RunOutcome::Stop => return Ok(()),
            }
        }
        timing.wait(&changes, cancel, scan.events_unavailable.is_some().then_some(timing.poll), took).await;
    }
    Ok(())
}

async fn scan(
    mut watch: RepositoryWatch,
    cancel: &CancellationToken,
) -> Result<(RepositoryWatch, Result<TreeScan, Fault>), Fault> {
    let cancel = cancel.clone();
    let scanning = platform::task::spawn_blocking(move || {
        let scanned = watch.scan(&|| cancel.is_cancelled());
        (watch, scanned)
    });
    scanning.await.map_err(|error| Fault::internal("Scanning a repository failed unexpectedly.", error))
}

fn watch_event(scanned: &Result<TreeScan, Fault>, poll: Duration) -> WatchEvent {
    match scanned {
        Err(fault) => WatchEvent::Gone(fault.message.clone(), poll),
        Ok(TreeScan { events_unavailable: Some(why), .. }) => WatchEvent::Polling(why.clone(), poll),
        Ok(scan) => WatchEvent::Watching(scan.directories),
    }
}

/// The timing of runs and scans.
struct FollowTiming {
    /// A run starts after this time without changes.
    quiet: Duration,
    /// A run starts at the latest after this time, even if changes continue.
    quiet_max: Duration,
    /// Interval of scans without file events.
    poll: Duration,
}

impl FollowTiming {
    fn new(app: &App) -> Self {
        let settings = &app.config.freshness;
        let [quiet, quiet_max, poll] = [settings.debounce_ms, settings.debounce_max_ms, settings.poll_ms]
            .map(|ms| Duration::from_millis(ms.max(1)));
        Self { quiet, quiet_max: quiet_max.max(quiet), poll }
    }

    /// Waits for a change or for `poll`, then until changes pause or `quiet_max` has passed. Waits longer after a scan that `took`
    /// long.
    async fn wait(
        &self,
        changes: &Changes,
        cancel: &CancellationToken,
        poll: Option<Duration>,
        took: Duration,
    ) {
        let tick = async {
            match poll {
                Some(poll) => tokio::time::sleep(poll).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = changes.changed() => {}
            () = tick => return,
            () = cancel.cancelled() => return,
        }
        let quiet = self.quiet_after(took);
        let deadline = Instant::now() + self.quiet_max.max(quiet);
        loop {
            tokio::select! {
                () = changes.changed() => {}
                () = tokio::time::sleep(quiet) => return,
                () = tokio::time::sleep_until(deadline) => return,
                () = cancel.cancelled() => return,
            }
        }
    }

    fn quiet_after(&self, took: Duration) -> Duration {
        self.quiet.max(took * SCAN_PAUSE_FACTOR)
    }

    fn back_off(&self, failures: u32) -> Duration {
        (self.quiet * 2u32.saturating_pow(failures.saturating_sub(1))).min(self.poll)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_says_whether_to_try_again() {
        assert_eq!(RunOutcome::from_error(ErrorCode::StorageUnavailable, true), RunOutcome::Retry);
        assert_eq!(RunOutcome::from_error(ErrorCode::IllegalState, false), RunOutcome::Refused);
        assert_eq!(RunOutcome::from_error(ErrorCode::Cancelled, false), RunOutcome::Retry);
    }

    #[test]
    fn waiting_gets_longer_and_not_too_long() {
        let second = Duration::from_secs(1);
        let pace = FollowTiming { quiet: second, quiet_max: 5 * second, poll: 30 * second };
        let waits: Vec<u64> = (1..=FAILURES_MAX).map(|failures| pace.back_off(failures).as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 30, 30, 30, 30, 30]);
        assert_eq!(pace.quiet_after(second), 10 * second, "a look of a second is worth ten of rest");
        assert_eq!(pace.quiet_after(second / 100), second);
    }
}
