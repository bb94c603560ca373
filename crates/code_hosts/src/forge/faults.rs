//! The faults of publishing that all forges have in common, including the one on this machine.

use contract::{ErrorCode, Fault};
use serde_json::json;

/// Creates a `COMMIT_SERVICE_ERROR` that another attempt does not cure.
pub fn not_retryable(message: impl Into<String>) -> Fault {
    Fault { retryable: false, ..Fault::new(ErrorCode::CommitServiceError, message) }
}

/// Returns the fault of a branch that was created or changed by others.
#[must_use]
pub fn foreign_branch(branch: &str) -> Fault {
    not_retryable(format!("The site has a branch `{branch}` with another content."))
        .with_details(json!({ "branch": branch }))
        .with_hint("Look at the branch; if it is not needed, delete it and call again.")
}

/// Returns the fault of a base that is no longer at the commit that the run began with.
#[must_use]
pub fn base_moved(base: &str, expected: &str, found: Option<&str>) -> Fault {
    let (what, hint) = match found {
        Some(_) => (
            "moved since the run began",
            "Cancel this run and start another one, which begins with the new commit.",
        ),
        None => (
            "is gone, or cannot be seen any more",
            "The operator checks `base` of the site profile and, with a forge, `repo` and that the token may see it.",
        ),
    };
    not_retryable(format!("The branch `{base}` of the site {what}."))
        .with_details(json!({ "base": base, "expected": expected, "found": found }))
        .with_hint(hint)
}

/// Checks if a fault says that a base moved to another commit.
#[must_use]
pub fn is_base_moved(fault: &Fault) -> bool {
    let details = fault.details.as_ref();
    let has_commit = |key: &str| details.is_some_and(|details| details[key].is_string());
    fault.code == ErrorCode::CommitServiceError && has_commit("expected") && has_commit("found")
}

/// Returns the fault of a forge that did not create the same object from the files as this program.
pub(super) fn other_content(what: &str) -> Fault {
    not_retryable(format!("The forge made another {what} of the files of the run.")).with_hint(
        "A program between here and the forge may change what is sent; nothing was opened for review.",
    )
}
