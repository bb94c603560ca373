//! What `search` and `search_code` share: the project, the model if there is one, the one query core.

use crate::contract::Fault;
use crate::postgres::retry_stale_plan;
use crate::search::{self, Deps, Ranking, SearchAnswer, SearchRequest};
use crate::store::{Index, Project};
use crate::tools::Call;

/// Warnings of answers that had to do without vectors.
const FALLBACKS: [&str; 3] = ["no_model", "embedding_failed", "degraded"];

/// Asks the project. Without a model the answer comes from words alone and says so.
pub(super) async fn ask(
    call: &Call,
    project: &Project,
    request: &SearchRequest,
) -> Result<SearchAnswer, Fault> {
    let app = &call.app;
    let embedder =
        app.embedder().await.inspect_err(|fault| tracing::debug!(%fault, "searching without a model"));
    let dictionary = app.dictionaries.current().await;
    let ranking = Ranking::default();
    let deps = Deps {
        embedder: embedder.ok(),
        dictionary: dictionary.as_deref(),
        settings: &app.config.search,
        ranking: &ranking,
        clock: &*app.clock,
    };
    let store = app.store().await?;
    let answer = retry_stale_plan(|| search::search(deps, Index::Postgres(store, project), request)).await?;
    tell(call, &answer);
    Ok(answer)
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
