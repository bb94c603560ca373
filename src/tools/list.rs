//! The list of tools, most used first; this is the order clients see.

use super::spec::ToolSpec;
use super::{index, search, status};

/// Every operation of the product.
pub static LIST: &[&ToolSpec] = &[
    &search::search::TOOL,
    &search::search_code::TOOL,
    &search::show_file::TOOL,
    &index::index_repository::TOOL,
    &index::build_index::TOOL,
    &index::index_status::TOOL,
    &status::check_status::TOOL,
    &status::workspace_status::TOOL,
];

/// The tool called `name`.
#[must_use]
pub fn find(name: &str) -> Option<&'static ToolSpec> {
    LIST.iter().copied().find(|tool| tool.name == name)
}
