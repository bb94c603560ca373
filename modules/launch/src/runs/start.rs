//! Starts a run, once for each idempotency key.

use std::sync::Arc;

use contract::{ErrorCode, Fault, Refusal, Violation};
use launch::config::{Pins, RunConfig, RunConfigInput};
use launch::engine::rests;
use launch::event::{EventBody, RunCreated};
use launch::ids::{RunId, Trace};
use launch::published::{PUBLISHED_PAGES, PublishedPages};
use launch::report::stable_json;
use launch::site_profiles::find_site;
use launch::state::RunState;
use launch::worker::NewArtifact;
use platform::sha256;
use serde_json::json;
use store::launch::{RunRow, runs};
use store::postgres::LAUNCH;
use store::{Access, Fence, Project, ProjectTx, Store};

use super::journal::{Batch, JournalContext, RUN_CONFIG, Writer, create};
use super::published::published_pages;
use super::repository::RunRepository;
use super::request::{RunRequest, request_advance};
use super::site_head::site_head;
use super::{repository, rows};
use gate::app::App;

/// Attempts if another run gets the same id, which takes two calls with one key in one second.
const ATTEMPTS_MAX: usize = 5;

/// A run to start.
pub struct StartRequest<'a> {
    /// The tool that starts it.
    pub tool: &'static str,
    /// The application.
    pub app: &'a Arc<App>,
    /// The project.
    pub project: &'a Project,
    /// The configuration, which fits its schema.
    pub config: RunConfigInput,
    /// The repository, if it is known already; else the one that the configuration names.
    pub repository: Option<RunRepository>,
    /// The key under which the run is started once.
    pub idempotency_key: Option<&'a str>,
    /// The principal who starts it.
    pub principal: &'a str,
    /// Identifies the call.
    pub trace: &'a Trace,
}

/// A run that was started, now or before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartedRun {
    /// Its id.
    pub run_id: String,
    /// Its state now.
    pub state: RunState,
    /// `true` if it was started before, with the same key and configuration.
    pub existing: bool,
}

/// The fault of a configuration that breaks rules, listed as those of arguments are.
#[must_use]
pub fn config_refused(violations: Vec<Violation>) -> Fault {
    let Fault { message, details, .. } = Refusal::InvalidArguments(violations).to_fault();
    Fault::new(ErrorCode::SchemaValidationFailed, message)
        .with_details(json!({ "document": "run_config", "violations": details }))
        .with_hint("Correct what the message names; docs/launch.md describes the configuration.")
}

/// Starts a run.
///
/// # Errors
/// `SCHEMA_VALIDATION_FAILED` for a configuration that breaks rules, `REPO_NOT_FOUND`, `INVALID_INPUT` for an unknown profile, for a
/// commit that is unknown or neither indexed nor checked out, and for a key that was used with another configuration;
/// `QUEUE_OVERLOADED` if too many runs have not ended; storage faults.
pub async fn start(request: StartRequest<'_>) -> Result<StartedRun, Fault> {
    let StartRequest { tool, app, project, config, repository, idempotency_key, principal, trace } = request;
    let store = app.store().await?;
    let profile = find_site(&app.config.launch.sites, project.id(), &config.site_profile)?;
    let indexing = &app.config.indexing;
    let repository = match repository {
        Some(repository) => repository,
        None => {
            let rows = repository::all_repositories(store, project).await?;
            let row = repository::find(rows, indexing, project.id(), &config.github_repo_url).await?;
            RunRepository::Indexed(Box::new(row))
        }
    };
    let (repository_id, repo_sha) = pinned(app, project, &repository, config.github_ref.as_deref()).await?;
    let pins = Pins {
        repo_sha: &repo_sha,
        allowed_paths: &profile.allowed_paths,
        files_changed_max: app.config.launch.files_changed_max,
    };
    let config = RunConfig::resolve(config, pins).map_err(config_refused)?;
    store::provision_module(store, project, &LAUNCH).await?;
    if let Some(key) = idempotency_key
        && let Some(known) = run_with_key(store, project, key).await?
    {
        return continue_existing(app, project, &known, &config, trace).await;
    }
    // Only now: a run that the key started before is returned even if its commit is gone.
    if let RunRepository::Indexed(row) = &repository {
        repository::require_indexable(row, indexing, project.id(), &repo_sha).await?;
    }
    let site_sha = site_head(app, profile).await?;
    let published = published_pages(app, store, project, profile, &site_sha).await?;
    require_room(app, store, project).await?;
    let new = NewRun {
        tool,
        app,
        store,
        project,
        config: &config,
        key: idempotency_key,
        repository_id,
        site_sha,
        published,
        principal,
        trace,
    };
    for attempt in 0..ATTEMPTS_MAX {
        if let Some(run_id) = new.create(attempt).await? {
            new.begin(&run_id).await?;
            return Ok(StartedRun { run_id, state: RunState::Created, existing: false });
        }
        // Another call with this key was faster, or a run has this id.
        if let Some(key) = idempotency_key
            && let Some(known) = run_with_key(store, project, key).await?
        {
            return continue_existing(app, project, &known, &config, trace).await;
        }
    }
    Err(Fault::internal("The launch run could not be started.", "all ids that were tried are taken"))
}

/// The id and the commit of the repository of a run.
async fn pinned(
    app: &App,
    project: &Project,
    repository: &RunRepository,
    reference: Option<&str>,
) -> Result<(i64, String), Fault> {
    match repository {
        RunRepository::Indexed(row) => {
            Ok((row.id, repository::pin(row, app, project.id(), reference).await?))
        }
        RunRepository::Fetched { id, commit } => Ok((*id, commit.clone())),
    }
}

async fn run_with_key(store: &Store, project: &Project, key: &str) -> Result<Option<RunRow>, Fault> {
    let mut tx = ProjectTx::begin(store, project, Access::Search).await?;
    let row = runs::with_key(&mut tx, key).await?;
    tx.commit().await?;
    Ok(row)
}

/// The run that a call with the same key started. If that call died before it could continue the run, this one does.
async fn continue_existing(
    app: &Arc<App>,
    project: &Project,
    known: &RunRow,
    config: &RunConfig,
    trace: &Trace,
) -> Result<StartedRun, Fault> {
    let started = existing(known, config)?;
    let settings = &app.config.launch;
    if settings.auto_advance && !rests(started.state, known.report_ok, settings.auto_fix) {
        request_advance(&RunRequest { app, project, run_id: &started.run_id, trace, principal: None })
            .await?;
    }
    Ok(started)
}

/// The run that a call with the same key started.
fn existing(known: &RunRow, config: &RunConfig) -> Result<StartedRun, Fault> {
    if known.config_hash == config.hash() {
        let state = RunState::parse(&known.state).ok_or_else(|| rows::malformed("state", &known.state))?;
        return Ok(StartedRun { run_id: known.run_id.clone(), state, existing: true });
    }
    let stored = RunConfig::parse(&known.config).map_err(|error| rows::malformed("config", error))?;
    let message = "The idempotency key was used for a run with another configuration.";
    Err(Fault::new(ErrorCode::InvalidInput, message)
        .with_details(json!({
            "field": "idempotency_key",
            "existing_run_id": known.run_id,
            "differing_fields": stored.differing_fields(config),
        }))
        .with_hint(
            "Use another key for another run; `github_ref` differs if the indexed commit moved since.",
        ))
}

/// Refuses another run while too many have not ended.
async fn require_room(app: &App, store: &Store, project: &Project) -> Result<(), Fault> {
    let mut tx = ProjectTx::begin(store, project, Access::Search).await?;
    let unfinished = runs::unfinished(&mut tx).await?;
    tx.commit().await?;
    let most = app.config.launch.runs_max;
    if unfinished < i64::from(most) {
        return Ok(());
    }
    Err(Fault::new(
        ErrorCode::QueueOverloaded,
        format!("The project has {unfinished} launch runs that have not ended."),
    )
    .with_details(json!({ "unfinished": unfinished, "runs_max": most }))
    .with_hint("Cancel runs that are not needed with `launch_cancel`."))
}

/// A run that is about to be written.
struct NewRun<'a> {
    tool: &'static str,
    app: &'a Arc<App>,
    store: &'a Store,
    project: &'a Project,
    config: &'a RunConfig,
    key: Option<&'a str>,
    repository_id: i64,
    site_sha: String,
    published: PublishedPages,
    principal: &'a str,
    trace: &'a Trace,
}

impl NewRun<'_> {
    /// Writes the run; `None` if there is one with its id or key.
    async fn create(&self, attempt: usize) -> Result<Option<String>, Fault> {
        let now = self.app.clock.now();
        let hash = self.config.hash();
        let distinction = match self.key {
            Some(key) => format!("{key}\0{attempt}"),
            None => now.as_nanosecond().to_string(),
        };
        let run_id = RunId::new(now.as_second(), self.project.id().as_str(), &hash, &distinction);
        let created = RunCreated {
            product_slug: self.config.product_slug.clone(),
            config_hash: sha256::to_hex(&hash),
            repository_id: self.repository_id,
            repo_sha: self.config.github_ref.clone(),
            site_profile: self.config.site_profile.clone(),
            site_sha: self.site_sha.clone(),
        };
        let row = self.row(&run_id, &created, hash, now.as_millisecond());
        let mut rest = Batch::default();
        rest.event(EventBody::ToolCalled {
            tool: self.tool.to_owned(),
            principal: self.principal.to_owned(),
            outcome: "ok".to_owned(),
        });
        rest.artifact(NewArtifact::json(RUN_CONFIG, "run_config", self.config.to_json()), "start");
        if !self.published.is_empty() {
            let text = stable_json(&self.published);
            rest.artifact(NewArtifact::json(PUBLISHED_PAGES, "published_pages", text), "start");
        }
        let context = JournalContext {
            store: self.store,
            project: self.project,
            clock: &*self.app.clock,
            writer: Writer::Call,
            trace: self.trace.clone(),
        };
        let written = create(context, row, self.config.clone(), EventBody::RunCreated(created), rest).await?;
        Ok(written.map(|_| run_id.as_str().to_owned()))
    }

    fn row(&self, run_id: &RunId, created: &RunCreated, config_hash: [u8; 32], now_ms: i64) -> RunRow {
        RunRow {
            run_id: run_id.as_str().to_owned(),
            idempotency_key: self.key.map(str::to_owned),
            config: self.config.to_json(),
            config_hash,
            product_slug: created.product_slug.clone(),
            state: RunState::Created.as_str().to_owned(),
            repository_id: created.repository_id,
            repo_sha: created.repo_sha.clone(),
            site_profile: created.site_profile.clone(),
            site_sha: created.site_sha.clone(),
            site_tree: None,
            fence: Fence(0),
            seq: 0,
            head_hash: launch::event::NO_HASH,
            fix_attempts: 0,
            report_ok: None,
            pending: None,
            fixing: None,
            publish_key: None,
            branch: None,
            commit_sha: None,
            pr_url: None,
            pr_number: None,
            failure: None,
            cancel_requested: false,
            created_ms: now_ms,
            finished_ms: None,
            updated_ms: now_ms,
        }
    }

    /// Continues the run, if the operator wants that. If the process dies before, the next call with the same key, or the next sweep of a
    /// server, continues it.
    async fn begin(&self, run_id: &str) -> Result<(), Fault> {
        if !self.app.config.launch.auto_advance {
            return Ok(());
        }
        let request =
            RunRequest { app: self.app, project: self.project, run_id, trace: self.trace, principal: None };
        request_advance(&request).await
    }
}
