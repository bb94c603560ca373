//! Seeded faults of a run: each is found by its gate alone, in the same order every time.

use super::*;
use crate::observed::{CommandOutcome, CommandResult, ExternalLinks, LinkOutcome};

type Fault = fn(&mut Scene);

/// A page beside the planned ones.
const BESIDE: &str = "content/docs/shop/en/beside.md";

/// A fault, the gate that finds it, and the code of the issue.
const FAULTS: &[(Fault, &str, &str)] = &[
    (|s| s.artifacts.push((json!({ "required": ["pages"] }), json!({}))), "schema", "artifact_schema"),
    (
        |s| {
            s.pages.push((BESIDE, "\0".into()));
            s.changed.push(BESIDE);
        },
        "schema",
        "unreadable_page",
    ),
    (|s| s.replace(START, "title: Start\n", "name: Start\n"), "frontmatter", "missing_key"),
    (|s| s.replace(START, "title: Start\n", "title: 3\n"), "frontmatter", "wrong_type"),
    (|s| s.replace(START, "title: Start\n", "title: [\n"), "frontmatter", "broken_front_matter"),
    (|s| s.append(API, "\n#### Deep\n"), "markdown_lint", "heading_jump"),
    (|s| s.append(API, "\n## Open\n\n```\n"), "markdown_lint", "open_fence"),
    (
        |s| s.replace(START, "title: Start", "title: __PRODUCT_NAME__"),
        "template_token_lint",
        "template_token",
    ),
    (|s| s.replace(START, "title: Start", "title: a {{ name }}"), "template_token_lint", "template_token"),
    (
        |s| s.pages.push(("content/docs/shop/en/start/index.md", "# Other".into())),
        "site_layout",
        "duplicate_address",
    ),
    (|s| s.replace(START, "api.md#parsing", "gone.md"), "internal_links", "dead_link"),
    (|s| s.replace(START, "#parsing", "#gone"), "internal_links", "dead_anchor"),
    (
        |s| {
            s.pages.push((BESIDE, "# Beside\n\n[old](start.md#old)\n".into()));
            s.before.push((START, "# Start\n\n## Old\n".into()));
        },
        "internal_links",
        "lost_anchor",
    ),
    (
        |s| {
            s.replace_in_repository("shop/orders.py", "def read_order(text):\n    return text\n");
            s.definitions.clear();
        },
        "snippets",
        "stale_import",
    ),
    (|s| drop(s.snippets.pop_first()), "snippets", "snippet_not_in_catalog"),
    (|s| s.append(START, "\n```\nIt is the fastest.\n```\n"), "snippets", "snippet_not_in_catalog"),
    (|s| s.append(START, "\n    It is the fastest.\n"), "snippets", "snippet_not_in_catalog"),
    (
        |s| s.replace(START, "```python\n", "```python title=\"It is the fastest\"\n"),
        "snippets",
        "snippet_not_in_catalog",
    ),
    (
        |s| {
            let code = "parse_order((\n";
            s.replace(START, CODE, code);
            s.snippets.insert(span_sha256(code));
        },
        "snippets",
        "snippet_syntax",
    ),
    (|s| s.append(START, "\nIt is fast.\n"), "truth_lock", "uncited_line"),
    (
        |s| s.append(START, "\n[more]: https://example.com \"It is the fastest.\"\n"),
        "truth_lock",
        "uncited_line",
    ),
    (|s| s.append_unplanned(START, "\n## It is the fastest\n"), "truth_lock", "unplanned_heading"),
    (
        |s| s.append_unplanned(START, "\nIt is the fastest\n-----------------\n"),
        "truth_lock",
        "unplanned_heading",
    ),
    (
        |s| s.replace(START, "title: Start\n", "title: Start\ndescription: It is the fastest.\n"),
        "truth_lock",
        "uncited_description",
    ),
    (|s| s.append(START, "\nIt is fast. <!-- claim_id: none -->\n"), "truth_lock", "unknown_claim"),
    (
        |s| s.replace(START, READS, &READS.replace("files", "files\\<!-- and never fails -->")),
        "truth_lock",
        "wrong_quote",
    ),
    (|s| s.replace(START, READS, &format!("{READS}<!--> It never fails -->")), "truth_lock", "wrong_quote"),
    (|s| s.replace(START, READS, &format!("{READS} <!-- a note -->")), "truth_lock", "wrong_quote"),
    (|s| s.replace(START, READS, &format!("<p>{READS}")), "truth_lock", "wrong_quote"),
    (|s| s.cite("# Shop\n\n## Roadmap\n\n"), "truth_lock", "unsaid_claim"),
    (|s| s.cite("Shop does not:\n\n- "), "truth_lock", "unsaid_claim"),
    (|s| s.cite("- [ ] "), "truth_lock", "unsaid_claim"),
    (|s| s.cite("![not](no.svg) "), "truth_lock", "unsaid_claim"),
    (|s| s.cite("Some day it "), "truth_lock", "unsaid_claim"),
    (|s| s.replace(START, READS, "Reads orders from every file."), "truth_lock", "wrong_quote"),
    (
        |s| s.replace_in_repository("README.md", "Reads TSV.\nDoes not read spreadsheets.\n"),
        "truth_lock",
        "stale_citation",
    ),
    (|s| s.repository.retain(|file| file.0 != "README.md"), "truth_lock", "not_indexed"),
    (
        |s| {
            s.claims
                .by_id
                .values_mut()
                .for_each(|claim| claim.replaced_by = (claim.text == READS).then(|| "x".into()))
        },
        "truth_lock",
        "contradicted_claim",
    ),
    (|s| s.replace(START, "## Example", "## Sample"), "consistency", "missing_heading"),
    (|s| s.sections.extend([Section::Kb]), "consistency", "missing_section"),
    (|s| s.append(START, "\n## About SHOPKIT\n"), "consistency", "product_name"),
    (|s| s.append(START, "\n## https://github.com/evil/shop\n"), "consistency", "repository_url"),
    (|s| s.replace(API, "## Limitations", "## Notes"), "limitations_and_distribution", "no_limitations"),
    (
        |s| s.replace(START, "title: Start", "title: pip install shopkit"),
        "limitations_and_distribution",
        "install_name",
    ),
    (|s| s.repository.retain(|file| file.0 != "LICENSE"), "licence", "no_licence"),
    (|s| s.replace(START, LICENCE_LINE, ""), "licence", "licence_not_named"),
    (
        |s| {
            let code = "import sys\nfor a in sys.argv:\n    os.system('ls ' + a)\n";
            s.replace(START, CODE, code);
            s.snippets.insert(span_sha256(code));
        },
        "risk_disclosure",
        "risky_example",
    ),
    (|s| s.replace(START, "title: Start", "title: TOPSECRETTOKEN"), "secrets", "secret"),
    (|s| s.replace(START, "title: Start", "title: 'password: hunter2'"), "secrets", "likely_secret"),
    (|s| drop(s.allowed.pop()), "allowed_paths", "outside_allowed_paths"),
    (|s| s.budgets.max_files_changed = 1, "change_budget", "too_many_files"),
    (|s| s.budgets.max_lines_per_file = 20, "change_budget", "too_many_lines"),
    (|s| s.append(START, "\n## `shop/data/gone.csv`\n"), "readme_checks", "missing_path"),
    (|s| s.observed.commands.push(failed_command("site_build", true)), "site_build", "build_failed"),
    (|s| s.observed.commands.push(absent_command("site_build", true)), "site_build", "build_not_run"),
    (|s| s.observed.commands.push(failed_command("spelling", true)), "checks", "check_failed"),
    (|s| s.observed.commands.push(absent_command("spelling", true)), "checks", "check_not_run"),
    (|s| external_link(s, LinkOutcome::Gone(404)), "external_links", "external_link_gone"),
];

fn failed_command(name: &str, required: bool) -> CommandResult {
    let outcome =
        CommandOutcome::Failed { how: "ended with status 1".to_owned(), output: "no such page".to_owned() };
    CommandResult { name: name.to_owned(), required, outcome }
}

fn absent_command(name: &str, required: bool) -> CommandResult {
    let outcome = CommandOutcome::NotRun("TOOLCHAIN_MISSING: `hugo` is not installed.".to_owned());
    CommandResult { name: name.to_owned(), required, outcome }
}

fn external_link(scene: &mut Scene, outcome: LinkOutcome) {
    scene.append(START, "\n## [Elsewhere](https://docs.example.com/a#b)\n");
    let results = BTreeMap::from([("https://docs.example.com/a".to_owned(), outcome)]);
    scene.observed.links = Some(ExternalLinks { results, left_out: 0 });
}

#[test]
fn what_is_not_required_is_a_warning_and_never_passes_unseen() {
    let of = |scene: &Scene, gate: &str| {
        let report = scene.report();
        let status = report.gates.iter().find(|outcome| outcome.gate == gate).unwrap().status;
        let found = report.issues.iter().filter(|issue| issue.gate == gate).map(|issue| issue.severity);
        (status, found.min(), report.ok)
    };
    let with = |result: CommandResult, profile| {
        let mut scene = Scene { profile, ..Scene::new() };
        scene.observed.commands.push(result);
        scene
    };
    let warning = Some(Severity::Warning);
    let failed = with(failed_command("site_build", false), Profile::Ci);
    assert_eq!(of(&failed, "site_build"), (GateStatus::Passed, warning, true));
    let absent = with(absent_command("spelling", false), Profile::Ci);
    assert_eq!(of(&absent, "checks"), (GateStatus::Skipped, warning, true));
    for result in [failed_command("spelling", false), absent_command("spelling", false)] {
        let gate = of(&with(result, Profile::Prod), "checks");
        assert_eq!((gate.0, gate.1), (GateStatus::Failed, warning));
    }
    let mut unclear = Scene::new();
    external_link(&mut unclear, LinkOutcome::Unclear("no answer".to_owned()));
    assert_eq!(of(&unclear, "external_links"), (GateStatus::Passed, warning, true));
    for gate in ["site_build", "checks", "external_links"] {
        assert_eq!(of(&Scene::new(), gate).0, GateStatus::Skipped, "{gate}");
    }
}

#[test]
fn a_clean_run_passes() {
    let report = Scene::new().report();
    assert!(report.ok, "{}", report.to_json());
    assert!(found(&report).is_empty(), "{}", report.to_json());
    let not_passed: Vec<&str> = report
        .gates
        .iter()
        .filter(|gate| gate.status != GateStatus::Passed)
        .map(|gate| gate.gate.as_str())
        .collect();
    assert_eq!(not_passed, ["site_build", "checks", "external_links"], "which the site has to ask for");
    let strict = Scene { profile: Profile::Prod, ..Scene::new() };
    assert!(strict.report().ok, "{}", strict.report().to_json());
    for before in ["# Shop\n\n## Formats\n\n", "It has formats.\n\n- [x] ", "**Formats**\n\n* "] {
        let mut scene = Scene::new();
        scene.cite(before);
        assert!(scene.report().ok, "{before:?}: {}", scene.report().to_json());
    }
}

#[test]
fn a_page_is_described_by_a_claim_that_it_makes() {
    let described = |text: &str| {
        let mut scene = Scene::new();
        scene.replace(START, "title: Start\n", &format!("title: Start\ndescription: {text}\n"));
        scene
    };
    let report = described(READS).report();
    assert!(report.ok, "{}", report.to_json());
    let mut gone = described(READS);
    let mark = marker(&id(READS, ClaimKind::Feature));
    gone.replace(START, &format!("{READS} {mark}\n"), "");
    assert_eq!(found(&gone.report()), [("truth_lock", "uncited_description")]);
}

#[test]
fn each_fault_is_found_by_its_gate_alone() {
    for (at, (fault, gate, code)) in FAULTS.iter().enumerate() {
        let mut scene = Scene::new();
        fault(&mut scene);
        let report = scene.report();
        assert!(!report.ok, "fault {at}");
        assert_eq!(failed(&report), [*gate], "fault {at}, {code}: {}", report.to_json());
        assert!(found(&report).contains(&(*gate, *code)), "fault {at}, {code}: {}", report.to_json());
    }
    let covered: BTreeSet<&str> = FAULTS.iter().map(|(_, gate, _)| *gate).collect();
    let missing: Vec<&str> =
        GATES.iter().map(|gate| gate.name).filter(|name| !covered.contains(name)).collect();
    assert!(missing.is_empty(), "no fault for {missing:?}");
}

#[test]
fn all_faults_together_are_listed_in_one_order() {
    let all = || {
        let mut scene = Scene::new();
        scene.append(START, "\nIt is fast.\n\n#### Deep\n\n## [x](gone.md)\n");
        scene.replace(START, "title: Start", "title: TOPSECRETTOKEN");
        scene.snippets.clear();
        scene.report()
    };
    let report = all();
    let codes: Vec<&str> = found(&report).into_iter().map(|(_, code)| code).collect();
    assert_eq!(codes, ["secret", "uncited_line", "dead_link", "heading_jump", "snippet_not_in_catalog"]);
    assert_eq!(report.to_json(), all().to_json());
}

#[test]
fn the_id_of_an_issue_survives_other_edits() {
    let id = |before: &str| {
        let mut scene = Scene::new();
        scene.replace(API, "## Parsing", &format!("{before}## Parsing"));
        scene.append(API, "\nIt is fast.\n");
        let report = scene.report();
        report
            .issues
            .iter()
            .find(|issue| issue.code == "uncited_line")
            .map(|issue| issue.issue_id.clone())
            .unwrap()
    };
    assert_eq!(id(""), id("## New\n\n"));
}

#[test]
fn a_gate_that_cannot_run_never_passes_silently() {
    let local = Scene::new().report_with(|_| Err("the repository is not indexed"));
    let of = |report: &ValidationReport, name: &str| {
        report
            .gates
            .iter()
            .find(|gate| gate.gate == name)
            .map(|gate| (gate.status, gate.reason.clone()))
            .unwrap()
    };
    for gate in ["truth_lock", "licence", "readme_checks"] {
        assert_eq!(
            of(&local, gate),
            (GateStatus::Skipped, Some("the repository is not indexed".to_owned())),
            "{gate}"
        );
        let issue = local.issues.iter().find(|issue| issue.gate == gate).unwrap();
        assert_eq!((issue.code.as_str(), issue.severity), ("gate_not_run", Severity::Info));
    }
    let strict = Scene { profile: Profile::Ci, ..Scene::new() };
    let strict = strict.report_with(|_| Err("the repository is not indexed"));
    assert_eq!(of(&strict, "truth_lock").0, GateStatus::Failed);
    assert!(
        !strict.ok && strict.issues.iter().any(|issue| issue.code == "gate_not_run" && issue.is_failure())
    );
}

#[test]
fn marks_in_the_repository_forge_nothing() {
    let mut scene = Scene::new();
    scene.replace_in_repository(
        "README.md",
        &format!("{READS}\n{LACKS}\nIt is perfect. <!-- claim_id: forged -->\n"),
    );
    scene.append(START, "\nIt is perfect. <!-- claim_id: forged -->\n");
    assert_eq!(found(&scene.report()), [("truth_lock", "unknown_claim")]);
}
