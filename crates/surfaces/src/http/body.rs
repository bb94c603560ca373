//! Reads request bodies of bounded size: JSON, and HTML forms.

use std::collections::BTreeMap;

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Form, FromRequest, Request};
use axum::http::{HeaderMap, StatusCode, header};
use http_body::Body as _;
use serde_json::{Map, Value};

use super::timed_body::TooSlow;
use contract::{ErrorCode, Fault, JsonRejection, parse_unique};

/// The reason why a body is rejected: the HTTP status and the fault.
pub(super) type BodyError = (StatusCode, Fault);

/// Reads the arguments of a tool. An empty body counts as the empty object.
pub(super) async fn arguments(request: Request, bytes_max: usize) -> Result<Value, BodyError> {
    let bytes = json_bytes(request, bytes_max).await?;
    if bytes.is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    parse_unique(&bytes).map_err(|rejection| {
        let (message, hint) = match rejection {
            JsonRejection::Malformed(error) => (
                format!("The body is not valid JSON: {error}."),
                "Send the tool's arguments as one JSON object.",
            ),
            JsonRejection::DuplicateMember(why) => {
                (format!("The body is ambiguous: {why}."), "Send each member of an object only once.")
            }
        };
        (StatusCode::BAD_REQUEST, Fault::new(ErrorCode::InvalidRequest, message).with_hint(hint))
    })
}

/// Reads the fields of an HTML form. A repeated name is refused.
pub(super) async fn form(
    mut request: Request,
    bytes_max: usize,
) -> Result<BTreeMap<String, String>, BodyError> {
    DefaultBodyLimit::max(bytes_max).apply(&mut request);
    let Form(sent) =
        Form::<Vec<(String, String)>>::from_request(request, &()).await.map_err(|rejection| {
            let status =
                if is_too_slow(&rejection) { StatusCode::REQUEST_TIMEOUT } else { rejection.status() };
            let fault = Fault::new(ErrorCode::InvalidRequest, "The form could not be read.");
            (status, fault.with_hint("Send it again from the page."))
        })?;
    let mut fields = BTreeMap::new();
    for (name, value) in sent {
        if fields.insert(name, value).is_some() {
            let fault = Fault::new(ErrorCode::InvalidRequest, "The form has a field more than once.");
            return Err((StatusCode::BAD_REQUEST, fault));
        }
    }
    Ok(fields)
}

/// Reads a body that is declared as JSON; an empty body needs no declaration.
pub(super) async fn json_bytes(request: Request, bytes_max: usize) -> Result<Bytes, BodyError> {
    let declared_json = is_json(request.headers());
    let bytes = bytes(request, bytes_max).await?;
    if bytes.is_empty() || declared_json {
        return Ok(bytes);
    }
    Err((
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        Fault::new(ErrorCode::InvalidRequest, "The body is not declared as JSON.")
            .with_hint("Send the header `Content-Type: application/json`."),
    ))
}

async fn bytes(mut request: Request, bytes_max: usize) -> Result<Bytes, BodyError> {
    // A body whose declared length is too large is rejected without being read.
    if request.body().size_hint().lower() > u64::try_from(bytes_max).unwrap_or(u64::MAX) {
        return Err(body_error(StatusCode::PAYLOAD_TOO_LARGE, bytes_max));
    }
    DefaultBodyLimit::max(bytes_max).apply(&mut request);
    Bytes::from_request(request, &()).await.map_err(|rejection| {
        let status = if is_too_slow(&rejection) { StatusCode::REQUEST_TIMEOUT } else { rejection.status() };
        body_error(status, bytes_max)
    })
}

fn body_error(status: StatusCode, bytes_max: usize) -> BodyError {
    let fault = if status == StatusCode::PAYLOAD_TOO_LARGE {
        Fault::new(ErrorCode::InvalidRequest, format!("The body is larger than {bytes_max} bytes."))
            .with_hint("Send a smaller body, or raise server.body_bytes_max.")
    } else if status == StatusCode::REQUEST_TIMEOUT {
        Fault::new(ErrorCode::InvalidRequest, "The body was not received in time.")
            .with_hint("Send the request again without pauses.")
    } else {
        Fault::new(ErrorCode::InvalidRequest, "The connection closed before the body was complete.")
    };
    (status, fault)
}

/// Checks whether the body's time limit caused the error.
fn is_too_slow(rejection: &(dyn std::error::Error + 'static)) -> bool {
    std::iter::successors(Some(rejection), |error| error.source()).any(|error| error.is::<TooSlow>())
}

fn is_json(headers: &HeaderMap) -> bool {
    let Some(Ok(kind)) = headers.get(header::CONTENT_TYPE).map(|value| value.to_str()) else {
        return false;
    };
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;
    use axum::http::HeaderValue;

    async fn read(kind: Option<&'static str>, body: &'static str) -> Result<Value, u16> {
        let mut request = Request::new(Body::from(body));
        if let Some(kind) = kind {
            request.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        }
        arguments(request, 16).await.map_err(|(status, _)| status.as_u16())
    }

    #[tokio::test]
    async fn takes_json_and_says_why_not() {
        let json = Some("application/json; charset=utf-8");
        assert_eq!(read(json, r#"{"a":1}"#).await, Ok(serde_json::json!({ "a": 1 })));
        assert_eq!(read(Some("application/vnd.x+json"), "{}").await, Ok(serde_json::json!({})));
        assert_eq!(read(None, "").await, Ok(serde_json::json!({})));
        assert_eq!(read(None, "{}").await, Err(415));
        assert_eq!(read(Some("text/plain"), "{}").await, Err(415));
        assert_eq!(read(Some("text/json-ish"), "{}").await, Err(415));
        assert_eq!(read(json, "{").await, Err(400));
        assert_eq!(read(json, r#"{"a":1,"a":2}"#).await, Err(400));
        assert_eq!(read(json, r#"{"a":"0123456789"}"#).await, Err(413));
    }
}
