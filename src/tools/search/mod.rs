//! Tools that answer questions about code.

mod ask;

pub(super) mod search;
pub(super) mod search_code;
pub(super) mod show_file;
