//! A subsystem as one value: [`Module`]. The program has a table of them ([`Modules`]), and the gate names no module.
//!
//! A module is plain data and function pointers. What it adds to command line, HTTP and pages is in the value of the same name of the
//! surfaces. Its migrations and SQL are in the store, its settings in the contract.

use std::sync::{Arc, OnceLock};

use futures::future::BoxFuture;
use percent_encoding::percent_decode_str;
use serde_json::Value;

use crate::app::job_kind::JobKind;
use crate::app::{AUDIT, App, WriterKind};
use crate::tools::{ToolSpec, Toolbox, Toolset};
use contract::Fault;
use contract::config::Config;
use engine::indexing::RecordSource;
use tenancy::Principal;

/// A subsystem.
pub struct Module {
    /// Its name.
    pub name: &'static str,
    /// Toolsets of its own.
    pub toolsets: &'static [Toolset],
    /// Its tools, most used first: clients see them in this order.
    pub tools: &'static [&'static ToolSpec],
    /// Operations that surfaces call, but that are not tools.
    pub operations: &'static [&'static ToolSpec],
    /// Operations that MCP lists as prompts.
    pub prompts: &'static [&'static ToolSpec],
    /// Kinds of MCP resources.
    pub resources: &'static [&'static ResourceKind],
    /// Kinds of jobs.
    pub job_kinds: &'static [&'static JobKind],
    /// Texts that are indexed although they are not files.
    pub records: &'static [Records],
    /// Checks its settings before the program does anything else.
    pub check_settings: fn(&Config) -> Result<(), Fault>,
    /// Tasks that a server runs until it shuts down.
    pub background: &'static [BackgroundTask],
    /// Tasks that run beside the automatic refreshes of indexes, until the server shuts down.
    pub refreshes: &'static [BackgroundTask],
    /// Kinds of its background writers.
    pub writers: &'static [&'static WriterKind],
    /// Is called after each index run of a project.
    pub index_ended: Option<IndexEnded>,
    /// Is called after each call of a tool in its toolsets.
    pub call_ended: Option<fn(&App, &EndedCall<'_>)>,
    /// Is called at the end of a command of the command line.
    pub command_ended: Option<CommandEnded>,
}

/// A task of a server.
pub type BackgroundTask = fn(Arc<App>) -> BoxFuture<'static, ()>;

/// A function that is called after an index run of the project with this id.
pub type IndexEnded = for<'a> fn(&'a Arc<App>, &'a str) -> BoxFuture<'a, ()>;

/// A function that is called at the end of a command.
pub type CommandEnded = for<'a> fn(&'a Arc<App>) -> BoxFuture<'a, ()>;

impl Module {
    /// A module that adds nothing: the base of others.
    pub const EMPTY: Self = Self {
        name: "",
        toolsets: &[],
        tools: &[],
        operations: &[],
        prompts: &[],
        resources: &[],
        job_kinds: &[],
        records: &[],
        check_settings: |_| Ok(()),
        background: &[],
        refreshes: &[],
        writers: &[],
        index_ended: None,
        call_ended: None,
        command_ended: None,
    };
}

/// A record source of a module.
pub struct Records {
    /// The source.
    pub source: &'static RecordSource,
    /// Returns `true` if a principal may not read its records.
    pub is_hidden: fn(&Config, &Principal) -> bool,
}

/// A call that ended.
pub struct EndedCall<'a> {
    /// The tool.
    pub tool: &'a ToolSpec,
    /// The project; `default` for the default workspace or none.
    pub project: &'a str,
    /// `ok`, or the error code.
    pub outcome: &'static str,
    /// Duration in milliseconds.
    pub ms: f64,
}

/// A kind of MCP resource.
pub struct ResourceKind {
    /// The scheme with `://`, in lower case.
    pub scheme: &'static str,
    /// The templates of its URIs; errors name the last one.
    pub templates: &'static [ResourceTemplate],
    /// The operation that a caller must be able to run to see the templates.
    pub operation: &'static ToolSpec,
    /// The operation that completes the first argument of its templates, from `value` and `project_id`; it answers
    /// [`Completions`](crate::tools::browse::Completions).
    pub complete: Option<&'static ToolSpec>,
    /// Reads a URI without its scheme; the error is a sentence.
    pub parse: fn(&str) -> Result<ResourceRequest, &'static str>,
    /// Makes the content of the resource from the answer of the operation.
    pub render: fn(&ResourceRequest, Value) -> Result<ResourceText, Fault>,
}

/// A template of resource URIs.
pub struct ResourceTemplate {
    /// The template by RFC 6570.
    pub uri: &'static str,
    /// Its name for programs.
    pub name: &'static str,
    /// Its title for people.
    pub title: &'static str,
    /// Its description for models.
    pub description: &'static str,
    /// The media type, if all its resources have the same.
    pub mime_type: Option<&'static str>,
    /// The names of its arguments.
    pub arguments: &'static [&'static str],
}

/// The call that reads a resource.
pub struct ResourceRequest {
    /// The operation.
    pub operation: &'static ToolSpec,
    /// Its arguments.
    pub arguments: Value,
}

/// The content of a resource.
pub struct ResourceText {
    /// Text or bytes.
    pub body: ResourceBody,
    /// The media type.
    pub mime_type: String,
    /// The field `_meta`.
    pub meta: Option<Value>,
}

/// The body of a resource.
pub enum ResourceBody {
    /// Text.
    Text(String),
    /// Bytes, in base64.
    Blob(String),
}

/// Decodes a part of a resource URI.
///
/// # Errors
/// The reason, as a sentence.
pub fn uri_decoded(text: &str) -> Result<String, &'static str> {
    let whole =
        |rest: &str| rest.as_bytes().iter().take(2).filter(|byte| byte.is_ascii_hexdigit()).count() == 2;
    if !text.split('%').skip(1).all(whole) {
        return Err("A `%` in the URI is not followed by two hexadecimal digits.");
    }
    match percent_decode_str(text).decode_utf8() {
        Ok(decoded) => Ok(decoded.into_owned()),
        Err(_) => Err("The decoded URI is not valid UTF-8."),
    }
}

/// The modules of a program, in the order in which clients see their tools.
pub struct Modules {
    list: Vec<&'static Module>,
    job_kinds: Vec<&'static JobKind>,
    tools: OnceLock<Toolbox>,
    operations: OnceLock<Toolbox>,
}

impl Modules {
    /// The table of these modules.
    #[must_use]
    pub fn new(list: Vec<&'static Module>) -> Self {
        let job_kinds = list.iter().flat_map(|module| module.job_kinds).copied().collect();
        Self { list, job_kinds, tools: OnceLock::new(), operations: OnceLock::new() }
    }

    /// The modules, in order.
    pub fn iter(&self) -> impl Iterator<Item = &'static Module> + Clone {
        self.list.iter().copied()
    }

    /// The tools; their schemas are compiled once.
    pub fn tools(&self) -> &Toolbox {
        self.tools.get_or_init(|| self.tools_and(&[]))
    }

    /// The tools, followed by others, such as the fixtures of conformance tests.
    #[must_use]
    pub fn tools_and(&self, more: &[&'static ToolSpec]) -> Toolbox {
        let tools = self.iter().flat_map(|module| module.tools).chain(more).copied().collect();
        Toolbox::new(tools, self.toolsets())
    }

    /// All tools, in order.
    pub fn list_of_tools(&self) -> &[&'static ToolSpec] {
        self.tools().all()
    }

    /// The tool with this name, which is no alias.
    #[must_use]
    pub fn find_tool(&self, name: &str) -> Option<&'static ToolSpec> {
        self.iter().flat_map(|module| module.tools).copied().find(|tool| tool.name == name)
    }

    /// The operations, including the prompts.
    pub fn operations(&self) -> &Toolbox {
        self.operations.get_or_init(|| {
            let operations = self.iter().flat_map(|module| module.operations).copied();
            Toolbox::new(operations.chain(self.prompts()).collect(), self.toolsets())
        })
    }

    /// The prompts, in the order in which they are listed.
    pub fn prompts(&self) -> impl Iterator<Item = &'static ToolSpec> + Clone {
        self.iter().flat_map(|module| module.prompts).copied()
    }

    /// The kinds of MCP resources.
    pub fn resources(&self) -> impl Iterator<Item = &'static ResourceKind> + Clone {
        self.iter().flat_map(|module| module.resources).copied()
    }

    /// The kinds of background writers: that of the audit log, and those of modules.
    pub fn writer_kinds(&self) -> impl Iterator<Item = &'static WriterKind> + Clone {
        std::iter::once(&AUDIT).chain(self.iter().flat_map(|module| module.writers).copied())
    }

    /// The kinds of jobs.
    #[must_use]
    pub fn job_kinds(&self) -> &[&'static JobKind] {
        &self.job_kinds
    }

    /// The record sources.
    pub fn record_sources(&self) -> impl Iterator<Item = &'static RecordSource> + Clone {
        self.records().map(|records| records.source)
    }

    /// The record sources, with their rules.
    pub(crate) fn records(&self) -> impl Iterator<Item = &'static Records> + Clone {
        self.iter().flat_map(|module| module.records)
    }

    /// The toolsets, in the order in which messages list them.
    #[must_use]
    pub fn toolsets(&self) -> Vec<Toolset> {
        self.iter().flat_map(|module| module.toolsets).copied().collect()
    }

    /// The module that a toolset belongs to.
    pub(crate) fn with_toolset(&self, toolset: Toolset) -> Option<&'static Module> {
        self.iter().find(|module| module.toolsets.contains(&toolset))
    }

    /// Checks the settings of all modules.
    ///
    /// # Errors
    /// The fault of the first module that refuses its settings.
    pub fn check_settings(&self, config: &Config) -> Result<(), Fault> {
        self.iter().try_for_each(|module| (module.check_settings)(config))
    }
}
