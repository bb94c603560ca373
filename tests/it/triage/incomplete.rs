//! Reports that say themselves that something was not scanned: what they lack is not fixed because of that.

use serde_json::{Value, json};

use super::identity::{changes, ids, log, remove_last, result_at, send};
use super::record_ids_with_meta;
use crate::harness::{app, project};

const BANDIT: &str = include_str!("reports/scanners/bandit.json");
const SEMGREP: &str = include_str!("reports/scanners/semgrep.json");
const ESLINT: &str = include_str!("reports/scanners/eslint.json");
const CHECKOV: &str = include_str!("reports/scanners/checkov.json");
const SARIF: &str = include_str!("reports/scanners/bandit.sarif");

/// Sets a field, whose parent must exist.
fn set(report: &mut Value, pointer: &str, value: Value) {
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    report.pointer_mut(parent).unwrap()[name] = value;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_not_scanned_is_not_fixed() {
    let (app, project) = (app(), project("gaps"));
    let notified = |level: &str| json!([{ "executionSuccessful": true, "toolExecutionNotifications": [{ "level": level }] }]);
    for (at, (source, text, list, field, value, fixed)) in [
        (
            "bandit",
            BANDIT,
            "/results",
            "/errors",
            json!([{ "filename": "a.py", "reason": "syntax error" }]),
            0,
        ),
        ("semgrep", SEMGREP, "/results", "/errors", json!([{ "level": "error", "type": "Timeout" }]), 0),
        ("semgrep", SEMGREP, "/results", "/errors", json!([{ "level": "warn", "path": "app/views.py" }]), 0),
        ("semgrep", SEMGREP, "/results", "/errors", json!([{ "level": "warn", "type": "Other" }]), 1),
        ("semgrep", SEMGREP, "/results", "/paths/skipped", json!([{ "path": "app/large.py" }]), 0),
        ("semgrep", SEMGREP, "/results", "/paths/skipped", json!([]), 1),
        (
            "eslint",
            ESLINT,
            "/0/messages",
            "/1/messages",
            json!([{ "fatal": true, "severity": 2, "message": "Parsing error" }]),
            0,
        ),
        ("checkov", CHECKOV, "/results/failed_checks", "/results/parsing_errors", json!(["/bad.tf"]), 0),
        ("checkov", CHECKOV, "/results/failed_checks", "/summary/parsing_errors", json!(1), 0),
        ("checkov", CHECKOV, "/results/failed_checks", "/summary/parsing_errors", json!(0), 1),
        ("sarif", SARIF, "/runs/0/results", "/runs/0/invocations", notified("error"), 0),
        ("sarif", SARIF, "/runs/0/results", "/runs/0/invocations", notified("warning"), 1),
    ]
    .into_iter()
    .enumerate()
    {
        let project = format!("{project}-{at}");
        let whole: Value = serde_json::from_str(text).unwrap();
        send(&app, &project, source, &whole).await;
        let mut fewer = whole.clone();
        assert!(remove_last(fewer.pointer_mut(list).unwrap()));
        let complete = fewer.clone();
        set(&mut fewer, field, value.clone());
        let partly = send(&app, &project, source, &fewer).await;
        assert_eq!(changes(&partly)[3], fixed, "{source} {field} {value}: {partly:#}");
        let after = send(&app, &project, source, &complete).await;
        // A file that could not be parsed is a finding of its own, until it can be.
        let parsed = u64::from(source == "eslint");
        assert_eq!(changes(&after)[3], 1 - fixed + parsed, "{source} {field} {value}: {after:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn results_that_are_no_problems_are_left_out() {
    let (app, project) = (app(), project("no-problems"));
    let at = |line: u64, extra: Value| result_at(line, extra);
    let kind = |kind: &str| json!({ "kind": kind });
    let first = log(vec![at(1, json!({})), at(2, kind("open")), at(3, kind("review"))], json!({}));
    let first = send(&app, &project, "sarif", &first).await;
    assert_eq!((&first["total"], changes(&first)), (&json!(3), [3, 0, 0, 0]), "{first:#}");
    let second = vec![
        at(1, json!({ "kind": "pass", "level": "none" })),
        at(2, json!({ "suppressions": [{ "kind": "inSource" }] })),
        at(3, json!({ "suppressions": [{ "kind": "external", "status": "underReview" }] })),
        at(4, kind("notApplicable")),
        at(5, kind("informational")),
    ];
    let second = log(second, json!({}));
    let left = super::ingest(&app, &project, "sarif", &second.to_string(), json!({})).await;
    assert_eq!((&left["total"], changes(&left)), (&json!(1), [0, 0, 1, 2]), "{left:#}");
    assert_eq!(ids(&left), ids(&first)[2..], "{left:#}");
    assert_eq!(record_ids_with_meta(&app, &project, json!("status=open")).await, ids(&left));
    assert_eq!(record_ids_with_meta(&app, &project, json!("recordType")).await.len(), 3, "no new ones");
}
