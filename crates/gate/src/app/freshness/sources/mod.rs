//! Keeps the repositories of organisations indexed, as `[[sources]]` configures.
//!
//! A sync lists a source, indexes repositories that are new or were pushed to, and removes those that its host has not had for a while.
//! Claims in the database let several servers share the sources. A host's listing is only a request: the lists of directories and addresses
//! decide which repositories are fetched.

mod claim;
mod gone;
mod index;
mod memory;
mod plan;
mod report;

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use tokio_util::sync::CancellationToken;

use crate::app::App;
use claim::SourceClaim;
use code_hosts::{Limits, ListError, Lister, Listing, PageCache, Source};
use contract::config::SourceSettings;
use contract::{ErrorCode, Fault, echo};
use history::RevisionPatterns;
use memory::Remembered;
use plan::Plan;
use store::SyncEnd;

pub(super) use memory::SourceMemory;
pub use report::SyncReport;

/// Number of checks per period.
const CHECKS_PER_PERIOD: u64 = 10;
/// Shortest and longest interval of checks.
const CHECK_MIN: Duration = Duration::from_millis(500);
const CHECK_MAX: Duration = Duration::from_secs(60);
/// The wait after a failure that may be over soon.
const RETRY: Duration = Duration::from_secs(300);

/// Checks the patterns of revisions of all sources, so that a mistake is reported when the server starts.
///
/// # Errors
/// `INVALID_INPUT` for the first source with a pattern that cannot be used.
pub fn check_revisions(all: &[SourceSettings]) -> Result<(), Fault> {
    for settings in all {
        let patterns = settings.revisions.as_deref().unwrap_or_default();
        RevisionPatterns::parse(patterns).map_err(|reason| {
            let message = format!("The source `{}` cannot be used: {reason}", echo(&settings.name));
            Fault::new(ErrorCode::InvalidInput, message).with_hint(
                "Correct its revisions: names of branches and tags with `*` and `?`, such as \"release/*\".",
            )
        })?;
    }
    Ok(())
}

/// The time at which a source is synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyncTime {
    /// Only if it is due.
    WhenDue,
    /// Now.
    Now,
}

/// The reason why a sync ended early.
struct Unsynced {
    fault: Fault,
    /// The wait before the next attempt, if not the usual time.
    retry_after: Option<Duration>,
}

impl From<Fault> for Unsynced {
    fn from(fault: Fault) -> Self {
        let retry_after = fault.retryable.then_some(RETRY);
        Self { fault, retry_after }
    }
}

impl From<ListError> for Unsynced {
    fn from(error: ListError) -> Self {
        let retry_after = match &error {
            ListError::Limited { retry_after } => Some(*retry_after),
            ListError::Unavailable { .. } => Some(RETRY),
            ListError::Fault(_) => None,
        };
        Self { fault: error.into(), retry_after }
    }
}

/// Syncs the configured sources until the process shuts down. Each has a task of its own, so that a large one does not delay the others.
pub(super) async fn run_sources(app: &Arc<App>) {
    let syncing: Vec<_> = app.config.sources.iter().map(|settings| keep_synced(app, settings)).collect();
    join_all(syncing).await;
}

async fn keep_synced(app: &Arc<App>, settings: &SourceSettings) {
    if settings.every_ms == 0 {
        return;
    }
    let source = settings.name.as_str();
    let pause = Duration::from_millis(settings.every_ms / CHECKS_PER_PERIOD).clamp(CHECK_MIN, CHECK_MAX);
    while !app.shutdown.is_cancelled() {
        match sync_source(app, settings, SyncTime::WhenDue, &|_| {}).await {
            Ok(Some(report)) => report.log(source),
            Ok(None) => {}
            Err(fault) if app.shutdown.is_cancelled() => tracing::debug!(source, "a sync stopped: {fault}"),
            Err(fault) => {
                tracing::warn!(source, code = %fault.code, "the source could not be synced: {}", fault.message);
            }
        }
        tokio::select! {
            () = app.shutdown.cancelled() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
}

/// Syncs a source and waits for its index runs. `None` if it is not due, or another process syncs it. Stops when this process shuts down;
/// the next sync continues. `on_step` receives each step as it begins.
///
/// # Errors
/// The fault of listing it, such as `RATE_LIMITED`; `CANCELLED`; storage faults. Repositories that cannot be indexed are in the
/// report.
pub async fn sync_source(
    app: &Arc<App>,
    settings: &SourceSettings,
    time: SyncTime,
    on_step: &(dyn Fn(&str) + Sync),
) -> Result<Option<SyncReport>, Fault> {
    let source = Source::new(settings)?;
    let Some(claim) = SourceClaim::take(app, settings, time).await? else { return Ok(None) };
    let mut remembered = app.freshness.sources.take(source.name());
    let sync = SourceSync {
        app,
        source: &source,
        settings,
        stop: &claim.stop,
        on_step,
        report: SyncReport::default(),
    };
    // The futures of runs are large: on the heap they take no stack of the thread that polls the sync.
    let synced = claim.hold(Box::pin(sync.run(&mut remembered))).await;
    app.freshness.sources.put_back(source.name(), remembered);
    let end = match &synced {
        Ok(report) => SyncEnd { succeeded: true, due_in_ms: None, note: report.note.as_deref() },
        // The next process continues at once.
        Err(_) if claim.stop.is_cancelled() => SyncEnd { succeeded: false, due_in_ms: Some(0), note: None },
        Err(Unsynced { fault, retry_after }) => {
            let due_in_ms = retry_after.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
            SyncEnd { succeeded: false, due_in_ms, note: Some(fault.message.as_str()) }
        }
    };
    let released = claim.release(end).await;
    let report = synced.map_err(|unsynced| unsynced.fault)?;
    released?;
    Ok(Some(report))
}

/// One sync, while this process has the claim.
struct SourceSync<'a> {
    app: &'a Arc<App>,
    source: &'a Source,
    settings: &'a SourceSettings,
    /// Fires when the sync has to stop.
    stop: &'a CancellationToken,
    on_step: &'a (dyn Fn(&str) + Sync),
    report: SyncReport,
}

impl SourceSync<'_> {
    async fn run(mut self, remembered: &mut Remembered) -> Result<SyncReport, Unsynced> {
        (self.on_step)(&format!("listing {}", self.source.name()));
        let listing = self.list(&mut remembered.pages).await?;
        let plan = Plan::of(&self.app.config.indexing, self.source, &listing.repositories);
        remembered.log_refused(self.source.name(), &plan.refused);
        self.report.listed = plan.wanted.len();
        self.report.refused = plan.refused.len();
        self.report.unusable = plan.unusable;
        // An unusable address may be another spelling of one that is indexed.
        self.report.complete = listing.complete && plan.unusable == 0;
        let known = self.record(&plan, self.report.complete).await?;
        self.index(&plan.wanted, &known).await?;
        self.remove(&known.gone).await?;
        self.report.note = self.report.summary(listing.note.as_deref());
        Ok(self.report)
    }

    async fn list(&self, pages: &mut PageCache) -> Result<Listing, Unsynced> {
        let lister = Lister::new(Limits::default(), Arc::clone(&self.app.clock))?;
        tokio::select! {
            listing = lister.list(self.source, pages) => listing.map_err(Unsynced::from),
            () = self.stop.cancelled() => Err(stopped().into()),
        }
    }

    /// Ends the sync if it has to stop.
    fn check_stop(&self) -> Result<(), Unsynced> {
        if self.stop.is_cancelled() { Err(stopped().into()) } else { Ok(()) }
    }
}

fn stopped() -> Fault {
    Fault::new(ErrorCode::Cancelled, "The sync was stopped; what it indexed stays.")
        .with_hint("The next sync continues it.")
}
