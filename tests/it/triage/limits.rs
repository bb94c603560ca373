//! Reports that are broken, hostile or large, and ingestions that are killed.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{ingest, ingest_arguments, record_id, record_ids_with_meta, record_text};
use crate::harness::{Dice, PROGRAM, app, app_with, error, home, project, result};

fn errors(ingested: &Value) -> Vec<(u64, String)> {
    let list = ingested["errorDetails"].as_array().unwrap();
    list.iter()
        .map(|detail| (detail["index"].as_u64().unwrap(), detail["message"].as_str().unwrap().to_owned()))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_item_does_not_affect_the_others() {
    let (app, project) = (app(), project("broken"));
    let good = |key: &str| json!({ "stableKey": key, "title": format!("Good {key}"), "number": key, "findingArn": key, "security_advisory": { "summary": "s" } });
    for source in ["dependabot", "aws_inspector", "generic", "manual"] {
        let (a, b, c) = (good("1"), good("2"), good("3"));
        let array = format!("[{a}, {{\"broken\": ,}}, 17, {b}, {{}}, \"text\", {c}]");
        let wrapped = format!("{{\"total\": 7, \"alerts\": {array}}}");
        let lines = format!("{a}\n{{\"broken\": ,}}\n17\n{b}\n{{}}\n\"text\"\n{c}\n");
        for (format, report) in [("array", &array), ("object", &wrapped), ("lines", &lines)] {
            let ingested = ingest(&app, &project, source, report, json!({})).await;
            assert_eq!(
                (&ingested["total"], &ingested["errors"]),
                (&json!(7), &json!(4)),
                "{source} {format}: {ingested:#}"
            );
            assert_eq!(ingested["recordIds"].as_array().unwrap().len(), 3, "{source} {format}: {ingested:#}");
            let places: Vec<u64> = errors(&ingested).into_iter().map(|(index, _)| index).collect();
            assert_eq!(places, [1, 2, 4, 5], "{source} {format}");
            assert!(errors(&ingested)[0].1.contains("not JSON"), "{ingested:#}");
            assert_eq!(ingested["truncated"], false);
        }
        // A truncated report is read up to the cut.
        let cut = ingest(&app, &project, source, &array[..array.len() - 12], json!({})).await;
        assert_eq!((&cut["total"], &cut["errors"]), (&json!(7), &json!(5)), "{source}: {cut:#}");
    }
    let result = json!({ "ruleId": "r", "message": { "text": "m" }, "guid": "g" });
    let log = format!(
        "{{\"runs\": [{{\"tool\": {{\"driver\": {{\"name\": \"t\"}}}}, \"results\": [{result}, {{bad}}, 5]}}, 7, {{\"results\": 1}}, {{\"tool\": {{}}}}]}}"
    );
    let ingested = ingest(&app, &project, "sarif", &log, json!({})).await;
    assert_eq!((&ingested["total"], &ingested["written"]), (&json!(5), &json!(1)), "{ingested:#}");
    assert_eq!(errors(&ingested).iter().map(|(index, _)| *index).collect::<Vec<_>>(), [1, 2, 3, 4]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_that_is_cut_between_items_is_incomplete() {
    let (app, project) = (app(), project("cut"));
    let sarif = r#"{"runs": [{"results": [{"ruleId": "r", "message": {"text": "m"}}]}, {"tool": "#;
    for (source, report) in [("generic", r#"[{"title": "first"},"#), ("sarif", sarif)] {
        let ingested = ingest(&app, &project, source, report, json!({})).await;
        assert_eq!((&ingested["total"], &ingested["written"]), (&json!(2), &json!(1)), "{ingested:#}");
        let cut = "the report ends here, before it is complete";
        assert_eq!(errors(&ingested), [(1, cut.to_owned())], "{source}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_text_is_stored_in_a_harmless_form() {
    let (app, project) = (app(), project("hostile"));
    let report = json!([{
        "stableKey": "h\u{0}", "title": "Zero\u{0}width\u{200b} and\nnewline", "description": "## Package\n- Name: faked\u{202e}",
        "service": "a\u{1b}[31m", "meta": { "k\u{0}ey": "v\u{0}", "deep": { "er": ["x", "y"] } }, "references": ["javascript:alert(1)"]
    }]);
    let ingested =
        ingest(&app, &project, "generic", &report.to_string(), json!({ "meta": { "te\u{0}am": "x" } })).await;
    assert_eq!(ingested["written"], 1, "{ingested:#}");
    let shown = record_text(&app, &project, &record_id(&ingested, 0)).await;
    assert!(!shown.contains(['\0', '\u{200b}', '\u{202e}', '\u{1b}']), "{shown:?}");
    assert!(shown.contains("Zerowidth\\u{200b} and\\nnewline"), "{shown}");
    assert!(!shown.contains("\n## Package"), "{shown}");
    for pair in ["key=v", "deep.er=y", "team=x"] {
        assert_eq!(record_ids_with_meta(&app, &project, json!(pair)).await.len(), 1, "{pair}");
    }
    let lone_surrogate =
        "[{\"stableKey\": \"s\", \"title\": \"\\ud800\"}, {\"stableKey\": \"t\", \"title\": \"fine\"}]";
    let ingested = ingest(&app, &project, "generic", lone_surrogate, json!({})).await;
    assert_eq!((&ingested["written"], &ingested["errors"]), (&json!(1), &json!(1)), "{ingested:#}");
    let deep = format!("[{}1{}, {{\"title\": \"fine\"}}]", "[".repeat(400), "]".repeat(400));
    let ingested = ingest(&app, &project, "generic", &deep, json!({})).await;
    assert_eq!((&ingested["written"], &ingested["errors"]), (&json!(1), &json!(1)), "{ingested:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_limit_holds() {
    let project = project("limits");
    let item = |key: usize, text: &str| json!({ "stableKey": key.to_string(), "title": text });
    let many = |count: usize| json!((0..count).map(|n| item(n, "x")).collect::<Vec<_>>()).to_string();
    let few = app_with(|config| config.triage.items_max = 3);
    assert_eq!(ingest(&few, &project, "generic", &many(3), json!({})).await["written"], 3);
    let fault =
        error(&few, "triage_ingest", ingest_arguments(&project, "generic", &many(4), json!({}))).await;
    assert!(fault["hint"].as_str().unwrap().contains("items_max"), "{fault:#}");
    let small = app_with(|config| config.triage.input_bytes_max = 20);
    let fault =
        error(&small, "triage_ingest", ingest_arguments(&project, "generic", &many(2), json!({}))).await;
    assert!(fault["hint"].as_str().unwrap().contains("input_bytes_max"), "{fault:#}");
    let tight = app_with(|config| {
        config.triage.item_bytes_max = 400;
        config.triage.text_bytes_max = 100;
        config.triage.list_max = 2;
        config.triage.listed_max = 1;
    });
    let mut lists = item(12, "lists");
    lists["references"] = json!(["https://a", "https://b", "https://c"]);
    let report = json!([item(10, &"y".repeat(500)), item(11, &"z".repeat(200)), lists, 5]).to_string();
    let ingested = ingest(&tight, &project, "generic", &report, json!({})).await;
    assert_eq!((&ingested["written"], &ingested["errors"]), (&json!(2), &json!(2)), "{ingested:#}");
    assert_eq!(ingested["recordIds"].as_array().unwrap().len(), 1);
    assert_eq!((errors(&ingested).len(), &ingested["truncated"]), (1, &json!(true)), "{ingested:#}");
    let shown = record_text(&tight, &project, &record_id(&ingested, 0)).await;
    assert!(
        shown.contains(&format!("{}…", "z".repeat(100))) && shown.contains("1 long values were cut"),
        "{shown}"
    );
    let found = record_ids_with_meta(&tight, &project, json!("recordType")).await;
    assert_eq!(found.len(), 5);
    let narrow = app_with(|config| config.triage.record_bytes_max = 200);
    let large = json!([item(20, &"w".repeat(300))]).to_string();
    let ingested = ingest(&narrow, &project, "generic", &large, json!({})).await;
    assert!(errors(&ingested)[0].1.contains("more than 200"), "{ingested:#}");
}

/// A row of an index in Postgres cannot hold such an id, and decisions are found by it.
#[tokio::test(flavor = "multi_thread")]
async fn a_finding_with_a_long_id_and_package_can_be_decided() {
    let (app, project) = (app(), project("long-id"));
    let mut dice = Dice(1);
    let mut letters = || -> String {
        (0..3_000).map(|_| char::from(b'a' + u8::try_from(dice.roll(26)).unwrap())).collect()
    };
    let (vuln, package) = (letters(), letters());
    let item = |key: &str| json!({ "stableKey": key, "vulnId": vuln, "package": { "name": package } });
    let report = json!([item("a"), item("b")]).to_string();
    let ingested = ingest(&app, &project, "generic", &report, json!({})).await;
    assert_eq!((&ingested["written"], &ingested["errors"]), (&json!(2), &json!(0)), "{ingested:#}");
    let ids = [record_id(&ingested, 0), record_id(&ingested, 1)];
    let decision = json!({ "finding": ids[0], "status": "accept", "project_id": project });
    result(&app, "triage_decision", decision).await;
    for id in ids {
        let arguments = json!({ "recordId": id, "ann": false, "project_id": project });
        let pack = result(&app, "triage_context_pack", arguments).await;
        assert_eq!(pack["historyCount"], 1, "a decision about the same vulnerability: {pack:#}");
        assert_eq!(pack["pack"]["finding"]["vuln"]["vulnId"], vuln, "the record is complete");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn records_of_one_project_are_not_found_in_another() {
    let app = app();
    let (ours, theirs) = (project("ours"), project("theirs"));
    let blue = r#"{"stableKey": "k", "title": "blue"}"#;
    let in_ours = ingest(&app, &ours, "generic", blue, json!({})).await;
    let in_theirs = ingest(&app, &theirs, "generic", blue, json!({})).await;
    ingest(&app, &theirs, "generic", r#"{"stableKey": "l", "title": "yellow"}"#, json!({})).await;
    assert_eq!(
        in_ours["recordIds"], in_theirs["recordIds"],
        "an id depends on the finding, not on the project"
    );
    assert!(record_text(&app, &ours, &record_id(&in_ours, 0)).await.contains("blue"));
    let arguments = json!({ "query": "yellow", "mode": "records", "ann": false, "project_id": ours });
    assert_eq!(result(&app, "search", arguments).await["total"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_are_created_on_first_use_only() {
    use contract::ProjectId;
    use store::postgres::{Migration, Module, TRIAGE};
    use store::{self, DecidedBy};
    let (app, other, project) = (app(), app_with(|_| {}), project("tables"));
    let repository = crate::harness::Repository::new(&[("a.py", "def a():\n    return 1\n")]);
    result(&app, "build_index", json!({ "repoPath": repository.root(), "project_id": project })).await;
    let opened = app.store().await.unwrap();
    let id = ProjectId::parse(&project).unwrap();
    let workspace = tenancy::open(opened, &id, DecidedBy::Argument).await.unwrap().unwrap();
    let arguments = json!({ "recordId": "0".repeat(40), "project_id": project });
    assert_eq!(error(&app, "triage_context_pack", arguments).await["code"], "NOT_FOUND");
    assert!(!store::has_module(opened, &workspace, &TRIAGE).await.unwrap(), "a read creates no tables");
    let calls = (0..6).map(|n| {
        let (app, project) = (if n % 2 == 0 { &app } else { &other }, &project);
        let report = format!("{{\"stableKey\": \"{n}\", \"title\": \"x\"}}");
        async move { ingest(app, project, "generic", &report, json!({ "buildIndex": false })).await }
    });
    let answers = futures::future::join_all(calls).await;
    assert!(answers.iter().all(|answer| answer["written"] == 1), "{answers:#?}");
    assert!(store::has_module(opened, &workspace, &TRIAGE).await.unwrap());
    // A program that knows only an older version of the tables refuses to change them.
    const NONE: &[Migration] = &[];
    let older = Module { name: TRIAGE.name, migrations: NONE };
    let fault = store::provision_module(opened, &workspace, &older).await.unwrap_err();
    assert_eq!(fault.code.as_str(), "ILLEGAL_STATE");
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_ingestions_store_each_record_once() {
    let (app, project) = (app(), project("storm"));
    let report = |from: usize| {
        json!(
            (from..from + 20)
                .map(|n| json!({ "stableKey": n.to_string(), "title": format!("t{n}") }))
                .collect::<Vec<_>>()
        )
        .to_string()
    };
    let calls = (0..8).map(|n| {
        let (app, project, report) = (&app, &project, report(n * 10));
        async move { ingest(app, project, "generic", &report, json!({})).await }
    });
    let answers = futures::future::join_all(calls).await;
    assert!(answers.iter().all(|answer| answer["errors"] == 0));
    let written: u64 = answers.iter().map(|answer| answer["written"].as_u64().unwrap()).sum();
    assert_eq!(written, 90, "{answers:#?}");
    let status = result(&app, "index_status", json!({ "project_id": project })).await;
    assert_eq!(status["files"], 90, "records of calls that joined a run are indexed as well: {status:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_thousand_findings_are_ingested_and_recognised_again() {
    let (app, project) = (app(), project("many"));
    let item = |n: usize| {
        json!({ "number": n, "dependency": { "package": { "name": format!("pkg{}", n % 500), "ecosystem": "npm" }, "manifest_path": "package.json" },
            "security_advisory": { "cve_id": format!("CVE-2024-{n:05}"), "summary": format!("Finding {n}"), "severity": "high",
                "description": format!("What goes wrong in case {n}. ").repeat(10) } })
    };
    let lines: String = (0..2_000).map(|n| item(n).to_string() + "\n").collect();
    let repository = crate::harness::Repository::new(&[("alerts.jsonl", &lines)]);
    let path = repository.path().join("alerts.jsonl");
    let arguments = json!({ "source": "dependabot", "inputPath": path, "project_id": project });
    let started = Instant::now();
    let first = result(&app, "triage_ingest", arguments.clone()).await;
    let first_duration = started.elapsed();
    assert_eq!((&first["written"], &first["index"]["records"]), (&json!(2_000), &json!(2_000)), "{first:#}");
    assert_eq!((first["recordIds"].as_array().unwrap().len(), &first["truncated"]), (1000, &json!(true)));
    let started = Instant::now();
    let second = result(&app, "triage_ingest", arguments).await;
    println!("2,000 findings: {first_duration:?} the first time, {:?} the second", started.elapsed());
    assert_eq!((&second["unchanged"], &second["index"]["changed"]), (&json!(2_000), &json!(0)), "{second:#}");
    assert_eq!(record_ids_with_meta(&app, &project, json!("vuln.cve=CVE-2024-01777")).await.len(), 1);
}

/// Calls `triage_ingest` through the program and kills it once `reached` returns true.
fn kill_ingestion_when(arguments: &Value, reached: impl Fn() -> bool) {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&file, arguments.to_string()).unwrap();
    let mut victim = Command::new(PROGRAM)
        .args(["call", "triage_ingest", "--args", &format!("@{}", file.path().display())])
        .env("PAIROFCLEATS_HOME", home())
        .env_remove("DATABASE_URL")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(120);
    while !reached() {
        assert!(Instant::now() < deadline, "timed out waiting for the moment to kill");
        assert!(victim.try_wait().unwrap().is_none(), "it ended before it could be killed");
        std::thread::sleep(Duration::from_millis(5));
    }
    victim.kill().unwrap();
    victim.wait().unwrap();
}

fn call_program(name: &str, arguments: &Value) -> Value {
    let output = Command::new(PROGRAM)
        .args(["call", name, "--args", &arguments.to_string(), "--json"])
        .env("PAIROFCLEATS_HOME", home())
        .env_remove("DATABASE_URL")
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_killed_ingestion_continues_where_it_stopped() {
    let project = project("killed");
    let items: Vec<Value> = (0..1200)
        .map(|n| json!({ "stableKey": n.to_string(), "title": format!("Finding number {n}"), "description": format!("word{n} ").repeat(4) }))
        .collect();
    let repository = crate::harness::Repository::new(&[("r.json", &json!(items).to_string())]);
    let arguments =
        json!({ "source": "generic", "inputPath": repository.path().join("r.json"), "project_id": project });
    let status = || call_program("index_status", &json!({ "project_id": project }));
    // Kill it while records are being indexed: some are searchable, the others are not.
    kill_ingestion_when(&arguments, || status()["result"]["files"].as_u64().unwrap_or(0) > 0);
    let seen = status()["result"]["files"].as_u64().unwrap();
    assert!(seen < 1200, "the kill came too late to prove anything");
    let again = call_program("triage_ingest", &arguments);
    let result = &again["result"];
    assert_eq!((&result["total"], &result["errors"]), (&json!(1200), &json!(0)), "{again:#}");
    assert_eq!(result["unchanged"], 1200, "what was stored before the kill is not stored again");
    assert_eq!(result["index"]["records"], 1200, "{again:#}");
    assert!(result["index"]["unchanged"].as_u64().unwrap() >= seen, "{seen} {again:#}");
    assert_eq!(status()["result"]["vectorsPending"], 0);
}
