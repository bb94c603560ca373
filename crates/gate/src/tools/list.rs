//! The list of all tools, most used first; clients see them in this order.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::context::Caller;
use super::schema::{InputSchema, nearest_name};
use super::spec::ToolSpec;
use super::toolset::{OPT_IN_TOOLSETS, OptInToolset, Toolset};
use super::{admin, artifacts, index, instructions, launch, search, status, triage};
use contract::Refusal;
use contract::config::Config;

/// Every tool.
pub static LIST: &[&ToolSpec] = &[
    &search::search::TOOL,
    &search::search_code::TOOL,
    &search::show_file::TOOL,
    &search::navigate::TOOL,
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
    &index::build_index::INDEX_BUILD,
    &instructions::list::TOOL,
    &instructions::get::TOOL,
    &instructions::search::TOOL,
    &instructions::export::TOOL,
    &instructions::diff::TOOL,
    &instructions::checksums::TOOL,
    &instructions::import::TOOL,
    &instructions::remove::TOOL,
    &instructions::repair::TOOL,
    &instructions::reload::TOOL,
    &instructions::review::TOOL,
    &instructions::verify::TOOL,
    &instructions::gates::TOOL,
    &instructions::track::TOOL,
    &instructions::track_batch::TOOL,
    &instructions::hotset::TOOL,
    &instructions::flush::TOOL,
    &instructions::metrics::TOOL,
    &instructions::meta_tools::TOOL,
    &launch::start_run::TOOL,
    &launch::start_from_product::TOOL,
    &launch::start_from_github::TOOL,
    &launch::get_status::TOOL,
    &launch::list_runs::TOOL,
    &launch::get_artifact::TOOL,
    &launch::validate::TOOL,
    &launch::fix_next::TOOL,
    &launch::resume::TOOL,
    &launch::cancel::TOOL,
    &launch::open_pr::TOOL,
];

/// Deprecated names with an entry of their own instead of a place in [`ToolSpec::aliases`]: the contract counts `index_build`
/// among the names that lists show, so removing it from the default list would break the contract. A narrowed list leaves it
/// out, because each listed tool costs the model tokens; it can still be called.
const DEPRECATED_NAMES: [&str; 1] = [index::build_index::INDEX_BUILD.name];

/// The tool of [`LIST`] with this name.
#[must_use]
pub fn find_tool(name: &str) -> Option<&'static ToolSpec> {
    LIST.iter().copied().find(|tool| tool.name == name)
}

/// Tools with their compiled input schemas; a server offers one toolbox.
pub struct Toolbox {
    tools: Vec<&'static ToolSpec>,
    schemas: HashMap<&'static str, Result<InputSchema, String>>,
    opt_in: &'static [OptInToolset],
}

impl Toolbox {
    /// The tools of [`LIST`]; compiled once per process.
    #[must_use]
    pub fn standard() -> &'static Self {
        static STANDARD: OnceLock<Toolbox> = OnceLock::new();
        STANDARD.get_or_init(|| Self::with(&[]))
    }

    /// The tools of [`LIST`], followed by others, such as the fixtures of conformance tests.
    #[must_use]
    pub fn with(more: &[&'static ToolSpec]) -> Self {
        Self::new(LIST.iter().chain(more).copied().collect())
    }

    /// Replaces [`OPT_IN_TOOLSETS`], for tests.
    #[must_use]
    pub fn with_opt_in(self, opt_in: &'static [OptInToolset]) -> Self {
        Self { opt_in, ..self }
    }

    /// Compiles the schemas of these tools.
    pub(super) fn new(tools: Vec<&'static ToolSpec>) -> Self {
        let schemas = tools.iter().map(|tool| (tool.name, InputSchema::compile((tool.input)()))).collect();
        Self { tools, schemas, opt_in: OPT_IN_TOOLSETS }
    }

    /// The tools in the list of `caller`, in order: those that it may call from the toolsets that it names or, if it names
    /// none, from those that are listed by default. A narrowed list omits deprecated names.
    pub fn listed<'a>(
        &'a self,
        config: &'a Config,
        caller: &'a Caller,
    ) -> impl Iterator<Item = &'static ToolSpec> + 'a {
        let is_duplicate =
            |tool: &ToolSpec| caller.visibility.is_narrowed() && DEPRECATED_NAMES.contains(&tool.name);
        let is_listed =
            |tool: &ToolSpec| caller.visibility.lists(tool.toolset, self.opt_in(tool.toolset).is_none());
        self.tools.iter().copied().filter(move |tool| {
            is_listed(tool) && self.require_callable(tool, config, caller).is_ok() && !is_duplicate(tool)
        })
    }

    /// The tool with this name or alias, whether the caller may call it or not.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&'static ToolSpec> {
        self.tools.iter().copied().find(|tool| tool.name == name || tool.aliases.contains(&name))
    }

    /// The tool that a JSON-RPC method calls, whether the caller may call it or not.
    #[must_use]
    pub fn find_method(&self, method: &str) -> Option<&'static ToolSpec> {
        self.tools.iter().copied().find(|tool| tool.method == Some(method))
    }

    /// Checks whether another method has the same prefix as an unknown one, such as `instructions/get` for `instructions/nope`.
    #[must_use]
    pub fn has_methods_beside(&self, method: &str) -> bool {
        let prefix = |method: &str| method.split_once('/').map(|(prefix, _)| prefix.to_owned());
        let wanted_prefix = prefix(method);
        wanted_prefix.is_some()
            && self.tools.iter().filter_map(|tool| tool.method).any(|known| prefix(known) == wanted_prefix)
    }

    /// The methods that are spelled most like an unknown one, at most three.
    #[must_use]
    pub fn methods_near(&self, method: &str) -> Vec<&'static str> {
        const NEAR_MAX: usize = 3;
        let mut known: Vec<&str> = self.tools.iter().filter_map(|tool| tool.method).collect();
        known.sort_by_key(|known| strsim::levenshtein(known, method));
        known.truncate(NEAR_MAX);
        known
    }

    /// The tool with this name or alias, if `caller` may call it.
    pub(super) fn find_callable(
        &self,
        name: &str,
        config: &Config,
        caller: &Caller,
    ) -> Result<&'static ToolSpec, Refusal> {
        let Some(tool) = self.find(name) else {
            let nearest = nearest_name(name, self.listed(config, caller).map(|tool| tool.name));
            return Err(Refusal::UnknownTool { name: name.to_owned(), nearest });
        };
        self.require_callable(tool, config, caller).map(|()| tool)
    }

    /// Returns `true` if `caller` may call the tool with this name, listed or not.
    #[must_use]
    pub fn is_callable(&self, name: &str, config: &Config, caller: &Caller) -> bool {
        self.find(name).is_some_and(|tool| self.require_callable(tool, config, caller).is_ok())
    }

    /// The compiled input schema of a tool.
    pub(super) fn schema(&self, tool: &ToolSpec) -> Result<&InputSchema, &str> {
        match self.schemas.get(tool.name) {
            Some(Ok(schema)) => Ok(schema),
            Some(Err(defect)) => Err(defect),
            None => Err("the tool is not in the list"),
        }
    }

    fn opt_in(&self, toolset: Toolset) -> Option<&'static OptInToolset> {
        self.opt_in.iter().find(|row| row.toolset == toolset)
    }

    /// Refuses a tool that `caller` may not call, listed or not.
    fn require_callable(&self, tool: &ToolSpec, config: &Config, caller: &Caller) -> Result<(), Refusal> {
        if self.opt_in(tool.toolset).is_some_and(|row| !(row.is_enabled)(config)) {
            let toolset = tool.toolset.as_str();
            return Err(Refusal::Disabled(format!(
                "`{}` belongs to the toolset `{toolset}`, which the operator has not enabled.",
                tool.name
            )));
        }
        if let Some(reason) = caller.visibility.refusal_reason(tool) {
            return Err(Refusal::Disabled(reason));
        }
        if caller.principal.has_scope(tool.scope) {
            return Ok(());
        }
        Err(Refusal::Forbidden(format!("`{}` needs a key with the scope `{}`.", tool.name, tool.scope)))
    }
}
