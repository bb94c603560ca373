//! One run at a time, one writer a project, and nothing lost when a worker dies.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use contract::{ErrorCode, Fault, ProjectId};
use engine::jobs::{self, ClaimedJob, LeaseSettings, NewJob, Phase, run_or_attach};
use serde_json::{Value, json};
use store::{self, Claim, Fence, Heartbeat, Job, JobState, Outcome, Store};
use tokio_util::sync::CancellationToken;

use crate::storage::database::{Fresh, file, repository, run, write, writing};

const LEASE: LeaseSettings = LeaseSettings {
    lease: Duration::from_secs(30),
    heartbeat: Duration::from_millis(50),
    progress_max: None,
    away_max: Duration::from_secs(10),
};

fn request(subject: &str) -> NewJob {
    NewJob {
        project_id: ProjectId::parse("p").unwrap(),
        kind: "index",
        subject: subject.into(),
        request: json!({ "full": false }),
    }
}

async fn enqueue(store: &Store, subject: &str) -> store::Enqueued {
    let mut door = store.control().await.unwrap();
    let answer = store::jobs::enqueue_or_attach(&mut door, &request(subject)).await.unwrap();
    door.commit().await.unwrap();
    answer
}

async fn claim(store: &Store, claim: Claim<'_>, worker: &str) -> Option<Job> {
    let mut door = store.control().await.unwrap();
    let job = store::jobs::try_claim(&mut door, claim, worker, 30_000).await.unwrap();
    door.commit().await.unwrap();
    job
}

async fn get(store: &Store, id: &str) -> Job {
    let mut door = store.control_read().await.unwrap();
    store::jobs::get(&mut door, id).await.unwrap().unwrap()
}

/// What a dead worker leaves: a lease that ran out.
async fn expire(fresh: &Fresh, id: &str) {
    let text = format!(
        "UPDATE pairofcleats.jobs SET lease_until = clock_timestamp() - interval '1 second' WHERE id = '{id}'"
    );
    run(&mut fresh.raw().await, &text).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_request_attaches_and_one_worker_claims() {
    let fresh = Fresh::new().await;
    let first = enqueue(&fresh.store, "/a").await;
    let second = enqueue(&fresh.store, "/a").await;
    assert_eq!((first.attached, second.attached), (false, true));
    assert_eq!(first.job.id, second.job.id);
    assert_eq!(first.job.id.len(), 32);
    let workers: Vec<_> = (0..16)
        .map(|i| {
            let (store, id) = (fresh.store.clone(), first.job.id.clone());
            tokio::spawn(async move { claim(&store, Claim::Id(&id), &format!("w{i}")).await })
        })
        .collect();
    let mut claimed = Vec::new();
    for worker in workers {
        claimed.extend(worker.await.unwrap());
    }
    assert_eq!(claimed.len(), 1);
    assert_eq!((claimed[0].attempt, claimed[0].state), (1, JobState::Running));
    fresh.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_project_has_one_running_job() {
    let fresh = Fresh::new().await;
    for i in 0..8 {
        enqueue(&fresh.store, &format!("/{i}")).await;
    }
    let workers: Vec<_> = (0..16)
        .map(|i| {
            let store = fresh.store.clone();
            tokio::spawn(async move { claim(&store, Claim::Kind("index"), &format!("w{i}")).await })
        })
        .collect();
    let mut claimed = Vec::new();
    for worker in workers {
        claimed.extend(worker.await.unwrap());
    }
    assert_eq!(claimed.len(), 1, "two runs of one project would fence each other out");
    fresh.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_rescue_the_old_worker_can_write_nothing() {
    let fresh = Fresh::new().await;
    let project = fresh.project("p").await;
    let (_, repo) = repository(&fresh.store, &project).await;
    let job = enqueue(&fresh.store, "/a").await.job;
    let old = claim(&fresh.store, Claim::Id(&job.id), "old").await.unwrap().fence.unwrap();
    // Fences of the queue start at 1, as does the one of `repository`.
    let take_up = |fence: Fence| {
        let (store, project) = (fresh.store.clone(), project.clone());
        async move {
            let mut tx = writing(&store, &project).await;
            store::index_state::acquire_fence(&mut tx, fence).await?;
            tx.commit().await
        }
    };
    take_up(old).await.unwrap();
    write(&fresh.store, &project, old, repo, &[file("a.rs", &["alpha"])]).await;

    assert!(claim(&fresh.store, Claim::Id(&job.id), "new").await.is_none(), "the lease still runs");
    expire(&fresh, &job.id).await;
    let rescued = claim(&fresh.store, Claim::Id(&job.id), "new").await.unwrap();
    let new = rescued.fence.unwrap();
    assert!(new > old);
    assert_eq!(rescued.attempt, 2);
    take_up(new).await.unwrap();

    let mut tx = writing(&fresh.store, &project).await;
    let mut known = store::KnownNames::default();
    let stale = [file("a.rs", &["stale"])];
    let fault = store::write_batch(&mut tx, old, repo, &stale, &mut known).await.unwrap_err();
    assert_eq!(fault.code, ErrorCode::IllegalState);
    drop(tx);
    assert_eq!(take_up(old).await.unwrap_err().code, ErrorCode::IllegalState);
    let mut door = fresh.store.control().await.unwrap();
    let beat = store::jobs::heartbeat(&mut door, &job.id, old, 30_000, &Value::Null).await.unwrap();
    assert_eq!(beat, Heartbeat::LeaseLost);
    let ended =
        store::jobs::finish(&mut door, &job.id, old, &Outcome::Cancelled, &Value::Null).await.unwrap();
    assert!(!ended, "an old worker cannot end the new one's job");
    assert_eq!(
        store::jobs::heartbeat(&mut door, &job.id, new, 30_000, &Value::Null).await.unwrap(),
        Heartbeat::Held
    );
    door.commit().await.unwrap();
    write(&fresh.store, &project, new, repo, &[file("a.rs", &["fresh"])]).await;
    fresh.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_stop_on_request_and_are_given_up_when_they_kill() {
    let fresh = Fresh::new().await;
    let cancel = |id: String| {
        let store = fresh.store.clone();
        async move {
            let mut door = store.control().await.unwrap();
            let job = store::jobs::request_cancel(&mut door, &id).await.unwrap().unwrap();
            door.commit().await.unwrap();
            job
        }
    };
    let waiting = enqueue(&fresh.store, "/waiting").await.job;
    assert_eq!(cancel(waiting.id.clone()).await.state, JobState::Cancelled);
    assert!(claim(&fresh.store, Claim::Id(&waiting.id), "w").await.is_none());

    let dying = enqueue(&fresh.store, "/dying").await.job;
    for attempt in 1..=5 {
        assert_eq!(claim(&fresh.store, Claim::Id(&dying.id), "w").await.unwrap().attempt, attempt);
        expire(&fresh, &dying.id).await;
    }
    let mut door = fresh.store.control().await.unwrap();
    assert_eq!(store::jobs::requeue_expired(&mut door).await.unwrap(), 1);
    door.commit().await.unwrap();
    let job = get(&fresh.store, &dying.id).await;
    assert_eq!(job.state, JobState::Failed);
    assert!(job.error.unwrap()["message"].as_str().unwrap().contains("5 times"));

    let running = enqueue(&fresh.store, "/running").await.job;
    let held =
        ClaimedJob::try_claim(&fresh.store, Claim::Id(&running.id), "w", LEASE).await.unwrap().unwrap();
    held.progress.update(|progress| progress.phase = Phase::Walk);
    assert_eq!(cancel(running.id.clone()).await.state, JobState::Running);
    tokio::time::timeout(Duration::from_secs(20), held.cancel.cancelled()).await.unwrap();
    assert!(!held.is_lost());
    held.finish(&Outcome::Cancelled).await.unwrap();
    let job = get(&fresh.store, &running.id).await;
    assert_eq!(job.state, JobState::Cancelled);
    assert_eq!(job.progress.unwrap()["phase"], "walk");
    fresh.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_job_goes_back_at_once() {
    let fresh = Fresh::new().await;
    let job = enqueue(&fresh.store, "/a").await.job;
    let held = ClaimedJob::try_claim(&fresh.store, Claim::Id(&job.id), "w", LEASE).await.unwrap().unwrap();
    drop(held);
    let back = async {
        while get(&fresh.store, &job.id).await.state != JobState::Queued {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), back).await.unwrap();
    fresh.remove().await;
}

async fn ask<R>(
    store: &Store,
    execute: impl Fn(jobs::RunningJob) -> R + Send + Sync,
) -> Result<jobs::Finished, Fault>
where
    R: Future<Output = Result<Value, Fault>> + Send,
{
    let cancel = CancellationToken::new();
    run_or_attach(store, &request("/a"), "w", LEASE, &cancel, |_| {}, execute).await
}

#[tokio::test(flavor = "multi_thread")]
async fn many_callers_share_one_run() {
    let fresh = Fresh::new().await;
    let runs = Arc::new(AtomicU32::new(0));
    let other = fresh.another().await;
    let callers: Vec<_> = (0..8)
        .map(|i| {
            let store = if i % 2 == 0 { fresh.store.clone() } else { other.clone() };
            let runs = Arc::clone(&runs);
            tokio::spawn(async move {
                ask(&store, |_| async {
                    tokio::time::sleep(Duration::from_millis(500)).await;
                    Ok(json!(runs.fetch_add(1, Ordering::SeqCst)))
                })
                .await
            })
        })
        .collect();
    let mut results = Vec::new();
    for caller in callers {
        results.push(caller.await.unwrap().unwrap());
    }
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    assert!(results.iter().all(|finished| finished.result == 0 && finished.job_id == results[0].job_id));
    assert_eq!(results.iter().filter(|finished| !finished.attached).count(), 1);
    fresh.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_caller_hears_the_fault_and_rescues_the_dead() {
    let fresh = Fresh::new().await;
    // A failure elsewhere keeps its code.
    let failing = ask(&fresh.store, |_| async {
        tokio::time::sleep(Duration::from_millis(400)).await;
        Err(Fault::new(ErrorCode::NotFound, "no files").with_hint("h"))
    });
    let waiting = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        ask(&fresh.store, |_| async { Ok(json!("ran twice")) }).await
    };
    let (failed, heard) = tokio::join!(failing, waiting);
    assert_eq!(failed.unwrap_err().code, ErrorCode::NotFound);
    let heard = heard.unwrap_err();
    assert_eq!(
        (heard.code, heard.message.as_str(), heard.hint.as_deref()),
        (ErrorCode::NotFound, "no files", Some("h"))
    );

    // A process that died while it held the job: nobody renews, the lease runs out, the caller goes on.
    let job = enqueue(&fresh.store, "/a").await.job;
    claim(&fresh.store, Claim::Id(&job.id), "dead").await.unwrap();
    let caller = ask(&fresh.store, |running| async move { Ok(json!(running.job.attempt)) });
    let death = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        expire(&fresh, &job.id).await;
    };
    let (finished, ()) = tokio::join!(caller, death);
    let finished = finished.unwrap();
    assert_eq!((finished.attached, finished.result), (true, json!(2)));
    fresh.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_stops_when_its_caller_cancels() {
    let fresh = Fresh::new().await;
    let cancel = CancellationToken::new();
    let seen = std::sync::Mutex::new(Vec::new());
    let job = request("/a");
    let run = run_or_attach(
        &fresh.store,
        &job,
        "w",
        LEASE,
        &cancel,
        |progress| seen.lock().unwrap().push(progress.files_done),
        |running| async move {
            running.progress.update(|progress| progress.files_done = 3);
            running.cancel.cancelled().await;
            Err(Fault::new(ErrorCode::Cancelled, "stopped"))
        },
    );
    let stop = async {
        tokio::time::sleep(Duration::from_millis(600)).await;
        cancel.cancel();
    };
    let (result, ()) = tokio::join!(run, stop);
    assert_eq!(result.unwrap_err().code, ErrorCode::Cancelled);
    assert_eq!(*seen.lock().unwrap(), [3]);
    let mut door = fresh.store.control_read().await.unwrap();
    let jobs = store::jobs::list(&mut door, &ProjectId::parse("p").unwrap(), None, 10).await.unwrap();
    assert_eq!(jobs.iter().map(|job| job.state).collect::<Vec<_>>(), [JobState::Cancelled]);
    drop(door);
    fresh.remove().await;
}
