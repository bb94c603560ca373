//! Reads tar files. Of entries with the same path the last one counts, as when they are unpacked.

use std::io::{self, Read};

use tar::{Archive, Entry, EntryType};

use super::collector::{Collector, LeftOut};
use super::faults;
use super::meter::{Meter, Unpacked};

/// Attributes of sparse files begin like this; their content is preceded by a list of its pieces.
const SPARSE_ATTRIBUTE: &[u8] = b"GNU.sparse.";
/// The attribute that overrides the size in a header.
const SIZE_ATTRIBUTE: &[u8] = b"size";

/// Adds all files to `collector`.
///
/// # Errors
/// Those of the reader; the meter knows the fault.
pub(super) fn read(reader: impl Read, meter: &Meter<'_>, collector: &mut Collector<'_>) -> io::Result<()> {
    let mut archive = Archive::new(Unpacked::new(reader, meter));
    let mut entries = archive.entries()?;
    let mut unread = 0;
    loop {
        // Long names and attributes are read into memory before their entry.
        meter.expect_entry(unread);
        let Some(mut entry) = entries.next().transpose()? else { break };
        meter.begin_entry();
        take_entry(&mut entry, collector)?;
        unread = skip_rest(entry, meter)?;
    }
    // The checksum of a compressed file is at its end, which is behind that of the tar file.
    meter.begin_entry();
    io::copy(&mut archive.into_inner(), &mut io::sink()).map(drop)
}

/// Checks that the file begins with an entry.
///
/// # Errors
/// As [`read`].
pub(super) fn probe(reader: impl Read, meter: &Meter<'_>) -> io::Result<()> {
    let mut archive = Archive::new(Unpacked::new(reader, meter));
    meter.expect_entry(0);
    let first = archive.entries()?.next().transpose()?;
    first.map(drop).ok_or_else(|| io::Error::new(io::ErrorKind::UnexpectedEof, "it has no entries"))
}

fn take_entry(entry: &mut Entry<'_, impl Read>, collector: &mut Collector<'_>) -> io::Result<()> {
    let kind = entry.header().entry_type();
    let name = entry.path_bytes().into_owned();
    // Old programs write folders as files whose name ends in a slash.
    let is_folder = kind == EntryType::Directory || kind == EntryType::Regular && name.ends_with(b"/");
    if is_folder || kind == EntryType::XGlobalHeader {
        return Ok(());
    }
    let Some(path) = collector.path(&name) else { return Ok(()) };
    match kind {
        EntryType::Regular | EntryType::Continuous
            if has_attribute(entry, |key| key.starts_with(SPARSE_ATTRIBUTE))? =>
        {
            collector.leave_out(LeftOut::Sparse);
        }
        EntryType::Regular | EntryType::Continuous => {
            collector.add_file(&path, entry.size(), entry)?;
        }
        EntryType::Symlink => {
            collector.add_link(&path, &entry.link_name_bytes().unwrap_or_default())?;
        }
        EntryType::Link => {
            collector.add_hard_link(&path, &entry.link_name_bytes().unwrap_or_default())?;
        }
        EntryType::GNUSparse => collector.leave_out(LeftOut::Sparse),
        _ => collector.leave_out(LeftOut::Special),
    }
    Ok(())
}

/// Reads the rest of an entry, so that only headers precede the next one. Returns the number of bytes that are still to be read: those of a
/// sparse file, which would be read with its holes.
fn skip_rest(mut entry: Entry<'_, impl Read>, meter: &Meter<'_>) -> io::Result<u64> {
    if entry.header().entry_type() != EntryType::GNUSparse {
        return io::copy(&mut entry, &mut io::sink()).map(|_| 0);
    }
    // With it, the size in the header would never be compared with the content.
    if has_attribute(&mut entry, |key| key == SIZE_ATTRIBUTE)? {
        return Err(meter.stop(faults::unsafe_archive("a sparse file of it has two sizes")));
    }
    entry.header().entry_size()
}

/// Returns `true` if an entry has an attribute with a wanted name.
fn has_attribute(entry: &mut Entry<'_, impl Read>, is_wanted: impl Fn(&[u8]) -> bool) -> io::Result<bool> {
    let Some(attributes) = entry.pax_extensions()? else { return Ok(false) };
    Ok(attributes.flatten().any(|attribute| is_wanted(attribute.key_bytes())))
}
