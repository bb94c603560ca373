//! `triage/findings` and `triage/finding`: findings for people, as a filtered list with counts and one by one.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use super::TOOLSET;
use crate::findings::{self, FindingDetail, FindingList, FindingSource, STATUSES};
use contract::Fault;
use gate::app::Bulkhead;
use gate::tools::for_modules::ProjectIdArg;
use gate::tools::for_modules::run_typed;
use gate::tools::{Call, Effects, ToolSpec, schema};
use store::triage::{BoardPage, FindingFilter, SEVERITIES};
use tenancy::Scope;

/// Maximum number of findings of an answer for one status, and by default.
const FINDINGS_MAX: i64 = 50;
/// Maximum number of decisions of an answer.
const DECISIONS_MAX: usize = 100;

/// Lists findings.
pub(crate) const LIST: ToolSpec = ToolSpec {
    name: "triage/findings",
    title: "List findings",
    description: "Security findings of a project, filtered and counted, by status and severity.",
    toolset: TOOLSET,
    effects: Effects::READS,
    scope: Scope::Triage,
    bulkhead: Bulkhead::Search,
    timeout: |limits| limits.search_ms,
    input: schema::generate_schema::<FindingsInput>,
    output: schema::generate_output_schema::<FindingList>,
    run: |call, arguments| run_typed(call, arguments, findings),
    ..ToolSpec::BASE
};

/// Reads one finding.
pub(crate) const READ: ToolSpec = ToolSpec {
    name: "triage/finding",
    title: "Read a finding",
    description: "A security finding with the decisions about it.",
    input: schema::generate_schema::<FindingInput>,
    output: schema::generate_output_schema::<FindingDetail>,
    run: |call, arguments| run_typed(call, arguments, finding),
    ..LIST
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FindingsInput {
    /// Only this status.
    #[serde(default)]
    #[schemars(schema_with = "status")]
    status: Option<String>,
    /// Only this severity; `other` stands for all texts without a name here.
    #[serde(default)]
    #[schemars(schema_with = "severity")]
    severity: Option<String>,
    /// Only this service; case does not count.
    #[schemars(length(min = 1, max = 1024))]
    service: Option<String>,
    /// Only reports of this format.
    source: Option<FindingSource>,
    /// Only findings with this text in the id or title of the vulnerability or the name of the package; case does not count.
    #[schemars(length(min = 1, max = 1024))]
    text: Option<String>,
    /// Findings of each status to skip.
    #[schemars(range(min = 0, max = 1_000_000))]
    offset: Option<i64>,
    /// Most findings of each status; default 50.
    #[schemars(range(min = 1, max = FINDINGS_MAX))]
    limit: Option<i64>,
    /// Project; default: the session's.
    project_id: Option<ProjectIdArg>,
}

fn status(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": STATUSES })
}

fn severity(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": SEVERITIES })
}

async fn findings(call: Call, input: FindingsInput) -> Result<FindingList, Fault> {
    let project = call.project(input.project_id.as_deref()).await?;
    let filter = FindingFilter {
        service: input.service,
        source: input.source.map(|source| source.as_str().to_owned()),
        text: input.text,
    };
    let page = BoardPage {
        status: input.status.as_deref(),
        severity: input.severity.as_deref(),
        offset: input.offset.unwrap_or(0),
        limit: input.limit.unwrap_or(FINDINGS_MAX),
    };
    let now_ms = call.app.clock.now().as_millisecond();
    findings::list_findings(call.app.store().await?, &project, &filter, page, now_ms).await
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FindingInput {
    /// The finding's record id.
    #[schemars(length(max = 256))]
    finding: String,
    /// Project; default: the session's.
    project_id: Option<ProjectIdArg>,
}

async fn finding(call: Call, input: FindingInput) -> Result<FindingDetail, Fault> {
    let project = call.project(input.project_id.as_deref()).await?;
    let now_ms = call.app.clock.now().as_millisecond();
    let store = call.app.store().await?;
    findings::finding_detail(store, &project, &input.finding, DECISIONS_MAX, now_ms).await
}
