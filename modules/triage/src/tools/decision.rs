//! `triage_decision`: records a decision about a finding.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::TOOLSET;
use super::refresh::refresh_records;
use crate::findings::{self, NewDecision, RECORDS_ROOT, Verdict, record_path};
use contract::{Fault, Warning};
use gate::app::Bulkhead;
use gate::tools::for_modules::ProjectIdArg;
use gate::tools::for_modules::run_typed;
use gate::tools::{Call, Effects, ToolSpec, schema};
use tenancy::Scope;

pub(crate) const TOOL: ToolSpec = ToolSpec {
    name: "triage_decision",
    title: "Decide about a finding",
    description: "Record a decision about a security finding. It inherits service, vulnerability and package from the finding and sets \
        the finding's status until it expires; search with mode records finds it.",
    toolset: TOOLSET,
    effects: Effects { idempotent: false, ..Effects::WRITES },
    scope: Scope::Triage,
    bulkhead: Bulkhead::Index,
    timeout: |limits| limits.triage_ms,
    input: schema::generate_schema::<TriageDecisionInput>,
    output: schema::generate_output_schema::<TriageDecisionOutput>,
    run: |call, arguments| run_typed(call, arguments, triage_decision),
    accepts_nul: true,
    next: Some(|call, result| {
        vec![call.call("show_file", json!({ "file": result["path"], "repoPath": result["repo"] }))]
    }),
    ..ToolSpec::BASE
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct TriageDecisionInput {
    /// The finding's record id.
    #[schemars(length(max = 256))]
    finding: String,
    /// The decision.
    status: Verdict,
    /// Why it was made.
    #[schemars(length(max = 8192))]
    justification: Option<String>,
    /// Machine-readable reasons.
    #[schemars(length(max = 100), inner(length(max = 256)))]
    codes: Option<Vec<String>>,
    /// Who decided.
    #[schemars(length(max = 256))]
    reviewer: Option<String>,
    /// When it expires: a date such as 2030-12-31 (end of that day, UTC) or a time.
    #[schemars(length(max = 64))]
    expires: Option<String>,
    /// Evidence: links, files.
    #[schemars(length(max = 100), inner(length(max = 2048)))]
    evidence: Option<Vec<String>>,
    /// service, env … if they differ from those of the finding; other fields of your choice.
    meta: Option<Map<String, Value>>,
    /// Project; default: the session's.
    #[serde(rename = "project_id")]
    project_id: Option<ProjectIdArg>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct TriageDecisionOutput {
    /// Id of the decision's record.
    record_id: String,
    /// The finding.
    finding_id: String,
    /// The decision.
    status: Verdict,
    /// When it expires, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<String>,
    /// repoPath of the record for `search` and `show_file`.
    repo: &'static str,
    /// Path of the decision there.
    path: String,
}

async fn triage_decision(call: Call, input: TriageDecisionInput) -> Result<TriageDecisionOutput, Fault> {
    let project_id = input.project_id.as_deref();
    call.allowed_project(project_id).await?;
    let project = call.project(project_id).await?;
    let (app, store) = (&call.app, call.app.store().await?);
    let now_ms = app.clock.now().as_millisecond();
    let new = NewDecision {
        finding: findings::load_finding(store, &project, &input.finding, now_ms).await?,
        verdict: input.status,
        justification: input.justification,
        reviewer: input.reviewer,
        expires: input.expires,
        meta: input.meta.unwrap_or_default(),
        codes: input.codes.unwrap_or_default(),
        evidence: input.evidence.unwrap_or_default(),
    };
    let settings = (&app.config.triage, app.config.indexing.redact_secrets);
    let stored = findings::decide(store, &project, &*app.clock, settings, new).await?;
    if let Err(fault) = refresh_records(&call, &project, false).await {
        // Only a warning: the decision is stored, and a retry would store it a second time.
        let message = format!("The decision is stored but not searchable yet: {}", fault.message);
        call.warn(Warning::new("not_searchable_yet", message));
    }
    Ok(TriageDecisionOutput {
        path: record_path(&stored.record_id),
        record_id: stored.record_id,
        finding_id: input.finding,
        status: input.status,
        expires_at: stored.record.decision.and_then(|decision| decision.expires_at),
        repo: RECORDS_ROOT,
    })
}
