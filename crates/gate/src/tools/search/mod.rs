//! Tools that search code and show files.

pub(crate) mod execute;
mod file_target;
mod left_out;
mod missing_file;
mod named_revision;
pub(crate) mod open_file;
mod portable;

mod caller_suggestion;
pub(crate) mod navigate;
#[expect(clippy::module_inception, reason = "the family is named after its first tool")]
pub(crate) mod search;
pub(crate) mod search_code;
pub(crate) mod search_file;
pub(crate) mod search_page;
pub(crate) mod show_file;
