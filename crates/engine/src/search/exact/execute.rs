//! Executes an exact search: compiles the pattern, resolves the scope, matches candidates in order, counts, and reads the page.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use super::lines::MatchedLine;
use super::matcher::{Candidates, MatchedChunk, Matcher};
use super::pattern::{ExactQuery, Pattern};
use crate::search::backend::Backend;
use crate::search::execute::SearchDeps;
use crate::search::filters::scope::ResolvedScope;
use crate::search::limits::check;
use crate::search::present::answer::{Explain, SearchAnswer, VectorsUsed};
use crate::search::present::facets::Facets;
use crate::search::present::sources::Sources;
use crate::search::present::surroundings::{NearbyChunk, surroundings};
use crate::search::query::SearchQuery;
use crate::search::request::SearchRequest;
use crate::search::stage::SearchStage;
use crate::search::stopwatch::Stopwatch;
use contract::{Fault, Warning, config, echo};
use store::{ChunkSelection, ChunkSpan, ChunkText, FilePlace, Index, Reads};

/// The lines that an exact search found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LineMatches {
    /// The lines of the page by file, ordered by repository, path and line.
    pub files: Vec<FileMatches>,
    /// Number of files with matching lines; a lower bound if the number of lines is one.
    pub total_files: usize,
    /// Files of the searched repositories that are not indexed, by reason; empty unless the caller fills it in.
    pub left_out: BTreeMap<String, u64>,
    /// The texts around the lines of the page; empty unless the request is for a page.
    pub sources: Sources,
}

/// A file with its matching lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileMatches {
    /// Name of its repository.
    pub repository: String,
    /// Path relative to the repository.
    pub path: String,
    /// Language id, if the file has one.
    pub language: Option<String>,
    /// The revisions that were asked for and have it; empty if none was asked for.
    pub revisions: Vec<String>,
    /// The commit of the first of them.
    pub revision_commit: Option<String>,
    /// Its lines, in order.
    pub lines: Vec<LineInContext>,
}

/// A matching line with the lines around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineInContext {
    /// The line.
    pub matched: MatchedLine,
    /// Lines before it.
    pub before: Vec<String>,
    /// Lines after it.
    pub after: Vec<String>,
}

/// Searches one project, or one portable file, for lines.
///
/// # Errors
/// `INVALID_REQUEST` for a pattern that cannot be searched, a limit out of range or an invalid filter; `NO_INDEX` if nothing was
/// indexed; storage faults.
pub(in crate::search) async fn execute_exact(
    deps: SearchDeps<'_>,
    index: Index<'_>,
    request: &SearchRequest,
    exact: &ExactQuery,
) -> Result<SearchAnswer, Fault> {
    let started = deps.clock.instant();
    check(request, deps.settings)?;
    let mut took = Stopwatch::start(deps.clock, started);
    let pattern = compile(&request.query, exact, request.case_tokens).await?;
    let mut warnings = Vec::new();
    let backend = Backend::new(&index);
    let mut reads = index.begin().await?;
    let overview = reads.overview(&[], &[]).await?;
    let no_query = SearchQuery::default();
    let scope = ResolvedScope::resolve(
        &mut reads, overview, request, &no_query, deps.settings, deps.clock, &mut warnings,
    )
    .await?;
    scope.warn(&mut reads, &mut warnings).await?;
    warnings.retain(|warning| warning.code != "vectors_pending");
    took.timings.plan_ms = took.lap();
    (deps.on_stage)(SearchStage::Understood { terms: 1 });

    let selection = scope.selected.chunks.as_ref().unwrap_or(&ChunkSelection::All);
    let time = Duration::from_millis(deps.settings.exact_scan_ms);
    let matcher = Matcher::new(Arc::clone(&pattern), deps.clock, time);
    let ordered = matcher.candidates(&mut reads, selection, deps.settings.exact_candidates_max).await?;
    took.timings.lexical_ms = took.lap();
    let listed = if let Candidates::Chunks(ids) = &ordered.candidates { Some(ids.len()) } else { None };
    (deps.on_stage)(SearchStage::Lexical { found: listed.unwrap_or(deps.settings.exact_candidates_max) });
    let mut found = Found::new(request, deps.settings);
    let is_whole =
        matcher.run(&mut reads, selection, &ordered, |page, texts| found.take(page, texts)).await?;
    let is_over = !is_whole && !found.is_full();
    took.timings.rank_ms = took.lap();
    (deps.on_stage)(SearchStage::Ranked { candidates: found.total });
    warnings.extend(pattern_warnings(&pattern, is_over, matcher.too_long()));
    let total_is_least = !is_whole || found.is_cut || matcher.too_long() > 0;
    let facets = found.facets(&mut reads, total_is_least).await?;
    let files = found.page(&mut reads, &scope, &ordered.files, request.context_lines).await?;
    reads.end();
    took.timings.content_ms = took.lap();
    Ok(SearchAnswer {
        backend,
        hits: Vec::new(),
        total: found.total,
        total_is_least,
        offset: request.offset,
        offset_max: deps.settings.exact_matches_max.saturating_sub(1),
        several_repositories: scope.has_several(),
        confidence: None,
        did_you_mean: Vec::new(),
        query: request.query.clone(),
        words: Vec::new(),
        vectors_used: VectorsUsed::None,
        explain: explain(request, &pattern, selection, listed),
        took: took.stop(started),
        warnings,
        matches: Some(LineMatches {
            files,
            total_files: found.total_files,
            left_out: BTreeMap::new(),
            sources: found.sources,
        }),
        facets,
    })
}

/// Compiles the pattern on a blocking thread, because a large one takes a while.
async fn compile(query: &str, exact: &ExactQuery, exact_case: bool) -> Result<Arc<Pattern>, Fault> {
    let (query, exact) = (query.to_owned(), exact.clone());
    let compiling = platform::task::spawn_blocking(move || match exact {
        ExactQuery::Regex => Pattern::regex(&query, exact_case),
        ExactQuery::Text => Pattern::text(&query, exact_case),
    });
    let compiled =
        compiling.await.map_err(|error| Fault::internal("The pattern could not be compiled.", error))?;
    compiled.map(Arc::new)
}

fn pattern_warnings(pattern: &Pattern, is_over: bool, too_long: usize) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if too_long > 0 {
        let lines = if too_long == 1 { "One line is".to_owned() } else { format!("{too_long} lines are") };
        let message = format!(
            "{lines} too long for a pattern with so many repetitions, so the answer is incomplete. Repeat less, or leave out such files with `path`."
        );
        warnings.push(Warning::new("exact_incomplete", message));
    }
    if is_over {
        let reason = if pattern.grams().is_everything() {
            "No part of the pattern is in the index (that takes three characters in a row that every match contains), so texts were read one by one"
        } else {
            "Too much of the index may match the pattern"
        };
        let message = format!(
            "{reason}, and time ran out: the answer is incomplete. Narrow it with `path`, `lang` or `repoPath`, or write more of the text."
        );
        warnings.push(Warning::new("exact_incomplete", message));
    }
    if pattern.spans_lines() {
        let message = "The pattern spans lines. A match that extends over the border of two chunks (parts of a file) is not found.";
        warnings.push(Warning::new("exact_within_chunks", message));
    }
    if pattern.matches_blank() {
        let message = "Blank lines between chunks are not indexed, so not every blank line is found.";
        warnings.push(Warning::new("exact_blank_lines", message));
    }
    warnings
}

fn explain(
    request: &SearchRequest,
    pattern: &Pattern,
    selection: &ChunkSelection,
    candidates: Option<usize>,
) -> Explain {
    let within = match (candidates, selection) {
        (None, _) => "scanned",
        (Some(_), _) if pattern.grams().is_everything() => "scanned",
        (Some(_), ChunkSelection::All) => "everything",
        (Some(_), ChunkSelection::Listed(_)) => "listed",
        (Some(_), ChunkSelection::Matching(_)) => "tested",
    };
    Explain {
        within: within.to_owned(),
        candidates: candidates.unwrap_or_default(),
        filters: request.filters.iter().map(|filter| echo(&filter.to_string())).collect(),
        ..Explain::default()
    }
}

/// Texts that are read to count the lines beyond the page. A pattern whose parts often occur together, but seldom in one line, has more
/// candidates than that in a project of a million chunks.
const COUNTED_TEXTS_MAX: usize = 20_000;

/// The lines found so far: those of the page are kept, further ones are counted as long as that is cheap.
struct Found {
    offset: usize,
    top: usize,
    /// Maximum number of lines that are counted.
    lines_max: usize,
    /// Number of texts read.
    texts: usize,
    /// `true` if there are more lines.
    is_cut: bool,
    total: usize,
    total_files: usize,
    last_file: Option<i64>,
    kept: Vec<(i64, MatchedLine)>,
    /// Numbers of counted lines by chunk, in order.
    by_chunk: Vec<(i64, i64)>,
    /// `true` if the answer has facets, and the texts of the kept lines.
    is_for_page: bool,
    sources: Sources,
}

impl Found {
    fn new(request: &SearchRequest, settings: &config::Search) -> Self {
        let (offset, top) = (request.offset, request.top);
        // One line more than the page, which shows whether there is a next page.
        let lines_max = settings.exact_counted_max.max(offset + top + 1).min(settings.exact_matches_max);
        Self {
            offset,
            top,
            lines_max,
            texts: 0,
            is_cut: false,
            total: 0,
            total_files: 0,
            last_file: None,
            kept: Vec::new(),
            by_chunk: Vec::new(),
            is_for_page: request.for_page,
            sources: Sources::default(),
        }
    }

    fn is_full(&self) -> bool {
        let has_page = self.total > self.offset + self.top;
        self.total >= self.lines_max || (has_page && self.texts >= COUNTED_TEXTS_MAX)
    }

    /// Takes the matching chunks of the next `texts`; returns whether to go on.
    fn take(&mut self, page: Vec<MatchedChunk>, texts: usize) -> bool {
        for MatchedChunk { text, lines } in page {
            let (chunk_id, file_id) = (text.id, text.file_id);
            let mut text = Some(&text);
            for line in lines {
                if self.is_full() {
                    self.is_cut = true;
                    return false;
                }
                if self.last_file.replace(file_id) != Some(file_id) {
                    self.total_files += 1;
                }
                if self.total >= self.offset && self.kept.len() < self.top {
                    self.kept.push((file_id, line));
                    self.keep_source(text.take());
                }
                match self.by_chunk.last_mut() {
                    Some((last, lines)) if *last == chunk_id => *lines += 1,
                    _ => self.by_chunk.push((chunk_id, 1)),
                }
                self.total += 1;
            }
        }
        self.texts += texts;
        !self.is_full()
    }

    /// Keeps the text of the line that was kept last, if the request is for a page: a new one, or that of the line before.
    fn keep_source(&mut self, text: Option<&ChunkText>) {
        match text {
            _ if !self.is_for_page => {}
            Some(text) => self.sources.add(u32::try_from(text.start_line).unwrap_or(1), &text.content),
            None => self.sources.add_same(),
        }
    }

    /// Counts all lines, if the request is for a page.
    async fn facets(&self, reads: &mut Reads, total_is_least: bool) -> Result<Facets, Fault> {
        match self.is_for_page {
            true => Facets::count(reads, &self.by_chunk, (self.total, total_is_least)).await,
            false => Ok(Facets::default()),
        }
    }

    /// Returns the kept lines by file, with the lines around them.
    async fn page(
        &mut self,
        reads: &mut Reads,
        scope: &ResolvedScope,
        places: &[FilePlace],
        context_lines: usize,
    ) -> Result<Vec<FileMatches>, Fault> {
        let places: HashMap<i64, &FilePlace> = places.iter().map(|place| (place.id, place)).collect();
        let mut files: Vec<(i64, Vec<MatchedLine>)> = Vec::new();
        for (file_id, line) in std::mem::take(&mut self.kept) {
            match files.last_mut() {
                Some((last, lines)) if *last == file_id => lines.push(line),
                _ => files.push((file_id, vec![line])),
            }
        }
        let ids: Vec<i64> = files.iter().map(|(file_id, _)| *file_id).collect();
        let mut having = scope.asked.of_files(reads, &ids).await?;
        let mut shown = Vec::with_capacity(files.len());
        for (file_id, lines) in files {
            let Some(place) = places.get(&file_id) else { continue };
            let repository = scope.repositories.iter().find(|row| row.id == place.repository_id);
            let (revisions, revision_commit) =
                having.remove(&file_id).map(|having| (having.names, having.commit)).unzip();
            shown.push(FileMatches {
                revisions: revisions.unwrap_or_default(),
                revision_commit,
                repository: repository.map(|row| row.name.clone()).unwrap_or_default(),
                path: place.path.clone(),
                language: place.language.clone(),
                lines: in_context(reads, file_id, lines, context_lines).await?,
            });
        }
        Ok(shown)
    }
}

/// Adds up to `count` lines before and after each line, from the chunks of the file that contain them.
async fn in_context(
    reads: &mut Reads,
    file_id: i64,
    lines: Vec<MatchedLine>,
    count: usize,
) -> Result<Vec<LineInContext>, Fault> {
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    let end_of = |line: &MatchedLine| line.end_line.unwrap_or(line.line);
    let bare = |matched| LineInContext { matched, before: Vec::new(), after: Vec::new() };
    if count == 0 {
        return Ok(lines.into_iter().map(bare).collect());
    }
    let spans = reads.by_file(file_id).await?;
    let number = |line: i32| u32::try_from(line).unwrap_or(0);
    let is_near = |at: usize, span: &ChunkSpan, line: &MatchedLine| {
        let last = end_of(line).saturating_add(count);
        let begins_before = number(span.start_line) <= last
            // The following chunk shows that the file goes on.
            || at.checked_sub(1).is_some_and(|before| number(spans[before].end_line) < last && number(spans[before].start_line) <= last);
        begins_before && number(span.end_line) >= line.line.saturating_sub(count)
    };
    let near: Vec<i64> = spans
        .iter()
        .enumerate()
        .filter(|(at, span)| lines.iter().any(|line| is_near(*at, span, line)))
        .map(|(_, span)| span.id)
        .collect();
    let texts: Vec<ChunkText> = reads.chunk_texts(&near).await?;
    let chunks: Vec<NearbyChunk<'_>> = texts
        .iter()
        .map(|text| NearbyChunk { start_line: number(text.start_line), text: &text.content })
        .collect();
    let around = |matched: MatchedLine| {
        let (before, after) = surroundings(&chunks, matched.line, end_of(&matched), count);
        LineInContext { before, after, matched }
    };
    Ok(lines.into_iter().map(around).collect())
}
