//! `bootstrap`: everything a fresh machine or project needs, step by step, each step told.

use std::path::Path;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::{Bulkhead, blocking, index_job};
use crate::tools::index::job;
use crate::tools::project_id_arg::ProjectIdArg;
use crate::tools::spec::typed;
use crate::tools::{Call, Effects, ProgressUpdate, TimeoutClass, ToolSpec, Toolset, schema};
use contract::config::Enabled;
use contract::{ErrorCode, Fault};
use engine::indexing::{Options, RestoredArtifacts};
use tenancy::Scope;
use upkeep::assets::{self, AssetEvent, Wanted};
use upkeep::dictionaries::{self, Workshop};

pub(crate) const TOOL: ToolSpec = ToolSpec {
    name: "bootstrap",
    title: "Bootstrap",
    description: "Set up a machine and a project: runtime files, word lists, a check of the database, CI artifacts, the index. Steps \
        run in order; a failed one is told, and those after it still run.",
    toolset: Toolset::Admin,
    effects: Effects::FETCHES,
    scope: Scope::Admin,
    bulkhead: Bulkhead::Index,
    timeout: TimeoutClass::Artifacts,
    input: schema::of::<Input>,
    output: schema::of_answer::<Output>,
    run: |call, arguments| typed(call, arguments, run),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "the contract's own switches")]
struct Input {
    /// Repository to index: its absolute path on the server; default: the directory the client works in.
    #[schemars(length(min = 1, max = 4096))]
    repo_path: Option<String>,
    /// Project to index into; omitted: the default workspace.
    #[serde(rename = "project_id")]
    project_id: Option<ProjectIdArg>,
    /// Leave runtime files alone.
    #[serde(default)]
    skip_install: bool,
    /// Leave word lists alone.
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
    /// Also write the portable file.
    #[serde(default)]
    with_sqlite: bool,
    /// true (default): only changed files are read. Not together with skipIndex.
    incremental: Option<bool>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Output {
    /// The project; null is the default workspace.
    project_id: Option<String>,
    /// True when no step failed.
    complete: bool,
    /// In the order in which they ran.
    steps: Vec<Step>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Step {
    /// install, dictionaries, tooling, artifacts, index or sqlite.
    step: &'static str,
    /// How it ended.
    state: State,
    /// Why, or what there is.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// How long it took.
    ms: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum State {
    Done,
    Present,
    Skipped,
    Failed,
}

/// How a step ended, and what there is to say of it.
type Ended = (State, Option<String>);

/// The folder of a repository in which CI leaves portable files.
const ARTIFACTS: &str = "ci-artifacts";
/// The word list that the product brings.
const BUILT_IN: &str = "en";
/// What was asked not to be done, or nobody asked for.
const NOT_ASKED: &str = "not asked for";
/// What takes another scope.
const NOT_INDEXING: &str = "your key lacks the scope `index`";
/// What only the operator may do.
const NOT_YOURS: &str = "only the operator may change what all projects share";

async fn run(call: Call, input: Input) -> Result<Output, Fault> {
    if input.skip_index && input.incremental.is_some() {
        return Err(Fault::new(
            ErrorCode::InvalidRequest,
            "`incremental` says how to index, and `skipIndex` says not to index.",
        )
        .with_hint("Leave one of them out."));
    }
    let project_id = input.project_id.as_deref();
    call.allowed_project(project_id).await?;
    let operator = call.require_operator().is_ok();
    let machine = |skip: bool| if skip { Some(NOT_ASKED) } else { (!operator).then_some(NOT_YOURS) };
    let mut steps = vec![
        timed(&call, "install", machine(input.skip_install), install(&call)).await,
        timed(&call, "dictionaries", machine(input.skip_dicts), dictionaries(&call)).await,
        timed(&call, "tooling", input.skip_tooling.then_some(NOT_ASKED), tooling(&call)).await,
    ];
    let artifacts = if input.skip_artifacts { None } else { artifacts(&call, &input).await };
    let without = match (&artifacts, input.skip_artifacts) {
        (_, true) => Some(NOT_ASKED),
        (None, _) => Some("the repository has no ci-artifacts"),
        (Some(_), _) => None,
    };
    let unindexed = match () {
        () if input.skip_index => Some(NOT_ASKED),
        () if input.repo_path.is_none() && call.caller.directory.is_none() => Some("no repository was named"),
        () if !call.caller.principal.may(Scope::Index) => Some(NOT_INDEXING),
        () => None,
    };
    let mut restored = None;
    let indexed = timed(&call, "index", unindexed, index(&call, &input, artifacts, &mut restored)).await;
    // The run takes them before it embeds anything; its own step has the time.
    let taken =
        async { Ok(restored.unwrap_or((State::Failed, Some("the index step failed before".to_owned())))) };
    steps.push(timed(&call, "artifacts", without.or(unindexed), taken).await);
    steps.push(indexed);
    let without = match () {
        () if !input.with_sqlite => Some(NOT_ASKED),
        () => (!call.caller.principal.may(Scope::Index)).then_some(NOT_INDEXING),
    };
    steps.push(timed(&call, "sqlite", without, sqlite(&call, project_id)).await);
    Ok(Output {
        complete: steps.iter().all(|step| step.state != State::Failed),
        project_id: input.project_id.map(String::from).filter(|id| id != "default"),
        steps,
    })
}

/// Runs a step, unless there is a reason not to. What fails is told, and the next one still runs.
async fn timed(
    call: &Call,
    step: &'static str,
    skipped: Option<&str>,
    work: impl Future<Output = Result<Ended, Fault>> + Send,
) -> Step {
    // After a cancel no further step begins.
    let skipped = skipped.or_else(|| call.cancel.is_cancelled().then_some("the call was cancelled"));
    if let Some(reason) = skipped {
        return Step { step, state: State::Skipped, reason: Some(reason.to_owned()), ms: 0 };
    }
    let started = call.app.clock.instant();
    let (state, reason) = work.await.unwrap_or_else(|fault| {
        let fault = if call.caller.surface.is_local() { fault.told_locally() } else { fault };
        let hint = fault.hint.map(|hint| format!(" {hint}")).unwrap_or_default();
        (State::Failed, Some(format!("{}: {}{hint}", fault.code, fault.message)))
    });
    let ms = u64::try_from(call.app.clock.instant().duration_since(started).as_millis()).unwrap_or(u64::MAX);
    Step { step, state, reason, ms }
}

/// Runtime files: what is damaged is brought again, what is missing is brought.
async fn install(call: &Call) -> Result<Ended, Fault> {
    let app = Arc::clone(&call.app);
    let progress = call.progress.clone();
    let wanted = Wanted { postgres: app.config.database.url.is_none(), embedding: true };
    let tell = move |event: AssetEvent| {
        let (message, done, total) = match event {
            AssetEvent::Step { asset, what } => (format!("{asset}: {what}"), 0, None),
            AssetEvent::Progress { asset, done, total } => (asset, done, total),
            AssetEvent::Done { .. } => return,
        };
        let float = |bytes: u64| u32::try_from(bytes / 1024).map_or(f64::from(u32::MAX), f64::from);
        let (done, total) = (float(done), total.map(float));
        progress.report(ProgressUpdate { phase: "install", done, total, message, detail: None });
    };
    let cancel = call.cancel.clone();
    let mended = blocking(move || {
        let cancelled = || cancel.is_cancelled();
        assets::mend(&app.layout, &app.config.assets, wanted, None, &cancelled, &tell)
    })
    .await?;
    Ok(match mended.brought.as_slice() {
        [] => (State::Present, None),
        brought => (State::Done, Some(brought.join(", "))),
    })
}

/// Word lists that split glued names: the built-in ones that are wanted.
async fn dictionaries(call: &Call) -> Result<Ended, Fault> {
    let app = &call.app;
    if app.config.dictionaries.enabled == Enabled::Off {
        return Ok((State::Skipped, Some("dictionaries.enabled is off".to_owned())));
    }
    let workshop = Workshop {
        layout: &app.layout,
        config: &app.config,
        clock: &*app.clock,
        folder: app.dictionaries.folder().to_owned(),
        from: None,
        update: false,
        force: false,
    };
    let languages = [BUILT_IN.to_owned()];
    let brought = tokio::select! {
        brought = dictionaries::bring(&workshop, &languages, &[], &|_, _, _| {}) => brought?,
        () = call.cancel.cancelled() => {
            return Err(Fault::new(ErrorCode::Cancelled, "The download was cancelled."));
        }
    };
    let names: Vec<&str> = brought.downloaded.iter().map(|list| list.name.as_str()).collect();
    Ok(if names.is_empty() { (State::Present, None) } else { (State::Done, Some(names.join(", "))) })
}

/// The database and its vector extension.
async fn tooling(call: &Call) -> Result<Ended, Fault> {
    let database = call.app.store().await?.database();
    database.ping().await?;
    let facts = database.facts();
    let found = format!("PostgreSQL {}, pgvector {}", facts.version, facts.vector_version);
    match facts.warnings.first() {
        Some(warning) => Ok((State::Failed, Some(warning.clone()))),
        None => Ok((State::Present, Some(found))),
    }
}

/// Indexes; `restored` hears what came of the vectors that CI left.
async fn index(
    call: &Call,
    input: &Input,
    artifacts: Option<String>,
    restored: &mut Option<Ended>,
) -> Result<Ended, Fault> {
    let options = Options { full: !input.incremental.unwrap_or(true), artifacts, ..Options::default() };
    let (project_id, repo) = (input.project_id.as_deref(), input.repo_path.as_deref());
    let wanted = job::Wanted { project_id, repo, options, ..job::Wanted::default() };
    let report = job::run(call, &wanted).await?.report;
    if let Some(RestoredArtifacts { files, vectors }) = report.restored_artifacts {
        let state = if vectors > 0 { State::Done } else { State::Present };
        *restored = Some((state, Some(format!("{vectors} vectors of {files} files"))));
    }
    let changed = report.files_changed + report.files_removed + report.vectors_embedded > 0;
    let found = format!("{} files, {} chunks", report.files, report.chunks);
    Ok((if changed { State::Done } else { State::Present }, Some(found)))
}

/// Where CI left portable files, if it did and the caller may index there.
async fn artifacts(call: &Call, input: &Input) -> Option<String> {
    let folder = job::artifacts(call, input.project_id.as_deref(), input.repo_path.as_deref(), ARTIFACTS)
        .await
        .ok()?;
    Path::new(&folder).is_dir().then_some(folder)
}

/// Brings the project's portable file up to date.
async fn sqlite(call: &Call, project_id: Option<&str>) -> Result<Ended, Fault> {
    let project = call.project(project_id).await?;
    // A run of another call may have been waited for without a place.
    call.seat.take().await;
    let file = index_job::export(&call.app, call.app.store().await?, &project, &call.cancel).await?;
    Ok((State::Done, Some(format!("{}, {} bytes", file.name, file.bytes))))
}
