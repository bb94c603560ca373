//! One connection: what it may do at which time, so that none can be held open for nothing.
//!
//! hyper knows one limit for headers, which also closes idle connections. Clients keep idle connections for a
//! minute, and a header should not take so long; so the limits are kept here, below hyper, by what is known of
//! the connection: has it said anything, does a request run?
//!
//! It also sees to the end of a connection. A request may be answered before its body was read. If the socket were closed then,
//! the system would answer what the client still sends with a reset, and the client would lose the answer. So the write side is
//! closed first, and what still comes is read and thrown away, for a bounded time.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http_body::{Body, Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use crate::config::Server;

/// Bytes of one read of what is thrown away.
const UNREAD_CHUNK_BYTES: usize = 8192;

/// How long a connection may be silent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    first_byte: Duration,
    header: Duration,
    idle: Duration,
    /// How long what is not wanted is read at the end, and how many bytes of it.
    unread: Duration,
    unread_bytes: u64,
}

impl From<&Server> for Patience {
    fn from(server: &Server) -> Self {
        Self {
            first_byte: Duration::from_millis(server.first_byte_ms),
            header: Duration::from_millis(server.header_ms),
            idle: Duration::from_millis(server.idle_ms),
            unread: Duration::from_millis(server.unread_ms),
            unread_bytes: server.unread_bytes_max,
        }
    }
}

/// Requests of one connection that run, their answers' bodies included.
#[derive(Debug, Clone, Default)]
pub(super) struct Running(Arc<State>);

#[derive(Debug, Default)]
struct State {
    requests: AtomicUsize,
    /// The body of the last request was not read to its end.
    unread: AtomicBool,
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

    /// `body`, of which is known whether it was read to its end.
    pub(super) fn noting<B: Body>(&self, body: B) -> Noted<B> {
        self.0.unread.store(!body.is_end_stream(), Ordering::Release);
        Noted { body, running: self.clone() }
    }

    /// Whether the last request's body was not read to its end.
    pub(super) fn is_unread(&self) -> bool {
        self.0.unread.load(Ordering::Acquire)
    }

    fn any(&self) -> bool {
        self.0.requests.load(Ordering::Acquire) > 0
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
    /// Bytes that may still be read and thrown away; known once the write side is closed.
    unread_left: Option<u64>,
}

impl<S> Watched<S> {
    /// Watches `inner`, which was just accepted.
    pub(super) fn new(inner: S, patience: Patience, running: Running) -> Self {
        let timer = Box::pin(tokio::time::sleep(patience.first_byte));
        Self { inner, patience, running, awaited: Awaited::FirstByte, timer, unread_left: None }
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

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Watched<S> {
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

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let left = match this.unread_left {
            Some(left) => left,
            None => {
                ready!(Pin::new(&mut this.inner).poll_shutdown(context))?;
                this.timer.as_mut().reset(Instant::now() + this.patience.unread);
                this.patience.unread_bytes
            }
        };
        this.poll_unread(context, left)
    }
}

impl<S: AsyncRead + Unpin> Watched<S> {
    /// Reads what the client still sends until it has closed, has sent `left` bytes, or its time is over. Whoever owes
    /// nothing is not waited for.
    fn poll_unread(&mut self, context: &mut Context<'_>, mut left: u64) -> Poll<io::Result<()>> {
        let mut thrown_away = [0; UNREAD_CHUNK_BYTES];
        loop {
            let mut buffer = ReadBuf::new(&mut thrown_away);
            match Pin::new(&mut self.inner).poll_read(context, &mut buffer) {
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {
                    left = left.saturating_sub(u64::try_from(buffer.filled().len()).unwrap_or(u64::MAX));
                    self.unread_left = Some(left);
                    if left == 0 {
                        return Poll::Ready(Ok(()));
                    }
                }
                Poll::Ready(_) => return Poll::Ready(Ok(())),
                Poll::Pending => {
                    let owes = self.unread_left.is_some()
                        || self.running.is_unread()
                        || self.awaited == Awaited::Header;
                    if !owes || self.timer.as_mut().poll(context).is_ready() {
                        return Poll::Ready(Ok(()));
                    }
                    self.unread_left = Some(left);
                    return Poll::Pending;
                }
            }
        }
    }
}

/// Reads and throws away what a client still sends, until it closes; whoever calls bounds the time.
pub(super) async fn throw_away(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<u64> {
    tokio::io::copy(stream, &mut tokio::io::sink()).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    const SHORT: Duration = Duration::from_millis(1);
    const LONG: Duration = Duration::from_secs(3600);
    const LASTING: Patience =
        Patience { first_byte: LONG, header: LONG, idle: LONG, unread: LONG, unread_bytes: 1000 };

    /// What a read of one byte comes to; only a limit that is `SHORT` ends a wait.
    async fn read(stream: &mut Watched<tokio::io::DuplexStream>) -> Result<u8, io::ErrorKind> {
        stream.read_u8().await.map_err(|error| error.kind())
    }

    #[tokio::test]
    async fn a_connection_must_say_something() {
        let (_client, server) = tokio::io::duplex(64);
        let patience = Patience { first_byte: SHORT, header: LONG, idle: LONG, ..LASTING };
        let mut stream = Watched::new(server, patience, Running::default());
        assert_eq!(read(&mut stream).await, Err(io::ErrorKind::TimedOut));
    }

    #[tokio::test]
    async fn bytes_do_not_buy_a_header_more_time() {
        let (mut client, server) = tokio::io::duplex(64);
        let patience = Patience { first_byte: LONG, header: SHORT, idle: LONG, ..LASTING };
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
        let patience = Patience { first_byte: SHORT, header: SHORT, idle: LONG, ..LASTING };
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

    #[tokio::test]
    async fn what_was_not_read_is_read_at_the_end_within_bounds() {
        let closed = |unread: bool, patience: Patience, sent: usize, client_closes: bool| async move {
            let (mut client, server) = tokio::io::duplex(16);
            let running = Running::default();
            running.0.unread.store(unread, Ordering::Release);
            let mut stream = Watched::new(server, patience, running);
            let sending = tokio::spawn(async move {
                let sent = client.write_all(&vec![b'x'; sent]).await.is_ok();
                if !client_closes {
                    std::future::pending::<()>().await;
                }
                sent
            });
            stream.shutdown().await.unwrap();
            drop(stream);
            if client_closes { sending.await.unwrap() } else { true }
        };
        assert!(closed(true, LASTING, 900, true).await, "all that it sent was taken");
        assert!(!closed(true, LASTING, 10_000, true).await, "not more than the bound");
        let short = Patience { unread: SHORT, ..LASTING };
        assert!(closed(true, short, 10, false).await, "and not longer");
        assert!(closed(false, LASTING, 0, false).await, "who owes nothing is not waited for");
    }
}
