//! Keeps track of the names that are local at the current place of the walk, so that uses of plain local names need not be reported.

use std::collections::HashMap;

/// Maximum number of scopes that names begin in one scope.
const SPLITS_MAX: usize = 40;

/// The local names of the functions and blocks around the place where the walk stands.
#[derive(Default)]
pub(crate) struct Locals<'t> {
    /// The names of each open scope, innermost last.
    frames: Vec<Vec<&'t str>>,
    /// The open scopes that have each name, by depth, innermost last.
    depths: HashMap<&'t str, Vec<usize>>,
    /// The byte at which each name was mentioned last.
    mentions: HashMap<&'t str, usize>,
    /// Scopes that were begun in the innermost whole one by names that hide others.
    splits: usize,
}

impl<'t> Locals<'t> {
    /// Opens a scope.
    pub(crate) fn enter(&mut self) {
        self.frames.push(Vec::new());
    }

    /// Closes the innermost scope, with its names.
    pub(crate) fn leave(&mut self) {
        for name in self.frames.pop().unwrap_or_default() {
            if let Some(depths) = self.depths.get_mut(name) {
                depths.pop();
            }
        }
    }

    /// Opens a scope in which names can begin others. Returns what [`leave_whole`](Self::leave_whole) needs.
    pub(super) fn enter_whole(&mut self) -> usize {
        self.enter();
        std::mem::take(&mut self.splits)
    }

    /// Closes what [`enter_whole`](Self::enter_whole) opened.
    pub(super) fn leave_whole(&mut self, splits: usize) {
        self.leave();
        self.splits = splits;
    }

    /// Checks whether another scope that a name begins fits into the innermost whole scope.
    pub(super) fn can_split(&self) -> bool {
        self.splits < SPLITS_MAX
    }

    /// Opens a scope that a name begins in the innermost whole one.
    pub(super) fn split(&mut self) {
        self.enter();
        self.splits += 1;
    }

    /// Closes the innermost scope that a name began, if there is one in the innermost whole scope.
    pub(super) fn unsplit(&mut self) -> bool {
        let was_split = self.splits > 0;
        if was_split {
            self.splits -= 1;
            self.leave();
        }
        was_split
    }

    /// Returns `true` if the walk is outside of all scopes that were entered.
    pub(crate) fn is_outside(&self) -> bool {
        self.frames.is_empty()
    }

    /// Notes that a name is mentioned at a byte of the text.
    pub(crate) fn mention(&mut self, name: &'t str, at: usize) {
        self.mentions.insert(name, at);
    }

    /// Checks whether a name is mentioned after a byte of the text. A definition is visited after its value, so a definition that precedes
    /// the mention of its own name is not what that mention refers to.
    pub(crate) fn is_mentioned_behind(&self, name: &str, at: usize) -> bool {
        self.mentions.get(name).is_some_and(|mention| *mention > at)
    }

    /// Adds a name to the innermost scope.
    pub(crate) fn add(&mut self, name: &'t str) {
        if self.has_here(name) {
            return;
        }
        let depth = self.frames.len();
        if let Some(frame) = self.frames.last_mut() {
            frame.push(name);
            self.depths.entry(name).or_default().push(depth);
        }
    }

    /// Checks whether the innermost scope has the name.
    pub(crate) fn has_here(&self, name: &str) -> bool {
        self.depths.get(name).is_some_and(|depths| depths.last() == Some(&self.frames.len()))
    }

    /// Checks whether any scope has the name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.depths.get(name).is_some_and(|depths| !depths.is_empty())
    }
}
