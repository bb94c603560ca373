//! Brings one verified file of the operator's own manifest: the kept download, else the given folder, else its address.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;

use super::faults;
use super::fetch::{self, Sources};
use super::own_models::{self, OwnFile};
use super::progress::Reporter;
use contract::{ErrorCode, Fault};
use platform::outbound::{self, Download, Fetched};

/// Redirects that are followed: model hubs send to where the bytes lie.
const REDIRECTS_MAX: usize = 5;
/// How often a running download looks whether it shall stop.
const CANCEL_POLL: Duration = Duration::from_millis(100);
/// Digits of the sha256 that stand before a kept file's name, so that files of one name keep apart.
const DIGITS: usize = 16;

/// The file with exactly the manifest's bytes. Must be called by one process at a time, on a thread that may block.
///
/// # Errors
/// `CAPABILITY_MISSING` if it cannot be had, `DOWNLOAD_VERIFY_FAILED` if it is another file.
pub(super) fn obtain(sources: &Sources<'_>, file: &OwnFile, report: Reporter<'_>) -> Result<PathBuf, Fault> {
    let name = file.name();
    let kept = sources.downloads.join(format!("{}-{name}", file.sha256.get(..DIGITS).unwrap_or_default()));
    if kept.is_file() {
        report.step("verifying the kept download");
        if verify(&kept, file, report).is_ok() {
            return Ok(kept);
        }
        fs::remove_file(&kept).map_err(|e| faults::io("remove a damaged download", e))?;
    }
    report.go_on()?;
    match sources.from {
        Some(folder) => import(&folder.join(name), &kept, file, report)?,
        None => download(&kept, sources, file, report)?,
    }
    Ok(kept)
}

/// Compares a file in a given folder with the manifest.
///
/// # Errors
/// `CAPABILITY_MISSING` if it is not there, `DOWNLOAD_VERIFY_FAILED` if it is another file.
pub(super) fn compare_given(folder: &Path, file: &OwnFile, report: Reporter<'_>) -> Result<(), Fault> {
    let given = folder.join(file.name());
    if !given.is_file() {
        return Err(own_models::lacks(file.name()));
    }
    report.step("verifying the given file");
    verify(&given, file, report)
}

/// Copies a given file aside, and keeps it once it is verified.
fn import(given: &Path, kept: &Path, file: &OwnFile, report: Reporter<'_>) -> Result<(), Fault> {
    if !given.is_file() {
        return Err(own_models::lacks(file.name()));
    }
    report.step("copying");
    let aside = kept.with_added_extension("copy");
    fs::copy(given, &aside).map_err(|e| faults::io("copy a given file", e))?;
    report.step("verifying");
    let verified = verify(&aside, file, report);
    if verified.is_ok() {
        fs::rename(&aside, kept).map_err(|e| faults::io("keep a file", e))?;
    } else {
        // That the copy cannot be removed is not the news.
        let _ = fs::remove_file(&aside);
    }
    verified
}

/// Downloads, going on where an earlier attempt was cut off.
fn download(kept: &Path, sources: &Sources<'_>, file: &OwnFile, report: Reporter<'_>) -> Result<(), Fault> {
    let url = outbound::http_url(&file.url).map_err(|problem| {
        faults::missing(format!("{} cannot be fetched: {problem}.", file.name()), "Correct its url.")
    })?;
    let wanted = Download {
        url,
        bytes_max: file.bytes,
        timeout_ms: sources.download_ms,
        redirects_max: REDIRECTS_MAX,
        resume: true,
        etag: None,
        last_modified: None,
        room: sources.room.clone(),
    };
    report.step("downloading");
    let runtime = tokio::runtime::Handle::try_current()
        .map_err(|e| Fault::internal("A download needs the program's own threads.", e))?;
    let on_progress = |done, total: Option<u64>| report.progress(done, total.or(Some(file.bytes)));
    let fetched = runtime.block_on(async {
        let stopped = async {
            while report.go_on().is_ok() {
                tokio::time::sleep(CANCEL_POLL).await;
            }
        };
        tokio::select! {
            fetched = outbound::download(&wanted, kept, &on_progress) => fetched,
            () = stopped => report.go_on().map(|()| Fetched::NotModified),
        }
    })?;
    match fetched {
        Fetched::New { sha256, .. } if sha256 == file.sha256 => Ok(()),
        Fetched::New { sha256, .. } => {
            fs::remove_file(kept).map_err(|e| faults::io("remove a wrong download", e))?;
            Err(another_file(file, &sha256))
        }
        Fetched::NotModified => {
            Err(Fault::internal("A download ended without a file.", file.name().to_owned()))
        }
    }
}

fn verify(path: &Path, file: &OwnFile, report: Reporter<'_>) -> Result<(), Fault> {
    let reading = |e| faults::io("read a download", e);
    let opened = File::open(path).map_err(reading)?;
    let sha256 = fetch::sha256(opened, |done| report.progress(done, Some(file.bytes))).map_err(reading)?;
    if sha256 == file.sha256 { Ok(()) } else { Err(another_file(file, &sha256)) }
}

fn another_file(file: &OwnFile, actual: &str) -> Fault {
    let message = format!("The file {} is not the expected one: its sha256 differs.", file.name());
    Fault::new(ErrorCode::DownloadVerifyFailed, message)
        .with_hint("Compare the manifest with what the model's author publishes; if it is right, the file was altered on its way.")
        .with_details(json!({ "file": file.name(), "expected": file.sha256, "actual": actual }))
}
