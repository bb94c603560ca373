//! What a caller may choose.

/// How blocks are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// As they are.
    None,
    /// Fast and moderate.
    Lz4,
    /// Slow and thorough.
    Zstd,
}

/// Settings of a store; the defaults suit a few gigabytes on a laptop.
#[derive(Debug, Clone)]
pub struct Options {
    /// Whether each write waits until the disk has it.
    pub sync: bool,
    /// Size at which the memtable is written to a table.
    pub memtable_bytes: usize,
    /// Size of a data block before compression.
    pub block_bytes: usize,
    /// Size of the block cache.
    pub cache_bytes: usize,
    /// Bits of Bloom filter a key; 0 for none.
    pub bloom_bits: u32,
    /// Tables of similar size that are merged into one.
    pub fanout: usize,
    /// Threads that compact.
    pub compaction_threads: usize,
    /// How blocks are compressed.
    pub compression: Compression,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            sync: false,
            memtable_bytes: 4 << 20,
            block_bytes: 4 << 10,
            cache_bytes: 32 << 20,
            bloom_bits: 10,
            fanout: 4,
            compaction_threads: 1,
            compression: Compression::Lz4,
        }
    }
}

impl Options {
    /// Settings for tests: everything small, so that little data makes many tables.
    pub fn tiny() -> Self {
        Self { memtable_bytes: 1 << 10, block_bytes: 128, cache_bytes: 4 << 10, fanout: 2, ..Self::default() }
    }
}
