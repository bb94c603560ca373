//! Parses messages from clients and explains what is wrong with invalid ones, in the same way for every transport.
//!
//! JSON-RPC 2.0 requires `id: null` in the answer to an unreadable message; rmcp does not answer it or omits the id.

use rmcp::ErrorData;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorCode as RpcCode, GetMeta, JsonRpcError, JsonRpcMessage,
    JsonRpcVersion2_0, RequestId, ServerJsonRpcMessage,
};
use serde_json::{Map, Value, json};

use super::{methods, wire};
use contract::{ErrorCode, Fault, JsonRejection, Refusal, echo, parse_unique};
use gate::tools::Toolbox;

/// Longest request id; the answer repeats it.
const ID_CHARS_MAX: usize = 256;
/// Longest progress token; every notification repeats it.
const TOKEN_CHARS_MAX: usize = 200;
/// The setting that limits an HTTP body, for error messages.
pub(super) const BODY_LIMIT: &str = "server.body_bytes_max";
/// The UTF-8 byte order mark, which some editors write.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A message that is refused before any handler runs.
#[derive(Debug)]
pub(super) struct RefusedMessage {
    /// The request's id, if it could be read.
    id: Option<RequestId>,
    error: ErrorData,
}

impl RefusedMessage {
    /// Returns the refusal as a fault, for the HTTP response.
    pub(super) fn fault(&self) -> Fault {
        let fault = Fault::new(ErrorCode::InvalidRequest, self.error.message.to_string());
        match self.error.data.as_ref().and_then(|data| data["hint"].as_str()) {
            Some(hint) => fault.with_hint(hint),
            None => fault,
        }
    }

    /// Converts the refusal to an rmcp message; without `id` if it could not be read.
    pub(super) fn into_message(self) -> ServerJsonRpcMessage {
        ServerJsonRpcMessage::Error(JsonRpcError {
            jsonrpc: JsonRpcVersion2_0,
            id: self.id,
            error: self.error,
        })
    }

    /// Converts the refusal to JSON; `id` is null if it could not be read.
    pub(super) fn answer(&self) -> Value {
        json!({ "jsonrpc": "2.0", "id": self.id, "error": self.error })
    }
}

/// Parses one message for a server of `tools`. Returns `None` for an unreadable response, which needs no answer.
pub(super) fn parse_message(
    bytes: &[u8],
    tools: &Toolbox,
) -> Result<Option<ClientJsonRpcMessage>, RefusedMessage> {
    let bytes = without_byte_order_mark(bytes);
    let value = parse_unique(bytes).map_err(|rejection| match rejection {
        JsonRejection::Malformed(error) => {
            let message = format!("The message is not valid JSON: {error}.");
            let fault = Fault::new(ErrorCode::InvalidRequest, message)
                .with_hint("Send each message as one JSON object.");
            RefusedMessage { id: None, error: wire::rpc_error(RpcCode::PARSE_ERROR, &fault) }
        }
        JsonRejection::DuplicateMember(why) => {
            let id = serde_json::from_slice::<Value>(bytes).ok();
            let id = id.and_then(|value| check_members(value.as_object()?).ok()?);
            invalid(
                id,
                format!("The message is ambiguous: {why}."),
                "Send each member of an object only once.",
            )
        }
    })?;
    let Value::Object(fields) = &value else {
        let what =
            if value.is_array() { "a batch, which this revision does not support" } else { "not an object" };
        return Err(invalid(
            None,
            format!("The message is {what}."),
            "Send each message as one JSON object.",
        ));
    };
    let id = check_members(fields)?;
    if fields.get("params").is_some_and(has_long_token) {
        let message = format!("The `progressToken` has more than {TOKEN_CHARS_MAX} characters.");
        let fault = Fault::new(ErrorCode::InvalidRequest, message)
            .with_hint("Use a short token, for example a number.");
        return Err(RefusedMessage { id, error: wire::rpc_error(RpcCode::INVALID_PARAMS, &fault) });
    }
    let answers = fields.contains_key("result") || fields.contains_key("error");
    let method = fields.get("method").and_then(Value::as_str).unwrap_or_default().to_owned();
    match serde_json::from_value(value) {
        Ok(message) => Ok(Some(message)),
        Err(_) if answers => Ok(None),
        // The members are those of a valid request, so the parameters are wrong.
        Err(_) if id.is_some() && !method.is_empty() => {
            Err(RefusedMessage { id, error: methods::no_handler_error(tools, &method, false) })
        }
        Err(error) => Err(invalid(
            id,
            format!("The message is not a valid MCP message: {}.", echo(&error.to_string())),
            "Send a request (`jsonrpc`, `id`, `method`, `params`) or a notification (the same without `id`).",
        )),
    }
}

/// Checks whether the progress token is too long.
fn has_long_token(params: &Value) -> bool {
    let token = params.get("_meta").and_then(|meta| meta.get("progressToken")).and_then(Value::as_str);
    token.is_some_and(|token| token.chars().nth(TOKEN_CHARS_MAX).is_some())
}

/// Removes the byte order mark.
pub(super) fn without_byte_order_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes)
}

/// Checks the members that JSON-RPC defines and returns the id.
fn check_members(fields: &Map<String, Value>) -> Result<Option<RequestId>, RefusedMessage> {
    let id = match fields.get("id") {
        None => None,
        Some(Value::String(text)) if text.chars().count() > ID_CHARS_MAX => {
            let message = format!("The request's `id` has more than {ID_CHARS_MAX} characters.");
            return Err(invalid(None, message, "Use a short id, for example a number."));
        }
        Some(id) => match serde_json::from_value::<RequestId>(id.clone()) {
            Ok(id) => Some(id),
            // An error response has `id: null` if the peer could not read our id.
            Err(_) if fields.contains_key("error") => None,
            Err(_) => {
                let message = "The request's `id` is neither a string nor an integer.";
                return Err(invalid(None, message.to_owned(), "Use an id such as 1, 2, 3."));
            }
        },
    };
    let wrong = |message: &str, hint: &str| Err(invalid(id.clone(), message.to_owned(), hint));
    if fields.get("jsonrpc").is_none_or(|version| version != "2.0") {
        return wrong(
            "The message lacks `\"jsonrpc\": \"2.0\"`.",
            "Add `\"jsonrpc\": \"2.0\"` to each message.",
        );
    }
    match fields.get("method") {
        Some(method) if !method.is_string() => {
            wrong("`method` is not a string.", "Send the name of an MCP method.")
        }
        None if !fields.contains_key("result") && !fields.contains_key("error") => {
            wrong("The message has no `method`.", "Send the name of an MCP method.")
        }
        _ => Ok(id),
    }
}

/// Returns the refusal of a message that is longer than the limit in `setting`.
pub(super) fn too_long(bytes_max: usize, setting: &str) -> RefusedMessage {
    let message = format!("The message has more than {bytes_max} bytes.");
    invalid(None, message, &format!("Send smaller messages, or raise {setting}."))
}

/// Returns the refusal of input outside of any frame.
pub(super) fn unframed(why: &str) -> RefusedMessage {
    let fault = Fault::new(ErrorCode::InvalidRequest, format!("The input is not framed: {why}."))
        .with_hint("Send `Content-Length: N`, an empty line, and N bytes of JSON.");
    RefusedMessage { id: None, error: wire::rpc_error(RpcCode::PARSE_ERROR, &fault) }
}

fn invalid(id: Option<RequestId>, message: String, hint: &str) -> RefusedMessage {
    let fault = Fault::new(ErrorCode::InvalidRequest, message).with_hint(hint);
    RefusedMessage { id, error: wire::rpc_error(RpcCode::INVALID_REQUEST, &fault) }
}

/// Returns the refusal of a request whose id belongs to a pending request.
pub(super) fn duplicate_id(id: &RequestId) -> RefusedMessage {
    let message = "A request with this `id` is still pending; it is not affected.".to_owned();
    invalid(Some(id.clone()), message, "Use a unique `id` for each request of a session.")
}

/// Counts a request that bypasses the gate of calls, such as `initialize` and `tools/list`, towards the caller's limit.
pub(super) fn over_limit(
    message: &ClientJsonRpcMessage,
    tools: &Toolbox,
    admit: impl FnOnce() -> Result<(), Refusal>,
) -> Option<(RefusedMessage, Refusal)> {
    let JsonRpcMessage::Request(request) = message else { return None };
    if methods::is_counted_as_call(tools, request.request.method()) {
        return None;
    }
    let refusal = admit().err()?;
    let refused = RefusedMessage { id: Some(request.id.clone()), error: wire::refusal_error(&refusal) };
    Some((refused, refusal))
}

/// The decision whether a message is passed to rmcp.
#[derive(Debug)]
pub(super) enum MessageDisposition {
    /// Passed; it opens the session.
    Opens,
    /// Passed.
    Passes,
    /// Dropped: a notification or response without effect in this state.
    Ignored,
    /// Answered with this refusal.
    Refused(RefusedMessage),
}

/// Decides whether `message` is passed to rmcp, in a session that is `open` or not.
///
/// rmcp also supports a later revision without `initialize` and sessions. Only a request that names its revision belongs to it; all
/// others follow the supported revisions.
pub(super) fn admit(message: &ClientJsonRpcMessage, open: bool, tools: &Toolbox) -> MessageDisposition {
    let JsonRpcMessage::Request(request) = message else {
        return if open { MessageDisposition::Passes } else { MessageDisposition::Ignored };
    };
    let method = request.request.method();
    let id = Some(request.id.clone());
    match &request.request {
        ClientRequest::InitializeRequest(_) => MessageDisposition::Opens,
        ClientRequest::PingRequest(_) => MessageDisposition::Passes,
        named if named.get_meta().protocol_version().is_some() => MessageDisposition::Passes,
        // rmcp parses a known method as custom only if its parameters are invalid.
        ClientRequest::CustomRequest(_) if open || method == "initialize" => match method {
            "initialize" => {
                MessageDisposition::Refused(RefusedMessage { id, error: wire::invalid_params(method) })
            }
            _ => MessageDisposition::Passes,
        },
        // Clients of the older framing send it, but only in an open session.
        ClientRequest::CustomRequest(_) if matches!(method, "shutdown" | "exit") => {
            before_initialize(id, method)
        }
        _ if !methods::is_served(tools, method) => MessageDisposition::Refused(RefusedMessage {
            id,
            error: methods::no_handler_error(tools, method, false),
        }),
        _ if open => MessageDisposition::Passes,
        _ => before_initialize(id, method),
    }
}

/// Returns the refusal of a request before the session is open.
fn before_initialize(id: Option<RequestId>, method: &str) -> MessageDisposition {
    let message = format!("`{}` was sent before `initialize`: the session is not open yet.", echo(method));
    let fault = Fault::new(ErrorCode::IllegalState, message)
        .with_hint("Send `initialize` first, wait for its answer, then send `notifications/initialized`.");
    MessageDisposition::Refused(RefusedMessage {
        id,
        error: wire::rpc_error(RpcCode::INVALID_REQUEST, &fault),
    })
}

/// Returns the refusal of an HTTP request without a session that does not open one.
pub(super) fn without_session(request: &ClientJsonRpcMessage, tools: &Toolbox) -> Option<RefusedMessage> {
    let JsonRpcMessage::Request(message) = request else { return None };
    match admit(request, false, tools) {
        MessageDisposition::Refused(refused) => Some(refused),
        // A ping is allowed before `initialize`, but over HTTP no session would answer it.
        MessageDisposition::Passes if matches!(message.request, ClientRequest::PingRequest(_)) => {
            Some(invalid(
                Some(message.id.clone()),
                "The request names no session.".to_owned(),
                "Send `initialize` first, and the header `Mcp-Session-Id` of its answer with each request.",
            ))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::TEST_MODULES;

    fn refused(text: &str) -> (i64, Value) {
        let answer = parse_message(text.as_bytes(), TEST_MODULES.gate().tools()).unwrap_err().answer();
        assert!(answer["error"]["data"]["code"].is_string() && answer.get("id").is_some(), "{answer}");
        (answer["error"]["code"].as_i64().unwrap(), answer["id"].clone())
    }

    #[test]
    fn invalid_messages_are_refused_with_their_id_or_null() {
        for text in ["", "{", "nonsense", "{\"a\":1} x", "\u{0}"] {
            assert_eq!(refused(text), (-32700, Value::Null), "{text}");
        }
        let table = [
            ("[]", Value::Null),
            ("5", Value::Null),
            ("{}", Value::Null),
            (r#"{"jsonrpc":"2.0","id":4}"#, json!(4)),
            (r#"{"jsonrpc":"1.0","id":4,"method":"ping"}"#, json!(4)),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, Value::Null),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, Value::Null),
            (r#"{"jsonrpc":"2.0","id":"a","method":7}"#, json!("a")),
            (r#"{"jsonrpc":"2.0","id":2,"method":"ping","result":{}}"#, json!(2)),
        ];
        for (text, id) in table {
            if text.contains("result") {
                // Both a request and a response: a response needs no answer.
                assert!(
                    parse_message(text.as_bytes(), TEST_MODULES.gate().tools()).unwrap().is_none(),
                    "{text}"
                );
            } else {
                assert_eq!(refused(text), (-32600, id), "{text}");
            }
        }
        let long = format!(r#"{{"jsonrpc":"2.0","id":"{}","method":"ping"}}"#, "x".repeat(10_000));
        assert_eq!(refused(&long), (-32600, Value::Null));
    }

    #[test]
    fn parameters_of_another_type_are_refused_as_parameters() {
        for params in ["[1]", "5", "\"x\"", "true"] {
            for (method, number) in [("tools/call", -32602), ("tools/list", -32602), ("no/such", -32601)] {
                let text = format!(r#"{{"jsonrpc":"2.0","id":3,"method":"{method}","params":{params}}}"#);
                assert_eq!(refused(&text), (number, json!(3)), "{text}");
            }
        }
    }

    #[test]
    fn ambiguous_messages_are_refused() {
        let table = [
            (r#"{"jsonrpc":"2.0","id":3,"method":"ping","method":"tools/list"}"#, json!(3)),
            (
                r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"search","name":"x"}}"#,
                json!(3),
            ),
            (r#"{"jsonrpc":"2.0","method":"ping","method":"ping"}"#, Value::Null),
        ];
        for (text, id) in table {
            assert_eq!(refused(text), (-32600, id), "{text}");
        }
    }

    #[test]
    fn a_long_token_for_progress_is_refused() {
        let call = |token: Value| {
            json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/call",
                "params": { "name": "search", "_meta": { "progressToken": token } } })
            .to_string()
        };
        for token in [json!("é".repeat(200)), json!(7), json!("")] {
            assert!(
                parse_message(call(token.clone()).as_bytes(), TEST_MODULES.gate().tools()).is_ok(),
                "{token}"
            );
        }
        let text = call(json!("é".repeat(201)));
        assert_eq!(refused(&text), (-32602, json!(3)));
        let answer = parse_message(text.as_bytes(), TEST_MODULES.gate().tools()).unwrap_err().answer();
        assert!(answer.to_string().len() < 1000);
    }

    #[test]
    fn messages_are_read_also_behind_a_byte_order_mark() {
        let text = "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";
        let parsed = parse_message(text.as_bytes(), TEST_MODULES.gate().tools());
        assert!(matches!(parsed, Ok(Some(JsonRpcMessage::Request(_)))));
    }

    #[test]
    fn only_initialize_and_ping_come_before_the_session() {
        let admitted = |method: &str, params: Value, open| {
            let text = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
            let tools = TEST_MODULES.gate().tools();
            admit(&parse_message(text.as_bytes(), tools).unwrap().unwrap(), open, tools)
        };
        let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": { "name": "t", "version": "1" } });
        assert!(matches!(admitted("initialize", hello, false), MessageDisposition::Opens));
        assert!(matches!(admitted("ping", json!({}), false), MessageDisposition::Passes));
        assert!(matches!(admitted("tools/list", json!({}), true), MessageDisposition::Passes));
        for (method, number) in [("tools/list", -32600), ("no/such", -32601), ("server/discover", -32601)] {
            let MessageDisposition::Refused(refused) = admitted(method, json!({}), false) else {
                panic!("{method}")
            };
            let answer = refused.answer();
            assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(1), &json!(number)), "{method}");
            assert!(answer["error"]["message"].as_str().unwrap().contains(method), "{answer}");
        }
        let MessageDisposition::Refused(refused) = admitted("initialize", json!({ "a": 1 }), false) else {
            panic!()
        };
        assert_eq!(refused.answer()["error"]["code"], -32602);
        let text = br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
        let tools = TEST_MODULES.gate().tools();
        assert!(matches!(
            admit(&parse_message(text, tools).unwrap().unwrap(), false, tools),
            MessageDisposition::Ignored
        ));
    }
}
