//! The HTTP surface as OpenAPI 3.1, from the one list of tools, and a page that shows it.

use std::sync::OnceLock;

use serde_json::{Map, Value, json};

use crate::tools::{LIST, ToolSpec, schema};
use contract::{Envelope, SCHEMA_VERSION};

/// Shows `/openapi.json` in a browser; loads nothing from elsewhere.
pub(super) const PAGE: &str = include_str!("docs.html");

/// A route without a tool of its own.
struct Route {
    path: &'static str,
    method: &'static str,
    id: &'static str,
    summary: &'static str,
    /// Media type and schema of its 200.
    answer: fn() -> (&'static str, Value),
    /// Answers without a key.
    open: bool,
}

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

const ROUTES: &[Route] = &[
    Route {
        path: "/health",
        method: "get",
        id: "health",
        summary: "Whether the server is alive",
        answer: health,
        open: true,
    },
    Route {
        path: "/health/ready",
        method: "get",
        id: "ready",
        summary: "Whether calls can be answered; 503 if not",
        answer: readiness,
        open: true,
    },
    Route {
        path: "/metrics",
        method: "get",
        id: "metrics",
        summary: "Counts for Prometheus; needs the scope admin",
        answer: metrics,
        open: false,
    },
    Route {
        path: "/tools",
        method: "get",
        id: "tools",
        summary: "The tools that the caller may call, with their schemas",
        answer: any_result,
        open: false,
    },
    Route {
        path: "/openapi.json",
        method: "get",
        id: "openapi",
        summary: "This document",
        answer: document_schema,
        open: true,
    },
    Route {
        path: "/docs",
        method: "get",
        id: "docs",
        summary: "This document as a page",
        answer: page,
        open: true,
    },
];

/// The document.
#[must_use]
pub fn document() -> Value {
    let mut paths = Map::new();
    for route in ROUTES {
        let (kind, schema) = (route.answer)();
        let mut operation = operation(route.id, route.summary, "server", kind, schema);
        if route.open {
            operation["security"] = json!([{}]);
        }
        if route.id == "ready" {
            // The same answer says what is missing.
            let mut unready = operation["responses"]["200"].clone();
            unready["description"] = "Not ready; the checks say why".into();
            operation["responses"]["503"] = unready;
        }
        paths.insert(route.path.into(), json!({ (route.method): operation }));
    }
    for (path, tool) in [("/status", "check_status"), ("/status/stream", "check_status")] {
        if let Some(tool) = crate::tools::find(tool) {
            paths.insert(path.into(), json!({ "get": status(path, tool) }));
        }
    }
    for path in ["/search", "/search/stream"] {
        if let Some(tool) = crate::tools::find("search") {
            paths.insert(path.into(), json!({ "post": search(path, tool) }));
        }
    }
    for tool in LIST {
        paths.insert(format!("/tools/{}", tool.name), json!({ "post": call(tool) }));
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "PairOfCleats",
            "version": SCHEMA_VERSION,
            "description": "Semantic code search over indexed repositories. Every JSON answer is one envelope; `error.code` is one of contracts/errors.json. MCP is spoken at /mcp (Streamable HTTP) and at /sse with /messages (older clients)."
        },
        "servers": [{ "url": "/" }],
        "security": [{ "bearer": [] }, { "apiKey": [] }, {}],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "bearer": { "type": "http", "scheme": "bearer", "description": "An API key or an OAuth access token. Needed unless only this machine can reach the server." },
                "apiKey": { "type": "apiKey", "in": "header", "name": "X-API-Key" }
            },
            "schemas": { "Failure": failure() },
            "responses": { "Failure": {
                "description": "The call failed or was not run; `error` says why and what to do",
                "content": { (JSON): { "schema": { "$ref": "#/components/schemas/Failure" } } }
            } }
        }
    })
}

/// The document as it is sent; made once a process.
pub(super) fn text() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| document().to_string())
}

fn operation(id: &str, summary: &str, tag: &str, kind: &str, schema: Value) -> Value {
    json!({
        "operationId": id,
        "summary": summary,
        "tags": [tag],
        "responses": {
            "200": { "description": "Done", "content": { (kind): { "schema": schema } } },
            "default": { "$ref": "#/components/responses/Failure" }
        }
    })
}

fn call(tool: &ToolSpec) -> Value {
    let answer = Value::Object(schema::envelope((tool.output)()));
    let mut operation = operation(tool.name, tool.title, tool.toolset.as_str(), JSON, answer);
    operation["description"] = tool.description.into();
    operation["requestBody"] = body(tool);
    operation
}

fn body(tool: &ToolSpec) -> Value {
    let input = (tool.input)();
    // Where nothing is required, no body counts as the empty object.
    let required = input.get("required").and_then(Value::as_array).is_some_and(|fields| !fields.is_empty());
    json!({ "required": required, "content": { (JSON): { "schema": input } } })
}

/// `POST /search` wraps the tool's result as `{repo, search}`.
fn search(path: &str, tool: &ToolSpec) -> Value {
    let (id, summary) = match path {
        "/search" => ("searchInRepo", "Search"),
        _ => (
            "searchStream",
            "Search, with progress as server-sent events: start, progress, result or error, done",
        ),
    };
    let (kind, answer) = match path {
        "/search" => (JSON, Value::Object(schema::envelope(wrapped("search", tool)))),
        _ => (EVENTS, json!({ "type": "string" })),
    };
    let mut operation = operation(id, summary, "search", kind, answer);
    operation["requestBody"] = body(tool);
    operation
}

/// `GET /status` takes the tool's arguments in its query and wraps the result as `{repo, status}`.
fn status(path: &str, tool: &ToolSpec) -> Value {
    let (id, summary) = match path {
        "/status" => ("status", "How the server is"),
        _ => ("statusStream", "How the server is, as server-sent events: start, result or error, done"),
    };
    let (kind, answer) = match path {
        "/status" => (JSON, Value::Object(schema::envelope(wrapped("status", tool)))),
        _ => (EVENTS, json!({ "type": "string" })),
    };
    let mut operation = operation(id, summary, "server", kind, answer);
    let input = (tool.input)();
    let fields = input.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    let parameters =
        fields.into_iter().map(|(name, schema)| json!({ "name": name, "in": "query", "schema": schema }));
    operation["parameters"] = parameters.collect();
    operation
}

fn wrapped(name: &str, tool: &ToolSpec) -> Map<String, Value> {
    let schema = json!({
        "type": "object",
        "required": ["repo", name],
        "properties": {
            "repo": { "type": ["string", "null"], "description": "The repository as the caller named it." },
            (name): (tool.output)()
        }
    });
    match schema {
        Value::Object(schema) => schema,
        _ => Map::new(),
    }
}

fn enveloped(result: Value) -> (&'static str, Value) {
    let result = match result {
        Value::Object(result) => result,
        _ => Map::new(),
    };
    (JSON, Value::Object(schema::envelope(result)))
}

fn any_result() -> (&'static str, Value) {
    enveloped(json!({ "type": "object" }))
}

fn health() -> (&'static str, Value) {
    enveloped(
        json!({ "type": "object", "required": ["uptimeMs"], "properties": { "uptimeMs": { "type": "integer" } } }),
    )
}

fn readiness() -> (&'static str, Value) {
    enveloped(json!({
        "type": "object",
        "required": ["ready", "checks"],
        "properties": {
            "ready": { "type": "boolean" },
            "checks": { "type": "array", "items": {
                "type": "object",
                "required": ["name", "ok"],
                "properties": { "name": { "type": "string" }, "ok": { "type": "boolean" }, "message": { "type": "string" } }
            } }
        }
    }))
}

fn metrics() -> (&'static str, Value) {
    ("text/plain; version=0.0.4; charset=utf-8", json!({ "type": "string" }))
}

fn document_schema() -> (&'static str, Value) {
    (JSON, json!({ "type": "object" }))
}

fn page() -> (&'static str, Value) {
    ("text/html; charset=utf-8", json!({ "type": "string" }))
}

/// The envelope of a failure.
fn failure() -> Value {
    let mut schema = schema::of::<Envelope>();
    schema.insert("required".into(), json!(["ok", "error", "_meta"]));
    if let Some(ok) = schema.get_mut("properties").and_then(|properties| properties.get_mut("ok")) {
        ok["const"] = false.into();
    }
    Value::Object(schema)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_is_a_path_and_every_operation_has_its_own_id() {
        let document = document();
        let paths = document["paths"].as_object().unwrap();
        let operations: Vec<&Value> =
            paths.values().flat_map(|path| path.as_object().unwrap().values()).collect();
        let ids: std::collections::BTreeSet<&str> =
            operations.iter().map(|operation| operation["operationId"].as_str().unwrap()).collect();
        assert_eq!(ids.len(), operations.len());
        assert!(LIST.iter().all(|tool| paths.contains_key(&format!("/tools/{}", tool.name))));
    }

    #[test]
    fn the_page_loads_nothing_from_elsewhere() {
        assert!(!PAGE.contains("http://") && !PAGE.contains("https://") && !PAGE.contains("src="));
    }
}
