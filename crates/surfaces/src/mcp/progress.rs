//! Progress notifications of one call: only if the client sent a token, increasing, throttled, and none after the end.

use std::time::Duration;

use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::{Peer, RoleServer};
use tokio_util::sync::CancellationToken;

use crate::progress::{ProgressTiming, relay_progress};
use gate::tools::{Progress, ProgressUpdate};

/// Interval of notifications for a call without progress, because clients time out on silence.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Timeout for sending one notification to a client that does not read.
const SEND_TIMEOUT: Duration = Duration::from_secs(2);

/// Sends the progress of one call to the client.
pub(super) struct ProgressReporter {
    peer: Peer<RoleServer>,
    token: ProgressToken,
    tool: String,
    interval: Duration,
}

impl ProgressReporter {
    /// Reports the progress of `tool` to `peer` under `token`, at most once per `interval`.
    pub(super) fn new(
        peer: Peer<RoleServer>,
        token: ProgressToken,
        tool: String,
        interval: Duration,
    ) -> Self {
        Self { peer, token, tool, interval }
    }

    /// Runs `work` and forwards its progress until it ends or is cancelled.
    pub(super) async fn during<T, F>(self, cancel: &CancellationToken, work: impl FnOnce(Progress) -> F) -> T
    where
        F: Future<Output = T>,
    {
        let mut sequence = ProgressSequence::default();
        let timing = ProgressTiming { interval: self.interval, heartbeat: Some(HEARTBEAT) };
        let this = &self;
        relay_progress(timing, cancel, work, |update| this.send(sequence.next(update))).await
    }

    async fn send(&self, step: ProgressStep) {
        let message = format!("[{}]{}", self.tool, step.message);
        let mut param =
            ProgressNotificationParam::new(self.token.clone(), step.progress).with_message(message);
        param.total = step.total;
        let sent = tokio::time::timeout(SEND_TIMEOUT, self.peer.notify_progress(param)).await;
        if !matches!(sent, Ok(Ok(()))) {
            tracing::debug!("a progress notification was not delivered");
        }
    }
}

/// The notifications sent so far.
#[derive(Default)]
struct ProgressSequence {
    last_sent: Option<f64>,
    latest: Option<ProgressUpdate>,
}

/// The content of one notification.
#[derive(Debug, PartialEq)]
struct ProgressStep {
    progress: f64,
    total: Option<f64>,
    message: String,
}

impl ProgressSequence {
    /// Returns the next notification; without an update it repeats the last message. The protocol requires `progress` to increase
    /// each time, so without progress it increases to the next float.
    fn next(&mut self, update: Option<ProgressUpdate>) -> ProgressStep {
        self.latest = update.or_else(|| self.latest.take());
        let minimum = self.last_sent.map_or(0.0, f64::next_up);
        let progress = self.latest.as_ref().map_or(minimum, |update| update.done.max(minimum));
        self.last_sent = Some(progress);
        match &self.latest {
            Some(update) => ProgressStep {
                progress,
                total: update.total.filter(|total| *total >= progress),
                message: format!("[phase={}] {}", update.phase, update.message),
            },
            None => ProgressStep { progress, total: None, message: " Working.".to_owned() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn update(done: f64) -> ProgressUpdate {
        ProgressUpdate { phase: "embed", done, total: Some(10.0), message: "at work".into(), detail: None }
    }

    #[test]
    fn progress_rises_whatever_the_tool_reports() {
        let mut sequence = ProgressSequence::default();
        let sent: Vec<f64> = [
            Some(update(0.0)),
            None,
            Some(update(3.0)),
            Some(update(3.0)),
            Some(update(1.0)),
            Some(update(10.0)),
        ]
        .into_iter()
        .map(|next| sequence.next(next).progress)
        .collect();
        assert!(sent.windows(2).all(|pair| pair[0] < pair[1]), "{sent:?}");
        assert_eq!(sent[5], 10.0);
    }

    #[test]
    fn a_total_below_the_progress_is_left_out() {
        let mut sequence = ProgressSequence::default();
        assert_eq!(sequence.next(Some(update(10.0))).total, Some(10.0));
        assert_eq!(sequence.next(None).total, None);
        assert_eq!(ProgressSequence::default().next(None).message, " Working.");
    }
}
