//! What outbound calls meet in tests: HTTP servers on loopback that answer as they are told, and a clock to wind.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use contract::clock::{Clock, SystemClock};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What a server does with one request.
pub(crate) enum Reply {
    /// Answers 200 with this JSON.
    Json(Value),
    /// Answers with this status and body.
    Plain(u16, String),
    /// Answers 302 to there.
    Redirect(String),
    /// Sends a body that never ends, as fast as it is read.
    Endless,
    /// Sends a byte now and then, so that the connection is never silent.
    Drip,
    /// Takes the request and says nothing.
    Silence,
}

/// A server on a port of its own; it ends with the value.
pub(crate) struct Web {
    /// `http://127.0.0.1:PORT`
    pub(crate) url: String,
    asked: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl Web {
    /// A server whose `answer` is asked for each path.
    pub(crate) async fn start(answer: impl Fn(&str) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (seen, answer) = (Arc::clone(&asked), Arc::new(answer));
        let task = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (seen, answer) = (Arc::clone(&seen), Arc::clone(&answer));
                tokio::spawn(async move {
                    // The other side may leave in the middle; that is what some tests are about.
                    let _ = serve(stream, &seen, &*answer).await;
                });
            }
        });
        Self { url, asked, task }
    }

    /// A server that always answers this.
    pub(crate) async fn saying(value: Value) -> Self {
        Self::start(move |_| Reply::Json(value.clone())).await
    }

    /// The paths that were asked for, in order.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// An address that nobody listens on.
pub(crate) async fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

async fn serve(
    mut stream: TcpStream,
    seen: &Mutex<Vec<String>>,
    answer: &(dyn Fn(&str) -> Reply + Send + Sync),
) -> std::io::Result<()> {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        request.push(stream.read_u8().await?);
    }
    let request = String::from_utf8(request).unwrap();
    let path = request.split(' ').nth(1).unwrap().to_owned();
    seen.lock().unwrap().push(path.clone());
    let whole = |status: u16, headers: &str, body: &str| {
        let length = body.len();
        format!(
            "HTTP/1.1 {status} Told\r\ncontent-length: {length}\r\n{headers}connection: close\r\n\r\n{body}"
        )
    };
    const OPEN: &[u8] = b"HTTP/1.1 200 Told\r\nconnection: close\r\n\r\n";
    match answer(&path) {
        Reply::Json(value) => {
            let headers = "content-type: application/json\r\n";
            stream.write_all(whole(200, headers, &value.to_string()).as_bytes()).await
        }
        Reply::Plain(status, body) => stream.write_all(whole(status, "", &body).as_bytes()).await,
        Reply::Redirect(to) => {
            stream.write_all(whole(302, &format!("location: {to}\r\n"), "").as_bytes()).await
        }
        Reply::Endless => {
            stream.write_all(OPEN).await?;
            loop {
                stream.write_all(&[b' '; 8192]).await?;
            }
        }
        Reply::Drip => {
            stream.write_all(OPEN).await?;
            loop {
                stream.write_all(b" ").await?;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
        Reply::Silence => std::future::pending().await,
    }
}

/// The machine's clock, and a hand to move its instants ahead.
pub(crate) struct Hand {
    started: Instant,
    ahead_ms: AtomicU64,
}

impl Hand {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { started: Instant::now(), ahead_ms: AtomicU64::new(0) })
    }

    /// Moves it ahead; it shows no time but what it is moved by.
    pub(crate) fn advance_ms(&self, ms: u64) {
        self.ahead_ms.fetch_add(ms, Ordering::SeqCst);
    }
}

impl Clock for Hand {
    fn now(&self) -> jiff::Timestamp {
        SystemClock.now()
    }

    fn instant(&self) -> Instant {
        self.started + Duration::from_millis(self.ahead_ms.load(Ordering::SeqCst))
    }
}
