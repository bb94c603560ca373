//! Resolves the scope of a search: repositories, filters and mode, and the state of the index.

use super::matched_definition::HighlightMarks;
use super::plan::Counts;
use super::query::SearchQuery;
use super::request::{Mode, SearchRequest};
use super::resolve::{FilterTerms, Resolver, any_in_case};
use super::unknown_facts;
use contract::clock::Clock;
use contract::config;
use contract::{ErrorCode, Fault, Warning};
use languages::terms;
use store::{
    ChunkSelection, Filter, IndexOverview, IndexState, LexicalSource, Reads, RepositoryRow, RepositoryState,
    Test,
};

/// The scope of a search, resolved to chunks or conditions.
pub(super) struct ResolvedScope {
    pub(super) state: IndexState,
    pub(super) repositories: Vec<RepositoryRow>,
    /// Chunks that are searched by all their terms.
    pub(super) chunks: Option<ChunkSelection>,
    /// Chunks that are searched by the terms of their comments.
    pub(super) comments: Option<ChunkSelection>,
    /// Chunks that are searched by their vectors.
    pub(super) vectors: ChunkSelection,
    /// Upper bound of the number of chunks in `vectors`.
    pub(super) rows: u64,
    /// The values of the filters, so that hits show where they match.
    pub(super) marks: HighlightMarks,
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
    pub(super) async fn resolve(
        reads: &mut Reads,
        overview: IndexOverview,
        request: &SearchRequest,
        query: &SearchQuery,
        settings: &config::Search,
        clock: &dyn Clock,
        warnings: &mut Vec<Warning>,
    ) -> Result<Self, Fault> {
        let IndexOverview { state, mut repositories, any_records, .. } = overview;
        let is_part = !request.repository_roots.is_empty();
        if is_part {
            repositories.retain(|repository| request.repository_roots.contains(&repository.root));
        }
        if repositories.iter().all(is_empty) {
            return Err(Fault::new(ErrorCode::NoIndex, "Nothing has been indexed here yet.")
                .with_hint("Index the repository first: `build_index`, or `pairofcleats index PATH`."));
        }
        let mut resolver = Resolver {
            reads,
            clock,
            repositories: &repositories,
            case_file: request.case_file,
            case_tokens: request.case_tokens,
            settings,
            is_part,
            used: Vec::new(),
            warnings: Vec::new(),
            terms: FilterTerms::default(),
        };
        let mut filter = resolver.all(&request.filters).await?;
        if let Some(clause) = &query.filter {
            filter = filter.and(resolver.clause(clause).await?);
        }
        let (used, mut filter_warnings, terms) = (resolver.used, resolver.warnings, resolver.terms);
        let mut marks = HighlightMarks::default();
        filter = filter.of_one_definition();
        marks.add(&filter);
        marks.ids.extend(terms.ids);
        (marks.names, marks.phrases, marks.lines) = (terms.names, terms.phrases, terms.lines);
        warnings.append(&mut filter_warnings);
        if request.case_tokens {
            filter = filter.and(exact_words(query));
        }
        if is_part {
            let ids = repositories.iter().map(|repository| repository.id).collect();
            filter = filter.and(Test::Repositories(ids).into());
        }
        unknown_facts::warn(reads, &used, &repositories, (request.mode, &filter), warnings).await?;
        let by_mode = ModeFilters::new(request.mode, any_records, request.exact.is_some(), filter);
        let rows_max = settings.filter_rows_max;
        let chunks = match &by_mode.chunks {
            Some(filter) => Some(reads.select_chunks(filter, rows_max).await?),
            None => None,
        };
        let comments = match &by_mode.comments {
            Some(filter) => Some(reads.select_chunks(filter, rows_max).await?),
            None => None,
        };
        let vectors = match (&chunks, &comments) {
            (Some(chunks), None) => chunks.clone(),
            (None, Some(comments)) => comments.clone(),
            _ => reads.select_chunks(&by_mode.either(), rows_max).await?,
        };
        let rows = match &vectors {
            ChunkSelection::Listed(ids) => Some(ids.len() as u64),
            ChunkSelection::Matching(filter) => filter.files().map(|(_, chunks)| chunks),
            ChunkSelection::All => None,
        };
        let rows = match rows {
            Some(rows) => rows,
            // The published count is 0 until the first run ends.
            None if state.chunks == 0 => count(reads.count_chunks().await?),
            None => count(state.chunks),
        };
        Ok(Self { state, repositories, chunks, comments, vectors, rows, marks })
    }

    /// Returns whether more than one repository is searched. Record sources do not count, because their paths are never
    /// those of files.
    pub(super) fn has_several(&self) -> bool {
        let folders = self.repositories.iter().filter(|repository| !repository.is_records()).count();
        // In a portable file no repository has a folder.
        folders > 1 || (folders == 0 && self.repositories.len() > 1)
    }

    /// Returns the sizes that the plan depends on.
    pub(super) fn counts(&self, embedded: bool) -> Counts {
        Counts {
            statistics_chunks: count(self.state.statistics_chunks),
            vectors_in_filter: self.rows,
            vectors: count(self.state.chunks),
            vectors_indexed: self.state.vectors_indexed && !matches!(self.vectors, ChunkSelection::Listed(_)),
            embedded,
        }
    }

    /// Returns the lexical tables to search, each with its chunks.
    pub(super) fn sources(&self) -> impl Iterator<Item = (LexicalSource, &ChunkSelection)> {
        // Comments first: a chunk in both gets the score of its comments.
        let comments = self.comments.iter().map(|selection| (LexicalSource::Comments, selection));
        comments.chain(self.chunks.iter().map(|selection| (LexicalSource::Chunks, selection)))
    }

    /// Warns of states of the index that make the answer incomplete.
    ///
    /// # Errors
    /// Storage faults.
    pub(super) async fn warn(&self, reads: &mut Reads, warnings: &mut Vec<Warning>) -> Result<(), Fault> {
        let names = |state: RepositoryState| -> Vec<&str> {
            let wanted = self.repositories.iter().filter(|repository| repository.state == state);
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
        let begun: Vec<&str> = self
            .repositories
            .iter()
            .filter(|row| row.is_partially_indexed())
            .map(|row| row.name.as_str())
            .collect();
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
            || self.repositories.iter().any(|repository| repository.state != RepositoryState::Ready)
        {
            let ids: Vec<i64> = self.repositories.iter().map(|repository| repository.id).collect();
            let pending = reads.pending_within(&ids).await?;
            if pending > 0 {
                let message =
                    format!("{pending} chunks have no vector yet; only the lexical search can find them.");
                let details = Some(serde_json::json!({ "pending": pending }));
                warnings.push(Warning { details, ..Warning::new("vectors_pending", message) });
            }
        }
        if self.rows == 0 {
            warnings.push(Warning::new("filter_matches_nothing", "Nothing in the index passes the filters."));
        }
        Ok(())
    }
}

/// The filters of a mode: for chunks searched by all their terms, and for chunks searched by their comments.
struct ModeFilters {
    chunks: Option<Filter>,
    comments: Option<Filter>,
}

impl ModeFilters {
    /// `is_exact`: lines are matched, so comments are not searched apart from their chunks.
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
pub(super) fn count(number: impl Into<i64>) -> u64 {
    u64::try_from(number.into()).unwrap_or(0)
}
