//! The write-ahead log: what was promised, before it is in a table.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::checksum::{crc32c, masked, unmasked};
use crate::error::Result;
use crate::memtable::Slot;

const HEADER: usize = 16;
const VALUE: u8 = 1;
const TOMBSTONE: u8 = 0;

/// One batch as it stands in the log.
#[derive(Debug, PartialEq, Eq)]
pub struct Record {
    pub sequence: u64,
    pub entries: Vec<(Vec<u8>, Slot)>,
}

/// The log that is being written.
pub struct Wal {
    path: PathBuf,
    file: File,
    sync: bool,
}

impl Wal {
    /// Opens a log and goes to its end.
    pub fn open(path: &Path, sync: bool) -> Result<Self> {
        let mut file = OpenOptions::new().create(true).read(true).write(true).truncate(false).open(path)?;
        file.seek(SeekFrom::End(0))?;
        Ok(Self { path: path.to_owned(), file, sync })
    }

    /// Writes a record with one system call, and waits for the disk if so told.
    pub fn append(&mut self, record: &Record) -> Result<()> {
        let body = encode(record);
        let mut bytes = Vec::with_capacity(HEADER + body.len());
        bytes.extend(masked(crc32c(&body)).to_le_bytes());
        bytes.extend((body.len() as u32).to_le_bytes());
        bytes.extend(record.sequence.to_le_bytes());
        bytes.extend(body);
        self.file.write_all(&bytes)?;
        if self.sync {
            self.file.sync_data()?;
        }
        Ok(())
    }

    /// Makes sure that the disk has everything.
    pub fn flush(&mut self) -> Result<()> {
        Ok(self.file.sync_data()?)
    }

    pub fn remove(self) -> Result<()> {
        Ok(std::fs::remove_file(&self.path)?)
    }
}

/// Reads all whole records and cuts off a torn tail, which is what a crash in the middle of a write leaves.
pub fn replay(path: &Path, mut each: impl FnMut(Record)) -> Result<u64> {
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    let mut reader = BufReader::new(&file);
    let mut good = 0;
    while let Some(record) = next(&mut reader)? {
        good += (HEADER + encode(&record).len()) as u64;
        each(record);
    }
    file.set_len(good)?;
    Ok(good)
}

fn next(reader: &mut impl Read) -> Result<Option<Record>> {
    let mut header = [0; HEADER];
    if !filled(reader, &mut header)? {
        return Ok(None);
    }
    let sum = unmasked(u32::from_le_bytes([header[0], header[1], header[2], header[3]]));
    let length = u32::from_le_bytes([header[4], header[5], header[6], header[7]]) as usize;
    let sequence = u64::from_le_bytes(header[8..].try_into().unwrap_or_default());
    let mut body = vec![0; length];
    if !filled(reader, &mut body)? || crc32c(&body) != sum {
        return Ok(None);
    }
    Ok(decode(&body).map(|entries| Record { sequence, entries }))
}

/// False where the file ends first.
fn filled(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match reader.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

fn encode(record: &Record) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (key, slot) in &record.entries {
        let (kind, value): (u8, &[u8]) = match slot {
            Slot::Value(value) => (VALUE, value),
            Slot::Tombstone => (TOMBSTONE, &[]),
        };
        bytes.push(kind);
        for part in [key.as_slice(), value] {
            bytes.extend((part.len() as u32).to_le_bytes());
            bytes.extend(part);
        }
    }
    bytes
}

fn decode(mut bytes: &[u8]) -> Option<Vec<(Vec<u8>, Slot)>> {
    let mut entries = Vec::new();
    while let Some((kind, rest)) = bytes.split_first() {
        let (key, rest) = part(rest)?;
        let (value, rest) = part(rest)?;
        let slot = if *kind == VALUE { Slot::Value(value.to_vec()) } else { Slot::Tombstone };
        entries.push((key.to_vec(), slot));
        bytes = rest;
    }
    Some(entries)
}

fn part(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    rest.split_at_checked(u32::from_le_bytes(*length) as usize)
}
