//! The HTTP server: the tools as routes, and MCP below `/mcp`.
//!
//! [`listen`](mod@listen) accepts a connection, takes one of the [`connection_slots`] for it and wraps it in the timeouts of
//! [`connection`], where [`request_scanner`] detects what hyper does not report. A request passes [`guard`] (`Host`, `Origin`,
//! ambiguous headers) and [`access`] (authentication) before it reaches its handler in [`routes`].

#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;

mod address;
mod address_lock;
mod listen;

mod connection;
mod connection_slots;
mod connection_state;
mod forwarded;
mod head;
mod request_scanner;
mod tls;

mod access;
mod body_framing;
mod guard;
mod host;
mod oauth;
mod request_parts;
mod standing;
mod timed_body;

mod answer;
mod body;
mod entrances;
mod etag;
mod event_stream;
pub(crate) mod mcp_routes;
mod openapi;
pub mod pages;
mod probes;
mod query;
mod route;
mod routes;
pub mod routing;
pub(crate) mod tool_routes;
mod unparsed;
mod webhooks;

mod dashboard;

pub use address_lock::{check_address, running_server_url};
pub use dashboard::{Dashboard, DashboardAddress};
pub use listen::{Listening, listen};
pub use route::{Operation, Route};
pub use routes::{document as openapi, router, router_with};
