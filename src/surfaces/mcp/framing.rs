//! The framing of before: every message on stdin and stdout behind a `Content-Length` header (T §6.3).
//!
//! Only for clients that ask for it (`mcp.transport = "legacy"`). Two pumps translate between frames and the
//! lines that the protocol uses today, so that everything behind them is the same.

use std::io;

use serde_json::Value;
use tokio::io::{
    AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader,
    DuplexStream,
};

/// Longer header lines are none.
const HEADER_BYTES_MAX: u64 = 1024;
/// Between the pumps and the protocol.
const PIPE_BYTES: usize = 64 * 1024;

/// The lines behind framed `input` and `output`: what the client wrote, and where answers go.
pub(super) fn unframed(
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
    message_bytes_max: usize,
) -> (DuplexStream, DuplexStream) {
    let (lines_in, reader) = tokio::io::duplex(PIPE_BYTES);
    let (writer, lines_out) = tokio::io::duplex(PIPE_BYTES);
    tokio::spawn(async move {
        if let Err(error) = to_lines(BufReader::new(input), lines_in, message_bytes_max).await {
            tracing::warn!(%error, "the client's framing cannot be read");
        }
    });
    tokio::spawn(async move {
        if let Err(error) = to_frames(BufReader::new(lines_out), output).await {
            tracing::debug!(%error, "the client does not read any more");
        }
    });
    (reader, writer)
}

/// Frames to lines, until the input ends or breaks its rules: after a wrong length nothing can be trusted.
async fn to_lines(
    mut input: impl AsyncBufRead + Unpin,
    mut lines: impl AsyncWrite + Unpin,
    bytes_max: usize,
) -> io::Result<()> {
    while let Some(length) = length(&mut input).await? {
        if length > bytes_max {
            return Err(io::Error::other(format!(
                "a message of {length} bytes, more than mcp.message_bytes_max"
            )));
        }
        let mut body = vec![0; length];
        input.read_exact(&mut body).await?;
        // A body may be laid out over several lines; what is no JSON is handed on for the protocol to answer.
        let line = match serde_json::from_slice::<Value>(&body) {
            Ok(message) => message.to_string().into_bytes(),
            Err(_) => body.into_iter().filter(|byte| *byte != b'\n').collect(),
        };
        lines.write_all(&line).await?;
        lines.write_all(b"\n").await?;
    }
    Ok(())
}

/// The length of the next body; None at the end of the input.
async fn length(input: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<usize>> {
    let mut length = None;
    loop {
        let mut line = Vec::new();
        let mut bounded = (&mut *input).take(HEADER_BYTES_MAX);
        if bounded.read_until(b'\n', &mut line).await? == 0 {
            return Ok(None);
        }
        let line = String::from_utf8_lossy(&line);
        if !line.ends_with('\n') {
            return Err(io::Error::other("a header line does not end"));
        }
        let line = line.trim();
        match line.split_once(':') {
            None if line.is_empty() && length.is_some() => return Ok(length),
            None if line.is_empty() => {}
            None => return Err(io::Error::other("a header line without a colon")),
            Some((name, value)) if name.trim().eq_ignore_ascii_case("content-length") => {
                length = Some(value.trim().parse().map_err(io::Error::other)?);
            }
            Some(_) => {}
        }
    }
}

async fn to_frames(
    mut lines: impl AsyncBufRead + Unpin,
    mut output: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line).await? > 0 {
        let body = line.strip_suffix(b"\n").unwrap_or(&line);
        output.write_all(format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes()).await?;
        output.write_all(body).await?;
        output.flush().await?;
        line.clear();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(framed: &str) -> (String, bool) {
        let mut lines = Vec::new();
        let outcome = to_lines(framed.as_bytes(), &mut lines, 64).await;
        (String::from_utf8(lines).unwrap(), outcome.is_ok())
    }

    #[tokio::test]
    async fn frames_become_lines() {
        let framed =
            "Content-Length: 13\r\n\r\n{\n  \"a\": 1\n}\n\ncontent-length:2\r\nContent-Type: x\r\n\r\n{}";
        assert_eq!(lines(framed).await, ("{\"a\":1}\n{}\n".to_owned(), true));
        assert_eq!(lines("").await, (String::new(), true));
    }

    #[tokio::test]
    async fn what_cannot_be_framed_ends_the_input() {
        for bad in [
            "Content-Length: x\r\n\r\n{}",
            "Content-Length: 65\r\n\r\n",
            "nonsense\r\n\r\n",
            "Content-Length: 9\r\n\r\n{}",
        ] {
            assert_eq!(lines(bad).await, (String::new(), false), "{bad}");
        }
        assert!(!lines(&"x".repeat(4096)).await.1);
    }

    #[tokio::test]
    async fn lines_become_frames() {
        let mut framed = Vec::new();
        to_frames("{\"ä\":1}\n{}\n".as_bytes(), &mut framed).await.unwrap();
        assert_eq!(
            String::from_utf8(framed).unwrap(),
            "Content-Length: 8\r\n\r\n{\"ä\":1}Content-Length: 2\r\n\r\n{}"
        );
    }
}
