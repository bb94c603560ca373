//! Compacts a portable file: drops unreferenced rows and rewrites the rest without free pages.

use std::path::Path;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::replacement::{Replacement, write_fault};
use contract::Fault;
use contract::config;
use platform::task::blocking;
use store::portable::{Compacted, Limits, Writer, no_such_file};

/// The file to compact, with options.
pub struct CompactRequest<'a> {
    /// Path of the portable file.
    pub file: &'a Path,
    /// Only report the sizes.
    pub dry_run: bool,
    /// Keep the old file as `<name>.bak`.
    pub keep_backup: bool,
    /// The settings `portable.*`.
    pub settings: &'a config::Portable,
    /// Fires when the call is cancelled.
    pub cancel: &'a CancellationToken,
}

/// The result of compacting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompactReport {
    /// Size of the old file in bytes.
    pub bytes_before: u64,
    /// Size of the compacted file in bytes.
    pub bytes_after: u64,
    /// The dropped rows.
    pub dropped: Compacted,
}

/// Writes a compacted copy, checks each of its pages, and replaces the file with the copy. A dry run removes the copy
/// instead.
///
/// # Errors
/// `NO_INDEX` if the file does not exist; `SCHEMA_VALIDATION_FAILED` if it is damaged; `ILLEGAL_STATE` if another run
/// is writing it; `CANCELLED`; storage faults.
pub async fn compact_portable(compact: &CompactRequest<'_>) -> Result<CompactReport, Fault> {
    let (file, limits, stop) =
        (compact.file.to_owned(), Limits::from(compact.settings), compact.cancel.clone());
    let (dry_run, keep_backup) = (compact.dry_run, compact.keep_backup);
    blocking(move || {
        let missing = |error: std::io::Error| no_such_file(&file).with_source(error);
        let bytes_before = std::fs::metadata(&file).map_err(missing)?.len();
        let replacement = Arc::new(Replacement::begin(&file)?);
        std::fs::copy(&file, replacement.new_file()).map_err(write_fault)?;
        let dropped =
            Writer::update(replacement.new_file(), limits, &stop)?.compact(replacement.compacted_file())?;
        let bytes_after = std::fs::metadata(replacement.compacted_file()).map_err(write_fault)?.len();
        if !dry_run {
            if keep_backup {
                replacement.keep_backup()?;
            }
            replacement.commit(replacement.compacted_file())?;
        }
        Ok(CompactReport { bytes_before, bytes_after, dropped })
    })
    .await
}
