//! What fuzzing drives here: what arrives on a socket or on stdin, before anything is known of who sent it.

pub(crate) use super::http::fuzzing::{request, requests};
pub(crate) use super::mcp::fuzzing::{frames, streams, uri, uris};
