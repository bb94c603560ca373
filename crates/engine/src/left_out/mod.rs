//! Limits of an answer's coverage: the files of the searched repositories that are not indexed, and whether the query occurs in the text of
//! one of them.
//!
//! The counts are those of each repository's last run. The texts are read when the question is asked, within limits, because a file that
//! was omitted for its size or its encoding has no rows that could answer.

mod counted;
mod question;
mod scan;
mod sought;

pub use counted::coverage_of;
pub use question::LiteralParts;
pub use scan::{LookedInto, SCANNED, ScanBudget, look_into};
pub use sought::Sought;
