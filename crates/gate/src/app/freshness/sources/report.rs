//! The report of a sync.

use serde::Serialize;

use contract::{Fault, escaped_line, truncate_chars};

/// Maximum number of failures that a note names.
const NAMED_FAILURES_MAX: usize = 3;
/// Longest note.
const NOTE_CHARS_MAX: usize = 2000;

/// The report of a sync.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SyncReport {
    /// Listed repositories that may be fetched.
    pub listed: usize,
    /// `true` if the host was read to the end. If not, nothing counts as gone.
    pub complete: bool,
    /// Repositories that were indexed, for the first time or again.
    pub indexed: usize,
    /// Repositories that were indexed before and not pushed to since.
    pub unchanged: usize,
    /// Repositories that could not be indexed.
    pub failed: usize,
    /// Repositories outside of the allowed addresses.
    pub refused: usize,
    /// Repositories whose address or name cannot be used.
    pub unusable: usize,
    /// Repositories that the host no longer has, and had at the last sync.
    pub gone: u64,
    /// Repositories that were gone for long and are no longer indexed by this source.
    pub removed: usize,
    /// A further remark.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The first failures, by address.
    #[serde(skip)]
    failures: Vec<String>,
    /// Repositories that were gone for long and could not be removed.
    #[serde(skip)]
    not_removed: usize,
    /// Repositories of hosts that failed too often to go on with them.
    #[serde(skip)]
    pub(super) left_out: usize,
    /// Repositories that were gone for long and are kept, because they are most of the source.
    #[serde(skip)]
    pub(super) kept: usize,
}

impl SyncReport {
    pub(super) fn add_failure(&mut self, address: &str, fault: &Fault) {
        self.failed += 1;
        if self.failures.len() < NAMED_FAILURES_MAX {
            self.failures.push(format!("{}: {}", escaped_line(address), fault.message.trim_end_matches('.')));
        }
    }

    pub(super) fn add_not_removed(&mut self) {
        self.not_removed += 1;
    }

    /// The note, which begins with that of the listing.
    pub(super) fn summary(&self, of_listing: Option<&str>) -> Option<String> {
        let counted = |count: usize, what: &str| (count > 0).then(|| format!("{count} {what}"));
        let mut parts: Vec<String> = of_listing.map(str::to_owned).into_iter().collect();
        parts.extend(counted(
            self.refused,
            "not among the allowed addresses (indexing.roots, indexing.project_roots)",
        ));
        parts.extend(counted(self.unusable, "with an address or a name that cannot be used"));
        parts.extend(counted(self.failed, "not indexed"));
        parts.extend(self.failures.iter().cloned());
        parts.extend(counted(self.left_out, "left to the next sync, because their host failed too often"));
        parts.extend(counted(
            self.kept,
            "gone, but kept, because they are most of the source: if they are gone for good, remove them with clean_artifacts",
        ));
        parts.extend(counted(
            self.not_removed,
            "not removed yet, because something else writes to the project",
        ));
        (!parts.is_empty()).then(|| truncate_chars(parts.join("; "), NOTE_CHARS_MAX))
    }

    pub(super) fn log(&self, source: &str) {
        let Self { listed, indexed, failed, gone, removed, .. } = self;
        tracing::info!(source, listed, indexed, failed, gone, removed, "a source was synced");
        if let Some(note) = &self.note {
            tracing::warn!(source, "the source was not synced in every respect: {note}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::ErrorCode;

    #[test]
    fn a_note_lists_irregularities() {
        let mut report = SyncReport { listed: 9, indexed: 3, complete: true, ..SyncReport::default() };
        assert_eq!(report.summary(None), None);
        report.refused = 2;
        for number in 0..5 {
            let fault = Fault::new(ErrorCode::InvalidRequest, format!("It is empty, {number}."));
            report.add_failure("https://host/x", &fault);
        }
        let note = report.summary(Some("`gone` was not found")).unwrap();
        assert!(note.starts_with("`gone` was not found; 2 not among the allowed addresses"), "{note}");
        assert!(note.contains("5 not indexed; https://host/x: It is empty, 0; "), "{note}");
        assert!(!note.contains("empty, 4"), "{note}");
    }
}
