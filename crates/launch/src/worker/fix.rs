//! The worker `fix`: repairs one issue of the last report with one patch.

use super::link::require_allowed;
use super::write::OwnedSources;
use super::{
    FIX, NewArtifact, PAGE_PLAN, SiteChange, SiteView, WorkItem, Worker, WorkerError, WorkerInput,
    WorkerOutput,
};
use crate::claim::Claims;
use crate::evidence::Questions;
use crate::fixer::{FixInput, Repair, repair};
use crate::forms::{
    PRODUCT_FACTS, PagePlan, ProductFacts, SNIPPET_CATALOG, TEMPLATE_LINES, TemplateLines, required,
};
use crate::issue::Issue;
use crate::report::{ValidationReport, stable_json};
use crate::site::Site;
use crate::snapshot::VALIDATION_REPORT;
use crate::validate::changed_pages;

/// The worker.
pub static WORKER: Worker = Worker {
    name: FIX,
    version: 2,
    artifacts: &[VALIDATION_REPORT, PAGE_PLAN, PRODUCT_FACTS, SNIPPET_CATALOG],
    site: SiteView::Patched,
    parses: false,
    asks,
    run,
};

fn asks(item: &WorkItem<'_>) -> Questions {
    let facts = required::<ProductFacts>(item, FIX, PRODUCT_FACTS).map(|facts| facts.claims);
    let by_id = facts.unwrap_or_default().into_iter().map(|claim| (claim.claim_id.clone(), claim)).collect();
    let claims = Claims { by_id, ..Claims::default() };
    Questions::new(&Site::default(), &[], Some(&claims))
}

fn run(input: &WorkerInput<'_>) -> Result<WorkerOutput, WorkerError> {
    let item = &input.item;
    let report: ValidationReport = required(item, FIX, VALIDATION_REPORT)?;
    let issue = report.issues.iter().find(|issue| issue.issue_id == item.scope_key);
    let issue = issue.ok_or_else(|| WorkerError::missing(FIX, item.scope_key))?;
    let plan: PagePlan = required(item, FIX, PAGE_PLAN)?;
    let facts: ProductFacts = required(item, FIX, PRODUCT_FACTS)?;
    let sources = OwnedSources::new(item, facts.clone(), required(item, FIX, SNIPPET_CATALOG)?);
    let repaired = repair(&FixInput {
        issue,
        pages: &changed_pages(item),
        config: item.config,
        plan: &plan,
        facts: &facts,
        sources: &sources.borrowed(),
        evidence: input.evidence,
    });
    output(item, issue, repaired)
}

fn output(item: &WorkItem<'_>, issue: &Issue, repaired: Option<Repair>) -> Result<WorkerOutput, WorkerError> {
    let mut output = WorkerOutput::default();
    let mut report = format!(
        "# {}\n\n- gate: {}\n- code: {}\n- issue: {}\n",
        issue.title, issue.gate, issue.code, issue.issue_id
    );
    if let Some(path) = &issue.path {
        report.push_str(&format!("- page: `{path}`\n"));
    }
    let Some(repaired) = repaired else {
        report.push_str("\nNo fixer can repair it.\n");
        output.artifacts.push(note(issue, report));
        return Ok(output);
    };
    report.push_str(&format!("\nRepaired: {}.\n", repaired.done));
    if let Some(patch) = &repaired.patch {
        let path = patch.path().to_owned();
        require_allowed(item, [path.as_str()])?;
        let before = item.site_text(&path);
        let after = patch.apply(before.as_deref()).map_err(|error| {
            WorkerError::new("PATCH_CONFLICT", format!("The fix of `{path}` cannot be applied: {error}."))
        })?;
        report.push_str(&format!("\n- {} {}\n", patch.kind(), patch.id()));
        output.patch_ids.push(patch.id());
        output.changes.push(SiteChange { path, bytes: after.into_bytes() });
    }
    output.artifacts.push(note(issue, report));
    if let Some(facts) = &repaired.facts {
        output.artifacts.push(NewArtifact::json(PRODUCT_FACTS, "product_facts", stable_json(facts)));
    }
    if !repaired.template_lines.is_empty() {
        let lines = TemplateLines { lines: repaired.template_lines };
        let name = format!("{TEMPLATE_LINES}fix_{}.json", issue.issue_id);
        output.artifacts.push(NewArtifact::json(name, "template_lines", stable_json(&lines)));
    }
    Ok(output)
}

/// Creates the note for people about what was done about an issue.
fn note(issue: &Issue, report: String) -> NewArtifact {
    NewArtifact::markdown(format!("reports/fix_{}.md", issue.issue_id), report)
}
