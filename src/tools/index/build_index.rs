//! `build_index`: the index job itself, waited for or handed back as a job.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::job::{self, Finished, Searchable, Wanted};
use crate::app::Bulkhead;
use crate::tools::artifacts::download_models::require_known;
use crate::tools::project_id_arg::ProjectIdArg;
use crate::tools::spec::typed;
use crate::tools::{Call, Effects, TimeoutClass, ToolSpec, Toolset, schema};
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
        one. Long runs: wait=false, then `index_status`; searching works meanwhile.",
    toolset: Toolset::Index,
    effects: Effects::WRITES,
    scope: Scope::Index,
    bulkhead: Bulkhead::Index,
    timeout: TimeoutClass::Index,
    input: schema::of::<Input>,
    output: schema::of_answer::<Output>,
    run: |call, arguments| typed(call, arguments, run),
};

/// Its older name; one and the same tool.
pub(crate) const OLDER_NAME: ToolSpec = ToolSpec {
    name: "index_build",
    title: "Build index (older name)",
    description: "The older name of `build_index`: same arguments, same answer.",
    input: input_of_older_name,
    ..TOOL
};

/// The same fields; what they mean is told once, because models pay for each word of the list.
fn input_of_older_name() -> Map<String, Value> {
    let mut input = schema::of::<Input>();
    if let Some(Value::Object(fields)) = input.get_mut("properties") {
        for rule in fields.values_mut().filter_map(Value::as_object_mut) {
            rule.insert("description".to_owned(), Value::from("Same."));
        }
    }
    input
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Input {
    /// Absolute path on the server, or the name of an indexed repository; default: where the client works.
    #[schemars(length(min = 1, max = 4096))]
    repo_path: Option<String>,
    /// Project; omitted: the default workspace.
    #[serde(rename = "project_id")]
    project_id: Option<ProjectIdArg>,
    /// Default true. false: every file is read again; vectors of unchanged text stay.
    incremental: Option<bool>,
    /// Default true. `words`: until words are searchable, vectors follow; false: answer at once with the job's id.
    #[serde(default)]
    #[schemars(schema_with = "wait_schema")]
    wait: Wait,
    /// Let it remove more than half of the files.
    force: Option<bool>,
    /// Only files of this mode; default all.
    mode: Option<Mode>,
    /// The project's model: id or id:variant.
    model: Option<String>,
    /// Let it replace another one: all is embedded again.
    confirm_reembed: Option<bool>,
    /// Try out without a model.
    stub_embeddings: Option<bool>,
    /// Refresh the project's portable file, too.
    sqlite: Option<bool>,
    /// First take vectors from files in `artifactsDir`.
    use_artifacts: Option<bool>,
    /// Default `ci-artifacts` in the repository.
    #[schemars(length(min = 1, max = 4096))]
    artifacts_dir: Option<String>,
}

/// Until when the call waits.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(untagged)]
enum Wait {
    /// Until the end, or not at all.
    Whole(bool),
    /// Until some of it can be used.
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
struct Output {
    /// The job's id, for `index_status`.
    job_id: String,
    /// queued, running or succeeded.
    state: &'static str,
    /// True when the call joined a run that was already under way.
    attached: bool,
    /// The project; null is the default workspace.
    #[serde(rename = "project_id")]
    project_id: Option<String>,
    /// The project's Postgres schema.
    #[serde(rename = "schema_name")]
    schema_name: String,
    /// What the run did; absent while it is under way.
    #[serde(skip_serializing_if = "Option::is_none")]
    report: Option<RunReport>,
    /// How far the run is whose words are searchable.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::object", default)]
    progress: Option<Progress>,
}

async fn run(call: Call, input: Input) -> Result<Output, Fault> {
    let wanted = Wanted {
        project_id: input.project_id.as_deref(),
        repo: input.repo_path.as_deref(),
        options: Options {
            full: !input.incremental.unwrap_or(true),
            force: input.force.unwrap_or(false),
            mode: input.mode.unwrap_or_default(),
            vectors_only: false,
            sqlite: input.sqlite.unwrap_or(false),
            artifacts: artifacts(&call, &input).await?,
        },
        model: model(&call, &input).await?,
        confirmed: input.confirm_reembed.unwrap_or(false),
    };
    let (begun, progress) = match input.wait {
        Wait::Whole(true) => return Ok(Output::over(job::run(&call, &wanted).await?)),
        Wait::Whole(false) => (job::begin(&call, &wanted).await?, None),
        Wait::Until(Milestone::Words) => match job::run_until_words(&call, &wanted).await? {
            Searchable::Over(done) => return Ok(Output::over(done)),
            Searchable::GoesOn(begun, progress) => (begun, Some(progress)),
        },
    };
    Ok(Output { progress, ..Output::of(&begun.project, begun.job_id, begun.state, begun.attached) })
}

/// The model that the call asks for, if it does.
async fn model(call: &Call, input: &Input) -> Result<Option<ModelName>, Fault> {
    let invalid = |message: &str, hint: &str| Fault::new(ErrorCode::InvalidRequest, message).with_hint(hint);
    match (&input.model, input.stub_embeddings.unwrap_or(false)) {
        (Some(_), true) => {
            Err(invalid("`model` and `stubEmbeddings` ask for two models.", "Leave one of them out."))
        }
        (None, true) => Ok(ModelName::parse(StubEmbedder::ID)),
        (Some(name), false) => match ModelName::parse(name) {
            Some(name) => {
                // A model may be the operator's own folder, which no manifest lists.
                let loaded = call.app.embedder().await.is_ok_and(|loaded| loaded.model().id == name.id);
                if !loaded && name.id != StubEmbedder::ID {
                    require_known(call, &name.id).await?;
                }
                Ok(Some(name))
            }
            None => Err(invalid("`model` is no model's name.", "Write an id, or id:int8 or id:fp32.")),
        },
        (None, false) if input.confirm_reembed.is_some() => Err(invalid(
            "`confirmReembed` belongs to a `model`.",
            "Name the model that the project is to have.",
        )),
        (None, false) => Ok(None),
    }
}

/// The folder whose files are to give their vectors.
async fn artifacts(call: &Call, input: &Input) -> Result<Option<String>, Fault> {
    if input.use_artifacts == Some(true) {
        let folder = input.artifacts_dir.as_deref().unwrap_or("ci-artifacts");
        return job::artifacts(call, input.project_id.as_deref(), input.repo_path.as_deref(), folder)
            .await
            .map(Some);
    }
    if input.artifacts_dir.is_none() {
        return Ok(None);
    }
    Err(Fault::new(ErrorCode::InvalidRequest, "`artifactsDir` is read only with `useArtifacts`.")
        .with_hint("Set `useArtifacts` as well, or leave `artifactsDir` out."))
}

impl Output {
    fn of(project: &Project, job_id: String, state: &'static str, attached: bool) -> Self {
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

    /// Of a run that is over.
    fn over(done: Finished) -> Self {
        let report = Some(done.report);
        Self { report, ..Self::of(&done.project, done.job_id, "succeeded", done.attached) }
    }
}
