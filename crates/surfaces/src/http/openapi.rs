//! The OpenAPI 3.1 document, generated from the tables of routes and of tools, and the page that shows it.

use axum::routing::MethodFilter;
use serde_json::{Map, Value, json};

use super::route::{Operation, Route};
use contract::{Envelope, SCHEMA_VERSION};
use gate::module::Modules;
use gate::tools::{ToolSpec, schema};

/// The page that renders `/openapi.json` in a browser. It loads nothing from other hosts.
pub(super) const PAGE: &str = include_str!("docs.html");

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

/// Generates the document of these routes; the tools come last.
pub(super) fn document(mut routes: Vec<&Route>, modules: &Modules) -> Value {
    routes.sort_by_key(|route| matches!(route.operation, Operation::EachTool));
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "PairOfCleats",
            "version": SCHEMA_VERSION,
            "description": "Semantic code search over indexed repositories. Every JSON answer is one envelope; `error.code` is one of contracts/errors.json. MCP is spoken at /mcp (Streamable HTTP) and at /sse with /messages (older clients)."
        },
        "servers": [{ "url": "/" }],
        "security": [{ "bearer": [] }, { "apiKey": [] }, {}],
        "paths": paths(&routes, modules),
        "components": {
            "securitySchemes": {
                "bearer": { "type": "http", "scheme": "bearer", "description": "An API key or an OAuth access token. Needed unless only this machine can reach the server." },
                "apiKey": { "type": "apiKey", "in": "header", "name": "X-API-Key" }
            },
            "schemas": { "Failure": failure_schema() },
            "responses": { "Failure": {
                "description": "The call failed or was not run; `error` says why and what to do",
                "content": { (JSON): { "schema": { "$ref": "#/components/schemas/Failure" } } }
            } }
        }
    })
}

/// Describes the operations of routes.
fn paths(routes: &[&Route], modules: &Modules) -> Map<String, Value> {
    let mut paths = Map::new();
    for route in routes {
        let is_get = route.method == MethodFilter::GET;
        let mut insert = |path: &str, mut operation: Value| {
            if route.public {
                operation["security"] = json!([{}]);
            }
            paths.insert(path.into(), json!({ (if is_get { "get" } else { "post" }): operation }));
        };
        match route.operation {
            Operation::Undocumented => {}
            Operation::Server { id, summary, answer } => {
                insert(route.path, server_operation(id, summary, answer()));
            }
            Operation::Tool { id, summary, tag, tool, result, events } => {
                let Some(tool) = modules.find_tool(tool) else { continue };
                let (kind, answer) = match (events, result) {
                    (true, _) => (EVENTS, json!({ "type": "string" })),
                    (false, Some(name)) => (JSON, enveloped(wrapped_result(name, tool))),
                    (false, None) => (JSON, enveloped((tool.output)())),
                };
                let mut operation = operation(id, summary, tag, kind, answer);
                match is_get {
                    true => operation["parameters"] = parameters(tool, route.path),
                    false => operation["requestBody"] = request_body(tool),
                }
                insert(route.path, operation);
            }
            Operation::EachTool => {
                for tool in modules.list_of_tools() {
                    insert(&route.path.replace("{name}", tool.name), tool_operation(tool));
                }
            }
        }
    }
    paths
}

/// Describes the operation of a route without a tool.
fn server_operation(id: &str, summary: &str, (kind, schema): (&str, Value)) -> Value {
    let mut operation = operation(id, summary, "server", kind, schema);
    if id == "ready" {
        // Status 503 has the same body, with the failed checks.
        let mut unready = operation["responses"]["200"].clone();
        unready["description"] = "Not ready; the checks say why".into();
        operation["responses"]["503"] = unready;
    }
    operation
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

fn tool_operation(tool: &ToolSpec) -> Value {
    let answer = enveloped((tool.output)());
    let mut operation = operation(tool.name, tool.title, tool.toolset.name, JSON, answer);
    operation["description"] = tool.description.into();
    operation["requestBody"] = request_body(tool);
    operation
}

fn request_body(tool: &ToolSpec) -> Value {
    let input = (tool.input)();
    // A tool without required arguments also accepts an empty body.
    let required = input.get("required").and_then(Value::as_array).is_some_and(|fields| !fields.is_empty());
    json!({ "required": required, "content": { (JSON): { "schema": input } } })
}

/// Describes the tool's arguments as parameters: in the path if that names them, else in the query.
fn parameters(tool: &ToolSpec, path: &str) -> Value {
    let input = (tool.input)();
    let fields = input.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    fields
        .into_iter()
        .map(|(name, schema)| match path.contains(&format!("{{{name}}}")) {
            true => json!({ "name": name, "in": "path", "required": true, "schema": schema }),
            false => json!({ "name": name, "in": "query", "schema": schema }),
        })
        .collect()
}

/// Returns the schema of `{repo, <name>: result}`.
fn wrapped_result(name: &str, tool: &ToolSpec) -> Map<String, Value> {
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

fn enveloped_answer(result: Value) -> (&'static str, Value) {
    let result = match result {
        Value::Object(result) => result,
        _ => Map::new(),
    };
    (JSON, enveloped(result))
}

/// Returns the schema of an envelope with this result.
fn enveloped(result: Map<String, Value>) -> Value {
    Value::Object(schema::envelope_schema(result))
}

pub(super) fn any_object_answer() -> (&'static str, Value) {
    enveloped_answer(json!({ "type": "object" }))
}

pub(super) fn health_answer() -> (&'static str, Value) {
    enveloped_answer(
        json!({ "type": "object", "required": ["uptimeMs"], "properties": { "uptimeMs": { "type": "integer" } } }),
    )
}

pub(super) fn readiness_answer() -> (&'static str, Value) {
    enveloped_answer(json!({
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

pub(super) fn metrics_answer() -> (&'static str, Value) {
    ("text/plain; version=0.0.4; charset=utf-8", json!({ "type": "string" }))
}

pub(super) fn document_answer() -> (&'static str, Value) {
    (JSON, json!({ "type": "object" }))
}

pub(super) fn page_answer() -> (&'static str, Value) {
    ("text/html; charset=utf-8", json!({ "type": "string" }))
}

/// Returns the schema of a failed envelope.
fn failure_schema() -> Value {
    let mut schema = schema::generate_schema::<Envelope>();
    schema.insert("required".into(), json!(["ok", "error", "_meta"]));
    if let Some(ok) = schema.get_mut("properties").and_then(|properties| properties.get_mut("ok")) {
        ok["const"] = false.into();
    }
    Value::Object(schema)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::TEST_MODULES;

    #[test]
    fn every_tool_is_a_path_and_every_operation_has_its_own_id() {
        let document = super::super::openapi(&TEST_MODULES);
        let paths = document["paths"].as_object().unwrap();
        let operations: Vec<&Value> =
            paths.values().flat_map(|path| path.as_object().unwrap().values()).collect();
        let ids: std::collections::BTreeSet<&str> =
            operations.iter().map(|operation| operation["operationId"].as_str().unwrap()).collect();
        assert_eq!(ids.len(), operations.len());
        assert!(
            TEST_MODULES
                .gate()
                .list_of_tools()
                .iter()
                .all(|tool| paths.contains_key(&format!("/tools/{}", tool.name)))
        );
    }

    #[test]
    fn the_page_loads_nothing_from_elsewhere() {
        assert!(!PAGE.contains("http://") && !PAGE.contains("https://") && !PAGE.contains("src="));
    }
}
