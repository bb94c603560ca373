//! `meta/tools`: the methods of the catalog, which of them write, and which are disabled.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::project_input::ProjectInput;
use super::spec::reading;
use super::table::{CATALOG_TOOLS, CatalogTool};
use contract::Fault;
use contract::clock::iso_millis;
use gate::tools::for_modules::run_typed;
use gate::tools::{Call, ToolSpec, schema};

pub(super) const TOOL: ToolSpec = reading(
    (
        "meta_tools",
        "meta/tools",
        "Methods of the catalog",
        "The methods of the instruction catalog with their schemas: which write, which are stable, which are disabled.",
    ),
    schema::generate_schema::<ProjectInput>,
    schema::generate_output_schema::<Output>,
    |call, arguments| run_typed(call, arguments, meta_tools),
);

/// Version of the block `mcp`, as the specification has it.
const REGISTRY_VERSION: &str = "2025-08-01";

#[derive(Debug, Serialize, JsonSchema)]
struct Output {
    /// All methods.
    tools: Vec<Method>,
    /// The methods without what depends on settings and time.
    stable: StableBlock,
    /// What depends on settings and time.
    dynamic: DynamicBlock,
    /// The methods with their schemas.
    #[schemars(schema_with = "schema::any_object")]
    mcp: McpBlock,
}

#[derive(Debug, Serialize, JsonSchema)]
struct StableBlock {
    tools: Vec<StableMethod>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct StableMethod {
    /// Name with slashes.
    method: &'static str,
    /// Whether its answer is stable.
    stable: bool,
    /// Whether it writes the catalog.
    mutation: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Method {
    #[serde(flatten)]
    method: StableMethod,
    /// True if a setting or the caller's scopes refuse it.
    #[serde(skip_serializing_if = "Option::is_none")]
    disabled: Option<bool>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct DynamicBlock {
    /// When this was answered, UTC.
    generated_at: String,
    /// Whether the operator allows writes.
    mutation_enabled: bool,
    /// The disabled methods.
    disabled: Vec<DisabledMethod>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct DisabledMethod {
    /// Name with slashes.
    method: &'static str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct McpBlock {
    registry_version: &'static str,
    tools: Vec<McpTool>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct McpTool {
    name: &'static str,
    description: &'static str,
    stable: bool,
    mutation: bool,
    input_schema: Map<String, Value>,
    output_schema: Map<String, Value>,
}

async fn meta_tools(call: Call, input: ProjectInput) -> Result<Output, Fault> {
    // The methods are the same for all projects, but a wrong project is reported here as well.
    if let Some(project_id) = &input.project_id {
        call.project(Some(project_id)).await?;
    }
    let is_disabled = |tool: &CatalogTool| {
        let is_gated = tool.is_mutation && !call.app.config.instructions.mutation;
        is_gated
            || !call.caller.principal.has_scope(tool.spec.scope)
            || call.caller.visibility.refusal_reason(tool.spec).is_some()
    };
    let stable = |tool: &CatalogTool| StableMethod {
        method: method(tool),
        stable: tool.is_stable,
        mutation: tool.is_mutation,
    };
    let tools = CATALOG_TOOLS.iter();
    let disabled =
        tools.clone().filter(|tool| is_disabled(tool)).map(|tool| DisabledMethod { method: method(tool) });
    Ok(Output {
        tools: tools
            .clone()
            .map(|tool| Method { method: stable(tool), disabled: is_disabled(tool).then_some(true) })
            .collect(),
        stable: StableBlock { tools: tools.clone().map(stable).collect() },
        dynamic: DynamicBlock {
            generated_at: iso_millis(call.app.clock.now()),
            mutation_enabled: call.app.config.instructions.mutation,
            disabled: disabled.collect(),
        },
        mcp: McpBlock { registry_version: REGISTRY_VERSION, tools: tools.map(mcp_tool).collect() },
    })
}

fn method(tool: &CatalogTool) -> &'static str {
    tool.spec.method.unwrap_or(tool.spec.name)
}

fn mcp_tool(tool: &CatalogTool) -> McpTool {
    McpTool {
        name: method(tool),
        description: tool.spec.description,
        stable: tool.is_stable,
        mutation: tool.is_mutation,
        input_schema: (tool.spec.input)(),
        output_schema: (tool.spec.output)(),
    }
}
