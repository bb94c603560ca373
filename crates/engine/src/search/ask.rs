//! The one way from a question to ranked chunks, whoever asks: CLI, MCP or HTTP.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use super::confidence::{Confidence, Evidence, scale};
use super::fuse::{Leg, fuse};
use super::hits::Page;
use super::limits::check;
use super::misread::understood;
use super::naming;
use super::plan::{Plan, VectorPath, plan};
use super::question::Question;
use super::rank::{Facts, Parts, Ranked, rank};
use super::ranking::Ranking;
use super::request::{Backend, Explain, ExplainedTerm, SearchAnswer, SearchRequest, Vectors, VectorsUsed};
use super::retrieve::{by_meaning, by_words, complete};
use super::scope::{Scope, count};
use super::shape::{Shape, subject};
use super::spelling::proposed;
use super::stage::Stage;
use super::stopwatch::Stopwatch;
use contract::clock::Clock;
use contract::config;
use contract::{ErrorCode, Fault, Warning, echo};
use embedding::Embedder;
use languages::Dictionary;
use languages::terms::{QueryTerm, query_terms};
use store::{Candidate, DefinitionRow, Index, ModelFacts, Reads, Within, Words};

/// Bytes of a chunk whose words stand for it in a search for its like.
const LIKENESS_BYTES_MAX: usize = 4096;

/// What a search needs from outside.
#[derive(Clone, Copy)]
pub struct Deps<'a> {
    /// The model; none when it is not installed, which costs the dense leg and is said in a warning.
    pub embedder: Option<&'a Arc<dyn Embedder>>,
    /// Splits names without marks, as it did when they were indexed.
    pub dictionary: Option<&'a Dictionary>,
    /// Limits.
    pub settings: &'a config::Search,
    /// Weights; `Ranking::default()` is what ships.
    pub ranking: &'a Ranking,
    /// Time.
    pub clock: &'a dyn Clock,
    /// Hears of each stage that is over; must not block.
    pub on_stage: &'a (dyn Fn(Stage) + Send + Sync),
}

/// Answers a question from what is committed in one project, or from a portable file.
///
/// All reads see one state, so that a run that replaces a file between two of them takes nothing away.
///
/// # Errors
/// `INVALID_REQUEST` for an empty or over-long question, a limit out of range or a bad filter; `NO_INDEX` when the
/// project or the repository has never been indexed; `NOT_FOUND` when a chunk is named that is not there; storage
/// faults. A missing model or missing vectors are warnings, not errors.
pub async fn search(
    deps: Deps<'_>,
    index: Index<'_>,
    request: &SearchRequest,
) -> Result<SearchAnswer, Fault> {
    let started = deps.clock.instant();
    check(request, deps.settings)?;
    let mut warnings = Vec::new();
    let question = understood(&request.query, &mut warnings);
    let mut text = question.ranking_text();
    let mut took = Stopwatch::start(deps.clock, started);

    let model = usable_model(deps.embedder, index.model(), request.vectors, &mut warnings);
    let embedding_model = model.map(|model| model.model().id.clone());
    let embeds = question.similar_to.is_none() && !text.is_empty();
    let embedding = model.filter(|_| embeds).map(|model| begin_embedding(model, &text));

    let backend = Backend::of(&index);
    let mut open = index.begin().await?;
    let reads = &mut open;
    let mut terms = terms_of(&text, deps);
    let mut opening = reads.opening(&ids_of(&terms)).await?;
    let mut frequencies = std::mem::take(&mut opening.frequencies);
    let scope =
        Scope::read(reads, opening, request, &question, deps.settings, deps.clock, &mut warnings).await?;
    scope.warn(reads, &mut warnings).await?;
    let mut vector = None;
    if let Some(chunk_id) = question.similar_to {
        vector = likeness(reads, chunk_id, &mut text).await?.filter(|_| model.is_some());
        terms = query_terms(&text, deps.dictionary);
        frequencies = reads.document_frequencies(&ids_of(&terms)).await?;
    }
    let mut plan = make_plan(&scope, &terms, frequencies, embedding.is_some() || vector.is_some(), deps);
    if request.offset + request.top > plan.candidates {
        plan.candidates = plan.candidates.max(deps.settings.offset_max + deps.settings.top_max);
    }
    took.timings.plan_ms = took.lap();
    (deps.on_stage)(Stage::Understood { terms: terms.len() });

    let mut found = if text.is_empty() {
        list(reads, &scope, &plan).await?
    } else {
        let sought = Sought { question: &question, scope: &scope, plan: &plan, embedding, vector };
        sought.found(reads, deps, &mut took, &mut warnings).await?
    };
    let confidence = found.judge(backend, &question, request, embedding_model.as_deref());
    let did_you_mean = proposed(reads, request, &scope, &plan, confidence).await?;
    let Found { ranked, total, total_is_least, vectors_found, dense_weight, shape, evidence } = found;
    (deps.on_stage)(Stage::Ranked { candidates: total });
    let explain = Explain {
        filters: filters(request, &question),
        ..explain(&shape, dense_weight, evidence, &plan, &scope)
    };
    let comments = scope.comments.is_some();
    let page = Page { scope: &scope, request, shape: &shape, ranking: deps.ranking, comments };
    let hits = page.hits(reads, ranked.into_iter().skip(request.offset).take(request.top).collect()).await?;
    open.end();
    took.timings.content_ms = took.lap();
    let took = took.stop(started);
    Ok(SearchAnswer {
        backend,
        hits,
        total,
        total_is_least,
        offset: request.offset,
        offset_max: deps.settings.offset_max,
        several_repositories: scope.has_several(),
        confidence,
        did_you_mean,
        query: question.to_string(),
        words: shape.words,
        vectors_used: vectors_used(&plan, vectors_found),
        explain,
        took,
        warnings,
    })
}

/// A question that has words, with all that is known before candidates are looked for.
struct Sought<'a> {
    question: &'a Question,
    scope: &'a Scope,
    plan: &'a Plan,
    /// Under way, unless `vector` is there already.
    embedding: Option<tokio::task::JoinHandle<Result<Vec<f32>, Fault>>>,
    vector: Option<Vec<f32>>,
}

impl Sought<'_> {
    /// The candidates of both legs, ranked.
    async fn found(
        self,
        reads: &mut Reads,
        deps: Deps<'_>,
        took: &mut Stopwatch<'_>,
        warnings: &mut Vec<Warning>,
    ) -> Result<Found, Fault> {
        let Self { question, scope, plan, embedding, mut vector } = self;
        let mut near = HashSet::new();
        let mut words = said(reads, scope, plan, deps, &mut near).await?;
        took.timings.lexical_ms = took.lap();
        (deps.on_stage)(Stage::Lexical { found: words.len() });
        if vector.is_none() {
            let wait = Duration::from_millis(deps.settings.embed_wait_ms);
            vector = question_vector(embedding, wait, warnings).await?;
        }
        took.timings.embed_ms = took.lap();
        (deps.on_stage)(Stage::Embedding { embedded: vector.is_some() });
        let mut meaning = match &vector {
            Some(vector) => by_meaning(reads, &scope.vectors, plan.vector, vector, plan.candidates).await?,
            None => Leg::new(),
        };
        near.extend(ids(&meaning).take(deps.settings.candidates));
        let named = naming::find(reads, question, scope).await?;
        took.timings.dense_ms = took.lap();
        (deps.on_stage)(Stage::Dense { found: meaning.len() });
        for leg in [&mut words, &mut meaning] {
            leg.retain(|(chunk_id, _)| Some(*chunk_id) != question.similar_to);
        }
        let sources: Vec<Words> = scope.sources().map(|(source, _)| source).collect();
        let by_name: Vec<i64> = named.keys().copied().collect();
        // What one leg leaves out for want of room, the other need not have found.
        let is_filled = words.len().max(meaning.len()) >= plan.candidates;
        near.extend(&by_name);
        let candidates =
            complete(reads, &plan.lexical, &sources, vector.as_deref(), &mut words, &mut meaning, &by_name)
                .await?;
        took.timings.hydrate_ms = took.lap();
        let mut found = ranked(question, plan, &Legs { words, meaning, near }, candidates, named, deps);
        found.total_is_least = is_filled && (found.total as u64) < scope.rows;
        took.timings.rank_ms = took.lap();
        Ok(found)
    }
}

/// What is found by words in all that is asked; the ids of what a first page would have seen join `near`.
async fn said(
    reads: &mut Reads,
    scope: &Scope,
    plan: &Plan,
    deps: Deps<'_>,
    near: &mut HashSet<i64>,
) -> Result<Leg, Fault> {
    let mut words = Leg::new();
    for (source, within) in scope.sources() {
        let found = by_words(reads, source, within, &plan.lexical, plan.candidates, deps.ranking).await?;
        near.extend(ids(&found).take(deps.settings.candidates));
        words.extend(found);
    }
    Ok(words)
}

/// Everything of a question's candidates.
struct Found {
    ranked: Vec<Ranked>,
    total: usize,
    /// Whether more may pass than were ranked.
    total_is_least: bool,
    vectors_found: bool,
    dense_weight: f32,
    shape: Shape,
    /// None for a listing, which nothing ranks.
    evidence: Option<Evidence>,
}

impl Found {
    /// Brings scores to 0 ..= 1 and says how far the answer can be believed, where that is known. Of an answer that nobody
    /// should believe no hits are left, unless whoever asked demands something of each hit or weighs them alone.
    fn judge(
        &mut self,
        backend: Backend,
        question: &Question,
        request: &SearchRequest,
        model: Option<&str>,
    ) -> Option<Confidence> {
        // What was calibrated are queries in a few words, by BM25: neither pasted texts nor the scores of FTS5.
        let calibrated =
            backend != Backend::SqliteFts && question.similar_to.is_none() && self.shape.issue <= 0.0;
        let model = model.filter(|_| self.vectors_found);
        let judged = self.evidence.filter(|_| calibrated).map(|evidence| evidence.judge(model));
        scale(&mut self.ranked, judged.map_or(1.0, |judged| judged.likelihood));
        let confidence = judged.map(|judged| judged.confidence);
        let demands = question.gate.is_some() || request.given.iter().any(|given| !given.field.is_place());
        if confidence == Some(Confidence::None) && !demands && !request.keep_doubtful {
            self.ranked.clear();
            (self.total, self.total_is_least) = (0, false);
        }
        confidence
    }
}

/// The vector of the chunk whose like is wanted; its words become the text unless the question has some.
async fn likeness(reads: &mut Reads, chunk_id: i64, text: &mut String) -> Result<Option<Vec<f32>>, Fault> {
    let (exists, vector) = reads.vector_of(chunk_id).await?;
    if !exists {
        return Err(Fault::new(ErrorCode::NotFound, format!("There is no chunk {chunk_id}."))
            .with_hint("Chunk ids are those of search hits; a file's chunks get new ones when it changes."));
    }
    if text.is_empty() {
        let content = reads.contents(&[chunk_id]).await?.into_iter().next().map(|(_, text)| text);
        let content = content.unwrap_or_default();
        let end = (0..=content.len().min(LIKENESS_BYTES_MAX)).rev().find(|at| content.is_char_boundary(*at));
        text.push_str(&content[..end.unwrap_or(0)]);
    }
    Ok(vector)
}

/// A question without words: what passes, in the order of paths.
async fn list(reads: &mut Reads, scope: &Scope, plan: &Plan) -> Result<Found, Fault> {
    let limit = i64::try_from(plan.candidates).unwrap_or(i64::MAX);
    let (ids, total) = reads.listed(&scope.vectors, limit).await?;
    let ranked = ids.into_iter().map(|chunk_id| Ranked { chunk_id, score: 0.0, parts: Parts::default() });
    Ok(Found {
        ranked: ranked.collect(),
        total: usize::try_from(total).unwrap_or(0),
        total_is_least: false,
        vectors_found: false,
        dense_weight: 0.0,
        shape: Shape::of(""),
        evidence: None,
    })
}

/// What was found.
struct Legs {
    words: Leg,
    meaning: Leg,
    /// Candidates of the first pages, among which scores were brought to 0 ..= 1 there.
    near: HashSet<i64>,
}

fn ids(leg: &Leg) -> impl Iterator<Item = i64> {
    leg.iter().map(|(chunk_id, _)| *chunk_id)
}

fn ranked(
    question: &Question,
    plan: &Plan,
    legs: &Legs,
    candidates: Vec<Candidate>,
    mut named: HashMap<i64, Vec<DefinitionRow>>,
    deps: Deps<'_>,
) -> Found {
    // The words of a chunk whose like is wanted say nothing about paths and definitions.
    let shape = Shape::of(&question.ranking_text());
    let shape = if named.is_empty() { shape } else { shape.named() };
    let dense_weight = dense_weight(&shape, deps.ranking);
    let fused = fuse(&legs.words, &legs.meaning, dense_weight);
    let facts = |candidate: Candidate| {
        let named = named.remove(&candidate.id).unwrap_or_default();
        Facts { named, ..facts_of(candidate) }
    };
    let facts: Vec<Facts> = candidates.into_iter().map(facts).collect();
    let mut ranked = rank(&shape, &fused, &facts, deps.ranking);
    if fused.iter().any(|fused| !legs.near.contains(&fused.chunk_id)) {
        // The first pages keep the order that they had without the further candidates, which follow.
        let near = |leg: &Leg| -> Leg {
            leg.iter().filter(|(chunk_id, _)| legs.near.contains(chunk_id)).copied().collect()
        };
        let fused = fuse(&near(&legs.words), &near(&legs.meaning), dense_weight);
        let first = rank(&shape, &fused, &facts, deps.ranking);
        ranked.retain(|ranked| !legs.near.contains(&ranked.chunk_id));
        ranked.splice(0..0, first);
    }
    let (total, vectors_found) = (ranked.len(), !legs.meaning.is_empty());
    let evidence = Some(Evidence::of(&shape, &plan.lexical, &legs.words, &legs.meaning, &ranked));
    Found { ranked, total, total_is_least: false, vectors_found, dense_weight, shape, evidence }
}

fn dense_weight(shape: &Shape, ranking: &Ranking) -> f32 {
    let sentence = (1.0 - shape.issue) * ranking.dense_weight + shape.issue * ranking.dense_weight_issue;
    shape.sentence * sentence + shape.symbol * ranking.dense_weight_symbol
}

/// The terms of a question; those of its subject line weigh more.
fn terms_of(text: &str, deps: Deps<'_>) -> Vec<QueryTerm> {
    let mut terms = query_terms(text, deps.dictionary);
    if let Some(subject) = subject(text) {
        let said: HashSet<i32> = query_terms(subject, deps.dictionary).iter().map(|term| term.id).collect();
        for term in terms.iter_mut().filter(|term| said.contains(&term.id)) {
            term.weight *= deps.ranking.subject_factor;
        }
    }
    terms
}

fn ids_of(terms: &[QueryTerm]) -> Vec<i32> {
    terms.iter().map(|term| term.id).collect()
}

fn make_plan(
    scope: &Scope,
    terms: &[QueryTerm],
    frequencies: Vec<(i32, i32)>,
    embedded: bool,
    deps: Deps<'_>,
) -> Plan {
    let frequencies: HashMap<i32, u64> =
        frequencies.into_iter().map(|(id, chunks)| (id, count(chunks))).collect();
    let frequency = |id: i32| frequencies.get(&id).copied().unwrap_or(0);
    plan(terms, &frequency, scope.counts(embedded), deps.settings, deps.ranking)
}

fn explain(
    shape: &Shape,
    dense_weight: f32,
    evidence: Option<Evidence>,
    plan: &Plan,
    scope: &Scope,
) -> Explain {
    let mut terms: Vec<ExplainedTerm> = plan
        .lexical
        .terms
        .iter()
        .map(|term| ExplainedTerm { term: term.term.clone(), weight: term.weight, chunks: term.chunks })
        .collect();
    terms.sort_by(|a, b| b.weight.total_cmp(&a.weight).then_with(|| a.term.cmp(&b.term)));
    let within = match &scope.vectors {
        Within::Everything => "everything",
        Within::These(_) => "listed",
        Within::Where(_) => "tested",
    };
    Explain {
        symbol: shape.symbol,
        dense_weight,
        terms,
        within: within.to_owned(),
        candidates: plan.candidates,
        evidence,
        filters: Vec::new(),
    }
}

/// What had to hold, in words.
fn filters(request: &SearchRequest, question: &Question) -> Vec<String> {
    let mode = serde_json::to_value(request.mode).unwrap_or_default();
    let mut filters = vec![format!("mode = {}", mode.as_str().unwrap_or_default())];
    filters.extend(request.given.iter().map(|given| echo(&given.to_string())));
    filters.extend(question.gate_text().map(|gate| echo(&gate)));
    filters
}

/// The model, if its vectors can be compared with the project's.
fn usable_model<'a>(
    embedder: Option<&'a Arc<dyn Embedder>>,
    indexed: &ModelFacts,
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
    if embedder.model().hash.as_slice() != indexed.hash.as_slice() {
        warnings.push(Warning::new(
            "model_mismatch",
            format!(
                "The index was made with {} ({}), which is not installed, or not as it was: words alone decided. \
                 `pairofcleats models download` installs it.",
                indexed.id, indexed.variant
            ),
        ));
        return None;
    }
    Some(embedder)
}

/// Embeds the question while the index is looked at. A long text is what its subject line says: the model reads the first
/// few hundred tokens only, and traces and listings are not what it is about.
pub(super) fn begin_embedding(
    model: &Arc<dyn Embedder>,
    text: &str,
) -> tokio::task::JoinHandle<Result<Vec<f32>, Fault>> {
    let (model, text) = (Arc::clone(model), subject(text).unwrap_or(text).to_owned());
    tokio::task::spawn_blocking(move || model.embed_query(&text))
}

/// Waits for the question's vector, for at most `wait`; a model that fails or is too busy costs the dense leg,
/// not the answer.
async fn question_vector(
    embedding: Option<tokio::task::JoinHandle<Result<Vec<f32>, Fault>>>,
    wait: Duration,
    warnings: &mut Vec<Warning>,
) -> Result<Option<Vec<f32>>, Fault> {
    let Some(embedding) = embedding else { return Ok(None) };
    let Ok(embedded) = tokio::time::timeout(wait, embedding).await else {
        let message = "The embedding model is busy, words alone decided; ask again later for more.";
        warnings.push(Warning::new("degraded", message));
        return Ok(None);
    };
    let vector = embedded.map_err(|error| Fault::internal("Embedding the question broke off.", error))?;
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

fn facts_of(candidate: Candidate) -> Facts {
    Facts {
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
