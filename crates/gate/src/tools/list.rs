//! The toolbox of a server: tools with their schemas, most used first, and which of them a caller sees.

use std::collections::HashMap;

use super::context::Caller;
use super::schema::{InputSchema, nearest_name};
use super::spec::ToolSpec;
use super::toolset::Toolset;
use contract::Refusal;
use contract::config::Config;

/// Tools with their compiled input schemas; a server offers one toolbox.
pub struct Toolbox {
    tools: Vec<&'static ToolSpec>,
    schemas: HashMap<&'static str, Result<InputSchema, String>>,
    /// The toolsets of the program, whether the toolbox has a tool of each or not.
    toolsets: Vec<Toolset>,
}

impl Toolbox {
    /// Compiles the schemas of these tools.
    pub(crate) fn new(tools: Vec<&'static ToolSpec>, toolsets: Vec<Toolset>) -> Self {
        let schemas = tools.iter().map(|tool| (tool.name, InputSchema::compile((tool.input)()))).collect();
        Self { tools, schemas, toolsets }
    }

    /// All tools, in order.
    #[must_use]
    pub fn all(&self) -> &[&'static ToolSpec] {
        &self.tools
    }

    /// The tools in the list of `caller`, in order: those that it may call from the toolsets that it names or, if it names
    /// none, from those that are listed by default. A narrowed list omits deprecated names.
    pub fn listed<'a>(
        &'a self,
        config: &'a Config,
        caller: &'a Caller,
    ) -> impl Iterator<Item = &'static ToolSpec> + 'a {
        let is_duplicate =
            |tool: &ToolSpec| tool.is_deprecated && caller.visibility.is_narrowed(&self.toolsets);
        let is_listed = |tool: &ToolSpec| caller.visibility.lists(tool.toolset);
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

    /// Checks whether another method has the same prefix as an unknown one, such as `notes/get` for `notes/nope`.
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

    /// Refuses a tool that `caller` may not call, listed or not.
    fn require_callable(&self, tool: &ToolSpec, config: &Config, caller: &Caller) -> Result<(), Refusal> {
        if !tool.toolset.is_enabled(config) {
            let toolset = tool.toolset.name;
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
