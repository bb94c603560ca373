//! What several layers read from a request: our own headers, its id and the addresses of its connection.

use std::net::SocketAddr;

use axum::http::HeaderName;

/// The API key of a caller who cannot set `Authorization`.
pub(super) const API_KEY: HeaderName = HeaderName::from_static("x-api-key");
/// Limits the tools of a request to these toolsets, separated by commas.
pub(super) const TOOLSETS: HeaderName = HeaderName::from_static("x-mcp-toolsets");
/// `true` limits the tools of a request to those that do not write.
pub(super) const READ_ONLY: HeaderName = HeaderName::from_static("x-mcp-readonly");
/// The project for calls without a `project_id`.
pub(super) const PROJECT: HeaderName = HeaderName::from_static("x-pairofcleats-project");

/// The request's correlation id, stored in the request's extensions.
#[derive(Debug, Clone, Default)]
pub(super) struct RequestId(pub(super) String);

/// The addresses of the connection that a request came over.
#[derive(Debug, Clone, Copy)]
pub(super) struct ConnectionAddresses {
    /// The client's address, or that of the nearest proxy.
    pub(super) peer: SocketAddr,
    /// The server's address.
    pub(super) local: SocketAddr,
}
