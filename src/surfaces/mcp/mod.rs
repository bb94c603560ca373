//! Model Context Protocol, revisions 2024-11-05 to 2025-11-25, over stdio, Streamable HTTP and server-sent events.
//!
//! [`server`] answers the protocol's requests, whatever carried them; [`wire`] is the mapping between
//! our answers and the protocol's.

#[cfg(any(test, feature = "fuzzing"))]
pub(super) mod fuzzing;

mod browse;
mod capabilities;
mod completion;
mod in_flight;
mod members;
mod message;
mod progress;
mod prompts;
mod resources;
mod roots;
mod server;
mod text;
mod uri;
mod wire;

mod channels;
mod framing;
mod sessions;
mod sse;
mod stdio;
mod streamable;
mod twin;
mod unanswered;

pub use server::{McpServer, TEXT};
pub use sse::SseMcp;
pub use stdio::serve_stdio;
pub use streamable::{SESSION_ID, StreamableMcp};
