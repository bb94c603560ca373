//! A door for modules: the items that their routes need.

pub use super::answer::{envelope, refused};
pub use super::etag::{hash, with_version};
pub use super::event_stream::{LINES, operation_events, operation_lines};
pub use super::query::{SentQuery, typed_arguments, unique_parameters};
pub use super::request_parts::RequestId;
pub use super::route::{Operation, Route};
pub use super::tool_routes::{call_tool, query_arguments, read_arguments};
pub use crate::answer::{refused as refused_call, unguessable_id};
