//! Tools that search code and show files.

pub(super) mod execute;
mod file_target;
mod left_out;
mod missing_file;
mod named_revision;
pub(super) mod open_file;
mod portable;

mod caller_suggestion;
pub(super) mod navigate;
#[expect(clippy::module_inception, reason = "the family is named after its first tool")]
pub(super) mod search;
pub(super) mod search_code;
pub(super) mod search_file;
pub(super) mod search_page;
pub(super) mod show_file;
