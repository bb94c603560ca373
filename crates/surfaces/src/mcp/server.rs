//! Answers the protocol's requests for every transport.

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

use super::browse::BrowseRequest;
use super::capabilities::{Dialect, VectorBackends, revisions, server_config};
use super::in_flight::{CallRegistration, InFlight, canonical};
use super::progress::ProgressReporter;
use super::roots::Roots;
use super::{completion, methods, prompts, resources, wire};
use crate::answer;
use contract::config::{TextForm, Transport, ValidationErrors};
use contract::{Envelope, Refusal};
use gate::app::App;
use gate::tools::{Caller, Progress, Request, Surface, Toolbox};

/// Time for writing the answer to `exit` before the process ends.
const EXIT_DELAY: Duration = Duration::from_millis(100);

/// Header with the text form of results: `short` or `envelope`.
pub const TEXT: &str = "x-mcp-text";

/// The server side of one session.
pub struct McpServer {
    app: Arc<App>,
    tools: &'static Toolbox,
    surface: Surface,
    dialect: Dialect,
    /// The caller of a stdio session; `None` over HTTP, where each request carries its own.
    local: Option<Caller>,
    /// The client's open folders; used only on stdio.
    roots: Arc<Roots>,
    running: InFlight,
}

impl McpServer {
    /// Creates a stdio session of the local user.
    #[must_use]
    pub fn local(app: Arc<App>, tools: &'static Toolbox, caller: Caller) -> Self {
        let dialect = Dialect::from_stdio(&app.config.mcp.transport);
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

    /// Creates an HTTP session; every request carries its own [`Caller`].
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

    /// Returns the client's roots.
    pub(super) fn roots(&self) -> Arc<Roots> {
        Arc::clone(&self.roots)
    }

    /// Returns the caller of this request. Nothing is taken from earlier requests, which may have had another caller.
    fn caller(&self, context: &RequestContext<RoleServer>) -> Result<Caller, ErrorData> {
        let sent = context.extensions.get::<Parts>().and_then(|parts| parts.extensions.get::<Caller>());
        let Some(caller) = sent.or(self.local.as_ref()) else {
            return Err(wire::refusal_error(&Refusal::Forbidden("The request has no caller.".to_owned())));
        };
        Ok(Caller { surface: self.surface, request_id: Some(canonical(&context.id)), ..caller.clone() })
    }

    /// Prepares a request other than `tools/call`. It can be cancelled until the registration is dropped.
    fn browse_request(
        &self,
        context: &RequestContext<RoleServer>,
    ) -> Result<(BrowseRequest<'_>, CallRegistration), ErrorData> {
        let running = self.running.register(&context.id, &context.ct);
        let request =
            BrowseRequest { app: &self.app, caller: self.caller(context)?, cancel: running.token() };
        Ok((request, running))
    }

    /// Returns the text form of results: from the request's header, else from the configuration. The HTTP surface has already
    /// refused values that are not text.
    fn text_form(&self, context: &RequestContext<RoleServer>) -> TextForm {
        let asked =
            context.extensions.get::<Parts>().and_then(|parts| parts.headers.get(TEXT)?.to_str().ok());
        match asked.map(str::trim) {
            Some(form) if form.eq_ignore_ascii_case("short") => TextForm::Short,
            Some(form) if form.eq_ignore_ascii_case("envelope") => TextForm::Envelope,
            _ => self.app.config.mcp.text,
        }
    }

    /// Answers `shutdown` and `exit`, which end this process, to a client on stdin; `None` for other requests.
    fn end_of_process(&self, method: &str) -> Option<CustomResult> {
        self.local.as_ref()?;
        match method {
            // Clients of the older framing send `shutdown` before they exit.
            "shutdown" if self.app.config.mcp.transport == Transport::Legacy => {
                Some(CustomResult::new(Value::Null))
            }
            "shutdown" => Some(CustomResult::new(serde_json::json!({ "shuttingDown": true }))),
            "exit" => {
                let app = Arc::clone(&self.app);
                tokio::spawn(async move {
                    // Runs after the answer is written.
                    tokio::time::sleep(EXIT_DELAY).await;
                    app.shutdown.cancel();
                });
                Some(CustomResult::new(serde_json::json!({ "exiting": true })))
            }
            _ => None,
        }
    }

    /// Calls a tool for this request, which can be cancelled, and reports its progress.
    async fn run(
        &self,
        tool: String,
        arguments: Value,
        context: RequestContext<RoleServer>,
    ) -> Result<Result<Envelope, Refusal>, ErrorData> {
        let mut caller = self.caller(&context)?;
        let running = self.running.register(&context.id, &context.ct);
        if self.local.is_some() {
            caller.roots = self.roots.current(&context.peer).await;
        }
        let named = tool.clone();
        let run = |progress: Progress| {
            let request =
                Request { cancel: running.token(), progress, ..Request::new(tool, arguments, caller) };
            self.tools.call(&self.app, request)
        };
        Ok(match context.meta.get_progress_token() {
            None => run(Progress::default()).await,
            Some(token) => {
                let interval = Duration::from_millis(self.app.config.mcp.progress_interval_ms);
                ProgressReporter::new(context.peer, token, named, interval)
                    .during(&running.token(), run)
                    .await
            }
        })
    }

    /// Converts a refusal: invalid arguments become a protocol error or a tool result, depending on the configuration.
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
            Err(wire::refusal_error(refusal))
        }
    }
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        server_config(self.dialect, VectorBackends::detect(&self.app))
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
        let listed = self.tools.listed(&self.app.config, &caller);
        Ok(ListToolsResult::with_all_items(listed.map(wire::tool).collect()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tools.find(name).map(wire::tool)
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let (request_id, form) = (canonical(&context.id), self.text_form(&context));
        let arguments = Value::Object(params.arguments.unwrap_or_default());
        match self.run(params.name.into_owned(), arguments, context).await? {
            Ok(envelope) => Ok(wire::result(&envelope, form).into()),
            Err(refusal) => self.refuse(&refusal, form, request_id),
        }
    }

    async fn list_prompts(
        &self,
        _page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(prompts::list(&self.app, &self.caller(&context)?))
    }

    async fn get_prompt(
        &self,
        params: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let (request, _running) = self.browse_request(&context)?;
        Ok(prompts::get(request, params).await?.into())
    }

    async fn list_resources(
        &self,
        page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let (request, _running) = self.browse_request(&context)?;
        resources::list(request, page).await
    }

    async fn list_resource_templates(
        &self,
        _page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(resources::templates(&self.app, &self.caller(&context)?))
    }

    async fn read_resource(
        &self,
        params: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let (request, _running) = self.browse_request(&context)?;
        Ok(resources::read(request, params).await?.into())
    }

    async fn complete(
        &self,
        params: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let (request, _running) = self.browse_request(&context)?;
        completion::complete(request, params).await
    }

    /// Requests the roots early, so that the first call does not have to wait for them.
    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        if self.local.is_some() {
            self.roots.current(&context.peer).await;
        }
    }

    /// Handles `$/cancelRequest`, which ends a call with the answer `CANCELLED`. rmcp handles `notifications/cancelled`, which ends
    /// it without an answer.
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
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if let Some(result) = self.end_of_process(&request.method) {
            return Ok(result);
        }
        let (method, params) = methods::dispatched(self.tools, request.method, request.params)?;
        let Some(tool) = self.tools.find_method(&method) else {
            let is_verbose = self.app.config.log.filter.contains("debug");
            return Err(methods::no_handler_error(self.tools, &method, is_verbose));
        };
        match self.run(tool.name.to_owned(), params.unwrap_or_default(), context).await? {
            Ok(envelope) => methods::result_or_error(&method, envelope),
            Err(refusal) => Err(methods::refusal_error(&method, &refusal)),
        }
    }
}
