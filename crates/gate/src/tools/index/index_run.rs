//! Shared by the index tools: checks the path, creates the workspace, runs or queues the job and passes on its progress.

use std::path::{Component, Path, PathBuf};

use crate::app::background_run;
use crate::app::index_job::{self, LexicalReady, RequestingCall};
use crate::tools::repository::{is_name, list_repositories, on_default_host, require_path_outside_commit};
use crate::tools::{Call, ProgressUpdate};
use contract::{ErrorCode, Fault, RepositoryAddress, Warning, has_archive_name};
use embedding::ModelName;
use engine::indexing::{self, Options, RunReport};
use engine::jobs::{self, Phase, Progress};
use history::RevisionPatterns;
use store::Project;
use tenancy::{AllowedRoots, RepositoryRoot, RootKind};

/// The arguments of an index tool.
#[derive(Debug, Default)]
pub(in crate::tools) struct IndexRequest<'a> {
    /// The argument `project_id`.
    pub(in crate::tools) project_id: Option<&'a str>,
    /// The repository, by path or name; `None`: the caller's working directory.
    pub(in crate::tools) repo: Option<&'a str>,
    /// Options of the index job.
    pub(in crate::tools) options: Options,
    /// The new model of the project.
    pub(in crate::tools) model: Option<ModelName>,
    /// `true` if the caller confirmed that the new model discards the existing vectors.
    pub(in crate::tools) confirmed: bool,
}

/// A run that succeeded.
pub(in crate::tools) struct FinishedIndexRun {
    /// The project that was indexed.
    pub(in crate::tools) project: Project,
    /// The job.
    pub(in crate::tools) job_id: String,
    /// `true` if the job already existed when the call requested it.
    pub(in crate::tools) attached: bool,
    /// The report of the run.
    pub(in crate::tools) report: RunReport,
}

/// A run that is queued or running.
pub(in crate::tools) struct StartedIndexRun {
    /// The project that is indexed.
    pub(in crate::tools) project: Project,
    /// The job.
    pub(in crate::tools) job_id: String,
    /// `true` if the job already existed when the call requested it.
    pub(in crate::tools) attached: bool,
    /// queued or running.
    pub(in crate::tools) state: &'static str,
}

/// Runs an index job, or joins the one that is already queued, and waits for its end.
pub(in crate::tools) async fn run_to_end(
    call: &Call,
    request: &IndexRequest<'_>,
) -> Result<FinishedIndexRun, Fault> {
    let (project, root) = prepare(call, request).await?;
    let on_progress = |progress: &Progress| call.progress.report(progress_update(progress));
    let requester = requesting_call(call);
    let run = index_job::run(&requester, &project, &root, request.options.clone(), on_progress);
    let job = Box::pin(run).await?;
    to_finished(project, job)
}

fn to_finished(project: Project, job: jobs::FinishedJob) -> Result<FinishedIndexRun, Fault> {
    let report = serde_json::from_value(job.result)
        .map_err(|e| Fault::internal("The run's report could not be read.", e))?;
    Ok(FinishedIndexRun { project, job_id: job.job_id, attached: job.attached, report })
}

/// The result of waiting until lexical search covers what the run reads.
pub(in crate::tools) enum LexicalWait {
    /// The run continues in the background.
    StillRunning(Box<StartedIndexRun>, Progress),
    /// The run ended first.
    Finished(Box<FinishedIndexRun>),
}

/// Runs an index job and waits until lexical search covers what it read.
pub(in crate::tools) async fn run_until_lexical(
    call: &Call,
    request: &IndexRequest<'_>,
) -> Result<LexicalWait, Fault> {
    let (project, root) = prepare(call, request).await?;
    let on_progress = |progress: &Progress| call.progress.report(progress_update(progress));
    let options = request.options.clone();
    let requester = requesting_call(call);
    let ready =
        index_job::start_and_wait_for_lexical(&requester, &project, &root, options, on_progress).await?;
    Ok(match ready {
        LexicalReady::Continues { job_id, attached, progress } => {
            let started = StartedIndexRun { project, job_id, attached, state: "running" };
            LexicalWait::StillRunning(Box::new(started), progress)
        }
        LexicalReady::Finished(job) => LexicalWait::Finished(Box::new(to_finished(project, job)?)),
    })
}

/// Queues an index job and does not wait for it.
pub(in crate::tools) async fn start(
    call: &Call,
    request: &IndexRequest<'_>,
) -> Result<StartedIndexRun, Fault> {
    // Before anything is written: a refused call changes nothing.
    let slot = call.app.queues.admit_background_run(&call.caller.principal);
    let slot = slot.map_err(|refusal| refusal.to_fault())?;
    let (project, root) = prepare(call, request).await?;
    let enqueued = background_run::start(&call.app, slot, &project, &root, request.options.clone()).await?;
    let state = enqueued.job.state.as_str();
    Ok(StartedIndexRun { project, job_id: enqueued.job.id, attached: enqueued.attached, state })
}

/// The call as the requester of a job.
pub fn requesting_call(call: &Call) -> RequestingCall<'_> {
    RequestingCall { app: &call.app, cancel: &call.cancel, slot: &call.slot }
}

/// Warns if the root lies in another repository of the project or contains one.
async fn warn_of_overlap(call: &Call, project: &Project, root: &RepositoryRoot) -> Result<(), Fault> {
    let rows = list_repositories(call, project).await?;
    let overlaps = |other: &str| lies_in(other, root.as_str()) || lies_in(root.as_str(), other);
    if let Some(other) = rows.iter().find(|row| row.is_readable() && overlaps(&row.root)) {
        let this = if root.address().is_some() { "address" } else { "directory" };
        let relation = if lies_in(root.as_str(), &other.root) { "lies in" } else { "contains" };
        let message = format!(
            "This {this} {relation} the indexed repository `{}`. A search of both finds common files twice; \
             `clean_artifacts` removes a repository from the index.",
            other.name
        );
        let details = Some(serde_json::json!({ "repository": other.name }));
        call.warn(Warning { details, ..Warning::new("repositories_overlap", message) });
    }
    Ok(())
}

/// Returns `true` if one root is a part of the other: a directory below it, or a folder of the same repository by its address.
fn lies_in(inner: &str, outer: &str) -> bool {
    let address = |root: &str| RepositoryAddress::parse(root)?.ok();
    match (address(inner), address(outer)) {
        _ if inner == outer => false,
        (Some(inner), Some(outer)) => inner.repository() == outer.repository() && inner.is_within(&outer),
        // The folder around an archive does not have its files.
        (None, None) => Path::new(inner).starts_with(outer) && !has_archive_name(inner),
        _ => false,
    }
}

/// Resolves the project and the repository. Checks all arguments before it creates a workspace, so that a wrong call
/// leaves none behind.
async fn prepare(call: &Call, request: &IndexRequest<'_>) -> Result<(Project, RepositoryRoot), Fault> {
    let IndexRequest { project_id, repo, .. } = *request;
    let mut path = repository_path(call, repo)?;
    call.set_repository(path.to_string_lossy());
    let allowed = indexable_roots(call, project_id).await?;
    call.app.disk_space().require(0).await?;
    let settings = call.app.config.indexing.clone();
    let opened = call.project_if_any(project_id).await?;
    let workspace_exists = opened.is_some();
    // As in other tools, the name of an indexed repository means its folder or address.
    if let Some(project) = opened.filter(|_| is_name(&path)) {
        let rows = list_repositories(call, &project).await?;
        let row = rows.into_iter().find(|row| row.is_readable() && Path::new(&row.name) == path);
        path = row.map_or(path, |row| row.root.into());
    }
    let (cancel, mirrors, archives) = (call.cancel.clone(), call.app.mirrors(), call.app.archives());
    let revisions = request.options.revisions.clone().unwrap_or_default();
    let root = crate::app::blocking(move || {
        let root = allowed.check(&path)?;
        check_revisions(&root, &revisions)?;
        let is_cancelled = || cancel.is_cancelled();
        match root.kind() {
            _ if workspace_exists => {}
            // A repository that cannot be fetched or unpacked leaves no workspace behind either.
            RootKind::Address(address) => mirrors.probe(address, &is_cancelled)?,
            RootKind::Archive => archives.probe(root.path(), &is_cancelled)?,
            RootKind::Directory => indexing::require_files(&root, &settings, &is_cancelled)?,
        }
        Ok(root)
    })
    .await?;
    let project = call.project_with_model(project_id, request.model.as_ref()).await?;
    warn_of_overlap(call, &project, &root).await?;
    match &request.model {
        Some(model) if call.app.change_model(&project, model, request.confirmed).await? => {
            Ok((call.project(project_id).await?, root))
        }
        _ => Ok((project, root)),
    }
}

/// Refuses patterns of revisions that mean nothing, and those of a directory or an archive, which has one state of its files.
fn check_revisions(root: &RepositoryRoot, patterns: &[String]) -> Result<(), Fault> {
    if patterns.is_empty() {
        return Ok(());
    }
    let message = match root.kind() {
        RootKind::Address(_) => None,
        RootKind::Directory => {
            Some("Of a directory, only the files that are checked out are indexed, and no other revisions.")
        }
        RootKind::Archive => Some("Of an archive, only the files in it are indexed: it has no revisions."),
    };
    if let Some(message) = message {
        return Err(Fault::new(ErrorCode::InvalidRequest, message).with_hint(
            "Index the repository by its address: https://HOST/OWNER/NAME, or file:///PATH where that is allowed.",
        ));
    }
    RevisionPatterns::parse(patterns)
        .map(drop)
        .map_err(|reason| Fault::new(ErrorCode::InvalidRequest, reason))
}

/// The directories below which the caller may have repositories indexed into the project.
pub async fn indexable_roots(call: &Call, project_id: Option<&str>) -> Result<AllowedRoots, Fault> {
    let project = call.allowed_project(project_id).await?;
    let app = &call.app;
    AllowedRoots::for_caller(app.store().await?, &app.config, &project, &call.caller.principal).await
}

fn repository_path(call: &Call, repo: Option<&str>) -> Result<PathBuf, Fault> {
    match (repo, &call.caller.directory) {
        (Some(repo), _) => {
            let address = on_default_host(Path::new(repo), &call.app.config.git);
            Ok(address.map_or_else(|| PathBuf::from(repo), PathBuf::from))
        }
        (None, Some(directory)) => Ok(directory.clone()),
        (None, None) => Err(Fault::new(ErrorCode::InvalidRequest, "The call names no repository.")
            .with_hint("Give repoPath, the absolute path of the repository on the server or the address of a git repository.")),
    }
}

/// Resolves `artifactsDir`: a folder in the repository, or another one that the caller may index. It need not exist.
pub(in crate::tools) async fn resolve_artifacts_folder(
    call: &Call,
    project_id: Option<&str>,
    repo: Option<&str>,
    folder: &str,
) -> Result<String, Fault> {
    let (repo, folder) = (repository_path(call, repo)?, PathBuf::from(folder));
    let operator = call.caller.principal.is_operator();
    let allowed = indexable_roots(call, project_id).await?;
    crate::app::blocking(move || {
        let refused = || {
            Fault::new(ErrorCode::Forbidden, "`artifactsDir` is outside the repository.")
                .with_hint("Name a folder in the repository, such as `ci-artifacts`.")
        };
        let root = allowed.check(&repo)?;
        require_path_outside_commit(&root, "artifactsDir", &folder)?;
        let folder = root.path().join(folder);
        let resolved = match folder.canonicalize() {
            Ok(real) if operator || real.starts_with(root.path()) => real,
            Ok(real) => allowed.check(&real).map_err(|_| refused())?.path().to_owned(),
            // Elsewhere the caller must not learn which folders exist.
            Err(_) if operator || is_below(root.path(), &folder) => folder,
            Err(_) => return Err(refused()),
        };
        Ok(resolved.to_string_lossy().into_owned())
    })
    .await
}

/// Resolves `scip`: sound SCIP files in the repository, or in another directory that the caller may index.
pub(in crate::tools) async fn resolve_scip_files(
    call: &Call,
    project_id: Option<&str>,
    repo: Option<&str>,
    paths: &[String],
) -> Result<Vec<String>, Fault> {
    let (repo, paths) = (repository_path(call, repo)?, paths.to_vec());
    let operator = call.caller.principal.is_operator();
    let allowed = indexable_roots(call, project_id).await?;
    let settings = call.app.config.indexing.clone();
    crate::app::blocking(move || {
        let root = allowed.check(&repo)?;
        let refused = || {
            Fault::new(ErrorCode::Forbidden, "`scip` names a file outside the repository.")
                .with_hint("Name SCIP files in the repository, or in another directory that you may index.")
        };
        let not_found = || {
            Fault::new(ErrorCode::NotFound, "A file in `scip` was not found.")
                .with_hint("Give paths of existing files, absolute or relative to the repository.")
        };
        let resolve = |path: &String| {
            require_path_outside_commit(&root, "scip", Path::new(path))?;
            let path = root.path().join(path);
            let real = match path.canonicalize() {
                Ok(real) if operator || real.starts_with(root.path()) => real,
                Ok(real) if real.parent().is_some_and(|folder| allowed.check(folder).is_ok()) => real,
                // Elsewhere the caller must not learn which files exist.
                Err(_) if operator || is_below(root.path(), &path) => return Err(not_found()),
                _ => return Err(refused()),
            };
            indexing::check_scip_file(&real, &settings)?;
            real.into_os_string().into_string().map_err(|_| not_found())
        };
        paths.iter().map(resolve).collect()
    })
    .await
}

/// Returns `true` if a path that does not exist would be in a folder.
fn is_below(root: &Path, path: &Path) -> bool {
    path.strip_prefix(root)
        .is_ok_and(|rest| rest.components().all(|part| matches!(part, Component::Normal(_))))
}

/// Capitalizes a clause and adds a period.
fn as_sentence(clause: &str) -> String {
    let mut letters = clause.chars();
    letters.next().map(|first| format!("{}{}.", first.to_uppercase(), letters.as_str())).unwrap_or_default()
}

/// Converts the snapshot of a job into one number that never decreases. A vector counts as four files, which is closer to
/// its cost than one.
pub fn progress_update(progress: &Progress) -> ProgressUpdate {
    const VECTOR: f64 = 4.0;
    let float = |count: u64| u32::try_from(count).map_or(f64::from(u32::MAX), f64::from);
    let done = float(progress.files_done) + VECTOR * float(progress.vectors_done);
    let total = progress.vectors_total.zip(progress.files_total);
    let message = match progress.phase {
        Phase::Queued => match &progress.waits_for {
            Some(ahead) => as_sentence(&ahead.reason()),
            None => "Next in the queue.".to_owned(),
        },
        Phase::Fetch => "Fetching the repository.".to_owned(),
        Phase::Walk => "Scanning for files.".to_owned(),
        Phase::Files => {
            format!(
                "{} of {} files, {} chunks.",
                progress.files_done,
                progress.files_total.unwrap_or(0),
                progress.chunks
            )
        }
        Phase::Embed => {
            format!(
                "{} of {} vectors; lexical search is ready.",
                progress.vectors_done,
                progress.vectors_total.unwrap_or(0)
            )
        }
        Phase::History => "Reading the git history.".to_owned(),
        Phase::Finish => "Finishing.".to_owned(),
    };
    ProgressUpdate {
        phase: progress.phase.as_str(),
        done,
        total: total.map(|(vectors, files)| float(files) + VECTOR * float(vectors)),
        message,
        detail: Some(progress.to_value()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_have_revisions() {
        let folder = tempfile::tempdir().unwrap();
        let archive = folder.path().join("shop.zip");
        std::fs::write(&archive, "").unwrap();
        for (path, expected) in [(folder.path(), "Of a directory, "), (archive.as_path(), "Of an archive, ")]
        {
            let root = AllowedRoots::any().check(path).unwrap();
            let fault = check_revisions(&root, &["v*".to_owned()]).unwrap_err();
            assert!(fault.message.starts_with(expected), "{fault}");
            check_revisions(&root, &[]).unwrap();
        }
    }

    #[test]
    fn a_folder_lies_in_its_repository() {
        for (inner, outer) in [
            ("/srv/shop/src", "/srv/shop"),
            ("https://host/acme/shop//src", "https://host/acme/shop"),
            ("https://host/acme/shop//src/till", "https://host/acme/shop//src"),
        ] {
            assert!(lies_in(inner, outer) && !lies_in(outer, inner), "{inner} {outer}");
        }
        for (one, other) in [
            ("/srv/shop", "/srv/shop"),
            ("/srv/shopping", "/srv/shop"),
            ("https://host/acme/shop//src", "https://host/acme/shop//src"),
            ("https://host/acme/shop//source", "https://host/acme/shop//src"),
            // A group and a repository in it share no files.
            ("https://host/acme/shop", "https://host/acme"),
            ("https://host/acme/shop", "/srv/shop"),
            ("imported:shop", "/srv/shop"),
            ("/srv/shop/vendor.zip", "/srv/shop"),
        ] {
            assert!(!lies_in(one, other) && !lies_in(other, one), "{one} {other}");
        }
    }
}
