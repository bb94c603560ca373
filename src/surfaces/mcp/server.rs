//! Answers the protocol's requests, the same way for every transport.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use axum::http::request::Parts;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, CustomNotification,
    CustomRequest, CustomResult, GetPromptRequestParams, GetPromptResponse, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, RequestId, ServerConfig, Tool,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;

use super::browse::Asked;
use super::capabilities::{Dialect, Vector, revisions, server_config};
use super::in_flight::{InFlight, Registered, canonical};
use super::progress::Reporter;
use super::roots::Roots;
use super::{completion, prompts, resources, wire};
use crate::app::App;
use crate::surfaces::answer;
use crate::tools::{Caller, Progress, Request, Surface, Toolbox};
use contract::Refusal;
use contract::config::{TextForm, Transport, ValidationErrors};

/// Methods of the revision. One of them reaches [`ServerHandler::on_custom_request`] only when its
/// parameters do not parse.
pub(super) const METHODS: &[&str] = &[
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

/// Header with the form of a request's text results: `short` or `envelope`.
pub const TEXT: &str = "x-mcp-text";

/// The server side of one session.
pub struct McpServer {
    app: Arc<App>,
    tools: &'static Toolbox,
    surface: Surface,
    dialect: Dialect,
    /// Who is at the other end, where the session itself says so: on stdin. Over HTTP each request does.
    local: Option<Caller>,
    /// What folders that client has open.
    roots: Arc<Roots>,
    running: InFlight,
}

impl McpServer {
    /// A session on stdin and stdout of this machine's own user.
    #[must_use]
    pub fn local(app: Arc<App>, tools: &'static Toolbox, caller: Caller) -> Self {
        let dialect = Dialect::of(&app.config.mcp.transport);
        Self {
            app,
            tools,
            surface: Surface::Stdio,
            dialect,
            local: Some(caller),
            roots: Arc::default(),
            running: InFlight::default(),
        }
    }

    /// A session over HTTP, whose every request brings its own [`Caller`].
    #[must_use]
    pub fn remote(app: Arc<App>, tools: &'static Toolbox, surface: Surface) -> Self {
        let dialect = if surface == Surface::Sse { Dialect::Older } else { Dialect::Current };
        Self {
            app,
            tools,
            surface,
            dialect,
            local: None,
            roots: Arc::default(),
            running: InFlight::default(),
        }
    }

    /// What is known of the folders that the client has open.
    pub(super) fn roots(&self) -> Arc<Roots> {
        Arc::clone(&self.roots)
    }

    /// Who sent this very request. Nothing is kept of earlier ones, which may have been another's.
    fn caller(&self, context: &RequestContext<RoleServer>) -> Result<Caller, ErrorData> {
        let sent = context.extensions.get::<Parts>().and_then(|parts| parts.extensions.get::<Caller>());
        let Some(caller) = sent.or(self.local.as_ref()) else {
            return Err(wire::refusal(&Refusal::Forbidden("The request names nobody.".to_owned())));
        };
        Ok(Caller { surface: self.surface, request_id: Some(canonical(&context.id)), ..caller.clone() })
    }

    /// A request other than `tools/call`; it can be cancelled as long as the second value lives.
    fn asked(&self, context: &RequestContext<RoleServer>) -> Result<(Asked<'_>, Registered), ErrorData> {
        let running = self.running.register(&context.id, &context.ct);
        let asked = Asked { app: &self.app, caller: self.caller(context)?, cancel: running.token() };
        Ok((asked, running))
    }

    /// What the text of results is: as the request's header says, else as the operator chose.
    fn text_form(&self, context: &RequestContext<RoleServer>) -> TextForm {
        let asked =
            context.extensions.get::<Parts>().and_then(|parts| parts.headers.get(TEXT)?.to_str().ok());
        match asked.map(str::trim) {
            Some(form) if form.eq_ignore_ascii_case("short") => TextForm::Short,
            Some(form) if form.eq_ignore_ascii_case("envelope") => TextForm::Envelope,
            _ => self.app.config.mcp.text,
        }
    }

    /// A broken argument is a protocol error or a tool result, as the operator chose.
    fn refuse(
        &self,
        refusal: &Refusal,
        form: TextForm,
        request_id: String,
    ) -> Result<CallToolResponse, ErrorData> {
        let as_result = matches!(refusal, Refusal::InvalidArguments(_))
            && self.app.config.mcp.validation_errors == ValidationErrors::Tool;
        if as_result {
            Ok(wire::result(&answer::refused(&self.app, refusal, Some(request_id)), form).into())
        } else {
            Err(wire::refusal(refusal))
        }
    }
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        server_config(self.dialect, Vector::found(&self.app))
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(revisions())
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let caller = self.caller(&context)?;
        Ok(ListToolsResult::with_all_items(self.tools.visible(&caller).map(wire::tool).collect()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tools.find(name).map(wire::tool)
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let mut caller = self.caller(&context)?;
        let running = self.running.register(&context.id, &context.ct);
        if self.local.is_some() {
            caller.roots = self.roots.of(&context.peer).await;
        }
        let (request_id, form) = (canonical(&context.id), self.text_form(&context));
        let tool = params.name.into_owned();
        let run = |progress: Progress| {
            let request = Request {
                tool: tool.clone(),
                arguments: Value::Object(params.arguments.unwrap_or_default()),
                caller,
                cancel: running.token(),
                progress,
            };
            self.tools.call(&self.app, request)
        };
        let outcome = match context.meta.get_progress_token() {
            None => run(Progress::default()).await,
            Some(token) => {
                let interval = Duration::from_millis(self.app.config.mcp.progress_interval_ms);
                Reporter::new(context.peer, token, tool.clone(), interval).during(&running.token(), run).await
            }
        };
        match outcome {
            Ok(envelope) => Ok(wire::result(&envelope, form).into()),
            Err(refusal) => self.refuse(&refusal, form, request_id),
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

    /// The roots are there before the first call needs them.
    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        if self.local.is_some() {
            self.roots.of(&context.peer).await;
        }
    }

    /// `$/cancelRequest` ends a call with an answer, `CANCELLED`; `notifications/cancelled` ends it without
    /// one, which rmcp sees to.
    async fn on_custom_notification(
        &self,
        notification: CustomNotification,
        _context: NotificationContext<RoleServer>,
    ) {
        if notification.method != "$/cancelRequest" {
            return;
        }
        let id = notification.params.as_ref().and_then(|params| params.get("id"));
        if let Some(id) = id.and_then(|id| serde_json::from_value::<RequestId>(id.clone()).ok()) {
            self.running.cancel(&id);
        }
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method.as_str();
        // Clients of the older framing say goodbye with a request.
        if method == "shutdown" && self.app.config.mcp.transport == Transport::Legacy && self.local.is_some()
        {
            return Ok(CustomResult::new(Value::Null));
        }
        Err(if METHODS.contains(&method) { wire::ill_typed(method) } else { wire::unknown_method(method) })
    }
}
