//! Removes repositories from the index of a project: for `clean_artifacts`, and for sources whose host no longer has them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::{App, upkeep_job};
use contract::Fault;
use engine::jobs::RunningJob;
use store::{Project, RepositoryRow, Store};
use upkeep::retention::{CleanRequest, ProjectUpkeep, RemovalReport};

/// Subject of the job in the queue; the same for every caller, so that calls share the job.
const SUBJECT: &str = "clean_artifacts";

/// The repositories to remove from a project, with the files that were derived from them.
pub struct Cleaning<'a> {
    /// The application.
    pub app: &'a Arc<App>,
    /// The project.
    pub project: &'a Project,
    /// The repositories.
    pub repositories: &'a [RepositoryRow],
    /// Also remove files of the project's folder that belong to no repository.
    pub all: bool,
}

impl Cleaning<'_> {
    /// Lists what [`Cleaning::execute`] would remove; changes nothing.
    ///
    /// # Errors
    /// As [`CleanRequest::plan`].
    pub async fn plan(&self, cancel: &CancellationToken) -> Result<RemovalReport, Fault> {
        let (store, folder) = (self.app.store().await?, self.folder());
        self.request(store, &folder, cancel).plan().await
    }

    /// Removes the repositories, as the only writer of the project.
    ///
    /// # Errors
    /// `ILLEGAL_STATE` immediately if another job is writing; as [`CleanRequest::execute`].
    pub async fn execute(&self, cancel: &CancellationToken) -> Result<RemovalReport, Fault> {
        let (store, folder) = (self.app.store().await?, self.folder());
        let folder = folder.as_path();
        // A job has a token of its own, unlike a dry run.
        let work = |running: RunningJob| async move {
            self.request(store, folder, &running.cancel).execute(running.fence).await
        };
        upkeep_job::run_exclusive(self.app, self.project, SUBJECT, cancel, work).await
    }

    fn folder(&self) -> PathBuf {
        self.app.layout.project(self.project.id().as_str())
    }

    /// The request of the upkeep package; `cancel` stops it.
    fn request<'a>(
        &'a self,
        store: &'a Store,
        folder: &'a Path,
        cancel: &'a CancellationToken,
    ) -> CleanRequest<'a> {
        let settings = &self.app.config.upkeep;
        CleanRequest {
            project: ProjectUpkeep { store, project: self.project, folder, settings, cancel },
            repositories: self.repositories,
            all: self.all,
        }
    }
}
