//! The part of a project that a question is about, and how far it is indexed.

use super::matched::Marks;
use super::plan::Counts;
use super::question::Question;
use super::request::{Mode, SearchRequest};
use super::resolve::{Resolver, Sought, any_in_case};
use super::unknown;
use contract::clock::Clock;
use contract::config;
use contract::{ErrorCode, Fault, Warning};
use languages::terms;
use store::{Filter, IndexState, Opening, Reads, RepositoryRow, RepositoryState, Test, Within, Words};

/// What is asked, and where.
pub(super) struct Scope {
    pub(super) state: IndexState,
    pub(super) repositories: Vec<RepositoryRow>,
    /// Chunks whose own words are asked.
    pub(super) chunks: Option<Within>,
    /// Chunks whose comments are asked.
    pub(super) comments: Option<Within>,
    /// Chunks whose vectors are compared.
    pub(super) vectors: Within,
    /// How many those are, at most.
    pub(super) rows: u64,
    /// What filters look for in definitions.
    pub(super) marks: Marks,
}

/// Whether there is nothing to search. A repository that only lacks the vectors of the project's new model answers by its
/// words, and one whose first run was cancelled by what that run committed.
fn is_empty(repository: &RepositoryRow) -> bool {
    repository.state == RepositoryState::New && repository.indexed_ms.is_none() && repository.chunks == 0
}

impl Scope {
    /// Resolves everything that narrows the question.
    pub(super) async fn read(
        reads: &mut Reads,
        opening: Opening,
        request: &SearchRequest,
        question: &Question,
        settings: &config::Search,
        clock: &dyn Clock,
        warnings: &mut Vec<Warning>,
    ) -> Result<Self, Fault> {
        let Opening { state, mut repositories, any_records, .. } = opening;
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
            names_max: settings.filter_names_max,
            used: Vec::new(),
            warnings: Vec::new(),
            sought: Sought::default(),
        };
        let mut filter = resolver.all(&request.given).await?;
        if let Some(gate) = &question.gate {
            filter = filter.and(resolver.gate(gate).await?);
        }
        let (used, mut said, sought) = (resolver.used, resolver.warnings, resolver.sought);
        let mut marks = Marks::default();
        filter = filter.of_one_definition();
        marks.note(&filter);
        marks.ids.extend(sought.ids);
        (marks.names, marks.phrases) = (sought.names, sought.phrases);
        warnings.append(&mut said);
        if request.case_tokens {
            filter = filter.and(exact_words(question));
        }
        if is_part {
            let ids = repositories.iter().map(|repository| repository.id).collect();
            filter = filter.and(Test::Repositories(ids).into());
        }
        unknown::say(reads, &used, &repositories, (request.mode, &filter), warnings).await?;
        let sides = Sides::of(request.mode, any_records, filter);
        let rows_max = settings.filter_rows_max;
        let chunks = match &sides.chunks {
            Some(filter) => Some(reads.within(filter, rows_max).await?),
            None => None,
        };
        let comments = match &sides.comments {
            Some(filter) => Some(reads.within(filter, rows_max).await?),
            None => None,
        };
        let vectors = match (&chunks, &comments) {
            (Some(chunks), None) => chunks.clone(),
            (None, Some(comments)) => comments.clone(),
            _ => reads.within(&sides.either(), rows_max).await?,
        };
        let rows = match &vectors {
            Within::These(ids) => Some(ids.len() as u64),
            Within::Where(filter) => filter.files().map(|(_, chunks)| chunks),
            Within::Everything => None,
        };
        let rows = match rows {
            Some(rows) => rows,
            // The published count is 0 until the first run ends.
            None if state.chunks == 0 => count(reads.count_chunks().await?),
            None => count(state.chunks),
        };
        Ok(Self { state, repositories, chunks, comments, vectors, rows, marks })
    }

    /// Whether more than one repository is asked. The project's records are none: no folder has their paths.
    pub(super) fn has_several(&self) -> bool {
        let folders = self.repositories.iter().filter(|repository| !repository.is_records()).count();
        // A portable file knows names alone.
        folders > 1 || (folders == 0 && self.repositories.len() > 1)
    }

    /// What decides between ways to look, where the question can be embedded or not.
    pub(super) fn counts(&self, embedded: bool) -> Counts {
        Counts {
            statistics_chunks: count(self.state.statistics_chunks),
            vectors_in_filter: self.rows,
            vectors: count(self.state.chunks),
            vectors_indexed: self.state.vectors_indexed && !matches!(self.vectors, Within::These(_)),
            embedded,
        }
    }

    /// The tables whose words are asked, with the part of each.
    pub(super) fn sources(&self) -> impl Iterator<Item = (Words, &Within)> {
        // Comments first: a chunk that has some is asked by them alone.
        let comments = self.comments.iter().map(|within| (Words::Comments, within));
        comments.chain(self.chunks.iter().map(|within| (Words::Chunks, within)))
    }

    /// Says what keeps the answer from being complete.
    pub(super) async fn warn(&self, reads: &mut Reads, warnings: &mut Vec<Warning>) -> Result<(), Fault> {
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
        let begun: Vec<&str> =
            self.repositories.iter().filter(|row| row.is_begun()).map(|row| row.name.as_str()).collect();
        if !begun.is_empty() {
            let message = format!(
                "The first index run of {} was cancelled: the answer is from what it committed. `build_index` goes on with it.",
                begun.join(", ")
            );
            warnings.push(Warning::new("index_incomplete", message));
        }
        if !failed.is_empty() {
            let message =
                format!("The last index run of {} failed: the answer may be incomplete.", failed.join(", "));
            warnings.push(Warning::new("index_incomplete", message));
        }
        // A complete run leaves no text without a vector, so only then is it worth counting.
        if !self.state.vectors_complete
            || self.repositories.iter().any(|repository| repository.state != RepositoryState::Ready)
        {
            let asked: Vec<i64> = self.repositories.iter().map(|repository| repository.id).collect();
            let pending = reads.pending_within(&asked).await?;
            if pending > 0 {
                let message = format!("{pending} chunks have no vector yet and are found by words alone.");
                let details = Some(serde_json::json!({ "pending": pending }));
                warnings.push(Warning { details, ..Warning::new("vectors_pending", message) });
            }
        }
        if self.rows == 0 {
            warnings
                .push(Warning::new("filter_matches_nothing", "Nothing that is indexed passes the filters."));
        }
        Ok(())
    }
}

/// The two sides of a mode: chunks by all their words, and chunks by their comments alone.
struct Sides {
    chunks: Option<Filter>,
    comments: Option<Filter>,
}

impl Sides {
    fn of(mode: Mode, any_records: bool, filter: Filter) -> Self {
        let modes =
            |modes: &[&str]| Filter::from(Test::Modes(modes.iter().map(|m| (*m).to_owned()).collect()));
        let chunks = |more: Filter| Self { chunks: Some(filter.clone().and(more)), comments: None };
        match mode {
            Mode::All => Self { chunks: Some(filter), comments: None },
            // Most projects hold no records; then nothing has to be left out.
            Mode::Both if !any_records => Self { chunks: Some(filter), comments: None },
            Mode::Both => chunks(modes(&["code", "prose"])),
            Mode::Code => chunks(modes(&["code"])),
            Mode::Records => chunks(modes(&["records"])),
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

/// With case, one of the question's words must stand in a chunk as it is written.
fn exact_words(question: &Question) -> Filter {
    let telling = terms::words(&question.text).filter(|word| !terms::is_stop_word(word.text));
    let words: Vec<String> = telling.map(|word| word.text.to_owned()).collect();
    if words.is_empty() { Filter::EVERYTHING } else { any_in_case(&words) }
}

/// A count from the database, never negative there.
pub(super) fn count(number: impl Into<i64>) -> u64 {
    u64::try_from(number.into()).unwrap_or(0)
}
