//! The columns of the route table.

use std::sync::Arc;

use axum::routing::{MethodFilter, MethodRouter};
use serde_json::Value;

use gate::app::App;

/// A row of the route table.
pub(super) struct Route {
    /// The path in axum's syntax.
    pub(super) path: &'static str,
    pub(super) method: MethodFilter,
    pub(super) handler: fn(MethodFilter) -> MethodRouter<Arc<App>>,
    /// `true` if the route answers without a key.
    pub(super) public: bool,
    pub(super) operation: Operation,
}

/// The description of a route in the OpenAPI document.
pub(super) enum Operation {
    /// Not included, because another standard defines the format.
    Undocumented,
    /// A route without a tool; `answer` returns the media type and the schema of status 200.
    Server { id: &'static str, summary: &'static str, answer: fn() -> (&'static str, Value) },
    /// A route that calls one tool, and wraps its result under the name `result` if there is one. A GET route takes the arguments
    /// from its path and from the query, a POST route from the body. `events` routes answer as server-sent events.
    Tool {
        id: &'static str,
        summary: &'static str,
        tag: &'static str,
        tool: &'static str,
        result: Option<&'static str>,
        events: bool,
    },
    /// One operation for each tool of the list.
    EachTool,
}
