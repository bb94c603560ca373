//! Parts of a request that several layers read: our own headers, its id and the addresses of its connection.

use std::net::SocketAddr;

use axum::http::{HeaderMap, HeaderName, HeaderValue};

use contract::{ErrorCode, Fault};

/// The API key of a caller who cannot set `Authorization`.
pub(super) const API_KEY: HeaderName = HeaderName::from_static("x-api-key");
/// Limits the tools of a request to these toolsets, separated by commas.
pub(super) const TOOLSETS: HeaderName = HeaderName::from_static("x-mcp-toolsets");
/// `true` limits the tools of a request to those that do not write.
pub(super) const READ_ONLY: HeaderName = HeaderName::from_static("x-mcp-readonly");
/// The project for calls without a `project_id`.
pub(super) const PROJECT: HeaderName = HeaderName::from_static("x-pairofcleats-project");

/// Returns the text of a header; `None` if it was not sent.
///
/// A value that is not text is refused. If it were treated as absent, a garbled header that limits a request would not limit it.
pub(super) fn header_text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, Fault> {
    headers.get(name).map(HeaderValue::to_str).transpose().map_err(|_| {
        let message =
            format!("The value of the header `{name}` contains characters other than printable ASCII.");
        Fault::new(ErrorCode::InvalidRequest, message).with_hint(
            "Look for accented and invisible characters, such as a no-break space, and remove them.",
        )
    })
}

/// The request's correlation id, stored in the request's extensions.
#[derive(Debug, Clone, Default)]
pub struct RequestId(
    /// The id.
    pub String,
);

/// The addresses of the connection that a request came over.
#[derive(Debug, Clone, Copy)]
pub(super) struct ConnectionAddresses {
    /// The client's address, or that of the nearest proxy.
    pub(super) peer: SocketAddr,
    /// The server's address.
    pub(super) local: SocketAddr,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_is_not_text_is_refused_by_the_name_of_its_header() {
        let text = |value: &'static [u8]| {
            let headers = HeaderMap::from_iter([(PROJECT, HeaderValue::from_bytes(value).unwrap())]);
            header_text(&headers, &PROJECT).map(|text| text.map(str::to_owned))
        };
        assert_eq!(header_text(&HeaderMap::new(), &PROJECT).unwrap(), None);
        assert_eq!(text(b"").unwrap().as_deref(), Some(""));
        assert_eq!(text(b"a\tb ~").unwrap().as_deref(), Some("a\tb ~"));
        for garbled in [&b"p\xc3\xa4"[..], b"search\xc2\xa0", b"\xff"] {
            let fault = text(garbled).unwrap_err();
            assert_eq!(fault.code, ErrorCode::InvalidRequest);
            assert!(
                fault.message.contains("`x-pairofcleats-project`") && fault.hint.is_some(),
                "{}",
                fault.message
            );
        }
    }
}
