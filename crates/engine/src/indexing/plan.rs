//! Plans a run by comparing the walked files with the stored ones. Pure functions.

use std::collections::HashMap;

use super::file::SkipReason;
use super::options::Mode;
use super::walk::WalkedFile;
use languages::MISSING_FACTS;
use store::FileRow;

/// The work of one run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct RunPlan {
    /// Files to read, in path order: new files, files with another size or time, and files whose facts may succeed in
    /// another attempt; in a full run all files.
    pub(super) read: Vec<FileToRead>,
    /// Number of searchable files with the same size and time.
    pub(super) unchanged: usize,
    /// Unchanged files that an earlier run skipped: reason and path.
    pub(super) still_skipped: Vec<(String, String)>,
    /// Row ids of stored files that no longer exist.
    pub(super) vanished: Vec<i64>,
    /// Number of searchable files of other modes, which this run does not change.
    pub(super) other_mode_files: u64,
}

/// A file to read, with its stored row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileToRead {
    /// The file as found by the walk.
    pub(super) entry: WalkedFile,
    /// The stored row, if there is one.
    pub(super) stored: Option<StoredFile>,
}

/// The stored state of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StoredFile {
    /// Row id.
    pub(super) id: i64,
    /// BLAKE3 hash of the bytes; empty if the file was skipped unread.
    pub(super) content_hash: Vec<u8>,
    /// `true` if it is not searchable.
    pub(super) is_skipped: bool,
    /// The reason why facts are missing, if another attempt may succeed.
    pub(super) facts_missing: Option<String>,
    /// Milliseconds spent in failed attempts so far.
    pub(super) tried_ms: i64,
}

impl StoredFile {
    /// Creates the state of a stored file that is read again. In a `full` run its hash does not count.
    pub(super) fn new(row: &FileRow, full: bool, timeout_ms: u64) -> Self {
        let retried = should_retry_facts(row, timeout_ms);
        Self {
            id: row.id,
            content_hash: if full { Vec::new() } else { row.content_hash.clone() },
            is_skipped: row.skipped.is_some(),
            facts_missing: row.facts_missing.clone().filter(|_| retried),
            tried_ms: row.facts_tried_ms,
        }
    }
}

/// Returns whether another attempt may read more of an unchanged file.
pub(super) fn may_succeed_now(row: &FileRow, timeout_ms: u64) -> bool {
    should_retry_facts(row, timeout_ms) || was_skipped_transiently(row)
}

/// Total parse time after which runs stop retrying a text, as a multiple of the timeout of one run. A single timeout
/// may be due to a busy machine.
const RETRY_TIMEOUTS: i64 = 3;

/// Compares the walked files with the stored ones. Size and time are only a hint: a file that differs in either is read, and
/// its content hash decides. `full` reads everything. Files of other modes than `mode` are neither read nor treated as
/// vanished.
#[must_use]
pub(super) fn plan_files(
    stored: Vec<FileRow>,
    entries: Vec<WalkedFile>,
    full: bool,
    mode: Mode,
    timeout_ms: u64,
) -> RunPlan {
    let mut stored: HashMap<String, FileRow> =
        stored.into_iter().map(|row| (row.path.clone(), row)).collect();
    let mut plan = RunPlan::default();
    for entry in entries {
        match stored.remove(&entry.path) {
            Some(row) if !has_mode(&row, mode) && (row.skipped.is_none() || !mode.may_include(&row.path)) => {
                plan.other_mode_files += u64::from(row.skipped.is_none());
            }
            None if !mode.may_include(&entry.path) => {}
            Some(row)
                if !full && has_same_size_and_time(&row, &entry) && !may_succeed_now(&row, timeout_ms) =>
            {
                match row.skipped {
                    None => plan.unchanged += 1,
                    Some(reason) => plan.still_skipped.push((reason, row.path)),
                }
            }
            Some(row) => {
                let stored = Some(StoredFile::new(&row, full, timeout_ms));
                plan.read.push(FileToRead { entry, stored });
            }
            None => plan.read.push(FileToRead { entry, stored: None }),
        }
    }
    let (vanished, of_other_modes): (Vec<_>, Vec<_>) =
        stored.into_values().partition(|row| has_mode(row, mode));
    plan.other_mode_files += of_other_modes.iter().filter(|row| row.skipped.is_none()).count() as u64;
    plan.vanished = vanished.into_iter().map(|row| row.id).collect();
    plan.vanished.sort_unstable();
    plan
}

/// Returns whether a stored file has the mode. The mode of a skipped file is unknown.
pub(super) fn has_mode(row: &FileRow, mode: Mode) -> bool {
    mode.stored_mode().is_none_or(|mode| row.skipped.is_none() && row.mode == mode)
}

/// Returns whether the facts are missing because of timeouts that another attempt may avoid. For other reasons an
/// attempt would have the same result until the program or the text changes.
pub(super) fn should_retry_facts(row: &FileRow, timeout_ms: u64) -> bool {
    let limit = i64::try_from(timeout_ms).unwrap_or(i64::MAX).saturating_mul(RETRY_TIMEOUTS);
    row.facts_missing.as_deref().is_some_and(|reason| MISSING_FACTS.contains(&reason))
        && row.facts_tried_ms < limit
}

/// Returns whether the file was skipped for a reason that may disappear without a change of size and time.
fn was_skipped_transiently(row: &FileRow) -> bool {
    row.skipped.as_deref().and_then(SkipReason::parse).is_some_and(SkipReason::is_transient)
}

fn has_same_size_and_time(row: &FileRow, entry: &WalkedFile) -> bool {
    u64::try_from(row.bytes) == Ok(entry.bytes) && row.modified_ns == entry.modified_ns
}

/// Returns whether so many files vanished that a mistake (an unmounted volume, a wrong checkout) is more likely than an edit: more than
/// half of the stored files and more than `guard_files`.
#[must_use]
pub(super) fn is_suspicious_loss(stored: usize, vanished: usize, guard_files: usize) -> bool {
    vanished > guard_files && vanished * 2 > stored
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &str, bytes: u64, modified_ns: i64) -> WalkedFile {
        WalkedFile { path: path.into(), bytes, modified_ns }
    }

    fn row(id: i64, path: &str, bytes: i64, modified_ns: i64) -> FileRow {
        FileRow {
            id,
            path: path.into(),
            content_hash: vec![1],
            bytes,
            modified_ns,
            skipped: None,
            chunks: 1,
            mode: "code".into(),
            facts_missing: None,
            facts_tried_ms: 0,
        }
    }

    #[test]
    fn reads_changed_files_and_deletes_vanished_ones() {
        let stored = vec![row(1, "a", 1, 10), row(2, "b", 1, 10), row(3, "c", 1, 10)];
        let plan = plan_files(
            stored,
            vec![entry("a", 1, 10), entry("b", 2, 10), entry("d", 1, 10)],
            false,
            Mode::All,
            2000,
        );
        assert_eq!(plan.unchanged, 1);
        assert_eq!(plan.read.iter().map(|r| r.entry.path.as_str()).collect::<Vec<_>>(), ["b", "d"]);
        assert_eq!(plan.vanished, [3]);
    }

    const TRANSIENT: [&str; 6] = ["document_timeout", "link", "not_regular", "unreadable", "gone", "failed"];

    /// Size and time do not show that a permission was granted, a disk recovered or a link became a file.
    #[test]
    fn files_skipped_for_a_transient_reason_are_read_again() {
        let skipped = |(id, reason): (usize, &SkipReason)| FileRow {
            skipped: Some(reason.as_str().to_owned()),
            ..row(id as i64, reason.as_str(), 1, 10)
        };
        let stored: Vec<FileRow> = SkipReason::ALL.iter().enumerate().map(skipped).collect();
        let entries = SkipReason::ALL.iter().map(|reason| entry(reason.as_str(), 1, 10)).collect();
        let plan = plan_files(stored, entries, false, Mode::All, 2000);
        let again: Vec<&str> = plan.read.iter().map(|read| read.entry.path.as_str()).collect();
        assert_eq!(again, TRANSIENT);
        assert_eq!(plan.still_skipped.len(), SkipReason::ALL.len() - TRANSIENT.len());
    }

    #[test]
    fn unchanged_files_whose_parsing_timed_out_are_read_again() {
        let missing = |id, path, reason: &str| FileRow {
            facts_missing: Some(reason.to_owned()),
            ..row(id, path, 1, 10)
        };
        let tried = |tried_ms| FileRow { facts_tried_ms: tried_ms, ..missing(7, "g", "facts_timeout") };
        let stored = || {
            vec![
                missing(1, "a", "facts_timeout"),
                missing(2, "b", "parse_timeout"),
                missing(3, "c", "hazard"),
                row(4, "d", 1, 10),
                // Reasons that do not depend on time.
                missing(5, "e", "too_many_facts"),
                missing(6, "f", "parse_failed"),
            ]
        };
        let entries = || Vec::from(["a", "b", "c", "d", "e", "f", "g"].map(|path| entry(path, 1, 10)));
        let read = |tried_ms, timeout_ms| {
            let mut stored = stored();
            stored.push(tried(tried_ms));
            let plan = plan_files(stored, entries(), false, Mode::All, timeout_ms);
            let paths: Vec<String> = plan.read.into_iter().map(|read| read.entry.path).collect();
            (paths.join(" "), plan.unchanged)
        };
        assert_eq!(read(4000, 2000), ("a b g".to_owned(), 4), "the other reasons are permanent");
        assert_eq!(read(6000, 2000), ("a b".to_owned(), 5), "the limit of attempts is reached");
        assert_eq!(read(6000, 2500), ("a b g".to_owned(), 4), "a longer timeout permits more attempts");
        let changed = vec![FileRow { facts_tried_ms: 6000, ..missing(1, "a", "facts_timeout") }];
        let plan = plan_files(changed, vec![entry("a", 2, 10)], false, Mode::All, 2000);
        assert_eq!(plan.read.len(), 1, "a changed text is always read");
    }

    #[test]
    fn a_full_run_reads_all_files_and_ignores_stored_hashes() {
        let plan = plan_files(vec![row(1, "a", 1, 10)], vec![entry("a", 1, 10)], true, Mode::All, 2000);
        assert_eq!(plan.read.len(), 1);
        assert_eq!(plan.read[0].stored.as_ref().map(|stored| stored.content_hash.len()), Some(0));
    }

    #[test]
    fn files_of_other_modes_are_not_changed() {
        let prose = |id, path| FileRow { mode: "prose".into(), ..row(id, path, 1, 10) };
        let stored =
            || vec![row(1, "a.rs", 1, 10), prose(2, "b.md"), row(3, "gone.rs", 1, 10), prose(4, "gone.md")];
        let entries =
            || vec![entry("a.rs", 2, 10), entry("b.md", 2, 10), entry("new.md", 1, 1), entry("new.rs", 1, 1)];
        let paths = |plan: &RunPlan| plan.read.iter().map(|r| r.entry.path.clone()).collect::<Vec<_>>();
        let code = plan_files(stored(), entries(), false, Mode::Code, 2000);
        assert_eq!(
            (paths(&code), code.vanished, code.other_mode_files),
            (vec!["a.rs".into(), "new.rs".into()], vec![3], 2)
        );
        let prose = plan_files(stored(), entries(), true, Mode::Prose, 2000);
        assert_eq!(
            (paths(&prose), prose.vanished, prose.other_mode_files),
            (vec!["b.md".into(), "new.md".into()], vec![4], 2)
        );
    }

    #[test]
    fn only_large_losses_are_suspicious() {
        assert!(!is_suspicious_loss(100, 100, 100));
        assert!(!is_suspicious_loss(1000, 400, 100));
        assert!(is_suspicious_loss(1000, 600, 100));
    }
}
