//! Memory of this process and of the Postgres processes, read from `/proc` (Linux only).

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::Experiment;
use contract::Fault;
use store::sizes;

/// Interval of memory samples.
const MEMORY_POLL: Duration = Duration::from_millis(250);

/// The value after `key` in a file of `/proc`, converted from kibibytes to bytes; 0 if missing.
fn proc_bytes(file: &str, key: &str) -> u64 {
    let text = fs::read_to_string(file).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(key));
    line.and_then(|rest| rest.trim_start_matches(':').split_whitespace().next()?.parse::<u64>().ok())
        .unwrap_or(0)
        * 1024
}

/// Peak resident memory of this process in bytes.
pub(super) fn own_peak_bytes() -> u64 {
    proc_bytes("/proc/self/status", "VmHWM")
}

/// Memory of the Postgres processes in bytes, with shared memory counted once.
///
/// # Errors
/// Storage faults.
pub(super) async fn server_bytes(experiment: &Experiment) -> Result<u64, Fault> {
    let pids = processes(experiment).await?.into_iter().map(|(pid, _)| pid);
    Ok(pids.map(|pid| proc_bytes(&format!("/proc/{pid}/smaps_rollup"), "Pss")).sum())
}

/// Private memory of each search connection in bytes.
///
/// # Errors
/// Storage faults.
pub(super) async fn backend_bytes(experiment: &Experiment) -> Result<Vec<u64>, Fault> {
    let searching = processes(experiment).await?.into_iter().filter(|(_, name)| name.ends_with(" search"));
    Ok(searching.map(|(pid, _)| proc_bytes(&format!("/proc/{pid}/status"), "RssAnon")).collect())
}

async fn processes(experiment: &Experiment) -> Result<Vec<(i32, String)>, Fault> {
    let mut tx = experiment.app.store().await?.control_read().await?;
    let processes = sizes::processes(&mut tx).await?;
    tx.commit().await?;
    Ok(processes)
}

/// Runs `work` and returns the peak memory of Postgres meanwhile, in bytes.
///
/// # Errors
/// The errors of `work`.
pub(super) async fn with_peak_memory<T>(
    experiment: &Experiment,
    work: impl Future<Output = Result<T, Fault>>,
) -> Result<(T, u64), Fault> {
    let (peak, finished) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let sampling = async {
        while !finished.load(Ordering::Relaxed) {
            if let Ok(bytes) = server_bytes(experiment).await {
                peak.fetch_max(bytes, Ordering::Relaxed);
            }
            tokio::time::sleep(MEMORY_POLL).await;
        }
    };
    let work = async {
        let done = work.await;
        finished.store(true, Ordering::Relaxed);
        done
    };
    let (done, ()) = tokio::join!(work, sampling);
    Ok((done?, peak.load(Ordering::Relaxed)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_found_by_its_key() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(&file, "Rss:    12 kB\nPss:\t7 kB\nPss_Dirty: 9 kB\n").unwrap();
        let path = file.path().to_str().unwrap();
        assert_eq!(proc_bytes(path, "Pss"), 7 * 1024);
        assert_eq!(proc_bytes(path, "Swap"), 0);
        assert_eq!(proc_bytes("/nowhere", "Pss"), 0);
    }
}
