//! What a running tool may use: the app, its caller, cancellation, progress and the answer's metadata.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use serde_json::Value;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use crate::app::{App, Seat};
use crate::tools::view::View;
use contract::{Envelope, ErrorCode, Fault, Meta, ProjectId, SearchScope, Warning};
use embedding::ModelName;
use engine::search::{as_shown, tokens};
use store::{DecidedBy, ModelFacts, Project};
use tenancy::{self, Principal, Session, Trust};

/// Tokens of the envelope that come after the tool is done: the duration's digits and the code of one more warning.
const ENVELOPE_LATER_TOKENS: usize = 20;

/// One call, in the hands of the tool that runs it. Cheap to clone.
#[derive(Clone)]
pub struct Call {
    /// The application.
    pub app: Arc<App>,
    /// Who asks and from where.
    pub caller: Caller,
    /// Fires when the client cancelled or left, or the time is over.
    pub cancel: CancellationToken,
    /// Where progress goes.
    pub progress: Progress,
    /// The place in the queue that it runs in.
    pub seat: Seat,
    /// Whether the tool changes something, so that no unconfirmed file may choose its project.
    writes: bool,
    notes: Arc<Mutex<Notes>>,
    /// What workflow-mcp said to this call, so that all its steps mean the same project.
    active: Arc<OnceCell<Option<ProjectId>>>,
}

/// Who asks and from where; made by the surface for each request.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Who it is, and what it may do.
    pub principal: Arc<Principal>,
    /// How it reached us; the audit table says so.
    pub surface: Surface,
    /// Where the caller works: the default of `repoPath` and the start of the search for
    /// `.pairofcleats.json`. None on HTTP, where a caller has no directory here.
    pub directory: Option<PathBuf>,
    /// The folders that an MCP client on this machine has open (its roots); empty where it tells of none.
    pub roots: Vec<PathBuf>,
    /// The project its session is configured for; a call's own `project_id` beats it.
    pub project: Option<String>,
    /// Correlation id, echoed in `_meta.requestId`.
    pub request_id: Option<String>,
    /// Which tools it sees.
    pub view: View,
}

/// How a call reached us.
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
    /// A route.
    Http,
}

impl Surface {
    /// Whether whoever calls sits at this machine, as its own user.
    #[must_use]
    pub fn is_local(self) -> bool {
        matches!(self, Self::Cli | Self::Stdio)
    }

    /// As the audit table has it.
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
    /// The operator on this machine, in no directory, who sees every tool.
    #[must_use]
    pub fn local(surface: Surface) -> Self {
        Self {
            principal: Arc::new(Principal::local()),
            surface,
            directory: None,
            roots: Vec::new(),
            project: None,
            request_id: None,
            view: View::default(),
        }
    }
}

/// One step of a running call.
#[derive(Debug, Clone, PartialEq)]
pub struct ProgressUpdate {
    /// What is being done: walk, chunk, embed …
    pub phase: &'static str,
    /// Monotonic over the whole call.
    pub done: f64,
    /// Where `done` ends, if that is known.
    pub total: Option<f64>,
    /// For people.
    pub message: String,
    /// The job's own snapshot, for surfaces that draw more than a line.
    pub detail: Option<Value>,
}

/// Where progress goes; does nothing when nobody asked for it.
#[derive(Clone, Default)]
pub struct Progress(Option<Arc<dyn Fn(ProgressUpdate) + Send + Sync>>);

impl Progress {
    /// Sends every update to `sink`, which must not block.
    pub fn to(sink: impl Fn(ProgressUpdate) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(sink)))
    }

    /// The same until `over` fires; what is reported from then on goes nowhere.
    #[must_use]
    pub fn until(self, over: CancellationToken) -> Self {
        match self.0 {
            None => Self(None),
            Some(sink) => Self::to(move |update| {
                if !over.is_cancelled() {
                    sink(update);
                }
            }),
        }
    }

    /// Reports a step.
    pub fn report(&self, update: ProgressUpdate) {
        if let Some(sink) = &self.0 {
            sink(update);
        }
    }
}

#[derive(Debug, Default)]
struct Notes {
    repo: Option<String>,
    project: Option<(Option<String>, &'static str)>,
    scope: Option<SearchScope>,
    warnings: Vec<Warning>,
    callers_of: Option<String>,
}

impl Call {
    /// A call that has not run yet.
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
            seat: Seat::default(),
            writes,
            notes: Arc::default(),
            active: Arc::default(),
        }
    }

    /// The same call where it only looks at a project.
    #[must_use]
    pub(super) fn reading(&self) -> Self {
        Self { writes: false, ..self.clone() }
    }

    /// Adds a warning to the answer.
    pub fn warn(&self, warning: Warning) {
        self.noting(|notes| notes.warnings.push(warning));
    }

    /// Notes a question for the callers of what the answer shows, for the call that is named next.
    pub(super) fn suggest(&self, query: Option<String>) {
        self.noting(|notes| notes.callers_of = query);
    }

    /// The question that was noted.
    pub(super) fn suggested(&self) -> Option<String> {
        self.noting(|notes| notes.callers_of.clone())
    }

    /// Notes the repository the answer is about, as the caller named it.
    pub fn about_repo(&self, repo: impl Into<String>) {
        self.noting(|notes| notes.repo = Some(repo.into()));
    }

    /// Notes the repositories that are searched, and the rule that chose them.
    pub(super) fn searched(&self, repositories: Vec<String>, decided_by: &str) {
        let scope = SearchScope { repositories, decided_by: decided_by.to_owned() };
        self.noting(|notes| notes.scope = Some(scope));
    }

    /// The project the call is about, if its workspace exists; never creates one.
    ///
    /// # Errors
    /// `VALIDATION_ERROR` for a malformed id; storage faults.
    pub async fn project_if_any(&self, project_id: Option<&str>) -> Result<Option<Project>, Fault> {
        let (id, decided_by) = self.chosen(project_id).await?;
        // Asked before the database is, so that a forbidden project and one that does not exist answer alike.
        if !self.caller.principal.may_use(&id) {
            return Ok(None);
        }
        tenancy::open(self.app.store().await?, &id, decided_by).await
    }

    /// Whether the call, its session or its folder names a project; else the default workspace is meant.
    ///
    /// # Errors
    /// `VALIDATION_ERROR` for a malformed id.
    pub async fn names_a_project(&self, project_id: Option<&str>) -> Result<bool, Fault> {
        Ok(self.chosen(project_id).await?.1 != DecidedBy::Default)
    }

    /// Which project is meant; refuses a caller who may not use it, before anything else is looked at.
    ///
    /// # Errors
    /// `FORBIDDEN`, the same whether the project exists or not; `VALIDATION_ERROR` for a malformed id.
    pub async fn allowed_project(&self, project_id: Option<&str>) -> Result<ProjectId, Fault> {
        let (id, _) = self.chosen(project_id).await?;
        if self.caller.principal.may_use(&id) { Ok(id) } else { Err(self.caller.principal.refused(&id)) }
    }

    /// Refuses a caller who does not speak for the whole installation.
    ///
    /// # Errors
    /// `FORBIDDEN`.
    pub fn require_operator(&self) -> Result<(), Fault> {
        if self.caller.principal.is_operator() {
            return Ok(());
        }
        let message = "This changes what all projects share, and your key is for some of them.";
        Err(Fault::new(ErrorCode::Forbidden, message)
            .with_hint("Ask the operator, or use a key with the scope `admin` and all projects."))
    }

    /// Which project is meant, and by which rule.
    ///
    /// # Errors
    /// `FORBIDDEN` where the call writes, and a file chose the project that the user did not confirm.
    async fn chosen(&self, project_id: Option<&str>) -> Result<(ProjectId, DecidedBy), Fault> {
        let (project, directory) = (self.caller.project.as_deref(), self.caller.directory.as_deref());
        let chosen = tenancy::resolve(project_id, Session { project, directory })?;
        if project_id.or(project).is_some_and(|named| named != chosen.id.as_str()) {
            return Err(tenancy::mistaken());
        }
        if let (true, Some(file)) = (self.writes, &chosen.file) {
            Trust::new(&self.app.layout).require(file)?;
        }
        let (mut id, mut decided_by) = (chosen.id, chosen.decided_by);
        if let (DecidedBy::Default, Some(workflow)) = (decided_by, &self.app.workflow)
            && let Some(active) = self.active.get_or_init(|| workflow.active()).await
        {
            (id, decided_by) = (active.clone(), DecidedBy::Workflow);
        }
        self.noting(|notes| notes.project = Some((id.public().map(str::to_owned), decided_by.as_str())));
        Ok((id, decided_by))
    }

    /// The project the call is about.
    ///
    /// # Errors
    /// `NO_INDEX` when the workspace does not exist; else as [`Call::project_if_any`].
    pub async fn project(&self, project_id: Option<&str>) -> Result<Project, Fault> {
        match self.project_if_any(project_id).await? {
            Some(project) => Ok(project),
            None => Err(tenancy::no_index().with_hint(self.caller.principal.hint())),
        }
    }

    /// The project the call is about, made on first use.
    ///
    /// # Errors
    /// `PERMISSION_DENIED` when the database login may not create it; else as [`Call::project_if_any`].
    pub async fn project_for_writing(&self, project_id: Option<&str>) -> Result<Project, Fault> {
        self.project_with_model(project_id, None).await
    }

    /// The same; a project that is made is pinned to this model instead of the configured one.
    ///
    /// # Errors
    /// `CAPABILITY_MISSING` when a project must be made and the model is not installed; else as
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
        let (id, decided_by) = self.chosen(project_id).await?;
        let embedder = match model {
            Some(name) => self.app.model(name).await?,
            None => Arc::clone(self.app.embedder().await?),
        };
        tenancy::provision(self.app.store().await?, &id, decided_by, &ModelFacts::of(embedder.model())).await
    }

    /// Tokens of the envelope around the answer as far as it is known, and room for what is known only at the end.
    #[must_use]
    pub fn envelope_tokens(&self) -> usize {
        let meta = self.meta(self.app.clock.instant());
        tokens::count(&as_shown(&Envelope::success(Value::Null, meta))) + ENVELOPE_LATER_TOKENS
    }

    /// The answer's metadata: time, duration and what was noted on the way.
    pub(super) fn meta(&self, started: Instant) -> Meta {
        let mut meta = Meta::at(contract::clock::iso_millis(self.app.clock.now()));
        meta.request_id.clone_from(&self.caller.request_id);
        let elapsed = self.app.clock.instant().duration_since(started);
        meta.duration_ms = Some((elapsed.as_secs_f64() * 1e6).round() / 1e3);
        self.noting(|notes| {
            meta.repo.clone_from(&notes.repo);
            if let Some((id, decided_by)) = &notes.project {
                meta.project_id = Some(id.clone().map_or(Value::Null, Value::String));
                meta.project_decided_by = Some((*decided_by).to_owned());
            }
            meta.scope.clone_from(&notes.scope);
            meta.warnings.clone_from(&notes.warnings);
        });
        meta
    }

    fn noting<T>(&self, note: impl FnOnce(&mut Notes) -> T) -> T {
        note(&mut self.notes.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
