//! Files and directories below a root that somebody else filled, reached by descriptors only.
//!
//! A path that was checked can be another one when it is opened: a directory becomes a link, a file a pipe. So nothing
//! below a root is opened by its path. Each directory is opened from the one above, never through a link; a file is
//! opened without waiting, and read only when it is a regular one, within a limit.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

/// Never through a link.
const SAFE: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// For a directory that is only passed, which need not be readable; never through a link.
#[cfg(target_os = "linux")]
const PASSED: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const PASSED: OFlags = SAFE;

/// An open directory.
#[derive(Debug)]
pub struct Folder(OwnedFd);

/// Why something was not opened or read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// There is nothing of that name.
    Gone,
    /// It, or a directory on the way to it, is a symbolic link.
    Link,
    /// It is a directory.
    Folder,
    /// It is a pipe, a socket or a device.
    NotRegular,
    /// It has more bytes than are read.
    TooLarge,
    /// It may not be read, or reading failed.
    Unreadable,
}

/// What an entry of a directory is; links are not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
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
pub struct Named {
    /// Its name, which need not be UTF-8.
    pub name: OsString,
    /// What it is.
    pub kind: Kind,
}

/// Size and time of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// Bytes.
    pub bytes: u64,
    /// Last modification in nanoseconds since 1970.
    pub modified_ns: i64,
}

/// Opens a file by a path that the operator named, links included, without waiting for whoever writes into a pipe.
///
/// # Errors
/// What the system says; `InvalidInput` when it is no regular file.
pub fn open_named(path: &Path) -> io::Result<File> {
    let file = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK, Mode::empty())?;
    match FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode) {
        FileType::RegularFile => Ok(file.into()),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")),
    }
}

impl Folder {
    /// Opens a root by its canonical path, which was found to be allowed. No link is followed on the way: whoever may
    /// write to a directory above could have put one there since, and it would lead to what is not allowed.
    ///
    /// # Errors
    /// What the system says; a link is `NotADirectory`.
    pub fn open(root: &Path) -> io::Result<Self> {
        let start = if root.is_absolute() { "/" } else { "." };
        let mut at = rustix::fs::open(start, PASSED | OFlags::DIRECTORY, Mode::empty())?;
        let mut parts = root.components().peekable();
        while let Some(part) = parts.next() {
            let name = match part {
                Component::RootDir | Component::CurDir => continue,
                Component::Normal(name) => name,
                Component::ParentDir | Component::Prefix(_) => return Err(io::ErrorKind::InvalidInput.into()),
            };
            let how = if parts.peek().is_some() { PASSED } else { SAFE };
            at = rustix::fs::openat(&at, name, how | OFlags::DIRECTORY, Mode::empty())?;
            if parts.peek().is_none() {
                return Ok(Self(at));
            }
        }
        Ok(Self(rustix::fs::open(start, SAFE | OFlags::DIRECTORY, Mode::empty())?))
    }

    /// Opens the directory `name` in this one.
    ///
    /// # Errors
    /// What the system says; a link is `NotADirectory`.
    pub fn folder(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        let name = one_name(name.as_ref())?;
        Ok(Self(rustix::fs::openat(&self.0, name, SAFE | OFlags::DIRECTORY, Mode::empty())?))
    }

    /// Opens the directory at `path`, names with `/` between them; none for this one's own.
    ///
    /// # Errors
    /// As [`Folder::folder`].
    fn folder_at(&self, path: &str) -> io::Result<Option<Self>> {
        let mut at: Option<Self> = None;
        for name in path.split('/') {
            at = Some(at.as_ref().unwrap_or(self).folder(name)?);
        }
        Ok(at)
    }

    /// Opens the regular file at `path`, names with `/` between them.
    ///
    /// # Errors
    /// Why not.
    pub fn file(&self, path: &str) -> Result<File, Refused> {
        let (folder, name) = match path.rsplit_once('/') {
            Some((folders, name)) => (self.folder_at(folders)?, name),
            None => (None, path),
        };
        let folder = folder.as_ref().unwrap_or(self);
        let name = one_name(name.as_ref())?;
        let file = rustix::fs::openat(&folder.0, name, SAFE | OFlags::NONBLOCK, Mode::empty())?;
        match FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode) {
            FileType::RegularFile => Ok(file.into()),
            FileType::Directory => Err(Refused::Folder),
            _ => Err(Refused::NotRegular),
        }
    }

    /// Reads the regular file at `path`, if it has at most `bytes_max` bytes.
    ///
    /// # Errors
    /// Why not.
    pub fn read(&self, path: &str, bytes_max: u64) -> Result<Vec<u8>, Refused> {
        let mut bytes = Vec::new();
        // What its size says is a hint: a file can grow while it is read.
        self.file(path)?.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > bytes_max { Err(Refused::TooLarge) } else { Ok(bytes) }
    }

    /// What `name` is, if there is something of that name.
    #[must_use]
    pub fn kind(&self, name: &str) -> Option<Kind> {
        let name = one_name(name.as_ref()).ok()?;
        let stat = rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(FileType::from_raw_mode(stat.st_mode).into())
    }

    /// Size and time of what `name` is.
    ///
    /// # Errors
    /// What the system says.
    pub fn facts(&self, name: &OsStr) -> io::Result<Facts> {
        let stat = rustix::fs::statat(&self.0, one_name(name)?, AtFlags::SYMLINK_NOFOLLOW)?;
        #[expect(clippy::useless_conversion, reason = "the types differ by platform")]
        let modified_ns = i64::from(stat.st_mtime)
            .saturating_mul(1_000_000_000)
            .saturating_add(i64::try_from(stat.st_mtime_nsec).unwrap_or(0));
        Ok(Facts { bytes: u64::try_from(stat.st_size).unwrap_or(0), modified_ns })
    }

    /// The entries, in no order: at most `most`, and whether these are all.
    ///
    /// # Errors
    /// What the system says.
    pub fn entries(&self, most: usize) -> io::Result<(Vec<Named>, bool)> {
        let mut named = Vec::new();
        for entry in Dir::read_from(&self.0)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            if named.len() >= most {
                return Ok((named, false));
            }
            let kind = match entry.file_type() {
                // Some file systems do not tell.
                FileType::Unknown => match rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(stat) => FileType::from_raw_mode(stat.st_mode).into(),
                    Err(Errno::NOENT) => continue,
                    Err(error) => return Err(error.into()),
                },
                kind => kind.into(),
            };
            named.push(Named { name: OsString::from_vec(name.as_bytes().to_vec()), kind });
        }
        Ok((named, true))
    }

    /// Whether this directory is the kernel's (`/proc`, `/sys`): its files have no size and no end.
    #[cfg(target_os = "linux")]
    #[must_use]
    pub fn is_of_the_kernel(&self) -> bool {
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

    /// Whether this directory is the kernel's.
    #[cfg(not(target_os = "linux"))]
    #[must_use]
    pub fn is_of_the_kernel(&self) -> bool {
        false
    }
}

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A name that leads to an entry of the directory and nowhere else.
fn one_name(name: &OsStr) -> Result<&OsStr, Errno> {
    let bytes = name.as_bytes();
    match bytes {
        b"" | b"." | b".." => Err(Errno::NOENT),
        _ if bytes.iter().any(|byte| matches!(byte, b'/' | 0)) => Err(Errno::NOENT),
        _ => Ok(name),
    }
}

impl From<FileType> for Kind {
    fn from(kind: FileType) -> Self {
        match kind {
            FileType::Directory => Self::Folder,
            FileType::RegularFile => Self::File,
            FileType::Symlink => Self::Link,
            _ => Self::Other,
        }
    }
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        let code = error.raw_os_error();
        match error.kind() {
            io::ErrorKind::NotFound => Self::Gone,
            // A directory that became a link says ENOTDIR, a file that did says ELOOP.
            io::ErrorKind::NotADirectory => Self::Link,
            _ if code == Some(Errno::LOOP.raw_os_error()) => Self::Link,
            // A socket.
            _ if code == Some(Errno::NXIO.raw_os_error()) => Self::NotRegular,
            _ => Self::Unreadable,
        }
    }
}

impl From<Errno> for Refused {
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
    fn only_regular_files_below_are_read_and_nothing_waits() {
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
        assert_eq!(folder.read("a/b/text", 3), Err(Refused::TooLarge));
        let refused = [
            ("link", Refused::Link),
            ("out/secret", Refused::Link),
            ("zero", Refused::Link),
            ("pipe", Refused::NotRegular),
            ("socket", Refused::NotRegular),
            ("a/b", Refused::Folder),
            ("a/c", Refused::Gone),
            ("a/../a/b/text", Refused::Gone),
            ("../secret", Refused::Gone),
            ("/etc/passwd", Refused::Gone),
            ("", Refused::Gone),
        ];
        for (path, why) in refused {
            assert_eq!(read(path), Err(why), "{path}");
        }
    }

    #[test]
    fn no_link_is_followed_on_the_way_to_a_root() {
        let (root, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let base = root.path().canonicalize().unwrap();
        fs::create_dir_all(base.join("a/b")).unwrap();
        fs::create_dir_all(outside.path().join("b")).unwrap();
        let opens = || Folder::open(&base.join("a/b")).map(|folder| folder.entries(1).unwrap().1);
        assert!(opens().unwrap());
        for replaced in ["a/b", "a"] {
            fs::rename(base.join(replaced), base.join("before")).unwrap();
            let to = if replaced == "a" { outside.path().to_owned() } else { outside.path().join("b") };
            symlink(to, base.join(replaced)).unwrap();
            assert_eq!(opens().unwrap_err().kind(), io::ErrorKind::NotADirectory, "{replaced}");
            fs::remove_file(base.join(replaced)).unwrap();
            fs::rename(base.join("before"), base.join(replaced)).unwrap();
        }
        assert!(Folder::open(&base.join("a/../a/b")).is_err());
        assert!(Folder::open(Path::new("/")).is_ok());
        let unreadable = base.join("a");
        fs::set_permissions(&unreadable, fs::Permissions::from_mode(0o100)).unwrap();
        assert!(opens().unwrap(), "a directory that is only passed need not be readable");
    }

    #[test]
    fn entries_say_what_they_are_and_are_bounded() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("folder")).unwrap();
        fs::write(root.path().join("file"), "four").unwrap();
        symlink("file", root.path().join("link")).unwrap();
        let folder = Folder::open(root.path()).unwrap();
        let (mut entries, all) = folder.entries(10).unwrap();
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        let kinds: Vec<(&str, Kind)> =
            entries.iter().map(|entry| (entry.name.to_str().unwrap(), entry.kind)).collect();
        assert_eq!(kinds, [("file", Kind::File), ("folder", Kind::Folder), ("link", Kind::Link)]);
        assert!(all);
        let (few, all) = folder.entries(2).unwrap();
        assert_eq!((few.len(), all), (2, false));
        assert_eq!(folder.facts(OsStr::new("file")).unwrap().bytes, 4);
        assert_eq!((folder.kind("link"), folder.kind("nothing")), (Some(Kind::Link), None));
    }
}
