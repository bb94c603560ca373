//! Malicious archives: none of their entries is written.

use std::io::Write;
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::GzEncoder;
use tar::{Builder, Header};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::*;
use contract::ErrorCode;

const LIMITS: ArchiveLimits = ArchiveLimits { bytes_max: 1_000, entry_bytes_max: 600, entries_max: 5 };

fn header(name: &str, kind: EntryType, size: u64) -> Header {
    let mut header = Header::new_ustar();
    // The builder refuses unsafe names, so the field is written directly.
    header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
    header.set_entry_type(kind);
    header.set_size(size);
    header.set_mode(0o644);
    header.set_cksum();
    header
}

fn tar(entries: &[(&str, EntryType, &[u8])]) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    for (name, kind, content) in entries {
        builder.append(&header(name, *kind, content.len() as u64), *content).unwrap();
    }
    builder.into_inner().unwrap()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn unpacked(bytes: &[u8]) -> (tempfile::TempDir, Result<(), Fault>) {
    let dir = tempfile::tempdir().unwrap();
    let (file, into) = (dir.path().join("archive"), dir.path().join("into"));
    std::fs::write(&file, bytes).unwrap();
    std::fs::create_dir(&into).unwrap();
    let result = unpack_untrusted(&file, file_type(&file).unwrap(), LIMITS, &into);
    (dir, result)
}

fn refused(bytes: &[u8]) -> ErrorCode {
    let (dir, result) = unpacked(bytes);
    assert_eq!(std::fs::read_dir(dir.path().join("into")).unwrap().count(), 0, "something was written");
    let names: Vec<PathBuf> = std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().path()).collect();
    assert_eq!(names.len(), 2, "something was written beside it: {names:?}");
    result.unwrap_err().code
}

#[test]
fn good_archives_of_each_kind_are_unpacked() {
    let tarred = tar(&[
        ("./", EntryType::Directory, b""),
        ("./lib/", EntryType::Directory, b""),
        ("./lib/vec0.so", EntryType::Regular, b"elf"),
    ]);
    let mut zipped = ZipWriter::new(io::Cursor::new(Vec::new()));
    zipped.start_file("lib/vec0.so", SimpleFileOptions::default()).unwrap();
    zipped.write_all(b"elf").unwrap();
    for bytes in [gzip(&tarred), tarred, zipped.finish().unwrap().into_inner()] {
        let (dir, result) = unpacked(&bytes);
        result.unwrap();
        assert_eq!(std::fs::read(dir.path().join("into/lib/vec0.so")).unwrap(), b"elf");
    }
}

#[test]
fn unsafe_paths_and_special_files_are_refused() {
    for name in ["../vec0.so", "a/../../vec0.so", "/etc/vec0.so", "a//b", "a\\b", "c:vec0.so"] {
        let bytes = tar(&[("fine", EntryType::Regular, b"x"), (name, EntryType::Regular, b"x")]);
        assert_eq!(refused(&bytes), ErrorCode::ArchiveUnsafe, "{name}");
        assert_eq!(refused(&gzip(&bytes)), ErrorCode::ArchiveUnsafe, "{name}");
    }
    for kind in [
        EntryType::Symlink,
        EntryType::Link,
        EntryType::Char,
        EntryType::Block,
        EntryType::Fifo,
        EntryType::GNUSparse,
    ] {
        let bytes = tar(&[("fine", EntryType::Regular, b"x"), ("special", kind, b"")]);
        assert_eq!(refused(&bytes), ErrorCode::ArchiveUnsafe, "{kind:?}");
    }
    let doubled = tar(&[("a", EntryType::Regular, b"x"), ("./a", EntryType::Regular, b"y")]);
    assert_eq!(refused(&doubled), ErrorCode::ArchiveUnsafe);
}

#[test]
fn sizes_and_counts_are_bounded_also_for_gzip_bombs() {
    let many: Vec<String> = (0..6).map(|i| format!("f{i}")).collect();
    let entries: Vec<(&str, EntryType, &[u8])> =
        many.iter().map(|name| (name.as_str(), EntryType::Regular, &b"x"[..])).collect();
    assert_eq!(refused(&tar(&entries)), ErrorCode::ArchiveTooLarge);
    assert_eq!(refused(&tar(&[("f", EntryType::Regular, &[0; 601])])), ErrorCode::ArchiveTooLarge);
    let parts = [("a", EntryType::Regular, &[0; 600][..]), ("b", EntryType::Regular, &[0; 600][..])];
    assert_eq!(refused(&tar(&parts)), ErrorCode::ArchiveTooLarge);
    // A gzip bomb: small when compressed.
    let bomb = gzip(&tar(&[("bomb", EntryType::Regular, &vec![0; 8 << 20])]));
    assert!(bomb.len() < 100_000);
    assert_eq!(refused(&bomb), ErrorCode::ArchiveTooLarge);
}

#[test]
fn truncated_archives_and_other_files_are_refused() {
    let whole = tar(&[("f", EntryType::Regular, &[7; 600])]);
    assert_eq!(unpacked(&whole[..700]).1.unwrap_err().code, ErrorCode::ArchiveUnsafe, "cut in a file");
    for bytes in [&b"<html>"[..], b"", b"\x1f\x8bgarbage", b"PK\x03\x04garbage"] {
        assert_eq!(refused(bytes), ErrorCode::ArchiveUnsafe, "{bytes:?}");
    }
}
