//! The server under all that reaches it: keys, sessions, older transports, load, slow and broken clients.
//!
//! Servers run in this process, over real sockets and the shared cluster, so that a test can mount tools of its own
//! and look behind the answers; only [`parity`] starts processes, as `surfaces.rs` and `processes.rs` do.

mod access;
mod echoes;
mod faults;
mod fixtures;
mod greedy;
mod headers;
mod http;
mod malformed;
mod messages;
mod openapi;
mod oversized;
mod parity;
mod progress;
mod protocol;
mod requests;
mod roots;
mod sessions;
mod shares;
mod tls;
mod turns;

use std::sync::Arc;

use contract::config::Config;
use pairofcleats::app::App;
use pairofcleats::surfaces::http::{listen, router_with};
use pairofcleats::tools::Toolbox;
use reqwest::{RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::harness::{app_with, http};

/// A server in this process.
pub(crate) struct Served {
    pub(crate) app: Arc<App>,
    pub(crate) url: String,
    serving: JoinHandle<()>,
}

impl Served {
    /// The product's tools, over the shared cluster, with settings of the test's own.
    pub(crate) async fn start(change: impl FnOnce(&mut Config)) -> Self {
        Self::with_tools(Toolbox::standard(), change).await
    }

    /// The same with more tools on the MCP routes.
    pub(crate) async fn with_tools(tools: &'static Toolbox, change: impl FnOnce(&mut Config)) -> Self {
        let app = app_with(|config| {
            config.server.port = 0;
            config.server.drain_ms = 2000;
            change(config);
        });
        Self::over(app, tools).await
    }

    /// A server over an application.
    pub(crate) async fn over(app: Arc<App>, tools: &'static Toolbox) -> Self {
        let listening = listen(&app).await.unwrap();
        let scheme = if listening.is_encrypted() { "https" } else { "http" };
        let url = format!("{scheme}://127.0.0.1:{}", listening.address().port());
        let (serving, router) = (Arc::clone(&app), router_with(&app, tools));
        let serving = tokio::spawn(async move { listening.serve_router(&serving, router).await });
        Self { app, url, serving }
    }

    pub(crate) fn at(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    /// Host and port, for raw sockets.
    pub(crate) fn address(&self) -> &str {
        self.url.split_once("://").unwrap().1
    }

    /// Stops as a signal would, and waits until it is over.
    pub(crate) async fn stop(self) {
        self.app.shutdown.cancel();
        self.serving.await.unwrap();
        self.app.stopped().await;
    }

    /// Calls a tool over `POST /tools/{name}`.
    pub(crate) async fn call(&self, key: Option<&str>, tool: &str, arguments: Value) -> (StatusCode, Value) {
        answer(keyed(http().post(self.at(&format!("/tools/{tool}"))), key).json(&arguments)).await
    }

    /// Opens an MCP session over `/mcp` (or a path below).
    pub(crate) async fn open(&self, path: &str, key: Option<&str>) -> Session {
        let client = http();
        let request = keyed(client.post(self.at(path)), key).header("accept", ACCEPT).json(&hello());
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200, "initialize");
        let id = response.headers()["mcp-session-id"].to_str().unwrap().to_owned();
        message(response).await;
        let session = Session { url: self.at(path), key: key.map(str::to_owned), id };
        assert_eq!(
            session.post(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await.status(),
            202
        );
        session
    }
}

const ACCEPT: &str = "application/json, text/event-stream";

/// What a client says first.
pub(crate) fn hello() -> Value {
    json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } } })
}

/// The request with a key, if there is one.
pub(crate) fn keyed(request: RequestBuilder, key: Option<&str>) -> RequestBuilder {
    match key {
        Some(key) => request.bearer_auth(key),
        None => request,
    }
}

/// Status and envelope of a JSON answer.
pub(crate) async fn answer(request: RequestBuilder) -> (StatusCode, Value) {
    let response = request.send().await.unwrap();
    (response.status(), response.json().await.unwrap())
}

/// The answer in an event stream: its last message.
pub(crate) async fn message(response: Response) -> Value {
    messages(response).await.pop().unwrap_or_default()
}

/// All messages of an event stream, to its end.
pub(crate) async fn messages(response: Response) -> Vec<Value> {
    let text = response.text().await.unwrap();
    text.lines()
        .filter_map(|line| line.strip_prefix("data:"))
        .filter(|data| !data.trim().is_empty())
        .map(|data| serde_json::from_str(data.trim()).unwrap_or_else(|e| panic!("{e}: {data}")))
        .collect()
}

/// An MCP session over Streamable HTTP, as a client without an SDK would hold it.
#[derive(Clone)]
pub(crate) struct Session {
    pub(crate) url: String,
    pub(crate) key: Option<String>,
    pub(crate) id: String,
}

impl Session {
    /// Sends one message.
    pub(crate) async fn post(&self, message: Value) -> Response {
        let request = keyed(http().post(&self.url), self.key.as_deref());
        request
            .header("accept", ACCEPT)
            .header("mcp-session-id", &self.id)
            .json(&message)
            .send()
            .await
            .unwrap()
    }

    /// Asks and gives the answer.
    pub(crate) async fn ask(&self, id: impl Into<Value>, method: &str, params: Value) -> Value {
        let request = json!({ "jsonrpc": "2.0", "id": id.into(), "method": method, "params": params });
        message(self.post(request).await).await
    }

    /// Calls a tool and gives the whole answer.
    pub(crate) async fn call(&self, id: impl Into<Value>, tool: &str, arguments: Value) -> Value {
        self.ask(id, "tools/call", json!({ "name": tool, "arguments": arguments })).await
    }

    /// The names of the tools it sees.
    pub(crate) async fn tools(&self) -> Vec<String> {
        let list = self.ask(1, "tools/list", json!({})).await;
        let tools = list["result"]["tools"].as_array().unwrap_or_else(|| panic!("{list:#}"));
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }
}
