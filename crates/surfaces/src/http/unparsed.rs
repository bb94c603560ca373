//! Adds a body to the answers of the HTTP library to requests that it cannot parse and that therefore reach no route: malformed
//! ones, and those whose address or headers are too long.
//!
//! The library has no hook for these answers, so they are recognised when they are written: they have only the three headers that
//! it always adds, and every answer of a route has more.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::answer;
use contract::{ErrorCode, Fault};
use gate::app::App;

/// The headers of an answer without a route.
const BARE_HEADERS: [&str; 3] = ["connection", "content-length", "date"];
/// Upper bound on the size of an answer without a route.
const BARE_BYTES_MAX: usize = 512;

/// A connection on which refused requests are answered with the error envelope.
pub(super) struct AnsweringStream<S> {
    inner: S,
    app: Arc<App>,
    pending: Option<Replacement>,
}

/// An answer that replaces another.
struct Replacement {
    bytes: Vec<u8>,
    written: usize,
    /// Number of bytes that it replaces.
    replaced: usize,
}

impl<S> AnsweringStream<S> {
    pub(super) fn new(inner: S, app: Arc<App>) -> Self {
        Self { inner, app, pending: None }
    }

    /// Returns the answer that replaces `bytes`, if they do not come from a route.
    fn replacement(&self, bytes: &[u8]) -> Option<Replacement> {
        let (status, fault) = refusal_of(bytes)?;
        self.app.metrics.record_refusal(fault.code.as_str());
        let id = answer::fresh_request_id(&self.app);
        let body = answer::json(&answer::failed(&self.app, &fault, Some(id))).to_string();
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        Some(Replacement { bytes: (head + &body).into_bytes(), written: 0, replaced: bytes.len() })
    }
}

impl<S: AsyncWrite + Unpin> AnsweringStream<S> {
    /// Writes the rest of the replacement; then the replaced bytes count as written.
    fn poll_replacement(
        &mut self,
        context: &mut Context<'_>,
        mut pending: Replacement,
    ) -> Poll<io::Result<usize>> {
        while pending.written < pending.bytes.len() {
            match Pin::new(&mut self.inner).poll_write(context, &pending.bytes[pending.written..]) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(count)) => pending.written += count,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => {
                    self.pending = Some(pending);
                    return Poll::Pending;
                }
            }
        }
        Poll::Ready(Ok(pending.replaced))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for AnsweringStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for AnsweringStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.pending.take().or_else(|| self.replacement(bytes)) {
            Some(pending) => self.poll_replacement(context, pending),
            None => Pin::new(&mut self.inner).poll_write(context, bytes),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut filled = slices.iter().filter(|slice| !slice.is_empty());
        match (filled.next(), filled.next()) {
            (Some(only), None) => self.poll_write(context, only),
            _ => Pin::new(&mut self.inner).poll_write_vectored(context, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some(pending) = self.pending.take() {
            ready!(self.poll_replacement(context, pending))?;
        }
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

/// Returns the status line and the fault of an answer that does not come from a route; `None` for any other bytes.
fn refusal_of(bytes: &[u8]) -> Option<(&str, Fault)> {
    let text = std::str::from_utf8(bytes.get(..bytes.len().min(BARE_BYTES_MAX))?).ok()?;
    let mut lines = text.strip_prefix("HTTP/1.1 ")?.strip_suffix("\r\n\r\n")?.split("\r\n");
    let status = lines.next()?;
    let code: u16 = status.get(..3)?.parse().ok()?;
    let is_bare = lines.all(|line| {
        let name = line.split(':').next().unwrap_or_default();
        BARE_HEADERS.iter().any(|bare| name.eq_ignore_ascii_case(bare))
    });
    if !is_bare || !(400..500).contains(&code) {
        return None;
    }
    let (message, hint) = match code {
        414 => ("The address of the request is too long.", "Send the arguments in the body of a POST."),
        431 => ("The headers of the request are too large.", "Send fewer or shorter headers and cookies."),
        _ => {
            ("The request is not valid HTTP/1.1.", "Check the request line, the headers and their line ends.")
        }
    };
    Some((status, Fault::new(ErrorCode::InvalidRequest, message).with_hint(hint)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_answers_without_a_route_are_replaced() {
        let bare = "HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\ndate: x\r\n\r\n";
        let (status, fault) = refusal_of(bare.as_bytes()).unwrap();
        assert_eq!(status, "431 Request Header Fields Too Large");
        assert_eq!(
            (fault.code, fault.message.as_str()),
            (ErrorCode::InvalidRequest, "The headers of the request are too large.")
        );
        for other in [
            "HTTP/1.1 404 Not Found\r\ncontent-type: application/json\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\ndate: x\r\n\r\n",
            "HTTP/1.1 400 Bad Request\r\ncontent-length: 2\r\n\r\n{}",
            "data: HTTP/1.1 400 Bad Request\r\n\r\n",
            "",
        ] {
            assert!(refusal_of(other.as_bytes()).is_none(), "{other}");
        }
    }
}
