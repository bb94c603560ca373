//! Branches and tags in queries: `rev:NAME` finds the files of a revision, even those that the default branch does not have.

use std::collections::HashMap;

use crate::search::filters::fields::{self, FilterTarget};
use crate::search::filters::request_filter::{self, FilterValue};
use crate::search::filters::revision_names::{HEAD, is_start_of_commit};
use crate::search::query::{FilterClause, SearchQuery};
use crate::search::request::SearchRequest;
use contract::Fault;
use history::RevisionPatterns;
use store::{FileViews, Filter, Reads, RepositoryRow, RevisionRow, Test};

/// The revisions that a query asks for.
#[derive(Debug, Default)]
pub(in crate::search) struct AskedRevisions {
    /// All indexed revisions; empty if the query names none.
    pub(super) known: Vec<RevisionRow>,
    /// The revisions that are searched beside each repository. Those that a query only excludes add nothing.
    asked: HashMap<i64, Asked>,
}

/// The revisions of a repository that a query asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Asked {
    /// The hidden repository with the files that only revisions have.
    hidden: Option<i64>,
    /// The revisions, as bits.
    views: i64,
}

impl AskedRevisions {
    /// Reads the indexed revisions if the query names any, and the revisions that its non-negated parts ask for.
    pub(in crate::search) async fn read(
        reads: &mut Reads,
        request: &SearchRequest,
        query: &SearchQuery,
        repositories: &[RepositoryRow],
    ) -> Result<Self, Fault> {
        let (mut asked_for, mut is_named) = (Vec::new(), false);
        for filter in &request.filters {
            if let (FilterTarget::Revision, FilterValue::Texts(names)) = (filter.field.target, &filter.value)
            {
                asked_for.push(names.clone());
            }
        }
        collect(query.filter.as_ref(), true, &mut asked_for, &mut is_named)?;
        if asked_for.is_empty() && !is_named {
            return Ok(Self::default());
        }
        let mut this = Self { known: reads.revisions().await?, asked: HashMap::new() };
        for names in asked_for {
            // Patterns that mean nothing are refused where they are resolved.
            let Ok(named) = NamedRevisions::new(names) else { continue };
            for repository in repositories {
                let (hidden, views) = named.of(repository.id, &this.known);
                if views != 0 {
                    let asked = this.asked.entry(repository.id).or_insert(Asked { hidden, views: 0 });
                    asked.views |= views;
                }
            }
        }
        Ok(this)
    }

    /// Returns whether hidden repositories are searched.
    pub(in crate::search) fn any(&self) -> bool {
        !self.asked.is_empty()
    }

    /// Returns the hidden repository to search beside one.
    pub(in crate::search) fn hidden_of(&self, id: i64) -> Option<i64> {
        self.asked.get(&id)?.hidden
    }

    /// Returns the ids of repositories with those of their hidden ones.
    pub(in crate::search) fn with_hidden(&self, ids: &[i64]) -> Vec<i64> {
        ids.iter().flat_map(|id| std::iter::once(*id).chain(self.hidden_of(*id))).collect()
    }

    /// Returns the filter for some repositories: their own chunks, and those of their hidden ones that the revisions asked for have.
    pub(in crate::search) fn within(&self, ids: &[i64]) -> Filter {
        let own = Filter::from(Test::Repositories(ids.to_vec()));
        let of_revisions = ids.iter().filter_map(|id| {
            let Asked { hidden, views } = self.asked.get(id)?;
            Some(Filter::All(vec![Test::Repositories(vec![(*hidden)?]).into(), Test::Views(*views).into()]))
        });
        let mut any: Vec<Filter> = of_revisions.collect();
        if any.is_empty() {
            return own;
        }
        any.insert(0, own);
        Filter::Any(any)
    }

    /// Returns the requested revisions that have each of some files; files that none of them has are missing.
    pub(in crate::search) async fn of_files(
        &self,
        reads: &mut Reads,
        files: &[i64],
    ) -> Result<HashMap<i64, HavingRevisions>, Fault> {
        let mut found = HashMap::new();
        if self.asked.is_empty() || files.is_empty() {
            return Ok(found);
        }
        for FileViews { file_id, repository_id, is_default, views } in reads.views_of(files).await? {
            let asked = views & self.asked.get(&repository_id).map_or(0, |asked| asked.views);
            let has = |row: &&RevisionRow| row.repository_id == repository_id && row.view() & asked != 0;
            let rows: Vec<&RevisionRow> = self.known.iter().filter(has).collect();
            if let Some(first) = rows.first() {
                let names = rows.iter().map(|row| row.name.clone()).collect();
                found.insert(file_id, HavingRevisions { names, commit: first.commit.clone(), is_default });
            }
        }
        Ok(found)
    }
}

/// The revisions that have a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::search) struct HavingRevisions {
    /// Their names, sorted.
    pub(in crate::search) names: Vec<String>,
    /// The commit of the first of them.
    pub(in crate::search) commit: String,
    /// `true` if the default branch has it as well.
    pub(in crate::search) is_default: bool,
}

/// Revisions as a query names them: branches, tags, patterns, or the first digits of their commits.
pub(super) struct NamedRevisions {
    names: Vec<String>,
    patterns: RevisionPatterns,
}

impl NamedRevisions {
    pub(super) fn new(names: Vec<String>) -> Result<Self, String> {
        let patterns = RevisionPatterns::parse(&names)?;
        Ok(Self { names, patterns })
    }

    fn matches(&self, name: &str, commit: &str) -> bool {
        self.patterns.matches(name) || self.names.iter().any(|given| is_start_of_commit(given, commit))
    }

    /// Returns the hidden repository, and the bits of those of a repository that are meant.
    pub(super) fn of(&self, repository_id: i64, known: &[RevisionRow]) -> (Option<i64>, i64) {
        let is_meant =
            |row: &&RevisionRow| row.repository_id == repository_id && self.matches(&row.name, &row.commit);
        let meant = known.iter().filter(is_meant);
        meant.fold((None, 0), |(hidden, views), row| (hidden.or(row.hidden_id), views | row.view()))
    }

    /// Returns whether the default branch of a repository is meant.
    pub(super) fn is_default(&self, repository: &RepositoryRow) -> bool {
        let branch = repository.branch.as_deref().unwrap_or(HEAD);
        self.names.iter().any(|name| name == HEAD)
            || self.matches(branch, repository.commit.as_deref().unwrap_or_default())
    }
}

/// Collects the revisions that a clause asks for, and notes whether it names any at all.
fn collect(
    clause: Option<&FilterClause>,
    is_positive: bool,
    asked_for: &mut Vec<Vec<String>>,
    is_named: &mut bool,
) -> Result<(), Fault> {
    match clause {
        Some(FilterClause::All(clauses) | FilterClause::Any(clauses)) => {
            clauses.iter().try_for_each(|clause| collect(Some(clause), is_positive, asked_for, is_named))
        }
        Some(FilterClause::Not(clause)) => collect(Some(clause), !is_positive, asked_for, is_named),
        Some(FilterClause::Field { name, value }) => {
            let field = fields::field(name).filter(|field| field.target == FilterTarget::Revision);
            if let Some(field) = field
                && let FilterValue::Texts(names) = request_filter::from_text(field, value)?
            {
                *is_named = true;
                if is_positive {
                    asked_for.push(names);
                }
            }
            Ok(())
        }
        Some(FilterClause::Word(_) | FilterClause::Phrase(_)) | None => Ok(()),
    }
}
