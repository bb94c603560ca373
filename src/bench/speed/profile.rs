//! What a phase used, as the kernel counts it: processor time, bytes to and from the disk, memory. Linux only; elsewhere the
//! figures are 0.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::latency::{count, rounded};
use crate::bench::Lab;
use contract::Fault;
use store::sizes;

/// Between looks at the memory of Postgres.
const LOOK: Duration = Duration::from_millis(200);
/// Ticks of a second in `/proc`, the same on every Linux.
const TICKS: f64 = 100.0;

/// What a phase used.
#[derive(Debug, Clone, Copy, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Profile {
    /// How long it took.
    pub seconds: f64,
    /// Share of all cores that this process kept at work.
    pub own_cores: f64,
    /// … and Postgres.
    pub postgres_cores: f64,
    /// Megabytes that came from the disk, both.
    pub read_mb: f64,
    /// … and went there.
    pub written_mb: f64,
}

/// The most memory that was held, in megabytes.
#[derive(Debug, Clone, Copy, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Memory {
    /// This process.
    pub own_mb: f64,
    /// All processes of Postgres, what they share counted once.
    pub postgres_mb: f64,
}

/// The Postgres of the lab: its first process, whose children are all others.
#[derive(Debug, Clone, Copy)]
pub(super) struct Server(u32);

impl Server {
    pub(super) async fn find(lab: &Lab) -> Result<Self, Fault> {
        let mut door = lab.app.store().await?.control_read().await?;
        let backend = sizes::backend(&mut door).await?;
        door.commit().await?;
        Ok(Self(Stat::of(backend).map_or(0, |stat| stat.parent)))
    }

    /// What both have used so far.
    fn used(self) -> Used {
        let postgres: Vec<u32> = children(self.0);
        let of = |pid: u32| Stat::of(pid).unwrap_or_default();
        let first = of(self.0);
        let (own_read, own_written) = disk(std::process::id());
        // What children used that are gone is counted with the first process.
        let (read, written) = postgres.iter().map(|pid| disk(*pid)).fold(disk(self.0), add);
        Used {
            own: of(std::process::id()).own,
            postgres: postgres.iter().map(|pid| of(*pid).own).sum::<f64>() + first.own + first.gone,
            read: own_read + read,
            written: own_written + written,
        }
    }

    /// Begins to measure a phase.
    pub(super) fn begin(self) -> Phase {
        Phase { server: self, since: Instant::now(), before: self.used() }
    }

    /// Looks at the memory until the result is asked for.
    pub(super) fn watch_memory(self) -> Watched {
        let watched = Watched { most: Arc::default(), over: Arc::default() };
        let (most, over) = (Arc::clone(&watched.most), Arc::clone(&watched.over));
        std::thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                let now = children(self.0).into_iter().chain([self.0]).map(proportional_kilobytes).sum();
                most.fetch_max(now, Ordering::Relaxed);
                std::thread::sleep(LOOK);
            }
        });
        watched
    }
}

/// A phase that is measured.
pub(super) struct Phase {
    server: Server,
    since: Instant,
    before: Used,
}

impl Phase {
    pub(super) fn end(self) -> Profile {
        let (seconds, now) = (self.since.elapsed().as_secs_f64(), self.server.used());
        let share = |ticks: f64| rounded(ticks / TICKS / seconds.max(1e-9) / count(cores()));
        Profile {
            seconds: rounded(seconds),
            own_cores: share(now.own - self.before.own),
            postgres_cores: share(now.postgres - self.before.postgres),
            read_mb: rounded(megabytes(now.read.saturating_sub(self.before.read))),
            written_mb: rounded(megabytes(now.written.saturating_sub(self.before.written))),
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Used {
    own: f64,
    postgres: f64,
    read: u64,
    written: u64,
}

/// Memory that is being looked at.
pub(super) struct Watched {
    most: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
}

impl Watched {
    /// The most so far.
    pub(super) fn most(&self) -> Memory {
        let own = kilobytes(Path::new("/proc/self/status"), "VmHWM:");
        let postgres = self.most.load(Ordering::Relaxed);
        Memory { own_mb: rounded(megabytes(own * 1024)), postgres_mb: rounded(megabytes(postgres * 1024)) }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

/// A process as `/proc/PID/stat` tells it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Stat {
    parent: u32,
    /// Ticks.
    own: f64,
    /// Ticks of children that ended.
    gone: f64,
}

impl Stat {
    fn of(pid: u32) -> Option<Self> {
        Self::read(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// The name stands in parentheses and may hold anything, so the fields are counted from behind it.
    fn read(text: &str) -> Option<Self> {
        let fields: Vec<&str> = text.get(text.rfind(')')? + 1..)?.split_whitespace().collect();
        let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok());
        Some(Self {
            parent: fields.get(1)?.parse().ok()?,
            own: ticks(11)? + ticks(12)?,
            gone: ticks(13)? + ticks(14)?,
        })
    }
}

fn children(pid: u32) -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|child| Stat::of(*child).is_some_and(|stat| stat.parent == pid)).collect()
}

/// Bytes read from and written to the disk.
fn disk(pid: u32) -> (u64, u64) {
    let text = fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
    (field(&text, "read_bytes:"), field(&text, "write_bytes:"))
}

fn add(a: (u64, u64), b: (u64, u64)) -> (u64, u64) {
    (a.0 + b.0, a.1 + b.1)
}

/// Memory of a process, what it shares with others divided among them.
fn proportional_kilobytes(pid: u32) -> u64 {
    kilobytes(Path::new(&format!("/proc/{pid}/smaps_rollup")), "Pss:")
}

fn kilobytes(path: &Path, name: &str) -> u64 {
    field(&fs::read_to_string(path).unwrap_or_default(), name)
}

/// The number behind a name at the beginning of a line.
fn field(text: &str, name: &str) -> u64 {
    let rest = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    rest.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// Cores that the machine offers.
pub(super) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Millions of bytes.
#[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
pub(super) fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_may_be_called_anything() {
        let text = "42 (a) b (c) S 7 42 42 0 -1 4194560 1 2 3 4 15 6 30 8 20 0 1 0 99";
        assert_eq!(Stat::read(text), Some(Stat { parent: 7, own: 21.0, gone: 38.0 }));
        assert_eq!(Stat::read("42 (a"), None);
        assert_eq!(Stat::read("42 (a) S"), None);
    }

    #[test]
    fn numbers_are_found_by_their_names() {
        let text = "rchar: 9\nread_bytes: 4096\nVmHWM:\t  123 kB\n";
        assert_eq!((field(text, "read_bytes:"), field(text, "VmHWM:"), field(text, "Pss:")), (4096, 123, 0));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_child_is_found_below_its_parent() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        assert!(children(std::process::id()).contains(&child.id()));
        assert!(kilobytes(Path::new("/proc/self/status"), "VmHWM:") > 0);
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
