//! The Postgres server as a child process of the supervisor: starts it and waits until it is ready; stops it and waits until
//! it has exited.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use contract::Fault;
use contract::config::Embedded;

use super::place::Place;
use super::postmaster::Postmaster;
use super::{access, failure, locks, log_file, orphans, settings, sockets, tied_child};

const POLL: Duration = Duration::from_millis(5);
/// Time limit of a fast shutdown, which writes a checkpoint and may be slow on a slow disk.
const FAST_SHUTDOWN: Duration = Duration::from_secs(60);
/// Time limit of an immediate shutdown, which writes nothing.
const IMMEDIATE_SHUTDOWN: Duration = Duration::from_secs(10);

/// A running server.
#[derive(Debug)]
pub(super) struct ServerProcess {
    child: Child,
    socket_directory: PathBuf,
}

impl ServerProcess {
    /// Starts the server of `place` and waits until it accepts connections.
    pub(super) fn start(place: &Place, embedded: &Embedded, deadline: Instant) -> Result<Self, Fault> {
        let socket_directory = sockets::prepare(place)?;
        let server_lock = orphans::lock_data_directory(place, &socket_directory, deadline)?;
        access::write_files(place)?;
        log_file::rotate_if_long(&place.server_log());
        let log_start = log_file::end(&place.server_log());
        let log = locks::open(&place.server_log())?;
        let spawn = || -> io::Result<Child> {
            tied_child::command(&place.account, &place.program("postgres"))?
                .args(settings::arguments(place, embedded, &socket_directory))
                .stdin(Stdio::from(server_lock))
                .stdout(log.try_clone()?)
                .stderr(log)
                .spawn()
        };
        let child = spawn().map_err(|error| failure::io("start its server", &place.install, error))?;
        let mut server = Self { child, socket_directory };
        match server.wait_until_ready(&place.data(), deadline) {
            Ok(()) => Ok(server),
            Err(why) => {
                server.stop();
                Err(failure::from_log(why, &log_file::tail(&place.server_log(), log_start)))
            }
        }
    }

    fn wait_until_ready(&mut self, data: &Path, deadline: Instant) -> Result<(), String> {
        let pid = Pid::from_child(&self.child).as_raw_nonzero().get();
        loop {
            if Postmaster::read(data).is_some_and(|file| file.ready && file.pid == pid) {
                return Ok(());
            }
            match self.exited() {
                Ok(None) => {}
                Ok(Some(status)) => return Err(format!("The embedded Postgres did not start ({status}).")),
                Err(error) => {
                    return Err(format!("The state of the embedded Postgres cannot be read: {error}."));
                }
            }
            if Instant::now() >= deadline {
                return Err("The embedded Postgres was not ready in time.".to_owned());
            }
            thread::sleep(POLL);
        }
    }

    /// The exit status of the server; `None` while it runs.
    pub(super) fn exited(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// Makes the server reload its configuration file (SIGHUP).
    pub(super) fn reload(&self) -> io::Result<()> {
        Ok(kill_process(Pid::from_child(&self.child), Signal::HUP)?)
    }

    /// Shuts the server down and waits until it has exited: first fast, then immediately, then by killing it.
    pub(super) fn stop(&mut self) {
        for (signal, timeout) in [(Signal::INT, FAST_SHUTDOWN), (Signal::QUIT, IMMEDIATE_SHUTDOWN)] {
            if self.exits_on(signal, timeout) {
                // Usually empty by now; if it is not, the removal fails and the directory stays.
                let _ = std::fs::remove_dir(&self.socket_directory);
                return;
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    fn exits_on(&mut self, signal: Signal, timeout: Duration) -> bool {
        let deadline = Instant::now() + timeout;
        if !matches!(self.exited(), Ok(Some(_))) {
            // The child has not been reaped, so its pid cannot belong to another process.
            let _ = kill_process(Pid::from_child(&self.child), signal);
        }
        loop {
            if matches!(self.exited(), Ok(Some(_))) {
                return true;
            }
            if Instant::now() >= deadline {
                return false;
            }
            thread::sleep(POLL);
        }
    }
}
