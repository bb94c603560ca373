//! What the processes of this program and of its server take, as Linux tells.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::bench::Lab;
use contract::Fault;
use store::sizes;

/// Between two looks while something is built.
const LOOKS: Duration = Duration::from_millis(250);

/// Bytes behind `key` in a file of `/proc`, 0 where it does not say.
fn kilobytes(file: &str, key: &str) -> u64 {
    let text = fs::read_to_string(file).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(key));
    line.and_then(|rest| rest.trim_start_matches(':').split_whitespace().next()?.parse::<u64>().ok())
        .unwrap_or(0)
        * 1024
}

/// Bytes that this process has touched at most.
pub(super) fn own_peak() -> u64 {
    kilobytes("/proc/self/status", "VmHWM")
}

/// Bytes of the server's processes, what they share counted once.
///
/// # Errors
/// Storage faults.
pub(super) async fn server(lab: &Lab) -> Result<u64, Fault> {
    let pids = processes(lab).await?.into_iter().map(|(pid, _)| pid);
    Ok(pids.map(|pid| kilobytes(&format!("/proc/{pid}/smaps_rollup"), "Pss")).sum())
}

/// Bytes that each connection for questions has for itself alone.
///
/// # Errors
/// Storage faults.
pub(super) async fn backends(lab: &Lab) -> Result<Vec<u64>, Fault> {
    let searching = processes(lab).await?.into_iter().filter(|(_, name)| name.ends_with(" search"));
    Ok(searching.map(|(pid, _)| kilobytes(&format!("/proc/{pid}/status"), "RssAnon")).collect())
}

async fn processes(lab: &Lab) -> Result<Vec<(i32, String)>, Fault> {
    let mut door = lab.app.store().await?.control_read().await?;
    let processes = sizes::processes(&mut door).await?;
    door.commit().await?;
    Ok(processes)
}

/// Runs `work` and tells the most that the server took meanwhile, in bytes.
///
/// # Errors
/// Those of the work.
pub(super) async fn peak_of<T>(
    lab: &Lab,
    work: impl Future<Output = Result<T, Fault>>,
) -> Result<(T, u64), Fault> {
    let (peak, over) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let look = async {
        while !over.load(Ordering::Relaxed) {
            if let Ok(bytes) = server(lab).await {
                peak.fetch_max(bytes, Ordering::Relaxed);
            }
            tokio::time::sleep(LOOKS).await;
        }
    };
    let work = async {
        let done = work.await;
        over.store(true, Ordering::Relaxed);
        done
    };
    let (done, ()) = tokio::join!(work, look);
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
        assert_eq!(kilobytes(path, "Pss"), 7 * 1024);
        assert_eq!(kilobytes(path, "Swap"), 0);
        assert_eq!(kilobytes("/nowhere", "Pss"), 0);
    }
}
