//! `bootstrap`: sets up a fresh machine and a project, and reports the outcome of each step.

use std::path::Path;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::{Bulkhead, blocking, index_job};
use crate::tools::index::index_run;
use crate::tools::project_id_arg::ProjectIdArg;
use crate::tools::spec::run_typed;
use crate::tools::{Call, Effects, ProgressUpdate, ToolSpec, Toolset, schema};
use contract::config::Enabled;
use contract::{ErrorCode, Fault};
use engine::indexing::{Options, RestoredArtifacts};
use tenancy::Scope;
use upkeep::install::dictionaries::install_dictionaries;
use upkeep::install::{AssetEvent, AssetSelection, DownloadOptions, repair_assets};

pub(crate) const TOOL: ToolSpec = ToolSpec {
    name: "bootstrap",
    title: "Bootstrap",
    description: "Set up a machine and a project: runtime files, word lists, a check of the database, CI artifacts, the index. Steps \
        run in order; if one fails, the answer says why and the remaining ones still run.",
    toolset: Toolset::ADMIN,
    effects: Effects::FETCHES,
    scope: Scope::Admin,
    bulkhead: Bulkhead::Index,
    timeout: |limits| limits.artifacts_ms,
    input: schema::generate_schema::<BootstrapInput>,
    output: schema::generate_output_schema::<BootstrapOutput>,
    run: |call, arguments| run_typed(call, arguments, bootstrap),
    ..ToolSpec::BASE
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "the contract defines these switches")]
struct BootstrapInput {
    /// Repository to index: its absolute path on the server; default: the directory the client works in.
    #[schemars(length(min = 1, max = 4096))]
    repo_path: Option<String>,
    /// Project to index into; omitted: the session's, else the default workspace.
    #[serde(rename = "project_id")]
    project_id: Option<ProjectIdArg>,
    /// Do not install runtime files.
    #[serde(default)]
    skip_install: bool,
    /// Do not install word lists.
    #[serde(default)]
    skip_dicts: bool,
    /// Do not check the database.
    #[serde(default)]
    skip_tooling: bool,
    /// Do not use CI artifacts.
    #[serde(default)]
    skip_artifacts: bool,
    /// Do not index.
    #[serde(default)]
    skip_index: bool,
    /// Also write the portable index file.
    #[serde(default)]
    with_sqlite: bool,
    /// true (default): read only changed files. Cannot be combined with skipIndex.
    incremental: Option<bool>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct BootstrapOutput {
    /// The project; null is the default workspace.
    project_id: Option<String>,
    /// True if no step failed.
    complete: bool,
    /// The steps in the order in which they ran.
    steps: Vec<BootstrapStep>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct BootstrapStep {
    /// install, dictionaries, tooling, artifacts, index or sqlite.
    step: &'static str,
    /// Outcome of the step.
    state: StepState,
    /// Why the step was skipped or failed; else what it installed or found.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Duration of the step, in milliseconds.
    ms: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum StepState {
    Done,
    Present,
    Skipped,
    Failed,
}

/// The outcome of a step and the reason or details that the answer shows.
type StepResult = (StepState, Option<String>);

/// The folder of a repository in which CI stores portable index files.
const CI_ARTIFACTS_FOLDER: &str = "ci-artifacts";
/// The word list that is part of the program.
const BUILT_IN_WORD_LIST: &str = "en";
/// Reason of a step that the caller switched off or did not request.
const NOT_REQUESTED: &str = "not requested";
/// Reason of a step that needs another scope.
const NO_INDEX_SCOPE: &str = "your key lacks the scope `index`";
/// Reason of a step that only the operator may run.
const NOT_OPERATOR: &str = "only the operator may change what all projects share";

async fn bootstrap(call: Call, input: BootstrapInput) -> Result<BootstrapOutput, Fault> {
    if input.skip_index && input.incremental.is_some() {
        return Err(Fault::new(
            ErrorCode::InvalidRequest,
            "`incremental` and `skipIndex` contradict each other.",
        )
        .with_hint("Leave one of them out."));
    }
    let project_id = input.project_id.as_deref();
    call.allowed_project(project_id).await?;
    let operator = call.require_operator().is_ok();
    let machine = |skip: bool| if skip { Some(NOT_REQUESTED) } else { (!operator).then_some(NOT_OPERATOR) };
    let mut steps = vec![
        run_step(&call, "install", machine(input.skip_install), install_assets(&call)).await,
        run_step(&call, "dictionaries", machine(input.skip_dicts), install_word_lists(&call)).await,
        run_step(&call, "tooling", input.skip_tooling.then_some(NOT_REQUESTED), check_database(&call)).await,
    ];
    let artifacts = if input.skip_artifacts { None } else { ci_artifacts_folder(&call, &input).await };
    let skip_artifacts = match (&artifacts, input.skip_artifacts) {
        (_, true) => Some(NOT_REQUESTED),
        (None, _) => Some("the repository has no ci-artifacts"),
        (Some(_), _) => None,
    };
    let skip_index = match () {
        () if input.skip_index => Some(NOT_REQUESTED),
        () if input.repo_path.is_none() && call.caller.directory.is_none() => {
            Some("the call names no repository")
        }
        () if !call.caller.principal.has_scope(Scope::Index) => Some(NO_INDEX_SCOPE),
        () => None,
    };
    let mut restored = None;
    let indexed =
        run_step(&call, "index", skip_index, index_repository(&call, &input, artifacts, &mut restored)).await;
    // The index run restores the vectors before it embeds anything, so its step contains the time of this one.
    let restored_step =
        async { Ok(restored.unwrap_or((StepState::Failed, Some("the index step failed first".to_owned())))) };
    steps.push(run_step(&call, "artifacts", skip_artifacts.or(skip_index), restored_step).await);
    steps.push(indexed);
    let skip_sqlite = match () {
        () if !input.with_sqlite => Some(NOT_REQUESTED),
        () => (!call.caller.principal.has_scope(Scope::Index)).then_some(NO_INDEX_SCOPE),
    };
    steps.push(run_step(&call, "sqlite", skip_sqlite, export_portable_file(&call, project_id)).await);
    Ok(BootstrapOutput {
        complete: steps.iter().all(|step| step.state != StepState::Failed),
        project_id: input.project_id.map(String::from).filter(|id| id != "default"),
        steps,
    })
}

/// Runs a step unless `skipped` says why not. A failure becomes the state of the step, so that the next step still runs.
async fn run_step(
    call: &Call,
    step: &'static str,
    skipped: Option<&str>,
    work: impl Future<Output = Result<StepResult, Fault>> + Send,
) -> BootstrapStep {
    // No step starts after the call was cancelled.
    let skipped = skipped.or_else(|| call.cancel.is_cancelled().then_some("the call was cancelled"));
    if let Some(reason) = skipped {
        return BootstrapStep { step, state: StepState::Skipped, reason: Some(reason.to_owned()), ms: 0 };
    }
    let started = call.app.clock.instant();
    let (state, reason) = work.await.unwrap_or_else(|fault| {
        let fault = if call.caller.surface.is_local() { fault.for_local_caller() } else { fault };
        let hint = fault.hint.map(|hint| format!(" {hint}")).unwrap_or_default();
        (StepState::Failed, Some(format!("{}: {}{hint}", fault.code, fault.message)))
    });
    let ms = u64::try_from(call.app.clock.instant().duration_since(started).as_millis()).unwrap_or(u64::MAX);
    BootstrapStep { step, state, reason, ms }
}

/// Installs missing runtime files and replaces damaged ones.
async fn install_assets(call: &Call) -> Result<StepResult, Fault> {
    let app = Arc::clone(&call.app);
    let progress = call.progress.clone();
    let selection = AssetSelection { postgres: app.config.database.url.is_none(), embedding: true };
    let tell = move |event: AssetEvent| {
        let (message, done, total) = match event {
            AssetEvent::Step { asset, what } => (format!("{asset}: {what}"), 0, None),
            AssetEvent::Progress { asset, done, total } => (asset, done, total),
            AssetEvent::Done { .. } => return,
        };
        let kib = |bytes: u64| u32::try_from(bytes / 1024).map_or(f64::from(u32::MAX), f64::from);
        let (done, total) = (kib(done), total.map(kib));
        progress.report(ProgressUpdate { phase: "install", done, total, message, detail: None });
    };
    let cancel = call.cancel.clone();
    let repaired = blocking(move || {
        let cancelled = || cancel.is_cancelled();
        repair_assets(&app.layout, &app.config.assets, selection, None, &cancelled, &tell)
    })
    .await?;
    Ok(match repaired.installed.as_slice() {
        [] => (StepState::Present, None),
        installed => (StepState::Done, Some(installed.join(", "))),
    })
}

/// Installs the built-in word list. The tokenizer splits unsegmented identifiers with it.
async fn install_word_lists(call: &Call) -> Result<StepResult, Fault> {
    let app = &call.app;
    if app.config.dictionaries.enabled == Enabled::Off {
        return Ok((StepState::Skipped, Some("dictionaries.enabled is off".to_owned())));
    }
    let options = DownloadOptions {
        layout: &app.layout,
        config: &app.config,
        clock: &*app.clock,
        folder: app.dictionaries.folder().to_owned(),
        from: None,
        update: false,
        force: false,
    };
    let languages = [BUILT_IN_WORD_LIST.to_owned()];
    let installed = tokio::select! {
        installed = install_dictionaries(&options, &languages, &[], &|_, _, _| {}) => installed?,
        () = call.cancel.cancelled() => {
            return Err(Fault::new(ErrorCode::Cancelled, "The download was cancelled."));
        }
    };
    let names: Vec<&str> = installed.downloaded.iter().map(|list| list.name.as_str()).collect();
    Ok(if names.is_empty() { (StepState::Present, None) } else { (StepState::Done, Some(names.join(", "))) })
}

/// Checks the connection to the database; reports the versions of Postgres and pgvector.
async fn check_database(call: &Call) -> Result<StepResult, Fault> {
    let database = call.app.store().await?.database();
    database.ping().await?;
    let facts = database.facts();
    let details = format!("PostgreSQL {}, pgvector {}", facts.version, facts.vector_version);
    match facts.warnings.first() {
        Some(warning) => Ok((StepState::Failed, Some(warning.clone()))),
        None => Ok((StepState::Present, Some(details))),
    }
}

/// Runs an index job. `restored` receives the outcome of restoring vectors from CI artifacts.
async fn index_repository(
    call: &Call,
    input: &BootstrapInput,
    artifacts: Option<String>,
    restored: &mut Option<StepResult>,
) -> Result<StepResult, Fault> {
    let options = Options { full: !input.incremental.unwrap_or(true), artifacts, ..Options::default() };
    let (project_id, repo) = (input.project_id.as_deref(), input.repo_path.as_deref());
    let request = index_run::IndexRequest { project_id, repo, options, ..index_run::IndexRequest::default() };
    let report = index_run::run_to_end(call, &request).await?.report;
    if let Some(RestoredArtifacts { files, vectors, .. }) = report.restored_artifacts {
        let state = if vectors > 0 { StepState::Done } else { StepState::Present };
        *restored = Some((state, Some(format!("{vectors} vectors of {files} files"))));
    }
    let changed = report.files_changed + report.files_removed + report.vectors_embedded > 0;
    let details = format!("{} files, {} chunks", report.files, report.chunks);
    Ok((if changed { StepState::Done } else { StepState::Present }, Some(details)))
}

/// The folder with portable files from CI, if it exists and the caller may index the repository.
async fn ci_artifacts_folder(call: &Call, input: &BootstrapInput) -> Option<String> {
    let folder = index_run::resolve_artifacts_folder(
        call,
        input.project_id.as_deref(),
        input.repo_path.as_deref(),
        CI_ARTIFACTS_FOLDER,
    )
    .await
    .ok()?;
    Path::new(&folder).is_dir().then_some(folder)
}

/// Refreshes the project's portable file.
async fn export_portable_file(call: &Call, project_id: Option<&str>) -> Result<StepResult, Fault> {
    let project = call.project(project_id).await?;
    // The index step may have released the slot while it waited for the run of another call.
    call.slot.resume().await;
    let file = index_job::export(&call.app, call.app.store().await?, &project, &call.cancel).await?;
    Ok((StepState::Done, Some(format!("{}, {} bytes", file.name, file.bytes))))
}
