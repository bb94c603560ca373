//! Reads zip files, entry by entry: a list of all entries in memory could be larger than the file.

use std::io::{self, Read, Seek};

use zip::read::{Config, ZipFileEntry};
use zip::unstable::read::ZipIterable;
use zip::{CompressionMethod, ZipReadOptions};

use super::collector::{Collector, LeftOut, TARGET_BYTES_MAX};
use super::faults;
use super::meter::{Content, Meter, Unpacked};

/// Bits of a mode that give the kind of an entry, and their values for a folder, a file and a link.
const KIND: u32 = 0o170_000;
const FOLDER: u32 = 0o040_000;
const FILE: u32 = 0o100_000;
const LINK: u32 = 0o120_000;

/// Least bytes of the header before the content of an entry.
const HEADER_BYTES: u64 = 30;

/// Adds all files to `collector`. With `files_max` files there may be as many folders, and some more.
///
/// # Errors
/// Those of the reader; the meter knows the fault.
pub(super) fn read<R: Read + Seek>(
    reader: R,
    files_max: usize,
    meter: &Meter<'_>,
    collector: &mut Collector<'_>,
) -> io::Result<()> {
    let mut zip = open(reader)?;
    if zip.len() > files_max.saturating_mul(2).saturating_add(1000) {
        return Err(meter.stop(faults::too_many_files(files_max)));
    }
    require_disjoint(&mut zip, meter)?;
    let entries = zip.files().map_err(io::Error::other)?;
    while let Some(entry) = entries.next() {
        take_entry(entry.map_err(io::Error::other)?, entries.reader_mut(), meter, collector)?;
    }
    Ok(())
}

/// Checks that the file has a list of entries.
///
/// # Errors
/// As [`read`].
pub(super) fn probe<R: Read + Seek>(reader: R) -> io::Result<()> {
    open(reader).map(drop)
}

fn open<R: Read + Seek>(reader: R) -> io::Result<ZipIterable<R>> {
    ZipIterable::try_new(reader, Config::default()).map_err(io::Error::other)
}

/// Refuses entries that share bytes: with them, a small file unpacks to any number of bytes.
fn require_disjoint<R: Read + Seek>(zip: &mut ZipIterable<R>, meter: &Meter<'_>) -> io::Result<()> {
    let mut ranges = Vec::new();
    for entry in zip.files().map_err(io::Error::other)? {
        let entry = entry.map_err(io::Error::other)?;
        let start = entry.header_start();
        ranges.push((start, start.saturating_add(HEADER_BYTES).saturating_add(entry.compressed_size())));
    }
    ranges.sort_unstable();
    let overlap = ranges.iter().zip(ranges.iter().skip(1)).any(|((_, end), (start, _))| end > start);
    if overlap {
        Err(meter.stop(faults::unsafe_archive("entries of it share their content")))
    } else {
        Ok(())
    }
}

fn take_entry<R: Read + Seek>(
    entry: ZipFileEntry<'_>,
    reader: &mut R,
    meter: &Meter<'_>,
    collector: &mut Collector<'_>,
) -> io::Result<()> {
    // Some programs for Windows separate folders with its own character.
    let name = entry.name().map_err(io::Error::other)?.replace('\\', "/");
    let kind = entry.unix_mode().unwrap_or(0) & KIND;
    if name.ends_with('/') || kind == FOLDER {
        return Ok(());
    }
    let Some(path) = collector.path(name.as_bytes()) else { return Ok(()) };
    let refused = match entry.compression() {
        _ if !matches!(kind, 0 | FILE | LINK) => Some(LeftOut::Special),
        _ if entry.encrypted() => Some(LeftOut::Encrypted),
        CompressionMethod::Stored | CompressionMethod::Deflated => None,
        _ => Some(LeftOut::UnknownCompression),
    };
    if let Some(why) = refused {
        collector.leave_out(why);
        return Ok(());
    }
    let bytes = entry.size();
    let content = entry.with_reader(reader, ZipReadOptions::new()).map_err(io::Error::other)?;
    let content = Unpacked::new(content, meter);
    let replaced = match kind {
        LINK => collector.add_link(&path, &read_target(content, bytes)?)?,
        _ => collector.add_file(&path, bytes, content)?,
    };
    if replaced {
        return Err(meter.stop(faults::unsafe_archive("two entries of it have the same path")));
    }
    Ok(())
}

/// Reads the target of a link. If it is too long, its beginning is enough to see that.
fn read_target(content: impl Read, bytes: u64) -> io::Result<Vec<u8>> {
    let mut content = Content::new(content, bytes);
    let mut target = Vec::new();
    let read = content.by_ref().take(TARGET_BYTES_MAX as u64 + 1).read_to_end(&mut target);
    match content.failure.take() {
        Some(failure) => Err(failure),
        None => read.map(|_| target),
    }
}
