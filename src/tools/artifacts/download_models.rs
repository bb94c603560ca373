//! `download_models`: fetch, verify and install embedding models, several side by side.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::{Bulkhead, blocking};
use crate::tools::project_id_arg::ProjectIdArg;
use crate::tools::spec::typed;
use crate::tools::{Call, Effects, Progress, ProgressUpdate, TimeoutClass, ToolSpec, Toolset, schema};
use contract::{ErrorCode, Fault};
use embedding::{ModelName, Precision};
use tenancy::{self, Scope};
use upkeep::assets::{self, AssetEvent, Installing, ModelReport};

pub(crate) const TOOL: ToolSpec = ToolSpec {
    name: "download_models",
    title: "Download models",
    description: "Install an embedding model of the server's manifests: fetched, verified by sha256, repaired if damaged, beside the others. \
        An interrupted download resumes. build_index gives a project its model.",
    toolset: Toolset::Artifacts,
    effects: Effects::FETCHES,
    scope: Scope::Admin,
    bulkhead: Bulkhead::None,
    timeout: TimeoutClass::Artifacts,
    input: schema::of::<Input>,
    output: schema::of_answer::<Output>,
    run: |call, arguments| typed(call, arguments, run),
};

/// Stands for every model of the manifests.
const ALL: &str = "all";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Input {
    /// Id of the model, or `all`. Default: the model of the project, if one is named or found; else the configured one.
    #[schemars(length(min = 1, max = 64))]
    model: Option<String>,
    /// int8 or fp32. Default: the project's, else what the server is configured for.
    variant: Option<Variant>,
    /// Absolute path of a folder with the files, which are compared with the manifest; nothing is fetched from elsewhere.
    #[schemars(length(min = 1, max = 4096))]
    from: Option<String>,
    /// Absolute path of a folder to install into, for another machine; the server itself uses its own.
    #[schemars(length(min = 1, max = 4096))]
    cache_dir: Option<String>,
    /// Absolute path of a directory whose `.pairofcleats.json` names the project.
    #[schemars(length(min = 1, max = 4096))]
    repo_path: Option<String>,
    /// Project whose model is meant.
    #[serde(rename = "project_id")]
    project_id: Option<ProjectIdArg>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Variant {
    Int8,
    Fp32,
}

impl From<Variant> for Precision {
    fn from(variant: Variant) -> Self {
        match variant {
            Variant::Int8 => Self::Int8,
            Variant::Fp32 => Self::Fp32,
        }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
struct Output {
    /// The model that was meant, or `all`.
    model: String,
    /// What was done for each; state is present, installed or repaired.
    models: Vec<ModelReport>,
}

async fn run(call: Call, input: Input) -> Result<Output, Fault> {
    call.require_operator()?;
    let from = folder("from", input.from.as_deref())?;
    let into = folder("cacheDir", input.cache_dir.as_deref())?;
    let (model, names) = wanted(&call, &input).await?;
    let (app, cancel) = (std::sync::Arc::clone(&call.app), call.cancel.clone());
    let report = Steps::new(call.progress.clone());
    let models = blocking(move || {
        let how = Installing {
            from: from.as_deref(),
            into: into.as_deref(),
            cancelled: &|| cancel.is_cancelled(),
            on_event: &|event| report.hear(event),
        };
        let install = |name: &ModelName| assets::install_model(&app.layout, &app.config.assets, name, how);
        names.iter().map(install).collect::<Result<Vec<_>, _>>()
    })
    .await?;
    Ok(Output { model, models })
}

/// A path that the operator gave: absolute, since a server has no directory of its own to begin at.
fn folder(field: &str, given: Option<&str>) -> Result<Option<PathBuf>, Fault> {
    let Some(given) = given else { return Ok(None) };
    let path = PathBuf::from(given);
    if path.is_absolute() {
        return Ok(Some(path));
    }
    Err(Fault::new(ErrorCode::InvalidRequest, format!("`{field}` is not an absolute path."))
        .with_hint("Write the whole path, beginning with `/`."))
}

/// What is to be installed, and what the answer calls it.
async fn wanted(call: &Call, input: &Input) -> Result<(String, Vec<ModelName>), Fault> {
    let precision = input.variant.map(Precision::from);
    let one = |id: String, precision| (id.clone(), vec![ModelName { id, precision }]);
    match input.model.as_deref() {
        Some(ALL) => {
            let (layout, settings) = (call.app.layout.clone(), call.app.config.assets.clone());
            let known = blocking(move || assets::models(&layout, &settings, false)).await?;
            let mut ids: Vec<String> = known.into_iter().map(|model| model.id).collect();
            ids.dedup();
            Ok((ALL.to_owned(), ids.into_iter().map(|id| ModelName { id, precision }).collect()))
        }
        Some(id) => {
            require_known(call, id).await?;
            Ok(one(id.to_owned(), precision))
        }
        None => match of_project(call, input).await? {
            Some(pinned) => Ok(one(pinned.id, precision.or(pinned.precision))),
            None => Ok(one(call.app.config.assets.model.clone(), precision)),
        },
    }
}

/// Refuses a name that no manifest has. A project may still be pinned to a model that left its manifest: that one is
/// missing, not misspelt.
pub(in crate::tools) async fn require_known(call: &Call, id: &str) -> Result<(), Fault> {
    let (layout, settings) = (call.app.layout.clone(), call.app.config.assets.clone());
    let mut known: Vec<String> = blocking(move || assets::models(&layout, &settings, false))
        .await?
        .into_iter()
        .map(|model| model.id)
        .collect();
    if known.iter().any(|known| known == id) {
        return Ok(());
    }
    known.dedup();
    Err(Fault::new(ErrorCode::InvalidRequest, format!("There is no model `{}`.", id.escape_debug()))
        .with_hint(format!(
            "Name one of: {}; or add yours to the file of assets.manifest.",
            known.join(", ")
        )))
}

/// The model of the project that the call names, or that its repository names.
async fn of_project(call: &Call, input: &Input) -> Result<Option<ModelName>, Fault> {
    let mut here = call.reading();
    if let Some(repo) = folder("repoPath", input.repo_path.as_deref())? {
        here.caller.directory = Some(repo);
    } else if input.project_id.is_none() {
        return Ok(None);
    }
    let project = match here.project_if_any(input.project_id.as_deref()).await? {
        None if input.project_id.is_some() => return Err(tenancy::no_index()),
        None => return Ok(None),
        Some(project) => project,
    };
    let pinned = project.model();
    Ok(Some(ModelName { id: pinned.id.clone(), precision: Precision::parse(&pinned.variant) }))
}

/// What is heard of the installation, as one number that only grows.
struct Steps {
    progress: Progress,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    what: String,
    /// Bytes of the steps that are over.
    before: u64,
    /// Bytes of the running step.
    done: u64,
}

impl Steps {
    fn new(progress: Progress) -> Self {
        Self { progress, state: Mutex::default() }
    }

    fn hear(&self, event: AssetEvent) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            AssetEvent::Step { asset, what } => {
                state.before += std::mem::take(&mut state.done);
                state.what = format!("{asset}: {what}");
            }
            AssetEvent::Progress { done, .. } => state.done = state.done.max(done),
            AssetEvent::Done { asset, cached } => {
                state.what = format!("{asset}: {}", if cached { "there already" } else { "installed" });
            }
        }
        let megabytes = (state.before + state.done) / 1_000_000;
        self.progress.report(ProgressUpdate {
            phase: "download",
            done: u32::try_from(megabytes).map_or(f64::from(u32::MAX), f64::from),
            total: None,
            message: format!("{}.", state.what),
            detail: None,
        });
    }
}
