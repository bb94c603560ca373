//! Writes the objects of a new repository as one pack with its index. One file per object would cost far more than the content where there
//! are many small objects. Equal objects are written once, and never as deltas.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};
use gix::ObjectId;
use gix::hash::{Hasher, hasher};
use gix::objs::{Kind, encode::loose_header};

/// Content of at most this size is hashed before it is compressed, so that duplicates cost nothing.
const SMALL_BYTES: u64 = 64 << 10;
/// The beginning of a pack; the number of its objects follows.
const PACK_HEADER: &[u8] = b"PACK\0\0\0\x02";
/// The beginning of an index.
const INDEX_HEADER: &[u8] = b"\xfftOc\0\0\0\x02";
/// Offsets from here on are in a table of their own.
const LARGE_OFFSET: u64 = 1 << 31;

/// A pack that is being written.
pub(super) struct PackWriter {
    folder: PathBuf,
    file: BufWriter<File>,
    /// Offset of the next object.
    end: u64,
    written: HashMap<ObjectId, Place>,
}

/// The place of an object in the pack.
#[derive(Debug, Clone, Copy)]
struct Place {
    offset: u64,
    checksum: u32,
}

impl PackWriter {
    /// Begins a pack in an existing folder without a pack.
    pub(super) fn create(folder: &Path) -> io::Result<Self> {
        let file = File::create_new(folder.join(NEW_PACK))?;
        let mut file = BufWriter::new(file);
        file.write_all(PACK_HEADER)?;
        file.write_all(&[0; 4])?;
        let end = PACK_HEADER.len() as u64 + 4;
        Ok(Self { folder: folder.to_owned(), file, end, written: HashMap::new() })
    }

    /// Writes an object whose content is in memory.
    pub(super) fn write(&mut self, kind: Kind, content: &[u8]) -> io::Result<ObjectId> {
        self.write_stream(kind, content.len() as u64, &mut &*content)
    }

    /// Writes an object with exactly these bytes.
    pub(super) fn write_stream(
        &mut self,
        kind: Kind,
        bytes: u64,
        content: &mut dyn Read,
    ) -> io::Result<ObjectId> {
        if bytes > SMALL_BYTES {
            return self.compress(kind, bytes, content);
        }
        let mut small = Vec::new();
        content.take(bytes + 1).read_to_end(&mut small)?;
        let mut hash = object_hasher(kind, bytes);
        hash.update(&small);
        let id = hash.try_finalize().map_err(io::Error::other)?;
        match self.written.contains_key(&id) {
            true => Ok(id),
            false => self.compress(kind, bytes, &mut small.as_slice()),
        }
    }

    /// Appends an object. If it exists already, or its content cannot be read, the pack stays as it was.
    fn compress(&mut self, kind: Kind, bytes: u64, content: &mut dyn Read) -> io::Result<ObjectId> {
        let appended = self.append(kind, bytes, content);
        match appended {
            Ok((id, place, end)) if !self.written.contains_key(&id) => {
                self.written.insert(id, place);
                self.end = end;
                Ok(id)
            }
            other => {
                self.file.seek(SeekFrom::Start(self.end))?;
                other.map(|(id, ..)| id)
            }
        }
    }

    fn append(
        &mut self,
        kind: Kind,
        bytes: u64,
        content: &mut dyn Read,
    ) -> io::Result<(ObjectId, Place, u64)> {
        let mut entry = CheckedWriter { inner: &mut self.file, checksum: Crc::new(), bytes: 0 };
        entry.write_all(&entry_header(kind, bytes))?;
        let mut compressed = ZlibEncoder::new(entry, Compression::fast());
        let mut hash = object_hasher(kind, bytes);
        let mut buffer = vec![0; 64 << 10];
        let mut left = bytes;
        loop {
            let read = match content.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let part = buffer.get(..read).unwrap_or_default();
            left = left.checked_sub(read as u64).ok_or_else(wrong_size)?;
            hash.update(part);
            compressed.write_all(part)?;
        }
        if left > 0 {
            return Err(wrong_size());
        }
        let entry = compressed.finish()?;
        let place = Place { offset: self.end, checksum: entry.checksum.sum() };
        let end = self.end + entry.bytes;
        Ok((hash.try_finalize().map_err(io::Error::other)?, place, end))
    }

    /// Completes the pack and writes its index.
    pub(super) fn finish(self) -> io::Result<()> {
        let Self { folder, mut file, end, written } = self;
        file.flush()?;
        let mut file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.set_len(end)?;
        file.seek(SeekFrom::Start(PACK_HEADER.len() as u64))?;
        file.write_all(&count(written.len())?.to_be_bytes())?;
        let checksum = hash_of(File::open(folder.join(NEW_PACK))?)?;
        file.seek(SeekFrom::End(0))?;
        file.write_all(checksum.as_slice())?;
        drop(file);
        let name = folder.join(format!("pack-{checksum}"));
        fs::rename(folder.join(NEW_PACK), name.with_extension("pack"))?;
        let index = index(&written, checksum)?;
        fs::write(folder.join(NEW_INDEX), index)?;
        fs::rename(folder.join(NEW_INDEX), name.with_extension("idx"))
    }
}

/// File names that readers of packs ignore.
const NEW_PACK: &str = "new-pack";
const NEW_INDEX: &str = "new-index";

/// Builds the index of a pack, in its second version.
fn index(written: &HashMap<ObjectId, Place>, pack: ObjectId) -> io::Result<Vec<u8>> {
    let mut objects: Vec<(&ObjectId, &Place)> = written.iter().collect();
    objects.sort_unstable_by_key(|(id, _)| **id);
    let mut index = INDEX_HEADER.to_vec();
    for first in 0..=u8::MAX {
        let up_to = objects.partition_point(|(id, _)| id.first_byte() <= first);
        index.extend(count(up_to)?.to_be_bytes());
    }
    objects.iter().for_each(|(id, _)| index.extend(id.as_slice()));
    objects.iter().for_each(|(_, place)| index.extend(place.checksum.to_be_bytes()));
    let mut large: Vec<u64> = Vec::new();
    for (_, place) in &objects {
        let offset = match u32::try_from(place.offset) {
            Ok(offset) if place.offset < LARGE_OFFSET => offset,
            _ => {
                large.push(place.offset);
                count(large.len() - 1)? | 1 << 31
            }
        };
        index.extend(offset.to_be_bytes());
    }
    large.iter().for_each(|offset| index.extend(offset.to_be_bytes()));
    index.extend(pack.as_slice());
    let own = hash_of(index.as_slice())?;
    index.extend(own.as_slice());
    Ok(index)
}

fn count(objects: usize) -> io::Result<u32> {
    u32::try_from(objects).map_err(io::Error::other)
}

fn hash_of(bytes: impl Read) -> io::Result<ObjectId> {
    let mut bytes = BufReader::with_capacity(1 << 20, bytes);
    let mut hash = hasher(gix::hash::Kind::Sha1);
    let mut buffer = vec![0; 64 << 10];
    loop {
        match bytes.read(&mut buffer)? {
            0 => return hash.try_finalize().map_err(io::Error::other),
            read => hash.update(buffer.get(..read).unwrap_or_default()),
        }
    }
}

fn object_hasher(kind: Kind, bytes: u64) -> Hasher {
    let mut hash = hasher(gix::hash::Kind::Sha1);
    hash.update(&loose_header(kind, bytes));
    hash
}

/// Encodes the kind and the size of an object as in a pack: four bits of the size and then seven, the lowest first.
fn entry_header(kind: Kind, bytes: u64) -> Vec<u8> {
    let number: u8 = match kind {
        Kind::Commit => 1,
        Kind::Tree => 2,
        Kind::Blob => 3,
        Kind::Tag => 4,
    };
    let low = |rest: u64, bits: u32| u8::try_from(rest & ((1 << bits) - 1)).unwrap_or_default();
    let mut header = vec![number << 4 | low(bytes, 4)];
    let mut rest = bytes >> 4;
    while rest > 0 {
        if let Some(last) = header.last_mut() {
            *last |= 0x80;
        }
        header.push(low(rest, 7));
        rest >>= 7;
    }
    header
}

fn wrong_size() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a content has another size than it was said to have")
}

/// Counts and hashes everything that is written.
struct CheckedWriter<'a> {
    inner: &'a mut BufWriter<File>,
    checksum: Crc,
    bytes: u64,
}

impl Write for CheckedWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.checksum.update(bytes.get(..written).unwrap_or_default());
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_has_the_kind_and_the_size() {
        assert_eq!(entry_header(Kind::Blob, 0), [0x30]);
        assert_eq!(entry_header(Kind::Tree, 15), [0x2f]);
        assert_eq!(entry_header(Kind::Commit, 16), [0x90, 0x01]);
        assert_eq!(entry_header(Kind::Blob, 16 * 128), [0xb0, 0x80, 0x01]);
    }

    #[test]
    fn offsets_beyond_two_gigabytes_are_in_their_own_table() {
        let id = |byte: u8| ObjectId::from_bytes_or_panic(&[byte; 20]);
        let place = |offset| Place { offset, checksum: 7 };
        let written = HashMap::from([(id(1), place(12)), (id(2), place(5 << 31))]);
        let index = index(&written, id(9)).unwrap();
        let offsets = &index[8 + 256 * 4 + 2 * 24..];
        assert_eq!(offsets[..8], [0, 0, 0, 12, 0x80, 0, 0, 0]);
        assert_eq!(offsets[8..16], (5_u64 << 31).to_be_bytes());
    }

    #[test]
    fn equal_objects_and_broken_contents_leave_no_trace() {
        let folder = tempfile::tempdir().unwrap();
        let mut pack = PackWriter::create(folder.path()).unwrap();
        let large = vec![b'x'; 100_000];
        let first = pack.write(Kind::Blob, &large).unwrap();
        let end = pack.end;
        assert_eq!(pack.write(Kind::Blob, &large).unwrap(), first);
        assert_ne!(pack.write(Kind::Tree, b"").unwrap(), first);
        assert!(pack.write_stream(Kind::Blob, 3, &mut &b"four"[..]).is_err());
        assert!(pack.write_stream(Kind::Blob, 200_000, &mut large.as_slice()).is_err());
        assert_eq!((pack.written.len(), pack.end > end), (2, true));
        pack.finish().unwrap();
        let mut names: Vec<_> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().path().extension().unwrap().to_owned())
            .collect();
        names.sort();
        assert_eq!(names, ["idx", "pack"]);
    }
}
