//! The faults of downloads. None contains a password: URLs are shown without user, password and query.

use std::error::Error;
use std::fmt;
use std::io;

use reqwest::StatusCode;
use serde_json::json;

use super::{HttpError, Url};
use contract::{ErrorCode, Fault};

/// The source of faults that another attempt may overcome; [`is_transient`] recognises them by it.
#[derive(Debug)]
struct Transient;

impl fmt::Display for Transient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the network or the server failed for a moment")
    }
}

impl Error for Transient {}

/// Checks whether another attempt within seconds may succeed: a cut connection, silence, or an overloaded server.
#[must_use]
pub fn is_transient(fault: &Fault) -> bool {
    fault.source.as_ref().is_some_and(|source| source.is::<Transient>())
}

/// Returns the URL without user, password and query, which may be secret.
#[must_use]
pub fn display_url(url: &Url) -> String {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{}{port}{}", url.scheme(), url.host_str().unwrap_or_default(), url.path())
}

/// Returns the fault for a URL that could not be fetched; `reason` completes "could not be downloaded: ".
pub(super) fn not_downloaded(url: &Url, reason: &str) -> Fault {
    let message = format!("`{}` could not be downloaded: {reason}.", display_url(url));
    let mut fault = Fault::new(ErrorCode::CapabilityMissing, message)
        .with_hint("Check the URL and whether this machine can reach it, and try again.");
    fault.retryable = true;
    fault
}

/// Like [`not_downloaded`], if another attempt may succeed.
pub(super) fn interrupted(url: &Url, reason: &str) -> Fault {
    not_downloaded(url, reason).with_source(Transient)
}

/// Returns the fault for a connection that failed.
pub(super) fn failed_connection(url: &Url, error: HttpError) -> Fault {
    match error {
        // No program listens there, and that will not change within seconds.
        HttpError::Refused | HttpError::Certificate(_) => not_downloaded(url, &error.to_string()),
        _ => interrupted(url, &error.to_string()),
    }
}

/// Returns the fault for an unexpected status.
pub(super) fn unexpected_status(url: &Url, status: StatusCode) -> Fault {
    let reason = format!("the server sent status {}", status.as_u16());
    let is_temporary = status.is_server_error() && status != StatusCode::NOT_IMPLEMENTED;
    if is_temporary || [StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_MANY_REQUESTS].contains(&status) {
        return interrupted(url, &reason);
    }
    let fault = not_downloaded(url, &reason);
    match status.as_u16() {
        401 | 403 => {
            fault.with_hint("The server wants other credentials, or does not let this user have the file.")
        }
        407 => fault.with_hint("The proxy wants credentials: write them into the proxy's URL."),
        _ => fault,
    }
}

pub(super) fn too_large(url: &Url, bytes_max: u64) -> Fault {
    Fault::new(
        ErrorCode::ArchiveTooLarge,
        format!("`{}` is larger than the limit of {bytes_max} bytes for a download.", display_url(url)),
    )
    .with_hint("Use a smaller file, or raise the limit in the configuration.")
    .with_details(json!({ "bytesMax": bytes_max }))
}

/// Returns the fault for a download that is not the file whose size and hash are known; `reason` completes the sentence.
pub(super) fn unexpected_file(url: &Url, reason: &str) -> Fault {
    Fault::new(
        ErrorCode::DownloadVerifyFailed,
        format!("`{}` is not the expected file: {reason}.", display_url(url)),
    )
    .with_hint("The server, or a proxy on the way, sends another file; ask its operator.")
}

pub(super) fn timed_out(url: &Url, timeout_ms: u64) -> Fault {
    Fault::new(ErrorCode::ToolTimeout, format!("The download of `{}` timed out.", display_url(url)))
        .with_hint("Call again: the download resumes, if the server supports that.")
        .with_details(json!({ "timeoutMs": timeout_ms }))
}

/// Returns the fault for a failed write; `bytes_missing` are those still to be written, if known.
pub(super) fn io_fault(error: io::Error, bytes_missing: Option<u64>) -> Fault {
    if error.kind() == io::ErrorKind::StorageFull {
        let needed = bytes_missing.map_or(String::new(), |bytes| format!(": {bytes} more bytes are needed"));
        return Fault::new(ErrorCode::StorageUnavailable, format!("The disk is full{needed}."))
            .with_hint("Free disk space and call again: the download resumes, if the server supports that.")
            .with_source(error);
    }
    Fault::internal(format!("The download could not be written: {}.", error.kind()), error)
        .with_hint("Check that the disk has free space and that this user may write to it.")
}
