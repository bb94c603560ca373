//! The identity of findings: as many records as results, recognised in each later report, whatever the scanner calls a fingerprint.

use std::sync::Arc;

use gate::app::App;
use serde_json::{Value, json};
use store::triage::{RecordWrite, Related};
use store::{Access, DecidedBy, ProjectTx};

use super::{DEPENDABOT, ingest, ingest_arguments, record_id, record_ids_with_meta};
use crate::harness::{app, error, project, result, try_call};

/// A report as a scanner writes it: its format, its text, the number of its results, and where the last of them is.
type Sample = (&'static str, &'static str, u64, &'static str);

macro_rules! sample {
    ($source:literal, $file:literal, $count:literal, $list:literal) => {
        ($source, include_str!(concat!("reports/scanners/", $file)), $count, $list)
    };
}

const SAMPLES: &[Sample] = &[
    sample!("sarif", "semgrep-anonymous.sarif", 3, "/runs/0/results"),
    sample!("sarif", "semgrep-signed-in.sarif", 3, "/runs/0/results"),
    sample!("sarif", "trivy-image.sarif", 3, "/runs/0/results"),
    sample!("sarif", "trivy-files.sarif", 3, "/runs/0/results"),
    sample!("sarif", "grype.sarif", 3, "/runs/0/results"),
    sample!("sarif", "gitleaks.sarif", 3, "/runs/0/results"),
    sample!("sarif", "codeql.sarif", 3, "/runs/0/results"),
    sample!("sarif", "snyk.sarif", 3, "/runs/0/results"),
    sample!("sarif", "eslint.sarif", 3, "/runs/0/results"),
    sample!("sarif", "checkov.sarif", 3, "/runs/0/results"),
    sample!("sarif", "bandit.sarif", 3, "/runs/0/results"),
    sample!("semgrep", "semgrep.json", 3, "/results"),
    sample!("trivy", "trivy.json", 5, "/Results/0/Vulnerabilities"),
    sample!("grype", "grype.json", 3, "/matches"),
    sample!("gitleaks", "gitleaks.json", 3, ""),
    sample!("snyk", "snyk.json", 3, "/vulnerabilities"),
    sample!("eslint", "eslint.json", 3, "/0/messages"),
    sample!("checkov", "checkov.json", 3, "/results/failed_checks"),
    sample!("bandit", "bandit.json", 3, "/results"),
    sample!("npm-audit", "npm-audit.json", 3, "/vulnerabilities"),
    sample!("trivy", "trivy-cluster.json", 2, "/Resources/0/Results/0/Vulnerabilities"),
    sample!("snyk", "snyk-container.json", 3, "/vulnerabilities"),
];

/// written, updated, unchanged, fixed.
pub(super) fn changes(ingested: &Value) -> [u64; 4] {
    assert_eq!(ingested["errors"], 0, "{ingested:#}");
    ["written", "updated", "unchanged", "fixed"].map(|name| ingested[name].as_u64().unwrap())
}

pub(super) fn ids(ingested: &Value) -> Vec<String> {
    ingested["recordIds"].as_array().unwrap().iter().map(|id| id.as_str().unwrap().to_owned()).collect()
}

pub(super) async fn send(app: &Arc<App>, project: &str, source: &str, report: &Value) -> Value {
    ingest(app, project, source, &report.to_string(), json!({ "buildIndex": false })).await
}

pub(super) fn remove_last(list: &mut Value) -> bool {
    match list {
        Value::Array(list) => list.pop().is_some(),
        Value::Object(fields) => {
            let last = fields.keys().next_back().cloned();
            last.and_then(|name| fields.shift_remove(&name)).is_some()
        }
        _ => false,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_result_is_a_record_that_is_recognised() {
    let (app, project) = (app(), project("results"));
    for (at, (source, text, count, list)) in SAMPLES.iter().enumerate() {
        // Reports of one tool and category replace each other, so each sample has a project of its own.
        let (count, project) = (*count, format!("{project}-{at}"));
        let name = format!("{source} {at}");
        let whole: Value = serde_json::from_str(text).unwrap();
        let first = send(&app, &project, source, &whole).await;
        assert_eq!(
            (&first["total"], changes(&first)),
            (&json!(count), [count, 0, 0, 0]),
            "{name}: {first:#}"
        );
        let again = send(&app, &project, source, &whole).await;
        assert_eq!((changes(&again), ids(&again)), ([0, 0, count, 0], ids(&first)), "{name}: {again:#}");
        let (mut fewer, mut left) = (whole.clone(), count);
        while remove_last(fewer.pointer_mut(list).unwrap()) {
            left -= 1;
            let without = send(&app, &project, source, &fewer).await;
            assert_eq!(changes(&without), [0, 0, left, 1], "{name} without: {without:#}");
            assert!(ids(&first).contains(&record_of(&without["fixedIds"][0])), "{name}: {without:#}");
            assert!(ids(&without).iter().all(|id| ids(&first).contains(id)), "{name}: {without:#}");
        }
        let back = send(&app, &project, source, &whole).await;
        let gone = count - left;
        assert_eq!((changes(&back), ids(&back)), ([0, gone, left, 0], ids(&first)), "{name}: {back:#}");
    }
}

fn record_of(id: &Value) -> String {
    id.as_str().unwrap().to_owned()
}

/// Adds a hundred to each line number.
fn shift_lines(value: &mut Value) {
    const LINES: [&str; 6] = ["startLine", "endLine", "line", "line_number", "StartLine", "EndLine"];
    match value {
        Value::Object(fields) => {
            for (name, value) in fields.iter_mut() {
                match value.as_u64() {
                    Some(line) if LINES.contains(&name.as_str()) => *value = (line + 100).into(),
                    _ => shift_lines(value),
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(shift_lines),
        _ => {}
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_finding_that_moved_is_the_same_where_something_says_so() {
    let (app, project) = (app(), project("moved"));
    let sample = |part: &str| SAMPLES.iter().find(|(_, text, ..)| text.contains(part)).unwrap();
    for (at, (part, recognised)) in [
        ("\"CodeQL\"", 3),
        ("\"Semgrep PRO\"", 3),
        ("\"Semgrep OSS\"", 3),
        ("\"Grype\"", 3),
        ("\"Checkov\"", 3),
        ("\"Bandit\"", 3),
        // Only the line distinguishes these.
        ("\"ESLint\"", 0),
        ("\"gitleaks\"", 0),
    ]
    .into_iter()
    .enumerate()
    {
        let (source, text, count, _) = sample(part);
        let project = format!("{project}-{at}");
        let mut report: Value = serde_json::from_str(text).unwrap();
        let first = send(&app, &project, source, &report).await;
        shift_lines(&mut report);
        let moved = send(&app, &project, source, &report).await;
        let new = count - recognised;
        assert_eq!(changes(&moved), [new, recognised, 0, new], "{part}: {moved:#}");
        if new == 0 {
            assert_eq!(ids(&moved), ids(&first), "{part}");
        }
        let again = send(&app, &project, source, &report).await;
        assert_eq!((changes(&again), ids(&again)), ([0, 0, *count, 0], ids(&moved)), "{part}");
    }
}

/// A SARIF result at a line.
pub(super) fn result_at(line: u64, extra: Value) -> Value {
    let mut result = json!({ "ruleId": "rule", "message": { "text": "Something is wrong." }, "locations": [{ "physicalLocation": {
        "artifactLocation": { "uri": "src/a.py" }, "region": { "startLine": line } } }] });
    for (name, value) in extra.as_object().unwrap() {
        result[name] = value.clone();
    }
    result
}

pub(super) fn log(results: Vec<Value>, run: Value) -> Value {
    let mut log = json!({ "version": "2.1.0", "runs": [{ "tool": { "driver": { "name": "scan" } }, "results": results }] });
    for (name, value) in run.as_object().unwrap() {
        log["runs"][0][name] = value.clone();
    }
    log
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_that_becomes_shared_or_unique_does_not_change_who_it_is() {
    let (app, project) = (app(), project("flip"));
    let shared =
        json!({ "guid": "f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "partialFingerprints": { "a/v1": "same" } });
    let at =
        |lines: &[u64]| log(lines.iter().map(|line| result_at(*line, shared.clone())).collect(), json!({}));
    let one = send(&app, &project, "sarif", &at(&[5])).await;
    let three = send(&app, &project, "sarif", &at(&[5, 8, 11])).await;
    assert_eq!(changes(&three), [2, 0, 1, 0], "{three:#}");
    assert_eq!(record_id(&three, 0), record_id(&one, 0));
    let last = send(&app, &project, "sarif", &at(&[11])).await;
    assert_eq!((changes(&last), record_id(&last, 0)), ([0, 0, 1, 2], record_id(&three, 2)), "{last:#}");
    let moved = send(&app, &project, "sarif", &at(&[40])).await;
    assert_eq!(
        changes(&moved),
        [1, 0, 0, 1],
        "three records had this fingerprint, so it identifies none: {moved:#}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_result_twice_is_two_records() {
    let (app, project) = (app(), project("twice"));
    let results =
        vec![result_at(5, json!({})), result_at(5, json!({})), result_at(5, json!({ "level": "error" }))];
    let report = log(results, json!({}));
    let first = send(&app, &project, "sarif", &report).await;
    assert_eq!(changes(&first), [3, 0, 0, 0], "{first:#}");
    let again = send(&app, &project, "sarif", &report).await;
    assert_eq!((changes(&again), ids(&again)), ([0, 0, 3, 0], ids(&first)), "{again:#}");
    let two = log(vec![result_at(5, json!({})), result_at(5, json!({}))], json!({}));
    assert_eq!(changes(&send(&app, &project, "sarif", &two).await)[3], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_and_services_do_not_disturb_each_other() {
    let (app, project) = (app(), project("apart"));
    let of = |id: &str, lines: &[u64]| {
        let results = lines.iter().map(|line| result_at(*line, json!({}))).collect();
        log(results, json!({ "automationDetails": { "id": id } }))
    };
    for id in ["api/", "web/", "scan/api", "scan/web"] {
        let first = send(&app, &project, "sarif", &of(id, &[1, 2])).await;
        assert_eq!(changes(&first), [2, 0, 0, 0], "{id}: {first:#}");
    }
    let mut both = of("api/", &[1]);
    both["runs"].as_array_mut().unwrap().push(of("web/", &[1, 2])["runs"][0].clone());
    let fewer = send(&app, &project, "sarif", &both).await;
    assert_eq!(changes(&fewer), [0, 0, 3, 1], "{fewer:#}");
    assert_eq!(changes(&send(&app, &project, "sarif", &of("scan/web", &[1, 2])).await), [0, 0, 2, 0]);
    let dated = |day: &str| of(&format!("nightly/{day}"), &[1, 2]);
    send(&app, &project, "sarif", &dated("2026-01-01")).await;
    assert_eq!(changes(&send(&app, &project, "sarif", &dated("2026-01-02")).await), [0, 0, 2, 0]);

    let report = of("services/", &[1, 2]).to_string();
    for (service, expected) in [("shop", [2, 0, 0, 0]), ("cart", [2, 0, 0, 0]), ("shop", [0, 0, 2, 0])] {
        let meta = json!({ "meta": { "service": service, "repo": service }, "buildIndex": false });
        let ingested = ingest(&app, &project, "sarif", &report, meta).await;
        assert_eq!(changes(&ingested), expected, "{service}: {ingested:#}");
    }
    let none = json!({ "meta": { "service": "cart", "repo": "cart" }, "buildIndex": false });
    let none = ingest(&app, &project, "sarif", &of("services/", &[]).to_string(), none).await;
    assert_eq!(changes(&none), [0, 0, 0, 2], "only those of the service: {none:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_fixed_by_a_report_that_is_incomplete() {
    let (app, project) = (app(), project("incomplete"));
    let both = log(vec![result_at(1, json!({})), result_at(2, json!({}))], json!({}));
    send(&app, &project, "sarif", &both).await;
    let one = || vec![result_at(1, json!({}))];
    let failed = log(one(), json!({ "invocations": [{ "executionSuccessful": false }] }));
    for (kind, report) in [
        ("a run that failed", failed.to_string()),
        ("no results", log(Vec::new(), json!({ "results": null })).to_string()),
        ("a broken item", log(one(), json!({})).to_string().replace("}]}]}", "}, {broken}]}]}")),
        ("a report that was cut", log(one(), json!({})).to_string().trim_end_matches("]}]}").to_owned()),
    ] {
        let ingested = ingest(&app, &project, "sarif", &report, json!({ "buildIndex": false })).await;
        assert_eq!(ingested["fixed"], 0, "{kind}: {ingested:#}");
    }
    let absent =
        log(vec![result_at(1, json!({})), result_at(2, json!({ "baselineState": "absent" }))], json!({}));
    let absent = ingest(&app, &project, "sarif", &absent.to_string(), json!({})).await;
    assert_eq!(record_ids_with_meta(&app, &project, json!("status=fixed")).await, [record_id(&absent, 1)]);
    // Reports of people and of alerts are parts.
    for (source, report) in [("generic", r#"[{"title": "a"}, {"title": "b"}]"#), ("dependabot", DEPENDABOT)] {
        ingest(&app, &project, source, report, json!({})).await;
        assert_eq!(ingest(&app, &project, source, "[]", json!({})).await["fixed"], 0, "{source}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fixed_finding_is_searched_by_its_status_and_opens_again() {
    let (app, project) = (app(), project("fixed"));
    let of = |lines: &[u64]| {
        log(lines.iter().map(|line| result_at(*line, json!({}))).collect(), json!({})).to_string()
    };
    let first = ingest(&app, &project, "sarif", &of(&[1, 2, 3]), json!({})).await;
    let accepted = json!({ "finding": record_id(&first, 2), "status": "accept", "project_id": project });
    result(&app, "triage_decision", accepted).await;
    let fewer = ingest(&app, &project, "sarif", &of(&[1]), json!({})).await;
    assert_eq!(fewer["fixed"], 2, "{fewer:#}");
    let with = async |status: &str| {
        record_ids_with_meta(&app, &project, json!(["recordType=finding", format!("status={status}")])).await
    };
    assert_eq!(with("open").await, [record_id(&first, 0)]);
    assert_eq!(with("fixed").await, [record_id(&first, 1)]);
    assert_eq!(with("accept").await, [record_id(&first, 2)], "what people decided stays");
    let back = ingest(&app, &project, "sarif", &of(&[1, 2]), json!({})).await;
    assert_eq!(back["updated"], 1, "{back:#}");
    assert_eq!(with("open").await.len(), 2);
    assert_eq!(with("fixed").await, [] as [String; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn alerts_of_two_repositories_have_the_same_numbers() {
    let (app, project) = (app(), project("alerts"));
    let alert = |repository: &str, number: u64, package: &str| {
        json!({ "number": number, "state": "open", "html_url": format!("https://github.com/{repository}/security/dependabot/{number}"),
            "dependency": { "package": { "ecosystem": "npm", "name": package }, "manifest_path": "package.json" },
            "security_advisory": { "ghsa_id": format!("GHSA-{package}"), "summary": package, "severity": "high" } })
    };
    let of = |repository: &str| json!([alert(repository, 1, "lodash"), alert(repository, 2, "minimist")]);
    assert_eq!(changes(&send(&app, &project, "dependabot", &of("octo/shop")).await)[0], 2);
    assert_eq!(changes(&send(&app, &project, "dependabot", &of("octo/cart")).await)[0], 2);
    let mut fixed = of("octo/cart");
    fixed[1]["state"] = "fixed".into();
    let fixed = ingest(&app, &project, "dependabot", &fixed.to_string(), json!({})).await;
    assert_eq!(changes(&fixed)[..3], [0, 1, 1], "{fixed:#}");
    assert_eq!(record_ids_with_meta(&app, &project, json!("status=fixed")).await, [record_id(&fixed, 1)]);
    // One ARN, one CVE, one package URL or one key of several items identifies nothing either.
    let inspector = |vuln: &str, resource: &str| {
        json!({ "findingArn": "arn:aws:inspector2:eu-west-1:1:finding/a", "title": vuln, "severity": "HIGH",
            "resources": [{ "id": resource, "type": "AWS_EC2_INSTANCE" }], "packageVulnerabilityDetails": { "vulnerabilityId": vuln } })
    };
    let shared = json!([
        inspector("CVE-2024-0001", "i-1"),
        inspector("CVE-2024-0001", "i-2"),
        inspector("CVE-2024-0002", "i-1")
    ]);
    let generic = json!([
        { "vulnId": "CVE-2024-0001", "package": { "name": "a", "purl": "pkg:npm/a@1" } },
        { "vulnId": "CVE-2024-0001", "package": { "name": "b", "purl": "pkg:npm/a@1" } },
        { "stableKey": "k", "title": "x" }, { "stableKey": "k", "title": "y" }
    ]);
    for (source, report, count) in [("aws_inspector", shared, 3), ("generic", generic, 4)] {
        let first = send(&app, &project, source, &report).await;
        assert_eq!(changes(&first), [count, 0, 0, 0], "{source}: {first:#}");
        let again = send(&app, &project, source, &report).await;
        assert_eq!((changes(&again), ids(&again)), ([0, 0, count, 0], ids(&first)), "{source}: {again:#}");
    }
}

/// The record id that older programs made of a key.
fn former_id(key: &str) -> String {
    blake3::hash(format!("sarif:{key}").as_bytes()).to_hex()[..40].to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_was_several_findings_is_split_and_keeps_its_decisions() {
    let (app, project) = (app(), project("split"));
    let (_, text, ..) = SAMPLES[0];
    // The record of an older program: both results of one rule and file in one record, the last one over the other.
    let rule = "python.lang.security.audit.eval-detected.eval-detected";
    let [former, single] =
        [(rule, "app/views.py"), ("python.flask.debug-enabled.debug-enabled", "app/main.py")].map(
            |(rule, file)| former_id(&format!("Semgrep OSS:{rule}:{file}:matchBasedId/v1=requires login")),
        );
    ingest(&app, &project, "manual", r#"{"title": "makes the tables"}"#, json!({ "buildIndex": false }))
        .await;
    let record = |file: &str, line: u64, message: &str| {
        json!({ "source": "sarif", "vuln": { "vulnId": rule, "title": message, "description": message, "severity": "medium" },
            "locations": [{ "path": file, "startLine": line }], "meta": { "tool": "Semgrep OSS", "ruleId": rule } })
    };
    let write = |id: &String, record: Value| RecordWrite {
        id: id.clone(),
        finding_id: None,
        status: None,
        expires_ms: None,
        related: Related::default(),
        identity: None,
        is_fixed: false,
        content_hash: [7; 32],
        record: record.to_string(),
    };
    let store = app.store().await.unwrap();
    let id = contract::ProjectId::parse(&project).unwrap();
    let opened = tenancy::open(store, &id, DecidedBy::Argument).await.unwrap().unwrap();
    let mut tx = ProjectTx::begin(store, &opened, Access::Write).await.unwrap();
    let records = [
        write(&former, record("app/views.py", 31, "Detected the use of eval().")),
        write(&single, record("app/main.py", 8, "Detected Flask app with debug=True.")),
    ];
    store::triage::put(&mut tx, &records, 1).await.unwrap();
    tx.commit().await.unwrap();
    let decision = json!({ "finding": former, "status": "false_positive", "project_id": project });
    result(&app, "triage_decision", decision).await;

    let arguments = ingest_arguments(&project, "sarif", text, json!({}));
    let envelope = crate::harness::call(&app, "triage_ingest", arguments).await;
    let ingested = &envelope["result"];
    assert_eq!(changes(ingested), [1, 2, 0, 0], "{envelope:#}");
    let new = record_id(ingested, 0);
    assert_eq!(
        ingested["split"],
        json!([{ "recordId": former, "recordIds": [new, former], "decided": true }]),
        "{envelope:#}"
    );
    let warning = &envelope["_meta"]["warnings"][0];
    assert_eq!(warning["code"], "records_split", "{envelope:#}");
    assert!(warning["message"].as_str().unwrap().contains("1 with decisions"), "{warning}");
    assert_eq!((record_id(ingested, 1), record_id(ingested, 2)), (former.clone(), single));
    let decided =
        record_ids_with_meta(&app, &project, json!(["recordType=finding", "status=false_positive"])).await;
    assert_eq!(
        decided,
        std::slice::from_ref(&former),
        "the decision holds for the finding that the record was last"
    );
    let again = ingest(&app, &project, "sarif", text, json!({})).await;
    assert_eq!((changes(&again), again.get("split")), ([0, 0, 3, 0], None), "{again:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_and_unknown_reports_are_refused_with_what_is_wrong() {
    let (app, project) = (app(), project("damaged-scanners"));
    let trivy: Value = serde_json::from_str(SAMPLES[12].1).unwrap();
    let mut damaged = trivy.clone();
    damaged["Results"][0]["Vulnerabilities"][1] = json!("no object");
    damaged["Results"][1] = json!(5);
    damaged["Results"][2]["Misconfigurations"] = json!({ "ID": "x" });
    let ingested =
        ingest(&app, &project, "trivy", &damaged.to_string(), json!({ "buildIndex": false })).await;
    assert_eq!((&ingested["total"], &ingested["written"]), (&json!(5), &json!(2)), "{ingested:#}");
    let errors = ingested["errorDetails"].as_array().unwrap();
    assert_eq!(errors.len(), 3, "{ingested:#}");
    assert!(errors.iter().all(|error| error["index"].is_u64() && error["message"].is_string()));
    for (source, text, ..) in SAMPLES.iter().filter(|(source, ..)| *source != "sarif") {
        let arguments = ingest_arguments(&project, "dependabot", text, json!({}));
        let refused = error(&app, "triage_ingest", arguments).await;
        let hint = refused["hint"].as_str().unwrap();
        let named = source.replace('-', "_");
        assert!(hint.contains(&format!("use the format `{named}`")), "{source}: {refused:#}");
    }
    let unknown = ingest_arguments(&project, "nessus", "[]", json!({}));
    let unknown = try_call(&app, "triage_ingest", unknown).await.unwrap_err().to_fault();
    let text = format!("{unknown:?}");
    for name in ["sarif", "trivy", "npm_audit"] {
        assert!(text.contains(name), "{text}");
    }
    let upper = ingest(&app, &project, "SARIF", SAMPLES[0].1, json!({ "buildIndex": false })).await;
    assert_eq!(upper["source"], "sarif", "the case of a format does not count");
}
