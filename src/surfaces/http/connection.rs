//! One connection: what it may do at which time, so that none can be held open for nothing.
//!
//! hyper knows one limit for headers, which also closes idle connections. Clients keep idle connections for a
//! minute, and a header should not take so long; so the limits are kept here, below hyper, by what is known of
//! the connection: has it said anything, does a request run?
//!
//! It bounds writing as well: a client that takes nothing of what is written to it is given up, whether it is an answer or the
//! comment that keeps a stream alive. A stream on which nothing is to be written may be silent for as long as it likes.
//!
//! It also sees to the end of a connection. A request may be answered before its body was read. If the socket were closed then,
//! the system would answer what the client still sends with a reset, and the client would lose the answer. So the write side is
//! closed first, and what still comes is read and thrown away, for a bounded time.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use super::head::Head;
use super::running::Running;
use contract::config::Server;

/// Bytes of one read of what is thrown away.
const UNREAD_CHUNK_BYTES: usize = 8192;

/// How long a connection may be silent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    first_byte: Duration,
    header: Duration,
    idle: Duration,
    /// How long a client may take nothing of what is written to it.
    write: Duration,
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
            write: Duration::from_millis(server.write_ms),
            unread: Duration::from_millis(server.unread_ms),
            unread_bytes: server.unread_bytes_max,
        }
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
    /// The head of a request that began when one was waited for, until it is over.
    head: Option<Head>,
    timer: Pin<Box<Sleep>>,
    /// Runs while the client takes nothing; made when that happens first.
    write_timer: Option<Pin<Box<Sleep>>>,
    /// Whether it runs.
    blocked: bool,
    /// Bytes that may still be read and thrown away; known once the write side is closed.
    unread_left: Option<u64>,
}

impl<S> Watched<S> {
    /// Watches `inner`, which was just accepted.
    pub(super) fn new(inner: S, patience: Patience, running: Running) -> Self {
        let timer = Box::pin(tokio::time::sleep(patience.first_byte));
        Self {
            inner,
            patience,
            running,
            awaited: Awaited::FirstByte,
            head: None,
            timer,
            write_timer: None,
            blocked: false,
            unread_left: None,
        }
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
        let now = Instant::now();
        self.running.await_request((awaited == Awaited::NextRequest).then_some(now));
        if awaited != Awaited::Nothing {
            self.timer.as_mut().reset(now + limit);
        }
    }

    /// `written`, or an error once the client has taken nothing for too long.
    fn timed<T>(&mut self, context: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            if std::mem::take(&mut self.blocked) {
                self.running.await_reader(None);
            }
            return written;
        }
        let until = Instant::now() + self.patience.write;
        let timer = self.write_timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until)));
        if !std::mem::replace(&mut self.blocked, true) {
            timer.as_mut().reset(until);
            self.running.await_reader(Some(Instant::now()));
        }
        ready!(timer.as_mut().poll(context));
        self.running.give_up();
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
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
                this.head = Some(Head::default());
            }
            if let Some(lengths) = this.head.as_mut().and_then(|head| head.look(&buffer.filled()[before..])) {
                this.head = None;
                this.running.head_came(lengths);
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
        let written = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.timed(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write_vectored(context, bytes);
        self.timed(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.inner).poll_flush(context);
        self.timed(context, flushed)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let left = match this.unread_left {
            Some(left) => left,
            None => {
                let shut = Pin::new(&mut this.inner).poll_shutdown(context);
                ready!(this.timed(context, shut))?;
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
    use super::super::running::{NOT_READING, Worth};
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    const SHORT: Duration = Duration::from_millis(1);
    const LONG: Duration = Duration::from_secs(3600);
    const LASTING: Patience = Patience {
        first_byte: LONG,
        header: LONG,
        idle: LONG,
        write: LONG,
        unread: LONG,
        unread_bytes: 1000,
    };

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
    async fn a_client_that_takes_nothing_is_given_up() {
        let (mut client, server) = tokio::io::duplex(16);
        let running = Running::default();
        let patience = Patience { write: Duration::from_secs(1), ..LASTING };
        let mut stream = Watched::new(server, patience, running.clone());
        // Each part that is taken buys the next one its whole time.
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
        assert!(!running.is_given_up());
        let error = stream.write_all(&[b'x'; 64]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(running.is_given_up());
        drop(client);
    }

    #[tokio::test]
    async fn a_silent_stream_is_not_given_up() {
        let (mut client, server) = tokio::io::duplex(16);
        let running = Running::default();
        let patience = Patience { write: SHORT, ..LASTING };
        let mut stream = Watched::new(server, patience, running.clone());
        let request = running.begin();
        client.write_all(b"b").await.unwrap();
        assert_eq!(read(&mut stream).await, Ok(b'b'));
        tokio::time::sleep(Duration::from_millis(50)).await;
        stream.write_all(b": alive").await.unwrap();
        stream.flush().await.unwrap();
        assert!(!running.is_given_up(), "nothing had to be taken");
        drop(request);
    }

    #[tokio::test]
    async fn what_nobody_reads_is_worth_less_than_what_idles() {
        let (client, server) = tokio::io::duplex(16);
        let running = Running::default();
        let mut stream = Watched::new(server, LASTING, running.clone());
        assert_eq!(running.worth(Instant::now()), Worth::Used, "it may still ask");
        stream.await_now(Awaited::NextRequest, LONG);
        assert!(matches!(running.worth(Instant::now()), Worth::Idle(_)));
        let begun = running.begin();
        assert_eq!(running.worth(Instant::now()), Worth::Used);
        let blocked = tokio::time::timeout(SHORT, stream.write_all(&[b'x'; 64])).await;
        assert!(blocked.is_err());
        assert!(matches!(running.worth(Instant::now() + NOT_READING), Worth::Unread(_)));
        assert!(Worth::Unread(Instant::now()) < Worth::Idle(Instant::now()));
        drop((begun, client));
    }

    #[tokio::test]
    async fn what_was_not_read_is_read_at_the_end_within_bounds() {
        let closed = |unread: bool, patience: Patience, sent: usize, client_closes: bool| async move {
            let (mut client, server) = tokio::io::duplex(16);
            let running = Running::default();
            running.set_unread(unread);
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
