//! `audit/list`: the audited calls, newest first, for the page of the operator.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::Bulkhead;
use crate::tools::spec::run_typed;
use crate::tools::{Call, Effects, ToolSpec, Toolset, schema};
use contract::Fault;
use contract::clock::iso_from_millis;
use store::audit::{self, AuditFilter, AuditRow};
use tenancy::Scope;

/// Entries in an answer.
const ENTRIES: usize = 100;

pub(crate) const LIST: ToolSpec = ToolSpec {
    name: "audit/list",
    title: "List audited calls",
    description: "The audited calls, newest first, filtered by caller, tool, project and outcome.",
    toolset: Toolset::ADMIN,
    effects: Effects::READS,
    scope: Scope::Admin,
    bulkhead: Bulkhead::Search,
    timeout: |limits| limits.default_ms,
    input: schema::generate_schema::<AuditInput>,
    output: schema::generate_output_schema::<AuditPage>,
    run: |call, arguments| run_typed(call, arguments, list),
    ..ToolSpec::BASE
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AuditInput {
    /// Id of the caller, or a part of its name.
    #[schemars(length(min = 1, max = 256))]
    principal: Option<String>,
    /// Name of the tool.
    #[schemars(length(min = 1, max = 64))]
    tool: Option<String>,
    /// The project.
    #[schemars(length(min = 1, max = 64))]
    project: Option<String>,
    /// `ok`, `failed`, or an error code.
    #[schemars(length(min = 1, max = 64))]
    outcome: Option<String>,
    /// Only entries before this one, which ended an earlier page.
    before: Option<i64>,
}

/// Audited calls.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct AuditPage {
    /// Whether calls are audited at all.
    pub enabled: bool,
    /// Newest first.
    pub entries: Vec<AuditedCall>,
    /// `before` for the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<i64>,
}

/// An audited call.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditedCall {
    /// When it ended, UTC.
    pub at: String,
    /// Id of the caller.
    pub principal: String,
    /// Name of the caller.
    pub name: String,
    /// `cli`, `stdio`, `mcp`, `sse` or `http`.
    pub surface: String,
    /// The tool.
    pub tool: String,
    /// The project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// `ok` or an error code.
    pub outcome: String,
    /// Milliseconds.
    pub duration_ms: f64,
    /// Correlation id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// The query, if `audit.queries` keeps queries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
}

impl From<AuditRow> for AuditedCall {
    fn from(row: AuditRow) -> Self {
        Self {
            at: iso_from_millis(row.at_ms),
            principal: row.principal,
            name: row.name,
            surface: row.surface,
            tool: row.tool,
            project: row.project_id,
            outcome: row.outcome,
            duration_ms: row.duration_ms,
            request_id: row.request_id,
            query: row.query,
        }
    }
}

async fn list(call: Call, input: AuditInput) -> Result<AuditPage, Fault> {
    call.require_operator()?;
    let filter = AuditFilter {
        principal: input.principal.as_deref(),
        tool: input.tool.as_deref(),
        project_id: input.project.as_deref(),
        outcome: input.outcome.as_deref(),
        before: input.before,
    };
    let mut control = call.app.store().await?.control_read().await?;
    let more = i64::try_from(ENTRIES + 1).unwrap_or(i64::MAX);
    let mut rows = audit::list(&mut control, filter, more).await?;
    control.commit().await?;
    let is_cut = rows.len() > ENTRIES;
    rows.truncate(ENTRIES);
    let next = if is_cut { rows.last().map(|row| row.id) } else { None };
    let entries = rows.into_iter().map(AuditedCall::from).collect();
    Ok(AuditPage { enabled: call.app.config.audit.enabled, entries, next })
}
