//! Access: a matrix of principals × projects × tools, invalid keys, rate limits and the audit table.

use std::collections::BTreeSet;

use contract::ProjectId;
use gate::app::App;
use reqwest::StatusCode;
use serde_json::{Value, json};
use store::audit;
use tenancy::{self, NewKey, Projects, Scope};

use super::{TestServer, send_json, with_key};
use crate::harness::{Repository, http, modules, project};
use crate::valid_arguments::ToolSubject;

/// Issues a key for these projects (none means all) and scopes. Returns its id and its secret.
pub(crate) async fn issue_key(app: &App, projects: &[&str], scopes: &[Scope]) -> (String, String) {
    issue_key_with(app, projects, scopes, |_| {}).await
}

/// As [`issue_key`], with other changes to the key.
pub(crate) async fn issue_key_with(
    app: &App,
    projects: &[&str],
    scopes: &[Scope],
    change: impl FnOnce(&mut NewKey),
) -> (String, String) {
    let ids: BTreeSet<ProjectId> = projects.iter().map(|id| ProjectId::parse(id).unwrap()).collect();
    let mut new = NewKey {
        name: "test".into(),
        projects: if ids.is_empty() { Projects::All } else { Projects::Only(ids) },
        scopes: scopes.iter().copied().collect(),
        calls_per_minute: None,
        roots: None,
        expires_ms: None,
    };
    change(&mut new);
    let issued =
        tenancy::issue_key(app.store().await.unwrap(), new, app.clock.now().as_millisecond()).await.unwrap();
    (issued.id, issued.secret)
}

/// A server that requires keys, with the same repository indexed in two projects.
async fn two_projects() -> (TestServer, String, String, Repository) {
    let repository = Repository::new(&[("cash.py", "def drawer():\n    return 'notes and coins'\n")]);
    let root = repository.path().canonicalize().unwrap();
    let (ours, theirs) = (project("ours"), project("theirs"));
    let roots = [&ours, &theirs].map(|id| (id.clone(), vec![root.clone()]));
    let server = TestServer::start(|config| {
        config.access.required = contract::config::Required::Always;
        config.indexing.project_roots = roots.into();
    })
    .await;
    let (_, unlimited_key) = issue_key(&server.app, &[], &[Scope::Index]).await;
    for project in [&ours, &theirs] {
        let (status, body) = server
            .call(
                Some(&unlimited_key),
                "build_index",
                json!({ "repoPath": repository.root(), "project_id": project }),
            )
            .await;
        assert_eq!(status, 200, "{body:#}");
    }
    (server, ours, theirs, repository)
}

/// Stores the same finding in each project. Returns its id, which is the same in all.
async fn ingest_finding(server: &TestServer, projects: &[&String]) -> Value {
    let (_, triage) = issue_key(&server.app, &[], &[Scope::Triage]).await;
    let mut finding = Value::Null;
    for project in projects {
        let report = json!({ "source": "manual", "payload": [{ "title": "coins" }], "project_id": project });
        let (_, body) = server.call(Some(&triage), "triage_ingest", report).await;
        finding = body["result"]["recordIds"][0].clone();
    }
    finding
}

/// The error and the result of an answer, without the project's id and the uptime, to compare two answers.
fn comparable(body: &Value, id: &str) -> String {
    let mut text = json!([body["error"], body["result"]]).to_string().replace(id, "ID");
    if let Some(at) = text.find("\"uptimeMs\"") {
        let end = text[at..].find(',').map_or(text.len(), |end| at + end);
        text.replace_range(at..end, "");
    }
    text
}

/// Outcome of a call: `ok` or the error's code.
fn outcome(body: &Value) -> &str {
    if body["ok"] == true { "ok" } else { body["error"]["code"].as_str().unwrap() }
}

/// Tools that change assets shared by all projects.
const OPERATOR_TOOLS: &[&str] = &["download_models"];

#[tokio::test(flavor = "multi_thread")]
async fn shared_assets_are_changed_by_operators_only() {
    let (server, ours, theirs, _repository) = two_projects().await;
    let app = &server.app;
    let absent = project("absent");
    let scopes = [&[Scope::Admin][..], &[Scope::Search, Scope::Index, Scope::Triage], &[]];
    for tool in OPERATOR_TOOLS {
        for scopes in scopes {
            let (_, key) = issue_key(app, &[&ours], scopes).await;
            for project in [&ours, &theirs, &absent] {
                let (_, body) = server.call(Some(&key), tool, json!({ "project_id": project })).await;
                assert_eq!(outcome(&body), "FORBIDDEN", "{tool}: {body:#}");
            }
        }
        let (_, operator) = issue_key(app, &[], &[Scope::Admin]).await;
        let (_, body) = server.call(Some(&operator), tool, json!({ "project_id": absent })).await;
        assert_eq!(outcome(&body), "NO_INDEX", "{tool}: {body:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::too_many_lines, reason = "one table of cases")]
async fn a_key_reaches_only_its_projects_with_its_scopes() {
    let (server, ours, theirs, repository) = two_projects().await;
    let app = &server.app;
    let absent = project("absent");
    let (_, reader) = issue_key(app, &[&ours], &[Scope::Search]).await;
    let (_, writer) = issue_key(app, &[&ours], &[Scope::Search, Scope::Index]).await;
    let (_, indexer) = issue_key(app, &[&ours], &[Scope::Index]).await;
    let (_, admin) = issue_key(app, &[&ours], &[Scope::Admin]).await;
    let (_, analyst) = issue_key(app, &[&ours], &[Scope::Triage]).await;
    let (_, curator) = issue_key(app, &[&ours], &[Scope::Instructions, Scope::Curate]).await;
    let (_, agent) = issue_key(app, &[&ours], &[Scope::Instructions]).await;
    let (_, nothing) = issue_key(app, &[&ours], &[]).await;
    let everywhere = issue_key(app, &[], &[Scope::Search]).await.1;

    let finding = ingest_finding(&server, &[&ours, &theirs]).await;
    let (root, finding) = (repository.root(), finding.as_str().unwrap().to_owned());
    let arguments = |tool: &str, project: &str| {
        let subject =
            ToolSubject { project, root: &root, file: "cash.py", word: "drawer", finding: &finding };
        match tool {
            // Skips the index run, which needs another scope.
            "bootstrap" => json!({ "skipTooling": true, "project_id": project }),
            tool => subject.arguments(tool),
        }
    };
    let admin_tools = ["config_status", "cache_gc", "clean_artifacts", "bootstrap"];
    let read_tools = [
        "search", "search_code", "show_file", "navigate", "index_status", "check_status", "workspace_status",
        "report_artifacts",
    ];
    let write_tools =
        ["index_repository", "build_index", "index_build", "build_sqlite_index", "compact_sqlite_index"];
    let catalog_tools = [
        "instructions_list", "instructions_get", "instructions_search", "instructions_export",
        "instructions_diff", "instructions_checksums", "instructions_repair", "prompt_review",
        "integrity_verify", "gates_evaluate", "usage_track", "usage_track_batch", "usage_hotset",
        "metrics_snapshot", "meta_tools",
    ];
    let curate_tools = ["instructions_import", "instructions_remove", "instructions_reload", "usage_flush"];
    // Shared assets need a key with the scope `admin` and all projects. Each of these tools has its own tests for that.
    let operator_tools = ["download_dictionaries", "download_extensions", "verify_extensions"];
    let mut covered = BTreeSet::new();
    for tool in modules().list_of_tools().iter().map(|tool| tool.name) {
        covered.insert(tool);
        if OPERATOR_TOOLS.contains(&tool) {
            continue;
        }
        if tool.starts_with("launch_") {
            // Their own scopes are tested with real runs, in launch::access.
            for key in [&analyst, &reader, &writer, &indexer, &admin, &curator, &agent, &nothing] {
                let (_, body) = server.call(Some(key), tool, arguments(tool, &ours)).await;
                assert_eq!(outcome(&body), "FORBIDDEN", "{tool}: {body:#}");
            }
            continue;
        }
        let read = read_tools.contains(&tool);
        let (keep, triage) = (admin_tools.contains(&tool), tool.starts_with("triage_"));
        let write = write_tools.contains(&tool);
        let operator = operator_tools.contains(&tool);
        let curate = curate_tools.contains(&tool);
        let catalog = curate || catalog_tools.contains(&tool);
        assert!(read || operator || keep || triage || write || catalog, "{tool} is not in the matrix");
        if operator {
            for key in [&reader, &writer, &indexer, &nothing, &everywhere] {
                let (_, body) = server.call(Some(key), tool, json!({})).await;
                assert_eq!(outcome(&body), "FORBIDDEN", "{tool}: {body:#}");
            }
            let (_, project_admin) = issue_key(app, &[&ours], &[Scope::Admin]).await;
            let (_, body) = server.call(Some(&project_admin), tool, json!({})).await;
            assert_eq!(outcome(&body), "FORBIDDEN", "{tool} with the scope but not all projects: {body:#}");
            continue;
        }
        // `check_status` also reports on the server. It leaves the project out if the caller has none of this id.
        let hidden_outcome = if tool == "check_status" { "ok" } else { "NO_INDEX" };
        // Writers learn that a project is not theirs, but not whether it exists.
        let writes = curate || tool.starts_with("usage_track");
        let if_allowed = |may: bool, outcome| if may { outcome } else { "FORBIDDEN" };
        let table = [
            ("analyst", &analyst, if_allowed(triage, "ok"), "FORBIDDEN"),
            ("reader", &reader, if_allowed(read, "ok"), if_allowed(read, hidden_outcome)),
            ("writer", &writer, if_allowed(read || write, "ok"), if_allowed(read, hidden_outcome)),
            ("indexer", &indexer, if_allowed(write, "ok"), "FORBIDDEN"),
            ("admin", &admin, if_allowed(keep, "ok"), if_allowed(keep && tool != "bootstrap", "NO_INDEX")),
            ("curator", &curator, if_allowed(catalog, "ok"), if_allowed(catalog && !writes, "NO_INDEX")),
            (
                "agent",
                &agent,
                if_allowed(catalog && !curate, "ok"),
                if_allowed(catalog && !curate && !writes, "NO_INDEX"),
            ),
            ("nothing", &nothing, "FORBIDDEN", "FORBIDDEN"),
        ];
        for (principal, key, own, other) in table {
            let (_, body) = server.call(Some(key), tool, arguments(tool, &ours)).await;
            assert_eq!(outcome(&body), own, "{principal} {tool} in its own project: {body:#}");
            let (forbidden, forbidden_body) = server.call(Some(key), tool, arguments(tool, &theirs)).await;
            let (unknown, unknown_body) = server.call(Some(key), tool, arguments(tool, &absent)).await;
            assert_eq!(
                outcome(&forbidden_body),
                other,
                "{principal} {tool} in another project: {forbidden_body:#}"
            );
            assert_eq!(
                (forbidden, comparable(&forbidden_body, &theirs)),
                (unknown, comparable(&unknown_body, &absent)),
                "{principal} {tool}: a forbidden project looks like one that does not exist"
            );
        }
    }
    assert_eq!(covered.len(), modules().list_of_tools().len());

    let listed = async |key: &str| {
        let (_, body) = server.call(Some(key), "workspace_status", json!({})).await;
        let projects = body["result"]["projects"].as_array().unwrap();
        projects
            .iter()
            .filter_map(|project| project["project_id"].as_str().map(str::to_owned))
            .collect::<Vec<_>>()
    };
    assert_eq!(listed(&reader).await, std::slice::from_ref(&ours), "other projects are not listed");
    let listed_everywhere = listed(&everywhere).await;
    assert!(listed_everywhere.contains(&ours) && listed_everywhere.contains(&theirs));
    let (_, body) = server.call(Some(&reader), "search", json!({ "query": "drawer" })).await;
    assert_eq!(outcome(&body), "NO_INDEX", "the default workspace is no exception");
    assert!(body["error"]["hint"].as_str().unwrap().contains(&ours), "{body:#}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_that_a_key_cannot_use_are_hidden() {
    let server =
        TestServer::start(|config| config.access.required = contract::config::Required::Always).await;
    let (_, reader) = issue_key(&server.app, &[], &[Scope::Search]).await;
    let session = server.open("/mcp", Some(&reader)).await;
    let tools = session.tools().await;
    assert!(tools.contains(&"search".to_owned()) && !tools.contains(&"build_index".to_owned()), "{tools:?}");
    let refused = session.call(5, "build_index", json!({})).await;
    assert_eq!(
        (refused["error"]["code"].as_i64(), refused["error"]["data"]["code"].as_str()),
        (Some(-32003), Some("FORBIDDEN"))
    );
    let (_, body) = send_json(with_key(http().get(server.url_of("/tools")), Some(&reader))).await;
    assert_eq!(body["result"]["tools"].as_array().map(Vec::len), Some(tools.len()));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_key_is_401_with_a_hint_how_to_get_one() {
    let server = TestServer::start(|config| {
        config.access.required = contract::config::Required::Always;
        config.access.key_cache_ms = 0;
    })
    .await;
    let (id, valid) = issue_key(&server.app, &[], &[Scope::Search]).await;
    let past = server.app.clock.now().as_millisecond() - 1000;
    let (_, expired) =
        issue_key_with(&server.app, &[], &[Scope::Search], |new| new.expires_ms = Some(past)).await;
    let mut forged = valid.clone();
    let last = if valid.ends_with('0') { '1' } else { '0' };
    forged.replace_range(valid.len() - 1.., &last.to_string());
    let unknown = format!("poc_{}_{}", "0".repeat(12), "1".repeat(64));

    let call =
        |key: Option<&str>| with_key(http().post(server.url_of("/tools/check_status")), key).json(&json!({}));
    assert_eq!(send_json(call(Some(&valid))).await.0, 200);
    let with_header =
        http().post(server.url_of("/tools/check_status")).header("x-api-key", &valid).json(&json!({}));
    assert_eq!(send_json(with_header).await.0, 200);
    for (label, key) in
        [("none", None), ("expired", Some(&expired)), ("forged", Some(&forged)), ("unknown", Some(&unknown))]
    {
        let response = call(key.map(String::as_str)).send().await.unwrap();
        assert_eq!(response.status(), 401, "{label}");
        let challenge = response.headers()["www-authenticate"].to_str().unwrap().to_owned();
        assert!(
            challenge.starts_with("Bearer realm=") && challenge.contains("invalid_token") == key.is_some(),
            "{label}: {challenge}"
        );
        let body: Value = response.json().await.unwrap();
        assert_eq!((outcome(&body), body["error"]["hint"].is_string()), ("UNAUTHORIZED", true), "{label}");
    }
    for (path, status) in [
        ("/mcp", 401),
        ("/sse", 401),
        ("/tools", 401),
        ("/metrics", 401),
        ("/search", 401),
        ("/nope", 401),
        ("/health", 200),
        ("/openapi.json", 200),
    ] {
        let got = http().get(server.url_of(path)).send().await.unwrap().status();
        assert_eq!(got.as_u16(), status, "{path}");
    }
    let store = server.app.store().await.unwrap();
    tenancy::revoke_key(store, &id, past).await.unwrap();
    assert_eq!(send_json(call(Some(&valid))).await.0, 401, "revoked");
    assert_eq!(
        tenancy::revoke_key(store, &id, past).await.unwrap_err().code.as_str(),
        "NOT_FOUND",
        "a key is revoked only once"
    );
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_over_the_rate_limit_are_429_with_retry_after() {
    let server = TestServer::start(|config| config.access.calls_per_minute = 3).await;
    let (_, default_limit) = issue_key(&server.app, &[], &[Scope::Search]).await;
    let (_, own_limit) =
        issue_key_with(&server.app, &[], &[Scope::Search], |new| new.calls_per_minute = Some(1000)).await;
    let statuses = async |key: Option<&str>| {
        let mut statuses = Vec::new();
        for _ in 0..5 {
            statuses.push(server.call(key, "check_status", json!({})).await.0.as_u16());
        }
        statuses
    };
    // To open a session counts like a call.
    let session = server.open("/mcp", Some(&default_limit)).await;
    assert_eq!(statuses(Some(&default_limit)).await, [200, 200, 429, 429, 429]);
    assert_eq!(statuses(Some(&own_limit)).await, [200; 5], "the key's own limit applies");
    assert_eq!(statuses(None).await, [200; 5], "the local operator has no limit");
    let refused_call = with_key(http().post(server.url_of("/tools/check_status")), Some(&default_limit))
        .json(&json!({}))
        .send()
        .await
        .unwrap();
    let wait: u64 = refused_call.headers()["retry-after"].to_str().unwrap().parse().unwrap();
    // A minute, plus the quarter of a second in which calls are counted together.
    assert!((1..=61).contains(&wait), "{wait}");
    let body: Value = refused_call.json().await.unwrap();
    assert_eq!((outcome(&body), body["error"]["retryable"].as_bool()), ("RATE_LIMITED", Some(true)));
    let refused = session.call(1, "check_status", json!({})).await;
    assert_eq!(
        (refused["error"]["code"].as_i64(), refused["error"]["data"]["code"].as_str()),
        (Some(-32004), Some("RATE_LIMITED"))
    );
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_call_is_recorded_in_the_audit_table() {
    let server = TestServer::start(|_| {}).await;
    server.app.start_background();
    let (id, key) = issue_key(&server.app, &[], &[Scope::Search]).await;
    let absent = project("audited");
    // Entries are recorded once the writer runs; it starts with the embedder.
    super::fixtures::wait_until("the audit table's writer", || server.app.has_embedder()).await;
    server.call(Some(&key), "search", json!({ "query": "secret words", "project_id": absent })).await;
    server.call(Some(&key), "build_index", json!({})).await;
    server.call(Some(&key), "no_such_tool", json!({})).await;
    let app = std::sync::Arc::clone(&server.app);
    server.stop().await;
    let mut transaction = app.store().await.unwrap().control().await.unwrap();
    let entries = audit::recent_calls(&mut transaction, &format!("key:{id}"), 10).await.unwrap();
    transaction.commit().await.unwrap();
    let expected = [
        ("no_such_tool", None, "UNKNOWN_TOOL"),
        ("build_index", None, "FORBIDDEN"),
        ("search", Some(absent), "NO_INDEX"),
    ];
    assert_eq!(
        entries,
        expected.map(|(tool, project, outcome)| (tool.to_owned(), project, outcome.to_owned()))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forwarded_request_is_not_treated_as_the_operators() {
    let server = TestServer::start(|_| {}).await;
    let plain = || http().get(server.url_of("/status"));
    assert_eq!(plain().send().await.unwrap().status(), 200);
    for header in ["x-forwarded-for", "forwarded", "x-real-ip"] {
        assert_eq!(plain().header(header, "203.0.113.9").send().await.unwrap().status(), 401, "{header}");
    }
    let (_, key) = issue_key(&server.app, &[], &[Scope::Search]).await;
    let with_key = with_key(plain().header("x-forwarded-for", "203.0.113.9"), Some(&key));
    assert_eq!(with_key.send().await.unwrap().status(), 200);
    server.stop().await;
    let proxied = TestServer::start(|config| config.server.behind_proxy = true).await;
    assert_eq!(
        http().get(proxied.url_of("/status")).send().await.unwrap().status(),
        401,
        "behind a declared proxy every request needs a key"
    );
    proxied.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_need_the_scope_admin() {
    let server =
        TestServer::start(|config| config.access.required = contract::config::Required::Always).await;
    let (_, admin) = issue_key(&server.app, &[], &[Scope::Admin]).await;
    let (_, reader) = issue_key(&server.app, &[], &[Scope::Search]).await;
    server.call(Some(&reader), "check_status", json!({})).await;
    let metrics =
        async |key: &str| with_key(http().get(server.url_of("/metrics")), Some(key)).send().await.unwrap();
    assert_eq!(metrics(&reader).await.status(), StatusCode::FORBIDDEN);
    let response = metrics(&admin).await;
    assert_eq!(response.status(), 200);
    let text = response.text().await.unwrap();
    let line = "pairofcleats_tool_calls_total{tool=\"check_status\",surface=\"http\",outcome=\"ok\"} 1";
    assert!(text.lines().any(|candidate| candidate == line), "{text}");
    assert!(
        text.contains("pairofcleats_http_requests_total{route=\"/tools/{name}\",status=\"200\"} 1"),
        "{text}"
    );
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn beyond_loopback_the_server_requires_keys() {
    use surfaces::http::listen;
    // A separate cluster without any key.
    let home = crate::harness::new_home("keyless");
    let overrides = contract::config::Overrides { home: Some(home), ..Default::default() };
    let (mut config, layout) = contract::config::load(&overrides).unwrap();
    config.server.bind = "0.0.0.0".into();
    config.server.port = 0;
    let app = |config: &contract::config::Config| {
        let clock = std::sync::Arc::new(contract::clock::SystemClock);
        App::new(config.clone(), layout.clone(), clock, crate::harness::PROGRAM.into(), modules())
    };
    let refused = listen(&app(&config)).await.err().unwrap();
    assert_eq!(refused.code.as_str(), "FORBIDDEN");
    assert!(refused.hint.unwrap().contains("keys create"));
    let mut insecure = config.clone();
    insecure.access.insecure = true;
    assert!(listen(&app(&insecure)).await.is_ok(), "the operator may allow it");
    let keyed = app(&config);
    issue_key(&keyed, &[], &[Scope::Search]).await;
    assert!(listen(&keyed).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_operator_may_name_paths_on_the_servers_disk() {
    let (server, ours, _, repository) = two_projects().await;
    let (_, writer) = issue_key(&server.app, &[&ours], &[Scope::Search, Scope::Index]).await;
    let (_, operator) = issue_key(&server.app, &[], &Scope::ALL).await;
    let elsewhere = tempfile::tempdir().unwrap();
    let path = elsewhere.path().join("out.sqlite");
    let (path, folder) = (path.to_str().unwrap(), elsewhere.path().to_str().unwrap());
    for (tool, arguments) in [
        ("build_sqlite_index", json!({ "project_id": ours, "out": path })),
        ("build_sqlite_index", json!({ "project_id": ours, "codeDir": folder })),
        ("build_sqlite_index", json!({ "project_id": ours, "out": "../out.sqlite" })),
        ("compact_sqlite_index", json!({ "project_id": ours, "path": path })),
        (
            "build_index",
            json!({ "project_id": ours, "repoPath": repository.root(), "useArtifacts": true, "artifactsDir": folder }),
        ),
        (
            "build_index",
            json!({ "project_id": ours, "repoPath": repository.root(), "useArtifacts": true, "artifactsDir": "/no/such/folder" }),
        ),
        ("build_index", json!({ "project_id": ours, "repoPath": repository.root(), "scip": [folder] })),
        (
            "build_index",
            json!({ "project_id": ours, "repoPath": repository.root(), "scip": ["/no/such/file"] }),
        ),
        ("build_index", json!({ "project_id": ours, "repoPath": repository.root(), "scip": ["../x.scip"] })),
    ] {
        let (_, body) = server.call(Some(&writer), tool, arguments.clone()).await;
        assert_eq!(outcome(&body), "FORBIDDEN", "{tool} {arguments}: {body:#}");
    }
    assert_eq!(elsewhere.path().read_dir().unwrap().count(), 0);
    let (_, body) = server
        .call(Some(&writer), "build_sqlite_index", json!({ "project_id": ours, "out": "own.sqlite" }))
        .await;
    assert_eq!(body["result"]["outPath"], "own.sqlite", "{body:#}");
    let home = server.app.layout.home().to_str().unwrap().to_owned();
    assert!(!body.to_string().contains(&home), "{body:#}");
    let (_, body) =
        server.call(Some(&operator), "build_sqlite_index", json!({ "project_id": ours, "out": path })).await;
    assert_eq!(body["result"]["outPath"], path, "{body:#}");
    let arguments = json!({ "project_id": ours, "repoPath": repository.root(), "useArtifacts": true, "artifactsDir": folder });
    let (_, body) = server.call(Some(&operator), "build_index", arguments).await;
    assert_eq!(body["result"]["report"]["restoredArtifacts"]["files"], 1, "{body:#}");
    server.stop().await;
}
