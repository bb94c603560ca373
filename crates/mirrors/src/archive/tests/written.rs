//! Writes archives, also invalid ones that no program would write.

use std::io::{Cursor, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use tar::{Builder, EntryType, Header};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// The files of a small project, sorted by path.
pub(super) const FILES: &[(&str, &str)] =
    &[("README.md", "# Shop\n"), ("src/shop.rs", "fn shop() {}\n"), ("src/till/mod.rs", "fn till() {}\n")];

/// An entry of a tar file: kind, name, target of a link, content.
pub(super) type TarEntry<'a> = (EntryType, &'a [u8], &'a str, &'a [u8]);

/// Returns a tar file with these entries, whatever their names are.
pub(super) fn tar_of(entries: &[TarEntry<'_>]) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    for (kind, name, target, content) in entries {
        let mut header = Header::new_gnu();
        let old = header.as_old_mut();
        old.name[..name.len()].copy_from_slice(name);
        old.linkname[..target.len()].copy_from_slice(target.as_bytes());
        header.set_entry_type(*kind);
        header.set_size(content.len() as u64);
        // Anyone who unpacks it would get a program with the owner's rights.
        header.set_mode(0o6755);
        header.set_cksum();
        builder.append(&header, *content).unwrap();
    }
    builder.into_inner().unwrap()
}

/// A tar file with these files.
pub(super) fn tar(files: &[(&str, &str)]) -> Vec<u8> {
    let entries: Vec<TarEntry<'_>> =
        files.iter().map(|(path, text)| (EntryType::Regular, path.as_bytes(), "", text.as_bytes())).collect();
    tar_of(&entries)
}

/// A zip file with these files.
pub(super) fn zip(files: &[(&str, &str)]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (index, (path, text)) in files.iter().enumerate() {
        let method = if index % 2 == 0 { CompressionMethod::Stored } else { CompressionMethod::Deflated };
        zip.start_file(*path, SimpleFileOptions::default().compression_method(method)).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// A zip file with folders only.
pub(super) fn zip_of_folders(count: usize) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for number in 0..count {
        zip.add_directory(format!("d{number}"), SimpleFileOptions::default()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(super) fn zstd(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec(bytes, CompressionLevel::Fastest)
}

/// Returns the offset in the list of a zip file of its entry number `index`.
pub(super) fn listed_at(zip: &[u8], index: usize) -> usize {
    let starts = zip.windows(4).enumerate().filter(|(_, bytes)| *bytes == b"PK\x01\x02");
    starts.map(|(at, _)| at).nth(index).unwrap()
}

/// Replaces all of `from`, which has the same length.
pub(super) fn replace(bytes: &mut [u8], from: &[u8], to: &[u8]) {
    assert_eq!(from.len(), to.len());
    let places: Vec<usize> =
        bytes.windows(from.len()).enumerate().filter(|(_, part)| *part == from).map(|(at, _)| at).collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at..at + to.len()].copy_from_slice(to);
    }
}
