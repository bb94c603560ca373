//! What git says when it fails, as a fault that says what to do.

use contract::{ErrorCode, Fault, RepositoryAddress};
use platform::process::ProgramOutput;

/// Lines of git's messages that details contain.
const LINES_SHOWN: usize = 5;

/// The kinds of failures that git's messages tell apart. Its messages are stable enough for this (`LC_ALL=C`); what is not
/// recognised is shown as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failure {
    NotFound,
    Refused,
    Moved,
    UnknownHost,
    Unreachable,
    Certificate,
    HostKey,
    DiskFull,
    Other,
}

/// Parts of messages in lower case, the most specific first.
const MESSAGES: &[(&str, Failure)] = &[
    ("no space left on device", Failure::DiskFull),
    ("disk quota exceeded", Failure::DiskFull),
    ("host key verification failed", Failure::HostKey),
    ("certificate", Failure::Certificate),
    ("redirect", Failure::Moved),
    ("returned error: 30", Failure::Moved),
    ("authentication failed", Failure::Refused),
    ("could not read username", Failure::Refused),
    ("could not read password", Failure::Refused),
    ("permission denied", Failure::Refused),
    ("returned error: 401", Failure::Refused),
    ("returned error: 403", Failure::Refused),
    ("access denied", Failure::Refused),
    ("could not resolve host", Failure::UnknownHost),
    ("name or service not known", Failure::UnknownHost),
    ("not found", Failure::NotFound),
    ("returned error: 404", Failure::NotFound),
    ("returned error: 410", Failure::NotFound),
    ("does not appear to be a git repository", Failure::NotFound),
    ("does not exist", Failure::NotFound),
    ("no such file or directory", Failure::NotFound),
    ("failed to connect", Failure::Unreachable),
    ("connection refused", Failure::Unreachable),
    ("connection timed out", Failure::Unreachable),
    ("connection reset", Failure::Unreachable),
    ("returned error: 429", Failure::Unreachable),
    ("returned error: 5", Failure::Unreachable),
    ("operation too slow", Failure::Unreachable),
    ("early eof", Failure::Unreachable),
    ("hung up", Failure::Unreachable),
    ("transfer closed", Failure::Unreachable),
    ("unexpected disconnect", Failure::Unreachable),
    ("empty reply", Failure::Unreachable),
];

/// The kind of failure that a failed command reports.
pub(super) fn failure(output: &ProgramOutput) -> Failure {
    let text = String::from_utf8_lossy(&output.stderr).to_lowercase();
    let found = MESSAGES.iter().find(|(part, _)| text.contains(part));
    found.map_or(Failure::Other, |(_, failure)| *failure)
}

/// The fault for a failed command.
pub(super) fn fault(output: &ProgramOutput, address: &RepositoryAddress) -> Fault {
    let host = match address.host() {
        "" => "The directory".to_owned(),
        host => host.to_owned(),
    };
    let repo_not_found = ErrorCode::RepoNotFound;
    let (code, message, hint) = match failure(output) {
        Failure::NotFound => (
            repo_not_found,
            format!("There is no repository {address}, or it may not be read without credentials."),
            "Check the address; credentials of hosts belong in git.credentials.",
        ),
        Failure::Refused => (
            ErrorCode::Forbidden,
            format!("{host} refused access to {address}."),
            "Ask the operator to configure credentials that may read it in git.credentials, or to renew those that expired.",
        ),
        Failure::Moved => (
            repo_not_found,
            format!("{host} answered for {address} with a redirection, which is not followed."),
            "The repository may have moved: give its new address.",
        ),
        Failure::UnknownHost => (
            ErrorCode::CommitServiceError,
            format!("The host of {address} is not known."),
            "Check the address and the network of the server.",
        ),
        Failure::Unreachable => (
            ErrorCode::CommitServiceError,
            format!("{address} could not be fetched: the connection failed, or the host had a problem."),
            "Try again later; what was indexed stays searchable.",
        ),
        Failure::Certificate => (
            ErrorCode::CommitServiceError,
            format!("The certificate of {host} is not trusted."),
            "Install the certificate of its authority, or name it in SSL_CERT_FILE.",
        ),
        Failure::HostKey => (
            ErrorCode::CommitServiceError,
            format!("The SSH key of {host} is not known."),
            "Add it to the known_hosts file of the server's user, for example with ssh-keyscan after comparing its fingerprint.",
        ),
        Failure::DiskFull => (
            ErrorCode::StorageUnavailable,
            "The mirror of the repository could not be written: the disk is full.".to_owned(),
            "Free disk space, then try again.",
        ),
        Failure::Other => (
            ErrorCode::CommitServiceError,
            format!("{address} could not be fetched."),
            "The details have git's message.",
        ),
    };
    // Contains no credentials, because addresses and arguments have none.
    let said = output.stderr_tail(LINES_SHOWN);
    tracing::debug!(address = address.as_str(), said, "git failed");
    Fault::new(code, message).with_hint(hint).with_details(serde_json::json!({ "git": said }))
}
