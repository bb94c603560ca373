//! Follows the requests of a connection through their heads and bodies, so that every head is scanned from its first byte, even
//! if the client sends requests without waiting for answers.
//!
//! The end of a body is found exactly as hyper finds it. Bytes that hyper refuses end the connection, so it does not matter how
//! the scanner reads what follows them.

use super::head::{ContentLength, HeadFraming, HeadScanner, append_digit};

/// Scans the bytes of a connection in pieces of any size.
#[derive(Debug, Default)]
pub(super) struct RequestScanner(Part);

/// The part of a request that the next byte belongs to.
#[derive(Debug)]
enum Part {
    Head(HeadScanner),
    /// The rest of a body with a declared length, in bytes; never 0.
    Body(u64),
    /// The line with the size of a chunk; `ended` once something else follows the size.
    ChunkSize {
        size: u64,
        ended: bool,
    },
    /// The rest of a chunk and the end of its line, in bytes; never 0.
    Chunk(u64),
    /// The lines after the last chunk, ending with an empty one.
    Trailers {
        filled: bool,
        after_carriage_return: bool,
    },
    /// Unknown, after a length that hyper refuses.
    Unknown,
}

impl Default for Part {
    fn default() -> Self {
        Self::Head(HeadScanner::default())
    }
}

impl RequestScanner {
    /// Scans the next bytes and calls `found` at the end of each head.
    pub(super) fn scan(&mut self, bytes: &[u8], mut found: impl FnMut(HeadFraming)) {
        let mut rest = bytes;
        while let Some((byte, after)) = rest.split_first() {
            let next = match &mut self.0 {
                Part::Unknown => return,
                Part::Body(left) => {
                    rest = skip(rest, left);
                    (*left == 0).then(Part::default)
                }
                Part::Chunk(left) => {
                    rest = skip(rest, left);
                    (*left == 0).then_some(Part::ChunkSize { size: 0, ended: false })
                }
                part => {
                    rest = after;
                    part.scan_byte(*byte, &mut found)
                }
            };
            if let Some(next) = next {
                self.0 = next;
            }
        }
    }
}

impl Part {
    /// Scans one byte. Returns the next part if this one is complete.
    fn scan_byte(&mut self, byte: u8, found: &mut impl FnMut(HeadFraming)) -> Option<Self> {
        match self {
            Self::Head(scanner) => scanner.scan(byte).map(|head| {
                found(head);
                Self::body_of(head)
            }),
            Self::ChunkSize { size, .. } if byte == b'\n' => Some(match size.checked_add(2) {
                _ if *size == 0 => Self::Trailers { filled: false, after_carriage_return: false },
                Some(with_line_end) => Self::Chunk(with_line_end),
                None => Self::Unknown,
            }),
            Self::ChunkSize { size, ended } => {
                match char::from(byte).to_digit(16).filter(|_| !*ended) {
                    None => *ended = true,
                    Some(digit) => match append_digit(*size, digit, 16) {
                        Some(longer) => *size = longer,
                        None => return Some(Self::Unknown),
                    },
                }
                None
            }
            // hyper accepts only a line feed after a carriage return.
            Self::Trailers { filled, after_carriage_return: true } => Some(if *filled {
                Self::Trailers { filled: false, after_carriage_return: false }
            } else {
                Self::default()
            }),
            Self::Trailers { filled, after_carriage_return } => {
                *after_carriage_return = byte == b'\r';
                *filled |= byte != b'\r';
                None
            }
            Self::Body(_) | Self::Chunk(_) | Self::Unknown => None,
        }
    }

    /// Returns the part that follows a head.
    fn body_of(head: HeadFraming) -> Self {
        match head.content_length {
            _ if head.transfer_encoding => Self::ChunkSize { size: 0, ended: false },
            ContentLength::Absent | ContentLength::Once(Some(0)) => Self::default(),
            ContentLength::Once(Some(bytes)) => Self::Body(bytes),
            ContentLength::Once(None) | ContentLength::Repeated => Self::Unknown,
        }
    }
}

/// Skips up to `left` bytes and subtracts them from it. Returns the bytes after them.
fn skip<'a>(bytes: &'a [u8], left: &mut u64) -> &'a [u8] {
    let skipped = usize::try_from(*left).map_or(bytes.len(), |left| left.min(bytes.len()));
    *left = left.saturating_sub(u64::try_from(skipped).unwrap_or(u64::MAX));
    &bytes[skipped..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the framings of all heads in `bytes`, which arrive in pieces of these sizes.
    fn framings(bytes: &[u8], sizes: &[usize]) -> Vec<HeadFraming> {
        let (mut scanner, mut found) = (RequestScanner::default(), Vec::new());
        let mut rest = bytes;
        for size in sizes.iter().cycle() {
            let (piece, after) = rest.split_at(rest.len().min(*size));
            scanner.scan(piece, |head| found.push(head));
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
        found
    }

    fn framing(content_length: ContentLength, transfer_encoding: bool) -> HeadFraming {
        HeadFraming { content_length, transfer_encoding, bare_line_feed: false }
    }

    /// Generates a request and its framing. The bodies contain heads, which must not be mistaken for requests.
    fn any_request() -> impl Strategy<Value = (String, HeadFraming)> {
        let inner = "GET / HTTP/1.1\r\nContent-Length: 1\r\n\r\n";
        let lines =
            prop::collection::vec("[A-Za-z]{1,20}: [ -~]{0,10}\r\n", 0..3).prop_map(|lines| lines.concat());
        let extension = prop_oneof![Just(""), Just(";a=ff"), Just(" "), Just("\t;1")];
        let trailers = prop_oneof![Just(""), Just("X: y\r\n"), Just("X: y\r\nContent-Length: 1\r\n")];
        (0..3_u8, lines, extension, trailers).prop_map(move |(kind, lines, extension, trailers)| {
            let head = format!("POST / HTTP/1.1\r\n{lines}");
            match kind {
                0 => (format!("{head}\r\n"), framing(ContentLength::Absent, false)),
                1 => {
                    let bytes = inner.len();
                    let length = ContentLength::Once(u64::try_from(bytes).ok());
                    (format!("{head}Content-Length: {bytes}\r\n\r\n{inner}"), framing(length, false))
                }
                _ => {
                    let chunk = format!("{:X}{extension}\r\n{inner}\r\n", inner.len());
                    let body = format!("{chunk}{chunk}0{extension}\r\n{trailers}\r\n");
                    let head = format!("{head}Transfer-Encoding: chunked\r\n\r\n");
                    (head + &body, framing(ContentLength::Absent, true))
                }
            }
        })
    }

    proptest! {
        #[test]
        fn every_head_is_found_wherever_pieces_end(
            requests in prop::collection::vec(any_request(), 1..6),
            sizes in prop::collection::vec(1_usize..60, 1..40),
        ) {
            let text: String = requests.iter().map(|(text, _)| text.as_str()).collect();
            let expected: Vec<HeadFraming> = requests.iter().map(|(_, framing)| *framing).collect();
            prop_assert_eq!(framings(text.as_bytes(), &sizes), expected);
        }
    }

    #[test]
    fn nothing_is_reported_after_a_length_that_is_refused() {
        let get = "GET / HTTP/1.1\r\n\r\n";
        for (head, heads) in [
            ("POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n", 1),
            ("POST / HTTP/1.1\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n", 1),
            ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n10000000000000000\r\n", 1),
            ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", 1),
            ("POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n", 2),
        ] {
            assert_eq!(framings(format!("{head}{get}").as_bytes(), &[7]).len(), heads, "{head}");
        }
    }
}
