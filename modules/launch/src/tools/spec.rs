//! Defaults of the launch tools in the tool list.

use futures::future::BoxFuture;
use serde_json::{Map, Value};

use super::TOOLSET;
use contract::Fault;
use gate::app::Bulkhead;
use gate::tools::{Call, Effects, ToolSpec};
use tenancy::Scope;

/// Name, title and description of a tool.
pub(super) type Names = (&'static str, &'static str, &'static str);
/// Makes a schema.
type Schema = fn() -> Map<String, Value>;
/// Runs a tool.
type Run = fn(Call, Value) -> BoxFuture<'static, Result<Value, Fault>>;

/// A tool that reads runs.
pub(super) const fn reading(names: Names, input: Schema, output: Schema, run: Run) -> ToolSpec {
    let (name, title, description) = names;
    ToolSpec {
        name,
        title,
        description,
        toolset: TOOLSET,
        effects: Effects::READS,
        scope: Scope::Launch,
        bulkhead: Bulkhead::Search,
        timeout: |limits| limits.default_ms,
        input,
        output,
        run,
        ..ToolSpec::BASE
    }
}

/// A tool that starts runs or changes them.
pub(super) const fn changing(
    names: Names,
    effects: Effects,
    input: Schema,
    output: Schema,
    run: Run,
) -> ToolSpec {
    ToolSpec {
        effects,
        bulkhead: Bulkhead::Launch,
        timeout: |limits| limits.launch_ms,
        ..reading(names, input, output, run)
    }
}
