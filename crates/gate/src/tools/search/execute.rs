//! Shared by `search` and `search_code`: executes a request against a project, with the project's model if it is available.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::app::App;
use crate::tools::{Call, ProgressUpdate};
use contract::Fault;
use embedding::Embedder;
use engine::search::{self, Ranking, SearchAnswer, SearchDeps, SearchRequest, SearchStage};
use store::postgres::met_stale_plan;
use store::{Index, ModelFacts, Project};

/// Codes of warnings that say the search was lexical only; the metrics count them.
const LEXICAL_ONLY_WARNINGS: [&str; 4] = ["no_model", "model_mismatch", "embedding_failed", "degraded"];

/// Searches a project. Without a usable model the search is lexical only, and a warning says so.
///
/// # Errors
/// As [`search::execute`].
pub async fn search_project(
    call: &Call,
    project: &Project,
    request: &SearchRequest,
) -> Result<SearchAnswer, Fault> {
    let (app, store) = (&call.app, call.app.store().await?);
    let on_stage = report_stages(call);
    let dictionary = app.dictionaries.current().await;
    let ranking = Ranking::default();
    let mut project = Cow::Borrowed(project);
    let (mut is_replanned, mut is_reopened) = (false, false);
    loop {
        let embedder = embedder_or_reason(app, project.model()).await;
        let deps = SearchDeps {
            embedder: embedder.as_ref().ok(),
            dictionary: dictionary.as_deref(),
            settings: &app.config.search,
            ranking: &ranking,
            clock: &*app.clock,
            on_stage: &on_stage,
        };
        let fault = match search::execute(deps, Index::Postgres(store, &project), request).await {
            Ok(mut answer) => {
                if let Err(reason) = embedder {
                    explain_missing_model(&mut answer, &reason);
                }
                pass_on_warnings(call, &answer);
                return Ok(answer);
            }
            Err(fault) => fault,
        };
        // A migration by another process made the connection's cached plans stale; the next transaction plans again.
        if met_stale_plan(&fault) && !is_replanned {
            is_replanned = true;
            continue;
        }
        // The project may have got another model meanwhile, whose vectors have other dimensions.
        match tenancy::open(store, project.id(), project.decided_by()).await? {
            Some(now) if now.model() != project.model() && !is_reopened => {
                project = Cow::Owned(now);
                (is_replanned, is_reopened) = (false, true);
            }
            _ => return Err(fault),
        }
    }
}

/// Replaces the message of the warning `no_model` with the reason why the model cannot be used.
fn explain_missing_model(answer: &mut SearchAnswer, reason: &Fault) {
    for warning in answer.warnings.iter_mut().filter(|warning| warning.code == "no_model") {
        let hint = reason.hint.as_deref().map(|hint| format!(" {hint}")).unwrap_or_default();
        warning.message = format!("{} This search was lexical only.{hint}", reason.message);
    }
}

/// Reports the stages of a search as progress of the call; if the search is retried, each stage is still reported once.
pub(super) fn report_stages(call: &Call) -> impl Fn(SearchStage) + Send + Sync + 'static {
    let (progress, reached) = (call.progress.clone(), AtomicU32::new(0));
    move |stage| {
        if reached.fetch_max(stage.number(), Ordering::AcqRel) < stage.number() {
            progress.report(ProgressUpdate {
                phase: stage.name(),
                done: stage.number().into(),
                total: Some(SearchStage::COUNT.into()),
                message: stage.sentence(),
                detail: None,
            });
        }
    }
}

/// The model of an index; if it cannot be loaded, the configured one; `None` if that fails, too.
pub async fn embedder(app: &App, model: &ModelFacts) -> Option<Arc<dyn Embedder>> {
    embedder_or_reason(app, model).await.ok()
}

/// As [`embedder`]; the fault says why the model of the index cannot be used.
async fn embedder_or_reason(app: &App, model: &ModelFacts) -> Result<Arc<dyn Embedder>, Fault> {
    let fault = match app.embedder_for(model).await {
        Ok(embedder) => return Ok(embedder),
        Err(fault) => fault,
    };
    tracing::debug!(%fault, "searching without the index's model");
    // Vectors of another model cannot be compared, but with one loaded the warning is `model_mismatch` instead of `no_model`.
    app.embedder().await.cloned().map_err(|_| fault)
}

/// Adds the warnings of an answer to the call, and counts searches that were lexical only.
pub(super) fn pass_on_warnings(call: &Call, answer: &SearchAnswer) {
    for warning in &answer.warnings {
        if let Some(reason) = LEXICAL_ONLY_WARNINGS.into_iter().find(|reason| *reason == warning.code) {
            call.app.metrics.record_fallback(reason);
        }
        call.warn(warning.clone());
    }
}
