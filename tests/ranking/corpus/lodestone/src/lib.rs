//! An embedded, ordered key-value store.

mod bloom;
mod cache;
mod checksum;
mod compaction;
mod error;
mod iter;
mod manifest;
mod memtable;
mod options;
mod store;
mod table;
mod wal;

pub use error::{Error, Result};
pub use iter::{Entry, MergeIter};
pub use options::{Compression, Options};
pub use store::{Batch, Snapshot, Stats, Store};
