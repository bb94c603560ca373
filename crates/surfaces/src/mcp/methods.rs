//! Custom JSON-RPC methods: tools that clients can also call by a name with slashes. They pass the same gate and answer with the
//! bare result instead of the envelope.

use rmcp::ErrorData;
use rmcp::model::{CustomResult, ErrorCode as RpcCode};
use serde_json::{Value, json};

use super::wire;
use contract::{Envelope, ErrorCode, Fault, Refusal, Violation, echo};
use gate::tools::Toolbox;

/// Methods of the protocol. A request for one of them reaches `on_custom_request` only if its parameters are invalid.
pub(super) const PROTOCOL: &[&str] = &[
    "initialize", "ping", "tools/list", "tools/call", "prompts/list", "prompts/get", "resources/list",
    "resources/templates/list", "resources/read", "resources/subscribe", "resources/unsubscribe",
    "completion/complete", "logging/setLevel",
];

/// Checks whether requests of this method pass the gate of calls, which counts them.
pub(super) fn is_counted_as_call(tools: &Toolbox, method: &str) -> bool {
    let passes = ["tools/call", "prompts/get", "resources/list", "resources/read", "completion/complete"];
    passes.contains(&method) || is_method(tools, method)
}

/// Checks whether requests of this method are served in an open session.
pub(super) fn is_served(tools: &Toolbox, method: &str) -> bool {
    PROTOCOL.contains(&method) || is_method(tools, method)
}

fn is_method(tools: &Toolbox, method: &str) -> bool {
    tools.find_method(method).is_some() || first_action(tools, method).is_some()
}

/// The end of the older form of a toolset's methods: `<toolset>/dispatch {action, …}` means `<toolset>/<action>` with the other
/// parameters.
const DISPATCH: &str = "/dispatch";

/// Returns the first method that a method of the older form can mean; `None` for other methods.
fn first_action(tools: &Toolbox, method: &str) -> Option<&'static str> {
    let toolset = method.strip_suffix(DISPATCH)?;
    let mut methods =
        tools.all().iter().filter(|tool| tool.toolset.name == toolset).filter_map(|tool| tool.method);
    methods.find(|known| known.split_once('/').is_some_and(|(named, _)| named == toolset))
}

/// Resolves a request to the method and the parameters that it means.
///
/// # Errors
/// `-32601` for an action that is not a method.
pub(super) fn dispatched(
    tools: &Toolbox,
    method: String,
    params: Option<Value>,
) -> Result<(String, Option<Value>), ErrorData> {
    let Some(first) = first_action(tools, &method) else { return Ok((method, params)) };
    let mut params = params.unwrap_or_default();
    let action = params.as_object_mut().and_then(|fields| fields.shift_remove("action"));
    let action = action.as_ref().and_then(Value::as_str).unwrap_or_default();
    let named = format!("{}/{action}", method.trim_end_matches(DISPATCH));
    if tools.find_method(&named).is_some() {
        return Ok((named, Some(params)));
    }
    let fault = Fault::new(ErrorCode::UnknownTool, format!("`{method}` has no action `{}`.", echo(action)))
        .with_hint(format!("Call the method itself, such as `{first}`; `meta/tools` lists all methods."));
    Err(with_method(&method, wire::rpc_error(RpcCode::METHOD_NOT_FOUND, &fault)))
}

/// Unwraps an envelope: the bare result, or the failure as a JSON-RPC error.
pub(super) fn result_or_error(method: &str, envelope: Envelope) -> Result<CustomResult, ErrorData> {
    let Some(body) = envelope.error else {
        return Ok(CustomResult::new(envelope.result.unwrap_or_default()));
    };
    let number = body.code.info().json_rpc.map_or(RpcCode::INTERNAL_ERROR, RpcCode);
    let mut fault = Fault::new(body.code, body.message);
    (fault.hint, fault.details) = (body.hint, body.details);
    Err(with_method(method, wire::rpc_error(number, &fault)))
}

/// Returns the JSON-RPC error of a call that was not run.
pub(super) fn refusal_error(method: &str, refusal: &Refusal) -> ErrorData {
    with_method(method, wire::refusal_error(refusal))
}

/// Returns the error for a request without a handler: its method does not exist, or its parameters are invalid. If the log is
/// verbose, the error names methods with a similar spelling.
pub(super) fn no_handler_error(tools: &Toolbox, method: &str, is_verbose: bool) -> ErrorData {
    if PROTOCOL.contains(&method) {
        return wire::invalid_params(method);
    }
    if tools.find_method(method).is_some() {
        let violation = Violation {
            instance_path: String::new(),
            schema_path: "#/type".to_owned(),
            keyword: "type".to_owned(),
            params: json!({ "type": "object" }),
            message: "The parameters must be an object.".to_owned(),
            value: None,
        };
        return refusal_error(method, &Refusal::InvalidArguments(vec![violation]));
    }
    if tools.has_methods_beside(method) {
        let fault = Fault::new(ErrorCode::UnknownTool, format!("Unknown method `{}`.", echo(method)))
            .with_hint("Methods are called as their tools are: `tools/list` shows them, with `_` for `/`.");
        let mut error = with_method(&echo(method), wire::rpc_error(RpcCode::METHOD_NOT_FOUND, &fault));
        if let Some(data) = error.data.as_mut().filter(|_| is_verbose) {
            data["nearby"] = tools.methods_near(method).into();
        }
        return error;
    }
    wire::unknown_method(method)
}

/// Adds the method to the error's data and, for invalid parameters, repeats the violations as `errors`, the name that clients of
/// these methods read.
fn with_method(method: &str, mut error: ErrorData) -> ErrorData {
    let mut data = error.data.take().unwrap_or_else(|| json!({}));
    data["method"] = Value::from(method);
    if error.code == RpcCode::INVALID_PARAMS {
        let listed = data["details"].as_array().is_some_and(|details| !details.is_empty());
        data["errors"] = match listed {
            true => data["details"].clone(),
            // The violated rule is not part of a schema.
            false => json!([{ "instancePath": "", "message": data["message"] }]),
        };
    }
    error.data = Some(data);
    error
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::TEST_MODULES;
    use contract::Meta;
    use gate::module::{Module, Modules};
    use gate::tools::{ToolSpec, Toolset};

    /// Returns violations of the naming rules.
    fn complaints(tools: &[&ToolSpec]) -> Vec<String> {
        let mut complaints = Vec::new();
        let mut taken: Vec<&str> = Vec::new();
        for tool in tools {
            for name in std::iter::once(&tool.name).chain(tool.aliases) {
                let fits = name.len() <= 40
                    && name.starts_with(|first: char| first.is_ascii_lowercase())
                    && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
                if !fits {
                    complaints.push(format!("{name}: not of the form ^[a-z][a-z0-9_]{{0,39}}$"));
                }
            }
            if let Some(method) = tool.method {
                if method.replace('/', "_") != tool.name || !method.contains('/') {
                    complaints.push(format!("{method}: not the name {} with slashes", tool.name));
                }
                if PROTOCOL.contains(&method) {
                    complaints.push(format!("{method}: a method of the protocol"));
                }
            }
            for name in [tool.name].into_iter().chain(tool.method).chain(tool.aliases.iter().copied()) {
                if taken.contains(&name) {
                    complaints.push(format!("{name}: taken twice"));
                }
                taken.push(name);
            }
        }
        complaints
    }

    fn entry(name: &'static str, method: Option<&'static str>, aliases: &'static [&'static str]) -> ToolSpec {
        ToolSpec { name, method, aliases, ..*TEST_MODULES.gate().list_of_tools()[0] }
    }

    #[test]
    fn names_methods_and_aliases_follow_the_rules() {
        assert_eq!(complaints(TEST_MODULES.gate().list_of_tools()), Vec::<String>::new());
        let good = entry("notes_get_all", Some("notes/get_all"), &["notes_read"]);
        assert_eq!(complaints(&[&good]), Vec::<String>::new());
        let long = entry("a23456789_123456789_123456789_123456789_1", None, &[]);
        let table = [
            (vec![long], "not of the form"),
            (vec![entry("Notes", None, &[])], "not of the form"),
            (vec![entry("notes", None, &["no-tes"])], "not of the form"),
            (vec![entry("notes_get", Some("notes/put"), &[])], "with slashes"),
            (vec![entry("notes_get", Some("notes_get"), &[])], "with slashes"),
            (vec![entry("tools_list", Some("tools/list"), &[])], "of the protocol"),
            (vec![entry("a", None, &[]), entry("a", None, &[])], "taken twice"),
            (vec![entry("a", None, &["b"]), entry("b", None, &[])], "taken twice"),
            (vec![entry("a", None, &["a"])], "taken twice"),
            (vec![entry("a_b", Some("a/b"), &[]), entry("a_b", Some("a/b"), &[])], "taken twice"),
        ];
        for (entries, expected) in table {
            let said = complaints(&entries.iter().collect::<Vec<_>>());
            assert!(said.iter().any(|said| said.contains(expected)), "{expected}: {said:?}");
        }
    }

    static GET_NOTE: ToolSpec = ToolSpec {
        name: "notes_get",
        method: Some("notes/get"),
        toolset: Toolset::listed("notes"),
        ..ToolSpec::BASE
    };
    static NOTES: Module = Module { toolsets: &[GET_NOTE.toolset], tools: &[&GET_NOTE], ..Module::EMPTY };

    #[test]
    fn the_older_form_names_a_method_of_its_toolset() {
        let modules = Modules::new(vec![&NOTES]);
        let tools = modules.tools();
        let meant = |method: &str, action: &str| {
            dispatched(tools, method.to_owned(), Some(json!({ "action": action, "id": "a" })))
        };
        let (method, params) = meant("notes/dispatch", "get").unwrap();
        assert_eq!((method.as_str(), params), ("notes/get", Some(json!({ "id": "a" }))));
        assert_eq!(meant("notes/get", "put").unwrap().1, Some(json!({ "action": "put", "id": "a" })));
        let error = meant("notes/dispatch", "put").unwrap_err();
        let data = error.data.unwrap();
        assert_eq!((error.code.0, data["method"].as_str()), (-32601, Some("notes/dispatch")));
        assert!(data["hint"].as_str().unwrap().contains("such as `notes/get`"), "{data}");
        assert!(is_served(tools, "notes/dispatch") && is_counted_as_call(tools, "notes/dispatch"));
        assert!(!is_served(tools, "other/dispatch"));
    }

    #[test]
    fn failures_have_the_numbers_and_the_data_of_the_table() {
        let failed = |code: ErrorCode| {
            let fault = Fault::new(code, "No.").with_details(json!({ "a": 1 })).with_hint("Do.");
            result_or_error("notes/get", Envelope::failure(&fault, Meta::new("t".into()))).unwrap_err()
        };
        for (code, number) in [
            (ErrorCode::InvalidRequest, -32602),
            (ErrorCode::MutationDisabled, -32002),
            (ErrorCode::Forbidden, -32003),
            (ErrorCode::RateLimited, -32004),
            (ErrorCode::QueueOverloaded, -32001),
            (ErrorCode::NoIndex, -32603),
            (ErrorCode::NotFound, -32603),
            (ErrorCode::Internal, -32603),
        ] {
            let error = failed(code);
            let data = error.data.unwrap();
            assert_eq!((error.code.0, data["code"].as_str()), (number, Some(code.as_str())));
            assert_eq!((&data["method"], &data["message"]), (&json!("notes/get"), &json!("No.")));
            assert_eq!((&data["details"], &data["hint"]), (&json!({ "a": 1 }), &json!("Do.")));
            let errors = data.get("errors").map(|errors| errors.as_array().map(Vec::len));
            assert_eq!(errors, (number == -32602).then_some(Some(1)), "never empty: {data}");
        }
    }
}
