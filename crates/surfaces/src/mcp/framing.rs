//! Splits a byte stream into messages: by lines, as the protocol specifies, or by `Content-Length` headers
//! (`mcp.transport = "legacy"`).
//!
//! Messages over the limit and unframed input are skipped and reported; reading then continues.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// The way in which messages are delimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// One message per line.
    Lines,
    /// A header with the length in bytes, an empty line, then the message.
    Headers,
}

/// The next item of the input.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// The bytes of a message.
    Message(Vec<u8>),
    /// A message over the limit was skipped.
    TooLong,
    /// Bytes outside of any frame were skipped, for this reason.
    Unframed(&'static str),
}

/// The number of bytes of a header line that are kept: its last ones. A longer line is invalid.
const HEADER_BYTES_MAX: usize = 1024;
const CONTENT_LENGTH: &[u8] = b"content-length:";

/// Reads the messages of an input.
pub(super) struct Frames<R> {
    input: R,
    framing: Framing,
    bytes_max: usize,
    /// After invalid input: skip everything until the next `Content-Length`.
    is_resynchronising: bool,
}

impl<R: AsyncBufRead + Unpin> Frames<R> {
    /// Creates a reader of `input`; messages of more than `bytes_max` bytes are skipped.
    pub(super) fn new(input: R, framing: Framing, bytes_max: usize) -> Self {
        Self { input, framing, bytes_max, is_resynchronising: false }
    }

    /// Returns the next frame; `None` at the end of the input.
    pub(super) async fn next(&mut self) -> io::Result<Option<Frame>> {
        match self.framing {
            Framing::Lines => self.next_line().await,
            Framing::Headers => self.next_body().await,
        }
    }

    /// Returns the next non-empty line. The last one may lack a line break.
    async fn next_line(&mut self) -> io::Result<Option<Frame>> {
        loop {
            let mut line = Vec::new();
            let Some(whole) = self.read_line(&mut line, self.bytes_max, KeptPart::Nothing).await? else {
                return Ok(None);
            };
            if !whole {
                return Ok(Some(Frame::TooLong));
            }
            if !line.trim_ascii().is_empty() {
                return Ok(Some(Frame::Message(line)));
            }
        }
    }

    async fn next_body(&mut self) -> io::Result<Option<Frame>> {
        let length = match self.read_length().await? {
            None => return Ok(None),
            Some(Err(why)) => return Ok(Some(Frame::Unframed(why))),
            Some(Ok(length)) => length,
        };
        if length > u64::try_from(self.bytes_max).unwrap_or(u64::MAX) {
            tokio::io::copy(&mut (&mut self.input).take(length), &mut tokio::io::sink()).await?;
            return Ok(Some(Frame::TooLong));
        }
        let mut body = Vec::new();
        (&mut self.input).take(length).read_to_end(&mut body).await?;
        let whole = u64::try_from(body.len()).is_ok_and(|read| read == length);
        Ok(whole.then_some(Frame::Message(body)))
    }

    /// Returns the length of the next body, or the reason why a header is invalid; `None` at the end of the input. After an
    /// invalid header, the next call skips everything up to a `Content-Length`.
    async fn read_length(&mut self) -> io::Result<Option<Result<u64, &'static str>>> {
        let mut length = None;
        loop {
            let mut line = Vec::new();
            let Some(whole) = self.read_line(&mut line, HEADER_BYTES_MAX, KeptPart::End).await? else {
                return Ok(None);
            };
            let header = line.trim_ascii();
            if self.is_resynchronising {
                // The body after an invalid header may have no line break at its end, so the header may start within the line.
                let Some(at) = find_last(header, CONTENT_LENGTH) else { continue };
                length = parse_number(&header[at + CONTENT_LENGTH.len()..]);
                self.is_resynchronising = length.is_none();
                continue;
            }
            let name_end = header.iter().position(|byte| *byte == b':');
            let wrong = match name_end {
                _ if !whole => Some("a header line is too long"),
                None if header.is_empty() => match length {
                    Some(length) => return Ok(Some(Ok(length))),
                    None => None,
                },
                None => Some("a header line has no colon"),
                Some(at)
                    if !header[..at].iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-') =>
                {
                    Some("a line is not a header")
                }
                Some(at) if header[..=at].eq_ignore_ascii_case(CONTENT_LENGTH) => {
                    length = parse_number(&header[at + 1..]);
                    length.is_none().then_some("Content-Length is not a number")
                }
                Some(_) => None,
            };
            if let Some(why) = wrong {
                self.is_resynchronising = true;
                return Ok(Some(Err(why)));
            }
        }
    }

    /// Reads a line. Returns `false` if it was longer than `max`, so that only a part was kept, and `None` at the end of the input.
    async fn read_line(
        &mut self,
        line: &mut Vec<u8>,
        max: usize,
        keep: KeptPart,
    ) -> io::Result<Option<bool>> {
        let mut whole = true;
        loop {
            let available = self.input.fill_buf().await?;
            if available.is_empty() {
                return Ok((!line.is_empty() || !whole).then_some(whole));
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let part = &available[..end.unwrap_or(available.len())];
            if line.len() + part.len() <= max {
                line.extend_from_slice(part);
            } else {
                whole = false;
                match keep {
                    KeptPart::Nothing => line.clear(),
                    KeptPart::End => {
                        line.extend_from_slice(&part[part.len().saturating_sub(max)..]);
                        line.drain(..line.len().saturating_sub(max));
                    }
                }
            }
            let read = end.map_or(available.len(), |end| end + 1);
            self.input.consume(read);
            if end.is_some() {
                return Ok(Some(whole));
            }
        }
    }
}

/// The part of an overlong line that is kept.
#[derive(Clone, Copy)]
enum KeptPart {
    /// None: the caller discards the line.
    Nothing,
    /// The last bytes.
    End,
}

fn parse_number(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.trim().parse().ok()
}

/// Returns the position of the last occurrence of `wanted` in `text`, ignoring case.
fn find_last(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).rposition(|window| window.eq_ignore_ascii_case(wanted))
}

/// Writes one message.
pub(super) async fn write_message(
    output: &mut (impl AsyncWrite + Unpin),
    framing: Framing,
    message: &str,
) -> io::Result<()> {
    match framing {
        Framing::Lines => {
            output.write_all(message.as_bytes()).await?;
            output.write_all(b"\n").await?;
        }
        Framing::Headers => {
            output.write_all(format!("Content-Length: {}\r\n\r\n", message.len()).as_bytes()).await?;
            output.write_all(message.as_bytes()).await?;
        }
    }
    output.flush().await
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::BufReader;

    /// Returns every frame of `input`, read through a small buffer, so that frames span several reads.
    async fn frames(input: &str, framing: Framing) -> Vec<Frame> {
        let mut frames = Frames::new(BufReader::with_capacity(7, input.as_bytes()), framing, 64);
        let mut found = Vec::new();
        while let Some(frame) = frames.next().await.unwrap() {
            found.push(frame);
        }
        found
    }

    fn message(text: &str) -> Frame {
        Frame::Message(text.as_bytes().to_vec())
    }

    #[tokio::test]
    async fn a_line_is_a_message() {
        let long = "x".repeat(100);
        let found = frames(&format!("{{}}\n\r\n \n{long}\n{{\"a\":1}}\nlast"), Framing::Lines).await;
        assert_eq!(found, [message("{}"), Frame::TooLong, message("{\"a\":1}"), message("last")]);
        assert_eq!(frames(&long, Framing::Lines).await, [Frame::TooLong]);
        assert_eq!(frames("", Framing::Lines).await, []);
    }

    #[tokio::test]
    async fn a_frame_is_a_message() {
        let framed =
            "Content-Length: 13\r\n\r\n{\n  \"a\": 1\n}\n\ncontent-length:2\r\nContent-Type: x\r\n\r\n{}";
        assert_eq!(frames(framed, Framing::Headers).await, [message("{\n  \"a\": 1\n}\n"), message("{}")]);
        assert_eq!(frames("", Framing::Headers).await, []);
        assert_eq!(frames("Content-Length: 9\r\n\r\n{}", Framing::Headers).await, [], "it broke off");
    }

    #[tokio::test]
    async fn what_is_too_long_or_not_framed_is_skipped() {
        let long = format!("Content-Length: 100\r\n\r\n{}Content-Length: 2\r\n\r\n{{}}", "x".repeat(100));
        assert_eq!(frames(&long, Framing::Headers).await, [Frame::TooLong, message("{}")]);
        for bad in [
            "Content-Length: x\r\n\r\n{\"a\":1}",
            "nonsense\r\n\r\n",
            "{\"jsonrpc\":\"2.0\"}\n",
            &format!("{}\r\n", "y".repeat(5000)),
        ] {
            let found = frames(&format!("{bad}Content-Length: 2\r\n\r\n{{}}"), Framing::Headers).await;
            assert!(matches!(found[0], Frame::Unframed(_)), "{bad}: {found:?}");
            assert_eq!(found.last(), Some(&message("{}")), "{bad}: {found:?}");
        }
    }

    #[tokio::test]
    async fn messages_are_written_in_either_way() {
        for (framing, written) in [
            (Framing::Lines, "{\"ä\":1}\n{}\n"),
            (Framing::Headers, "Content-Length: 8\r\n\r\n{\"ä\":1}Content-Length: 2\r\n\r\n{}"),
        ] {
            let mut output = Vec::new();
            for message in ["{\"ä\":1}", "{}"] {
                write_message(&mut output, framing, message).await.unwrap();
            }
            assert_eq!(String::from_utf8(output).unwrap(), written);
        }
    }
}
