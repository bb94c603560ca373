//! Turns of automatic runs: how many execute at the same time, and the share of a project and of a host, so that none of them can keep
//! the runs of others waiting, however slow it is.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::repository_key::RepositoryKey;
use contract::{ProjectId, RepositoryAddress};

/// Maximum number of automatic runs of directories at the same time.
const LOCAL_MAX: usize = 2;
/// Maximum number of automatic runs that fetch from hosts at the same time. They wait for the network most of the time.
const REMOTE_MAX: usize = 6;
/// Maximum number of them that fetch from one host.
const HOST_MAX: usize = 2;
/// Maximum number of runs of one project. They write one index, so they follow one another anyway.
const PROJECT_MAX: usize = 1;

/// The turns of a process. Runs that fetch from a host have turns of their own.
pub(super) struct Turns {
    local: Arc<Places>,
    remote: Arc<Places>,
}

impl Default for Turns {
    fn default() -> Self {
        Self { local: Places::new(LOCAL_MAX), remote: Places::new(REMOTE_MAX) }
    }
}

impl Turns {
    /// Returns a run of the job with this id, which takes a turn whenever it executes.
    pub(super) fn run(&self, key: &RepositoryKey, job_id: &str) -> TurnedRun {
        let address = key.root.to_str().and_then(RepositoryAddress::parse);
        let places = if address.is_some() { &self.remote } else { &self.local };
        let host = address.and_then(Result::ok).map(|address| address.host().to_owned());
        let run = Run { project: key.project.clone(), host, job_id: job_id.into() };
        TurnedRun(Arc::new(RunState { places: Arc::clone(places), run, turn: Mutex::default() }))
    }

    /// The jobs that wait for a turn in this process, which takes them up when they have one.
    pub(super) fn waiting_jobs(&self) -> Vec<String> {
        let jobs = |places: &Places| -> Vec<String> {
            places.state().waiting.iter().map(|waiting| waiting.run.job_id.to_string()).collect()
        };
        [&self.local, &self.remote].into_iter().flat_map(|places| jobs(places)).collect()
    }
}

/// A run, with or without a turn. Cheap to clone; all clones represent one run.
#[derive(Clone)]
pub(in crate::app) struct TurnedRun(Arc<RunState>);

struct RunState {
    places: Arc<Places>,
    run: Run,
    turn: Mutex<Option<Turn>>,
}

impl TurnedRun {
    /// Waits for a turn, unless the run has one.
    pub(in crate::app) async fn resume(&self) {
        if self.turn().is_none() {
            let turn = self.0.places.acquire(&self.0.run).await;
            *self.turn() = turn;
        }
    }

    /// Gives the turn to others while the run only waits for another one of its project.
    pub(in crate::app) fn park(&self) {
        drop(self.turn().take());
    }

    fn turn(&self) -> MutexGuard<'_, Option<Turn>> {
        self.0.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whose run it is.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Run {
    project: ProjectId,
    host: Option<String>,
    job_id: Arc<str>,
}

/// A number of places, which runs share.
struct Places {
    max: usize,
    state: Mutex<PlacesState>,
}

#[derive(Default)]
struct PlacesState {
    running: Vec<Run>,
    waiting: VecDeque<WaitingRun>,
    /// The logical time at which a run of a project last started; only of projects that wait or run.
    last_start: HashMap<ProjectId, u64>,
    now: u64,
    last_ticket: u64,
}

struct WaitingRun {
    ticket: u64,
    run: Run,
    start: oneshot::Sender<Turn>,
}

/// Permission to execute; dropping it lets the next run start.
struct Turn {
    places: Arc<Places>,
    run: Run,
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.places.state().finish(&self.run);
        self.places.start_waiting();
    }
}

/// Leaves the queue when it is dropped.
struct Ticket<'a>(&'a Places, u64);

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        // What it sends is dropped outside of the lock.
        let left = {
            let mut state = self.0.state();
            let at = state.waiting.iter().position(|waiting| waiting.ticket == self.1);
            let left = at.and_then(|at| state.waiting.remove(at));
            if let Some(left) = &left {
                state.forget_absent(&left.run.project);
            }
            left
        };
        drop(left);
    }
}

impl Places {
    fn new(max: usize) -> Arc<Self> {
        Arc::new(Self { max, state: Mutex::default() })
    }

    /// Waits for a turn; `None` only if this value is broken.
    async fn acquire(self: &Arc<Self>, run: &Run) -> Option<Turn> {
        let (start, started) = oneshot::channel();
        let ticket = self.state().wait(run, start);
        let _ticket = Ticket(self, ticket);
        self.start_waiting();
        started.await.ok()
    }

    /// Starts the waiting runs that fit.
    fn start_waiting(self: &Arc<Self>) {
        loop {
            let Some(WaitingRun { run, start, .. }) = self.state().start_next(self.max) else { return };
            // Dropped at once, and passed on, if the run waits no longer.
            drop(start.send(Turn { places: Arc::clone(self), run }));
        }
    }

    fn state(&self) -> MutexGuard<'_, PlacesState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PlacesState {
    fn wait(&mut self, run: &Run, start: oneshot::Sender<Turn>) -> u64 {
        self.last_ticket += 1;
        // A newcomer goes before the project that started last, and after all others.
        let newcomer = self.now.saturating_sub(1);
        self.last_start.entry(run.project.clone()).or_insert(newcomer);
        self.waiting.push_back(WaitingRun { ticket: self.last_ticket, run: run.clone(), start });
        self.last_ticket
    }

    /// The run that starts next: of those that fit, the one whose project has waited longest for a start.
    fn start_next(&mut self, max: usize) -> Option<WaitingRun> {
        if self.running.len() >= max {
            return None;
        }
        let fits = |run: &Run| {
            let count = |same: &dyn Fn(&Run) -> bool| self.running.iter().filter(|one| same(one)).count();
            count(&|one| one.project == run.project) < PROJECT_MAX
                && (run.host.is_none() || count(&|one| one.host == run.host) < HOST_MAX)
        };
        let fitting = self.waiting.iter().enumerate().filter(|(_, waiting)| fits(&waiting.run));
        let (at, _) = fitting.min_by_key(|(_, waiting)| {
            (self.last_start.get(&waiting.run.project).copied(), waiting.ticket)
        })?;
        let next = self.waiting.remove(at)?;
        self.now += 2;
        self.last_start.insert(next.run.project.clone(), self.now);
        self.running.push(next.run.clone());
        Some(next)
    }

    fn finish(&mut self, run: &Run) {
        if let Some(at) = self.running.iter().position(|one| one == run) {
            self.running.swap_remove(at);
        }
        self.forget_absent(&run.project);
    }

    /// Forgets when a project started last, unless one of its runs waits or executes.
    fn forget_absent(&mut self, project: &ProjectId) {
        let is_present = self.running.iter().any(|one| one.project == *project)
            || self.waiting.iter().any(|one| one.run.project == *project);
        if !is_present {
            self.last_start.remove(project);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(turns: &Turns, project: &str, root: &str) -> TurnedRun {
        let key = RepositoryKey { project: ProjectId::parse(project).unwrap(), root: root.into() };
        turns.run(&key, &format!("{project} {root}"))
    }

    fn is_started(run: &TurnedRun) -> bool {
        use futures::FutureExt;
        run.resume().now_or_never().is_some()
    }

    #[tokio::test]
    async fn neither_a_project_nor_a_host_can_hold_all_turns() {
        let turns = Turns::default();
        let slow: Vec<TurnedRun> =
            (0..9).map(|n| run(&turns, "one", &format!("https://slow.example/{n}"))).collect();
        assert_eq!(slow.iter().filter(|run| is_started(run)).count(), 1, "one of a project");
        let others: Vec<TurnedRun> =
            (0..9).map(|n| run(&turns, &format!("p{n}"), "https://slow.example/x")).collect();
        assert_eq!(others.iter().filter(|run| is_started(run)).count(), 1, "two of a host");
        let victim = run(&turns, "other", "https://fast.example/x");
        assert!(is_started(&victim), "another tenant's push does not wait");
        assert!(is_started(&run(&turns, "one", "/a")), "nor does a directory");
        drop((slow, others, victim));
        assert!(turns.remote.state().running.is_empty() && turns.remote.state().waiting.is_empty());
    }

    #[tokio::test]
    async fn projects_take_turns_and_who_leaves_does_not_keep_one() {
        let turns = Arc::new(Turns { local: Places::new(1), remote: Places::new(1) });
        let first = run(&turns, "a", "/0");
        assert!(is_started(&first));
        let (sender, mut started) = tokio::sync::mpsc::unbounded_channel();
        for (project, root) in [("a", "/1"), ("a", "/2"), ("b", "/1"), ("b", "/2"), ("c", "/1")] {
            let (waits, sender) = (run(&turns, project, root), sender.clone());
            tokio::spawn(async move {
                waits.resume().await;
                sender.send(project).unwrap();
                waits.park();
            });
            tokio::task::yield_now().await;
        }
        let leaves = run(&turns, "d", "/1");
        assert!(!is_started(&leaves), "it waited for a moment only");
        assert_eq!(turns.waiting_jobs().len(), 5);
        first.park();
        let mut order = Vec::new();
        for _ in 0..5 {
            order.push(started.recv().await.unwrap());
        }
        assert_eq!(order, ["b", "c", "a", "b", "a"]);
        assert!(turns.local.state().last_start.is_empty(), "projects without runs are forgotten");
    }
}
