//! Exact search: the lines that contain a literal text or match a regular expression, counted and in order.
//!
//! The trigram index gives candidates, whose texts are then matched here, in linear time. So an answer has every matching line of the
//! index, and says when it does not.

mod content;
mod execute;
mod line_finder;
mod lines;
mod matcher;
mod pattern;
mod present;
mod trigrams;

#[cfg(test)]
mod tests;

use super::fields::field_name;
use super::query::{SlashedQuery, slashed};
pub(super) use content::matching_chunks;
pub(super) use execute::execute_exact;
pub use execute::{FileMatches, LineInContext, LineMatches};
pub use line_finder::LineFinder;
pub use lines::MatchedLine;
pub(super) use matcher::Matcher;
pub use pattern::ExactQuery;
pub(super) use pattern::Pattern;
pub use present::{Matches, NotIndexed, PresentedFile, PresentedLine};
pub(super) use present::{frame, present_matches};

/// Reads a query that is only `/expression/` or `/expression/i`, or that has filters beside it and nothing else.
#[must_use]
pub fn slashed_query(query: &str) -> Option<SlashedQuery> {
    slashed(query, &field_name)
}
