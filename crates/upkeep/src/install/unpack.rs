//! Unpacks zip files without trusting them: an archive with one unsafe entry is refused.
//!
//! The same rules apply to wheels, which were verified against the manifest's checksum, and to archives from other
//! URLs.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use globset::GlobSet;
use serde_json::json;
use zip::ZipArchive;
use zip::result::ZipError;

use super::faults;
use contract::{ErrorCode, Fault};

/// Maximum number of entries of a wheel; the largest one in the manifest has about 3,600.
const ENTRIES_MAX: usize = 20_000;
/// Readable for all users, because Postgres may run as another user.
const FILE_MODE: u32 = 0o644;
const EXECUTABLE_MODE: u32 = 0o755;

/// The limits on the contents of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ArchiveLimits {
    /// Bytes of all unpacked files together.
    pub(crate) bytes_max: u64,
    /// Bytes of one unpacked file.
    pub(crate) entry_bytes_max: u64,
    /// Entries, folders included.
    pub(crate) entries_max: usize,
}

/// Unpacks the entries that `wanted` matches into the empty folder `into`, at most `bytes_max` in total.
///
/// # Errors
/// `ARCHIVE_UNSAFE` and `ARCHIVE_TOO_LARGE`: before anything is written, if the archive's directory shows the
/// violation; an entry that is larger than announced is detected while it is written.
pub(super) fn unpack_wheel(
    archive: &Path,
    wanted: &GlobSet,
    bytes_max: u64,
    into: &Path,
    on_progress: &dyn Fn(u64, u64),
) -> Result<(), Fault> {
    let limits = ArchiveLimits { bytes_max, entry_bytes_max: bytes_max, entries_max: ENTRIES_MAX };
    unpack_zip(archive, wanted, limits, into, on_progress)
}

/// Like [`unpack_wheel`], within `limits`.
pub(super) fn unpack_zip(
    archive: &Path,
    wanted: &GlobSet,
    limits: ArchiveLimits,
    into: &Path,
    on_progress: &dyn Fn(u64, u64),
) -> Result<(), Fault> {
    let file = File::open(archive).map_err(|e| faults::io("open an archive", e))?;
    let mut zip = ZipArchive::new(file).map_err(unreadable)?;
    let entries = validate_entries(&mut zip, wanted, limits.entries_max)?;
    let total = checked_total(&entries, limits)?;
    let mut done = 0;
    for entry in &entries {
        let mut reader = zip.by_index(entry.index).map_err(unreadable)?;
        write_entry(&mut reader, entry, into)?;
        done += entry.bytes;
        on_progress(done, total);
    }
    Ok(())
}

/// An entry to unpack.
pub(super) struct ArchiveEntry {
    pub(super) index: usize,
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
    pub(super) executable: bool,
}

/// Returns the announced total size of the entries, if it is within the limits.
pub(super) fn checked_total(entries: &[ArchiveEntry], limits: ArchiveLimits) -> Result<u64, Fault> {
    if entries.iter().any(|entry| entry.bytes > limits.entry_bytes_max) {
        return Err(too_large(limits.entry_bytes_max));
    }
    let total = entries.iter().map(|entry| entry.bytes).fold(0, u64::saturating_add);
    if total > limits.bytes_max { Err(too_large(limits.bytes_max)) } else { Ok(total) }
}

/// Returns the fault for an archive with too many entries.
pub(super) fn too_many(entries_max: usize) -> Fault {
    Fault::new(ErrorCode::ArchiveTooLarge, "The archive has too many entries.")
        .with_hint("Do not use this file; fetch it again from a source you trust.")
        .with_details(json!({ "entriesMax": entries_max }))
}

/// Validates every entry and returns those that `wanted` matches.
fn validate_entries(
    zip: &mut ZipArchive<File>,
    wanted: &GlobSet,
    entries_max: usize,
) -> Result<Vec<ArchiveEntry>, Fault> {
    if zip.len() > entries_max {
        return Err(too_many(entries_max));
    }
    let mut seen = HashSet::new();
    let mut entries = Vec::new();
    if zip.has_duplicate_names() {
        return Err(unsafe_entry("", "two entries have the same name"));
    }
    for index in 0..zip.len() {
        let entry = zip.by_index_raw(index).map_err(unreadable)?;
        let name =
            std::str::from_utf8(entry.name_raw()).map_err(|_| unsafe_entry("", "a name is not UTF-8"))?;
        let path = safe_path(name).map_err(|why| unsafe_entry(name, why))?;
        let mode = entry.unix_mode().unwrap_or(FILE_MODE);
        let kind = mode & 0o170_000;
        if entry.is_symlink() || !matches!(kind, 0 | 0o100_000 | 0o040_000) {
            return Err(unsafe_entry(name, "it is a link or a special file"));
        }
        if entry.encrypted() {
            return Err(unsafe_entry(name, "it is encrypted"));
        }
        if !seen.insert(path.clone()) {
            return Err(unsafe_entry(name, "two entries have the same name"));
        }
        if !entry.is_dir() && wanted.is_match(&path) {
            let in_bin = path.parent().is_some_and(|parent| parent.ends_with("bin"));
            entries.push(ArchiveEntry {
                index,
                path,
                bytes: entry.size(),
                executable: in_bin || mode & 0o111 != 0,
            });
        }
    }
    Ok(entries)
}

/// Returns `name` as a relative path that cannot leave the folder that it is joined to.
pub(super) fn safe_path(name: &str) -> Result<PathBuf, &'static str> {
    if name.is_empty() || name.contains(['\0', '\\', ':']) {
        return Err("its name has a forbidden character or none");
    }
    if name.starts_with('/') {
        return Err("its path is absolute");
    }
    let parts = name.strip_suffix('/').unwrap_or(name).split('/');
    parts
        .map(
            |part| if matches!(part, "" | "." | "..") { Err("its path leaves the folder") } else { Ok(part) },
        )
        .collect()
}

pub(super) fn write_entry(reader: &mut impl Read, entry: &ArchiveEntry, into: &Path) -> Result<(), Fault> {
    let failed = |e: io::Error| match e.kind() {
        // The decompressor reports a wrong checksum or length with these kinds.
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::UnexpectedEof => corrupt(e),
        _ => faults::io("unpack an archive", e),
    };
    let target = into.join(&entry.path);
    if let Some(parent) = target.parent() {
        create_folders(into, parent).map_err(failed)?;
    }
    // `create_new` neither overwrites a file nor follows a link.
    let mut file = File::create_new(&target).map_err(failed)?;
    let written = io::copy(&mut reader.take(entry.bytes.saturating_add(1)), &mut file).map_err(failed)?;
    if written > entry.bytes {
        return Err(too_large(entry.bytes));
    }
    file.flush().map_err(failed)?;
    let mode = if entry.executable { EXECUTABLE_MODE } else { FILE_MODE };
    file.set_permissions(fs::Permissions::from_mode(mode)).map_err(failed)
}

/// Creates `folder` and its missing parents below `root`, accessible for every user regardless of the umask.
fn create_folders(root: &Path, folder: &Path) -> io::Result<()> {
    if folder == root || folder.is_dir() {
        return Ok(());
    }
    if let Some(parent) = folder.parent() {
        create_folders(root, parent)?;
    }
    create_open_folder(folder)
}

/// Creates a folder that every user may enter and list.
pub(super) fn create_open_folder(folder: &Path) -> io::Result<()> {
    fs::create_dir(folder)?;
    fs::set_permissions(folder, fs::Permissions::from_mode(EXECUTABLE_MODE))
}

pub(super) fn unsafe_entry(name: &str, why: &str) -> Fault {
    Fault::new(ErrorCode::ArchiveUnsafe, format!("The archive is refused: {why}."))
        .with_hint("Do not use this file; fetch it again from a source you trust.")
        .with_details(json!({ "entry": name }))
}

pub(super) fn too_large(bytes_max: u64) -> Fault {
    Fault::new(ErrorCode::ArchiveTooLarge, "The archive unpacks to more than is allowed.")
        .with_hint("Do not use this file; fetch it again from a source you trust.")
        .with_details(json!({ "bytesMax": bytes_max }))
}

fn unreadable(error: ZipError) -> Fault {
    match error {
        ZipError::Io(error) if error.kind() != io::ErrorKind::InvalidData => {
            faults::io("read an archive", error)
        }
        error => corrupt(error),
    }
}

pub(super) fn corrupt(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Fault {
    Fault::new(ErrorCode::ArchiveUnsafe, "The archive is malformed.")
        .with_hint("Fetch it again.")
        .with_source(error)
}

#[cfg(test)]
mod tests {
    use globset::{Glob, GlobSetBuilder};
    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;

    fn everything() -> GlobSet {
        GlobSetBuilder::new().add(Glob::new("**").unwrap()).build().unwrap()
    }

    /// Writes an archive of (name, mode, content).
    fn archive(dir: &Path, entries: &[(&str, u32, &[u8])]) -> PathBuf {
        let path = dir.join("a.whl");
        let mut writer = ZipWriter::new(File::create(&path).unwrap());
        for (name, mode, content) in entries {
            writer.start_file(*name, SimpleFileOptions::default().unix_permissions(*mode)).unwrap();
            writer.write_all(content).unwrap();
        }
        writer.finish().unwrap();
        path
    }

    fn unpacked(path: &Path, bytes_max: u64) -> (tempfile::TempDir, Result<(), Fault>) {
        let into = tempfile::tempdir().unwrap();
        let result = unpack_wheel(path, &everything(), bytes_max, into.path(), &|_, _| ());
        (into, result)
    }

    fn refused(path: &Path) -> ErrorCode {
        let (into, result) = unpacked(path, 1_000);
        assert_eq!(fs::read_dir(into.path()).unwrap().count(), 0, "something was written");
        result.unwrap_err().code
    }

    /// Replaces a name by one of equal length in both places of an archive, because the writer refuses unsafe names.
    fn rename_entry(path: &Path, from: &str, to: &str) {
        assert_eq!(from.len(), to.len());
        let mut bytes = fs::read(path).unwrap();
        let at: Vec<usize> = (0..bytes.len()).filter(|&i| bytes[i..].starts_with(from.as_bytes())).collect();
        assert_eq!(at.len(), 2);
        for at in at {
            bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
        }
        fs::write(path, bytes).unwrap();
    }

    #[test]
    fn keeps_executable_bits_and_opens_everything_to_other_users() {
        let dir = tempfile::tempdir().unwrap();
        let entries: [(&str, u32, &[u8]); 3] =
            [("p/bin/tool", 0o600, b"#!"), ("p/lib/x.so", 0o700, b"elf"), ("p/share/a.txt", 0o600, b"text")];
        let (into, result) = unpacked(&archive(dir.path(), &entries), 1_000);
        result.unwrap();
        let mode = |path: &str| fs::metadata(into.path().join(path)).unwrap().permissions().mode() & 0o777;
        assert_eq!(["p", "p/bin", "p/bin/tool", "p/lib/x.so"].map(mode), [0o755; 4]);
        assert_eq!(mode("p/share/a.txt"), 0o644);
        assert_eq!(fs::read(into.path().join("p/share/a.txt")).unwrap(), b"text");
    }

    #[test]
    fn refuses_paths_that_leave_the_folder() {
        let dir = tempfile::tempdir().unwrap();
        for bad in ["../xxxxx", "a/../../", "/etc/pwd", "a//b/ccc", "./abcdef", "..\\xxxxx", "c:/xxxxx"] {
            let placeholder = "@".repeat(bad.len());
            let path = archive(dir.path(), &[("fine.txt", 0o644, b"x"), (&placeholder, 0o644, b"x")]);
            rename_entry(&path, &placeholder, bad);
            assert_eq!(refused(&path), ErrorCode::ArchiveUnsafe, "{bad}");
        }
    }

    #[test]
    fn refuses_links_and_duplicate_names() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.whl");
        let mut writer = ZipWriter::new(File::create(&path).unwrap());
        writer.add_symlink("link", "/etc/passwd", SimpleFileOptions::default()).unwrap();
        writer.finish().unwrap();
        assert_eq!(refused(&path), ErrorCode::ArchiveUnsafe);

        let path = archive(dir.path(), &[("aaaa", 0o644, b"x"), ("bbbb", 0o644, b"y")]);
        rename_entry(&path, "bbbb", "aaaa");
        assert_eq!(refused(&path), ErrorCode::ArchiveUnsafe);
    }

    #[test]
    fn refuses_more_bytes_than_allowed_or_announced() {
        let dir = tempfile::tempdir().unwrap();
        let path = archive(dir.path(), &[("zeros", 0o644, &[0; 5_000])]);
        assert_eq!(refused(&path), ErrorCode::ArchiveTooLarge);

        let mut lying = io::repeat(0);
        let entry = ArchiveEntry { index: 0, path: "zeros".into(), bytes: 10, executable: false };
        let fault = write_entry(&mut lying, &entry, dir.path()).unwrap_err();
        assert_eq!(fault.code, ErrorCode::ArchiveTooLarge);
        assert_eq!(fs::metadata(dir.path().join("zeros")).unwrap().len(), 11);
    }

    #[test]
    fn a_file_that_is_not_an_archive_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.whl");
        fs::write(&path, b"<html>not found</html>").unwrap();
        assert_eq!(refused(&path), ErrorCode::ArchiveUnsafe);
    }

    #[test]
    fn unpacks_only_matching_entries() {
        let dir = tempfile::tempdir().unwrap();
        let path = archive(dir.path(), &[("a/keep", 0o644, b"x"), ("a/drop", 0o644, &[0; 5_000])]);
        let wanted = GlobSetBuilder::new().add(Glob::new("a/keep").unwrap()).build().unwrap();
        let into = tempfile::tempdir().unwrap();
        unpack_wheel(&path, &wanted, 100, into.path(), &|done, total| assert!(done <= total)).unwrap();
        assert!(into.path().join("a/keep").exists() && !into.path().join("a/drop").exists());
    }
}
