//! Context packs: their content, the failures that they only report as warnings, and where they are written.

use std::collections::BTreeSet;
use std::sync::Arc;

use contract::ProjectId;
use gate::app::App;
use gate::tools::{self, Caller, Request, Surface};
use serde_json::{Value, json};
use tenancy::{Principal, Projects};

use super::{GENERIC, SARIF, ingest, record_id, run_triage};
use crate::harness::{Repository, app, app_with, error, home, project, result};

const SHOP: &[(&str, &str)] = &[
    ("web/package.json", "{\n  \"name\": \"shop\",\n  \"dependencies\": { \"leftpad\": \"1.2.0\" }\n}\n"),
    (
        "web/labels.js",
        "const leftpad = require('leftpad');\n\n// The label printer wants columns, which leftpad makes for every line.\nfunction label(text) {\n  return leftpad(text, 20);\n}\n",
    ),
    (
        "docs/labels.md",
        "# Labels\n\nLabels are aligned with leftpad; see CVE-2024-0001 before you update it.\n",
    ),
    ("jobs/nightly.py", "import os\n\ndef sweep(path):\n    os.system('rm ' + path)\n"),
];

/// An indexed shop with findings: the project, the id of its first finding, and the repository.
async fn shop(app: &Arc<App>, name: &str) -> (String, String, Repository) {
    let (project, repository) = (project(name), Repository::new(SHOP));
    result(app, "build_index", json!({ "repoPath": repository.root(), "project_id": project })).await;
    let meta = json!({ "meta": { "service": "checkout", "env": "prod", "exposure": { "internetExposed": true, "publicEndpoint": "/labels" } } });
    let ingested = ingest(app, &project, "generic", GENERIC, meta).await;
    (project, record_id(&ingested, 0), repository)
}

async fn context_pack(app: &Arc<App>, project: &str, finding: &str, extra: Value) -> Value {
    let mut arguments = json!({ "recordId": finding, "project_id": project });
    for (name, value) in extra.as_object().unwrap() {
        arguments[name] = value.clone();
    }
    result(app, "triage_context_pack", arguments).await
}

async fn decide(app: &Arc<App>, project: &str, finding: &str, reviewer: &str) {
    let arguments =
        json!({ "finding": finding, "status": "accept", "reviewer": reviewer, "project_id": project });
    result(app, "triage_decision", arguments).await;
}

/// The files that one evidence query of a pack found.
fn evidence_files<'p>(pack: &'p Value, query: &str, mode: &str) -> Vec<&'p str> {
    let queries = pack["pack"]["repoEvidence"]["queries"].as_array().unwrap();
    let answer = queries.iter().find(|answer| answer["query"] == query && answer["mode"] == mode).unwrap();
    answer["hits"].as_array().unwrap().iter().map(|hit| hit["file"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pack_holds_finding_history_and_evidence_in_three_modes() {
    let app = app();
    let (project, finding, _repository) = shop(&app, "pack").await;
    let before = context_pack(&app, &project, &finding, json!({})).await;
    assert_eq!((&before["historyCount"], &before["warnings"]), (&json!(0), &json!(0)), "{before:#}");
    decide(&app, &project, &finding, "grace").await;
    let after = context_pack(&app, &project, &finding, json!({})).await;
    let pack_body = &after["pack"];
    assert_eq!(
        (&pack_body["recordId"], &pack_body["finding"]["recordId"]),
        (&json!(finding), &json!(finding))
    );
    assert_eq!(
        (&pack_body["finding"]["status"], &pack_body["finding"]["exposure"]["internetExposed"]),
        (&json!("accept"), &json!(true))
    );
    assert_eq!(pack_body["finding"]["exposure"]["publicEndpoint"], "/labels");
    assert_eq!(
        (&after["historyCount"], &pack_body["history"][0]["decision"]["reviewer"]),
        (&json!(1), &json!("grace"))
    );
    assert!(pack_body["generatedAt"].as_str().unwrap().ends_with('Z'));
    assert_eq!(
        evidence_files(&after, "\"leftpad\"", "code"),
        ["web/labels.js", "web/package.json"],
        "{after:#}"
    );
    assert_eq!(
        evidence_files(&after, "\"leftpad\"", "prose"),
        ["web/labels.js", "docs/labels.md"],
        "{after:#}"
    );
    assert_eq!(evidence_files(&after, "\"leftpad\"", "extracted-prose"), ["web/labels.js"], "{after:#}");
    assert_eq!(evidence_files(&after, "\"CVE-2024-0001\"", "prose"), ["docs/labels.md"], "{after:#}");
    assert_eq!(
        evidence_files(&after, "leftpad file:\"package.json\"", "code"),
        ["web/package.json"],
        "{after:#}"
    );
    assert_eq!(after["evidenceQueries"], pack_body["repoEvidence"]["queries"].as_array().unwrap().len());
    let hit = &pack_body["repoEvidence"]["queries"][3]["hits"][0];
    for field in ["file", "kind", "headline", "score", "scoreType", "scoreBreakdown", "snippet"] {
        assert!(!hit[field].is_null(), "{field}: {hit:#}");
    }
    assert!(hit["snippet"].as_str().unwrap().chars().count() <= 240);
    // The file contains the same pack.
    assert_eq!(after["outPath"], format!("context-packs/{finding}.json"));
    let file = home().join("projects").join(&project).join(after["outPath"].as_str().unwrap());
    let written: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    assert_eq!((&written["finding"], &written["history"]), (&pack_body["finding"], &pack_body["history"]));
    let query_count = |pack: &Value| pack["repoEvidence"]["queries"].as_array().unwrap().len();
    assert_eq!((query_count(&written), after["truncated"].as_bool()), (query_count(pack_body), Some(false)));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_program_prints_the_path_of_the_pack_and_what_is_in_it() {
    let app = app();
    let (project, finding, _repository) = shop(&app, "printed").await;
    decide(&app, &project, &finding, "grace").await;
    let packed = context_pack(&app, &project, &finding, json!({ "outPath": "mine.json" })).await;
    let (code, stdout, stderr) = run_triage(&["pack", &finding, "--project", &project, "--no-ann"]);
    assert_eq!(code, 0, "{stdout}{stderr}");
    let [path, counts] = stdout.lines().collect::<Vec<_>>()[..] else { panic!("two lines: {stdout}") };
    assert!(path.ends_with(&format!("/context-packs/{finding}.json")), "{stdout}");
    let written = std::fs::read(path.strip_prefix("✓ ").unwrap()).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&written).unwrap()["recordId"], json!(finding));
    let queries = packed["evidenceQueries"].as_u64().unwrap();
    assert_eq!(counts, format!("  1 earlier decision, {queries} evidence queries, 0 warnings"), "{stdout}");
}

#[tokio::test(flavor = "multi_thread")]
async fn evidence_is_searched_by_vectors_unless_ann_is_false() {
    let app = app();
    let (project, finding, _repository) = shop(&app, "ann").await;
    for (extra, scored) in
        [(json!({}), "blend"), (json!({ "ann": true }), "blend"), (json!({ "ann": false }), "bm25")]
    {
        let answer = context_pack(&app, &project, &finding, extra.clone()).await;
        let hits = &answer["pack"]["repoEvidence"]["queries"]
            .as_array()
            .unwrap()
            .iter()
            .find(|evidence| evidence["query"] == "\"leftpad\"" && evidence["mode"] == "code")
            .unwrap()["hits"];
        assert_eq!(hits[0]["scoreType"], scored, "{extra}: {answer:#}");
    }
    let reserved = json!({ "recordId": finding, "stubEmbeddings": true, "project_id": project });
    let fault = error(&app, "triage_context_pack", reserved).await;
    assert_eq!(
        (&fault["code"], &fault["details"]["field"]),
        (&json!("INVALID_REQUEST"), &json!("stubEmbeddings"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_evidence_query_is_a_warning() {
    let (app, narrow) = (app(), app_with(|config| config.search.query_chars_max = 12));
    let (project, finding, _repository) = shop(&app, "warned").await;
    let answer = context_pack(&narrow, &project, &finding, json!({})).await;
    let warnings = answer["pack"]["warnings"].as_array().unwrap();
    let failed: BTreeSet<&str> = warnings.iter().map(|warning| warning["query"].as_str().unwrap()).collect();
    assert_eq!(failed, BTreeSet::from(["\"CVE-2024-0001\"", "leftpad file:\"package.json\""]), "{answer:#}");
    let modes: BTreeSet<&str> = warnings.iter().map(|warning| warning["mode"].as_str().unwrap()).collect();
    assert_eq!(modes, BTreeSet::from(["code", "prose", "extracted-prose"]));
    assert!(
        warnings.iter().all(|warning| warning["step"] == "search"
            && warning["error"].as_str().unwrap().starts_with("INVALID_REQUEST")),
        "{answer:#}"
    );
    assert_eq!(answer["warnings"], warnings.len());
    assert_eq!(evidence_files(&answer, "\"leftpad\"", "code").len(), 2, "the other queries were executed");
}

#[tokio::test(flavor = "multi_thread")]
async fn history_lists_the_most_related_and_latest_decisions_up_to_a_limit() {
    let app = app();
    let project = project("history");
    let finding = |key: &str, package: &str, cve: &str, service: &str| json!({ "stableKey": key, "vulnId": cve, "package": { "name": package }, "service": service, "env": "prod" });
    let report = json!([
        finding("own", "leftpad", "CVE-2024-0001", "checkout"),
        finding("vuln", "other", "CVE-2024-0001", "checkout"),
        finding("package", "leftpad", "CVE-2024-0009", "checkout"),
        finding("elsewhere", "leftpad", "CVE-2024-0001", "search"),
        finding("place", "third", "CVE-2024-0008", "checkout"),
        finding("nothing", "third", "CVE-2024-0008", "search"),
    ]);
    let ingested = ingest(&app, &project, "generic", &report.to_string(), json!({})).await;
    // The most related finding is decided first, so that ordering by time alone would reverse the list.
    for at in [0, 1, 2, 3, 4, 5] {
        let names = ["own", "vuln", "package", "elsewhere", "place", "nothing"];
        decide(&app, &project, &record_id(&ingested, at), names[at]).await;
    }
    let reviewers = |answer: &Value| -> Vec<String> {
        let history = answer["pack"]["history"].as_array().unwrap();
        history.iter().map(|entry| entry["decision"]["reviewer"].as_str().unwrap().to_owned()).collect()
    };
    let answer = context_pack(&app, &project, &record_id(&ingested, 0), json!({})).await;
    assert_eq!(reviewers(&answer), ["own", "vuln", "package", "elsewhere", "place"]);
    decide(&app, &project, &record_id(&ingested, 0), "later").await;
    let answer = context_pack(&app, &project, &record_id(&ingested, 0), json!({})).await;
    assert_eq!(reviewers(&answer), ["later", "own", "vuln", "package", "elsewhere"], "five entries at most");
    let short = app_with(|config| config.triage.history_max = 2);
    assert_eq!(
        reviewers(&context_pack(&short, &project, &record_id(&ingested, 0), json!({})).await),
        ["later", "own"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn evidence_and_answers_are_bounded() {
    let app = app();
    let (project, finding, repository) = shop(&app, "bounded").await;
    for n in 0..12 {
        repository.write(
            &format!("web/more{n}.js"),
            &format!("function more{n}() {{\n  return leftpad('{n}');\n}}\n"),
        );
    }
    result(&app, "build_index", json!({ "repoPath": repository.root(), "project_id": project })).await;
    let answer = context_pack(&app, &project, &finding, json!({})).await;
    assert_eq!(evidence_files(&answer, "\"leftpad\"", "code").len(), 5);
    let two_hits_app = app_with(|config| config.triage.evidence_hits_max = 2);
    assert_eq!(
        evidence_files(
            &context_pack(&two_hits_app, &project, &finding, json!({})).await,
            "\"leftpad\"",
            "code"
        )
        .len(),
        2
    );
    let small = app_with(|config| config.search.result_bytes_max = 4000);
    let answer = context_pack(&small, &project, &finding, json!({ "outPath": "small.json" })).await;
    assert_eq!(
        (&answer["truncated"], &answer["pack"]["finding"]["recordId"]),
        (&json!(true), &json!(finding))
    );
    assert!(answer["pack"].to_string().len() <= 4000);
    let file = home().join("projects").join(&project).join("context-packs/small.json");
    let written: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    assert_eq!(
        written["repoEvidence"]["queries"].as_array().unwrap().len() as u64,
        answer["evidenceQueries"].as_u64().unwrap()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn locations_of_a_code_scanner_are_evidence() {
    let app = app();
    let (project, _, _repository) = shop(&app, "places").await;
    let ingested = ingest(&app, &project, "sarif", SARIF, json!({})).await;
    let answer = context_pack(&app, &project, &record_id(&ingested, 0), json!({})).await;
    assert_eq!(
        evidence_files(&answer, "path:\"jobs/nightly.py\"", "code"),
        ["jobs/nightly.py"],
        "{answer:#}"
    );
}

/// Calls a tool as an HTTP client whose key is for `project` only.
async fn call_as_remote(app: &Arc<App>, project: &str, tool: &str, arguments: Value) -> Value {
    let ids = BTreeSet::from([ProjectId::parse(project).unwrap()]);
    let principal = Principal { id: "key:a".into(), projects: Projects::Only(ids), ..Principal::anonymous() };
    let caller = Caller { principal: Arc::new(principal), ..Caller::local(Surface::Http) };
    let envelope = tools::call(app, Request::new(tool, arguments, caller)).await.unwrap();
    serde_json::to_value(envelope).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn paths_cannot_leave_the_permitted_folders() {
    let app = app();
    let (project, finding, repository) = shop(&app, "paths").await;
    let outside = tempfile::tempdir().unwrap();
    let target = outside.path().join("pack.json");
    let arguments = |path: &str| json!({ "recordId": finding, "outPath": path, "project_id": project });
    let code = |envelope: &Value| envelope["error"]["code"].as_str().unwrap_or("ok").to_owned();
    for path in
        ["../x.json", "a/b.json", ".hidden.json", "x.txt", "..", "x\u{0}.json", "é.json", "x.json/", "~.json"]
    {
        let envelope = call_as_remote(&app, &project, "triage_context_pack", arguments(path)).await;
        assert_eq!(code(&envelope), "INVALID_REQUEST", "{path:?}");
        assert_eq!(
            error(&app, "triage_context_pack", arguments(path)).await["code"],
            "INVALID_REQUEST",
            "{path:?}"
        );
    }
    let absolute = target.to_str().unwrap();
    let refused = call_as_remote(&app, &project, "triage_context_pack", arguments(absolute)).await;
    assert_eq!(code(&refused), "FORBIDDEN");
    assert!(!target.exists());
    let named = call_as_remote(&app, &project, "triage_context_pack", arguments("mine.json")).await;
    assert_eq!(named["result"]["outPath"], "context-packs/mine.json", "{named:#}");
    assert!(!named.to_string().contains(home().to_str().unwrap()), "a path of the server is shown");
    let answer = context_pack(&app, &project, &finding, json!({ "outPath": absolute })).await;
    assert_eq!(
        (answer["outPath"].as_str(), target.exists()),
        (Some(absolute), true),
        "a local caller may name any path"
    );
    for path in ["/proc/x.json", "/no/such/folder/x.json"] {
        assert_ne!(
            code(&crate::harness::call(&app, "triage_context_pack", arguments(path)).await),
            "ok",
            "{path}"
        );
    }
    // A symbolic link at the target is replaced, not followed.
    let kept = outside.path().join("kept");
    std::fs::write(&kept, "kept").unwrap();
    let link = home().join("projects").join(&project).join("context-packs/linked.json");
    std::os::unix::fs::symlink(&kept, &link).unwrap();
    context_pack(&app, &project, &finding, json!({ "outPath": "linked.json" })).await;
    assert_eq!(std::fs::read_to_string(&kept).unwrap(), "kept");
    assert!(link.symlink_metadata().unwrap().is_file());

    // A remote caller may name reports only in indexed repositories that its key may index.
    repository.write("reports/r.json", r#"[{"title": "x"}]"#);
    std::fs::write(outside.path().join("r.json"), r#"[{"title": "x"}]"#).unwrap();
    let report = |path: &str, repo: Option<&str>| json!({ "source": "manual", "inputPath": path, "repoPath": repo, "project_id": project });
    let root = repository.root();
    for (path, repo, expected) in [
        (outside.path().join("r.json").to_str().unwrap(), None, "FORBIDDEN"),
        ("r.json", outside.path().to_str(), "NO_INDEX"),
        ("r.json", None, "INVALID_REQUEST"),
        ("../r.json", Some(root.as_str()), "FORBIDDEN"),
        ("reports/r.json", Some("triage:records"), "INVALID_REQUEST"),
    ] {
        let envelope = call_as_remote(&app, &project, "triage_ingest", report(path, repo)).await;
        assert_eq!(code(&envelope), expected, "{path} {repo:?}: {envelope:#}");
    }
    let allowed_app = {
        let root = std::path::PathBuf::from(&root);
        app_with(|config| config.indexing.project_roots = [(project.clone(), vec![root])].into())
    };
    let envelope =
        call_as_remote(&allowed_app, &project, "triage_ingest", report("reports/r.json", Some(&root))).await;
    assert_eq!(code(&envelope), "ok", "{envelope:#}");
    let envelope =
        call_as_remote(&allowed_app, &project, "triage_ingest", report("../r.json", Some(&root))).await;
    assert_eq!(code(&envelope), "INVALID_REQUEST", "{envelope:#}");
}
