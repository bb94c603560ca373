//! Reads tar files. Of entries with the same path the last one counts, as when they are unpacked.

use std::io::{self, Read};

use tar::{Archive, Entry, EntryType};

use super::collector::{Collector, LeftOut};
use super::meter::{Meter, Unpacked};

/// Attributes of sparse files begin like this; their content is preceded by a list of its pieces.
const SPARSE_ATTRIBUTE: &[u8] = b"GNU.sparse.";

/// Takes all files into `collector`.
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
        let Some(entry) = entries.next().transpose()? else { break };
        meter.begin_entry();
        unread = take_entry(entry, collector)?;
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

/// Takes an entry. Returns how many bytes of it are still to be read.
fn take_entry(mut entry: Entry<'_, impl Read>, collector: &mut Collector<'_>) -> io::Result<u64> {
    let kind = entry.header().entry_type();
    // The size of a sparse file includes its holes.
    let unread = if kind == EntryType::GNUSparse { entry.header().entry_size()? } else { entry.size() };
    let name = entry.path_bytes().into_owned();
    // Old programs write folders as files whose name ends in a slash.
    let is_folder = kind == EntryType::Directory || kind == EntryType::Regular && name.ends_with(b"/");
    if is_folder || kind == EntryType::XGlobalHeader {
        return Ok(unread);
    }
    let Some(path) = collector.path(&name) else { return Ok(unread) };
    match kind {
        EntryType::Regular | EntryType::Continuous if is_sparse(&mut entry)? => {
            collector.leave_out(LeftOut::Sparse);
        }
        EntryType::Regular | EntryType::Continuous => {
            collector.add_file(&path, entry.size(), entry)?;
            return Ok(0);
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
    Ok(unread)
}

/// Whether attributes say that a file is sparse.
fn is_sparse(entry: &mut Entry<'_, impl Read>) -> io::Result<bool> {
    let Some(attributes) = entry.pax_extensions()? else { return Ok(false) };
    Ok(attributes.flatten().any(|attribute| attribute.key_bytes().starts_with(SPARSE_ATTRIBUTE)))
}
