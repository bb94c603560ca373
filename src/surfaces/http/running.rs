//! What is known of one connection while it is served: which requests run, and what it waits for.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use super::head::Lengths;
use http_body::{Body, Frame, SizeHint};
use tokio::time::Instant;

/// A client that takes nothing for so long may lose its place to another one; it is given up only after `server.write_ms`.
pub(super) const NOT_READING: Duration = Duration::from_secs(1);

/// What is known of one connection: its requests that run, their answers' bodies included, and what it waits for.
#[derive(Debug, Clone, Default)]
pub(super) struct Running(Arc<State>);

#[derive(Debug, Default)]
struct State {
    requests: AtomicUsize,
    /// The body of the last request was not read to its end.
    unread: AtomicBool,
    /// It was given up because the client took nothing.
    given_up: AtomicBool,
    /// What the last head said of its body's length, until its request begins.
    head: Mutex<Option<Lengths>>,
    waits: Mutex<Waits>,
}

/// Since when a connection waits for its client.
#[derive(Debug, Default)]
struct Waits {
    /// For the next request, between two of them.
    request: Option<Instant>,
    /// For the client to take what is written.
    reader: Option<Instant>,
}

/// How much it would cost to end a connection, the least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Worth {
    /// The client has taken nothing for so long that nobody may read it any more; since when.
    Unread(Instant),
    /// It was answered and asks nothing; since when.
    Idle(Instant),
    /// It is being used.
    Used,
}

/// One of them; it ends when this is dropped.
#[derive(Debug)]
pub(super) struct RunningRequest(Running);

impl Running {
    /// A request begins.
    pub(super) fn begin(&self) -> RunningRequest {
        self.0.requests.fetch_add(1, Ordering::AcqRel);
        RunningRequest(self.clone())
    }

    /// The head of a request came.
    pub(super) fn head_came(&self, lengths: Lengths) {
        *self.0.head.lock().unwrap_or_else(PoisonError::into_inner) = Some(lengths);
    }

    /// What the head of the request that begins says of its body's length, once; none is known of a head that came behind
    /// another request.
    pub(super) fn head(&self) -> Option<Lengths> {
        self.0.head.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// `body`, of which is known whether it was read to its end.
    pub(super) fn noting<B: Body>(&self, body: B) -> Noted<B> {
        self.0.unread.store(!body.is_end_stream(), Ordering::Release);
        Noted { body, running: self.clone() }
    }

    /// Whether the last request's body was not read to its end.
    pub(super) fn is_unread(&self) -> bool {
        self.0.unread.load(Ordering::Acquire)
    }

    /// Whether it was given up because the client took nothing of what was written.
    pub(super) fn is_given_up(&self) -> bool {
        self.0.given_up.load(Ordering::Acquire)
    }

    /// What the connection is worth at `now`; a client counts as one that does not read after [`NOT_READING`].
    pub(super) fn worth(&self, now: Instant) -> Worth {
        let waits = self.waits();
        match (waits.reader, waits.request) {
            (Some(since), _) if now.duration_since(since) >= NOT_READING => Worth::Unread(since),
            (None, Some(since)) if !self.any() => Worth::Idle(since),
            _ => Worth::Used,
        }
    }

    /// Whether a request runs.
    pub(super) fn any(&self) -> bool {
        self.0.requests.load(Ordering::Acquire) > 0
    }

    /// The client was given up.
    pub(super) fn give_up(&self) {
        self.0.given_up.store(true, Ordering::Release);
    }

    /// Since when the next request is waited for, if it is.
    pub(super) fn await_request(&self, since: Option<Instant>) {
        self.waits().request = since;
    }

    /// Since when the client takes nothing of what is written, if it does not.
    pub(super) fn await_reader(&self, since: Option<Instant>) {
        self.waits().reader = since;
    }

    /// As if the body of the last request was not read to its end, or was.
    #[cfg(test)]
    pub(super) fn set_unread(&self, unread: bool) {
        self.0.unread.store(unread, Ordering::Release);
    }

    fn waits(&self) -> MutexGuard<'_, Waits> {
        self.0.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for RunningRequest {
    fn drop(&mut self) {
        self.0.0.requests.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A request's body that tells its connection when it was read to its end.
pub(super) struct Noted<B> {
    body: B,
    running: Running,
}

impl<B: Body + Unpin> Body for Noted<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if frame.is_none() || self.body.is_end_stream() {
            self.running.0.unread.store(false, Ordering::Release);
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
