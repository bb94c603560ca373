//! What stays as it is in a URI; everything else is percent-encoded.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC};

/// In a segment of a path, a parameter or the name of a host: the unreserved characters of RFC 3986.
pub(super) const UNRESERVED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// As [`UNRESERVED`], with the slashes between the folders of a path.
pub(super) const PATH: &AsciiSet = &UNRESERVED.remove(b'/');
