//! Opens files and directories below an untrusted root without races: relative to the descriptor of the parent directory.
//!
//! Between a check of a path and its use, a directory can be replaced by a link, and a file by a pipe. So nothing below a root
//! is opened by its whole path. Each directory is opened from its parent without following links. Files are opened without
//! blocking, and only regular ones are read, up to a limit.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

/// Flags to open a file or directory for reading, without following a link.
const READ: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Flags to open a directory only to open an entry of it, without following a link. The directory need not be readable.
#[cfg(target_os = "linux")]
const TRAVERSE: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const TRAVERSE: OFlags = READ;

/// An open directory.
#[derive(Debug)]
pub struct Folder(OwnedFd);

/// The reason why a file was not opened or read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadError {
    /// The path does not exist.
    NotFound,
    /// The file, or a directory on its path, is a symbolic link.
    Link,
    /// The path is a directory.
    IsFolder,
    /// The path is a pipe, a socket or a device.
    NotRegular,
    /// The file is larger than the limit.
    TooLarge,
    /// The process lacks permission, or reading failed.
    Unreadable,
}

/// The type of a directory entry; links are not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A directory.
    Folder,
    /// A regular file.
    File,
    /// A symbolic link.
    Link,
    /// A pipe, a socket or a device.
    Other,
}

/// An entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryEntry {
    /// The name, which need not be UTF-8.
    pub name: OsString,
    /// The type.
    pub kind: EntryKind,
}

/// Size and modification time of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileMetadata {
    /// Size in bytes.
    pub bytes: u64,
    /// Last modification in nanoseconds since 1970.
    pub modified_ns: i64,
}

/// Reads a file that has at most `bytes_max` bytes.
fn read_file(file: File, bytes_max: u64) -> Result<Vec<u8>, ReadError> {
    let mut bytes = Vec::new();
    // The limit applies to the bytes read, not to the file's size: a file can grow while it is read.
    file.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max { Err(ReadError::TooLarge) } else { Ok(bytes) }
}

/// Opens a regular file by a trusted path, such as one that the operator gave. Follows links; never blocks on a pipe.
///
/// # Errors
/// The system's error; `InvalidInput` if the file is not a regular one.
pub fn open_regular_file(path: &Path) -> io::Result<File> {
    let file = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK, Mode::empty())?;
    match FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode) {
        FileType::RegularFile => Ok(file.into()),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")),
    }
}

/// Longest file with a secret, in bytes.
const SECRET_BYTES_MAX: u64 = 16 << 10;

/// Reads a secret from a file that the operator names: its first line, without spaces at the ends.
///
/// # Errors
/// The system's error; `InvalidData` if the file is long or not UTF-8, or its first line is empty or has a control character.
pub fn read_secret(path: &Path) -> io::Result<String> {
    let invalid = |why: &str| io::Error::new(io::ErrorKind::InvalidData, why.to_owned());
    let bytes = read_file(open_regular_file(path)?, SECRET_BYTES_MAX)
        .map_err(|_| invalid("it is too long, or cannot be read"))?;
    let text = String::from_utf8(bytes).map_err(|_| invalid("it is not UTF-8"))?;
    let line = text.lines().next().unwrap_or_default().trim();
    if line.is_empty() || line.contains(char::is_control) {
        return Err(invalid("its first line is not a secret"));
    }
    Ok(line.to_owned())
}

impl Folder {
    /// Opens a root by its canonical path, which the caller has checked to be allowed. Follows no link: after the check, a user
    /// who may write to a parent directory could have replaced a directory of the path by a link to a forbidden one.
    ///
    /// # Errors
    /// The system's error; a link is `NotADirectory`.
    pub fn open(root: &Path) -> io::Result<Self> {
        let start = if root.is_absolute() { "/" } else { "." };
        let mut opened = rustix::fs::open(start, TRAVERSE | OFlags::DIRECTORY, Mode::empty())?;
        let mut parts = root.components().peekable();
        while let Some(part) = parts.next() {
            let name = match part {
                Component::RootDir | Component::CurDir => continue,
                Component::Normal(name) => name,
                Component::ParentDir | Component::Prefix(_) => return Err(io::ErrorKind::InvalidInput.into()),
            };
            let flags = if parts.peek().is_some() { TRAVERSE } else { READ };
            opened = rustix::fs::openat(&opened, name, flags | OFlags::DIRECTORY, Mode::empty())?;
            if parts.peek().is_none() {
                return Ok(Self(opened));
            }
        }
        Ok(Self(rustix::fs::open(start, READ | OFlags::DIRECTORY, Mode::empty())?))
    }

    /// Opens the subdirectory `name`.
    ///
    /// # Errors
    /// The system's error; a link is `NotADirectory`.
    pub fn open_folder(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        let name = entry_name(name.as_ref())?;
        Ok(Self(rustix::fs::openat(&self.0, name, READ | OFlags::DIRECTORY, Mode::empty())?))
    }

    /// Opens the directory at `path`, relative to this one and separated by `/`.
    ///
    /// # Errors
    /// See [`Folder::open_folder`].
    fn open_folder_at(&self, path: &str) -> io::Result<Self> {
        let mut names = path.split('/');
        let mut folder = self.open_folder(names.next().unwrap_or_default())?;
        for name in names {
            folder = folder.open_folder(name)?;
        }
        Ok(folder)
    }

    /// Opens the regular file at `path`, relative to this directory and separated by `/`.
    ///
    /// # Errors
    /// [`ReadError`], except `TooLarge`.
    pub fn open_file(&self, path: &str) -> Result<File, ReadError> {
        let parent;
        let (folder, name) = match path.rsplit_once('/') {
            Some((folders, name)) => {
                parent = self.open_folder_at(folders)?;
                (&parent, name)
            }
            None => (self, path),
        };
        let name = entry_name(name.as_ref())?;
        let file = rustix::fs::openat(&folder.0, name, READ | OFlags::NONBLOCK, Mode::empty())?;
        match FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode) {
            FileType::RegularFile => Ok(file.into()),
            FileType::Directory => Err(ReadError::IsFolder),
            _ => Err(ReadError::NotRegular),
        }
    }

    /// Reads the regular file at `path`, if it has at most `bytes_max` bytes.
    ///
    /// # Errors
    /// [`ReadError`].
    pub fn read(&self, path: &str, bytes_max: u64) -> Result<Vec<u8>, ReadError> {
        read_file(self.open_file(path)?, bytes_max)
    }

    /// Like [`read`](Self::read), with the metadata that the opened file had before it was read; `None` if no file was opened. It is the
    /// metadata of this very file, even if the path names another one by now.
    pub fn read_with_metadata(
        &self,
        path: &str,
        bytes_max: u64,
    ) -> (Option<FileMetadata>, Result<Vec<u8>, ReadError>) {
        let file = match self.open_file(path) {
            Ok(file) => file,
            Err(refused) => return (None, Err(refused)),
        };
        let metadata = file.metadata().ok().map(|found| FileMetadata {
            bytes: found.len(),
            modified_ns: found.mtime().saturating_mul(1_000_000_000).saturating_add(found.mtime_nsec()),
        });
        (metadata, read_file(file, bytes_max))
    }

    /// Returns the type of the entry `name`, or `None` if there is no such entry.
    #[must_use]
    pub fn entry_kind(&self, name: &str) -> Option<EntryKind> {
        let name = entry_name(name.as_ref()).ok()?;
        let stat = rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(FileType::from_raw_mode(stat.st_mode).into())
    }

    /// Returns size and modification time of the entry `name`.
    ///
    /// # Errors
    /// The system's error.
    pub fn metadata(&self, name: &OsStr) -> io::Result<FileMetadata> {
        let stat = rustix::fs::statat(&self.0, entry_name(name)?, AtFlags::SYMLINK_NOFOLLOW)?;
        #[expect(clippy::useless_conversion, reason = "the types differ by platform")]
        let modified_ns = i64::from(stat.st_mtime)
            .saturating_mul(1_000_000_000)
            .saturating_add(i64::try_from(stat.st_mtime_nsec).unwrap_or(0));
        Ok(FileMetadata { bytes: u64::try_from(stat.st_size).unwrap_or(0), modified_ns })
    }

    /// Returns the entries, unsorted, up to `entries_max`, and `true` if these are all.
    ///
    /// # Errors
    /// The system's error.
    pub fn entries(&self, entries_max: usize) -> io::Result<(Vec<DirectoryEntry>, bool)> {
        let mut entries = Vec::new();
        for entry in Dir::read_from(&self.0)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            if entries.len() >= entries_max {
                return Ok((entries, false));
            }
            let kind = match entry.file_type() {
                // Some file systems do not store types in directories.
                FileType::Unknown => match rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(stat) => FileType::from_raw_mode(stat.st_mode).into(),
                    Err(Errno::NOENT) => continue,
                    Err(error) => return Err(error.into()),
                },
                kind => kind.into(),
            };
            entries.push(DirectoryEntry { name: OsString::from_vec(name.as_bytes().to_vec()), kind });
        }
        Ok((entries, true))
    }

    /// Checks whether this directory is in procfs or sysfs, where sizes are not reported and some files never end.
    #[cfg(target_os = "linux")]
    #[must_use]
    pub fn is_kernel_file_system(&self) -> bool {
        const SYSFS_MAGIC: u64 = 0x6265_6572;
        rustix::fs::fstatfs(&self.0).is_ok_and(|fs| {
            #[expect(
                clippy::cast_sign_loss,
                clippy::useless_conversion,
                reason = "its type differs by architecture"
            )]
            let magic = i64::from(fs.f_type) as u64;
            #[expect(
                clippy::cast_sign_loss,
                clippy::useless_conversion,
                reason = "its type differs by architecture"
            )]
            let proc = i64::from(rustix::fs::PROC_SUPER_MAGIC) as u64;
            magic == proc || magic == SYSFS_MAGIC
        })
    }

    /// Checks whether this directory is in procfs or sysfs: never, because this system has neither.
    #[cfg(not(target_os = "linux"))]
    #[must_use]
    pub fn is_kernel_file_system(&self) -> bool {
        false
    }
}

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Returns `name` if it names an entry of a directory: no path, no `.` or `..`.
fn entry_name(name: &OsStr) -> Result<&OsStr, Errno> {
    let bytes = name.as_bytes();
    match bytes {
        b"" | b"." | b".." => Err(Errno::NOENT),
        _ if bytes.iter().any(|byte| matches!(byte, b'/' | 0)) => Err(Errno::NOENT),
        _ => Ok(name),
    }
}

impl From<FileType> for EntryKind {
    fn from(kind: FileType) -> Self {
        match kind {
            FileType::Directory => Self::Folder,
            FileType::RegularFile => Self::File,
            FileType::Symlink => Self::Link,
            _ => Self::Other,
        }
    }
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        let code = error.raw_os_error();
        match error.kind() {
            io::ErrorKind::NotFound => Self::NotFound,
            // Opening a link fails with ENOTDIR where a directory is required, and else with ELOOP.
            io::ErrorKind::NotADirectory => Self::Link,
            _ if code == Some(Errno::LOOP.raw_os_error()) => Self::Link,
            // Opening a socket.
            _ if code == Some(Errno::NXIO.raw_os_error()) => Self::NotRegular,
            _ => Self::Unreadable,
        }
    }
}

impl From<Errno> for ReadError {
    fn from(error: Errno) -> Self {
        io::Error::from(error).into()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn reads_only_regular_files_below_the_root_without_blocking() {
        let (root, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let at = |name: &str| root.path().join(name);
        fs::create_dir_all(at("a/b")).unwrap();
        fs::write(at("a/b/text"), "text").unwrap();
        fs::write(outside.path().join("secret"), "secret").unwrap();
        symlink(outside.path(), at("out")).unwrap();
        symlink(outside.path().join("secret"), at("link")).unwrap();
        symlink("/dev/zero", at("zero")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), Mode::RWXU).unwrap();
        let _socket = UnixListener::bind(at("socket")).unwrap();
        let folder = Folder::open(root.path()).unwrap();
        let read = |path: &str| folder.read(path, 4);
        assert_eq!(read("a/b/text").unwrap(), b"text");
        assert_eq!(folder.read("a/b/text", 3), Err(ReadError::TooLarge));
        let refused = [
            ("link", ReadError::Link),
            ("out/secret", ReadError::Link),
            ("zero", ReadError::Link),
            ("pipe", ReadError::NotRegular),
            ("socket", ReadError::NotRegular),
            ("a/b", ReadError::IsFolder),
            ("a/c", ReadError::NotFound),
            ("a/../a/b/text", ReadError::NotFound),
            ("../secret", ReadError::NotFound),
            ("/etc/passwd", ReadError::NotFound),
            ("", ReadError::NotFound),
        ];
        for (path, error) in refused {
            assert_eq!(read(path), Err(error), "{path}");
        }
    }

    #[test]
    fn opening_a_root_follows_no_symbolic_link() {
        let (root, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let base = root.path().canonicalize().unwrap();
        fs::create_dir_all(base.join("a/b")).unwrap();
        fs::create_dir_all(outside.path().join("b")).unwrap();
        let open = || Folder::open(&base.join("a/b")).map(|folder| folder.entries(1).unwrap().1);
        assert!(open().unwrap());
        for replaced in ["a/b", "a"] {
            fs::rename(base.join(replaced), base.join("before")).unwrap();
            let to = if replaced == "a" { outside.path().to_owned() } else { outside.path().join("b") };
            symlink(to, base.join(replaced)).unwrap();
            assert_eq!(open().unwrap_err().kind(), io::ErrorKind::NotADirectory, "{replaced}");
            fs::remove_file(base.join(replaced)).unwrap();
            fs::rename(base.join("before"), base.join(replaced)).unwrap();
        }
        assert!(Folder::open(&base.join("a/../a/b")).is_err());
        assert!(Folder::open(Path::new("/")).is_ok());
        let unreadable = base.join("a");
        fs::set_permissions(&unreadable, fs::Permissions::from_mode(0o100)).unwrap();
        assert!(open().unwrap(), "the parent directories need not be readable");
    }

    #[test]
    fn entries_have_types_and_are_limited() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("folder")).unwrap();
        fs::write(root.path().join("file"), "four").unwrap();
        symlink("file", root.path().join("link")).unwrap();
        let folder = Folder::open(root.path()).unwrap();
        let (mut entries, all) = folder.entries(10).unwrap();
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        let kinds: Vec<(&str, EntryKind)> =
            entries.iter().map(|entry| (entry.name.to_str().unwrap(), entry.kind)).collect();
        assert_eq!(
            kinds,
            [("file", EntryKind::File), ("folder", EntryKind::Folder), ("link", EntryKind::Link)]
        );
        assert!(all);
        let (few, all) = folder.entries(2).unwrap();
        assert_eq!((few.len(), all), (2, false));
        assert_eq!(folder.metadata(OsStr::new("file")).unwrap().bytes, 4);
        assert_eq!((folder.entry_kind("link"), folder.entry_kind("nothing")), (Some(EntryKind::Link), None));
    }
}
