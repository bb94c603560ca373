//! Answers the protocol's requests, the same way for every transport.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelledNotificationParam, CustomRequest, CustomResult,
    ListToolsResult, PaginatedRequestParams, ProtocolVersion, ServerConfig, Tool,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;

use super::capabilities::{PROTOCOL, server_config};
use super::in_flight::{InFlight, canonical};
use super::progress::Reporter;
use super::wire;
use crate::app::App;
use crate::config::ValidationErrors;
use crate::contract::Refusal;
use crate::surfaces::answer;
use crate::tools::{self, Caller, LIST, Progress, Request, Surface};

/// Methods of the revision. One of them reaches [`ServerHandler::on_custom_request`] only when its
/// parameters do not parse.
const METHODS: &[&str] = &[
    "initialize",
    "ping",
    "tools/list",
    "tools/call",
    "prompts/list",
    "prompts/get",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "completion/complete",
    "logging/setLevel",
];

/// The server side of one session.
pub struct McpServer {
    app: Arc<App>,
    /// Where the client works; none over HTTP.
    directory: Option<PathBuf>,
    running: InFlight,
}

impl McpServer {
    /// A session of `app` whose client works in `directory`.
    #[must_use]
    pub fn new(app: Arc<App>, directory: Option<PathBuf>) -> Self {
        Self { app, directory, running: InFlight::default() }
    }

    /// A broken argument is a protocol error or a tool result, as the operator chose (contract.md, "MCP").
    fn refuse(&self, refusal: &Refusal, request_id: String) -> Result<CallToolResponse, ErrorData> {
        let as_result = matches!(refusal, Refusal::InvalidArguments(_))
            && self.app.config.mcp.validation_errors == ValidationErrors::Tool;
        if as_result {
            Ok(wire::result(&answer::refused(&self.app, refusal, Some(request_id))).into())
        } else {
            Err(wire::refusal(refusal))
        }
    }
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        server_config()
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(PROTOCOL)
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(LIST.iter().map(|spec| wire::tool(spec)).collect()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::find(name).map(wire::tool)
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let running = self.running.register(&context.id, &context.ct);
        let request_id = canonical(&context.id);
        let run = |progress: Progress| {
            let request = Request {
                tool: params.name.into_owned(),
                arguments: Value::Object(params.arguments.unwrap_or_default()),
                caller: Caller {
                    directory: self.directory.clone(),
                    request_id: Some(request_id.clone()),
                    ..Caller::local(Surface::Stdio)
                },
                cancel: running.token(),
                progress,
            };
            tools::call(&self.app, request)
        };
        let outcome = match context.meta.get_progress_token() {
            None => run(Progress::default()).await,
            Some(token) => {
                let interval = Duration::from_millis(self.app.config.mcp.progress_interval_ms);
                Reporter::new(context.peer, token, interval).during(run).await
            }
        };
        match outcome {
            Ok(envelope) => Ok(wire::result(&envelope).into()),
            Err(refusal) => self.refuse(&refusal, request_id),
        }
    }

    async fn on_cancelled(
        &self,
        cancelled: CancelledNotificationParam,
        _context: NotificationContext<RoleServer>,
    ) {
        if let Some(id) = &cancelled.request_id {
            self.running.cancel(id);
        }
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method.as_str();
        Err(if METHODS.contains(&method) { wire::ill_typed(method) } else { wire::unknown_method(method) })
    }
}
