//! One connection: what it may do at which time, so that none can be held open for nothing.
//!
//! hyper knows one limit for headers, which also closes idle connections. Clients keep idle connections for a
//! minute, and a header should not take so long; so the limits are kept here, below hyper, by what is known of
//! the connection: has it said anything, does a request run?

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use crate::config::Server;

/// How long a connection may be silent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    first_byte: Duration,
    header: Duration,
    idle: Duration,
}

impl From<&Server> for Patience {
    fn from(server: &Server) -> Self {
        Self {
            first_byte: Duration::from_millis(server.first_byte_ms),
            header: Duration::from_millis(server.header_ms),
            idle: Duration::from_millis(server.idle_ms),
        }
    }
}

/// Requests of one connection that run, their answers' bodies included.
#[derive(Debug, Clone, Default)]
pub(super) struct Running(Arc<AtomicUsize>);

/// One of them; it ends when this is dropped.
#[derive(Debug)]
pub(super) struct RunningRequest(Running);

impl Running {
    /// A request begins.
    pub(super) fn begin(&self) -> RunningRequest {
        self.0.fetch_add(1, Ordering::AcqRel);
        RunningRequest(self.clone())
    }

    fn any(&self) -> bool {
        self.0.load(Ordering::Acquire) > 0
    }
}

impl Drop for RunningRequest {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// What a connection is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Awaited {
    FirstByte,
    /// The rest of a header, since its first byte.
    Header,
    /// The next request.
    NextRequest,
    /// Nothing: a request runs.
    Nothing,
}

/// A stream that gives up on a client that does not say in time what it has to say.
pub(super) struct Watched<S> {
    inner: S,
    patience: Patience,
    running: Running,
    awaited: Awaited,
    timer: Pin<Box<Sleep>>,
}

impl<S> Watched<S> {
    /// Watches `inner`, which was just accepted.
    pub(super) fn new(inner: S, patience: Patience, running: Running) -> Self {
        let timer = Box::pin(tokio::time::sleep(patience.first_byte));
        Self { inner, patience, running, awaited: Awaited::FirstByte, timer }
    }

    /// Looks what is awaited now, and starts its time if that is new.
    fn look(&mut self) {
        let (awaited, limit) = match (self.running.any(), self.awaited) {
            (true, _) => (Awaited::Nothing, Duration::ZERO),
            (false, Awaited::Nothing) => (Awaited::NextRequest, self.patience.idle),
            (false, _) => return,
        };
        if awaited != self.awaited {
            self.await_now(awaited, limit);
        }
    }

    fn await_now(&mut self, awaited: Awaited, limit: Duration) {
        self.awaited = awaited;
        if awaited != Awaited::Nothing {
            self.timer.as_mut().reset(Instant::now() + limit);
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.look();
        let before = buffer.filled().len();
        if let Poll::Ready(read) = Pin::new(&mut this.inner).poll_read(context, buffer) {
            let spoke = buffer.filled().len() > before;
            if spoke && matches!(this.awaited, Awaited::FirstByte | Awaited::NextRequest) {
                this.await_now(Awaited::Header, this.patience.header);
            }
            return Poll::Ready(read);
        }
        if this.awaited != Awaited::Nothing && this.timer.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        Poll::Pending
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    const SHORT: Duration = Duration::from_millis(1);
    const LONG: Duration = Duration::from_secs(3600);

    /// What a read of one byte comes to; only a limit that is `SHORT` ends a wait.
    async fn read(stream: &mut Watched<tokio::io::DuplexStream>) -> Result<u8, io::ErrorKind> {
        stream.read_u8().await.map_err(|error| error.kind())
    }

    #[tokio::test]
    async fn a_connection_must_say_something() {
        let (_client, server) = tokio::io::duplex(64);
        let patience = Patience { first_byte: SHORT, header: LONG, idle: LONG };
        let mut stream = Watched::new(server, patience, Running::default());
        assert_eq!(read(&mut stream).await, Err(io::ErrorKind::TimedOut));
    }

    #[tokio::test]
    async fn bytes_do_not_buy_a_header_more_time() {
        let (mut client, server) = tokio::io::duplex(64);
        let patience = Patience { first_byte: LONG, header: SHORT, idle: LONG };
        let mut stream = Watched::new(server, patience, Running::default());
        client.write_all(b"G").await.unwrap();
        assert_eq!(read(&mut stream).await, Ok(b'G'));
        let end = stream.timer.deadline();
        client.write_all(b"E").await.unwrap();
        assert_eq!(read(&mut stream).await, Ok(b'E'));
        assert_eq!((stream.awaited, stream.timer.deadline()), (Awaited::Header, end));
        assert_eq!(read(&mut stream).await, Err(io::ErrorKind::TimedOut));
    }

    #[tokio::test]
    async fn a_request_may_run_and_the_next_one_may_be_long_in_coming() {
        let (mut client, server) = tokio::io::duplex(64);
        let running = Running::default();
        let patience = Patience { first_byte: SHORT, header: SHORT, idle: LONG };
        let mut stream = Watched::new(server, patience, running.clone());
        let request = running.begin();
        client.write_all(b"b").await.unwrap();
        assert_eq!(read(&mut stream).await, Ok(b'b'));
        assert_eq!(stream.awaited, Awaited::Nothing, "a body has limits of its own");
        drop(request);
        let waited = tokio::time::timeout(Duration::from_millis(50), read(&mut stream)).await;
        assert!(waited.is_err(), "neither the first byte's time nor a header's runs");
        assert_eq!(stream.awaited, Awaited::NextRequest);
    }
}
