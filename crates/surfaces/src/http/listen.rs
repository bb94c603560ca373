//! Binds the address, accepts connections and drains them at shutdown. Uses its own accept loop, because axum's has no timeouts
//! and waits without limit when draining.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use futures::future::Either;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower_service::Service;

use super::access::needs_key;
use super::address::{bind_address, bind_fault};
use super::address_lock::AddressLock;
use super::body_framing::BodyFraming;
use super::connection::{ConnectionTimeouts, TimedStream, discard};
use super::connection_slots::{ConnectionSlot, ConnectionSlots, ForwardedRequest, SlotsFull};
use super::connection_state::{ConnectionState, RunningRequest};
use super::forwarded::{ClientAddress, TrustedProxies};
use super::request_parts::ConnectionAddresses;
use super::routes::router;
use super::tls::Tls;
use super::unparsed::AnsweringStream;
use crate::answer;
use crate::module::Modules;
use contract::{ErrorCode, Fault};
use gate::app::App;
use platform::telemetry::ConnectionEnd;
use tenancy::{self, SignInClient, TokenVerifier};

/// The time that a rejected connection may take to read its answer.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(1);
/// Number of rejected connections that are answered at the same time; further ones are closed without an answer.
const REFUSALS_MAX: usize = 64;
/// Pause after `accept` failed, for example because of too many open files.
const ACCEPT_RETRY_PAUSE: Duration = Duration::from_millis(100);

/// A bound server that does not accept connections yet.
pub struct Listening {
    listener: TcpListener,
    address: SocketAddr,
    tls: Option<Tls>,
    proxies: TrustedProxies,
    address_lock: Option<AddressLock>,
}

/// Binds `server.bind` and `server.port`; port 0 selects a free port.
///
/// # Errors
/// `FORBIDDEN` for an address beyond loopback without any key, `INVALID_INPUT` for an invalid address, certificate, issuer or
/// proxy, `ILLEGAL_STATE` if the port is in use; storage faults.
pub async fn listen(app: &App) -> Result<Listening, Fault> {
    let server = &app.config.server;
    let address = SocketAddr::new(bind_address(&server.bind)?, server.port);
    let tls = Tls::from_config(server)?;
    let proxies = TrustedProxies::from_config(server)?;
    TokenVerifier::from_settings(&app.config.oauth, Arc::clone(&app.clock))?;
    SignInClient::from_settings(&app.config.oauth)?;
    require_key_beyond_loopback(app, address.ip()).await?;
    let listener = TcpListener::bind(address).await.map_err(|error| bind_fault(address, &error))?;
    let address = listener
        .local_addr()
        .map_err(|error| Fault::internal("The bound address could not be read.", error))?;
    // Other processes do not look for a server at a port that the system chose.
    let address_lock = if server.port == 0 { None } else { AddressLock::new(app, address) };
    Ok(Listening { listener, address, tls, proxies, address_lock })
}

impl Listening {
    /// Creates a listener in addition to the server's, for clients on this machine: without TLS and without proxies.
    pub(super) fn on_loopback(listener: TcpListener, address: SocketAddr) -> Self {
        Self { listener, address, tls: None, proxies: TrustedProxies::none(), address_lock: None }
    }

    /// Returns the bound address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns `true` if the server uses HTTPS.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        self.tls.is_some()
    }

    /// Serves the routes of these modules until `app.shutdown` fires, then waits up to `server.drain_ms` for running requests.
    pub async fn serve(self, app: &Arc<App>, modules: &'static Modules) {
        let router = router(app, modules);
        self.serve_router(app, router).await;
    }

    /// Serves with other routes, for tests.
    pub async fn serve_router(self, app: &Arc<App>, router: Router) {
        let _address_lock = self.address_lock;
        let connections = Arc::new(Connections {
            app: Arc::clone(app),
            router,
            tls: self.tls,
            local: self.address,
            slots: Arc::new(ConnectionSlots::new(&app.config.server)),
            proxies: self.proxies,
            refusals: Arc::new(Semaphore::new(REFUSALS_MAX)),
            kill: CancellationToken::new(),
            open: TaskTracker::new(),
        });
        loop {
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                () = app.shutdown.cancelled() => break,
            };
            match accepted {
                Ok((stream, peer)) => connections.accept(stream, peer),
                Err(error) => {
                    tracing::debug!(%error, "a connection could not be accepted");
                    tokio::time::sleep(ACCEPT_RETRY_PAUSE).await;
                }
            }
        }
        drop(self.listener);
        connections.drain().await;
    }
}

/// State that all connections share.
struct Connections {
    app: Arc<App>,
    router: Router,
    tls: Option<Tls>,
    local: SocketAddr,
    slots: Arc<ConnectionSlots>,
    proxies: TrustedProxies,
    refusals: Arc<Semaphore>,
    /// Closes the connections that did not end while draining.
    kill: CancellationToken,
    open: TaskTracker,
}

/// Counts an open connection until it is dropped.
struct OpenConnectionCount(Arc<App>);

impl OpenConnectionCount {
    fn new(app: &Arc<App>) -> Self {
        app.connections.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(app))
    }
}

impl Drop for OpenConnectionCount {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Connections {
    fn accept(self: &Arc<Self>, stream: TcpStream, peer: SocketAddr) {
        // Nagle's algorithm delays an answer that is written in two parts by 40 ms.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY could not be set");
        }
        if let Err(error) = set_send_timeout(&stream, Duration::from_millis(self.app.config.server.write_ms))
        {
            tracing::debug!(%error, "the send timeout of the connection could not be set");
        }
        let address = peer.ip();
        let client = (!self.proxies.contains(address)).then(|| ClientAddress::from(address));
        let state = ConnectionState::default();
        let slot = match self.slots.take(client, state.clone(), self.kill.child_token()) {
            Err(full) => return self.refuse(stream, full),
            Ok((slot, evicted)) => {
                if evicted {
                    self.app.metrics.record_connection_end(ConnectionEnd::Displaced);
                }
                Arc::new(slot)
            }
        };
        let connections = Arc::clone(self);
        self.open.spawn(async move {
            let _counted = OpenConnectionCount::new(&connections.app);
            let evicted = slot.evicted.clone();
            let served = pin!(connections.serve(stream, peer, &slot, state.clone()));
            let evicted = pin!(evicted.cancelled());
            if let Either::Left((Err(error), _)) = futures::future::select(served, evicted).await {
                if state.is_client_not_reading() {
                    connections.app.metrics.record_connection_end(ConnectionEnd::NotReading);
                }
                tracing::debug!(%error, "a connection ended early");
            }
        });
    }

    async fn serve(
        &self,
        stream: TcpStream,
        peer: SocketAddr,
        slot: &Arc<ConnectionSlot>,
        state: ConnectionState,
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let local = stream.local_addr().unwrap_or(self.local);
        let addresses = ConnectionAddresses { peer, local };
        match &self.tls {
            None => self.serve_http(stream, addresses, slot, state).await,
            Some(tls) => {
                let limit = Duration::from_millis(self.app.config.server.first_byte_ms);
                let stream = tokio::time::timeout(limit, tls.acceptor().accept(stream)).await??;
                self.serve_http(stream, addresses, slot, state).await
            }
        }
    }

    /// Serves HTTP/1.1 on one connection until it ends or the server drains.
    async fn serve_http(
        &self,
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
        addresses: ConnectionAddresses,
        slot: &Arc<ConnectionSlot>,
        state: ConnectionState,
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let stream =
            TimedStream::new(stream, ConnectionTimeouts::from(&self.app.config.server), state.clone());
        let stream = AnsweringStream::new(stream, Arc::clone(&self.app));
        let router = self.router.clone();
        let service = service_fn(move |request: hyper::Request<Incoming>| {
            let (mut router, running) = (router.clone(), state.begin_request());
            let state = state.clone();
            let forwarded = self.assign_forwarded(&request, addresses, slot);
            let framing = BodyFraming::new(request.headers(), state.take_head());
            let mut request: Request = request.map(|body| Body::new(state.track_body(body)));
            request.extensions_mut().insert(addresses);
            request.extensions_mut().insert(framing);
            async move {
                let (mut response, guards): (Response, _) = match forwarded {
                    Err(full) => (self.refusal(full), (running, None)),
                    Ok(forwarded) => match router.call(request).await {
                        Ok(response) => (response, (running, forwarded)),
                        Err(never) => match never {},
                    },
                };
                // Close the connection, because its next bytes would be the rest of the body.
                if state.has_unread_body() || framing.is_ambiguous() {
                    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
                }
                Ok::<_, std::convert::Infallible>(response.map(|body| keep_until_sent(body, guards)))
            }
        });
        // `TimedStream` enforces the header timeout.
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(None)
            .serve_connection(TokioIo::new(stream), service);
        let mut connection = pin!(connection);
        tokio::select! {
            ended = connection.as_mut() => return Ok(ended?),
            () = self.app.shutdown.cancelled() => connection.as_mut().graceful_shutdown(),
        }
        Ok(connection.await?)
    }

    /// Counts a request from a trusted proxy for the client that sent it.
    fn assign_forwarded(
        &self,
        request: &hyper::Request<Incoming>,
        addresses: ConnectionAddresses,
        slot: &Arc<ConnectionSlot>,
    ) -> Result<Option<ForwardedRequest>, SlotsFull> {
        if !self.proxies.contains(addresses.peer.ip()) {
            return Ok(None);
        }
        slot.assign_request(self.proxies.client_address(request.headers()).map(ClientAddress::from)).map(Some)
    }

    /// Returns the answer to a forwarded request whose client has no slot left.
    fn refusal(&self, full: SlotsFull) -> Response {
        self.count_refusal(full);
        let fault = too_many_connections(full, &self.slots);
        let id = answer::fresh_request_id(&self.app);
        super::answer::refused(&self.app, StatusCode::SERVICE_UNAVAILABLE, &fault, &id)
    }

    fn count_refusal(&self, full: SlotsFull) {
        self.app.metrics.record_refusal(ErrorCode::QueueOverloaded.as_str());
        self.app.metrics.record_connection_end(match full {
            SlotsFull::Client => ConnectionEnd::AddressFull,
            SlotsFull::Server => ConnectionEnd::Full,
        });
    }

    /// Responds that there are too many connections, then closes.
    fn refuse(self: &Arc<Self>, mut stream: TcpStream, full: SlotsFull) {
        self.count_refusal(full);
        let Ok(refusal) = Arc::clone(&self.refusals).try_acquire_owned() else { return };
        let connections = Arc::clone(self);
        self.open.spawn(async move {
            let _refusal = refusal;
            let answer = refusal_bytes(&connections.app, &too_many_connections(full, &connections.slots));
            let written = async {
                stream.write_all(answer.as_bytes()).await?;
                stream.shutdown().await?;
                // Closing with unread input would reset the connection and lose the answer.
                discard(&mut stream).await
            };
            // Do not wait for a client that does not read.
            let _ = tokio::time::timeout(REFUSAL_TIMEOUT, written).await;
        });
    }

    async fn drain(&self) {
        self.open.close();
        let limit = Duration::from_millis(self.app.config.server.drain_ms);
        if tokio::time::timeout(limit, self.open.wait()).await.is_err() {
            tracing::warn!(connections = self.open.len(), "stopped with requests still open");
            self.kill.cancel();
            self.open.wait().await;
        }
    }
}

/// Makes the operating system drop the connection if the peer acknowledges nothing for `limit`. Covers bytes in the system's send
/// buffer, such as keep-alive comments, and bytes that are still unsent after the connection was closed here.
#[cfg(target_os = "linux")]
fn set_send_timeout(stream: &TcpStream, limit: Duration) -> io::Result<()> {
    socket2::SockRef::from(stream).set_tcp_user_timeout(Some(limit))
}

/// Other systems have no such option; [`TimedStream`] still limits bytes that are not yet in the system's buffer.
#[cfg(not(target_os = "linux"))]
fn set_send_timeout(_: &TcpStream, _: Duration) -> io::Result<()> {
    Ok(())
}

/// Keeps the guards of a request alive until its body has been sent.
fn keep_until_sent(body: Body, guards: (RunningRequest, Option<ForwardedRequest>)) -> Body {
    use http_body_util::BodyExt;
    Body::new(body.map_frame(move |frame| {
        let _guards = &guards;
        frame
    }))
}

/// Returns the fault for a connection or request without a free slot.
fn too_many_connections(full: SlotsFull, slots: &ConnectionSlots) -> Fault {
    let [all, of_one] = slots.limits();
    let (message, max) = match full {
        SlotsFull::Server => ("The server has too many open connections.", all),
        SlotsFull::Client => ("Your address has too many open connections.", of_one),
    };
    Fault::new(ErrorCode::QueueOverloaded, message)
        .with_details(json!({ "queue": { "max": max, "size": max } }))
        .with_hint("Try again in a second, and keep fewer connections open.")
}

/// Formats the HTTP response for a rejected connection, whose request is not read.
fn refusal_bytes(app: &App, fault: &Fault) -> String {
    let body = answer::json(&answer::failed(app, fault, None)).to_string();
    format!(
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 1\r\nConnection: close\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Refuses to listen beyond loopback if no key exists.
async fn require_key_beyond_loopback(app: &App, ip: IpAddr) -> Result<(), Fault> {
    if ip.is_loopback() || app.config.access.insecure || app.config.oauth.issuer.is_some() {
        return Ok(());
    }
    if needs_key(&app.config) && tenancy::list_keys(app.store().await?).await?.iter().any(|key| key.live) {
        return Ok(());
    }
    Err(Fault::new(
        ErrorCode::Forbidden,
        format!("server.bind = \"{ip}\" exposes the server to the network, but no API key exists."),
    )
    .with_hint(
        "Create a key with `pairofcleats keys create`, configure [oauth], or bind 127.0.0.1; access.insecure = true allows everybody.",
    )
    .with_details(json!({ "bind": ip.to_string() })))
}
