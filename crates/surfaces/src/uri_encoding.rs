//! The characters that are not percent-encoded in a URI.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC};

/// For a segment of a path, a parameter or a host name: the unreserved characters of RFC 3986.
pub(super) const UNRESERVED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// Like [`UNRESERVED`], with the slashes between the folders of a path.
pub(super) const PATH: &AsciiSet = &UNRESERVED.remove(b'/');
