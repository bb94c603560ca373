//! The routes of the instruction catalog. The first two have an `ETag`, so that a client that polls reads only changes.

use std::sync::Arc;

use axum::Extension;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request as HttpRequest, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, on};
use serde_json::{Value, json};

use crate::tools::STREAM_DIFFERENCE;
use contract::{Envelope, ErrorCode, Fault, echo};
use gate::app::App;
use gate::tools::Caller;
use surfaces::http::routing::{
    Operation, RequestId, Route, SentQuery, call_tool, envelope as answered, hash, operation_events,
    query_arguments, read_arguments, refused, with_version,
};

/// The routes.
pub(crate) const ROUTES: &[Route] = &[
    Route {
        path: "/instructions",
        method: MethodFilter::GET,
        handler: |method| on(method, list),
        public: false,
        operation: Operation::Tool {
            id: "instructions",
            summary: "The team's instructions, with an ETag",
            tag: "instructions",
            tool: LIST,
            result: None,
            events: false,
        },
    },
    Route {
        path: "/instructions/{id}",
        method: MethodFilter::GET,
        handler: |method| on(method, get),
        public: false,
        operation: Operation::Tool {
            id: "instruction",
            summary: "One instruction, with an ETag; 404 if there is none with this id",
            tag: "instructions",
            tool: GET,
            result: None,
            events: false,
        },
    },
    Route {
        path: "/instructions/diff/stream",
        method: MethodFilter::POST,
        handler: |method| on(method, diff_stream),
        public: false,
        operation: Operation::Tool {
            id: "instructionsDiffStream",
            summary: "What changed in the instructions, as server-sent events: start, then added, updated and removed, or changed, \
                with one entry each; error; done",
            tag: "instructions",
            tool: "instructions_diff",
            result: None,
            events: true,
        },
    },
];

/// The tool of `GET /instructions`.
const LIST: &str = "instructions_list";
/// The tool of `GET /instructions/{id}`.
const GET: &str = "instructions_get";

/// `GET /instructions`.
async fn list(
    State(app): State<Arc<App>>,
    Extension(id): Extension<RequestId>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    query: SentQuery,
) -> Result<Response, Response> {
    let arguments = query_arguments(&app, &id, LIST, query)?;
    Ok(with_etag(&headers, &call_tool(&app, LIST, arguments, caller).await))
}

/// `GET /instructions/{id}`.
async fn get(
    State(app): State<Arc<App>>,
    Extension(id): Extension<RequestId>,
    Extension(caller): Extension<Caller>,
    entry: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
    query: SentQuery,
) -> Result<Response, Response> {
    // An id that is not UTF-8 cannot exist.
    let entry = entry.map_or_else(|_| String::from("\u{fffd}"), |Path(entry)| entry);
    let mut arguments = query_arguments(&app, &id, GET, query)?;
    if arguments.get("id").is_some() {
        let fault = Fault::new(ErrorCode::InvalidRequest, "The path and the query both name an `id`.")
            .with_hint("Send the id in the path only.");
        return Err(refused(&app, StatusCode::BAD_REQUEST, &fault, &id.0));
    }
    arguments["id"] = entry.as_str().into();
    let envelope = call_tool(&app, GET, arguments, caller).await;
    if envelope.result.as_ref().is_some_and(|result| result["notFound"] == true) {
        let fault = Fault::new(ErrorCode::NotFound, format!("There is no instruction `{}`.", echo(&entry)))
            .with_hint("GET /instructions lists the instructions.");
        return Ok(answered(&Envelope::failure(&fault, envelope.meta)));
    }
    Ok(with_etag(&headers, &envelope))
}

/// `POST /instructions/diff/stream`.
async fn diff_stream(
    State(app): State<Arc<App>>,
    Extension(id): Extension<RequestId>,
    Extension(caller): Extension<Caller>,
    request: HttpRequest,
) -> Result<Response, Response> {
    let arguments = read_arguments(&app, &id, request).await?;
    Ok(operation_events(app, caller, STREAM_DIFFERENCE, arguments).into_response())
}

/// Responds with the envelope, or with 304 if the client has this version. A failure has no version.
fn with_etag(headers: &HeaderMap, envelope: &Envelope) -> Response {
    match version(envelope) {
        Some(version) => with_version(headers, &version, || answered(envelope)),
        None => answered(envelope),
    }
}

/// Returns the version of an answer: the hash of the catalog, and one over everything else that the answer depends on, such as
/// metadata, project and paging. Usage counts are excluded: they change all the time without changing an instruction.
fn version(envelope: &Envelope) -> Option<String> {
    let mut result = envelope.result.clone()?;
    let catalog = result["hash"].as_str()?.to_owned();
    if let Some(item) = result.get_mut("item") {
        remove_usage(item);
    }
    result.get_mut("items").and_then(Value::as_array_mut).into_iter().flatten().for_each(remove_usage);
    let content = json!([result, envelope.meta.project_id, envelope.meta.warnings]).to_string();
    Some(format!("{catalog}.{}", hash(content.as_bytes())))
}

fn remove_usage(entry: &mut Value) {
    if let Some(fields) = entry.as_object_mut() {
        fields.shift_remove("usageCount");
        fields.shift_remove("lastUsedAt");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::Meta;

    #[test]
    fn a_version_depends_on_all_but_use_and_time() {
        let version = |result: Value, project: Option<&str>, time: &str| {
            let mut meta = Meta::new(time.to_owned());
            meta.project_id = project.map(Value::from);
            super::version(&Envelope::success(result, meta))
        };
        let list = |entry: Value| json!({ "hash": "ab", "count": 1, "items": [entry] });
        let entry = || json!({ "id": "a", "title": "A" });
        let first = version(list(entry()), Some("p"), "t1").unwrap();
        assert!(first.starts_with("ab."), "{first}");
        let used = json!({ "id": "a", "title": "A", "usageCount": 7, "lastUsedAt": "t" });
        assert_eq!(version(list(used.clone()), Some("p"), "t2").as_ref(), Some(&first));
        assert_ne!(version(list(json!({ "id": "a", "title": "B" })), Some("p"), "t1").as_ref(), Some(&first));
        assert_ne!(version(list(entry()), Some("q"), "t1").as_ref(), Some(&first));
        let one = |entry: Value| version(json!({ "hash": "ab", "item": entry }), None, "t");
        assert_eq!(one(used), one(entry()));
        let fault = Fault::new(ErrorCode::NotFound, "x");
        assert_eq!(super::version(&Envelope::failure(&fault, Meta::new("t".into()))), None);
    }
}
