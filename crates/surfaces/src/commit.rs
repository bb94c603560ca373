//! Commits as people and agents see them.

/// Digits of a commit that are shown.
const DIGITS: usize = 12;

/// The first digits of a commit.
pub(super) fn short_commit(commit: &str) -> &str {
    commit.get(..DIGITS).unwrap_or(commit)
}
