//! Scans a request's head for everything that determines where the head and its body end.
//!
//! hyper merges equal `Content-Length` headers, drops `Content-Length` if `Transfer-Encoding` is present, and accepts lines
//! that end in a bare line feed, so that the layers above cannot detect any of this. The head is therefore scanned here, below
//! hyper, byte by byte and with bounded memory.

/// Length of the longest header name that is searched for.
const NAME_BYTES_MAX: usize = 17;
const CONTENT_LENGTH: &[u8] = b"content-length";
const TRANSFER_ENCODING: &[u8] = b"transfer-encoding";

/// The properties of a head that determine where it and its body end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct HeadFraming {
    pub(super) content_length: ContentLength,
    /// There is at least one `Transfer-Encoding` header.
    pub(super) transfer_encoding: bool,
    /// A line ends in a line feed without a carriage return.
    pub(super) bare_line_feed: bool,
}

/// The `Content-Length` headers of a head.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum ContentLength {
    #[default]
    Absent,
    /// One header; `None` if its value is not a length, which hyper refuses.
    Once(Option<u64>),
    Repeated,
}

/// Scans a head byte by byte.
#[derive(Debug, Default)]
pub(super) struct HeadScanner {
    framing: HeadFraming,
    /// The request line has been read.
    begun: bool,
    /// The first bytes of the current line before its colon, in lower case.
    name: [u8; NAME_BYTES_MAX],
    name_bytes: usize,
    part: LinePart,
    /// The current line is not empty.
    filled: bool,
    /// The last byte was a carriage return.
    after_carriage_return: bool,
}

/// The part of a line that the next byte belongs to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum LinePart {
    #[default]
    Name,
    /// The value of a `Content-Length` header.
    Length,
    /// Anything else, for example after a name that is too long to be one of the two.
    Other,
}

impl HeadScanner {
    /// Scans the next byte. Returns the result at the end of the head.
    pub(super) fn scan(&mut self, byte: u8) -> Option<HeadFraming> {
        let after_carriage_return = std::mem::replace(&mut self.after_carriage_return, byte == b'\r');
        match byte {
            b'\n' => {
                self.framing.bare_line_feed |= !after_carriage_return;
                return self.end_line();
            }
            b'\r' => return None,
            byte => match self.part {
                LinePart::Name if byte == b':' && self.begun => self.end_name(),
                LinePart::Name => self.scan_name(byte),
                LinePart::Length => self.scan_length(byte),
                LinePart::Other => {}
            },
        }
        self.filled = true;
        None
    }

    fn end_line(&mut self) -> Option<HeadFraming> {
        let filled = std::mem::take(&mut self.filled);
        (self.name_bytes, self.part) = (0, LinePart::Name);
        // Empty lines before the request line are ignored (RFC 9112 §2.2).
        if self.begun && !filled {
            return Some(self.framing);
        }
        self.begun |= filled;
        None
    }

    fn scan_name(&mut self, byte: u8) {
        match self.name.get_mut(self.name_bytes) {
            Some(slot) => {
                *slot = byte.to_ascii_lowercase();
                self.name_bytes += 1;
            }
            None => self.part = LinePart::Other,
        }
    }

    fn end_name(&mut self) {
        self.part = LinePart::Other;
        let name = &self.name[..self.name_bytes];
        self.framing.transfer_encoding |= name == TRANSFER_ENCODING;
        if name == CONTENT_LENGTH {
            self.part = LinePart::Length;
            self.framing.content_length = match self.framing.content_length {
                ContentLength::Absent => ContentLength::Once(Some(0)),
                ContentLength::Once(_) | ContentLength::Repeated => ContentLength::Repeated,
            };
        }
    }

    fn scan_length(&mut self, byte: u8) {
        if matches!(byte, b' ' | b'\t') {
            return;
        }
        if let ContentLength::Once(length) = &mut self.framing.content_length {
            let digit = char::from(byte).to_digit(10);
            *length = digit.and_then(|digit| append_digit((*length)?, digit, 10));
        }
    }
}

/// Appends a digit to `number`; `None` on overflow.
pub(super) fn append_digit(number: u64, digit: u32, radix: u32) -> Option<u64> {
    number.checked_mul(u64::from(radix))?.checked_add(u64::from(digit))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the framing of the first head in `text`.
    fn framing(text: &str) -> Option<HeadFraming> {
        let mut scanner = HeadScanner::default();
        text.bytes().find_map(|byte| scanner.scan(byte))
    }

    #[test]
    fn the_length_headers_are_seen_in_any_order_and_case() {
        use ContentLength::{Absent, Once, Repeated};
        let table = [
            ("POST / HTTP/1.1\r\nHost: x\r\n\r\n", (Absent, false)),
            (
                "POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nTransfer-Encoding: chunked\r\n",
                (Once(Some(5)), false),
            ),
            (
                "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\ncontent-LENGTH:120 \r\n\r\n",
                (Once(Some(120)), true),
            ),
            (
                "\r\n\r\nPOST / HTTP/1.1\r\nCONTENT-LENGTH: 5\r\ntransfer-encoding: chunked\r\n\r\n",
                (Once(Some(5)), true),
            ),
            (
                "POST /content-length: HTTP/1.1\r\nX-Content-Length: 1\r\nTransfer-Encodings: a\r\n\r\n",
                (Absent, false),
            ),
            ("POST / HTTP/1.1\r\nX: transfer-encoding: chunked\r\nContent-Lengt: 1\r\n\r\n", (Absent, false)),
            ("POST / HTTP/1.1\r\nContent-Length: 2\r\nA: b\r\ncontent-length: 2\r\n\r\n", (Repeated, false)),
            ("POST / HTTP/1.1\r\nContent-Length: 2, 2\r\n\r\n", (Once(None), false)),
            ("POST / HTTP/1.1\r\nContent-Length: +2\r\n\r\n", (Once(None), false)),
            ("POST / HTTP/1.1\r\nContent-Length: 18446744073709551616\r\n\r\n", (Once(None), false)),
        ];
        for (text, (content_length, transfer_encoding)) in table {
            let expected = HeadFraming { content_length, transfer_encoding, bare_line_feed: false };
            assert_eq!(framing(text), Some(expected), "{text}");
        }
        for unfinished in ["", "\r\n\r\n", "POST / HTTP/1.1\r\nContent-Length: 5\r\n"] {
            assert_eq!(framing(unfinished), None, "{unfinished}");
        }
    }

    #[test]
    fn a_bare_line_feed_is_seen_on_every_line() {
        for text in [
            "\nGET / HTTP/1.1\r\nHost: x\r\n\r\n",
            "GET / HTTP/1.1\nHost: x\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: x\n\r\n",
            "GET / HTTP/1.1\r\nHost: x\r\n\n",
        ] {
            assert!(framing(text).is_some_and(|framing| framing.bare_line_feed), "{text:?}");
        }
    }
}
