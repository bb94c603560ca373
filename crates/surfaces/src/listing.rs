//! The tool list of HTTP and the command line.

use serde::Serialize;
use serde_json::{Map, Value};

use contract::{SCHEMA_MAJOR, TOOLING_VERSION};
use gate::app::App;
use gate::tools::{Caller, ToolSpec, published};

/// The result of `GET /tools` and `pairofcleats tools --json`.
#[derive(Debug, Serialize)]
pub(super) struct ToolList {
    /// Ordered by use, most used first.
    tools: Vec<ListedTool>,
}

/// A tool as published in `contracts/`, with the schema versions.
#[derive(Debug, Serialize)]
struct ListedTool {
    #[serde(flatten)]
    published: Map<String, Value>,
    #[serde(rename = "_meta")]
    meta: Map<String, Value>,
}

/// Returns the tools that are visible to `caller`.
pub(super) fn visible_tools(app: &App, caller: &Caller) -> ToolList {
    let listed =
        |spec: &'static ToolSpec| ListedTool { published: published::describe(spec), meta: versions() };
    ToolList { tools: app.modules.tools().listed(&app.config, caller).map(listed).collect() }
}

/// Returns the versions in each tool's `_meta`.
pub(super) fn versions() -> Map<String, Value> {
    Map::from_iter([
        ("schemaVersion".to_owned(), Value::from(SCHEMA_MAJOR)),
        ("toolingVersion".to_owned(), Value::from(TOOLING_VERSION)),
    ])
}
