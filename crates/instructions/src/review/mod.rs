//! Reviews prompts and instructions: secrets, vague words, missing statements, dangerous commands, attempts to override
//! instructions.

mod criteria;
#[cfg(test)]
mod default_rules;
mod run;

pub use criteria::{Criteria, IssueSeverity};
pub use run::{PROMPT_BYTES_MAX, Review, ReviewIssue, ReviewSummary, review};
