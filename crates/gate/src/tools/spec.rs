//! The specification of a tool: one entry of the tool list.

use futures::future::BoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::context::Call;
use super::toolset::Toolset;
use super::visibility::ToolVisibility;
use crate::app::Bulkhead;
use contract::Fault;
use contract::config::{Config, Timeouts};
use tenancy::Scope;

/// One tool. Schemas, routes, documents and tests are derived from it.
pub struct ToolSpec {
    /// Stable name in snake case, at most 40 characters: clients add a prefix and truncate names longer than 64 characters.
    pub name: &'static str,
    /// Title for people.
    pub title: &'static str,
    /// Description for models: the words that make a model choose the tool come first; under 2 KB.
    pub description: &'static str,
    /// The family it belongs to; operators and clients select tools by toolset.
    pub toolset: Toolset,
    /// Its changes and accesses.
    pub effects: Effects,
    /// The scope that a key needs.
    pub scope: Scope,
    /// The queue in which its calls wait for a slot.
    pub bulkhead: Bulkhead,
    /// The time limit of `[timeouts]` that applies.
    pub timeout: TimeoutClass,
    /// A JSON-RPC method that also calls it and returns the result without an envelope: the tool's name with `/` instead of one
    /// or more `_`.
    pub method: Option<&'static str>,
    /// Deprecated names. They can be called, with the warning `deprecated_alias`, and are never listed.
    pub aliases: &'static [&'static str],
    /// JSON Schema of the arguments.
    pub input: fn() -> Map<String, Value>,
    /// JSON Schema of the `result`.
    pub output: fn() -> Map<String, Value>,
    /// Runs the tool on arguments that are valid for `input`.
    pub run: fn(Call, Value) -> BoxFuture<'static, Result<Value, Fault>>,
}

impl ToolSpec {
    /// The queue in which a call with these arguments waits. A call that only requests an index run is short, so it waits with
    /// the searches; the run itself waits for a slot of its own.
    pub(super) fn bulkhead_for(&self, arguments: &Value) -> Bulkhead {
        match self.bulkhead {
            Bulkhead::Index if arguments["wait"] == false => Bulkhead::Search,
            bulkhead => bulkhead,
        }
    }
}

impl ToolVisibility {
    /// Returns the reason why a tool cannot be called; `None` if it can.
    pub(super) fn refusal_reason(&self, tool: &ToolSpec) -> Option<String> {
        if self.read_only && !tool.effects.read_only {
            return Some(format!("`{}` writes, but this connection is read-only.", tool.name));
        }
        match &self.toolsets {
            Some(shown) if !shown.contains(&tool.toolset) => Some(format!(
                "`{}` belongs to the toolset `{}`, which is not selected on this connection.",
                tool.name,
                tool.toolset.as_str()
            )),
            _ => None,
        }
    }
}

/// The four annotation hints of MCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Effects {
    /// Does not change anything.
    pub read_only: bool,
    /// May delete data.
    pub destructive: bool,
    /// Repeating the call with the same arguments changes nothing more.
    pub idempotent: bool,
    /// Accesses other systems, such as download servers.
    pub open_world: bool,
}

impl Effects {
    /// Only reads.
    pub const READS: Self = Self { read_only: true, destructive: false, idempotent: true, open_world: false };
    /// Adds or updates; deletes nothing.
    pub const WRITES: Self =
        Self { read_only: false, destructive: false, idempotent: true, open_world: false };
    /// Adds what it downloads.
    pub const FETCHES: Self = Self { open_world: true, ..Self::WRITES };
    /// Deletes data.
    pub const REMOVES: Self = Self { destructive: true, ..Self::WRITES };
}

/// The time limit that applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeoutClass {
    /// `timeouts.default_ms`.
    Default,
    /// `timeouts.search_ms`.
    Search,
    /// `timeouts.index_ms`.
    Index,
    /// `timeouts.artifacts_ms`.
    Artifacts,
    /// `timeouts.triage_ms`.
    Triage,
    /// `timeouts.instructions_ms`.
    Instructions,
    /// `timeouts.launch_ms`.
    Launch,
}

impl TimeoutClass {
    /// The time limit in milliseconds; `None` if the setting is 0, which means no limit.
    #[must_use]
    pub fn millis(self, config: &Config) -> Option<u64> {
        let Timeouts { default_ms, index_ms, search_ms, artifacts_ms, triage_ms, instructions_ms, launch_ms } =
            config.timeouts;
        let limit = match self {
            Self::Default => default_ms,
            Self::Search => search_ms,
            Self::Index => index_ms,
            Self::Artifacts => artifacts_ms,
            Self::Triage => triage_ms,
            Self::Instructions => instructions_ms,
            Self::Launch => launch_ms,
        };
        (limit > 0).then_some(limit)
    }
}

/// Runs a tool with typed input and output on JSON arguments.
///
/// The arguments are valid for the schema, so a failure to deserialize them means that schema and struct differ. It is still
/// reported as the client's error, with the message of serde.
pub(super) fn run_typed<I, O, F, Fut>(
    call: Call,
    arguments: Value,
    run: F,
) -> BoxFuture<'static, Result<Value, Fault>>
where
    I: DeserializeOwned + Send + 'static,
    O: Serialize,
    F: FnOnce(Call, I) -> Fut + Send + 'static,
    Fut: Future<Output = Result<O, Fault>> + Send,
{
    Box::pin(async move {
        let input = serde_json::from_value(arguments).map_err(|error| {
            Fault::new(contract::ErrorCode::InvalidRequest, format!("The arguments are invalid: {error}."))
        })?;
        let output = run(call, input).await?;
        serde_json::to_value(output)
            .map_err(|error| Fault::internal("The result could not be serialized.", error))
    })
}
