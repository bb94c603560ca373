//! Who may do what: a matrix of principals × projects × tools, and what a bad key gets.

use std::collections::BTreeSet;

use contract::ProjectId;
use pairofcleats::app::App;
use reqwest::StatusCode;
use serde_json::{Value, json};
use store::audit;
use tenancy::{self, NewKey, Projects, Scope};

use super::{Served, answer, keyed};
use crate::harness::{Repository, http, project};
use crate::working::Subject;

/// A key for these projects (none: all) and scopes.
async fn key(app: &App, projects: &[&str], scopes: &[Scope]) -> (String, String) {
    key_with(app, projects, scopes, |_| {}).await
}

async fn key_with(
    app: &App,
    projects: &[&str],
    scopes: &[Scope],
    change: impl FnOnce(&mut NewKey),
) -> (String, String) {
    let ids: BTreeSet<ProjectId> = projects.iter().map(|id| ProjectId::parse(id).unwrap()).collect();
    let mut new = NewKey {
        name: "test".into(),
        projects: if ids.is_empty() { Projects::All } else { Projects::These(ids) },
        scopes: scopes.iter().copied().collect(),
        calls_per_minute: None,
        roots: None,
        expires_ms: None,
    };
    change(&mut new);
    let issued =
        tenancy::issue(app.store().await.unwrap(), new, app.clock.now().as_millisecond()).await.unwrap();
    (issued.id, issued.secret)
}

/// A server that wants keys, with one repository in two projects.
async fn two_projects() -> (Served, String, String, Repository) {
    let repository = Repository::new(&[("cash.py", "def drawer():\n    return 'notes and coins'\n")]);
    let root = repository.path().canonicalize().unwrap();
    let (ours, theirs) = (project("ours"), project("theirs"));
    let of_both = [&ours, &theirs].map(|id| (id.clone(), vec![root.clone()]));
    let served = Served::start(|config| {
        config.access.required = contract::config::Required::Always;
        config.indexing.project_roots = of_both.into();
    })
    .await;
    let (_, all) = key(&served.app, &[], &[Scope::Index]).await;
    for project in [&ours, &theirs] {
        let (status, body) = served
            .call(Some(&all), "build_index", json!({ "repoPath": repository.root(), "project_id": project }))
            .await;
        assert_eq!(status, 200, "{body:#}");
    }
    (served, ours, theirs, repository)
}

/// A finding of one id in each of the projects.
async fn finding_in(served: &Served, projects: &[&String]) -> Value {
    let (_, triage) = key(&served.app, &[], &[Scope::Triage]).await;
    let mut finding = Value::Null;
    for project in projects {
        let report = json!({ "source": "manual", "payload": [{ "title": "coins" }], "project_id": project });
        let (_, body) = served.call(Some(&triage), "triage_ingest", report).await;
        finding = body["result"]["recordIds"][0].clone();
    }
    finding
}

/// What an answer tells, with the project's id and the time that the server runs left out.
fn alike(body: &Value, id: &str) -> String {
    let mut told = json!([body["error"], body["result"]]).to_string().replace(id, "ID");
    if let Some(at) = told.find("\"uptimeMs\"") {
        let end = told[at..].find(',').map_or(told.len(), |end| at + end);
        told.replace_range(at..end, "");
    }
    told
}

/// What a call comes to: `ok` or the error's code.
fn outcome(body: &Value) -> &str {
    if body["ok"] == true { "ok" } else { body["error"]["code"].as_str().unwrap() }
}

/// Tools that change what all projects share.
const OF_OPERATORS: &[&str] = &["download_models"];

#[tokio::test(flavor = "multi_thread")]
async fn what_all_projects_share_is_changed_by_operators_alone() {
    let (served, ours, theirs, _repository) = two_projects().await;
    let app = &served.app;
    let absent = project("absent");
    let scopes = [&[Scope::Admin][..], &[Scope::Search, Scope::Index, Scope::Triage], &[]];
    for tool in OF_OPERATORS {
        for scopes in scopes {
            let (_, key) = key(app, &[&ours], scopes).await;
            for project in [&ours, &theirs, &absent] {
                let (_, body) = served.call(Some(&key), tool, json!({ "project_id": project })).await;
                assert_eq!(outcome(&body), "FORBIDDEN", "{tool}: {body:#}");
            }
        }
        let (_, operator) = key(app, &[], &[Scope::Admin]).await;
        let (_, body) = served.call(Some(&operator), tool, json!({ "project_id": absent })).await;
        assert_eq!(outcome(&body), "NO_INDEX", "{tool}: {body:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::too_many_lines, reason = "one table of cases")]
async fn a_principal_reaches_its_projects_with_its_scopes_and_nothing_else() {
    let (served, ours, theirs, repository) = two_projects().await;
    let app = &served.app;
    let absent = project("absent");
    let (_, reader) = key(app, &[&ours], &[Scope::Search]).await;
    let (_, writer) = key(app, &[&ours], &[Scope::Search, Scope::Index]).await;
    let (_, indexer) = key(app, &[&ours], &[Scope::Index]).await;
    let (_, keeper) = key(app, &[&ours], &[Scope::Admin]).await;
    let (_, analyst) = key(app, &[&ours], &[Scope::Triage]).await;
    let (_, nothing) = key(app, &[&ours], &[]).await;
    let everywhere = key(app, &[], &[Scope::Search]).await.1;

    let finding = finding_in(&served, &[&ours, &theirs]).await;
    let (root, finding) = (repository.root(), finding.as_str().unwrap().to_owned());
    let arguments = |tool: &str, project: &str| {
        let subject = Subject { project, root: &root, file: "cash.py", word: "drawer", finding: &finding };
        match tool {
            // An index run needs a scope of its own.
            "bootstrap" => json!({ "skipTooling": true, "project_id": project }),
            tool => subject.arguments(tool),
        }
    };
    let keeps = ["config_status", "cache_gc", "clean_artifacts", "bootstrap"];
    let reads = [
        "search",
        "search_code",
        "show_file",
        "index_status",
        "check_status",
        "workspace_status",
        "report_artifacts",
    ];
    let writes =
        ["index_repository", "build_index", "index_build", "build_sqlite_index", "compact_sqlite_index"];
    // What all projects share is for keys with the scope `admin` and all projects; each has tests of its own for that.
    let operators = ["download_dictionaries", "download_extensions", "verify_extensions"];
    let mut covered = BTreeSet::new();
    for tool in pairofcleats::tools::LIST.iter().map(|tool| tool.name) {
        covered.insert(tool);
        if OF_OPERATORS.contains(&tool) {
            continue;
        }
        let read = reads.contains(&tool);
        let (keep, of_triage) = (keeps.contains(&tool), tool.starts_with("triage_"));
        let write = writes.contains(&tool);
        let operator = operators.contains(&tool);
        assert!(read || operator || keep || of_triage || write, "{tool} is not in the matrix");
        if operator {
            for key in [&reader, &writer, &indexer, &nothing, &everywhere] {
                let (_, body) = served.call(Some(key), tool, json!({})).await;
                assert_eq!(outcome(&body), "FORBIDDEN", "{tool}: {body:#}");
            }
            let (_, half) = key(app, &[&ours], &[Scope::Admin]).await;
            let (_, body) = served.call(Some(&half), tool, json!({})).await;
            assert_eq!(
                outcome(&body),
                "FORBIDDEN",
                "{tool} with the scope and without all projects: {body:#}"
            );
            continue;
        }
        // It tells of the server, too, and leaves the project out when there is none for the caller.
        let hidden = if tool == "check_status" { "ok" } else { "NO_INDEX" };
        let only = |may: bool, outcome| if may { outcome } else { "FORBIDDEN" };
        let table = [
            ("analyst", &analyst, only(of_triage, "ok"), "FORBIDDEN"),
            ("reader", &reader, only(read, "ok"), only(read, hidden)),
            ("writer", &writer, only(read || write, "ok"), only(read, hidden)),
            ("indexer", &indexer, only(write, "ok"), "FORBIDDEN"),
            ("keeper", &keeper, only(keep, "ok"), only(keep && tool != "bootstrap", "NO_INDEX")),
            ("nothing", &nothing, "FORBIDDEN", "FORBIDDEN"),
        ];
        for (who, key, own, other) in table {
            let (_, body) = served.call(Some(key), tool, arguments(tool, &ours)).await;
            assert_eq!(outcome(&body), own, "{who} {tool} in its own project: {body:#}");
            let (forbidden, forbidden_body) = served.call(Some(key), tool, arguments(tool, &theirs)).await;
            let (unknown, unknown_body) = served.call(Some(key), tool, arguments(tool, &absent)).await;
            assert_eq!(outcome(&forbidden_body), other, "{who} {tool} elsewhere: {forbidden_body:#}");
            assert_eq!(
                (forbidden, alike(&forbidden_body, &theirs)),
                (unknown, alike(&unknown_body, &absent)),
                "{who} {tool}: a forbidden project looks like one that does not exist"
            );
        }
    }
    assert_eq!(covered.len(), pairofcleats::tools::LIST.len());

    let listed = async |key: &str| {
        let (_, body) = served.call(Some(key), "workspace_status", json!({})).await;
        let projects = body["result"]["projects"].as_array().unwrap();
        projects
            .iter()
            .filter_map(|project| project["project_id"].as_str().map(str::to_owned))
            .collect::<Vec<_>>()
    };
    assert_eq!(listed(&reader).await, std::slice::from_ref(&ours), "others are not even named");
    let all = listed(&everywhere).await;
    assert!(all.contains(&ours) && all.contains(&theirs));
    let (_, body) = served.call(Some(&reader), "search", json!({ "query": "drawer" })).await;
    assert_eq!(outcome(&body), "NO_INDEX", "the default workspace is no exception");
    assert!(body["error"]["hint"].as_str().unwrap().contains(&ours), "{body:#}");
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_that_a_key_cannot_use_are_hidden() {
    let served = Served::start(|config| config.access.required = contract::config::Required::Always).await;
    let (_, reader) = key(&served.app, &[], &[Scope::Search]).await;
    let session = served.open("/mcp", Some(&reader)).await;
    let tools = session.tools().await;
    assert!(tools.contains(&"search".to_owned()) && !tools.contains(&"build_index".to_owned()), "{tools:?}");
    let refused = session.call(5, "build_index", json!({})).await;
    assert_eq!(
        (refused["error"]["code"].as_i64(), refused["error"]["data"]["code"].as_str()),
        (Some(-32003), Some("FORBIDDEN"))
    );
    let (_, body) = answer(keyed(http().get(served.at("/tools")), Some(&reader))).await;
    assert_eq!(body["result"]["tools"].as_array().map(Vec::len), Some(tools.len()));
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_does_not_work_is_401_and_says_how_to_get_one() {
    let served = Served::start(|config| {
        config.access.required = contract::config::Required::Always;
        config.access.key_cache_ms = 0;
    })
    .await;
    let (id, good) = key(&served.app, &[], &[Scope::Search]).await;
    let past = served.app.clock.now().as_millisecond() - 1000;
    let (_, expired) = key_with(&served.app, &[], &[Scope::Search], |new| new.expires_ms = Some(past)).await;
    let mut forged = good.clone();
    let last = if good.ends_with('0') { '1' } else { '0' };
    forged.replace_range(good.len() - 1.., &last.to_string());
    let unknown = format!("poc_{}_{}", "0".repeat(12), "1".repeat(64));

    let call = |key: Option<&str>| keyed(http().post(served.at("/tools/check_status")), key).json(&json!({}));
    assert_eq!(answer(call(Some(&good))).await.0, 200);
    let by_header = http().post(served.at("/tools/check_status")).header("x-api-key", &good).json(&json!({}));
    assert_eq!(answer(by_header).await.0, 200);
    for (what, key) in
        [("none", None), ("expired", Some(&expired)), ("forged", Some(&forged)), ("unknown", Some(&unknown))]
    {
        let response = call(key.map(String::as_str)).send().await.unwrap();
        assert_eq!(response.status(), 401, "{what}");
        let challenge = response.headers()["www-authenticate"].to_str().unwrap().to_owned();
        assert!(
            challenge.starts_with("Bearer realm=") && challenge.contains("invalid_token") == key.is_some(),
            "{what}: {challenge}"
        );
        let body: Value = response.json().await.unwrap();
        assert_eq!((outcome(&body), body["error"]["hint"].is_string()), ("UNAUTHORIZED", true), "{what}");
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
        let got = http().get(served.at(path)).send().await.unwrap().status();
        assert_eq!(got.as_u16(), status, "{path}");
    }
    let store = served.app.store().await.unwrap();
    tenancy::revoke(store, &id, past).await.unwrap();
    assert_eq!(answer(call(Some(&good))).await.0, 401, "revoked");
    assert_eq!(tenancy::revoke(store, &id, past).await.unwrap_err().code.as_str(), "NOT_FOUND", "only once");
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn too_many_calls_are_429_with_the_time_to_wait() {
    let served = Served::start(|config| config.access.calls_per_minute = 3).await;
    let (_, narrow) = key(&served.app, &[], &[Scope::Search]).await;
    let (_, wide) =
        key_with(&served.app, &[], &[Scope::Search], |new| new.calls_per_minute = Some(1000)).await;
    let statuses = async |key: Option<&str>| {
        let mut statuses = Vec::new();
        for _ in 0..5 {
            statuses.push(served.call(key, "check_status", json!({})).await.0.as_u16());
        }
        statuses
    };
    assert_eq!(statuses(Some(&narrow)).await, [200, 200, 200, 429, 429]);
    assert_eq!(statuses(Some(&wide)).await, [200; 5], "a key's own limit counts");
    assert_eq!(statuses(None).await, [200; 5], "the operator on this machine has none");
    let over = keyed(http().post(served.at("/tools/check_status")), Some(&narrow))
        .json(&json!({}))
        .send()
        .await
        .unwrap();
    let wait: u64 = over.headers()["retry-after"].to_str().unwrap().parse().unwrap();
    // A minute, and the quarter of a second by which calls are counted together.
    assert!((1..=61).contains(&wait), "{wait}");
    let body: Value = over.json().await.unwrap();
    assert_eq!((outcome(&body), body["error"]["retryable"].as_bool()), ("RATE_LIMITED", Some(true)));
    let session = served.open("/mcp", Some(&narrow)).await;
    let refused = session.call(1, "check_status", json!({})).await;
    assert_eq!(
        (refused["error"]["code"].as_i64(), refused["error"]["data"]["code"].as_str()),
        (Some(-32004), Some("RATE_LIMITED"))
    );
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_call_stands_in_the_audit_table() {
    let served = Served::start(|_| {}).await;
    served.app.start_background();
    let (id, key) = key(&served.app, &[], &[Scope::Search]).await;
    let absent = project("audited");
    // Entries are taken from the moment that something writes them.
    super::fixtures::until("the audit table's writer", || served.app.has_embedder()).await;
    served.call(Some(&key), "search", json!({ "query": "secret words", "project_id": absent })).await;
    served.call(Some(&key), "build_index", json!({})).await;
    served.call(Some(&key), "no_such_tool", json!({})).await;
    let app = std::sync::Arc::clone(&served.app);
    served.stop().await;
    let mut door = app.store().await.unwrap().control().await.unwrap();
    let kept = audit::of_principal(&mut door, &format!("key:{id}"), 10).await.unwrap();
    door.commit().await.unwrap();
    let expected = [
        ("no_such_tool", None, "UNKNOWN_TOOL"),
        ("build_index", None, "FORBIDDEN"),
        ("search", Some(absent), "NO_INDEX"),
    ];
    assert_eq!(kept, expected.map(|(tool, project, outcome)| (tool.to_owned(), project, outcome.to_owned())));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_was_passed_on_is_not_the_operators() {
    let served = Served::start(|_| {}).await;
    let plain = || http().get(served.at("/status"));
    assert_eq!(plain().send().await.unwrap().status(), 200);
    for header in ["x-forwarded-for", "forwarded", "x-real-ip"] {
        assert_eq!(plain().header(header, "203.0.113.9").send().await.unwrap().status(), 401, "{header}");
    }
    let (_, key) = key(&served.app, &[], &[Scope::Search]).await;
    let with_key = keyed(plain().header("x-forwarded-for", "203.0.113.9"), Some(&key));
    assert_eq!(with_key.send().await.unwrap().status(), 200);
    served.stop().await;
    let proxied = Served::start(|config| config.server.behind_proxy = true).await;
    assert_eq!(
        http().get(proxied.at("/status")).send().await.unwrap().status(),
        401,
        "declared: always a key"
    );
    proxied.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_need_the_scope_admin() {
    let served = Served::start(|config| config.access.required = contract::config::Required::Always).await;
    let (_, admin) = key(&served.app, &[], &[Scope::Admin]).await;
    let (_, reader) = key(&served.app, &[], &[Scope::Search]).await;
    served.call(Some(&reader), "check_status", json!({})).await;
    let metrics = async |key: &str| keyed(http().get(served.at("/metrics")), Some(key)).send().await.unwrap();
    assert_eq!(metrics(&reader).await.status(), StatusCode::FORBIDDEN);
    let response = metrics(&admin).await;
    assert_eq!(response.status(), 200);
    let text = response.text().await.unwrap();
    let line = "pairofcleats_tool_calls_total{tool=\"check_status\",surface=\"http\",outcome=\"ok\"} 1";
    assert!(text.lines().any(|have| have == line), "{text}");
    assert!(
        text.contains("pairofcleats_http_requests_total{route=\"/tools/{name}\",status=\"200\"} 1"),
        "{text}"
    );
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn beyond_loopback_the_server_wants_keys() {
    use pairofcleats::surfaces::http::listen;
    // A cluster of its own, in which there is no key yet.
    let home = crate::harness::new_home("keyless");
    let overrides = contract::config::Overrides { home: Some(home), ..Default::default() };
    let (mut config, layout) = contract::config::load(&overrides).unwrap();
    config.server.bind = "0.0.0.0".into();
    config.server.port = 0;
    let app = |config: &contract::config::Config| {
        let clock = std::sync::Arc::new(contract::clock::SystemClock);
        App::new(config.clone(), layout.clone(), clock, crate::harness::PROGRAM.into())
    };
    let refused = listen(&app(&config)).await.err().unwrap();
    assert_eq!(refused.code.as_str(), "FORBIDDEN");
    assert!(refused.hint.unwrap().contains("keys create"));
    let mut open = config.clone();
    open.access.insecure = true;
    assert!(listen(&app(&open)).await.is_ok(), "the operator may insist");
    let keyed = app(&config);
    key(&keyed, &[], &[Scope::Search]).await;
    assert!(listen(&keyed).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_operator_names_paths_of_the_servers_disk() {
    let (served, ours, _, repository) = two_projects().await;
    let (_, writer) = key(&served.app, &[&ours], &[Scope::Search, Scope::Index]).await;
    let (_, operator) = key(&served.app, &[], &Scope::ALL).await;
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
    ] {
        let (_, body) = served.call(Some(&writer), tool, arguments.clone()).await;
        assert_eq!(outcome(&body), "FORBIDDEN", "{tool} {arguments}: {body:#}");
    }
    assert_eq!(elsewhere.path().read_dir().unwrap().count(), 0);
    let (_, body) = served
        .call(Some(&writer), "build_sqlite_index", json!({ "project_id": ours, "out": "own.sqlite" }))
        .await;
    assert_eq!(body["result"]["outPath"], "own.sqlite", "{body:#}");
    let home = served.app.layout.home().to_str().unwrap().to_owned();
    assert!(!body.to_string().contains(&home), "{body:#}");
    let (_, body) =
        served.call(Some(&operator), "build_sqlite_index", json!({ "project_id": ours, "out": path })).await;
    assert_eq!(body["result"]["outPath"], path, "{body:#}");
    let arguments = json!({ "project_id": ours, "repoPath": repository.root(), "useArtifacts": true, "artifactsDir": folder });
    let (_, body) = served.call(Some(&operator), "build_index", arguments).await;
    assert_eq!(body["result"]["report"]["restoredArtifacts"]["files"], 1, "{body:#}");
    served.stop().await;
}
