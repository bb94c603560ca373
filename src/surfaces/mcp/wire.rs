//! Our answers in the protocol's words.
//!
//! A call that ran is a tool result that carries the envelope, also when it failed (T §6.7). A call
//! that was not run is a JSON-RPC error (T §6.6, §6.10), numbered by the table of error codes.

use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock, ErrorCode as RpcCode, MetaObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

use super::text;
use crate::config::TextForm;
use crate::contract::{Envelope, ErrorBody, ErrorCode, Fault, Refusal};
use crate::surfaces::{answer, listing};
use crate::tools::{ToolSpec, published};

/// A tool as `tools/list` shows it.
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

/// One text item with the compact envelope, or what it says in few tokens, and the envelope as structured content.
pub(super) fn result(envelope: &Envelope, form: TextForm) -> CallToolResult {
    let value = answer::json(envelope);
    let mut result =
        if envelope.ok { CallToolResult::structured(value) } else { CallToolResult::structured_error(value) };
    if form == TextForm::Short {
        result.content = vec![ContentBlock::text(text::short(envelope))];
    }
    result
}

/// The JSON-RPC error of a call that was not run.
pub(super) fn refusal(refusal: &Refusal) -> ErrorData {
    let number = refusal.code().info().json_rpc.map_or(RpcCode::INVALID_REQUEST, RpcCode);
    error(number, &refusal.to_fault())
}

/// The JSON-RPC error of a method that has no other way to say what failed. A missing resource has the protocol's own
/// number, which is also that of `MUTATION_DISABLED`: `data.code` tells them apart.
pub(super) fn fault(fault: &Fault) -> ErrorData {
    let number = match fault.code {
        ErrorCode::NotFound | ErrorCode::NoIndex => RpcCode::RESOURCE_NOT_FOUND,
        ErrorCode::ValidationError => RpcCode::INVALID_PARAMS,
        code => code.info().json_rpc.map_or(RpcCode::INTERNAL_ERROR, RpcCode),
    };
    error(number, fault)
}

/// The same of a call that ran.
pub(super) fn failure(body: ErrorBody) -> ErrorData {
    let mut failed = Fault::new(body.code, body.message);
    (failed.hint, failed.details) = (body.hint, body.details);
    fault(&failed)
}

/// A request whose method is known but whose parameters cannot be read.
pub(super) fn ill_typed(method: &str) -> ErrorData {
    let fault = Fault::new(
        ErrorCode::InvalidRequest,
        format!("The parameters of `{method}` are missing or of the wrong type."),
    )
    .with_details(json!([]))
    .with_hint("Send `params` as the protocol's schema for this method has it.");
    error(RpcCode::INVALID_PARAMS, &fault)
}

/// A request for a method that does not exist.
pub(super) fn unknown_method(method: &str) -> ErrorData {
    ErrorData::new(RpcCode::METHOD_NOT_FOUND, format!("Unknown method `{method}`."), None)
}

/// `data` has the envelope's code, message, details and hint, because clients show different parts.
fn error(number: RpcCode, fault: &Fault) -> ErrorData {
    let mut data = json!({ "code": fault.code, "message": fault.message });
    if let Some(details) = &fault.details {
        data["details"] = details.clone();
    }
    if let Some(hint) = &fault.hint {
        data["hint"] = Value::from(hint.as_str());
    }
    ErrorData::new(number, fault.message.clone(), Some(data))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{Meta, Violation};

    fn violation() -> Violation {
        Violation {
            instance_path: "/top".into(),
            schema_path: "#/properties/top/type".into(),
            keyword: "type".into(),
            params: Value::Null,
            message: "`top`: not an integer.".into(),
        }
    }

    #[test]
    fn each_refusal_has_its_number_and_its_code() {
        let table = [
            (Refusal::UnknownTool { name: "serch".into(), nearest: Some("search") }, -32602, "UNKNOWN_TOOL"),
            (Refusal::InvalidArguments(vec![violation()]), -32602, "INVALID_REQUEST"),
            (Refusal::QueueOverloaded { max: 2, size: 2 }, -32001, "QUEUE_OVERLOADED"),
            (Refusal::Disabled("read-only".into()), -32002, "MUTATION_DISABLED"),
            (Refusal::Forbidden("no".into()), -32003, "FORBIDDEN"),
        ];
        for (given, number, code) in table {
            let error = refusal(&given);
            let data = error.data.unwrap();
            assert_eq!((error.code.0, data["code"].as_str()), (number, Some(code)));
            assert_eq!(data["message"], *error.message);
        }
    }

    #[test]
    fn violations_stand_in_details_and_in_the_message() {
        let error = refusal(&Refusal::InvalidArguments(vec![violation()]));
        let data = error.data.unwrap();
        assert_eq!(data["details"][0]["instancePath"], "/top");
        assert!(error.message.contains("not an integer"), "{}", error.message);
        let overload = refusal(&Refusal::QueueOverloaded { max: 66, size: 66 }).data.unwrap();
        assert_eq!(overload["details"]["queue"], json!({ "max": 66, "size": 66 }));
    }

    #[test]
    fn text_and_structured_content_are_the_same_envelope() {
        let fault = Fault::new(ErrorCode::NoIndex, "Nothing here.");
        let result = result(&Envelope::failure(&fault, Meta::at("t".into())), TextForm::Envelope);
        let shown = serde_json::to_value(&result).unwrap();
        assert_eq!(shown["isError"], true);
        assert_eq!(shown["content"].as_array().map(Vec::len), Some(1));
        let text = shown["content"][0]["text"].as_str().unwrap();
        assert!(!text.contains('\n'), "compact");
        assert_eq!(serde_json::from_str::<Value>(text).unwrap(), shown["structuredContent"]);
        assert_eq!(shown["structuredContent"]["error"]["code"], "NO_INDEX");
    }

    #[test]
    fn every_tool_carries_four_hints_versions_and_object_schemas() {
        for spec in crate::tools::LIST {
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
