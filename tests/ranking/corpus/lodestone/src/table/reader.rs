//! Finds keys in a table: filter, index, block.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Block, FOOTER, MAGIC};
use crate::bloom::BloomFilter;
use crate::cache::BlockCache;
use crate::checksum::{crc32c, unmasked};
use crate::error::{Error, Result};

/// An open table.
pub struct TableReader {
    id: u64,
    path: PathBuf,
    file: File,
    filter: Option<BloomFilter>,
    index: Vec<u8>,
    cache: Arc<BlockCache>,
}

impl TableReader {
    /// Reads footer, filter and index; the data blocks stay on disk.
    pub fn open(id: u64, path: &Path, cache: Arc<BlockCache>) -> Result<Self> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        let corrupt = |offset, what| Error::Corrupt { file: path.to_owned(), offset, what };
        let at = length.checked_sub(FOOTER as u64).ok_or_else(|| corrupt(0, "no room for a footer"))?;
        let mut footer = [0; FOOTER];
        file.read_exact_at(&mut footer, at)?;
        let numbers: Vec<u64> =
            footer.chunks(8).map(|eight| u64::from_le_bytes(eight.try_into().unwrap_or_default())).collect();
        if numbers[4] != MAGIC {
            return Err(corrupt(at, "magic number"));
        }
        let filter = read_checked(&file, path, numbers[0], numbers[1])?;
        let index = read_checked(&file, path, numbers[2], numbers[3])?;
        Ok(Self { id, path: path.to_owned(), file, filter: BloomFilter::decode(&filter), index, cache })
    }

    /// The value of a key, if this table has it.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        if self.filter.as_ref().is_some_and(|filter| !filter.may_contain(key)) {
            return Ok(None);
        }
        let Some((offset, length)) = self.block_of(key)? else { return Ok(None) };
        let bytes = self.cache.get_or_load((self.id, offset), || read_checked(&self.file, &self.path, offset, length))?;
        let block = Block::parse(&bytes).ok_or_else(|| self.corrupt(offset, "data block"))?;
        Ok(block.seek(key).filter(|(found, _)| found == key).map(|(_, value)| value.to_vec()))
    }

    /// The index maps the last key of each block to its place.
    fn block_of(&self, key: &[u8]) -> Result<Option<(u64, u64)>> {
        let index = Block::parse(&self.index).ok_or_else(|| self.corrupt(0, "index block"))?;
        let Some((_, place)) = index.seek(key) else { return Ok(None) };
        let (offset, length) = place.split_at_checked(8).ok_or_else(|| self.corrupt(0, "index entry"))?;
        let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap_or_default());
        Ok(Some((number(offset), number(length))))
    }

    fn corrupt(&self, offset: u64, what: &'static str) -> Error {
        Error::Corrupt { file: self.path.clone(), offset, what }
    }
}

/// A block without its checksum, which must fit.
fn read_checked(file: &File, path: &Path, offset: u64, length: u64) -> Result<Vec<u8>> {
    let mut bytes = vec![0; length as usize + 4];
    file.read_exact_at(&mut bytes, offset)?;
    let sum = bytes.split_off(length as usize);
    let stored = unmasked(u32::from_le_bytes([sum[0], sum[1], sum[2], sum[3]]));
    if crc32c(&bytes) != stored {
        return Err(Error::Corrupt { file: path.to_owned(), offset, what: "checksum mismatch" });
    }
    Ok(bytes)
}
