//! The list of tools, most used first; this is the order clients see.

use super::spec::ToolSpec;
use super::status;

/// Every operation of the product.
pub static LIST: &[&ToolSpec] = &[&status::check_status::TOOL];

/// The tool called `name`.
#[must_use]
pub fn find(name: &str) -> Option<&'static ToolSpec> {
    LIST.iter().copied().find(|tool| tool.name == name)
}
