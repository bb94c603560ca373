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
use axum::http::{HeaderValue, header};
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
use super::connection::{Patience, Running, Watched, throw_away};
use super::routes::router;
use super::tls::Tls;
use crate::app::App;
use crate::contract::{ErrorCode, Fault};
use crate::surfaces::answer;
use crate::tenancy::{self, TokenVerifier};

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
}

/// Binds `server.bind` and `server.port`; port 0 takes a free one.
///
/// # Errors
/// `FORBIDDEN` for an address beyond loopback without keys, `INVALID_INPUT` for what is no address, no
/// certificate or no issuer, `ILLEGAL_STATE` when the port is taken; storage faults.
pub async fn listen(app: &App) -> Result<Listening, Fault> {
    let server = &app.config.server;
    let address = SocketAddr::new(bind_address(&server.bind)?, server.port);
    let tls = Tls::configured(server)?;
    TokenVerifier::configured(&app.config.oauth, Arc::clone(&app.clock))?;
    guarded(app, address.ip()).await?;
    let listener = TcpListener::bind(address).await.map_err(|error| unbound(address, &error))?;
    let address = listener
        .local_addr()
        .map_err(|error| Fault::internal("The bound address could not be read.", error))?;
    Ok(Listening { listener, address, tls })
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
        let connections = Arc::new(Connections {
            app: Arc::clone(app),
            router,
            tls: self.tls,
            local: self.address,
            places: Arc::new(Semaphore::new(app.config.server.connections_max)),
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
    places: Arc<Semaphore>,
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
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else { return self.refuse(stream) };
        let connections = Arc::clone(self);
        self.open.spawn(async move {
            let _place = place;
            let _counted = Counted::new(&connections.app);
            let served = pin!(connections.serve(stream, peer));
            let killed = pin!(connections.kill.cancelled());
            if let Either::Left((Err(error), _)) = futures::future::select(served, killed).await {
                tracing::debug!(%error, "a connection ended early");
            }
        });
    }

    async fn serve(
        &self,
        stream: TcpStream,
        peer: SocketAddr,
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let local = stream.local_addr().unwrap_or(self.local);
        let ends = Ends { peer, local };
        match &self.tls {
            None => self.speak(stream, ends).await,
            Some(tls) => {
                let limit = Duration::from_millis(self.app.config.server.first_byte_ms);
                let stream = tokio::time::timeout(limit, tls.acceptor().accept(stream)).await??;
                self.speak(stream, ends).await
            }
        }
    }

    /// HTTP/1.1 over one connection, until it ends or the server drains.
    async fn speak(
        &self,
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
        ends: Ends,
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let running = Running::default();
        let stream = Watched::new(stream, Patience::from(&self.app.config.server), running.clone());
        let router = self.router.clone();
        let service = service_fn(move |request: hyper::Request<Incoming>| {
            let (mut router, begun) = (router.clone(), running.begin());
            let running = running.clone();
            let mut request: Request = request.map(|body| Body::new(running.noting(body)));
            request.extensions_mut().insert(ends);
            async move {
                let mut response: Response = match router.call(request).await {
                    Ok(response) => response,
                    Err(never) => match never {},
                };
                // What follows on this connection would be the rest of the body.
                if running.is_unread() {
                    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
                }
                Ok::<_, std::convert::Infallible>(response.map(|body| holding(body, begun)))
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

    /// Says that there are too many connections, and closes.
    fn refuse(self: &Arc<Self>, mut stream: TcpStream) {
        let Ok(refusal) = Arc::clone(&self.refusals).try_acquire_owned() else { return };
        self.app.metrics.refused(ErrorCode::QueueOverloaded.as_str());
        let connections = Arc::clone(self);
        self.open.spawn(async move {
            let _refusal = refusal;
            let answer = too_many(&connections.app);
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

/// The body, which keeps its request running until it is over.
fn holding(body: Body, running: super::connection::RunningRequest) -> Body {
    use http_body_util::BodyExt;
    Body::new(body.map_frame(move |frame| {
        let _held = &running;
        frame
    }))
}

/// The answer to a connection too many, as it goes over the wire.
fn too_many(app: &App) -> String {
    let max = app.config.server.connections_max;
    let fault = Fault::new(ErrorCode::QueueOverloaded, "The server has too many open connections.")
        .with_details(json!({ "queue": { "max": max, "size": max } }))
        .with_hint("Try again in a second, and keep fewer connections open.");
    let body = answer::json(&answer::failed(app, &fault, None)).to_string();
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

fn unbound(address: SocketAddr, error: &io::Error) -> Fault {
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
