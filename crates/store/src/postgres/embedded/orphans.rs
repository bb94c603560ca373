//! Terminates the processes of an earlier server that still use the data directory, before a new one starts.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use contract::Fault;

use super::locks::{self, LockKind};
use super::place::Place;
use super::postmaster::Postmaster;
use super::{failure, sockets};

const POLL: Duration = Duration::from_millis(20);
/// Time after which a stronger signal follows.
const SIGNAL_TIMEOUT: Duration = Duration::from_secs(10);

/// Waits until no process of an earlier server is left, signals those that remain, and removes their stale files.
///
/// Returns the server lock for the new server to hold as its stdin, which all its child processes inherit: the lock is free
/// only when all of them have exited. That makes it safe to remove a stale `postmaster.pid` even if its process id is in use
/// again; Postgres itself would refuse to start if a process of the same user, or a zombie, had that id.
pub(super) fn lock_data_directory(
    place: &Place,
    socket_directory: &Path,
    deadline: Instant,
) -> Result<File, Fault> {
    let lock = locks::open(&place.server_lock())?;
    let data = place.data();
    let started = Instant::now();
    let mut sent = None;
    loop {
        let free = locks::try_acquire(&lock, LockKind::Exclusive)
            .map_err(|error| failure::io("lock its data directory", &place.server_lock(), error))?;
        let left = processes_at(&data, free);
        if free && left.is_empty() {
            break;
        }
        if Instant::now() >= deadline {
            return Err(failure::unavailable("An earlier embedded Postgres does not exit.").with_hint(
                "End its processes, whose working directory is the data directory, or restart the machine.",
            ));
        }
        let signal = signal_after(started.elapsed());
        if sent != Some(signal) {
            signal_processes(&left, Postmaster::read(&data).map(|file| file.pid), signal);
            sent = Some(signal);
        }
        thread::sleep(POLL);
    }
    remove_stale(&data, socket_directory)
        .map_err(|error| failure::io("remove stale files of a crash", &place.root, error))?;
    Ok(lock)
}

fn signal_after(waited: Duration) -> Signal {
    if waited < SIGNAL_TIMEOUT {
        Signal::INT
    } else if waited < SIGNAL_TIMEOUT * 2 {
        Signal::QUIT
    } else {
        Signal::KILL
    }
}

/// Signals the postmaster, which terminates its children itself. Children without a postmaster cannot complete anything, so
/// they get at least SIGQUIT.
fn signal_processes(left: &[Pid], postmaster: Option<i32>, signal: Signal) {
    let postmaster = left.iter().find(|pid| Some(pid.as_raw_nonzero().get()) == postmaster);
    match postmaster {
        Some(pid) if signal != Signal::KILL => {
            let _ = kill_process(*pid, signal);
        }
        _ => {
            let signal = if signal == Signal::INT { Signal::QUIT } else { signal };
            for pid in left {
                let _ = kill_process(*pid, signal);
            }
        }
    }
}

/// The processes whose working directory is `data`, as it is for every process of a server. Zombies have none.
#[cfg(target_os = "linux")]
fn processes_at(data: &Path, _free: bool) -> Vec<Pid> {
    let mut deleted = data.as_os_str().to_owned();
    deleted.push(" (deleted)");
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let directory = fs::read_link(entry.path().join("cwd")).ok()?;
            (directory == data || directory == Path::new(&deleted)).then(|| Pid::from_raw(pid)).flatten()
        })
        .collect()
}

/// Without /proc, relies on the lock: while it is held, the pid in `postmaster.pid` belongs to the server.
#[cfg(not(target_os = "linux"))]
fn processes_at(data: &Path, free: bool) -> Vec<Pid> {
    if free {
        return Vec::new();
    }
    Postmaster::read(data).and_then(|file| Pid::from_raw(file.pid)).into_iter().collect()
}

fn remove_stale(data: &Path, socket_directory: &Path) -> io::Result<()> {
    match fs::remove_file(data.join("postmaster.pid")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    sockets::remove_stale(socket_directory)
}
