//! Nobody else may be at the data directory when a server starts: ends what an earlier one left.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use contract::Fault;

use super::locks::{self, Kind};
use super::place::Place;
use super::postmaster::Postmaster;
use super::{failure, sockets};

const POLL: Duration = Duration::from_millis(20);
/// How long a signal may take before the next, harsher one.
const PATIENCE: Duration = Duration::from_secs(10);

/// Waits until no process of an earlier server is left, ends those that stay, and removes their stale files.
///
/// The lock that this returns is for the new server to hold (as its stdin, so that all its processes have it): while it
/// is held, some of them live. So a stale `postmaster.pid` is known for what it is, whatever process has its number now;
/// Postgres by itself refuses to start when a process of the same user, or a zombie, has it.
pub(super) fn claim(place: &Place, socket_directory: &Path, deadline: Instant) -> Result<File, Fault> {
    let lock = locks::open(&place.server_lock())?;
    let data = place.data();
    let begun = Instant::now();
    let mut sent = None;
    loop {
        let free = locks::try_take(&lock, Kind::Exclusive)
            .map_err(|error| failure::io("lock its data directory", &place.server_lock(), error))?;
        let left = processes_at(&data, free);
        if free && left.is_empty() {
            break;
        }
        if Instant::now() >= deadline {
            return Err(failure::unavailable("An earlier embedded Postgres does not end.")
                .with_hint("End its processes, which work in the data directory, or restart the machine."));
        }
        let signal = harshness(begun.elapsed());
        if sent != Some(signal) {
            end(&left, Postmaster::read(&data).map(|file| file.pid), signal);
            sent = Some(signal);
        }
        thread::sleep(POLL);
    }
    remove_stale(&data, socket_directory)
        .map_err(|error| failure::io("remove what a crash left", &place.root, error))?;
    Ok(lock)
}

fn harshness(waited: Duration) -> Signal {
    if waited < PATIENCE {
        Signal::INT
    } else if waited < PATIENCE * 2 {
        Signal::QUIT
    } else {
        Signal::KILL
    }
}

/// The postmaster ends its children itself. Children without one cannot finish anything: they are ended at once.
fn end(left: &[Pid], postmaster: Option<i32>, signal: Signal) {
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

/// The processes that work in `data`: every process of a server does. Zombies have no working directory.
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

/// Without /proc the lock has to do: while it is held, the pid in the file is the server's.
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
