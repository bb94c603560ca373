//! Background writers, which neither one bad entry nor an unavailable database stops silently.
//!
//! An entry that the database refuses is dropped with a warning, and the others are written. Metrics, readiness and the table that `doctor`
//! reads report losses, and for how long a writer has been unable to write.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::App;
use contract::Fault;
use platform::telemetry::LostEntries;
use store::writers::{self, WriterNote};
use store::{EntryTable, write_entries};

/// Interval of retries while the database does not take entries.
const RETRY: Duration = Duration::from_secs(2);
/// A server is not ready if one of its writers has been unable to write for this long.
const BEHIND_MAX: Duration = Duration::from_secs(30);
/// Interval of notes of one writer.
const NOTE_INTERVAL: Duration = Duration::from_secs(10);

/// A kind of background writer.
#[derive(Debug)]
pub struct WriterKind {
    /// Its name in the log and in the table that `doctor` reads.
    pub name: &'static str,
    /// The content that it writes, for people.
    pub title: &'static str,
    /// The clause of a sentence about what it lost, after the number: `entries were`.
    pub lost: &'static str,
    /// The metric that counts what it lost.
    pub metric: LostEntries,
}

/// The writer of the audit log.
pub(crate) static AUDIT: WriterKind =
    WriterKind { name: "audit", title: "audit log", lost: "entries were", metric: LostEntries::Audit };

/// The writers of a process.
pub struct Writers {
    /// Of the audit log.
    pub audit: Writer,
    /// Of modules, in the order of their first use.
    of_modules: Mutex<Vec<Arc<Writer>>>,
}

impl Default for Writers {
    fn default() -> Self {
        Self { audit: Writer::new(&AUDIT), of_modules: Mutex::default() }
    }
}

impl Writers {
    /// The writer of a module, which the first use makes.
    #[must_use]
    pub fn of_kind(&self, kind: &'static WriterKind) -> Arc<Writer> {
        let mut made = self.of_modules();
        if let Some(known) = made.iter().find(|known| known.kind.name == kind.name) {
            return Arc::clone(known);
        }
        let writer = Arc::new(Writer::new(kind));
        made.push(Arc::clone(&writer));
        writer
    }

    /// Returns the reason why a writer has been behind for too long, if one has.
    #[must_use]
    pub fn behind(&self, now: Instant) -> Option<String> {
        self.audit.behind(now).or_else(|| self.of_modules().iter().find_map(|writer| writer.behind(now)))
    }

    fn of_modules(&self) -> MutexGuard<'_, Vec<Arc<Writer>>> {
        self.of_modules.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One background writer.
pub struct Writer {
    kind: &'static WriterKind,
    state: Mutex<WriterState>,
}

#[derive(Default)]
struct WriterState {
    failing_since: Option<Instant>,
    problem: String,
    /// Entries that were lost and are not noted yet.
    lost: u64,
    /// `true` if the last note said that nothing can be written.
    noted_failing: bool,
    noted_at: Option<Instant>,
}

impl Writer {
    fn new(kind: &'static WriterKind) -> Self {
        Self { kind, state: Mutex::default() }
    }

    /// Writes entries once, and removes the finished ones: written, or refused for good. Returns `false` if some are left.
    pub async fn write<T: Send + Sync>(
        &self,
        app: &App,
        entries: &mut Vec<T>,
        table: &impl EntryTable<T>,
    ) -> bool {
        let end = write_entries(entries, table).await;
        entries.drain(..end.done);
        for (_, fault) in &end.refused {
            self.refused(app, fault);
        }
        match &end.stopped {
            Some(fault) => self.stopped(app, fault),
            None => self.wrote(),
        }
        self.note(app).await;
        end.stopped.is_none()
    }

    /// As [`Writer::write`], until everything is written or the process shuts down.
    pub async fn write_persistently<T: Send + Sync>(
        &self,
        app: &App,
        entries: &mut Vec<T>,
        table: &impl EntryTable<T>,
    ) {
        while !self.write(app, entries, table).await && !app.shutdown.is_cancelled() {
            tokio::select! {
                () = tokio::time::sleep(RETRY) => {}
                () = app.shutdown.cancelled() => {}
            }
        }
    }

    /// Counts an entry that the database refused for good.
    pub fn refused(&self, app: &App, fault: &Fault) {
        let cause = fault.source.as_deref().map(ToString::to_string);
        tracing::warn!(
            writer = self.kind.name,
            cause,
            "an entry was dropped, because the database refuses it"
        );
        self.add_lost(app, 1, &cause.unwrap_or_else(|| fault.message.clone()));
    }

    /// Counts entries that were lost because they could not be written in time. The first of many is logged.
    pub fn lost(&self, app: &App, entries: usize) {
        let (is_first, mut problem) = {
            let state = self.state();
            (state.lost == 0, state.problem.clone())
        };
        if problem.is_empty() {
            "The database did not take entries fast enough.".clone_into(&mut problem);
        }
        if is_first {
            tracing::warn!(writer = self.kind.name, entries, "entries are lost: {problem}");
        }
        self.add_lost(app, u64::try_from(entries).unwrap_or(u64::MAX), &problem);
    }

    fn add_lost(&self, app: &App, entries: u64, problem: &str) {
        app.metrics.record_lost_entries(self.kind.metric, entries);
        let mut state = self.state();
        state.lost = state.lost.saturating_add(entries);
        problem.clone_into(&mut state.problem);
    }

    /// Records that a write failed for a reason that may pass.
    pub fn stopped(&self, app: &App, fault: &Fault) {
        let now = app.clock.instant();
        let mut state = self.state();
        if state.failing_since.is_none() {
            tracing::warn!(
                writer = self.kind.name,
                "entries wait, because they cannot be written: {}",
                fault.message
            );
            state.failing_since = Some(now);
        }
        fault.message.clone_into(&mut state.problem);
    }

    /// Records that writing works.
    pub fn wrote(&self) {
        self.state().failing_since = None;
    }

    /// Returns the reason why it has been behind for too long, if it has.
    fn behind(&self, now: Instant) -> Option<String> {
        let state = self.state();
        let waited = now.saturating_duration_since(state.failing_since?);
        let seconds = waited.as_secs();
        (waited >= BEHIND_MAX).then(|| {
            format!("The writer `{}` has been behind for {seconds} s: {}", self.kind.name, state.problem)
        })
    }

    /// Notes losses in the database, and every 10 s that nothing can be written. If the database is unavailable, the next call does so.
    pub async fn note(&self, app: &App) {
        let now = app.clock.instant();
        let (lost, failing_since, problem) = {
            let mut state = self.state();
            let is_failing = state.failing_since.is_some();
            let is_due = state.noted_at.is_none_or(|at| now.saturating_duration_since(at) >= NOTE_INTERVAL);
            let is_new = state.lost > 0 || is_failing != state.noted_failing;
            if !(is_new || is_failing && is_due) {
                return;
            }
            state.noted_at = Some(now);
            (std::mem::take(&mut state.lost), state.failing_since, state.problem.clone())
        };
        let failing_ms = failing_since
            .map(|since| i64::try_from(now.saturating_duration_since(since).as_millis()).unwrap_or(i64::MAX));
        let noted = async {
            let mut control = app.store().await?.control().await?;
            let note = WriterNote {
                writer: self.kind.name,
                process: &app.worker,
                lost: i64::try_from(lost).unwrap_or(i64::MAX),
                failing_ms,
                problem: &problem,
            };
            writers::note(&mut control, note).await?;
            control.commit().await
        };
        let noted = noted.await;
        let mut state = self.state();
        match noted {
            Ok(()) => state.noted_failing = failing_ms.is_some(),
            Err(fault) => {
                tracing::debug!(
                    writer = self.kind.name,
                    "what was lost could not be noted: {}",
                    fault.message
                );
                state.lost = state.lost.saturating_add(lost);
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, WriterState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static NOTES: WriterKind =
        WriterKind { name: "notes", title: "notes", lost: "notes were", metric: LostEntries::Usage };

    #[test]
    fn a_kind_has_one_writer_that_counts_in_readiness() {
        let writers = Writers::default();
        let writer = writers.of_kind(&NOTES);
        assert!(Arc::ptr_eq(&writer, &writers.of_kind(&NOTES)));
        let since = Instant::now();
        writer.state().failing_since = Some(since);
        assert!(writers.behind(since).is_none());
        let behind = writers.behind(since + BEHIND_MAX).unwrap();
        assert!(behind.contains("`notes`"), "{behind}");
    }
}
