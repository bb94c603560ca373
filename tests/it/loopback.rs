//! For tests of outbound calls: HTTP servers on loopback with configured replies, and a clock that is advanced by hand.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use contract::clock::{Clock, SystemClock};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A server's reaction to one request.
pub(crate) enum Reply {
    /// Answers 200 with this JSON.
    Json(Value),
    /// Answers with this status and body.
    Plain(u16, String),
    /// Answers 302 with this location.
    Redirect(String),
    /// Sends a body that never ends, as fast as it is read.
    Endless,
    /// Sends a byte every 20 ms, so that the connection is never idle.
    Drip,
    /// Reads the request and never answers.
    Silence,
}

/// A server on a free port; it stops when dropped.
pub(crate) struct FakeServer {
    /// `http://127.0.0.1:PORT`
    pub(crate) url: String,
    requested: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl FakeServer {
    /// Starts a server that replies to each path with `reply_to`.
    pub(crate) async fn start(reply_to: impl Fn(&str) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requested = Arc::new(Mutex::new(Vec::new()));
        let (recorded, reply_to) = (Arc::clone(&requested), Arc::new(reply_to));
        let task = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (recorded, reply_to) = (Arc::clone(&recorded), Arc::clone(&reply_to));
                tokio::spawn(async move {
                    // Some tests disconnect during the reply.
                    let _ = serve(stream, &recorded, &*reply_to).await;
                });
            }
        });
        Self { url, requested, task }
    }

    /// Starts a server that always replies with this JSON.
    pub(crate) async fn replying_with(value: Value) -> Self {
        Self::start(move |_| Reply::Json(value.clone())).await
    }

    /// The requested paths, in order.
    pub(crate) fn requested_paths(&self) -> Vec<String> {
        self.requested.lock().unwrap().clone()
    }
}

impl Drop for FakeServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A URL on which nothing listens.
pub(crate) async fn refusing_url() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

async fn serve(
    mut stream: TcpStream,
    requested: &Mutex<Vec<String>>,
    reply_to: &(dyn Fn(&str) -> Reply + Send + Sync),
) -> std::io::Result<()> {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        request.push(stream.read_u8().await?);
    }
    let request = String::from_utf8(request).unwrap();
    let path = request.split(' ').nth(1).unwrap().to_owned();
    requested.lock().unwrap().push(path.clone());
    let complete_response = |status: u16, headers: &str, body: &str| {
        let length = body.len();
        format!(
            "HTTP/1.1 {status} Reply\r\ncontent-length: {length}\r\n{headers}connection: close\r\n\r\n{body}"
        )
    };
    const HEAD_WITHOUT_LENGTH: &[u8] = b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n";
    match reply_to(&path) {
        Reply::Json(value) => {
            let headers = "content-type: application/json\r\n";
            stream.write_all(complete_response(200, headers, &value.to_string()).as_bytes()).await
        }
        Reply::Plain(status, body) => stream.write_all(complete_response(status, "", &body).as_bytes()).await,
        Reply::Redirect(location) => {
            stream
                .write_all(complete_response(302, &format!("location: {location}\r\n"), "").as_bytes())
                .await
        }
        Reply::Endless => {
            stream.write_all(HEAD_WITHOUT_LENGTH).await?;
            loop {
                stream.write_all(&[b' '; 8192]).await?;
            }
        }
        Reply::Drip => {
            stream.write_all(HEAD_WITHOUT_LENGTH).await?;
            loop {
                stream.write_all(b" ").await?;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
        Reply::Silence => std::future::pending().await,
    }
}

/// A clock whose time of day is real and whose instants only advance by hand.
pub(crate) struct ManualClock {
    started: Instant,
    ahead_ms: AtomicU64,
}

impl ManualClock {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { started: Instant::now(), ahead_ms: AtomicU64::new(0) })
    }

    /// Advances the instants; they do not advance otherwise.
    pub(crate) fn advance_ms(&self, ms: u64) {
        self.ahead_ms.fetch_add(ms, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> jiff::Timestamp {
        SystemClock.now()
    }

    fn instant(&self) -> Instant {
        self.started + Duration::from_millis(self.ahead_ms.load(Ordering::SeqCst))
    }
}
