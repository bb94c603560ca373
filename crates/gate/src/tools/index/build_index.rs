//! `build_index`: starts an index job and, as requested, waits for its end, for lexical search or not at all.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::index_run::{self, FinishedIndexRun, IndexRequest, LexicalWait};
use crate::app::Bulkhead;
use crate::tools::artifacts::download_models::require_known_model;
use crate::tools::project_id_arg::ProjectIdArg;
use crate::tools::spec::run_typed;
use crate::tools::{Call, Effects, ToolSpec, Toolset, schema};
use contract::{ErrorCode, Fault};
use embedding::{ModelName, StubEmbedder};
use engine::indexing::{Mode, Options, RunReport};
use engine::jobs::Progress;
use store::Project;
use tenancy::Scope;

pub(crate) const TOOL: ToolSpec = ToolSpec {
    name: "build_index",
    title: "Build index",
    description: "Build or refresh the search index of a repository; unchanged files cost nothing, a second call joins the running \
        one. Long runs: wait=false, then `index_status`.",
    toolset: Toolset::INDEX,
    effects: Effects::WRITES,
    scope: Scope::Index,
    bulkhead: Bulkhead::Index,
    timeout: |limits| limits.index_ms,
    input: schema::generate_schema::<BuildIndexInput>,
    output: schema::generate_output_schema::<BuildIndexOutput>,
    run: |call, arguments| run_typed(call, arguments, build_index),
    ..ToolSpec::BASE
};

/// The deprecated name of [`TOOL`].
pub(crate) const INDEX_BUILD: ToolSpec = ToolSpec {
    name: "index_build",
    title: "Build index (deprecated name)",
    description: "Deprecated name of `build_index`: same arguments, same answer.",
    is_deprecated: true,
    input: index_build_input,
    ..TOOL
};

/// The schema of `build_index` with `Same.` for every description, because each word of a tool list costs the model tokens.
fn index_build_input() -> Map<String, Value> {
    let mut input = schema::generate_schema::<BuildIndexInput>();
    if let Some(Value::Object(fields)) = input.get_mut("properties") {
        for field in fields.values_mut().filter_map(Value::as_object_mut) {
            field.insert("description".to_owned(), Value::from("Same."));
        }
    }
    input
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct BuildIndexInput {
    /// Absolute path, git URL or indexed repository; default: the working directory.
    #[schemars(length(min = 1, max = 4096))]
    repo_path: Option<String>,
    /// Project; default: the session's.
    #[serde(rename = "project_id")]
    project_id: Option<ProjectIdArg>,
    /// false: index every file again; vectors are kept.
    incremental: Option<bool>,
    /// true (default): until the end; `words`: until lexical search works; false: answer at once with the job's id.
    #[serde(default)]
    #[schemars(schema_with = "wait_schema")]
    wait: Wait,
    /// Allow the run to remove more than half of the indexed files.
    force: Option<bool>,
    /// Only files of this mode; default all.
    mode: Option<Mode>,
    /// The model for the project: id or id:variant.
    model: Option<String>,
    /// Allow `model` to replace the project's; embeds all again.
    confirm_reembed: Option<bool>,
    /// Use a stub instead of a model, to try out.
    stub_embeddings: Option<bool>,
    /// Also refresh the project's portable file.
    sqlite: Option<bool>,
    /// First take vectors from `artifactsDir`.
    use_artifacts: Option<bool>,
    /// Portable files; default `ci-artifacts` in the repository.
    #[schemars(length(min = 1, max = 4096))]
    artifacts_dir: Option<String>,
    /// SCIP files of this state, from a compiler's indexer.
    #[schemars(length(min = 1, max = 16), inner(length(min = 1, max = 4096)))]
    scip: Option<Vec<String>>,
    /// Git URL: also index branches and tags like `release/*`.
    #[schemars(length(max = 64), inner(length(min = 1, max = 255)))]
    revisions: Option<Vec<String>>,
}

/// Until when the call waits.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(untagged)]
enum Wait {
    /// True: until the end. False: not at all.
    Whole(bool),
    /// Until the run reaches a milestone.
    Until(Milestone),
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Milestone {
    Words,
}

impl Default for Wait {
    fn default() -> Self {
        Self::Whole(true)
    }
}

fn wait_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["boolean", "string"], "enum": [true, false, "words"] })
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct BuildIndexOutput {
    /// The job's id, for `index_status`.
    job_id: String,
    /// queued, running or succeeded.
    state: &'static str,
    /// True if the call joined a run that was already queued or running.
    attached: bool,
    /// The project; null is the default workspace.
    #[serde(rename = "project_id")]
    project_id: Option<String>,
    /// The project's Postgres schema.
    #[serde(rename = "schema_name")]
    schema_name: String,
    /// Report of the run; absent until it ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    report: Option<RunReport>,
    /// Progress of the run; only with `wait: "words"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::any_object", default)]
    progress: Option<Progress>,
}

async fn build_index(call: Call, input: BuildIndexInput) -> Result<BuildIndexOutput, Fault> {
    let request = IndexRequest {
        project_id: input.project_id.as_deref(),
        repo: input.repo_path.as_deref(),
        options: Options {
            full: !input.incremental.unwrap_or(true),
            force: input.force.unwrap_or(false),
            mode: input.mode.unwrap_or_default(),
            vectors_only: false,
            sqlite: input.sqlite.unwrap_or(false),
            artifacts: artifacts_folder(&call, &input).await?,
            scip: scip_files(&call, &input).await?,
            revisions: input.revisions.clone(),
        },
        model: requested_model(&call, &input).await?,
        confirmed: input.confirm_reembed.unwrap_or(false),
    };
    let (started, progress) = match input.wait {
        Wait::Whole(true) => {
            return Ok(BuildIndexOutput::finished(index_run::run_to_end(&call, &request).await?));
        }
        Wait::Whole(false) => (index_run::start(&call, &request).await?, None),
        Wait::Until(Milestone::Words) => match index_run::run_until_lexical(&call, &request).await? {
            LexicalWait::Finished(done) => return Ok(BuildIndexOutput::finished(*done)),
            LexicalWait::StillRunning(started, progress) => (*started, Some(progress)),
        },
    };
    Ok(BuildIndexOutput {
        progress,
        ..BuildIndexOutput::new(&started.project, started.job_id, started.state, started.attached)
    })
}

/// The model that the call requests, if any.
async fn requested_model(call: &Call, input: &BuildIndexInput) -> Result<Option<ModelName>, Fault> {
    let invalid = |message: &str, hint: &str| Fault::new(ErrorCode::InvalidRequest, message).with_hint(hint);
    match (&input.model, input.stub_embeddings.unwrap_or(false)) {
        (Some(_), true) => {
            Err(invalid("`model` and `stubEmbeddings` cannot be combined.", "Leave one of them out."))
        }
        (None, true) => Ok(ModelName::parse(StubEmbedder::ID)),
        (Some(name), false) => match ModelName::parse(name) {
            Some(name) => {
                // The configured model may come from a folder of the operator, which no manifest lists.
                let loaded = call.app.embedder().await.is_ok_and(|loaded| loaded.model().id == name.id);
                if !loaded && name.id != StubEmbedder::ID {
                    require_known_model(call, &name.id).await?;
                }
                Ok(Some(name))
            }
            None => Err(invalid("`model` is not the name of a model.", "Give an id, id:int8 or id:fp32.")),
        },
        (None, false) if input.confirm_reembed.is_some() => Err(invalid(
            "`confirmReembed` requires `model`.",
            "Give the new model of the project in `model`.",
        )),
        (None, false) => Ok(None),
    }
}

/// The folder with portable files from which vectors are restored.
async fn artifacts_folder(call: &Call, input: &BuildIndexInput) -> Result<Option<String>, Fault> {
    if input.use_artifacts == Some(true) {
        let folder = input.artifacts_dir.as_deref().unwrap_or("ci-artifacts");
        return index_run::resolve_artifacts_folder(
            call,
            input.project_id.as_deref(),
            input.repo_path.as_deref(),
            folder,
        )
        .await
        .map(Some);
    }
    if input.artifacts_dir.is_none() {
        return Ok(None);
    }
    Err(Fault::new(ErrorCode::InvalidRequest, "`artifactsDir` has an effect only with `useArtifacts`.")
        .with_hint("Set `useArtifacts` as well, or omit `artifactsDir`."))
}

/// The SCIP files to take; all are sound.
async fn scip_files(call: &Call, input: &BuildIndexInput) -> Result<Vec<String>, Fault> {
    match input.scip.as_deref() {
        None | Some([]) => Ok(Vec::new()),
        Some(paths) => {
            let (project_id, repo) = (input.project_id.as_deref(), input.repo_path.as_deref());
            index_run::resolve_scip_files(call, project_id, repo, paths).await
        }
    }
}

impl BuildIndexOutput {
    fn new(project: &Project, job_id: String, state: &'static str, attached: bool) -> Self {
        Self {
            job_id,
            state,
            attached,
            project_id: project.id().public().map(str::to_owned),
            schema_name: project.id().schema_name(),
            report: None,
            progress: None,
        }
    }

    /// The answer for a run that succeeded.
    fn finished(done: FinishedIndexRun) -> Self {
        let report = Some(done.report);
        Self { report, ..Self::new(&done.project, done.job_id, "succeeded", done.attached) }
    }
}
