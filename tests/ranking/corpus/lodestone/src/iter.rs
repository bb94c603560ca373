//! Many sorted runs as one.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use crate::memtable::Slot;

/// One version of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub key: Vec<u8>,
    pub sequence: u64,
    pub slot: Slot,
}

impl Entry {
    fn place(&self) -> (&[u8], Reverse<u64>) {
        (&self.key, Reverse(self.sequence))
    }
}

struct Head {
    entry: Entry,
    run: usize,
}

impl PartialEq for Head {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Head {}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Head {
    /// Turned around, because the heap gives its greatest.
    fn cmp(&self, other: &Self) -> Ordering {
        other.entry.place().cmp(&self.entry.place()).then(other.run.cmp(&self.run))
    }
}

/// Merges runs with a heap of their first entries: by key, the newest version first.
pub struct MergeIter {
    runs: Vec<std::vec::IntoIter<Entry>>,
    heads: BinaryHeap<Head>,
}

impl MergeIter {
    pub fn new(runs: Vec<Vec<Entry>>) -> Self {
        let mut merged = Self { runs: runs.into_iter().map(Vec::into_iter).collect(), heads: BinaryHeap::new() };
        for run in 0..merged.runs.len() {
            merged.refill(run);
        }
        merged
    }

    fn refill(&mut self, run: usize) {
        if let Some(entry) = self.runs[run].next() {
            self.heads.push(Head { entry, run });
        }
    }
}

impl Iterator for MergeIter {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        let Head { entry, run } = self.heads.pop()?;
        self.refill(run);
        Some(entry)
    }
}
