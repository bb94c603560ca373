//! Names of revisions in queries and in calls that read files, and the message for an unknown name.

use contract::echo;
use store::{RepositoryRow, RevisionRow};

/// The name of the default branch that every repository understands.
pub const HEAD: &str = "HEAD";

/// Fewest digits of a commit's id by which a revision is named.
const COMMIT_DIGITS_MIN: usize = 7;
/// Maximum number of revisions that are listed.
const LISTED_MAX: usize = 12;

/// Returns whether `given` is the beginning of a commit's id.
#[must_use]
pub fn is_start_of_commit(given: &str, commit: &str) -> bool {
    given.len() >= COMMIT_DIGITS_MIN && commit.starts_with(&given.to_ascii_lowercase())
}

/// The branches and tags that can be named, for those who named another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownRevisions {
    /// The first few, sorted.
    pub names: Vec<String>,
    /// The same names in two sentences, with how to index more.
    pub hint: String,
}

impl KnownRevisions {
    /// Creates the list for some repositories, with their default branches.
    #[must_use]
    pub fn new(repositories: &[RepositoryRow], indexed: &[RevisionRow]) -> Self {
        let is_of_these = |row: &&RevisionRow| repositories.iter().any(|one| one.id == row.repository_id);
        let mut names: Vec<&str> = indexed.iter().filter(is_of_these).map(|row| row.name.as_str()).collect();
        names.extend(repositories.iter().filter_map(|row| row.branch.as_deref()));
        names.sort_unstable();
        names.dedup();
        let more = names.len().saturating_sub(LISTED_MAX);
        let names: Vec<String> = names.into_iter().take(LISTED_MAX).map(echo).collect();
        let listed = names.join(", ");
        let listed = match (names.is_empty(), more) {
            (true, _) => "None is indexed.".to_owned(),
            (false, 0) => format!("Indexed are {listed}."),
            (false, more) => format!("Indexed are {listed} and {more} more."),
        };
        let hint = format!("{listed} `build_index` with `revisions` indexes further ones.");
        Self { names, hint }
    }
}

#[cfg(test)]
mod tests {
    use super::is_start_of_commit;

    #[test]
    fn a_commit_is_named_by_enough_digits() {
        let commit = "0123456789abcdef0123456789abcdef01234567";
        for given in ["0123456", "0123456789ABCDEF"] {
            assert!(is_start_of_commit(given, commit), "{given}");
        }
        for given in ["012345", "1234567", ""] {
            assert!(!is_start_of_commit(given, commit), "{given}");
        }
    }
}
