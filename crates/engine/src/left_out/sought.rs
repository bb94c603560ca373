//! The texts or lines that are searched for in files that are not indexed.

use aho_corasick::AhoCorasick;

use crate::search::LineFinder;

/// Shorter names occur everywhere.
const NAME_CHARS_MIN: usize = 2;
/// Longer texts are not searched for.
const TEXT_BYTES_MAX: usize = 512;
/// Maximum number of texts that are searched for at once.
const TEXTS_MAX: usize = 8;

/// A search in files that are not indexed.
#[derive(Debug, Clone)]
pub enum Sought {
    /// One of these texts; names as whole words.
    Texts {
        /// The texts with whether each is a name.
        texts: Vec<(String, bool)>,
        /// Finds all of them.
        finder: Box<AhoCorasick>,
    },
    /// A line that an exact search would list.
    Lines {
        /// The query.
        query: String,
        /// Its pattern.
        finder: Box<LineFinder>,
    },
}

impl Sought {
    /// Creates a search for names, which occur as whole words, and other texts. `None` if nothing is left to search for.
    #[must_use]
    pub fn texts(
        names: impl IntoIterator<Item = String>,
        phrases: impl IntoIterator<Item = String>,
        exact_case: bool,
    ) -> Option<Self> {
        let is_sensible =
            |text: &String| text.len() <= TEXT_BYTES_MAX && text.chars().count() >= NAME_CHARS_MIN;
        let names = names.into_iter().map(|name| (name, true));
        let phrases = phrases.into_iter().map(|phrase| (phrase, false));
        let texts: Vec<(String, bool)> =
            names.chain(phrases).filter(|(text, _)| is_sensible(text)).take(TEXTS_MAX).collect();
        let mut builder = AhoCorasick::builder();
        builder.ascii_case_insensitive(!exact_case);
        let finder = builder.build(texts.iter().map(|(text, _)| text.as_bytes())).ok()?;
        (!texts.is_empty()).then(|| Self::Texts { texts, finder: Box::new(finder) })
    }

    /// Creates a search for the lines of an exact search.
    #[must_use]
    pub fn lines(query: &str, finder: LineFinder) -> Self {
        Self::Lines { query: query.to_owned(), finder: Box::new(finder) }
    }

    /// Returns everything that is searched for.
    #[must_use]
    pub fn all(&self) -> Vec<String> {
        match self {
            Self::Texts { texts, .. } => texts.iter().map(|(text, _)| text.clone()).collect(),
            Self::Lines { query, .. } => vec![query.clone()],
        }
    }

    /// Returns the first occurrence of any of it in a text, with its line, 1-based.
    pub(super) fn first_in(&self, text: &str) -> Option<(String, u32)> {
        match self {
            Self::Lines { query, finder } => Some((query.clone(), finder.first_line(text)?)),
            Self::Texts { texts, finder } => {
                let found = finder.find_overlapping_iter(text).find(|found| {
                    let is_name = texts.get(found.pattern().as_usize()).is_some_and(|(_, is_name)| *is_name);
                    !is_name || is_whole_word(text, found.start(), found.end())
                })?;
                let (what, _) = texts.get(found.pattern().as_usize())?;
                let before =
                    text.as_bytes().iter().take(found.start()).filter(|byte| **byte == b'\n').count();
                Some((what.clone(), u32::try_from(before).unwrap_or(u32::MAX).saturating_add(1)))
            }
        }
    }
}

/// Returns whether no letter continues a name at its ends. Marks of a name, such as that of `$item`, need no end.
fn is_whole_word(text: &str, start: usize, end: usize) -> bool {
    let is_word = |char: Option<char>| char.is_some_and(|char| char.is_alphanumeric() || char == '_');
    let (Some(before), Some(name), Some(after)) = (text.get(..start), text.get(start..end), text.get(end..))
    else {
        return false;
    };
    let goes_on = |inner: Option<char>, outer: Option<char>| is_word(inner) && is_word(outer);
    !goes_on(name.chars().next(), before.chars().next_back())
        && !goes_on(name.chars().next_back(), after.chars().next())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(names: &[&str], phrases: &[&str], exact_case: bool, text: &str) -> Option<(String, u32)> {
        let own = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        Sought::texts(own(names), own(phrases), exact_case)?.first_in(text)
    }

    #[test]
    fn names_are_whole_words() {
        let text = "getAll(); budget;\nx.get(1)\n";
        assert_eq!(first(&["get"], &[], true, text), Some(("get".to_owned(), 2)));
        assert_eq!(first(&["getA"], &[], true, text), None);
        assert_eq!(first(&["GETALL"], &[], true, text), None);
        assert_eq!(first(&["GETALL"], &[], false, text), Some(("GETALL".to_owned(), 1)));
        assert_eq!(first(&["get", "getAll"], &[], true, text), Some(("getAll".to_owned(), 1)));
        assert_eq!(first(&["save!"], &[], true, "save!(1)"), Some(("save!".to_owned(), 1)));
        assert_eq!(first(&["$item"], &[], true, "a$item"), Some(("$item".to_owned(), 1)));
        assert_eq!(first(&["öse"], &[], true, "Möse öse"), Some(("öse".to_owned(), 1)));
        assert_eq!(first(&["Größe"], &[], true, "Größen"), None);
    }

    #[test]
    fn texts_are_parts_of_lines() {
        assert_eq!(
            first(&[], &["ll() failed"], false, "\ncall() FAILED here"),
            Some(("ll() failed".to_owned(), 2))
        );
        assert_eq!(first(&["x"], &[], true, "x"), None, "too short to say anything");
        let long = "x".repeat(TEXT_BYTES_MAX + 1);
        assert_eq!(first(&[], &[&long], true, &long), None);
    }
}
