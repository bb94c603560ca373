//! Compares the words of a query with the names of files and directories: `session management` and `sessions.py`.

use crate::search::rank::ranking::Ranking;
use languages::fold;
use languages::terms::{PathWords, parts, squash};

/// Length of the common prefix that makes two words forms of one word.
const SHARED_START_MIN: usize = 4;

/// Stems of files that represent their directory.
const MODULE_ROOTS: &[&str] = &["mod", "index", "__init__"];

/// A name in the query, in the form in which names are compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::search) struct SquashedName {
    /// Lower case, without separators.
    pub(in crate::search) squashed: String,
}

impl SquashedName {
    /// Creates the squashed form of a name of any naming style.
    #[must_use]
    pub(in crate::search) fn new(name: &str) -> Self {
        Self { squashed: fold(name) }
    }
}

/// The words of a query, split into parts once for all paths.
#[derive(Debug)]
pub(in crate::search) struct QueryWords(Vec<String>);

impl QueryWords {
    /// Creates the parts of words such as `session_manager`.
    #[must_use]
    pub(in crate::search) fn new(words: &[String]) -> Self {
        Self(words.iter().flat_map(|word| parts(word)).collect())
    }

    /// Returns the boost for a path whose stem and parent directory match the words, as a share of the best score.
    ///
    /// The agreement is the share of the query's words in the name, times the share of the name's words in the query, so that
    /// `client` prefers `client.rs` to `client_pool_metrics.rs`. It counts less with a higher `dense_weight`, because the
    /// embedded text contains the path.
    #[must_use]
    pub(in crate::search) fn affinity(&self, path: &str, dense_weight: f32, ranking: &Ranking) -> f32 {
        let (stem, parent) = names(path);
        let stem_boost = ranking.stem_boost - dense_weight * ranking.stem_boost_meant;
        stem_boost * self.agreement(stem) + ranking.parent_boost * self.agreement(parent)
    }

    fn agreement(&self, name: &str) -> f32 {
        let (words, name_parts) = (&self.0, parts(name));
        if name_parts.is_empty() || words.is_empty() {
            return 0.0;
        }
        let glued = squash(name);
        let matched = words
            .iter()
            .filter(|word| name_parts.iter().any(|part| same_word(word, part)) || **word == glued);
        let covered = name_parts.iter().filter(|part| words.iter().any(|word| same_word(word, part)));
        share(matched.count(), words.len()).sqrt()
            * share(covered.count().max(usize::from(words.contains(&glued))), name_parts.len())
    }
}

/// Returns the names of the file and of its directory. The root file of a module is named after its directory.
fn names(path: &str) -> (&str, &str) {
    let words = PathWords::new(path);
    let directory = |at: usize| words.directories.get(at).copied().unwrap_or("");
    if MODULE_ROOTS.contains(&words.stem) && !words.directories.is_empty() {
        (directory(0), directory(1))
    } else {
        (words.stem, directory(0))
    }
}

/// Returns whether two lower-case words are forms of one word: equal, or with a long common prefix.
fn same_word(a: &str, b: &str) -> bool {
    if a == b {
        return true;
    }
    let shared = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    let (short, long) = (a.len().min(b.len()), a.len().max(b.len()));
    shared >= SHARED_START_MIN.min(short).max(3) && shared + 2 >= short && long - shared <= 5
}

#[expect(clippy::cast_precision_loss, reason = "counts of words are far below 2^24")]
fn share(part: usize, whole: usize) -> f32 {
    part as f32 / whole as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_are_equal() {
        for (a, b) in [("session", "sessions"), ("routing", "route"), ("context", "ctx_no")] {
            assert_eq!(same_word(a, b), b != "ctx_no", "{a} {b}");
        }
        for (a, b) in [("app", "apply_all"), ("config", "context"), ("test", "text"), ("in", "index")] {
            assert!(!same_word(a, b), "{a} {b}");
        }
    }

    #[test]
    fn a_path_with_more_common_words_has_a_higher_affinity() {
        let words: Vec<String> = ["client", "pool"].map(str::to_owned).into();
        let affinity = |path: &str, dense| QueryWords::new(&words).affinity(path, dense, &Ranking::default());
        let boost = |path: &str| affinity(path, 0.5);
        assert!(boost("src/client_pool.rs") > boost("src/client.rs"));
        assert!(boost("src/client.rs") > boost("src/client_http_metrics.rs"));
        assert!(boost("client/a.rs") > boost("src/a.rs"));
        assert!(boost("src/other.rs").abs() < f32::EPSILON);
        assert!(boost("src/client.rs") < affinity("src/client.rs", 0.0));
    }
}
