//! Statistics of BM25: the numbers of chunks, and of chunks that contain a term, separately for each repository.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::search::filters::scope::count;
use contract::Fault;
use store::overview::COUNTED_MAX;
use store::statistics::WHOLE_PROJECT;
use store::{IndexState, Reads, RepositoryRow, TermCount};

/// Document frequencies of a query's terms in the largest of the searched repositories.
pub(in crate::search) struct Statistics {
    chunks: HashMap<(i64, i32), u64>,
    /// Number of chunks that the counts of an earlier version are about.
    project_chunks: u64,
}

impl Statistics {
    pub(in crate::search) fn new(state: &IndexState, counts: Vec<TermCount>) -> Self {
        let of_term = |one: TermCount| ((one.repository_id, one.term), count(one.chunks));
        Self {
            chunks: counts.into_iter().map(of_term).collect(),
            project_chunks: count(state.statistics_chunks),
        }
    }

    /// Reads the counts of other terms.
    pub(in crate::search) async fn read(
        reads: &mut Reads,
        state: &IndexState,
        repositories: &[&RepositoryRow],
        terms: &[i32],
    ) -> Result<Self, Fault> {
        let mut ids: Vec<i64> = largest(repositories).map(|repository| repository.id).collect();
        ids.push(WHOLE_PROJECT);
        Ok(Self::new(state, reads.document_frequencies(&ids, terms).await?))
    }

    /// Adds the counts of repositories that are not among the largest.
    pub(in crate::search) fn add(&mut self, counts: Vec<TermCount>) {
        self.chunks.extend(counts.into_iter().map(|one| ((one.repository_id, one.term), count(one.chunks))));
    }

    /// Returns the number of counted chunks of a repository: N of its idf.
    pub(in crate::search) fn counted(&self, repository: &RepositoryRow) -> u64 {
        if has_counts(repository) { count(repository.statistics_chunks) } else { self.project_chunks }
    }

    /// Returns the number of the repository's chunks that contain a term, 0 if it is unknown.
    pub(in crate::search) fn frequency(&self, repository: &RepositoryRow, term: i32) -> u64 {
        let id = if has_counts(repository) { repository.id } else { WHOLE_PROJECT };
        self.chunks.get(&(id, term)).copied().unwrap_or(0)
    }

    /// Returns the number of counted chunks of several repositories, and an estimate of the number of them that contain a term,
    /// extrapolated from the largest repositories.
    pub(in crate::search) fn pooled(&self, repositories: &[&RepositoryRow], term: i32) -> (u64, u64) {
        let all: u64 = repositories.iter().map(|repository| self.counted(repository)).sum();
        let (mut known, mut chunks) = (0, 0);
        for repository in largest(repositories) {
            known += self.counted(repository);
            chunks += self.frequency(repository, term);
        }
        (all, chunks.saturating_mul(all).checked_div(known).unwrap_or(chunks))
    }
}

/// Returns the largest repositories, whose counts every search reads.
pub(in crate::search) fn largest<'r>(
    repositories: &[&'r RepositoryRow],
) -> impl Iterator<Item = &'r RepositoryRow> {
    let mut sorted = repositories.to_vec();
    sorted.sort_by_key(|repository| (Reverse(repository.statistics_chunks), repository.id));
    sorted.into_iter().take(COUNTED_MAX)
}

/// Returns whether chunks of a repository may have terms that its counts do not know: it is being indexed for the first time, or
/// was last indexed by an earlier version.
pub(in crate::search) fn lags(repository: &RepositoryRow) -> bool {
    !repository.is_counted
}

/// Returns whether the terms of a repository were counted. Until they are, those of the whole project are used.
fn has_counts(repository: &RepositoryRow) -> bool {
    repository.statistics_chunks > 0
}
