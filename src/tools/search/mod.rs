//! Tools that answer questions about code.

pub(super) mod ask;
mod missing;
mod place;
mod portable;

#[expect(clippy::module_inception, reason = "the family is named after its first tool")]
pub(super) mod search;
pub(super) mod search_code;
pub(super) mod search_file;
pub(super) mod show_file;
mod shown;
