//! Executes a search: parses the query, plans, retrieves, fuses, ranks, and reads the hits. Every surface and the
//! benchmarks search through [`execute`].

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use crate::search::backend::Backend;
use crate::search::exact::execute_exact;
use crate::search::filters::field_hints::parse_query;
use crate::search::filters::scope::ResolvedScope;
use crate::search::limits::check;
use crate::search::present::answer::{Explain, ExplainedTerm, SearchAnswer, VectorsUsed};
use crate::search::present::facets::{self, Facets};
use crate::search::present::hits::HitPage;
use crate::search::present::suggestions::suggest_names;
use crate::search::query::SearchQuery;
use crate::search::query::query_class::{QueryClass, subject};
use crate::search::rank::confidence::{Confidence, Evidence};
use crate::search::rank::ranked::RankedCandidates;
use crate::search::rank::ranking::Ranking;
use crate::search::request::{SearchRequest, Vectors};
use crate::search::retrieve::literal::lead_with_text;
use crate::search::retrieve::part::{Candidates, Part, Question};
use crate::search::retrieve::plan::VectorPath;
use crate::search::retrieve::several::{PARTS_MAX, Planner};
use crate::search::retrieve::statistics::Statistics;
use crate::search::stage::SearchStage;
use crate::search::stopwatch::Stopwatch;
use contract::clock::Clock;
use contract::config;
use contract::{ErrorCode, Fault, Warning, echo};
use embedding::Embedder;
use languages::Dictionary;
use languages::terms::{QueryTerm, query_terms};
use store::{ChunkSelection, Index, ModelFacts, Reads};

/// Bytes of a chunk's text that become the query in a search for similar chunks; more would dilute the terms.
const SIMILAR_TEXT_BYTES_MAX: usize = 4096;

/// A query that is being embedded on a blocking thread.
type Embedding = tokio::task::JoinHandle<Result<Vec<f32>, Fault>>;

/// The dependencies of a search besides the index and the request.
#[derive(Clone, Copy)]
pub struct SearchDeps<'a> {
    /// The embedding model. Without one the search is lexical only, with a warning.
    pub embedder: Option<&'a Arc<dyn Embedder>>,
    /// Splits unsegmented identifiers (`gethostbyname`). Must be the dictionary with which the index was built.
    pub dictionary: Option<&'a Dictionary>,
    /// Limits of the query, the page and the candidates.
    pub settings: &'a config::Search,
    /// Ranking weights; `Ranking::default()` outside of experiments.
    pub ranking: &'a Ranking,
    /// Clock for the timings and for filters such as `modifiedSince`.
    pub clock: &'a dyn Clock,
    /// Called after each stage; must not block.
    pub on_stage: &'a (dyn Fn(SearchStage) + Send + Sync),
}

/// Searches one project, or one portable file.
///
/// All reads see one snapshot, so a concurrent index run does not affect the answer. A missing model or missing vectors
/// cause warnings, not errors.
///
/// # Errors
/// `INVALID_REQUEST` for an empty or over-long query, a limit out of range or an invalid filter; `NO_INDEX` if the
/// project or the repository was never indexed; `NOT_FOUND` if `chunk:` names a chunk that does not exist; storage
/// faults.
pub async fn execute(
    deps: SearchDeps<'_>,
    index: Index<'_>,
    request: &SearchRequest,
) -> Result<SearchAnswer, Fault> {
    if let Some(exact) = &request.exact {
        return execute_exact(deps, index, request, exact).await;
    }
    let started = deps.clock.instant();
    check(request, deps.settings)?;
    let mut warnings = Vec::new();
    let query = parse_query(&request.query, &mut warnings);
    let mut took = Stopwatch::start(deps.clock, started);
    let model = usable_model(deps.embedder, index.model(), request.vectors, &mut warnings);
    let text = query.ranking_text();
    let embeds = query.similar_to.is_none() && !text.is_empty();
    // Runs concurrently with the statements below.
    let embedding = model.filter(|_| embeds).map(|model| begin_embedding(model, &text));

    let backend = Backend::new(&index);
    let mut reads = index.begin().await?;
    let prepared = Prepared { query, has_model: model.is_some(), text, embedding };
    let mut search = prepared.resolve(&mut reads, request, deps, &mut warnings).await?;
    took.timings.plan_ms = took.lap();
    (deps.on_stage)(SearchStage::Understood { terms: search.planner.terms.len() });

    let model = model.map(|model| model.model().id.as_str());
    let mut ranked = if search.question.text.is_empty() {
        list(&mut reads, &search, request.for_page).await?
    } else {
        search.find(&mut reads, model, &mut took, &mut warnings).await?
    };
    if ranked.is_short && search.planner.widen() {
        ranked = search.find(&mut reads, model, &mut took, &mut warnings).await?;
    }
    let query = &search.question.query;
    let mut judged = ranked.judge(backend, query, model);
    if judged.is_some_and(|judged| judged.confidence < Confidence::Medium)
        && lead_with_text(&mut reads, &search.scope, query, &mut ranked, deps).await?
    {
        ranked.evidence = ranked.evidence.map(|evidence| Evidence { literal: 1.0, ..evidence });
        judged = ranked.judge(backend, query, model);
    }
    let confidence = ranked.settle(judged, query, request);
    let did_you_mean = suggest_names(&mut reads, request, &search.scope, &ranked.terms, confidence).await?;
    (deps.on_stage)(SearchStage::Ranked { candidates: ranked.total });
    let facets = Facets::of_ranked(&mut reads, request, &ranked).await?;
    let page = HitPage::new(&search.scope, request, &ranked.class, deps.ranking);
    let shown = std::mem::take(&mut ranked.chunks).into_iter().skip(request.offset).take(request.top);
    let hits = page.hits(&mut reads, shown.collect()).await?;
    reads.end();
    took.timings.content_ms = took.lap();
    Ok(SearchAnswer {
        backend,
        hits,
        total: ranked.total,
        total_is_least: ranked.total_is_least,
        offset: request.offset,
        offset_max: deps.settings.offset_max,
        several_repositories: search.scope.has_several(),
        confidence,
        did_you_mean,
        query: search.question.query.to_string(),
        vectors_used: vectors_used(ranked.vector_path, ranked.vectors_found),
        explain: explain(&ranked, &search, request),
        words: ranked.class.words,
        took: took.stop(started),
        warnings,
        matches: None,
        facets,
    })
}

/// A parsed query before the first read of the index.
struct Prepared {
    query: SearchQuery,
    /// `true` if vectors can be compared.
    has_model: bool,
    /// The words that rank; empty for a query that only filters.
    text: String,
    embedding: Option<Embedding>,
}

impl Prepared {
    /// Resolves the scope and reads the statistics.
    async fn resolve<'s>(
        self,
        reads: &mut Reads,
        request: &SearchRequest,
        deps: SearchDeps<'s>,
        warnings: &mut Vec<Warning>,
    ) -> Result<Search<'s>, Fault> {
        let Self { query, has_model, mut text, embedding } = self;
        let mut terms = weighted_terms(&text, deps);
        let mut overview = reads.overview(&term_ids(&terms), &request.repository_roots).await?;
        let mut statistics = Statistics::new(&overview.state, std::mem::take(&mut overview.frequencies));
        let scope =
            ResolvedScope::resolve(reads, overview, request, &query, deps.settings, deps.clock, warnings)
                .await?;
        scope.warn(reads, warnings).await?;
        let mut vector = None;
        if let Some(chunk_id) = query.similar_to {
            vector = similar_to(reads, chunk_id, &mut text).await?.filter(|_| has_model);
            terms = query_terms(&text, deps.dictionary);
            statistics = Statistics::read(reads, &scope.state, &scope.searched(), &term_ids(&terms)).await?;
        }
        let embeds = embedding.is_some() || vector.is_some();
        let last = request.offset + request.top;
        let planner = Planner { deps, terms, statistics, embeds, last, chosen_by: VectorPath::None };
        // Not of `text`, which for `chunk:12` is the text of that chunk and must not match paths and definitions.
        let class = QueryClass::new(&query.ranking_text());
        Ok(Search { question: Question { query, text, class, vector }, scope, planner, embedding })
    }
}

/// A search with its resolved scope.
struct Search<'s> {
    question: Question,
    scope: ResolvedScope,
    planner: Planner<'s>,
    /// The embedding of the query in progress; `None` if it has its vector or needs none.
    embedding: Option<Embedding>,
}

impl Search<'_> {
    /// Retrieves and ranks the candidates of each part, and merges them. `model` is that of the vectors.
    async fn find(
        &mut self,
        reads: &mut Reads,
        model: Option<&str>,
        took: &mut Stopwatch<'_>,
        warnings: &mut Vec<Warning>,
    ) -> Result<RankedCandidates, Fault> {
        let deps = self.planner.deps;
        if self.scope.searched().len() > PARTS_MAX {
            // Repositories are chosen by vectors as well.
            self.await_vector(warnings).await?;
            took.timings.embed_ms += took.lap();
        }
        let mut parts = self.planner.parts(reads, &self.scope, &self.question).await?;
        let retrieved = parts.lexical(reads, deps.ranking, deps.settings).await?;
        parts.count_terms(reads, &retrieved).await?;
        took.timings.lexical_ms += took.lap();
        let found = retrieved.iter().map(|(lexical, _)| lexical.len()).sum();
        (deps.on_stage)(SearchStage::Lexical { found });
        self.await_vector(warnings).await?;
        took.timings.embed_ms += took.lap();
        (deps.on_stage)(SearchStage::Embedding { embedded: self.question.vector.is_some() });
        let first_page = deps.settings.candidates;
        let candidates = parts.candidates(reads, &self.question, retrieved, first_page, took).await?;
        (deps.on_stage)(SearchStage::Dense { found: candidates.iter().map(|found| found.dense_found).sum() });
        let named = candidates.iter().flat_map(|found| found.named.values().flatten());
        let other = self.question.class.name.as_ref().and_then(|name| name.other_spelling(named));
        if let Some(other) = other.filter(|other| warnings.iter().all(|known| known.code != other.code)) {
            warnings.push(other);
        }
        let parts = parts.parts;
        let rank =
            |(part, candidates): (&Part, Candidates)| part.rank(candidates, &self.question, deps.ranking);
        let ranked = parts.iter().zip(candidates).map(rank).collect();
        let mut ranked = RankedCandidates::new(&parts, ranked, model, self.planner.last);
        ranked.total_is_least |= self.scope.searched().len() > parts.len();
        if matches!(self.planner.chosen_by, VectorPath::Hnsw(_)) {
            ranked.vector_path = self.planner.chosen_by;
        }
        took.timings.rank_ms += took.lap();
        Ok(ranked)
    }

    /// Waits for the query's vector, for a limited time. If the model fails or is busy, the search continues without
    /// the dense retriever.
    async fn await_vector(&mut self, warnings: &mut Vec<Warning>) -> Result<(), Fault> {
        if self.question.vector.is_some() {
            return Ok(());
        }
        let Some(embedding) = self.embedding.take() else { return Ok(()) };
        let wait = Duration::from_millis(self.planner.deps.settings.embed_wait_ms);
        let Ok(embedded) = tokio::time::timeout(wait, embedding).await else {
            let message = "The embedding model is busy, so this search was lexical only; try again later.";
            warnings.push(Warning::new("degraded", message));
            return Ok(());
        };
        match embedded.map_err(|error| Fault::internal("Embedding the query failed unexpectedly.", error))? {
            Ok(vector) => self.question.vector = Some(vector),
            Err(fault) => {
                tracing::warn!(%fault, "the query could not be embedded");
                let message = format!(
                    "The query could not be embedded, so this search was lexical only: {}",
                    fault.message
                );
                warnings.push(Warning::new("embedding_failed", message));
            }
        }
        Ok(())
    }
}

/// Returns the vector of the chunk that `chunk:ID` names, if it has one. Sets `text` to the chunk's text if the query
/// has no words.
async fn similar_to(reads: &mut Reads, chunk_id: i64, text: &mut String) -> Result<Option<Vec<f32>>, Fault> {
    let (exists, vector) = reads.vector_of(chunk_id).await?;
    if !exists {
        return Err(Fault::new(ErrorCode::NotFound, format!("There is no chunk {chunk_id}.")).with_hint(
            "Chunk ids are those of search hits; a file's chunks get new ids when the file changes.",
        ));
    }
    if text.is_empty() {
        let content = reads.contents(&[chunk_id]).await?.into_iter().next().map(|(_, text)| text);
        let content = content.unwrap_or_default();
        let end =
            (0..=content.len().min(SIMILAR_TEXT_BYTES_MAX)).rev().find(|at| content.is_char_boundary(*at));
        text.push_str(&content[..end.unwrap_or(0)]);
    }
    Ok(vector)
}

/// Answers a query without words: lists all chunks that pass the filters, ordered by path. Of a list with facets, as many as are
/// counted.
async fn list(reads: &mut Reads, search: &Search<'_>, has_facets: bool) -> Result<RankedCandidates, Fault> {
    let settings = search.planner.deps.settings;
    // A page beyond the usual candidates is part of one list, which is as long as the last possible page needs.
    let is_far = search.planner.last > settings.candidates;
    let limit = if is_far { settings.offset_max + settings.top_max } else { settings.candidates };
    let counted = if has_facets { facets::CHUNKS_MAX } else { 0 };
    let limit = i64::try_from(limit.max(settings.candidates).max(counted)).unwrap_or(i64::MAX);
    let (ids, total) = reads.listed(&search.scope.selected.vectors, limit).await?;
    Ok(RankedCandidates::listed(ids, usize::try_from(total).unwrap_or(0)))
}

/// Returns the terms of a query. Terms of the subject line get a higher weight.
fn weighted_terms(text: &str, deps: SearchDeps<'_>) -> Vec<QueryTerm> {
    let mut terms = query_terms(text, deps.dictionary);
    if let Some(subject) = subject(text) {
        let in_subject: HashSet<i32> =
            query_terms(subject, deps.dictionary).iter().map(|term| term.id).collect();
        for term in terms.iter_mut().filter(|term| in_subject.contains(&term.id)) {
            term.weight *= deps.ranking.subject_factor;
        }
    }
    terms
}

pub(super) fn term_ids(terms: &[QueryTerm]) -> Vec<i32> {
    terms.iter().map(|term| term.id).collect()
}

fn explain(ranked: &RankedCandidates, search: &Search<'_>, request: &SearchRequest) -> Explain {
    let mut terms: Vec<ExplainedTerm> = ranked
        .terms
        .iter()
        .map(|term| ExplainedTerm { term: term.term.clone(), weight: term.weight, chunks: term.chunks })
        .collect();
    terms.sort_by(|a, b| b.weight.total_cmp(&a.weight).then_with(|| a.term.cmp(&b.term)));
    let within = match &search.scope.selected.vectors {
        ChunkSelection::All => "everything",
        ChunkSelection::Listed(_) => "listed",
        ChunkSelection::Matching(_) => "tested",
    };
    Explain {
        symbol: ranked.class.symbol,
        dense_weight: ranked.dense_weight,
        terms,
        within: within.to_owned(),
        candidates: ranked.candidates,
        evidence: ranked.evidence,
        filters: filter_texts(request, &search.question.query),
    }
}

/// Returns the conditions that each hit fulfils, as text: the mode, the filters of the request and those of the query.
fn filter_texts(request: &SearchRequest, query: &SearchQuery) -> Vec<String> {
    let mode = serde_json::to_value(request.mode).unwrap_or_default();
    let mut filters = vec![format!("mode = {}", mode.as_str().unwrap_or_default())];
    filters.extend(request.filters.iter().map(|filter| echo(&filter.to_string())));
    filters.extend(query.filter_text().map(|filter| echo(&filter)));
    filters
}

/// Returns the model if its vectors can be compared with those of the index; otherwise adds a warning.
fn usable_model<'a>(
    embedder: Option<&'a Arc<dyn Embedder>>,
    indexed: &ModelFacts,
    vectors: Vectors,
    warnings: &mut Vec<Warning>,
) -> Option<&'a Arc<dyn Embedder>> {
    if vectors == Vectors::Off {
        return None;
    }
    let Some(embedder) = embedder else {
        warnings.push(Warning::new(
            "no_model",
            "No embedding model is installed, so this search was lexical only. `pairofcleats bootstrap` installs one.",
        ));
        return None;
    };
    if embedder.model().hash.as_slice() != indexed.hash.as_slice() {
        warnings.push(Warning::new(
            "model_mismatch",
            format!(
                "The index was made with the model {} ({}), which is not installed or has changed, so this search was \
                 lexical only. `pairofcleats models download` installs it.",
                indexed.id, indexed.variant
            ),
        ));
        return None;
    }
    Some(embedder)
}

/// Starts to embed the query on a blocking thread. Of a text with a subject line only that line is embedded, because
/// the model reads only a few hundred tokens and the rest of an issue is often a stack trace or a listing.
pub(super) fn begin_embedding(model: &Arc<dyn Embedder>, text: &str) -> Embedding {
    let (model, text) = (Arc::clone(model), subject(text).unwrap_or(text).to_owned());
    platform::task::spawn_blocking(move || model.embed_query(&text))
}

fn vectors_used(path: VectorPath, found: bool) -> VectorsUsed {
    match path {
        VectorPath::Exact if found => VectorsUsed::Exact,
        VectorPath::Hnsw(_) if found => VectorsUsed::Hnsw,
        _ => VectorsUsed::None,
    }
}
