//! `download_models`: downloads, verifies and installs embedding models.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::{Bulkhead, blocking};
use crate::tools::project_id_arg::ProjectIdArg;
use crate::tools::spec::run_typed;
use crate::tools::{Call, Effects, Progress, ProgressUpdate, ToolSpec, Toolset, schema};
use contract::{ErrorCode, Fault};
use embedding::{ModelName, Precision};
use tenancy::{self, Scope};
use upkeep::install::{AssetEvent, ModelInstallOptions, ModelReport, install_model, list_models};

pub(crate) const TOOL: ToolSpec = ToolSpec {
    name: "download_models",
    title: "Download models",
    description: "Install an embedding model of the server's manifests beside the others: downloads it, verifies its sha256, repairs damaged files. \
        An interrupted download resumes. Use build_index to change the model of a project.",
    toolset: Toolset::ARTIFACTS,
    effects: Effects::FETCHES,
    scope: Scope::Admin,
    bulkhead: Bulkhead::None,
    timeout: |limits| limits.artifacts_ms,
    input: schema::generate_schema::<DownloadModelsInput>,
    output: schema::generate_output_schema::<DownloadModelsOutput>,
    run: |call, arguments| run_typed(call, arguments, download_models),
    ..ToolSpec::BASE
};

/// Value of `model` that means every model of the manifests.
const ALL_MODELS: &str = "all";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct DownloadModelsInput {
    /// Id of the model, or `all`. Default: the model of the project that `project_id` or `repoPath` selects; else the configured one.
    #[schemars(length(min = 1, max = 64))]
    model: Option<String>,
    /// int8 or fp32. Default: that of the project, else the configured one.
    variant: Option<Variant>,
    /// Absolute path of a folder with the files, which are verified against the manifest; nothing is downloaded.
    #[schemars(length(min = 1, max = 4096))]
    from: Option<String>,
    /// Absolute path of a folder to install into, to prepare another machine; this server does not read it.
    #[schemars(length(min = 1, max = 4096))]
    cache_dir: Option<String>,
    /// Absolute path of a directory whose `.pairofcleats.json` names the project.
    #[schemars(length(min = 1, max = 4096))]
    repo_path: Option<String>,
    /// Project whose model to install.
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
struct DownloadModelsOutput {
    /// Id of the model, or `all`.
    model: String,
    /// The models; `state` is present, installed or repaired.
    models: Vec<ModelReport>,
}

async fn download_models(call: Call, input: DownloadModelsInput) -> Result<DownloadModelsOutput, Fault> {
    call.require_operator()?;
    let from = absolute_folder("from", input.from.as_deref())?;
    let into = absolute_folder("cacheDir", input.cache_dir.as_deref())?;
    let (model, names) = requested_models(&call, &input).await?;
    let (app, cancel) = (std::sync::Arc::clone(&call.app), call.cancel.clone());
    let report = InstallProgress::new(call.progress.clone());
    let models = blocking(move || {
        let options = ModelInstallOptions {
            from: from.as_deref(),
            into: into.as_deref(),
            cancelled: &|| cancel.is_cancelled(),
            on_event: &|event| report.on_event(event),
        };
        let install = |name: &ModelName| install_model(&app.layout, &app.config.assets, name, options);
        names.iter().map(install).collect::<Result<Vec<_>, _>>()
    })
    .await?;
    Ok(DownloadModelsOutput { model, models })
}

/// Parses an argument that names a folder. It must be absolute, because the working directory of a server is arbitrary.
fn absolute_folder(field: &str, given: Option<&str>) -> Result<Option<PathBuf>, Fault> {
    let Some(given) = given else { return Ok(None) };
    let path = PathBuf::from(given);
    if path.is_absolute() {
        return Ok(Some(path));
    }
    Err(Fault::new(ErrorCode::InvalidRequest, format!("`{field}` must be an absolute path."))
        .with_hint("Give a path that begins with `/`."))
}

/// The models to install, and the field `model` of the answer.
async fn requested_models(
    call: &Call,
    input: &DownloadModelsInput,
) -> Result<(String, Vec<ModelName>), Fault> {
    let precision = input.variant.map(Precision::from);
    let one = |id: String, precision| (id.clone(), vec![ModelName { id, precision }]);
    match input.model.as_deref() {
        Some(ALL_MODELS) => {
            let (layout, settings) = (call.app.layout.clone(), call.app.config.assets.clone());
            let known = blocking(move || list_models(&layout, &settings, false)).await?;
            let mut ids: Vec<String> = known.into_iter().map(|model| model.id).collect();
            ids.dedup();
            Ok((ALL_MODELS.to_owned(), ids.into_iter().map(|id| ModelName { id, precision }).collect()))
        }
        Some(id) => {
            require_known_model(call, id).await?;
            Ok(one(id.to_owned(), precision))
        }
        None => match project_model(call, input).await? {
            Some(pinned) => Ok(one(pinned.id, precision.or(pinned.precision))),
            None => Ok(one(call.app.config.assets.model.clone(), precision)),
        },
    }
}

/// Refuses an id that no manifest has. Not used for the model of a project, which may have been removed from its manifest.
pub(in crate::tools) async fn require_known_model(call: &Call, id: &str) -> Result<(), Fault> {
    let (layout, settings) = (call.app.layout.clone(), call.app.config.assets.clone());
    let mut known: Vec<String> = blocking(move || list_models(&layout, &settings, false))
        .await?
        .into_iter()
        .map(|model| model.id)
        .collect();
    if known.iter().any(|known| known == id) {
        return Ok(());
    }
    known.dedup();
    Err(Fault::new(ErrorCode::InvalidRequest, format!("No manifest has the model `{}`.", id.escape_debug()))
        .with_hint(format!(
            "Use one of: {}; or add the model to the file of the setting assets.manifest.",
            known.join(", ")
        )))
}

/// The model of the project that `project_id` or the `.pairofcleats.json` of `repoPath` selects.
async fn project_model(call: &Call, input: &DownloadModelsInput) -> Result<Option<ModelName>, Fault> {
    let mut here = call.for_reading();
    if let Some(repo) = absolute_folder("repoPath", input.repo_path.as_deref())? {
        here.caller.directory = Some(repo);
    } else if input.project_id.is_none() {
        return Ok(None);
    }
    let project = match here.project_if_any(input.project_id.as_deref()).await? {
        None if input.project_id.is_some() => return Err(here.no_index(input.project_id.as_deref()).await?),
        None => return Ok(None),
        Some(project) => project,
    };
    let pinned = project.model();
    Ok(Some(ModelName { id: pinned.id.clone(), precision: Precision::parse(&pinned.variant) }))
}

/// Reports installation events as progress that never decreases.
struct InstallProgress {
    progress: Progress,
    state: Mutex<InstallState>,
}

#[derive(Default)]
struct InstallState {
    what: String,
    /// Bytes of completed steps.
    before: u64,
    /// Bytes of the current step.
    done: u64,
}

impl InstallProgress {
    fn new(progress: Progress) -> Self {
        Self { progress, state: Mutex::default() }
    }

    fn on_event(&self, event: AssetEvent) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            AssetEvent::Step { asset, what } => {
                state.before += std::mem::take(&mut state.done);
                state.what = format!("{asset}: {what}");
            }
            AssetEvent::Progress { done, .. } => state.done = state.done.max(done),
            AssetEvent::Done { asset, cached } => {
                state.what = format!("{asset}: {}", if cached { "already installed" } else { "installed" });
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
