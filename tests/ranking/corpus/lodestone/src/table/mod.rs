//! Sorted, immutable files of entries.

mod block;
mod reader;
mod writer;

pub use block::{Block, BlockBuilder};
pub use reader::TableReader;
pub use writer::TableWriter;

/// Last bytes of every table.
pub const MAGIC: u64 = 0x6c6f_6465_7374_6f6e;
/// Places of filter and index, and the magic number.
pub const FOOTER: usize = 40;
