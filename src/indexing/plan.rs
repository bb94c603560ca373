//! What a run has to do: the walk compared with what is stored. Pure.

use std::collections::HashMap;

use super::options::Mode;
use super::walk::Entry;
use crate::languages::MISSING_FACTS;
use crate::store::FileRow;

/// The work of one run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    /// Files to read: new, or different in size or time, or without the facts that another attempt may give, or all of
    /// them in a full run; in path order.
    pub(super) read: Vec<ToRead>,
    /// Searchable files taken as unchanged by size and time.
    pub(super) unchanged: usize,
    /// Files that were left out before and have not changed since: reason and path.
    pub(super) still_skipped: Vec<(String, String)>,
    /// Stored files that the walk did not meet.
    pub(super) vanished: Vec<i64>,
    /// Searchable files that this run leaves alone, because they are of another mode.
    pub(super) others: u64,
}

/// One file to read, with what is stored of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ToRead {
    /// The file as the walk met it.
    pub(super) entry: Entry,
    /// The stored row, if there is one.
    pub(super) known: Option<Known>,
}

/// What is stored of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Known {
    /// Row id.
    pub(super) id: i64,
    /// blake3 of the bytes; empty when the file was skipped unread.
    pub(super) content_hash: Vec<u8>,
    /// Why its facts could not be read, where another attempt may have them.
    pub(super) facts_missing: Option<String>,
}

/// Compares. Size and time are only a hint: a file that differs in either is read, and its content
/// hash decides. `full` reads everything. What is known to be of another mode than `mode` is neither read nor gone.
#[must_use]
pub(super) fn plan(stored: Vec<FileRow>, entries: Vec<Entry>, full: bool, mode: Mode) -> Plan {
    let mut stored: HashMap<String, FileRow> =
        stored.into_iter().map(|row| (row.path.clone(), row)).collect();
    let mut plan = Plan::default();
    for entry in entries {
        match stored.remove(&entry.path) {
            Some(row) if !is_of(&row, mode) && (row.skipped.is_none() || !mode.may_be(&row.path)) => {
                plan.others += u64::from(row.skipped.is_none());
            }
            None if !mode.may_be(&entry.path) => {}
            Some(row) if !full && same(&row, &entry) && !is_to_be_retried(&row) => match row.skipped {
                None => plan.unchanged += 1,
                Some(reason) => plan.still_skipped.push((reason, row.path)),
            },
            Some(row) => {
                let content_hash = if full { Vec::new() } else { row.content_hash };
                let facts_missing =
                    row.facts_missing.filter(|reason| MISSING_FACTS.contains(&reason.as_str()));
                plan.read
                    .push(ToRead { entry, known: Some(Known { id: row.id, content_hash, facts_missing }) });
            }
            None => plan.read.push(ToRead { entry, known: None }),
        }
    }
    let (gone, others): (Vec<_>, Vec<_>) = stored.into_values().partition(|row| is_of(row, mode));
    plan.others += others.iter().filter(|row| row.skipped.is_none()).count() as u64;
    plan.vanished = gone.into_iter().map(|row| row.id).collect();
    plan.vanished.sort_unstable();
    plan
}

/// Whether a stored file is of the mode; of what was left out unread nobody knows.
pub(super) fn is_of(row: &FileRow, mode: Mode) -> bool {
    mode.of_files().is_none_or(|word| row.skipped.is_none() && row.mode == word)
}

/// Whether its facts are missing for a reason that may be gone.
pub(super) fn is_to_be_retried(row: &FileRow) -> bool {
    row.facts_missing.as_deref().is_some_and(|reason| MISSING_FACTS.contains(&reason))
}

fn same(row: &FileRow, entry: &Entry) -> bool {
    u64::try_from(row.bytes) == Ok(entry.bytes) && row.modified_ns == entry.modified_ns
}

/// Whether so much vanished that it is more likely a mistake (an unmounted volume, a wrong checkout)
/// than an edit: more than half of the stored files and more than `guard_files` (storage.md).
#[must_use]
pub(super) fn suspicious_loss(stored: usize, vanished: usize, guard_files: usize) -> bool {
    vanished > guard_files && vanished * 2 > stored
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &str, bytes: u64, modified_ns: i64) -> Entry {
        Entry { path: path.into(), bytes, modified_ns }
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
        }
    }

    #[test]
    fn reads_only_what_differs_and_deletes_what_is_gone() {
        let stored = vec![row(1, "a", 1, 10), row(2, "b", 1, 10), row(3, "c", 1, 10)];
        let plan =
            plan(stored, vec![entry("a", 1, 10), entry("b", 2, 10), entry("d", 1, 10)], false, Mode::All);
        assert_eq!(plan.unchanged, 1);
        assert_eq!(plan.read.iter().map(|r| r.entry.path.as_str()).collect::<Vec<_>>(), ["b", "d"]);
        assert_eq!(plan.vanished, [3]);
    }

    #[test]
    fn what_ran_out_of_time_is_read_again_though_it_is_unchanged() {
        let missing = |id, path, reason: &str| FileRow {
            facts_missing: Some(reason.to_owned()),
            ..row(id, path, 1, 10)
        };
        let stored = vec![
            missing(1, "a", "facts_timeout"),
            missing(2, "b", "parse_timeout"),
            missing(3, "c", "hazard"),
            row(4, "d", 1, 10),
        ];
        let entries = ["a", "b", "c", "d"].map(|path| entry(path, 1, 10));
        let plan = plan(stored, entries.into(), false, Mode::All);
        assert_eq!(plan.read.iter().map(|read| read.entry.path.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(plan.unchanged, 2, "the others are what they can be");
    }

    #[test]
    fn a_full_run_reads_everything_and_trusts_no_hash() {
        let plan = plan(vec![row(1, "a", 1, 10)], vec![entry("a", 1, 10)], true, Mode::All);
        assert_eq!(plan.read.len(), 1);
        assert_eq!(plan.read[0].known.as_ref().map(|k| k.content_hash.len()), Some(0));
    }

    #[test]
    fn files_of_other_modes_are_left_alone() {
        let prose = |id, path| FileRow { mode: "prose".into(), ..row(id, path, 1, 10) };
        let stored =
            || vec![row(1, "a.rs", 1, 10), prose(2, "b.md"), row(3, "gone.rs", 1, 10), prose(4, "gone.md")];
        let entries =
            || vec![entry("a.rs", 2, 10), entry("b.md", 2, 10), entry("new.md", 1, 1), entry("new.rs", 1, 1)];
        let paths = |plan: &Plan| plan.read.iter().map(|r| r.entry.path.clone()).collect::<Vec<_>>();
        let code = plan(stored(), entries(), false, Mode::Code);
        assert_eq!(
            (paths(&code), code.vanished, code.others),
            (vec!["a.rs".into(), "new.rs".into()], vec![3], 2)
        );
        let prose = plan(stored(), entries(), true, Mode::Prose);
        assert_eq!(
            (paths(&prose), prose.vanished, prose.others),
            (vec!["b.md".into(), "new.md".into()], vec![4], 2)
        );
    }

    #[test]
    fn small_losses_are_edits_and_large_ones_need_force() {
        assert!(!suspicious_loss(100, 100, 100));
        assert!(!suspicious_loss(1000, 400, 100));
        assert!(suspicious_loss(1000, 600, 100));
    }
}
