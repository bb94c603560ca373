//! The dense leg by itself, for measuring what it finds against what there is.

use super::ask::{Deps, begin_embedding};
use super::plan::{VectorPath, vector_path};
use super::question::Question;
use super::request::SearchRequest;
use super::retrieve::by_meaning;
use super::scope::Scope;
use contract::{ErrorCode, Fault};
use store::Index;

/// The chunks nearest to a question with their likeness, best first: found the way a search finds them, or with each
/// vector within the filter compared.
///
/// # Errors
/// As [`super::search`]; `CAPABILITY_MISSING` without a model.
pub async fn nearest(
    deps: Deps<'_>,
    index: Index<'_>,
    request: &SearchRequest,
    exact: bool,
) -> Result<Vec<(i64, f32)>, Fault> {
    let Some(embedder) = deps.embedder else {
        return Err(Fault::new(ErrorCode::CapabilityMissing, "No embedding model is installed."));
    };
    let question = Question::parse(&request.query, &|_| None).question;
    let vector = begin_embedding(embedder, &question.ranking_text()).await;
    let vector = vector.map_err(|error| Fault::internal("Embedding the question broke off.", error))??;
    let mut reads = index.begin().await?;
    let mut warnings = Vec::new();
    let opening = reads.opening(&[]).await?;
    let scope =
        Scope::read(&mut reads, opening, request, &question, deps.settings, deps.clock, &mut warnings)
            .await?;
    let path = if exact { VectorPath::Exact } else { vector_path(scope.counts(true), deps.settings) };
    let found = by_meaning(&mut reads, &scope.vectors, path, &vector, deps.settings.candidates).await?;
    reads.end();
    Ok(found)
}
