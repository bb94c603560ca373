//! Maps errors of the file system to faults with a remedy.

use std::io;

use contract::{ErrorCode, Fault};

/// Returns the fault for an `error` of the action that `action` names, for example `remove a file`: `PERMISSION_DENIED`
/// for missing permissions or a read-only mount, `STORAGE_UNAVAILABLE` for a full disk, `INTERNAL` otherwise.
pub(crate) fn disk_fault(action: &str, error: io::Error) -> Fault {
    let fault = match error.kind() {
        io::ErrorKind::PermissionDenied => {
            Fault::new(ErrorCode::PermissionDenied, format!("The server may not {action} of the project."))
                .with_hint(
                    "Give the server's user the project's folder below its data directory, then call again.",
                )
        }
        io::ErrorKind::StorageFull => Fault::new(
            ErrorCode::StorageUnavailable,
            format!("The server could not {action}: the disk is full."),
        )
        .with_hint("Free disk space and call again; unfinished files were removed."),
        io::ErrorKind::ReadOnlyFilesystem => Fault::new(
            ErrorCode::PermissionDenied,
            format!("The server could not {action}: the file system is read-only."),
        )
        .with_hint("Mount it for writing, or name a path on another file system."),
        _ => return Fault::internal(format!("The server could not {action}."), error),
    };
    fault.with_source(error)
}
