//! Branches and tags in queries: `rev:NAME` finds what a revision has, also where the default branch does not have it.

use std::collections::HashMap;

use super::answer::Hit;
use super::fields::FilterField;
use super::request_filter::invalid_value;
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
    /// All indexed revisions; read when the first is asked for.
    known: Option<Vec<RevisionRow>>,
    /// The hidden repositories to search as well, by the repository that they belong to. What a query excludes adds none.
    pub(super) hidden: HashMap<i64, i64>,
    /// The revisions asked for, by repository, as bits.
    views: HashMap<i64, i64>,
}

impl AskedRevisions {
    /// The ids of repositories with those of their hidden ones.
    pub(super) fn with_hidden(&self, ids: &[i64]) -> Vec<i64> {
        let hidden = ids.iter().filter_map(|id| self.hidden.get(id));
        ids.iter().chain(hidden).copied().collect()
    }

    /// Which of the revisions that were asked for have some files; none of a file that none of them has.
    pub(super) async fn of_files(
        &self,
        reads: &mut Reads,
        files: &[i64],
    ) -> Result<HashMap<i64, HavingRevisions>, Fault> {
        let mut found = HashMap::new();
        let Some(known) = self.known.as_ref().filter(|_| !self.views.is_empty() && !files.is_empty()) else {
            return Ok(found);
        };
        for FileViews { file_id, repository_id, views, .. } in reads.views_of(files).await? {
            let asked = views & self.views.get(&repository_id).copied().unwrap_or(0);
            let has = |row: &&RevisionRow| row.repository_id == repository_id && row.view() & asked != 0;
            let rows: Vec<&RevisionRow> = known.iter().filter(has).collect();
            if let Some(first) = rows.first() {
                let names = rows.iter().map(|row| row.name.clone()).collect();
                found.insert(file_id, HavingRevisions { names, commit: first.commit.clone() });
            }
        }
        Ok(found)
    }

    /// Adds to each hit which of the revisions that were asked for have it.
    pub(super) async fn describe(&self, reads: &mut Reads, hits: &mut [Hit]) -> Result<(), Fault> {
        let files: Vec<i64> = hits.iter().map(|hit| hit.file_id).collect();
        let found = self.of_files(reads, &files).await?;
        for hit in hits {
            if let Some(having) = found.get(&hit.file_id) {
                hit.revisions.clone_from(&having.names);
                hit.revision_commit = Some(having.commit.clone());
            }
        }
        Ok(())
    }
}

/// The revisions that have a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HavingRevisions {
    /// Their names, sorted.
    pub(super) names: Vec<String>,
    /// The commit of the first of them.
    pub(super) commit: String,
}

impl Resolver<'_> {
    /// Returns a filter for what revisions of these names have: branches, tags, patterns, or the first digits of their commits.
    pub(super) async fn revision(
        &mut self,
        field: &'static FilterField,
        names: &[String],
    ) -> Result<Filter, Fault> {
        let patterns = RevisionPatterns::parse(names).map_err(|reason| invalid_value(field, &reason))?;
        let known = match self.asked.known.take() {
            Some(known) => known,
            None => self.reads.revisions().await?,
        };
        let is_asked = |name: &str, commit: &str| {
            patterns.matches(name) || names.iter().any(|given| is_start_of(given, commit))
        };
        let mut found = Vec::new();
        for repository in self.repositories {
            if is_default(repository, names, &is_asked) {
                found.push(Test::Repositories(vec![repository.id]).into());
            }
            let rows = known.iter().filter(|row| row.repository_id == repository.id);
            let asked: Vec<&RevisionRow> = rows.filter(|row| is_asked(&row.name, &row.commit)).collect();
            let views = asked.iter().fold(0, |views, row| views | row.view());
            if views == 0 {
                continue;
            }
            let hidden = asked.iter().find_map(|row| row.hidden_id);
            self.asked.hidden.extend(hidden.map(|hidden| (repository.id, hidden)));
            *self.asked.views.entry(repository.id).or_default() |= views;
            let ids = std::iter::once(repository.id).chain(hidden).collect();
            found.push(Filter::All(vec![Test::Repositories(ids).into(), Test::Views(views).into()]));
        }
        if found.is_empty() {
            self.warnings.push(unknown(names, self.repositories, &known));
        }
        self.asked.known = Some(known);
        Ok(Filter::Any(found))
    }
}

/// Whether names mean the default branch of a repository.
fn is_default(repository: &RepositoryRow, names: &[String], is_asked: &impl Fn(&str, &str) -> bool) -> bool {
    let branch = repository.branch.as_deref().unwrap_or(HEAD);
    names.iter().any(|name| name == HEAD)
        || is_asked(branch, repository.commit.as_deref().unwrap_or_default())
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
