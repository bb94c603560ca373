//! The fuzz targets of the surfaces: unauthenticated input from a socket or stdin.

pub(crate) use super::http::fuzzing::{fuzz_request, seed_requests};
pub(crate) use super::mcp::fuzzing::{frames, streams, uri, uris};
