//! Obtains one verified file of a custom model: from the kept downloads, else from the folder of `--from`, else by
//! download.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::custom_models::{self, CustomFile};
use super::faults;
use super::progress::AssetReporter;
use super::wheels::{DownloadSources, hash_file};
use contract::{ErrorCode, Fault};
use platform::outbound::{self, DownloadOutcome, DownloadRequest};

/// Redirects that are followed: model hubs redirect to a content network.
const REDIRECTS_MAX: usize = 5;
/// Digits of the sha256 that prefix a kept file's name, because files of different models have the same names.
const HASH_PREFIX_DIGITS: usize = 16;

/// Returns the path of the file, with the sha256 of its manifest. The caller holds the lock of the downloads folder.
/// Blocks.
///
/// # Errors
/// `CAPABILITY_MISSING` if the file is not available, `DOWNLOAD_VERIFY_FAILED` if its sha256 differs.
pub(super) fn obtain(
    sources: &DownloadSources<'_>,
    file: &CustomFile,
    report: AssetReporter<'_>,
) -> Result<PathBuf, Fault> {
    let name = file.name();
    let kept = sources
        .downloads
        .join(format!("{}-{name}", file.sha256.get(..HASH_PREFIX_DIGITS).unwrap_or_default()));
    if kept.is_file() {
        report.step("verifying the kept download");
        if verify(&kept, file, report).is_ok() {
            return Ok(kept);
        }
        fs::remove_file(&kept).map_err(|e| faults::io("remove a damaged download", e))?;
    }
    report.check_cancelled()?;
    match sources.from {
        Some(folder) => copy_from_folder(&folder.join(name), &kept, file, report)?,
        None => download(&kept, sources, file, report)?,
    }
    Ok(kept)
}

/// Compares a file in the folder of `--from` with the manifest.
///
/// # Errors
/// `CAPABILITY_MISSING` if the folder lacks the file, `DOWNLOAD_VERIFY_FAILED` if its sha256 differs.
pub(super) fn verify_in_folder(
    folder: &Path,
    file: &CustomFile,
    report: AssetReporter<'_>,
) -> Result<(), Fault> {
    let given = folder.join(file.name());
    if !given.is_file() {
        return Err(custom_models::missing_in_folder(file.name()));
    }
    report.step("verifying the given file");
    verify(&given, file, report)
}

/// Copies a given file into the downloads folder, and keeps the copy if it is the expected file.
fn copy_from_folder(
    given: &Path,
    kept: &Path,
    file: &CustomFile,
    report: AssetReporter<'_>,
) -> Result<(), Fault> {
    if !given.is_file() {
        return Err(custom_models::missing_in_folder(file.name()));
    }
    report.step("copying");
    let copy = kept.with_added_extension("copy");
    fs::copy(given, &copy).map_err(|e| faults::io("copy a given file", e))?;
    report.step("verifying");
    let verified = verify(&copy, file, report);
    if verified.is_ok() {
        fs::rename(&copy, kept).map_err(|e| faults::io("keep a file", e))?;
    } else {
        // The error to report is that of the verification.
        let _ = fs::remove_file(&copy);
    }
    verified
}

/// Downloads the file; resumes an interrupted download.
fn download(
    kept: &Path,
    sources: &DownloadSources<'_>,
    file: &CustomFile,
    report: AssetReporter<'_>,
) -> Result<(), Fault> {
    let url = outbound::http_url(&file.url).map_err(|problem| {
        faults::missing(format!("{} cannot be fetched: {problem}.", file.name()), "Correct its url.")
    })?;
    let request = DownloadRequest {
        url,
        bytes_max: file.bytes,
        expected: None,
        timeout_ms: sources.download_ms,
        redirects_max: REDIRECTS_MAX,
        resume: true,
        etag: None,
        last_modified: None,
        disk_space: sources.disk_space.clone(),
    };
    report.step("downloading");
    let on_progress = |done, total: Option<u64>| report.progress(done, total.or(Some(file.bytes)));
    let fetched = sources.until_cancelled(report, outbound::download(&request, kept, &on_progress))?;
    match fetched {
        DownloadOutcome::New { sha256, .. } if sha256 == file.sha256 => Ok(()),
        DownloadOutcome::New { sha256, .. } => {
            fs::remove_file(kept).map_err(|e| faults::io("remove a wrong download", e))?;
            Err(wrong_checksum(file, &sha256))
        }
        DownloadOutcome::NotModified => {
            Err(Fault::internal("A download ended without a file.", file.name().to_owned()))
        }
    }
}

fn verify(path: &Path, file: &CustomFile, report: AssetReporter<'_>) -> Result<(), Fault> {
    let sha256 = hash_file(path, file.bytes, report)?;
    if sha256 == file.sha256 { Ok(()) } else { Err(wrong_checksum(file, &sha256)) }
}

fn wrong_checksum(file: &CustomFile, actual: &str) -> Fault {
    let message = format!("The file {} is not the expected one: its sha256 differs.", file.name());
    Fault::new(ErrorCode::DownloadVerifyFailed, message)
        .with_hint("Compare the manifest with what the model's author publishes; if it is right, the file was altered on its way.")
        .with_details(json!({ "file": file.name(), "expected": file.sha256, "actual": actual }))
}
