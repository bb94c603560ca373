//! Runs and searches over a failing network: committed work stays, nothing is done twice, and nothing waits forever.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use contract::ModelIdentity;
use contract::clock::SystemClock;
use contract::config::{self, Config, Layout, Overrides};
use contract::{Fault, ProjectId};
use embedding::{Embedder, StubEmbedder};
use gate::app::App;
use gate::tools::{self, Caller, Request, Surface};
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};
use tokio_util::sync::CancellationToken;

use super::proxy::{Flow, Proxy};
use crate::harness::{PROGRAM, Repository, app, call, error, home, modules, project, result, server};
use crate::kills::digest;

/// Called before each batch is embedded, with the number of the batch, from 1.
type BatchHook = Box<dyn Fn(u64) + Send + Sync>;

/// An embedder that counts how often each text is embedded and calls a hook before each batch.
pub(super) struct HookedEmbedder {
    stub: StubEmbedder,
    calls: AtomicU64,
    texts: Mutex<BTreeMap<String, u32>>,
    before_batch: BatchHook,
}

impl HookedEmbedder {
    pub(super) fn new(before_batch: impl Fn(u64) + Send + Sync + 'static) -> Arc<Self> {
        let (stub, calls, texts) = (StubEmbedder::default(), AtomicU64::new(0), Mutex::default());
        Arc::new(Self { stub, calls, texts, before_batch: Box::new(before_batch) })
    }

    pub(super) fn embedded_twice(&self) -> Vec<String> {
        let texts = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        texts.iter().filter(|(_, times)| **times > 1).map(|(text, _)| text.clone()).collect()
    }
}

impl Embedder for HookedEmbedder {
    fn model(&self) -> &ModelIdentity {
        self.stub.model()
    }

    fn embed_passages(&self, texts: &[String], cancelled: &dyn Fn() -> bool) -> Result<Vec<Vec<f32>>, Fault> {
        (self.before_batch)(self.calls.fetch_add(1, Ordering::SeqCst) + 1);
        let vectors = self.stub.embed_passages(texts, cancelled)?;
        let mut counts = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        texts.iter().for_each(|text| *counts.entry(text.clone()).or_default() += 1);
        Ok(vectors)
    }

    fn embed_query(&self, text: &str) -> Result<Vec<f32>, Fault> {
        self.stub.embed_query(text)
    }
}

/// An application that reaches the shared cluster through a proxy, with shorter timeouts than by default.
fn app_through(proxy: &Proxy, embedder: Arc<dyn Embedder>, change: impl FnOnce(&mut Config)) -> Arc<App> {
    let overrides = Overrides { home: Some(home().to_owned()), ..Overrides::default() };
    let mut config = config::load(&overrides).unwrap().0;
    let database = &mut config.database;
    database.url = Some(proxy.url());
    database.acquire_timeout_ms = 5_000;
    database.statement_timeout_ms = 4_000;
    database.answer_grace_ms = 500;
    database.first_answer_ms_max = 1_000;
    database.idle_in_transaction_ms_max = 2_000;
    // Long, because the recovery of other tests' jobs would otherwise take over a run that waits for its database.
    config.indexing.lease_ms = 30_000;
    change(&mut config);
    let layout = Layout::new(home().to_owned());
    let app = App::new(config, layout, Arc::new(SystemClock), PROGRAM.into(), modules());
    Arc::new(app.with_embedder(embedder))
}

/// A repository with enough text for several batches of embeddings.
fn repository_of_several_batches() -> Repository {
    let repository = Repository::new(&[("README.md", "# Shop\n\nSells things.\n")]);
    for file in 0..30 {
        let text: String = (0..8)
            .map(|n| format!("def task_{file}_{n}(value):\n    part = value * {n} + {file}\n    return [part] * {n}\n\n"))
            .collect();
        repository.write(&format!("src/module_{file}.py"), &text);
    }
    repository
}

async fn connect() -> PgConnection {
    PgConnection::connect_with(&server().connect_options()).await.unwrap()
}

/// The newest job of a project: its stored state, attempts and note.
async fn newest_job(project: &str) -> (String, i32, String) {
    let text = "SELECT state, attempt, coalesce(note, '') FROM pairofcleats.jobs WHERE project_id = $1 \
                ORDER BY created_at DESC LIMIT 1";
    let row = sqlx::query(text).bind(project).fetch_one(&mut connect().await).await.unwrap();
    (row.get(0), row.get(1), row.get(2))
}

async fn wait_for(condition: &str, mut reached: impl AsyncFnMut() -> bool) {
    for _ in 0..1200 {
        if reached().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("timed out waiting for: {condition}");
}

fn index_arguments(repository: &Repository, project: &str) -> Value {
    json!({ "repoPath": repository.root(), "project_id": project })
}

/// Digest of the rows that an uninterrupted run stores.
async fn digest_of_undisturbed_run(repository: &Repository) -> Vec<(String, String)> {
    let project = project("undisturbed");
    result(&app(), "build_index", index_arguments(repository, &project)).await;
    digest(&project).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_survives_connections_that_go_silent() {
    let repository = repository_of_several_batches();
    let expected = digest_of_undisturbed_run(&repository).await;
    // Between two transactions, in the first statements of one, and during a large write.
    for after in [0, 60, 5_000] {
        let proxy = Arc::new(Proxy::new().await);
        let (network, project) = (Arc::clone(&proxy), project("silent"));
        let embedder = HookedEmbedder::new(move |call| {
            if call == 3 {
                network.silence(after);
            }
        });
        let app = app_through(&proxy, embedder.clone(), |_| {});
        let answer = call(&app, "build_index", index_arguments(&repository, &project)).await;
        assert_eq!(answer["ok"], true, "silent after {after} bytes: {answer:#}");
        assert_eq!(digest(&project).await, expected, "silent after {after} bytes");
        assert_eq!(newest_job(&project).await.0, "succeeded");
        // The batch that was not committed is embedded again; committed ones are not.
        let twice = embedder.embedded_twice().len();
        assert!(twice <= 16, "silent after {after} bytes: {twice} texts were embedded twice");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_waits_for_an_unreachable_database() {
    let repository = repository_of_several_batches();
    let expected = digest_of_undisturbed_run(&repository).await;
    let (proxy, project) = (Arc::new(Proxy::new().await), project("away"));
    let (network, runtime) = (Arc::clone(&proxy), tokio::runtime::Handle::current());
    let embedder = HookedEmbedder::new(move |call| {
        if call == 3 {
            network.refuse();
            let network = Arc::clone(&network);
            runtime.spawn(async move {
                tokio::time::sleep(Duration::from_secs(6)).await;
                network.restore();
            });
        }
    });
    let app = app_through(&proxy, embedder.clone(), |_| {});
    let answer = call(&app, "build_index", index_arguments(&repository, &project)).await;
    assert_eq!(answer["ok"], true, "{answer:#}");
    let notes = answer["result"]["report"]["notes"].to_string();
    assert!(notes.contains("waited for the database"), "{answer:#}");
    assert_eq!(digest(&project).await, expected);
    let (state, attempts, _) = newest_job(&project).await;
    assert_eq!((state.as_str(), attempts), ("succeeded", 1), "paused, not started again");
    assert!(embedder.embedded_twice().len() <= 16, "{:?}", embedder.embedded_twice());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_returns_to_the_queue_if_the_database_stays_unreachable() {
    let (repository, project) = (repository_of_several_batches(), project("gone"));
    let proxy = Arc::new(Proxy::new().await);
    let network = Arc::clone(&proxy);
    let embedder = HookedEmbedder::new(move |call| {
        if call == 2 {
            network.refuse();
        }
    });
    let short_timeouts = |config: &mut Config| {
        config.database.acquire_timeout_ms = 500;
        config.indexing.database_away_ms_max = 1_000;
        config.indexing.lease_ms = 2_000;
    };
    let app = app_through(&proxy, embedder, short_timeouts);
    let fault = error(&app, "build_index", index_arguments(&repository, &project)).await;
    assert_eq!(
        (&fault["code"], &fault["retryable"]),
        (&json!("STORAGE_UNAVAILABLE"), &json!(true)),
        "{fault:#}"
    );
    assert!(fault["message"].as_str().unwrap().contains("waits in the queue"), "{fault:#}");
    proxy.restore();
    wait_for("the run to wait in the queue", async || {
        result(&app, "index_status", json!({ "project_id": project })).await["jobs"][0]["state"] == "queued"
    })
    .await;
    let report = result(&app, "build_index", index_arguments(&repository, &project)).await["report"].take();
    assert_eq!((&report["filesChanged"], &report["vectorsPending"]), (&json!(0), &json!(0)), "{report:#}");
    assert_eq!(newest_job(&project).await.0, "succeeded");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_dead_connection_closes_all_pooled_connections_of_its_age() {
    let proxy = Proxy::new().await;
    let app = app_through(&proxy, Arc::new(StubEmbedder::default()), |_| {});
    let (repository, project) = (repository_of_several_batches(), project("pool"));
    result(&app, "build_index", index_arguments(&repository, &project)).await;
    let search = || call(&app, "search", json!({ "query": "task value", "project_id": project }));
    let answers: Vec<Value> = futures::future::join_all((0..8).map(|_| search())).await;
    assert!(answers.iter().all(|answer| answer["ok"] == true), "{answers:#?}");
    proxy.silence(0);
    let answer = search().await;
    assert_eq!(answer["ok"], true, "{answer:#}");
    let dead_queries = proxy.silent_queries();
    // The audit log of the earlier searches may be written at the same time.
    assert!((1..=4).contains(&dead_queries), "one statement for each concurrent retriever: {dead_queries}");
    for _ in 0..12 {
        let answer = search().await;
        assert_eq!(answer["ok"], true, "{answer:#}");
    }
    assert_eq!(proxy.silent_queries(), dead_queries, "no dead connection is used after the first call");
}

#[tokio::test(flavor = "multi_thread")]
async fn searches_over_a_bad_network_succeed_or_fail_and_then_recover() {
    let proxy = Proxy::new().await;
    let app = app_through(&proxy, Arc::new(StubEmbedder::default()), |_| {});
    let (repository, project) = (repository_of_several_batches(), project("line"));
    result(&app, "build_index", index_arguments(&repository, &project)).await;
    let search = || call(&app, "search", json!({ "query": "task value", "project_id": project }));
    let slow = Duration::from_millis(2);
    for (to_server, to_client, answered) in [
        (Flow::Delayed(Duration::from_millis(20)), Flow::Delayed(Duration::from_millis(20)), true),
        (Flow::Trickle(200, slow), Flow::Open, true),
        (Flow::Open, Flow::Trickle(500, slow), true),
        (Flow::Reset, Flow::Reset, false),
        (Flow::HalfClosed, Flow::Open, false),
        (Flow::Open, Flow::HalfClosed, false),
        (Flow::Stalled, Flow::Open, false),
        (Flow::Open, Flow::Stalled, false),
    ] {
        proxy.set_flow(to_server, to_client);
        let answer = search().await;
        if answered {
            assert_eq!(answer["ok"], true, "{to_server:?} {to_client:?}: {answer:#}");
        } else if answer["ok"] != true {
            let code = answer["error"]["code"].as_str().unwrap();
            assert!(
                ["STORAGE_UNAVAILABLE", "TOOL_TIMEOUT"].contains(&code),
                "{to_server:?} {to_client:?}: {answer:#}"
            );
            let message = answer["error"]["message"].as_str().unwrap();
            assert!(!message.contains("busy"), "no other call ran, {to_server:?} {to_client:?}: {answer:#}");
        }
        proxy.restore();
        let answer = search().await;
        assert_eq!(answer["ok"], true, "after {to_server:?} {to_client:?}: {answer:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_without_progress_is_ended_and_taken_over() {
    let repository = repository_of_several_batches();
    let expected = digest_of_undisturbed_run(&repository).await;
    let (proxy, project) = (Arc::new(Proxy::new().await), project("still"));
    let network = Arc::clone(&proxy);
    // The writer's connection goes silent during a write; heartbeats use another connection.
    let embedder = HookedEmbedder::new(move |call| {
        if call == 3 {
            network.silence_writer();
        }
    });
    let long_statements = |config: &mut Config| {
        config.database.statement_timeout_ms = 600_000;
        config.indexing.progress_ms_max = 3_000;
    };
    let app = app_through(&proxy, embedder, long_statements);
    let answer = call(&app, "build_index", index_arguments(&repository, &project)).await;
    assert_eq!(answer["ok"], true, "{answer:#}");
    let (state, attempts, note) = newest_job(&project).await;
    assert_eq!(state, "succeeded", "{note}");
    assert!(attempts > 1, "{note}");
    assert!(note.contains("without progress") && note.contains("embed"), "{note}");
    let notes = answer["result"]["report"]["notes"].to_string();
    assert!(notes.contains("without progress"), "{answer:#}");
    let status = result(&app, "index_status", json!({ "project_id": project })).await;
    assert_eq!(status["jobs"][0]["note"], note, "{status:#}");
    assert_eq!(digest(&project).await, expected);
}

/// Takes a lock that keeps a run from building the vector index, so that its last phase cannot end.
async fn lock_vectors(project: &str) -> PgConnection {
    // A first run creates the tables.
    let one = Repository::new(&[("a.py", "def first():\n    return 1\n")]);
    result(&app(), "build_index", index_arguments(&one, project)).await;
    let schema = ProjectId::parse(project).unwrap().schema_name();
    let mut connection = connect().await;
    let lock_statement = format!("LOCK TABLE {schema}.vectors IN SHARE UPDATE EXCLUSIVE MODE");
    for text in ["BEGIN".to_owned(), lock_statement] {
        sqlx::query(AssertSqlSafe(text)).execute(&mut connection).await.unwrap();
    }
    connection
}

fn app_with_long_lock_timeout() -> Arc<App> {
    crate::harness::app_with(|config| {
        config.indexing.hnsw_rows_min = 1;
        config.database.lock_timeout_ms = 120_000;
    })
}

async fn wait_for_last_phase(app: &Arc<App>, project: &str) {
    wait_for("the last phase", async || {
        let status = result(app, "index_status", json!({ "project_id": project })).await;
        status["jobs"][0]["progress"]["phase"] == "finish"
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_stopped_in_its_last_phase_leaves_no_running_job() {
    let (repository, cancelled, requeued) =
        (repository_of_several_batches(), project("cancelled"), project("requeued"));

    let lock = lock_vectors(&cancelled).await;
    let (app, cancel) = (app_with_long_lock_timeout(), CancellationToken::new());
    let request = Request {
        cancel: cancel.clone(),
        ..Request::new("build_index", index_arguments(&repository, &cancelled), Caller::local(Surface::Cli))
    };
    let stop = async {
        wait_for_last_phase(&app, &cancelled).await;
        cancel.cancel();
    };
    let (answer, ()) = tokio::join!(tools::call(&app, request), stop);
    assert_eq!(answer.unwrap().error.map(|error| error.code.as_str()), Some("CANCELLED"));
    assert_eq!(newest_job(&cancelled).await.0, "cancelled", "at once, not when its lease expires");
    drop(lock);

    let lock = lock_vectors(&requeued).await;
    let app = app_with_long_lock_timeout();
    let mut arguments = index_arguments(&repository, &requeued);
    arguments["wait"] = json!(false);
    result(&app, "build_index", arguments).await;
    wait_for_last_phase(&app, &requeued).await;
    app.shutdown.cancel();
    app.wait_stopped().await;
    assert_eq!(newest_job(&requeued).await.0, "queued", "the next process resumes the run");
    drop(lock);
}
