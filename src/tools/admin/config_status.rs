//! `config_status`: the settings in force, what is installed, and what is missing. Secrets never.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::redact::redacted;
use crate::app::{Bulkhead, blocking};
use crate::tools::project_id_arg::ProjectIdArg;
use crate::tools::repository::repository;
use crate::tools::spec::typed;
use crate::tools::{Call, Effects, TimeoutClass, ToolSpec, Toolset, schema};
use contract::config::Enabled;
use contract::{ErrorCode, Fault};
use store::Project;
use tenancy::Scope;
use upkeep::assets::{AssetReport, AssetState, survey};

pub(crate) const TOOL: ToolSpec = ToolSpec {
    name: "config_status",
    title: "Configuration status",
    description: "The settings in force by section, without secrets; the project's model and role; what is installed; warnings about \
        what is missing or outdated.",
    toolset: Toolset::Admin,
    effects: Effects::READS,
    scope: Scope::Admin,
    bulkhead: Bulkhead::None,
    timeout: TimeoutClass::Default,
    input: schema::of::<Input>,
    output: schema::of_answer::<Output>,
    run: |call, arguments| typed(call, arguments, run),
};

/// Sections that tell how a project is treated; the others are the operator's.
const OF_PROJECTS: [&str; 6] = ["embedding", "indexing", "search", "timeouts", "tools", "upkeep"];

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Input {
    /// Check that the project has this repository: its absolute path or its name.
    #[schemars(length(min = 1, max = 4096))]
    repo_path: Option<String>,
    /// Project; omitted: the default workspace.
    #[serde(rename = "project_id")]
    project_id: Option<ProjectIdArg>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Output {
    /// The project; null is the default workspace.
    #[serde(rename = "project_id")]
    project_id: Option<String>,
    /// The project's Postgres schema.
    #[serde(rename = "schema_name")]
    schema_name: String,
    /// The model it is pinned to.
    model: Model,
    /// Whether its own database role keeps other projects' data out of reach, beside their names.
    own_role: bool,
    /// Where its repository lies, if one was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    repo_path: Option<String>,
    /// Settings by section; all of them for the operator.
    #[schemars(schema_with = "schema::object", default)]
    config: Map<String, Value>,
    /// What the database can do.
    database: Database,
    /// What is installed; for the operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    assets: Option<Vec<Asset>>,
    /// What is missing or outdated.
    warnings: Vec<Warned>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Model {
    /// Name in the manifest.
    id: String,
    /// int8 or fp32.
    variant: String,
    /// Length of a vector.
    dimensions: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Database {
    /// embedded or external.
    kind: &'static str,
    /// Version of the server.
    version: String,
    /// Version of the vector extension.
    pgvector: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Asset {
    /// Its id.
    asset: String,
    /// How it is found.
    state: AssetState,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Warned {
    /// One of a fixed set.
    code: &'static str,
    /// What is wrong and what to do.
    message: String,
}

async fn run(call: Call, input: Input) -> Result<Output, Fault> {
    let project = call.project(input.project_id.as_deref()).await?;
    let repo_path = match &input.repo_path {
        Some(named) => Some(repository(&call, &project, named).await?),
        None => None,
    };
    let operator = call.caller.principal.is_operator();
    let (layout, settings) = (call.app.layout.clone(), call.app.config.assets.clone());
    let assets = blocking(move || Ok(survey(&layout, &settings))).await?;
    let mut warnings = Vec::new();
    warn_of_database(&call, &project, operator, &mut warnings).await?;
    warn_of_model(&call, &project, &assets, &mut warnings).await;
    if operator
        && call.app.config.dictionaries.enabled != Enabled::Off
        && call.app.dictionaries.current().await.is_none()
    {
        let message = "No word list is installed; names such as `getusername` are not split. Run `download_dictionaries`.";
        warnings.push(Warned { code: "dictionary_missing", message: message.to_owned() });
    }
    let facts = call.app.store().await?.database();
    let database = Database {
        kind: if facts.is_external() { "external" } else { "embedded" },
        version: facts.facts().version.clone(),
        pgvector: facts.facts().vector_version.clone(),
    };
    Ok(Output {
        project_id: project.id().public().map(str::to_owned),
        schema_name: project.id().schema_name(),
        model: Model {
            id: project.model().id.clone(),
            variant: project.model().variant.clone(),
            dimensions: project.model().dimensions,
        },
        own_role: project.role().is_some(),
        repo_path,
        config: settings_for(&call, operator)?,
        database,
        assets: operator.then(|| {
            assets.into_iter().map(|AssetReport { asset, state, .. }| Asset { asset, state }).collect()
        }),
        warnings,
    })
}

/// The settings that the caller may see, without secrets.
fn settings_for(call: &Call, operator: bool) -> Result<Map<String, Value>, Fault> {
    let all = serde_json::to_value(&call.app.config)
        .map_err(|error| Fault::internal("The settings could not be written.", error))?;
    let Value::Object(mut sections) = redacted(all, call.caller.principal.is_local) else {
        return Ok(Map::new());
    };
    sections.retain(|name, _| operator || OF_PROJECTS.contains(&name.as_str()));
    if !operator && let Some(Value::Object(indexing)) = sections.get_mut("indexing") {
        // Where other projects' repositories lie is theirs to know.
        indexing.shift_remove("roots");
        indexing.shift_remove("project_roots");
    }
    Ok(sections)
}

async fn warn_of_database(
    call: &Call,
    project: &Project,
    operator: bool,
    warnings: &mut Vec<Warned>,
) -> Result<(), Fault> {
    let facts = call.app.store().await?.database().facts();
    for message in &facts.warnings {
        warnings.push(Warned { code: "extension_outdated", message: message.clone() });
    }
    if project.role().is_none() {
        let message =
            "The project has no database role of its own; grant the login of DATABASE_URL CREATEROLE.";
        warnings.push(Warned { code: "role_missing", message: message.to_owned() });
    }
    if operator && call.app.config.access.insecure {
        let message = "access.insecure is set: whoever reaches the server may do everything.";
        warnings.push(Warned { code: "access_insecure", message: message.to_owned() });
    }
    Ok(())
}

/// Whether questions can be compared with the project's vectors.
async fn warn_of_model(call: &Call, project: &Project, assets: &[AssetReport], warnings: &mut Vec<Warned>) {
    let fault = match call.app.embedder().await {
        Ok(embedder) => match project.require_model(&store::ModelFacts::of(embedder.model())) {
            Ok(()) => return,
            Err(fault) => fault,
        },
        Err(fault) => fault,
    };
    let code = if fault.code == ErrorCode::IllegalState { "model_mismatch" } else { "model_missing" };
    let remedy = assets.iter().find(|report| report.asset == call.app.config.assets.model);
    let remedy = fault.hint.or_else(|| remedy.and_then(|report| report.remedy.clone())).unwrap_or_default();
    warnings.push(Warned { code, message: format!("{} {remedy}", fault.message) });
}
