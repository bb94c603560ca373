//! Reads what a client sent as a message of the protocol, and says what is wrong with what is none; the same on every
//! transport.
//!
//! JSON-RPC 2.0 answers what cannot be read with `id: null`; rmcp leaves such input unanswered, or its id out.

use rmcp::ErrorData;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorCode as RpcCode, GetMeta, JsonRpcError, JsonRpcMessage,
    JsonRpcVersion2_0, RequestId, ServerJsonRpcMessage,
};
use serde_json::{Map, Value, json};

use super::members::{self, Unread};
use super::server::METHODS;
use super::wire;
use contract::{ErrorCode, Fault, echo};

/// Longer ids are refused, because every answer repeats its id.
const ID_CHARS_MAX: usize = 256;
/// Longer tokens for progress are refused, because every notification repeats its token.
const TOKEN_CHARS_MAX: usize = 200;
/// The setting that bounds a body over HTTP, as answers name it.
pub(super) const BODY_LIMIT: &str = "server.body_bytes_max";
/// What some editors write before a text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A message that is refused before any handler sees it.
#[derive(Debug)]
pub(super) struct Refused {
    /// Of the request, where it could be read.
    id: Option<RequestId>,
    error: ErrorData,
}

impl Refused {
    /// The same as a failure of the HTTP surface.
    pub(super) fn fault(&self) -> Fault {
        let fault = Fault::new(ErrorCode::InvalidRequest, self.error.message.to_string());
        match self.error.data.as_ref().and_then(|data| data["hint"].as_str()) {
            Some(hint) => fault.with_hint(hint),
            None => fault,
        }
    }

    /// The answer as rmcp sends it; without `id` where the request's could not be read.
    pub(super) fn sent(self) -> ServerJsonRpcMessage {
        ServerJsonRpcMessage::Error(JsonRpcError {
            jsonrpc: JsonRpcVersion2_0,
            id: self.id,
            error: self.error,
        })
    }

    /// The answer; `id` is null where the request's could not be read.
    pub(super) fn answer(&self) -> Value {
        json!({ "jsonrpc": "2.0", "id": self.id, "error": self.error })
    }
}

/// Reads one message. None is one that nobody waits for and that says nothing: a response that cannot be read.
pub(super) fn read(bytes: &[u8]) -> Result<Option<ClientJsonRpcMessage>, Refused> {
    let bytes = unmarked(bytes);
    let value = members::read(bytes).map_err(|unread| match unread {
        Unread::Malformed(error) => {
            let message = format!("The message is not valid JSON: {error}.");
            let fault = Fault::new(ErrorCode::InvalidRequest, message)
                .with_hint("Send each message as one JSON object.");
            Refused { id: None, error: wire::numbered(RpcCode::PARSE_ERROR, &fault) }
        }
        Unread::Doubled(why) => {
            let id = serde_json::from_slice::<Value>(bytes).ok();
            let id = id.and_then(|value| checked(value.as_object()?).ok()?);
            invalid(
                id,
                format!("The message can be read in two ways: {why}."),
                "Name each member of an object once.",
            )
        }
    })?;
    let Value::Object(fields) = &value else {
        let what =
            if value.is_array() { "a batch, which this revision does not have" } else { "not an object" };
        return Err(invalid(
            None,
            format!("The message is {what}."),
            "Send each message as one JSON object.",
        ));
    };
    let id = checked(fields)?;
    if fields.get("params").is_some_and(has_long_token) {
        let message = format!("The `progressToken` has more than {TOKEN_CHARS_MAX} characters.");
        let fault = Fault::new(ErrorCode::InvalidRequest, message)
            .with_hint("Number the calls whose progress you want.");
        return Err(Refused { id, error: wire::numbered(RpcCode::INVALID_PARAMS, &fault) });
    }
    let answers = fields.contains_key("result") || fields.contains_key("error");
    let method = fields.get("method").and_then(Value::as_str).unwrap_or_default().to_owned();
    match serde_json::from_value(value) {
        Ok(message) => Ok(Some(message)),
        Err(_) if answers => Ok(None),
        // Its members are those of a request: only its parameters can be wrong.
        Err(_) if id.is_some() && !method.is_empty() => {
            let known = METHODS.contains(&method.as_str());
            let error = if known { wire::ill_typed(&method) } else { wire::unknown_method(&method) };
            Err(Refused { id, error })
        }
        Err(error) => Err(invalid(
            id,
            format!("The message is not one of the protocol: {}.", echo(&error.to_string())),
            "Send a request (`jsonrpc`, `id`, `method`, `params`) or a notification (the same without `id`).",
        )),
    }
}

/// Whether the parameters name a token for progress that every notification would repeat at length.
fn has_long_token(params: &Value) -> bool {
    let token = params.get("_meta").and_then(|meta| meta.get("progressToken")).and_then(Value::as_str);
    token.is_some_and(|token| token.chars().nth(TOKEN_CHARS_MAX).is_some())
}

/// The text without the mark that some editors write before it.
pub(super) fn unmarked(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes)
}

/// The id, if the members that JSON-RPC defines are what it says.
fn checked(fields: &Map<String, Value>) -> Result<Option<RequestId>, Refused> {
    let id = match fields.get("id") {
        None => None,
        Some(Value::String(text)) if text.chars().count() > ID_CHARS_MAX => {
            let message = format!("The request's `id` has more than {ID_CHARS_MAX} characters.");
            return Err(invalid(None, message, "Number the requests."));
        }
        Some(id) => match serde_json::from_value::<RequestId>(id.clone()) {
            Ok(id) => Some(id),
            // An error response may be about a message whose id could not be read.
            Err(_) if fields.contains_key("error") => None,
            Err(_) => {
                let message = "The request's `id` is neither a string nor an integer.";
                return Err(invalid(None, message.to_owned(), "Number the requests."));
            }
        },
    };
    let wrong = |message: &str, hint: &str| Err(invalid(id.clone(), message.to_owned(), hint));
    if fields.get("jsonrpc").is_none_or(|version| version != "2.0") {
        return wrong(
            "The message lacks `\"jsonrpc\": \"2.0\"`.",
            "Send `\"jsonrpc\": \"2.0\"` with each message.",
        );
    }
    match fields.get("method") {
        Some(method) if !method.is_string() => {
            wrong("`method` is not a string.", "Name a method of the protocol.")
        }
        None if !fields.contains_key("result") && !fields.contains_key("error") => {
            wrong("The message has no `method`.", "Name a method of the protocol.")
        }
        _ => Ok(id),
    }
}

/// A message of more than `bytes_max` bytes, the limit that `setting` sets.
pub(super) fn too_long(bytes_max: usize, setting: &str) -> Refused {
    let message = format!("The message has more than {bytes_max} bytes.");
    invalid(None, message, &format!("Send less at a time, or raise {setting}."))
}

/// Input that the framing makes no message of.
pub(super) fn unframed(why: &str) -> Refused {
    let fault = Fault::new(ErrorCode::InvalidRequest, format!("The input is not framed: {why}."))
        .with_hint("Write `Content-Length: N`, an empty line, and N bytes of JSON.");
    Refused { id: None, error: wire::numbered(RpcCode::PARSE_ERROR, &fault) }
}

fn invalid(id: Option<RequestId>, message: String, hint: &str) -> Refused {
    let fault = Fault::new(ErrorCode::InvalidRequest, message).with_hint(hint);
    Refused { id, error: wire::numbered(RpcCode::INVALID_REQUEST, &fault) }
}

/// A request with the id of one that is not answered yet.
pub(super) fn again(id: &RequestId) -> Refused {
    let message = "A request with this `id` is not answered yet; it goes on.".to_owned();
    invalid(Some(id.clone()), message, "Give each request of a session an `id` of its own.")
}

/// Whether a message may be handed on.
#[derive(Debug)]
pub(super) enum Admission {
    /// It opens the session.
    Opens,
    /// It may.
    Passes,
    /// Nobody waits for an answer, and it means nothing now.
    Ignored,
    /// It is answered here.
    Refused(Refused),
}

/// Whether `message` may be handed on to rmcp in a session that is `open` or not.
///
/// rmcp also speaks a later revision, which has neither `initialize` nor sessions. Only a request that names a revision itself
/// is of that kind; to all others the pinned revision applies, and they are told so in its words.
pub(super) fn admit(message: &ClientJsonRpcMessage, open: bool) -> Admission {
    let JsonRpcMessage::Request(request) = message else {
        return if open { Admission::Passes } else { Admission::Ignored };
    };
    let method = request.request.method();
    let id = Some(request.id.clone());
    match &request.request {
        ClientRequest::InitializeRequest(_) => Admission::Opens,
        ClientRequest::PingRequest(_) => Admission::Passes,
        named if named.get_meta().protocol_version().is_some() => Admission::Passes,
        // Of a known method only what its parameters cannot be.
        ClientRequest::CustomRequest(_) if open || method == "initialize" => match method {
            "initialize" => Admission::Refused(Refused { id, error: wire::ill_typed(method) }),
            _ => Admission::Passes,
        },
        // Of the older framing, once its session is open.
        ClientRequest::CustomRequest(_) if method == "shutdown" => early(id, method),
        _ if !METHODS.contains(&method) => {
            Admission::Refused(Refused { id, error: wire::unknown_method(method) })
        }
        _ if open => Admission::Passes,
        _ => early(id, method),
    }
}

/// A request before the session is open.
fn early(id: Option<RequestId>, method: &str) -> Admission {
    let message = format!("`{}` came before `initialize`: the session is not open yet.", echo(method));
    let fault = Fault::new(ErrorCode::IllegalState, message)
        .with_hint("Send `initialize` first, wait for its answer, then send `notifications/initialized`.");
    Admission::Refused(Refused { id, error: wire::numbered(RpcCode::INVALID_REQUEST, &fault) })
}

/// A request over HTTP that names no session and opens none.
pub(super) fn without_session(request: &ClientJsonRpcMessage) -> Option<Refused> {
    let JsonRpcMessage::Request(asked) = request else { return None };
    match admit(request, false) {
        Admission::Refused(refused) => Some(refused),
        // A ping may come before `initialize`, but over HTTP nothing would answer it.
        Admission::Passes if matches!(asked.request, ClientRequest::PingRequest(_)) => Some(invalid(
            Some(asked.id.clone()),
            "The request names no session.".to_owned(),
            "Send `initialize` first, and the header `Mcp-Session-Id` of its answer with each request.",
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> (i64, Value) {
        let answer = read(text.as_bytes()).unwrap_err().answer();
        assert!(answer["error"]["data"]["code"].is_string() && answer.get("id").is_some(), "{answer}");
        (answer["error"]["code"].as_i64().unwrap(), answer["id"].clone())
    }

    #[test]
    fn what_is_no_message_is_refused_with_its_id_or_null() {
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
                // Both a request and a response: nobody waits for an answer to a response.
                assert!(read(text.as_bytes()).unwrap().is_none(), "{text}");
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
    fn what_can_be_read_in_two_ways_is_no_message() {
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
            assert!(read(call(token.clone()).as_bytes()).is_ok(), "{token}");
        }
        let text = call(json!("é".repeat(201)));
        assert_eq!(refused(&text), (-32602, json!(3)));
        assert!(read(text.as_bytes()).unwrap_err().answer().to_string().len() < 1000);
    }

    #[test]
    fn messages_are_read_also_behind_a_byte_order_mark() {
        let text = "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";
        assert!(matches!(read(text.as_bytes()), Ok(Some(JsonRpcMessage::Request(_)))));
    }

    #[test]
    fn only_initialize_and_ping_come_before_the_session() {
        let admitted = |method: &str, params: Value, open| {
            let text = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
            admit(&read(text.as_bytes()).unwrap().unwrap(), open)
        };
        let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": { "name": "t", "version": "1" } });
        assert!(matches!(admitted("initialize", hello, false), Admission::Opens));
        assert!(matches!(admitted("ping", json!({}), false), Admission::Passes));
        assert!(matches!(admitted("tools/list", json!({}), true), Admission::Passes));
        for (method, number) in [("tools/list", -32600), ("no/such", -32601), ("server/discover", -32601)] {
            let Admission::Refused(refused) = admitted(method, json!({}), false) else { panic!("{method}") };
            let answer = refused.answer();
            assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(1), &json!(number)), "{method}");
            assert!(answer["error"]["message"].as_str().unwrap().contains(method), "{answer}");
        }
        let Admission::Refused(refused) = admitted("initialize", json!({ "a": 1 }), false) else { panic!() };
        assert_eq!(refused.answer()["error"]["code"], -32602);
        let text = br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
        assert!(matches!(admit(&read(text).unwrap().unwrap(), false), Admission::Ignored));
    }
}
