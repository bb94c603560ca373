//! What a run has to do: the walk compared with what is stored. Pure.

use std::collections::HashMap;

use super::file::SkipReason;
use super::options::Mode;
use super::walk::Entry;
use languages::MISSING_FACTS;
use store::FileRow;

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
    /// How many milliseconds it was given for them so far.
    pub(super) tried_ms: i64,
}

/// Time that a text is given for its facts before a run takes them for what cannot be had, in multiples of what one run
/// gives it: the machine may have been busy, but not each time.
const TRIES: i64 = 3;

/// Compares. Size and time are only a hint: a file that differs in either is read, and its content
/// hash decides. `full` reads everything. What is known to be of another mode than `mode` is neither read nor gone.
#[must_use]
pub(super) fn plan(
    stored: Vec<FileRow>,
    entries: Vec<Entry>,
    full: bool,
    mode: Mode,
    timeout_ms: u64,
) -> Plan {
    let mut stored: HashMap<String, FileRow> =
        stored.into_iter().map(|row| (row.path.clone(), row)).collect();
    let mut plan = Plan::default();
    for entry in entries {
        match stored.remove(&entry.path) {
            Some(row) if !is_of(&row, mode) && (row.skipped.is_none() || !mode.may_be(&row.path)) => {
                plan.others += u64::from(row.skipped.is_none());
            }
            None if !mode.may_be(&entry.path) => {}
            Some(row)
                if !full
                    && same(&row, &entry)
                    && !is_to_be_retried(&row, timeout_ms)
                    && !may_have_passed(&row) =>
            {
                match row.skipped {
                    None => plan.unchanged += 1,
                    Some(reason) => plan.still_skipped.push((reason, row.path)),
                }
            }
            Some(row) => {
                let retried = is_to_be_retried(&row, timeout_ms);
                let content_hash = if full { Vec::new() } else { row.content_hash };
                let facts_missing = row.facts_missing.filter(|_| retried);
                let known = Known { id: row.id, content_hash, facts_missing, tried_ms: row.facts_tried_ms };
                plan.read.push(ToRead { entry, known: Some(known) });
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

/// Whether its facts are missing for a reason that may be gone: time ran out, and a run gives more than has been spent
/// in vain, or it was not tried often. What is missing for another reason is so until this program or the text changes.
pub(super) fn is_to_be_retried(row: &FileRow, timeout_ms: u64) -> bool {
    let limit = i64::try_from(timeout_ms).unwrap_or(i64::MAX).saturating_mul(TRIES);
    row.facts_missing.as_deref().is_some_and(|reason| MISSING_FACTS.contains(&reason))
        && row.facts_tried_ms < limit
}

/// Whether it was left out for a reason outside of its text, which may be gone though size and time are the same.
fn may_have_passed(row: &FileRow) -> bool {
    row.skipped.as_deref().and_then(SkipReason::parse).is_some_and(SkipReason::may_pass)
}

fn same(row: &FileRow, entry: &Entry) -> bool {
    u64::try_from(row.bytes) == Ok(entry.bytes) && row.modified_ns == entry.modified_ns
}

/// Whether so much vanished that it is more likely a mistake (an unmounted volume, a wrong checkout)
/// than an edit: more than half of the stored files and more than `guard_files`.
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
            facts_tried_ms: 0,
        }
    }

    #[test]
    fn reads_only_what_differs_and_deletes_what_is_gone() {
        let stored = vec![row(1, "a", 1, 10), row(2, "b", 1, 10), row(3, "c", 1, 10)];
        let plan = plan(
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

    /// Permissions come back, disks recover, links become files: size and time need not tell.
    #[test]
    fn what_was_left_out_for_a_reason_that_may_pass_is_looked_at_again() {
        let left_out = |(id, reason): (usize, &SkipReason)| FileRow {
            skipped: Some(reason.as_str().to_owned()),
            ..row(id as i64, reason.as_str(), 1, 10)
        };
        let stored: Vec<FileRow> = SkipReason::ALL.iter().enumerate().map(left_out).collect();
        let entries = SkipReason::ALL.iter().map(|reason| entry(reason.as_str(), 1, 10)).collect();
        let plan = plan(stored, entries, false, Mode::All, 2000);
        let again: Vec<&str> = plan.read.iter().map(|read| read.entry.path.as_str()).collect();
        assert_eq!(again, ["link", "not_regular", "unreadable", "gone", "failed"]);
        assert_eq!(plan.still_skipped.len(), SkipReason::ALL.len() - 5);
    }

    #[test]
    fn what_ran_out_of_time_is_read_again_though_it_is_unchanged() {
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
                // What is so whenever it is tried.
                missing(5, "e", "too_many_facts"),
                missing(6, "f", "parse_failed"),
            ]
        };
        let entries = || Vec::from(["a", "b", "c", "d", "e", "f", "g"].map(|path| entry(path, 1, 10)));
        let read = |tried_ms, timeout_ms| {
            let mut stored = stored();
            stored.push(tried(tried_ms));
            let plan = plan(stored, entries(), false, Mode::All, timeout_ms);
            let paths: Vec<String> = plan.read.into_iter().map(|read| read.entry.path).collect();
            (paths.join(" "), plan.unchanged)
        };
        assert_eq!(read(4000, 2000), ("a b g".to_owned(), 4), "the others are what they can be");
        assert_eq!(read(6000, 2000), ("a b".to_owned(), 5), "it was tried often enough");
        assert_eq!(read(6000, 2500), ("a b g".to_owned(), 4), "with more time it may come further");
        let changed = vec![FileRow { facts_tried_ms: 6000, ..missing(1, "a", "facts_timeout") }];
        let plan = plan(changed, vec![entry("a", 2, 10)], false, Mode::All, 2000);
        assert_eq!(plan.read.len(), 1, "another text");
    }

    #[test]
    fn a_full_run_reads_everything_and_trusts_no_hash() {
        let plan = plan(vec![row(1, "a", 1, 10)], vec![entry("a", 1, 10)], true, Mode::All, 2000);
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
        let code = plan(stored(), entries(), false, Mode::Code, 2000);
        assert_eq!(
            (paths(&code), code.vanished, code.others),
            (vec!["a.rs".into(), "new.rs".into()], vec![3], 2)
        );
        let prose = plan(stored(), entries(), true, Mode::Prose, 2000);
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
