//! Reads the hits for ranked chunks: text, surrounding lines, callers, callees, and all facts if requested.

use std::collections::{BTreeMap, HashMap};

use crate::search::filters::revisions::HavingRevisions;
use crate::search::filters::scope::ResolvedScope;
use crate::search::present::answer::{AllFacts, CallEdge, History, Hit};
use crate::search::present::matched_definition::{ChunkContext, DefinitionChoice};
use crate::search::present::other_places::{OtherPlace, OtherPlaces};
use crate::search::present::snippet::shorten;
use crate::search::present::surroundings::{NearbyChunk, surroundings};
use crate::search::present::total_relation::TotalRelation;
use crate::search::query::query_class::QueryClass;
use crate::search::rank::ranking::Ranking;
use crate::search::rank::scores::RankedChunk;
use crate::search::request::{Mode, SearchRequest};
use contract::Fault;
use contract::clock::iso_seconds;
use languages::facts::{CallPair, Detail, Field};
use languages::risk::RiskFlow;
use store::{
    Certainty, ChunkDetails, ChunkRow, DefinitionRow, FileFacts, Reads, SearchedPlaces, fact_id, names,
};

/// Maximum number of callees, and of callers, of a hit.
const CALLS_MAX: usize = 12;
/// Maximum length of the name of a callee or caller in bytes; longer names are cut.
const LABEL_BYTES_MAX: usize = 80;
/// Maximum number of chunks that are read to find the callers of one name.
const HOLDERS_MAX: i64 = 12;

/// Reads the hits of one page of an answer.
pub(in crate::search) struct HitPage<'a> {
    scope: &'a ResolvedScope,
    request: &'a SearchRequest,
    /// Decides which definition of a chunk the query names.
    class: &'a QueryClass,
    ranking: &'a Ranking,
    /// `true` if comments were searched, so that hits in code show the comment instead of the code.
    comments: bool,
}

/// The rows that were read for the hits of a page, by chunk id; `files` by file id.
#[derive(Default)]
struct PageFacts {
    comments: HashMap<i64, (u32, u32, String)>,
    /// Callers by name, where calls are not resolved.
    callers: HashMap<i64, Vec<String>>,
    /// `true` if the index can have resolved calls.
    has_edges: bool,
    facts: HashMap<i64, BTreeMap<String, Vec<String>>>,
    files: HashMap<i64, FileFacts>,
    definitions: HashMap<i64, Vec<DefinitionRow>>,
    /// The revisions asked for that have a file.
    revisions: HashMap<i64, HavingRevisions>,
}

impl PageFacts {
    /// Returns whether the default branch has a file.
    fn is_default(&self, file_id: i64) -> bool {
        self.revisions.get(&file_id).is_none_or(|having| having.is_default)
    }
}

impl<'a> HitPage<'a> {
    pub(in crate::search) fn new(
        scope: &'a ResolvedScope,
        request: &'a SearchRequest,
        class: &'a QueryClass,
        ranking: &'a Ranking,
    ) -> Self {
        Self { scope, request, class, ranking, comments: scope.selected.comments.is_some() }
    }

    /// Returns the hits of the ranked chunks, in their order. A chunk that no longer exists is omitted.
    pub(in crate::search) async fn hits(
        &self,
        reads: &mut Reads,
        page: Vec<RankedChunk>,
    ) -> Result<Vec<Hit>, Fault> {
        let ids: Vec<i64> = page.iter().map(|ranked| ranked.chunk_id).collect();
        let folded: Vec<i64> =
            page.iter().filter(|ranked| ranked.text.is_some()).map(|ranked| ranked.chunk_id).collect();
        let details = reads.details(&ids).await?;
        let mut details: HashMap<i64, ChunkDetails> =
            details.into_iter().map(|details| (details.chunk.id, details)).collect();
        let mut facts = self.read_facts(reads, &ids, &details).await?;
        let mut hits = Vec::with_capacity(page.len());
        for ranked in page {
            if let Some(details) = details.remove(&ranked.chunk_id) {
                let mut hit = self.hit(ranked, details, &mut facts);
                if let Ok(count) = u32::try_from(self.request.context_lines)
                    && count > 0
                {
                    (hit.before, hit.after) = around(reads, &hit, count).await?;
                }
                hits.push(hit);
            }
        }
        add_edges(reads, &mut hits).await?;
        add_other_places(reads, self.scope, &mut hits, &folded).await?;
        Ok(hits)
    }

    async fn read_facts(
        &self,
        reads: &mut Reads,
        ids: &[i64],
        details: &HashMap<i64, ChunkDetails>,
    ) -> Result<PageFacts, Fault> {
        let mut found = PageFacts::default();
        for definition in reads.definitions(ids).await? {
            found.definitions.entry(definition.chunk_id).or_default().push(definition);
        }
        if self.comments {
            for (id, first, last, text) in reads.comments(ids).await? {
                found.comments.insert(id, (line(first), line(last), text));
            }
        }
        let files: Vec<i64> = details.values().map(|details| details.chunk.file_id).collect();
        found.revisions = self.scope.asked.of_files(reads, &files).await?;
        let resolved = reads.files_with_symbols(&files).await?;
        found.has_edges = resolved.is_some();
        let by_name = details.values().map(|details| &details.chunk);
        // Callers of code that only revisions have are unknown; names in the default branch would belong to other definitions.
        let by_name = by_name.filter(|row| {
            found.is_default(row.file_id)
                && resolved.as_ref().is_none_or(|files| !files.contains(&row.file_id))
        });
        let by_name: Vec<&ChunkRow> = by_name.collect();
        found.callers = callers(reads, &by_name).await?;
        if self.request.in_full {
            for (id, code, name) in reads.names_of(ids).await? {
                let Some(field) = Field::ALL.iter().find(|field| **field as i16 == code) else { continue };
                let chunk_facts = found.facts.entry(id).or_default();
                chunk_facts.entry(field.name().to_owned()).or_default().push(name);
            }
            let files: Vec<i64> = details.values().map(|details| details.chunk.file_id).collect();
            found.files = reads.history_of(&files).await?.into_iter().collect();
        }
        Ok(found)
    }

    fn hit(&self, ranked: RankedChunk, details: ChunkDetails, found: &mut PageFacts) -> Hit {
        let ChunkDetails { chunk: row, mut content, detail, flows } = details;
        let detail: Detail = detail.and_then(|json| serde_json::from_str(&json).ok()).unwrap_or_default();
        let definitions = found.definitions.remove(&row.id).unwrap_or_default();
        let chooser = DefinitionChoice {
            name: self.class.name.as_ref(),
            marks: &self.scope.marks,
            words: &self.class.words,
            ranking: self.ranking,
        };
        let flows_between_files: Vec<RiskFlow> =
            flows.as_deref().and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default();
        let mut matched = chooser.choose(&ChunkContext {
            chunk: &row,
            content: &content,
            definitions: &definitions,
            detail: &detail,
            flows: &flows_between_files,
        });
        let (mut start_line, mut end_line) = (line(row.span.start_line), line(row.span.end_line));
        let mut mode = Mode::from_stored(&row.mode);
        if mode == Mode::Code
            && let Some((first, last, text)) = found.comments.remove(&row.id)
        {
            (start_line, end_line, content, mode) = (first, last, text, Mode::ExtractedProse);
            // The comment matched, not the code.
            (matched.line, matched.lines, matched.focus) = (first, None, None);
        }
        let calls = called_names(&detail);
        let having = found.revisions.get(&row.file_id).cloned();
        let known = self.request.in_full.then(|| {
            let risk_from_elsewhere = flows.and_then(|json| serde_json::from_str(&json).ok());
            AllFacts { detail, risk_from_elsewhere, ..self.facts_of(&row, found) }
        });
        let by_name = found.callers.remove(&row.id).unwrap_or_default();
        let (called_by, may_be_called_by) =
            if found.has_edges { (Vec::new(), by_name) } else { (by_name, Vec::new()) };
        Hit {
            chunk_id: row.id,
            file_id: row.file_id,
            repository: row.repository_name,
            path: row.path,
            language: row.language,
            mode,
            start_line,
            end_line,
            line: matched.line,
            definition_lines: matched.lines,
            focus: matched.focus,
            kind: matched.kind,
            name: matched.name,
            signature: matched.signature,
            score: ranked.score,
            parts: ranked.parts,
            content,
            before: Vec::new(),
            after: Vec::new(),
            calls,
            called_by,
            callers: Vec::new(),
            callees: Vec::new(),
            may_be_called_by,
            other_places: None,
            revisions: having.as_ref().map(|having| having.names.clone()).unwrap_or_default(),
            revision_commit: having.map(|having| having.commit),
            known,
        }
    }
}

impl HitPage<'_> {
    /// Returns the facts of a chunk and its file, without those of its detail.
    fn facts_of(&self, row: &ChunkRow, found: &mut PageFacts) -> AllFacts {
        let file = found.files.get(&row.file_id).cloned().unwrap_or_default();
        let repository = self.scope.repositories.iter().find(|r| r.id == row.repository_id);
        let (branch, commit) = repository.map_or((None, None), |r| (r.branch.clone(), r.commit.clone()));
        AllFacts {
            facts: found.facts.remove(&row.id).unwrap_or_default(),
            meta: file.meta.clone().unwrap_or_default(),
            history: (commit.is_some() && found.is_default(row.file_id))
                .then(|| History::new(file, branch, commit)),
            ..AllFacts::default()
        }
    }
}

/// Returns the names that a chunk calls, without duplicates.
fn called_names(detail: &Detail) -> Vec<String> {
    let mut calls: Vec<String> = Vec::new();
    for pair in &detail.calls {
        let callee = label(&pair.callee);
        if !calls.contains(&callee) && calls.len() < CALLS_MAX {
            calls.push(callee);
        }
    }
    calls
}

impl History {
    /// Creates the history of a file of a repository that was indexed at a branch and a commit.
    #[must_use]
    pub fn new(file: FileFacts, branch: Option<String>, commit: Option<String>) -> Self {
        Self {
            branch,
            commit,
            last_author: file.last_author,
            last_modified: file.last_modified_s.map(iso_seconds),
            last_commit: file.last_commit,
            churn: file
                .churn_added
                .zip(file.churn_deleted)
                .map(|(added, deleted)| added.saturating_add(deleted)),
            churn_commits: file.churn_commits,
        }
    }
}

/// Returns the names of functions in the same repository that call a definition of each chunk. Only names are compared,
/// so callers of another function with the same name are included.
async fn callers(reads: &mut Reads, rows: &[&ChunkRow]) -> Result<HashMap<i64, Vec<String>>, Fault> {
    let rows = || rows.iter().copied();
    let call = |name: &String| fact_id(Field::Call as i16, name);
    let callable = |row: &&ChunkRow| matches!(row.span.kind.as_str(), "function" | "method");
    let calls = |row: &'_ ChunkRow| -> Vec<(i64, i64)> {
        row.span.defines.iter().map(|name| (call(name), row.repository_id)).collect()
    };
    let mut wanted: Vec<(i64, i64)> = rows().filter(callable).flat_map(calls).collect();
    wanted.sort_unstable();
    wanted.dedup();
    let mut callers: HashMap<i64, Vec<String>> = HashMap::new();
    if wanted.is_empty() {
        return Ok(callers);
    }
    let holders = reads.chunks_with_facts(&wanted, HOLDERS_MAX).await?;
    for row in rows().filter(callable) {
        let elsewhere = holders
            .iter()
            .filter(|holder| holder.chunk_id != row.id && holder.repository_id == row.repository_id);
        let called = elsewhere.flat_map(|holder| {
            let named = row.span.defines.iter().filter(|name| call(name) == holder.id);
            named.flat_map(|name| callers_in(holder, name))
        });
        let list = callers.entry(row.id).or_default();
        for caller in called.filter(|caller| row.span.name.as_ref() != Some(caller)) {
            let caller = label(&caller);
            if !list.contains(&caller) && list.len() < CALLS_MAX {
                list.push(caller);
            }
        }
    }
    Ok(callers)
}

/// Adds the resolved calls to and from the definition that each hit shows.
async fn add_edges(reads: &mut Reads, hits: &mut [Hit]) -> Result<(), Fault> {
    let place = |hit: &Hit| (hit.file_id, i32::try_from(hit.line).unwrap_or(0));
    let places: Vec<(i64, i32)> = hits.iter().map(place).collect();
    for edge in reads.hit_edges(&places).await? {
        let Some(hit) = hits.get_mut(edge.hit) else { continue };
        let name = edge.name.as_deref().map(label);
        let certainty = if edge.certainty == Certainty::Scip { "scip" } else { "resolved" };
        let list = if edge.is_caller { &mut hit.callers } else { &mut hit.callees };
        if list.len() < CALLS_MAX {
            list.push(CallEdge { name: name.clone(), file: edge.path.clone(), line: edge.line, certainty });
        }
        let caller = name.unwrap_or(edge.path);
        if edge.is_caller && hit.called_by.len() < CALLS_MAX && !hit.called_by.contains(&caller) {
            hit.called_by.push(caller);
        }
    }
    Ok(())
}

/// Adds the other places of the hits `folded`, whose texts are long enough to be folded. They are counted over everything that is searched
/// and passes the filters, even if it was not a candidate.
async fn add_other_places(
    reads: &mut Reads,
    scope: &ResolvedScope,
    hits: &mut [Hit],
    folded: &[i64],
) -> Result<(), Fault> {
    if folded.is_empty() {
        return Ok(());
    }
    let searched = scope.searched();
    let repositories: Vec<i64> = searched.iter().map(|repository| repository.id).collect();
    let repositories = scope.asked.with_hidden(&repositories);
    let places =
        SearchedPlaces { repositories: &repositories, selection: scope.chunks_within_repositories() };
    let names: HashMap<i64, &str> =
        searched.iter().map(|repository| (repository.id, repository.name.as_str())).collect();
    for found in reads.other_places(folded, places).await? {
        let Some(hit) = hits.iter_mut().find(|hit| hit.chunk_id == found.chunk_id) else { continue };
        let place = |place: store::copies::OtherPlace| OtherPlace {
            repo: names.get(&place.repository_id).map(|name| (*name).to_owned()),
            file: place.path,
            line: u32::try_from(place.start_line).unwrap_or(0),
        };
        hit.other_places = Some(OtherPlaces {
            total: found.total,
            total_relation: found.total_is_least.then_some(TotalRelation::Gte),
            first: found.first.into_iter().map(place).collect(),
        });
    }
    Ok(())
}

/// Returns the functions of a chunk that call `name`; if the call is outside of functions, the name of the chunk or its
/// path.
fn callers_in(holder: &names::ChunkWithFact, name: &str) -> Vec<String> {
    let detail: Option<Detail> =
        holder.detail.as_deref().and_then(|detail| serde_json::from_str(detail).ok());
    let calls = detail.map(|detail| detail.calls).unwrap_or_default();
    let calls_name = |pair: &CallPair| pair.callee.rsplit('.').next() == Some(name);
    let callers: Vec<String> = calls.into_iter().filter(calls_name).filter_map(|pair| pair.caller).collect();
    if callers.is_empty() {
        return vec![holder.name.clone().unwrap_or_else(|| holder.path.clone())];
    }
    callers
}

/// Shortens the name of a caller or callee. Headings, and handlers named by the registering call, can be as long as a
/// line.
fn label(name: &str) -> String {
    shorten(name, LABEL_BYTES_MAX)
}

/// Reads the lines around a hit.
async fn around(reads: &mut Reads, hit: &Hit, count: u32) -> Result<(Vec<String>, Vec<String>), Fault> {
    let (start, end) = (hit.start_line, hit.end_line);
    let spans = reads.by_file(hit.file_id).await?;
    // Reads the chunk after the window as well: it shows that the lines in between are blank.
    let near =
        |first: u32, last: u32| last.saturating_add(count) >= start && first <= end.saturating_add(count);
    let wanted: Vec<_> =
        spans.iter().filter(|span| near(line(span.start_line), line(span.end_line))).collect();
    let ids: Vec<i64> = wanted.iter().map(|span| span.id).collect();
    let texts = reads.contents(&ids).await?;
    let chunks: Vec<NearbyChunk<'_>> = wanted
        .iter()
        .filter_map(|span| {
            let text = texts.iter().find(|(id, _)| *id == span.id).map(|(_, text)| text.as_str())?;
            Some(NearbyChunk { start_line: line(span.start_line), text })
        })
        .collect();
    Ok(surroundings(&chunks, start, end, count))
}

/// Converts a line number from the database, which is never negative.
fn line(number: i32) -> u32 {
    u32::try_from(number).unwrap_or(0)
}
