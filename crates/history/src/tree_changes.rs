//! The files that differ between two trees, within bounds.
//!
//! Trees are not trusted: ten objects, each naming the one before ten times, describe ten billion files. Visited entries are
//! therefore counted, and the comparison can be cancelled.

use std::ops::ControlFlow;

use gix::ObjectId;
use gix::bstr::{BStr, BString, ByteSlice};
use gix::diff::tree::visit;
use gix::diff::tree::{Recorder, Visit};

/// Most bytes that the entries of one comparison may take, each counted as [`ENTRY_BYTES`] and its path. About a million files.
const BYTES_MAX: usize = 192 << 20;
/// What an entry takes beside its path: its ids, its place among the changes, its place in the queue of folders.
const ENTRY_BYTES: usize = 100;
/// Entries between two questions whether to stop.
const ENTRIES_A_LOOK: usize = 1024;

/// A file that differs between two trees. `None`: not there, or not a regular file (symlink, submodule).
pub(super) struct Change {
    pub(super) path: BString,
    pub(super) old: Option<ObjectId>,
    pub(super) new: Option<ObjectId>,
}

/// Collects [`Change`]s from a comparison; breaks it off when they are too many or it is to stop.
pub(super) struct TreeChanges<'a> {
    /// Only keeps the paths; its records stay empty.
    paths: Recorder,
    files: Vec<Change>,
    stopped: &'a dyn Fn() -> bool,
    entries: usize,
    bytes: usize,
}

impl<'a> TreeChanges<'a> {
    pub(super) fn new(stopped: &'a dyn Fn() -> bool) -> Self {
        Self { paths: Recorder::default(), files: Vec::new(), stopped, entries: 0, bytes: 0 }
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
        if self.bytes > BYTES_MAX || (self.entries.is_multiple_of(ENTRIES_A_LOOK) && (self.stopped)()) {
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
