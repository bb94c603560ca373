//! Unpacks archives without a known checksum: zip, tar or gzipped tar, recognised by their first bytes.
//!
//! A tar file has no directory, so it is read twice: first to validate every entry, then to write them.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use flate2::read::GzDecoder;
use globset::{Glob, GlobSet, GlobSetBuilder};
use tar::{Archive, EntryType};

use super::faults;
use super::unpack::{
    ArchiveEntry, ArchiveLimits, checked_total, corrupt, safe_path, too_large, too_many, unpack_zip,
    unsafe_entry, write_entry,
};
use contract::Fault;

/// Upper bound of the headers and padding of one tar entry.
const ENTRY_OVERHEAD_BYTES: u64 = 4 * 1024;
const EXECUTABLE_BITS: u32 = 0o111;

/// The type of a file, according to its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileType {
    Zip,
    Gzip,
    Tar,
    /// A shared library of Linux or macOS.
    Library,
    Other,
}

/// Reads the type of `file`, which must exist.
pub(crate) fn file_type(file: &Path) -> io::Result<FileType> {
    let mut first = Vec::new();
    File::open(file)?.take(512).read_to_end(&mut first)?;
    Ok(match first.as_slice() {
        [b'P', b'K', 3 | 5, ..] => FileType::Zip,
        [0x1f, 0x8b, ..] => FileType::Gzip,
        [0x7f, b'E', b'L', b'F', ..] | [0xcf, 0xfa, 0xed, 0xfe, ..] | [0xca, 0xfe, 0xba, 0xbe, ..] => {
            FileType::Library
        }
        first if first.get(257..262) == Some(b"ustar") => FileType::Tar,
        _ => FileType::Other,
    })
}

/// Unpacks all entries into the empty folder `into`.
///
/// # Errors
/// `ARCHIVE_UNSAFE` and `ARCHIVE_TOO_LARGE`, if possible before anything is written.
pub(crate) fn unpack_untrusted(
    archive: &Path,
    file_type: FileType,
    limits: ArchiveLimits,
    into: &Path,
) -> Result<(), Fault> {
    match file_type {
        FileType::Zip => unpack_zip(archive, &everything()?, limits, into, &|_, _| ()),
        FileType::Tar => unpack_tar(&|| Ok(Box::new(open(archive)?)), limits, into),
        FileType::Gzip => unpack_tar(&|| Ok(Box::new(GzDecoder::new(open(archive)?))), limits, into),
        FileType::Library | FileType::Other => Err(corrupt("neither zip, tar nor gzip")),
    }
}

fn everything() -> Result<GlobSet, Fault> {
    let broken = |error: globset::Error| Fault::internal("A pattern is malformed.", error);
    GlobSetBuilder::new().add(Glob::new("**").map_err(broken)?).build().map_err(broken)
}

fn open(archive: &Path) -> Result<BufReader<File>, Fault> {
    File::open(archive).map(BufReader::new).map_err(|e| faults::io("open an archive", e))
}

type OpenResult = Result<Box<dyn Read>, Fault>;

fn unpack_tar(open: &dyn Fn() -> OpenResult, limits: ArchiveLimits, into: &Path) -> Result<(), Fault> {
    let mut planned = Vec::new();
    let mut seen = HashSet::new();
    let mut count = 0;
    visit_entries(open, limits, &mut |index, entry| {
        count += 1;
        if count > limits.entries_max {
            return Err(too_many(limits.entries_max));
        }
        if let Some(entry) = validate(index, entry)? {
            if !seen.insert(entry.path.clone()) {
                return Err(unsafe_entry(&entry.path.to_string_lossy(), "two entries have the same name"));
            }
            planned.push(entry);
        }
        Ok(())
    })?;
    checked_total(&planned, limits)?;
    visit_entries(open, limits, &mut |index, entry| match planned
        .binary_search_by_key(&index, |planned| planned.index)
    {
        Ok(at) => write_entry(entry, &planned[at], into),
        Err(_) => Ok(()),
    })
}

/// An entry of a tar file that is being read.
type TarEntry<'a, 'r> = tar::Entry<'a, &'r mut (dyn Read + 'r)>;

/// Calls `visit` with each entry; stops when the limits are exceeded.
fn visit_entries(
    open: &dyn Fn() -> OpenResult,
    limits: ArchiveLimits,
    visit: &mut dyn FnMut(usize, &mut TarEntry<'_, '_>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let overhead = ENTRY_OVERHEAD_BYTES.saturating_mul(limits.entries_max as u64 + 1);
    let mut bounded = open()?.take(limits.bytes_max.saturating_add(overhead));
    let visited = {
        let reader: &mut dyn Read = &mut bounded;
        let mut archive = Archive::new(reader);
        let mut entries = archive.entries().map_err(corrupt)?.enumerate();
        entries.try_for_each(|(index, entry)| visit(index, &mut entry.map_err(corrupt)?))
    };
    // The parser reports a reached limit as a truncated archive.
    if bounded.limit() == 0 { Err(too_large(limits.bytes_max)) } else { visited }
}

/// Validates an entry; `None` for folders and global headers, which are not unpacked.
fn validate(index: usize, entry: &tar::Entry<'_, &mut dyn Read>) -> Result<Option<ArchiveEntry>, Fault> {
    let bytes = entry.path_bytes();
    let name = std::str::from_utf8(&bytes).map_err(|_| unsafe_entry("", "a name is not UTF-8"))?;
    match entry.header().entry_type() {
        EntryType::XGlobalHeader => return Ok(None),
        EntryType::Regular | EntryType::Continuous | EntryType::Directory => {}
        _ => return Err(unsafe_entry(name, "it is a link or a special file")),
    }
    // `tar -C folder .` writes `./` before each name, and the folder itself as `./`.
    let inside = name.strip_prefix("./").unwrap_or(name);
    let is_folder = entry.header().entry_type() == EntryType::Directory;
    if is_folder && matches!(inside, "" | ".") {
        return Ok(None);
    }
    let path = safe_path(inside).map_err(|why| unsafe_entry(name, why))?;
    let mode = entry.header().mode().map_err(corrupt)?;
    let executable = mode & EXECUTABLE_BITS != 0;
    Ok((!is_folder).then_some(ArchiveEntry { index, path, bytes: entry.size(), executable }))
}

#[cfg(test)]
#[path = "unpack_untrusted_tests.rs"]
mod tests;
