//! Files that are not reports of the named format, which are refused as a whole, and reports in which nothing was found.

use serde_json::{Value, json};

use super::{DEPENDABOT, GENERIC, INSPECTOR, SARIF, ingest, ingest_arguments, record_text, run_triage};
use crate::harness::{Repository, app, error, project, result};

const FORMATS: &str = "The formats are dependabot, aws_inspector, sarif, semgrep, trivy, grype, gitleaks, snyk, eslint, checkov, bandit, npm_audit, generic and manual.";

#[tokio::test(flavor = "multi_thread")]
async fn a_report_of_another_format_is_refused_as_a_whole() {
    let (app, project) = (app(), project("other-format"));
    let reports = [
        ("a Dependabot report", "dependabot", DEPENDABOT),
        ("an AWS Inspector report", "aws_inspector", INSPECTOR),
        ("a SARIF report", "sarif", SARIF),
        ("a generic report", "generic", GENERIC),
    ];
    for (name, source, _) in reports {
        for (kind, actual, report) in reports {
            // A finding of AWS Inspector also has the title of a generic one.
            if actual == source || (source, actual) == ("generic", "aws_inspector") {
                continue;
            }
            let arguments = ingest_arguments(&project, source, report, json!({}));
            let refused = error(&app, "triage_ingest", arguments).await;
            assert_eq!(refused["code"], "INVALID_REQUEST", "{actual} as {source}: {refused:#}");
            let message = refused["message"].as_str().unwrap();
            assert!(message.starts_with(&format!("It is not {name}: ")), "{actual} as {source}: {message}");
            let hint = format!("It looks like {kind}: use the format `{actual}`. {FORMATS}");
            assert_eq!(refused["hint"], hint, "{actual} as {source}");
        }
    }
    let decision = json!({ "finding": "0".repeat(40), "status": "fix", "project_id": project });
    let absent = error(&app, "triage_decision", decision).await;
    assert_eq!(absent["code"], "NO_INDEX", "no project was created: {absent:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_no_report_is_refused_with_what_is_wrong() {
    let (app, project) = (app(), project("no-report"));
    let all: &[&str] = &["dependabot", "inspector", "sarif", "generic", "manual"];
    let (dependabot, sarif, manual, documents) = (&all[..1], &all[2..3], &all[4..], &all[..3]);
    let not_json = "The report is not valid JSON: ";
    for (sources, report, message) in [
        (all, "not a report", format!("{not_json}expected ident at line 1 column 2.")),
        (all, "[\n", format!("{not_json}EOF while parsing a list at line 2 column 0.")),
        (all, "\0\u{1}", format!("{not_json}expected value at line 1 column 1.")),
        (all, "{\n  \"a\": 1,\n  b\n}\n", format!("{not_json}key must be a string at line 3 column 3.")),
        (documents, "", "The report is empty.".to_owned()),
        (documents, "\n", "The report is empty.".to_owned()),
        (sarif, "[]", "It is not a SARIF report: the root has no `runs`.".to_owned()),
        (sarif, "{\"results\": []}", "It is not a SARIF report: the root has no `runs`.".to_owned()),
        (sarif, "{\"runs\": {}}", "It is not a SARIF report: `runs` is not a list.".to_owned()),
        (
            dependabot,
            "{\"runs\": []}",
            "It is not a Dependabot report: no item has a field of an alert, such as `security_advisory`.".to_owned(),
        ),
        (
            manual,
            "{\"a\": 1}\n{\"b\": 2}\n",
            "It is not a manual report: no item has a field of a finding, such as `title`, `vulnId` or `package`."
                .to_owned(),
        ),
    ] {
        for source in sources {
            let arguments = ingest_arguments(&project, source, report, json!({}));
            let refused = error(&app, "triage_ingest", arguments).await;
            assert_eq!(
                (&refused["code"], &refused["message"]),
                (&json!("INVALID_REQUEST"), &json!(message)),
                "{source} {report:?}"
            );
            assert!(refused["hint"].is_string(), "{source} {report:?}: {refused:#}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_holds_one_report() {
    let (app, project) = (app(), project("one-report"));
    let semgrep = include_str!("reports/scanners/semgrep.json");
    ingest(&app, &project, "semgrep", semgrep, json!({ "buildIndex": false })).await;
    let nothing =
        semgrep.replace("\"results\"", "\"others\"").replace("\"errors\"", "\"results\": [], \"errors\"");
    let last = |text: &str| text.trim_end().lines().count();
    for (source, report, line) in [
        ("semgrep", format!("{nothing}\nRan 3 rules.\n"), last(&nothing)),
        ("semgrep", format!("{}\n{semgrep}", nothing.trim_end()), last(&nothing)),
        ("sarif", format!("{}{SARIF}", SARIF.trim_end()), last(SARIF)),
        ("dependabot", format!("{}\n{DEPENDABOT}", DEPENDABOT.trim_end()), last(DEPENDABOT)),
        ("generic", "{\"title\": \"a\"} {\"title\": \"b\"}\n".to_owned(), 1),
    ] {
        let refused =
            error(&app, "triage_ingest", ingest_arguments(&project, source, &report, json!({}))).await;
        let message = format!("The report ends at line {line}, and there is more text after it.");
        assert_eq!(
            (&refused["code"], &refused["message"]),
            (&json!("INVALID_REQUEST"), &json!(message)),
            "{source}"
        );
        assert!(refused["hint"].as_str().unwrap().contains("one report"), "{source}: {refused:#}");
    }
    let again = ingest(&app, &project, "semgrep", semgrep, json!({ "buildIndex": false })).await;
    assert_eq!(
        (&again["unchanged"], &again["updated"]),
        (&json!(3), &json!(0)),
        "nothing became fixed: {again:#}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_in_utf_16_are_read() {
    let (app, project) = (app(), project("utf-16"));
    let repository = Repository::new(&[("a.py", "")]);
    let text = format!("\u{feff}{}", SARIF.replace("depends on", "hängt ab von"));
    let mut ids = Vec::new();
    for (name, unit) in [("le.sarif", u16::to_le_bytes as fn(u16) -> [u8; 2]), ("be.sarif", u16::to_be_bytes)]
    {
        let path = repository.path().join(name);
        std::fs::write(&path, text.encode_utf16().flat_map(unit).collect::<Vec<u8>>()).unwrap();
        let arguments = json!({ "source": "sarif", "inputPath": path, "project_id": project });
        let ingested = result(&app, "triage_ingest", arguments).await;
        assert_eq!((&ingested["total"], &ingested["errors"]), (&json!(2), &json!(0)), "{name}: {ingested:#}");
        ids.push(ingested["recordIds"].clone());
    }
    assert_eq!(ids[0], ids[1]);
    let shown = record_text(&app, &project, ids[0][0].as_str().unwrap()).await;
    assert!(shown.contains("hängt ab von"), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_without_findings_succeeds() {
    let (app, project) = (app(), project("nothing-found"));
    for (source, report) in [
        ("dependabot", "[]"),
        ("dependabot", "{\"alerts\": []}"),
        ("aws_inspector", "{\"findings\": [], \"nextToken\": null}"),
        ("sarif", "{\"version\": \"2.1.0\", \"runs\": []}"),
        ("sarif", "{\"version\": \"2.1.0\", \"runs\": null}"),
        ("sarif", "{\"runs\": [{\"tool\": {\"driver\": {\"name\": \"t\"}}, \"results\": []}]}"),
        ("sarif", "\u{feff}{\"runs\": [{\"tool\": {\"driver\": {\"name\": \"t\"}}}]}"),
        ("gitleaks", "[]"),
        ("gitleaks", "null\n"),
        ("generic", "[]"),
        ("generic", "{\"records\": []}"),
        ("generic", ""),
        ("manual", "\n"),
    ] {
        let ingested = ingest(&app, &project, source, report, json!({})).await;
        assert_eq!((&ingested["total"], &ingested["errors"]), (&json!(0), &json!(0)), "{source} {report:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sarif_logs_may_be_lines() {
    let (app, project) = (app(), project("log-lines"));
    let log = serde_json::from_str::<Value>(SARIF).unwrap().to_string();
    let other = log.replace("codescan", "otherscan");
    let ingested = ingest(&app, &project, "sarif", &format!("{log}\n{other}\n"), json!({})).await;
    assert_eq!((&ingested["total"], &ingested["written"]), (&json!(4), &json!(4)), "{ingested:#}");
}

#[test]
fn the_program_fails_for_a_file_that_is_no_report() {
    let project = project("no-report-file");
    let repository =
        Repository::new(&[("alerts.json", DEPENDABOT), ("empty.sarif", ""), ("a.txt", "Hello\n")]);
    for (file, message) in [
        ("alerts.json", "It is not a SARIF report: the root has no `runs`."),
        ("empty.sarif", "The report is empty."),
        ("a.txt", "The report is not valid JSON: expected value at line 1 column 1."),
        ("none.sarif", "There is no file `"),
    ] {
        let path = repository.path().join(file);
        let (code, stdout, stderr) =
            run_triage(&["ingest", "sarif", path.to_str().unwrap(), "--project", &project]);
        assert_eq!((code, stdout.as_str()), (1, ""), "{file}: {stderr}");
        assert!(stderr.contains(message), "{file}: {stderr}");
    }
}
