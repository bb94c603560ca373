//! The target of an index job, and the location of its files.

use std::borrow::Cow;
use std::path::Path;

use super::super::{App, blocking};
use super::request::{Request, WHOLE_PROJECT};
use contract::config::{self, Config};
use contract::{ErrorCode, Fault, ProjectId, RepositoryAddress};
use engine::indexing::{FileTree, Options, RecordSource};
use engine::jobs::{self, Phase, RunningJob};
use history::{Revision, RevisionPatterns};
use mirrors::{Fetched, ImportedArchive};
use store::{Access, Project, ProjectTx};
use tenancy::{AllowedRoots, RepositoryRoot, RootKind};

/// Shown in the status of a job that waits for another process.
const DIRECTORY_NOT_FOUND_HERE: &str = "The process that took the job cannot find the repository's directory. The job waits for a process that \
    can; servers that share a database must have repositories under the same paths.";

/// The target of an index job.
pub(super) enum JobTarget {
    /// A directory or an archive on this machine, or a repository that this machine fetches.
    Repository(RepositoryRoot),
    /// Records of the project.
    Records(&'static RecordSource),
    /// Texts of the project without a vector.
    MissingVectors,
}

impl JobTarget {
    pub(super) fn from_request(request: &Request, project: &ProjectId, app: &App) -> Result<Self, Fault> {
        if request.options.vectors_only {
            return Ok(Self::MissingVectors);
        }
        if let Some(source) = app.record_source(&request.root) {
            return Ok(Self::Records(source));
        }
        let checked =
            AllowedRoots::for_project(&app.config.indexing, project).check(Path::new(&request.root));
        let is_address = RepositoryAddress::parse(&request.root).is_some();
        checked.map(Self::Repository).map_err(|fault| match fault.code {
            // Every process of the installation has the same lists, and can fetch what they allow.
            _ if is_address => fault,
            ErrorCode::NotFound | ErrorCode::Forbidden => {
                jobs::not_runnable_here(fault, DIRECTORY_NOT_FOUND_HERE)
            }
            _ => fault,
        })
    }

    /// Returns the location of the repository's files. Imports an archive. Fetches a repository that is given by its address, with the
    /// revisions that the job, or an earlier one, asked for.
    pub(super) async fn fetch_tree(
        &self,
        app: &App,
        running: &RunningJob,
        project: &Project,
        options: &Options,
    ) -> Result<JobTree, Fault> {
        let address = match self {
            Self::Repository(root) => match root.kind() {
                RootKind::Archive => return import_archive(app, running, root.path()).await,
                RootKind::Directory | RootKind::Address(_) => root.address(),
            },
            Self::Records(_) | Self::MissingVectors => None,
        };
        let Some(address) = address.cloned() else {
            return Ok(JobTree { tree: FileTree::Directory, revisions: Vec::new(), notes: Vec::new() });
        };
        let patterns = match &options.revisions {
            Some(patterns) => patterns.clone(),
            None => self.stored_patterns(app, project).await?,
        };
        let patterns = RevisionPatterns::parse(&patterns)
            .map_err(|reason| Fault::new(ErrorCode::InvalidRequest, reason))?;
        let must_stop = start_fetch(app, running).await?;
        let (mirrors, folder) = (app.mirrors(), address.folder().to_owned());
        let fetched = blocking(move || mirrors.fetch(&address, &patterns, &must_stop)).await?;
        let Fetched { git_dir, head, revisions, notes } = fetched;
        Ok(JobTree { tree: FileTree::Commit { git_dir, head, folder }, revisions, notes })
    }

    /// The patterns of the revisions that an earlier job asked for.
    async fn stored_patterns(&self, app: &App, project: &Project) -> Result<Vec<String>, Fault> {
        let mut tx = ProjectTx::begin(app.store().await?, project, Access::Write).await?;
        let patterns = store::revisions::patterns(&mut tx, &self.root().to_string_lossy()).await?;
        tx.commit().await?;
        Ok(patterns)
    }

    /// The configuration of the run. The commit of an archive is made here and says nothing of authors.
    pub(super) fn config<'c>(&self, config: &'c Config) -> Cow<'c, Config> {
        match self {
            Self::Repository(root) if *root.kind() == RootKind::Archive => {
                let indexing = config::Indexing { history: false, ..config.indexing.clone() };
                Cow::Owned(Config { indexing, ..config.clone() })
            }
            Self::Repository(_) | Self::Records(_) | Self::MissingVectors => Cow::Borrowed(config),
        }
    }

    /// Returns `true` if its files have to be fetched from a host.
    pub(super) fn is_remote(&self) -> bool {
        matches!(self, Self::Repository(root) if root.address().is_some())
    }

    pub(super) fn root(&self) -> &Path {
        match self {
            Self::Repository(root) => root.path(),
            Self::Records(source) => Path::new(source.root),
            Self::MissingVectors => Path::new(WHOLE_PROJECT),
        }
    }
}

/// Begins a fetch or an import. Returns the function that says whether it must stop. Each call counts as progress of the job, because
/// either may take long and is bounded by limits of its own.
async fn start_fetch(app: &App, running: &RunningJob) -> Result<Box<dyn Fn() -> bool + Send>, Fault> {
    running.progress.update(|progress| progress.phase = Phase::Fetch);
    app.disk_space().require(0).await?;
    let (progress, cancel) = (running.progress.clone(), running.cancel.clone());
    Ok(Box::new(move || {
        progress.touch();
        cancel.is_cancelled()
    }))
}

/// Brings the mirror of an archive up to date.
async fn import_archive(app: &App, running: &RunningJob, path: &Path) -> Result<JobTree, Fault> {
    let must_stop = start_fetch(app, running).await?;
    let (archives, path) = (app.archives(), path.to_owned());
    let imported = blocking(move || archives.import(&path, &must_stop)).await?;
    let ImportedArchive { git_dir, head, note } = imported;
    let tree = FileTree::Commit { git_dir, head, folder: String::new() };
    Ok(JobTree { tree, revisions: Vec::new(), notes: note.into_iter().collect() })
}

/// The files of a job's repository.
pub(super) struct JobTree {
    /// Those of the directory, the archive or the default branch.
    pub(super) tree: FileTree,
    /// The other branches and tags.
    pub(super) revisions: Vec<Revision>,
    /// Notes on what could not be fetched.
    pub(super) notes: Vec<String>,
}
