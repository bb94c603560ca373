//! HTTP: the tools as routes, MCP below `/mcp`, one guard over both.
//!
//! A connection comes through [`listen`](mod@listen) and [`connection`] and has one of its [`places`], a request through [`guard`] (may this page and
//! this host?) and [`access`] (who is it?), to the [`routes`].

#[cfg(any(test, feature = "fuzzing"))]
pub(super) mod fuzzing;

mod claim;
mod listen;

mod connection;
mod forwarded;
mod places;
mod running;
mod tls;

mod access;
mod guard;
mod head;
mod oauth;
mod timed_body;

mod answer;
mod body;
mod etag;
mod mcp_routes;
mod openapi;
mod probes;
mod routes;
mod stream;

pub use claim::{look_at_address, serving_already};
pub use listen::{Listening, listen};
pub use openapi::document as openapi;
pub use routes::{router, router_with};
