//! Workers run queued jobs that no client waits for: each job kind independently, each job in a process that can run it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use contract::clock::SystemClock;
use contract::config::Layout;
use contract::{ErrorCode, Fault, ProjectId};
use embedding::{Embedder, StubEmbedder};
use engine::jobs::{self, Job, JobState, NewJob};
use gate::app::worker::{JobKind, run_worker_loops};
use gate::app::{App, index_job};
use serde_json::json;
use store::{DecidedBy, ModelFacts, Store};
use tokio_util::sync::CancellationToken;

use crate::harness::{PROGRAM, home, modules, settings};
use crate::storage::database::{Fresh, provision};

/// An application over this database, as another process would have it.
async fn start_app(fresh: &Fresh) -> Arc<App> {
    let mut config = settings(home());
    config.database.url = Some(fresh.url());
    let app = App::new(
        config,
        Layout::new(home().to_owned()),
        Arc::new(SystemClock),
        PathBuf::from(PROGRAM),
        modules(),
    );
    let app = Arc::new(app.with_embedder(Arc::new(StubEmbedder::default())));
    app.store().await.unwrap();
    app
}

async fn get_job(store: &Store, id: &str) -> Job {
    let mut tx = store.control_read().await.unwrap();
    store::jobs::get(&mut tx, id).await.unwrap().unwrap()
}

async fn wait_for_job(store: &Store, id: &str, what: &str, reached: impl Fn(&Job) -> bool) -> Job {
    for _ in 0..1200 {
        let job = get_job(store, id).await;
        if reached(&job) {
            return job;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("timed out waiting for {what}: {:#?}", get_job(store, id).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_waits_for_a_process_that_sees_its_folder() {
    let fresh = Fresh::new().await;
    let id = ProjectId::parse("p").unwrap();
    let model = ModelFacts::from(StubEmbedder::default().model());
    let project = store::provision(&fresh.store, &id, DecidedBy::Argument, &model).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap().join("repository");
    let root = root.to_str().unwrap();
    let options = engine::indexing::Options::default();
    let request = json!({ "root": root, "options": options });
    let new = index_job::KIND.job(project.id().clone(), root, request);
    let job = jobs::enqueue(&fresh.store, &new).await.unwrap().job;

    let without_folder = start_app(&fresh).await;
    let first_worker = tokio::spawn(run_worker_loops(Arc::clone(&without_folder), modules().job_kinds()));
    let passed_on =
        wait_for_job(&fresh.store, &job.id, "the first process to pass it on", |job| job.note.is_some())
            .await;
    assert_eq!((passed_on.state, passed_on.attempt), (JobState::Queued, 0), "{passed_on:#?}");
    let note = passed_on.note.unwrap();
    assert!(note.contains("cannot find") && !note.contains('/'), "the note must not show a path: {note}");

    // Now the folder exists, so the next process sees it.
    std::fs::create_dir(root).unwrap();
    std::fs::write(folder.path().join("repository/light.py"), "def lighthouse():\n    return 'keeper'\n")
        .unwrap();
    let with_folder = start_app(&fresh).await;
    let second_worker = tokio::spawn(run_worker_loops(Arc::clone(&with_folder), modules().job_kinds()));
    let finished =
        wait_for_job(&fresh.store, &job.id, "the second process to index it", |job| job.state.is_final())
            .await;
    assert_eq!((finished.state, finished.attempt), (JobState::Succeeded, 1), "{finished:#?}");
    assert_eq!(finished.worker.as_deref(), Some(with_folder.worker.as_str()));
    for app in [without_folder, with_folder] {
        app.shutdown.cancel();
        app.store().await.unwrap().database().close().await;
    }
    first_worker.await.unwrap();
    second_worker.await.unwrap();
    fresh.remove().await;
}

/// The number of [`QUICK`] jobs that have run.
static DONE: AtomicUsize = AtomicUsize::new(0);

/// Runs until it is cancelled.
static ENDLESS: JobKind = JobKind {
    name: "endless",
    lane: |subject| format!("endless:{subject}"),
    parallel: |_| 1,
    execute: Some(|_, running| {
        Box::pin(async move {
            running.cancel.cancelled().await;
            Err(Fault::new(ErrorCode::Cancelled, "stopped"))
        })
    }),
};

static QUICK: JobKind = JobKind {
    name: "quick",
    lane: |_| "quick".to_owned(),
    parallel: |_| 1,
    execute: Some(|_, _| Box::pin(async { Ok(json!(DONE.fetch_add(1, Ordering::SeqCst))) })),
};

/// Has no `execute`, so workers leave its jobs in the queue.
static NOT_EXECUTED: JobKind =
    JobKind { name: "not executed", lane: |_| "not executed".to_owned(), parallel: |_| 1, execute: None };

static KINDS: &[&JobKind] = &[&ENDLESS, &QUICK, &NOT_EXECUTED];

#[tokio::test(flavor = "multi_thread")]
async fn a_long_job_of_one_kind_does_not_delay_another_kind() {
    let fresh = Fresh::new().await;
    provision(&fresh.store, "p").await;
    let enqueue = async |kind: &JobKind, subject: &str| {
        let new: NewJob = kind.job(ProjectId::parse("p").unwrap(), subject, json!({}));
        jobs::enqueue(&fresh.store, &new).await.unwrap().job.id
    };
    let endless = enqueue(&ENDLESS, "a").await;
    let app = start_app(&fresh).await;
    let worker = tokio::spawn(run_worker_loops(Arc::clone(&app), KINDS));
    wait_for_job(&fresh.store, &endless, "the long job to run", |job| job.state == JobState::Running).await;
    let not_executed = enqueue(&NOT_EXECUTED, "a").await;
    for subject in ["a", "b", "c"] {
        let quick = enqueue(&QUICK, subject).await;
        wait_for_job(&fresh.store, &quick, "a job of the other kind", |job| job.state == JobState::Succeeded)
            .await;
    }
    assert_eq!(DONE.load(Ordering::SeqCst), 3);
    assert_eq!(get_job(&fresh.store, &endless).await.state, JobState::Running);
    assert_eq!(get_job(&fresh.store, &not_executed).await.state, JobState::Queued);
    app.shutdown.cancel();
    worker.await.unwrap();
    assert_eq!(
        get_job(&fresh.store, &endless).await.state,
        JobState::Queued,
        "the job returns to the queue when the process ends"
    );
    app.store().await.unwrap().database().close().await;
    fresh.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upkeep_run_is_refused_while_an_index_run_holds_the_writer_lane() {
    let fresh = Fresh::new().await;
    let project = fresh.project("p").await;
    let app = start_app(&fresh).await;
    let new = index_job::KIND.job(project.id().clone(), "/a", json!({}));
    let queued = jobs::enqueue(&fresh.store, &new).await.unwrap().job;
    let mut tx = fresh.store.control().await.unwrap();
    let claim = store::Claim::Id(&queued.id);
    assert!(store::jobs::try_claim(&mut tx, claim, "w", 3_600_000).await.unwrap().is_some());
    tx.commit().await.unwrap();
    let cancel = CancellationToken::new();
    let upkeep_run =
        gate::app::upkeep_job::run_exclusive(&app, &project, "gc", &cancel, |_| async { Ok(1) }).await;
    assert_eq!(upkeep_run.unwrap_err().code, ErrorCode::IllegalState);
    app.store().await.unwrap().database().close().await;
    fresh.remove().await;
}
