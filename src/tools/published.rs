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

/// Tools whose answers are built upon by other calls, and are worth the words of an output schema in every list: what a
/// hit and the lines of a file consist of. The schemas of all tools stand in `contracts/`, and `GET /tools` answers them.
const WITH_OUTPUT: [&str; 2] = ["search", "show_file"];

/// The input schema as lists of tools show it.
#[must_use]
pub fn listed_input(tool: &ToolSpec) -> Map<String, Value> {
    schema::listed((tool.input)())
}

/// The output schema as lists of tools show it: the whole envelope, failures included, because some clients hold error
/// results against it as well.
#[must_use]
pub fn listed_output(tool: &ToolSpec) -> Option<Map<String, Value>> {
    WITH_OUTPUT.contains(&tool.name).then(|| schema::terse(schema::envelope((tool.output)())))
}
