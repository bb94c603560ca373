//! `bootstrap`: everything a fresh machine or project needs, step by step, each step told (T §6.5.2).

use std::path::PathBuf;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::{Bulkhead, blocking};
use crate::config::Enabled;
use crate::contract::{ErrorCode, Fault};
use crate::indexing::Options;
use crate::tenancy::{self, Scope};
use crate::tools::index::job;
use crate::tools::spec::typed;
use crate::tools::{Call, Effects, ProgressUpdate, TimeoutClass, ToolSpec, Toolset, schema};
use crate::upkeep::assets::{self, AssetEvent, Wanted};
use crate::upkeep::dictionaries::{self, Workshop};

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
#[expect(clippy::struct_excessive_bools, reason = "the contract's own switches (T §6.5.2)")]
struct Input {
    /// Repository to index: its absolute path on the server; default: the directory the client works in.
    #[schemars(length(min = 1, max = 4096))]
    repo_path: Option<String>,
    /// Project to index into; omitted: the default workspace.
    #[serde(rename = "project_id")]
    #[schemars(length(min = 1, max = 50), regex(pattern = r"^[a-z0-9]+(-[a-z0-9]+)*$"))]
    project_id: Option<String>,
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
    /// true (default): only changed files are read.
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
/// What only the operator may do.
const NOT_YOURS: &str = "only the operator may change what all projects share";

async fn run(call: Call, input: Input) -> Result<Output, Fault> {
    let project_id = input.project_id.as_deref();
    call.require_allowed(project_id).await?;
    let operator = call.require_operator().is_ok();
    let mut steps = Steps { call: &call, done: Vec::new() };
    let machine = |skip: bool| if skip { Some(NOT_ASKED) } else { (!operator).then_some(NOT_YOURS) };
    steps.step("install", machine(input.skip_install), install(&call)).await;
    steps.step("dictionaries", machine(input.skip_dicts), dictionaries(&call)).await;
    steps.step("tooling", input.skip_tooling.then_some(NOT_ASKED), tooling(&call)).await;
    let named = input.repo_path.as_ref().map(PathBuf::from).or_else(|| call.caller.directory.clone());
    let artifacts = match () {
        () if input.skip_artifacts => Some(NOT_ASKED),
        () if has_artifacts(&call, named.clone()).await => None,
        () => Some("the repository has no ci-artifacts"),
    };
    steps.step("artifacts", artifacts, restore()).await;
    let indexes = match () {
        () if input.skip_index => Some(NOT_ASKED),
        () if named.is_none() => Some("no repository was named"),
        () if !call.caller.principal.may(Scope::Index) => Some("your key lacks the scope `index`"),
        () => None,
    };
    steps.step("index", indexes, index(&call, &input)).await;
    steps.step("sqlite", (!input.with_sqlite).then_some(NOT_ASKED), portable()).await;
    Ok(Output {
        project_id: input.project_id.filter(|id| id != "default"),
        complete: steps.done.iter().all(|step| step.state != State::Failed),
        steps: steps.done,
    })
}

/// The steps so far.
struct Steps<'a> {
    call: &'a Call,
    done: Vec<Step>,
}

impl Steps<'_> {
    /// Runs a step, unless there is a reason not to. What fails is told, and the next one still runs.
    async fn step(
        &mut self,
        step: &'static str,
        skipped: Option<&str>,
        work: impl Future<Output = Result<Ended, Fault>> + Send,
    ) {
        if let Some(reason) = skipped {
            self.done.push(Step { step, state: State::Skipped, reason: Some(reason.to_owned()), ms: 0 });
            return;
        }
        let clock = &self.call.app.clock;
        let started = clock.instant();
        let (state, reason) = match work.await {
            Ok(ended) => ended,
            Err(fault) => {
                let hint = fault.hint.map(|hint| format!(" {hint}")).unwrap_or_default();
                (State::Failed, Some(format!("{}: {}{hint}", fault.code, fault.message)))
            }
        };
        let ms = u64::try_from(clock.instant().duration_since(started).as_millis()).unwrap_or(u64::MAX);
        self.done.push(Step { step, state, reason, ms });
    }
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
    let mended = blocking(move || assets::mend(&app.layout, &app.config.assets, wanted, None, &tell)).await?;
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
    let brought = dictionaries::bring(&workshop, &[BUILT_IN.to_owned()], &[], &|_, _, _| {}).await?;
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

async fn index(call: &Call, input: &Input) -> Result<Ended, Fault> {
    let options = Options { full: !input.incremental.unwrap_or(true), force: false };
    let (project_id, repo) = (input.project_id.as_deref(), input.repo_path.as_deref());
    let report = job::run(call, project_id, repo, options).await?.report;
    let changed = report.files_changed + report.files_removed + report.vectors_embedded > 0;
    let found = format!("{} files, {} chunks", report.files, report.chunks);
    Ok((if changed { State::Done } else { State::Present }, Some(found)))
}

/// Whether the repository, if it may be indexed, holds what CI left.
async fn has_artifacts(call: &Call, named: Option<PathBuf>) -> bool {
    let Some(named) = named else { return false };
    let (roots, local) = (call.app.config.indexing.roots.clone(), call.caller.principal.is_local);
    let root = blocking(move || tenancy::indexable_root(&named, &roots, local)).await;
    root.is_ok_and(|root| root.path().join(ARTIFACTS).is_dir())
}

/// Takes vectors from what CI left.
async fn restore() -> Result<Ended, Fault> {
    Err(unavailable())
}

/// Writes the project's portable file.
async fn portable() -> Result<Ended, Fault> {
    Err(unavailable())
}

fn unavailable() -> Fault {
    Fault::new(ErrorCode::CapabilityMissing, "This build writes and reads no portable files.")
}
