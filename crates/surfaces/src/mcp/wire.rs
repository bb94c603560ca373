//! Converts tools, envelopes and faults to the types of the protocol.
//!
//! A call that ran becomes a tool result with the envelope, even if it failed. A call that was not run becomes a JSON-RPC error,
//! whose `code` is taken from the table of error codes.

use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::model::{
    CallToolResult, ContentBlock, ErrorCode as RpcCode, MetaObject, ServerJsonRpcMessage, Tool,
    ToolAnnotations,
};
use serde::Serialize;
use serde_json::{Value, json};

use super::text;
use crate::{answer, listing};
use contract::config::TextForm;
use contract::{ECHO_CHARS_MAX, Envelope, ErrorBody, ErrorCode, Fault, Refusal, echo};
use gate::tools::{ToolSpec, published};

/// Converts a tool for `tools/list`.
pub(super) fn tool(spec: &'static ToolSpec) -> Tool {
    let annotations = ToolAnnotations::new()
        .read_only(spec.effects.read_only)
        .destructive(spec.effects.destructive)
        .idempotent(spec.effects.idempotent)
        .open_world(spec.effects.open_world);
    let tool = Tool::new(spec.name, spec.description, Arc::new(published::listed_input(spec)))
        .with_title(spec.title)
        .with_annotations(annotations)
        .with_meta(MetaObject(listing::versions()));
    match published::listed_output(spec) {
        Some(output) => tool.with_raw_output_schema(Arc::new(output)),
        None => tool,
    }
}

/// Converts an envelope to a tool result: structured content with the envelope, and text with the compact envelope or its short form.
pub(super) fn result(envelope: &Envelope, form: TextForm) -> CallToolResult {
    let value = answer::json(envelope);
    let mut result =
        if envelope.ok { CallToolResult::structured(value) } else { CallToolResult::structured_error(value) };
    if form == TextForm::Short {
        result.content = vec![ContentBlock::text(text::short_text(envelope))];
    }
    result
}

/// Returns the JSON-RPC error of a call that was not run.
pub(super) fn refusal_error(refusal: &Refusal) -> ErrorData {
    let code = refusal.code().info().json_rpc.map_or(RpcCode::INVALID_REQUEST, RpcCode);
    let mut error = rpc_error(code, &refusal.to_fault());
    // The message already repeats what the caller sent; do not repeat it in the data.
    if let Some(data) = &mut error.data {
        data["message"] = Value::from(refusal.message_without_values());
    }
    error
}

/// Returns the JSON-RPC error of a method whose result cannot report a failure. A missing resource has the code -32002 that the
/// protocol defines for it, which `MUTATION_DISABLED` also has; `data.code` distinguishes them.
pub(super) fn fault_error(fault: &Fault) -> ErrorData {
    let code = match fault.code {
        ErrorCode::NotFound | ErrorCode::NoIndex | ErrorCode::RunNotFound => RpcCode::RESOURCE_NOT_FOUND,
        ErrorCode::ValidationError | ErrorCode::InvalidInput => RpcCode::INVALID_PARAMS,
        code => code.info().json_rpc.map_or(RpcCode::INTERNAL_ERROR, RpcCode),
    };
    rpc_error(code, fault)
}

/// Returns the JSON-RPC error of an operation that ran and failed.
pub(super) fn failed_call_error(body: ErrorBody) -> ErrorData {
    let mut failed = Fault::new(body.code, body.message);
    (failed.hint, failed.details) = (body.hint, body.details);
    fault_error(&failed)
}

/// Returns the error for a known method with unreadable parameters.
pub(super) fn invalid_params(method: &str) -> ErrorData {
    let fault = Fault::new(
        ErrorCode::InvalidRequest,
        format!("The parameters of `{method}` are missing or of the wrong type."),
    )
    // Other parameter errors list the violations here; the exact problem is unknown.
    .with_details(json!([]))
    .with_hint("Send `params` as the protocol's schema defines them for this method.");
    rpc_error(RpcCode::INVALID_PARAMS, &fault)
}

/// Returns the error for an unknown method.
pub(super) fn unknown_method(method: &str) -> ErrorData {
    let fault = Fault::new(ErrorCode::NotFound, format!("Unknown method `{}`.", echo(method))).with_hint(
        "The answer to `initialize` lists the server's capabilities; tools are called with `tools/call`.",
    );
    rpc_error(RpcCode::METHOD_NOT_FOUND, &fault)
}

/// Returns the `_meta` of an answer.
pub(super) fn to_meta(value: &impl Serialize) -> MetaObject {
    match serde_json::to_value(value) {
        Ok(Value::Object(fields)) => MetaObject(fields),
        _ => MetaObject::default(),
    }
}

/// Adds the URI to the error, as the protocol specifies for this method.
pub(super) fn with_uri(mut error: ErrorData, uri: &str) -> ErrorData {
    // A long URI is not repeated; the message quotes part of it.
    let is_short = uri.chars().nth(ECHO_CHARS_MAX).is_none();
    if let Some(Value::Object(data)) = error.data.as_mut().filter(|_| is_short) {
        data.insert("uri".to_owned(), Value::from(uri));
    }
    error
}

/// Creates a JSON-RPC error. `data` has code, message, details and hint like an envelope's `error`, because clients display
/// different parts.
pub(super) fn rpc_error(code: RpcCode, fault: &Fault) -> ErrorData {
    let body = ErrorBody::from(fault);
    // The client gets the message anyway; in `data`, a long one is replaced by the meaning of its code.
    let short_message = match body.message.chars().nth(ECHO_CHARS_MAX) {
        Some(_) => body.code.info().meaning,
        None => body.message.as_str(),
    };
    let mut data = json!({ "code": body.code, "message": short_message });
    if let Some(details) = body.details {
        data["details"] = details;
    }
    if let Some(hint) = body.hint {
        data["hint"] = Value::from(hint);
    }
    ErrorData::new(code, body.message, Some(data))
}

/// Adds the contract's error code to an error that rmcp produced itself.
pub(super) fn with_error_code(mut message: ServerJsonRpcMessage) -> ServerJsonRpcMessage {
    if let ServerJsonRpcMessage::Error(failed) = &mut message {
        add_error_code(&mut failed.error);
    }
    message
}

/// Gives an error without `data.code` one of the contract's codes.
pub(super) fn add_error_code(error: &mut ErrorData) {
    if error.data.as_ref().is_some_and(|data| data["code"].is_string()) {
        return;
    }
    if error.code == RpcCode::METHOD_NOT_FOUND {
        // Here rmcp's message is only the method name.
        *error = unknown_method(&error.message);
        return;
    }
    let code = match error.code {
        RpcCode::INTERNAL_ERROR => ErrorCode::Internal,
        RpcCode::RESOURCE_NOT_FOUND => ErrorCode::NotFound,
        _ => ErrorCode::InvalidRequest,
    };
    let fault = Fault::new(code, error.message.to_string());
    let details = error.data.take();
    *error = rpc_error(error.code, &Fault { details, ..fault });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::TEST_MODULES;
    use contract::{Meta, Violation};

    fn violation() -> Violation {
        Violation {
            instance_path: "/top".into(),
            schema_path: "#/properties/top/type".into(),
            keyword: "type".into(),
            params: Value::Null,
            message: "`top`: not an integer.".into(),
            value: None,
        }
    }

    #[test]
    fn each_refusal_has_its_json_rpc_code_and_its_code() {
        let table = [
            (Refusal::UnknownTool { name: "serch".into(), nearest: Some("search") }, -32602, "UNKNOWN_TOOL"),
            (Refusal::InvalidArguments(vec![violation()]), -32602, "INVALID_REQUEST"),
            (Refusal::QueueOverloaded { max: 2, size: 2 }, -32001, "QUEUE_OVERLOADED"),
            (Refusal::Disabled("read-only".into()), -32002, "MUTATION_DISABLED"),
            (Refusal::Forbidden("no".into()), -32003, "FORBIDDEN"),
        ];
        for (given, number, code) in table {
            let error = refusal_error(&given);
            let data = error.data.unwrap();
            assert_eq!((error.code.0, data["code"].as_str()), (number, Some(code)));
            assert!(data["message"].as_str().is_some_and(|message| !message.contains("serch")), "{data}");
        }
    }

    #[test]
    fn violations_are_in_the_details_and_in_the_message() {
        let error = refusal_error(&Refusal::InvalidArguments(vec![violation()]));
        let data = error.data.unwrap();
        assert_eq!(data["details"][0]["instancePath"], "/top");
        assert!(error.message.contains("not an integer"), "{}", error.message);
        let overload = refusal_error(&Refusal::QueueOverloaded { max: 66, size: 66 }).data.unwrap();
        assert_eq!(overload["details"]["queue"], json!({ "max": 66, "size": 66 }));
    }

    #[test]
    fn refusals_of_rmcp_itself_get_a_code() {
        let mut error = ErrorData::new(RpcCode::METHOD_NOT_FOUND, "logging/setLevel", None);
        add_error_code(&mut error);
        assert_eq!((error.code.0, &*error.message), (-32601, "Unknown method `logging/setLevel`."));
        assert_eq!(error.data.unwrap()["code"], "NOT_FOUND");
        let mut error = ErrorData::new(RpcCode::INVALID_PARAMS, "no", Some(json!({ "supported": ["x"] })));
        add_error_code(&mut error);
        let data = error.data.unwrap();
        assert_eq!(
            (&data["code"], &data["details"]["supported"][0]),
            (&json!("INVALID_REQUEST"), &json!("x"))
        );
    }

    #[test]
    fn text_and_structured_content_are_the_same_envelope() {
        let fault = Fault::new(ErrorCode::NoIndex, "Nothing here.");
        let result = result(&Envelope::failure(&fault, Meta::new("t".into())), TextForm::Envelope);
        let shown = serde_json::to_value(&result).unwrap();
        assert_eq!(shown["isError"], true);
        assert_eq!(shown["content"].as_array().map(Vec::len), Some(1));
        let text = shown["content"][0]["text"].as_str().unwrap();
        assert!(!text.contains('\n'), "compact");
        assert_eq!(serde_json::from_str::<Value>(text).unwrap(), shown["structuredContent"]);
        assert_eq!(shown["structuredContent"]["error"]["code"], "NO_INDEX");
    }

    #[test]
    fn every_tool_has_four_annotations_versions_and_object_schemas() {
        for spec in TEST_MODULES.gate().list_of_tools() {
            let shown = serde_json::to_value(tool(spec)).unwrap();
            for hint in ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] {
                assert!(shown["annotations"][hint].is_boolean(), "{}: {hint}", spec.name);
            }
            assert_eq!(shown["inputSchema"]["type"], "object", "{}", spec.name);
            assert!(
                shown.get("outputSchema").is_none_or(|schema| schema["type"] == "object"),
                "{}",
                spec.name
            );
            assert_eq!(shown["_meta"]["schemaVersion"], 2, "{}", spec.name);
            assert!(shown["title"].is_string() && shown["_meta"]["toolingVersion"].is_string());
        }
    }
}
