//! A claimed job: its lease is renewed in the background until it is finished, released or dropped.

use std::time::Duration;

use serde_json::Value;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::progress::ProgressSender;
use contract::config;
use contract::{ErrorCode, Fault};
use store::{self, Claim, Fence, Heartbeat, Job, NewJob, Outcome, Store};

/// Longest time until a request to stop is noticed and a snapshot is visible to others.
const BEAT_MAX: Duration = Duration::from_millis(1000);

/// How long a worker may be silent before others take its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseSettings {
    /// Length of a lease.
    pub lease: Duration,
    /// Time between renewals; at most a second is used, so that stopping is prompt.
    pub heartbeat: Duration,
    /// How long a run may make no progress before it is given up; none: for ever.
    pub progress_max: Option<Duration>,
    /// How long a run waits for a database that is away.
    pub away_max: Duration,
}

impl From<&config::Indexing> for LeaseSettings {
    fn from(settings: &config::Indexing) -> Self {
        Self {
            lease: Duration::from_millis(settings.lease_ms),
            heartbeat: Duration::from_millis(settings.heartbeat_ms),
            progress_max: (settings.progress_ms_max > 0)
                .then(|| Duration::from_millis(settings.progress_ms_max)),
            away_max: Duration::from_millis(settings.database_away_ms_max),
        }
    }
}

/// Why a job goes back to the queue before its end.
#[derive(Debug, Clone, Copy)]
pub enum Unfinished<'a> {
    /// Its worker stops.
    Stopped,
    /// It waits for what this note says. Such a claim does not count as an attempt, as with a worker that stops.
    Waits(&'a str),
    /// It makes no progress here, as this note says; after too many attempts it has failed.
    StandsStill(&'a str),
}

/// A job in the hands of this worker. Dropped without an end, it goes back to the queue.
pub struct ClaimedJob {
    /// The job as it was claimed.
    pub job: Job,
    /// Every write of the run carries it.
    pub fence: Fence,
    /// Where the run says how far it is.
    pub progress: ProgressSender,
    /// Fires when somebody asked for the job to stop or the lease is lost: commit nothing more.
    pub cancel: CancellationToken,
    lost: CancellationToken,
    /// Fires when the run made no progress for too long: its lease is not renewed any more.
    pub(super) still: CancellationToken,
    pub(super) settings: LeaseSettings,
    store: Store,
    beats: JoinHandle<()>,
    ended: bool,
}

impl ClaimedJob {
    /// Takes job `id` if it is free (see [`store::jobs::try_claim`]).
    ///
    /// # Errors
    /// Storage faults.
    pub async fn try_claim(
        store: &Store,
        claim: Claim<'_>,
        worker: &str,
        settings: LeaseSettings,
    ) -> Result<Option<Self>, Fault> {
        let mut door = store.control().await?;
        let claimed = store::jobs::try_claim(&mut door, claim, worker, millis(settings.lease)).await?;
        door.commit().await?;
        Ok(claimed.and_then(|job| Self::held(store, job, settings)))
    }

    /// Asks for a job and takes it in one step; None, and no job is left behind, when the project has a writer.
    ///
    /// # Errors
    /// Storage faults.
    pub async fn claim_new(
        store: &Store,
        new: &NewJob,
        worker: &str,
        settings: LeaseSettings,
    ) -> Result<Option<Self>, Fault> {
        let mut door = store.control().await?;
        store::jobs::requeue_expired(&mut door).await?;
        let id = store::jobs::enqueue_or_attach(&mut door, new).await?.job.id;
        let lease = millis(settings.lease);
        let claimed = store::jobs::try_claim(&mut door, Claim::Id(&id), worker, lease).await?;
        if claimed.is_some() {
            door.commit().await?
        } else {
            door.rollback().await?
        }
        Ok(claimed.and_then(|job| Self::held(store, job, settings)))
    }

    /// A claim that was committed.
    fn held(store: &Store, job: Job, settings: LeaseSettings) -> Option<Self> {
        let fence = job.fence?;
        if let Some(note) = &job.note {
            tracing::info!(job = job.id, attempt = job.attempt, "takes a run over. {note}");
        }
        let (progress, cancel, lost) =
            (ProgressSender::default(), CancellationToken::new(), CancellationToken::new());
        let still = CancellationToken::new();
        let beat = Beat {
            store: store.clone(),
            id: job.id.clone(),
            fence,
            settings,
            progress: progress.clone(),
            cancel: cancel.clone(),
            lost: lost.clone(),
            still: still.clone(),
        };
        let beats = tokio::spawn(beat.go_on());
        let store = store.clone();
        Some(Self { job, fence, progress, cancel, lost, still, settings, store, beats, ended: false })
    }

    /// Whether another worker took over.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.lost.is_cancelled()
    }

    /// Ends the job. An end that comes when the lease is another's changes nothing.
    ///
    /// # Errors
    /// `ILLEGAL_STATE` when the lease was lost; storage faults.
    pub async fn finish(mut self, outcome: &Outcome) -> Result<(), Fault> {
        self.end(outcome).await
    }

    /// As [`ClaimedJob::finish`]; after a fault that passes it can be said again.
    pub(super) async fn end(&mut self, outcome: &Outcome) -> Result<(), Fault> {
        let progress = self.progress.snapshot().to_value();
        let said = async {
            let mut door = self.store.control().await?;
            let ended = store::jobs::finish(&mut door, &self.job.id, self.fence, outcome, &progress).await?;
            door.commit().await?;
            Ok(ended)
        };
        let ended = in_time(self.settings.lease, said).await?;
        self.over();
        if ended { Ok(()) } else { Err(lease_lost()) }
    }

    /// Gives the job back to the queue.
    ///
    /// # Errors
    /// Storage faults; then it can be said again.
    pub async fn give_back(&mut self, why: Unfinished<'_>) -> Result<(), Fault> {
        in_time(self.settings.lease, give_back(&self.store, &self.job.id, self.fence, why)).await?;
        self.over();
        Ok(())
    }

    /// What this job's transactions go to.
    pub(super) fn store(&self) -> &Store {
        &self.store
    }

    /// Renews the lease now.
    pub(super) async fn renew(&self) -> Result<Heartbeat, Fault> {
        let progress = self.progress.snapshot().to_value();
        renew(&self.store, &self.job.id, self.fence, self.settings, &progress).await
    }

    /// The lease is another's: nothing is renewed and nothing given back.
    pub(super) fn lose(&self) {
        self.lost.cancel();
        self.cancel.cancel();
    }

    fn over(&mut self) {
        self.beats.abort();
        self.ended = true;
    }
}

impl Drop for ClaimedJob {
    fn drop(&mut self) {
        self.beats.abort();
        if self.ended || self.lost.is_cancelled() {
            return;
        }
        // Without a runtime the process is ending, and the lease runs out by itself.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let (store, id, fence) = (self.store.clone(), self.job.id.clone(), self.fence);
            runtime.spawn(async move {
                if let Err(fault) = give_back(&store, &id, fence, Unfinished::Stopped).await {
                    tracing::warn!(job = id, "could not give a job back: {fault}");
                }
            });
        }
    }
}

async fn give_back(store: &Store, id: &str, fence: Fence, why: Unfinished<'_>) -> Result<(), Fault> {
    let mut door = store.control().await?;
    match why {
        Unfinished::Stopped => store::jobs::release(&mut door, id, fence, None).await?,
        Unfinished::Waits(note) => store::jobs::release(&mut door, id, fence, Some(note)).await?,
        Unfinished::StandsStill(note) => store::jobs::give_up(&mut door, id, fence, note).await?,
    };
    door.commit().await
}

/// Another worker has the job, or may take it.
pub(super) fn lease_lost() -> Fault {
    Fault::new(ErrorCode::IllegalState, "Another process took over this run.")
        .with_hint("The other process goes on with the work; ask `index_status` how far it is.")
}

/// What renews a lease in the background.
struct Beat {
    store: Store,
    id: String,
    fence: Fence,
    settings: LeaseSettings,
    progress: ProgressSender,
    cancel: CancellationToken,
    lost: CancellationToken,
    still: CancellationToken,
}

impl Beat {
    /// Renews until aborted, or until the run stands still. A database that is away keeps others from taking over as well, so
    /// that it costs the lease only when it comes back and says so, or when the run itself would not wait any longer.
    async fn go_on(self) {
        let Self { store, id, fence, settings, progress, cancel, lost, still } = self;
        let mut renewed = Instant::now();
        loop {
            tokio::time::sleep(settings.heartbeat.min(BEAT_MAX)).await;
            if settings.progress_max.is_some_and(|max| progress.still_for() >= max) {
                still.cancel();
                cancel.cancel();
                return;
            }
            let sent = Instant::now();
            match renew(&store, &id, fence, settings, &progress.snapshot().to_value()).await {
                Ok(Heartbeat::Held) => renewed = sent,
                Ok(Heartbeat::CancelRequested) => {
                    renewed = sent;
                    cancel.cancel();
                }
                Ok(Heartbeat::LeaseLost) => break,
                Err(fault) => {
                    tracing::warn!(job = id, "a lease could not be renewed: {fault}");
                    let patience = if store::is_passing(&fault) { settings.away_max } else { Duration::ZERO };
                    if renewed.elapsed() >= settings.lease + patience {
                        break;
                    }
                }
            }
        }
        lost.cancel();
        cancel.cancel();
    }
}

async fn renew(
    store: &Store,
    id: &str,
    fence: Fence,
    settings: LeaseSettings,
    progress: &Value,
) -> Result<Heartbeat, Fault> {
    let said = async {
        let mut door = store.control().await?;
        let answer = store::jobs::heartbeat(&mut door, id, fence, millis(settings.lease), progress).await?;
        door.commit().await?;
        Ok(answer)
    };
    in_time(settings.lease / 3, said).await
}

/// What is said about a lease over a connection that went silent may take as long as any statement, which is longer than the
/// lease.
pub(super) async fn in_time<T>(
    limit: Duration,
    said: impl Future<Output = Result<T, Fault>>,
) -> Result<T, Fault> {
    tokio::time::timeout(limit, said).await.unwrap_or_else(|_| Err(store::no_answer()))
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
