//! Writes that are not in a table yet.

use std::collections::BTreeMap;
use std::ops::Bound;

/// A value, or the mark that the key was deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Slot {
    Value(Vec<u8>),
    Tombstone,
}

/// Versions of keys in order: by key, the newest version first.
#[derive(Debug, Default)]
pub struct Memtable {
    entries: BTreeMap<(Vec<u8>, std::cmp::Reverse<u64>), Slot>,
    bytes: usize,
}

impl Memtable {
    /// Adds a version; older ones stay for snapshots.
    pub fn insert(&mut self, key: &[u8], sequence: u64, slot: Slot) {
        let value = if let Slot::Value(value) = &slot { value.len() } else { 0 };
        self.bytes += key.len() + value + 40;
        self.entries.insert((key.to_vec(), std::cmp::Reverse(sequence)), slot);
    }

    /// The newest version that a snapshot of `sequence` can see.
    pub fn get(&self, key: &[u8], sequence: u64) -> Option<&Slot> {
        let from = (key.to_vec(), std::cmp::Reverse(sequence));
        let (found, slot) = self.entries.range((Bound::Included(from), Bound::Unbounded)).next()?;
        (found.0 == key).then_some(slot)
    }

    /// All versions in order, for writing a table.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], u64, &Slot)> {
        self.entries.iter().map(|((key, sequence), slot)| (key.as_slice(), sequence.0, slot))
    }

    /// About how much memory it takes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}
