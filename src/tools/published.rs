//! The tools as clients see them, derived from the list and the types.

use serde_json::{Map, Value, json};

use super::list::LIST;
use super::schema;
use super::spec::ToolSpec;

/// All tools, in the order of the list.
#[must_use]
pub fn tools() -> Vec<Value> {
    LIST.iter().map(|tool| Value::Object(describe(tool))).collect()
}

/// One tool as clients see it.
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
        "outputSchema": schema::envelope((tool.output)()),
    });
    match described {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

/// The one tool whose output schema is worth its words in every list: other calls are built upon its hits. The schemas of
/// all tools stand in `contracts/`, and `GET /tools` answers them.
const WITH_OUTPUT: &str = "search";
/// What lists show of it: the fields that every answer has, or that lead on.
const SHOWN: [&str; 11] =
    ["hits", "total", "nextOffset", "id", "file", "startLine", "endLine", "kind", "name", "score", "snippet"];

/// The input schema as lists of tools show it.
#[must_use]
pub fn listed_input(tool: &ToolSpec) -> Map<String, Value> {
    schema::listed((tool.input)())
}

/// The output schema as lists of tools show it: the whole envelope, failures included, because some clients hold error
/// results against it as well.
#[must_use]
pub fn listed_output(tool: &ToolSpec) -> Option<Map<String, Value>> {
    if tool.name != WITH_OUTPUT {
        return None;
    }
    let mut schema = Value::Object(schema::terse(schema::envelope((tool.output)())));
    for fields in ["/properties/result/properties", "/properties/result/properties/hits/items/properties"] {
        if let Some(Value::Object(fields)) = schema.pointer_mut(fields) {
            fields.retain(|field, _| SHOWN.contains(&field.as_str()));
        }
    }
    match schema {
        Value::Object(schema) => Some(schema),
        _ => None,
    }
}
