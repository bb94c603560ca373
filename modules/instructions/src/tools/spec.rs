//! Defaults of the catalog's tools in the tool list.

use futures::future::BoxFuture;
use serde_json::{Map, Value};

use super::TOOLSET;
use contract::Fault;
use gate::app::Bulkhead;
use gate::tools::{Call, Effects, ToolSpec};
use tenancy::Scope;

/// Name, method, title and description of a tool.
pub(super) type Names = (&'static str, &'static str, &'static str, &'static str);
/// Makes a schema.
type Schema = fn() -> Map<String, Value>;
/// Runs a tool.
type Run = fn(Call, Value) -> BoxFuture<'static, Result<Value, Fault>>;

/// A tool that reads.
pub(super) const fn reading(names: Names, input: Schema, output: Schema, run: Run) -> ToolSpec {
    let (name, method, title, description) = names;
    ToolSpec {
        name,
        title,
        description,
        toolset: TOOLSET,
        effects: Effects::READS,
        scope: Scope::Instructions,
        bulkhead: Bulkhead::Search,
        timeout: |limits| limits.instructions_ms,
        method: Some(method),
        input,
        output,
        run,
        ..ToolSpec::BASE
    }
}

/// A tool that changes the catalog.
pub(super) const fn curating(
    names: Names,
    effects: Effects,
    input: Schema,
    output: Schema,
    run: Run,
) -> ToolSpec {
    ToolSpec {
        effects,
        scope: Scope::Curate,
        bulkhead: Bulkhead::Index,
        ..reading(names, input, output, run)
    }
}
