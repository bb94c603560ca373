//! Commits as they are shown to people and agents.

/// Number of digits of a commit that are shown.
const DIGITS: usize = 12;

/// Returns the first digits of a commit.
#[must_use]
pub fn short_commit(commit: &str) -> &str {
    commit.get(..DIGITS).unwrap_or(commit)
}
