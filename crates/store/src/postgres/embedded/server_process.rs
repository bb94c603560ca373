//! The server as a child of the supervisor: start until ready, stop until gone.

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
/// A fast shutdown writes a checkpoint, which a slow disk may take its time for.
const FAST_SHUTDOWN: Duration = Duration::from_secs(60);
/// An immediate shutdown writes nothing.
const IMMEDIATE_SHUTDOWN: Duration = Duration::from_secs(10);

/// A running server.
#[derive(Debug)]
pub(super) struct ServerProcess {
    child: Child,
    socket_directory: PathBuf,
}

impl ServerProcess {
    /// Starts the server of `place` and waits until it takes connections.
    pub(super) fn start(place: &Place, embedded: &Embedded, deadline: Instant) -> Result<Self, Fault> {
        let socket_directory = sockets::prepare(place)?;
        let claim = orphans::claim(place, &socket_directory, deadline)?;
        access::write_files(place)?;
        log_file::bound(&place.server_log());
        let log_start = log_file::end(&place.server_log());
        let log = locks::open(&place.server_log())?;
        let spawn = || -> io::Result<Child> {
            tied_child::command(&place.account, &place.program("postgres"))?
                .args(settings::arguments(place, embedded, &socket_directory))
                .stdin(Stdio::from(claim))
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
                Err(error) => return Err(format!("The embedded Postgres cannot be watched: {error}.")),
            }
            if Instant::now() >= deadline {
                return Err("The embedded Postgres did not get ready in time.".to_owned());
            }
            thread::sleep(POLL);
        }
    }

    /// How the server ended, if it has.
    pub(super) fn exited(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// Lets the server read its configuration file again.
    pub(super) fn reload(&self) -> io::Result<()> {
        Ok(kill_process(Pid::from_child(&self.child), Signal::HUP)?)
    }

    /// Shuts the server down, politely first, and waits until it is gone.
    pub(super) fn stop(&mut self) {
        for (signal, patience) in [(Signal::INT, FAST_SHUTDOWN), (Signal::QUIT, IMMEDIATE_SHUTDOWN)] {
            if self.ends_on(signal, patience) {
                // Empty by now; if not, it is kept for whoever uses it.
                let _ = std::fs::remove_dir(&self.socket_directory);
                return;
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    fn ends_on(&mut self, signal: Signal, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        if !matches!(self.exited(), Ok(Some(_))) {
            // Not waited for yet, so the pid is still the child's.
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
