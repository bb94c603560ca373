//! Counts uses of entries. A use costs no write: uses are collected, and added to the database a moment later.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use contract::{Fault, ProjectId};
use futures::future::BoxFuture;
use instructions::Usage;
use store::instructions::{UsageDelta, usage};
use store::postgres::INSTRUCTIONS;
use store::{Access, EntryTable, Project, ProjectTx, Store, write_entries};
use tokio::sync::{Notify, RwLock};

/// Ids with uses that are not written yet; with more, they are written at once.
const PENDING_IDS_MAX: usize = 100_000;

/// Entries whose uses are written together.
const WRITTEN_MAX: usize = 1_000;

/// The result of writing pending uses.
#[derive(Debug, Default)]
pub(crate) struct UsesWritten {
    /// Entries whose counts were written.
    pub(crate) written: usize,
    /// The reasons why others will never be written: the database refuses their counts.
    pub(crate) refused: Vec<Fault>,
    /// The reason why the rest stays pending: the first fault, after all projects were tried.
    pub(crate) stopped: Option<Fault>,
}

/// Uses of one entry that are not written yet.
#[derive(Debug, Clone, Copy)]
struct Pending {
    count: i64,
    first_ms: i64,
    last_ms: i64,
}

/// The uses of one project that are not written yet.
struct PendingProject {
    project: Project,
    by_id: HashMap<String, Pending>,
}

/// Counts uses of all projects in this process.
#[derive(Default)]
pub(crate) struct UsageCounter {
    pending: Mutex<HashMap<ProjectId, PendingProject>>,
    /// Held by a write from its transaction until the written uses are no longer pending, so that each reader counts them exactly once.
    writing: RwLock<()>,
    used: Notify,
}

impl UsageCounter {
    /// Counts uses of existing entries; returns whether so many are pending that they should be written at once.
    #[must_use]
    pub(crate) fn add(&self, project: &Project, uses: &[(String, u32)], now_ms: i64) -> bool {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        let of_project = pending
            .entry(project.id().clone())
            .or_insert_with(|| PendingProject { project: project.clone(), by_id: HashMap::new() });
        for (id, count) in uses {
            let entry = of_project.by_id.entry(id.clone()).or_insert(Pending {
                count: 0,
                first_ms: now_ms,
                last_ms: now_ms,
            });
            entry.count += i64::from(*count);
            entry.last_ms = entry.last_ms.max(now_ms);
        }
        self.used.notify_one();
        pending.values().map(|project| project.by_id.len()).sum::<usize>() > PENDING_IDS_MAX
    }

    /// Reads stored usage by `load` while nothing is written, and adds what is pending, so that counts never go back.
    ///
    /// # Errors
    /// The faults of `load`.
    pub(crate) async fn with_pending<F>(
        &self,
        project: &ProjectId,
        load: F,
    ) -> Result<BTreeMap<String, Usage>, Fault>
    where
        F: Future<Output = Result<BTreeMap<String, Usage>, Fault>>,
    {
        let _reading = self.writing.read().await;
        let mut usage = load.await?;
        let pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        for (id, pending) in pending.get(project).into_iter().flat_map(|project| &project.by_id) {
            let entry = usage.entry(id.clone()).or_default();
            entry.count = entry.count.saturating_add(u64::try_from(pending.count).unwrap_or(0));
            entry.last_ms = entry.last_ms.max(pending.last_ms);
        }
        Ok(usage)
    }

    /// Returns `true` if everything is written.
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Writes the pending uses of a project, or of all. Uses that cannot be written stay pending, unless the database refuses them for
    /// good.
    pub(crate) async fn flush(&self, store: &Store, only: Option<&ProjectId>) -> UsesWritten {
        let _writing = self.writing.write().await;
        let due: Vec<(Project, Vec<UsageDelta>)> = {
            let pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
            let of_projects = pending.iter().filter(|(id, _)| only.is_none_or(|only| *id == only));
            of_projects.map(|(_, project)| (project.project.clone(), project.deltas())).collect()
        };
        let mut end = UsesWritten::default();
        for (project, deltas) in due {
            for part in deltas.chunks(WRITTEN_MAX) {
                let written = write_entries(part, &UsageTable { store, project: &project }).await;
                self.take_out(project.id(), &part[..written.done]);
                end.written += written.done - written.refused.len();
                end.refused.extend(written.refused.into_iter().map(|(_, fault)| fault));
                if let Some(fault) = written.stopped {
                    end.stopped.get_or_insert(fault);
                    break;
                }
            }
        }
        end
    }

    /// Subtracts what was written; uses that came meanwhile stay pending.
    fn take_out(&self, id: &ProjectId, written: &[UsageDelta]) {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(project) = pending.get_mut(id) else { return };
        for delta in written {
            if let Some(entry) = project.by_id.get_mut(&delta.id) {
                entry.count -= delta.count;
                if entry.count <= 0 {
                    project.by_id.remove(&delta.id);
                }
            }
        }
        if project.by_id.is_empty() {
            pending.remove(id);
        }
    }

    /// Waits for a use, and then for `delay`, in which further uses are collected.
    pub(crate) async fn due(&self, delay: Duration) {
        self.used.notified().await;
        tokio::time::sleep(delay).await;
    }
}

impl PendingProject {
    fn deltas(&self) -> Vec<UsageDelta> {
        let delta = |(id, pending): (&String, &Pending)| UsageDelta {
            id: id.clone(),
            count: pending.count,
            first_ms: pending.first_ms,
            last_ms: pending.last_ms,
        };
        self.by_id.iter().map(delta).collect()
    }
}

/// The stored uses of a project.
struct UsageTable<'a> {
    store: &'a Store,
    project: &'a Project,
}

impl EntryTable<UsageDelta> for UsageTable<'_> {
    /// Adds uses. A project without a catalog has none.
    fn write<'a>(&'a self, deltas: &'a [UsageDelta]) -> BoxFuture<'a, Result<(), Fault>> {
        Box::pin(async move {
            if !store::has_module(self.store, self.project, &INSTRUCTIONS).await? {
                return Ok(());
            }
            let mut tx = ProjectTx::begin(self.store, self.project, Access::Write).await?;
            usage::add(&mut tx, deltas).await?;
            tx.commit().await
        })
    }
}
