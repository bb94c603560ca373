//! The process that owns the server: starts it, restarts it after a crash, and leaves with the last user.
//!
//! Hidden mode `postgres-supervisor <order>`. It has one thread, because the server is tied to the thread that spawned it.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use contract::Fault;
use contract::clock::{Clock, SystemClock, iso_millis};
use contract::config::Embedded;
use platform::room;

use super::failure::Carried;
use super::idleness::{Idleness, Users};
use super::limits::Limits;
use super::locks::{self, Kind};
use super::place::Place;
use super::server_process::ServerProcess;
use super::{creation, failure, install_copy, log_file, spare};

pub(super) const MODE: &str = "postgres-supervisor";

/// Asking the kernel five times a second costs nothing, and needs neither a second thread nor a signal handler.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// A server that crashes more often within [`CRASH_WINDOW`] is given up.
const CRASHES_MAX: usize = 5;
const CRASH_WINDOW: Duration = Duration::from_secs(60);
/// A newcomer that asks whether there is a supervisor holds its lock for a moment.
const LOCK_PATIENCE: Duration = Duration::from_secs(1);
/// With less room than two segments of its log the server may not start.
const SCARCE: u64 = 32 * 1024 * 1024;
/// Between looks at the room on disk.
const ROOM_EVERY: Duration = Duration::from_secs(1);

/// What the starting process wants, as the argument of the mode.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Order {
    pub(super) place: Place,
    pub(super) settings: Embedded,
    /// How much of the disk is to stay free.
    pub(super) disk_free_bytes_min: u64,
}

/// The one line on stdout that answers the starting process.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Report {
    /// The server takes connections.
    Ready,
    /// Another supervisor was faster.
    Superfluous,
    /// There is no server.
    Failed(Carried),
}

/// Runs the mode.
pub(super) fn run(arguments: &[OsString]) -> ExitCode {
    let order = arguments.first().and_then(|text| serde_json::from_str::<Order>(text.to_str()?).ok());
    let Some(order) = order else {
        note("the order cannot be read");
        return ExitCode::FAILURE;
    };
    detach();
    let (report, outcome) = match Supervisor::start(order) {
        Ok(Some(supervisor)) => (Report::Ready, Some(supervisor)),
        Ok(None) => (Report::Superfluous, None),
        Err(fault) => {
            note(&format!("not started: {fault}"));
            (Report::Failed(fault.into()), None)
        }
    };
    tell(&report);
    outcome.map_or(ExitCode::FAILURE, |supervisor| supervisor.watch())
}

/// The supervisor outlives its starter: neither the terminal's signals nor its working directory concern it.
fn detach() {
    // Fails only for the leader of a process group, which a spawned child is not.
    let _ = rustix::process::setsid();
    let _ = std::env::set_current_dir("/");
}

fn tell(report: &Report) {
    // The starter may be dead by now, which changes nothing: the server waits for other users, and lingers.
    if let Ok(mut line) = serde_json::to_vec(report) {
        line.push(b'\n');
        let mut stdout = io::stdout();
        let _ = stdout.write_all(&line).and_then(|()| stdout.flush());
    }
}

/// A line in the supervisor's log, which is its stderr.
fn note(what: &str) {
    let _ = writeln!(io::stderr(), "{} {what}", iso_millis(SystemClock.now()));
}

struct Supervisor {
    order: Order,
    server: ServerProcess,
    idleness: Idleness,
    crashes: Vec<Instant>,
    limits: Limits,
    looked_for_room: Instant,
    /// Held for as long as this process lives.
    _lock: File,
}

impl Supervisor {
    /// Makes the cluster if need be and starts its server; `None` when there is a supervisor already.
    fn start(order: Order) -> Result<Option<Self>, Fault> {
        let place = &order.place;
        let lock = locks::open(&place.supervisor_lock())?;
        let mine = locks::take(&lock, Kind::Exclusive, Instant::now() + LOCK_PATIENCE)
            .map_err(|error| failure::io("lock its cluster", &place.supervisor_lock(), error))?;
        if !mine {
            return Ok(None);
        }
        install_copy::ensure(place)?;
        creation::ensure_data(place)?;
        let users = locks::open(&place.users_lock())?;
        let linger = Duration::from_millis(order.settings.linger_ms);
        let idleness = Idleness::new(&place.users_lock(), users, linger);
        let (server, limits) = start_server(&order)?;
        note("started");
        let now = Instant::now();
        let mut supervisor =
            Self { order, server, idleness, crashes: Vec::new(), limits, looked_for_room: now, _lock: lock };
        supervisor.keep_room();
        Ok(Some(supervisor))
    }

    /// Looks after the server until nobody needs it.
    fn watch(mut self) -> ExitCode {
        loop {
            thread::sleep(LOOK_EVERY);
            match self.idleness.look() {
                Users::Present => {}
                Users::Gone => return self.leave("nobody uses the cluster any more"),
                Users::Unfounded => return self.leave("the cluster's directory is gone"),
            }
            log_file::bound(&self.order.place.server_log());
            if self.looked_for_room.elapsed() >= ROOM_EVERY {
                self.keep_room();
            }
            match self.server.exited() {
                Ok(None) => {}
                Ok(Some(status)) => {
                    note(&format!("the server ended by itself ({status})"));
                    if let Err(fault) = self.restart() {
                        note(&format!("given up: {fault}"));
                        return ExitCode::FAILURE;
                    }
                }
                Err(error) => return self.leave(&format!("the server cannot be watched: {error}")),
            }
        }
    }

    fn restart(&mut self) -> Result<(), Fault> {
        let now = Instant::now();
        self.crashes.retain(|crash| now.duration_since(*crash) < CRASH_WINDOW);
        self.crashes.push(now);
        if self.crashes.len() > CRASHES_MAX {
            return Err(failure::unavailable("The embedded Postgres keeps crashing."));
        }
        (self.server, self.limits) = start_server(&self.order)?;
        note("started again");
        Ok(())
    }

    /// Makes the spare file anew where there is room for it, and bounds what the server takes of what is left.
    fn keep_room(&mut self) {
        self.looked_for_room = Instant::now();
        let Order { place, disk_free_bytes_min: least, .. } = &self.order;
        let spare = place.spare_file();
        match spare::give_first_part(&spare).and_then(|gave| spare::keep(&spare, *least).map(|()| gave)) {
            Ok(true) => {
                note("nothing is left on the disk: the first part of the spare file is given to the server")
            }
            Ok(false) => {}
            Err(error) => note(&format!("the spare file was not made: {error}")),
        }
        let limits = Limits::now(place, *least, Some(&self.limits));
        if limits == self.limits {
            return;
        }
        match limits.write(place).and_then(|()| self.server.reload()) {
            Ok(()) => {
                note(&format!("room on disk changed: {limits}"));
                self.limits = limits;
            }
            Err(error) => note(&format!("the limits of the server were not changed: {error}")),
        }
    }

    fn leave(mut self, why: &str) -> ExitCode {
        note(why);
        self.server.stop();
        note("stopped");
        ExitCode::SUCCESS
    }
}

/// Starts the server; where it does not start for want of room, once more with the room of the spare file.
fn start_server(order: &Order) -> Result<(ServerProcess, Limits), Fault> {
    let Order { place, settings, disk_free_bytes_min: least } = order;
    let start = || -> Result<(ServerProcess, Limits), Fault> {
        let limits = Limits::now(place, *least, None);
        limits.write(place).map_err(|error| failure::io("write its limits", &place.limits_file(), error))?;
        Ok((ServerProcess::start(place, settings, start_deadline(settings))?, limits))
    };
    match start() {
        Err(fault) if is_full(place, &fault) => {
            if !spare::give(&place.spare_file()) {
                return Err(failure::full(fault));
            }
            note(&format!("the disk is full, the spare file is given to the server: {fault}"));
            start().map_err(|fault| if is_full(place, &fault) { failure::full(fault) } else { fault })
        }
        started => started,
    }
}

/// Whether the server did not start for want of room. Where there is none its log cannot say so either.
fn is_full(place: &Place, fault: &Fault) -> bool {
    failure::is_full(fault) || room::free(&place.root).is_ok_and(|free| free < SCARCE)
}

fn start_deadline(settings: &Embedded) -> Instant {
    Instant::now() + Duration::from_millis(settings.start_timeout_ms)
}
