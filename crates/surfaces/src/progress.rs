//! Forwards the progress of one call: the latest step, at most once per interval, and nothing after its end or cancellation.

use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use gate::tools::{Progress, ProgressUpdate};

/// How often progress is forwarded.
pub(super) struct ProgressTiming {
    /// Shortest time between two steps; of those within it only the latest is kept.
    pub(super) interval: Duration,
    /// Interval of heartbeats for a call without progress; none if the transport has its own.
    pub(super) heartbeat: Option<Duration>,
}

/// Runs `work` and forwards its progress to `send`; none is a heartbeat.
///
/// `send` completes before this returns, so that no step follows the answer. After `cancel` nothing more is sent, although the
/// work may take a while to stop. If the work ends before its first step was sent, its latest step is still sent.
pub(super) async fn relay_progress<T, F, S>(
    timing: ProgressTiming,
    cancel: &CancellationToken,
    work: impl FnOnce(Progress) -> F,
    mut send: impl FnMut(Option<ProgressUpdate>) -> S,
) -> T
where
    F: Future<Output = T>,
    S: Future<Output = ()>,
{
    let (sender, mut updates) = watch::channel(None);
    let work = work(Progress::to(move |update| drop(sender.send(Some(update)))));
    tokio::pin!(work);
    let mut sent_any = false;
    let mut open = true;
    loop {
        let heartbeat = async {
            match timing.heartbeat {
                Some(heartbeat) => tokio::time::sleep(heartbeat).await,
                None => std::future::pending().await,
            }
        };
        let update = tokio::select! {
            biased;
            outcome = &mut work => {
                let unseen = updates.borrow_and_update().clone();
                if !sent_any && !cancel.is_cancelled() && unseen.is_some() {
                    send(unseen).await;
                }
                return outcome;
            }
            () = cancel.cancelled() => return work.await,
            changed = updates.changed(), if open => match changed {
                Ok(()) => updates.borrow_and_update().clone(),
                // The work dropped its sender but may still be running.
                Err(_) => {
                    open = false;
                    continue;
                }
            },
            () = heartbeat => None,
        };
        sent_any = true;
        send(update).await;
        // Only the end of the work or a cancellation shortens the interval.
        tokio::select! {
            biased;
            outcome = &mut work => return outcome,
            () = cancel.cancelled() => return work.await,
            () = tokio::time::sleep(timing.interval) => {}
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

    /// The progress values sent during `work`, which can read them while it runs.
    async fn told_by<F: Future<Output = ()>>(
        timing: ProgressTiming,
        cancel: &CancellationToken,
        work: impl FnOnce(Progress, Told) -> F,
    ) -> Vec<Option<f64>> {
        let told = Told::default();
        let (heard, seen) = (Arc::clone(&told), Arc::clone(&told));
        let send = move |update: Option<ProgressUpdate>| {
            heard.lock().unwrap().push(update.map(|update| update.done));
            std::future::ready(())
        };
        relay_progress(timing, cancel, |progress| work(progress, seen), send).await;
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
        let timing = ProgressTiming { interval: HOUR, heartbeat: None };
        let told = told_by(timing, &never, async |progress: Progress, told| {
            progress.report(step(0));
            until(&told, 1).await;
            for done in 1..50 {
                progress.report(step(done));
                tokio::time::sleep(MILLISECOND).await;
            }
        });
        assert_eq!(told.await, [Some(0.0)]);
        let timing = ProgressTiming { interval: HOUR, heartbeat: None };
        let told = told_by(timing, &never, async |progress: Progress, _| {
            progress.report(step(6));
            progress.report(step(7));
        });
        assert_eq!(told.await, [Some(7.0)]);
    }

    #[tokio::test]
    async fn a_silent_call_gives_signs_of_life() {
        let never = CancellationToken::new();
        let timing = ProgressTiming { interval: MILLISECOND, heartbeat: Some(MILLISECOND) };
        let told = told_by(timing, &never, async |_, told| until(&told, 3).await);
        assert!(told.await.iter().all(Option::is_none));
    }

    #[tokio::test]
    async fn nothing_is_told_after_a_cancel() {
        let cancel = CancellationToken::new();
        let timing = ProgressTiming { interval: MILLISECOND, heartbeat: Some(MILLISECOND) };
        let told = told_by(timing, &cancel, async |progress: Progress, told| {
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
