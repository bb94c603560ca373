//! Scans a request's head for the headers that determine the length of its body.
//!
//! hyper drops `Content-Length` if `Transfer-Encoding` is present, so that the layers above cannot detect that both were sent.
//! The head is therefore scanned here, below hyper, byte by byte and with bounded memory. The start of a head is known only if the
//! connection was waiting for a request; the head of a pipelined request is not scanned, and a chunked body is rejected there.

/// Length of the longest header name that is searched for.
const NAME_BYTES_MAX: usize = 17;
const CONTENT_LENGTH: &[u8] = b"content-length";
const TRANSFER_ENCODING: &[u8] = b"transfer-encoding";

/// Which of the two length headers are present.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct LengthHeaders {
    pub(super) content_length: bool,
    pub(super) transfer_encoding: bool,
}

/// Scans a head incrementally, in pieces of any size.
#[derive(Debug, Default)]
pub(super) struct HeadScanner {
    lengths: LengthHeaders,
    /// The request line has been read.
    begun: bool,
    /// The first bytes of the current line before its colon, in lower case.
    name: [u8; NAME_BYTES_MAX],
    name_bytes: usize,
    /// The name is complete, or too long to be one of the two.
    named: bool,
    /// The current line is not empty.
    filled: bool,
}

impl HeadScanner {
    /// Scans the next bytes. Returns the result at the end of the head and ignores any bytes after it.
    pub(super) fn scan(&mut self, bytes: &[u8]) -> Option<LengthHeaders> {
        bytes.iter().find_map(|byte| self.scan_byte(*byte))
    }

    fn scan_byte(&mut self, byte: u8) -> Option<LengthHeaders> {
        match byte {
            b'\n' => {
                let filled = std::mem::take(&mut self.filled);
                (self.name_bytes, self.named) = (0, false);
                // Empty lines before the request line are ignored (RFC 9112 §2.2).
                if self.begun && !filled {
                    return Some(self.lengths);
                }
                self.begun |= filled;
            }
            b'\r' => {}
            b':' if self.begun && !self.named => {
                self.filled = true;
                self.named = true;
                let name = &self.name[..self.name_bytes];
                self.lengths.content_length |= name == CONTENT_LENGTH;
                self.lengths.transfer_encoding |= name == TRANSFER_ENCODING;
            }
            byte => {
                self.filled = true;
                if self.named {
                    return None;
                }
                match self.name.get_mut(self.name_bytes) {
                    Some(slot) => {
                        *slot = byte.to_ascii_lowercase();
                        self.name_bytes += 1;
                    }
                    None => self.named = true,
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lengths(text: &str) -> Option<(bool, bool)> {
        HeadScanner::default()
            .scan(text.as_bytes())
            .map(|found| (found.content_length, found.transfer_encoding))
    }

    #[test]
    fn both_headers_are_seen_in_any_order_and_case() {
        let table = [
            ("POST / HTTP/1.1\r\nHost: x\r\n\r\n", (false, false)),
            ("POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nTransfer-Encoding: chunked\r\n", (true, false)),
            ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\ncontent-LENGTH:5\r\n\r\n", (true, true)),
            ("\r\n\r\nPOST / HTTP/1.1\nCONTENT-LENGTH: 5\ntransfer-encoding: chunked\n\n", (true, true)),
            (
                "POST /content-length: HTTP/1.1\r\nX-Content-Length: 1\r\nTransfer-Encodings: a\r\n\r\n",
                (false, false),
            ),
            ("POST / HTTP/1.1\r\nX: transfer-encoding: chunked\r\nContent-Lengt: 1\r\n\r\n", (false, false)),
        ];
        for (text, expected) in table {
            assert_eq!(lengths(text), Some(expected), "{text}");
        }
        for unfinished in ["", "\r\n\r\n", "POST / HTTP/1.1\r\nContent-Length: 5\r\n"] {
            assert_eq!(lengths(unfinished), None, "{unfinished}");
        }
    }

    proptest! {
        #[test]
        fn it_does_not_hang_on_where_pieces_end(
            lines in prop::collection::vec(
                prop_oneof![
                    Just("Content-Length: 5".to_owned()), Just("Transfer-Encoding: chunked".to_owned()),
                    Just("x".repeat(40)), "[A-Za-z-]{1,20}: [ -~]{0,10}",
                ],
                0..6,
            ),
            cuts in prop::collection::vec(1_usize..12, 1..60),
        ) {
            let text = format!("POST / HTTP/1.1\r\n{}\r\n\r\nrest", lines.join("\r\n"));
            let text = if lines.is_empty() { "POST / HTTP/1.1\r\n\r\nrest".to_owned() } else { text };
            let whole = HeadScanner::default().scan(text.as_bytes());
            prop_assert!(whole.is_some());
            let (mut head, mut rest, mut found) = (HeadScanner::default(), text.as_bytes(), None);
            for cut in cuts.iter().cycle() {
                let (piece, after) = rest.split_at(rest.len().min(*cut));
                found = found.or_else(|| head.scan(piece));
                rest = after;
                if rest.is_empty() || found.is_some() {
                    break;
                }
            }
            prop_assert_eq!(found, whole);
        }
    }
}
