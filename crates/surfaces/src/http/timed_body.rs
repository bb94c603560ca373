//! Timeouts for request bodies: for each chunk and for the whole body.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http_body::{Frame, SizeHint};
use tokio::time::{Instant, Sleep};

use gate::app::App;

/// Middleware that applies `server.body_chunk_ms` and `server.body_ms` to every request's body.
pub(super) async fn limit_body_time(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let server = &app.config.server;
    let (chunk, total) = (Duration::from_millis(server.body_chunk_ms), Duration::from_millis(server.body_ms));
    next.run(request.map(|body| Body::new(TimedBody::new(body, chunk, total)))).await
}

/// The client sent the body too slowly.
#[derive(Debug)]
pub(super) struct TooSlow;

impl std::fmt::Display for TooSlow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the body was not received in time")
    }
}

impl std::error::Error for TooSlow {}

struct TimedBody {
    inner: Body,
    chunk: Duration,
    end: Instant,
    timer: Pin<Box<Sleep>>,
    /// The chunk timer runs only while the handler waits for the next chunk.
    waiting: bool,
}

impl TimedBody {
    fn new(inner: Body, chunk: Duration, total: Duration) -> Self {
        let end = Instant::now() + total;
        Self { inner, chunk, end, timer: Box::pin(tokio::time::sleep_until(end)), waiting: false }
    }
}

impl http_body::Body for TimedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.inner).poll_frame(context) {
            self.waiting = false;
            return Poll::Ready(frame);
        }
        if !self.waiting {
            self.waiting = true;
            let until = self.end.min(Instant::now() + self.chunk);
            self.timer.as_mut().reset(until);
        }
        ready!(self.timer.as_mut().poll(context));
        Poll::Ready(Some(Err(axum::Error::new(TooSlow))))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::stream::{StreamExt, iter, pending};

    async fn read(parts: usize, ends: bool) -> Result<usize, String> {
        let parts = iter((0..parts).map(|_| Ok::<_, std::io::Error>(Bytes::from_static(b"x"))));
        let body = if ends { Body::from_stream(parts) } else { Body::from_stream(parts.chain(pending())) };
        let (chunk, total) = (Duration::from_millis(20), Duration::from_secs(60));
        let timed = Body::new(TimedBody::new(body, chunk, total));
        axum::body::to_bytes(timed, 1024).await.map(|bytes| bytes.len()).map_err(|error| format!("{error:?}"))
    }

    #[tokio::test]
    async fn a_body_that_stops_is_an_error() {
        assert_eq!(read(3, true).await, Ok(3));
        assert!(read(3, false).await.unwrap_err().contains("TooSlow"));
    }
}
