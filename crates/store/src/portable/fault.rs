//! Translates SQLite's errors into faults.

use rusqlite::ErrorCode as Sqlite;

use contract::{ErrorCode, Fault};

use crate::postgres::OrFault;

impl<T> OrFault<T> for Result<T, rusqlite::Error> {
    fn or_fault(self) -> Result<T, Fault> {
        self.map_err(fault)
    }
}

/// The fault for an error of SQLite.
pub(super) fn fault(error: rusqlite::Error) -> Fault {
    let fault = match error.sqlite_error_code() {
        Some(Sqlite::OperationInterrupted) => {
            Fault::new(ErrorCode::Cancelled, "The work on the portable file was cancelled.")
        }
        Some(Sqlite::DiskFull) => {
            Fault::new(ErrorCode::StorageUnavailable, "The disk of the portable file is full.")
                .with_hint("Free disk space and run again; the previous file is intact.")
        }
        Some(
            Sqlite::SystemIoFailure
            | Sqlite::PermissionDenied
            | Sqlite::ReadOnly
            | Sqlite::CannotOpen
            | Sqlite::DatabaseBusy
            | Sqlite::DatabaseLocked,
        ) => inaccessible(),
        Some(Sqlite::DatabaseCorrupt | Sqlite::NotADatabase | Sqlite::TooBig | Sqlite::SchemaChanged) => {
            unusable("its pages are damaged")
        }
        _ => unusable("its content is malformed"),
    };
    fault.with_source(error)
}

/// The fault for a file that the system does not let this process use.
pub(super) fn inaccessible() -> Fault {
    Fault::new(ErrorCode::StorageUnavailable, "The portable file cannot be read or written.")
        .with_hint("Check its folder, its permissions and the disk.")
}

/// The fault for an unusable portable index; `why` completes the sentence of its message.
pub(super) fn unusable(why: &str) -> Fault {
    Fault::new(ErrorCode::SchemaValidationFailed, format!("The file is not a usable portable index: {why}."))
        .with_hint("Build it again with `build_sqlite_index`, or copy it again from where it was made.")
}
