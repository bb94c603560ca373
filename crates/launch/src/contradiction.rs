//! Claims that contradict each other: they share nearly all words that carry content, and only one of them denies.

use std::collections::BTreeSet;

/// Words that deny.
const NEGATIONS: &[&str] = &[
    "ain't", "aren't", "can't", "cannot", "doesn't", "don't", "isn't", "lacks", "neither", "never", "no",
    "nor", "not", "unsupported", "without", "won't",
];
/// Words without content.
const EMPTY_WORDS: &[&str] = &[
    "a", "all", "also", "an", "and", "any", "are", "as", "at", "be", "been", "by", "can", "do", "does",
    "for", "from", "has", "have", "in", "into", "is", "it", "its", "may", "of", "on", "only", "or", "such",
    "that", "the", "their", "them", "these", "this", "to", "will", "with", "you", "your",
];
/// Fewest words that two contradicting claims share.
const SHARED_MIN: usize = 2;
/// Part of all their words that they share: 4 of 5.
const SHARED_PART: (usize, usize) = (4, 5);

/// The words of a claim, as far as contradictions are found by them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimWords {
    content: BTreeSet<String>,
    denies: bool,
}

impl ClaimWords {
    /// The words of a text.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let lower = text.to_lowercase().replace('’', "'");
        let is_inner = |c: char| c.is_alphanumeric() || matches!(c, '\'' | '_' | '+' | '#');
        let mut words = Self { content: BTreeSet::new(), denies: false };
        for word in lower.split(|c| !is_inner(c)).filter(|word| !word.is_empty()) {
            if NEGATIONS.contains(&word) {
                words.denies = !words.denies;
            }
            match word {
                // What is unsupported is the contrary of what is supported.
                "unsupported" => words.content.insert("support".to_owned()),
                word if NEGATIONS.contains(&word) || EMPTY_WORDS.contains(&word) => false,
                word => words.content.insert(stem(word).to_owned()),
            };
        }
        words
    }

    /// Returns `true` if both say nearly the same, and exactly one of them denies it.
    #[must_use]
    pub fn contradicts(&self, other: &Self) -> bool {
        self.denies != other.denies && self.is_about(other)
    }

    /// Returns `true` if both say nearly the same.
    #[must_use]
    pub fn agrees_with(&self, other: &Self) -> bool {
        self.denies == other.denies && self.is_about(other)
    }

    fn is_about(&self, other: &Self) -> bool {
        let shared = self.content.intersection(&other.content).count();
        let all = self.content.len() + other.content.len() - shared;
        shared >= SHARED_MIN && shared * SHARED_PART.1 >= all * SHARED_PART.0
    }
}

/// A word without the endings that verbs and plurals have.
fn stem(word: &str) -> &str {
    for ending in ["ing", "ed", "s"] {
        if let Some(stem) = word.strip_suffix(ending).filter(|stem| stem.len() >= 3) {
            return stem;
        }
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_denial_of_the_same_contradicts() {
        for (one, other) in [
            ("Reads XLSX files.", "Does not read XLSX files."),
            ("XLSX files are supported.", "XLSX files are unsupported."),
            ("The parser can read XLSX.", "The parser cannot read XLSX."),
        ] {
            let (one, other) = (ClaimWords::new(one), ClaimWords::new(other));
            assert!(
                one.contradicts(&other) && other.contradicts(&one) && !one.agrees_with(&other),
                "{one:?}"
            );
        }
    }

    #[test]
    fn other_claims_do_not() {
        for (one, other) in [
            ("Reads XLSX files.", "Does not read PDF pages."),
            ("Reads XLSX files.", "Reads the XLSX file."),
            ("Never reads XLSX files.", "Does not read XLSX files."),
            ("Reads.", "Does not read."),
        ] {
            assert!(!ClaimWords::new(one).contradicts(&ClaimWords::new(other)), "{one}");
        }
        assert!(ClaimWords::new("Reads XLSX files.").agrees_with(&ClaimWords::new("It reads an XLSX file.")));
    }
}
