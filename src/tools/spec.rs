//! What one entry of the tool list is made of.

use futures::future::BoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::context::Call;
use crate::app::Bulkhead;
use contract::Fault;
use contract::config::{Config, Timeouts};
use tenancy::Scope;

/// One operation: everything that schemas, routes, documents and tests are derived from.
pub struct ToolSpec {
    /// Stable name, snake case.
    pub name: &'static str,
    /// For people.
    pub title: &'static str,
    /// For models: trigger words first, under 2 KB.
    pub description: &'static str,
    /// The family it belongs to; operators and clients narrow the list by it.
    pub toolset: Toolset,
    /// What it does to the world.
    pub effects: Effects,
    /// What a key must allow for it.
    pub scope: Scope,
    /// Which queue admits it.
    pub bulkhead: Bulkhead,
    /// Which limit of `[timeouts]` holds.
    pub timeout: TimeoutClass,
    /// JSON Schema of the arguments.
    pub input: fn() -> Map<String, Value>,
    /// JSON Schema of the `result`.
    pub output: fn() -> Map<String, Value>,
    /// Runs it on arguments that fit `input`.
    pub run: fn(Call, Value) -> BoxFuture<'static, Result<Value, Fault>>,
}

/// A family of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Toolset {
    /// Questions about code.
    Search,
    /// Building and watching indexes.
    Index,
    /// Models, dictionaries, extensions and portable index files.
    Artifacts,
    /// Security findings and decisions.
    Triage,
    /// Keeping an installation.
    Admin,
}

impl Toolset {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Search, Self::Index, Self::Artifacts, Self::Triage, Self::Admin];

    /// As settings, headers and URLs name it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::Index => "index",
            Self::Artifacts => "artifacts",
            Self::Triage => "triage",
            Self::Admin => "admin",
        }
    }
}

/// The four annotation hints of MCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Effects {
    /// Changes nothing.
    pub read_only: bool,
    /// May destroy something.
    pub destructive: bool,
    /// A second equal call changes nothing more.
    pub idempotent: bool,
    /// Talks to the world outside.
    pub open_world: bool,
}

impl Effects {
    /// Only looks.
    pub const READS: Self = Self { read_only: true, destructive: false, idempotent: true, open_world: false };
    /// Adds or refreshes; nothing is lost.
    pub const WRITES: Self =
        Self { read_only: false, destructive: false, idempotent: true, open_world: false };
    /// Adds what it fetches from outside.
    pub const FETCHES: Self = Self { open_world: true, ..Self::WRITES };
    /// Takes something away.
    pub const REMOVES: Self = Self { destructive: true, ..Self::WRITES };
}

/// Which limit holds.
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
}

impl TimeoutClass {
    /// The limit in milliseconds, if there is one.
    #[must_use]
    pub fn millis(self, config: &Config) -> Option<u64> {
        let Timeouts { default_ms, index_ms, search_ms, artifacts_ms, triage_ms } = config.timeouts;
        let limit = match self {
            Self::Default => default_ms,
            Self::Search => search_ms,
            Self::Index => index_ms,
            Self::Artifacts => artifacts_ms,
            Self::Triage => triage_ms,
        };
        (limit > 0).then_some(limit)
    }
}

/// Adapts a typed `run` to the list's untyped one.
///
/// The arguments have passed the schema, so a failure to read them is a gap between schema and
/// struct; it is still answered as the client's error, with serde's own words.
pub(super) fn typed<I, O, F, Fut>(
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
            Fault::new(contract::ErrorCode::InvalidRequest, format!("The arguments do not fit: {error}."))
        })?;
        let output = run(call, input).await?;
        serde_json::to_value(output)
            .map_err(|error| Fault::internal("The answer could not be written.", error))
    })
}
