//! Model Context Protocol, revisions 2024-11-05 to 2025-11-25, over stdio, Streamable HTTP and server-sent events.
//!
//! [`server`] answers requests of every transport; [`wire`] converts tools, envelopes and faults to the types of the protocol.

#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;

mod browse;
mod capabilities;
mod completion;
mod in_flight;
mod message;
mod methods;
mod module_resources;
mod progress;
mod prompts;
mod resources;
mod roots;
mod server;
mod text;
mod uri;
mod wire;

mod cancellation_ids;
mod channels;
mod framing;
mod pending_requests;
mod sessions;
mod sse;
mod stdio;
mod streamable;

pub use server::{McpServer, TEXT};
pub use sse::SseMcp;
pub use stdio::{serve_stdio, serve_stream};
pub use streamable::{SESSION_ID, StreamableMcp};
