//! Constant regular expressions.

use regex::Regex;

/// Compiles a constant pattern; for the initial value of a `LazyLock`.
#[expect(clippy::expect_used, reason = "constant patterns, each covered by a test")]
pub(crate) fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a valid pattern")
}
