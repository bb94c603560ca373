//! The order in which a run does its work, and when it gives up.

use std::collections::BTreeSet;

use super::*;
use crate::issue::Rule;
use crate::report::{GateOutcome, GateStatus, Profile};
use crate::snapshot::tests::in_state;
use crate::state::step;
use crate::worker::{PAGE_PLAN, scene};

fn config(max_fix_attempts: u16) -> RunConfig {
    scene::config(&json!({ "max_fix_attempts": max_fix_attempts }))
}

fn issue(gate: &str, severity: Severity, subject: &str, fixable: bool) -> Issue {
    let rule = if fixable { Rule::fixable("code", "Title") } else { Rule::new("code", "Title") };
    Issue::new(gate, &rule, severity, None, subject, String::new())
}

/// The issue that a required section has no page.
fn unplanned() -> Issue {
    Issue::new("consistency", &NEEDS_PLAN[1], Severity::Blocker, None, "kb", String::new())
}

fn report(issues: Vec<Issue>) -> ValidationReport {
    let failed = issues.iter().any(Issue::is_failure);
    let status = if failed { GateStatus::Failed } else { GateStatus::Passed };
    let gate = GateOutcome { gate: "g".to_owned(), status, reason: None, issues: 0 };
    ValidationReport::new(Profile::Local, vec![gate], issues)
}

/// Runs from the beginning until nothing is left to do, and returns what was done.
fn walk(report: &ValidationReport, auto_fix: bool) -> (Vec<String>, RunState) {
    let (config, sections) = (config(3), ["docs".to_owned(), "kb".to_owned()]);
    let (mut snapshot, mut done, mut did) = (in_state(RunState::Created), BTreeSet::new(), Vec::new());
    loop {
        let is_done = |worker: &str, scope: &str| done.contains(&format!("{worker}:{scope}"));
        let situation = Situation {
            config: &config,
            inputs_ready: true,
            sections: &sections,
            report: Some(report),
            auto_fix,
            is_done: &is_done,
        };
        match next(&snapshot, &situation) {
            Next::Item { worker, scope_key } => {
                let item = format!("{worker}:{scope_key}");
                if worker == LINK {
                    snapshot.site_tree = Some("tree".to_owned());
                }
                did.push(item.clone());
                done.insert(item);
            }
            Next::Step(taken) => snapshot.state = step(snapshot.state, taken).unwrap(),
            end => {
                did.push(format!("{end:?}"));
                return (did, snapshot.state);
            }
        }
    }
}

#[test]
fn a_run_does_its_items_in_order_and_stops_where_people_decide() {
    let items = ["scout:", "facts:", "snippets:", "plan:", "write:docs", "write:kb", "link:", "validate:"];
    let (did, state) = walk(&report(Vec::new()), false);
    assert_eq!((&did[..8], state), (&items.map(str::to_owned)[..], RunState::ReadyForPr));
    assert_eq!(did[8..], ["Park"]);
    let broken = report(vec![issue("g", Severity::Error, "x", true)]);
    assert_eq!(walk(&broken, false).1, RunState::Validating);
    assert_eq!(walk(&broken, true).0.last().map(String::as_str), Some("Fix"));
}

#[test]
fn a_run_waits_for_its_inputs_first() {
    let config = config(3);
    let situation = |inputs_ready| Situation {
        config: &config,
        inputs_ready,
        sections: &[],
        report: None,
        auto_fix: false,
        is_done: &|_, _| true,
    };
    assert_eq!(next(&in_state(RunState::Created), &situation(false)), Next::Inputs);
    assert_eq!(next(&in_state(RunState::Created), &situation(true)), Next::Step(Step::CloneInputs));
    assert_eq!(next(&in_state(RunState::PrOpened), &situation(false)), Next::Pack);
    for state in RunState::ALL.into_iter().filter(|state| state.is_terminal()) {
        assert_eq!(next(&in_state(state), &situation(true)), Next::Park);
    }
    let validate = Next::Item { worker: VALIDATE, scope_key: String::new() };
    assert_eq!(next(&in_state(RunState::Validating), &situation(true)), validate, "without a report");
}

#[test]
fn nothing_is_read_of_an_index_of_another_commit() {
    let config = config(3);
    let broken = report(vec![issue("g", Severity::Error, "x", true)]);
    let replan = report(vec![unplanned()]);
    let next_of = |state, report, is_done: bool| {
        let situation = Situation {
            config: &config,
            inputs_ready: false,
            sections: &["docs".to_owned()],
            report,
            auto_fix: true,
            is_done: &|_, _| is_done,
        };
        next(&in_state(state), &situation)
    };
    for state in RunState::ALL.into_iter().filter(|state| !state.is_terminal()) {
        let reads = matches!(next_of(state, None, false), Next::Item { .. });
        assert!(!reads, "{state}");
    }
    for state in [RunState::Ingested, RunState::FactsReady, RunState::Drafting, RunState::Validating] {
        assert_eq!(next_of(state, None, false), Next::Inputs, "{state}");
    }
    // Finished work is kept; the fixes that the report asks for wait.
    assert_eq!(next_of(RunState::Ingested, None, true), Next::Step(Step::CollectFacts));
    for report in [&broken, &replan] {
        assert_eq!(next_of(RunState::Validating, Some(report), true), Next::Park);
    }
}

#[test]
fn a_run_rests_where_people_decide() {
    let rest = |report_ok, auto_fix| -> Vec<RunState> {
        RunState::ALL.into_iter().filter(|state| rests(*state, report_ok, auto_fix)).collect()
    };
    let ended = [RunState::Done, RunState::Failed, RunState::Cancelled];
    let with = |first: &[RunState]| [first, &ended].concat();
    assert_eq!(rest(Some(false), false), with(&[RunState::Validating, RunState::ReadyForPr]));
    assert_eq!(rest(Some(false), true), with(&[RunState::ReadyForPr]));
    assert_eq!(rest(None, false), with(&[RunState::ReadyForPr]), "it was never validated");
}

#[test]
fn a_plan_that_cannot_work_is_made_again_as_often_as_fixes_are_allowed() {
    let broken = report(vec![unplanned()]);
    let after = |attempts, is_planned: bool| {
        let (config, mut snapshot) = (config(2), in_state(RunState::Validating));
        snapshot.fix_attempts = attempts;
        let situation = Situation {
            config: &config,
            inputs_ready: true,
            sections: &[],
            report: Some(&broken),
            auto_fix: false,
            is_done: &|worker, _| worker != PLAN || is_planned,
        };
        next(&snapshot, &situation)
    };
    assert_eq!(after(1, false), Next::Step(Step::PlanAgain));
    assert_eq!(after(2, false), Next::Park);
    assert_eq!(after(1, true), Next::Park, "the same inputs give the same plan");
}

/// The gates over pages whose plan lacks a section ask for another plan, and the pages of that are linked.
#[test]
fn a_section_without_a_page_is_planned_again() {
    let mut scene = scene::Scene::new();
    scene.link();
    let mut plan = scene.json(PAGE_PLAN);
    let pages = plan["pages"].as_array_mut().unwrap();
    pages.retain(|page| page["section"] != "reference");
    scene.artifacts.insert(PAGE_PLAN.to_owned(), plan.to_string().into_bytes());
    let report = scene.validate();
    let codes: Vec<&str> = report.issues.iter().map(|issue| issue.code.as_str()).collect();
    assert!(!report.ok && codes.contains(&"missing_section"), "{}", report.to_json());

    let mut snapshot = in_state(RunState::Validating);
    snapshot.site_tree = Some("tree".to_owned());
    let next_of = |snapshot: &RunSnapshot, is_planned: bool| {
        let situation = Situation {
            config: &scene.config,
            inputs_ready: true,
            sections: &[],
            report: Some(&report),
            auto_fix: false,
            is_done: &|worker, _| worker != PLAN || is_planned,
        };
        next(snapshot, &situation)
    };
    assert_eq!(next_of(&snapshot, false), Next::Step(Step::PlanAgain));
    assert_eq!(step(RunState::Validating, Step::PlanAgain), Ok(RunState::FactsReady));
    // Another plan may ask for drafts that are there already; the tree with the pages of the first one is gone.
    (snapshot.state, snapshot.site_tree) = (RunState::DraftReady, None);
    let link = Next::Item { worker: LINK, scope_key: String::new() };
    assert_eq!(next_of(&snapshot, true), link);
}

#[test]
fn a_fix_is_done_validated_and_judged() {
    let config = config(3);
    let next_of = |changed, validated: bool| {
        let mut snapshot = in_state(RunState::Fixing);
        snapshot.fixing = Some(Fixing { issue_id: "abc".to_owned(), report_version: 1, changed });
        let is_done = |worker: &str, _: &str| worker != VALIDATE || validated;
        let situation = Situation {
            config: &config,
            inputs_ready: true,
            sections: &[],
            report: None,
            auto_fix: false,
            is_done: &is_done,
        };
        next(&snapshot, &situation)
    };
    assert_eq!(next_of(None, true), Next::Item { worker: FIX, scope_key: "abc".to_owned() });
    assert_eq!(next_of(Some(true), false), Next::Item { worker: VALIDATE, scope_key: String::new() });
    assert_eq!(next_of(Some(true), true), Next::Judge);
}

#[test]
fn the_worst_fixable_issue_is_chosen() {
    let issues = vec![
        issue("b", Severity::Error, "x", true),
        issue("a", Severity::Error, "y", true),
        issue("a", Severity::Blocker, "z", false),
        issue("a", Severity::Warning, "w", true),
    ];
    let report = report(issues);
    let snapshot = in_state(RunState::Validating);
    let chosen = choose_issue(&snapshot, &config(3), &report).unwrap();
    assert_eq!((chosen.gate.as_str(), chosen.severity), ("a", Severity::Error));
}

#[test]
fn a_run_gives_up_with_a_reason() {
    let reason = |failure: Failure| failure.details.unwrap()["reason"].as_str().unwrap().to_owned();
    let fixable = issue("a", Severity::Error, "x", true);
    let broken = report(vec![fixable.clone()]);
    let none_left = choose_issue(&in_state(RunState::Validating), &config(0), &broken).unwrap_err();
    assert_eq!(
        (none_left.code.as_str(), reason(none_left.clone())),
        ("FIX_EXHAUSTED", "max_fix_attempts".into())
    );
    let only_warnings =
        report(vec![issue("a", Severity::Warning, "x", true), issue("a", Severity::Blocker, "y", false)]);
    let unfixable = choose_issue(&in_state(RunState::Validating), &config(3), &only_warnings).unwrap_err();
    assert_eq!(unfixable.details.as_ref().unwrap()["issues"].as_array().unwrap().len(), 1);
    assert_eq!(reason(unfixable), "no_fixable_issue");

    let fixing = |changed| Fixing { issue_id: fixable.issue_id.clone(), report_version: 1, changed };
    assert_eq!(judge_fix(&fixing(Some(true)), &broken, &report(Vec::new())), Ok(()));
    assert_eq!(
        judge_fix(&fixing(Some(true)), &broken, &broken),
        Ok(()),
        "it changed something: it may be tried again"
    );
    assert_eq!(reason(judge_fix(&fixing(Some(false)), &broken, &broken).unwrap_err()), "no_change");
    let elsewhere = report(vec![issue("b", Severity::Blocker, "new", false)]);
    assert_eq!(reason(judge_fix(&fixing(Some(true)), &broken, &elsewhere).unwrap_err()), "new_blocker");
    let same_gate = report(vec![issue("a", Severity::Blocker, "new", false)]);
    assert_eq!(judge_fix(&fixing(Some(true)), &broken, &same_gate), Ok(()));
    let known = report(vec![fixable.clone(), issue("b", Severity::Blocker, "old", false)]);
    assert_eq!(judge_fix(&fixing(Some(true)), &known, &known), Ok(()));
}
