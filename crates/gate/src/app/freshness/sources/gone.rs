//! Removes repositories from the index that the host of a source has not had for long.

use super::super::project_repositories;
use super::{RETRY, SourceSync, Unsynced};
use crate::app::Cleaning;
use contract::{ErrorCode, Fault, escaped_line};
use store::{DecidedBy, SourceRepositoryRow, source_repositories};

impl SourceSync<'_> {
    /// Removes the repositories from their projects, as far as this source brought them there, and forgets them.
    pub(super) async fn remove(&mut self, gone: &[SourceRepositoryRow]) -> Result<(), Unsynced> {
        for row in gone {
            self.check_stop()?;
            let address = &row.repository.address;
            (self.on_step)(&format!("removing {}", escaped_line(address)));
            match self.remove_one(row).await {
                Ok(()) => self.report.removed += 1,
                Err(fault) => {
                    self.check_stop()?;
                    tracing::warn!(source = self.source.name(), address, project = row.repository.project_id.as_str(),
                        code = %fault.code, "a repository that is gone could not be removed: {}", fault.message);
                    if fault.code == ErrorCode::StorageUnavailable {
                        return Err(Unsynced { fault, retry_after: Some(RETRY) });
                    }
                    // For example while another job writes to the project. The next sync tries again.
                    self.report.add_not_removed();
                }
            }
        }
        Ok(())
    }

    async fn remove_one(&self, row: &SourceRepositoryRow) -> Result<(), Fault> {
        let (store, source) = (self.app.store().await?, self.source.name());
        // Since the listing, indexing may have taken hours, in which another process may have taken over and found it again.
        let mut control = store.control().await?;
        let grace_ms = self.settings.gone_after_ms;
        if !source_repositories::is_gone_for(&mut control, source, &row.repository, grace_ms).await? {
            return Ok(());
        }
        let is_ours_alone =
            row.added && !source_repositories::hand_over(&mut control, source, &row.repository).await?;
        control.commit().await?;
        if is_ours_alone {
            self.remove_index(row).await?;
        }
        let mut control = store.control().await?;
        source_repositories::remove(&mut control, source, &row.repository).await?;
        control.commit().await
    }

    async fn remove_index(&self, row: &SourceRepositoryRow) -> Result<(), Fault> {
        let (store, repository) = (self.app.store().await?, &row.repository);
        let Some(project) = tenancy::open(store, &repository.project_id, DecidedBy::Argument).await? else {
            return Ok(());
        };
        let mut repositories = project_repositories(store, &project).await?;
        repositories.retain(|indexed| indexed.root == repository.address);
        if repositories.is_empty() {
            return Ok(());
        }
        let cleaning = Cleaning { app: self.app, project: &project, repositories: &repositories, all: false };
        Box::pin(cleaning.execute(self.stop)).await.map(drop)
    }
}
