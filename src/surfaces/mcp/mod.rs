//! Model Context Protocol, revision 2025-11-25, over stdio and Streamable HTTP.
//!
//! [`server`] answers the protocol's requests, whatever carried them; [`wire`] is the mapping between
//! our answers and the protocol's.

mod browse;
mod capabilities;
mod completion;
mod in_flight;
mod progress;
mod prompts;
mod resources;
mod server;
mod uri;
mod wire;

mod stdio;
mod streamable;

pub use server::McpServer;
pub use stdio::serve_stdio;
pub use streamable::{StreamableMcp, streamable};
