//! Registers this process as a user of the cluster, starts the server if none runs, and provides the connection options.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use sqlx::postgres::{PgConnectOptions, PgSslMode};

use contract::Fault;

use super::idleness::Idleness;
use super::locks::{self, LockKind};
use super::options::{EmbeddedOptions, resolve_place};
use super::place::Place;
use super::postmaster::Postmaster;
use super::supervisor::{self, Report, StartRequest};
use super::{access, creation, failure, log_file};

const POLL: Duration = Duration::from_millis(5);
/// Extra time for the supervisor's report. The supervisor applies the deadline of the start; this leaves it time to say why the
/// start failed.
const REPORT_GRACE: Duration = Duration::from_secs(5);

/// The registration of this process with the cluster: the server keeps running at least until this is dropped.
#[derive(Debug)]
pub struct EmbeddedServer {
    options: EmbeddedOptions,
    place: Place,
    postmaster: Postmaster,
    /// Holds the shared lock; the kernel releases it however this process ends.
    _users: File,
}

/// Registers this process with the cluster; creates the cluster and starts the server if necessary.
///
/// Blocks for a few milliseconds if the server is running, else for up to `start_timeout_ms` and 5 s: use a blocking thread.
///
/// # Errors
/// `STORAGE_UNAVAILABLE`, with the last log lines of the server or its supervisor in the details, if the server is not ready in
/// time; `VALIDATION_ERROR` for an unusable `embedded.run_as`.
pub fn ensure_running(options: &EmbeddedOptions) -> Result<EmbeddedServer, Fault> {
    let deadline = start_deadline(options);
    let place = resolve_place(options)?;
    let users = locks::open(&place.users_lock())?;
    // A supervisor that is stopping the server holds this lock exclusively until it exits.
    if !locks::acquire(&users, LockKind::Shared, deadline)
        .map_err(|error| failure::io("lock its users file", &place.users_lock(), error))?
    {
        return Err(timed_out("The embedded Postgres is still shutting down.", &place));
    }
    Idleness::record_use(&users);
    let postmaster = start_if_needed(options, &place, deadline)?;
    Ok(EmbeddedServer { options: options.clone(), place, postmaster, _users: users })
}

impl EmbeddedServer {
    /// Options to connect to the program's database over the private socket, as the cluster's superuser.
    #[must_use]
    pub fn connect_options(&self) -> PgConnectOptions {
        // A supervisor that was restarted may have had to choose another socket directory.
        let postmaster = Postmaster::read(&self.place.data()).unwrap_or_else(|| self.postmaster.clone());
        PgConnectOptions::new_without_pgpass()
            .socket(postmaster.socket_directory)
            .port(postmaster.port)
            .username(access::DATABASE_USER)
            .database(creation::DATABASE)
            .ssl_mode(PgSslMode::Disable)
    }

    /// Restarts the server if it stopped while this process uses it, because its supervisor was killed or gave up.
    /// Blocks like [`ensure_running`]; cheap if the server is running.
    ///
    /// # Errors
    /// As [`ensure_running`].
    pub fn restart_if_stopped(&self) -> Result<(), Fault> {
        start_if_needed(&self.options, &self.place, start_deadline(&self.options)).map(|_| ())
    }

    /// The directory of the cluster's data, locks and logs. It differs from the configured one if the server's user could not
    /// reach that.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.place.root
    }
}

fn start_deadline(options: &EmbeddedOptions) -> Instant {
    Instant::now() + Duration::from_millis(options.settings.start_timeout_ms)
}

/// The running server; starts it if necessary.
fn start_if_needed(options: &EmbeddedOptions, place: &Place, deadline: Instant) -> Result<Postmaster, Fault> {
    if has_supervisor(place)?
        && let Some(postmaster) = running(place)
    {
        return Ok(postmaster);
    }
    let start = locks::open(&place.start_lock())?;
    if !locks::acquire(&start, LockKind::Exclusive, deadline)
        .map_err(|error| failure::io("acquire its start lock", &place.start_lock(), error))?
    {
        return Err(timed_out("Another process has not finished starting the embedded Postgres.", place));
    }
    loop {
        if !has_supervisor(place)? {
            start_supervisor(options, place, deadline)?;
        }
        if let Some(postmaster) = running(place) {
            return Ok(postmaster);
        }
        if Instant::now() >= deadline {
            return Err(timed_out("The embedded Postgres was not ready in time.", place));
        }
        thread::sleep(POLL);
    }
}

/// Returns `true` if a supervisor is running. A server without one is about to exit.
fn has_supervisor(place: &Place) -> Result<bool, Fault> {
    let lock = locks::open(&place.supervisor_lock())?;
    locks::try_acquire(&lock, LockKind::Shared)
        .map(|free| !free)
        .map_err(|error| failure::io("look for its supervisor", &place.supervisor_lock(), error))
}

fn running(place: &Place) -> Option<Postmaster> {
    Postmaster::read(&place.data()).filter(Postmaster::accepts_connections)
}

/// Starts a supervisor and waits for its report.
fn start_supervisor(options: &EmbeddedOptions, place: &Place, deadline: Instant) -> Result<(), Fault> {
    let request = StartRequest {
        place: place.clone(),
        settings: options.settings.clone(),
        disk_free_bytes_min: options.disk_free_bytes_min,
    };
    let request = serde_json::to_string(&request).map_err(|error| {
        Fault::internal("The embedded Postgres needs a directory with a UTF-8 name.", error)
    })?;
    log_file::rotate_if_long(&place.supervisor_log());
    let log_start = log_file::end(&place.supervisor_log());
    let log = locks::open(&place.supervisor_log())?;
    let mut child = Command::new(&options.supervisor)
        .arg(supervisor::MODE)
        .arg(request)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log)
        .spawn()
        .map_err(|error| failure::io("start its supervisor", &options.supervisor, error))?;
    let report = receive_report(&mut child);
    // The supervisor usually outlives this process; if it does not, it must be reaped.
    thread::spawn(move || child.wait());
    let timeout = deadline.saturating_duration_since(Instant::now()) + REPORT_GRACE;
    match report.recv_timeout(timeout) {
        Ok(Ok(Report::Ready | Report::AlreadyRunning)) => Ok(()),
        Ok(Ok(Report::Failed(why))) => Err(why.into()),
        Ok(Err(error)) => {
            let log = log_file::tail(&place.supervisor_log(), log_start);
            Err(failure::from_log("The supervisor of the embedded Postgres exited early.", &log)
                .with_source(error))
        }
        Err(_) => Err(timed_out("The embedded Postgres was not ready in time.", place)),
    }
}

/// Reads the report on a separate thread, because a read from a pipe has no timeout.
fn receive_report(child: &mut Child) -> mpsc::Receiver<io::Result<Report>> {
    let (sender, receiver) = mpsc::channel();
    if let Some(stdout) = child.stdout.take() {
        thread::spawn(move || {
            let mut line = String::new();
            let report = BufReader::new(stdout)
                .read_line(&mut line)
                .and_then(|_| serde_json::from_str(&line).map_err(io::Error::from));
            // After the deadline the receiver is gone.
            let _ = sender.send(report);
        });
    }
    receiver
}

fn timed_out(message: &str, place: &Place) -> Fault {
    let log = log_file::tail(&place.server_log(), 0);
    failure::from_log(message, &log)
}
