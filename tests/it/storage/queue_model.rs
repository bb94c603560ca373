//! The queue compared with a model of it: workers claim, die, return late and finish jobs in random order. After each step,
//! every job must be in the state that the model predicts, and no lane of a project may have two workers.

use std::collections::BTreeSet;

use contract::ProjectId;
use engine::jobs::NewJob;
use serde_json::{Value, json};
use store::{self, Claim, Fence, Heartbeat, Job, JobState, NextJob, Outcome, PassLimits, Store, WRITER_LANE};

use crate::harness::Dice;
use crate::storage::database::{Fresh, run};

const PROJECTS: [&str; 3] = ["a", "b", "c"];
/// Subjects of jobs, each with the lane that its job kind assigns.
const SUBJECTS: [(&str, &str); 4] =
    [("/one", WRITER_LANE), ("/two", WRITER_LANE), ("r1", "launch:r1"), ("r2", "launch:r2")];
const WORKERS: [&str; 2] = ["w0", "w1"];
/// Longer than any test takes.
const HOUR_MS: u64 = 3_600_000;
/// A job whose workers died this often fails.
const ATTEMPTS_MAX: i32 = 5;
const STEPS: usize = 30;

/// A job as the model predicts it.
#[derive(Debug, Clone)]
struct ModelJob {
    id: String,
    project: usize,
    subject: usize,
    state: JobState,
    attempt: i32,
    /// Fences of its claims, newest last.
    fences: Vec<Fence>,
    cancel_requested: bool,
    /// `true` if its lease has expired.
    expired: bool,
    /// Index of the worker that holds it or held it last.
    worker: usize,
    /// Indexes of the workers that passed it on.
    passed_by: BTreeSet<usize>,
}

impl ModelJob {
    fn is_live(&self) -> bool {
        matches!(self.state, JobState::Queued | JobState::Running)
    }

    fn holds(&self, fence: Fence) -> bool {
        self.state == JobState::Running && self.fences.last() == Some(&fence)
    }

    fn lane(&self) -> &'static str {
        SUBJECTS[self.subject].1
    }

    fn end(&mut self, state: JobState) {
        (self.state, self.expired) = (state, false);
    }
}

#[derive(Default)]
struct Model {
    jobs: Vec<ModelJob>,
    /// The steps so far, for failure messages.
    steps: Vec<String>,
}

impl Model {
    /// Checks whether another job of its project and lane is held by a worker that is alive.
    fn is_blocked(&self, index: usize) -> bool {
        let job = &self.jobs[index];
        self.jobs.iter().enumerate().any(|(other_index, other)| {
            let same_lane = other.project == job.project && other.lane() == job.lane();
            other_index != index && same_lane && other.state == JobState::Running && !other.expired
        })
    }

    fn is_claimable(&self, index: usize, worker: usize) -> bool {
        let job = &self.jobs[index];
        let waits = job.state == JobState::Queued || (job.state == JobState::Running && job.expired);
        waits && !job.cancel_requested && !self.is_blocked(index) && !job.passed_by.contains(&worker)
    }

    /// The job that a worker gets when it asks for any.
    fn first_claimable(&self, worker: usize) -> Option<usize> {
        (0..self.jobs.len()).find(|&index| self.is_claimable(index, worker))
    }
}

struct Schedule<'s> {
    store: &'s Store,
    model: Model,
    dice: Dice,
}

impl Schedule<'_> {
    fn roll(&mut self, end: usize) -> usize {
        usize::try_from(self.dice.roll(end as u64)).unwrap()
    }

    /// A job and one of the fences that it was claimed with, mostly the newest.
    fn random_claim(&mut self) -> Option<(usize, Fence)> {
        let claimed: Vec<usize> =
            (0..self.model.jobs.len()).filter(|&index| !self.model.jobs[index].fences.is_empty()).collect();
        if claimed.is_empty() {
            return None;
        }
        let index = claimed[self.roll(claimed.len())];
        let fences = self.model.jobs[index].fences.clone();
        let position = if self.roll(4) == 0 { self.roll(fences.len()) } else { fences.len() - 1 };
        Some((index, fences[position]))
    }

    async fn step(&mut self) {
        match self.roll(10) {
            0..2 => self.enqueue().await,
            2..5 => self.claim().await,
            5 => self.heartbeat().await,
            6 => self.finish().await,
            7 => self.return_job().await,
            8 => self.expire().await,
            _ => self.cancel_or_requeue_expired().await,
        }
        self.compare_with_model().await;
    }

    async fn enqueue(&mut self) {
        let (project, subject) = (self.roll(3), self.roll(SUBJECTS.len()));
        let new = NewJob {
            project_id: ProjectId::parse(PROJECTS[project]).unwrap(),
            kind: "index",
            lane: SUBJECTS[subject].1.into(),
            subject: SUBJECTS[subject].0.into(),
            request: json!({}),
        };
        let mut tx = self.store.control().await.unwrap();
        let enqueued = store::jobs::enqueue_or_attach(&mut tx, &new).await.unwrap();
        tx.commit().await.unwrap();
        self.model.steps.push(format!("enqueue {project} {subject}"));
        let same = |job: &ModelJob| job.project == project && job.subject == subject && job.is_live();
        let existing = self.model.jobs.iter().find(|job| same(job)).map(|job| job.id.clone());
        assert_eq!(enqueued.attached.then(|| enqueued.job.id.clone()), existing, "{:#?}", self.model.steps);
        if existing.is_none() {
            let (state, attempt) = (JobState::Queued, 0);
            let id = enqueued.job.id;
            self.model.jobs.push(ModelJob {
                id,
                project,
                subject,
                state,
                attempt,
                fences: Vec::new(),
                cancel_requested: false,
                expired: false,
                worker: 0,
                passed_by: BTreeSet::new(),
            });
        }
    }

    async fn claim(&mut self) {
        let any = self.roll(2) == 0 || self.model.jobs.is_empty();
        let index = if any { 0 } else { self.roll(self.model.jobs.len()) };
        let id = self.model.jobs.get(index).map(|job| job.id.clone()).unwrap_or_default();
        let selector = if any { Claim::Next(NextJob::oldest("index")) } else { Claim::Id(&id) };
        let mut tx = self.store.control().await.unwrap();
        let worker = self.roll(WORKERS.len());
        let claimed = store::jobs::try_claim(&mut tx, selector, WORKERS[worker], HOUR_MS).await.unwrap();
        tx.commit().await.unwrap();
        let expected = if any {
            self.model.first_claimable(worker)
        } else {
            Some(index).filter(|&index| self.model.is_claimable(index, worker))
        };
        self.model.steps.push(format!(
            "claim {} -> {expected:?}",
            if any { "any".to_owned() } else { index.to_string() }
        ));
        let claimed_id = claimed.as_ref().map(|job| job.id.clone());
        assert_eq!(
            claimed_id,
            expected.map(|index| self.model.jobs[index].id.clone()),
            "{:#?}",
            self.model.steps
        );
        if let (Some(job), Some(index)) = (claimed, expected) {
            let newest = self.model.jobs.iter().flat_map(|job| &job.fences).max().copied();
            let model_job = &mut self.model.jobs[index];
            let fence = job.fence.unwrap();
            assert!(
                newest.is_none_or(|newest| fence > newest),
                "the new fence is not the newest: {:#?}",
                self.model.steps
            );
            model_job.fences.push(fence);
            (model_job.state, model_job.expired, model_job.attempt) =
                (JobState::Running, false, model_job.attempt + 1);
            model_job.worker = worker;
        }
    }

    async fn heartbeat(&mut self) {
        let Some((index, fence)) = self.random_claim() else { return };
        let mut tx = self.store.control().await.unwrap();
        let id = self.model.jobs[index].id.clone();
        let heartbeat = store::jobs::heartbeat(&mut tx, &id, fence, HOUR_MS, &Value::Null).await.unwrap();
        tx.commit().await.unwrap();
        self.model.steps.push(format!("heartbeat {index} -> {heartbeat:?}"));
        // A late heartbeat does no harm unless another worker has taken the lane.
        let (holds, blocked) = (self.model.jobs[index].holds(fence), self.model.is_blocked(index));
        let expected = match (holds && !blocked, self.model.jobs[index].cancel_requested) {
            (false, _) => Heartbeat::LeaseLost,
            (true, true) => Heartbeat::CancelRequested,
            (true, false) => Heartbeat::Held,
        };
        assert_eq!(heartbeat, expected, "{:#?}", self.model.steps);
        if heartbeat != Heartbeat::LeaseLost {
            self.model.jobs[index].expired = false;
            self.model.jobs[index].passed_by.clear();
        }
    }

    async fn finish(&mut self) {
        let Some((index, fence)) = self.random_claim() else { return };
        let (outcome, state) = match self.roll(3) {
            0 => (Outcome::Succeeded(json!({})), JobState::Succeeded),
            1 => (Outcome::Failed(json!({})), JobState::Failed),
            _ => (Outcome::Cancelled, JobState::Cancelled),
        };
        let mut tx = self.store.control().await.unwrap();
        let id = self.model.jobs[index].id.clone();
        let ended = store::jobs::finish(&mut tx, &id, fence, &outcome, &Value::Null).await.unwrap();
        tx.commit().await.unwrap();
        self.model.steps.push(format!("finish {index} {state:?} -> {ended}"));
        assert_eq!(ended, self.model.jobs[index].holds(fence), "{:#?}", self.model.steps);
        if ended {
            self.model.jobs[index].end(state);
        }
    }

    /// Gives the job up for lack of progress, releases it, or passes it on.
    async fn return_job(&mut self) {
        let Some((index, fence)) = self.random_claim() else { return };
        let id = self.model.jobs[index].id.clone();
        let (no_progress, passed_on) = [(true, false), (false, false), (false, true)][self.roll(3)];
        let limits = PassLimits { retry_ms_min: HOUR_MS, retry_ms_max: HOUR_MS, give_up_ms: HOUR_MS };
        let mut tx = self.store.control().await.unwrap();
        let accepted = match (no_progress, passed_on) {
            (true, _) => store::jobs::give_back_stalled(&mut tx, &id, fence, "no progress").await.unwrap(),
            (_, true) => {
                store::jobs::pass_on(&mut tx, &id, fence, ("unseen", &Value::Null), limits).await.unwrap()
            }
            _ => store::jobs::release(&mut tx, &id, fence, Some("waits")).await.unwrap(),
        };
        tx.commit().await.unwrap();
        self.model.steps.push(format!(
            "return {index} (no progress: {no_progress}, passed on: {passed_on}) -> {accepted}"
        ));
        let job = &mut self.model.jobs[index];
        assert_eq!(accepted, job.holds(fence), "{:#?}", self.model.steps);
        if accepted {
            let state = match (job.cancel_requested, no_progress && job.attempt >= ATTEMPTS_MAX) {
                (true, _) => JobState::Cancelled,
                (false, true) => JobState::Failed,
                (false, false) => JobState::Queued,
            };
            job.attempt -= i32::from(!no_progress);
            job.passed_by.extend(passed_on.then_some(job.worker));
            job.end(state);
        }
    }

    /// Lets the lease of a running job expire, as after the death of its worker.
    async fn expire(&mut self) {
        let running: Vec<usize> = (0..self.model.jobs.len())
            .filter(|&index| self.model.jobs[index].state == JobState::Running)
            .collect();
        if running.is_empty() {
            return;
        }
        let index = running[self.roll(running.len())];
        let mut tx = self.store.control().await.unwrap();
        // A lease of 0 ms expires at once.
        let (id, fence) = (self.model.jobs[index].id.clone(), *self.model.jobs[index].fences.last().unwrap());
        let heartbeat = store::jobs::heartbeat(&mut tx, &id, fence, 0, &Value::Null).await.unwrap();
        if heartbeat != Heartbeat::LeaseLost {
            self.model.jobs[index].passed_by.clear();
        }
        tx.commit().await.unwrap();
        self.model.steps.push(format!("expire {index}"));
        assert_eq!(
            heartbeat == Heartbeat::LeaseLost,
            self.model.is_blocked(index),
            "{:#?}",
            self.model.steps
        );
        self.model.jobs[index].expired = true;
    }

    async fn cancel_or_requeue_expired(&mut self) {
        let mut tx = self.store.control().await.unwrap();
        if self.roll(2) == 0 {
            store::jobs::requeue_expired(&mut tx).await.unwrap();
            self.model.steps.push("requeue expired".to_owned());
            for job in self.model.jobs.iter_mut().filter(|job| job.state == JobState::Running && job.expired)
            {
                let state = match (job.cancel_requested, job.attempt >= ATTEMPTS_MAX) {
                    (true, _) => JobState::Cancelled,
                    (false, true) => JobState::Failed,
                    (false, false) => JobState::Queued,
                };
                job.end(state);
            }
        } else if !self.model.jobs.is_empty() {
            let index = self.roll(self.model.jobs.len());
            store::jobs::request_cancel(&mut tx, &self.model.jobs[index].id).await.unwrap();
            self.model.steps.push(format!("cancel {index}"));
            let job = &mut self.model.jobs[index];
            job.cancel_requested |= job.is_live();
            if job.state == JobState::Queued {
                job.end(JobState::Cancelled);
            }
        }
        tx.commit().await.unwrap();
    }

    async fn compare_with_model(&self) {
        let mut tx = self.store.control_read().await.unwrap();
        for (index, model_job) in self.model.jobs.iter().enumerate() {
            let job: Job = store::jobs::get(&mut tx, &model_job.id).await.unwrap().unwrap();
            let actual = (job.state, job.attempt, job.cancel_requested);
            assert_eq!(
                actual,
                (model_job.state, model_job.attempt, model_job.cancel_requested),
                "job {index}: {:#?}",
                self.model.steps
            );
        }
        for project in 0..PROJECTS.len() {
            let alive =
                |job: &&ModelJob| job.project == project && job.state == JobState::Running && !job.expired;
            let mut lanes: Vec<&str> = self.model.jobs.iter().filter(alive).map(ModelJob::lane).collect();
            lanes.sort_unstable();
            let count = lanes.len();
            lanes.dedup();
            assert_eq!(lanes.len(), count, "two workers in one lane: {:#?}", self.model.steps);
        }
    }
}

async fn schedules(count: u64) {
    let fresh = Fresh::new().await;
    for seed in 0..count {
        let mut schedule = Schedule { store: &fresh.store, model: Model::default(), dice: Dice(seed) };
        for _ in 0..STEPS {
            schedule.step().await;
        }
        run(&mut fresh.raw().await, "DELETE FROM pairofcleats.jobs").await;
    }
    fresh.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn random_schedules_agree_with_the_model() {
    schedules(40).await;
}

/// The long form of the test; docs/reliability.md shows its command and latest figures.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: cargo test --test it -- --ignored thousands_of_schedules"]
async fn thousands_of_schedules_agree_with_the_model() {
    schedules(4000).await;
}
