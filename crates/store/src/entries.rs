//! Writes entries that may include invalid ones: an entry that the database refuses must not keep the others from being written.

use crate::postgres::is_refused_value;
use contract::Fault;
use futures::future::BoxFuture;

/// The end of a write of entries.
#[derive(Debug, Default)]
pub struct EntriesWritten {
    /// Number of finished entries, from the first on: written, or refused for good.
    pub done: usize,
    /// The refused ones among them, by their position, and why.
    pub refused: Vec<(usize, Fault)>,
    /// The reason why the others were not written; the same write may succeed later.
    pub stopped: Option<Fault>,
}

/// Takes entries.
pub trait EntryTable<T>: Sync {
    /// Writes all entries, or none.
    fn write<'a>(&'a self, entries: &'a [T]) -> BoxFuture<'a, Result<(), Fault>>;
}

/// Writes entries in their order. Where the database refuses the values of a part, its
/// halves are written, until the bad entry is alone: of the others each is written once.
pub async fn write_entries<T: Sync>(entries: &[T], table: &impl EntryTable<T>) -> EntriesWritten {
    let mut end = EntriesWritten::default();
    // Parts that are not written yet, the next one last.
    let mut parts = if entries.is_empty() { Vec::new() } else { vec![entries.len()] };
    while let Some(length) = parts.pop() {
        let part = &entries[end.done..end.done + length];
        match table.write(part).await {
            Ok(()) => end.done += length,
            Err(fault) if is_refused_value(&fault) && length == 1 => {
                end.refused.push((end.done, fault));
                end.done += 1;
            }
            Err(fault) if is_refused_value(&fault) => parts.extend([length - length / 2, length / 2]),
            Err(fault) => {
                end.stopped = Some(fault);
                break;
            }
        }
    }
    end
}
