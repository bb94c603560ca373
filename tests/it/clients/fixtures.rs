//! The tools that the conformance suite expects by name, registered behind the same admission gate as the product's own.

use std::sync::OnceLock;
use std::time::Duration;

use contract::{ErrorCode, Fault};
use futures::FutureExt;
use futures::future::BoxFuture;
use gate::app::Bulkhead;
use gate::tools::{Call, Effects, ProgressUpdate, ToolSpec, Toolbox, Toolset};
use serde_json::{Map, Value, json};
use tenancy::Scope;

use crate::harness::modules;

type ToolFunction = fn(Call, Value) -> BoxFuture<'static, Result<Value, Fault>>;

/// The product's tools and the suite's.
pub(super) fn toolbox() -> &'static Toolbox {
    static TOOLBOX: OnceLock<Toolbox> = OnceLock::new();
    TOOLBOX
        .get_or_init(|| modules().tools_and(&[&SIMPLE_TEXT, &ERROR, &PROGRESS, &JSON_SCHEMA, &RECONNECTION]))
}

static SIMPLE_TEXT: ToolSpec = fixture("test_simple_text", no_arguments, |_, _| {
    answer_text("This is a simple text response for testing.")
});

static ERROR: ToolSpec = fixture("test_error_handling", no_arguments, |_, _| {
    async { Err(Fault::new(ErrorCode::IllegalState, "This tool intentionally returns an error for testing")) }
        .boxed()
});

static PROGRESS: ToolSpec = fixture("test_tool_with_progress", no_arguments, |call, _| {
    async move {
        for done in [0.0, 50.0, 100.0] {
            let message = format!("{done} of 100");
            call.progress.report(ProgressUpdate {
                phase: "test",
                done,
                total: Some(100.0),
                message,
                detail: None,
            });
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        answer_text("Done.").await
    }
    .boxed()
});

static JSON_SCHEMA: ToolSpec = fixture(
    "json_schema_2020_12_tool",
    || {
        object(json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "$defs": { "address": {
                "type": "object",
                "properties": { "street": { "type": "string" }, "city": { "type": "string" } }
            } },
            "properties": { "name": { "type": "string" }, "address": { "$ref": "#/$defs/address" } },
            "additionalProperties": false
        }))
    },
    |_, _| answer_text("Done."),
);

static RECONNECTION: ToolSpec = fixture("test_reconnection", no_arguments, |_, _| answer_text("Still here."));

const fn fixture(name: &'static str, input: fn() -> Map<String, Value>, run: ToolFunction) -> ToolSpec {
    ToolSpec {
        name,
        title: name,
        description: "Part of the conformance suite.",
        toolset: Toolset::SEARCH,
        effects: Effects::READS,
        scope: Scope::Search,
        bulkhead: Bulkhead::None,
        timeout: |limits| limits.default_ms,
        input,
        output: || object(json!({ "type": "object", "properties": { "text": { "type": "string" } } })),
        run,
        ..ToolSpec::BASE
    }
}

fn no_arguments() -> Map<String, Value> {
    object(json!({ "type": "object", "properties": {}, "additionalProperties": false }))
}

fn answer_text(text: &'static str) -> BoxFuture<'static, Result<Value, Fault>> {
    async move { Ok(json!({ "text": text })) }.boxed()
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}
