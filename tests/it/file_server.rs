//! A server of files on loopback for tests of downloads: validators, ranges, redirects, cut connections.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A file and how the server serves it.
#[derive(Debug, Clone, Default)]
pub(crate) struct ServedFile {
    pub(crate) body: Vec<u8>,
    /// Its `ETag`; a request with this validator is answered 304.
    pub(crate) etag: Option<String>,
    /// Its `Last-Modified`, also a validator, compared as text.
    pub(crate) last_modified: Option<String>,
    /// The connection is closed after this many bytes of the body.
    pub(crate) cut_at: Option<usize>,
    /// After this many bytes of the body, the connection stays open and sends nothing more.
    pub(crate) hang_at: Option<usize>,
    /// Answers 302 with this location instead.
    pub(crate) redirect: Option<String>,
    /// Sends no `Content-Length`, so that only the end of the connection ends the body.
    pub(crate) no_length: bool,
    /// Its `Content-Type`.
    pub(crate) content_type: Option<&'static str>,
    /// Answers requests for a part with the whole file.
    pub(crate) ignores_ranges: bool,
    /// Sends a few bytes at a time, 20 ms apart.
    pub(crate) drips: bool,
    /// Answers 401 to requests without this `Authorization`, in lower case.
    pub(crate) authorization: Option<String>,
}

impl ServedFile {
    /// A file without any validator.
    pub(crate) fn new(body: impl Into<Vec<u8>>) -> Self {
        Self { body: body.into(), ..Self::default() }
    }

    /// A file with a strong validator.
    pub(crate) fn with_etag(body: impl Into<Vec<u8>>, etag: &str) -> Self {
        Self { etag: Some(format!("\"{etag}\"")), ..Self::new(body) }
    }

    /// A redirect to `location`.
    pub(crate) fn redirect(location: impl Into<String>) -> Self {
        Self { redirect: Some(location.into()), ..Self::default() }
    }
}

/// The server, on a port of its own; it stops when it is dropped.
pub(crate) struct FileServer {
    /// `http://127.0.0.1:PORT`
    pub(crate) url: String,
    files: Arc<Mutex<HashMap<String, ServedFile>>>,
    heads: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl FileServer {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (files, heads) = <(Arc<Mutex<HashMap<String, ServedFile>>>, Arc<Mutex<Vec<String>>>)>::default();
        let (served, requests) = (Arc::clone(&files), Arc::clone(&heads));
        let task = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (served, requests) = (Arc::clone(&served), Arc::clone(&requests));
                tokio::spawn(async move {
                    // Some tests close the connection before the answer ends.
                    let _ = serve(stream, &served, &requests).await;
                });
            }
        });
        Self { url, files, heads, task }
    }

    /// Serves `file` at `path` from now on; returns its URL.
    pub(crate) fn put(&self, path: &str, file: ServedFile) -> String {
        self.files.lock().unwrap().insert(path.to_owned(), file);
        format!("{}{path}", self.url)
    }

    /// The request lines and headers of the requests so far, in lower case, in order.
    pub(crate) fn request_heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

impl Drop for FileServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(
    mut stream: TcpStream,
    files: &Mutex<HashMap<String, ServedFile>>,
    heads: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        request.push(stream.read_u8().await?);
    }
    let head = String::from_utf8(request).unwrap();
    let path = head.split(' ').nth(1).unwrap().to_owned();
    let head = head.to_lowercase();
    heads.lock().unwrap().push(head.clone());
    let file = files.lock().unwrap().get(&path).cloned();
    let Some(file) = file else {
        return stream
            .write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
            .await;
    };
    let (text, body) = answer(&file, &head);
    stream.write_all(text.as_bytes()).await?;
    if file.drips {
        for bytes in body.chunks(10) {
            stream.write_all(bytes).await?;
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        return stream.shutdown().await;
    }
    let end = file.cut_at.map_or(body.len(), |cut| cut.min(body.len()));
    if let Some(hang_at) = file.hang_at {
        stream.write_all(&body[..hang_at.min(end)]).await?;
        return std::future::pending().await;
    }
    stream.write_all(&body[..end]).await?;
    stream.shutdown().await
}

fn answer<'a>(file: &'a ServedFile, head: &str) -> (String, &'a [u8]) {
    let sent =
        |name: &str| head.lines().find_map(|line| line.strip_prefix(&format!("{name}: "))).map(str::to_owned);
    let matches = |name: &str, value: &Option<String>| {
        value.is_some() && sent(name) == value.as_ref().map(|value| value.to_lowercase())
    };
    if file.authorization.is_some() && sent("authorization") != file.authorization {
        return (
            "HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_owned(),
            &[],
        );
    }
    if let Some(location) = &file.redirect {
        let text = format!(
            "HTTP/1.1 302 Found\r\nlocation: {location}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        );
        return (text, &[]);
    }
    if matches("if-none-match", &file.etag) || matches("if-modified-since", &file.last_modified) {
        return ("HTTP/1.1 304 Not Modified\r\nconnection: close\r\n\r\n".to_owned(), &[]);
    }
    let mut headers = String::new();
    for (name, value) in [("etag", &file.etag), ("last-modified", &file.last_modified)] {
        if let Some(value) = value {
            headers.push_str(&format!("{name}: {value}\r\n"));
        }
    }
    if let Some(content_type) = file.content_type {
        headers.push_str(&format!("content-type: {content_type}\r\n"));
    }
    let range = sent("range").filter(|_| !file.ignores_ranges);
    let range = range.and_then(|range| range.strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok());
    let unchanged = sent("if-range").is_none()
        || matches("if-range", &file.etag)
        || matches("if-range", &file.last_modified);
    let (status, body): (u16, &[u8]) = match range {
        Some(from) if unchanged && from >= file.body.len() => (416, &[]),
        Some(from) if unchanged => {
            let (last, all) = (file.body.len() - 1, file.body.len());
            headers.push_str(&format!("content-range: bytes {from}-{last}/{all}\r\n"));
            (206, &file.body[from..])
        }
        _ => (200, &file.body),
    };
    if !file.no_length {
        headers.push_str(&format!("content-length: {}\r\n", body.len()));
    }
    (format!("HTTP/1.1 {status} Status\r\n{headers}connection: close\r\n\r\n"), body)
}
