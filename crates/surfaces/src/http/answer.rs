//! Envelopes as HTTP responses.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::Value;

use super::request_parts::RequestId;
use crate::answer;
use contract::{Envelope, ErrorBody, ErrorCode, Fault};
use gate::app::App;

/// Sends the envelope with the status of its error code, or with 200 on success.
pub fn envelope(envelope: &Envelope) -> Response {
    let status = match &envelope.error {
        None => StatusCode::OK,
        Some(error) => {
            StatusCode::from_u16(error.code.info().http).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
        }
    };
    with_status(status, envelope)
}

/// Responds to a request that failed without a tool call. The caller chooses the status; that of the error code is ignored.
pub fn refused(app: &App, status: StatusCode, fault: &Fault, request_id: &str) -> Response {
    with_status(status, &answer::failed(app, fault, Some(request_id.to_owned())))
}

/// Sends a successful result of a route without a tool.
pub(super) fn answered(app: &App, result: &impl Serialize, id: RequestId) -> Response {
    match serde_json::to_value(result) {
        Ok(result) => envelope(&answer::succeeded(app, result, Some(id.0))),
        Err(error) => {
            let fault = Fault::internal("The answer could not be written.", error);
            refused(app, StatusCode::INTERNAL_SERVER_ERROR, &fault, &id.0)
        }
    }
}

fn with_status(status: StatusCode, envelope: &Envelope) -> Response {
    let mut response = (status, Json(envelope)).into_response();
    if let Some(seconds) = envelope.error.as_ref().and_then(retry_after) {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// Returns the seconds after which the same call may succeed, for 503 and 429.
fn retry_after(error: &ErrorBody) -> Option<u64> {
    match error.code {
        ErrorCode::RateLimited => {
            let millis = error.details.as_ref().and_then(|details| details.get("retryAfterMs"));
            Some(millis.and_then(Value::as_u64).map_or(1, |millis| millis.div_ceil(1000)))
        }
        ErrorCode::QueueOverloaded => Some(1),
        ErrorCode::StorageUnavailable => Some(5),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::Meta;

    #[test]
    fn statuses_and_retry_after_follow_the_table() {
        let table = [
            (ErrorCode::InvalidRequest, 400, None),
            (ErrorCode::Forbidden, 403, None),
            (ErrorCode::UnknownTool, 404, None),
            (ErrorCode::NoIndex, 409, None),
            (ErrorCode::Cancelled, 499, None),
            (ErrorCode::RateLimited, 429, Some("1")),
            (ErrorCode::QueueOverloaded, 503, Some("1")),
            (ErrorCode::StorageUnavailable, 503, Some("5")),
            (ErrorCode::Internal, 500, None),
        ];
        for (code, status, retry) in table {
            let response = envelope(&Envelope::failure(&Fault::new(code, "x"), Meta::new("t".into())));
            assert_eq!(response.status().as_u16(), status, "{code}");
            let header = response.headers().get(header::RETRY_AFTER).and_then(|value| value.to_str().ok());
            assert_eq!(header, retry, "{code}");
        }
    }
}
