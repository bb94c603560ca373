//! The public promise as documents: what `contracts/` holds, derived from the list and the types.

use serde_json::{Map, Value, json};

use super::list::LIST;
use super::schema;
use super::spec::ToolSpec;
use crate::contract::{Envelope, SCHEMA_VERSION, error_table};

/// The files of `contracts/`, but for `versions.json`, which is their history.
#[must_use]
pub fn contracts() -> Vec<(&'static str, Value)> {
    vec![
        ("mcp-tools.schema.json", json!({ "schemaVersion": SCHEMA_VERSION, "tools": tools() })),
        ("envelope.schema.json", Value::Object(schema::of::<Envelope>())),
        ("errors.json", serde_json::to_value(error_table()).unwrap_or_default()),
    ]
}

/// A digest of the whole surface. `versions.json` pins each schema version to one, so that the
/// surface cannot change under an old version.
#[must_use]
pub fn digest() -> String {
    let mut hasher = blake3::Hasher::new();
    for (name, document) in contracts() {
        hasher.update(name.as_bytes());
        hasher.update(document.to_string().as_bytes());
    }
    hasher.finalize().to_hex()[..32].to_owned()
}

fn tools() -> Vec<Value> {
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
