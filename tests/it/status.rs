//! What status tools say is so: of one repository, of a project that is not there, after a cancelled run, of capabilities.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use contract::clock::SystemClock;
use contract::config::{self, Overrides};
use pairofcleats::app::App;
use pairofcleats::tools::{self, Caller, Progress, Request, Surface};
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};
use tokio_util::sync::CancellationToken;
use upkeep::extensions;

use crate::artifacts::sha256;
use crate::harness::{
    PROGRAM, Repository, app, app_of, app_with, app_with_embedder, call, error, http, project, result, server,
};
use crate::models::Toy;
use crate::serving::{Served, answer, hello, message};

fn pair() -> (Repository, Repository) {
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
async fn the_status_of_one_repository_is_its_own() {
    let (app, project, (large, small)) = (app(), project("own-status"), pair());
    build(&app, &large, &project).await;
    let run = build(&app, &small, &project).await;
    // The other one is indexed so often that its runs alone are the newest.
    for _ in 0..11 {
        build(&app, &large, &project).await;
    }
    let of = async |repository: &Repository| {
        let arguments = json!({ "project_id": project, "repoPath": repository.root() });
        result(&app, "index_status", arguments).await
    };
    let status = of(&small).await;
    let figures = |status: &Value| {
        ["files", "chunks", "vectors", "vectorsPending"].map(|field| status[field].as_i64().unwrap())
    };
    assert_eq!(figures(&status), [2, 2, 2, 0], "{status:#}");
    assert_eq!(figures(&of(&large).await), [3, 3, 3, 0]);
    let whole = result(&app, "index_status", json!({ "project_id": project })).await;
    assert_eq!(figures(&whole), [5, 5, 4, 0], "one text stands in both");
    let jobs: Vec<&str> =
        status["jobs"].as_array().unwrap().iter().map(|job| job["jobId"].as_str().unwrap()).collect();
    assert_eq!(jobs, [run["jobId"].as_str().unwrap()], "{status:#}");
    assert_eq!(whole["jobs"].as_array().unwrap().len(), 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn vectors_that_one_repository_lacks_are_its_own() {
    let toy = Toy::new("toy-status", 8, false);
    let (app, project, (large, small)) = (app_with_embedder(toy.clone()), project("own-vectors"), pair());
    let arguments = json!({ "repoPath": large.root(), "project_id": project, "wait": false });
    result(&app, "build_index", arguments).await;
    let of = async |repository: &Repository| {
        let arguments = json!({ "project_id": project, "repoPath": repository.root() });
        call(&app, "index_status", arguments).await["result"].take()
    };
    wait_for("words to be searchable", async || of(&large).await["vectorsPending"] == 3).await;
    toy.open.store(true, Ordering::Release);
    wait_for("the vectors", async || of(&large).await["vectors"] == 3).await;
    toy.open.store(false, Ordering::Release);
    let arguments = json!({ "repoPath": small.root(), "project_id": project, "wait": false });
    result(&app, "build_index", arguments).await;
    wait_for("the one text that is new", async || of(&small).await["vectorsPending"] == 1).await;
    let status = of(&small).await;
    assert_eq!((&status["vectors"], &status["chunks"]), (&json!(1), &json!(2)), "{status:#}");
    assert_eq!(of(&large).await["vectorsPending"], 0);
    toy.open.store(true, Ordering::Release);
    wait_for("the end", async || of(&small).await["repositories"][0]["state"] == "ready").await;
}

async fn wait_for(what: &str, mut reached: impl AsyncFnMut() -> bool) {
    for _ in 0..3000 {
        if reached().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("waited in vain for: {what}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_project_that_is_not_there_is_not_well() {
    let served = Served::start(|_| {}).await;
    let absent = project("absent");
    let status = result(&served.app, "check_status", json!({ "project_id": absent })).await;
    assert_eq!(status["healthy"], false, "{status:#}");
    assert_eq!(status["issues"][0]["code"], "NO_INDEX", "{status:#}");
    assert!(status["issues"][0]["hint"].is_string() && status.get("index").is_none(), "{status:#}");
    let (_, body) = answer(http().get(served.at(&format!("/status?project_id={absent}")))).await;
    assert_eq!(body["result"]["status"]["issues"][0]["code"], "NO_INDEX", "{body:#}");
    let by_session = http().get(served.at("/status")).header("X-PairOfCleats-Project", &absent);
    let (_, body) = answer(by_session).await;
    assert_eq!(body["result"]["status"]["healthy"], false, "the session names it: {body:#}");
    let (_, body) = answer(http().get(served.at("/status"))).await;
    let issues = body["result"]["status"]["issues"].as_array().unwrap();
    assert!(issues.iter().all(|issue| issue["code"] != "NO_INDEX"), "nobody named a project: {body:#}");

    let (present, (repository, _)) = (project("present"), pair());
    build(&served.app, &repository, &present).await;
    let status = result(&served.app, "check_status", json!({ "project_id": present })).await;
    assert_eq!((&status["healthy"], &status["index"]["files"]), (&json!(true), &json!(3)), "{status:#}");
    served.stop().await;
}

/// Runs `build_index` until its vectors are made, then cancels it; the error.
async fn cancelled_in_the_middle(app: &Arc<App>, repository: &Repository, project: &str) -> Value {
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

fn warnings(answer: &Value) -> Vec<&str> {
    let list = answer["_meta"]["warnings"].as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter().map(|warning| warning["code"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_run_leaves_the_repository_as_it_was() {
    let toy = Toy::new("toy-cancel", 8, true);
    let (app, project) = (app_with_embedder(toy.clone()), project("cancelled"));
    let (repository, _) = pair();
    build(&app, &repository, &project).await;
    repository.write("later.py", "def balance_of_ledger(entries):\n    return sum(entries)\n");
    toy.open.store(false, Ordering::Release);
    let error = cancelled_in_the_middle(&app, &repository, &project).await;
    assert_eq!(error["code"], "CANCELLED", "{error:#}");
    assert!(error["message"].as_str().unwrap().contains("committed"), "it says what stays: {error:#}");

    let status = result(&app, "index_status", json!({ "project_id": project })).await;
    assert_eq!(status["repositories"][0]["state"], "ready", "{status:#}");
    assert_eq!(status["jobs"][0]["state"], "cancelled", "{status:#}");
    assert_eq!((&status["files"], &status["vectorsPending"]), (&json!(4), &json!(1)), "{status:#}");
    let ask = json!({ "query": "balance_of_ledger", "project_id": project });
    let answer = call(&app, "search", ask.clone()).await;
    assert_eq!(answer["result"]["hits"][0]["file"], "later.py", "what it committed is found: {answer:#}");
    assert_eq!(warnings(&answer), ["vectors_pending"], "{answer:#}");
    let report = result(&app, "workspace_status", json!({ "project_id": project })).await;
    assert_eq!(report["projects"][0]["repositories"][0]["files"], 4, "{report:#}");

    toy.open.store(true, Ordering::Release);
    build(&app, &repository, &project).await;
    let answer = call(&app, "search", ask).await;
    assert_eq!(warnings(&answer), [""; 0], "{answer:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_for_vectors_in_one_repository_is_not_told_of_another() {
    let toy = Toy::new("toy-elsewhere", 8, true);
    let (app, project) = (app_with_embedder(toy.clone()), project("elsewhere"));
    let (ready, waiting) = pair();
    build(&app, &ready, &project).await;
    toy.open.store(false, Ordering::Release);
    cancelled_in_the_middle(&app, &waiting, &project).await;
    let ask = async |root: String| {
        call(&app, "search", json!({ "query": "ledger", "project_id": project, "repoPath": root })).await
    };
    let answer = ask(waiting.root()).await;
    assert!(warnings(&answer).contains(&"vectors_pending"), "{answer:#}");
    let answer = ask(ready.root()).await;
    assert_eq!(warnings(&answer), [""; 0], "{answer:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_run_that_is_cancelled_has_not_failed() {
    let toy = Toy::new("toy-first", 8, false);
    let (app, project, (repository, _)) = (app_with_embedder(toy.clone()), project("first"), pair());
    let error = cancelled_in_the_middle(&app, &repository, &project).await;
    assert_eq!(error["code"], "CANCELLED", "{error:#}");
    let status = result(&app, "index_status", json!({ "project_id": project })).await;
    assert_eq!(status["repositories"][0]["state"], "new", "{status:#}");
    let ask = json!({ "query": "second_of_large", "project_id": project });
    let answer = call(&app, "search", ask.clone()).await;
    assert_eq!(answer["result"]["hits"][0]["file"], "two.py", "what it committed is found: {answer:#}");
    assert_eq!(warnings(&answer), ["index_incomplete", "vectors_pending"], "{answer:#}");
    let told = answer["_meta"]["warnings"][0]["message"].as_str().unwrap();
    assert!(told.contains("cancelled") && !told.contains("failed"), "{told}");
    let so_far = result(&app, "workspace_status", json!({ "project_id": project })).await;
    assert_eq!(so_far["projects"][0]["repositories"][0]["files"], 3, "what is searchable: {so_far:#}");

    // A process that dies leaves `indexing` behind; the next run is still the first.
    let schema = status["schema_name"].as_str().unwrap();
    let dead = format!("UPDATE {schema}.repositories SET state = 'indexing'");
    sqlx::raw_sql(sqlx::AssertSqlSafe(dead))
        .execute(&mut PgConnection::connect_with(&server().connect_options()).await.unwrap())
        .await
        .unwrap();
    cancelled_in_the_middle(&app, &repository, &project).await;
    let status = result(&app, "index_status", json!({ "project_id": project })).await;
    assert_eq!(status["repositories"][0]["state"], "new", "{status:#}");
    toy.open.store(true, Ordering::Release);
    build(&app, &repository, &project).await;
    let status = result(&app, "index_status", json!({ "project_id": project })).await;
    assert_eq!(status["repositories"][0]["state"], "ready", "{status:#}");
    assert_eq!(warnings(&call(&app, "search", ask).await), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_gives_up_waiting_for_anothers_run_is_told_that_it_goes_on() {
    let toy = Toy::new("toy-joined", 8, false);
    let (app, project, (repository, _)) = (app_with_embedder(toy.clone()), project("joined"), pair());
    let embedding = Arc::new(tokio::sync::Notify::new());
    let (first, begun) = (Arc::clone(&app), Arc::clone(&embedding));
    let arguments = json!({ "repoPath": repository.root(), "project_id": project });
    let mut request = Request::new("build_index", arguments, Caller::local(Surface::Cli));
    request.progress = Progress::to(move |update| {
        if update.phase == "embed" {
            begun.notify_one();
        }
    });
    let running = tokio::spawn(async move { tools::call(&first, request).await.unwrap() });
    embedding.notified().await;
    let error = cancelled_in_the_middle(&app, &repository, &project).await;
    assert_eq!(error["code"], "CANCELLED", "{error:#}");
    assert!(error["message"].as_str().unwrap().contains("goes on"), "{error:#}");
    toy.open.store(true, Ordering::Release);
    assert!(running.await.unwrap().ok, "it was nobody's to stop");
}

/// A call of `build_index` in a task of its own that says each of its steps.
fn waiting(app: &Arc<App>, arguments: Value) -> Waiting {
    let mut request = Request::new("build_index", arguments, Caller::local(Surface::Cli));
    let (sender, steps) = tokio::sync::mpsc::unbounded_channel();
    request.progress = Progress::to(move |update| drop(sender.send((update.phase, update.message))));
    let (app, cancel) = (Arc::clone(app), request.cancel.clone());
    let answer = tokio::spawn(async move { tools::call(&app, request).await.unwrap() });
    Waiting { steps, cancel, answer }
}

struct Waiting {
    steps: tokio::sync::mpsc::UnboundedReceiver<(&'static str, String)>,
    cancel: CancellationToken,
    answer: tokio::task::JoinHandle<contract::Envelope>,
}

impl Waiting {
    /// Reads steps until one in that phase whose message holds the text.
    async fn until(&mut self, phase: &str, text: &str) {
        loop {
            let step = tokio::time::timeout(Duration::from_secs(60), self.steps.recv()).await;
            let (in_phase, message) = step.expect("a step in time").expect("the call goes on");
            if in_phase == phase && message.contains(text) {
                return;
            }
        }
    }

    async fn cancelled(self) -> Value {
        self.cancel.cancel();
        serde_json::to_value(self.answer.await.unwrap()).unwrap()["error"].clone()
    }
}

/// A run behind the vectors of another repository of its project says so from its first step on, `index_status` names both,
/// and whoever stops waiting is told what then becomes of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_queued_run_says_what_it_waits_for_and_what_becomes_of_it() {
    let toy = Toy::new("toy-queued", 8, false);
    let (app, project, (first, second)) = (app_with_embedder(toy.clone()), project("queued"), pair());
    let arguments = |repository: &Repository, wait: Value| json!({ "repoPath": repository.root(), "project_id": project, "wait": wait });
    let name = |repository: &Repository| repository.path().file_name().unwrap().to_str().unwrap().to_owned();
    let elsewhere = app_with_embedder(toy.clone());
    let mut ahead = waiting(&app, arguments(&first, json!(true)));
    ahead.until("embed", "").await;
    let behind = format!("ueued behind the embedding of {}", name(&first));

    let status = async || {
        let asked = json!({ "repoPath": second.root(), "project_id": project });
        call(&app, "index_status", asked).await
    };
    for (wait, becomes) in [(json!(true), "before it began"), (json!("words"), "before it began")] {
        let mut queued = waiting(&app, arguments(&second, wait.clone()));
        queued.until("queued", &behind).await;
        let told = status().await;
        let (shown, next) = (&told["result"], &told["_meta"]["next"]["tool"]);
        assert_eq!(shown["jobs"][0]["state"], "queued", "the first run is not unknown: {told:#}");
        assert_eq!(shown["jobs"][0]["repository"], name(&second), "{told:#}");
        assert_eq!(shown["jobs"][0]["waitsFor"]["repository"], name(&first), "{told:#}");
        assert_eq!((&shown["files"], &shown["repositories"]), (&json!(0), &json!([])), "{told:#}");
        assert_eq!(next, "index_status", "nothing sends the caller round in circles: {told:#}");
        let asked = json!({ "repoPath": name(&second), "project_id": project });
        assert_eq!(result(&app, "index_status", asked).await["jobs"][0]["state"], "queued");

        // Who joined it takes nothing back, and who asked for it does.
        // It comes from another process: one of them runs two such calls at a time.
        let mut joined = waiting(&elsewhere, arguments(&second, wait.clone()));
        joined.until("queued", &behind).await;
        let error = joined.cancelled().await;
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("stays in the queue") && message.contains(&behind), "{wait}: {error:#}");
        assert_eq!(status().await["result"]["jobs"][0]["state"], "queued", "{wait}: {error:#}");
        let error = queued.cancelled().await;
        assert_eq!(error["code"], "CANCELLED");
        assert!(error["message"].as_str().unwrap().contains(becomes), "{wait}: {error:#}");
        let listed = result(&app, "index_status", json!({ "project_id": project })).await;
        assert_eq!(listed["jobs"][0]["state"], "cancelled", "{wait}: {listed:#}");
    }

    // A time limit leaves the same, and says the same.
    let short = Arc::new(app_of(|config| config.timeouts.index_ms = 1500).with_embedder(toy.clone()));
    let late = call(&short, "build_index", arguments(&second, json!(true))).await;
    assert_eq!(late["error"]["code"], "TOOL_TIMEOUT", "{late:#}");
    assert!(late["error"]["message"].as_str().unwrap().contains("before it began"), "{late:#}");
    let listed = result(&app, "index_status", json!({ "project_id": project })).await;
    assert_eq!(listed["jobs"][0]["state"], "cancelled", "{listed:#}");

    toy.open.store(true, Ordering::Release);
    assert!(ahead.answer.await.unwrap().ok);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_outside_the_allowed_roots_is_not_read_whatever_it_is_called() {
    let (project, (repository, other)) = (project("roots"), pair());
    build(&app(), &repository, &project).await;
    let root = other.path().canonicalize().unwrap();
    let name = repository.path().file_name().unwrap().to_str().unwrap().to_owned();
    let served = Served::start(|config| config.indexing.roots = vec![root.clone()]).await;
    for named in [json!(name), Value::Null] {
        let arguments = json!({ "path": "one.py", "repoPath": named, "project_id": project });
        let refused = error(&served.app, "show_file", arguments.clone()).await;
        assert_eq!(refused["code"], "FORBIDDEN", "{arguments}: {refused:#}");
        assert!(!refused.to_string().contains(&repository.root()), "the path is not told: {refused:#}");
        assert!(refused["hint"].is_string());
    }
    let session = served.open("/mcp", None).await;
    let uri = format!("repo://{name}/one.py?project={project}");
    let read = session.ask(2, "resources/read", json!({ "uri": uri })).await;
    assert_eq!(read["error"]["data"]["code"], "FORBIDDEN", "{read:#}");
    served.stop().await;

    let inside = repository.path().canonicalize().unwrap();
    let allowed = app_with(|config| config.indexing.roots = vec![inside]);
    let shown = result(&allowed, "show_file", json!({ "path": "one.py", "project_id": project })).await;
    assert!(shown["text"].as_str().unwrap().contains("first_of_large"), "{shown:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_beyond_the_end_is_told() {
    let (app, project, (repository, _)) = (app(), project("beyond"), pair());
    repository.write("empty.md", "\n");
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
async fn capabilities_are_found_out() {
    let home = tempfile::tempdir().unwrap();
    let app_over = |home: &std::path::Path| {
        let overrides = Overrides { home: Some(home.to_owned()), ..Overrides::default() };
        let (mut config, layout) = config::load(&overrides).unwrap();
        config.server.port = 0;
        Arc::new(App::new(config, layout, Arc::new(SystemClock), PROGRAM.into()))
    };
    let vector = async |served: &Served| {
        let request = http().post(served.at("/mcp")).header("accept", "application/json, text/event-stream");
        let hello = message(request.json(&hello()).send().await.unwrap()).await;
        hello["result"]["capabilities"]["experimental"]["pairofcleats"]["capabilities"]["vector"].clone()
    };
    let served = Served::over(app_over(home.path()), tools::Toolbox::standard()).await;
    assert_eq!(vector(&served).await, json!({ "sqliteVec": false }), "without a database nothing is claimed");
    let folder = served.app.layout.extensions();
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("vec0.so"), "a library").unwrap();
    let entry = json!({
        "name": "sqlite-vec", "platform": extensions::platform(None, None).unwrap(), "url": "x", "file": "vec0.so",
        "sha256": sha256(b"a library"), "sourceSha256": "", "verified": true, "downloadedAt": "", "bytes": 9,
    });
    std::fs::write(folder.join("extensions.json"), json!({ "extensions": [entry] }).to_string()).unwrap();
    assert_eq!(vector(&served).await["sqliteVec"], true, "it is installed");
    std::fs::write(folder.join("vec0.so"), "another").unwrap();
    assert_eq!(vector(&served).await["sqliteVec"], false, "it is damaged");
    served.stop().await;

    let served = Served::start(|_| {}).await;
    served.app.store().await.unwrap();
    let vector = vector(&served).await;
    assert_eq!((&vector["pgvector"], &vector["hnsw"]), (&json!(true), &json!(true)), "{vector}");
    served.stop().await;
}
