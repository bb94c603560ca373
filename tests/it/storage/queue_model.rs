//! The queue against a model of it: random schedules of workers that claim, die, come back late and finish; after each step
//! every job is what the model says, and no project has two workers.

use contract::ProjectId;
use engine::jobs::NewJob;
use serde_json::{Value, json};
use store::{self, Claim, Fence, Heartbeat, Job, JobState, Outcome, Store};

use crate::harness::Dice;
use crate::storage::database::{Fresh, run};

const PROJECTS: [&str; 3] = ["a", "b", "c"];
const SUBJECTS: [&str; 2] = ["/one", "/two"];
/// A job whose worker died this often is given up.
const ATTEMPTS_MAX: i32 = 5;
const STEPS: usize = 30;

/// What the model knows of a job.
#[derive(Debug, Clone)]
struct Known {
    id: String,
    project: usize,
    subject: usize,
    state: JobState,
    attempt: i32,
    /// Of each claim, the newest last.
    fences: Vec<Fence>,
    cancel: bool,
    /// Its lease ran out.
    expired: bool,
}

impl Known {
    fn is_live(&self) -> bool {
        matches!(self.state, JobState::Queued | JobState::Running)
    }

    fn holds(&self, fence: Fence) -> bool {
        self.state == JobState::Running && self.fences.last() == Some(&fence)
    }

    fn end(&mut self, state: JobState) {
        (self.state, self.expired) = (state, false);
    }
}

#[derive(Default)]
struct Model {
    jobs: Vec<Known>,
    /// What was done, for the message of a failure.
    steps: Vec<String>,
}

impl Model {
    /// Whether another job of its project is held by a worker that is alive.
    fn is_blocked(&self, at: usize) -> bool {
        let project = self.jobs[at].project;
        self.jobs.iter().enumerate().any(|(other, job)| {
            other != at && job.project == project && job.state == JobState::Running && !job.expired
        })
    }

    fn is_claimable(&self, at: usize) -> bool {
        let job = &self.jobs[at];
        let waits = job.state == JobState::Queued || (job.state == JobState::Running && job.expired);
        waits && !job.cancel && !self.is_blocked(at)
    }

    /// The one that a worker gets which asks for any.
    fn first_claimable(&self) -> Option<usize> {
        (0..self.jobs.len()).find(|&at| self.is_claimable(at))
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

    /// A job, and one of the fences that it was ever claimed with: mostly the newest.
    fn claim_of_some_job(&mut self) -> Option<(usize, Fence)> {
        let claimed: Vec<usize> =
            (0..self.model.jobs.len()).filter(|&at| !self.model.jobs[at].fences.is_empty()).collect();
        if claimed.is_empty() {
            return None;
        }
        let at = claimed[self.roll(claimed.len())];
        let fences = self.model.jobs[at].fences.clone();
        let which = if self.roll(4) == 0 { self.roll(fences.len()) } else { fences.len() - 1 };
        Some((at, fences[which]))
    }

    async fn step(&mut self) {
        match self.roll(10) {
            0..2 => self.enqueue().await,
            2..5 => self.claim().await,
            5 => self.heartbeat().await,
            6 => self.finish().await,
            7 => self.give_back().await,
            8 => self.expire().await,
            _ => self.cancel_or_tidy_up().await,
        }
        self.compare().await;
    }

    async fn enqueue(&mut self) {
        let (project, subject) = (self.roll(3), self.roll(2));
        let new = NewJob {
            project_id: ProjectId::parse(PROJECTS[project]).unwrap(),
            kind: "index",
            subject: SUBJECTS[subject].into(),
            request: json!({}),
        };
        let mut door = self.store.control().await.unwrap();
        let answer = store::jobs::enqueue_or_attach(&mut door, &new).await.unwrap();
        door.commit().await.unwrap();
        self.model.steps.push(format!("enqueue {project} {subject}"));
        let same = |job: &Known| job.project == project && job.subject == subject && job.is_live();
        let there = self.model.jobs.iter().find(|job| same(job)).map(|job| job.id.clone());
        assert_eq!(answer.attached.then(|| answer.job.id.clone()), there, "{:#?}", self.model.steps);
        if there.is_none() {
            let (state, attempt) = (JobState::Queued, 0);
            let id = answer.job.id;
            self.model.jobs.push(Known {
                id,
                project,
                subject,
                state,
                attempt,
                fences: Vec::new(),
                cancel: false,
                expired: false,
            });
        }
    }

    async fn claim(&mut self) {
        let any = self.roll(2) == 0 || self.model.jobs.is_empty();
        let at = if any { 0 } else { self.roll(self.model.jobs.len()) };
        let id = self.model.jobs.get(at).map(|job| job.id.clone()).unwrap_or_default();
        let wanted = if any { Claim::Kind("index") } else { Claim::Id(&id) };
        let mut door = self.store.control().await.unwrap();
        let claimed = store::jobs::try_claim(&mut door, wanted, "w", 3_600_000).await.unwrap();
        door.commit().await.unwrap();
        let expected = if any {
            self.model.first_claimable()
        } else {
            Some(at).filter(|&at| self.model.is_claimable(at))
        };
        self.model
            .steps
            .push(format!("claim {} -> {expected:?}", if any { "any".to_owned() } else { at.to_string() }));
        let got = claimed.as_ref().map(|job| job.id.clone());
        assert_eq!(got, expected.map(|at| self.model.jobs[at].id.clone()), "{:#?}", self.model.steps);
        if let (Some(job), Some(at)) = (claimed, expected) {
            let newest = self.model.jobs.iter().flat_map(|job| &job.fences).max().copied();
            let known = &mut self.model.jobs[at];
            let fence = job.fence.unwrap();
            assert!(
                newest.is_none_or(|newest| fence > newest),
                "a fence that is not the newest: {:#?}",
                self.model.steps
            );
            known.fences.push(fence);
            (known.state, known.expired, known.attempt) = (JobState::Running, false, known.attempt + 1);
        }
    }

    async fn heartbeat(&mut self) {
        let Some((at, fence)) = self.claim_of_some_job() else { return };
        let mut door = self.store.control().await.unwrap();
        let id = self.model.jobs[at].id.clone();
        let beat = store::jobs::heartbeat(&mut door, &id, fence, 3_600_000, &Value::Null).await.unwrap();
        door.commit().await.unwrap();
        self.model.steps.push(format!("heartbeat {at} -> {beat:?}"));
        // Late is no harm unless another worker took the project up.
        let (holds, blocked) = (self.model.jobs[at].holds(fence), self.model.is_blocked(at));
        let expected = match (holds && !blocked, self.model.jobs[at].cancel) {
            (false, _) => Heartbeat::LeaseLost,
            (true, true) => Heartbeat::CancelRequested,
            (true, false) => Heartbeat::Held,
        };
        assert_eq!(beat, expected, "{:#?}", self.model.steps);
        if beat != Heartbeat::LeaseLost {
            self.model.jobs[at].expired = false;
        }
    }

    async fn finish(&mut self) {
        let Some((at, fence)) = self.claim_of_some_job() else { return };
        let (outcome, state) = match self.roll(3) {
            0 => (Outcome::Succeeded(json!({})), JobState::Succeeded),
            1 => (Outcome::Failed(json!({})), JobState::Failed),
            _ => (Outcome::Cancelled, JobState::Cancelled),
        };
        let mut door = self.store.control().await.unwrap();
        let id = self.model.jobs[at].id.clone();
        let ended = store::jobs::finish(&mut door, &id, fence, &outcome, &Value::Null).await.unwrap();
        door.commit().await.unwrap();
        self.model.steps.push(format!("finish {at} {state:?} -> {ended}"));
        assert_eq!(ended, self.model.jobs[at].holds(fence), "{:#?}", self.model.steps);
        if ended {
            self.model.jobs[at].end(state);
        }
    }

    async fn give_back(&mut self) {
        let Some((at, fence)) = self.claim_of_some_job() else { return };
        let id = self.model.jobs[at].id.clone();
        let gives_up = self.roll(2) == 0;
        let mut door = self.store.control().await.unwrap();
        let given = match gives_up {
            true => store::jobs::give_up(&mut door, &id, fence, "no progress").await.unwrap(),
            false => store::jobs::release(&mut door, &id, fence, Some("waits")).await.unwrap(),
        };
        door.commit().await.unwrap();
        self.model.steps.push(format!("give back {at} (no progress: {gives_up}) -> {given}"));
        let job = &mut self.model.jobs[at];
        assert_eq!(given, job.holds(fence), "{:#?}", self.model.steps);
        if given {
            let state = match (job.cancel, gives_up && job.attempt >= ATTEMPTS_MAX) {
                (true, _) => JobState::Cancelled,
                (false, true) => JobState::Failed,
                (false, false) => JobState::Queued,
            };
            job.attempt -= i32::from(!gives_up);
            job.end(state);
        }
    }

    /// A worker died a while ago.
    async fn expire(&mut self) {
        let running: Vec<usize> =
            (0..self.model.jobs.len()).filter(|&at| self.model.jobs[at].state == JobState::Running).collect();
        if running.is_empty() {
            return;
        }
        let at = running[self.roll(running.len())];
        let mut door = self.store.control().await.unwrap();
        // A lease of no time is over at once.
        let (id, fence) = (self.model.jobs[at].id.clone(), *self.model.jobs[at].fences.last().unwrap());
        let held = store::jobs::heartbeat(&mut door, &id, fence, 0, &Value::Null).await.unwrap();
        door.commit().await.unwrap();
        self.model.steps.push(format!("expire {at}"));
        assert_eq!(held == Heartbeat::LeaseLost, self.model.is_blocked(at), "{:#?}", self.model.steps);
        self.model.jobs[at].expired = true;
    }

    async fn cancel_or_tidy_up(&mut self) {
        let mut door = self.store.control().await.unwrap();
        if self.roll(2) == 0 {
            store::jobs::requeue_expired(&mut door).await.unwrap();
            self.model.steps.push("tidy up".to_owned());
            for job in self.model.jobs.iter_mut().filter(|job| job.state == JobState::Running && job.expired)
            {
                let state = match (job.cancel, job.attempt >= ATTEMPTS_MAX) {
                    (true, _) => JobState::Cancelled,
                    (false, true) => JobState::Failed,
                    (false, false) => JobState::Queued,
                };
                job.end(state);
            }
        } else if !self.model.jobs.is_empty() {
            let at = self.roll(self.model.jobs.len());
            store::jobs::request_cancel(&mut door, &self.model.jobs[at].id).await.unwrap();
            self.model.steps.push(format!("cancel {at}"));
            let job = &mut self.model.jobs[at];
            job.cancel |= job.is_live();
            if job.state == JobState::Queued {
                job.end(JobState::Cancelled);
            }
        }
        door.commit().await.unwrap();
    }

    async fn compare(&self) {
        let mut door = self.store.control_read().await.unwrap();
        for (at, known) in self.model.jobs.iter().enumerate() {
            let job: Job = store::jobs::get(&mut door, &known.id).await.unwrap().unwrap();
            let is = (job.state, job.attempt, job.cancel_requested);
            assert_eq!(is, (known.state, known.attempt, known.cancel), "job {at}: {:#?}", self.model.steps);
        }
        for project in 0..PROJECTS.len() {
            let alive =
                |job: &&Known| job.project == project && job.state == JobState::Running && !job.expired;
            assert!(
                self.model.jobs.iter().filter(alive).count() <= 1,
                "two workers: {:#?}",
                self.model.steps
            );
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

/// The long form; docs/reliability.md has its command and its last figures.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: cargo test --test it -- --ignored thousands_of_schedules"]
async fn thousands_of_schedules_agree_with_the_model() {
    schedules(4000).await;
}
