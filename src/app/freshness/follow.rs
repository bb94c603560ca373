//! Follows one repository: after a change and a quiet moment a run, one at a time, and one more for what came meanwhile.

use std::mem::discriminant;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::super::App;
use super::Counted;
use contract::{ErrorCode, Fault};
use engine::indexing::{Changes, Look, Watch};
use tenancy::RepositoryRoot;

/// A look takes at most this share of the time: one part in ten.
const LOOK_SHARE: u32 = 10;
/// Failures in a row after which waiting gets no longer.
const FAILURES_MAX: u32 = 10;

/// How a run ended, as far as the next one goes by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// What was there when it began is indexed.
    Done,
    /// It was another's, which may have begun before the change.
    Joined,
    /// It failed, and will fail again until something changes.
    Refused,
    /// It failed, and may succeed later.
    Retry,
    /// Nothing more is wanted.
    Stop,
}

impl Ended {
    /// What a fault means for the next run.
    #[must_use]
    pub fn of(code: ErrorCode, retryable: bool) -> Self {
        match code {
            // Another process took over, or its user stopped it: what it did is not known here.
            ErrorCode::Cancelled | ErrorCode::Internal => Self::Retry,
            _ if retryable => Self::Retry,
            _ => Self::Refused,
        }
    }
}

/// What becomes known while a repository is followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// Changes of this many directories will be noticed.
    Watching(usize),
    /// They cannot be noticed, so the tree is looked at this often.
    Polling(String, Duration),
    /// The repository cannot be read; it is looked for again this often.
    Gone(String, Duration),
    /// It is back.
    Back,
}

/// Follows the repository until `cancel` fires or a run says stop. `run` is called at the start, and after each change
/// of what would be indexed; never twice at a time.
///
/// # Errors
/// `INTERNAL` when looking failed unexpectedly.
pub async fn follow<R>(
    app: &App,
    root: &RepositoryRoot,
    cancel: &CancellationToken,
    mut tell: impl FnMut(News) + Send,
    mut run: impl FnMut() -> R + Send,
) -> Result<(), Fault>
where
    R: Future<Output = Ended> + Send,
{
    let _watched = Counted::new(&app.freshness.watched);
    let mut polled = None;
    let pace = Pace::of(app);
    let settings = app.config.indexing.clone();
    let mut watch = Watch::new(root.clone(), settings, app.config.freshness.directories_max);
    let changes = watch.changes();
    let (mut known, mut told, mut failures) = (None, None, 0);
    while !cancel.is_cancelled() {
        let started = Instant::now();
        let looked;
        (watch, looked) = look(watch, cancel).await?;
        let took = started.elapsed();
        app.metrics.heard(changes.count());
        let news = news(&looked, pace.poll);
        polled = polled.take().filter(|_| looked.is_ok());
        // Their numbers change all the time and are told once.
        let new = told.as_ref().is_none_or(|told| discriminant(told) != discriminant(&news));
        if new && !cancel.is_cancelled() {
            if matches!(told, Some(News::Gone(..))) && looked.is_ok() {
                tell(News::Back);
            }
            tell(news.clone());
            told = Some(news);
        }
        let Ok(look) = looked else {
            pace.wait(&changes, cancel, Some(pace.poll), took).await;
            continue;
        };
        if look.unwatched.is_some() {
            polled = polled.or_else(|| Some(Counted::new(&app.freshness.polled)));
        }
        if known != Some(look.state) {
            let ended = run().await;
            failures = if ended == Ended::Retry { (failures + 1).min(FAILURES_MAX) } else { 0 };
            match ended {
                Ended::Done | Ended::Refused => known = Some(look.state),
                Ended::Joined => continue,
                Ended::Retry => {
                    known = None;
                    tokio::select! {
                        () = tokio::time::sleep(pace.back_off(failures)) => {}
                        () = cancel.cancelled() => {}
                    }
                    continue;
                }
                Ended::Stop => return Ok(()),
            }
        }
        pace.wait(&changes, cancel, look.unwatched.is_some().then_some(pace.poll), took).await;
    }
    Ok(())
}

async fn look(mut watch: Watch, cancel: &CancellationToken) -> Result<(Watch, Result<Look, Fault>), Fault> {
    let cancel = cancel.clone();
    let looking = tokio::task::spawn_blocking(move || {
        let looked = watch.look(&|| cancel.is_cancelled());
        (watch, looked)
    });
    looking.await.map_err(|error| Fault::internal("Looking at a repository failed unexpectedly.", error))
}

fn news(looked: &Result<Look, Fault>, poll: Duration) -> News {
    match looked {
        Err(fault) => News::Gone(fault.message.clone(), poll),
        Ok(Look { unwatched: Some(why), .. }) => News::Polling(why.clone(), poll),
        Ok(look) => News::Watching(look.directories),
    }
}

/// How fast it follows.
struct Pace {
    quiet: Duration,
    quiet_max: Duration,
    poll: Duration,
}

impl Pace {
    fn of(app: &App) -> Self {
        let settings = &app.config.freshness;
        let [quiet, quiet_max, poll] = [settings.debounce_ms, settings.debounce_max_ms, settings.poll_ms]
            .map(|ms| Duration::from_millis(ms.max(1)));
        Self { quiet, quiet_max: quiet_max.max(quiet), poll }
    }

    /// Waits for a change (or for `poll`), and then until it is quiet, but not for ever. After a look that `took`
    /// long it waits longer.
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
            () = changes.heard() => {}
            () = tick => return,
            () = cancel.cancelled() => return,
        }
        let quiet = self.quiet_after(took);
        let last = Instant::now() + self.quiet_max.max(quiet);
        loop {
            tokio::select! {
                () = changes.heard() => {}
                () = tokio::time::sleep(quiet) => return,
                () = tokio::time::sleep_until(last) => return,
                () = cancel.cancelled() => return,
            }
        }
    }

    fn quiet_after(&self, took: Duration) -> Duration {
        self.quiet.max(took * LOOK_SHARE)
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
        assert_eq!(Ended::of(ErrorCode::StorageUnavailable, true), Ended::Retry);
        assert_eq!(Ended::of(ErrorCode::IllegalState, false), Ended::Refused);
        assert_eq!(Ended::of(ErrorCode::Cancelled, false), Ended::Retry);
    }

    #[test]
    fn waiting_gets_longer_and_not_too_long() {
        let second = Duration::from_secs(1);
        let pace = Pace { quiet: second, quiet_max: 5 * second, poll: 30 * second };
        let waits: Vec<u64> = (1..=FAILURES_MAX).map(|failures| pace.back_off(failures).as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 30, 30, 30, 30, 30]);
        assert_eq!(pace.quiet_after(second), 10 * second, "a look of a second is worth ten of rest");
        assert_eq!(pace.quiet_after(second / 100), second);
    }
}
