//! Resolves the scope of a search: repositories, filters and mode, and the state of the index.

use std::sync::Arc;

use crate::search::filters::newer_index::warn_of_newer;
use crate::search::filters::resolve::any_in_case;
use crate::search::filters::resolver::{FilterTerms, Resolver};
use crate::search::filters::revisions::AskedRevisions;
use crate::search::filters::unknown_facts;
use crate::search::present::matched_definition::HighlightMarks;
use crate::search::query::SearchQuery;
use crate::search::request::{Mode, SearchRequest};
use crate::search::retrieve::plan::Counts;
use crate::search::retrieve::statistics::lags;
use contract::clock::Clock;
use contract::config;
use contract::{ErrorCode, Fault, Warning};
use languages::terms;
use store::{
    ChunkSelection, Filter, IndexOverview, IndexState, LexicalSource, Reads, RepositoryRow, RepositoryState,
    Test,
};

/// The scope of a search, resolved to chunks or conditions.
pub(in crate::search) struct ResolvedScope {
    pub(in crate::search) state: IndexState,
    /// The repositories to search.
    pub(in crate::search) repositories: Vec<RepositoryRow>,
    /// All chunks to search.
    pub(in crate::search) selected: Arc<Selections>,
    /// The values of the filters, so that hits show where they match.
    pub(in crate::search) marks: HighlightMarks,
    /// The filters of the request and the query.
    filter: Filter,
    mode: Mode,
    /// `true` if there are files whose mode is `records`.
    any_records: bool,
    /// The revisions that are asked for.
    pub(in crate::search) asked: AskedRevisions,
}

/// Chunks to search, in the form that each retriever needs.
pub(in crate::search) struct Selections {
    /// Chunks that are searched by all their terms.
    pub(in crate::search) chunks: Option<ChunkSelection>,
    /// Chunks that are searched by the terms of their comments.
    pub(in crate::search) comments: Option<ChunkSelection>,
    /// Chunks that are searched by their vectors.
    pub(in crate::search) vectors: ChunkSelection,
    /// Upper bound of the number of chunks in `vectors`.
    pub(in crate::search) rows: u64,
    /// `true` if a filter or a mode leaves out some chunks of the repositories.
    pub(in crate::search) is_narrowed: bool,
}

/// Returns whether a repository has nothing to search. One without vectors of the project's new model is still searched
/// lexically, and one whose first run was cancelled is searched as far as that run committed.
fn is_empty(repository: &RepositoryRow) -> bool {
    repository.state == RepositoryState::New && repository.indexed_ms.is_none() && repository.chunks == 0
}

impl ResolvedScope {
    /// Resolves repositories, filters and mode.
    ///
    /// # Errors
    /// `NO_INDEX` if none of the repositories has been indexed; `INVALID_REQUEST` for a bad filter; storage faults.
    pub(in crate::search) async fn resolve(
        reads: &mut Reads,
        overview: IndexOverview,
        request: &SearchRequest,
        query: &SearchQuery,
        settings: &config::Search,
        clock: &dyn Clock,
        warnings: &mut Vec<Warning>,
    ) -> Result<Self, Fault> {
        let IndexOverview { state, mut repositories, any_hidden, any_records, .. } = overview;
        let is_part = !request.repository_roots.is_empty();
        let known = repositories.len();
        if is_part {
            repositories.retain(|repository| request.repository_roots.contains(&repository.root));
        }
        let mode = implied_mode(request.mode, &repositories);
        if repositories.iter().all(is_empty) {
            return Err(Fault::new(ErrorCode::NoIndex, "Nothing has been indexed here yet.")
                .with_hint("Index the repository first: `build_index`, or `pairofcleats index PATH`."));
        }
        let asked = AskedRevisions::read(reads, request, query, &repositories).await?;
        let mut resolver = Resolver {
            reads,
            clock,
            repositories: &repositories,
            case_file: request.case_file,
            case_tokens: request.case_tokens,
            settings,
            is_part: is_part || any_hidden,
            used: Vec::new(),
            warnings: Vec::new(),
            narrowed: Vec::new(),
            terms: FilterTerms::default(),
            asked,
        };
        let mut filter = resolver.all(&request.filters).await?;
        if let Some(clause) = &query.filter {
            filter = filter.and(resolver.clause(clause).await?);
        }
        let Resolver { used, warnings: mut filter_warnings, narrowed, terms, asked, .. } = resolver;
        let mut marks = HighlightMarks::default();
        let given = filter.clone();
        filter = filter.of_one_definition();
        marks.add(&filter);
        marks.ids.extend(terms.ids);
        (marks.names, marks.phrases, marks.lines) = (terms.names, terms.phrases, terms.lines);
        warnings.append(&mut filter_warnings);
        let mut within = Filter::EVERYTHING;
        if request.case_tokens {
            within = exact_words(query);
            filter = filter.and(within.clone());
        }
        // A project of records alone needs no condition. Others do, so that an answer does not reveal whether there are neighbours.
        let is_whole = mode != request.mode && repositories.len() == known;
        let ids: Vec<i64> = repositories.iter().map(|repository| repository.id).collect();
        let mut warned = filter.clone();
        if (is_part && !is_whole) || any_hidden {
            warned = warned.and(asked.within(&ids));
            within = within.and(asked.within(&ids));
        }
        for name in narrowed {
            let named = name.by_name(&given).of_one_definition().and(within.clone());
            let others = ModeFilters::new(mode, any_records, request.exact.is_some(), named).either();
            name.warn(reads, &others.and(Filter::Not(Box::new(filter.clone()))), warnings).await?;
        }
        unknown_facts::warn(reads, &used, &repositories, (mode, &warned), warnings).await?;
        let by_mode = ModeFilters::new(mode, any_records, request.exact.is_some(), warned);
        let is_narrowed = is_narrowed(&filter, mode);
        let published = if asked.any() { 0 } else { published_chunks(&state, &repositories, mode) };
        let selected = Arc::new(
            Selections::select(reads, by_mode, is_narrowed, (settings.filter_rows_max, published)).await?,
        );
        Ok(Self { state, repositories, selected, marks, filter, mode, any_records, asked })
    }

    /// Returns the chunks of some of the repositories.
    ///
    /// # Errors
    /// Storage faults.
    pub(in crate::search) async fn select_within(
        &self,
        reads: &mut Reads,
        repositories: &[&RepositoryRow],
        settings: &config::Search,
    ) -> Result<Selections, Fault> {
        let ids: Vec<i64> = repositories.iter().map(|repository| repository.id).collect();
        let filter = self.filter.clone().and(self.asked.within(&ids));
        let by_mode = ModeFilters::new(self.mode, self.any_records, false, filter);
        let is_narrowed = is_narrowed(&self.filter, self.mode);
        // The files of a whole repository are enough; listing the chunks would take another statement.
        let rows_max = if is_narrowed { settings.filter_rows_max } else { 0 };
        // Until the first run of each has ended, not all are counted.
        let counted = repositories.iter().all(|repository| repository.chunks > 0) && !self.asked.any();
        let published = if counted { repositories.iter().map(|one| count(one.chunks)).sum() } else { 0 };
        Selections::select(reads, by_mode, is_narrowed, (rows_max, published)).await
    }

    /// Returns the repositories that can have hits. Each is ranked by its own statistics.
    pub(in crate::search) fn searched(&self) -> Vec<&RepositoryRow> {
        searched(&self.repositories, self.mode)
    }

    /// Returns the chunks of the searched repositories that pass the filters and the mode.
    pub(in crate::search) fn chunks_within_repositories(&self) -> &ChunkSelection {
        if self.selected.is_narrowed { &self.selected.vectors } else { &ChunkSelection::All }
    }

    /// Returns whether more than one repository is searched. Record sources do not count, because their paths are never
    /// those of files.
    pub(in crate::search) fn has_several(&self) -> bool {
        let folders = self.repositories.iter().filter(|repository| !repository.is_records()).count();
        // In a portable file no repository has a folder.
        folders > 1 || (folders == 0 && self.repositories.len() > 1)
    }

    /// Returns the sizes on which the plan of a search in `rows` of the chunks of `selected` depends; `repositories` are those that it
    /// covers.
    pub(in crate::search) fn counts(
        &self,
        (selected, rows): (&Selections, u64),
        repositories: &[&RepositoryRow],
        statistics_chunks: u64,
        embedded: bool,
    ) -> Counts {
        let is_listed = matches!(selected.vectors, ChunkSelection::Listed(_));
        Counts {
            statistics_chunks,
            vectors_in_filter: rows,
            vectors: count(self.state.chunks),
            vectors_indexed: self.state.vectors_indexed && !is_listed,
            embedded,
            // Chunks that only revisions have are not counted.
            counts_lag: self.asked.any() || repositories.iter().any(|repository| lags(repository)),
        }
    }

    /// Warns of states of the index that make the answer incomplete. An index run over records does not affect a search of code.
    ///
    /// # Errors
    /// Storage faults.
    pub(in crate::search) async fn warn(
        &self,
        reads: &mut Reads,
        warnings: &mut Vec<Warning>,
    ) -> Result<(), Fault> {
        let of_mode: Vec<&RepositoryRow> =
            self.repositories.iter().filter(|repository| is_of_mode(repository, self.mode)).collect();
        warnings.extend(warn_of_newer(of_mode.iter().copied()));
        let names = |state: RepositoryState| -> Vec<&str> {
            let wanted = of_mode.iter().filter(|repository| repository.state == state);
            wanted.map(|repository| repository.name.as_str()).collect()
        };
        let (indexing, failed) = (names(RepositoryState::Indexing), names(RepositoryState::Failed));
        if !indexing.is_empty() {
            let message = format!(
                "The index run of {} is not finished; this answer covers what is committed so far.",
                indexing.join(", ")
            );
            warnings.push(Warning::new("index_running", message));
        }
        let begun = of_mode.iter().filter(|row| row.is_partially_indexed());
        let begun: Vec<&str> = begun.map(|row| row.name.as_str()).collect();
        if !begun.is_empty() {
            let message = format!(
                "The first index run of {} was cancelled; this answer covers what it committed. `build_index` continues it.",
                begun.join(", ")
            );
            warnings.push(Warning::new("index_incomplete", message));
        }
        if !failed.is_empty() {
            let message =
                format!("The last index run of {} failed; this answer may be incomplete.", failed.join(", "));
            warnings.push(Warning::new("index_incomplete", message));
        }
        // A complete run leaves no text without a vector, so there is nothing to count after one.
        if !self.state.vectors_complete
            || of_mode.iter().any(|repository| repository.state != RepositoryState::Ready)
        {
            let ids: Vec<i64> = of_mode.iter().map(|repository| repository.id).collect();
            let pending = reads.pending_within(&self.asked.with_hidden(&ids)).await?;
            if pending > 0 {
                let message =
                    format!("{pending} chunks have no vector yet; only the lexical search can find them.");
                let details = Some(serde_json::json!({ "pending": pending }));
                warnings.push(Warning { details, ..Warning::new("vectors_pending", message) });
            }
        }
        if self.selected.rows == 0 {
            warnings.push(Warning::new("filter_matches_nothing", "Nothing in the index passes the filters."));
        }
        Ok(())
    }
}

impl Selections {
    /// Evaluates the filters of a mode, listing at most `rows_max` chunks. `published` is the number of chunks without them, 0 if it
    /// is unknown.
    async fn select(
        reads: &mut Reads,
        by_mode: ModeFilters,
        is_narrowed: bool,
        (rows_max, published): (usize, u64),
    ) -> Result<Self, Fault> {
        let limits = (rows_max, published);
        let chunks = match &by_mode.chunks {
            Some(filter) => Some(reads.select_chunks(filter, limits).await?),
            None => None,
        };
        let comments = match &by_mode.comments {
            Some(filter) => Some(reads.select_chunks(filter, limits).await?),
            None => None,
        };
        let vectors = match (&chunks, &comments) {
            (Some(chunks), None) => chunks.clone(),
            (None, Some(comments)) => comments.clone(),
            _ => reads.select_chunks(&by_mode.either(), limits).await?,
        };
        let rows = match &vectors {
            ChunkSelection::Listed(ids) => Some(ids.len() as u64),
            ChunkSelection::Matching(filter) => filter.files().map(|(_, chunks)| chunks),
            ChunkSelection::All => None,
        };
        let rows = match rows {
            Some(rows) => rows,
            None if published == 0 => count(reads.count_chunks().await?),
            None => published,
        };
        Ok(Self { chunks, comments, vectors, rows, is_narrowed })
    }

    /// Returns whether all that is searched is listed by chunk.
    pub(in crate::search) fn is_listed(&self) -> bool {
        let selections = self.chunks.iter().chain(&self.comments).chain([&self.vectors]);
        selections.into_iter().all(|selection| matches!(selection, ChunkSelection::Listed(_)))
    }

    /// Returns the lexical tables to search, each with its chunks.
    pub(in crate::search) fn sources(&self) -> impl Iterator<Item = (LexicalSource, &ChunkSelection)> {
        // Comments first: where a missing score is computed, the first source that contains the chunk counts. A chunk that was retrieved
        // from both has the higher of its scores (see `fuse::sum`).
        let comments = self.comments.iter().map(|selection| (LexicalSource::Comments, selection));
        comments.chain(self.chunks.iter().map(|selection| (LexicalSource::Chunks, selection)))
    }
}

/// Returns the mode without a condition that the repositories make superfluous: `all` instead of `records` if there are only records.
fn implied_mode(mode: Mode, repositories: &[RepositoryRow]) -> Mode {
    let only_records = repositories.iter().all(RepositoryRow::is_records);
    if mode == Mode::Records && only_records { Mode::All } else { mode }
}

/// Returns whether a filter or a mode leaves out some chunks of the searched repositories. That `both` leaves out records does not
/// count: whether a condition is needed for it depends on the neighbours.
fn is_narrowed(filter: &Filter, mode: Mode) -> bool {
    !filter.is_empty() || !matches!(mode, Mode::Both | Mode::All)
}

/// Returns the repositories that can have hits.
fn searched(repositories: &[RepositoryRow], mode: Mode) -> Vec<&RepositoryRow> {
    let can_match = |repository: &&RepositoryRow| !is_empty(repository) && is_of_mode(repository, mode);
    repositories.iter().filter(can_match).collect()
}

/// Returns whether a mode searches the repository. Records are hits of two modes only.
fn is_of_mode(repository: &RepositoryRow, mode: Mode) -> bool {
    matches!(mode, Mode::Records | Mode::All) || !repository.is_records()
}

/// Returns an upper bound of the number of chunks in the searched repositories, as last published: that of the repository if there is only
/// one, otherwise that of the project; 0 until the first run ends.
fn published_chunks(state: &IndexState, repositories: &[RepositoryRow], mode: Mode) -> u64 {
    match searched(repositories, mode).as_slice() {
        [one] if one.chunks > 0 => count(one.chunks),
        _ => count(state.chunks),
    }
}

/// The filters of a mode: for chunks searched by all their terms, and for chunks searched by their comments.
struct ModeFilters {
    chunks: Option<Filter>,
    comments: Option<Filter>,
}

impl ModeFilters {
    /// Creates the filters of a mode. `is_exact`: lines are matched, so comments are not searched apart from their chunks.
    fn new(mode: Mode, any_records: bool, is_exact: bool, filter: Filter) -> Self {
        let modes =
            |modes: &[&str]| Filter::from(Test::Modes(modes.iter().map(|m| (*m).to_owned()).collect()));
        let chunks = |more: Filter| Self { chunks: Some(filter.clone().and(more)), comments: None };
        match mode {
            Mode::All => Self { chunks: Some(filter), comments: None },
            // Without records, which most projects do not have, all chunks are in scope, so no condition is needed.
            Mode::Both if !any_records => Self { chunks: Some(filter), comments: None },
            Mode::Both => chunks(modes(&["code", "prose"])),
            Mode::Code => chunks(modes(&["code"])),
            Mode::Records => chunks(modes(&["records"])),
            Mode::Prose if is_exact => chunks(modes(&["prose"])),
            Mode::Prose => Self {
                chunks: Some(filter.clone().and(modes(&["prose"]))),
                comments: Some(filter.and(Test::HasComments.into())),
            },
            Mode::ExtractedProse => {
                Self { chunks: None, comments: Some(filter.and(Test::HasComments.into())) }
            }
        }
    }

    fn either(&self) -> Filter {
        Filter::Any(self.chunks.iter().chain(&self.comments).cloned().collect())
    }
}

/// Returns a filter for chunks that contain one of the query's words in its exact case.
fn exact_words(query: &SearchQuery) -> Filter {
    let words = terms::words(&query.text).filter(|word| !terms::is_stop_word(word.text));
    let words: Vec<String> = words.map(|word| word.text.to_owned()).collect();
    if words.is_empty() { Filter::EVERYTHING } else { any_in_case(&words) }
}

/// Converts a count from the database, which is never negative.
pub(in crate::search) fn count(number: impl Into<i64>) -> u64 {
    u64::try_from(number.into()).unwrap_or(0)
}
