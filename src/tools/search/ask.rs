//! What `search` and `search_code` share: the project, the model if there is one, the one query core.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::app::App;
use crate::tools::{Call, ProgressUpdate};
use contract::Fault;
use embedding::Embedder;
use engine::search::{self, Deps, Ranking, SearchAnswer, SearchRequest, Stage};
use store::postgres::retry_stale_plan;
use store::{Index, ModelFacts, Project};

/// Warnings of answers that had to do without vectors.
const FALLBACKS: [&str; 4] = ["no_model", "model_mismatch", "embedding_failed", "degraded"];

/// Asks the project. Without a model the answer comes from words alone and says so.
pub(super) async fn ask(
    call: &Call,
    project: &Project,
    request: &SearchRequest,
) -> Result<SearchAnswer, Fault> {
    let on_stage = stages(call);
    let answer = match once(call, project, request, &on_stage).await {
        Ok(answer) => answer,
        // The project may have got another model in between, with vectors of another length.
        Err(fault) => match tenancy::open(call.app.store().await?, project.id(), project.decided_by()).await?
        {
            Some(now) if now.model() != project.model() => once(call, &now, request, &on_stage).await?,
            _ => return Err(fault),
        },
    };
    tell(call, &answer);
    Ok(answer)
}

async fn once(
    call: &Call,
    project: &Project,
    request: &SearchRequest,
    on_stage: &(dyn Fn(Stage) + Send + Sync),
) -> Result<SearchAnswer, Fault> {
    let app = &call.app;
    let (embedder, why) = match embedder_or_why(app, project.model()).await {
        Ok(embedder) => (Some(embedder), None),
        Err(fault) => (None, Some(fault)),
    };
    let dictionary = app.dictionaries.current().await;
    let ranking = Ranking::default();
    let deps = Deps {
        embedder: embedder.as_ref(),
        dictionary: dictionary.as_deref(),
        settings: &app.config.search,
        ranking: &ranking,
        clock: &*app.clock,
        on_stage,
    };
    let store = app.store().await?;
    let mut answer =
        retry_stale_plan(|| search::search(deps, Index::Postgres(store, project), request)).await?;
    if let Some(why) = why {
        // What is installed and cannot be used is not told as missing.
        for warning in answer.warnings.iter_mut().filter(|warning| warning.code == "no_model") {
            let hint = why.hint.as_deref().map(|hint| format!(" {hint}")).unwrap_or_default();
            warning.message = format!("{} Words alone decided.{hint}", why.message);
        }
    }
    Ok(answer)
}

/// Tells the stages of a search as the call's progress; a search that is begun again does not go back.
pub(super) fn stages(call: &Call) -> impl Fn(Stage) + Send + Sync + 'static {
    let (progress, reached) = (call.progress.clone(), AtomicU32::new(0));
    move |stage| {
        if reached.fetch_max(stage.number(), Ordering::AcqRel) < stage.number() {
            progress.report(ProgressUpdate {
                phase: stage.name(),
                done: stage.number().into(),
                total: Some(Stage::COUNT.into()),
                message: stage.sentence(),
                detail: None,
            });
        }
    }
}

/// The model of an index; if that is not here, the one that is.
pub(in crate::tools) async fn embedder(app: &App, model: &ModelFacts) -> Option<Arc<dyn Embedder>> {
    embedder_or_why(app, model).await.ok()
}

/// The same, or why the index's own one cannot be used.
async fn embedder_or_why(app: &App, model: &ModelFacts) -> Result<Arc<dyn Embedder>, Fault> {
    let fault = match app.embedder_for(model).await {
        Ok(embedder) => return Ok(embedder),
        Err(fault) => fault,
    };
    tracing::debug!(%fault, "searching without the index's model");
    // Whether another one is here makes the difference between two warnings.
    app.embedder().await.cloned().map_err(|_| fault)
}

/// Passes the warnings of an answer on.
pub(super) fn tell(call: &Call, answer: &SearchAnswer) {
    for warning in &answer.warnings {
        if let Some(reason) = FALLBACKS.into_iter().find(|reason| *reason == warning.code) {
            call.app.metrics.fell_back(reason);
        }
        call.warn(warning.clone());
    }
}
