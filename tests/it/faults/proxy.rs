//! A network between the program and its database that fails on request: TCP on the client's side, Postgres's Unix socket on
//! the other.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;

use crate::harness::server;

/// Treatment of the bytes of one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    /// Forwarded at once.
    Open,
    /// Kept until the flow is open again, as by a network that drops packets for a while.
    Stalled,
    /// Forwarded after this delay.
    Delayed(Duration),
    /// Forwarded in pieces of this many bytes, with this pause after each.
    Trickle(usize, Duration),
    /// This direction is shut down; the other one stays open.
    HalfClosed,
    /// The connection is reset on both sides.
    Reset,
}

/// Treatment of connections.
#[derive(Debug, Clone, Copy)]
struct NetworkState {
    to_server: Flow,
    to_client: Flow,
    /// New connections are refused.
    refuse: bool,
    /// Connections up to this number go silent forever once this many more bytes went to the server, as if a firewall had
    /// dropped them from its table.
    silent_after: (u64, u64),
    /// They also go silent at the first read of at least this many bytes, which only a writer sends at once.
    silent_from_read_size: usize,
}

const WORKING: NetworkState = NetworkState {
    to_server: Flow::Open,
    to_client: Flow::Open,
    refuse: false,
    silent_after: (0, 0),
    silent_from_read_size: usize::MAX,
};

/// The proxy; it stops with the test's runtime.
pub(crate) struct Proxy {
    address: SocketAddr,
    state: watch::Sender<NetworkState>,
    accepted: Arc<AtomicU64>,
    silent_queries: Arc<AtomicU64>,
}

impl Proxy {
    /// Starts a proxy in front of the shared cluster.
    pub(crate) async fn new() -> Self {
        let options = server().connect_options();
        let folder = options.get_socket().cloned().unwrap_or_else(|| options.get_host().into());
        let socket = folder.join(format!(".s.PGSQL.{}", options.get_port()));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy = Self {
            address: listener.local_addr().unwrap(),
            state: watch::Sender::new(WORKING),
            accepted: Arc::default(),
            silent_queries: Arc::default(),
        };
        let view = ConnectionView {
            state: proxy.state.subscribe(),
            silent_queries: Arc::clone(&proxy.silent_queries),
            number: 0,
        };
        tokio::spawn(accept(listener, socket, view, Arc::clone(&proxy.accepted)));
        proxy
    }

    /// URL of the database through the proxy.
    pub(crate) fn url(&self) -> String {
        let options = server().connect_options();
        format!(
            "postgres://{}@{}/{}?sslmode=disable",
            options.get_username(),
            self.address,
            options.get_database().unwrap_or("postgres")
        )
    }

    /// Sets what happens to the bytes of every connection from now on.
    pub(crate) fn set_flow(&self, to_server: Flow, to_client: Flow) {
        self.state.send_modify(|now| (now.to_server, now.to_client) = (to_server, to_client));
    }

    /// Makes the connections that are open now go silent forever once `after` more bytes went to the server. New ones work.
    pub(crate) fn silence(&self, after: u64) {
        let number = self.accepted.load(Ordering::SeqCst);
        self.state.send_modify(|now| now.silent_after = (number, after));
    }

    /// Makes a connection that is open now go silent as soon as it sends a large message, which is not forwarded.
    pub(crate) fn silence_writer(&self) {
        let number = self.accepted.load(Ordering::SeqCst);
        self.state
            .send_modify(|now| (now.silent_after, now.silent_from_read_size) = ((number, u64::MAX), 2_000));
    }

    /// Breaks all connections and refuses new ones.
    pub(crate) fn refuse(&self) {
        self.state.send_modify(|now| {
            (now.to_server, now.to_client, now.refuse) = (Flow::Reset, Flow::Reset, true);
        });
    }

    /// Lets everything work again, except for connections that are broken or silent.
    pub(crate) fn restore(&self) {
        self.state.send_modify(|now| {
            *now = NetworkState {
                silent_after: now.silent_after,
                silent_from_read_size: now.silent_from_read_size,
                ..WORKING
            }
        });
    }

    /// Number of silent connections on which a query was sent.
    pub(crate) fn silent_queries(&self) -> u64 {
        self.silent_queries.load(Ordering::SeqCst)
    }
}

/// The network's state, as the task of one connection knows it.
#[derive(Clone)]
struct ConnectionView {
    state: watch::Receiver<NetworkState>,
    silent_queries: Arc<AtomicU64>,
    number: u64,
}

async fn accept(listener: TcpListener, socket: PathBuf, view: ConnectionView, accepted: Arc<AtomicU64>) {
    while let Ok((client, _)) = listener.accept().await {
        if view.state.borrow().refuse {
            // Resetting an accepted connection is the closest to refusing it.
            let _ = client.set_zero_linger();
            continue;
        }
        let view = ConnectionView { number: accepted.fetch_add(1, Ordering::SeqCst) + 1, ..view.clone() };
        let Ok(server) = UnixStream::connect(&socket).await else { continue };
        tokio::spawn(forward_connection(client, server, view));
    }
}

async fn forward_connection(mut client: TcpStream, mut server: UnixStream, view: ConnectionView) {
    let is_silent = AtomicBool::new(false);
    let broken = {
        let ((client_read, client_write), (server_read, server_write)) = (client.split(), server.split());
        let upstream = forward(client_read, server_write, view.clone(), true, &is_silent);
        let downstream = forward(server_read, client_write, view, false, &is_silent);
        let (upstream, downstream) = tokio::join!(upstream, downstream);
        upstream || downstream
    };
    if broken {
        let _ = client.set_zero_linger();
    }
}

/// Forwards one direction until it ends. Returns true if the connection was broken.
async fn forward(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut view: ConnectionView,
    to_server: bool,
    is_silent: &AtomicBool,
) -> bool {
    let mut bytes = [0; 8192];
    let mut since_silenced = 0;
    let flow_of = |now: &NetworkState| if to_server { now.to_server } else { now.to_client };
    loop {
        let read = tokio::select! {
            read = from.read(&mut bytes) => read,
            _ = view.state.wait_for(|now| flow_of(now) == Flow::Reset) => return true,
        };
        let Ok(read @ 1..) = read else {
            // A silent network does not report that a side disconnected, either.
            if !is_silent.load(Ordering::SeqCst) {
                let _ = to.shutdown().await;
            }
            return false;
        };
        let ((up_to, mut after), silent_from_read_size) =
            (view.state.borrow().silent_after, view.state.borrow().silent_from_read_size);
        if read >= silent_from_read_size {
            after = since_silenced;
        }
        if view.number <= up_to && to_server && !is_silent.load(Ordering::SeqCst) {
            let left = usize::try_from(after - since_silenced).unwrap();
            since_silenced = after.min(since_silenced + read as u64);
            if read > left {
                is_silent.store(true, Ordering::SeqCst);
                // 'X' is the message that closes a connection, not a query.
                if bytes[0] != b'X' {
                    view.silent_queries.fetch_add(1, Ordering::SeqCst);
                }
                let _ = to.write_all(&bytes[..left]).await;
            }
        }
        if is_silent.load(Ordering::SeqCst) {
            continue;
        }
        let flow = loop {
            let flow = flow_of(&view.state.borrow_and_update());
            if flow != Flow::Stalled || view.state.changed().await.is_err() {
                break flow;
            }
        };
        let written = match flow {
            Flow::Open | Flow::Stalled => to.write_all(&bytes[..read]).await,
            Flow::Delayed(delay) => {
                tokio::time::sleep(delay).await;
                to.write_all(&bytes[..read]).await
            }
            Flow::Trickle(piece_bytes, pause) => trickle(&mut to, &bytes[..read], piece_bytes, pause).await,
            Flow::HalfClosed => {
                let _ = to.shutdown().await;
                return false;
            }
            Flow::Reset => return true,
        };
        if written.is_err() {
            return false;
        }
    }
}

async fn trickle(
    to: &mut (impl AsyncWrite + Unpin),
    bytes: &[u8],
    piece_bytes: usize,
    pause: Duration,
) -> std::io::Result<()> {
    for piece in bytes.chunks(piece_bytes) {
        to.write_all(piece).await?;
        tokio::time::sleep(pause).await;
    }
    Ok(())
}
