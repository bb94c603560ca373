//! The log of a run and its derived state: read as one snapshot, and written in one guarded transaction.

use contract::clock::Clock;
use contract::{ErrorCode, Fault};
use launch::config::RunConfig;
use launch::event::{ArtifactRef, ArtifactWritten, Event, EventBody, LogHead, verify_chain};
use launch::ids::Trace;
use launch::snapshot::RunSnapshot;
use launch::state::{RunState, Step, step};
use launch::worker::NewArtifact;
use platform::{failpoints, sha256};
use store::launch::{ArtifactWrite, RunRow, RunWrite, artifacts, events, issues, items, runs};
use store::postgres::LAUNCH;
use store::{Access, Fence, Project, ProjectTx, Store};

use super::rows::{self, StoredRows};

/// Events that are read at a time.
const PAGE: i64 = 1000;
/// Maximum number of events of a run: far more than the longest run has, and few enough to be read at once.
pub(super) const EVENTS_MAX: i32 = 50_000;
/// Events beyond that which calls may add.
const CALLS_RESERVE: i32 = 1000;
/// The artifact with the configuration of the run, which is written with its first event and never again.
pub(super) const RUN_CONFIG: &str = "run_config.json";

/// The author of journal entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Writer {
    /// The job that advances the run, with the token of its claim.
    Job(Fence),
    /// A call, which only adds that it happened, or cancels the run.
    Call,
}

/// Storage that a journal reads and writes, and the identity it writes with.
#[derive(Clone)]
pub(super) struct JournalContext<'a> {
    pub(super) store: &'a Store,
    pub(super) project: &'a Project,
    pub(super) clock: &'a dyn Clock,
    pub(super) writer: Writer,
    pub(super) trace: Trace,
}

/// A run as it was read, with the means to add events to it.
pub(super) struct Journal<'a> {
    context: JournalContext<'a>,
    row: RunRow,
    snapshot: RunSnapshot,
    config: RunConfig,
}

/// Additions of one transaction, in this order.
#[derive(Debug, Default)]
pub(super) struct Batch {
    entries: Vec<Entry>,
}

#[derive(Debug)]
enum Entry {
    Event(EventBody),
    Artifact { artifact: NewArtifact, writer: String },
}

impl Batch {
    /// Adds an event.
    pub(super) fn event(&mut self, body: EventBody) -> &mut Self {
        self.entries.push(Entry::Event(body));
        self
    }

    /// Adds an artifact, and the event that it was written. One that has the bytes of the latest version is not written again.
    pub(super) fn artifact(&mut self, artifact: NewArtifact, writer: &str) -> &mut Self {
        self.entries.push(Entry::Artifact { artifact, writer: writer.to_owned() });
        self
    }

    /// Adds a change of the state.
    ///
    /// # Errors
    /// `INTERNAL` if no such step exists, which is a defect.
    pub(super) fn step(&mut self, from: RunState, taken: Step) -> Result<&mut Self, Fault> {
        let to = step(from, taken)
            .map_err(|illegal| Fault::internal("A launch run took a wrong step.", illegal))?;
        Ok(self.event(EventBody::state_changed(from, to, taken)))
    }
}

/// A batch, completed to follow the events that are already there.
struct Sealed {
    snapshot: RunSnapshot,
    head: LogHead,
    events: Vec<Event>,
    artifacts: Vec<ArtifactWrite>,
}

/// A reference to an artifact.
pub(super) fn reference(artifact: &NewArtifact) -> ArtifactRef {
    ArtifactRef { name: artifact.name.clone(), sha256: sha256::digest_hex(&artifact.bytes) }
}

/// Begins to read the runs of a project; `None` if it has none.
pub(super) async fn begin(store: &Store, project: &Project) -> Result<Option<ProjectTx>, Fault> {
    if !store::has_module(store, project, &LAUNCH).await? {
        return Ok(None);
    }
    ProjectTx::begin(store, project, Access::Search).await.map(Some)
}

/// Reads the rows of a run.
pub(super) async fn load_rows(tx: &mut ProjectTx, run: RunRow) -> Result<StoredRows, Fault> {
    let run_id = run.run_id.clone();
    Ok(StoredRows {
        run,
        items: items::list(tx, &run_id).await?,
        artifacts: artifacts::latest(tx, &run_id).await?,
        issues: issues::list(tx, &run_id).await?,
    })
}

/// Writes a new run with its first events. `Ok(None)` if there is a run with its id or key already.
pub(super) async fn create<'a>(
    context: JournalContext<'a>,
    row: RunRow,
    config: RunConfig,
    created: EventBody,
    rest: Batch,
) -> Result<Option<Journal<'a>>, Fault> {
    let now_ms = context.clock.now().as_millisecond();
    let first = Event::seal(&row.run_id, LogHead::EMPTY, now_ms, &created, &context.trace);
    let snapshot = RunSnapshot::begin(&first).map_err(|error| rows::malformed("event", error))?;
    let mut journal = Journal { context, row, snapshot, config };
    let mut sealed = journal.seal(first.head(), &journal.snapshot, rest, now_ms)?;
    sealed.events.insert(0, first);
    let row = rows::run_row(&journal.row, &sealed.snapshot, sealed.head.hash);
    let mut tx = journal.begin().await?;
    let is_new = journal.write(&mut tx, &row, None, &sealed).await?;
    tx.commit().await?;
    failpoints::reach("launch.created");
    (journal.row, journal.snapshot) = (row, sealed.snapshot);
    Ok(is_new.then_some(journal))
}

impl<'a> Journal<'a> {
    /// Reads a run from its rows; `None` if the project does not have it.
    ///
    /// # Errors
    /// `INTERNAL` if this program does not write such rows; storage faults.
    pub(super) async fn open(context: JournalContext<'a>, run_id: &str) -> Result<Option<Self>, Fault> {
        let Some(mut tx) = begin(context.store, context.project).await? else { return Ok(None) };
        let Some(row) = runs::get(&mut tx, run_id).await? else {
            tx.commit().await?;
            return Ok(None);
        };
        let stored = load_rows(&mut tx, row).await?;
        tx.commit().await?;
        let snapshot = rows::snapshot(&stored)?;
        let config =
            RunConfig::parse(&stored.run.config).map_err(|error| rows::malformed("config", error))?;
        Ok(Some(Self { context, row: stored.run, snapshot, config }))
    }

    /// Checks that the log is complete and unchanged, and that the rows agree with it.
    ///
    /// # Errors
    /// The problem, as the reason for which the run fails; storage faults.
    pub(super) async fn verify(&self) -> Result<Result<(), String>, Fault> {
        let mut tx = ProjectTx::begin(self.context.store, self.context.project, Access::Snapshot).await?;
        let (mut head, mut folded) = (LogHead::EMPTY, None::<RunSnapshot>);
        loop {
            let page = events::page(&mut tx, &self.row.run_id, head.seq, PAGE).await?;
            let page: Vec<Event> = page.into_iter().map(rows::event).collect();
            // Events written since this run was read are not compared.
            let known: Vec<Event> = page.into_iter().take_while(|event| event.seq <= self.row.seq).collect();
            if known.is_empty() {
                break;
            }
            head = match verify_chain(head, &known) {
                Ok(head) => head,
                Err(broken) => {
                    tx.commit().await?;
                    return Ok(Err(broken.to_string()));
                }
            };
            let applied = match &mut folded {
                None => RunSnapshot::fold(&known).map(|snapshot| folded = Some(snapshot)),
                Some(snapshot) => known.iter().try_for_each(|event| snapshot.apply(event)),
            };
            if let Err(error) = applied {
                tx.commit().await?;
                return Ok(Err(error.to_string()));
            }
        }
        tx.commit().await?;
        if head != (LogHead { seq: self.row.seq, hash: self.row.head_hash }) {
            return Ok(Err("the last events are missing or were replaced".to_owned()));
        }
        if folded.as_ref() != Some(&self.snapshot) {
            return Ok(Err("the rows of the run are not what its events say".to_owned()));
        }
        // The log has the hash of the configuration as it was written, so a later format changes nothing.
        let logged = self.snapshot.artifacts.get(RUN_CONFIG).map(|artifact| artifact.sha256.as_str());
        if logged != Some(&*sha256::digest_hex(self.row.config.as_bytes())) {
            return Ok(Err("the configuration is not the one that the run was started with".to_owned()));
        }
        Ok(Ok(()))
    }

    /// The snapshot.
    pub(super) fn snapshot(&self) -> &RunSnapshot {
        &self.snapshot
    }

    /// The configuration.
    pub(super) fn config(&self) -> &RunConfig {
        &self.config
    }

    /// The id of the run.
    pub(super) fn run_id(&self) -> &str {
        &self.row.run_id
    }

    /// Adds the batch that `make` decides on from the current snapshot, and writes the resulting rows. Nothing else is written in between.
    ///
    /// # Errors
    /// `CANCELLED` if the run was cancelled meanwhile, `ILLEGAL_STATE` if it ended otherwise or a later job advances it; the fault of
    /// `make`; storage faults. Nothing is written then.
    pub(super) async fn append(
        &mut self,
        make: impl FnOnce(&RunSnapshot) -> Result<Batch, Fault> + Send,
    ) -> Result<(), Fault> {
        failpoints::reach("launch.before_write");
        let mut tx = self.begin().await?;
        match self.append_in(&mut tx, make).await {
            Ok((row, snapshot)) => {
                failpoints::reach("launch.before_commit");
                tx.commit().await?;
                failpoints::reach("launch.committed");
                (self.row, self.snapshot) = (row, snapshot);
                Ok(())
            }
            Err(fault) => {
                // Without an answer, the database rolls back on its own; the first fault is the cause.
                let _ = tx.rollback().await;
                Err(fault)
            }
        }
    }

    async fn append_in(
        &mut self,
        tx: &mut ProjectTx,
        make: impl FnOnce(&RunSnapshot) -> Result<Batch, Fault> + Send,
    ) -> Result<(RunRow, RunSnapshot), Fault> {
        let Some(locked) = runs::lock(tx, &self.row.run_id).await? else {
            return Err(run_not_found());
        };
        let fence = match self.context.writer {
            Writer::Job(fence) if locked.fence > fence => return Err(taken_over()),
            Writer::Job(fence) => fence,
            Writer::Call => locked.fence,
        };
        self.catch_up(tx, &locked).await?;
        require_open(&self.snapshot)?;
        let now_ms = self.context.clock.now().as_millisecond();
        let head = LogHead { seq: locked.seq, hash: locked.head_hash };
        let sealed = self.seal(head, &self.snapshot, make(&self.snapshot)?, now_ms)?;
        let most = match self.context.writer {
            Writer::Job(_) => EVENTS_MAX,
            // A run whose log is full can still be cancelled.
            Writer::Call => EVENTS_MAX + CALLS_RESERVE,
        };
        if sealed.head.seq > most {
            return Err(Fault::new(ErrorCode::Internal, "The launch run has too many events.")
                .with_hint("Cancel it and start another one."));
        }
        let row = rows::run_row(&RunRow { fence, ..self.row.clone() }, &sealed.snapshot, sealed.head.hash);
        // The row is locked, so only a defect makes the guard refuse.
        if !self.write(tx, &row, Some(locked.seq), &sealed).await? {
            return Err(taken_over());
        }
        Ok((row, sealed.snapshot))
    }

    /// Applies events that others wrote since this run was read.
    async fn catch_up(&mut self, tx: &mut ProjectTx, locked: &RunRow) -> Result<(), Fault> {
        while self.row.seq < locked.seq {
            let missed = events::page(tx, &self.row.run_id, self.row.seq, PAGE).await?;
            if missed.is_empty() {
                return Err(rows::malformed("events", "some are missing"));
            }
            for event in missed.into_iter().map(rows::event) {
                self.snapshot.apply(&event).map_err(|error| rows::malformed("event", error))?;
                (self.row.seq, self.row.head_hash) = (event.seq, event.hash);
            }
        }
        Ok(())
    }

    fn seal(&self, head: LogHead, before: &RunSnapshot, batch: Batch, now_ms: i64) -> Result<Sealed, Fault> {
        let mut sealed = Sealed { snapshot: before.clone(), head, events: Vec::new(), artifacts: Vec::new() };
        for entry in batch.entries {
            match entry {
                Entry::Event(body) => self.seal_event(&mut sealed, &body, now_ms)?,
                Entry::Artifact { artifact, writer } => {
                    let latest = sealed.snapshot.artifacts.get(&artifact.name);
                    let sha256 = sha256::digest_hex(&artifact.bytes);
                    if latest.is_some_and(|latest| latest.sha256 == sha256) {
                        continue;
                    }
                    let written = ArtifactWritten {
                        name: artifact.name,
                        version: latest.map_or(0, |latest| latest.version).saturating_add(1),
                        sha256,
                        content_type: artifact.content_type.to_owned(),
                        schema_id: artifact.schema_id.map(str::to_owned),
                        writer,
                        bytes: u64::try_from(artifact.bytes.len()).unwrap_or(u64::MAX),
                    };
                    let row = rows::artifact_row(&written)?;
                    self.seal_event(&mut sealed, &EventBody::ArtifactWritten(written), now_ms)?;
                    sealed.artifacts.push(ArtifactWrite { row, content: artifact.bytes });
                }
            }
        }
        Ok(sealed)
    }

    fn seal_event(&self, sealed: &mut Sealed, body: &EventBody, now_ms: i64) -> Result<(), Fault> {
        let event = Event::seal(&self.row.run_id, sealed.head, now_ms, body, &self.context.trace);
        sealed.snapshot.apply(&event).map_err(|error| rows::malformed("event", error))?;
        sealed.head = event.head();
        sealed.events.push(event);
        Ok(())
    }

    async fn begin(&self) -> Result<ProjectTx, Fault> {
        ProjectTx::begin(self.context.store, self.context.project, Access::Write).await
    }

    async fn write(
        &self,
        tx: &mut ProjectTx,
        row: &RunRow,
        before: Option<i32>,
        sealed: &Sealed,
    ) -> Result<bool, Fault> {
        let event_rows: Vec<_> = sealed.events.iter().map(rows::event_row).collect();
        let write = RunWrite {
            run: row,
            before,
            events: &event_rows,
            items: &rows::changed_items(&self.snapshot, &sealed.snapshot)?,
            artifacts: &sealed.artifacts,
            issues: &rows::changed_issues(&self.snapshot, &sealed.snapshot)?,
        };
        store::launch::write(tx, write).await
    }
}

/// Refuses to write to a run that has ended.
fn require_open(snapshot: &RunSnapshot) -> Result<(), Fault> {
    match snapshot.state {
        RunState::Cancelled => Err(run_cancelled()),
        state if state.is_terminal() => {
            Err(Fault::new(ErrorCode::IllegalState, format!("The launch run has ended: it is {state}.")))
        }
        _ => Ok(()),
    }
}

/// The fault of a run that was cancelled.
pub(crate) fn run_cancelled() -> Fault {
    Fault::new(ErrorCode::Cancelled, "The launch run was cancelled.").with_hint("Start another run.")
}

/// The fault of a run that the project does not have.
pub fn run_not_found() -> Fault {
    Fault::new(ErrorCode::RunNotFound, "The project has no such launch run.")
        .with_hint("`launch_list_runs` lists the runs of the project.")
}

/// The fault of a job that lost the run to a later one.
fn taken_over() -> Fault {
    Fault::new(ErrorCode::IllegalState, "Another process took over this launch run.")
        .with_hint("The other process continues it; `launch_get_status` shows how far it is.")
}
