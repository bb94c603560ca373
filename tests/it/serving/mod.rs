//! The server and its clients: keys, sessions, older transports, load, slow and broken clients.
//!
//! Servers run in this process, with real sockets and the shared cluster, so that a test can add tools and inspect the
//! application. Only [`parity`] starts processes, like `surfaces.rs` and `processes.rs`.

mod access;
mod background_writers;
mod ended_keys;
mod entrances;
mod fair_queues;
mod faults;
mod fixtures;
mod form_page;
mod greedy_clients;
mod headers;
mod http;
mod instruction_pages;
mod issuer_pages;
mod line_authors;
mod malformed;
mod messages;
mod methods;
mod openapi;
mod operator_pages;
mod oversized;
mod pages;
mod parity;
mod progress;
mod protocol;
mod quoted_values;
mod requests;
mod roots;
mod run_pages;
mod search_pages;
mod sessions;
mod spans;
mod tls;
mod triage_pages;
mod waiting_calls;

pub(crate) use access::{issue_key, issue_key_with};

use std::sync::Arc;

use contract::config::Config;
use gate::app::App;
use gate::tools::Toolbox;
use reqwest::{RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};
use surfaces::http::{listen, router_with};
use tokio::task::JoinHandle;

use crate::harness::{app_with, http, modules};
use crate::modules::MODULES;

/// Names of the tools that are listed when the client names no toolset, in order.
pub(crate) fn listed_by_default() -> Vec<&'static str> {
    let listed = modules().list_of_tools().iter().filter(|tool| tool.toolset.listed_by_default());
    listed.map(|tool| tool.name).collect()
}

/// A server in this process.
pub(crate) struct TestServer {
    pub(crate) app: Arc<App>,
    pub(crate) url: String,
    serving: JoinHandle<()>,
}

impl TestServer {
    /// Starts a server with the product's tools, over the shared cluster, with changed settings.
    pub(crate) async fn start(change: impl FnOnce(&mut Config)) -> Self {
        Self::with_tools(modules().tools(), change).await
    }

    /// The same with other tools on the MCP routes.
    pub(crate) async fn with_tools(tools: &'static Toolbox, change: impl FnOnce(&mut Config)) -> Self {
        let app = app_with(|config| {
            config.server.port = 0;
            config.server.drain_ms = 2000;
            change(config);
        });
        Self::over(app, tools).await
    }

    /// Starts a server over an application.
    pub(crate) async fn over(app: Arc<App>, tools: &'static Toolbox) -> Self {
        let listening = listen(&app).await.unwrap();
        let scheme = if listening.is_encrypted() { "https" } else { "http" };
        let url = format!("{scheme}://127.0.0.1:{}", listening.address().port());
        let (served_app, router) = (Arc::clone(&app), router_with(&app, &MODULES, tools));
        let serving = tokio::spawn(async move { listening.serve_router(&served_app, router).await });
        Self { app, url, serving }
    }

    pub(crate) fn url_of(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    /// Host and port, for raw sockets.
    pub(crate) fn address(&self) -> &str {
        self.url.split_once("://").unwrap().1
    }

    /// Stops as on a signal, and waits until everything has stopped.
    pub(crate) async fn stop(self) {
        self.app.shutdown.cancel();
        self.serving.await.unwrap();
        self.app.wait_stopped().await;
    }

    /// Calls a tool over `POST /tools/{name}`.
    pub(crate) async fn call(&self, key: Option<&str>, tool: &str, arguments: Value) -> (StatusCode, Value) {
        send_json(with_key(http().post(self.url_of(&format!("/tools/{tool}"))), key).json(&arguments)).await
    }

    /// Opens and initializes an MCP session over `/mcp` or a path below it.
    pub(crate) async fn open(&self, path: &str, key: Option<&str>) -> Session {
        let client = http();
        let request = with_key(client.post(self.url_of(path)), key)
            .header("accept", ACCEPT)
            .json(&initialize_request());
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200, "initialize");
        let id = response.headers()["mcp-session-id"].to_str().unwrap().to_owned();
        last_message(response).await;
        let session = Session { url: self.url_of(path), key: key.map(str::to_owned), id };
        assert_eq!(
            session.post(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await.status(),
            202
        );
        session
    }
}

const ACCEPT: &str = "application/json, text/event-stream";

/// The first message of an MCP session.
pub(crate) fn initialize_request() -> Value {
    json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } } })
}

/// Adds a key, if there is one, to a request.
pub(crate) fn with_key(request: RequestBuilder, key: Option<&str>) -> RequestBuilder {
    match key {
        Some(key) => request.bearer_auth(key),
        None => request,
    }
}

/// Sends a request. Returns the status and the JSON body.
pub(crate) async fn send_json(request: RequestBuilder) -> (StatusCode, Value) {
    let response = request.send().await.unwrap();
    (response.status(), response.json().await.unwrap())
}

/// The last message of an event stream, which is the answer.
pub(crate) async fn last_message(response: Response) -> Value {
    messages(response).await.pop().unwrap_or_default()
}

/// All messages of an event stream.
pub(crate) async fn messages(response: Response) -> Vec<Value> {
    let text = response.text().await.unwrap();
    text.lines()
        .filter_map(|line| line.strip_prefix("data:"))
        .filter(|data| !data.trim().is_empty())
        .map(|data| serde_json::from_str(data.trim()).unwrap_or_else(|e| panic!("{e}: {data}")))
        .collect()
}

/// An MCP session over Streamable HTTP, without an SDK.
#[derive(Clone)]
pub(crate) struct Session {
    pub(crate) url: String,
    pub(crate) key: Option<String>,
    pub(crate) id: String,
}

impl Session {
    /// Sends one message.
    pub(crate) async fn post(&self, message: Value) -> Response {
        let request = with_key(http().post(&self.url), self.key.as_deref());
        request
            .header("accept", ACCEPT)
            .header("mcp-session-id", &self.id)
            .json(&message)
            .send()
            .await
            .unwrap()
    }

    /// Sends a request and returns the answer.
    pub(crate) async fn request(&self, id: impl Into<Value>, method: &str, params: Value) -> Value {
        let request = json!({ "jsonrpc": "2.0", "id": id.into(), "method": method, "params": params });
        last_message(self.post(request).await).await
    }

    /// Calls a tool and returns the whole answer.
    pub(crate) async fn call(&self, id: impl Into<Value>, tool: &str, arguments: Value) -> Value {
        self.request(id, "tools/call", json!({ "name": tool, "arguments": arguments })).await
    }

    /// Names of the tools that are listed in this session.
    pub(crate) async fn tools(&self) -> Vec<String> {
        let list = self.request(1, "tools/list", json!({})).await;
        let tools = list["result"]["tools"].as_array().unwrap_or_else(|| panic!("{list:#}"));
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }
}
