//! HTTP as far as git needs it: one request per connection, and answers in chunks, so that a client notices a cut.

use std::io;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, copy};
use tokio::net::tcp::{ReadHalf, WriteHalf};

use super::faults::Plan;

/// A longer head of a request is a mistake.
const HEAD_BYTES_MAX: usize = 64 * 1024;
/// The pause before each byte of an answer that trickles.
const TRICKLE_PAUSE: Duration = Duration::from_millis(200);
/// The first bytes of every pack.
const PACK_START: &[u8] = b"PACK\0\0\0\x02";
/// Suffixes of request paths that follow the path of the repository.
const RESOURCES: &[&str] = &["/info/refs", "/git-upload-pack", "/git-receive-pack", "/HEAD", "/objects/"];

/// A request as the host remembers it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SeenRequest {
    pub(crate) method: String,
    /// The path as it was sent, without the query.
    pub(crate) path: String,
    pub(crate) query: String,
    /// `true` if it had an `Authorization`.
    pub(crate) has_authorization: bool,
    /// Its `Git-Protocol`.
    pub(crate) git_protocol: Option<String>,
}

/// A request whose body is still to be read.
pub(super) struct Request {
    pub(super) method: String,
    path: String,
    pub(super) query: String,
    /// Names are in lower case.
    headers: Vec<(String, String)>,
}

impl Request {
    pub(super) async fn read(reader: &mut BufReader<ReadHalf<'_>>) -> io::Result<Self> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            if head.len() == HEAD_BYTES_MAX {
                return Err(io::Error::other("the head of a request is too long"));
            }
            head.push(reader.read_u8().await?);
        }
        let head = String::from_utf8_lossy(&head);
        let mut lines = head.lines();
        let mut words = lines.next().unwrap_or_default().split(' ');
        let method = words.next().unwrap_or_default().to_owned();
        let target = words.next().unwrap_or_default();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let headers = lines.filter_map(|line| line.split_once(':'));
        let headers = headers.map(|(name, value)| (name.to_lowercase(), value.trim().to_owned())).collect();
        Ok(Self { method, path: path.to_owned(), query: query.to_owned(), headers })
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn seen(&self) -> SeenRequest {
        SeenRequest {
            method: self.method.clone(),
            path: self.path.clone(),
            query: self.query.clone(),
            has_authorization: self.header("authorization").is_some(),
            git_protocol: self.header("git-protocol").map(str::to_owned),
        }
    }

    /// The path, decoded.
    pub(super) fn decoded_path(&self) -> String {
        percent_decode_str(&self.path).decode_utf8_lossy().into_owned()
    }

    /// The path and the query.
    pub(super) fn target(&self) -> String {
        format!("{}{}", self.path, self.question())
    }

    /// The name of the repository, such as `owner/name`, and what follows it in the requested URL.
    pub(super) fn repository(&self) -> (String, String) {
        let path = self.decoded_path();
        let end = RESOURCES.iter().filter_map(|resource| path.find(resource)).min();
        let (name, rest) = path.split_at(end.unwrap_or(path.len()));
        let name = name.trim_matches('/');
        let name = name.strip_suffix(".git").unwrap_or(name);
        (name.to_owned(), format!("{rest}{}", self.question()))
    }

    fn question(&self) -> String {
        if self.query.is_empty() { String::new() } else { format!("?{}", self.query) }
    }

    /// Copies the body, whose length is sent before it or before each of its chunks.
    pub(super) async fn copy_body(
        &self,
        reader: &mut BufReader<ReadHalf<'_>>,
        sink: &mut (impl AsyncWrite + Unpin),
    ) -> io::Result<()> {
        if self.header("transfer-encoding").is_none() {
            let length = self.header("content-length").unwrap_or("0");
            let length = length.parse::<u64>().map_err(io::Error::other)?;
            copy(&mut AsyncReadExt::take(&mut *reader, length), sink).await?;
            return Ok(());
        }
        let mut line = String::new();
        loop {
            line.clear();
            reader.read_line(&mut line).await?;
            let length = u64::from_str_radix(line.trim(), 16).map_err(io::Error::other)?;
            copy(&mut AsyncReadExt::take(&mut *reader, length), sink).await?;
            // The end of the chunk, or of the body.
            line.clear();
            reader.read_line(&mut line).await?;
            if length == 0 {
                return Ok(());
            }
        }
    }
}

/// An answer that does not come from git.
pub(super) struct FixedAnswer {
    status: u16,
    header: (&'static str, String),
    body: &'static str,
}

impl FixedAnswer {
    pub(super) fn new(status: u16, header: (&'static str, String), body: &'static str) -> Self {
        Self { status, header, body }
    }
}

/// Sends an answer as slowly and as incompletely as it was planned.
pub(super) struct Answer<'a> {
    writer: WriteHalf<'a>,
    has_body: bool,
    trickles: bool,
    cut: Option<Cut>,
}

impl<'a> Answer<'a> {
    pub(super) fn new(writer: WriteHalf<'a>, request: &Request, plan: &Plan) -> Self {
        let cut = plan.cut_after.map(Cut::after);
        Self { writer, has_body: request.method != "HEAD", trickles: plan.trickles, cut }
    }

    /// Sends a whole answer.
    pub(super) async fn send(&mut self, fixed: &FixedAnswer) -> io::Result<()> {
        let (name, value) = &fixed.header;
        self.head(fixed.status, &[((*name).to_owned(), value.clone())]).await?;
        self.body(fixed.body.as_bytes()).await?;
        self.end().await
    }

    pub(super) async fn head(&mut self, status: u16, headers: &[(String, String)]) -> io::Result<()> {
        let mut head =
            format!("HTTP/1.1 {status} Answer\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n");
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        self.writer.write_all(head.as_bytes()).await
    }

    /// Sends a part of the body. An error means that the connection is to be closed at once.
    pub(super) async fn body(&mut self, bytes: &[u8]) -> io::Result<()> {
        if !self.has_body {
            return Ok(());
        }
        let allowed = self.cut.as_mut().map_or(bytes.len(), |cut| cut.allow(bytes));
        let size = if self.trickles { 1 } else { bytes.len().max(1) };
        for part in bytes[..allowed].chunks(size) {
            if self.trickles {
                tokio::time::sleep(TRICKLE_PAUSE).await;
            }
            let mut chunk = format!("{:x}\r\n", part.len()).into_bytes();
            chunk.extend_from_slice(part);
            chunk.extend_from_slice(b"\r\n");
            self.writer.write_all(&chunk).await?;
        }
        if allowed < bytes.len() { Err(io::ErrorKind::ConnectionAborted.into()) } else { Ok(()) }
    }

    pub(super) async fn end(&mut self) -> io::Result<()> {
        if self.has_body {
            self.writer.write_all(b"0\r\n\r\n").await?;
        }
        self.writer.shutdown().await
    }
}

/// The point in a pack at which the connection is closed.
pub(super) struct Cut {
    /// The number of bytes of the pack that may still be sent.
    left: usize,
    /// The last bytes before the pack, in case it starts in the middle of what is sent at once.
    before: Vec<u8>,
    is_in_pack: bool,
}

impl Cut {
    pub(super) fn after(left: usize) -> Self {
        Self { left, before: Vec::new(), is_in_pack: false }
    }

    /// Returns how many of the next bytes may be sent.
    pub(super) fn allow(&mut self, bytes: &[u8]) -> usize {
        let mut allowed = self.left;
        if !self.is_in_pack {
            let known = self.before.len();
            self.before.extend_from_slice(bytes);
            let start = self.before.windows(PACK_START.len()).position(|window| window == PACK_START);
            let Some(start) = start else {
                let superfluous = self.before.len().saturating_sub(PACK_START.len() - 1);
                self.before.drain(..superfluous);
                return bytes.len();
            };
            self.is_in_pack = true;
            allowed = start.saturating_add(self.left).saturating_sub(known);
        }
        let sent = allowed.min(bytes.len());
        self.left = allowed - sent;
        sent
    }
}
