//! Obtains one verified wheel: the kept download, else from the given folder, else by pip.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::manifest::{Asset, Wheel};
use super::progress::AssetReporter;
use super::{faults, pip};
use contract::Fault;
use platform::room::Room;
use platform::sha256;

/// Where the files of assets come from and where they are kept.
pub(super) struct DownloadSources<'a> {
    /// The Python that runs pip.
    pub(super) python: &'a str,
    /// Verified files are kept here, so that a repair or another variant needs no network.
    pub(super) downloads: &'a Path,
    /// A folder with the files; if given, nothing is downloaded.
    pub(super) from: Option<&'a Path>,
    /// Time limit of one download, milliseconds.
    pub(super) download_ms: u64,
    /// The file systems that must keep room.
    pub(super) room: Room,
}

/// The path of a wheel with the manifest's sha256. The caller holds the lock of the downloads folder.
///
/// # Errors
/// `CAPABILITY_MISSING` if it cannot be had, `DOWNLOAD_VERIFY_FAILED` if it is another file.
pub(super) fn obtain(
    sources: &DownloadSources<'_>,
    asset: &Asset,
    wheel: &Wheel,
    report: AssetReporter<'_>,
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
    let result = copy_or_download(sources, asset, wheel, &scratch, report).and_then(|file| {
        report.step("verifying");
        verify(&file, asset, wheel, report)?;
        fs::rename(&file, &kept).map_err(|e| faults::io("keep a download", e))
    });
    // The result of the download is what counts; the next one clears the folder again.
    let _ = remove_folder(&scratch);
    result.map(|()| kept)
}

fn copy_or_download(
    sources: &DownloadSources<'_>,
    asset: &Asset,
    wheel: &Wheel,
    scratch: &Path,
    report: AssetReporter<'_>,
) -> Result<PathBuf, Fault> {
    let Some(folder) = sources.from else {
        report.step("downloading");
        return pip::download(sources, asset, wheel, scratch, report);
    };
    report.step("copying");
    let given = find_in_folder(folder, asset, wheel)?;
    let copy = scratch.join(&wheel.file);
    fs::copy(&given, &copy).map_err(|e| faults::io("copy a given file", e))?;
    Ok(copy)
}

/// Compares the wheel in a given folder with the manifest.
///
/// # Errors
/// `CAPABILITY_MISSING` if it is not there, `DOWNLOAD_VERIFY_FAILED` if it is another file.
pub(super) fn verify_in_folder(
    folder: &Path,
    asset: &Asset,
    wheel: &Wheel,
    report: AssetReporter<'_>,
) -> Result<(), Fault> {
    let given = find_in_folder(folder, asset, wheel)?;
    report.step("verifying the given file");
    verify(&given, asset, wheel, report)
}

fn find_in_folder(folder: &Path, asset: &Asset, wheel: &Wheel) -> Result<PathBuf, Fault> {
    let file = folder.join(&wheel.file);
    if file.is_file() {
        Ok(file)
    } else {
        Err(faults::not_fetched(asset, wheel, "the given folder lacks it."))
    }
}

fn verify(file: &Path, asset: &Asset, wheel: &Wheel, report: AssetReporter<'_>) -> Result<(), Fault> {
    let actual = hash_file(file, wheel.bytes, report)?;
    if actual == wheel.sha256 { Ok(()) } else { Err(faults::wrong_checksum(asset, wheel, &actual)) }
}

/// The sha256 of a file of about `bytes` bytes, in hexadecimal; progress is reported.
pub(super) fn hash_file(file: &Path, bytes: u64, report: AssetReporter<'_>) -> Result<String, Fault> {
    File::open(file)
        .and_then(|file| sha256::hash_reader(file, |done| report.progress(done, Some(bytes))))
        .map(|(hash, _)| hash)
        .map_err(|e| faults::io("read a download", e))
}

/// Removes a folder with everything in it; one that does not exist is fine.
pub(super) fn remove_folder(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}
