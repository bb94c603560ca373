//! `launch_start_run`: starts a run.

use std::sync::LazyLock;

use launch::config::{RunConfigInput, is_reserved, reserved_fields};
use launch::state::RunState;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::spec::changing;
use super::starting::start;
use crate::runs::{StartedRun, config_refused};
use contract::{Fault, Violation};
use gate::tools::for_modules::ProjectIdArg;
use gate::tools::for_modules::run_typed;
use gate::tools::schema::InputSchema;
use gate::tools::{Call, Effects, ToolSpec, schema};

/// Name of the tool.
const NAME: &str = "launch_start_run";

pub(crate) const TOOL: ToolSpec = changing(
    (
        NAME,
        "Start a launch run",
        "Write pages about an indexed repository for a documentation site, each sentence tied to lines of the code. Starts a run that \
         plans, writes, checks and fixes the pages; `launch_get_status` shows how far it is, `launch_open_pr` publishes it.",
    ),
    // Without a key, each call starts another run.
    Effects { idempotent: false, ..Effects::WRITES },
    schema::generate_schema::<Input>,
    schema::generate_output_schema::<Output>,
    |call, arguments| run_typed(call, arguments, start_run),
);

/// Depth to which nulls are removed; a configuration is two deep.
const NULL_DEPTH_MAX: usize = 8;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The configuration: `schema_version` "1.0", `product_slug`, `product_name`, `github_repo_url`, `required_sections`, `site_profile`
    /// and optional fields.
    #[schemars(schema_with = "schema::any_object")]
    run_config: Value,
    /// Starts one run only, however often it is sent.
    #[schemars(length(min = 1, max = 200))]
    idempotency_key: Option<String>,
    /// Project; default: the session's.
    project_id: Option<ProjectIdArg>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Output {
    /// Id of the run.
    run_id: String,
    /// Its state now.
    state: RunState,
    /// Whether a call with the same key and configuration started it before.
    existing: bool,
}

async fn start_run(call: Call, input: Input) -> Result<Output, Fault> {
    let config = checked_config(input.run_config)?;
    let project_id = input.project_id.as_deref();
    call.allowed_project(project_id).await?;
    let project = call.project(project_id).await?;
    let key = input.idempotency_key.as_deref();
    let StartedRun { run_id, state, existing } = start(&call, NAME, &project, config, None, key).await?;
    Ok(Output { run_id, state, existing })
}

/// Reads a configuration. It is checked here, and not with the other arguments, because its faults have a code of their own.
fn checked_config(config: Value) -> Result<RunConfigInput, Fault> {
    static SCHEMA: LazyLock<Result<InputSchema, String>> =
        LazyLock::new(|| InputSchema::compile(schema::generate_schema::<RunConfigInput>()));
    let config = without_nulls(config, NULL_DEPTH_MAX);
    let mut violations = reserved_fields(&config);
    let schema = SCHEMA
        .as_ref()
        .map_err(|error| Fault::internal("The schema of run configurations is malformed.", error.as_str()))?;
    let is_reserved_field = |violation: &Violation| {
        violation.keyword == "additionalProperties"
            && violation.params["additionalProperty"].as_str().is_some_and(is_reserved)
    };
    violations
        .extend(schema.violations(&config).into_iter().filter(|violation| !is_reserved_field(violation)));
    if !violations.is_empty() {
        return Err(config_refused(violations));
    }
    serde_json::from_value(config).map_err(|error| {
        config_refused(vec![Violation {
            instance_path: String::new(),
            schema_path: "#".to_owned(),
            keyword: "type".to_owned(),
            params: json!({}),
            message: format!("The configuration cannot be read: {error}."),
            value: None,
        }])
    })
}

/// A null field counts as absent, as among the arguments themselves.
fn without_nulls(value: Value, depth: usize) -> Value {
    match value {
        Value::Object(fields) if depth > 0 => {
            let present = fields.into_iter().filter(|(_, field)| !field.is_null());
            Value::Object(present.map(|(name, field)| (name, without_nulls(field, depth - 1))).collect())
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::ErrorCode;

    fn config() -> Value {
        json!({
            "schema_version": "1.0", "product_slug": "shop", "product_name": "Shop", "github_repo_url": "shop",
            "required_sections": ["docs"], "site_profile": "docs",
        })
    }

    fn refused(name: &str, value: Value) -> Vec<(String, String)> {
        let mut config = config();
        config[name] = value;
        let fault = checked_config(config).unwrap_err();
        assert_eq!(fault.code, ErrorCode::SchemaValidationFailed);
        let details = fault.details.unwrap();
        let violations = details["violations"].as_array().unwrap();
        let text = |violation: &Value, name: &str| violation[name].as_str().unwrap().to_owned();
        violations
            .iter()
            .map(|violation| (text(violation, "keyword"), text(violation, "instancePath")))
            .collect()
    }

    #[test]
    fn nulls_count_as_absent() {
        let mut config = config();
        config["family"] = Value::Null;
        config["budgets"] = json!({ "max_files_changed": null, "max_lines_per_file": 10 });
        let read = checked_config(config).unwrap();
        assert_eq!(read.budgets.unwrap().max_lines_per_file, Some(10));
    }

    #[test]
    fn each_fault_is_a_violation_with_its_keyword_and_place() {
        let one = |keyword: &str, place: &str| vec![(keyword.to_owned(), place.to_owned())];
        assert_eq!(refused("colour", json!("red")), one("additionalProperties", ""));
        assert_eq!(refused("llm", json!({ "model": "x" })), one("reserved", ""), "listed once");
        assert_eq!(refused("budgets", json!({ "max_calls_env": 1 })), one("reserved", "/budgets"));
        assert_eq!(refused("product_slug", json!("Shop Cart")), one("pattern", "/product_slug"));
        assert_eq!(refused("required_sections", json!([])), one("minItems", "/required_sections"));
        assert_eq!(refused("required_sections", json!(["news"])), one("enum", "/required_sections/0"));
        assert_eq!(refused("allow_inference", json!(true)), one("enum", "/allow_inference"));
        assert_eq!(refused("product_name", Value::Null), one("required", ""));
    }
}
