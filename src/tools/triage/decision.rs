//! `triage_decision`: what somebody decided about a finding becomes a record, too.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::texts::refresh;
use crate::app::Bulkhead;
use crate::tools::project_id_arg::ProjectIdArg;
use crate::tools::spec::typed;
use crate::tools::{Call, Effects, TimeoutClass, ToolSpec, Toolset, schema};
use contract::{Fault, Warning};
use engine::triage::{self, NewDecision, ROOT, Verdict, record_path};
use tenancy::Scope;

pub(crate) const TOOL: ToolSpec = ToolSpec {
    name: "triage_decision",
    title: "Decide about a finding",
    description: "Record a decision about a security finding. It takes over service, vulnerability and package of the finding, which \
        shows its status until it expires; search with mode records finds it.",
    toolset: Toolset::Triage,
    effects: Effects { idempotent: false, ..Effects::WRITES },
    scope: Scope::Triage,
    bulkhead: Bulkhead::Index,
    timeout: TimeoutClass::Triage,
    input: schema::of::<Input>,
    output: schema::of_answer::<Output>,
    run: |call, arguments| typed(call, arguments, run),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Input {
    /// The finding's record id.
    #[schemars(length(max = 256))]
    finding: String,
    /// What was decided.
    status: Verdict,
    /// Why.
    #[schemars(length(max = 8192))]
    justification: Option<String>,
    /// Why, as codes.
    #[schemars(length(max = 100), inner(length(max = 256)))]
    codes: Option<Vec<String>>,
    /// Who decided.
    #[schemars(length(max = 256))]
    reviewer: Option<String>,
    /// Until when it holds: 2030-12-31 (to the end of the day, UTC) or a time.
    #[schemars(length(max = 64))]
    expires: Option<String>,
    /// What it rests on: links, files.
    #[schemars(length(max = 100), inner(length(max = 2048)))]
    evidence: Option<Vec<String>>,
    /// service, env … where they differ from the finding's; fields of your own.
    meta: Option<Map<String, Value>>,
    /// Project; omitted: the default workspace.
    #[serde(rename = "project_id")]
    project_id: Option<ProjectIdArg>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Output {
    /// Id of the decision's record.
    record_id: String,
    /// The finding.
    finding_id: String,
    /// What was decided.
    status: Verdict,
    /// Until when it holds, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<String>,
    /// What `search` and `show_file` take as repoPath.
    repo: &'static str,
    /// The decision's path there.
    path: String,
}

async fn run(call: Call, input: Input) -> Result<Output, Fault> {
    let project_id = input.project_id.as_deref();
    call.allowed_project(project_id).await?;
    let project = call.project(project_id).await?;
    let (app, store) = (&call.app, call.app.store().await?);
    let now_ms = app.clock.now().as_millisecond();
    let new = NewDecision {
        finding: triage::finding(store, &project, &input.finding, now_ms).await?,
        verdict: input.status,
        justification: input.justification,
        reviewer: input.reviewer,
        expires: input.expires,
        meta: input.meta.unwrap_or_default(),
        codes: input.codes.unwrap_or_default(),
        evidence: input.evidence.unwrap_or_default(),
    };
    let settings = (&app.config.triage, app.config.indexing.redact_secrets);
    let stored = triage::decide(store, &project, &*app.clock, settings, new).await?;
    if let Err(fault) = refresh(&call, &project, false).await {
        // It is stored, and a second try would store it again.
        let message = format!("The decision is stored and cannot be searched yet: {}", fault.message);
        call.warn(Warning::new("not_searchable_yet", message));
    }
    Ok(Output {
        path: record_path(&stored.record_id),
        record_id: stored.record_id,
        finding_id: input.finding,
        status: input.status,
        expires_at: stored.record.decision.and_then(|decision| decision.expires_at),
        repo: ROOT,
    })
}
