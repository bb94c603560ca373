//! Trigrams of texts, which exact search looks up before it reads a text.
//!
//! A trigram is three consecutive bytes of a line with ASCII letters in lower case and composed letters. It is stored as a hash of
//! 16 bits, so a lookup may also return texts without it: a search always checks the texts.

use super::normal::nfc;

/// A hashed trigram.
pub type Gram = i16;

/// Multiplier of the hash: 2^32 divided by the golden ratio.
const MULTIPLIER: u32 = 0x9E37_79B1;

/// The hash of a trigram. ASCII letters are folded to lower case.
#[must_use]
pub fn gram(bytes: [u8; 3]) -> Gram {
    let [a, b, c] = bytes.map(|byte| u32::from(byte.to_ascii_lowercase()));
    let hash = (a << 16 | b << 8 | c).wrapping_mul(MULTIPLIER).to_le_bytes();
    i16::from_le_bytes([hash[2], hash[3]])
}

/// The trigrams of a text, sorted and unique. None spans the end of a line.
#[must_use]
pub fn grams_of(text: &str) -> Vec<Gram> {
    let mut grams: Vec<Gram> = nfc(text)
        .as_bytes()
        .split(|byte| *byte == b'\n')
        .flat_map(|line| line.windows(3))
        .map(|window| gram([window[0], window[1], window[2]]))
        .collect();
    grams.sort_unstable();
    grams.dedup();
    grams
}

/// A condition on the trigrams of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GramQuery {
    /// All of these hold; an empty list holds for every text.
    All(Vec<GramQuery>),
    /// At least one of these holds.
    Any(Vec<GramQuery>),
    /// The text has all of these trigrams.
    HasAll(Vec<Gram>),
    /// The text has at least one of these trigrams.
    HasAny(Vec<Gram>),
}

impl GramQuery {
    /// Holds for every text.
    pub const EVERYTHING: Self = Self::All(Vec::new());

    /// Returns `true` if it holds for every text, so that the index does not help.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        match self {
            Self::All(all) => all.iter().all(Self::is_everything),
            Self::Any(any) => any.iter().any(Self::is_everything),
            Self::HasAll(grams) => grams.is_empty(),
            Self::HasAny(_) => false,
        }
    }

    /// Returns `true` if it holds for a text with these trigrams, which are sorted.
    #[must_use]
    pub fn accepts(&self, grams: &[Gram]) -> bool {
        let has = |gram: &Gram| grams.binary_search(gram).is_ok();
        match self {
            Self::All(all) => all.iter().all(|one| one.accepts(grams)),
            Self::Any(any) => any.iter().any(|one| one.accepts(grams)),
            Self::HasAll(wanted) => wanted.iter().all(has),
            Self::HasAny(wanted) => wanted.iter().any(has),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trigrams_ignore_the_case_of_ascii_letters_and_end_with_the_line() {
        let abc = gram(*b"abc");
        assert_eq!(gram(*b"ABC"), abc);
        assert_eq!(grams_of("aBc"), [abc]);
        assert_eq!(grams_of("ab\nc").len(), 0);
        assert_eq!(grams_of("abc\nabc\r\n").len(), 2, "a carriage return is a byte like any other");
        assert_eq!(grams_of("ä").len(), 0);
        assert_eq!(grams_of("ä-").len(), 1);
        assert_eq!(grams_of("Gro\u{308}\u{df}e"), grams_of("Gr\u{f6}\u{df}e"));
    }

    #[test]
    fn a_condition_is_tested_on_sorted_trigrams() {
        let (one, two, other) = (gram(*b"abc"), gram(*b"bcd"), gram(*b"xyz"));
        let grams = grams_of("abcd");
        assert!(GramQuery::HasAll(vec![one, two]).accepts(&grams));
        assert!(!GramQuery::HasAll(vec![one, other]).accepts(&grams));
        assert!(GramQuery::HasAny(vec![other, two]).accepts(&grams));
        assert!(GramQuery::EVERYTHING.accepts(&[]) && GramQuery::EVERYTHING.is_everything());
        let either = GramQuery::Any(vec![GramQuery::HasAll(vec![other]), GramQuery::EVERYTHING]);
        assert!(either.is_everything() && !GramQuery::Any(Vec::new()).accepts(&grams));
    }
}
