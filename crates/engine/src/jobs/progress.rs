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
    /// Which run goes first, while this one is queued behind another of its project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<WaitsFor>,
}

/// The run that a queued one waits for: a project has one writer at a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WaitsFor {
    /// The job's id.
    pub job_id: String,
    /// The name of its repository; absent where it is about none, such as a run over the project's vectors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// What it is doing.
    pub phase: Phase,
    /// How much of that is done, 0 to 100, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percent: Option<u64>,
}

impl WaitsFor {
    /// The reason to wait, for people: `queued behind the embedding of shop (38 %)`.
    #[must_use]
    pub fn sentence(&self) -> String {
        let of = match &self.repository {
            Some(name) => format!(" of {}", contract::visible_line(name)),
            None => " of this project".to_owned(),
        };
        let what = match self.phase {
            Phase::Queued => "the queued run",
            Phase::Walk => "the search for files",
            Phase::Files => "the reading",
            Phase::History => "the git history",
            Phase::Embed => "the embedding",
            Phase::Finish => "the last steps",
        };
        let percent = self.percent.map(|percent| format!(" ({percent} %)")).unwrap_or_default();
        format!("queued behind {what}{of}{percent}")
    }
}

impl Progress {
    /// How much of the phase is done, 0 to 100, where that is known.
    #[must_use]
    pub fn percent(&self) -> Option<u64> {
        let (done, total) = match self.phase {
            Phase::Files => (self.files_done, self.files_total?),
            Phase::Embed => (self.vectors_done, self.vectors_total?),
            _ => return None,
        };
        (done.min(total) * 100).checked_div(total)
    }

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
    fn a_reason_to_wait_names_the_repository_and_how_far_it_is() {
        let ahead = Progress {
            phase: Phase::Embed,
            vectors_done: 38,
            vectors_total: Some(100),
            ..Progress::default()
        };
        let mut waits = WaitsFor {
            job_id: "j".into(),
            repository: Some("shop".into()),
            phase: ahead.phase,
            percent: ahead.percent(),
        };
        assert_eq!(waits.sentence(), "queued behind the embedding of shop (38 %)");
        (waits.repository, waits.phase, waits.percent) = (None, Phase::Walk, None);
        assert_eq!(waits.sentence(), "queued behind the search for files of this project");
        assert_eq!(Progress { vectors_total: Some(0), ..ahead }.percent(), None);
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
