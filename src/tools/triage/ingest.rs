//! `triage_ingest`: what a scanner reports becomes records that `search` finds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::report;
use super::texts::refresh;
use crate::app::Bulkhead;
use crate::tools::project_id_arg::ProjectIdArg;
use crate::tools::spec::typed;
use crate::tools::{Call, Effects, ProgressUpdate, TimeoutClass, ToolSpec, Toolset, schema};
use contract::{ErrorCode, Fault};
use engine::triage::{self, Ingestion, ItemError, ParsedMeta, ROOT, Source};
use tenancy::Scope;

pub(crate) const TOOL: ToolSpec = ToolSpec {
    name: "triage_ingest",
    title: "Ingest security findings",
    description: "Read a security report (Dependabot, AWS Inspector, SARIF, generic JSON) into records: one a finding, updated in \
        place by its stable key. `search` with mode records and meta filters finds them. Broken items are reported; the others are kept.",
    toolset: Toolset::Triage,
    effects: Effects::WRITES,
    scope: Scope::Triage,
    bulkhead: Bulkhead::Index,
    timeout: TimeoutClass::Triage,
    input,
    output: schema::of_answer::<Output>,
    run: |call, arguments| typed(call, arguments, run),
};

/// The schema of the arguments, with every name that a source has.
fn input() -> Map<String, Value> {
    let mut schema = schema::of::<Input>();
    if let Some(source) = schema.get_mut("properties").and_then(|fields| fields.get_mut("source")) {
        source["enum"] = Source::NAMES.into();
    }
    schema
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Input {
    /// Format of the report.
    source: Source,
    /// The report's file: relative to the repository; absolute for operators.
    #[schemars(length(min = 1, max = 4096))]
    input_path: Option<String>,
    /// The report itself instead: JSON, or the file's text (also JSON lines).
    #[serde(default)]
    #[schemars(schema_with = "payload")]
    payload: Option<Value>,
    /// The repository of `inputPath`; default: the client's directory.
    #[schemars(length(min = 1, max = 4096))]
    repo_path: Option<String>,
    /// Project; omitted: the default workspace.
    #[serde(rename = "project_id")]
    project_id: Option<ProjectIdArg>,
    /// Holds for all items: service, env, team, owner, repo, exposure, fields of your own.
    meta: Option<Map<String, Value>>,
    /// Make the records searchable now; default true. Else the next ingestion or decision does.
    build_index: Option<bool>,
    /// false: write the text of every record again; default true.
    incremental: Option<bool>,
    /// Reserved.
    stub_embeddings: Option<bool>,
}

fn payload(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "type": ["object", "array", "string"] })
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Output {
    /// The format.
    source: Source,
    /// What `search` and `show_file` take as repoPath.
    repo: &'static str,
    /// Items in the report: the sum of the next four.
    total: usize,
    /// New records.
    written: usize,
    /// Records that changed.
    updated: usize,
    /// Records that were there with the same content.
    unchanged: usize,
    /// Items that are no records.
    errors: usize,
    /// Secrets replaced before anything was stored.
    secrets_redacted: u64,
    /// Ids of the records, in the order of the report.
    record_ids: Vec<String>,
    /// What is wrong with which item.
    error_details: Vec<ItemError>,
    /// True when the lists above name only the first ones.
    truncated: bool,
    /// What became searchable; absent without `buildIndex`.
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<Indexed>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Indexed {
    /// Records that can be found now.
    records: u64,
    /// Texts that were written.
    changed: u64,
    /// Texts that stayed.
    unchanged: u64,
    /// Texts that still lack a vector.
    vectors_pending: u64,
}

async fn run(call: Call, input: Input) -> Result<Output, Fault> {
    refuse_reserved(input.stub_embeddings)?;
    let project_id = input.project_id.as_deref();
    call.allowed_project(project_id).await?;
    let settings = &call.app.config.triage;
    let report = match (input.payload, input.input_path) {
        (Some(payload), None) => report::sent(payload, settings.input_bytes_max)?,
        (None, Some(path)) => report::in_file(&call, project_id, input.repo_path.as_deref(), &path).await?,
        _ => {
            return Err(Fault::new(ErrorCode::InvalidRequest, "Give either inputPath or payload.")
                .with_hint("payload is the report itself, for callers without a file on the server."));
        }
    };
    call.app.room().require(0).await?;
    let project = call.project_for_writing(project_id).await?;
    let store = call.app.store().await?;
    triage::prepare(store, &project).await?;
    let progress = |done: usize, total: usize| call.progress.report(step(done, total));
    let ingestion = Ingestion {
        store,
        project: &project,
        source: input.source,
        meta: ParsedMeta::new(input.meta.unwrap_or_default()),
        repo: report.repo,
        settings,
        redact: call.app.config.indexing.redact_secrets,
        clock: &*call.app.clock,
        cancel: &call.cancel,
        progress: &progress,
    };
    let done = triage::ingest(ingestion, report.bytes).await?;
    let indexed = if input.build_index.unwrap_or(true) {
        refresh(&call, &project, input.incremental == Some(false)).await?
    } else {
        None
    };
    let named = done.total - done.errors;
    Ok(Output {
        source: input.source,
        repo: ROOT,
        total: done.total,
        written: done.written,
        updated: done.updated,
        unchanged: done.unchanged,
        errors: done.errors,
        secrets_redacted: done.secrets_redacted,
        truncated: done.errors > done.error_details.len()
            || (named > done.record_ids.len() && done.record_ids.len() >= settings.listed_max),
        record_ids: done.record_ids,
        error_details: done.error_details,
        index: indexed.map(|report| Indexed {
            records: report.files,
            changed: report.files_changed,
            unchanged: report.files_unchanged,
            vectors_pending: report.vectors_pending,
        }),
    })
}

/// Refuses what only tests of the original could mean.
pub(super) fn refuse_reserved(stub_embeddings: Option<bool>) -> Result<(), Fault> {
    if stub_embeddings != Some(true) {
        return Ok(());
    }
    Err(Fault::new(ErrorCode::InvalidRequest, "`stubEmbeddings` is reserved.")
        .with_details(json!({ "field": "stubEmbeddings" }))
        .with_hint("Leave it out; the project's own model is used."))
}

/// The first of the two halves of an ingestion; the second is counted by files.
fn step(done: usize, total: usize) -> ProgressUpdate {
    let float = |count: usize| u32::try_from(count).map_or(f64::from(u32::MAX), f64::from);
    ProgressUpdate {
        phase: "records",
        done: float(done) / float(total.max(1)),
        total: None,
        message: format!("{done} of {total} items read."),
        detail: None,
    }
}
