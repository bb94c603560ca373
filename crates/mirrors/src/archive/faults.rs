//! The reasons why an archive is not indexed, as faults that say what to do.

use std::io;

use contract::{ErrorCode, Fault, escaped_line, truncate_chars};
use platform::safe_open::ReadError;

/// Longest reason that details contain, in characters. It may quote the archive.
const REASON_CHARS_MAX: usize = 200;

/// The file cannot be read as an archive.
pub(super) fn damaged(error: io::Error) -> Fault {
    let reason = truncate_chars(escaped_line(&error.to_string()), REASON_CHARS_MAX);
    Fault::new(ErrorCode::InvalidRequest, "The archive is damaged, or it is no archive.")
        .with_details(serde_json::json!({ "reason": reason }))
        .with_hint("Check it with `tar -t` or `unzip -t`, and get it again.")
        .with_source(error)
}

/// The file could not be opened.
pub(super) fn not_opened(why: ReadError) -> Fault {
    match why {
        ReadError::Unreadable => {
            Fault::new(ErrorCode::Forbidden, "Permission to read the archive was denied.")
                .with_hint("Give the server's user read permission on it, or choose another one.")
        }
        ReadError::IsFolder | ReadError::NotRegular => {
            Fault::new(ErrorCode::NotFound, "The path does not lead to a regular file any more.")
                .with_hint("Index it again.")
        }
        ReadError::NotFound | ReadError::Link | ReadError::TooLarge => {
            Fault::new(ErrorCode::NotFound, "The archive does not exist.")
                .with_hint("Check the path; it must exist on the machine that the server runs on.")
        }
    }
}

/// The file is too large.
pub(super) fn too_large(bytes_max: u64) -> Fault {
    limit(format!("The archive has more than {bytes_max} bytes, which indexing.archive_bytes_max allows."))
}

/// Its files are too large together.
pub(super) fn unpacks_to_too_much(bytes_max: u64) -> Fault {
    limit(format!(
        "The archive unpacks to more than {bytes_max} bytes, which indexing.archive_unpacked_bytes_max allows."
    ))
}

/// It has too many files.
pub(super) fn too_many_files(files_max: usize) -> Fault {
    limit(format!("The archive has more than {files_max} files, which indexing.files_max allows."))
}

/// Its files need too many folders.
pub(super) fn too_many_folders(folders_max: usize) -> Fault {
    limit(format!(
        "The archive has more than {folders_max} folders, twice as many as indexing.files_max allows of files."
    ))
}

fn limit(message: String) -> Fault {
    Fault::new(ErrorCode::ArchiveTooLarge, message)
        .with_hint("Unpack it and index the folder, or ask the operator to raise the limit.")
}

/// The names of its entries need too much memory.
pub(super) fn names_too_long() -> Fault {
    Fault::new(ErrorCode::ArchiveTooLarge, "The names of the archive's files are too long.")
        .with_hint("Unpack it and index the folder.")
}

/// The headers before an entry need too much memory.
pub(super) fn header_too_long() -> Fault {
    Fault::new(ErrorCode::ArchiveTooLarge, "The archive describes an entry with more than 4 MiB.")
        .with_hint("Unpack it and index the folder.")
}

/// Programs would disagree on what the archive contains, or it unpacks the same bytes over and over.
pub(super) fn unsafe_archive(why: &str) -> Fault {
    Fault::new(ErrorCode::ArchiveUnsafe, format!("The archive is refused: {why}."))
        .with_hint("Get it from a source that you trust, or unpack it and index the folder.")
}

/// It was written to while it was read.
pub(super) fn changed() -> Fault {
    let mut fault = Fault::new(ErrorCode::IllegalState, "The archive changed while it was read.")
        .with_hint("Index it again when it is complete.");
    fault.retryable = true;
    fault
}

/// It has no file; `left_out` describes the other entries.
pub(super) fn no_files(left_out: Option<&str>) -> Fault {
    let message = ["The archive contains no files."].into_iter().chain(left_out).collect::<Vec<_>>();
    Fault::new(ErrorCode::InvalidRequest, message.join(" ")).with_hint("Check the path.")
}

/// The mirror of the archive cannot be written.
pub(super) fn not_written(error: io::Error) -> Fault {
    Fault::new(ErrorCode::StorageUnavailable, "The content of the archive could not be written.")
        .with_hint("Check the free space and the permissions of the data directory.")
        .with_source(error)
}
