//! Branches and tags in queries: `rev:NAME` finds what a revision has, also where the default branch does not have it.

use std::collections::HashMap;

use super::fields::{self, FilterField, FilterTarget};
use super::query::{FilterClause, SearchQuery};
use super::request::SearchRequest;
use super::request_filter::{self, FilterValue, invalid_value};
use super::resolve::Resolver;
use contract::{Fault, Warning, echo};
use history::RevisionPatterns;
use store::{FileViews, Filter, Reads, RepositoryRow, RevisionRow, Test};

/// The name of the default branch that every repository understands.
const HEAD: &str = "HEAD";
/// Fewest digits of a commit's id by which a revision is named.
const COMMIT_DIGITS_MIN: usize = 7;
/// The most revisions that a warning names.
const NAMED_MAX: usize = 12;

/// The revisions that a query asks for.
#[derive(Debug, Default)]
pub(super) struct AskedRevisions {
    /// All indexed revisions; empty if the query names none.
    known: Vec<RevisionRow>,
    /// What is searched beside each repository. What a query only excludes adds nothing.
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
    /// Reads the indexed revisions if the query names any, and which of them it asks for, in whatever part of it that is not negated.
    pub(super) async fn read(
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

    /// Whether hidden repositories are searched.
    pub(super) fn any(&self) -> bool {
        !self.asked.is_empty()
    }

    /// The hidden repository to search beside one.
    pub(super) fn hidden_of(&self, id: i64) -> Option<i64> {
        self.asked.get(&id)?.hidden
    }

    /// The ids of repositories with those of their hidden ones.
    pub(super) fn with_hidden(&self, ids: &[i64]) -> Vec<i64> {
        ids.iter().flat_map(|id| std::iter::once(*id).chain(self.hidden_of(*id))).collect()
    }

    /// What is searched of some repositories: their own chunks, and those of their hidden ones that the revisions asked for have.
    pub(super) fn within(&self, ids: &[i64]) -> Filter {
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

    /// Which of the revisions that were asked for have some files; none of a file that none of them has.
    pub(super) async fn of_files(
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
pub(super) struct HavingRevisions {
    /// Their names, sorted.
    pub(super) names: Vec<String>,
    /// The commit of the first of them.
    pub(super) commit: String,
    /// Whether the default branch has it as well.
    pub(super) is_default: bool,
}

/// Revisions as a query names them: branches, tags, patterns, or the first digits of their commits.
struct NamedRevisions {
    names: Vec<String>,
    patterns: RevisionPatterns,
}

impl NamedRevisions {
    fn new(names: Vec<String>) -> Result<Self, String> {
        let patterns = RevisionPatterns::parse(&names)?;
        Ok(Self { names, patterns })
    }

    fn matches(&self, name: &str, commit: &str) -> bool {
        self.patterns.matches(name) || self.names.iter().any(|given| is_start_of(given, commit))
    }

    /// The hidden repository, and the bits of those of a repository that are meant.
    fn of(&self, repository_id: i64, known: &[RevisionRow]) -> (Option<i64>, i64) {
        let is_meant =
            |row: &&RevisionRow| row.repository_id == repository_id && self.matches(&row.name, &row.commit);
        let meant = known.iter().filter(is_meant);
        meant.fold((None, 0), |(hidden, views), row| (hidden.or(row.hidden_id), views | row.view()))
    }

    /// Whether the default branch of a repository is meant.
    fn is_default(&self, repository: &RepositoryRow) -> bool {
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

impl Resolver<'_> {
    /// Returns a filter for what revisions of these names have.
    pub(super) fn revision(
        &mut self,
        field: &'static FilterField,
        names: &[String],
    ) -> Result<Filter, Fault> {
        let named = NamedRevisions::new(names.to_vec()).map_err(|reason| invalid_value(field, &reason))?;
        let mut found = Vec::new();
        for repository in self.repositories {
            if named.is_default(repository) {
                found.push(Test::Repositories(vec![repository.id]).into());
            }
            let (hidden, views) = named.of(repository.id, &self.asked.known);
            if views != 0 {
                let ids = std::iter::once(repository.id).chain(hidden).collect();
                found.push(Filter::All(vec![Test::Repositories(ids).into(), Test::Views(views).into()]));
            }
        }
        if found.is_empty() {
            self.warnings.push(unknown(names, self.repositories, &self.asked.known));
        }
        Ok(Filter::Any(found))
    }
}

/// Whether `given` is the beginning of a commit's id.
fn is_start_of(given: &str, commit: &str) -> bool {
    given.len() >= COMMIT_DIGITS_MIN && commit.starts_with(&given.to_ascii_lowercase())
}

fn unknown(names: &[String], repositories: &[RepositoryRow], known: &[RevisionRow]) -> Warning {
    let mut indexed: Vec<&str> = known
        .iter()
        .filter(|row| repositories.iter().any(|repository| repository.id == row.repository_id))
        .map(|row| row.name.as_str())
        .chain(repositories.iter().filter_map(|repository| repository.branch.as_deref()))
        .collect();
    indexed.sort_unstable();
    indexed.dedup();
    let more = indexed.len().saturating_sub(NAMED_MAX);
    let listed: Vec<String> = indexed.iter().take(NAMED_MAX).map(|name| echo(name)).collect();
    let listed = match (listed.is_empty(), more) {
        (true, _) => "none is indexed".to_owned(),
        (false, 0) => format!("indexed are {}", listed.join(", ")),
        (false, more) => format!("indexed are {} and {more} more", listed.join(", ")),
    };
    let names: Vec<String> = names.iter().map(|name| echo(name)).collect();
    let message = format!(
        "No indexed revision is called {}; {listed}. `build_index` with `revisions` indexes further ones.",
        names.join(", ")
    );
    let details = serde_json::json!({ "revisions": indexed.iter().take(NAMED_MAX).collect::<Vec<_>>() });
    Warning { details: Some(details), ..Warning::new("revision_unknown", message) }
}

#[cfg(test)]
mod tests {
    use super::is_start_of;

    #[test]
    fn a_commit_is_named_by_enough_digits() {
        let commit = "0123456789abcdef0123456789abcdef01234567";
        assert!(is_start_of("0123456", commit) && is_start_of("0123456789ABCDEF", commit));
        assert!(
            !is_start_of("012345", commit) && !is_start_of("1234567", commit) && !is_start_of("", commit)
        );
    }
}
