//! The whole texts of the parts that an answer shows, for a page that colours them: a string or a comment may begin above the part.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::search::present::answer::SearchAnswer;

/// Maximum size of the texts of an answer, in bytes. Parts beyond this limit are coloured on their own.
const BYTES_MAX: usize = 256 << 10;

/// The texts of the chunks that an answer shows parts of.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Sources {
    /// The texts.
    pub texts: Vec<SourceText>,
    /// For each hit, or each matching line, in order, the position of its text; `None` if that did not fit.
    pub of_parts: Vec<Option<usize>>,
}

/// The text of a chunk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SourceText {
    /// Number of its first line, 1-based.
    pub start_line: u32,
    /// The text.
    pub text: String,
}

impl Sources {
    /// Takes the texts of the hits out of an answer, or those that an exact search kept because its request is for a page.
    #[must_use]
    pub fn take_from(answer: &mut SearchAnswer) -> Self {
        if let Some(matches) = &mut answer.matches {
            return std::mem::take(&mut matches.sources);
        }
        let mut sources = Self::default();
        for hit in &answer.hits {
            sources.add(hit.start_line, &hit.content);
        }
        sources
    }

    /// Adds the next part, whose text is kept if it fits.
    pub(in crate::search) fn add(&mut self, start_line: u32, text: &str) {
        let bytes: usize = self.texts.iter().map(|source| source.text.len()).sum();
        let fits = bytes + text.len() <= BYTES_MAX;
        self.of_parts.push(fits.then_some(self.texts.len()));
        if fits {
            self.texts.push(SourceText { start_line, text: text.to_owned() });
        }
    }

    /// Adds the next part, whose text is that of the part before it.
    pub(in crate::search) fn add_same(&mut self) {
        self.of_parts.push(self.of_parts.last().copied().flatten());
    }

    /// The text of a part, with its position.
    #[must_use]
    pub fn of_part(&self, part: usize) -> Option<(usize, &SourceText)> {
        let at = self.of_parts.get(part).copied().flatten()?;
        Some((at, self.texts.get(at)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_kept_as_long_as_they_fit() {
        let mut sources = Sources::default();
        sources.add(1, "a\nb\n");
        sources.add_same();
        sources.add(3, &"x".repeat(BYTES_MAX - 3));
        sources.add_same();
        sources.add(9, &"y".repeat(BYTES_MAX - 4));
        sources.add(11, "z");
        assert_eq!(sources.of_parts, [Some(0), Some(0), None, None, Some(1), None]);
        assert_eq!(sources.texts.iter().map(|source| source.text.len()).sum::<usize>(), BYTES_MAX);
        assert_eq!(sources.of_part(1).map(|(at, source)| (at, source.text.as_str())), Some((0, "a\nb\n")));
        assert_eq!(sources.of_part(4).map(|(at, source)| (at, source.start_line)), Some((1, 9)));
        assert!(sources.of_part(3).is_none() && sources.of_part(6).is_none());
    }
}
