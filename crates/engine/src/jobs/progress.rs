//! Progress of a job: a snapshot that the worker updates at any rate and that is stored with each renewal of the lease.

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
    /// Fetches a repository that is given by its address.
    Fetch,
    /// Lists the files of the repository.
    Walk,
    /// Reads, chunks and writes files.
    Files,
    /// Reads authors and times from git.
    History,
    /// Embeds texts.
    Embed,
    /// Builds indexes and statistics.
    Finish,
}

impl Phase {
    /// Returns the name of the phase in the database and in answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Fetch => "fetch",
            Self::Walk => "walk",
            Self::Files => "files",
            Self::History => "history",
            Self::Embed => "embed",
            Self::Finish => "finish",
        }
    }
}

/// A snapshot of a job's progress. Counts never decrease within a run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Progress {
    /// The current phase.
    pub phase: Phase,
    /// Files listed so far.
    pub files_seen: u64,
    /// Files to read, once that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files_total: Option<u64>,
    /// Files read.
    pub files_done: u64,
    /// Files skipped.
    pub files_skipped: u64,
    /// Chunks written.
    pub chunks: u64,
    /// True once lexical search covers everything that the run read.
    pub words_ready: bool,
    /// Texts to embed, once that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vectors_total: Option<u64>,
    /// Texts embedded.
    pub vectors_done: u64,
    /// Estimated seconds until the last vector, at the rate so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds_left: Option<u64>,
    /// The job that goes first, while this one is queued behind it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<WaitsFor>,
}

/// The job that a queued one waits for: a project has one writer at a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WaitsFor {
    /// The job's id.
    pub job_id: String,
    /// The name of its repository; absent if it has none, such as a job that embeds missing vectors of the project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// Its current phase.
    pub phase: Phase,
    /// How much of the phase is done, 0 to 100, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percent: Option<u64>,
}

impl WaitsFor {
    /// Returns the reason to wait, for people: `queued behind the embedding of shop (38 %)`.
    #[must_use]
    pub fn reason(&self) -> String {
        let of = match &self.repository {
            Some(name) => format!(" of {}", contract::escaped_line(name)),
            None => " of this project".to_owned(),
        };
        let what = match self.phase {
            Phase::Queued => "the queued run",
            Phase::Fetch => "the fetching",
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
    /// Returns the completed percentage of the phase, 0 to 100, if known.
    #[must_use]
    pub fn percent(&self) -> Option<u64> {
        let (done, total) = match self.phase {
            Phase::Files => (self.files_done, self.files_total?),
            Phase::Embed => (self.vectors_done, self.vectors_total?),
            _ => return None,
        };
        (done.min(total) * 100).checked_div(total)
    }

    /// Returns the form in the database.
    #[must_use]
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// Reads a stored snapshot; missing and unknown fields get their default, since another version may have written it.
    #[must_use]
    pub fn from_value(value: &Value) -> Self {
        Self::deserialize(value).unwrap_or_default()
    }
}

/// Updates the progress of a job. Cheap to clone, never blocks.
#[derive(Debug, Clone)]
pub struct ProgressSender {
    snapshot: watch::Sender<Progress>,
    created: Instant,
    /// Milliseconds from `created` to the last sign of progress.
    last_progress_ms: Arc<AtomicU64>,
}

impl Default for ProgressSender {
    /// Creates a sender that is not connected to a job.
    fn default() -> Self {
        let snapshot = watch::Sender::new(Progress::default());
        Self { snapshot, created: Instant::now(), last_progress_ms: Arc::default() }
    }
}

impl ProgressSender {
    /// Updates the snapshot, which counts as progress.
    pub fn update(&self, change: impl FnOnce(&mut Progress)) {
        self.snapshot.send_modify(change);
        self.touch();
    }

    /// Notes progress that the snapshot does not show: a listed file, an embedded text, an answer of the database. A job
    /// without progress for `indexing.progress_ms_max` is given up.
    pub fn touch(&self) {
        let now = u64::try_from(self.created.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_progress_ms.store(now, Ordering::Release);
    }

    /// Returns the time since the last progress.
    #[must_use]
    pub fn stalled_for(&self) -> Duration {
        self.created
            .elapsed()
            .saturating_sub(Duration::from_millis(self.last_progress_ms.load(Ordering::Acquire)))
    }

    /// Returns a copy of the current snapshot.
    #[must_use]
    pub fn snapshot(&self) -> Progress {
        self.snapshot.borrow().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stalling_is_measured_from_the_last_progress() {
        let hour = Duration::from_secs(3600);
        let sender = ProgressSender { created: Instant::now() - hour, ..ProgressSender::default() };
        assert!(sender.stalled_for() >= hour);
        sender.clone().touch();
        assert!(sender.stalled_for() < hour);
        sender.last_progress_ms.store(0, Ordering::Release);
        sender.update(|progress| progress.files_done = 1);
        assert!(sender.stalled_for() < hour);
    }

    #[test]
    fn the_reason_to_wait_names_the_repository_and_its_progress() {
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
        assert_eq!(waits.reason(), "queued behind the embedding of shop (38 %)");
        (waits.repository, waits.phase, waits.percent) = (None, Phase::Walk, None);
        assert_eq!(waits.reason(), "queued behind the search for files of this project");
        assert_eq!(Progress { vectors_total: Some(0), ..ahead }.percent(), None);
    }

    #[test]
    fn snapshots_survive_storage_and_other_versions() {
        let progress = Progress { phase: Phase::Embed, vectors_total: Some(3), ..Progress::default() };
        assert_eq!(Progress::from_value(&progress.to_value()), progress);
        assert_eq!(Progress::from_value(&Value::Null), Progress::default());
        let newer = serde_json::json!({ "phase": "walk", "somethingNew": 1 });
        assert_eq!(Progress::from_value(&newer).phase, Phase::Walk);
    }
}
