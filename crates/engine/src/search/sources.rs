//! The whole texts of what an answer shows in part, for a page that colours it: a string or a comment may begin above the part.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::answer::{Hit, SearchAnswer};

/// The texts of the chunks that an answer shows parts of.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Sources {
    /// The texts.
    pub texts: Vec<SourceText>,
    /// For each hit, or each matching line, in order, the position of its text.
    pub of_parts: Vec<usize>,
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
    /// The texts of the hits of an answer, or those that an exact search kept because its request is for a page.
    #[must_use]
    pub fn of_answer(answer: &SearchAnswer) -> Self {
        match &answer.matches {
            Some(matches) => matches.sources.clone(),
            None => {
                let source = |hit: &Hit| SourceText { start_line: hit.start_line, text: hit.content.clone() };
                let texts = answer.hits.iter().map(source).collect();
                Self { texts, of_parts: (0..answer.hits.len()).collect() }
            }
        }
    }

    /// The text of a part, with its position.
    #[must_use]
    pub fn of_part(&self, part: usize) -> Option<(usize, &SourceText)> {
        let at = *self.of_parts.get(part)?;
        Some((at, self.texts.get(at)?))
    }
}
