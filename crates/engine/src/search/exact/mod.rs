//! Exact search: the lines that contain a literal text or match a regular expression, counted and in order.
//!
//! The index of trigrams gives candidates, whose texts are then matched here, in linear time. So an answer has every line of
//! what is indexed, and says when it does not.

mod content;
mod execute;
mod lines;
mod matcher;
mod pattern;
mod present;
mod trigrams;

#[cfg(test)]
mod tests;

pub(super) use content::matching_chunks;
pub(super) use execute::execute_exact;
pub use execute::{FileMatches, LineInContext, LineMatches};
pub use lines::MatchedLine;
pub use pattern::ExactQuery;
pub use present::{Matches, NotIndexed, PresentedFile, PresentedLine};
pub(super) use present::{frame, present_matches};

/// The expression of a query that is only `/expression/` or `/expression/i`, and whether it ignores case.
#[must_use]
pub fn slashed_query(query: &str) -> Option<(String, bool)> {
    // Languages that write expressions between slashes escape the slash as `\/`.
    super::pattern::slashed_regex(query.trim())
        .map(|(regex, ignores_case)| (regex.replace("\\/", "/"), ignores_case))
}
