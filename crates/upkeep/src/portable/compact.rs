//! Compacts a portable file: drops rows that nothing refers to and rewrites the rest without free pages.

use std::path::Path;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::replacement::{Replacement, write_fault};
use contract::config;
use contract::{ErrorCode, Fault};
use platform::task::blocking;
use store::portable::{Compacted, Limits, Writer};

/// Which file is compacted, and how.
pub struct CompactRequest<'a> {
    /// The file.
    pub file: &'a Path,
    /// Only report what would be freed.
    pub dry_run: bool,
    /// Keep the old file beside it, as `<name>.bak`.
    pub keep_backup: bool,
    /// Settings.
    pub settings: &'a config::Portable,
    /// Fires when the call is cancelled.
    pub cancel: &'a CancellationToken,
}

/// The result of compacting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompactReport {
    /// Bytes before.
    pub bytes_before: u64,
    /// Bytes after; in a dry run, what it would be.
    pub bytes_after: u64,
    /// The dropped rows.
    pub shrunk: Compacted,
}

/// Writes a compacted copy, checks every page of it and replaces the file with it. A dry run removes the copy instead.
///
/// # Errors
/// `NO_INDEX` when there is no file; `SCHEMA_VALIDATION_FAILED` when it is damaged; `ILLEGAL_STATE` when another run writes it;
/// `CANCELLED`; storage faults.
pub async fn compact_portable(compact: &CompactRequest<'_>) -> Result<CompactReport, Fault> {
    let (file, limits, stop) =
        (compact.file.to_owned(), Limits::from(compact.settings), compact.cancel.clone());
    let (dry_run, keep_backup) = (compact.dry_run, compact.keep_backup);
    blocking(move || {
        let missing = |error: std::io::Error| {
            Fault::new(ErrorCode::NoIndex, "There is no portable index file.")
                .with_hint("Make one with `build_sqlite_index`.")
                .with_source(error)
        };
        let bytes_before = std::fs::metadata(&file).map_err(missing)?.len();
        let replacement = Arc::new(Replacement::begin(&file)?);
        std::fs::copy(&file, replacement.part()).map_err(write_fault)?;
        let shrunk = Writer::update(replacement.part(), limits, &stop)?.compact(replacement.smaller())?;
        let bytes_after = std::fs::metadata(replacement.smaller()).map_err(write_fault)?.len();
        if !dry_run {
            if keep_backup {
                replacement.keep_backup()?;
            }
            replacement.commit(replacement.smaller())?;
        }
        Ok(CompactReport { bytes_before, bytes_after, shrunk })
    })
    .await
}
