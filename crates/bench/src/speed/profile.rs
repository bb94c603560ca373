//! Resource use of a phase as counted by the kernel: CPU time, disk I/O and memory. Linux only; elsewhere all figures but the
//! duration are 0.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::latency::{count, rounded};
use crate::Experiment;
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
    /// Share of all cores that this process and its parsers used.
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

/// The process id of the postmaster, whose children are the other Postgres processes. `None` if Postgres runs on another
/// machine or in another container: then its figures are 0.
#[derive(Debug, Clone, Copy)]
pub(super) struct PostgresServer(Option<u32>);

impl PostgresServer {
    pub(super) async fn find(experiment: &Experiment) -> Result<Self, Fault> {
        let mut tx = experiment.app.store().await?.control_read().await?;
        let backend = sizes::backend_pid(&mut tx).await?;
        tx.commit().await?;
        // In another container the process with this id is a different one, or none.
        let backend = ProcessStat::read(backend).filter(|stat| stat.is_postgres);
        Ok(Self(backend.map(|stat| stat.parent)))
    }

    /// The processes of Postgres.
    fn processes(self) -> Vec<u32> {
        self.0.map(with_children).unwrap_or_default()
    }

    /// Resources that this process, its parsers and Postgres have used so far.
    fn usage(self) -> ResourceUsage {
        let (own, postgres) = (with_children(std::process::id()), self.processes());
        let (read, written) = own.iter().chain(&postgres).map(|pid| disk(*pid)).fold((0, 0), add);
        ResourceUsage { own_ticks: cpu_ticks(&own), postgres_ticks: cpu_ticks(&postgres), read, written }
    }

    /// Starts measuring a phase.
    pub(super) fn begin(self) -> MeasuredPhase {
        MeasuredPhase { server: self, since: Instant::now(), before: self.usage() }
    }

    /// Samples the memory of Postgres in a thread until the result is dropped.
    pub(super) fn watch_memory(self) -> MemoryWatch {
        let watch = MemoryWatch { postgres_peak_kib: Arc::default(), stopped: Arc::default() };
        let (peak_kib, stopped) = (Arc::clone(&watch.postgres_peak_kib), Arc::clone(&watch.stopped));
        std::thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                let now = self.processes().into_iter().map(proportional_kilobytes).sum();
                peak_kib.fetch_max(now, Ordering::Relaxed);
                std::thread::sleep(MEMORY_POLL);
            }
        });
        watch
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
            own_cores: share(now.own_ticks - self.before.own_ticks),
            postgres_cores: share(now.postgres_ticks - self.before.postgres_ticks),
            read_mb: rounded(megabytes(now.read.saturating_sub(self.before.read))),
            written_mb: rounded(megabytes(now.written.saturating_sub(self.before.written))),
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct ResourceUsage {
    own_ticks: f64,
    postgres_ticks: f64,
    /// Bytes.
    read: u64,
    /// Bytes.
    written: u64,
}

/// Samples the memory of Postgres until it is dropped.
pub(super) struct MemoryWatch {
    postgres_peak_kib: Arc<AtomicU64>,
    stopped: Arc<AtomicBool>,
}

impl MemoryWatch {
    /// The peak so far.
    pub(super) fn peak(&self) -> PeakMemory {
        let own = kilobytes(Path::new("/proc/self/status"), "VmHWM:");
        let postgres = self.postgres_peak_kib.load(Ordering::Relaxed);
        PeakMemory {
            own_mb: rounded(megabytes(own * 1024)),
            postgres_mb: rounded(megabytes(postgres * 1024)),
        }
    }
}

impl Drop for MemoryWatch {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
    }
}

/// The fields of `/proc/PID/stat` that are used.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct ProcessStat {
    is_postgres: bool,
    parent: u32,
    /// CPU time of the process and of its exited children, in ticks.
    cpu_ticks: f64,
}

impl ProcessStat {
    fn read(pid: u32) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// Parses the fields after the process name, which is in parentheses and may contain any character.
    fn parse(text: &str) -> Option<Self> {
        let (name_begin, name_end) = (text.find('(')? + 1, text.rfind(')')?);
        let fields: Vec<&str> = text.get(name_end + 1..)?.split_whitespace().collect();
        let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok());
        Some(Self {
            is_postgres: text.get(name_begin..name_end)? == "postgres",
            parent: fields.get(1)?.parse().ok()?,
            cpu_ticks: ticks(11)? + ticks(12)? + ticks(13)? + ticks(14)?,
        })
    }
}

fn cpu_ticks(pids: &[u32]) -> f64 {
    pids.iter().filter_map(|pid| ProcessStat::read(*pid)).map(|stat| stat.cpu_ticks).sum()
}

/// A process and its children.
fn with_children(pid: u32) -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|other| *other == pid || ProcessStat::read(*other).is_some_and(|stat| stat.parent == pid))
        .collect()
}

/// Bytes read from and written to disk by a process.
fn disk(pid: u32) -> (u64, u64) {
    let text = fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
    (field(&text, "read_bytes:"), field(&text, "write_bytes:"))
}

fn add(a: (u64, u64), b: (u64, u64)) -> (u64, u64) {
    (a.0 + b.0, a.1 + b.1)
}

/// Memory of a process in KiB; pages that several processes use are divided among them.
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
            Some(ProcessStat { is_postgres: false, parent: 7, cpu_ticks: 59.0 })
        );
        assert!(ProcessStat::parse(&text.replace("a) b (c", "postgres")).unwrap().is_postgres);
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
        let found = with_children(std::process::id());
        assert!(found.contains(&child.id()) && found.contains(&std::process::id()), "{found:?}");
        assert!(kilobytes(Path::new("/proc/self/status"), "VmHWM:") > 0);
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
