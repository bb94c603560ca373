//! The dense retriever by itself, to measure its recall.

use crate::search::execute::{SearchDeps, begin_embedding};
use crate::search::filters::scope::ResolvedScope;
use crate::search::query::SearchQuery;
use crate::search::request::SearchRequest;
use crate::search::retrieve::plan::{VectorPath, vector_path};
use crate::search::retrieve::retrievers::dense;
use crate::search::retrieve::ties::Cuts;
use contract::{ErrorCode, Fault};
use store::Index;

/// Returns the chunks nearest to a query with their cosine similarity, best first, in the way that a search would find
/// them, or with `exact` by comparing every vector within the filter.
///
/// # Errors
/// As [`crate::search::execute()`]; `CAPABILITY_MISSING` without a model.
pub async fn nearest(
    deps: SearchDeps<'_>,
    index: Index<'_>,
    request: &SearchRequest,
    exact: bool,
) -> Result<Vec<(i64, f32)>, Fault> {
    let Some(embedder) = deps.embedder else {
        return Err(Fault::new(ErrorCode::CapabilityMissing, "No embedding model is installed."));
    };
    let query = SearchQuery::parse(&request.query, &|_| None).query;
    let vector = begin_embedding(embedder, &query.ranking_text()).await;
    let vector =
        vector.map_err(|error| Fault::internal("Embedding the query failed unexpectedly.", error))??;
    let mut reads = index.begin().await?;
    let mut warnings = Vec::new();
    let overview = reads.overview(&[], &[]).await?;
    let scope = ResolvedScope::resolve(
        &mut reads, overview, request, &query, deps.settings, deps.clock, &mut warnings,
    )
    .await?;
    let selected = &scope.selected;
    let path = if exact {
        VectorPath::Exact
    } else {
        vector_path(scope.counts((selected, selected.rows), &[], 0, true), deps.settings)
    };
    let cuts = Cuts { first_page: deps.settings.candidates, all: deps.settings.candidates };
    let found = dense(&mut reads, &selected.vectors, path, &vector, cuts).await?;
    reads.end();
    Ok(found)
}
