//! Progress notifications of one call: only with a token, rising, throttled, none after the end.

use std::time::Duration;

use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::{Peer, RoleServer};
use tokio_util::sync::CancellationToken;

use crate::surfaces::progress::{Pace, relay};
use crate::tools::{Progress, ProgressUpdate};

/// A silent call shows that it lives this often, because clients give up on silence.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// A client that does not read may not hold the call up longer than this for one notification.
const SEND_MAX: Duration = Duration::from_secs(2);

/// Where a call's progress goes.
pub(super) struct Reporter {
    peer: Peer<RoleServer>,
    token: ProgressToken,
    tool: String,
    interval: Duration,
}

impl Reporter {
    /// Reports the steps of `tool` to `peer` under `token`, at most once an `interval`.
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
        let mut line = Line::default();
        let pace = Pace { interval: self.interval, heartbeat: Some(HEARTBEAT) };
        let this = &self;
        relay(pace, cancel, work, |update| this.send(line.next(update))).await
    }

    async fn send(&self, step: Step) {
        let message = format!("[{}]{}", self.tool, step.message);
        let mut param =
            ProgressNotificationParam::new(self.token.clone(), step.progress).with_message(message);
        param.total = step.total;
        let sent = tokio::time::timeout(SEND_MAX, self.peer.notify_progress(param)).await;
        if !matches!(sent, Ok(Ok(()))) {
            tracing::debug!("a progress notification was not delivered");
        }
    }
}

/// What the client has been told so far.
#[derive(Default)]
struct Line {
    told: Option<f64>,
    latest: Option<ProgressUpdate>,
}

/// One notification.
#[derive(Debug, PartialEq)]
struct Step {
    progress: f64,
    total: Option<f64>,
    message: String,
}

impl Line {
    /// The next notification; without an update it repeats the last message. The protocol wants
    /// `progress` to rise each time, so a standstill rises by the smallest step there is.
    fn next(&mut self, update: Option<ProgressUpdate>) -> Step {
        self.latest = update.or_else(|| self.latest.take());
        let least = self.told.map_or(0.0, f64::next_up);
        let progress = self.latest.as_ref().map_or(least, |update| update.done.max(least));
        self.told = Some(progress);
        match &self.latest {
            Some(update) => Step {
                progress,
                total: update.total.filter(|total| *total >= progress),
                message: format!("[phase={}] {}", update.phase, update.message),
            },
            None => Step { progress, total: None, message: " Working.".to_owned() },
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
        let mut line = Line::default();
        let told: Vec<f64> = [
            Some(update(0.0)),
            None,
            Some(update(3.0)),
            Some(update(3.0)),
            Some(update(1.0)),
            Some(update(10.0)),
        ]
        .into_iter()
        .map(|next| line.next(next).progress)
        .collect();
        assert!(told.windows(2).all(|pair| pair[0] < pair[1]), "{told:?}");
        assert_eq!(told[5], 10.0);
    }

    #[test]
    fn a_total_below_the_progress_is_left_out() {
        let mut line = Line::default();
        assert_eq!(line.next(Some(update(10.0))).total, Some(10.0));
        assert_eq!(line.next(None).total, None);
        assert_eq!(Line::default().next(None).message, " Working.");
    }
}
