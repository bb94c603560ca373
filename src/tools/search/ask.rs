//! What `search` and `search_code` share: the project, the model if there is one, the one query core.

use crate::contract::Fault;
use crate::postgres::retry_stale_plan;
use crate::search::{self, Deps, Ranking, SearchAnswer, SearchRequest};
use crate::store::Project;
use crate::tenancy;
use crate::tools::Call;

/// Warnings of answers that had to do without vectors.
const FALLBACKS: [&str; 4] = ["no_model", "model_mismatch", "embedding_failed", "degraded"];

/// Asks the project. Without a model the answer comes from words alone and says so.
pub(super) async fn ask(
    call: &Call,
    project: &Project,
    request: &SearchRequest,
) -> Result<SearchAnswer, Fault> {
    let answer = match once(call, project, request).await {
        Ok(answer) => answer,
        // The project may have got another model in between, with vectors of another length.
        Err(fault) => match tenancy::open(call.app.store().await?, project.id(), project.decided_by()).await?
        {
            Some(now) if now.model() != project.model() => once(call, &now, request).await?,
            _ => return Err(fault),
        },
    };
    for warning in &answer.warnings {
        if let Some(reason) = FALLBACKS.into_iter().find(|reason| *reason == warning.code) {
            call.app.metrics.fell_back(reason);
        }
        call.warn(warning.clone());
    }
    Ok(answer)
}

async fn once(call: &Call, project: &Project, request: &SearchRequest) -> Result<SearchAnswer, Fault> {
    let app = &call.app;
    let embedder = match app.embedder_for(project.model()).await {
        Ok(embedder) => Some(embedder),
        Err(fault) => {
            tracing::debug!(%fault, "searching without the project's model");
            // Whether another one is here makes the difference between two warnings.
            app.embedder().await.ok().cloned()
        }
    };
    let ranking = Ranking::default();
    let deps = Deps {
        store: app.store().await?,
        embedder: embedder.as_ref(),
        settings: &app.config.search,
        ranking: &ranking,
        clock: &*app.clock,
    };
    retry_stale_plan(|| search::search(deps, project, request)).await
}
