//! Runs and searches over a network that fails: what was committed stays, nothing is done twice, nothing waits for ever.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use contract::ModelIdentity;
use contract::clock::SystemClock;
use contract::config::{self, Config, Layout, Overrides};
use contract::{Fault, ProjectId};
use embedding::{Embedder, StubEmbedder};
use pairofcleats::app::App;
use pairofcleats::tools::{self, Caller, Request, Surface};
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};
use tokio_util::sync::CancellationToken;

use super::proxy::{Proxy, Way};
use crate::harness::{PROGRAM, Repository, app, call, error, home, project, result, server};
use crate::kills::digest;

/// What happens before the texts of a call are embedded: its number, from 1.
type Before = Box<dyn Fn(u64) + Send + Sync>;

/// Counts how often each text is embedded, and lets something happen at a certain moment of a run.
pub(super) struct Watched {
    stub: StubEmbedder,
    calls: AtomicU64,
    texts: Mutex<BTreeMap<String, u32>>,
    before: Before,
}

impl Watched {
    pub(super) fn new(before: impl Fn(u64) + Send + Sync + 'static) -> Arc<Self> {
        let (stub, calls, texts) = (StubEmbedder::default(), AtomicU64::new(0), Mutex::default());
        Arc::new(Self { stub, calls, texts, before: Box::new(before) })
    }

    pub(super) fn embedded_twice(&self) -> Vec<String> {
        let texts = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        texts.iter().filter(|(_, times)| **times > 1).map(|(text, _)| text.clone()).collect()
    }
}

impl Embedder for Watched {
    fn model(&self) -> &ModelIdentity {
        self.stub.model()
    }

    fn embed_passages(&self, texts: &[String], cancelled: &dyn Fn() -> bool) -> Result<Vec<Vec<f32>>, Fault> {
        (self.before)(self.calls.fetch_add(1, Ordering::SeqCst) + 1);
        let vectors = self.stub.embed_passages(texts, cancelled)?;
        let mut seen = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        texts.iter().for_each(|text| *seen.entry(text.clone()).or_default() += 1);
        Ok(vectors)
    }

    fn embed_query(&self, text: &str) -> Result<Vec<f32>, Fault> {
        self.stub.embed_query(text)
    }
}

/// An application that reaches the shared cluster through a proxy and waits for less than by default.
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
    // Other tests put the queue right; a run that waits for its database is not taken from it.
    config.indexing.lease_ms = 30_000;
    change(&mut config);
    let layout = Layout::new(home().to_owned());
    let app = App::new(config, layout, Arc::new(SystemClock), PROGRAM.into());
    Arc::new(app.with_embedder(embedder))
}

/// Enough texts for several pages of vectors.
fn shop() -> Repository {
    let repository = Repository::new(&[("README.md", "# Shop\n\nSells things.\n")]);
    for file in 0..30 {
        let text: String = (0..8)
            .map(|n| format!("def task_{file}_{n}(value):\n    part = value * {n} + {file}\n    return [part] * {n}\n\n"))
            .collect();
        repository.write(&format!("src/module_{file}.py"), &text);
    }
    repository
}

async fn raw() -> PgConnection {
    PgConnection::connect_with(&server().connect_options()).await.unwrap()
}

/// The newest job of a project: state, attempts and note, as they are stored.
async fn job(project: &str) -> (String, i32, String) {
    let text = "SELECT state, attempt, coalesce(note, '') FROM pairofcleats.jobs WHERE project_id = $1 \
                ORDER BY created_at DESC LIMIT 1";
    let row = sqlx::query(text).bind(project).fetch_one(&mut raw().await).await.unwrap();
    (row.get(0), row.get(1), row.get(2))
}

async fn wait_for(what: &str, mut reached: impl AsyncFnMut() -> bool) {
    for _ in 0..1200 {
        if reached().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("waited in vain for: {what}");
}

fn index(repository: &Repository, project: &str) -> Value {
    json!({ "repoPath": repository.root(), "project_id": project })
}

/// What an uninterrupted run makes of the repository.
async fn undisturbed(repository: &Repository) -> Vec<(String, String)> {
    let plain = project("undisturbed");
    result(&app(), "build_index", index(repository, &plain)).await;
    digest(&plain).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_survives_a_network_that_goes_silent_in_the_middle_of_it() {
    let repository = shop();
    let expected = undisturbed(&repository).await;
    // Between two transactions, in the first words of one, in the middle of a large write, and in none of ours.
    for after in [0, 60, 5_000] {
        let proxy = Arc::new(Proxy::new().await);
        let (cut, project) = (Arc::clone(&proxy), project("silent"));
        let embedder = Watched::new(move |call| {
            if call == 3 {
                cut.silence(after);
            }
        });
        let app = app_through(&proxy, embedder.clone(), |_| {});
        let answer = call(&app, "build_index", index(&repository, &project)).await;
        assert_eq!(answer["ok"], true, "cut after {after}: {answer:#}");
        assert_eq!(digest(&project).await, expected, "cut after {after}");
        assert_eq!(job(&project).await.0, "succeeded");
        // What was in the page that never came to its end is made again; what was committed is not.
        let twice = embedder.embedded_twice().len();
        assert!(twice <= 16, "cut after {after}: {twice} texts were embedded twice");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_waits_for_a_database_that_is_away() {
    let repository = shop();
    let expected = undisturbed(&repository).await;
    let (proxy, project) = (Arc::new(Proxy::new().await), project("away"));
    let (network, runtime) = (Arc::clone(&proxy), tokio::runtime::Handle::current());
    let embedder = Watched::new(move |call| {
        if call == 3 {
            network.away();
            let network = Arc::clone(&network);
            runtime.spawn(async move {
                tokio::time::sleep(Duration::from_secs(6)).await;
                network.back();
            });
        }
    });
    let app = app_through(&proxy, embedder.clone(), |_| {});
    let answer = call(&app, "build_index", index(&repository, &project)).await;
    assert_eq!(answer["ok"], true, "{answer:#}");
    let notes = answer["result"]["report"]["notes"].to_string();
    assert!(notes.contains("waited for the database"), "{answer:#}");
    assert_eq!(digest(&project).await, expected);
    let (state, attempts, _) = job(&project).await;
    assert_eq!((state.as_str(), attempts), ("succeeded", 1), "paused, not begun anew");
    assert!(embedder.embedded_twice().len() <= 16, "{:?}", embedder.embedded_twice());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_stays_away_leaves_the_run_to_the_queue() {
    let (repository, project) = (shop(), project("gone"));
    let proxy = Arc::new(Proxy::new().await);
    let network = Arc::clone(&proxy);
    let embedder = Watched::new(move |call| {
        if call == 2 {
            network.away();
        }
    });
    let short = |config: &mut Config| {
        config.database.acquire_timeout_ms = 500;
        config.indexing.database_away_ms_max = 1_000;
        config.indexing.lease_ms = 2_000;
    };
    let app = app_through(&proxy, embedder, short);
    let fault = error(&app, "build_index", index(&repository, &project)).await;
    assert_eq!(
        (&fault["code"], &fault["retryable"]),
        (&json!("STORAGE_UNAVAILABLE"), &json!(true)),
        "{fault:#}"
    );
    assert!(fault["message"].as_str().unwrap().contains("waits in the queue"), "{fault:#}");
    proxy.back();
    wait_for("the run to wait in the queue", async || {
        result(&app, "index_status", json!({ "project_id": project })).await["jobs"][0]["state"] == "queued"
    })
    .await;
    let report = result(&app, "build_index", index(&repository, &project)).await["report"].take();
    assert_eq!((&report["filesChanged"], &report["vectorsPending"]), (&json!(0), &json!(0)), "{report:#}");
    assert_eq!(job(&project).await.0, "succeeded");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_dead_connection_is_enough_to_give_up_all_that_are_as_old() {
    let proxy = Proxy::new().await;
    let app = app_through(&proxy, Arc::new(StubEmbedder::default()), |_| {});
    let (repository, project) = (shop(), project("pool"));
    result(&app, "build_index", index(&repository, &project)).await;
    let ask = || call(&app, "search", json!({ "query": "task value", "project_id": project }));
    let many: Vec<Value> = futures::future::join_all((0..8).map(|_| ask())).await;
    assert!(many.iter().all(|answer| answer["ok"] == true), "{many:#?}");
    proxy.silence(0);
    let answer = ask().await;
    assert_eq!(answer["ok"], true, "{answer:#}");
    let legs = proxy.asked_in_vain();
    assert!((1..=3).contains(&legs), "words and vectors are asked at once: {legs}");
    for _ in 0..12 {
        let answer = ask().await;
        assert_eq!(answer["ok"], true, "{answer:#}");
    }
    assert_eq!(proxy.asked_in_vain(), legs, "no dead connection is asked after the first call");
}

#[tokio::test(flavor = "multi_thread")]
async fn searches_over_a_bad_line_are_answered_or_fail_and_recover() {
    let proxy = Proxy::new().await;
    let app = app_through(&proxy, Arc::new(StubEmbedder::default()), |_| {});
    let (repository, project) = (shop(), project("line"));
    result(&app, "build_index", index(&repository, &project)).await;
    let ask = || call(&app, "search", json!({ "query": "task value", "project_id": project }));
    let slow = Duration::from_millis(2);
    for (there, back, answered) in [
        (Way::Late(Duration::from_millis(20)), Way::Late(Duration::from_millis(20)), true),
        (Way::Trickle(200, slow), Way::Open, true),
        (Way::Open, Way::Trickle(500, slow), true),
        (Way::Reset, Way::Reset, false),
        (Way::HalfClosed, Way::Open, false),
        (Way::Open, Way::HalfClosed, false),
        (Way::Held, Way::Open, false),
        (Way::Open, Way::Held, false),
    ] {
        proxy.ways(there, back);
        let answer = ask().await;
        if answered {
            assert_eq!(answer["ok"], true, "{there:?} {back:?}: {answer:#}");
        } else if answer["ok"] != true {
            let code = answer["error"]["code"].as_str().unwrap();
            assert!(
                ["STORAGE_UNAVAILABLE", "TOOL_TIMEOUT"].contains(&code),
                "{there:?} {back:?}: {answer:#}"
            );
            let message = answer["error"]["message"].as_str().unwrap();
            assert!(!message.contains("busy"), "nobody else used it, {there:?} {back:?}: {answer:#}");
        }
        proxy.back();
        let answer = ask().await;
        assert_eq!(answer["ok"], true, "after {there:?} {back:?}: {answer:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_stands_still_is_given_up_and_taken_over() {
    let repository = shop();
    let expected = undisturbed(&repository).await;
    let (proxy, project) = (Arc::new(Proxy::new().await), project("still"));
    let network = Arc::clone(&proxy);
    // The writer's connection goes silent in the middle of a write; heartbeats find another one.
    let embedder = Watched::new(move |call| {
        if call == 3 {
            network.silence_writer();
        }
    });
    let patient = |config: &mut Config| {
        config.database.statement_timeout_ms = 600_000;
        config.indexing.progress_ms_max = 3_000;
    };
    let app = app_through(&proxy, embedder, patient);
    let answer = call(&app, "build_index", index(&repository, &project)).await;
    assert_eq!(answer["ok"], true, "{answer:#}");
    let (state, attempts, note) = job(&project).await;
    assert_eq!(state, "succeeded", "{note}");
    assert!(attempts > 1, "{note}");
    assert!(note.contains("without progress") && note.contains("embed"), "{note}");
    let notes = answer["result"]["report"]["notes"].to_string();
    assert!(notes.contains("without progress"), "{answer:#}");
    let shown = result(&app, "index_status", json!({ "project_id": project })).await;
    assert_eq!(shown["jobs"][0]["note"], note, "{shown:#}");
    assert_eq!(digest(&project).await, expected);
}

/// A run whose last phase cannot end, because somebody else keeps it from building an index.
async fn held_up(project: &str, repository: &Repository) -> PgConnection {
    // The first run makes the tables.
    let one = Repository::new(&[("a.py", "def first():\n    return 1\n")]);
    result(&app(), "build_index", index(&one, project)).await;
    let schema = ProjectId::parse(project).unwrap().schema_name();
    let mut raw = raw().await;
    let lock = format!("LOCK TABLE {schema}.vectors IN SHARE UPDATE EXCLUSIVE MODE");
    for text in ["BEGIN".to_owned(), lock] {
        sqlx::query(AssertSqlSafe(text)).execute(&mut raw).await.unwrap();
    }
    assert!(repository.path().exists());
    raw
}

fn unhurried() -> Arc<App> {
    crate::harness::app_with(|config| {
        config.indexing.hnsw_rows_min = 1;
        config.database.lock_timeout_ms = 120_000;
    })
}

async fn finishing(app: &Arc<App>, project: &str) {
    wait_for("the last phase", async || {
        let status = result(app, "index_status", json!({ "project_id": project })).await;
        status["jobs"][0]["progress"]["phase"] == "finish"
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_in_the_last_phase_leaves_nothing_running() {
    let (repository, cancelled, given_back) = (shop(), project("cancelled"), project("given-back"));

    let held = held_up(&cancelled, &repository).await;
    let (app, cancel) = (unhurried(), CancellationToken::new());
    let request = Request {
        cancel: cancel.clone(),
        ..Request::new("build_index", index(&repository, &cancelled), Caller::local(Surface::Cli))
    };
    let stop = async {
        finishing(&app, &cancelled).await;
        cancel.cancel();
    };
    let (answer, ()) = tokio::join!(tools::call(&app, request), stop);
    assert_eq!(answer.unwrap().error.map(|error| error.code.as_str()), Some("CANCELLED"));
    assert_eq!(job(&cancelled).await.0, "cancelled", "at once, not when a lease runs out");
    drop(held);

    let held = held_up(&given_back, &repository).await;
    let app = unhurried();
    let mut arguments = index(&repository, &given_back);
    arguments["wait"] = json!(false);
    result(&app, "build_index", arguments).await;
    finishing(&app, &given_back).await;
    app.shutdown.cancel();
    app.stopped().await;
    assert_eq!(job(&given_back).await.0, "queued", "the next process goes on");
    drop(held);
}
