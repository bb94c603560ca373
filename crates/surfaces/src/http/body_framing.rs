//! Checks that the end of a request's head and body is unambiguous, so that a proxy in front finds the same end as this server.

use axum::http::{HeaderMap, header};

use super::head::{ContentLength, HeadFraming};
use contract::{ErrorCode, Fault};

/// The way in which a request defines its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyFraming {
    /// There is no body, or one header determines its length.
    Unambiguous,
    /// A line of the head ends in a line feed without a carriage return, which a proxy may treat as part of the line.
    BareLineFeed,
    /// There are several `Content-Length` headers.
    RepeatedLength,
    /// `Transfer-Encoding` and `Content-Length` are both present.
    Conflicting,
    /// `Transfer-Encoding` names a coding other than `chunked`, or `chunked` twice.
    OtherCoding,
    /// The head was not scanned, or hyper kept different headers from those that were scanned.
    Unknown,
}

impl BodyFraming {
    /// Determines the framing; `headers` are the headers that hyper kept, `head` is what was received.
    pub(super) fn new(headers: &HeaderMap, head: Option<HeadFraming>) -> Self {
        let Some(head) = head else { return Self::Unknown };
        let has_length = head.content_length != ContentLength::Absent;
        if head.bare_line_feed {
            Self::BareLineFeed
        } else if head.content_length == ContentLength::Repeated {
            Self::RepeatedLength
        } else if has_length && head.transfer_encoding {
            Self::Conflicting
        } else if has_length != headers.contains_key(header::CONTENT_LENGTH)
            || head.transfer_encoding != headers.contains_key(header::TRANSFER_ENCODING)
        {
            Self::Unknown
        } else if has_other_coding(headers) {
            Self::OtherCoding
        } else {
            Self::Unambiguous
        }
    }

    /// Returns `true` if a proxy in front might see a different end of the request than this server does.
    pub(super) fn is_ambiguous(self) -> bool {
        self != Self::Unambiguous
    }

    /// Returns the fault of a request that is refused.
    pub(super) fn fault(self) -> Option<Fault> {
        let (message, hint) = match self {
            Self::Unambiguous => return None,
            Self::BareLineFeed => (
                "A line of the request's head ends in a line feed without a carriage return.",
                "End each line with a carriage return and a line feed.",
            ),
            Self::RepeatedLength => (
                "The request has more than one `content-length` header.",
                "Send each header once; a proxy must replace these headers, not add to them.",
            ),
            Self::Conflicting => (
                "The request has both `Content-Length` and `Transfer-Encoding`.",
                "Send only one of them; a proxy must replace these headers, not add to them.",
            ),
            Self::OtherCoding => (
                "The value of `Transfer-Encoding` is not `chunked` alone.",
                "Send `Transfer-Encoding: chunked` or `Content-Length`.",
            ),
            Self::Unknown => (
                "The server could not determine where the request ends.",
                "Open a new connection, and wait for each answer before the next request.",
            ),
        };
        Some(Fault::new(ErrorCode::InvalidRequest, message).with_hint(hint))
    }
}

/// Checks whether a coding other than `chunked` is named. hyper looks only at the last one.
fn has_other_coding(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(header::TRANSFER_ENCODING).iter();
    codings.any(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"chunked"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::{HeaderName, HeaderValue};

    fn kept(lines: &[(HeaderName, &str)]) -> HeaderMap {
        let lines = lines.iter().map(|(name, value)| (name.clone(), HeaderValue::from_str(value).unwrap()));
        lines.collect()
    }

    #[test]
    fn ambiguous_framings_are_refused() {
        use BodyFraming::{BareLineFeed, Conflicting, OtherCoding, RepeatedLength, Unambiguous, Unknown};
        use ContentLength::{Absent, Once, Repeated};
        let (none, length, chunked) = (
            kept(&[]),
            kept(&[(header::CONTENT_LENGTH, "5")]),
            kept(&[(header::TRANSFER_ENCODING, "Chunked")]),
        );
        let head = |content_length, transfer_encoding| {
            Some(HeadFraming { content_length, transfer_encoding, bare_line_feed: false })
        };
        let bare_line_feed = Some(HeadFraming { bare_line_feed: true, ..HeadFraming::default() });
        for (headers, head, expected) in [
            (&none, head(Absent, false), Unambiguous),
            (&length, head(Once(Some(5)), false), Unambiguous),
            (&chunked, head(Absent, true), Unambiguous),
            (&none, bare_line_feed, BareLineFeed),
            (&length, head(Repeated, false), RepeatedLength),
            (&chunked, head(Repeated, true), RepeatedLength),
            (&chunked, head(Once(Some(5)), true), Conflicting),
            (&none, None, Unknown),
            (&length, head(Absent, false), Unknown),
            (&none, head(Once(Some(5)), false), Unknown),
            (&chunked, head(Absent, false), Unknown),
            (&none, head(Absent, true), Unknown),
        ] {
            let framing = BodyFraming::new(headers, head);
            assert_eq!(framing, expected, "{headers:?} {head:?}");
            assert_eq!(framing.fault().is_some(), framing.is_ambiguous());
        }
        for coding in ["gzip, chunked", "chunked, chunked", "identity, chunked", "chunked;q=1", "x\u{e4}", ""]
        {
            let headers = kept(&[(header::TRANSFER_ENCODING, coding)]);
            assert_eq!(BodyFraming::new(&headers, head(Absent, true)), OtherCoding, "{coding}");
        }
    }
}
