//! How far a job is: a snapshot that the worker changes as often as it likes and others see now and then.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::Instant;

/// What a job is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Waits for a worker or for another run of the project.
    #[default]
    Queued,
    /// Walks the repository.
    Walk,
    /// Reads, chunks and writes files.
    Files,
    /// Asks git who wrote what, and when.
    History,
    /// Embeds texts.
    Embed,
    /// Builds indexes and statistics.
    Finish,
}

impl Phase {
    /// As it is stored and shown.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Walk => "walk",
            Self::Files => "files",
            Self::History => "history",
            Self::Embed => "embed",
            Self::Finish => "finish",
        }
    }
}

/// A snapshot. Counts only grow within a run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Progress {
    /// What is being done.
    pub phase: Phase,
    /// Files met by the walk so far.
    pub files_seen: u64,
    /// Files to read, once that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files_total: Option<u64>,
    /// Files read.
    pub files_done: u64,
    /// Files left out.
    pub files_skipped: u64,
    /// Chunks written.
    pub chunks: u64,
    /// True once searches find by words everything that the run read.
    pub words_ready: bool,
    /// Texts to embed, once that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vectors_total: Option<u64>,
    /// Texts embedded.
    pub vectors_done: u64,
    /// Seconds until the last vector, at the pace so far; once there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds_left: Option<u64>,
}

impl Progress {
    /// As it is stored with the job.
    #[must_use]
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// From what is stored with a job; what is missing or unknown is zero.
    #[must_use]
    pub fn from_value(value: &Value) -> Self {
        Self::deserialize(value).unwrap_or_default()
    }
}

/// The worker's end. Cheap to clone, never blocks.
#[derive(Debug, Clone)]
pub struct ProgressSender {
    snapshot: watch::Sender<Progress>,
    since: Instant,
    /// Milliseconds from `since` to the last sign of progress.
    moved_ms: Arc<AtomicU64>,
}

impl Default for ProgressSender {
    /// A sender whose snapshot nobody reads but through itself.
    fn default() -> Self {
        let snapshot = watch::Sender::new(Progress::default());
        Self { snapshot, since: Instant::now(), moved_ms: Arc::default() }
    }
}

impl ProgressSender {
    /// Changes the snapshot, which is a sign of progress.
    pub fn update(&self, change: impl FnOnce(&mut Progress)) {
        self.snapshot.send_modify(change);
        self.touch();
    }

    /// A sign of progress that no count shows: one more file met by a walk, one more text embedded, one more answer of the
    /// database. A run without any for `indexing.progress_ms_max` is given up.
    pub fn touch(&self) {
        let now = u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.moved_ms.store(now, Ordering::Release);
    }

    /// How long there was no sign of progress.
    #[must_use]
    pub fn still_for(&self) -> Duration {
        self.since.elapsed().saturating_sub(Duration::from_millis(self.moved_ms.load(Ordering::Acquire)))
    }

    /// The snapshot as it is.
    #[must_use]
    pub fn snapshot(&self) -> Progress {
        self.snapshot.borrow().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standing_still_is_measured_from_the_last_sign() {
        let hour = Duration::from_secs(3600);
        let sender = ProgressSender { since: Instant::now() - hour, ..ProgressSender::default() };
        assert!(sender.still_for() >= hour);
        sender.clone().touch();
        assert!(sender.still_for() < hour);
        sender.moved_ms.store(0, Ordering::Release);
        sender.update(|progress| progress.files_done = 1);
        assert!(sender.still_for() < hour);
    }

    #[test]
    fn snapshots_survive_storage_and_strangers() {
        let progress = Progress { phase: Phase::Embed, vectors_total: Some(3), ..Progress::default() };
        assert_eq!(Progress::from_value(&progress.to_value()), progress);
        assert_eq!(Progress::from_value(&Value::Null), Progress::default());
        let newer = serde_json::json!({ "phase": "walk", "somethingNew": 1 });
        assert_eq!(Progress::from_value(&newer).phase, Phase::Walk);
    }
}
