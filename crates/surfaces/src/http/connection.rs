//! Timeouts of one connection.
//!
//! hyper has one timeout for headers, which also closes idle connections. Clients keep idle connections open for a minute, but a
//! header must not take that long. So the timeouts are enforced here, below hyper, depending on whether the connection waits for
//! its first byte, for the rest of a header or for the next request.
//!
//! Writes have a timeout as well: a client that stops reading is disconnected, whether it is being sent an answer or the
//! keep-alive comment of an event stream. A stream without anything to write has no timeout.
//!
//! At the end of a connection, unread input is discarded for a bounded time. A request may be answered before its body was read;
//! if the socket were closed at once, the system would reset the connection and the client would lose the answer. So the write
//! side is closed first.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use super::connection_state::ConnectionState;
use super::request_scanner::RequestScanner;
use contract::config::Server;

/// Buffer size for discarding input, in bytes.
const DISCARD_BUFFER_BYTES: usize = 8192;

/// The timeouts of a connection, from the settings.
#[derive(Debug, Clone, Copy)]
pub(super) struct ConnectionTimeouts {
    first_byte: Duration,
    header: Duration,
    idle: Duration,
    /// The time for which a client may read nothing while there is something to write.
    write: Duration,
    /// The time for which unread input is discarded at the end, and the limit on its bytes.
    unread: Duration,
    unread_bytes: u64,
}

impl From<&Server> for ConnectionTimeouts {
    fn from(server: &Server) -> Self {
        Self {
            first_byte: Duration::from_millis(server.first_byte_ms),
            header: Duration::from_millis(server.header_ms),
            idle: Duration::from_millis(server.idle_ms),
            write: Duration::from_millis(server.write_ms),
            unread: Duration::from_millis(server.unread_ms),
            unread_bytes: server.unread_bytes_max,
        }
    }
}

/// The input that the connection waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WaitState {
    FirstByte,
    /// The rest of a header, whose first byte was received.
    Header,
    /// The next request.
    NextRequest,
    /// Nothing, because a request is running.
    Nothing,
}

/// A stream that fails with `TimedOut` if the client does not send or read in time.
pub(super) struct TimedStream<S> {
    inner: S,
    timeouts: ConnectionTimeouts,
    state: ConnectionState,
    wait_state: WaitState,
    /// Scans the heads of all requests.
    requests: RequestScanner,
    timer: Pin<Box<Sleep>>,
    /// Runs while the client does not read; created on first use.
    write_timer: Option<Pin<Box<Sleep>>>,
    /// `true` while `write_timer` is running.
    blocked: bool,
    /// Bytes that may still be discarded; set once the write side is closed.
    unread_left: Option<u64>,
}

impl<S> TimedStream<S> {
    /// Wraps `inner`, which was just accepted.
    pub(super) fn new(inner: S, timeouts: ConnectionTimeouts, state: ConnectionState) -> Self {
        let timer = Box::pin(tokio::time::sleep(timeouts.first_byte));
        Self {
            inner,
            timeouts,
            state,
            wait_state: WaitState::FirstByte,
            requests: RequestScanner::default(),
            timer,
            write_timer: None,
            blocked: false,
            unread_left: None,
        }
    }

    /// Updates the wait state and restarts the timer if it changed.
    fn update_wait_state(&mut self) {
        let (wait_state, limit) = match (self.state.has_requests(), self.wait_state) {
            (true, _) => (WaitState::Nothing, Duration::ZERO),
            (false, WaitState::Nothing) => (WaitState::NextRequest, self.timeouts.idle),
            (false, _) => return,
        };
        if wait_state != self.wait_state {
            self.set_wait_state(wait_state, limit);
        }
    }

    fn set_wait_state(&mut self, wait_state: WaitState, limit: Duration) {
        self.wait_state = wait_state;
        let now = Instant::now();
        self.state.set_waiting_for_request((wait_state == WaitState::NextRequest).then_some(now));
        if wait_state != WaitState::Nothing {
            self.timer.as_mut().reset(now + limit);
        }
    }

    /// Passes `written` through, or fails once the client has not read for the write timeout.
    fn with_write_timeout<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            if std::mem::take(&mut self.blocked) {
                self.state.set_waiting_for_reader(None);
            }
            return written;
        }
        let until = Instant::now() + self.timeouts.write;
        let timer = self.write_timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until)));
        if !std::mem::replace(&mut self.blocked, true) {
            timer.as_mut().reset(until);
            self.state.set_waiting_for_reader(Some(Instant::now()));
        }
        ready!(timer.as_mut().poll(context));
        self.state.set_client_not_reading();
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TimedStream<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.update_wait_state();
        let before = buffer.filled().len();
        if let Poll::Ready(read) = Pin::new(&mut this.inner).poll_read(context, buffer) {
            let received = buffer.filled().len() > before;
            if received && matches!(this.wait_state, WaitState::FirstByte | WaitState::NextRequest) {
                this.set_wait_state(WaitState::Header, this.timeouts.header);
            }
            let Self { requests, state, .. } = this;
            requests.scan(&buffer.filled()[before..], |head| state.add_head(head));
            return Poll::Ready(read);
        }
        if this.wait_state != WaitState::Nothing && this.timer.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        Poll::Pending
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for TimedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.with_write_timeout(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write_vectored(context, bytes);
        self.with_write_timeout(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.inner).poll_flush(context);
        self.with_write_timeout(context, flushed)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let left = match this.unread_left {
            Some(left) => left,
            None => {
                let shut = Pin::new(&mut this.inner).poll_shutdown(context);
                ready!(this.with_write_timeout(context, shut))?;
                this.timer.as_mut().reset(Instant::now() + this.timeouts.unread);
                this.timeouts.unread_bytes
            }
        };
        this.poll_discard(context, left)
    }
}

impl<S: AsyncRead + Unpin> TimedStream<S> {
    /// Discards input until the client closes, has sent `left` bytes, or the time is up. Does not wait for a client whose last
    /// request was complete.
    fn poll_discard(&mut self, context: &mut Context<'_>, mut left: u64) -> Poll<io::Result<()>> {
        let mut discarded = [0; DISCARD_BUFFER_BYTES];
        loop {
            let mut buffer = ReadBuf::new(&mut discarded);
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
                    let is_incomplete = self.unread_left.is_some()
                        || self.state.has_unread_body()
                        || self.wait_state == WaitState::Header;
                    if !is_incomplete || self.timer.as_mut().poll(context).is_ready() {
                        return Poll::Ready(Ok(()));
                    }
                    self.unread_left = Some(left);
                    return Poll::Pending;
                }
            }
        }
    }
}

/// Discards input until the client closes the connection. The caller limits the time.
pub(super) async fn discard(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<u64> {
    tokio::io::copy(stream, &mut tokio::io::sink()).await
}

#[cfg(test)]
mod tests {
    use super::super::connection_state::{EvictionCost, NOT_READING};
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    const SHORT: Duration = Duration::from_millis(1);
    const LONG: Duration = Duration::from_secs(3600);
    const LASTING: ConnectionTimeouts = ConnectionTimeouts {
        first_byte: LONG,
        header: LONG,
        idle: LONG,
        write: LONG,
        unread: LONG,
        unread_bytes: 1000,
    };

    /// Reads one byte; only a timeout of `SHORT` ends a wait.
    async fn read(stream: &mut TimedStream<tokio::io::DuplexStream>) -> Result<u8, io::ErrorKind> {
        stream.read_u8().await.map_err(|error| error.kind())
    }

    #[tokio::test]
    async fn a_connection_must_say_something() {
        let (_client, server) = tokio::io::duplex(64);
        let timeouts = ConnectionTimeouts { first_byte: SHORT, header: LONG, idle: LONG, ..LASTING };
        let mut stream = TimedStream::new(server, timeouts, ConnectionState::default());
        assert_eq!(read(&mut stream).await, Err(io::ErrorKind::TimedOut));
    }

    #[tokio::test]
    async fn bytes_do_not_buy_a_header_more_time() {
        let (mut client, server) = tokio::io::duplex(64);
        let timeouts = ConnectionTimeouts { first_byte: LONG, header: SHORT, idle: LONG, ..LASTING };
        let mut stream = TimedStream::new(server, timeouts, ConnectionState::default());
        client.write_all(b"G").await.unwrap();
        assert_eq!(read(&mut stream).await, Ok(b'G'));
        let end = stream.timer.deadline();
        client.write_all(b"E").await.unwrap();
        assert_eq!(read(&mut stream).await, Ok(b'E'));
        assert_eq!((stream.wait_state, stream.timer.deadline()), (WaitState::Header, end));
        assert_eq!(read(&mut stream).await, Err(io::ErrorKind::TimedOut));
    }

    #[tokio::test]
    async fn a_request_may_run_and_the_next_one_may_be_long_in_coming() {
        let (mut client, server) = tokio::io::duplex(64);
        let state = ConnectionState::default();
        let timeouts = ConnectionTimeouts { first_byte: SHORT, header: SHORT, idle: LONG, ..LASTING };
        let mut stream = TimedStream::new(server, timeouts, state.clone());
        let request = state.begin_request();
        client.write_all(b"b").await.unwrap();
        assert_eq!(read(&mut stream).await, Ok(b'b'));
        assert_eq!(stream.wait_state, WaitState::Nothing, "a body has limits of its own");
        drop(request);
        let waited = tokio::time::timeout(Duration::from_millis(50), read(&mut stream)).await;
        assert!(waited.is_err(), "neither the first byte's time nor a header's runs");
        assert_eq!(stream.wait_state, WaitState::NextRequest);
    }

    #[tokio::test]
    async fn a_client_that_stops_reading_is_disconnected() {
        let (mut client, server) = tokio::io::duplex(16);
        let state = ConnectionState::default();
        let timeouts = ConnectionTimeouts { write: Duration::from_secs(1), ..LASTING };
        let mut stream = TimedStream::new(server, timeouts, state.clone());
        // Each read by the client restarts the write timeout.
        let reading = tokio::spawn(async move {
            let mut taken = [0; 8];
            for _ in 0..6 {
                tokio::time::sleep(Duration::from_millis(250)).await;
                client.read_exact(&mut taken).await.unwrap();
            }
            client
        });
        stream.write_all(&[b'x'; 64]).await.unwrap();
        let client = reading.await.unwrap();
        assert!(!state.is_client_not_reading());
        let error = stream.write_all(&[b'x'; 64]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(state.is_client_not_reading());
        drop(client);
    }

    #[tokio::test]
    async fn a_silent_stream_is_not_given_up() {
        let (mut client, server) = tokio::io::duplex(16);
        let state = ConnectionState::default();
        let timeouts = ConnectionTimeouts { write: SHORT, ..LASTING };
        let mut stream = TimedStream::new(server, timeouts, state.clone());
        let request = state.begin_request();
        client.write_all(b"b").await.unwrap();
        assert_eq!(read(&mut stream).await, Ok(b'b'));
        tokio::time::sleep(Duration::from_millis(50)).await;
        stream.write_all(b": alive").await.unwrap();
        stream.flush().await.unwrap();
        assert!(!state.is_client_not_reading(), "nothing had to be taken");
        drop(request);
    }

    #[tokio::test]
    async fn unread_connections_are_evicted_before_idle_ones() {
        let (client, server) = tokio::io::duplex(16);
        let state = ConnectionState::default();
        let mut stream = TimedStream::new(server, LASTING, state.clone());
        assert_eq!(state.eviction_cost(Instant::now()), EvictionCost::Active, "it may still ask");
        stream.set_wait_state(WaitState::NextRequest, LONG);
        assert!(matches!(state.eviction_cost(Instant::now()), EvictionCost::Idle(_)));
        let begun = state.begin_request();
        assert_eq!(state.eviction_cost(Instant::now()), EvictionCost::Active);
        let blocked = tokio::time::timeout(SHORT, stream.write_all(&[b'x'; 64])).await;
        assert!(blocked.is_err());
        assert!(matches!(state.eviction_cost(Instant::now() + NOT_READING), EvictionCost::NotReading(_)));
        assert!(EvictionCost::NotReading(Instant::now()) < EvictionCost::Idle(Instant::now()));
        drop((begun, client));
    }

    #[tokio::test]
    async fn unread_input_is_discarded_at_the_end_within_bounds() {
        let closed = |unread: bool, timeouts: ConnectionTimeouts, sent: usize, client_closes: bool| async move {
            let (mut client, server) = tokio::io::duplex(16);
            let state = ConnectionState::default();
            state.set_unread_body(unread);
            let mut stream = TimedStream::new(server, timeouts, state);
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
        let short = ConnectionTimeouts { unread: SHORT, ..LASTING };
        assert!(closed(true, short, 10, false).await, "and not longer");
        assert!(closed(false, LASTING, 0, false).await, "who owes nothing is not waited for");
    }
}
