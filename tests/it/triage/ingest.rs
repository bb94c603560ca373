//! Records that `triage_ingest` makes of each report format and of each argument.

use serde_json::{Value, json};

use super::{
    DEPENDABOT, GENERIC, INSPECTOR, SARIF, ingest, ingest_arguments, record_id, record_ids_with_meta,
    record_text,
};
use crate::harness::{Repository, app, app_with, error, project, result};

fn counts(ingested: &Value) -> [u64; 5] {
    ["total", "written", "updated", "unchanged", "errors"].map(|name| ingested[name].as_u64().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn every_format_becomes_records_that_search_finds() {
    let (app, project) = (app(), project("formats"));
    for (source, report, written, query, headline) in [
        (
            "dependabot",
            DEPENDABOT,
            2,
            "crafted length allocates",
            "# Finding open CVE-2024-0001 (leftpad) [high]",
        ),
        (
            "inspector",
            INSPECTOR,
            1,
            "handshake reads beyond its buffer",
            "# Finding open CVE-2024-0003 (tlslib@3.0.0) [critical]",
        ),
        (
            "sarif",
            SARIF,
            2,
            "command depends on a user's value",
            "# Finding open py/command-injection [critical]",
        ),
        ("generic", GENERIC, 2, "leftpad in the shop", "# Finding open CVE-2024-0001 (leftpad@1.2.0) [high]"),
        (
            "manual",
            r#"{"title": "The door stands open", "severity": "MEDIUM"}"#,
            1,
            "door stands open",
            "# Finding open The door stands open [medium]",
        ),
    ] {
        let ingested = ingest(&app, &project, source, report, json!({})).await;
        assert_eq!(counts(&ingested), [written, written, 0, 0, 0], "{source}: {ingested:#}");
        assert_eq!(ingested["recordIds"].as_array().unwrap().len() as u64, written, "{source}");
        assert_eq!(ingested["index"]["vectorsPending"], 0, "{source}: {ingested:#}");
        let found =
            result(&app, "search", json!({ "query": query, "mode": "records", "project_id": project })).await;
        let hit = &found["hits"][0];
        assert_eq!((&hit["mode"], hit["file"].as_str().unwrap().len()), (&json!("records"), 58), "{found:#}");
        let shown = record_text(&app, &project, &record_id(&ingested, 0)).await;
        assert!(shown.starts_with(headline), "{source}: {shown}");
    }
    let source = |name: &str| json!({ "source": name });
    assert_eq!(
        record_ids_with_meta(&app, &project, source("aws_inspector")).await.len(),
        1,
        "an alias names the same source"
    );
    assert_eq!(record_ids_with_meta(&app, &project, json!("vuln.cve=CVE-2024-0001")).await.len(), 2);
    assert_eq!(record_ids_with_meta(&app, &project, json!({ "package.ecosystem": "npm" })).await.len(), 1);
    assert_eq!(record_ids_with_meta(&app, &project, json!(["asset.tags.tier=edge"])).await.len(), 1);
    assert_eq!(
        record_ids_with_meta(&app, &project, json!("vuln.cwe=cwe-78")).await.len(),
        1,
        "from a tag of the rule"
    );
    assert_eq!(record_ids_with_meta(&app, &project, json!("locations.path=jobs/nightly.py")).await.len(), 1);
    assert_eq!(record_ids_with_meta(&app, &project, json!("exposure.internetExposed=false")).await.len(), 1);
    assert_eq!(
        record_ids_with_meta(&app, &project, json!("asset.assetId")).await.len(),
        2,
        "a key without a value"
    );
    assert_eq!(record_ids_with_meta(&app, &project, json!({ "recordType": "finding" })).await.len(), 8);
    assert_eq!(
        record_ids_with_meta(&app, &project, json!({ "recordType": "decision" })).await,
        [] as [String; 0]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_ingestion_updates_in_place() {
    let (app, project) = (app(), project("again"));
    let first = ingest(&app, &project, "dependabot", DEPENDABOT, json!({})).await;
    let same = ingest(&app, &project, "dependabot", DEPENDABOT, json!({})).await;
    assert_eq!((counts(&same), &same["recordIds"]), ([2, 0, 0, 2, 0], &first["recordIds"]));
    assert_eq!((&same["index"]["changed"], &same["index"]["unchanged"]), (&json!(0), &json!(2)));
    let dates = async || {
        let arguments = json!({ "recordId": record_id(&first, 0), "project_id": project });
        let packed = result(&app, "triage_context_pack", arguments).await;
        ["createdAt", "updatedAt"].map(|date| packed["pack"]["finding"][date].as_str().unwrap().to_owned())
    };
    let [created, updated] = dates().await;
    let changed = DEPENDABOT.replace("\"high\"", "\"low\"");
    let third = ingest(&app, &project, "dependabot", &changed, json!({})).await;
    assert_eq!((counts(&third), &third["recordIds"]), ([2, 0, 1, 1, 0], &first["recordIds"]));
    let [still_created, then_updated] = dates().await;
    assert!(still_created == created && then_updated > updated, "{updated} {then_updated}");
    let shown = record_text(&app, &project, &record_id(&first, 0)).await;
    assert!(shown.contains("- Severity: low") && !shown.contains("high"), "{shown}");
    assert_eq!(record_ids_with_meta(&app, &project, json!("recordType")).await.len(), 2);
    assert_eq!(record_ids_with_meta(&app, &project, json!("vuln.severity=high")).await, [] as [String; 0]);
    let full = json!({ "incremental": false });
    let full = ingest(&app, &project, "dependabot", &changed, full).await;
    assert_eq!((&full["index"]["changed"], counts(&full)[3]), (&json!(2), 2), "{full:#}");
    // A key that two items have identifies neither.
    let twice = r#"[{"stableKey": "a", "title": "x"}, {"stableKey": "a", "title": "y"}]"#;
    let twice = ingest(&app, &project, "generic", twice, json!({})).await;
    assert_eq!(counts(&twice), [2, 2, 0, 0, 0], "{twice:#}");
    assert_eq!(record_ids_with_meta(&app, &project, json!("recordType")).await.len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn metadata_of_the_caller_can_be_filtered_by() {
    let (app, project) = (app(), project("caller-meta"));
    let meta = json!({
        "service": "checkout", "env": "prod", "team": "pay", "owner": "ada", "repo": "shop", "ticket": "SEC-7",
        "exposure": { "internetExposed": true, "publicEndpoint": "/pay", "dataSensitivity": "card",
            "businessCriticality": "high", "compensatingControls": "waf; rate limit" }
    });
    let ingested = ingest(&app, &project, "generic", GENERIC, json!({ "meta": meta })).await;
    let all = record_ids_with_meta(&app, &project, json!("recordType")).await;
    for pair in [
        "service=checkout",
        "env=prod",
        "team=pay",
        "owner=ada",
        "repo=shop",
        "ticket=sec-7",
        "meta.ticket=SEC-7",
        "exposure.publicEndpoint=/pay",
        "exposure.dataSensitivity=card",
        "exposure.compensatingControls=waf",
        "exposure.compensatingControls=rate limit",
        "exposure.businessCriticality=HIGH",
    ] {
        assert_eq!(record_ids_with_meta(&app, &project, json!(pair)).await, all, "{pair}");
    }
    let exposed = record_ids_with_meta(&app, &project, json!("exposure.internetExposed=true")).await;
    assert_eq!(exposed, [record_id(&ingested, 0)], "an item's own value overrides the caller's");
    let shown = record_text(&app, &project, &record_id(&ingested, 0)).await;
    assert!(shown.contains("[checkout / prod]") && shown.contains("- ticket: SEC-7"), "{shown}");
    let joined = json!({ "metaJson": "{\"service\": \"checkout\"}", "query": "cipher", "mode": "records", "project_id": project });
    assert_eq!(result(&app, "search", joined).await["total"], 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_build_index_records_wait_for_the_next_run() {
    let (app, project) = (app(), project("later"));
    let waiting = ingest(&app, &project, "generic", GENERIC, json!({ "buildIndex": false })).await;
    assert_eq!((counts(&waiting)[1], &waiting["index"]), (2, &Value::Null), "{waiting:#}");
    let nothing =
        error(&app, "search", json!({ "query": "leftpad", "mode": "records", "project_id": project })).await;
    assert_eq!(nothing["code"], "NO_INDEX", "{nothing:#}");
    let next = ingest(&app, &project, "manual", r#"{"title": "Another one"}"#, json!({})).await;
    assert_eq!((&next["index"]["records"], &next["index"]["changed"]), (&json!(3), &json!(3)), "{next:#}");
    assert_eq!(record_ids_with_meta(&app, &project, json!("recordType")).await.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_is_read_from_a_file_of_the_repository() {
    let (app, project) = (app(), project("file"));
    let repository = Repository::new(&[("a.py", "def a():\n    return 1\n"), ("reports/scan.sarif", SARIF)]);
    let arguments = |path: &str| json!({ "source": "sarif", "inputPath": path, "repoPath": repository.root(), "project_id": project });
    let ingested = result(&app, "triage_ingest", arguments("reports/scan.sarif")).await;
    assert_eq!(counts(&ingested)[1], 2, "{ingested:#}");
    let folder = repository.path().file_name().unwrap().to_string_lossy().into_owned();
    let shown = record_text(&app, &project, &record_id(&ingested, 0)).await;
    assert!(shown.contains(&format!("- Repository: {folder}\n")), "{shown}");
    let whole = json!({ "source": "sarif", "inputPath": repository.path().join("reports/scan.sarif"), "project_id": project });
    let whole = result(&app, "triage_ingest", whole).await;
    assert_eq!((&whole["recordIds"], counts(&whole)[1]), (&ingested["recordIds"], 0), "{whole:#}");
    for (path, code) in
        [("reports/none.sarif", "NOT_FOUND"), ("../scan.sarif", "INVALID_REQUEST"), ("reports", "NOT_FOUND")]
    {
        assert_eq!(error(&app, "triage_ingest", arguments(path)).await["code"], code, "{path}");
    }
    for path in ["none.sarif", "reports/none.sarif", "none/scan.sarif"] {
        let missing = error(&app, "triage_ingest", arguments(path)).await;
        assert_eq!(missing["message"], format!("There is no file `{path}`."), "{missing:#}");
    }
    std::os::unix::fs::symlink(
        repository.path().join("reports/scan.sarif"),
        repository.path().join("link.sarif"),
    )
    .unwrap();
    let linked = error(&app, "triage_ingest", arguments("link.sarif")).await;
    assert_eq!(linked["code"], "NOT_FOUND", "{linked:#}");
    assert!(linked["message"].as_str().unwrap().contains("symbolic link"), "{linked:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_and_contradictory_arguments_are_refused() {
    let (app, project) = (app(), project("refused"));
    for (extra, part) in [
        (json!({ "stubEmbeddings": true }), "reserved"),
        (json!({ "inputPath": "a.json" }), "either inputPath or payload"),
        (json!({ "payload": null }), "either inputPath or payload"),
        (json!({ "payload": null, "inputPath": "a.json" }), "names no repository"),
    ] {
        let fault =
            error(&app, "triage_ingest", ingest_arguments(&project, "generic", "[]", extra.clone())).await;
        assert_eq!(fault["code"], "INVALID_REQUEST", "{extra}");
        assert!(fault["message"].as_str().unwrap().contains(part), "{fault:#}");
    }
    let empty = ingest(&app, &project, "generic", "[]", json!({ "stubEmbeddings": false })).await;
    assert_eq!((counts(&empty), &empty["index"]), ([0; 5], &Value::Null), "an empty report creates nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn records_are_a_repository_of_their_own_and_survive_index_runs() {
    let (app, project) = (app(), project("beside"));
    let repository = Repository::new(&[("a.py", "def leftpad(text):\n    return text\n")]);
    let build = json!({ "repoPath": repository.root(), "project_id": project });
    result(&app, "build_index", build.clone()).await;
    let ingested = ingest(&app, &project, "generic", GENERIC, json!({})).await;
    repository.write("b.py", "def other():\n    return 2\n");
    result(&app, "build_index", build.clone()).await;
    let mut full = build.clone();
    full["incremental"] = false.into();
    result(&app, "build_index", full).await;
    assert_eq!(record_ids_with_meta(&app, &project, json!("recordType")).await.len(), 2);
    let status = result(&app, "index_status", json!({ "project_id": project })).await;
    let shown = status["repositories"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["name"] == "triage:records")
        .unwrap();
    assert_eq!((&shown["state"], &shown["files"]), (&json!("ready"), &json!(2)), "{status:#}");
    let workspace = result(&app, "workspace_status", json!({ "project_id": project })).await;
    assert!(workspace.to_string().contains("triage:records"), "{workspace:#}");
    let code = result(&app, "search", json!({ "query": "leftpad", "project_id": project })).await;
    assert!(code["hits"].as_array().unwrap().iter().all(|hit| hit.get("mode").is_none()), "{code:#}");
    let only =
        json!({ "query": "leftpad", "mode": "all", "repoPath": "triage:records", "project_id": project });
    let only = result(&app, "search", only).await;
    assert!(only["hits"].as_array().unwrap().iter().all(|hit| hit["mode"] == "records"), "{only:#}");
    let none = json!({ "path": format!("triage/records/{}.md", "0".repeat(40)), "project_id": project });
    assert_eq!(error(&app, "show_file", none).await["code"], "NOT_FOUND");
    let part = json!({ "path": format!("triage/records/{}.md", record_id(&ingested, 0)), "startLine": 1, "endLine": 1, "project_id": project });
    let part = result(&app, "show_file", part).await;
    assert_eq!((&part["repo"], &part["endLine"]), (&json!("triage:records"), &json!(1)), "{part:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn raw_payloads_are_stored_only_if_configured() {
    let token = ["ghp", "_16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    let report = json!([{ "stableKey": "r", "title": "Leaked", "note": format!("found {token}"), "password": "abc", "zebra": "stripes" }]);
    let (plain, keeping) = (app(), app_with(|config| config.triage.store_raw_payload = true));
    let project = project("raw");
    let without = ingest(&plain, &project, "generic", &report.to_string(), json!({})).await;
    assert_eq!(without["secretsRedacted"], 2, "{without:#}");
    assert!(!record_text(&plain, &project, &record_id(&without, 0)).await.contains("stripes"));
    let with = ingest(&keeping, &project, "generic", &report.to_string(), json!({})).await;
    assert_eq!((counts(&with)[2], &with["recordIds"]), (1, &without["recordIds"]), "{with:#}");
    let shown = record_text(&keeping, &project, &record_id(&with, 0)).await;
    assert!(shown.contains("stripes") && shown.contains("[REDACTED:github_token]"), "{shown}");
    assert!(!shown.contains(&token) && !shown.contains("abc"), "{shown}");
}
