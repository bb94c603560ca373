//! What the index tools share: check the path, make the workspace, run or queue the job, pass progress on.

use std::path::{Component, Path, PathBuf};

use crate::app::index_job::{self, By, WordsReady};
use crate::tools::repository::all;
use crate::tools::{Call, ProgressUpdate};
use contract::{ErrorCode, Fault};
use embedding::ModelName;
use engine::indexing::{self, Options, RunReport};
use engine::jobs::{self, Phase, Progress};
use store::Project;
use tenancy::{AllowedRoots, RepositoryRoot};

/// What an index tool was asked for.
#[derive(Debug, Default)]
pub(in crate::tools) struct Wanted<'a> {
    /// Which project; None: by the usual rules.
    pub(in crate::tools) project_id: Option<&'a str>,
    /// The repository; None: where the caller works.
    pub(in crate::tools) repo: Option<&'a str>,
    /// How.
    pub(in crate::tools) options: Options,
    /// The model that the project is to have.
    pub(in crate::tools) model: Option<ModelName>,
    /// Whether a project that has another one may lose its vectors for it.
    pub(in crate::tools) confirmed: bool,
}

/// A run that is over.
pub(in crate::tools) struct Finished {
    /// Where it wrote.
    pub(in crate::tools) project: Project,
    /// The job.
    pub(in crate::tools) job_id: String,
    /// Whether it had been asked for already.
    pub(in crate::tools) attached: bool,
    /// What it did.
    pub(in crate::tools) report: RunReport,
}

/// A run that was asked for.
pub(in crate::tools) struct Begun {
    /// Where it writes.
    pub(in crate::tools) project: Project,
    /// The job.
    pub(in crate::tools) job_id: String,
    /// Whether it had been asked for already.
    pub(in crate::tools) attached: bool,
    /// queued or running.
    pub(in crate::tools) state: &'static str,
}

/// Runs and waits.
pub(in crate::tools) async fn run(call: &Call, wanted: &Wanted<'_>) -> Result<Finished, Fault> {
    let (project, root) = prepare(call, wanted).await?;
    let on_progress = |progress: &Progress| call.progress.report(update(progress));
    let by = by(call);
    let run = index_job::run(&by, &project, &root, wanted.options.clone(), on_progress);
    let done = Box::pin(run).await?;
    finished(project, done)
}

fn finished(project: Project, done: jobs::Finished) -> Result<Finished, Fault> {
    let report = serde_json::from_value(done.result)
        .map_err(|e| Fault::internal("The run's report could not be read.", e))?;
    Ok(Finished { project, job_id: done.job_id, attached: done.attached, report })
}

/// A run whose words are searchable, or that is over.
pub(in crate::tools) enum Searchable {
    /// It goes on behind the answer.
    GoesOn(Begun, Progress),
    /// It is over.
    Over(Finished),
}

/// Runs, and waits until words are searchable.
pub(in crate::tools) async fn run_until_words(call: &Call, wanted: &Wanted<'_>) -> Result<Searchable, Fault> {
    let (project, root) = prepare(call, wanted).await?;
    let on_progress = |progress: &Progress| call.progress.report(update(progress));
    let options = wanted.options.clone();
    let reached = index_job::begin_with_words(&by(call), &project, &root, options, on_progress).await?;
    Ok(match reached {
        WordsReady::GoesOn { job_id, attached, progress } => {
            let begun = Begun { project, job_id, attached, state: "running" };
            Searchable::GoesOn(begun, progress)
        }
        WordsReady::Over(done) => Searchable::Over(finished(project, done)?),
    })
}

/// Asks for a run and does not wait.
pub(in crate::tools) async fn begin(call: &Call, wanted: &Wanted<'_>) -> Result<Begun, Fault> {
    let (project, root) = prepare(call, wanted).await?;
    let asked = index_job::begin(&call.app, &project, &root, wanted.options.clone()).await?;
    let state = asked.job.state.as_str();
    Ok(Begun { project, job_id: asked.job.id, attached: asked.attached, state })
}

/// For whom a job is done.
pub(in crate::tools) fn by(call: &Call) -> By<'_> {
    By { app: &call.app, cancel: &call.cancel, seat: &call.seat }
}

/// Everything that can be wrong with the call is found before the workspace is made.
async fn prepare(call: &Call, wanted: &Wanted<'_>) -> Result<(Project, RepositoryRoot), Fault> {
    let Wanted { project_id, repo, .. } = *wanted;
    let mut path = named(call, repo)?;
    call.about_repo(path.to_string_lossy());
    let allowed = indexable(call, project_id).await?;
    call.app.room().require(0).await?;
    let settings = call.app.config.indexing.clone();
    let opened = call.project_if_any(project_id).await?;
    let known = opened.is_some();
    // The name of a repository that is indexed stands for its folder, as it does in other tools.
    if let Some(project) = opened.filter(|_| path.is_relative()) {
        let rows = all(call, &project).await?;
        let row = rows.into_iter().find(|row| row.is_folder() && Path::new(&row.name) == path);
        path = row.map_or(path, |row| row.root.into());
    }
    let root = crate::app::blocking(move || {
        let root = allowed.check(&path)?;
        if !known {
            indexing::require_files(root.path(), &settings)?;
        }
        Ok(root)
    })
    .await?;
    let project = call.project_with_model(project_id, wanted.model.as_ref()).await?;
    match &wanted.model {
        Some(model) if call.app.repin(&project, model, wanted.confirmed).await? => {
            Ok((call.project(project_id).await?, root))
        }
        _ => Ok((project, root)),
    }
}

/// Below which directories the caller may have something indexed into the project.
pub(in crate::tools) async fn indexable(
    call: &Call,
    project_id: Option<&str>,
) -> Result<AllowedRoots, Fault> {
    let project = call.allowed_project(project_id).await?;
    let app = &call.app;
    AllowedRoots::of_caller(app.store().await?, &app.config, &project, &call.caller.principal).await
}

fn named(call: &Call, repo: Option<&str>) -> Result<PathBuf, Fault> {
    match (repo, &call.caller.directory) {
        (Some(repo), _) => Ok(repo.into()),
        (None, Some(directory)) => Ok(directory.clone()),
        (None, None) => Err(Fault::new(ErrorCode::InvalidRequest, "No repository was named.")
            .with_hint("Give repoPath, the absolute path of the repository on the server.")),
    }
}

/// A folder in the repository, or elsewhere where the caller could index it; it need not exist.
pub(in crate::tools) async fn artifacts(
    call: &Call,
    project_id: Option<&str>,
    repo: Option<&str>,
    folder: &str,
) -> Result<String, Fault> {
    let (repo, folder) = (named(call, repo)?, PathBuf::from(folder));
    let operator = call.caller.principal.is_operator();
    let allowed = indexable(call, project_id).await?;
    crate::app::blocking(move || {
        let refused = || {
            Fault::new(ErrorCode::Forbidden, "`artifactsDir` is outside the repository.")
                .with_hint("Name a folder in the repository, such as `ci-artifacts`.")
        };
        let root = allowed.check(&repo)?;
        let folder = root.path().join(folder);
        let shown = match folder.canonicalize() {
            Ok(real) if operator || real.starts_with(root.path()) => real,
            Ok(real) => allowed.check(&real).map_err(|_| refused())?.path().to_owned(),
            // What is not there is only told of places that the caller may see.
            Err(_) if operator || is_below(root.path(), &folder) => folder,
            Err(_) => return Err(refused()),
        };
        Ok(shown.to_string_lossy().into_owned())
    })
    .await
}

/// Whether a path that does not exist would lie in a folder.
fn is_below(root: &Path, path: &Path) -> bool {
    path.strip_prefix(root)
        .is_ok_and(|rest| rest.components().all(|part| matches!(part, Component::Normal(_))))
}

/// A clause as a sentence.
fn sentence(clause: &str) -> String {
    let mut letters = clause.chars();
    letters.next().map(|first| format!("{}{}.", first.to_uppercase(), letters.as_str())).unwrap_or_default()
}

/// The job's snapshot as one monotonic number: files count one, vectors count four, which is nearer to
/// their cost than equal parts.
pub(in crate::tools) fn update(progress: &Progress) -> ProgressUpdate {
    const VECTOR: f64 = 4.0;
    let float = |count: u64| u32::try_from(count).map_or(f64::from(u32::MAX), f64::from);
    let done = float(progress.files_done) + VECTOR * float(progress.vectors_done);
    let total = progress.vectors_total.zip(progress.files_total);
    let message = match progress.phase {
        Phase::Queued => match &progress.waits_for {
            Some(ahead) => sentence(&ahead.sentence()),
            None => "Queued; next in turn.".to_owned(),
        },
        Phase::Walk => "Looking for files.".to_owned(),
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
                "{} of {} vectors; words are searchable.",
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
