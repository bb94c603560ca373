//! `triage_ingest`: turns the report of a scanner into records that `search` finds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::TOOLSET;
use super::refresh::refresh_records;
use super::scanner_report::{ScannerReport, report_from_file, report_from_payload};
use crate::findings::{
    self, FindingSource, IngestRequest, ItemError, ParsedMeta, RECORDS_ROOT, Report, Split,
};
use contract::{ErrorCode, Fault, Warning};
use gate::app::{Bulkhead, blocking};
use gate::tools::for_modules::ProjectIdArg;
use gate::tools::for_modules::run_typed;
use gate::tools::{Call, Effects, ProgressUpdate, ToolSpec, schema};
use tenancy::Scope;

pub(crate) const TOOL: ToolSpec = ToolSpec {
    name: "triage_ingest",
    title: "Ingest security findings",
    description: "Import a security report (SARIF, Dependabot, AWS Inspector, JSON of scanners, generic JSON): one record per finding, updated in \
        place, and findings that a scanner no longer reports become fixed. `search` with mode records and meta filters finds them. Reports broken items and imports the others.",
    toolset: TOOLSET,
    effects: Effects::WRITES,
    scope: Scope::Triage,
    bulkhead: Bulkhead::Index,
    timeout: |limits| limits.triage_ms,
    input,
    output: schema::generate_output_schema::<TriageIngestOutput>,
    run: |call, arguments| run_typed(call, arguments, triage_ingest),
    accepts_nul: true,
    next: Some(|call, result| {
        let first = result.pointer("/recordIds/0").filter(|id| !id.is_null());
        first.map(|id| call.call("triage_context_pack", json!({ "recordId": id }))).into_iter().collect()
    }),
    ..ToolSpec::BASE
};

/// The schema of the arguments; `source` also accepts aliases, which the derived schema omits.
fn input() -> Map<String, Value> {
    let mut schema = schema::generate_schema::<TriageIngestInput>();
    if let Some(source) = schema.get_mut("properties").and_then(|fields| fields.get_mut("source")) {
        source["enum"] = FindingSource::NAMES.into();
    }
    schema
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct TriageIngestInput {
    /// Format of the report.
    source: FindingSource,
    /// File with the report: relative to the repository; for operators also absolute.
    #[schemars(length(min = 1, max = 4096))]
    input_path: Option<String>,
    /// The report itself: JSON, or the text of a file (also JSON lines).
    #[serde(default)]
    #[schemars(schema_with = "payload_schema")]
    payload: Option<Value>,
    /// The repository of `inputPath`; default: the client's working directory.
    #[schemars(length(min = 1, max = 4096))]
    repo_path: Option<String>,
    /// Project; default: the session's.
    #[serde(rename = "project_id")]
    project_id: Option<ProjectIdArg>,
    /// Applies to all items: service, env, team, owner, repo, exposure, other fields of your choice.
    meta: Option<Map<String, Value>>,
    /// Make the records searchable now; default true. Otherwise the next ingestion or decision does.
    build_index: Option<bool>,
    /// false: index every record again; default true.
    incremental: Option<bool>,
    /// Reserved.
    stub_embeddings: Option<bool>,
}

fn payload_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "type": ["object", "array", "string"] })
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct TriageIngestOutput {
    /// Format of the report.
    source: FindingSource,
    /// repoPath of the records for `search` and `show_file`.
    repo: &'static str,
    /// Items in the report: the sum of the next four numbers.
    total: usize,
    /// New records.
    written: usize,
    /// Records that changed.
    updated: usize,
    /// Records that already existed with the same content.
    unchanged: usize,
    /// Items that could not be read.
    errors: usize,
    /// Secrets that were redacted before anything was stored.
    secrets_redacted: u64,
    /// Ids of the records, in the order of the report.
    record_ids: Vec<String>,
    /// The items that could not be read, and why.
    error_details: Vec<ItemError>,
    /// True if the two lists above are cut.
    truncated: bool,
    /// Findings of earlier reports of the same tool and category that this one no longer has; their status is now `fixed`.
    fixed: usize,
    /// Their record ids; at most as many as errors are listed.
    fixed_ids: Vec<String>,
    /// Records of older versions that were several findings, and what those are now.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    split: Vec<Split>,
    /// Result of indexing the records; absent with `buildIndex: false`.
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<IndexedRecords>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct IndexedRecords {
    /// Searchable records.
    records: u64,
    /// Records whose text was indexed again.
    changed: u64,
    /// Records whose text is unchanged.
    unchanged: u64,
    /// Texts that have no vector yet.
    vectors_pending: u64,
}

async fn triage_ingest(call: Call, input: TriageIngestInput) -> Result<TriageIngestOutput, Fault> {
    refuse_stub_embeddings(input.stub_embeddings)?;
    let project_id = input.project_id.as_deref();
    call.allowed_project(project_id).await?;
    let settings = &call.app.config.triage;
    let ScannerReport { bytes, repo } = match (input.payload, input.input_path) {
        (Some(payload), None) => report_from_payload(payload, settings.input_bytes_max)?,
        (None, Some(path)) => report_from_file(&call, project_id, input.repo_path.as_deref(), &path).await?,
        _ => {
            return Err(Fault::new(ErrorCode::InvalidRequest, "The call needs either inputPath or payload.")
                .with_hint("Use payload to send the report itself if it is not a file on the server."));
        }
    };
    let (source, items_max) = (input.source, settings.items_max);
    let report = blocking(move || Report::read(bytes, source, items_max)).await?;
    call.app.disk_space().require(0).await?;
    let project = call.project_for_writing(project_id).await?;
    let store = call.app.store().await?;
    findings::provision_tables(store, &project).await?;
    let progress = |done: usize, total: usize| call.progress.report(ingest_progress(done, total));
    let ingestion = IngestRequest {
        store,
        project: &project,
        meta: ParsedMeta::new(input.meta.unwrap_or_default()),
        repo,
        settings,
        redact: call.app.config.indexing.redact_secrets,
        clock: &*call.app.clock,
        cancel: &call.cancel,
        progress: &progress,
    };
    let done = findings::ingest(ingestion, report).await?;
    for warning in &done.warnings {
        call.warn(warning.clone());
    }
    if !done.split.is_empty() {
        call.warn(Warning::new("records_split", split_message(&done.split)));
    }
    let indexed = if input.build_index.unwrap_or(true) {
        refresh_records(&call, &project, input.incremental == Some(false)).await?
    } else {
        None
    };
    let record_count = done.total - done.errors;
    Ok(TriageIngestOutput {
        source,
        repo: RECORDS_ROOT,
        total: done.total,
        written: done.written,
        updated: done.updated,
        unchanged: done.unchanged,
        errors: done.errors,
        secrets_redacted: done.secrets_redacted,
        truncated: done.errors > done.error_details.len()
            || (record_count > done.record_ids.len() && done.record_ids.len() >= settings.listed_max),
        record_ids: done.record_ids,
        error_details: done.error_details,
        fixed: done.fixed,
        fixed_ids: done.fixed_ids,
        split: done.split,
        index: indexed.map(|report| IndexedRecords {
            records: report.files,
            changed: report.files_changed,
            unchanged: report.files_unchanged,
            vectors_pending: report.vectors_pending,
        }),
    })
}

/// Returns the notice about records that were split.
fn split_message(split: &[Split]) -> String {
    let decided = split.iter().filter(|it| it.decided).count();
    let records = if split.len() == 1 { "record was" } else { "records were" };
    format!(
        "{} {records} several findings, stored over each other by an older version. They are records of their own now \
         (`split`). Decisions stay with the old records ({decided} with decisions): check whether they hold for the others.",
        split.len()
    )
}

/// Refuses `stubEmbeddings: true`, which the contract reserves.
pub(super) fn refuse_stub_embeddings(stub_embeddings: Option<bool>) -> Result<(), Fault> {
    if stub_embeddings != Some(true) {
        return Ok(());
    }
    Err(Fault::new(ErrorCode::InvalidRequest, "`stubEmbeddings` is reserved.")
        .with_details(json!({ "field": "stubEmbeddings" }))
        .with_hint("Omit it; the project's model is used."))
}

/// Progress of reading the report, from 0 to 1; [`refresh_records`] continues from 1.
fn ingest_progress(done: usize, total: usize) -> ProgressUpdate {
    let float = |count: usize| u32::try_from(count).map_or(f64::from(u32::MAX), f64::from);
    ProgressUpdate {
        phase: "records",
        done: float(done) / float(total.max(1)),
        total: None,
        message: format!("{done} of {total} items read."),
        detail: None,
    }
}
