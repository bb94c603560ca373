//! Makes a portable file smaller: what belongs to nothing goes, the rest is written without gaps.

use std::path::Path;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::aside::{Aside, on_thread, unwritable};
use contract::config;
use contract::{ErrorCode, Fault};
use store::portable::{Limits, Shrunk, Writer};

/// What is to be made smaller, and how.
pub struct Compact<'a> {
    /// The file.
    pub file: &'a Path,
    /// Only say what would become free.
    pub dry_run: bool,
    /// Keep the old file beside it, as `<name>.bak`.
    pub keep_backup: bool,
    /// Settings.
    pub settings: &'a config::Portable,
    /// Fires when the call is cancelled.
    pub cancel: &'a CancellationToken,
}

/// What it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compacted {
    /// Size before.
    pub bytes_before: u64,
    /// Size after; in a dry run, what it would be.
    pub bytes_after: u64,
    /// Rows that belong to nothing.
    pub shrunk: Shrunk,
}

/// Writes the file anew, checks every page of the new one and puts it in the place of the old. A dry run does all but that.
///
/// # Errors
/// `NO_INDEX` when there is no file; `SCHEMA_VALIDATION_FAILED` when it is damaged; `ILLEGAL_STATE` when another run writes it;
/// `CANCELLED`; storage faults.
pub async fn compact(compact: &Compact<'_>) -> Result<Compacted, Fault> {
    let (file, limits, stop) =
        (compact.file.to_owned(), Limits::from(compact.settings), compact.cancel.clone());
    let (dry_run, keep_backup) = (compact.dry_run, compact.keep_backup);
    on_thread(move || {
        let missing = |error: std::io::Error| {
            Fault::new(ErrorCode::NoIndex, "There is no portable index file.")
                .with_hint("Make one with `build_sqlite_index`.")
                .with_source(error)
        };
        let bytes_before = std::fs::metadata(&file).map_err(missing)?.len();
        let aside = Arc::new(Aside::take(&file)?);
        std::fs::copy(&file, aside.part()).map_err(unwritable)?;
        let shrunk = Writer::update(aside.part(), limits, &stop)?.shrink(aside.smaller())?;
        let bytes_after = std::fs::metadata(aside.smaller()).map_err(unwritable)?.len();
        if !dry_run {
            if keep_backup {
                aside.keep_backup()?;
            }
            aside.swap(aside.smaller())?;
        }
        Ok(Compacted { bytes_before, bytes_after, shrunk })
    })
    .await
}
