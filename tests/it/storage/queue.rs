//! The job queue: one run at a time, one writer per project, and no work lost when a worker dies.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use contract::{ErrorCode, Fault, ProjectId};
use engine::jobs::{self, ClaimedJob, LeaseSettings, NewJob, OnCancel, Phase, RunControl};
use serde_json::{Value, json};
use store::{
    self, Claim, Fence, Heartbeat, Job, JobState, ModelFacts, NextJob, Outcome, PassLimits, Store,
    WRITER_LANE,
};
use tokio_util::sync::CancellationToken;

use crate::storage::database::{self, Fresh, file, number, repository, run, write, writing};

const LEASE: LeaseSettings = LeaseSettings {
    lease: Duration::from_secs(30),
    heartbeat: Duration::from_millis(50),
    progress_max: None,
    outage_max: Duration::from_secs(10),
};

fn index_job(subject: &str) -> NewJob {
    NewJob {
        project_id: ProjectId::parse("p").unwrap(),
        kind: "index",
        lane: WRITER_LANE.to_owned(),
        subject: subject.into(),
        request: json!({ "full": false }),
    }
}

async fn enqueue(store: &Store, subject: &str) -> store::Enqueued {
    enqueue_job(store, &index_job(subject)).await
}

async fn enqueue_job(store: &Store, new: &NewJob) -> store::Enqueued {
    let mut tx = store.control().await.unwrap();
    let answer = store::jobs::enqueue_or_attach(&mut tx, new).await.unwrap();
    tx.commit().await.unwrap();
    answer
}

async fn claim(store: &Store, claim: Claim<'_>, worker: &str) -> Option<Job> {
    let mut tx = store.control().await.unwrap();
    let job = store::jobs::try_claim(&mut tx, claim, worker, 30_000).await.unwrap();
    tx.commit().await.unwrap();
    job
}

async fn get_job(store: &Store, id: &str) -> Job {
    let mut tx = store.control_read().await.unwrap();
    store::jobs::get(&mut tx, id).await.unwrap().unwrap()
}

/// Lets the lease of a job expire, as after the death of its worker.
async fn expire_lease(fresh: &Fresh, id: &str) {
    let text = format!(
        "UPDATE pairofcleats.jobs SET lease_until = clock_timestamp() - interval '1 second' WHERE id = '{id}'"
    );
    run(&mut fresh.raw().await, &text).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_request_attaches_and_one_worker_claims_the_job() {
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
async fn a_project_runs_one_job_at_a_time() {
    let fresh = Fresh::new().await;
    for i in 0..8 {
        enqueue(&fresh.store, &format!("/{i}")).await;
    }
    let workers: Vec<_> = (0..16)
        .map(|i| {
            let store = fresh.store.clone();
            tokio::spawn(async move {
                claim(&store, Claim::Next(NextJob::oldest("index")), &format!("w{i}")).await
            })
        })
        .collect();
    let mut claimed = Vec::new();
    for worker in workers {
        claimed.extend(worker.await.unwrap());
    }
    assert_eq!(claimed.len(), 1, "two runs of one project would invalidate each other's fence");
    fresh.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_jobs_of_one_project_do_not_keep_those_of_others_waiting() {
    let fresh = Fresh::new().await;
    let of = |project: &str, lane: &str| NewJob {
        project_id: ProjectId::parse(project).unwrap(),
        lane: lane.to_owned(),
        ..index_job(&format!("{project} {lane}"))
    };
    let mut greedy = Vec::new();
    for lane in ["one", "two", "three", "four"] {
        greedy.push(enqueue_job(&fresh.store, &of("greedy", lane)).await.job.id);
    }
    let modest = enqueue_job(&fresh.store, &of("modest", "one")).await.job.id;
    let (served, except) = (["greedy".to_owned()], [greedy[1].clone()]);
    let next = async |served: &[String], share: i64, except: &[String]| {
        let next = NextJob { kind: "index", served, share, except };
        claim(&fresh.store, Claim::Next(next), "w").await.map(|job| job.id)
    };
    assert_eq!(next(&[], 2, &[]).await, Some(greedy[0].clone()), "the oldest, as long as none was served");
    assert_eq!(next(&served, 2, &except).await, Some(modest), "the one of the project that waited longest");
    assert_eq!(next(&served, 2, &except).await, Some(greedy[2].clone()), "what others take up is left alone");
    assert_eq!(next(&served, 2, &[]).await, None, "the share of the project is used up");
    assert_eq!(next(&served, 3, &[]).await, Some(greedy[1].clone()));
    fresh.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lanes_of_a_project_run_independently() {
    let fresh = Fresh::new().await;
    let in_lane = |lane: &str, subject: &str| NewJob { lane: lane.into(), ..index_job(subject) };
    let first = enqueue_job(&fresh.store, &in_lane(WRITER_LANE, "/one")).await.job;
    let second = enqueue_job(&fresh.store, &in_lane(WRITER_LANE, "/two")).await.job;
    let other_lane_job = enqueue_job(&fresh.store, &in_lane("launch:r", "r")).await.job;
    let next = || claim(&fresh.store, Claim::Next(NextJob::oldest("index")), "w");
    assert_eq!(next().await.unwrap().id, first.id);
    assert_eq!(
        next().await.unwrap().id,
        other_lane_job.id,
        "the second writer waits, the job in the other lane does not"
    );
    assert!(next().await.is_none() && claim(&fresh.store, Claim::Id(&second.id), "w").await.is_none());
    let mut tx = fresh.store.control_read().await.unwrap();
    let ahead = store::jobs::ahead(&mut tx, &second).await.unwrap().unwrap();
    assert_eq!((ahead.id.as_str(), ahead.lane.as_str()), (first.id.as_str(), WRITER_LANE));
    let late = enqueue_job(&fresh.store, &in_lane("launch:s", "s")).await.job;
    assert_eq!(store::jobs::ahead(&mut tx, &late).await.unwrap(), None, "no other job is in its lane");
    drop(tx);
    fresh.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_change_waits_for_a_claim_in_progress_and_requeues_the_job() {
    let fresh = Fresh::new().await;
    let project = database::provision(&fresh.store, "p").await;
    let job = enqueue(&fresh.store, "/a").await.job;
    let mut claiming = fresh.store.control().await.unwrap();
    assert!(store::jobs::try_claim(&mut claiming, Claim::Id(&job.id), "w", 30_000).await.unwrap().is_some());
    let store = fresh.store.clone();
    let change = tokio::spawn(async move {
        let model = ModelFacts { id: "another".into(), ..database::model() };
        store::change_model(&store, &project, &model).await
    });
    // Long enough for a change that does not wait to pass by the claim.
    tokio::time::sleep(Duration::from_millis(500)).await;
    claiming.commit().await.unwrap();
    assert!(change.await.unwrap().unwrap());
    assert_eq!(get_job(&fresh.store, &job.id).await.state, JobState::Queued, "its fence token is invalid");
    fresh.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_one_worker_passes_on_waits_for_another() {
    let hour = 3_600_000;
    let limits = PassLimits { retry_ms_min: hour, retry_ms_max: hour, give_up_ms: 24 * hour };
    let fresh = Fresh::new().await;
    let job = enqueue(&fresh.store, "/a").await.job;
    let pass_on = async |worker: &str, limits| {
        let fence = claim(&fresh.store, Claim::Id(&job.id), worker).await.unwrap().fence.unwrap();
        let mut tx = fresh.store.control().await.unwrap();
        let reason = ("cannot see it", &json!({ "code": "NOT_FOUND" }));
        assert!(store::jobs::pass_on(&mut tx, &job.id, fence, reason, limits).await.unwrap());
        assert!(
            !store::jobs::pass_on(&mut tx, &job.id, fence, reason, limits).await.unwrap(),
            "a job that was passed on is no longer held"
        );
        tx.commit().await.unwrap();
    };
    pass_on("blind", limits).await;
    let waiting = get_job(&fresh.store, &job.id).await;
    assert_eq!(
        (waiting.state, waiting.attempt),
        (JobState::Queued, 0),
        "passing on does not count as an attempt"
    );
    assert_eq!((waiting.note.as_deref(), &waiting.worker), (Some("cannot see it"), &None));
    for selector in [Claim::Id(&job.id), Claim::Next(NextJob::oldest("index"))] {
        assert!(
            claim(&fresh.store, selector, "blind").await.is_none(),
            "a worker that passed the job on does not claim it again"
        );
    }
    pass_on("another blind one", limits).await;
    assert!(
        claim(&fresh.store, Claim::Next(NextJob::oldest("index")), "blind").await.is_none(),
        "the first worker that passed it on is still excluded"
    );
    // After the retry delay the same worker may claim it again.
    let mut raw = fresh.raw().await;
    run(&mut raw, "UPDATE pairofcleats.jobs SET retry_at = clock_timestamp()").await;
    pass_on("blind", limits).await;

    // A worker that can run it claims it at once; its heartbeat lifts the exclusion of the others.
    let seeing = claim(&fresh.store, Claim::Next(NextJob::oldest("index")), "seeing").await.unwrap();
    let fence = seeing.fence.unwrap();
    let mut tx = fresh.store.control().await.unwrap();
    store::jobs::heartbeat(&mut tx, &job.id, fence, 30_000, &Value::Null).await.unwrap();
    store::jobs::release(&mut tx, &job.id, fence, None).await.unwrap();
    tx.commit().await.unwrap();
    // When no worker could run it for too long, it fails with the last reason.
    pass_on("blind", limits).await;
    run(
        &mut raw,
        "UPDATE pairofcleats.jobs SET passed_since = passed_since - interval '25 hours', retry_at = NULL",
    )
    .await;
    pass_on("blind", limits).await;
    let failed = get_job(&fresh.store, &job.id).await;
    assert_eq!((failed.state, &failed.error.unwrap()["code"]), (JobState::Failed, &json!("NOT_FOUND")));
    assert!(failed.finished_ms.is_some());
    fresh.remove().await;
}

/// Rows of the jobs table that statements have read so far. Postgres adds the reads of `store` when its sessions end,
/// so they are closed first.
async fn rows_read(fresh: &Fresh, store: &Store) -> i64 {
    fresh.leave(store).await;
    let read = "SELECT coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0)::int8 FROM pg_stat_user_tables \
                WHERE schemaname = 'pairofcleats' AND relname = 'jobs'";
    number(&mut fresh.raw().await, read).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_queue_does_not_read_finished_jobs() {
    let fresh = Fresh::new().await;
    // Postgres counts a session's reads only when it ends.
    fresh.leave(&fresh.store).await;
    run(
        &mut fresh.raw().await,
        "INSERT INTO pairofcleats.jobs (id, project_id, kind, subject, state, request, created_at, finished_at) \
         SELECT n::text, 'p', 'index', '/' || n % 2, 'succeeded', '{}', now() - n * interval '1 minute', \
         now() - n * interval '1 minute' FROM generate_series(1, 100000) n",
    )
    .await;
    for analysed in [false, true] {
        if analysed {
            run(&mut fresh.raw().await, "ANALYZE pairofcleats.jobs").await;
        }
        let before = rows_read(&fresh, &fresh.another().await).await;
        let store = fresh.another().await;
        for round in 0..3 {
            let job = enqueue(&store, "/0").await.job;
            let selector =
                if round == 0 { Claim::Id(&job.id) } else { Claim::Next(NextJob::oldest("index")) };
            let fence = claim(&store, selector, "w").await.unwrap().fence.unwrap();
            let waiting = enqueue(&store, "/1").await.job;
            assert!(claim(&store, Claim::Next(NextJob::oldest("index")), "w").await.is_none());
            let mut tx = store.control().await.unwrap();
            store::jobs::heartbeat(&mut tx, &job.id, fence, 30_000, &Value::Null).await.unwrap();
            assert!(store::jobs::ahead(&mut tx, &waiting).await.unwrap().is_some());
            store::jobs::requeue_expired(&mut tx).await.unwrap();
            let due = store::jobs::enqueue_if_due(&mut tx, &index_job("/0"), 1).await.unwrap();
            assert!(due.is_none(), "it is running");
            store::jobs::finish(&mut tx, &job.id, fence, &Outcome::Cancelled, &Value::Null).await.unwrap();
            let due = store::jobs::enqueue_if_due(&mut tx, &index_job("/0"), 3_600_000).await.unwrap();
            assert!(due.is_none(), "it ended less than an hour ago");
            store::jobs::request_cancel(&mut tx, &waiting.id).await.unwrap();
            tx.commit().await.unwrap();
        }
        let read = rows_read(&fresh, &store).await - before;
        assert!(read < 1000, "{read} rows read among 100,000 (analysed: {analysed})");
    }
    fresh.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_lost_its_lease_can_write_nothing() {
    let fresh = Fresh::new().await;
    let project = fresh.project("p").await;
    let (_, repo) = repository(&fresh.store, &project).await;
    let job = enqueue(&fresh.store, "/a").await.job;
    let old = claim(&fresh.store, Claim::Id(&job.id), "old").await.unwrap().fence.unwrap();
    // The queue's fences start at 1, like the fence that `repository` acquires.
    let acquire_fence_of = |fence: Fence| {
        let (store, project) = (fresh.store.clone(), project.clone());
        async move {
            let mut tx = writing(&store, &project).await;
            store::index_state::acquire_fence(&mut tx, fence).await?;
            tx.commit().await
        }
    };
    acquire_fence_of(old).await.unwrap();
    write(&fresh.store, &project, old, repo, &[file("a.rs", &["alpha"])]).await;

    assert!(claim(&fresh.store, Claim::Id(&job.id), "new").await.is_none(), "the lease has not expired");
    expire_lease(&fresh, &job.id).await;
    let reclaimed = claim(&fresh.store, Claim::Id(&job.id), "new").await.unwrap();
    let new = reclaimed.fence.unwrap();
    assert!(new > old);
    assert_eq!(reclaimed.attempt, 2);
    acquire_fence_of(new).await.unwrap();

    let mut tx = writing(&fresh.store, &project).await;
    let mut known = store::KnownNames::default();
    let stale = [file("a.rs", &["stale"])];
    let fault = store::write_batch(&mut tx, old, repo, &stale, &mut known).await.unwrap_err();
    assert_eq!(fault.code, ErrorCode::IllegalState);
    drop(tx);
    assert_eq!(acquire_fence_of(old).await.unwrap_err().code, ErrorCode::IllegalState);
    let mut tx = fresh.store.control().await.unwrap();
    let heartbeat = store::jobs::heartbeat(&mut tx, &job.id, old, 30_000, &Value::Null).await.unwrap();
    assert_eq!(heartbeat, Heartbeat::LeaseLost);
    let ended = store::jobs::finish(&mut tx, &job.id, old, &Outcome::Cancelled, &Value::Null).await.unwrap();
    assert!(!ended, "the old worker cannot finish the new worker's job");
    assert_eq!(
        store::jobs::heartbeat(&mut tx, &job.id, new, 30_000, &Value::Null).await.unwrap(),
        Heartbeat::Held
    );
    tx.commit().await.unwrap();
    write(&fresh.store, &project, new, repo, &[file("a.rs", &["fresh"])]).await;
    fresh.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_stop_on_request_and_fail_after_five_dead_workers() {
    let fresh = Fresh::new().await;
    let cancel = |id: String| {
        let store = fresh.store.clone();
        async move {
            let mut tx = store.control().await.unwrap();
            let job = store::jobs::request_cancel(&mut tx, &id).await.unwrap().unwrap();
            tx.commit().await.unwrap();
            job
        }
    };
    let waiting = enqueue(&fresh.store, "/waiting").await.job;
    assert_eq!(cancel(waiting.id.clone()).await.state, JobState::Cancelled);
    assert!(claim(&fresh.store, Claim::Id(&waiting.id), "w").await.is_none());

    let dying = enqueue(&fresh.store, "/dying").await.job;
    for attempt in 1..=5 {
        assert_eq!(claim(&fresh.store, Claim::Id(&dying.id), "w").await.unwrap().attempt, attempt);
        expire_lease(&fresh, &dying.id).await;
    }
    let mut tx = fresh.store.control().await.unwrap();
    assert_eq!(store::jobs::requeue_expired(&mut tx).await.unwrap(), 1);
    tx.commit().await.unwrap();
    let job = get_job(&fresh.store, &dying.id).await;
    assert_eq!(job.state, JobState::Failed);
    assert!(job.error.unwrap()["message"].as_str().unwrap().contains("5 times"));

    let running = enqueue(&fresh.store, "/running").await.job;
    let claimed_job =
        ClaimedJob::try_claim(&fresh.store, Claim::Id(&running.id), "w", LEASE).await.unwrap().unwrap();
    claimed_job.progress.update(|progress| progress.phase = Phase::Walk);
    assert_eq!(cancel(running.id.clone()).await.state, JobState::Running);
    tokio::time::timeout(Duration::from_secs(20), claimed_job.cancel.cancelled()).await.unwrap();
    assert!(!claimed_job.is_lost());
    claimed_job.finish(&Outcome::Cancelled).await.unwrap();
    let job = get_job(&fresh.store, &running.id).await;
    assert_eq!(job.state, JobState::Cancelled);
    assert_eq!(job.progress.unwrap()["phase"], "walk");
    fresh.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_job_returns_to_the_queue_at_once() {
    let fresh = Fresh::new().await;
    let job = enqueue(&fresh.store, "/a").await.job;
    let claimed_job =
        ClaimedJob::try_claim(&fresh.store, Claim::Id(&job.id), "w", LEASE).await.unwrap().unwrap();
    drop(claimed_job);
    let requeued = async {
        while get_job(&fresh.store, &job.id).await.state != JobState::Queued {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), requeued).await.unwrap();
    fresh.remove().await;
}

async fn run_index_job<R>(
    store: &Store,
    execute: impl Fn(jobs::RunningJob) -> R + Send + Sync,
) -> Result<jobs::FinishedJob, Fault>
where
    R: Future<Output = Result<Value, Fault>> + Send,
{
    run_or_attach(store, &CancellationToken::new(), |_| {}, execute).await
}

/// Queues the job `/a`, or attaches to it, and waits for its end.
async fn run_or_attach<R>(
    store: &Store,
    cancel: &CancellationToken,
    on_progress: impl Fn(&jobs::Progress) + Send + Sync,
    execute: impl Fn(jobs::RunningJob) -> R + Send + Sync,
) -> Result<jobs::FinishedJob, Fault>
where
    R: Future<Output = Result<Value, Fault>> + Send,
{
    let enqueued = jobs::enqueue(store, &index_job("/a")).await?;
    let control = RunControl { cancel, on_cancel: OnCancel::Cancel, shutdown: None, on_wait: None };
    jobs::run_to_completion(store, enqueued, "w", LEASE, control, on_progress, execute).await
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
                run_index_job(&store, |_| async {
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
async fn a_waiting_caller_gets_the_fault_and_takes_over_from_a_dead_process() {
    let fresh = Fresh::new().await;
    // The waiting caller gets the fault of the run, with its code and hint.
    let failing = run_index_job(&fresh.store, |_| async {
        tokio::time::sleep(Duration::from_millis(400)).await;
        Err(Fault::new(ErrorCode::NotFound, "no files").with_hint("h"))
    });
    let waiting = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        run_index_job(&fresh.store, |_| async { Ok(json!("ran twice")) }).await
    };
    let (failed, received) = tokio::join!(failing, waiting);
    assert_eq!(failed.unwrap_err().code, ErrorCode::NotFound);
    let received = received.unwrap_err();
    assert_eq!(
        (received.code, received.message.as_str(), received.hint.as_deref()),
        (ErrorCode::NotFound, "no files", Some("h"))
    );

    // The process that holds the job dies: its lease is not renewed and expires, and the waiting caller runs the job.
    let job = enqueue(&fresh.store, "/a").await.job;
    claim(&fresh.store, Claim::Id(&job.id), "dead").await.unwrap();
    let caller = run_index_job(&fresh.store, |running| async move { Ok(json!(running.job.attempt)) });
    let death = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        expire_lease(&fresh, &job.id).await;
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
    let run = run_or_attach(
        &fresh.store,
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
    let mut tx = fresh.store.control_read().await.unwrap();
    let jobs = store::jobs::list(&mut tx, &ProjectId::parse("p").unwrap(), None, 10).await.unwrap();
    assert_eq!(jobs.iter().map(|job| job.state).collect::<Vec<_>>(), [JobState::Cancelled]);
    drop(tx);
    fresh.remove().await;
}
