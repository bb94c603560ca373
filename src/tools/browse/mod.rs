//! Operations that are not tools: what MCP clients reach through prompts, resources and completion, and what the command line
//! asks of a portable file.
//!
//! They are entries like those of [`LIST`](super::LIST) and pass the same gate, but in a box of their own: nothing lists
//! them, and no surface can call them by name.

mod complete;
mod list;
mod media;
mod prompts;
mod read;

use std::sync::{Arc, OnceLock};

use super::call::Request;
use super::context::Caller;
use super::list::Toolbox;
use super::spec::ToolSpec;
use crate::app::App;
use contract::{Envelope, Refusal};

pub use complete::{Completed, VALUES_MAX};
pub use list::{Listed, ListedResource};
pub use prompts::Rendered;
pub use read::FileText;

/// One page of indexed files; answers [`Listed`].
pub const LIST_FILES: &ToolSpec = &list::TOOL;
/// One indexed file; answers [`FileText`].
pub const READ_FILE: &ToolSpec = &read::TOOL;
/// Values that begin with or contain what was typed; answers [`Completed`].
pub const COMPLETE: &ToolSpec = &complete::TOOL;
/// A question to one portable file; answers as the tool `search`.
pub const SEARCH_FILE: &ToolSpec = &super::search::search_file::TOOL;
/// The prompts, in the order clients see; each answers [`Rendered`].
pub static PROMPTS: &[&ToolSpec] = &[&prompts::FIND_CODE, &prompts::EXPLAIN_CODE, &prompts::ONBOARD];

/// Runs one of the operations of this module through the gate, as [`call`](super::call()) runs a tool.
///
/// # Errors
/// The [`Refusal`] says why it was not run.
pub async fn browse(app: &Arc<App>, request: Request) -> Result<Envelope, Refusal> {
    toolbox().call(app, request).await
}

/// Whether `caller` may run `operation`; where it may not, lists are empty as the list of tools is.
#[must_use]
pub fn is_open_to(operation: &ToolSpec, caller: &Caller) -> bool {
    toolbox().visible(caller).any(|open| open.name == operation.name)
}

fn toolbox() -> &'static Toolbox {
    static BROWSE: OnceLock<Toolbox> = OnceLock::new();
    BROWSE.get_or_init(|| {
        Toolbox::of(
            [LIST_FILES, READ_FILE, COMPLETE, SEARCH_FILE]
                .into_iter()
                .chain(PROMPTS.iter().copied())
                .collect(),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::{LIST, Toolset, find};

    #[test]
    fn none_is_a_tool_and_all_belong_to_search() {
        for operation in &toolbox().visible(&Caller::local(crate::tools::Surface::Cli)).collect::<Vec<_>>() {
            assert!(find(operation.name).is_none(), "{}", operation.name);
            assert!(LIST.iter().all(|tool| tool.name != operation.name));
            assert_eq!(operation.toolset, Toolset::Search, "{}", operation.name);
            assert!(operation.effects.read_only, "{}", operation.name);
        }
        assert!(toolbox().find("search").is_none(), "and no tool is among them");
    }
}
