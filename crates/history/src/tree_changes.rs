//! Finds the files that differ between two trees, within limits.
//!
//! Trees are not trusted: ten objects that each contain the previous one ten times describe ten billion files. Visited
//! entries are therefore counted, and the comparison can be stopped.

use std::ops::ControlFlow;

use gix::ObjectId;
use gix::bstr::{BStr, BString, ByteSlice};
use gix::diff::tree::visit;
use gix::diff::tree::{Recorder, Visit};

/// Maximum memory of one comparison, where an entry counts as [`ENTRY_BYTES`] and its path: about a million files.
const COMPARISON_BYTES_MAX: usize = 192 << 20;
/// Memory of an entry without its path: its ids, its change, its item in the queue of folders.
const ENTRY_BYTES: usize = 100;
/// Number of entries between two calls of `is_stopped`.
const STOP_CHECK_ENTRIES: usize = 1024;

/// A file that differs between two trees. A side is `None` if it is missing or not a regular file (symlink, submodule).
pub(super) struct Change {
    pub(super) path: BString,
    pub(super) old: Option<ObjectId>,
    pub(super) new: Option<ObjectId>,
}

/// Collects the [`Change`]s of a comparison; ends it if there are too many, or when `is_stopped` returns true.
pub(super) struct TreeChanges<'a> {
    /// Tracks the current path; its records stay empty.
    paths: Recorder,
    files: Vec<Change>,
    is_stopped: &'a dyn Fn() -> bool,
    entries: usize,
    bytes: usize,
}

impl<'a> TreeChanges<'a> {
    pub(super) fn new(is_stopped: &'a dyn Fn() -> bool) -> Self {
        Self { paths: Recorder::default(), files: Vec::new(), is_stopped, entries: 0, bytes: 0 }
    }

    pub(super) fn into_files(self) -> Vec<Change> {
        self.files
    }
}

impl Visit for TreeChanges<'_> {
    fn pop_front_tracked_path_and_set_current(&mut self) {
        self.paths.pop_front_tracked_path_and_set_current();
    }

    fn push_back_tracked_path_component(&mut self, component: &BStr) {
        self.paths.push_back_tracked_path_component(component);
    }

    fn push_path_component(&mut self, component: &BStr) {
        self.paths.push_path_component(component);
    }

    fn pop_path_component(&mut self) {
        self.paths.pop_path_component();
    }

    fn visit(&mut self, change: visit::Change) -> visit::Action {
        let path = self.paths.path();
        self.entries += 1;
        self.bytes += ENTRY_BYTES + path.len();
        let is_stopped = self.entries.is_multiple_of(STOP_CHECK_ENTRIES) && (self.is_stopped)();
        if is_stopped || self.bytes > COMPARISON_BYTES_MAX {
            return ControlFlow::Break(());
        }
        let file = |mode: gix::objs::tree::EntryMode, id| mode.is_blob().then_some(id);
        let (old, new) = match change {
            visit::Change::Addition { entry_mode, oid, .. } => (None, file(entry_mode, oid)),
            visit::Change::Deletion { entry_mode, oid, .. } => (file(entry_mode, oid), None),
            visit::Change::Modification { previous_entry_mode, previous_oid, entry_mode, oid } => {
                (file(previous_entry_mode, previous_oid), file(entry_mode, oid))
            }
        };
        if old.is_some() || new.is_some() {
            self.files.push(Change { path: path.as_bstr().to_owned(), old, new });
        }
        ControlFlow::Continue(())
    }
}
