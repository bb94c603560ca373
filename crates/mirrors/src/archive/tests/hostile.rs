//! Hostile archives: each has a clear outcome, and none has an effect.

use tar::EntryType;

use super::written::{FILES, TarEntry, gzip, listed_at, replace, tar, tar_of, zip, zip_of_folders, zstd};
use super::*;

const FILE: EntryType = EntryType::Regular;

fn file<'a>(name: &'a str, text: &'a str) -> TarEntry<'a> {
    (FILE, name.as_bytes(), "", text.as_bytes())
}

fn entry<'a>(kind: EntryType, name: &'a str, content: &'a [u8]) -> TarEntry<'a> {
    (kind, name.as_bytes(), "", content)
}

fn link<'a>(kind: EntryType, name: &'a str, target: &'a str) -> TarEntry<'a> {
    (kind, name.as_bytes(), target, &[])
}

/// Returns the code of the fault of an archive that must be refused.
fn refused(name: &str, bytes: &[u8]) -> ErrorCode {
    Fixture::new().refuse(name, bytes).code
}

#[test]
fn names_that_lead_out_are_left_out() {
    let fixture = Fixture::new();
    let long = "n".repeat(1 << 20);
    let entries: Vec<TarEntry<'_>> = vec![
        file("kept", "1"),
        file("../up", "2"),
        file("a/../../up", "3"),
        file("/etc/passwd", "4"),
        file("C:\\drive", "5"),
        // A name of a megabyte.
        entry(EntryType::GNULongName, "././@LongLink", long.as_bytes()),
        file("short", "6"),
        file(".git/config", "7"),
        file("x/.Git/hooks/post-checkout", "8"),
        file("back\\slash", "9"),
        (FILE, &b"not-utf-8-\xff"[..], "", &b"10"[..]),
    ];
    let imported = fixture.import_new("a.tar", &tar_of(&entries));
    let note = imported.note.as_deref().unwrap();
    assert_eq!(note, "Left out of the archive: names that lead out of it or are too long (5).");
    let kept = files(&imported);
    assert_eq!(kept, pairs(&[("back\\slash", "9"), ("kept", "1"), ("not-utf-8-\u{fffd}", "")]));

    // In a zip file, the character of Windows separates folders.
    let mut zip = zip(&[("xx/up", "1"), ("a\\b", "2"), ("D:\\c", "3"), ("nul", "4")]);
    replace(&mut zip, b"xx/up", b"../up");
    replace(&mut zip, b"nul", b"n\0l");
    let imported = fixture.import_new("a.zip", &zip);
    assert_eq!(files(&imported), pairs(&[("b", "2")]), "without its folder");
    assert!(imported.note.unwrap().ends_with("(3)."));
}

#[test]
fn the_last_entry_of_a_tar_file_counts() {
    let fixture = Fixture::new();
    let entries = [file("a", "1"), file("./a", "2"), file("b/c", "3"), file("b", "4"), file("A", "5")];
    let imported = fixture.import_new("a.tar", &tar_of(&entries));
    assert_eq!(files(&imported), pairs(&[("A", "5"), ("a", "2"), ("b", "4")]));
}

#[test]
fn links_lead_nowhere_and_devices_are_left_out() {
    let fixture = Fixture::new();
    let entries: Vec<TarEntry<'_>> = vec![
        entry(EntryType::Directory, "d/", &[]),
        file("d/a", "1"),
        link(EntryType::Symlink, "out", "/etc/passwd"),
        // Below a link, a file is one of the archive.
        file("out/x", "2"),
        link(EntryType::Symlink, "up", "../../.."),
        link(EntryType::Link, "same", "d/a"),
        link(EntryType::Link, "none", "/etc/passwd"),
        link(EntryType::Link, "later", "z"),
        entry(EntryType::Char, "null", &[]),
        entry(EntryType::Block, "disk", &[]),
        entry(EntryType::Fifo, "pipe", &[]),
        entry(EntryType::new(b'V'), "label", &[]),
        file("z", "3"),
    ];
    let imported = fixture.import_new("a.tar", &tar_of(&entries));
    let expected = [("d/a", "1"), ("out/x", "2"), ("same", "1"), ("up", "Link"), ("z", "3")];
    assert_eq!(files(&imported), pairs(&expected));
    assert_eq!(
        imported.note.as_deref(),
        Some(
            "Left out of the archive: devices, pipes and unknown kinds of entries (4), hard links to no file of it (2)."
        )
    );

    let mut linked = zip::ZipWriter::new(io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    linked.add_directory("d", options).unwrap();
    linked.start_file("a", options).unwrap();
    linked.add_symlink("link", "/etc/passwd", options).unwrap();
    linked.add_symlink("long", "x".repeat(5000), options).unwrap();
    let imported = fixture.import_new("a.zip", &linked.finish().unwrap().into_inner());
    assert_eq!(files(&imported), pairs(&[("a", ""), ("link", "Link")]));
    assert!(imported.note.is_some());
}

#[test]
fn sparse_files_are_left_out_without_their_holes() {
    let fixture = Fixture::new();
    let mut header = tar::Header::new_gnu();
    header.set_path("holes").unwrap();
    header.set_entry_type(EntryType::GNUSparse);
    header.set_size(0);
    // Of 8 EiB.
    let gnu = header.as_gnu_mut().unwrap();
    gnu.realsize = *b"\x80\x00\x00\x00\x7f\xff\xff\xff\xff\xff\xff\xff";
    gnu.sparse[0].offset = gnu.realsize;
    gnu.sparse[0].numbytes = *b"00000000000\0";
    header.set_cksum();
    let mut builder = tar::Builder::new(Vec::new());
    builder.append(&header, io::empty()).unwrap();
    let attributes = [("GNU.sparse.major", &b"1"[..]), ("GNU.sparse.name", &b"other"[..])];
    builder.append_pax_extensions(attributes).unwrap();
    let mut bytes = builder.into_inner().unwrap();
    bytes.truncate(bytes.len() - 1024);
    bytes.extend(tar_of(&[file("GNUSparseFile.0/other", "1\n0\n5\nhello"), file("a", "1")]));
    let imported = fixture.import_new("a.tar", &bytes);
    assert_eq!(files(&imported), pairs(&[("a", "1")]));
    assert_eq!(imported.note.as_deref(), Some("Left out of the archive: sparse files (2)."));
}

#[test]
fn a_sparse_file_does_not_lift_the_bound_of_headers() {
    // Its header claims 4 EiB, and an attribute that there are none.
    let mut header = tar::Header::new_gnu();
    header.set_path("holes").unwrap();
    header.set_entry_type(EntryType::GNUSparse);
    header.set_size(1 << 62);
    header.as_gnu_mut().unwrap().realsize = *b"00000000000\0";
    header.set_cksum();
    let mut builder = tar::Builder::new(Vec::new());
    builder.append_pax_extensions([("size", &b"0"[..])]).unwrap();
    builder.append(&header, io::empty()).unwrap();
    let mut bytes = builder.into_inner().unwrap();
    bytes.truncate(bytes.len() - 1024);
    let long = vec![b'n'; 5 << 20];
    bytes.extend(tar_of(&[entry(EntryType::GNULongName, "././@LongLink", &long), file("a", "1")]));
    let fault = Fixture::new().refuse("a.tar.gz", &gzip(&bytes));
    assert_eq!(fault.code, ErrorCode::ArchiveUnsafe, "{fault}");
    assert!(fault.message.contains("two sizes"), "{fault}");
}

#[test]
fn folders_are_bounded() {
    let mut fixture = Fixture::new();
    fixture.archives.limits.files_max = 10;
    fixture.archives.limits.depth_max = 3;
    // Each with three folders of its own.
    let names: Vec<String> = (0..9).map(|number| format!("{number}/x/y/file")).collect();
    let deep: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
    for (name, bytes) in [("a.tar", tar(&deep)), ("a.zip", zip(&deep))] {
        let fault = fixture.refuse(name, &bytes);
        assert_eq!(fault.code, ErrorCode::ArchiveTooLarge, "{name}: {fault}");
        assert!(fault.message.contains("20 folders"), "{name}: {fault}");
    }
    // With folders in common they are few.
    let shared: Vec<String> = (0..9).map(|number| format!("top/x/y/{number}/file")).collect();
    let deep_and_deeper: Vec<(&str, &str)> =
        shared.iter().map(|name| (name.as_str(), "")).chain([("top/1/2/3/4/file", "")]).collect();
    let imported = fixture.import_new("b.tar", &tar(&deep_and_deeper));
    assert_eq!(files(&imported).len(), 9);
    assert_eq!(
        imported.note.as_deref(),
        Some("Left out of the archive: files in more folders than indexing.walk_depth_max allows (1).")
    );
}

#[test]
fn each_limit_has_its_fault() {
    let mut fixture = Fixture::new();
    let zeros = vec![0; 33 << 20];
    let bomb = [tar_of(&[entry(FILE, "zeros", &zeros)]), vec![0; 1024]].concat();
    for (name, bytes) in [("bomb.tar.gz", gzip(&bomb)), ("bomb.tar.zst", zstd(&bomb))] {
        assert!(bytes.len() < 1 << 20, "{name}");
        let fault = fixture.refuse(name, &bytes);
        assert!(fault.message.contains("indexing.archive_unpacked_bytes_max"), "{fault}");
        assert_eq!(fault.code, ErrorCode::ArchiveTooLarge);
    }
    let text = "0".repeat(17 << 20);
    let fault = fixture.refuse("bomb.zip", &zip(&[("x", "0"), ("a", &text), ("y", "0"), ("b", &text)]));
    assert!(fault.message.contains("indexing.archive_unpacked_bytes_max"), "{fault}");
    // Bytes after the last entry count as well.
    let trailing = [tar(FILES), zeros.clone()].concat();
    assert!(fixture.refuse("x.tar.gz", &gzip(&trailing)).message.contains("unpacked_bytes_max"));

    let fault = fixture.refuse("large.tar", &[tar(FILES), vec![0; 17 << 20]].concat());
    assert!(fault.message.contains("indexing.archive_bytes_max"), "{fault}");

    let names: Vec<String> = (0..101).map(|number| format!("f{number}")).collect();
    let many: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
    for (name, bytes) in [("a.tar", tar(&many)), ("a.zip", zip(&many))] {
        let fault = fixture.refuse(name, &bytes);
        assert!(fault.message.contains("indexing.files_max"), "{fault}");
    }
    // Folders do not count as files, but the list of a zip file is bounded with them.
    fixture.archives.limits.files_max = 0;
    assert!(fixture.refuse("d.zip", &zip_of_folders(1001)).message.contains("indexing.files_max"));
}

#[test]
fn headers_are_bounded_in_memory() {
    let long = vec![b'n'; 5 << 20];
    for kind in [EntryType::GNULongName, EntryType::GNULongLink, EntryType::XHeader] {
        let bytes = tar_of(&[entry(kind, "././@LongLink", &long), file("a", "1")]);
        let fault = Fixture::new().refuse("a.tar.gz", &gzip(&bytes));
        assert_eq!(fault.code, ErrorCode::ArchiveTooLarge, "{kind:?}: {fault}");
        assert!(fault.message.contains("describes an entry"), "{kind:?}: {fault}");
    }
    // Omitted and skipped entries are not headers, however large they are.
    let fixture = Fixture::new();
    let bytes = tar_of(&[
        entry(EntryType::XGlobalHeader, "pax_global_header", &long),
        entry(EntryType::Fifo, "pipe", &long),
        file("a", "1"),
    ]);
    assert_eq!(files(&fixture.import_new("a.tar", &bytes)), pairs(&[("a", "1")]));
}

#[test]
fn what_is_no_archive_is_an_invalid_request() {
    let (plain, packed) = (tar(FILES), zip(FILES));
    let compressed = gzip(&plain);
    let mut wrong_checksum = compressed.clone();
    let at = wrong_checksum.len() - 8;
    wrong_checksum[at] ^= 1;
    let mut wrong_content = packed.clone();
    replace(&mut wrong_content, b"# Shop", b"# Stop");
    let mut wrong_header = plain.clone();
    wrong_header[0] ^= 1;
    let mut wrong_size = packed.clone();
    let at = listed_at(&packed, 0) + 24;
    wrong_size[at] += 1;
    for (name, bytes) in [
        ("empty.tar", Vec::new()),
        ("empty.zip", Vec::new()),
        ("nothing.tar", vec![0; 1024]),
        ("nothing.zip", zip(&[])),
        ("folders.zip", zip_of_folders(2)),
        ("text.tar", b"this is a text\n".repeat(100)),
        ("text.zip", b"this is a text\n".repeat(100)),
        ("page.tar.gz", b"<!DOCTYPE html><title>Sign in</title>".to_vec()),
        ("header.tar", wrong_header),
        ("short.tar", plain[..700].to_vec()),
        ("short.tar.gz", compressed[..compressed.len() - 20].to_vec()),
        ("no-checksum.tar.gz", compressed[..compressed.len() - 8].to_vec()),
        ("checksum.tar.gz", wrong_checksum),
        ("garbage.tar.gz", [&compressed[..], b"garbage"].concat()),
        ("short.tar.zst", zstd(&plain)[..50].to_vec()),
        ("checksum.zip", wrong_content),
        ("size.zip", wrong_size),
        ("short.zip", packed[..packed.len() - 30].to_vec()),
        ("list.zip", [&packed[..listed_at(&packed, 1)], &packed[packed.len() - 22..]].concat()),
    ] {
        assert_eq!(refused(name, &bytes), ErrorCode::InvalidRequest, "{name}");
    }
}

#[test]
fn the_beginning_shows_what_is_no_archive() {
    let fixture = Fixture::new();
    let probe = |name: &str, bytes: &[u8]| {
        fixture.archives.probe(&fixture.write(name, bytes), GO_ON).map_err(|fault| fault.code)
    };
    let compressed = gzip(&tar(FILES));
    assert_eq!(probe("a.tar.gz", &compressed), Ok(()));
    assert_eq!(probe("a.zip", &zip(FILES)), Ok(()));
    for (name, bytes) in
        [("x.tar", b"text\n".repeat(200)), ("x.zip", b"text\n".repeat(200)), ("x.tgz", vec![0; 2000])]
    {
        assert_eq!(probe(name, &bytes), Err(ErrorCode::InvalidRequest), "{name}");
    }
    assert_eq!(probe("large.tar", &vec![0; 17 << 20]), Err(ErrorCode::ArchiveTooLarge));
    assert!(!fixture.path("mirrors").exists());
}

#[test]
fn a_zip_file_that_programs_read_differently_is_refused() {
    let mut same_name = zip(&[("aa", "1"), ("ab", "2")]);
    replace(&mut same_name, b"ab", b"aa");
    assert_eq!(refused("name.zip", &same_name), ErrorCode::ArchiveUnsafe);
    assert_eq!(refused("folder.zip", &zip(&[("a", "1"), ("a/b", "2")])), ErrorCode::ArchiveUnsafe);
    // Two entries of the list with the content of the first one.
    let mut same_content = zip(&[("aa", "1"), ("ab", "2")]);
    let offset = listed_at(&same_content, 1) + 42;
    same_content[offset..offset + 4].fill(0);
    assert_eq!(refused("overlap.zip", &same_content), ErrorCode::ArchiveUnsafe);
}

#[test]
fn a_zip_file_may_claim_any_number_of_entries() {
    let mut zip = zip(FILES);
    let end = zip.len() - 22;
    // Of its list: as many as the format allows, in a list that is as long.
    zip[end + 8..end + 16].fill(0xfe);
    let fault = Fixture::new().refuse("a.zip", &zip);
    assert!(matches!(fault.code, ErrorCode::InvalidRequest | ErrorCode::ArchiveTooLarge), "{fault}");
}

#[test]
fn what_cannot_be_unpacked_is_left_out_with_a_note() {
    let fixture = Fixture::new();
    let mut zip = zip(&[("open", "1"), ("locked", "2"), ("packed", "3")]);
    let locked = listed_at(&zip, 1) + 8;
    zip[locked] |= 1;
    let packed = listed_at(&zip, 2) + 10;
    zip[packed] = 12;
    let imported = fixture.import_new("a.zip", &zip);
    assert_eq!(files(&imported), pairs(&[("open", "1")]));
    assert_eq!(
        imported.note.as_deref(),
        Some(
            "Left out of the archive: encrypted files (1), files that are compressed by an unsupported method (1)."
        )
    );
    // The note is known also when nothing is read again.
    let again = fixture.archives.import(&fixture.path("a.zip"), STOP).unwrap();
    assert_eq!(again.note, imported.note);

    let mut all_locked = super::written::zip(&[("locked", "2")]);
    let locked = listed_at(&all_locked, 0) + 8;
    all_locked[locked] |= 1;
    let fault = Fixture::new().refuse("b.zip", &all_locked);
    assert_eq!(fault.code, ErrorCode::InvalidRequest);
    assert_eq!(fault.message, "The archive contains no files. Left out of the archive: encrypted files (1).");
}

#[test]
fn archives_in_archives_are_not_opened() {
    let fixture = Fixture::new();
    let inner = gzip(&tar(FILES));
    let outer = tar_of(&[entry(FILE, "inner.tar.gz", &inner), file("a", "1")]);
    let imported = fixture.import_new("outer.tar", &outer);
    let root = CommitTree::open(&imported.git_dir, &imported.head.commit).unwrap().root().unwrap();
    assert_eq!(root.read_with_metadata("inner.tar.gz", 1 << 20).1.unwrap(), inner);
}
