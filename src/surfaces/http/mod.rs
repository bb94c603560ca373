//! HTTP: the tools as routes, MCP at `/mcp`, one guard over both (T §7).

mod answer;
mod body;
mod guard;
mod listen;
mod routes;

pub use listen::{Listening, listen};
pub use routes::router;
