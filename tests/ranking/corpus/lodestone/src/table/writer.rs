//! Writes a table from entries in order.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use super::{BlockBuilder, MAGIC};
use crate::bloom::BloomFilter;
use crate::checksum::{crc32c, masked};
use crate::error::Result;
use crate::options::Options;

/// A table that is being written.
pub struct TableWriter {
    out: BufWriter<File>,
    written: u64,
    block: BlockBuilder,
    index: BlockBuilder,
    keys: Vec<Vec<u8>>,
    block_bytes: usize,
    bloom_bits: u32,
}

impl TableWriter {
    pub fn create(path: &Path, options: &Options) -> Result<Self> {
        Ok(Self {
            out: BufWriter::new(File::create(path)?),
            written: 0,
            block: BlockBuilder::default(),
            index: BlockBuilder::default(),
            keys: Vec::new(),
            block_bytes: options.block_bytes,
            bloom_bits: options.bloom_bits,
        })
    }

    /// Adds an entry; keys must come in order.
    pub fn add(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.block.add(key, value);
        self.keys.push(key.to_vec());
        if self.block.size() >= self.block_bytes {
            self.end_block()?;
        }
        Ok(())
    }

    fn end_block(&mut self) -> Result<()> {
        let last = self.block.last_key().to_vec();
        let bytes = self.block.finish();
        let (offset, length) = self.write_checked(&bytes)?;
        self.index.add(&last, &[offset.to_le_bytes(), length.to_le_bytes()].concat());
        Ok(())
    }

    /// Writes filter, index and footer, and waits for the disk. The size of the table.
    pub fn finish(mut self) -> Result<u64> {
        if self.block.size() > 0 {
            self.end_block()?;
        }
        let filter = match self.bloom_bits {
            0 => Vec::new(),
            bits => BloomFilter::build(self.keys.iter().map(Vec::as_slice), bits).encode(),
        };
        let filter = self.write_checked(&filter)?;
        let index = self.index.finish();
        let index = self.write_checked(&index)?;
        for number in [filter.0, filter.1, index.0, index.1, MAGIC] {
            self.out.write_all(&number.to_le_bytes())?;
        }
        self.out.flush()?;
        self.out.get_ref().sync_all()?;
        Ok(self.written)
    }

    fn write_checked(&mut self, bytes: &[u8]) -> Result<(u64, u64)> {
        let offset = self.written;
        self.out.write_all(bytes)?;
        self.out.write_all(&masked(crc32c(bytes)).to_le_bytes())?;
        self.written += bytes.len() as u64 + 4;
        Ok((offset, bytes.len() as u64))
    }
}
