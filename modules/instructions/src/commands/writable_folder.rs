//! Writes into a folder that holds files of others: relative to its descriptor, never through a link, and each file as a whole,
//! so that a reader finds either the old text or the new one.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags};

use platform::safe_open::{Folder, ReadError};
use surfaces::cli::shell::unguessable_id;

/// Size limit of a file that is compared with its new content.
pub(super) const COMPARED_BYTES_MAX: u64 = 8 << 20;

/// The object at the path of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Occupant {
    /// Nothing.
    Nothing,
    /// A regular file with this content.
    File(Vec<u8>),
    /// Something that must not be overwritten; names it.
    Untouchable(&'static str),
}

/// A folder below which files are replaced.
#[derive(Debug)]
pub(super) struct WritableFolder(Folder);

impl WritableFolder {
    /// Opens a folder by its path without links.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Folder::open(path).map(Self)
    }

    /// Returns the folder for reading.
    pub(super) fn folder(&self) -> &Folder {
        &self.0
    }

    /// Returns what is at `path`, which is relative and has `/` between names.
    pub(super) fn occupant(&self, path: &str) -> Occupant {
        match self.0.read(path, COMPARED_BYTES_MAX) {
            Ok(bytes) => Occupant::File(bytes),
            Err(ReadError::NotFound) => Occupant::Nothing,
            Err(ReadError::Link) => {
                Occupant::Untouchable("it is a link, or below one, and links are not followed")
            }
            Err(ReadError::IsFolder) => Occupant::Untouchable("it is a folder"),
            Err(ReadError::NotRegular) => Occupant::Untouchable("it is not a regular file"),
            Err(ReadError::TooLarge) => Occupant::Untouchable("it has more than 8 MiB"),
            Err(ReadError::Unreadable) => Occupant::Untouchable("it cannot be read"),
        }
    }

    /// Writes a file, and creates its folders. An existing file is replaced atomically, and its mode kept.
    pub(super) fn write(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        match path.split_once('/') {
            Some((folder, rest)) => self.subfolder(folder)?.write(rest, bytes),
            None => self.replace(path, bytes),
        }
    }

    /// Removes a file.
    pub(super) fn remove(&self, path: &str) -> io::Result<()> {
        match path.split_once('/') {
            Some((folder, rest)) => Self(self.0.open_folder(folder)?).remove(rest),
            None => Ok(rustix::fs::unlinkat(&self.0, path, AtFlags::empty())?),
        }
    }

    /// Removes the empty folders on the way to `path`, the innermost first.
    pub(super) fn remove_empty_folders(&self, path: &str) {
        let Some((first, rest)) = path.split_once('/') else { return };
        if let Ok(folder) = self.0.open_folder(first) {
            Self(folder).remove_empty_folders(rest);
        }
        // Fails unless the folder is empty.
        let _ = rustix::fs::unlinkat(&self.0, first, AtFlags::REMOVEDIR);
    }

    /// Opens a folder, or creates it.
    fn subfolder(&self, name: &str) -> io::Result<Self> {
        match self.0.open_folder(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                rustix::fs::mkdirat(&self.0, name, Mode::from_raw_mode(0o777))?;
                self.0.open_folder(name).map(Self)
            }
            opened => opened.map(Self),
        }
    }

    fn replace(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let unguessable = unguessable_id().map_err(io::Error::other)?;
        let temporary = format!(".pairofcleats-{unguessable}.part");
        let written = self
            .write_new(&temporary, name, bytes)
            .and_then(|()| Ok(rustix::fs::renameat(&self.0, &temporary, &self.0, name)?));
        if written.is_err() {
            // The first error is reported.
            let _ = rustix::fs::unlinkat(&self.0, &temporary, AtFlags::empty());
        }
        written
    }

    /// Writes a new file with the mode of the file `replaced`, if that exists.
    fn write_new(&self, name: &str, replaced: &str, bytes: &[u8]) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file: File = rustix::fs::openat(&self.0, name, flags, Mode::from_raw_mode(0o666))?.into();
        if let Ok(old) = rustix::fs::statat(&self.0, replaced, AtFlags::SYMLINK_NOFOLLOW)
            && FileType::from_raw_mode(old.st_mode) == FileType::RegularFile
        {
            rustix::fs::fchmod(&file, Mode::from_raw_mode(old.st_mode))?;
        }
        file.write_all(bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn files_are_written_as_a_whole_and_keep_their_mode() {
        let root = tempfile::tempdir().unwrap();
        let folder = WritableFolder::open(&root.path().canonicalize().unwrap()).unwrap();
        folder.write("a/b/c.md", b"one").unwrap();
        let path = root.path().join("a/b/c.md");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        folder.write("a/b/c.md", b"two").unwrap();
        assert_eq!(folder.occupant("a/b/c.md"), Occupant::File(b"two".to_vec()));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(fs::read_dir(root.path().join("a/b")).unwrap().count(), 1, "no temporary file is left");

        fs::write(root.path().join("a/kept"), "").unwrap();
        folder.remove("a/b/c.md").unwrap();
        folder.remove_empty_folders("a/b/c.md");
        assert_eq!(folder.occupant("a/b/c.md"), Occupant::Nothing);
        assert!(!root.path().join("a/b").exists() && root.path().join("a/kept").exists());
    }

    #[test]
    fn nothing_is_written_through_a_link() {
        let (root, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(outside.path().join("x"), "theirs").unwrap();
        symlink(outside.path(), root.path().join("link")).unwrap();
        symlink(outside.path().join("x"), root.path().join("x")).unwrap();
        let folder = WritableFolder::open(&root.path().canonicalize().unwrap()).unwrap();
        assert!(folder.write("link/y", b"ours").is_err() && folder.remove("link/x").is_err());
        folder.remove_empty_folders("link/x");
        assert!(root.path().join("link").is_symlink() && !outside.path().join("y").exists());
        for path in ["x", "link/x"] {
            assert!(matches!(folder.occupant(path), Occupant::Untouchable(_)), "{path}");
        }
        fs::create_dir(root.path().join("folder")).unwrap();
        assert!(folder.write("folder", b"ours").is_err());
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 3, "no temporary file is left");
    }
}
