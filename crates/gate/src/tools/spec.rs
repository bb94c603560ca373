//! The specification of a tool: one entry of the tool list.

use futures::future::BoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::context::Call;
use super::next::AnsweredCall;
use super::toolset::Toolset;
use super::visibility::ToolVisibility;
use crate::app::Bulkhead;
use contract::config::{Config, Timeouts};
use contract::{Fault, Next};
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
    /// The time limit of `[timeouts]` that applies, in milliseconds; 0 means no limit.
    pub timeout: fn(&Timeouts) -> u64,
    /// A JSON-RPC method that also calls it and returns the result without an envelope: the tool's name with `/` instead of one
    /// or more `_`.
    pub method: Option<&'static str>,
    /// Deprecated names. They can be called, with the warning `deprecated_alias`, and are never listed.
    pub aliases: &'static [&'static str],
    /// `true` for an entry that exists only to keep a name: a narrowed list omits it, because each listed tool costs the model tokens.
    pub is_deprecated: bool,
    /// `true` if its texts may contain NUL, because it removes it from texts that people wrote.
    pub accepts_nul: bool,
    /// Proposes the next call after a success; the first proposal that the caller may call and that would not repeat this one is shown.
    pub next: Option<fn(&AnsweredCall, &Value) -> Vec<Next>>,
    /// JSON Schema of the arguments.
    pub input: fn() -> Map<String, Value>,
    /// JSON Schema of the `result`.
    pub output: fn() -> Map<String, Value>,
    /// Runs the tool on arguments that are valid for `input`.
    pub run: fn(Call, Value) -> BoxFuture<'static, Result<Value, Fault>>,
}

impl ToolSpec {
    /// A tool that reads, with what most tools have in common: the base of others, which have a name, schemas and a function of their own.
    pub const BASE: Self = Self {
        name: "",
        title: "",
        description: "",
        toolset: Toolset::listed(""),
        effects: Effects::READS,
        scope: Scope::Admin,
        bulkhead: Bulkhead::Search,
        timeout: |limits| limits.default_ms,
        method: None,
        aliases: &[],
        is_deprecated: false,
        accepts_nul: false,
        next: None,
        input: Map::new,
        output: Map::new,
        run: |_, _| {
            Box::pin(async { Err(Fault::internal("The tool has no function.", "it is the base of others")) })
        },
    };

    /// The time limit in milliseconds; `None` if the setting is 0, which means no limit.
    #[must_use]
    pub(super) fn time_limit(&self, config: &Config) -> Option<u64> {
        Some((self.timeout)(&config.timeouts)).filter(|limit| *limit > 0)
    }

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
    #[must_use]
    pub fn refusal_reason(&self, tool: &ToolSpec) -> Option<String> {
        if self.read_only && !tool.effects.read_only {
            return Some(format!("`{}` writes, but this connection is read-only.", tool.name));
        }
        match &self.toolsets {
            Some(shown) if !shown.contains(&tool.toolset) => Some(format!(
                "`{}` belongs to the toolset `{}`, which is not selected on this connection.",
                tool.name, tool.toolset.name
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

/// Runs a tool with typed input and output on JSON arguments.
///
/// The arguments are valid for the schema, so a failure to deserialize them means that schema and struct differ. It is still
/// reported as the client's error, with the message of serde.
///
/// # Errors
/// The fault of the tool; `INTERNAL` if its result cannot be serialized.
pub fn run_typed<I, O, F, Fut>(
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
