//! Indexes the listed repositories of a source that are new, were pushed to since their last known run, or lack the revisions that the
//! settings ask for.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::super::{RepositoryKey, project_repositories, run_anew};
use super::plan::{Plan, Wanted};
use super::{RETRY, SourceSync, Unsynced};
use contract::{ErrorCode, Fault, ProjectId, RepositoryAddress, escaped_line};
use engine::indexing::Options;
use store::{
    Access, DecidedBy, Project, ProjectTx, RepositoryRow, RepositoryState, SourceRepository,
    SourceRepositoryRow, revisions, source_repositories,
};

/// Repositories that one statement stores.
const BATCH: usize = 1000;
/// Number of transient failures of a host in a row after which a sync skips the rest of the host: its repositories are not the cause.
const FAILURES_IN_A_ROW_MAX: usize = 10;
/// Repositories that one sync may remove, even if they are most of the source.
const REMOVED_MAX: usize = 10;

/// State known before the listing.
#[derive(Debug)]
pub(super) struct Known {
    /// The repositories that the projects have, and whether a run of each has completed.
    indexed: HashMap<SourceRepository, bool>,
    /// Those whose revisions, as the settings ask for them, were not requested yet, or in vain.
    without_revisions: HashSet<SourceRepository>,
    /// The rows of the source.
    rows: HashMap<SourceRepository, SourceRepositoryRow>,
    /// The repositories to remove, because complete listings have not had them for long.
    pub(super) gone: Vec<SourceRepositoryRow>,
}

impl Known {
    /// Returns `true` if a repository needs a run.
    fn is_due(&self, wanted: &Wanted) -> bool {
        let known_ms = self.rows.get(&wanted.repository).and_then(|row| row.pushed_ms);
        let is_indexed = self.indexed.get(&wanted.repository) == Some(&true);
        let is_pushed = wanted.pushed_ms.is_some_and(|pushed| known_ms.is_none_or(|known| pushed > known));
        !is_indexed || is_pushed || self.without_revisions.contains(&wanted.repository)
    }
}

impl SourceSync<'_> {
    /// Stores the listing. Missing repositories are marked only after a complete listing, and removed at the earliest by the next one,
    /// because a listing may miss repositories that are renamed or created meanwhile.
    pub(super) async fn record(&mut self, plan: &Plan, is_complete: bool) -> Result<Known, Unsynced> {
        let (source, store) = (self.source.name(), self.app.store().await?);
        let (indexed, without_revisions) = self.indexed(&plan.wanted).await?;
        let mut control = store.control().await?;
        let rows = source_repositories::list(&mut control, source).await?;
        let rows: HashMap<_, _> = rows.into_iter().map(|row| (row.repository.clone(), row)).collect();
        // Repositories indexed before by other means do not belong to the source.
        let wanted = plan.wanted.iter().map(|wanted| &wanted.repository);
        let mut listed: Vec<(SourceRepository, bool)> =
            wanted.map(|repository| (repository.clone(), !indexed.contains_key(repository))).collect();
        // Repositories that are no longer allowed are not fetched, but the host still has them.
        let refused = plan.refused.iter().filter(|repository| rows.contains_key(*repository));
        listed.extend(refused.map(|repository| (repository.clone(), false)));
        for some in listed.chunks(BATCH) {
            source_repositories::save(&mut control, source, some).await?;
        }
        let mut gone = Vec::new();
        if is_complete {
            gone = source_repositories::gone_for(&mut control, source, self.settings.gone_after_ms).await?;
            // A token that sees less is more likely than an organisation that has lost most of what it had.
            if gone.len() > REMOVED_MAX && gone.len() * 2 > rows.len() {
                self.report.kept = std::mem::take(&mut gone).len();
            }
            self.report.gone = source_repositories::mark_gone(&mut control, source, &plan.listed()).await?;
        }
        control.commit().await?;
        Ok(Known { indexed, without_revisions, rows, gone })
    }

    /// The repositories of the projects concerned, and whether a run of each has completed; and those that need one for their
    /// revisions.
    async fn indexed(
        &self,
        wanted: &[Wanted],
    ) -> Result<(HashMap<SourceRepository, bool>, HashSet<SourceRepository>), Fault> {
        let store = self.app.store().await?;
        let projects: BTreeSet<&ProjectId> =
            wanted.iter().map(|wanted| &wanted.repository.project_id).collect();
        let (mut found, mut without_revisions) = (HashMap::new(), HashSet::new());
        for project_id in projects {
            let Some(project) = tenancy::open(store, project_id, DecidedBy::Argument).await? else {
                continue;
            };
            let patterns = self.stored_patterns(&project).await?;
            for row in project_repositories(store, &project).await? {
                let lacks_revisions = self.lacks_revisions(&row, &patterns);
                let repository = SourceRepository { address: row.root, project_id: project_id.clone() };
                if lacks_revisions {
                    without_revisions.insert(repository.clone());
                }
                found.insert(repository, row.indexed_ms.is_some());
            }
        }
        Ok((found, without_revisions))
    }

    /// The patterns of revisions of the project's repositories; empty if the settings leave them as they are.
    async fn stored_patterns(&self, project: &Project) -> Result<HashMap<i64, Vec<String>>, Fault> {
        if self.settings.revisions.is_none() {
            return Ok(HashMap::new());
        }
        let mut tx = ProjectTx::begin(self.app.store().await?, project, Access::Search).await?;
        let patterns = revisions::all_patterns(&mut tx).await?;
        tx.commit().await?;
        Ok(patterns)
    }

    /// Returns `true` if the settings ask for other revisions than the last run of a repository, or if that run failed, so that its
    /// patterns say nothing.
    fn lacks_revisions(&self, row: &RepositoryRow, patterns: &HashMap<i64, Vec<String>>) -> bool {
        let Some(wanted) = &self.settings.revisions else { return false };
        let stored = patterns.get(&row.id).map(Vec::as_slice).unwrap_or_default();
        wanted != stored || row.state == RepositoryState::Failed
    }

    /// Indexes the repositories that need it, one after another.
    pub(super) async fn index(&mut self, wanted: &[Wanted], known: &Known) -> Result<(), Unsynced> {
        let mut failures_in_a_row: HashMap<String, usize> = HashMap::new();
        for one in wanted {
            self.check_stop()?;
            if !known.is_due(one) {
                self.report.unchanged += 1;
                // Another call indexed it, or a sync that ended before it could store so.
                if known.rows.get(&one.repository).is_none_or(|row| !row.indexed) {
                    self.note_indexed(&one.repository, one.pushed_ms).await?;
                }
                continue;
            }
            let of_host = failures_in_a_row.entry(host(&one.repository.address)).or_default();
            if *of_host >= FAILURES_IN_A_ROW_MAX {
                self.report.left_out += 1;
                continue;
            }
            (self.on_step)(&format!("indexing {}", escaped_line(&one.repository.address)));
            match self.index_one(one, known).await {
                Ok(()) => *of_host = 0,
                Err(fault) => {
                    *of_host = if fault.retryable { *of_host + 1 } else { 0 };
                    self.note_failure(&one.repository, fault)?;
                }
            }
        }
        Ok(())
    }

    async fn index_one(&mut self, wanted: &Wanted, known: &Known) -> Result<(), Fault> {
        let key = RepositoryKey::from(&wanted.repository);
        let options = Options { revisions: self.settings.revisions.clone(), ..Options::default() };
        let pushed_ms = match run_anew(self.app, &key, &options, "source").await? {
            true => wanted.pushed_ms,
            // None of the runs is known to contain the push, so the next sync looks again.
            false => known.rows.get(&wanted.repository).and_then(|row| row.pushed_ms),
        };
        self.report.indexed += 1;
        self.note_indexed(&wanted.repository, pushed_ms).await
    }

    async fn note_indexed(&self, repository: &SourceRepository, pushed_ms: Option<i64>) -> Result<(), Fault> {
        let mut control = self.app.store().await?.control().await?;
        source_repositories::note_indexed(&mut control, self.source.name(), repository, pushed_ms).await?;
        control.commit().await
    }

    /// Goes on after the failure of a single repository; ends the sync if it is about more than that.
    fn note_failure(&mut self, repository: &SourceRepository, fault: Fault) -> Result<(), Unsynced> {
        self.check_stop()?;
        tracing::warn!(source = self.source.name(), address = repository.address, project = repository.project_id.as_str(),
            code = %fault.code, "a repository of a source could not be indexed: {}", fault.message);
        if fault.code == ErrorCode::StorageUnavailable {
            return Err(Unsynced { fault, retry_after: Some(RETRY) });
        }
        self.report.add_failure(&repository.address, &fault);
        Ok(())
    }
}

/// The host of an address.
fn host(address: &str) -> String {
    let parsed = RepositoryAddress::parse(address).and_then(Result::ok);
    parsed.map(|address| address.host().to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_and_pushed_repositories_need_a_run() {
        let repository = |name: &str| SourceRepository {
            address: format!("https://host/{name}"),
            project_id: ProjectId::default_workspace(),
        };
        let row = |name: &str, pushed_ms| SourceRepositoryRow {
            repository: repository(name),
            added: true,
            indexed: true,
            pushed_ms,
            gone_ms: None,
        };
        let rows = [row("old", Some(5)), row("silent", None), row("broken", Some(5)), row("tagged", None)];
        let known = Known {
            indexed: [("old", true), ("silent", true), ("broken", false), ("tagged", true)]
                .map(|(name, is_indexed)| (repository(name), is_indexed))
                .into(),
            without_revisions: [repository("tagged")].into(),
            rows: rows.map(|row| (row.repository.clone(), row)).into(),
            gone: Vec::new(),
        };
        let is_due =
            |name: &str, pushed_ms| known.is_due(&Wanted { repository: repository(name), pushed_ms });
        assert!(is_due("new", None) && is_due("new", Some(5)) && is_due("broken", Some(5)));
        assert!(is_due("old", Some(6)) && is_due("silent", Some(1)) && is_due("tagged", None));
        assert!(
            !is_due("old", Some(5))
                && !is_due("old", Some(4))
                && !is_due("old", None)
                && !is_due("silent", None)
        );
    }
}
