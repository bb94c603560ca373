//! Passes the progress of one call on: the latest step, at most once an interval, nothing after its end or its cancel.

use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::tools::{Progress, ProgressUpdate};

/// How often progress is told.
pub(super) struct Pace {
    /// Shortest time between two steps; of those that arrive within it only the latest is kept.
    pub(super) interval: Duration,
    /// A call that tells nothing shows this often that it lives; none where the transport does that.
    pub(super) heartbeat: Option<Duration>,
}

/// Runs `work` and hands its progress to `tell`; None is a sign of life without a new step.
///
/// `tell` is finished before this comes back, so that no step follows the answer. Once `cancel` fires nothing more is
/// told, although the work may take a while to be put down. A call that is over before its first step could be told
/// still tells its latest one.
pub(super) async fn relay<T, F, S>(
    pace: Pace,
    cancel: &CancellationToken,
    work: impl FnOnce(Progress) -> F,
    mut tell: impl FnMut(Option<ProgressUpdate>) -> S,
) -> T
where
    F: Future<Output = T>,
    S: Future<Output = ()>,
{
    let (sender, mut updates) = watch::channel(None);
    let work = work(Progress::to(move |update| drop(sender.send(Some(update)))));
    tokio::pin!(work);
    let mut told = false;
    let mut open = true;
    loop {
        let quiet = async {
            match pace.heartbeat {
                Some(heartbeat) => tokio::time::sleep(heartbeat).await,
                None => std::future::pending().await,
            }
        };
        let update = tokio::select! {
            biased;
            outcome = &mut work => {
                let unseen = updates.borrow_and_update().clone();
                if !told && !cancel.is_cancelled() && unseen.is_some() {
                    tell(unseen).await;
                }
                return outcome;
            }
            () = cancel.cancelled() => return work.await,
            changed = updates.changed(), if open => match changed {
                Ok(()) => updates.borrow_and_update().clone(),
                // The work holds no sender any more; it may still take its time.
                Err(_) => {
                    open = false;
                    continue;
                }
            },
            () = quiet => None,
        };
        told = true;
        tell(update).await;
        // The pause: only the end of the work, or a cancel, cuts it short.
        tokio::select! {
            biased;
            outcome = &mut work => return outcome,
            () = cancel.cancelled() => return work.await,
            () = tokio::time::sleep(pace.interval) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    fn step(done: u32) -> ProgressUpdate {
        ProgressUpdate {
            phase: "count",
            done: done.into(),
            total: None,
            message: done.to_string(),
            detail: None,
        }
    }

    /// What is told of `work`, which may look at it.
    async fn told_by<F: Future<Output = ()>>(
        pace: Pace,
        cancel: &CancellationToken,
        work: impl FnOnce(Progress, Told) -> F,
    ) -> Vec<Option<f64>> {
        let told = Told::default();
        let (heard, seen) = (Arc::clone(&told), Arc::clone(&told));
        let tell = move |update: Option<ProgressUpdate>| {
            heard.lock().unwrap().push(update.map(|update| update.done));
            std::future::ready(())
        };
        relay(pace, cancel, |progress| work(progress, seen), tell).await;
        let told = told.lock().unwrap();
        told.clone()
    }

    type Told = Arc<Mutex<Vec<Option<f64>>>>;

    async fn until(told: &Told, many: usize) {
        while told.lock().unwrap().len() < many {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    const HOUR: Duration = Duration::from_secs(3600);
    const MILLISECOND: Duration = Duration::from_millis(1);

    #[tokio::test]
    async fn within_an_interval_one_step_is_told_and_a_short_call_tells_its_last() {
        let never = CancellationToken::new();
        let pace = Pace { interval: HOUR, heartbeat: None };
        let told = told_by(pace, &never, async |progress: Progress, told| {
            progress.report(step(0));
            until(&told, 1).await;
            for done in 1..50 {
                progress.report(step(done));
                tokio::time::sleep(MILLISECOND).await;
            }
        });
        assert_eq!(told.await, [Some(0.0)]);
        let pace = Pace { interval: HOUR, heartbeat: None };
        let told = told_by(pace, &never, async |progress: Progress, _| {
            progress.report(step(6));
            progress.report(step(7));
        });
        assert_eq!(told.await, [Some(7.0)]);
    }

    #[tokio::test]
    async fn a_silent_call_gives_signs_of_life() {
        let never = CancellationToken::new();
        let pace = Pace { interval: MILLISECOND, heartbeat: Some(MILLISECOND) };
        let told = told_by(pace, &never, async |_, told| until(&told, 3).await);
        assert!(told.await.iter().all(Option::is_none));
    }

    #[tokio::test]
    async fn nothing_is_told_after_a_cancel() {
        let cancel = CancellationToken::new();
        let pace = Pace { interval: MILLISECOND, heartbeat: Some(MILLISECOND) };
        let told = told_by(pace, &cancel, async |progress: Progress, told| {
            progress.report(step(1));
            until(&told, 1).await;
            let before = told.lock().unwrap().len();
            cancel.cancel();
            for done in 2..20 {
                progress.report(step(done));
                tokio::time::sleep(MILLISECOND).await;
            }
            assert_eq!(told.lock().unwrap().len(), before);
        });
        assert_eq!(told.await.first(), Some(&Some(1.0)));
    }
}
