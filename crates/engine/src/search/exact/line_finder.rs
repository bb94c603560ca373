//! Finds the first line of a whole text that an exact search would list, for texts that are not in the index.

use super::pattern::{ExactQuery, Pattern, Scan};
use contract::Fault;

/// The pattern of an exact search.
#[derive(Debug, Clone)]
pub struct LineFinder(Pattern);

impl LineFinder {
    /// Compiles the pattern.
    ///
    /// # Errors
    /// As the search itself.
    pub fn new(query: &str, exact: &ExactQuery, exact_case: bool) -> Result<Self, Fault> {
        let pattern = match exact {
            ExactQuery::Regex => Pattern::regex(query, exact_case),
            ExactQuery::Text => Pattern::text(query, exact_case),
        };
        pattern.map(Self)
    }

    /// Returns the number of the first matching line, 1-based. Lines that are too long for the pattern are passed over.
    #[must_use]
    pub fn first_line(&self, text: &str) -> Option<u32> {
        let (start, _) = self.0.find_at(text, 0, &Scan::default())?;
        let before = text.as_bytes().iter().take(start).filter(|byte| **byte == b'\n').count();
        Some(u32::try_from(before).unwrap_or(u32::MAX).saturating_add(1))
    }
}
