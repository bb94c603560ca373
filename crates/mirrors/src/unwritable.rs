//! The fault for a mirror of a repository that cannot be written.

use std::io;

use contract::{ErrorCode, Fault};

/// The fault for a mirror that cannot be written.
pub(super) fn not_written(error: io::Error) -> Fault {
    Fault::new(ErrorCode::StorageUnavailable, "The mirror of the repository could not be written.")
        .with_hint("Check the free space and the permissions of the data directory.")
        .with_source(error)
}
