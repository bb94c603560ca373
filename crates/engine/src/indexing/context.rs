//! The context of an index run, which is passed to every stage.

use std::path::Path;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::file::OpenRoot;
use super::file_tree::FileTree;
use super::interfaces::Interfaces;
use super::options::Options;
use super::parser::Parsing;
use crate::jobs::ProgressSender;
use contract::Fault;
use contract::clock::Clock;
use contract::config::Config;
use embedding::Embedder;
use history::Revision;
use languages::Dictionary;
use store::{Access, Fence, Project, ProjectTx, Store};

/// The inputs of an index run. Besides these, a run reads only the repository.
pub struct RunContext<'a> {
    /// The database.
    pub store: &'a Store,
    /// The project to write to.
    pub project: &'a Project,
    /// The job's fence token: every transaction checks that it is still the newest.
    pub fence: Fence,
    /// The canonical root of the repository, or its address.
    pub root: &'a Path,
    /// Location of the repository's files.
    pub tree: &'a FileTree,
    /// Branches and tags that are indexed in addition to the default branch.
    pub revisions: &'a [Revision],
    /// The options of the run.
    pub options: Options,
    /// The project's model; without one the run completes lexical search and leaves vectors pending.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// Method of parsing files.
    pub parsing: &'a Parsing,
    /// Interfaces of files that earlier runs have read.
    pub interfaces: &'a Interfaces,
    /// Splits unsegmented identifiers. A repository that was indexed with another dictionary is read again.
    pub dictionary: Option<Arc<Dictionary>>,
    /// The configuration.
    pub config: &'a Config,
    /// The source of the current time.
    pub clock: &'a dyn Clock,
    /// Fires when the job is cancelled or its lease is lost.
    pub cancel: &'a CancellationToken,
    /// Receives the progress.
    pub progress: &'a ProgressSender,
}

impl<'a> RunContext<'a> {
    /// Returns the same run over other files.
    pub(super) fn with_tree<'t>(&self, tree: &'t FileTree) -> RunContext<'t>
    where
        'a: 't,
    {
        RunContext {
            tree,
            options: self.options.clone(),
            embedder: self.embedder.clone(),
            dictionary: self.dictionary.clone(),
            ..*self
        }
    }

    /// Returns a function that work on other threads calls to find out whether it must stop. Each call also counts as
    /// progress.
    pub(super) fn stop_check(&self) -> impl Fn() -> bool + Send + Sync + 'static {
        let (cancel, progress) = (self.cancel.clone(), self.progress.clone());
        move || {
            progress.touch();
            cancel.is_cancelled()
        }
    }

    /// Opens the repository for reading its files.
    ///
    /// # Errors
    /// Those of [`OpenRoot::open_in`].
    pub(super) fn open_root(&self) -> Result<OpenRoot, Fault> {
        OpenRoot::open_in(self.root, self.tree)
    }

    /// As [`begin_batch`](Self::begin_batch), for statements that may take longer.
    pub(super) async fn begin_bulk(&self) -> Result<ProjectTx, Fault> {
        let mut tx = self.begin_batch().await?;
        tx.lift_timeout().await?;
        Ok(tx)
    }

    /// Begins the transaction of a batch, after checking that the disk has enough free space.
    pub(super) async fn begin_batch(&self) -> Result<ProjectTx, Fault> {
        self.store.require_disk_space().await?;
        ProjectTx::begin(self.store, self.project, Access::Write).await
    }

    /// Returns the memory for building a database index, in MB.
    pub(super) fn maintenance_memory_mb(&self) -> u32 {
        self.config.embedded.maintenance_work_mem_mb
    }
}
