//! Turns error messages of git into faults that say what to do.

use contract::{ErrorCode, Fault, RepositoryAddress, escaped_line, truncate_chars};
use platform::process::ProgramOutput;

/// Longest message of git that details contain, in characters.
const SHOWN_CHARS_MAX: usize = 300;
/// Lines of git's messages that are examined.
const LINES_READ: usize = 50;

/// The kinds of failures that git's messages distinguish. The messages are stable enough for this (`LC_ALL=C`); unrecognised ones are shown
/// unchanged.
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
    NoSsh,
    TooMuchMemory,
    OtherFormat,
    /// A branch or a tag, or the object that it refers to, is gone.
    ReferenceGone,
    Other,
}

/// Parts of messages in lower case, the most specific first.
const MESSAGES: &[(&str, Failure)] = &[
    // First, because the message continues with the name of a reference, which may be any text.
    ("couldn't find remote ref", Failure::ReferenceGone),
    ("not our ref", Failure::ReferenceGone),
    ("ssh: not found", Failure::NoSsh),
    ("cannot run ssh", Failure::NoSsh),
    ("mismatched algorithms", Failure::OtherFormat),
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
    ("over limit", Failure::TooMuchMemory),
    ("out of memory", Failure::TooMuchMemory),
    ("no route to host", Failure::Unreachable),
    ("network is unreachable", Failure::Unreachable),
    ("broken pipe", Failure::Unreachable),
    ("non-properly terminated", Failure::Unreachable),
    ("connection closed", Failure::Unreachable),
    ("could not read from remote repository", Failure::Unreachable),
];

/// Determines the kind of failure that a failed command reports. `url` is the address as the command had it, which messages quote.
pub(super) fn failure(output: &ProgramOutput, url: &str) -> Failure {
    let text = own_lines(output).join("\n").to_lowercase();
    let url = url.to_lowercase();
    // A name such as `redirect-service` must not be mistaken for a cause.
    let text = text.replace(&url, "").replace(url.trim_end_matches(".git"), "");
    let path =
        url.split_once("://").and_then(|(_, rest)| rest.find('/').map(|slash| &rest[slash..])).unwrap_or("/");
    let text = text.replace(path, "");
    let found = MESSAGES.iter().find(|(part, _)| text.contains(part));
    found.map_or(Failure::Other, |(_, failure)| *failure)
}

/// Returns the lines that git and SSH wrote, without the lines of the host and warnings about files of this machine.
fn own_lines(output: &ProgramOutput) -> Vec<String> {
    let lines = output.stderr_tail(LINES_READ);
    let is_own = |line: &&str| {
        let line = line.to_lowercase();
        !line.starts_with("remote:") && !line.starts_with("warning:")
    };
    lines.lines().filter(is_own).map(str::to_owned).collect()
}

/// Returns the fault for a failed command. `url` is the address as the command had it.
pub(super) fn fault(output: &ProgramOutput, address: &RepositoryAddress, url: &str) -> Fault {
    let failure = failure(output, url);
    let (code, message, hint) = describe(failure, address);
    // Contains no credentials, because addresses and arguments have none.
    let lines = own_lines(output);
    tracing::debug!(address = address.as_str(), stderr = lines.join("\n"), "git failed");
    let mut fault = Fault::new(code, message).with_hint(hint);
    fault.retryable &= failure != Failure::Other;
    let last = lines.iter().rev().find(|line| line.starts_with("fatal:")).or(lines.last());
    // Messages about a directory contain paths of this machine.
    match last.filter(|_| address.local_directory().is_none()) {
        Some(line) => {
            let line = truncate_chars(escaped_line(line), SHOWN_CHARS_MAX);
            fault.with_details(serde_json::json!({ "git": line }))
        }
        None => fault,
    }
}

/// Returns the code, the message and the hint for a failure.
#[expect(clippy::too_many_lines, reason = "one arm for each failure")]
fn describe(failure: Failure, address: &RepositoryAddress) -> (ErrorCode, String, &'static str) {
    let host = match address.host() {
        "" => "The directory".to_owned(),
        host => host.to_owned(),
    };
    match failure {
        Failure::NotFound => (
            ErrorCode::RepoNotFound,
            format!("There is no repository {address}, or it may not be read without credentials."),
            "Check the address; credentials of hosts belong in git.credentials.",
        ),
        Failure::Refused => (
            ErrorCode::Forbidden,
            format!("{host} refused access to {address}."),
            "Ask the operator to configure credentials that may read it in git.credentials, or to renew those that expired.",
        ),
        Failure::Moved => (
            ErrorCode::RepoNotFound,
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
        Failure::NoSsh => (
            ErrorCode::ToolchainMissing,
            "`ssh` is not installed, which addresses with ssh:// need.".to_owned(),
            "Install an SSH client on the server, or give the https address.",
        ),
        Failure::TooMuchMemory => (
            ErrorCode::InvalidRequest,
            format!("{address} needs more memory than git is given."),
            "Index a clone of the part that is needed.",
        ),
        Failure::OtherFormat => (
            ErrorCode::InvalidRequest,
            format!("{address} uses another object format than SHA-1, which is not supported."),
            "Index a clone of it in the format SHA-1.",
        ),
        Failure::ReferenceGone => (
            ErrorCode::CommitServiceError,
            format!("{address} changed while it was fetched."),
            "Try again; what was indexed stays searchable.",
        ),
        Failure::Other => (
            ErrorCode::CommitServiceError,
            format!("{address} could not be fetched."),
            "The details have git's message.",
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use super::*;

    fn recognised(stderr: &str) -> Failure {
        let stderr = stderr.as_bytes().to_vec();
        let output = ProgramOutput { status: ExitStatus::from_raw(128 << 8), stdout: Vec::new(), stderr };
        failure(&output, "https://host/acme/shop.git")
    }

    #[test]
    fn the_name_of_a_reference_does_not_say_what_failed() {
        for name in ["refs/heads/redirect-certificate", "refs/tags/not found", "refs/heads/ssh: not found"] {
            let message = format!("fatal: couldn't find remote ref {name}\n");
            assert_eq!(recognised(&message), Failure::ReferenceGone, "{name}");
        }
        assert_eq!(recognised("fatal: remote error: upload-pack: not our ref 01\n"), Failure::ReferenceGone);
        assert_eq!(recognised("fatal: repository 'x' not found\n"), Failure::NotFound);
        assert_eq!(recognised("remote: couldn't find remote ref x\nfatal: nonsense\n"), Failure::Other);
    }
}
