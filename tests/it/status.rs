//! Reports of the status tools: on one repository, on a missing project, after a cancelled run, on a queued run, and on capabilities.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use contract::clock::SystemClock;
use contract::config::{self, Overrides};
use gate::app::App;
use gate::tools::{self, Caller, Progress, Request, Surface};
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};
use tokio_util::sync::CancellationToken;
use upkeep::install::extensions;

use crate::artifacts::sha256;
use crate::harness::{
    PROGRAM, Repository, app, app_with, app_with_own_queue, app_with_own_queue_and, call, cluster, error,
    home_without_servers, http, modules, project, result,
};
use crate::models::ToyEmbedder;
use crate::serving::{TestServer, initialize_request, last_message, send_json};

fn two_repositories() -> (Repository, Repository) {
    let large = Repository::new(&[
        ("one.py", "def first_of_large():\n    return 1\n"),
        ("two.py", "def second_of_large():\n    return 2\n"),
        ("shared.py", "def in_both():\n    return 3\n"),
    ]);
    let small = Repository::new(&[
        ("small.py", "def only_of_small():\n    return 4\n"),
        ("shared.py", "def in_both():\n    return 3\n"),
    ]);
    (large, small)
}

async fn build(app: &Arc<App>, repository: &Repository, project: &str) -> Value {
    result(app, "build_index", json!({ "repoPath": repository.root(), "project_id": project })).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_status_of_one_repository_counts_only_that_repository() {
    let (app, project, (large, small)) = (app(), project("own-status"), two_repositories());
    build(&app, &large, &project).await;
    let run = build(&app, &small, &project).await;
    // Index the other repository so often that all of the newest runs are its runs.
    for _ in 0..11 {
        build(&app, &large, &project).await;
    }
    let status_of = async |repository: &Repository| {
        let arguments = json!({ "project_id": project, "repoPath": repository.root() });
        result(&app, "index_status", arguments).await
    };
    let status = status_of(&small).await;
    let figures = |status: &Value| {
        ["files", "chunks", "vectors", "vectorsPending"].map(|field| status[field].as_i64().unwrap())
    };
    assert_eq!(figures(&status), [2, 2, 2, 0], "{status:#}");
    assert_eq!(figures(&status_of(&large).await), [3, 3, 3, 0]);
    let whole = result(&app, "index_status", json!({ "project_id": project })).await;
    assert_eq!(figures(&whole), [5, 5, 4, 0], "one text is in both repositories");
    let jobs: Vec<&str> =
        status["jobs"].as_array().unwrap().iter().map(|job| job["jobId"].as_str().unwrap()).collect();
    assert_eq!(jobs, [run["jobId"].as_str().unwrap()], "{status:#}");
    assert_eq!(whole["jobs"].as_array().unwrap().len(), 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn pending_vectors_are_counted_per_repository() {
    let toy = ToyEmbedder::new("toy-status", 8, false);
    let (app, project, (large, small)) =
        (app_with_own_queue(toy.clone()), project("own-vectors"), two_repositories());
    let arguments = json!({ "repoPath": large.root(), "project_id": project, "wait": false });
    result(&app, "build_index", arguments).await;
    let status_of = async |repository: &Repository| {
        let arguments = json!({ "project_id": project, "repoPath": repository.root() });
        call(&app, "index_status", arguments).await["result"].take()
    };
    wait_for("the lexical index", async || status_of(&large).await["vectorsPending"] == 3).await;
    toy.open.store(true, Ordering::Release);
    wait_for("the vectors", async || status_of(&large).await["vectors"] == 3).await;
    toy.open.store(false, Ordering::Release);
    let arguments = json!({ "repoPath": small.root(), "project_id": project, "wait": false });
    result(&app, "build_index", arguments).await;
    wait_for("the one text that is new", async || status_of(&small).await["vectorsPending"] == 1).await;
    let status = status_of(&small).await;
    assert_eq!((&status["vectors"], &status["chunks"]), (&json!(1), &json!(2)), "{status:#}");
    assert_eq!(status_of(&large).await["vectorsPending"], 0);
    toy.open.store(true, Ordering::Release);
    wait_for("the run to end", async || status_of(&small).await["repositories"][0]["state"] == "ready").await;
}

async fn wait_for(what: &str, mut reached: impl AsyncFnMut() -> bool) {
    for _ in 0..3000 {
        if reached().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("timed out waiting for {what}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_project_is_not_healthy() {
    let served = TestServer::start(|_| {}).await;
    let absent = project("absent");
    let status = result(&served.app, "check_status", json!({ "project_id": absent })).await;
    assert_eq!(status["healthy"], false, "{status:#}");
    assert_eq!(status["issues"][0]["code"], "NO_INDEX", "{status:#}");
    assert!(status["issues"][0]["hint"].is_string() && status.get("index").is_none(), "{status:#}");
    let (_, body) = send_json(http().get(served.url_of(&format!("/status?project_id={absent}")))).await;
    assert_eq!(body["result"]["status"]["issues"][0]["code"], "NO_INDEX", "{body:#}");
    let by_session = http().get(served.url_of("/status")).header("X-PairOfCleats-Project", &absent);
    let (_, body) = send_json(by_session).await;
    assert_eq!(body["result"]["status"]["healthy"], false, "the session header names the project: {body:#}");
    let (_, body) = send_json(http().get(served.url_of("/status"))).await;
    let issues = body["result"]["status"]["issues"].as_array().unwrap();
    assert!(issues.iter().all(|issue| issue["code"] != "NO_INDEX"), "no project was named: {body:#}");

    let (present, (repository, _)) = (project("present"), two_repositories());
    build(&served.app, &repository, &present).await;
    let status = result(&served.app, "check_status", json!({ "project_id": present })).await;
    assert_eq!((&status["healthy"], &status["index"]["files"]), (&json!(true), &json!(3)), "{status:#}");
    served.stop().await;
}

/// Runs `build_index`, cancels it when it begins to embed, and returns the error.
async fn cancel_while_embedding(app: &Arc<App>, repository: &Repository, project: &str) -> Value {
    let arguments = json!({ "repoPath": repository.root(), "project_id": project });
    let mut request = Request::new("build_index", arguments, Caller::local(Surface::Cli));
    let cancel: CancellationToken = request.cancel.clone();
    request.progress = Progress::to(move |update| {
        if update.phase == "embed" {
            cancel.cancel();
        }
    });
    let envelope = serde_json::to_value(tools::call(app, request).await.unwrap()).unwrap();
    assert_eq!(envelope["ok"], false, "{envelope:#}");
    envelope["error"].clone()
}

/// The codes of an answer's warnings.
fn warning_codes(answer: &Value) -> Vec<&str> {
    let list = answer["_meta"]["warnings"].as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter().map(|warning| warning["code"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_run_leaves_the_repository_ready_with_what_it_committed() {
    let toy = ToyEmbedder::new("toy-cancel", 8, true);
    let (app, project) = (app_with_own_queue(toy.clone()), project("cancelled"));
    let (repository, _) = two_repositories();
    build(&app, &repository, &project).await;
    repository.write("later.py", "def balance_of_ledger(entries):\n    return sum(entries)\n");
    toy.open.store(false, Ordering::Release);
    let error = cancel_while_embedding(&app, &repository, &project).await;
    assert_eq!(error["code"], "CANCELLED", "{error:#}");
    assert!(
        error["message"].as_str().unwrap().contains("committed"),
        "the message must say that committed work is kept: {error:#}"
    );

    let status = result(&app, "index_status", json!({ "project_id": project })).await;
    assert_eq!(status["repositories"][0]["state"], "ready", "{status:#}");
    assert_eq!(status["jobs"][0]["state"], "cancelled", "{status:#}");
    assert_eq!((&status["files"], &status["vectorsPending"]), (&json!(4), &json!(1)), "{status:#}");
    let query = json!({ "query": "balance_of_ledger", "project_id": project });
    let answer = call(&app, "search", query.clone()).await;
    assert_eq!(answer["result"]["hits"][0]["file"], "later.py", "committed files are found: {answer:#}");
    assert_eq!(warning_codes(&answer), ["vectors_pending"], "{answer:#}");
    let report = result(&app, "workspace_status", json!({ "project_id": project })).await;
    assert_eq!(report["projects"][0]["repositories"][0]["files"], 4, "{report:#}");

    toy.open.store(true, Ordering::Release);
    build(&app, &repository, &project).await;
    let answer = call(&app, "search", query).await;
    assert_eq!(warning_codes(&answer), [""; 0], "{answer:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn pending_vectors_of_one_repository_give_no_warning_for_another() {
    let toy = ToyEmbedder::new("toy-elsewhere", 8, true);
    let (app, project) = (app_with_own_queue(toy.clone()), project("elsewhere"));
    let (ready, waiting) = two_repositories();
    build(&app, &ready, &project).await;
    toy.open.store(false, Ordering::Release);
    cancel_while_embedding(&app, &waiting, &project).await;
    let search = async |root: String| {
        call(&app, "search", json!({ "query": "ledger", "project_id": project, "repoPath": root })).await
    };
    let answer = search(waiting.root()).await;
    assert!(warning_codes(&answer).contains(&"vectors_pending"), "{answer:#}");
    let answer = search(ready.root()).await;
    assert_eq!(warning_codes(&answer), [""; 0], "{answer:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_first_run_leaves_the_repository_new() {
    let toy = ToyEmbedder::new("toy-first", 8, false);
    let (app, project, (repository, _)) =
        (app_with_own_queue(toy.clone()), project("first"), two_repositories());
    let error = cancel_while_embedding(&app, &repository, &project).await;
    assert_eq!(error["code"], "CANCELLED", "{error:#}");
    let status = result(&app, "index_status", json!({ "project_id": project })).await;
    assert_eq!(status["repositories"][0]["state"], "new", "{status:#}");
    let query = json!({ "query": "second_of_large", "project_id": project });
    let answer = call(&app, "search", query.clone()).await;
    assert_eq!(answer["result"]["hits"][0]["file"], "two.py", "committed files are found: {answer:#}");
    assert_eq!(warning_codes(&answer), ["index_incomplete", "vectors_pending"], "{answer:#}");
    let message = answer["_meta"]["warnings"][0]["message"].as_str().unwrap();
    assert!(message.contains("cancelled") && !message.contains("failed"), "{message}");
    let so_far = result(&app, "workspace_status", json!({ "project_id": project })).await;
    assert_eq!(
        so_far["projects"][0]["repositories"][0]["files"], 3,
        "committed files are counted: {so_far:#}"
    );

    // A process that dies leaves the state `indexing`; the next run still counts as the first.
    let schema = status["schema_name"].as_str().unwrap();
    let dead = format!("UPDATE {schema}.repositories SET state = 'indexing'");
    sqlx::raw_sql(sqlx::AssertSqlSafe(dead))
        .execute(
            &mut PgConnection::connect_with(&cluster(home_without_servers()).connect_options())
                .await
                .unwrap(),
        )
        .await
        .unwrap();
    cancel_while_embedding(&app, &repository, &project).await;
    let status = result(&app, "index_status", json!({ "project_id": project })).await;
    assert_eq!(status["repositories"][0]["state"], "new", "{status:#}");
    toy.open.store(true, Ordering::Release);
    build(&app, &repository, &project).await;
    let status = result(&app, "index_status", json!({ "project_id": project })).await;
    assert_eq!(status["repositories"][0]["state"], "ready", "{status:#}");
    assert_eq!(warning_codes(&call(&app, "search", query).await), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_stops_waiting_for_a_joined_run_learns_that_it_continues() {
    let toy = ToyEmbedder::new("toy-joined", 8, false);
    let (app, project, (repository, _)) =
        (app_with_own_queue(toy.clone()), project("joined"), two_repositories());
    let embedding = Arc::new(tokio::sync::Notify::new());
    let (first_caller, started) = (Arc::clone(&app), Arc::clone(&embedding));
    let arguments = json!({ "repoPath": repository.root(), "project_id": project });
    let mut request = Request::new("build_index", arguments, Caller::local(Surface::Cli));
    request.progress = Progress::to(move |update| {
        if update.phase == "embed" {
            started.notify_one();
        }
    });
    let running = tokio::spawn(async move { tools::call(&first_caller, request).await.unwrap() });
    embedding.notified().await;
    let error = cancel_while_embedding(&app, &repository, &project).await;
    assert_eq!(error["code"], "CANCELLED", "{error:#}");
    assert!(error["message"].as_str().unwrap().contains("continues"), "{error:#}");
    toy.open.store(true, Ordering::Release);
    assert!(running.await.unwrap().ok, "the cancel of another caller must not stop the run");
}

/// Starts a call of `build_index` in a task of its own, which records its progress.
pub(crate) fn start_build(app: &Arc<App>, arguments: Value) -> BuildCall {
    let mut request = Request::new("build_index", arguments, Caller::local(Surface::Cli));
    let (sender, steps) = tokio::sync::mpsc::unbounded_channel();
    request.progress = Progress::to(move |update| drop(sender.send((update.phase, update.message))));
    let (app, cancel) = (Arc::clone(app), request.cancel.clone());
    let answer = tokio::spawn(async move { tools::call(&app, request).await.unwrap() });
    BuildCall { steps, cancel, answer }
}

/// A running call of `build_index`.
pub(crate) struct BuildCall {
    steps: tokio::sync::mpsc::UnboundedReceiver<(&'static str, String)>,
    cancel: CancellationToken,
    pub(crate) answer: tokio::task::JoinHandle<contract::Envelope>,
}

impl BuildCall {
    /// Waits for a progress step in `phase` whose message contains `text`.
    pub(crate) async fn wait_for_step(&mut self, phase: &str, text: &str) {
        loop {
            let step = tokio::time::timeout(Duration::from_secs(60), self.steps.recv()).await;
            let (in_phase, message) = step.expect("a step in time").expect("the call goes on");
            if in_phase == phase && message.contains(text) {
                return;
            }
        }
    }

    /// Cancels the call; the error that it returns.
    async fn cancel(self) -> Value {
        self.cancel.cancel();
        serde_json::to_value(self.answer.await.unwrap()).unwrap()["error"].clone()
    }
}

/// A run that is queued behind another repository of its project names it in its first progress step, `index_status` shows
/// both, and a caller that stops waiting learns whether the run is cancelled or stays in the queue.
#[tokio::test(flavor = "multi_thread")]
async fn a_queued_run_names_the_run_ahead_and_what_a_cancel_leaves() {
    let toy = ToyEmbedder::new("toy-queued", 8, false);
    let (app, project, (first, second)) =
        (app_with_own_queue(toy.clone()), project("queued"), two_repositories());
    let arguments = |repository: &Repository, wait: Value| json!({ "repoPath": repository.root(), "project_id": project, "wait": wait });
    let name = |repository: &Repository| repository.path().file_name().unwrap().to_str().unwrap().to_owned();
    let other_process = app_with_own_queue(toy.clone());
    let mut ahead = start_build(&app, arguments(&first, json!(true)));
    ahead.wait_for_step("embed", "").await;
    // Without the first letter, which is upper case in some messages.
    let behind = format!("ueued behind the embedding of {}", name(&first));

    let status = async || {
        let arguments = json!({ "repoPath": second.root(), "project_id": project });
        call(&app, "index_status", arguments).await
    };
    for (wait, part) in [(json!(true), "before it started"), (json!("words"), "before it started")] {
        let mut queued = start_build(&app, arguments(&second, wait.clone()));
        queued.wait_for_step("queued", &behind).await;
        let answer = status().await;
        let (shown, next) = (&answer["result"], &answer["_meta"]["next"]["tool"]);
        assert_eq!(
            shown["jobs"][0]["state"], "queued",
            "a repository whose first run is queued is not unknown: {answer:#}"
        );
        assert_eq!(shown["jobs"][0]["repository"], name(&second), "{answer:#}");
        assert_eq!(shown["jobs"][0]["waitsFor"]["repository"], name(&first), "{answer:#}");
        assert_eq!((&shown["files"], &shown["repositories"]), (&json!(0), &json!([])), "{answer:#}");
        assert_eq!(next, "index_status", "a search would only suggest the status again: {answer:#}");
        let by_name = json!({ "repoPath": name(&second), "project_id": project });
        assert_eq!(result(&app, "index_status", by_name).await["jobs"][0]["state"], "queued");

        // A cancel by a caller that joined the run leaves it queued; a cancel by its first caller removes it.
        // The second caller is in another process, because a process runs only two such calls at a time.
        let mut joined = start_build(&other_process, arguments(&second, wait.clone()));
        joined.wait_for_step("queued", &behind).await;
        let error = joined.cancel().await;
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("stays in the queue") && message.contains(&behind), "{wait}: {error:#}");
        assert_eq!(status().await["result"]["jobs"][0]["state"], "queued", "{wait}: {error:#}");
        let error = queued.cancel().await;
        assert_eq!(error["code"], "CANCELLED");
        assert!(error["message"].as_str().unwrap().contains(part), "{wait}: {error:#}");
        let listed = result(&app, "index_status", json!({ "project_id": project })).await;
        assert_eq!(listed["jobs"][0]["state"], "cancelled", "{wait}: {listed:#}");
    }

    // A time limit has the same effect and message as a cancel.
    let short = app_with_own_queue_and(toy.clone(), |config| config.timeouts.index_ms = 1500);
    let late = call(&short, "build_index", arguments(&second, json!(true))).await;
    assert_eq!(late["error"]["code"], "TOOL_TIMEOUT", "{late:#}");
    assert!(late["error"]["message"].as_str().unwrap().contains("before it started"), "{late:#}");
    let listed = result(&app, "index_status", json!({ "project_id": project })).await;
    assert_eq!(listed["jobs"][0]["state"], "cancelled", "{listed:#}");

    toy.open.store(true, Ordering::Release);
    assert!(ahead.answer.await.unwrap().ok);
}

#[tokio::test(flavor = "multi_thread")]
async fn files_outside_the_allowed_roots_are_not_read_under_any_name() {
    let (project, (repository, other)) = (project("roots"), two_repositories());
    build(&app(), &repository, &project).await;
    let root = other.path().canonicalize().unwrap();
    let name = repository.path().file_name().unwrap().to_str().unwrap().to_owned();
    let served = TestServer::start(|config| config.indexing.roots = vec![root.clone()]).await;
    for named in [json!(name), Value::Null] {
        let arguments = json!({ "path": "one.py", "repoPath": named, "project_id": project });
        let refused = error(&served.app, "show_file", arguments.clone()).await;
        assert_eq!(refused["code"], "FORBIDDEN", "{arguments}: {refused:#}");
        assert!(!refused.to_string().contains(&repository.root()), "the path is shown: {refused:#}");
        assert!(refused["hint"].is_string());
    }
    let session = served.open("/mcp", None).await;
    let uri = format!("repo://{name}/one.py?project={project}");
    let read = session.request(2, "resources/read", json!({ "uri": uri })).await;
    assert_eq!(read["error"]["data"]["code"], "FORBIDDEN", "{read:#}");
    served.stop().await;

    let inside = repository.path().canonicalize().unwrap();
    let allowed = app_with(|config| config.indexing.roots = vec![inside]);
    let shown = result(&allowed, "show_file", json!({ "path": "one.py", "project_id": project })).await;
    assert!(shown["text"].as_str().unwrap().contains("first_of_large"), "{shown:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_beyond_the_end_of_a_file_is_an_error() {
    let (app, project, (repository, _)) = (app(), project("beyond"), two_repositories());
    build(&app, &repository, &project).await;
    let arguments = |line: u32| json!({ "path": "one.py", "startLine": line, "project_id": project });
    let refused = error(&app, "show_file", arguments(99_999)).await;
    assert_eq!(refused["code"], "INVALID_REQUEST", "{refused:#}");
    assert!(refused["message"].as_str().unwrap().contains("has 2 lines"), "{refused:#}");
    assert_eq!(refused["details"]["totalLines"], 2, "{refused:#}");
    assert_eq!(error(&app, "show_file", arguments(3)).await["details"]["totalLines"], 2);
    assert_eq!(result(&app, "show_file", arguments(2)).await["endLine"], 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn capabilities_are_detected() {
    let home = tempfile::tempdir().unwrap();
    let app_over = |home: &std::path::Path| {
        let overrides = Overrides { home: Some(home.to_owned()), ..Overrides::default() };
        let (mut config, layout) = config::load(&overrides).unwrap();
        config.server.port = 0;
        Arc::new(App::new(config, layout, Arc::new(SystemClock), PROGRAM.into(), modules()))
    };
    let vector = async |served: &TestServer| {
        let request =
            http().post(served.url_of("/mcp")).header("accept", "application/json, text/event-stream");
        let hello = last_message(request.json(&initialize_request()).send().await.unwrap()).await;
        hello["result"]["capabilities"]["experimental"]["pairofcleats"]["capabilities"]["vector"].clone()
    };
    let served = TestServer::over(app_over(home.path()), modules().tools()).await;
    assert_eq!(
        vector(&served).await,
        json!({ "sqliteVec": false }),
        "without a database, database capabilities are not listed"
    );
    let folder = served.app.layout.extensions();
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("vec0.so"), "a library").unwrap();
    let entry = json!({
        "name": "sqlite-vec", "platform": extensions::platform_name(None, None).unwrap(), "url": "x", "file": "vec0.so",
        "sha256": sha256(b"a library"), "sourceSha256": "", "verified": true, "downloadedAt": "", "bytes": 9,
    });
    std::fs::write(folder.join("extensions.json"), json!({ "extensions": [entry] }).to_string()).unwrap();
    assert_eq!(vector(&served).await["sqliteVec"], true, "the extension is installed");
    std::fs::write(folder.join("vec0.so"), "another").unwrap();
    assert_eq!(vector(&served).await["sqliteVec"], false, "the extension is damaged");
    served.stop().await;

    let served = TestServer::start(|_| {}).await;
    served.app.store().await.unwrap();
    let vector = vector(&served).await;
    assert_eq!((&vector["pgvector"], &vector["hnsw"]), (&json!(true), &json!(true)), "{vector}");
    served.stop().await;
}
