//! Tests of archives that are written here, and of the contents of their mirrors.

mod hostile;
mod many_files;
mod written;

use std::fs::File;

use super::*;
use contract::ErrorCode;
use platform::safe_open::EntryKind;
use written::{FILES, gzip, tar, zip, zstd};

const GO_ON: &dyn Fn() -> bool = &|| false;
const STOP: &dyn Fn() -> bool = &|| true;

/// A folder with archives, and their mirrors.
struct Fixture {
    folder: tempfile::TempDir,
    archives: Archives,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let limits = ArchiveLimits {
            bytes_max: 16 << 20,
            unpacked_bytes_max: 32 << 20,
            files_max: 100,
            depth_max: 64,
            mirrors_bytes_max: 1 << 30,
        };
        let mirrors = folder.path().canonicalize().unwrap().join("mirrors");
        let archives = Archives::new(mirrors, limits, DiskSpace::default());
        Self { folder, archives }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    /// Writes an archive that looks some time old.
    fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, bytes).unwrap();
        make_older(&path, Duration::from_secs(3600));
        path
    }

    fn import(&self, path: &Path) -> Result<ImportedArchive, Fault> {
        self.archives.import(path, GO_ON)
    }

    /// Writes and imports an archive.
    fn import_new(&self, name: &str, bytes: &[u8]) -> ImportedArchive {
        self.import(&self.write(name, bytes)).unwrap_or_else(|fault| panic!("{name}: {fault}"))
    }

    /// Writes an archive and returns the fault of its import, which must leave nothing behind.
    fn refuse(&self, name: &str, bytes: &[u8]) -> Fault {
        let fault = self.import(&self.write(name, bytes)).unwrap_err();
        let left: Vec<_> = fs::read_dir(self.path("mirrors")).unwrap().flatten().collect();
        assert!(left.is_empty(), "{name}: {fault}: {left:?}");
        assert!(fault.hint.is_some(), "{name}: {fault}");
        fault
    }
}

fn make_older(path: &Path, by: Duration) {
    let file = File::options().write(true).open(path).unwrap();
    let modified = file.metadata().unwrap().modified().unwrap();
    file.set_modified(modified - by).unwrap();
}

/// Returns the paths and texts of all files, and the paths of links with an arrow.
fn files(imported: &ImportedArchive) -> Vec<(String, String)> {
    let root = CommitTree::open(&imported.git_dir, &imported.head.commit).unwrap().root().unwrap();
    let mut found = Vec::new();
    let mut open = vec![(String::new(), root)];
    while let Some((prefix, folder)) = open.pop() {
        for entry in folder.entries(1000).0 {
            let path = format!("{prefix}{}", entry.name.to_string_lossy());
            match entry.kind {
                EntryKind::Folder => {
                    open.push((format!("{path}/"), folder.open_folder(&entry.name).unwrap()));
                }
                EntryKind::File => {
                    // It reads only files whose name is UTF-8.
                    let name = entry.name.to_str();
                    let bytes = name.map(|name| folder.read_with_metadata(name, 1 << 20).1.unwrap());
                    found.push((path, String::from_utf8(bytes.unwrap_or_default()).unwrap()));
                }
                kind => found.push((path, format!("{kind:?}"))),
            }
        }
    }
    found.sort();
    found
}

fn pairs(files: &[(&str, &str)]) -> Vec<(String, String)> {
    files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
}

#[test]
fn all_formats_of_the_same_files_are_the_same_commit() {
    let fixture = Fixture::new();
    let plain = tar(FILES);
    let imported = [
        fixture.import_new("a.tar", &plain),
        fixture.import_new("a.tar.gz", &gzip(&plain)),
        fixture.import_new("b.TGZ", &gzip(&plain)),
        fixture.import_new("a.tar.zst", &zstd(&plain)),
        fixture.import_new("a.zip", &zip(FILES)),
        // A file that a program unpacked while downloading it, and two files one after the other, as `pigz` writes them.
        fixture.import_new("c.tar.gz", &plain),
        fixture.import_new("d.tar.gz", &[gzip(&plain[..700]), gzip(&plain[700..])].concat()),
        fixture.import_new("e.zip", &[&b"#!/bin/sh\nexit\n"[..], &zip(FILES)].concat()),
    ];
    for one in &imported {
        assert_eq!(files(one), pairs(FILES));
        assert_eq!((&one.head, &one.note), (&imported[0].head, &None));
    }
    assert_eq!(imported[0].head.branch, None);
}

#[test]
fn the_folder_at_the_top_of_a_release_is_left_out() {
    let fixture = Fixture::new();
    let release: Vec<(String, &str)> =
        FILES.iter().map(|(path, text)| (format!("./click-8.1/{path}"), *text)).collect();
    let release: Vec<(&str, &str)> = release.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    assert_eq!(files(&fixture.import_new("click-8.1.tar.gz", &gzip(&tar(&release)))), pairs(FILES));
    assert_eq!(files(&fixture.import_new("click-8.1.zip", &zip(&release))), pairs(FILES));
    let beside = [release[0], ("LICENSE", "free")];
    let expected = [("LICENSE", "free"), ("click-8.1/README.md", FILES[0].1)];
    assert_eq!(files(&fixture.import_new("two.tar", &tar(&beside))), pairs(&expected));
}

#[test]
fn an_archive_that_did_not_change_is_not_read_again() {
    let fixture = Fixture::new();
    let path = fixture.write("a.tar.gz", &gzip(&tar(FILES)));
    let first = fixture.import(&path).unwrap();
    // Reading the file would ask whether to stop.
    assert_eq!(fixture.archives.import(&path, STOP).unwrap(), first);
    make_older(&path, Duration::from_secs(60));
    assert_eq!(
        fixture.archives.import(&path, STOP).unwrap_err().code,
        ErrorCode::Cancelled,
        "it is compared"
    );
    let written_at =
        |imported: &ImportedArchive| fs::metadata(imported.git_dir.join("HEAD")).unwrap().modified().unwrap();
    let (before, second) = (written_at(&first), fixture.import(&path).unwrap());
    assert_eq!((&second, written_at(&second)), (&first, before), "only its hash was compared");
    assert_eq!(fixture.archives.import(&path, STOP).unwrap(), first, "the new time is known");
    assert_eq!(fixture.archives.last_commit(&path), Some(first.head.commit));
}

#[test]
fn a_changed_archive_has_a_mirror_of_its_own() {
    let fixture = Fixture::new();
    let first = fixture.import_new("a.zip", &zip(FILES));
    let mut changed = FILES.to_vec();
    changed[0].1 = "# Changed\n";
    let second = fixture.import_new("a.zip", &zip(&changed));
    assert_ne!(first.git_dir, second.git_dir);
    assert_eq!((files(&first), files(&second)), (pairs(FILES), pairs(&changed)), "a run may still read it");
    let path = fixture.path("a.zip");
    assert_eq!(fixture.archives.git_dir(&path, &first.head.commit), Some(first.git_dir.clone()));
    assert_eq!(fixture.archives.last_commit(&path), Some(second.head.commit));
    assert_eq!(fixture.archives.git_dir(&path, "../../x"), None);
    // The mirror of the earlier content is still there.
    assert_eq!(fixture.import_new("a.zip", &zip(FILES)), first);
}

#[test]
fn a_file_that_was_just_written_is_compared_again() {
    let fixture = Fixture::new();
    let path = fixture.path("a.tar");
    fs::write(&path, tar(FILES)).unwrap();
    fixture.import(&path).unwrap();
    assert_eq!(fixture.archives.import(&path, STOP).unwrap_err().code, ErrorCode::Cancelled);
}

#[test]
fn a_damaged_mirror_is_made_again() {
    let fixture = Fixture::new();
    let first = fixture.import_new("a.tar", &tar(FILES));
    let path = fixture.path("a.tar");
    fs::remove_dir_all(first.git_dir.join("objects")).unwrap();
    assert_eq!(fixture.import(&path).unwrap(), first);
    assert_eq!(files(&first), pairs(FILES));
    history::distrust_mirror(&first.git_dir);
    assert_eq!(fixture.archives.import(&path, STOP).unwrap_err().code, ErrorCode::Cancelled);
    assert_eq!(fixture.import(&path).unwrap(), first);
}

#[test]
fn other_bytes_of_the_same_files_share_the_mirror_that_runs_read() {
    let fixture = Fixture::new();
    let first = fixture.import_new("a.tar", &tar(FILES));
    // The mark is lost if the mirror is replaced.
    let mark = first.git_dir.join("mark");
    fs::write(&mark, "").unwrap();
    let path = fixture.path("a.tar");
    assert_eq!(fixture.import_new("a.tar", &gzip(&tar(FILES))), first);
    assert!(mark.exists(), "a run may still read it");
    assert!(!path_of_new(&fixture, &path).exists());
    assert_eq!(fixture.archives.import(&path, STOP).unwrap(), first, "the new bytes are known");
    // A damaged mirror is replaced completely.
    history::distrust_mirror(&first.git_dir);
    assert_eq!(fixture.import(&path).unwrap(), first);
    assert!(!mark.exists() && !first.git_dir.with_extension(NEW_ENDING).exists());
    assert_eq!(files(&first), pairs(FILES));
}

/// Returns the path at which the mirror of an archive is written.
fn path_of_new(fixture: &Fixture, path: &Path) -> PathBuf {
    fixture.archives.folder.join(format!("{}.{NEW_ENDING}", key(path)))
}

#[test]
fn mirrors_of_archives_count_for_the_limit_of_all() {
    let mut fixture = Fixture::new();
    let noise: String = (0..10_000u32).map(|n| blake3::hash(&n.to_le_bytes()).to_hex().to_string()).collect();
    let first = fixture.import_new("a.tar", &tar(&[("a.txt", &noise)]));
    let bytes = size_of(&first.git_dir);
    assert!(bytes > 100_000, "{bytes}");
    let refused = |fixture: &Fixture, name: &str, archive: &[u8]| {
        let path = fixture.write(name, archive);
        let fault = fixture.import(&path).unwrap_err();
        assert_eq!(fault.code, ErrorCode::InvalidRequest, "{fault}");
        assert!(fault.message.contains("git.mirrors_bytes_max"), "{fault}");
        assert!(!path_of_new(fixture, &path).exists(), "{name}");
        assert_eq!(fixture.archives.last_commit(&path), None);
    };
    // Before anything is read, and when it turns out to be too large.
    fixture.archives.limits.mirrors_bytes_max = bytes - 1;
    refused(&fixture, "b.tar", &tar(FILES));
    fixture.archives.limits.mirrors_bytes_max = bytes + 100_000;
    refused(&fixture, "c.tar", &tar(&[("c.txt", &noise[1..])]));
    fixture.import_new("d.tar", &tar(FILES));
    // Existing mirrors need no room.
    fixture.archives.limits.mirrors_bytes_max = 0;
    assert_eq!(fixture.import(&fixture.path("a.tar")).unwrap(), first);
}

#[test]
fn a_cancelled_import_leaves_nothing() {
    let fixture = Fixture::new();
    let path = fixture.write("a.tar", &tar(FILES));
    // At each of its reads in turn.
    for reads in 0u32.. {
        let left = std::cell::Cell::new(reads);
        let must_stop = || left.replace(left.get().saturating_sub(1)) == 0;
        let Err(fault) = fixture.archives.import(&path, &must_stop) else {
            assert!(reads > 2, "it reads the file twice");
            break;
        };
        assert_eq!(fault.code, ErrorCode::Cancelled, "{reads}");
        assert_eq!(fs::read_dir(fixture.path("mirrors")).unwrap().count(), 0, "{reads}");
    }
}

#[test]
fn an_archive_that_is_written_to_meanwhile_is_tried_again() {
    let fixture = Fixture::new();
    let path = fixture.write("a.tar", &tar(FILES));
    let append = || {
        use std::io::Write;
        File::options().append(true).open(&path).unwrap().write_all(&[0; 512]).unwrap();
        false
    };
    let fault = fixture.archives.import(&path, &append).unwrap_err();
    assert_eq!((fault.code, fault.retryable), (ErrorCode::IllegalState, true), "{fault}");
    assert_eq!(files(&fixture.import(&path).unwrap()), pairs(FILES));
}

#[test]
fn only_regular_files_are_opened() {
    let fixture = Fixture::new();
    let path = fixture.write("a.tar", &tar(FILES));
    let code = |path: &Path| fixture.import(path).map(drop).map_err(|fault| fault.code);
    for probed in [fixture.archives.probe(&path, GO_ON).map_err(|fault| fault.code), code(&path)] {
        assert_eq!(probed, Ok(()));
    }
    assert_eq!(code(&fixture.path("none.tar")), Err(ErrorCode::NotFound));
    std::os::unix::fs::symlink(&path, fixture.path("link.tar")).unwrap();
    assert_eq!(code(&fixture.path("link.tar")), Err(ErrorCode::NotFound), "what was checked was no link");
    std::os::unix::fs::symlink(fixture.folder.path(), fixture.path("folder")).unwrap();
    assert_eq!(code(&fixture.path("folder/a.tar")), Err(ErrorCode::NotFound));
    fs::create_dir(fixture.path("x.tar")).unwrap();
    assert_eq!(code(&fixture.path("x.tar")), Err(ErrorCode::NotFound));
    rustix::fs::mkfifoat(rustix::fs::CWD, fixture.path("pipe.tar"), rustix::fs::Mode::RWXU).unwrap();
    assert_eq!(code(&fixture.path("pipe.tar")), Err(ErrorCode::NotFound), "it does not wait for a writer");
}

#[test]
fn unused_mirrors_are_found_and_removed() {
    let fixture = Fixture::new();
    let [one, two] = ["one.tar", "two.tar"].map(|name| fixture.import_new(name, &tar(FILES)));
    let leftover = fixture.path("mirrors/0123.new");
    fs::create_dir(&leftover).unwrap();
    let used = [(fixture.path("one.tar"), one.head.commit.clone())];
    let unused = |used: &[_], kept: Duration| {
        let unused = fixture.archives.unused(used, kept).unwrap();
        unused.into_iter().map(|mirror| mirror.git_dir).collect::<Vec<_>>()
    };
    assert_eq!(unused(&used, Duration::ZERO).len(), 2);
    assert!(unused(&used, Duration::ZERO).contains(&two.git_dir));
    assert_eq!(
        unused(&[], Duration::from_secs(3600)),
        std::slice::from_ref(&leftover),
        "the others were just used"
    );

    let overrides = config::Overrides { home: Some(fixture.path("home")), ..config::Overrides::default() };
    let settings = config::load(&overrides).unwrap().0.git;
    let mirrors = crate::Mirrors::new(fixture.path("git"), settings, DiskSpace::default());
    for mirror in fixture.archives.unused(&used, Duration::ZERO).unwrap() {
        let is_of_two = mirror.git_dir == two.git_dir;
        assert_eq!(mirror.address.is_some(), is_of_two);
        assert_eq!(mirror.bytes > 0, is_of_two);
        let lock = MirrorLock::try_now(&mirror.git_dir.with_extension("lock")).unwrap().unwrap();
        assert!(!mirrors.remove(&mirror, Duration::ZERO).unwrap(), "an import uses it");
        drop(lock);
        assert!(mirrors.remove(&mirror, Duration::ZERO).unwrap());
    }
    assert_eq!(files(&one), pairs(FILES));
    assert_eq!(unused(&used, Duration::ZERO), [] as [PathBuf; 0]);
    assert_eq!(fixture.import(&fixture.path("two.tar")).unwrap(), two, "it is made again when it is needed");
}
