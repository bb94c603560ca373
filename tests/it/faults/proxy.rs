//! A network between the program and its database that fails as it is told: TCP on one side, the server's Unix socket on the
//! other.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;

use crate::harness::server;

/// What becomes of the bytes of one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// They pass.
    Open,
    /// They are kept back until the way is open again, as by a network that drops packets for a while.
    Held,
    /// They pass later.
    Late(Duration),
    /// They pass a few at a time.
    Trickle(usize, Duration),
    /// This side says that it is done; the other way stays open.
    HalfClosed,
    /// Both sides are told that the connection is broken.
    Reset,
}

/// What becomes of connections.
#[derive(Debug, Clone, Copy)]
struct Weather {
    to_server: Way,
    to_client: Way,
    /// New connections are refused.
    away: bool,
    /// Connections up to this number are silent for good once so many bytes more went to the server: what a firewall does
    /// that forgot them.
    silent: (u64, u64),
    /// … or once so many come at a time, as only a writer sends them.
    large: usize,
}

const FAIR: Weather =
    Weather { to_server: Way::Open, to_client: Way::Open, away: false, silent: (0, 0), large: usize::MAX };

/// The proxy; it ends with the test's runtime.
pub(crate) struct Proxy {
    address: SocketAddr,
    weather: watch::Sender<Weather>,
    accepted: Arc<AtomicU64>,
    asked_in_vain: Arc<AtomicU64>,
}

impl Proxy {
    /// A proxy before the shared cluster.
    pub(crate) async fn new() -> Self {
        let options = server().connect_options();
        let folder = options.get_socket().cloned().unwrap_or_else(|| options.get_host().into());
        let socket = folder.join(format!(".s.PGSQL.{}", options.get_port()));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy = Self {
            address: listener.local_addr().unwrap(),
            weather: watch::Sender::new(FAIR),
            accepted: Arc::default(),
            asked_in_vain: Arc::default(),
        };
        let line =
            Line { weather: proxy.weather.subscribe(), in_vain: Arc::clone(&proxy.asked_in_vain), number: 0 };
        tokio::spawn(accept(listener, socket, line, Arc::clone(&proxy.accepted)));
        proxy
    }

    /// How the database is reached through it.
    pub(crate) fn url(&self) -> String {
        let options = server().connect_options();
        format!(
            "postgres://{}@{}/{}?sslmode=disable",
            options.get_username(),
            self.address,
            options.get_database().unwrap_or("postgres")
        )
    }

    /// What becomes of the bytes of every connection from now on.
    pub(crate) fn ways(&self, to_server: Way, to_client: Way) {
        self.weather.send_modify(|now| (now.to_server, now.to_client) = (to_server, to_client));
    }

    /// Connections that are open now go silent for good once `after` bytes more went to the server; new ones work.
    pub(crate) fn silence(&self, after: u64) {
        let number = self.accepted.load(Ordering::SeqCst);
        self.weather.send_modify(|now| now.silent = (number, after));
    }

    /// Of the connections that are open now, the one that sends the next large message goes silent in the middle of it.
    pub(crate) fn silence_writer(&self) {
        let number = self.accepted.load(Ordering::SeqCst);
        self.weather.send_modify(|now| (now.silent, now.large) = ((number, u64::MAX), 2_000));
    }

    /// Breaks all connections and refuses new ones.
    pub(crate) fn away(&self) {
        self.weather.send_modify(|now| {
            (now.to_server, now.to_client, now.away) = (Way::Reset, Way::Reset, true);
        });
    }

    /// Everything works again, for what is not broken.
    pub(crate) fn back(&self) {
        self.weather.send_modify(|now| *now = Weather { silent: now.silent, large: now.large, ..FAIR });
    }

    /// Silent connections over which somebody asked something.
    pub(crate) fn asked_in_vain(&self) -> u64 {
        self.asked_in_vain.load(Ordering::SeqCst)
    }
}

/// One connection's view of the weather.
#[derive(Clone)]
struct Line {
    weather: watch::Receiver<Weather>,
    in_vain: Arc<AtomicU64>,
    number: u64,
}

async fn accept(listener: TcpListener, socket: PathBuf, line: Line, accepted: Arc<AtomicU64>) {
    while let Ok((client, _)) = listener.accept().await {
        if line.weather.borrow().away {
            // As near to a refused connection as an accepted one can be.
            let _ = client.set_zero_linger();
            continue;
        }
        let line = Line { number: accepted.fetch_add(1, Ordering::SeqCst) + 1, ..line.clone() };
        let Ok(server) = UnixStream::connect(&socket).await else { continue };
        tokio::spawn(carry(client, server, line));
    }
}

async fn carry(mut client: TcpStream, mut server: UnixStream, line: Line) {
    let dead = AtomicBool::new(false);
    let broken = {
        let ((client_read, client_write), (server_read, server_write)) = (client.split(), server.split());
        let there = pump(client_read, server_write, line.clone(), true, &dead);
        let back = pump(server_read, client_write, line, false, &dead);
        let (there, back) = tokio::join!(there, back);
        there || back
    };
    if broken {
        let _ = client.set_zero_linger();
    }
}

/// Carries one direction to its end; true when the connection was broken.
async fn pump(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut line: Line,
    to_server: bool,
    dead: &AtomicBool,
) -> bool {
    let mut bytes = [0; 8192];
    let mut since_silenced = 0;
    let way_of = |now: &Weather| if to_server { now.to_server } else { now.to_client };
    loop {
        let read = tokio::select! {
            read = from.read(&mut bytes) => read,
            _ = line.weather.wait_for(|now| way_of(now) == Way::Reset) => return true,
        };
        let Ok(read @ 1..) = read else {
            // Nor does a silent network say that somebody left.
            if !dead.load(Ordering::SeqCst) {
                let _ = to.shutdown().await;
            }
            return false;
        };
        let ((up_to, mut after), large) = (line.weather.borrow().silent, line.weather.borrow().large);
        if read >= large {
            after = since_silenced;
        }
        if line.number <= up_to && to_server && !dead.load(Ordering::SeqCst) {
            let left = usize::try_from(after - since_silenced).unwrap();
            since_silenced = after.min(since_silenced + read as u64);
            if read > left {
                dead.store(true, Ordering::SeqCst);
                // 'X': the client closes the connection, it asks nothing.
                if bytes[0] != b'X' {
                    line.in_vain.fetch_add(1, Ordering::SeqCst);
                }
                let _ = to.write_all(&bytes[..left]).await;
            }
        }
        if dead.load(Ordering::SeqCst) {
            continue;
        }
        let way = loop {
            let way = way_of(&line.weather.borrow_and_update());
            if way != Way::Held || line.weather.changed().await.is_err() {
                break way;
            }
        };
        let passed = match way {
            Way::Open | Way::Held => to.write_all(&bytes[..read]).await,
            Way::Late(by) => {
                tokio::time::sleep(by).await;
                to.write_all(&bytes[..read]).await
            }
            Way::Trickle(few, every) => trickle(&mut to, &bytes[..read], few, every).await,
            Way::HalfClosed => {
                let _ = to.shutdown().await;
                return false;
            }
            Way::Reset => return true,
        };
        if passed.is_err() {
            return false;
        }
    }
}

async fn trickle(
    to: &mut (impl AsyncWrite + Unpin),
    bytes: &[u8],
    few: usize,
    every: Duration,
) -> std::io::Result<()> {
    for piece in bytes.chunks(few) {
        to.write_all(piece).await?;
        tokio::time::sleep(every).await;
    }
    Ok(())
}
