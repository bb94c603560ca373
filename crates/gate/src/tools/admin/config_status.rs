//! `config_status`: the effective settings without secrets, what is installed, and what is missing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::redact::redact_settings;
use crate::app::{Bulkhead, blocking};
use crate::tools::project_id_arg::ProjectIdArg;
use crate::tools::repository::repository_root;
use crate::tools::spec::run_typed;
use crate::tools::{Call, Effects, ToolSpec, Toolset, schema};
use contract::config::Enabled;
use contract::{ErrorCode, Fault};
use store::Project;
use tenancy::Scope;
use upkeep::install::{AssetReport, AssetState, verify_assets};

pub(crate) const TOOL: ToolSpec = ToolSpec {
    name: "config_status",
    title: "Configuration status",
    description: "Show the effective settings by section, without secrets; the project's model and database role; what is installed; \
        warnings about what is missing or outdated.",
    toolset: Toolset::ADMIN,
    effects: Effects::READS,
    scope: Scope::Admin,
    bulkhead: Bulkhead::None,
    timeout: |limits| limits.default_ms,
    input: schema::generate_schema::<ConfigStatusInput>,
    output: schema::generate_output_schema::<ConfigStatusOutput>,
    run: |call, arguments| run_typed(call, arguments, config_status),
    ..ToolSpec::BASE
};

/// Sections of the configuration that every caller may see; the others are shown only to the operator.
const PROJECT_SECTIONS: [&str; 6] = ["embedding", "indexing", "search", "timeouts", "tools", "upkeep"];

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ConfigStatusInput {
    /// Check that the project has this repository: its absolute path or its name.
    #[schemars(length(min = 1, max = 4096))]
    repo_path: Option<String>,
    /// Project; default: the session's.
    #[serde(rename = "project_id")]
    project_id: Option<ProjectIdArg>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ConfigStatusOutput {
    /// The project; null is the default workspace.
    #[serde(rename = "project_id")]
    project_id: Option<String>,
    /// The project's Postgres schema.
    #[serde(rename = "schema_name")]
    schema_name: String,
    /// The model that embeds the project's texts.
    model: PinnedModel,
    /// Whether the project has a database role of its own, which cannot read other projects' data.
    own_role: bool,
    /// Root of the repository, if the call names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    repo_path: Option<String>,
    /// Settings by section; the operator sees all sections.
    #[schemars(schema_with = "schema::any_object", default)]
    config: Map<String, Value>,
    /// The database server.
    database: DatabaseInfo,
    /// Runtime assets and their state; only for the operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    assets: Option<Vec<InstalledAsset>>,
    /// What is missing or outdated.
    warnings: Vec<ConfigWarning>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct PinnedModel {
    /// Model id in the manifest.
    id: String,
    /// int8 or fp32.
    variant: String,
    /// Dimensions of its vectors.
    dimensions: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct DatabaseInfo {
    /// embedded or external.
    kind: &'static str,
    /// Version of PostgreSQL.
    version: String,
    /// Version of pgvector.
    pgvector: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct InstalledAsset {
    /// Id of the asset.
    asset: String,
    /// Whether it is installed and intact.
    state: AssetState,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ConfigWarning {
    /// Warning code, one of a fixed set.
    code: &'static str,
    /// What is wrong and how to fix it.
    message: String,
}

async fn config_status(call: Call, input: ConfigStatusInput) -> Result<ConfigStatusOutput, Fault> {
    let project = call.project(input.project_id.as_deref()).await?;
    let repo_path = match &input.repo_path {
        Some(named) => Some(repository_root(&call, &project, named).await?),
        None => None,
    };
    let operator = call.caller.principal.is_operator();
    let (layout, settings) = (call.app.layout.clone(), call.app.config.assets.clone());
    let assets = blocking(move || Ok(verify_assets(&layout, &settings))).await?;
    let mut warnings = Vec::new();
    add_database_warnings(&call, &project, operator, &mut warnings).await?;
    add_model_warning(&call, &project, &assets, &mut warnings).await;
    if operator
        && call.app.config.dictionaries.enabled != Enabled::Off
        && call.app.dictionaries.current().await.is_none()
    {
        let message = "No word list is installed, so identifiers such as `getusername` are not split. Run `download_dictionaries`.";
        warnings.push(ConfigWarning { code: "dictionary_missing", message: message.to_owned() });
    }
    let connected = call.app.store().await?.database();
    let database = DatabaseInfo {
        kind: if connected.is_external() { "external" } else { "embedded" },
        version: connected.facts().version.clone(),
        pgvector: connected.facts().vector_version.clone(),
    };
    Ok(ConfigStatusOutput {
        project_id: project.id().public().map(str::to_owned),
        schema_name: project.id().schema_name(),
        model: PinnedModel {
            id: project.model().id.clone(),
            variant: project.model().variant.clone(),
            dimensions: project.model().dimensions,
        },
        own_role: project.role().is_some(),
        repo_path,
        config: settings_for(&call, operator)?,
        database,
        assets: operator.then(|| {
            assets
                .into_iter()
                .map(|AssetReport { asset, state, .. }| InstalledAsset { asset, state })
                .collect()
        }),
        warnings,
    })
}

/// The settings that the caller may see, without secrets.
fn settings_for(call: &Call, operator: bool) -> Result<Map<String, Value>, Fault> {
    let all = serde_json::to_value(&call.app.config)
        .map_err(|error| Fault::internal("The settings could not be serialized.", error))?;
    let Value::Object(mut sections) = redact_settings(all, call.caller.principal.is_local) else {
        return Ok(Map::new());
    };
    sections.retain(|name, _| operator || PROJECT_SECTIONS.contains(&name.as_str()));
    if !operator && let Some(Value::Object(indexing)) = sections.get_mut("indexing") {
        // These settings name directories of other projects.
        indexing.shift_remove("roots");
        indexing.shift_remove("project_roots");
    }
    Ok(sections)
}

async fn add_database_warnings(
    call: &Call,
    project: &Project,
    operator: bool,
    warnings: &mut Vec<ConfigWarning>,
) -> Result<(), Fault> {
    let facts = call.app.store().await?.database().facts();
    for message in &facts.warnings {
        warnings.push(ConfigWarning { code: "extension_outdated", message: message.clone() });
    }
    if project.role().is_none() {
        let message =
            "The project has no database role of its own. Grant CREATEROLE to the login of DATABASE_URL.";
        warnings.push(ConfigWarning { code: "role_missing", message: message.to_owned() });
    }
    if operator && call.app.config.access.insecure {
        let message = "access.insecure is set: anyone who can reach the server has full access.";
        warnings.push(ConfigWarning { code: "access_insecure", message: message.to_owned() });
    }
    Ok(())
}

/// Warns if queries cannot be embedded with the project's model, so that search is lexical only.
async fn add_model_warning(
    call: &Call,
    project: &Project,
    assets: &[AssetReport],
    warnings: &mut Vec<ConfigWarning>,
) {
    let fault = match call.app.embedder().await {
        Ok(embedder) => match project.require_model(&store::ModelFacts::from(embedder.model())) {
            Ok(()) => return,
            Err(fault) => fault,
        },
        Err(fault) => fault,
    };
    let code = if fault.code == ErrorCode::IllegalState { "model_mismatch" } else { "model_missing" };
    let remedy = assets.iter().find(|report| report.asset == call.app.config.assets.model);
    let remedy = fault.hint.or_else(|| remedy.and_then(|report| report.remedy.clone())).unwrap_or_default();
    warnings.push(ConfigWarning { code, message: format!("{} {remedy}", fault.message) });
}
