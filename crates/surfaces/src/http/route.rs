//! The columns of the tables of routes, and the table of all routes of a server.

use std::sync::{Arc, OnceLock};

use axum::routing::{MethodFilter, MethodRouter};
use serde_json::Value;

use gate::app::App;

/// A row of a table of routes.
pub struct Route {
    /// The path in axum's syntax.
    pub path: &'static str,
    /// The method.
    pub method: MethodFilter,
    /// Creates the handler for the method.
    pub handler: fn(MethodFilter) -> MethodRouter<Arc<App>>,
    /// `true` if the route answers without a key.
    pub public: bool,
    /// Its description.
    pub operation: Operation,
}

/// The description of a route in the OpenAPI document.
pub enum Operation {
    /// Not included, because another standard defines the format.
    Undocumented,
    /// A route without a tool.
    Server {
        /// Its name in the document.
        id: &'static str,
        /// Its summary.
        summary: &'static str,
        /// Returns the media type and the schema of status 200.
        answer: fn() -> (&'static str, Value),
    },
    /// A route that calls one tool. A GET route takes the arguments from its path and from the query, a POST route from the body.
    Tool {
        /// Its name in the document.
        id: &'static str,
        /// Its summary.
        summary: &'static str,
        /// The group in which documents show it.
        tag: &'static str,
        /// The name of the tool.
        tool: &'static str,
        /// The name under which the result is wrapped.
        result: Option<&'static str>,
        /// `true` if it answers as server-sent events.
        events: bool,
    },
    /// One operation for each tool of the list.
    EachTool,
}

/// All routes of a server except those of MCP.
pub(super) struct RouteTable {
    /// The routes for programs.
    pub(super) routes: Vec<&'static Route>,
    /// The pages for browsers.
    pub(super) pages: Vec<&'static Route>,
    /// The OpenAPI document, which is generated once.
    pub(super) document: OnceLock<String>,
}

impl RouteTable {
    /// Returns `true` if requests to the route, or to a path without a route, need no key. All of `/.well-known/` is public, so that
    /// OAuth clients that probe for other documents get 404 instead of 401.
    pub(super) fn is_public(&self, path: &str) -> bool {
        let mut routes = self.routes.iter().chain(&self.pages);
        path.starts_with("/.well-known/") || routes.any(|route| route.public && route.path == path)
    }

    /// Returns `true` if a route is a page, which accepts only what a form of this server sends.
    pub(super) fn has_forms(&self, route: &str) -> bool {
        self.pages.iter().any(|page| page.path == route)
    }

    /// Returns `true` if a route is a page that needs a key: a browser without one is asked to sign in there, and only there does the
    /// cookie count.
    pub(super) fn is_page(&self, route: &str) -> bool {
        self.pages.iter().any(|page| page.path == route && !page.public)
    }
}
