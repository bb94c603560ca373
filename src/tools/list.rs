//! The list of tools, most used first; this is the order clients see.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::context::Caller;
use super::schema::{InputSchema, nearest};
use super::spec::ToolSpec;
use super::{admin, artifacts, index, search, status, triage};
use contract::Refusal;

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
    &triage::ingest::TOOL,
    &triage::decision::TOOL,
    &triage::context_pack::TOOL,
    &artifacts::build_sqlite_index::TOOL,
    &artifacts::compact_sqlite_index::TOOL,
    &admin::report_artifacts::TOOL,
    &admin::config_status::TOOL,
    &admin::cache_gc::TOOL,
    &admin::clean_artifacts::TOOL,
    &admin::bootstrap::TOOL,
    &artifacts::download_models::TOOL,
    &artifacts::download_dictionaries::TOOL,
    &artifacts::download_extensions::TOOL,
    &artifacts::verify_extensions::TOOL,
    &index::build_index::OLDER_NAME,
];

/// Older names of other tools. Whoever narrows the list pays for no tool twice: these are called, and not listed.
const OLDER_NAMES: [&str; 1] = [index::build_index::OLDER_NAME.name];

/// The tool called `name`.
#[must_use]
pub fn find(name: &str) -> Option<&'static ToolSpec> {
    LIST.iter().copied().find(|tool| tool.name == name)
}

/// Tools with their compiled schemas: what a server mounts.
pub struct Toolbox {
    tools: Vec<&'static ToolSpec>,
    schemas: HashMap<&'static str, Result<InputSchema, String>>,
}

impl Toolbox {
    /// [`LIST`]; compiled once a process.
    #[must_use]
    pub fn standard() -> &'static Self {
        static STANDARD: OnceLock<Toolbox> = OnceLock::new();
        STANDARD.get_or_init(|| Self::with(&[]))
    }

    /// [`LIST`] and more tools after it, for a server of one's own; conformance tests mount their fixtures so.
    #[must_use]
    pub fn with(more: &[&'static ToolSpec]) -> Self {
        Self::of(LIST.iter().chain(more).copied().collect())
    }

    /// Only these.
    pub(super) fn of(tools: Vec<&'static ToolSpec>) -> Self {
        let schemas = tools.iter().map(|tool| (tool.name, InputSchema::compile((tool.input)()))).collect();
        Self { tools, schemas }
    }

    /// The tools that `caller` may call, in order; without older names where the caller's list is narrowed.
    pub fn visible<'a>(&'a self, caller: &'a Caller) -> impl Iterator<Item = &'static ToolSpec> + 'a {
        let twice = |tool: &ToolSpec| caller.view.is_narrowed() && OLDER_NAMES.contains(&tool.name);
        self.tools.iter().copied().filter(move |tool| allowed(tool, caller).is_ok() && !twice(tool))
    }

    /// The tool called `name`, whoever asks.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&'static ToolSpec> {
        self.tools.iter().copied().find(|tool| tool.name == name)
    }

    /// The tool called `name`, if it exists and `caller` may call it.
    pub(super) fn enabled(&self, name: &str, caller: &Caller) -> Result<&'static ToolSpec, Refusal> {
        let Some(tool) = self.find(name) else {
            let nearest = nearest(name, self.visible(caller).map(|tool| tool.name));
            return Err(Refusal::UnknownTool { name: name.to_owned(), nearest });
        };
        allowed(tool, caller).map(|()| tool)
    }

    /// The compiled input schema of a tool.
    pub(super) fn schema(&self, tool: &ToolSpec) -> Result<&InputSchema, &str> {
        match self.schemas.get(tool.name) {
            Some(Ok(schema)) => Ok(schema),
            Some(Err(defect)) => Err(defect),
            None => Err("the tool is not in the list"),
        }
    }
}

fn allowed(tool: &ToolSpec, caller: &Caller) -> Result<(), Refusal> {
    if let Some(reason) = caller.view.refuses(tool) {
        return Err(Refusal::Disabled(reason));
    }
    if caller.principal.may(tool.scope) {
        return Ok(());
    }
    Err(Refusal::Forbidden(format!("`{}` needs a key with the scope `{}`.", tool.name, tool.scope)))
}
