//! A claimed job, whose lease is renewed in the background until the job is finished, returned to the queue or dropped.

use std::time::Duration;

use serde_json::Value;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::not_runnable_here;
use super::progress::ProgressSender;
use contract::config;
use contract::{ErrorCode, Fault};
use store::{self, Claim, Fence, Heartbeat, Job, NewJob, Outcome, Store};

/// Longest time between renewals: a renewal also reads a request to cancel, and stores the progress for other
/// processes.
const HEARTBEAT_MAX: Duration = Duration::from_millis(1000);

/// Time limits of a claimed job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseSettings {
    /// Duration of a lease.
    pub lease: Duration,
    /// Time between renewals; capped at one second, so that a job stops promptly.
    pub heartbeat: Duration,
    /// The longest time that a job may make no progress before it is given up; `None`: no limit.
    pub progress_max: Option<Duration>,
    /// Longest outage of the database for which a job waits.
    pub outage_max: Duration,
}

impl From<&config::Indexing> for LeaseSettings {
    fn from(settings: &config::Indexing) -> Self {
        Self {
            lease: Duration::from_millis(settings.lease_ms),
            heartbeat: Duration::from_millis(settings.heartbeat_ms),
            progress_max: (settings.progress_ms_max > 0)
                .then(|| Duration::from_millis(settings.progress_ms_max)),
            outage_max: Duration::from_millis(settings.database_away_ms_max),
        }
    }
}

/// The reason why a job is returned to the queue before its end.
#[derive(Debug, Clone, Copy)]
pub enum ReturnReason<'a> {
    /// The worker stops.
    WorkerStops,
    /// The job must wait; the note has the reason. As with [`ReturnReason::WorkerStops`], the claim does not count as
    /// an attempt.
    Waiting(&'a str),
    /// The job makes no progress; the note has details. After too many attempts it fails.
    Stalled(&'a str),
    /// This process cannot run the job, but another one may; the note has the reason. If no process could for too long,
    /// the job fails with the fault in the second field, in its stored form.
    NotRunnableHere(&'a str, &'a Value),
}

/// A job that this worker holds. Dropping it without finishing it returns it to the queue.
pub struct ClaimedJob {
    /// The job as it was claimed.
    pub job: Job,
    /// The fence token of this claim, which every write transaction of the job checks.
    pub fence: Fence,
    /// Receives the progress of the job.
    pub progress: ProgressSender,
    /// Fires when the job is cancelled or the lease is lost; nothing may be committed afterwards.
    pub cancel: CancellationToken,
    lost: CancellationToken,
    /// Fires when the job has made no progress for too long; its lease is then no longer renewed.
    pub(super) stalled: CancellationToken,
    pub(super) settings: LeaseSettings,
    store: Store,
    renewal_task: JoinHandle<()>,
    ended: bool,
}

impl ClaimedJob {
    /// Claims a queued job, if `claim` finds one (see [`store::jobs::try_claim`]).
    pub async fn try_claim(
        store: &Store,
        claim: Claim<'_>,
        worker: &str,
        settings: LeaseSettings,
    ) -> Result<Option<Self>, Fault> {
        let mut tx = store.control().await?;
        let claimed = store::jobs::try_claim(&mut tx, claim, worker, millis(settings.lease)).await?;
        tx.commit().await?;
        Ok(claimed.and_then(|job| Self::from_claim(store, job, settings)))
    }

    /// Queues and claims a job in one transaction. Returns `None` if another job of its project and lane is running; the transaction is
    /// then rolled back, so that no job stays in the queue.
    pub async fn claim_new(
        store: &Store,
        new: &NewJob,
        worker: &str,
        settings: LeaseSettings,
    ) -> Result<Option<Self>, Fault> {
        let mut tx = store.control().await?;
        store::jobs::requeue_expired(&mut tx).await?;
        let id = store::jobs::enqueue_or_attach(&mut tx, new).await?.job.id;
        let lease = millis(settings.lease);
        let claimed = store::jobs::try_claim(&mut tx, Claim::Id(&id), worker, lease).await?;
        if claimed.is_some() {
            tx.commit().await?
        } else {
            tx.rollback().await?
        }
        Ok(claimed.and_then(|job| Self::from_claim(store, job, settings)))
    }

    /// Starts to renew the lease of a committed claim. Returns `None` without a fence token, which every claim sets.
    fn from_claim(store: &Store, job: Job, settings: LeaseSettings) -> Option<Self> {
        let fence = job.fence?;
        if let Some(note) = &job.note {
            tracing::info!(job = job.id, attempt = job.attempt, "resumes a job. {note}");
        }
        let (progress, cancel, lost) =
            (ProgressSender::default(), CancellationToken::new(), CancellationToken::new());
        let stalled = CancellationToken::new();
        let renewal = LeaseRenewal {
            store: store.clone(),
            id: job.id.clone(),
            fence,
            settings,
            progress: progress.clone(),
            cancel: cancel.clone(),
            lost: lost.clone(),
            stalled: stalled.clone(),
        };
        let renewal_task = tokio::spawn(renewal.run());
        let store = store.clone();
        Some(Self {
            job,
            fence,
            progress,
            cancel,
            lost,
            stalled,
            settings,
            store,
            renewal_task,
            ended: false,
        })
    }

    /// Returns whether another worker may have taken the job over.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.lost.is_cancelled()
    }

    /// Writes the end of the job. Changes nothing if the lease was lost.
    ///
    /// # Errors
    /// `ILLEGAL_STATE` if the lease was lost; storage faults.
    pub async fn finish(mut self, outcome: &Outcome) -> Result<(), Fault> {
        self.try_finish(outcome).await
    }

    /// Like [`ClaimedJob::finish`]; can be called again after a transient fault.
    pub(super) async fn try_finish(&mut self, outcome: &Outcome) -> Result<(), Fault> {
        let progress = self.progress.snapshot().to_value();
        let statements = async {
            let mut tx = self.store.control().await?;
            let ended = store::jobs::finish(&mut tx, &self.job.id, self.fence, outcome, &progress).await?;
            tx.commit().await?;
            Ok(ended)
        };
        let ended = with_timeout(self.settings.lease, statements).await?;
        self.mark_ended();
        if ended { Ok(()) } else { Err(lease_lost()) }
    }

    /// Returns the job to the queue.
    ///
    /// # Errors
    /// Storage faults; the call can then be repeated.
    pub async fn return_to_queue(&mut self, reason: ReturnReason<'_>) -> Result<(), Fault> {
        with_timeout(self.settings.lease, return_to_queue(&self.store, &self.job.id, self.fence, reason))
            .await?;
        self.mark_ended();
        Ok(())
    }

    pub(super) fn store(&self) -> &Store {
        &self.store
    }

    pub(super) async fn renew(&self) -> Result<Heartbeat, Fault> {
        let progress = self.progress.snapshot().to_value();
        renew(&self.store, &self.job.id, self.fence, self.settings, &progress).await
    }

    /// Marks the lease as lost: dropping this claim then does not return the job to the queue.
    pub(super) fn mark_lost(&self) {
        self.lost.cancel();
        self.cancel.cancel();
    }

    fn mark_ended(&mut self) {
        self.renewal_task.abort();
        self.ended = true;
    }
}

impl Drop for ClaimedJob {
    fn drop(&mut self) {
        self.renewal_task.abort();
        if self.ended || self.lost.is_cancelled() {
            return;
        }
        // Without a runtime the process is ending; the lease expires by itself.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let (store, id, fence) = (self.store.clone(), self.job.id.clone(), self.fence);
            runtime.spawn(async move {
                if let Err(fault) = return_to_queue(&store, &id, fence, ReturnReason::WorkerStops).await {
                    tracing::warn!(job = id, "could not return a job to the queue: {fault}");
                }
            });
        }
    }
}

async fn return_to_queue(
    store: &Store,
    id: &str,
    fence: Fence,
    reason: ReturnReason<'_>,
) -> Result<(), Fault> {
    let mut tx = store.control().await?;
    match reason {
        ReturnReason::WorkerStops => store::jobs::release(&mut tx, id, fence, None).await?,
        ReturnReason::Waiting(note) => store::jobs::release(&mut tx, id, fence, Some(note)).await?,
        ReturnReason::Stalled(note) => store::jobs::give_back_stalled(&mut tx, id, fence, note).await?,
        ReturnReason::NotRunnableHere(note, error) => {
            store::jobs::pass_on(&mut tx, id, fence, (note, error), not_runnable_here::limits()).await?
        }
    };
    tx.commit().await
}

/// Returns the fault of a job whose lease was lost: another worker has claimed it or may claim it.
pub(super) fn lease_lost() -> Fault {
    Fault::new(ErrorCode::IllegalState, "Another process took over this run.")
        .with_hint("The other process continues the work; `index_status` shows its progress.")
}

/// The background task that renews a lease.
struct LeaseRenewal {
    store: Store,
    id: String,
    fence: Fence,
    settings: LeaseSettings,
    progress: ProgressSender,
    cancel: CancellationToken,
    lost: CancellationToken,
    stalled: CancellationToken,
}

impl LeaseRenewal {
    /// Renews the lease until aborted, or until the job stalls. While the database is unavailable, no other worker can
    /// claim the job, so the lease is not lost until the outage exceeds `outage_max`.
    async fn run(self) {
        let Self { store, id, fence, settings, progress, cancel, lost, stalled } = self;
        let mut renewed_at = Instant::now();
        loop {
            tokio::time::sleep(settings.heartbeat.min(HEARTBEAT_MAX)).await;
            if settings.progress_max.is_some_and(|max| progress.stalled_for() >= max) {
                stalled.cancel();
                cancel.cancel();
                return;
            }
            let sent_at = Instant::now();
            match renew(&store, &id, fence, settings, &progress.snapshot().to_value()).await {
                Ok(Heartbeat::Held) => renewed_at = sent_at,
                Ok(Heartbeat::CancelRequested) => {
                    renewed_at = sent_at;
                    cancel.cancel();
                }
                Ok(Heartbeat::LeaseLost) => break,
                Err(fault) => {
                    tracing::warn!(job = id, "a lease could not be renewed: {fault}");
                    let grace =
                        if store::is_transient(&fault) { settings.outage_max } else { Duration::ZERO };
                    if renewed_at.elapsed() >= settings.lease + grace {
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
    let statements = async {
        let mut tx = store.control().await?;
        let heartbeat = store::jobs::heartbeat(&mut tx, id, fence, millis(settings.lease), progress).await?;
        tx.commit().await?;
        Ok(heartbeat)
    };
    with_timeout(settings.lease / 3, statements).await
}

/// Limits the time of statements about a lease. On a dead connection they would take as long as the general statement
/// timeout, which exceeds the duration of a lease.
pub(super) async fn with_timeout<T>(
    limit: Duration,
    statements: impl Future<Output = Result<T, Fault>>,
) -> Result<T, Fault> {
    tokio::time::timeout(limit, statements).await.unwrap_or_else(|_| Err(store::no_answer()))
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
