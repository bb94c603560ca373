//! Forwards the progress of one call: the latest step, at most once per interval, and nothing after its end or cancellation.

use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use gate::tools::{Progress, ProgressUpdate};

/// The rate at which progress is forwarded.
pub(super) struct ProgressTiming {
    /// Minimum time between two steps; of those within it only the latest is kept.
    pub(super) interval: Duration,
    /// Interval of heartbeats for a call without progress; `None` if the transport has its own.
    pub(super) heartbeat: Option<Duration>,
}

/// Runs `work` and forwards its progress to `send`; `None` is a heartbeat.
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

    /// Returns the progress values sent during `work`, which can read them while it runs.
    async fn sent_during<F: Future<Output = ()>>(
        timing: ProgressTiming,
        cancel: &CancellationToken,
        work: impl FnOnce(Progress, Sent) -> F,
    ) -> Vec<Option<f64>> {
        let sent = Sent::default();
        let (heard, seen) = (Arc::clone(&sent), Arc::clone(&sent));
        let send = move |update: Option<ProgressUpdate>| {
            heard.lock().unwrap().push(update.map(|update| update.done));
            std::future::ready(())
        };
        relay_progress(timing, cancel, |progress| work(progress, seen), send).await;
        let sent = sent.lock().unwrap();
        sent.clone()
    }

    type Sent = Arc<Mutex<Vec<Option<f64>>>>;

    async fn until(sent: &Sent, many: usize) {
        while sent.lock().unwrap().len() < many {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    const HOUR: Duration = Duration::from_secs(3600);
    const MILLISECOND: Duration = Duration::from_millis(1);

    #[tokio::test]
    async fn one_step_is_sent_per_interval_and_a_short_call_sends_its_last() {
        let never = CancellationToken::new();
        let timing = ProgressTiming { interval: HOUR, heartbeat: None };
        let sent = sent_during(timing, &never, async |progress: Progress, sent| {
            progress.report(step(0));
            until(&sent, 1).await;
            for done in 1..50 {
                progress.report(step(done));
                tokio::time::sleep(MILLISECOND).await;
            }
        });
        assert_eq!(sent.await, [Some(0.0)]);
        let timing = ProgressTiming { interval: HOUR, heartbeat: None };
        let sent = sent_during(timing, &never, async |progress: Progress, _| {
            progress.report(step(6));
            progress.report(step(7));
        });
        assert_eq!(sent.await, [Some(7.0)]);
    }

    #[tokio::test]
    async fn a_silent_call_gives_signs_of_life() {
        let never = CancellationToken::new();
        let timing = ProgressTiming { interval: MILLISECOND, heartbeat: Some(MILLISECOND) };
        let sent = sent_during(timing, &never, async |_, sent| until(&sent, 3).await);
        assert!(sent.await.iter().all(Option::is_none));
    }

    #[tokio::test]
    async fn nothing_is_sent_after_a_cancellation() {
        let cancel = CancellationToken::new();
        let timing = ProgressTiming { interval: MILLISECOND, heartbeat: Some(MILLISECOND) };
        let sent = sent_during(timing, &cancel, async |progress: Progress, sent| {
            progress.report(step(1));
            until(&sent, 1).await;
            let before = sent.lock().unwrap().len();
            cancel.cancel();
            for done in 2..20 {
                progress.report(step(done));
                tokio::time::sleep(MILLISECOND).await;
            }
            assert_eq!(sent.lock().unwrap().len(), before);
        });
        assert_eq!(sent.await.first(), Some(&Some(1.0)));
    }
}
