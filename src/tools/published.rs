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
