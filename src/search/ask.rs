//! The one way from a question to ranked chunks, whoever asks: CLI, MCP or HTTP.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use super::filter::store_filter;
use super::fuse::{Fused, fuse};
use super::plan::{Counts, Plan, VectorPath, plan};
use super::query::Query;
use super::rank::{Facts, Ranked, rank};
use super::ranking::Ranking;
use super::request::{Hit, SearchAnswer, SearchRequest, Timings, Vectors, VectorsUsed};
use super::retrieve::{by_meaning, by_words, complete};
use super::shape::Shape;
use super::surroundings::{Piece, surroundings};
use crate::clock::Clock;
use crate::config;
use crate::contract::{ErrorCode, Fault, Warning};
use crate::embedding::Embedder;
use crate::languages::terms::query_terms;
use crate::store::{
    Access, ChunkRow, Filter, IndexState, Project, ProjectTx, RepositoryRow, RepositoryState, Store, chunks,
    filter_rows, index_state, lexical, repositories, vectors,
};

/// Gates throw candidates away, so this many times more are fetched for a question that has some.
const GATED_CANDIDATES_FACTOR: usize = 5;

/// What a search needs from outside.
#[derive(Clone, Copy)]
pub struct Deps<'a> {
    /// The database.
    pub store: &'a Store,
    /// The model; none when it is not installed, which costs the dense leg and is said in a warning.
    pub embedder: Option<&'a Arc<dyn Embedder>>,
    /// Limits.
    pub settings: &'a config::Search,
    /// Weights; `Ranking::default()` is what ships.
    pub ranking: &'a Ranking,
    /// Time.
    pub clock: &'a dyn Clock,
}

/// Answers a question from what is committed in one project.
///
/// Every read stands in one transaction, so that a run that replaces a file between two of them takes nothing away.
///
/// # Errors
/// `INVALID_REQUEST` for an empty or over-long question, a limit out of range or a bad filter; `NO_INDEX` when the
/// project or the repository has never been indexed; storage faults. A missing model or missing vectors are
/// warnings, not errors.
pub async fn search(
    deps: Deps<'_>,
    project: &Project,
    request: &SearchRequest,
) -> Result<SearchAnswer, Fault> {
    let started = deps.clock.instant();
    check(request, deps.settings)?;
    let query = Query::parse(&request.query);
    let text = query.ranking_text();
    if text.is_empty() {
        return Err(invalid("The question has only negated words.").with_hint("Add words to search for."));
    }
    let shape = Shape::of(&text);
    let mut warnings = Vec::new();
    let mut took = Stopwatch::start(deps.clock, started);

    let model = usable_model(deps.embedder, project, request.vectors, &mut warnings);
    let embedding = model.map(|model| {
        let (model, text) = (Arc::clone(model), text.clone());
        tokio::task::spawn_blocking(move || model.embed_query(&text))
    });

    let mut tx = ProjectTx::begin(deps.store, project, Access::Search).await?;
    let scope = Scope::read(&mut tx, request).await?;
    scope.warn(&mut tx, &mut warnings).await?;
    let plan = make_plan(&mut tx, &scope, &query, embedding.is_some(), deps).await?;
    took.timings.plan_ms = took.lap();

    let mut words = by_words(&mut tx, &scope.filter, &plan.lexical, plan.candidates, deps.ranking).await?;
    took.timings.lexical_ms = took.lap();
    let question = question_vector(embedding, &mut warnings).await?;
    took.timings.embed_ms = took.lap();
    let mut meaning = match &question {
        Some(vector) => by_meaning(&mut tx, &scope.filter, plan.vector, vector, plan.candidates).await?,
        None => Vec::new(),
    };
    let vectors_used = vectors_used(&plan, !meaning.is_empty());
    complete(&mut tx, &plan.lexical, question.as_deref(), &mut words, &mut meaning).await?;
    took.timings.dense_ms = took.lap();

    let dense_weight =
        shape.sentence * deps.ranking.dense_weight + shape.symbol * deps.ranking.dense_weight_symbol;
    let fused = admitted(&mut tx, &query, fuse(&words, &meaning, dense_weight)).await?;
    let candidates: Vec<i64> = fused.iter().map(|fused| fused.chunk_id).collect();
    let rows = chunks::hydrate(&mut tx, &candidates).await?;
    took.timings.hydrate_ms = took.lap();
    let facts: Vec<Facts> = rows.iter().map(facts_of).collect();
    let ranked = rank(&shape, &fused, &facts, deps.ranking);
    took.timings.rank_ms = took.lap();

    let total = ranked.len();
    let hits =
        hits(&mut tx, ranked.into_iter().take(request.top).collect(), rows, request.context_lines).await?;
    tx.commit().await?;
    took.timings.content_ms = took.lap();
    let took = took.stop(started);
    Ok(SearchAnswer {
        hits,
        total,
        query: query.to_string(),
        words: shape.words,
        vectors_used,
        took,
        warnings,
    })
}

async fn make_plan(
    tx: &mut ProjectTx,
    scope: &Scope,
    query: &Query,
    embedded: bool,
    deps: Deps<'_>,
) -> Result<Plan, Fault> {
    let terms = query_terms(&query.ranking_text());
    let ids: Vec<i32> = terms.iter().map(|term| term.id).collect();
    let rows = lexical::document_frequencies(tx, &ids).await?;
    let frequencies: HashMap<i32, u64> = rows.into_iter().map(|(id, chunks)| (id, count(chunks))).collect();
    let counts = Counts {
        statistics_chunks: count(scope.state.statistics_chunks),
        vectors_in_filter: scope.rows,
        vectors_indexed: scope.state.vectors_indexed,
        embedded,
    };
    let frequency = |id: i32| frequencies.get(&id).copied().unwrap_or(0);
    let mut plan = plan(&terms, &frequency, counts, deps.settings, deps.ranking);
    if query.gates() {
        plan.candidates *= GATED_CANDIDATES_FACTOR;
    }
    Ok(plan)
}

fn check(request: &SearchRequest, settings: &config::Search) -> Result<(), Fault> {
    if request.query.trim().is_empty() {
        return Err(
            invalid("The question is empty.").with_hint("Say what you are looking for in words, or name it.")
        );
    }
    let length = request.query.chars().count();
    if length > settings.query_chars_max {
        return Err(invalid(format!(
            "The question has {length} characters; {} are allowed.",
            settings.query_chars_max
        ))
        .with_hint("Keep the part that describes what you are looking for."));
    }
    for (field, value, range) in [
        ("top", request.top, 1..=settings.top_max),
        ("context", request.context_lines, 0..=settings.context_lines_max),
    ] {
        if !range.contains(&value) {
            return Err(invalid(format!(
                "`{field}` is {value}; {} to {} is allowed.",
                range.start(),
                range.end()
            ))
            .with_hint(format!("Set `{field}` within its range.")));
        }
    }
    Ok(())
}

fn invalid(message: impl Into<String>) -> Fault {
    Fault::new(ErrorCode::InvalidRequest, message)
}

/// The model, if its vectors can be compared with the project's.
fn usable_model<'a>(
    embedder: Option<&'a Arc<dyn Embedder>>,
    project: &Project,
    wanted: Vectors,
    warnings: &mut Vec<Warning>,
) -> Option<&'a Arc<dyn Embedder>> {
    if wanted == Vectors::Off {
        return None;
    }
    let Some(embedder) = embedder else {
        warnings.push(Warning::new(
            "no_model",
            "No embedding model is installed: words alone decided. `pairofcleats bootstrap` installs it.",
        ));
        return None;
    };
    if embedder.model().hash.as_slice() != project.model().hash.as_slice() {
        warnings.push(Warning::new(
            "model_mismatch",
            format!(
                "The project was indexed with {} ({}), another model is loaded: words alone decided.",
                project.model().id,
                project.model().variant
            ),
        ));
        return None;
    }
    Some(embedder)
}

/// Waits for the question's vector; a model that fails costs the dense leg, not the answer.
async fn question_vector(
    embedding: Option<tokio::task::JoinHandle<Result<Vec<f32>, Fault>>>,
    warnings: &mut Vec<Warning>,
) -> Result<Option<Vec<f32>>, Fault> {
    let Some(embedding) = embedding else { return Ok(None) };
    let vector =
        embedding.await.map_err(|error| Fault::internal("Embedding the question broke off.", error))?;
    match vector {
        Ok(vector) => Ok(Some(vector)),
        Err(fault) => {
            tracing::warn!(%fault, "the question could not be embedded");
            let message =
                format!("The question could not be embedded, words alone decided: {}", fault.message);
            warnings.push(Warning::new("embedding_failed", message));
            Ok(None)
        }
    }
}

/// The part of the project a question is about, and how far it is indexed.
struct Scope {
    state: IndexState,
    repositories: Vec<RepositoryRow>,
    filter: Filter,
    /// Chunks within the filter.
    rows: u64,
}

impl Scope {
    async fn read(tx: &mut ProjectTx, request: &SearchRequest) -> Result<Self, Fault> {
        let state = index_state::read(tx).await?;
        let mut repositories = repositories::list(tx).await?;
        if let Some(root) = &request.filter.repository_root {
            repositories.retain(|repository| repository.root == *root);
        }
        if repositories.iter().all(|repository| repository.state == RepositoryState::New) {
            return Err(Fault::new(ErrorCode::NoIndex, "Nothing has been indexed here yet.")
                .with_hint("Index the repository first: `build_index`, or `pairofcleats index PATH`."));
        }
        let repository = request.filter.repository_root.as_ref().and_then(|_| repositories.first());
        let filter = store_filter(&request.filter, repository.map(|repository| repository.id))?;
        let known = count(state.chunks);
        // The published count is 0 until the first run ends.
        let rows =
            if filter.is_empty() && known > 0 { known } else { count(filter_rows(tx, &filter).await?) };
        Ok(Self { state, repositories, filter, rows })
    }

    /// Says what keeps the answer from being complete.
    async fn warn(&self, tx: &mut ProjectTx, warnings: &mut Vec<Warning>) -> Result<(), Fault> {
        let names = |state: RepositoryState| -> Vec<&str> {
            let wanted = self.repositories.iter().filter(|repository| repository.state == state);
            wanted.map(|repository| repository.name.as_str()).collect()
        };
        let (indexing, failed) = (names(RepositoryState::Indexing), names(RepositoryState::Failed));
        if !indexing.is_empty() {
            let message = format!(
                "The index run of {} is not finished: the answer is from what is committed.",
                indexing.join(", ")
            );
            warnings.push(Warning::new("index_running", message));
        }
        if !failed.is_empty() {
            let message =
                format!("The last index run of {} failed: the answer may be incomplete.", failed.join(", "));
            warnings.push(Warning::new("index_incomplete", message));
        }
        // A complete run leaves no text without a vector, so only then is it worth counting.
        if !(indexing.is_empty() && failed.is_empty()) {
            let pending = vectors::pending_count(tx).await?;
            if pending > 0 {
                let message = format!("{pending} chunks have no vector yet and are found by words alone.");
                let details = Some(serde_json::json!({ "pending": pending }));
                warnings.push(Warning { details, ..Warning::new("vectors_pending", message) });
            }
        }
        if self.rows == 0 && !self.filter.is_empty() {
            warnings.push(Warning::new("filter_matches_nothing", "No indexed file passes the filters."));
        }
        Ok(())
    }
}

/// The candidates whose text passes the question's gates.
async fn admitted(tx: &mut ProjectTx, query: &Query, fused: Vec<Fused>) -> Result<Vec<Fused>, Fault> {
    if !query.gates() {
        return Ok(fused);
    }
    let ids: Vec<i64> = fused.iter().map(|fused| fused.chunk_id).collect();
    let texts = chunks::contents(tx, &ids).await?;
    let passing: HashSet<i64> =
        texts.into_iter().filter(|(_, text)| query.admits(text)).map(|(id, _)| id).collect();
    Ok(fused.into_iter().filter(|fused| passing.contains(&fused.chunk_id)).collect())
}

/// What is shown: each ranked chunk with its text and the lines around it.
async fn hits(
    tx: &mut ProjectTx,
    ranked: Vec<Ranked>,
    rows: Vec<ChunkRow>,
    context_lines: usize,
) -> Result<Vec<Hit>, Fault> {
    let ids: Vec<i64> = ranked.iter().map(|ranked| ranked.chunk_id).collect();
    let mut texts: HashMap<i64, String> = chunks::contents(tx, &ids).await?.into_iter().collect();
    let mut rows: HashMap<i64, ChunkRow> = rows.into_iter().map(|row| (row.id, row)).collect();
    let mut hits = Vec::with_capacity(ranked.len());
    for ranked in ranked {
        let Some(row) = rows.remove(&ranked.chunk_id) else { continue };
        let Some(content) = texts.remove(&ranked.chunk_id) else { continue };
        let (start_line, end_line) = (line(row.span.start_line), line(row.span.end_line));
        let (before, after) = match u32::try_from(context_lines) {
            Ok(count) if count > 0 => around(tx, row.file_id, start_line, end_line, count).await?,
            _ => (Vec::new(), Vec::new()),
        };
        hits.push(Hit {
            chunk_id: ranked.chunk_id,
            repository: row.repository_name,
            path: row.path,
            language: row.language,
            start_line,
            end_line,
            kind: row.span.kind,
            name: row.span.name,
            signature: row.span.signature,
            score: ranked.score,
            parts: ranked.parts,
            content,
            before,
            after,
        });
    }
    Ok(hits)
}

async fn around(
    tx: &mut ProjectTx,
    file_id: i64,
    start: u32,
    end: u32,
    count: u32,
) -> Result<(Vec<String>, Vec<String>), Fault> {
    let spans = chunks::by_file(tx, file_id).await?;
    // What follows the window is read, too, where it is the next chunk: it says that blank lines lie between.
    let near =
        |first: u32, last: u32| last.saturating_add(count) >= start && first <= end.saturating_add(count);
    let wanted: Vec<_> =
        spans.iter().filter(|span| near(line(span.start_line), line(span.end_line))).collect();
    let ids: Vec<i64> = wanted.iter().map(|span| span.id).collect();
    let texts = chunks::contents(tx, &ids).await?;
    let pieces: Vec<Piece<'_>> = wanted
        .iter()
        .filter_map(|span| {
            let text = texts.iter().find(|(id, _)| *id == span.id).map(|(_, text)| text.as_str())?;
            Some(Piece { start_line: line(span.start_line), text })
        })
        .collect();
    Ok(surroundings(&pieces, start, end, count))
}

fn facts_of(row: &ChunkRow) -> Facts {
    Facts {
        chunk_id: row.id,
        file_id: row.file_id,
        path: row.path.clone(),
        start_line: line(row.span.start_line),
        defines: row.span.defines.clone(),
    }
}

fn vectors_used(plan: &Plan, found: bool) -> VectorsUsed {
    match plan.vector {
        VectorPath::Exact if found => VectorsUsed::Exact,
        VectorPath::Hnsw(_) if found => VectorsUsed::Hnsw,
        _ => VectorsUsed::None,
    }
}

/// A count or a line number from the database, never negative there.
fn count(number: impl Into<i64>) -> u64 {
    u64::try_from(number.into()).unwrap_or(0)
}

fn line(number: i32) -> u32 {
    u32::try_from(number).unwrap_or(0)
}

/// Times of stages, one after the other.
struct Stopwatch<'a> {
    clock: &'a dyn Clock,
    last: Instant,
    timings: Timings,
}

impl<'a> Stopwatch<'a> {
    fn start(clock: &'a dyn Clock, at: Instant) -> Self {
        Self { clock, last: at, timings: Timings::default() }
    }

    /// Milliseconds since the last lap.
    fn lap(&mut self) -> f64 {
        let now = self.clock.instant();
        let lap = now.duration_since(self.last);
        self.last = now;
        millis(lap)
    }

    fn stop(self, started: Instant) -> Timings {
        Timings { total_ms: millis(self.clock.instant().duration_since(started)), ..self.timings }
    }
}

/// Milliseconds with microseconds behind the point.
fn millis(duration: std::time::Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e3
}
