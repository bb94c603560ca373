//! Tests that the gates see the contents of a run's artifacts.

use std::collections::BTreeMap;

use super::*;
use crate::claim::{Citation, ClaimKind, claim_id, line_sha256, marker, span_sha256};
use crate::evidence::tests::evidence;
use crate::gate::{FoundSecret, SecretFinder};
use crate::observed::Observed;
use crate::report::GateStatus;
use crate::snippet::tests::parsed;

const PAGE: &str = "content/docs/start.md";
const READS: &str = "Reads orders from CSV files.";
const LICENCE_LINE: &str = "The licence is MIT.";
const MIT: &str = "Permission is hereby granted, free of charge, to any person obtaining a copy. THE SOFTWARE IS PROVIDED \"AS IS\".";

struct NoSecrets;

impl SecretFinder for NoSecrets {
    fn find(&self, _: &str, _: &str) -> Vec<FoundSecret> {
        Vec::new()
    }
}

fn config() -> RunConfig {
    let text = json!({
        "schema_version": "1.0", "product_slug": "shop", "product_name": "ShopKit", "family": null,
        "github_repo_url": "shop", "github_ref": "a".repeat(40), "target_platform": null, "locales": ["en"],
        "required_sections": ["docs"], "site_profile": "docs", "allowed_paths": ["content"], "layout_mode": "auto",
        "launch_tier": "standard", "validation_profile": "local", "allow_inference": false, "max_fix_attempts": 3,
        "budgets": { "max_files_changed": 9, "max_lines_per_file": 99 },
    });
    RunConfig::parse(&text.to_string()).unwrap()
}

fn artifacts() -> BTreeMap<String, Vec<u8>> {
    let claim = Claim {
        claim_id: claim_id(READS, ClaimKind::Feature, Some("ShopKit")),
        text: READS.to_owned(),
        kind: ClaimKind::Feature,
        citations: vec![Citation {
            path: "README.md".to_owned(),
            start_line: 1,
            end_line: 1,
            sha256: span_sha256(READS),
        }],
        replaced_by: None,
    };
    [
        (PAGE_PLAN, json!({ "pages": [{ "section": "docs", "output_path": PAGE, "title": "Start" }] })),
        (PRODUCT_FACTS, json!({ "claims": [claim], "install_commands": [] })),
        ("template_lines/docs.json", json!({ "lines": [line_sha256(LICENCE_LINE), line_sha256("# Start")] })),
    ]
    .into_iter()
    .map(|(name, content)| (name.to_owned(), content.to_string().into_bytes()))
    .collect()
}

/// Validates a site with one new page.
fn validate(page: &str, artifacts: &BTreeMap<String, Vec<u8>>) -> Result<WorkerOutput, WorkerError> {
    let config = config();
    let base: MemoryFiles = [("content/old.md", "# Old\n\nNobody checks this page.\n")].into_iter().collect();
    let site: MemoryFiles =
        [("content/old.md", "# Old\n\nNobody checks this page.\n"), (PAGE, page)].into_iter().collect();
    let changed = [PAGE.to_owned()];
    let mut item = WorkItem {
        config: &config,
        scope_key: "",
        repo_sha: "",
        site_sha: "",
        artifacts,
        site: &site,
        base: &base,
        changed: &changed,
        snippets: &[],
    };
    let snippets = parsed(&changed_pages(&item));
    item.snippets = &snippets;
    let files = [("README.md", READS), ("LICENSE", MIT)];
    let evidence = evidence((WORKER.asks)(&item), &files, &[]);
    (WORKER.run)(&WorkerInput {
        item,
        evidence: &evidence,
        secrets: &NoSecrets,
        observed: &Observed::default(),
    })
}

fn page() -> String {
    let mark = marker(&claim_id(READS, ClaimKind::Feature, Some("ShopKit")));
    format!("# Start\n\n{READS} {mark}\n\n{LICENCE_LINE}\n")
}

fn failed(output: &WorkerOutput) -> Vec<&str> {
    let gates = &output.report.as_ref().unwrap().gates;
    let failed = gates.iter().filter(|gate| gate.status == GateStatus::Failed);
    failed.map(|gate| gate.gate.as_str()).collect()
}

#[test]
fn a_page_of_claims_and_template_lines_passes() {
    let output = validate(&page(), &artifacts()).unwrap();
    assert!(output.report.as_ref().unwrap().ok, "{:?}", output.report);
    assert!(output.changes.is_empty());
}

#[test]
fn an_invented_sentence_is_found_and_listed_by_itself() {
    let output = validate(&format!("{}\nIt is the fastest.\n", page()), &artifacts()).unwrap();
    assert_eq!(failed(&output), ["truth_lock"]);
    let report: Value = serde_json::from_slice(&output.artifacts[0].bytes).unwrap();
    assert_eq!(output.artifacts[0].name, TRUTH_LOCK_REPORT);
    assert_eq!(report["outcome"]["status"], "failed");
    assert_eq!(report["issues"].as_array().unwrap().len(), 1);
    assert_eq!(report["issues"][0]["code"], "uncited_line");
}

#[test]
fn an_artifact_that_does_not_fit_its_schema_is_found() {
    let mut artifacts = artifacts();
    let plan = json!({ "pages": [{ "section": "nowhere", "output_path": PAGE }] });
    artifacts.insert(PAGE_PLAN.to_owned(), plan.to_string().into_bytes());
    assert_eq!(failed(&validate(&page(), &artifacts).unwrap()), ["schema"]);
    artifacts.insert(PAGE_PLAN.to_owned(), b"{".to_vec());
    assert_eq!(failed(&validate(&page(), &artifacts).unwrap()), ["schema"]);
}

#[test]
fn without_a_plan_nothing_is_validated() {
    let mut artifacts = artifacts();
    artifacts.remove(PAGE_PLAN);
    assert_eq!(validate(&page(), &artifacts).unwrap_err().0.code, "VALIDATE_MISSING_INPUT");
}

#[test]
fn a_site_without_folders_has_no_layout() {
    assert_eq!(SiteContext::default().layout(&["en".to_owned()]), None);
    let context: SiteContext =
        serde_json::from_value(json!({ "folders": [{ "section": "docs", "folder": "content/docs" }] }))
            .unwrap();
    let layout = context.layout(&["en".to_owned()]).unwrap();
    assert_eq!((layout.folders[0].folder.as_str(), layout.locales.len()), ("content/docs", 1));
}
