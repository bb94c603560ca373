//! Binding, accepting, draining. Our own loop, because axum's has neither time limits nor a drain that ends.

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

use super::access::{Ends, needs_key};
use super::claim::Claim;
use super::connection::{Patience, Watched, throw_away};
use super::forwarded::{Client, Proxies};
use super::guard::BodyLengths;
use super::places::{Full, PassedOn, Place, Places};
use super::routes::router;
use super::running::{Running, RunningRequest};
use super::tls::Tls;
use crate::app::App;
use crate::surfaces::answer;
use contract::{ErrorCode, Fault};
use platform::telemetry::ConnectionEnd;
use tenancy::{self, TokenVerifier};

/// How long a connection that is one too many may take to read its refusal.
const REFUSAL: Duration = Duration::from_secs(1);
/// Refusals at a time; beyond them connections are just closed.
const REFUSALS_MAX: usize = 64;
/// After an error of accepting, such as too many open files.
const PAUSE: Duration = Duration::from_millis(100);

/// A bound server that does not answer yet.
pub struct Listening {
    listener: TcpListener,
    address: SocketAddr,
    tls: Option<Tls>,
    proxies: Proxies,
    claim: Option<Claim>,
}

/// Binds `server.bind` and `server.port`; port 0 takes a free one.
///
/// # Errors
/// `FORBIDDEN` for an address beyond loopback without keys, `INVALID_INPUT` for what is no address, no
/// certificate, no issuer or no proxy, `ILLEGAL_STATE` when the port is taken; storage faults.
pub async fn listen(app: &App) -> Result<Listening, Fault> {
    let server = &app.config.server;
    let address = SocketAddr::new(bind_address(&server.bind)?, server.port);
    let tls = Tls::configured(server)?;
    let proxies = Proxies::configured(server)?;
    TokenVerifier::configured(&app.config.oauth, Arc::clone(&app.clock))?;
    guarded(app, address.ip()).await?;
    let listener = TcpListener::bind(address).await.map_err(|error| unbound(address, &error))?;
    let address = listener
        .local_addr()
        .map_err(|error| Fault::internal("The bound address could not be read.", error))?;
    // A port that the system chose is nobody's to ask for.
    let claim = if server.port == 0 { None } else { Claim::new(app, address) };
    Ok(Listening { listener, address, tls, proxies, claim })
}

impl Listening {
    /// Where the server listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether it speaks HTTPS.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        self.tls.is_some()
    }

    /// Answers until `app.shutdown` fires, then lets running requests end for at most `server.drain_ms`.
    pub async fn serve(self, app: &Arc<App>) {
        let router = router(app);
        self.serve_router(app, router).await;
    }

    /// The same with routes of one's own, for tests.
    pub async fn serve_router(self, app: &Arc<App>, router: Router) {
        let _claim = self.claim;
        let connections = Arc::new(Connections {
            app: Arc::clone(app),
            router,
            tls: self.tls,
            local: self.address,
            places: Arc::new(Places::new(&app.config.server)),
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
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
        drop(self.listener);
        connections.drain().await;
    }
}

/// What all connections share.
struct Connections {
    app: Arc<App>,
    router: Router,
    tls: Option<Tls>,
    local: SocketAddr,
    places: Arc<Places>,
    proxies: Proxies,
    refusals: Arc<Semaphore>,
    /// Ends connections that did not end by themselves.
    kill: CancellationToken,
    open: TaskTracker,
}

/// Counts a connection as open for as long as it is.
struct Counted(Arc<App>);

impl Counted {
    fn new(app: &Arc<App>) -> Self {
        app.connections.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(app))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Connections {
    fn accept(self: &Arc<Self>, stream: TcpStream, peer: SocketAddr) {
        // Nagle's algorithm costs 40 ms an answer on streams that write twice.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY could not be set");
        }
        if let Err(error) = bounded(&stream, Duration::from_millis(self.app.config.server.write_ms)) {
            tracing::debug!(%error, "a limit of the connection could not be set");
        }
        let address = peer.ip();
        let client = (!self.proxies.trusts(address)).then(|| Client::from(address));
        let running = Running::default();
        let place = match self.places.take(client, running.clone(), self.kill.child_token()) {
            Err(full) => return self.refuse(stream, full),
            Ok((place, displaced)) => {
                if displaced {
                    self.app.metrics.connection_ended(ConnectionEnd::Displaced);
                }
                Arc::new(place)
            }
        };
        let connections = Arc::clone(self);
        self.open.spawn(async move {
            let _counted = Counted::new(&connections.app);
            let ended = place.end.clone();
            let served = pin!(connections.serve(stream, peer, &place, running.clone()));
            let ended = pin!(ended.cancelled());
            if let Either::Left((Err(error), _)) = futures::future::select(served, ended).await {
                if running.is_given_up() {
                    connections.app.metrics.connection_ended(ConnectionEnd::NotReading);
                }
                tracing::debug!(%error, "a connection ended early");
            }
        });
    }

    async fn serve(
        &self,
        stream: TcpStream,
        peer: SocketAddr,
        place: &Arc<Place>,
        running: Running,
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let local = stream.local_addr().unwrap_or(self.local);
        let ends = Ends { peer, local };
        match &self.tls {
            None => self.speak(stream, ends, place, running).await,
            Some(tls) => {
                let limit = Duration::from_millis(self.app.config.server.first_byte_ms);
                let stream = tokio::time::timeout(limit, tls.acceptor().accept(stream)).await??;
                self.speak(stream, ends, place, running).await
            }
        }
    }

    /// HTTP/1.1 over one connection, until it ends or the server drains.
    async fn speak(
        &self,
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
        ends: Ends,
        place: &Arc<Place>,
        running: Running,
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let stream = Watched::new(stream, Patience::from(&self.app.config.server), running.clone());
        let router = self.router.clone();
        let service = service_fn(move |request: hyper::Request<Incoming>| {
            let (mut router, begun) = (router.clone(), running.begin());
            let running = running.clone();
            let passed_on = self.passed_on(&request, ends, place);
            let lengths = BodyLengths::of(request.headers(), running.head());
            let mut request: Request = request.map(|body| Body::new(running.noting(body)));
            request.extensions_mut().insert(ends);
            request.extensions_mut().insert(lengths);
            async move {
                let (mut response, held): (Response, _) = match passed_on {
                    Err(full) => (self.refusal(full), (begun, None)),
                    Ok(passed_on) => match router.call(request).await {
                        Ok(response) => (response, (begun, passed_on)),
                        Err(never) => match never {},
                    },
                };
                // What follows on this connection would be the rest of the body.
                if running.is_unread() || lengths.are_ambiguous() {
                    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
                }
                Ok::<_, std::convert::Infallible>(response.map(|body| holding(body, held)))
            }
        });
        // The watch below keeps the time of headers; see there.
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

    /// Counts a request that a listed proxy passed on for whom it comes from.
    fn passed_on(
        &self,
        request: &hyper::Request<Incoming>,
        ends: Ends,
        place: &Arc<Place>,
    ) -> Result<Option<PassedOn>, Full> {
        if !self.proxies.trusts(ends.peer.ip()) {
            return Ok(None);
        }
        place.pass_on(self.proxies.client(request.headers()).map(Client::from)).map(Some)
    }

    /// The answer to a request for whose client there is no place.
    fn refusal(&self, full: Full) -> Response {
        self.count_refusal(full);
        let fault = too_many(full, &self.places);
        let id = answer::fresh_request_id(&self.app);
        super::answer::refused(&self.app, StatusCode::SERVICE_UNAVAILABLE, &fault, &id)
    }

    fn count_refusal(&self, full: Full) {
        self.app.metrics.refused(ErrorCode::QueueOverloaded.as_str());
        self.app.metrics.connection_ended(match full {
            Full::Client => ConnectionEnd::AddressFull,
            Full::Server => ConnectionEnd::Full,
        });
    }

    /// Says that there are too many connections, and closes.
    fn refuse(self: &Arc<Self>, mut stream: TcpStream, full: Full) {
        self.count_refusal(full);
        let Ok(refusal) = Arc::clone(&self.refusals).try_acquire_owned() else { return };
        let connections = Arc::clone(self);
        self.open.spawn(async move {
            let _refusal = refusal;
            let answer = refused_unread(&connections.app, &too_many(full, &connections.places));
            let written = async {
                stream.write_all(answer.as_bytes()).await?;
                stream.shutdown().await?;
                // Its request was not read; closing now would take the answer away from it.
                throw_away(&mut stream).await
            };
            // A client that does not read is not waited for.
            let _ = tokio::time::timeout(REFUSAL, written).await;
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

/// Has the system give the connection up when the client's machine takes nothing for so long: also what stands in the system's
/// own buffers, such as the comments that keep a stream alive, and also after the connection was closed here.
#[cfg(target_os = "linux")]
fn bounded(stream: &TcpStream, limit: Duration) -> io::Result<()> {
    socket2::SockRef::from(stream).set_tcp_user_timeout(Some(limit))
}

/// Other systems have no such limit; what this process has not handed over is bounded all the same.
#[cfg(not(target_os = "linux"))]
fn bounded(_: &TcpStream, _: Duration) -> io::Result<()> {
    Ok(())
}

/// The body, which keeps its request running until it is over.
fn holding(body: Body, held: (RunningRequest, Option<PassedOn>)) -> Body {
    use http_body_util::BodyExt;
    Body::new(body.map_frame(move |frame| {
        let _held = &held;
        frame
    }))
}

/// Why there is no place for a connection or a request.
fn too_many(full: Full, places: &Places) -> Fault {
    let [all, of_one] = places.limits();
    let (message, max) = match full {
        Full::Server => ("The server has too many open connections.", all),
        Full::Client => ("Your address has as many open connections as one address may have.", of_one),
    };
    Fault::new(ErrorCode::QueueOverloaded, message)
        .with_details(json!({ "queue": { "max": max, "size": max } }))
        .with_hint("Try again in a second, and keep fewer connections open.")
}

/// The answer to a connection of which nothing is read, as it goes over the wire.
fn refused_unread(app: &App, fault: &Fault) -> String {
    let body = answer::json(&answer::failed(app, fault, None)).to_string();
    format!(
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 1\r\nConnection: close\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// The address that `server.bind` means.
///
/// # Errors
/// `INVALID_INPUT` for what is no address.
pub(super) fn bind_address(bind: &str) -> Result<IpAddr, Fault> {
    if bind == "localhost" {
        return Ok(IpAddr::from([127, 0, 0, 1]));
    }
    bind.trim_start_matches('[').trim_end_matches(']').parse().map_err(|_| {
        Fault::new(ErrorCode::InvalidInput, format!("server.bind is not an IP address: `{bind}`."))
            .with_hint("Use 127.0.0.1, ::1, or the address of a network interface.")
    })
}

/// Beyond this machine only who has a key may reach the server: without any key it does not start.
async fn guarded(app: &App, ip: IpAddr) -> Result<(), Fault> {
    if ip.is_loopback() || app.config.access.insecure || app.config.oauth.issuer.is_some() {
        return Ok(());
    }
    if needs_key(&app.config) && tenancy::list_keys(app.store().await?).await?.iter().any(|key| key.live) {
        return Ok(());
    }
    Err(Fault::new(
        ErrorCode::Forbidden,
        format!("server.bind = \"{ip}\" would open the server to the network, and there is no API key."),
    )
    .with_hint(
        "Make a key with `pairofcleats keys create`, configure [oauth], or bind 127.0.0.1; access.insecure = true opens it to everybody.",
    )
    .with_details(json!({ "bind": ip.to_string() })))
}

pub(super) fn unbound(address: SocketAddr, error: &io::Error) -> Fault {
    let (message, hint) = if error.kind() == io::ErrorKind::AddrInUse {
        (
            format!("{address} is in use."),
            "Stop what listens there, or choose another port with --port; 0 takes a free one.",
        )
    } else {
        (
            format!("{address} cannot be bound: {error}."),
            "Choose another address or port: server.bind, server.port.",
        )
    };
    Fault::new(ErrorCode::IllegalState, message).with_hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        for good in ["127.0.0.1", "localhost", "::1", "[::1]", "127.1.2.3"] {
            assert!(bind_address(good).is_ok_and(|ip| ip.is_loopback()), "{good}");
        }
        assert!(bind_address("0.0.0.0").is_ok_and(|ip| !ip.is_loopback()));
        let fault = bind_address("example.com").unwrap_err();
        assert_eq!(fault.code, ErrorCode::InvalidInput);
        assert!(fault.hint.is_some());
    }
}
