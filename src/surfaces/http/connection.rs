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

    const PATIENCE: Patience = Patience {
        first_byte: Duration::from_secs(5),
        header: Duration::from_secs(5),
        idle: Duration::from_secs(75),
    };

    async fn times_out_within(stream: &mut Watched<tokio::io::DuplexStream>, limit: Duration) -> bool {
        let mut byte = [0; 1];
        let read = tokio::time::timeout(limit, stream.read(&mut byte)).await;
        matches!(read, Ok(Err(error)) if error.kind() == io::ErrorKind::TimedOut)
    }

    #[tokio::test(start_paused = true)]
    async fn each_state_has_its_patience() {
        let (mut client, server) = tokio::io::duplex(64);
        let running = Running::default();
        let mut stream = Watched::new(server, PATIENCE, running.clone());
        assert!(!times_out_within(&mut stream, Duration::from_secs(4)).await);
        client.write_all(b"G").await.unwrap();
        stream.read_u8().await.unwrap();
        assert!(!times_out_within(&mut stream, Duration::from_secs(4)).await);
        client.write_all(b"E").await.unwrap();
        stream.read_u8().await.unwrap();
        assert!(
            times_out_within(&mut stream, Duration::from_secs(4)).await,
            "bytes do not buy a header more time"
        );

        let request = running.begin();
        assert!(!times_out_within(&mut stream, Duration::from_secs(600)).await, "a request may run");
        drop(request);
        assert!(!times_out_within(&mut stream, Duration::from_secs(70)).await);
        assert!(times_out_within(&mut stream, Duration::from_secs(10)).await, "idle too long");
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_must_say_something() {
        let (_client, server) = tokio::io::duplex(64);
        let mut stream = Watched::new(server, PATIENCE, Running::default());
        assert!(times_out_within(&mut stream, Duration::from_secs(6)).await);
    }
}
