//! The tool list as HTTP and the command line show it.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::tools::{Caller, ToolSpec, Toolbox, published};
use contract::{SCHEMA_MAJOR, TOOLING_VERSION};

/// All tools, as `GET /tools` and `pairofcleats tools --json` answer them.
#[derive(Debug, Serialize)]
pub(super) struct ToolList {
    /// In the order of the list, most used first.
    tools: Vec<ListedTool>,
}

/// One tool: what `contracts/` publishes of it, and the versions.
#[derive(Debug, Serialize)]
struct ListedTool {
    #[serde(flatten)]
    published: Map<String, Value>,
    #[serde(rename = "_meta")]
    meta: Map<String, Value>,
}

/// The tools that `caller` may call, described.
pub(super) fn visible(caller: &Caller) -> ToolList {
    let listed =
        |spec: &'static ToolSpec| ListedTool { published: published::describe(spec), meta: versions() };
    ToolList { tools: Toolbox::standard().visible(caller).map(listed).collect() }
}

/// The versions in each tool's `_meta`.
pub(super) fn versions() -> Map<String, Value> {
    Map::from_iter([
        ("schemaVersion".to_owned(), Value::from(SCHEMA_MAJOR)),
        ("toolingVersion".to_owned(), Value::from(TOOLING_VERSION)),
    ])
}
