//! Resource use of a phase as counted by the kernel: CPU time, disk I/O and memory. Linux only; elsewhere the figures are 0.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::latency::{count, rounded};
use crate::bench::Experiment;
use contract::Fault;
use store::sizes;

/// Interval at which the memory of Postgres is sampled.
const MEMORY_POLL: Duration = Duration::from_millis(200);
/// Clock ticks per second in `/proc`, the same on every Linux.
const TICKS_PER_SECOND: f64 = 100.0;

/// Resource use of a phase.
#[derive(Debug, Clone, Copy, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Profile {
    /// Duration in seconds.
    pub seconds: f64,
    /// Share of all cores that this process used.
    pub own_cores: f64,
    /// Share of all cores that Postgres used.
    pub postgres_cores: f64,
    /// Megabytes read from disk, by both.
    pub read_mb: f64,
    /// Megabytes written to disk, by both.
    pub written_mb: f64,
}

/// Peak memory in megabytes.
#[derive(Debug, Clone, Copy, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PeakMemory {
    /// Peak memory of this process.
    pub own_mb: f64,
    /// Peak memory of all Postgres processes, with shared memory counted once.
    pub postgres_mb: f64,
}

/// The process id of the postmaster, whose children are the other Postgres processes.
#[derive(Debug, Clone, Copy)]
pub(super) struct PostgresServer(u32);

impl PostgresServer {
    pub(super) async fn find(experiment: &Experiment) -> Result<Self, Fault> {
        let mut tx = experiment.app.store().await?.control_read().await?;
        let backend = sizes::backend(&mut tx).await?;
        tx.commit().await?;
        Ok(Self(ProcessStat::read(backend).map_or(0, |stat| stat.parent)))
    }

    /// Resources that this process and Postgres have used so far.
    fn usage(self) -> ResourceUsage {
        let postgres: Vec<u32> = children(self.0);
        let of = |pid: u32| ProcessStat::read(pid).unwrap_or_default();
        let first = of(self.0);
        let (own_read, own_written) = disk(std::process::id());
        // The kernel adds the CPU time of exited children to the postmaster.
        let (read, written) = postgres.iter().map(|pid| disk(*pid)).fold(disk(self.0), add);
        ResourceUsage {
            own: of(std::process::id()).own,
            postgres: postgres.iter().map(|pid| of(*pid).own).sum::<f64>()
                + first.own
                + first.exited_children,
            read: own_read + read,
            written: own_written + written,
        }
    }

    /// Starts measuring a phase.
    pub(super) fn begin(self) -> MeasuredPhase {
        MeasuredPhase { server: self, since: Instant::now(), before: self.usage() }
    }

    /// Samples the memory of Postgres in a thread until the result is dropped.
    pub(super) fn watch_memory(self) -> MemoryWatch {
        let watched = MemoryWatch { most: Arc::default(), over: Arc::default() };
        let (most, over) = (Arc::clone(&watched.most), Arc::clone(&watched.over));
        std::thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                let now = children(self.0).into_iter().chain([self.0]).map(proportional_kilobytes).sum();
                most.fetch_max(now, Ordering::Relaxed);
                std::thread::sleep(MEMORY_POLL);
            }
        });
        watched
    }
}

/// A phase that is being measured.
pub(super) struct MeasuredPhase {
    server: PostgresServer,
    since: Instant,
    before: ResourceUsage,
}

impl MeasuredPhase {
    pub(super) fn end(self) -> Profile {
        let (seconds, now) = (self.since.elapsed().as_secs_f64(), self.server.usage());
        let share = |ticks: f64| rounded(ticks / TICKS_PER_SECOND / seconds.max(1e-9) / count(cores()));
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
struct ResourceUsage {
    own: f64,
    postgres: f64,
    read: u64,
    written: u64,
}

/// PeakMemory that is being looked at.
pub(super) struct MemoryWatch {
    most: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
}

impl MemoryWatch {
    /// The peak so far.
    pub(super) fn peak(&self) -> PeakMemory {
        let own = kilobytes(Path::new("/proc/self/status"), "VmHWM:");
        let postgres = self.most.load(Ordering::Relaxed);
        PeakMemory {
            own_mb: rounded(megabytes(own * 1024)),
            postgres_mb: rounded(megabytes(postgres * 1024)),
        }
    }
}

impl Drop for MemoryWatch {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

/// The fields of `/proc/PID/stat` that are used.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct ProcessStat {
    parent: u32,
    /// CPU time of the process in ticks.
    own: f64,
    /// CPU time of exited children in ticks.
    exited_children: f64,
}

impl ProcessStat {
    fn read(pid: u32) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// Parses the fields after the process name, which is in parentheses and may contain any character.
    fn parse(text: &str) -> Option<Self> {
        let fields: Vec<&str> = text.get(text.rfind(')')? + 1..)?.split_whitespace().collect();
        let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok());
        Some(Self {
            parent: fields.get(1)?.parse().ok()?,
            own: ticks(11)? + ticks(12)?,
            exited_children: ticks(13)? + ticks(14)?,
        })
    }
}

fn children(pid: u32) -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|child| ProcessStat::read(*child).is_some_and(|stat| stat.parent == pid)).collect()
}

/// Bytes read from and written to disk by a process.
fn disk(pid: u32) -> (u64, u64) {
    let text = fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
    (field(&text, "read_bytes:"), field(&text, "write_bytes:"))
}

fn add(a: (u64, u64), b: (u64, u64)) -> (u64, u64) {
    (a.0 + b.0, a.1 + b.1)
}

/// PeakMemory of a process, what it shares with others divided among them.
fn proportional_kilobytes(pid: u32) -> u64 {
    kilobytes(Path::new(&format!("/proc/{pid}/smaps_rollup")), "Pss:")
}

fn kilobytes(path: &Path, name: &str) -> u64 {
    field(&fs::read_to_string(path).unwrap_or_default(), name)
}

/// The number after a name at the start of a line.
fn field(text: &str, name: &str) -> u64 {
    let rest = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    rest.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// Available cores.
pub(super) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Converts bytes to megabytes.
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
        assert_eq!(
            ProcessStat::parse(text),
            Some(ProcessStat { parent: 7, own: 21.0, exited_children: 38.0 })
        );
        assert_eq!(ProcessStat::parse("42 (a"), None);
        assert_eq!(ProcessStat::parse("42 (a) S"), None);
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
