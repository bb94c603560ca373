//! Errors of the embedded server, each with a remedy.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use contract::{ErrorCode, Fault};

/// Texts in the server's log and the hint for each; the first match is used.
const REMEDIES: [(&str, &str); 6] = [
    (
        "No space left on device",
        "The disk of the embedded Postgres is full: free some space there and try again; what was committed is kept.",
    ),
    (
        "Permission denied",
        "The server may not access its files: check the permissions of the data directory's parents.",
    ),
    (
        "incompatible with server",
        "Another Postgres version created this cluster: move its data directory away and index again.",
    ),
    (
        "could not map anonymous shared memory",
        "There is too little memory: lower embedded.shared_buffers_mb.",
    ),
    (
        "could not access file",
        "Files of the server are missing: run `pairofcleats bootstrap` to install them again.",
    ),
    (
        "cannot open shared object",
        "Files of the server are missing: run `pairofcleats bootstrap` to install them again.",
    ),
];

const RUN_DOCTOR: &str = "Run `pairofcleats doctor`, which checks the embedded Postgres.";

pub(super) fn unavailable(message: impl Into<String>) -> Fault {
    Fault::new(ErrorCode::StorageUnavailable, message)
}

/// The fault for a failed file operation; `what` completes "could not …", for example "open its log".
pub(super) fn io(what: &str, path: &Path, error: io::Error) -> Fault {
    let hint = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => REMEDIES[0].1,
        io::ErrorKind::PermissionDenied => {
            "Start as the user who owns the installation, or set PAIROFCLEATS_HOME to a directory of your own."
        }
        io::ErrorKind::ReadOnlyFilesystem => "Set PAIROFCLEATS_HOME to a directory that can be written.",
        _ => RUN_DOCTOR,
    };
    unavailable(format!("The embedded Postgres could not {what}: {}.", error.kind()))
        .with_hint(hint)
        .with_details(json!({ "path": path.display().to_string(), "cause": error.to_string() }))
        .with_source(error)
}

/// The fault for a server, or one of its programs, that failed; `log` has its last lines and decides the hint.
pub(super) fn from_log(message: impl Into<String>, log: &[String]) -> Fault {
    let remedy = REMEDIES
        .iter()
        .find(|(sign, _)| log.iter().any(|line| line.contains(sign)))
        .map_or(RUN_DOCTOR, |(_, remedy)| *remedy);
    unavailable(message).with_hint(remedy).with_details(json!({ "log": log }))
}

/// Replaces the hint of `fault` by the one for a full disk.
pub(super) fn with_disk_full_hint(fault: Fault) -> Fault {
    fault.with_hint(REMEDIES[0].1)
}

/// Returns `true` if the fault was recognised as a full disk.
pub(super) fn is_disk_full(fault: &Fault) -> bool {
    fault.hint.as_deref() == Some(REMEDIES[0].1)
}

/// A fault as the supervisor sends it, in JSON, to the process that started it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FaultMessage {
    message: String,
    hint: Option<String>,
    details: Option<Value>,
}

impl From<Fault> for FaultMessage {
    fn from(fault: Fault) -> Self {
        Self { message: fault.message, hint: fault.hint, details: fault.details }
    }
}

impl From<FaultMessage> for Fault {
    fn from(sent: FaultMessage) -> Self {
        let FaultMessage { message, hint, details } = sent;
        Self { hint, details, ..unavailable(message) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_decides_the_hint() {
        let full = ["LOG:  x".to_owned(), "PANIC:  could not write: No space left on device".to_owned()];
        assert_eq!(from_log("It failed.", &full).hint.as_deref(), Some(REMEDIES[0].1));
        assert_eq!(from_log("It failed.", &[]).hint.as_deref(), Some(RUN_DOCTOR));
    }
}
