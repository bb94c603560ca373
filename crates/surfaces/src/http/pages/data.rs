//! Calls the gate for the content of a page, and reads the answers.

use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::FromRequestParts;
use axum::extract::rejection::ExtensionRejection;
use axum::http::request::Parts;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::form_tokens::FormToken;
use super::sessions::{Sessions, SignedIn};
use crate::answer as shared;
use crate::http::access::Access;
use crate::http::tool_routes::call_tool;
use crate::module::Modules;
use contract::{Envelope, ErrorCode, Meta};
use engine::highlighting::CodeText;
use gate::app::App;
use gate::tools::browse::{COMPLETE, browse};
use gate::tools::{Caller, Request, ToolSpec};
use languages::highlight::HighlightedSpan;

pub use super::page_error::PageError;

/// The caller of a page, and the means of calling.
pub struct Asker {
    app: Arc<App>,
    /// The modules of the server.
    pub(super) modules: &'static Modules,
    caller: Caller,
    /// `true` if the browser has signed in, so that it can sign out.
    pub(super) is_signed_in: bool,
    /// The token that a form of this browser must carry.
    pub(super) form_token: Option<FormToken>,
    pub(super) sessions: Arc<Sessions>,
}

impl FromRequestParts<Arc<App>> for Asker {
    type Rejection = ExtensionRejection;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Self::Rejection> {
        let Extension(caller) = Extension::<Caller>::from_request_parts(parts, app).await?;
        let Extension(access) = Extension::<Access>::from_request_parts(parts, app).await?;
        let session = parts.extensions.get::<SignedIn>().map(|session| session.0);
        let form_token = access.sessions.forms.of(session, &caller.principal.id);
        let is_signed_in = session.is_some();
        Ok(Self {
            app: Arc::clone(app),
            modules: access.modules,
            caller,
            is_signed_in,
            form_token,
            sessions: access.sessions,
        })
    }
}

/// An answer of the gate.
pub struct Answered<T> {
    /// The result.
    pub result: T,
    /// The facts about the call.
    pub meta: Meta,
}

impl Asker {
    /// Checks whether the gate lets the asker call a tool or an operation, so that pages offer only what will be answered.
    #[must_use]
    pub fn may_call(&self, name: &str) -> bool {
        let modules = self.app.modules;
        [modules.tools(), modules.operations()]
            .into_iter()
            .any(|toolbox| toolbox.is_callable(name, &self.app.config, &self.caller))
    }

    /// Returns `true` if the asker may change what all projects share.
    pub(super) fn is_operator(&self) -> bool {
        self.caller.principal.is_operator()
    }

    /// Calls a tool.
    ///
    /// # Errors
    /// The error of the call.
    pub async fn tool<T: DeserializeOwned>(
        &self,
        tool: &str,
        arguments: Value,
    ) -> Result<Answered<T>, PageError> {
        read(call_tool(&self.app, tool, arguments, self.caller.clone()).await)
    }

    /// Calls a tool that may take long, and waits briefly for its answer: `None` if it has not answered by then. The call
    /// continues, even if the browser has left.
    ///
    /// # Errors
    /// The error of the call.
    pub async fn tool_in_background<T: DeserializeOwned>(
        &self,
        tool: &'static str,
        arguments: Value,
        patience: Duration,
    ) -> Result<Option<Answered<T>>, PageError> {
        let (app, caller) = (Arc::clone(&self.app), self.caller.clone());
        let called = tokio::spawn(async move { call_tool(&app, tool, arguments, caller).await });
        match tokio::time::timeout(patience, called).await {
            Err(_) => Ok(None),
            Ok(Ok(envelope)) => read(envelope).map(Some),
            Ok(Err(error)) => {
                tracing::error!(%error, "a call of a page ended without an answer");
                Err(PageError::new(ErrorCode::Internal, "The call ended without an answer."))
            }
        }
    }

    /// Calls an operation that is not a tool.
    ///
    /// # Errors
    /// The error of the call.
    pub async fn operation<T: DeserializeOwned>(
        &self,
        operation: &ToolSpec,
        arguments: Value,
    ) -> Result<Answered<T>, PageError> {
        let id = self.caller.request_id.clone();
        let request = Request::new(operation.name, arguments, self.caller.clone());
        read(match browse(&self.app, request).await {
            Ok(envelope) => envelope,
            Err(refusal) => shared::refused(&self.app, &refusal, id),
        })
    }

    /// Returns the names of the repositories of a project; empty if the project does not exist.
    ///
    /// # Errors
    /// The error of the call.
    pub async fn repositories(&self, project: &str) -> Result<Vec<String>, PageError> {
        self.completions(json!({ "kind": "repository", "value": "", "project_id": project })).await
    }

    /// Returns the ids of the projects that the asker may use; empty if they cannot be listed at the moment.
    pub(super) async fn projects(&self) -> Vec<String> {
        self.completions(json!({ "kind": "project", "value": "" })).await.unwrap_or_default()
    }

    /// Returns the coloured parts of texts, each with the id of its language.
    pub(super) async fn colours(&self, texts: Vec<CodeText>) -> Vec<Vec<HighlightedSpan>> {
        self.app.highlighter.highlight(texts).await
    }

    async fn completions(&self, arguments: Value) -> Result<Vec<String>, PageError> {
        Ok(self.operation::<Values>(COMPLETE, arguments).await?.result.values)
    }

    /// Returns the project of this caller for addresses that do not name one.
    #[must_use]
    pub fn default_project(&self) -> &str {
        self.caller.project.as_deref().unwrap_or(DEFAULT_PROJECT)
    }

    /// Checks whether a repository holds records, such as findings, and no files.
    #[must_use]
    pub fn is_of_records(&self, repository: &str) -> bool {
        self.modules.is_of_records(repository)
    }
}

/// The id of the default workspace.
const DEFAULT_PROJECT: &str = "default";

#[derive(Deserialize)]
struct Values {
    values: Vec<String>,
}

fn read<T: DeserializeOwned>(envelope: Envelope) -> Result<Answered<T>, PageError> {
    let unreadable = || PageError::new(ErrorCode::Internal, "The answer cannot be shown.");
    match (envelope.result, envelope.error) {
        (_, Some(error)) => Err(error.into()),
        (Some(result), None) => match serde_json::from_value(result) {
            Ok(result) => Ok(Answered { result, meta: envelope.meta }),
            Err(error) => {
                tracing::error!(%error, "a page cannot read an answer");
                Err(unreadable())
            }
        },
        (None, None) => Err(unreadable()),
    }
}
