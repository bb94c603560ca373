//! Omissions from the report of a gate that finds too many issues.

use super::*;

const RULE: Rule = Rule::new("rule", "Something is wrong");

fn add(found: &mut Found, severity: Severity, number: u32) {
    found.add(&RULE, severity, ("a.md", number), &number.to_string(), "It is wrong.".to_owned());
}

/// Returns line and severity of the issues that are kept.
fn kept(found: &Found) -> Vec<(u32, Severity)> {
    found.issues.values().map(|issue| (issue.line.unwrap(), issue.severity)).collect()
}

#[test]
fn a_thousand_mild_issues_do_not_hide_a_worse_one() {
    let mut found = Found::new("gate");
    (1..=1_500).for_each(|number| add(&mut found, Severity::Warning, number));
    add(&mut found, Severity::Blocker, 2_000);
    add(&mut found, Severity::Info, 1);
    let kept = kept(&found);
    assert_eq!((kept.len(), kept[0]), (ISSUES_PER_GATE_MAX, (2_000, Severity::Blocker)));
    assert_eq!((found.left_out, found.worst_left_out), (502, Some(Severity::Warning)));
}

#[test]
fn what_is_kept_does_not_depend_on_the_order() {
    let all = |numbers: &mut dyn Iterator<Item = u32>| {
        let mut found = Found::new("gate");
        for number in numbers {
            let severity = if number % 3 == 0 { Severity::Error } else { Severity::Warning };
            add(&mut found, severity, number);
        }
        kept(&found)
    };
    assert_eq!(all(&mut (1..=2_000)), all(&mut (1..=2_000).rev()));
}

#[test]
fn an_issue_is_reported_once_and_as_bad_as_it_is() {
    let mut found = Found::new("gate");
    for severity in [Severity::Warning, Severity::Error, Severity::Info] {
        add(&mut found, severity, 7);
    }
    assert_eq!((kept(&found), found.left_out), (vec![(7, Severity::Error)], 0));
}

#[test]
fn a_gate_fails_by_an_issue_after_a_thousand_milder_ones() {
    let gate = Gate {
        name: "many",
        about: "Finds much.",
        rules: &[RULE],
        check: |_, found| {
            (1..=1_200).for_each(|number| add(found, Severity::Warning, number));
            add(found, Severity::Error, 5_000);
            Checked::Done
        },
    };
    let scene = Scene::new();
    let site = scene.site();
    let input = GateInput {
        site: &site,
        snippets: &[],
        evidence: Err("nothing is indexed"),
        claims: None,
        run: None,
        secrets: &Words,
        profile: Profile::Local,
    };
    let (outcome, issues) = run(&gate, &input);
    assert_eq!(outcome.status, GateStatus::Failed);
    assert_eq!((issues.len(), issues[0].line), (1_001, Some(5_000)));
    assert_eq!(issues[1_000].code, MORE_ISSUES.code);
}
