//! The context of a running tool: the app, its caller, cancellation, progress and the answer's metadata.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use serde::Serialize;
use serde_json::Value;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use crate::app::{App, CallSlot, blocking};
use crate::tools::event_sink::EventSink;
use crate::tools::suggestion::Suggestion;
use crate::tools::visibility::ToolVisibility;
use contract::{
    Coverage, Envelope, ErrorCode, Fault, Meta, ProjectId, RepositoryAddress, SearchScope, Warning,
};
use embedding::ModelName;
use engine::search::{as_shown, newer_index, tokens};
use store::{DecidedBy, ModelFacts, Project};
use tenancy::{self, Principal, Session, Trust};

/// Tokens reserved for the parts of the envelope that are known only after the tool ends: the digits of the duration and the
/// code of one more warning.
const ENVELOPE_RESERVE_TOKENS: usize = 20;

/// The context of one call, for the tool that runs it. Cheap to clone.
#[derive(Clone)]
pub struct Call {
    /// The application.
    pub app: Arc<App>,
    /// Identity and origin of the caller.
    pub caller: Caller,
    /// Fires when the client cancels the call or disconnects, or the call times out.
    pub cancel: CancellationToken,
    /// Receives progress updates.
    pub progress: Progress,
    /// Receives the events of a streamed answer.
    pub(super) events: EventSink,
    /// The slot in the queue that the call occupies.
    pub slot: CallSlot,
    /// `true` if the tool writes: then a session configuration that the user has not confirmed must not choose its project.
    writes: bool,
    notes: Arc<Mutex<AnswerNotes>>,
    /// The project of the call; cached, so that all its steps use the same one.
    target: Arc<OnceCell<ResolvedProject>>,
}

/// The project that a call is about. Its workspace may not exist.
#[derive(Debug, Clone)]
struct ResolvedProject {
    /// The `project_id` argument it was resolved from.
    argument: Option<String>,
    id: ProjectId,
    decided_by: DecidedBy,
}

/// Identity and origin of a caller; the surface creates it for each request.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Identity and scopes.
    pub principal: Arc<Principal>,
    /// The surface that the call came through; recorded in the audit table.
    pub surface: Surface,
    /// The caller's working directory: the default of `repoPath` and the start of the search for `.pairofcleats.json`.
    /// `None` on HTTP, where a caller has no directory on this machine.
    pub directory: Option<PathBuf>,
    /// The folders that an MCP client on this machine has open (its roots); empty if it does not report any.
    pub roots: Vec<PathBuf>,
    /// The project of the caller's session; the `project_id` of a call takes precedence.
    pub project: Option<String>,
    /// Correlation id, echoed in `_meta.requestId`.
    pub request_id: Option<String>,
    /// The span of the client that the call belongs to, as the header `traceparent` of W3C Trace Context.
    pub trace_parent: Option<String>,
    /// The tools that it may see and call.
    pub visibility: ToolVisibility,
}

/// The way in which a call reached the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Surface {
    /// The command line.
    Cli,
    /// MCP on stdin and stdout.
    Stdio,
    /// MCP over Streamable HTTP.
    Mcp,
    /// MCP over the older HTTP with server-sent events.
    Sse,
    /// An HTTP route.
    Http,
}

impl Surface {
    /// Returns `true` if the caller is the local user of this machine.
    #[must_use]
    pub fn is_local(self) -> bool {
        matches!(self, Self::Cli | Self::Stdio)
    }

    /// The value in the audit table.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cli => "cli",
            Self::Stdio => "stdio",
            Self::Mcp => "mcp",
            Self::Sse => "sse",
            Self::Http => "http",
        }
    }
}

impl Caller {
    /// The operator on this machine, without a working directory, who sees every tool.
    #[must_use]
    pub fn local(surface: Surface) -> Self {
        Self {
            principal: Arc::new(Principal::local()),
            surface,
            directory: None,
            roots: Vec::new(),
            project: None,
            request_id: None,
            trace_parent: None,
            visibility: ToolVisibility::default(),
        }
    }
}

/// One step of a running call.
#[derive(Debug, Clone, PartialEq)]
pub struct ProgressUpdate {
    /// Name of the phase: walk, chunk, embed …
    pub phase: &'static str,
    /// Amount done; never decreases within a call.
    pub done: f64,
    /// Final value of `done`, if known.
    pub total: Option<f64>,
    /// Message for people.
    pub message: String,
    /// Snapshot of the job, for surfaces that show more than a message.
    pub detail: Option<Value>,
}

/// Receives progress updates; drops them if the client did not ask for progress.
#[derive(Clone, Default)]
pub struct Progress(Option<Arc<dyn Fn(ProgressUpdate) + Send + Sync>>);

impl Progress {
    /// Sends every update to `sink`, which must not block.
    pub fn to(sink: impl Fn(ProgressUpdate) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(sink)))
    }

    /// A receiver that drops all updates after `cancel` fires.
    #[must_use]
    pub fn until_cancelled(self, cancel: CancellationToken) -> Self {
        match self.0 {
            None => Self(None),
            Some(sink) => Self::to(move |update| {
                if !cancel.is_cancelled() {
                    sink(update);
                }
            }),
        }
    }

    /// Sends an update to the receiver, if there is one.
    pub fn report(&self, update: ProgressUpdate) {
        if let Some(sink) = &self.0 {
            sink(update);
        }
    }
}

#[derive(Debug, Default)]
struct AnswerNotes {
    repo: Option<String>,
    project: Option<(Option<String>, &'static str)>,
    scope: Option<SearchScope>,
    coverage: Option<Coverage>,
    warnings: Vec<Warning>,
    suggestion: Suggestion,
    run_id: Option<String>,
}

impl Call {
    /// The context of a call that has not run yet.
    pub(super) fn new(
        app: Arc<App>,
        caller: Caller,
        cancel: CancellationToken,
        progress: Progress,
        writes: bool,
    ) -> Self {
        Self {
            app,
            caller,
            cancel,
            progress,
            events: EventSink::default(),
            slot: CallSlot::default(),
            writes,
            notes: Arc::default(),
            target: Arc::default(),
        }
    }

    /// A copy of the call that only reads a project. It resolves the project again, because here a session configuration may
    /// choose it that the user has not confirmed.
    #[must_use]
    pub(super) fn for_reading(&self) -> Self {
        Self { writes: false, target: Arc::default(), ..self.clone() }
    }

    /// Adds a warning to the answer, unless it has the same one.
    pub fn warn(&self, warning: Warning) {
        self.with_notes(|notes| {
            if !notes.warnings.contains(&warning) {
                notes.warnings.push(warning);
            }
        });
    }

    /// Sets what `_meta.next` may propose.
    pub(super) fn suggest(&self, suggestion: Suggestion) {
        self.with_notes(|notes| notes.suggestion = suggestion);
    }

    /// The suggestion from [`Call::suggest`].
    pub(super) fn suggestion(&self) -> Suggestion {
        self.with_notes(|notes| notes.suggestion.clone())
    }

    /// Sets the `run_id` of the envelope, even if the call fails afterwards.
    pub fn set_run_id(&self, run_id: impl Into<String>) {
        self.with_notes(|notes| notes.run_id = Some(run_id.into()));
    }

    /// The id from [`Call::set_run_id`].
    pub(super) fn run_id(&self) -> Option<String> {
        self.with_notes(|notes| notes.run_id.clone())
    }

    /// Sets `_meta.repo`: the repository that the answer is about, as the caller named it.
    pub fn set_repository(&self, repo: impl Into<String>) {
        let repo = repo.into();
        // A malformed address may contain a password.
        let is_malformed = RepositoryAddress::parse(&repo).is_some_and(|parsed| parsed.is_err());
        if !is_malformed {
            self.with_notes(|notes| notes.repo = Some(repo));
        }
    }

    /// Sets `_meta.scope`: the searched repositories and the rule that chose them.
    pub(super) fn set_search_scope(&self, repositories: Vec<String>, decided_by: &str) {
        let scope = SearchScope { repositories, decided_by: decided_by.to_owned() };
        self.with_notes(|notes| notes.scope = Some(scope));
    }

    /// Sets `_meta.coverage`: where the answer looked, and what is not indexed there.
    pub(super) fn set_coverage(&self, coverage: Coverage) {
        self.with_notes(|notes| notes.coverage = Some(coverage));
    }

    /// Sends an event of a streamed answer, and waits until the client has room for more.
    ///
    /// # Errors
    /// `CANCELLED` if the client has gone, or the call was cancelled or timed out.
    pub async fn send_event(&self, name: &'static str, content: &impl Serialize) -> Result<(), Fault> {
        self.events.send(&self.cancel, name, content).await
    }

    /// Opens the project of the call if its workspace exists; never creates one.
    ///
    /// # Errors
    /// `VALIDATION_ERROR` for a malformed id; storage faults.
    pub async fn project_if_any(&self, project_id: Option<&str>) -> Result<Option<Project>, Fault> {
        let ResolvedProject { id, decided_by, .. } = self.target(project_id).await?;
        // Checked before the database is read, so that a forbidden project and a missing one get the same answer.
        if !self.caller.principal.may_use(&id) {
            return Ok(None);
        }
        let project = tenancy::open(self.app.store().await?, &id, decided_by).await?;
        if project.as_ref().is_some_and(Project::is_newer) {
            self.warn(newer_index(&format!("The project `{id}`")));
        }
        Ok(project)
    }

    /// Returns `true` if the call, its session or its working directory names a project. Otherwise it uses the default workspace.
    ///
    /// # Errors
    /// `VALIDATION_ERROR` for a malformed id.
    pub async fn names_project(&self, project_id: Option<&str>) -> Result<bool, Fault> {
        Ok(self.target(project_id).await?.decided_by != DecidedBy::Default)
    }

    /// The id of the call's project. Refuses a caller who may not use it, before anything else is read.
    ///
    /// # Errors
    /// `FORBIDDEN`, the same whether the project exists or not; `VALIDATION_ERROR` for a malformed id.
    pub async fn allowed_project(&self, project_id: Option<&str>) -> Result<ProjectId, Fault> {
        let ResolvedProject { id, .. } = self.target(project_id).await?;
        if self.caller.principal.may_use(&id) {
            Ok(id)
        } else {
            Err(self.caller.principal.project_forbidden(&id))
        }
    }

    /// Refuses a caller who is not the operator.
    ///
    /// # Errors
    /// `FORBIDDEN` for a key without the scope `admin` or not for all projects.
    pub fn require_operator(&self) -> Result<(), Fault> {
        if self.caller.principal.is_operator() {
            return Ok(());
        }
        let message = "This affects all projects, but your key is limited to some of them.";
        Err(Fault::new(ErrorCode::Forbidden, message)
            .with_hint("Ask the operator, or use a key with the scope `admin` and all projects."))
    }

    /// The project of the call and the rule that chose it. Resolved on first use; later steps get the cached result
    /// without reading files or asking workflow-mcp again.
    ///
    /// # Errors
    /// `VALIDATION_ERROR` for a malformed id; `FORBIDDEN` where the call writes and the project comes from a session
    /// configuration that the user has not confirmed.
    async fn target(&self, project_id: Option<&str>) -> Result<ResolvedProject, Fault> {
        let target = self.target.get_or_try_init(|| self.resolve(project_id)).await?;
        let target = match target.argument.as_deref() == project_id {
            true => target.clone(),
            // A tool may pass another argument, although none does today; the cached project would be wrong then.
            false => self.resolve(project_id).await?,
        };
        let public = target.id.public().map(str::to_owned);
        self.with_notes(|notes| notes.project = Some((public, target.decided_by.as_str())));
        Ok(target)
    }

    async fn resolve(&self, project_id: Option<&str>) -> Result<ResolvedProject, Fault> {
        let argument = project_id.map(str::to_owned);
        let (named, directory) = (self.caller.project.clone(), self.caller.directory.clone());
        let trust = self.writes.then(|| Trust::new(&self.app.layout));
        // Walks up the directories and reads files.
        let (argument, chosen) = blocking(move || {
            let session = Session { project: named.as_deref(), directory: directory.as_deref() };
            let chosen = tenancy::resolve(argument.as_deref(), session)?;
            if argument.as_deref().or(session.project).is_some_and(|named| named != chosen.id.as_str()) {
                return Err(tenancy::wrong_project());
            }
            if let (Some(trust), Some(file)) = (trust, &chosen.file) {
                trust.require(file)?;
            }
            Ok((argument, chosen))
        })
        .await?;
        let (mut id, mut decided_by) = (chosen.id, chosen.decided_by);
        if let (DecidedBy::Default, Some(workflow)) = (decided_by, &self.app.workflow)
            && let Some(active) = workflow.active().await
        {
            (id, decided_by) = (active, DecidedBy::Workflow);
        }
        tracing::debug!(
            project = id.as_str(),
            decided_by = decided_by.as_str(),
            "resolved the project of a call"
        );
        Ok(ResolvedProject { argument, id, decided_by })
    }

    /// Opens the project of the call.
    ///
    /// # Errors
    /// `NO_INDEX` if the workspace does not exist; otherwise as [`Call::project_if_any`].
    pub async fn project(&self, project_id: Option<&str>) -> Result<Project, Fault> {
        match self.project_if_any(project_id).await? {
            Some(project) => Ok(project),
            None => Err(self.no_index(project_id).await?),
        }
    }

    /// The fault of a project whose workspace does not exist.
    ///
    /// # Errors
    /// As [`Call::project_if_any`].
    pub async fn no_index(&self, project_id: Option<&str>) -> Result<Fault, Fault> {
        let id = self.target(project_id).await?.id;
        Ok(tenancy::no_index(&id).with_hint(self.caller.principal.project_hint()))
    }

    /// Opens the project of the call, and creates it on first use.
    ///
    /// # Errors
    /// `PERMISSION_DENIED` if the database login may not create it; otherwise as [`Call::project_if_any`].
    pub async fn project_for_writing(&self, project_id: Option<&str>) -> Result<Project, Fault> {
        self.project_with_model(project_id, None).await
    }

    /// As [`Call::project_for_writing`], but a new project is pinned to `model` instead of the configured one.
    ///
    /// # Errors
    /// `CAPABILITY_MISSING` if the project must be created and the model is not installed; otherwise as
    /// [`Call::project_for_writing`].
    pub async fn project_with_model(
        &self,
        project_id: Option<&str>,
        model: Option<&ModelName>,
    ) -> Result<Project, Fault> {
        self.allowed_project(project_id).await?;
        if let Some(project) = self.project_if_any(project_id).await? {
            return Ok(project);
        }
        let ResolvedProject { id, decided_by, .. } = self.target(project_id).await?;
        let embedder = match model {
            Some(name) => self.app.model(name).await?,
            None => Arc::clone(self.app.embedder().await?),
        };
        tenancy::provision(self.app.store().await?, &id, decided_by, &ModelFacts::from(embedder.model()))
            .await
    }

    /// Tokens of the envelope around the result, including a reserve for the parts that are known only at the end.
    #[must_use]
    pub fn envelope_tokens(&self) -> usize {
        let meta = self.meta(self.app.clock.instant());
        tokens::count(&as_shown(&Envelope::success(Value::Null, meta).with_run_id(self.run_id())))
            + ENVELOPE_RESERVE_TOKENS
    }

    /// The answer's `_meta`: time, duration and the notes that the tool made.
    pub(super) fn meta(&self, started: Instant) -> Meta {
        let mut meta = Meta::new(contract::clock::iso_millis(self.app.clock.now()));
        meta.request_id.clone_from(&self.caller.request_id);
        let elapsed = self.app.clock.instant().duration_since(started);
        meta.duration_ms = Some((elapsed.as_secs_f64() * 1e6).round() / 1e3);
        self.with_notes(|notes| {
            meta.repo.clone_from(&notes.repo);
            if let Some((id, decided_by)) = &notes.project {
                meta.project_id = Some(id.clone().map_or(Value::Null, Value::String));
                meta.project_decided_by = Some((*decided_by).to_owned());
            }
            meta.scope.clone_from(&notes.scope);
            meta.coverage.clone_from(&notes.coverage);
            meta.warnings.clone_from(&notes.warnings);
        });
        meta
    }

    fn with_notes<T>(&self, note: impl FnOnce(&mut AnswerNotes) -> T) -> T {
        note(&mut self.notes.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
