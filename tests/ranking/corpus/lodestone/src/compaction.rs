//! Merges tables, so that reads look into few and deleted keys go away.

use crate::iter::{Entry, MergeIter};
use crate::memtable::Slot;
use crate::options::Options;

/// A table as the picker sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub id: u64,
    pub bytes: u64,
    pub level: usize,
}

/// What to merge into which level.
#[derive(Debug, PartialEq, Eq)]
pub struct Plan {
    pub inputs: Vec<u64>,
    pub level: usize,
    /// Nothing older lies below, so that tombstones may be dropped.
    pub is_last: bool,
}

/// Chooses the lowest level with enough tables of similar size; none when there is nothing worth doing.
pub fn pick(tables: &[Candidate], options: &Options) -> Option<Plan> {
    let deepest = tables.iter().map(|table| table.level).max()?;
    (0..=deepest).find_map(|level| {
        let mut here: Vec<_> = tables.iter().filter(|table| table.level == level).collect();
        if here.len() < options.fanout {
            return None;
        }
        here.sort_by_key(|table| table.bytes);
        let alike = here.windows(options.fanout).find(|run| run[run.len() - 1].bytes <= 2 * run[0].bytes.max(1));
        let chosen = alike.map_or(here.as_slice(), |run| run);
        Some(Plan {
            inputs: chosen.iter().map(|table| table.id).collect(),
            level: level + 1,
            is_last: level == deepest && chosen.len() == here.len(),
        })
    })
}

/// Merges sorted runs. Of each key the newest version stays, and those that a snapshot still needs; tombstones go in the
/// last level.
pub fn merge(runs: Vec<Vec<Entry>>, plan: &Plan, snapshots: &[u64], mut write: impl FnMut(Entry)) {
    let mut last_key: Option<Vec<u8>> = None;
    let mut last_sequence = u64::MAX;
    for entry in MergeIter::new(runs) {
        let is_same_key = last_key.as_deref() == Some(entry.key.as_slice());
        let is_hidden = is_same_key && !snapshots.iter().any(|at| (entry.sequence..last_sequence).contains(at));
        last_key = Some(entry.key.clone());
        last_sequence = entry.sequence;
        let is_gone = plan.is_last && entry.slot == Slot::Tombstone && snapshots.is_empty();
        if !is_hidden && !is_gone {
            write(entry);
        }
    }
}

/// How much writers are held back: 0 not at all, 1 stopped.
pub fn pressure(tables_at_level_0: usize, options: &Options) -> f64 {
    let (slow, stop) = (2 * options.fanout, 4 * options.fanout);
    let over = tables_at_level_0.saturating_sub(slow) as f64;
    (over / (stop - slow).max(1) as f64).min(1.0)
}
