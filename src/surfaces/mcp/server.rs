//! Answers the protocol's requests, the same way for every transport.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelledNotificationParam, CompleteRequestParams,
    CompleteResult, CustomRequest, CustomResult, GetPromptRequestParams, GetPromptResponse,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, ServerConfig,
    Tool,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;

use super::browse::Asked;
use super::capabilities::{PROTOCOL, server_config};
use super::in_flight::{InFlight, Registered, canonical};
use super::progress::Reporter;
use super::{completion, prompts, resources, wire};
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
    local: Option<Caller>,
    running: InFlight,
}

impl McpServer {
    /// A session of `app` whose client works in `directory`.
    #[must_use]
    pub fn new(app: Arc<App>, directory: Option<PathBuf>) -> Self {
        Self { app, directory, local: None, running: InFlight::default() }
    }

    /// A session on stdin and stdout of this machine's own user.
    #[must_use]
    pub fn local(app: Arc<App>, _tools: &'static crate::tools::Toolbox, caller: Caller) -> Self {
        Self { app, directory: None, local: Some(caller), running: InFlight::default() }
    }

    fn caller(&self, context: &RequestContext<RoleServer>) -> Result<Caller, ErrorData> {
        if let Some(caller) = &self.local {
            return Ok(Caller { request_id: Some(canonical(&context.id)), ..caller.clone() });
        }
        Ok(Caller {
            directory: self.directory.clone(),
            request_id: Some(canonical(&context.id)),
            ..Caller::local(Surface::Stdio)
        })
    }

    /// A request other than `tools/call`; it can be cancelled as long as the second value lives.
    fn asked(&self, context: &RequestContext<RoleServer>) -> Result<(Asked<'_>, Registered), ErrorData> {
        let running = self.running.register(&context.id, &context.ct);
        let asked = Asked { app: &self.app, caller: self.caller(context)?, cancel: running.token() };
        Ok((asked, running))
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

    async fn list_prompts(
        &self,
        _page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(prompts::list(&self.caller(&context)?))
    }

    async fn get_prompt(
        &self,
        params: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let (asked, _running) = self.asked(&context)?;
        Ok(prompts::get(asked, params).await?.into())
    }

    async fn list_resources(
        &self,
        page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let (asked, _running) = self.asked(&context)?;
        resources::list(asked, page).await
    }

    async fn list_resource_templates(
        &self,
        _page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(resources::templates(&self.caller(&context)?))
    }

    async fn read_resource(
        &self,
        params: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let (asked, _running) = self.asked(&context)?;
        Ok(resources::read(asked, params).await?.into())
    }

    async fn complete(
        &self,
        params: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let (asked, _running) = self.asked(&context)?;
        completion::complete(asked, params).await
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
