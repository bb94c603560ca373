//! Executes a search: parses the query, plans, retrieves, fuses, ranks, and reads the hits. Every surface and the
//! benchmarks search through [`execute`].

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use super::answer::{Backend, Explain, ExplainedTerm, SearchAnswer, VectorsUsed};
use super::confidence::{Confidence, Evidence, scale};
use super::exact::execute_exact;
use super::exact_name;
use super::field_hints::parse_query;
use super::fuse::{Retrieved, fuse};
use super::hits::HitPage;
use super::limits::check;
use super::plan::{Plan, VectorPath, plan};
use super::query::SearchQuery;
use super::query_class::{QueryClass, subject};
use super::rank::{CandidateFacts, RankedChunk, ScoreParts, rank};
use super::ranking::Ranking;
use super::request::{SearchRequest, Vectors};
use super::retrieve::{chunk_ids, complete_scores, dense, lexical};
use super::scope::{ResolvedScope, count};
use super::stage::SearchStage;
use super::stopwatch::Stopwatch;
use super::suggestions::suggest_names;
use contract::clock::Clock;
use contract::config;
use contract::{ErrorCode, Fault, Warning, echo};
use embedding::Embedder;
use languages::Dictionary;
use languages::terms::{QueryTerm, query_terms};
use store::{Candidate, ChunkSelection, DefinitionRow, Index, LexicalSource, ModelFacts, Reads};

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
    let mut search = prepared.plan(&mut reads, request, deps, &mut warnings).await?;
    took.timings.plan_ms = took.lap();
    (deps.on_stage)(SearchStage::Understood { terms: search.terms });

    let mut ranked = if search.text.is_empty() {
        list(&mut reads, &search.scope, &search.plan).await?
    } else {
        let (retrieved, first_page) =
            lexical(&mut reads, search.scope.sources(), &search.plan, deps.ranking, deps.settings).await?;
        took.timings.lexical_ms = took.lap();
        (deps.on_stage)(SearchStage::Lexical { found: retrieved.len() });
        let wait = Duration::from_millis(deps.settings.embed_wait_ms);
        search.await_vector(wait, &mut warnings).await?;
        took.timings.embed_ms = took.lap();
        (deps.on_stage)(SearchStage::Embedding { embedded: search.vector.is_some() });
        let candidates = search.candidates(&mut reads, retrieved, first_page, deps, &mut took).await?;
        let ranked = search.rank(candidates, deps);
        took.timings.rank_ms = took.lap();
        ranked
    };
    let model = model.map(|model| model.model().id.as_str());
    let confidence = ranked.judge(backend, &search.query, request, model);
    let did_you_mean = suggest_names(&mut reads, request, &search.scope, &search.plan, confidence).await?;
    (deps.on_stage)(SearchStage::Ranked { candidates: ranked.total });
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
        query: search.query.to_string(),
        vectors_used: vectors_used(&search.plan, ranked.vectors_found),
        explain: explain(&ranked, &search, request),
        words: ranked.class.words,
        took: took.stop(started),
        warnings,
        matches: None,
    })
}

/// A parsed query before the first read of the index.
struct Prepared {
    query: SearchQuery,
    /// Whether vectors can be compared.
    has_model: bool,
    /// The words that rank; empty for a query that only filters.
    text: String,
    embedding: Option<Embedding>,
}

impl Prepared {
    /// Resolves the scope and plans the retrieval.
    async fn plan(
        self,
        reads: &mut Reads,
        request: &SearchRequest,
        deps: SearchDeps<'_>,
        warnings: &mut Vec<Warning>,
    ) -> Result<Search, Fault> {
        let Self { query, has_model, mut text, embedding } = self;
        let mut terms = weighted_terms(&text, deps);
        let mut overview = reads.overview(&term_ids(&terms)).await?;
        let mut frequencies = std::mem::take(&mut overview.frequencies);
        let scope =
            ResolvedScope::resolve(reads, overview, request, &query, deps.settings, deps.clock, warnings)
                .await?;
        scope.warn(reads, warnings).await?;
        let mut vector = None;
        if let Some(chunk_id) = query.similar_to {
            vector = similar_to(reads, chunk_id, &mut text).await?.filter(|_| has_model);
            terms = query_terms(&text, deps.dictionary);
            frequencies = reads.document_frequencies(&term_ids(&terms)).await?;
        }
        let frequencies: HashMap<i32, u64> =
            frequencies.into_iter().map(|(id, chunks)| (id, count(chunks))).collect();
        let frequency = |id: i32| frequencies.get(&id).copied().unwrap_or(0);
        let counts = scope.counts(embedding.is_some() || vector.is_some());
        let mut plan = plan(&terms, &frequency, counts, deps.settings, deps.ranking);
        if request.offset + request.top > plan.candidates {
            // A page beyond the usual candidates: retrieves as many as the last possible page needs, so that all
            // further pages rank the same candidates.
            plan.candidates = plan.candidates.max(deps.settings.offset_max + deps.settings.top_max);
        }
        Ok(Search { query, text, terms: terms.len(), scope, plan, embedding, vector })
    }
}

/// A planned search.
struct Search {
    query: SearchQuery,
    text: String,
    /// Number of query terms.
    terms: usize,
    scope: ResolvedScope,
    plan: Plan,
    /// The embedding of the query in progress; `None` if `vector` is set or no vector is needed.
    embedding: Option<Embedding>,
    vector: Option<Vec<f32>>,
}

/// The candidates of both retrievers, each with the scores of both.
struct Candidates {
    lexical: Retrieved,
    dense: Retrieved,
    /// Ids of the candidates of the first pages, over which the scores of these pages are normalised.
    first_page: HashSet<i64>,
    rows: Vec<Candidate>,
    /// Definitions that have the queried name, by chunk.
    named: HashMap<i64, Vec<DefinitionRow>>,
    /// Whether a retriever stopped at its limit, so that more chunks may pass than were ranked.
    is_filled: bool,
}

impl Search {
    /// Waits for the query's vector, for at most `wait`. If the model fails or is busy, the search continues without
    /// the dense retriever.
    async fn await_vector(&mut self, wait: Duration, warnings: &mut Vec<Warning>) -> Result<(), Fault> {
        if self.vector.is_some() {
            return Ok(());
        }
        let Some(embedding) = self.embedding.take() else { return Ok(()) };
        let Ok(embedded) = tokio::time::timeout(wait, embedding).await else {
            let message = "The embedding model is busy, so this search was lexical only; try again later.";
            warnings.push(Warning::new("degraded", message));
            return Ok(());
        };
        match embedded.map_err(|error| Fault::internal("Embedding the query failed unexpectedly.", error))? {
            Ok(vector) => self.vector = Some(vector),
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

    /// Adds dense candidates and chunks that define the queried name to the lexical ones, and completes the scores of
    /// each candidate for both retrievers.
    async fn candidates(
        &self,
        reads: &mut Reads,
        mut lexical: Retrieved,
        mut first_page: HashSet<i64>,
        deps: SearchDeps<'_>,
        took: &mut Stopwatch<'_>,
    ) -> Result<Candidates, Fault> {
        let (scope, plan) = (&self.scope, &self.plan);
        let mut dense = match &self.vector {
            Some(vector) => dense(reads, &scope.vectors, plan.vector, vector, plan.candidates).await?,
            None => Retrieved::new(),
        };
        first_page.extend(chunk_ids(&dense).take(deps.settings.candidates));
        // A search of comments only has no definitions.
        let named = match &scope.chunks {
            Some(_) => exact_name::definitions(reads, &self.query, &scope.vectors).await?,
            None => HashMap::new(),
        };
        took.timings.dense_ms = took.lap();
        (deps.on_stage)(SearchStage::Dense { found: dense.len() });
        for retrieved in [&mut lexical, &mut dense] {
            retrieved.retain(|(chunk_id, _)| Some(*chunk_id) != self.query.similar_to);
        }
        // Before completion, which adds the other retriever's candidates to each list.
        let is_filled = lexical.len().max(dense.len()) >= plan.candidates;
        let sources: Vec<LexicalSource> = scope.sources().map(|(source, _)| source).collect();
        let by_name: Vec<i64> = named.keys().copied().collect();
        first_page.extend(&by_name);
        let vector = self.vector.as_deref();
        let rows =
            complete_scores(reads, &plan.lexical, &sources, vector, &mut lexical, &mut dense, &by_name)
                .await?;
        took.timings.hydrate_ms = took.lap();
        Ok(Candidates { lexical, dense, first_page, rows, named, is_filled })
    }

    /// Fuses and ranks the candidates.
    fn rank(&self, candidates: Candidates, deps: SearchDeps<'_>) -> RankedCandidates {
        let Candidates { lexical, dense, first_page, rows, mut named, is_filled } = candidates;
        // Not `self.text`, which for `chunk:12` is the text of that chunk and must not match paths and definitions.
        let class = QueryClass::new(&self.query.ranking_text());
        let class = if named.is_empty() { class } else { class.as_defined_name() };
        let dense_weight = dense_weight(&class, deps.ranking);
        let fused = fuse(&lexical, &dense, dense_weight);
        let facts = |candidate: Candidate| {
            let named = named.remove(&candidate.id).unwrap_or_default();
            CandidateFacts { named, ..candidate_facts(candidate) }
        };
        let facts: Vec<CandidateFacts> = rows.into_iter().map(facts).collect();
        let mut chunks = rank(&class, &fused, &facts, deps.ranking);
        if fused.iter().any(|fused| !first_page.contains(&fused.chunk_id)) {
            // A later page ranks more candidates. Those of the first pages are ranked separately, so that they keep
            // their order, and the further ones follow.
            let on_first_page = |retrieved: &Retrieved| -> Retrieved {
                retrieved.iter().filter(|(chunk_id, _)| first_page.contains(chunk_id)).copied().collect()
            };
            let fused = fuse(&on_first_page(&lexical), &on_first_page(&dense), dense_weight);
            let first = rank(&class, &fused, &facts, deps.ranking);
            chunks.retain(|chunk| !first_page.contains(&chunk.chunk_id));
            chunks.splice(0..0, first);
        }
        let (total, vectors_found) = (chunks.len(), !dense.is_empty());
        let total_is_least = is_filled && (total as u64) < self.scope.rows;
        let evidence = Some(Evidence::new(&class, &self.plan.lexical, &lexical, &dense, &chunks));
        RankedCandidates { chunks, total, total_is_least, vectors_found, dense_weight, class, evidence }
    }
}

/// All candidates, best first, with the measurements for confidence and explanation.
struct RankedCandidates {
    chunks: Vec<RankedChunk>,
    total: usize,
    /// Whether `total` is a lower bound.
    total_is_least: bool,
    /// Whether the dense retriever found any candidate.
    vectors_found: bool,
    dense_weight: f32,
    class: QueryClass,
    /// `None` for a listing, which is not ranked.
    evidence: Option<Evidence>,
}

impl RankedCandidates {
    /// Scales the scores to 0 ..= 1 and returns the confidence, if it is calibrated for such queries. Removes all hits
    /// if the confidence is `none`, unless the query has filters or the caller wants doubtful hits.
    fn judge(
        &mut self,
        backend: Backend,
        query: &SearchQuery,
        request: &SearchRequest,
        model: Option<&str>,
    ) -> Option<Confidence> {
        // Calibrated on queries of a few words scored by BM25, so neither on pasted texts nor on the scores of FTS5.
        let calibrated =
            backend != Backend::SqliteFts && query.similar_to.is_none() && self.class.issue <= 0.0;
        let model = model.filter(|_| self.vectors_found);
        let judged = self.evidence.filter(|_| calibrated).map(|evidence| evidence.judge(model));
        scale(&mut self.chunks, judged.map_or(1.0, |judged| judged.likelihood));
        let confidence = judged.map(|judged| judged.confidence);
        let has_filters =
            query.filter.is_some() || request.filters.iter().any(|filter| !filter.field.is_location());
        if confidence == Some(Confidence::None) && !has_filters && !request.keep_doubtful {
            self.chunks.clear();
            (self.total, self.total_is_least) = (0, false);
        }
        confidence
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

/// Answers a query without words: lists all chunks that pass the filters, ordered by path.
async fn list(reads: &mut Reads, scope: &ResolvedScope, plan: &Plan) -> Result<RankedCandidates, Fault> {
    let limit = i64::try_from(plan.candidates).unwrap_or(i64::MAX);
    let (ids, total) = reads.listed(&scope.vectors, limit).await?;
    let unranked = |chunk_id| RankedChunk { chunk_id, score: 0.0, parts: ScoreParts::default() };
    Ok(RankedCandidates {
        chunks: ids.into_iter().map(unranked).collect(),
        total: usize::try_from(total).unwrap_or(0),
        total_is_least: false,
        vectors_found: false,
        dense_weight: 0.0,
        class: QueryClass::new(""),
        evidence: None,
    })
}

fn dense_weight(class: &QueryClass, ranking: &Ranking) -> f32 {
    let sentence = (1.0 - class.issue) * ranking.dense_weight + class.issue * ranking.dense_weight_issue;
    class.sentence * sentence + class.symbol * ranking.dense_weight_symbol
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

fn term_ids(terms: &[QueryTerm]) -> Vec<i32> {
    terms.iter().map(|term| term.id).collect()
}

fn explain(ranked: &RankedCandidates, search: &Search, request: &SearchRequest) -> Explain {
    let (plan, class) = (&search.plan, &ranked.class);
    let mut terms: Vec<ExplainedTerm> = plan
        .lexical
        .terms
        .iter()
        .map(|term| ExplainedTerm { term: term.term.clone(), weight: term.weight, chunks: term.chunks })
        .collect();
    terms.sort_by(|a, b| b.weight.total_cmp(&a.weight).then_with(|| a.term.cmp(&b.term)));
    let within = match &search.scope.vectors {
        ChunkSelection::All => "everything",
        ChunkSelection::Listed(_) => "listed",
        ChunkSelection::Matching(_) => "tested",
    };
    Explain {
        symbol: class.symbol,
        dense_weight: ranked.dense_weight,
        terms,
        within: within.to_owned(),
        candidates: plan.candidates,
        evidence: ranked.evidence,
        filters: filter_texts(request, &search.query),
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
    tokio::task::spawn_blocking(move || model.embed_query(&text))
}

fn candidate_facts(candidate: Candidate) -> CandidateFacts {
    CandidateFacts {
        chunk_id: candidate.id,
        file_id: candidate.file_id,
        repository_id: candidate.repository_id,
        path: candidate.path,
        start_line: u32::try_from(candidate.start_line).unwrap_or(0),
        defines: candidate.defines,
        named: Vec::new(),
    }
}

fn vectors_used(plan: &Plan, found: bool) -> VectorsUsed {
    match plan.vector {
        VectorPath::Exact if found => VectorsUsed::Exact,
        VectorPath::Hnsw(_) if found => VectorsUsed::Hnsw,
        _ => VectorsUsed::None,
    }
}
