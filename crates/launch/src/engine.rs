//! Decides the next action of a run from its snapshot.

use serde_json::json;

use crate::config::RunConfig;
use crate::event::Failure;
use crate::gate::NEEDS_PLAN;
use crate::issue::{Issue, IssueStatus, Severity};
use crate::report::ValidationReport;
use crate::snapshot::{Fixing, RunSnapshot};
use crate::state::{RunState, Step};
use crate::worker::{FACTS, FIX, LINK, PLAN, SCOUT, SNIPPETS, VALIDATE, WRITE};

/// Issues that a failure lists.
const ISSUES_LISTED_MAX: usize = 20;

/// The next action of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Wait until the repository is indexed at its commit, then go on.
    Inputs,
    /// Do a work item.
    Item {
        /// The worker.
        worker: &'static str,
        /// The scope of the item.
        scope_key: String,
    },
    /// Change the state.
    Step(Step),
    /// Choose an issue and begin to fix it.
    Fix,
    /// Check the effect of the fix.
    Judge,
    /// Pack the evidence and end.
    Pack,
    /// Nothing: the run waits for a tool, or has ended.
    Park,
}

/// The inputs of the decision besides the snapshot.
pub struct Situation<'a> {
    /// The configuration.
    pub config: &'a RunConfig,
    /// `true` if the repository is indexed at its commit.
    pub inputs_ready: bool,
    /// The sections of the plan, in order.
    pub sections: &'a [String],
    /// The last report.
    pub report: Option<&'a ValidationReport>,
    /// `true` if issues are fixed without a call that asks for it.
    pub auto_fix: bool,
    /// Returns `true` if an item was finished with the inputs that it has now.
    pub is_done: &'a dyn Fn(&str, &str) -> bool,
}

/// Returns the next action of a run. Actions that read the index wait until it is at the run's commit.
#[must_use]
pub fn next(snapshot: &RunSnapshot, situation: &Situation<'_>) -> Next {
    let wanted = next_with_inputs(snapshot, situation);
    if situation.inputs_ready {
        return wanted;
    }
    match wanted {
        _ if snapshot.state == RunState::Created => Next::Inputs,
        Next::Item { .. } => Next::Inputs,
        // The report may be about another commit, so people decide.
        Next::Fix | Next::Step(Step::PlanAgain) => Next::Park,
        other => other,
    }
}

/// Returns `true` if a run waits for a person to decide, judging by its state and its last report.
#[must_use]
pub fn rests(state: RunState, report_ok: Option<bool>, auto_fix: bool) -> bool {
    match state {
        RunState::ReadyForPr => true,
        RunState::Validating => report_ok == Some(false) && !auto_fix,
        _ => state.is_terminal(),
    }
}

fn next_with_inputs(snapshot: &RunSnapshot, situation: &Situation<'_>) -> Next {
    let item = |worker: &'static str| Next::Item { worker, scope_key: String::new() };
    let is_due = |worker: &str| !(situation.is_done)(worker, "");
    match snapshot.state {
        RunState::Created if is_due(SCOUT) => item(SCOUT),
        RunState::Created => Next::Step(Step::CloneInputs),
        RunState::ClonedInputs => Next::Step(Step::Ingest),
        RunState::Ingested if is_due(FACTS) => item(FACTS),
        RunState::Ingested if is_due(SNIPPETS) => item(SNIPPETS),
        RunState::Ingested => Next::Step(Step::CollectFacts),
        RunState::FactsReady if is_due(PLAN) => item(PLAN),
        RunState::FactsReady => Next::Step(Step::Plan),
        RunState::PlanReady => Next::Step(Step::BeginDrafts),
        RunState::Drafting => {
            let due = situation.sections.iter().find(|section| !(situation.is_done)(WRITE, section));
            match due {
                Some(section) => Next::Item { worker: WRITE, scope_key: section.clone() },
                None => Next::Step(Step::EndDrafts),
            }
        }
        // After another plan, the drafts are linked again even if they are those of before.
        RunState::DraftReady if is_due(LINK) || snapshot.site_tree.is_none() => item(LINK),
        RunState::DraftReady => Next::Step(Step::Link),
        RunState::Linking if is_due(VALIDATE) => item(VALIDATE),
        RunState::Linking => Next::Step(Step::Validate),
        RunState::Validating => after_validation(snapshot, situation),
        RunState::Fixing => match &snapshot.fixing {
            Some(Fixing { issue_id, changed: None, .. }) => {
                Next::Item { worker: FIX, scope_key: issue_id.clone() }
            }
            _ if is_due(VALIDATE) => item(VALIDATE),
            _ => Next::Judge,
        },
        RunState::PrOpened => Next::Pack,
        RunState::ReadyForPr | RunState::Done | RunState::Failed | RunState::Cancelled => Next::Park,
    }
}

fn after_validation(snapshot: &RunSnapshot, situation: &Situation<'_>) -> Next {
    let Some(report) = situation.report else {
        return Next::Item { worker: VALIDATE, scope_key: String::new() };
    };
    if report.ok {
        return Next::Step(Step::AcceptReport);
    }
    let may_try = snapshot.fix_attempts < situation.config.max_fix_attempts;
    // Equal inputs give an equal plan: it is made again only if a fix, or another version of this program, changed them.
    if may_try && needs_plan(report) && !(situation.is_done)(PLAN, "") {
        return Next::Step(Step::PlanAgain);
    }
    if situation.auto_fix { Next::Fix } else { Next::Park }
}

/// Returns `true` if only another plan resolves a blocker of the report.
fn needs_plan(report: &ValidationReport) -> bool {
    report.issues.iter().any(|issue| {
        issue.status == IssueStatus::Open
            && issue.severity == Severity::Blocker
            && NEEDS_PLAN.iter().any(|rule| rule.code == issue.code)
    })
}

/// Chooses the issue to fix next: the worst that a fixer may be able to repair.
///
/// # Errors
/// The reason why no further fix is tried; the run fails with it.
pub fn choose_issue<'a>(
    snapshot: &RunSnapshot,
    config: &RunConfig,
    report: &'a ValidationReport,
) -> Result<&'a Issue, Failure> {
    if snapshot.fix_attempts >= config.max_fix_attempts {
        let message = format!("All {} fixes that the run may try are used.", config.max_fix_attempts);
        return Err(exhausted("max_fix_attempts", message, report));
    }
    let fixable = report.issues.iter().find(|issue| issue.is_failure() && issue.fixable);
    fixable.ok_or_else(|| {
        let message = "None of the open issues can be fixed automatically.".to_owned();
        exhausted("no_fixable_issue", message, report)
    })
}

/// Judges a fix by the reports before and after it.
///
/// # Errors
/// The reason why no further fix is tried; the run fails with it.
pub fn judge_fix(
    fixing: &Fixing,
    before: &ValidationReport,
    after: &ValidationReport,
) -> Result<(), Failure> {
    let open = |report: &'_ ValidationReport, id: &str| {
        report.issues.iter().any(|issue| issue.issue_id == id && issue.status == IssueStatus::Open)
    };
    if fixing.changed != Some(true) && open(after, &fixing.issue_id) {
        let message =
            format!("The fix of the issue {} changed nothing, and the issue stays.", fixing.issue_id);
        return Err(exhausted("no_change", message, after));
    }
    let gate = before.issues.iter().find(|issue| issue.issue_id == fixing.issue_id).map(|issue| &issue.gate);
    let new = after.issues.iter().find(|issue| {
        issue.status == IssueStatus::Open
            && issue.severity == Severity::Blocker
            && Some(&issue.gate) != gate
            && !open(before, &issue.issue_id)
    });
    match new {
        None => Ok(()),
        Some(new) => {
            let message = format!(
                "The fix of the issue {} brought a new blocker in the gate {}.",
                fixing.issue_id, new.gate
            );
            Err(exhausted("new_blocker", message, after))
        }
    }
}

/// The failure of a run whose issues stay.
fn exhausted(reason: &str, message: String, report: &ValidationReport) -> Failure {
    let open = report.issues.iter().filter(|issue| issue.is_failure());
    let issues: Vec<_> = open
        .clone()
        .take(ISSUES_LISTED_MAX)
        .map(|issue| json!({ "issue_id": issue.issue_id, "severity": issue.severity, "gate": issue.gate, "title": issue.title, "fixable": issue.fixable }))
        .collect();
    Failure::new("FIX_EXHAUSTED", message)
        .with_details(json!({ "reason": reason, "open_issues": open.count(), "issues": issues }))
}

#[cfg(test)]
mod tests;
