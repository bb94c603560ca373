//! Tests that each issue that is called fixable has a fixer, and that fixers repair the faults that gates find.

use serde_json::json;

use super::*;
use crate::gate::GATES;
use crate::report::ValidationReport;
use crate::worker::fix;
use crate::worker::scene::{README, Scene, config};

const START: &str = "content/docs/shop/getting-started.md";
const API: &str = "content/docs/reference/shop/api.md";

/// The issue that is fixed next.
fn next(report: &ValidationReport) -> Option<&Issue> {
    report.issues.iter().find(|issue| issue.is_failure() && issue.fixable)
}

fn scene() -> Scene {
    let mut scene = Scene::new();
    scene.link();
    let report = scene.validate();
    assert!(report.ok, "{}", report.to_json());
    scene
}

/// Fixes the one issue with this code; the gates pass afterwards.
fn fix_one(scene: &mut Scene, code: &str) {
    let report = scene.validate();
    let issue = next(&report).unwrap_or_else(|| panic!("{code}: {}", report.to_json()));
    assert_eq!(issue.code, code, "{}", report.to_json());
    let output = scene.run(&fix::WORKER, &issue.issue_id).unwrap();
    assert!(output.changes.len() <= 1, "one patch at a time");
    let after = scene.validate();
    assert!(after.ok, "{code}: {}", after.to_json());
}

#[test]
fn every_fixable_rule_has_a_fixer() {
    let rules = GATES.iter().flat_map(|gate| gate.rules).filter(|rule| rule.fixable);
    let missing: Vec<&str> =
        rules.map(|rule| rule.code).filter(|code| !FIXERS.iter().any(|(known, _)| known == code)).collect();
    assert!(missing.is_empty(), "no fixer for {missing:?}");
    for (code, _) in FIXERS {
        let rule = GATES.iter().flat_map(|gate| gate.rules).find(|rule| rule.code == *code);
        assert!(rule.is_some_and(|rule| rule.fixable), "`{code}` is not fixable");
    }
}

#[test]
fn faults_of_pages_are_repaired() {
    type Damage = fn(&mut Scene);
    let faults: &[(&str, Damage)] = &[
        ("template_token", |s| s.damage(START, "started with ShopKit", "started with __PRODUCT_NAME__")),
        ("unplanned_heading", |s| s.damage(START, "## Usage\n", "## It is the fastest\n\n## Usage\n")),
        ("uncited_line", |s| s.damage(START, "## Usage\n", "It is the fastest.\n\n## Usage\n")),
        ("uncited_line", |s| {
            let page = s.page(START);
            let line = page.lines().find(|line| line.contains("ShopKit counts")).unwrap().to_owned();
            let unmarked = line.split(" <!--").next().unwrap();
            s.damage(START, &line, unmarked);
        }),
        ("unknown_claim", |s| {
            s.damage(START, "## Usage\n", "It is fast. <!-- claim_id: none -->\n\n## Usage\n")
        }),
        ("wrong_quote", |s| s.damage(START, "counts the coins", "counts all coins")),
        ("dead_link", |s| s.damage(START, "## Usage", "## [Usage](gone.md)")),
        ("dead_anchor", |s| s.damage(START, "## Usage", "## [Usage](#gone)")),
        ("snippet_not_in_catalog", |s| s.damage(START, "print(drawer([1, 2]))", "print(drawer([7]))")),
        ("uncited_line", |s| s.damage(START, "../reference/shop/api.md", "../gone.md")),
        ("missing_heading", |s| s.damage(START, "## Overview\n\n", "")),
        ("product_name", |s| s.damage(START, "started with ShopKit", "started with SHOPKIT")),
        ("no_limitations", |s| {
            let page = s.page(API);
            let (before, rest) = page.split_once("## Limitations").unwrap();
            let (_, after) = rest.split_once("## Licence").unwrap();
            s.site.insert(API, format!("{before}## Licence{after}"));
            // A plan that does not ask for the heading leaves it to the gate about limitations.
            let mut plan = s.json(crate::worker::PAGE_PLAN);
            plan["pages"][1]["required_headings"] = json!(["Licence"]);
            s.artifacts.insert(crate::worker::PAGE_PLAN.to_owned(), plan.to_string().into_bytes());
        }),
    ];
    for (code, damage) in faults {
        let mut scene = scene();
        damage(&mut scene);
        fix_one(&mut scene, code);
    }
}

#[test]
fn what_was_right_stays() {
    let mut scene = scene();
    let before = scene.page(START);
    for (from, to) in
        [("counts the coins", "counts all coins"), ("started with ShopKit", "started with SHOPKIT")]
    {
        scene.damage(START, from, to);
        let report = scene.validate();
        let id = next(&report).unwrap().issue_id.clone();
        scene.run(&fix::WORKER, &id).unwrap();
        assert_eq!(scene.page(START), before);
    }
}

#[test]
fn a_licence_that_no_page_names_is_added() {
    let mut scene = scene();
    for path in [START, API] {
        let page = scene.page(path);
        let line = page.lines().find(|line| line.contains("The licence of ShopKit")).unwrap().to_owned();
        scene.damage(path, &format!("{line}\n"), "");
    }
    fix_one(&mut scene, "licence_not_named");
}

#[test]
fn lines_that_moved_are_cited_where_they_are() {
    let mut scene = scene();
    let page = scene.page(START);
    scene.write(
        "README.md",
        &README.replace("## Usage", "## Speed\n\nOne more sentence stands here now.\n\n## Usage"),
    );
    let report = scene.validate();
    assert_eq!(next(&report).unwrap().code, "stale_citation");
    let mut tried = 0;
    while let Some(issue) = next(&scene.validate()).cloned() {
        scene.run(&fix::WORKER, &issue.issue_id).unwrap();
        tried += 1;
        assert!(tried < 10, "it does not end");
    }
    assert_eq!(scene.page(START), page, "no page changed");
    let report = scene.validate();
    assert!(report.ok, "{}", report.to_json());
}

#[test]
fn lines_that_are_gone_are_not_repeated() {
    let mut scene = scene();
    scene.write(
        "README.md",
        &README.replace("ShopKit does not convert currencies.", "ShopKit converts nothing at all."),
    );
    let report = scene.validate();
    let issue = next(&report).unwrap().clone();
    assert_eq!(issue.code, "stale_citation");
    scene.run(&fix::WORKER, &issue.issue_id).unwrap();
    assert!(!scene.page(issue.path.as_deref().unwrap()).contains("convert currencies"));
}

#[test]
fn front_matter_gets_its_planned_fields() {
    let mut scene = Scene::new();
    for number in 0..6 {
        let page = format!("---\ntitle: T{number}\nweight: {number}\n---\nText.\n");
        scene.base.insert(format!("content/docs/{number}.md"), page);
    }
    scene.site = scene.base.clone();
    scene.link();
    assert!(scene.page(START).starts_with("---\ntitle: \"Getting started with ShopKit\"\nweight: 10\n---\n"));
    scene.damage(START, "weight: 10\n", "");
    fix_one(&mut scene, "missing_key");
    scene.damage(START, "weight: 10\n", "weight: soon\n");
    fix_one(&mut scene, "wrong_type");
}

#[test]
fn a_description_whose_claim_is_gone_is_replaced() {
    let mut scene = Scene::new();
    for number in 0..6 {
        let page = format!("---\ntitle: T{number}\ndescription: D{number}\n---\nText.\n");
        scene.base.insert(format!("content/docs/{number}.md"), page);
    }
    scene.site = scene.base.clone();
    scene.link();
    let described = "description: \"Counts coins and keeps sales\"\n";
    assert!(scene.page(START).contains(described), "{}", scene.page(START));
    assert!(scene.validate().ok);
    let page = scene.page(START);
    let line = page.lines().find(|line| line.starts_with("Counts coins")).unwrap().to_owned();
    scene.damage(START, &format!("{line}\n\n"), "");
    fix_one(&mut scene, "uncited_description");
    let page = scene.page(START);
    let described = "description: \"ShopKit counts the coins in a drawer.\"\n";
    assert!(page.contains(described) && !page.contains("keeps sales"), "{page}");
}

#[test]
fn a_claim_that_its_lines_do_not_say_is_taken_away() {
    let mut scene = scene();
    // The lines are the same, but their meaning differs in the new place.
    scene.write("README.md", &README.replace("## Usage", "## Roadmap"));
    let report = scene.validate();
    let issue = next(&report).unwrap().clone();
    assert_eq!(issue.code, "unsaid_claim", "{}", report.to_json());
    scene.run(&fix::WORKER, &issue.issue_id).unwrap();
    assert!(!scene.page(issue.path.as_deref().unwrap()).contains("with the coins of one day"));
}

#[test]
fn an_issue_that_no_fixer_repairs_changes_nothing() {
    let mut scene = Scene::new();
    scene.repository.retain(|file| file.0 != "LICENSE");
    scene.write("pyproject.toml", "[project]\nname = \"shopkit\"\n");
    scene.config = config(&json!({ "required_sections": ["docs"] }));
    scene.link();
    let report = scene.validate();
    assert!(!report.ok && next(&report).is_none(), "{}", report.to_json());
    let id = report.issues.iter().find(|issue| issue.code == "no_licence").unwrap().issue_id.clone();
    let output = scene.run(&fix::WORKER, &id).unwrap();
    assert!(output.changes.is_empty() && output.patch_ids.is_empty());
    assert_eq!(scene.run(&fix::WORKER, "0123456789ab").unwrap_err().0.code, "FIX_MISSING_INPUT");
}
