//! The tools as lists and `contracts/` publish them, derived from the table of modules and the types.

use serde_json::{Map, Value, json};

use super::schema;
use super::spec::ToolSpec;
use crate::module::Modules;

/// All tools, in the order of the list.
#[must_use]
pub fn tools(modules: &Modules) -> Vec<Value> {
    modules.list_of_tools().iter().map(|tool| Value::Object(describe(tool))).collect()
}

/// One tool with its full schemas.
#[must_use]
pub fn describe(tool: &ToolSpec) -> Map<String, Value> {
    let described = json!({
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "toolset": tool.toolset,
        "annotations": {
            "readOnlyHint": tool.effects.read_only,
            "destructiveHint": tool.effects.destructive,
            "idempotentHint": tool.effects.idempotent,
            "openWorldHint": tool.effects.open_world,
        },
        "inputSchema": (tool.input)(),
        "outputSchema": schema::envelope_schema((tool.output)()),
    });
    match described {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

/// The only tool whose output schema MCP lists show, because other calls use its hits. A schema costs the model tokens.
/// `contracts/` has those of all tools, and `GET /tools` those of the tools that it lists.
const TOOL_WITH_OUTPUT_SCHEMA: &str = "search";
/// The fields of that schema that lists keep: those that a model reads most or needs for its next call.
const LISTED_OUTPUT_FIELDS: [&str; 11] =
    ["hits", "total", "nextOffset", "id", "file", "startLine", "endLine", "kind", "name", "score", "snippet"];

/// The input schema in MCP lists.
#[must_use]
pub fn listed_input(tool: &ToolSpec) -> Map<String, Value> {
    schema::without_length_rules((tool.input)())
}

/// The output schema in MCP lists: the envelope with success and failure, because some clients also validate error results.
#[must_use]
pub fn listed_output(tool: &ToolSpec) -> Option<Map<String, Value>> {
    if tool.name != TOOL_WITH_OUTPUT_SCHEMA {
        return None;
    }
    let mut schema = Value::Object(schema::without_descriptions(schema::envelope_schema((tool.output)())));
    for fields in ["/properties/result/properties", "/properties/result/properties/hits/items/properties"] {
        if let Some(Value::Object(fields)) = schema.pointer_mut(fields) {
            fields.retain(|field, _| LISTED_OUTPUT_FIELDS.contains(&field.as_str()));
        }
    }
    match schema {
        Value::Object(schema) => Some(schema),
        _ => None,
    }
}
