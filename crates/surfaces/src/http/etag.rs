//! `ETag` for answers that clients request repeatedly.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

/// Adds a weak tag over `content` to the response, or responds with 304 if the client has that version. The tag is weak because
/// the envelope around the content contains the current time.
pub(super) fn tagged(headers: &HeaderMap, content: &[u8], respond: impl FnOnce() -> Response) -> Response {
    with_version(headers, &hash(content), respond)
}

/// Computes a short hash of `content`, for tags.
#[must_use]
pub fn hash(content: &[u8]) -> String {
    blake3::hash(content).to_hex()[..32].to_owned()
}

/// Adds a weak tag with this version to the response, or responds with 304 if the client has that version. A version consists of
/// hexadecimal digits and punctuation without quotes.
pub fn with_version(headers: &HeaderMap, version: &str, respond: impl FnOnce() -> Response) -> Response {
    let tag = format!("W/\"{version}\"");
    let known = headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let bare = tag.trim_start_matches("W/");
    let fresh =
        known.split(',').map(str::trim).any(|known| known == "*" || known.trim_start_matches("W/") == bare);
    let mut response =
        if fresh { (StatusCode::NOT_MODIFIED, Body::empty()).into_response() } else { respond() };
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    // Clients must revalidate: the answer depends on the key.
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_tag_answers_304() {
        let first = tagged(&HeaderMap::new(), b"x", || "x".into_response());
        assert_eq!(first.status(), 200);
        let tag = first.headers()[header::ETAG].clone();
        let asked = HeaderMap::from_iter([(header::IF_NONE_MATCH, tag)]);
        assert_eq!(tagged(&asked, b"x", || "x".into_response()).status(), 304);
        assert_eq!(tagged(&asked, b"y", || "y".into_response()).status(), 200);
    }
}
