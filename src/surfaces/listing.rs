//! The tool list as clients see it, the same on every surface.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::contract::{SCHEMA_MAJOR, TOOLING_VERSION};
use crate::tools::{Effects, LIST, ToolSpec, Toolset, schema};

/// All tools, as `GET /tools` and `pairofcleats tools --json` answer them.
#[derive(Debug, Serialize)]
pub(super) struct ToolList {
    /// In the order of the list, most used first.
    pub(super) tools: Vec<ListedTool>,
}

/// One tool, described.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ListedTool {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) description: &'static str,
    pub(super) toolset: Toolset,
    pub(super) effects: Effects,
    pub(super) input_schema: Map<String, Value>,
    pub(super) output_schema: Map<String, Value>,
    #[serde(rename = "_meta")]
    pub(super) meta: Map<String, Value>,
}

/// Every tool, described.
pub(super) fn all() -> ToolList {
    ToolList { tools: LIST.iter().map(|spec| describe(spec)).collect() }
}

/// One tool, described. Its output schema is the envelope's, because that is what every surface answers.
pub(super) fn describe(spec: &ToolSpec) -> ListedTool {
    ListedTool {
        name: spec.name,
        title: spec.title,
        description: spec.description,
        toolset: spec.toolset,
        effects: spec.effects,
        input_schema: (spec.input)(),
        output_schema: schema::envelope((spec.output)()),
        meta: versions(),
    }
}

/// The versions in each tool's `_meta` (S §2.1).
fn versions() -> Map<String, Value> {
    Map::from_iter([
        ("schemaVersion".to_owned(), Value::from(SCHEMA_MAJOR)),
        ("toolingVersion".to_owned(), Value::from(TOOLING_VERSION)),
    ])
}
