//! The state of one connection that its stream, its requests and the slot table share.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use super::head::HeadFraming;
use http_body::{Body, Frame, SizeHint};
use tokio::time::Instant;

/// After this time without reading, a connection may be evicted for another one; it is closed only after `server.write_ms`.
pub(super) const NOT_READING: Duration = Duration::from_secs(1);

/// The shared state of one connection; clones refer to the same connection.
#[derive(Debug, Clone, Default)]
pub(super) struct ConnectionState(Arc<SharedState>);

#[derive(Debug, Default)]
struct SharedState {
    /// Open requests, including those whose answer is still being sent.
    requests: AtomicUsize,
    /// The body of the last request was not read to its end.
    unread_body: AtomicBool,
    /// The connection was closed because the client did not read.
    client_not_reading: AtomicBool,
    /// The scanned heads whose requests have not begun, in order; several if the client sends requests without waiting.
    heads: Mutex<VecDeque<HeadFraming>>,
    waits: Mutex<WaitingSince>,
}

/// The times since when a connection waits for its client.
#[derive(Debug, Default)]
struct WaitingSince {
    /// Waiting for the next request.
    request: Option<Instant>,
    /// Waiting for the client to read.
    reader: Option<Instant>,
}

/// The cost of evicting a connection, lowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum EvictionCost {
    /// The client has not read since this time, for at least [`NOT_READING`].
    NotReading(Instant),
    /// No request has been running since this time.
    Idle(Instant),
    /// In use.
    Active,
}

/// Counts a running request until dropped.
#[derive(Debug)]
pub(super) struct RunningRequest(ConnectionState);

impl ConnectionState {
    /// Counts a new request.
    pub(super) fn begin_request(&self) -> RunningRequest {
        self.0.requests.fetch_add(1, Ordering::AcqRel);
        RunningRequest(self.clone())
    }

    /// Stores a scanned head until its request begins.
    pub(super) fn add_head(&self, head: HeadFraming) {
        self.heads().push_back(head);
    }

    /// Takes the head of the beginning request; `None` if it was not scanned.
    pub(super) fn take_head(&self) -> Option<HeadFraming> {
        self.heads().pop_front()
    }

    /// Wraps a request's body to record whether it is read to its end.
    pub(super) fn track_body<B: Body>(&self, body: B) -> TrackedBody<B> {
        self.0.unread_body.store(!body.is_end_stream(), Ordering::Release);
        TrackedBody { body, state: self.clone() }
    }

    /// Returns `true` if part of the last request's body was not read.
    pub(super) fn has_unread_body(&self) -> bool {
        self.0.unread_body.load(Ordering::Acquire)
    }

    /// Returns `true` if the connection was closed because the client did not read.
    pub(super) fn is_client_not_reading(&self) -> bool {
        self.0.client_not_reading.load(Ordering::Acquire)
    }

    /// Returns the cost of evicting the connection at `now`.
    pub(super) fn eviction_cost(&self, now: Instant) -> EvictionCost {
        let waits = self.waits();
        match (waits.reader, waits.request) {
            (Some(since), _) if now.duration_since(since) >= NOT_READING => EvictionCost::NotReading(since),
            (None, Some(since)) if !self.has_requests() => EvictionCost::Idle(since),
            _ => EvictionCost::Active,
        }
    }

    /// Returns `true` while a request is running.
    pub(super) fn has_requests(&self) -> bool {
        self.0.requests.load(Ordering::Acquire) > 0
    }

    /// Records that the connection is closed because the client does not read.
    pub(super) fn set_client_not_reading(&self) {
        self.0.client_not_reading.store(true, Ordering::Release);
    }

    /// Records since when the connection waits for a request; `None` if it does not.
    pub(super) fn set_waiting_for_request(&self, since: Option<Instant>) {
        self.waits().request = since;
    }

    /// Records since when the connection waits for the client to read; `None` if it does not.
    pub(super) fn set_waiting_for_reader(&self, since: Option<Instant>) {
        self.waits().reader = since;
    }

    /// Marks the last request's body as unread or read.
    #[cfg(test)]
    pub(super) fn set_unread_body(&self, unread: bool) {
        self.0.unread_body.store(unread, Ordering::Release);
    }

    fn heads(&self) -> MutexGuard<'_, VecDeque<HeadFraming>> {
        self.0.heads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn waits(&self) -> MutexGuard<'_, WaitingSince> {
        self.0.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for RunningRequest {
    fn drop(&mut self) {
        self.0.0.requests.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A request's body that records when it was read to its end.
pub(super) struct TrackedBody<B> {
    body: B,
    state: ConnectionState,
}

impl<B: Body + Unpin> Body for TrackedBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if frame.is_none() || self.body.is_end_stream() {
            self.state.0.unread_body.store(false, Ordering::Release);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
