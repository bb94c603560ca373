//! Operations that are not tools: those behind MCP prompts, resources and completion, searches and folders on the
//! pages, the search of a portable file by the command line.
//!
//! They have a [`ToolSpec`] like tools and pass the same gate, but are in a toolbox of their own:
//! no list shows them, and clients cannot call them by name.

mod complete;
mod file_facts;
mod folder;
mod known_lines;
mod list;
mod media;
mod prompts;
mod read;
mod suggest;

use std::sync::Arc;

use super::call::Request;
use super::context::Caller;
use super::spec::ToolSpec;
use crate::app::App;
use contract::{Envelope, Refusal};

pub use complete::{Completions, VALUES_MAX, matching_values};
pub use file_facts::{KnownDefinition, KnownFile, KnownPart};
pub use folder::{FolderItem, FolderList};
pub use known_lines::{KnownCommit, KnownLines, KnownRun};
pub use list::{ListedResource, ResourcePage};
pub use prompts::RenderedPrompt;
pub use read::FileText;
pub use suggest::{QuerySuggestion, Suggestions};

/// One page of indexed files; answers [`ResourcePage`].
pub const LIST_FILES: &ToolSpec = &list::TOOL;
/// One indexed file; answers [`FileText`].
pub const READ_FILE: &ToolSpec = &read::TOOL;
/// The entries of a folder; answers [`FolderList`].
pub const LIST_FOLDER: &ToolSpec = &folder::TOOL;
/// The definition and uses of a symbol; answers like the tool `navigate`.
pub const READ_SYMBOL: &ToolSpec =
    &ToolSpec { name: "resources/symbol", title: "Read a symbol", ..super::search::navigate::TOOL };
/// Values that match what was typed; answers [`Completions`].
pub const COMPLETE: &ToolSpec = &complete::TOOL;
/// The known facts of a file; answers [`KnownFile`].
pub const FILE_FACTS: &ToolSpec = &file_facts::TOOL;
/// Completions of the last word of a query; answers [`Suggestions`].
pub const COMPLETE_QUERY: &ToolSpec = &suggest::TOOL;
/// Searches one portable file; answers like the tool `search`.
pub const SEARCH_FILE: &ToolSpec = &super::search::search_file::TOOL;
/// Searches for a page; answers like the tool `search`, with facets and the texts of the chunks of what is shown.
pub const SEARCH_PAGE: &ToolSpec = &super::search::search_page::TOOL;
/// The API keys; answers `KeyList`.
pub const LIST_KEYS: &ToolSpec = &super::admin::keys::LIST;
/// A new API key; answers `CreatedKey`.
pub const CREATE_KEY: &ToolSpec = &super::admin::keys::CREATE;
/// Ends an API key; answers `RevokedKey`.
pub const REVOKE_KEY: &ToolSpec = &super::admin::keys::REVOKE;
/// The audited calls; answers `AuditPage`.
pub const LIST_AUDIT: &ToolSpec = &super::admin::audit_log::LIST;
/// Prompts for work with code; each answers [`RenderedPrompt`].
pub(crate) const FIND_CODE: &ToolSpec = &prompts::FIND_CODE;
pub(crate) const EXPLAIN_CODE: &ToolSpec = &prompts::EXPLAIN_CODE;
pub(crate) const ONBOARD: &ToolSpec = &prompts::ONBOARD;

/// Runs one of the operations of this module through the gate, as [`call`](super::call()) runs a tool.
///
/// # Errors
/// The [`Refusal`] says why the operation was not run.
pub async fn browse(app: &Arc<App>, request: Request) -> Result<Envelope, Refusal> {
    app.modules.operations().call(app, request).await
}

/// Returns `true` if `caller` may use `operation`; the lists of prompts and resources are empty otherwise, like the list of tools.
#[must_use]
pub fn is_open_to(operation: &ToolSpec, app: &App, caller: &Caller) -> bool {
    app.modules.operations().listed(&app.config, caller).any(|open| open.name == operation.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules;
    use crate::tools::Toolset;

    #[test]
    fn none_is_a_tool_and_each_belongs_to_its_toolset() {
        let (config, caller) =
            (contract::config::fuzzing::defaults(), Caller::local(crate::tools::Surface::Cli));
        let modules = modules::for_tests();
        for operation in modules.operations().listed(config, &caller) {
            assert!(modules.find_tool(operation.name).is_none(), "{}", operation.name);
            let toolset = match operation.name.split('/').next() {
                Some("keys" | "audit") => Toolset::ADMIN,
                _ => Toolset::SEARCH,
            };
            assert_eq!(operation.toolset, toolset, "{}", operation.name);
            let writes = matches!(operation.name, "keys/create" | "keys/revoke");
            assert_eq!(operation.effects.read_only, !writes, "{}", operation.name);
        }
        assert!(modules.operations().find("search").is_none(), "and no tool is among them");
    }
}
