//! Reports of single scanners: advisories of packages, numbered code, addresses of files.

use serde_json::{Value, json};

use super::identity::{changes, ids, log, send};
use super::{ingest, record_id, record_ids_with_meta, record_text};
use crate::harness::{app, project};

const NPM_AUDIT: &str = include_str!("reports/scanners/npm-audit.json");
const BANDIT: &str = include_str!("reports/scanners/bandit.json");

/// An advisory as npm lists it.
fn advisory(number: u64, severity: &str, score: f64) -> Value {
    json!({ "source": number, "name": "lodash", "dependency": "lodash", "title": format!("Problem {number}"),
        "url": format!("https://github.com/advisories/GHSA-{number}"), "severity": severity, "range": "<4.17.21",
        "cwe": ["CWE-400"], "cvss": { "score": score, "vectorString": "CVSS:3.1/AV:N" } })
}

#[tokio::test(flavor = "multi_thread")]
async fn each_advisory_of_a_package_is_a_finding() {
    let (app, project) = (app(), project("advisories"));
    let mut report: Value = serde_json::from_str(NPM_AUDIT).unwrap();
    let first = send(&app, &project, "npm_audit", &report).await;
    assert_eq!(changes(&first), [3, 0, 0, 0], "{first:#}");
    let via = &mut report["vulnerabilities"]["lodash"]["via"];
    via.as_array_mut().unwrap().extend([json!("grunt"), advisory(2, "low", 3.1)]);
    report["vulnerabilities"]["lodash"]["severity"] = "critical".into();
    let second = ingest(&app, &project, "npm_audit", &report.to_string(), json!({})).await;
    assert_eq!(changes(&second), [1, 0, 3, 0], "{second:#}");
    let shown = record_text(&app, &project, &record_id(&second, 1)).await;
    assert!(shown.starts_with("# Finding open GHSA-2 (lodash) [low]"), "{shown}");
    assert!(shown.contains("3.1") && shown.contains("node_modules/lodash"), "{shown}");
    assert_eq!(record_ids_with_meta(&app, &project, json!("severity=critical")).await, [] as [String; 0]);
    report["vulnerabilities"]["lodash"]["via"].as_array_mut().unwrap().push(advisory(3, "high", 7.5));
    assert_eq!(changes(&send(&app, &project, "npm_audit", &report).await), [1, 0, 4, 0]);
    report["vulnerabilities"]["lodash"]["via"].as_array_mut().unwrap().remove(0);
    let gone = send(&app, &project, "npm_audit", &report).await;
    assert_eq!(changes(&gone), [0, 0, 4, 1], "{gone:#}");
    assert_eq!(gone["fixedIds"][0], record_id(&first, 0), "{gone:#}");
    let again = send(&app, &project, "npm_audit", &report).await;
    assert_eq!((changes(&again), ids(&again)), ([0, 0, 4, 0], ids(&gone)), "{again:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn numbered_code_that_moved_is_the_same() {
    let (app, project) = (app(), project("numbered"));
    let report: Value = serde_json::from_str(BANDIT).unwrap();
    let first = send(&app, &project, "bandit", &report).await;
    let mut moved = report.clone();
    for result in moved["results"].as_array_mut().unwrap() {
        let line = result["line_number"].as_u64().unwrap();
        result["code"] =
            result["code"].as_str().unwrap().replace(&format!("{line} "), &format!("{} ", line + 90)).into();
        result["line_number"] = (line + 90).into();
        result["line_range"] = json!([line + 90]);
    }
    let moved = send(&app, &project, "bandit", &moved).await;
    assert_eq!((changes(&moved), ids(&moved)), ([0, 3, 0, 0], ids(&first)), "{moved:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_a_path_however_sarif_names_it() {
    let (app, project) = (app(), project("addresses"));
    let result = |file: Value| {
        json!({ "ruleId": "rule", "message": { "text": "Wrong." }, "guid": "f81d4fae-7dec-11d0-a765-00a0c91e6bf6",
            "locations": [{ "physicalLocation": { "artifactLocation": file, "region": { "startLine": 3 } } }] })
    };
    let run = json!({ "artifacts": [{ "location": { "uri": "x.py" } }, { "location": { "uri": "src/a%20b.py" } }] });
    let send = async |file: Value| {
        ingest(&app, &project, "sarif", &log(vec![result(file)], run.clone()).to_string(), json!({})).await
    };
    let escaped = send(json!({ "uri": "src/a%20b.py", "uriBaseId": "%SRCROOT%" })).await;
    let at_path = async || record_ids_with_meta(&app, &project, json!("locations.path=src/a b.py")).await;
    assert_eq!(at_path().await, ids(&escaped), "{escaped:#}");
    let by_number = send(json!({ "index": 1 })).await;
    assert_eq!((changes(&by_number), ids(&by_number)), ([0, 0, 1, 0], ids(&escaped)), "{by_number:#}");
    let unknown = send(json!({ "index": 2 })).await;
    assert_eq!((changes(&unknown), ids(&unknown)), ([0, 1, 0, 0], ids(&escaped)), "{unknown:#}");
    assert_eq!(at_path().await, [] as [String; 0], "a number without a file names none");
}
