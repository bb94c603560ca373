//! A server of files on loopback for tests of downloads: validators, ranges, redirects, cut connections.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// One file, and how it is served.
#[derive(Debug, Clone, Default)]
pub(crate) struct Page {
    /// What the file holds.
    pub(crate) body: Vec<u8>,
    /// Its validator; a request that names it is answered 304.
    pub(crate) etag: Option<String>,
    /// Another validator, compared as a text.
    pub(crate) last_modified: Option<String>,
    /// The connection ends after so many bytes of an answer's body.
    pub(crate) cut_at: Option<usize>,
    /// After so many bytes of an answer's body nothing more comes.
    pub(crate) hang_at: Option<usize>,
    /// Answers 302 to there instead.
    pub(crate) redirect: Option<String>,
    /// Says nothing about the length, so that only the end of the connection ends the body.
    pub(crate) no_length: bool,
}

impl Page {
    /// A file without any validator.
    pub(crate) fn of(body: impl Into<Vec<u8>>) -> Self {
        Self { body: body.into(), ..Self::default() }
    }

    /// A file with a strong validator.
    pub(crate) fn tagged(body: impl Into<Vec<u8>>, etag: &str) -> Self {
        Self { etag: Some(format!("\"{etag}\"")), ..Self::of(body) }
    }

    /// A redirect.
    pub(crate) fn to(place: impl Into<String>) -> Self {
        Self { redirect: Some(place.into()), ..Self::default() }
    }
}

/// The server, on a port of its own; it ends with the value.
pub(crate) struct FileServer {
    /// `http://127.0.0.1:PORT`
    pub(crate) url: String,
    pages: Arc<Mutex<HashMap<String, Page>>>,
    heads: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl FileServer {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (pages, heads) = <(Arc<Mutex<HashMap<String, Page>>>, Arc<Mutex<Vec<String>>>)>::default();
        let (shown, seen) = (Arc::clone(&pages), Arc::clone(&heads));
        let task = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (shown, seen) = (Arc::clone(&shown), Arc::clone(&seen));
                tokio::spawn(async move {
                    // The other side may leave in the middle; that is what some tests are about.
                    let _ = serve(stream, &shown, &seen).await;
                });
            }
        });
        Self { url, pages, heads, task }
    }

    /// Serves `page` at `path` from now on, and gives its address.
    pub(crate) fn put(&self, path: &str, page: Page) -> String {
        self.pages.lock().unwrap().insert(path.to_owned(), page);
        format!("{}{path}", self.url)
    }

    /// The heads of the requests so far, in lower case, in order.
    pub(crate) fn heads(&self) -> Vec<String> {
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
    pages: &Mutex<HashMap<String, Page>>,
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
    let page = pages.lock().unwrap().get(&path).cloned();
    let Some(page) = page else {
        return stream.write_all(b"HTTP/1.1 404 No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").await;
    };
    let (text, body) = answer(&page, &head);
    stream.write_all(text.as_bytes()).await?;
    let end = page.cut_at.map_or(body.len(), |cut| cut.min(body.len()));
    if let Some(hang_at) = page.hang_at {
        stream.write_all(&body[..hang_at.min(end)]).await?;
        return std::future::pending().await;
    }
    stream.write_all(&body[..end]).await?;
    stream.shutdown().await
}

fn answer<'a>(page: &'a Page, head: &str) -> (String, &'a [u8]) {
    let sent =
        |name: &str| head.lines().find_map(|line| line.strip_prefix(&format!("{name}: "))).map(str::to_owned);
    let fits = |name: &str, value: &Option<String>| {
        value.is_some() && sent(name) == value.as_ref().map(|value| value.to_lowercase())
    };
    if let Some(place) = &page.redirect {
        let text = format!(
            "HTTP/1.1 302 There\r\nlocation: {place}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        );
        return (text, &[]);
    }
    if fits("if-none-match", &page.etag) || fits("if-modified-since", &page.last_modified) {
        return ("HTTP/1.1 304 Same\r\nconnection: close\r\n\r\n".to_owned(), &[]);
    }
    let mut more = String::new();
    for (name, value) in [("etag", &page.etag), ("last-modified", &page.last_modified)] {
        if let Some(value) = value {
            more.push_str(&format!("{name}: {value}\r\n"));
        }
    }
    let range = sent("range").and_then(|range| range.strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok());
    let same = fits("if-range", &page.etag) || fits("if-range", &page.last_modified);
    let (status, body): (u16, &[u8]) = match range {
        Some(from) if same && from >= page.body.len() => (416, &[]),
        Some(from) if same => {
            let (last, all) = (page.body.len() - 1, page.body.len());
            more.push_str(&format!("content-range: bytes {from}-{last}/{all}\r\n"));
            (206, &page.body[from..])
        }
        _ => (200, &page.body),
    };
    if !page.no_length {
        more.push_str(&format!("content-length: {}\r\n", body.len()));
    }
    (format!("HTTP/1.1 {status} Told\r\n{more}connection: close\r\n\r\n"), body)
}
