//! The process that owns the server: starts it, restarts it after a crash, and stops it some time after its last user has gone.
//!
//! Hidden mode `postgres-supervisor <request>`. It has one thread, because the server is tied to the thread that spawned it.

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
use platform::disk_space;

use super::failure::FaultMessage;
use super::idleness::{Idleness, Users};
use super::limits::Limits;
use super::locks::{self, LockKind};
use super::place::Place;
use super::server_process::ServerProcess;
use super::{creation, failure, install_copy, log_file, spare};

pub(super) const MODE: &str = "postgres-supervisor";

/// Interval of the checks. Polling five times a second costs next to nothing, and needs neither a second thread nor a signal
/// handler.
const CHECK_EVERY: Duration = Duration::from_millis(200);
/// A server that crashes more often within [`CRASH_WINDOW`] is not restarted.
const CRASHES_MAX: usize = 5;
const CRASH_WINDOW: Duration = Duration::from_secs(60);
/// Wait for the supervisor lock, which a process that checks for a supervisor holds for a moment.
const LOCK_TIMEOUT: Duration = Duration::from_secs(1);
/// With less free space than this, in bytes (two WAL segments), a failed start is attributed to a full disk.
const START_BYTES_MIN: u64 = 32 * 1024 * 1024;
/// Interval of the checks of free disk space.
const DISK_CHECK_EVERY: Duration = Duration::from_secs(1);

/// The request of the process that starts the supervisor: the argument of the mode, as JSON.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StartRequest {
    pub(super) place: Place,
    pub(super) settings: Embedded,
    /// Bytes of disk space to keep free.
    pub(super) disk_free_bytes_min: u64,
}

/// The report to the process that started the supervisor: one line of JSON on stdout.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Report {
    /// The server accepts connections.
    Ready,
    /// Another supervisor is running already.
    AlreadyRunning,
    /// The server could not be started.
    Failed(FaultMessage),
}

/// Runs the hidden mode until the supervisor exits.
pub(super) fn run(arguments: &[OsString]) -> ExitCode {
    let request =
        arguments.first().and_then(|text| serde_json::from_str::<StartRequest>(text.to_str()?).ok());
    let Some(request) = request else {
        log("the start request cannot be read");
        return ExitCode::FAILURE;
    };
    detach();
    let (report, outcome) = match Supervisor::start(request) {
        Ok(Some(supervisor)) => (Report::Ready, Some(supervisor)),
        Ok(None) => (Report::AlreadyRunning, None),
        Err(fault) => {
            log(&format!("not started: {fault}"));
            (Report::Failed(fault.into()), None)
        }
    };
    send_report(&report);
    outcome.map_or(ExitCode::FAILURE, |supervisor| supervisor.watch())
}

/// Detaches from the terminal and the working directory of the process that started the supervisor, which outlives it.
fn detach() {
    // Fails only for the leader of a process group, which a spawned child is not.
    let _ = rustix::process::setsid();
    let _ = std::env::set_current_dir("/");
}

fn send_report(report: &Report) {
    // The process that started the supervisor may have died; the server keeps running for its linger time.
    if let Ok(mut line) = serde_json::to_vec(report) {
        line.push(b'\n');
        let mut stdout = io::stdout();
        let _ = stdout.write_all(&line).and_then(|()| stdout.flush());
    }
}

/// A line in the supervisor's log, which is its stderr.
fn log(what: &str) {
    let _ = writeln!(io::stderr(), "{} {what}", iso_millis(SystemClock.now()));
}

struct Supervisor {
    request: StartRequest,
    server: ServerProcess,
    idleness: Idleness,
    crashes: Vec<Instant>,
    limits: Limits,
    disk_checked_at: Instant,
    /// Held for as long as this process lives.
    _lock: File,
}

impl Supervisor {
    /// Creates the cluster if necessary and starts its server; `None` if another supervisor is running.
    fn start(request: StartRequest) -> Result<Option<Self>, Fault> {
        let place = &request.place;
        let lock = locks::open(&place.supervisor_lock())?;
        let acquired = locks::acquire(&lock, LockKind::Exclusive, Instant::now() + LOCK_TIMEOUT)
            .map_err(|error| failure::io("lock its cluster", &place.supervisor_lock(), error))?;
        if !acquired {
            return Ok(None);
        }
        install_copy::ensure(place)?;
        creation::ensure_data(place)?;
        let users = locks::open(&place.users_lock())?;
        let linger = Duration::from_millis(request.settings.linger_ms);
        let idleness = Idleness::new(&place.users_lock(), users, linger);
        let (server, limits) = start_server(&request)?;
        log("started");
        let now = Instant::now();
        let mut supervisor = Self {
            request,
            server,
            idleness,
            crashes: Vec::new(),
            limits,
            disk_checked_at: now,
            _lock: lock,
        };
        supervisor.check_disk();
        Ok(Some(supervisor))
    }

    /// Monitors the server, restarts it after a crash, and stops it once no process uses it.
    fn watch(mut self) -> ExitCode {
        loop {
            thread::sleep(CHECK_EVERY);
            match self.idleness.check() {
                Users::Present => {}
                Users::Gone => return self.stop("no process uses the cluster any more"),
                Users::DirectoryGone => return self.stop("the cluster's directory is gone"),
            }
            log_file::rotate_if_long(&self.request.place.server_log());
            if self.disk_checked_at.elapsed() >= DISK_CHECK_EVERY {
                self.check_disk();
            }
            match self.server.exited() {
                Ok(None) => {}
                Ok(Some(status)) => {
                    log(&format!("the server exited unexpectedly ({status})"));
                    if let Err(fault) = self.restart() {
                        log(&format!("the server was not restarted: {fault}"));
                        return ExitCode::FAILURE;
                    }
                }
                Err(error) => return self.stop(&format!("the state of the server cannot be read: {error}")),
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
        (self.server, self.limits) = start_server(&self.request)?;
        log("restarted");
        Ok(())
    }

    /// Maintains the spare file, and adapts the server's limits to the free disk space.
    fn check_disk(&mut self) {
        self.disk_checked_at = Instant::now();
        let StartRequest { place, disk_free_bytes_min: reserve, .. } = &self.request;
        let spare = place.spare_file();
        match spare::release_first_part(&spare)
            .and_then(|released| spare::ensure(&spare, *reserve).map(|()| released))
        {
            Ok(true) => log("the disk is full: the first part of the spare file was released"),
            Ok(false) => {}
            Err(error) => log(&format!("the spare file could not be maintained: {error}")),
        }
        let limits = Limits::for_free_space(place, *reserve, Some(&self.limits));
        if limits == self.limits {
            return;
        }
        match limits.write(place).and_then(|()| self.server.reload()) {
            Ok(()) => {
                log(&format!("free disk space changed: {limits}"));
                self.limits = limits;
            }
            Err(error) => log(&format!("the limits of the server were not changed: {error}")),
        }
    }

    fn stop(mut self, why: &str) -> ExitCode {
        log(why);
        self.server.stop();
        log("stopped");
        ExitCode::SUCCESS
    }
}

/// Starts the server; if it fails because the disk is full, releases the spare file and tries once more.
fn start_server(request: &StartRequest) -> Result<(ServerProcess, Limits), Fault> {
    let StartRequest { place, settings, disk_free_bytes_min: reserve } = request;
    let start = || -> Result<(ServerProcess, Limits), Fault> {
        let limits = Limits::for_free_space(place, *reserve, None);
        limits.write(place).map_err(|error| failure::io("write its limits", &place.limits_file(), error))?;
        Ok((ServerProcess::start(place, settings, start_deadline(settings))?, limits))
    };
    match start() {
        Err(fault) if is_full(place, &fault) => {
            if !spare::release(&place.spare_file()) {
                return Err(failure::with_disk_full_hint(fault));
            }
            log(&format!("the disk is full, the spare file was released: {fault}"));
            start().map_err(
                |fault| if is_full(place, &fault) { failure::with_disk_full_hint(fault) } else { fault },
            )
        }
        started => started,
    }
}

/// Checks whether the server failed to start because the disk is full. Also checks the free space, because on a full disk the server cannot
/// write the reason to its log.
fn is_full(place: &Place, fault: &Fault) -> bool {
    failure::is_disk_full(fault)
        || disk_space::free_bytes(&place.root).is_ok_and(|free| free < START_BYTES_MIN)
}

fn start_deadline(settings: &Embedded) -> Instant {
    Instant::now() + Duration::from_millis(settings.start_timeout_ms)
}
