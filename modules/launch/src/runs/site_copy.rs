//! A private copy of a site's files on disk, for the commands of the site profile. It is removed when they have ended; a copy left by a
//! process that died is removed later.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use contract::config::Layout;
use launch::site::SiteFiles;

/// Maximum size of a copy in bytes.
const BYTES_MAX: u64 = 1 << 30;
/// Maximum number of names that are tried for a new copy.
const NAMES_MAX: u32 = 10_000;
/// Age from which a copy is no longer in use: the commands of a site may take 16 hours together.
const OLD: Duration = Duration::from_secs(24 * 60 * 60);
/// Folder of the copies if a server runs as root and the commands' user cannot reach the data directory. Only root can make it.
const RELOCATED: &str = "/var/lib/pairofcleats-launch-copies";

/// All users may pass through these folders, because the user of a command has to; only their owner can list them.
const PASSABLE: u32 = 0o711;
/// The folders of a copy, until its command gets them.
const PRIVATE: u32 = 0o700;

/// A copy. Dropping it removes it.
#[derive(Debug)]
pub(super) struct SiteCopy {
    root: PathBuf,
}

/// The folder with all copies. Commands of a server that runs as root have another user, who may not be able to enter the data
/// directory.
#[must_use]
pub fn copies_folder(layout: &Layout) -> PathBuf {
    let is_passable = |folder: &Path| fs::metadata(folder).is_ok_and(|folder| folder.mode() & 0o1 != 0);
    match !rustix::process::geteuid().is_root() || layout.home().ancestors().all(is_passable) {
        true => layout.home().join("launch-copies"),
        false => PathBuf::from(RELOCATED),
    }
}

/// Removes copies left by processes that died.
pub(super) fn remove_old(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let modified = entry.metadata().and_then(|metadata| metadata.modified());
        // One in the future is not old.
        if modified.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > OLD)) {
            remove(&entry.path());
        }
    }
}

impl SiteCopy {
    /// Copies the files of a site, but for those below `left_out`, which become empty folders.
    ///
    /// # Errors
    /// If the disk cannot be written, or the files have more than 1 GiB.
    pub(super) fn make(
        folder: &Path,
        name: &str,
        files: &dyn SiteFiles,
        left_out: &[&str],
    ) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        fs::set_permissions(folder, Permissions::from_mode(PASSABLE))?;
        let copy = Self { root: new_folder(folder, name)? };
        fs::set_permissions(&copy.root, Permissions::from_mode(PASSABLE))?;
        let site = copy.site();
        private_folder(&site)?;
        let mut bytes = 0_u64;
        for path in files.paths() {
            let is_left_out = |output: &&str| {
                path.strip_prefix(*output).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            if left_out.iter().any(is_left_out) {
                continue;
            }
            // A file that is too large to be read is left out.
            let Some(content) = files.read(&path) else { continue };
            bytes = bytes.saturating_add(u64::try_from(content.len()).unwrap_or(u64::MAX));
            if bytes > BYTES_MAX {
                return Err(io::Error::other("the files of the site have more than 1 GiB"));
            }
            write(&site, &path, &content)?;
        }
        left_out.iter().try_for_each(|output| fs::create_dir_all(site.join(output)))?;
        Ok(copy)
    }

    /// The folder with the files.
    pub(super) fn site(&self) -> PathBuf {
        self.root.join("site")
    }

    /// A folder of it that a command may write, or all of it with `.`.
    ///
    /// # Errors
    /// If something else is in its place: an earlier command may have made a link there, through which this one would write elsewhere.
    pub(super) fn output(&self, path: &str) -> io::Result<PathBuf> {
        let mut folder = self.site();
        for part in path.split('/').filter(|part| *part != ".") {
            folder.push(part);
            match fs::symlink_metadata(&folder) {
                Ok(found) if found.is_dir() => {}
                Ok(_) => return Err(io::Error::other("an earlier command replaced its output folder")),
                Err(error) if error.kind() == ErrorKind::NotFound => fs::create_dir(&folder)?,
                Err(error) => return Err(error),
            }
        }
        Ok(folder)
    }

    /// An empty folder beside it, of this number.
    pub(super) fn temporary(&self, number: usize) -> io::Result<PathBuf> {
        let folder = self.root.join(format!("temporary-{number}"));
        private_folder(&folder)?;
        Ok(folder)
    }
}

impl Drop for SiteCopy {
    fn drop(&mut self) {
        remove(&self.root);
    }
}

/// Makes a folder that was not there.
fn new_folder(folder: &Path, name: &str) -> io::Result<PathBuf> {
    for number in 0..NAMES_MAX {
        let path = folder.join(format!("{name}-{number}"));
        match fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("there are too many copies of sites"))
}

fn private_folder(path: &Path) -> io::Result<()> {
    fs::create_dir(path)?;
    fs::set_permissions(path, Permissions::from_mode(PRIVATE))
}

fn write(site: &Path, path: &str, content: &[u8]) -> io::Result<()> {
    let is_plain = |part: &str| !matches!(part, "" | "." | "..") && !part.contains('\0');
    if !path.split('/').all(is_plain) {
        return Err(io::Error::other("a path of the site leads out of it"));
    }
    let target = site.join(path);
    if let Some(folder) = target.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut file: File = OpenOptions::new().write(true).create_new(true).mode(0o640).open(target)?;
    file.write_all(content)
}

/// Removes a copy. Files that a command made may be inaccessible to their owner.
fn remove(root: &Path) {
    let removed = fs::remove_dir_all(root).or_else(|error| match error.kind() {
        ErrorKind::NotFound => Ok(()),
        ErrorKind::PermissionDenied => {
            open_folders(root);
            fs::remove_dir_all(root)
        }
        _ => Err(error),
    });
    if let Err(error) = removed {
        tracing::warn!(folder = %root.display(), %error, "a copy of a site could not be removed");
    }
}

/// Gives the owner all rights to the folders of a copy. Follows no links; nothing runs in it any more.
fn open_folders(root: &Path) {
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        // A failure here repeats when the copy is removed, and is reported then.
        let _ = fs::set_permissions(&folder, Permissions::from_mode(PRIVATE));
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push(entry.path());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use launch::site::MemoryFiles;
    use std::os::unix::fs::symlink;
    use std::time::SystemTime;

    #[test]
    fn a_copy_has_the_files_and_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let files: MemoryFiles =
            [("a.md", "one"), ("content/b.md", "two"), ("public/old.html", "x"), ("public-2/c.md", "three")]
                .into_iter()
                .collect();
        let copy = SiteCopy::make(folder.path(), "run", &files, &["public"]).unwrap();
        let read = |path: &str| fs::read_to_string(copy.site().join(path)).ok();
        assert_eq!(read("content/b.md").as_deref(), Some("two"));
        assert_eq!(read("public-2/c.md").as_deref(), Some("three"));
        assert!(copy.site().join("public").is_dir() && read("public/old.html").is_none());
        let temporary = copy.temporary(0).unwrap();
        assert!(temporary.is_dir() && !temporary.starts_with(copy.site()));
        assert_eq!(fs::metadata(copy.site()).unwrap().mode() & 0o777, PRIVATE);
        // A command may leave folders without permissions.
        let closed = copy.site().join("closed");
        fs::create_dir_all(closed.join("below")).unwrap();
        fs::set_permissions(&closed, Permissions::from_mode(0o000)).unwrap();
        let other = SiteCopy::make(folder.path(), "run", &files, &[]).unwrap();
        assert_ne!(other.site(), copy.site(), "copies of one run have names of their own");
        drop((copy, other));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_command_writes_to_a_folder_of_the_copy() {
        let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let files: MemoryFiles = [("a.md", "one")].into_iter().collect();
        let copy = SiteCopy::make(folder.path(), "run", &files, &["public/en"]).unwrap();
        assert_eq!(copy.output(".").unwrap(), copy.site());
        assert_eq!(copy.output("public/en").unwrap(), copy.site().join("public/en"));
        // A folder that an earlier command removed is made again; a link in its place is not followed.
        fs::remove_dir_all(copy.site().join("public")).unwrap();
        assert!(copy.output("public/en").unwrap().is_dir());
        fs::remove_dir_all(copy.site().join("public")).unwrap();
        fs::create_dir(elsewhere.path().join("en")).unwrap();
        symlink(elsewhere.path(), copy.site().join("public")).unwrap();
        assert!(copy.output("public/en").is_err() && copy.output("public").is_err());
        assert!(copy.output("a.md").is_err());
    }

    #[test]
    fn paths_that_lead_out_are_refused() {
        for path in ["../x", "/x", "a/../../x", "a//b", "a\0"] {
            let folder = tempfile::tempdir().unwrap();
            let files: MemoryFiles = [(path, "x")].into_iter().collect();
            assert!(SiteCopy::make(folder.path(), "run", &files, &[]).is_err(), "{path:?}");
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        }
    }

    #[test]
    fn only_old_copies_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        for (name, age) in [("old", 2 * OLD), ("new", OLD / 2)] {
            fs::create_dir_all(folder.path().join(name).join("site")).unwrap();
            let root = File::open(folder.path().join(name)).unwrap();
            let now: SystemTime = root.metadata().unwrap().modified().unwrap();
            root.set_modified(now - age).unwrap();
        }
        remove_old(folder.path());
        assert!(!folder.path().join("old").exists() && folder.path().join("new").exists());
        remove_old(Path::new("/no/such/folder"));
    }
}
