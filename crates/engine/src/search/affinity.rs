//! Whether a path is named as the question says: `session management` and `sessions.py`.

use super::ranking::Ranking;
use languages::terms::{PathWords, parts, squash};

/// Letters that two words must share at their start to be forms of one word.
const SHARED_START_MIN: usize = 4;

/// Stems of files that stand for their directory.
const MODULE_ROOTS: &[&str] = &["mod", "index", "__init__"];

/// A name asked for, in the form in which names are compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name {
    /// Without naming style.
    pub(super) squashed: String,
}

impl Name {
    /// Takes a name in any style.
    #[must_use]
    pub(super) fn of(name: &str) -> Self {
        Self { squashed: squash(name) }
    }
}

/// The words of a question, taken apart once for all paths that they are held against.
#[derive(Debug)]
pub(super) struct Asked(Vec<String>);

impl Asked {
    /// Takes them apart.
    #[must_use]
    pub(super) fn of(words: &[String]) -> Self {
        Self(words.iter().flat_map(|word| parts(word)).collect())
    }

    /// How well a path's stem and parent directory agree with the words, as a share of the best score.
    ///
    /// The stem's share is the part of the question's words that it says, times the part of the stem that the
    /// question says, so that `client` prefers `client.rs` to `client_pool_metrics.rs`. It counts for less the more
    /// vectors say (`dense_weight`, their share of the score): they have read the path, too.
    #[must_use]
    pub(super) fn affinity(&self, path: &str, dense_weight: f32, ranking: &Ranking) -> f32 {
        let (stem, parent) = names(path);
        let stem_boost = ranking.stem_boost - dense_weight * ranking.stem_boost_meant;
        stem_boost * self.agreement(stem) + ranking.parent_boost * self.agreement(parent)
    }

    fn agreement(&self, name: &str) -> f32 {
        let (asked, name_parts) = (&self.0, parts(name));
        if name_parts.is_empty() || asked.is_empty() {
            return 0.0;
        }
        let glued = squash(name);
        let said = asked
            .iter()
            .filter(|word| name_parts.iter().any(|part| same_word(word, part)) || **word == glued);
        let heard = name_parts.iter().filter(|part| asked.iter().any(|word| same_word(word, part)));
        share(said.count(), asked.len()).sqrt()
            * share(heard.count().max(usize::from(asked.contains(&glued))), name_parts.len())
    }
}

/// What the file is called, and the directory it lies in. A module's root file is called as its directory.
fn names(path: &str) -> (&str, &str) {
    let place = PathWords::of(path);
    let directory = |at: usize| place.directories.get(at).copied().unwrap_or("");
    if MODULE_ROOTS.contains(&place.stem) && !place.directories.is_empty() {
        (directory(0), directory(1))
    } else {
        (place.stem, directory(0))
    }
}

/// Whether two lower-case words are forms of one: equal, or one starts with nearly all of the other.
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
    fn forms_of_a_word_are_the_same_word() {
        for (a, b) in [("session", "sessions"), ("routing", "route"), ("context", "ctx_no")] {
            assert_eq!(same_word(a, b), b != "ctx_no", "{a} {b}");
        }
        for (a, b) in [("app", "apply_all"), ("config", "context"), ("test", "text"), ("in", "index")] {
            assert!(!same_word(a, b), "{a} {b}");
        }
    }

    #[test]
    fn the_fuller_agreement_wins() {
        let words: Vec<String> = ["client", "pool"].map(str::to_owned).into();
        let of = |path: &str| Asked::of(&words).affinity(path, 0.5, &Ranking::default());
        assert!(of("src/client_pool.rs") > of("src/client.rs"));
        assert!(of("src/client.rs") > of("src/client_http_metrics.rs"));
        assert!(of("client/a.rs") > of("src/a.rs"));
        assert!(of("src/other.rs").abs() < f32::EPSILON);
        assert!(of("src/client.rs") < Asked::of(&words).affinity("src/client.rs", 0.0, &Ranking::default()));
    }
}
