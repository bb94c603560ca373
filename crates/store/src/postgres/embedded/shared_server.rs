//! One process's share in the cluster: join, start what is missing, connect.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use sqlx::postgres::{PgConnectOptions, PgSslMode};

use contract::Fault;
use contract::config::Embedded;

use super::idleness::Idleness;
use super::locks::{self, Kind};
use super::place::Place;
use super::postmaster::Postmaster;
use super::supervisor::{self, Order, Report};
use super::{access, creation, failure, log_file};

const POLL: Duration = Duration::from_millis(5);
/// The supervisor keeps the start's deadline itself and says why it failed; this is for its answer to arrive.
const ANSWER_GRACE: Duration = Duration::from_secs(5);

/// What it takes to have an embedded cluster.
#[derive(Debug, Clone)]
pub struct EmbeddedOptions {
    /// The installed Postgres: the directory that holds `bin/`, `lib/` and `share/`.
    pub install: PathBuf,
    /// The directory of the cluster; made if missing.
    pub cluster: PathBuf,
    /// The program whose `main` calls [`super::hidden_mode`]: this one, outside of tests.
    pub supervisor: PathBuf,
    /// The operator's choices.
    pub settings: Embedded,
    /// `server.disk_free_bytes_min`: how much of the disk is to stay free.
    pub disk_free_bytes_min: u64,
}

/// A user of the running cluster: the server stays up at least until this is dropped.
#[derive(Debug)]
pub struct EmbeddedServer {
    options: EmbeddedOptions,
    place: Place,
    postmaster: Postmaster,
    /// Holds the shared lock; the kernel releases it however this process ends.
    _users: File,
}

/// Makes this process a user of the cluster, and starts the server (and makes the cluster) if there is none.
///
/// Blocks: a few milliseconds when the server is up, else up to `start_timeout_ms`; call it on a blocking thread.
///
/// # Errors
/// `STORAGE_UNAVAILABLE` with the server's last log lines in the details when there is no server in time;
/// `VALIDATION_ERROR` for an unusable `embedded.run_as`.
pub fn ensure_running(options: &EmbeddedOptions) -> Result<EmbeddedServer, Fault> {
    let deadline = start_deadline(options);
    let place = Place::resolve(options)?;
    let users = locks::open(&place.users_lock())?;
    // A supervisor that is stopping the server holds this lock alone until it is gone.
    if !locks::take(&users, Kind::Shared, deadline)
        .map_err(|error| failure::io("join its users", &place.users_lock(), error))?
    {
        return Err(late("The embedded Postgres is still shutting down.", &place));
    }
    Idleness::mark(&users);
    let postmaster = running(options, &place, deadline)?;
    Ok(EmbeddedServer { options: options.clone(), place, postmaster, _users: users })
}

impl EmbeddedServer {
    /// How to connect: over the private socket, as the cluster's superuser, to the product's database.
    #[must_use]
    pub fn connect_options(&self) -> PgConnectOptions {
        // A new supervisor may have had to choose another socket directory.
        let postmaster = Postmaster::read(&self.place.data()).unwrap_or_else(|| self.postmaster.clone());
        PgConnectOptions::new_without_pgpass()
            .socket(postmaster.socket_directory)
            .port(postmaster.port)
            .username(access::DATABASE_USER)
            .database(creation::DATABASE)
            .ssl_mode(PgSslMode::Disable)
    }

    /// Starts the server again if it is gone although this process uses it, because its supervisor was killed or gave it up.
    /// Blocks like [`ensure_running`]; cheap when the server is up.
    ///
    /// # Errors
    /// Like [`ensure_running`].
    pub fn revive(&self) -> Result<(), Fault> {
        running(&self.options, &self.place, start_deadline(&self.options)).map(|_| ())
    }

    /// Where the cluster's data, locks and logs are, which is elsewhere than asked for when the server's user could not
    /// reach that.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.place.root
    }
}

fn start_deadline(options: &EmbeddedOptions) -> Instant {
    Instant::now() + Duration::from_millis(options.settings.start_timeout_ms)
}

/// The running server; started if need be.
fn running(options: &EmbeddedOptions, place: &Place, deadline: Instant) -> Result<Postmaster, Fault> {
    if supervised(place)?
        && let Some(postmaster) = answering(place)
    {
        return Ok(postmaster);
    }
    let start = locks::open(&place.start_lock())?;
    if !locks::take(&start, Kind::Exclusive, deadline)
        .map_err(|error| failure::io("begin its start", &place.start_lock(), error))?
    {
        return Err(late("Another process has not finished starting the embedded Postgres.", place));
    }
    loop {
        if !supervised(place)? {
            start_supervisor(options, place, deadline)?;
        }
        if let Some(postmaster) = answering(place) {
            return Ok(postmaster);
        }
        if Instant::now() >= deadline {
            return Err(late("The embedded Postgres did not get ready in time.", place));
        }
        thread::sleep(POLL);
    }
}

/// Whether there is a supervisor. A server without one is about to end.
fn supervised(place: &Place) -> Result<bool, Fault> {
    let lock = locks::open(&place.supervisor_lock())?;
    locks::try_take(&lock, Kind::Shared)
        .map(|free| !free)
        .map_err(|error| failure::io("look for its supervisor", &place.supervisor_lock(), error))
}

fn answering(place: &Place) -> Option<Postmaster> {
    Postmaster::read(&place.data()).filter(Postmaster::answers)
}

/// Starts a supervisor and waits for its report.
fn start_supervisor(options: &EmbeddedOptions, place: &Place, deadline: Instant) -> Result<(), Fault> {
    let order = Order {
        place: place.clone(),
        settings: options.settings.clone(),
        disk_free_bytes_min: options.disk_free_bytes_min,
    };
    let order = serde_json::to_string(&order).map_err(|error| {
        Fault::internal("the embedded Postgres needs a directory with a UTF-8 name", error)
    })?;
    log_file::bound(&place.supervisor_log());
    let log_start = log_file::end(&place.supervisor_log());
    let log = locks::open(&place.supervisor_log())?;
    let mut child = Command::new(&options.supervisor)
        .arg(supervisor::MODE)
        .arg(order)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log)
        .spawn()
        .map_err(|error| failure::io("start its supervisor", &options.supervisor, error))?;
    let report = reported(&mut child);
    // It usually outlives this process; if it does not, it must not stay as a zombie.
    thread::spawn(move || child.wait());
    let patience = deadline.saturating_duration_since(Instant::now()) + ANSWER_GRACE;
    match report.recv_timeout(patience) {
        Ok(Ok(Report::Ready | Report::Superfluous)) => Ok(()),
        Ok(Ok(Report::Failed(why))) => Err(why.into()),
        Ok(Err(error)) => {
            let said = log_file::tail(&place.supervisor_log(), log_start);
            Err(failure::from_log("The supervisor of the embedded Postgres ended early.", &said)
                .with_source(error))
        }
        Err(_) => Err(late("The embedded Postgres did not get ready in time.", place)),
    }
}

/// Reads the report on a thread of its own: a pipe has no read with a deadline.
fn reported(child: &mut Child) -> mpsc::Receiver<io::Result<Report>> {
    let (sender, receiver) = mpsc::channel();
    if let Some(stdout) = child.stdout.take() {
        thread::spawn(move || {
            let mut line = String::new();
            let report = BufReader::new(stdout)
                .read_line(&mut line)
                .and_then(|_| serde_json::from_str(&line).map_err(io::Error::from));
            // Nobody listens any more after the deadline.
            let _ = sender.send(report);
        });
    }
    receiver
}

fn late(message: &str, place: &Place) -> Fault {
    let log = log_file::tail(&place.server_log(), 0);
    failure::from_log(message, &log)
}
