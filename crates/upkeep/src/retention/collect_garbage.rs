//! Collect garbage: removes unreferenced vectors, names and statistics, old launch runs, old finished jobs and old files.

use super::launch_runs;
use super::plan::{ProjectUpkeep, Removal, RemovalReason, RemovalReport, RemovedKind, remove_files};
use super::project_files::ProjectFile;
use contract::Fault;
use store::{
    self, Access, Fence, ProjectTx, RepositoryRow, RowUsage, index_state, names, statistics, vectors,
};

/// Milliseconds of a day.
pub(super) const DAY_MS: i64 = 86_400_000;

/// Limits on age and size of kept data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RetentionLimits {
    /// Files and finished jobs older than this are removed.
    pub age_days: Option<u32>,
    /// The oldest files are removed until the rest has at most this many bytes.
    pub bytes: Option<u64>,
}

/// A garbage collection of a project.
pub struct GarbageRequest<'a> {
    /// The project.
    pub project: ProjectUpkeep<'a>,
    /// Collect only the jobs and files of this repository.
    pub repository: Option<&'a RepositoryRow>,
    /// Limits on age and size of kept data.
    pub limits: RetentionLimits,
    /// Days for which a launch run is kept after it ended; 0: for ever.
    pub launch_keep_days: u32,
    /// The current time, milliseconds since the epoch.
    pub now_ms: i64,
}

impl GarbageRequest<'_> {
    /// Lists what [`GarbageRequest::execute`] would remove; changes nothing.
    ///
    /// # Errors
    /// Storage faults; `PERMISSION_DENIED` if the project's folder cannot be read.
    pub async fn plan(&self) -> Result<RemovalReport, Fault> {
        let (store, mut planned) = (self.project.store, RemovalReport::default());
        if self.repository.is_none() {
            let mut tx = ProjectTx::begin(store, self.project.project, Access::Search).await?;
            planned.add(orphan_removal(RemovedKind::Vectors, vectors::orphans(&mut tx, &[]).await?));
            planned.add(orphan_removal(RemovedKind::Names, names::orphans(&mut tx, &[]).await?));
            planned.add(orphan_removal(RemovedKind::Statistics, unused_statistics(&mut tx).await?.1));
            tx.commit().await?;
            let old = launch_runs::measure_old(&self.project, self.launch_keep_days, self.now_ms).await?;
            planned.add(Removal::rows(RemovedKind::LaunchRuns, RemovalReason::Age, old));
        }
        let mut control = store.control_read().await?;
        let (subject, days) = (self.subject(), self.job_days());
        let old = store::jobs::finished(&mut control, self.project.project.id(), subject, days).await?;
        control.commit().await?;
        planned.add(Removal::rows(RemovedKind::Jobs, RemovalReason::Age, old));
        for (entry, reason) in self.files().await? {
            planned.add(Removal::file(&entry, reason));
        }
        Ok(planned)
    }

    /// Removes the garbage in bounded transactions. After an interruption, the next call continues.
    ///
    /// # Errors
    /// `CANCELLED`; `ILLEGAL_STATE` if the lease was lost; storage faults.
    pub async fn execute(&self, fence: Fence) -> Result<RemovalReport, Fault> {
        let mut removed = RemovalReport::default();
        let mut tx = self.project.begin().await?;
        index_state::acquire_fence(&mut tx, fence).await?;
        tx.commit().await?;
        let before = self.project.disk_bytes().await?;
        let mut shrunk = vec!["vectors", "names", "terms"];
        if self.repository.is_none() {
            removed.add(orphan_removal(
                RemovedKind::Vectors,
                remove_orphan_vectors(&self.project, fence).await?,
            ));
            let mut tx = self.project.begin().await?;
            removed.add(orphan_removal(RemovedKind::Names, names::remove_orphans(&mut tx, fence).await?));
            tx.commit().await?;
            removed.add(orphan_removal(RemovedKind::Statistics, self.rebuild_statistics(fence).await?));
            let old = launch_runs::remove_old(&self.project, self.launch_keep_days, self.now_ms).await?;
            shrunk.extend(launch_runs::TABLES.iter().filter(|_| old.rows > 0));
            removed.add(Removal::rows(RemovedKind::LaunchRuns, RemovalReason::Age, old));
        }
        let mut control = self.project.store.control().await?;
        let (subject, days) = (self.subject(), self.job_days());
        let old =
            store::jobs::remove_finished(&mut control, self.project.project.id(), subject, days).await?;
        control.commit().await?;
        removed.add(Removal::rows(RemovedKind::Jobs, RemovalReason::Age, old));
        if self.repository.is_none() {
            removed.returned_bytes = self.project.vacuum(before, &shrunk).await?;
        }
        remove_files(&self.project, self.files().await?, &mut removed).await?;
        Ok(removed)
    }

    async fn rebuild_statistics(&self, fence: Fence) -> Result<RowUsage, Fault> {
        let mut tx = self.project.begin().await?;
        let (repositories, unused) = unused_statistics(&mut tx).await?;
        for id in repositories {
            statistics::rebuild(&mut tx, fence, id).await?;
        }
        tx.commit().await?;
        Ok(unused)
    }

    fn subject(&self) -> Option<&str> {
        self.repository.map(|repository| repository.root.as_str())
    }

    fn job_days(&self) -> u32 {
        self.limits.age_days.unwrap_or(self.project.settings.job_keep_days)
    }

    async fn files(&self) -> Result<Vec<(ProjectFile, RemovalReason)>, Fault> {
        let mut files = self.project.list().await?;
        files.retain(|entry| !entry.is_lock());
        if let Some(repository) = self.repository {
            files.retain(|entry| entry.belongs_to(&repository.name));
        }
        let unfinished_ms = i64::try_from(self.project.settings.unfinished_keep_ms).unwrap_or(i64::MAX);
        Ok(select_files(files, self.limits, unfinished_ms, self.now_ms))
    }
}

/// Returns the repositories with statistics of terms that none of their chunks contains, and the rows of these terms.
async fn unused_statistics(tx: &mut ProjectTx) -> Result<(Vec<i64>, RowUsage), Fault> {
    let (mut repositories, mut rows) = (Vec::new(), RowUsage::default());
    for (id, unused) in statistics::unused(tx).await? {
        repositories.push(id);
        rows += unused;
    }
    Ok((repositories, rows))
}

fn orphan_removal(what: RemovedKind, measured: RowUsage) -> Removal {
    Removal::rows(what, RemovalReason::Orphan, measured)
}

/// Removes vectors of texts that no chunk has, one batch per transaction.
pub(super) async fn remove_orphan_vectors(
    project: &ProjectUpkeep<'_>,
    fence: Fence,
) -> Result<RowUsage, Fault> {
    let (mut all, mut after) = (RowUsage::default(), Vec::new());
    loop {
        let mut tx = project.begin().await?;
        let (some, last) = vectors::remove_some_orphans(&mut tx, fence, &after, project.batch()).await?;
        tx.commit().await?;
        all += some;
        match last {
            Some(last) => after = last,
            None => return Ok(all),
        }
    }
}

/// Returns the files to remove, oldest first, each with its reason. Recent unfinished files are kept regardless of the
/// limits, because they may still be written.
fn select_files(
    files: Vec<ProjectFile>,
    limits: RetentionLimits,
    unfinished_ms: i64,
    now_ms: i64,
) -> Vec<(ProjectFile, RemovalReason)> {
    let mut files = files;
    files.sort_by(|a, b| (a.modified_ms, &a.path).cmp(&(b.modified_ms, &b.path)));
    let mut remaining_bytes: u64 = files.iter().map(|entry| entry.bytes).sum();
    let mut removed = Vec::new();
    let mut kept = Vec::new();
    for entry in files {
        let age_ms = now_ms.saturating_sub(entry.modified_ms);
        let is_old = limits.age_days.is_some_and(|days| age_ms >= i64::from(days).saturating_mul(DAY_MS));
        match (entry.is_unfinished(), age_ms >= unfinished_ms) {
            (true, true) => removed.push((entry, RemovalReason::Unfinished)),
            (true, false) => {}
            (false, _) if is_old => removed.push((entry, RemovalReason::Age)),
            (false, _) => kept.push(entry),
        }
    }
    remaining_bytes -= removed.iter().map(|(entry, _)| entry.bytes).sum::<u64>();
    for entry in kept {
        if limits.bytes.is_none_or(|bytes_max| remaining_bytes <= bytes_max) {
            break;
        }
        remaining_bytes -= entry.bytes;
        removed.push((entry, RemovalReason::Quota));
    }
    removed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &str, bytes: u64, days_old: i64) -> ProjectFile {
        ProjectFile { path: path.into(), bytes, modified_ms: (100 - days_old) * DAY_MS }
    }

    fn paths(limits: RetentionLimits) -> Vec<(String, RemovalReason)> {
        let files = vec![
            entry("new", 10, 1),
            entry("old", 10, 40),
            entry("older", 10, 60),
            entry("left.part", 10, 2),
            entry("now.part", 10, 0),
        ];
        let removed = select_files(files, limits, DAY_MS, 100 * DAY_MS);
        removed.into_iter().map(|(entry, reason)| (entry.path, reason)).collect()
    }

    #[test]
    fn age_and_quota_remove_the_oldest_files_first() {
        let part = ("left.part".to_owned(), RemovalReason::Unfinished);
        assert_eq!(paths(RetentionLimits::default()), std::slice::from_ref(&part));
        let aged = paths(RetentionLimits { age_days: Some(50), bytes: None });
        assert_eq!(aged, [("older".to_owned(), RemovalReason::Age), part.clone()]);
        let quota = paths(RetentionLimits { age_days: None, bytes: Some(25) });
        assert_eq!(
            quota[1..],
            [("older".to_owned(), RemovalReason::Quota), ("old".to_owned(), RemovalReason::Quota)]
        );
        let both = paths(RetentionLimits { age_days: Some(50), bytes: Some(25) });
        assert_eq!(both.last(), Some(&("old".to_owned(), RemovalReason::Quota)));
        let none = paths(RetentionLimits { age_days: Some(0), bytes: Some(0) });
        assert!(none.iter().all(|(path, _)| path != "now.part"), "it may still be written: {none:?}");
    }
}
