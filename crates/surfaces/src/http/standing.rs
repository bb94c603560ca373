//! Ends long-lived streams with their key: like each request, they check their key repeatedly, and end when it is revoked or
//! expires, or when an access token loses a scope or a project.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{StatusCode, header};
use axum::response::Response;
use futures::StreamExt;
use futures::stream::unfold;
use tokio::time::sleep_until;

use super::access::Access;
use super::event_stream::LINES;
use crate::answer;
use contract::{ErrorCode, Fault};
use tenancy::Principal;

/// Interval of the checks. Their result may be as old as `access.key_cache_ms`.
const INTERVAL: Duration = Duration::from_millis(2_500);
/// The time after which a stream ends if no check succeeds, for example because the database is unavailable.
const UNKNOWN_MAX: Duration = Duration::from_secs(60);
/// The media type of server-sent events.
const EVENTS: &str = "text/event-stream";

/// The credential of a request, from which its sender is known.
pub(super) struct Standing {
    pub(super) access: Access,
    pub(super) principal: Arc<Principal>,
    /// The key or token.
    pub(super) credential: String,
    pub(super) request_id: String,
    /// `true` if the events of streams are MCP messages, which cannot express the end of a key.
    pub(super) is_mcp: bool,
}

impl Standing {
    /// Limits the response: if it is a stream, its body ends with the credential.
    pub(super) fn limit(self, response: Response) -> Response {
        let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let is = |wanted: &str| kind.is_some_and(|kind| kind.split(';').next() == Some(wanted));
        let is_lines = is(LINES);
        if !is_lines && !is(EVENTS) {
            return response;
        }
        let (head, body) = response.into_parts();
        let now = tokio::time::Instant::now();
        let state = (Some(body.into_data_stream()), self, now + INTERVAL, now);
        let limited = unfold(state, move |(body, standing, mut due, mut known_at)| async move {
            let mut body = body?;
            loop {
                if tokio::time::Instant::now() >= due {
                    // Nothing is sent until the check has ended.
                    match standing.check().await {
                        Ok(true) => known_at = tokio::time::Instant::now(),
                        Ok(false) if known_at.elapsed() < UNKNOWN_MAX => {}
                        Ok(false) => return None,
                        Err(fault) => {
                            // Dropping the rest of the stream cancels its call.
                            drop(body);
                            return Some((
                                Ok(standing.last(&fault, is_lines)),
                                (None, standing, due, known_at),
                            ));
                        }
                    }
                    due = tokio::time::Instant::now() + INTERVAL;
                }
                tokio::select! {
                    biased;
                    () = sleep_until(due) => {}
                    part = body.next() => return Some((part?, (Some(body), standing, due, known_at))),
                }
            }
        });
        Response::from_parts(head, Body::from_stream(limited))
    }

    /// Returns `true` if the sender still has the permissions that it had when the stream opened; `false` if that cannot be
    /// determined now.
    ///
    /// # Errors
    /// The reason why the permissions ended.
    async fn check(&self) -> Result<bool, Fault> {
        let ended = || {
            Fault::new(ErrorCode::Unauthorized, "The key of this stream no longer allows what it did.")
                .with_hint("Connect again with a key that works.")
        };
        match self.access.check(&self.credential).await {
            Ok(principal) if principal.covers(&self.principal) => Ok(true),
            Ok(_) => Err(ended()),
            Err((StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN, _)) => Err(ended()),
            Err((_, fault)) => {
                tracing::debug!("the key of a stream could not be checked: {}", fault.message);
                Ok(false)
            }
        }
    }

    /// Returns the last part of a stream that ends because of `fault`.
    fn last(&self, fault: &Fault, is_lines: bool) -> Bytes {
        let app = &self.access.app;
        let failed = answer::json(&answer::failed(app, fault, Some(self.request_id.clone())));
        match (is_lines, self.is_mcp) {
            (true, _) => format!("{failed}\n").into(),
            // A comment, which clients ignore.
            (false, true) => Bytes::from_static(b":\n\n"),
            (false, false) => {
                let done = answer::succeeded(app, serde_json::json!({}), Some(self.request_id.clone()));
                format!("event: error\ndata: {failed}\n\nevent: done\ndata: {}\n\n", answer::json(&done))
                    .into()
            }
        }
    }
}
