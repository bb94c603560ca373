//! Mirrors of archives: the files of a tar or zip file as the only commit of a bare repository, which is read like any other
//! mirror.
//!
//! Each content of an archive has a mirror of its own, `<path>-<commit>.git`, so that runs may still read the previous one. It is written
//! to a temporary path and renamed, and never changes.

mod archive_file;
mod collector;
mod entry_name;
mod faults;
mod meter;
mod source;
mod tar_file;
mod zip_file;
mod zstd_file;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use self::archive_file::ArchiveFile;
use self::collector::Collector;
use self::meter::Meter;
use self::source::{Opened, Source};
use super::address_file::used_at;
use super::lock::MirrorLock;
use super::mirror::{UnusedMirror, list_unused};
use super::remote::is_commit;
use super::sizes::{MIRROR_ENDING, Measured, NEW_ENDING, TotalSize, size_of};
use contract::Fault;
use contract::config;
use history::{CommitTree, Head};
use platform::disk_space::DiskSpace;

/// Time between two looks at the size of a mirror that grows.
const SIZE_CHECK: Duration = Duration::from_secs(1);

/// The action that is refused if all mirrors together are too large.
const NOT_READ: &str = "The archive was not read";

/// Limits of archives (`[indexing]` and `[git]` in the configuration).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchiveLimits {
    /// Size of an archive in bytes.
    pub bytes_max: u64,
    /// Maximum number of bytes that it may unpack to.
    pub unpacked_bytes_max: u64,
    /// Maximum number of files that it may have.
    pub files_max: usize,
    /// Maximum number of folders that may be around a file, besides one at the top that contains everything.
    pub depth_max: usize,
    /// Maximum size in bytes of all mirrors together, with those of repositories.
    pub mirrors_bytes_max: u64,
}

impl From<&config::Config> for ArchiveLimits {
    fn from(settings: &config::Config) -> Self {
        let indexing = &settings.indexing;
        Self {
            bytes_max: indexing.archive_bytes_max,
            unpacked_bytes_max: indexing.archive_unpacked_bytes_max,
            files_max: indexing.files_max,
            depth_max: indexing.walk_depth_max,
            mirrors_bytes_max: settings.git.mirrors_bytes_max,
        }
    }
}

/// The folder with the mirrors of all archives.
#[derive(Debug, Clone)]
pub struct Archives {
    folder: PathBuf,
    limits: ArchiveLimits,
    disk_space: DiskSpace,
}

/// The current mirror of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedArchive {
    /// The bare repository.
    pub git_dir: PathBuf,
    /// Its only commit, which depends on nothing but the files.
    pub head: Head,
    /// The files that were omitted.
    pub note: Option<String>,
}

impl Archives {
    /// The mirrors below `folder`, which lies in the folder with the mirrors of repositories. They grow as long as `disk_space`
    /// allows.
    #[must_use]
    pub fn new(folder: PathBuf, limits: ArchiveLimits, disk_space: DiskSpace) -> Self {
        Self { folder, limits, disk_space }
    }

    /// Returns the mirror of an archive with this commit; it need not exist. `None` if the commit is not valid.
    #[must_use]
    pub fn git_dir(&self, path: &Path, commit: &str) -> Option<PathBuf> {
        is_commit(commit).then(|| self.folder.join(format!("{}-{commit}.{MIRROR_ENDING}", key(path))))
    }

    /// Returns the commit of an archive that was used last.
    #[must_use]
    pub fn last_commit(&self, path: &Path) -> Option<String> {
        let mirrors = self.mirrors_of(path).into_iter();
        let used: Option<(SystemTime, String)> =
            mirrors.filter_map(|(git_dir, commit)| Some((used_at(&git_dir).ok()?, commit))).max();
        used.map(|(_, commit)| commit)
    }

    /// Checks that the file at a canonical path is an archive; writes nothing. Only its beginning is read, or its list of files.
    ///
    /// # Errors
    /// Those of [`Self::import`], as far as the beginning shows them.
    pub fn probe(&self, path: &Path, must_stop: &dyn Fn() -> bool) -> Result<(), Fault> {
        let source = Source::open(path, self.limits.bytes_max)?;
        let has_room = || self.disk_space.check();
        let meter = Meter::new(self.limits.unpacked_bytes_max, &has_room, must_stop);
        let probed = match source.unpack(path, &meter) {
            Ok(Opened::Tar(reader)) => tar_file::probe(reader, &meter),
            Ok(Opened::Zip(reader)) => zip_file::probe(reader),
            Err(error) => Err(error),
        };
        probed.map_err(|error| meter.explain(error))
    }

    /// Brings the mirror of the archive at a canonical path up to date, which costs nothing if the file did not change, and little if
    /// its content did not. Another run that imports the same archive is waited for.
    ///
    /// # Errors
    /// `NOT_FOUND`; `FORBIDDEN` if the file may not be read; `INVALID_REQUEST` if it is damaged, not an archive, or has no files, or if
    /// all mirrors together would be larger than `git.mirrors_bytes_max`; `ARCHIVE_TOO_LARGE` for each limit; `ARCHIVE_UNSAFE` for a
    /// zip file whose entries overlap or have the same path, and for a sparse file with two sizes;
    /// `ILLEGAL_STATE` if the file is written to meanwhile; `STORAGE_UNAVAILABLE`; `CANCELLED`.
    pub fn import(&self, path: &Path, must_stop: &dyn Fn() -> bool) -> Result<ImportedArchive, Fault> {
        fs::create_dir_all(&self.folder).map_err(faults::not_written)?;
        let lock = self.folder.join(format!("{}.lock", key(path)));
        let _held = MirrorLock::wait(&lock, must_stop)?;
        let imported = self.import_locked(path, must_stop);
        // Waiting runs notice that it is gone.
        let _ = fs::remove_file(lock);
        imported
    }

    fn import_locked(&self, path: &Path, must_stop: &dyn Fn() -> bool) -> Result<ImportedArchive, Fault> {
        let source = Source::open(path, self.limits.bytes_max)?;
        let identity = source.identity();
        let same_file = |file: &ArchiveFile| identity.is_some() && file.identity == identity;
        if let Some(found) = self.reuse(path, &source, must_stop, &same_file)? {
            return Ok(found);
        }
        let has_room = || self.disk_space.check();
        let meter = Meter::new(self.limits.unpacked_bytes_max, &has_room, must_stop);
        let hash = source.hash(&meter).map_err(|error| meter.explain(error))?;
        let same_content = |file: &ArchiveFile| file.hash == hash;
        if let Some(found) = self.reuse(path, &source, must_stop, &same_content)? {
            return Ok(found);
        }
        self.import_anew(path, &source, hash, must_stop)
    }

    /// Writes a mirror of an archive with this hash.
    fn import_anew(
        &self,
        path: &Path,
        source: &Source,
        hash: String,
        must_stop: &dyn Fn() -> bool,
    ) -> Result<ImportedArchive, Fault> {
        self.disk_space.check_for(source.bytes)?;
        let fresh = self.folder.join(format!("{}.{NEW_ENDING}", key(path)));
        let _ = fs::remove_dir_all(&fresh);
        let repositories = self.folder.parent().unwrap_or(&self.folder).to_owned();
        let folders = [repositories, self.folder.clone()];
        let total_size = TotalSize::new(folders, &fresh, self.limits.mirrors_bytes_max);
        total_size.require(0, NOT_READ)?;
        let own_size = Measured::new(SIZE_CHECK);
        let may_grow = || {
            self.disk_space.check()?;
            total_size.require(own_size.bytes(|| size_of(&fresh)), NOT_READ)
        };
        let meter = Meter::new(self.limits.unpacked_bytes_max, &may_grow, must_stop);
        let imported = self.unpack(path, source, &meter, &fresh).and_then(|(commit, note)| {
            // It may have grown beyond the limit since the last check.
            total_size.require(size_of(&fresh), NOT_READ)?;
            if !source.is_unchanged() {
                return Err(faults::changed());
            }
            let path_text = path.to_string_lossy().into_owned();
            let file = ArchiveFile { path: path_text, identity: source.identity(), hash, note };
            file.write(&fresh).map_err(faults::not_written)?;
            let git_dir = self.move_into_place(path, &fresh, &commit, &file, must_stop)?;
            Ok(ImportedArchive { git_dir, head: Head { branch: None, commit }, note: file.note })
        });
        imported.inspect_err(|_| drop(fs::remove_dir_all(&fresh)))
    }

    /// Returns the mirrors that no repository uses and that no run has used during `kept`, with their sizes; `used` has the path and the
    /// commit of each repository. Remains of interrupted imports are among them. `Mirrors::remove` removes them.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn unused(&self, used: &[(PathBuf, String)], kept: Duration) -> Result<Vec<UnusedMirror>, Fault> {
        let used: Vec<PathBuf> =
            used.iter().filter_map(|(path, commit)| self.git_dir(path, commit)).collect();
        // The lock of a mirror that is being imported is that of its archive.
        list_unused(&self.folder, &[MIRROR_ENDING, NEW_ENDING], &used, kept, |git_dir| {
            ArchiveFile::read(git_dir).map(|file| file.path)
        })
    }

    /// Finds the mirror of this archive that `is_same` accepts, and marks it as used.
    fn reuse(
        &self,
        path: &Path,
        source: &Source,
        must_stop: &dyn Fn() -> bool,
        is_same: &dyn Fn(&ArchiveFile) -> bool,
    ) -> Result<Option<ImportedArchive>, Fault> {
        for (git_dir, commit) in self.mirrors_of(path) {
            if !ArchiveFile::read(&git_dir).is_some_and(|file| is_same(&file)) {
                continue;
            }
            // The process that removes unused mirrors holds this lock.
            let _lock = MirrorLock::wait(&git_dir.with_extension("lock"), must_stop)?;
            let Some(file) = trusted_file(&git_dir, &commit) else { continue };
            let file = ArchiveFile { identity: source.identity(), ..file };
            file.write(&git_dir).map_err(faults::not_written)?;
            let (head, note) = (Head { branch: None, commit }, file.note);
            return Ok(Some(ImportedArchive { git_dir, head, note }));
        }
        Ok(None)
    }

    /// Writes the files of the archive into the new repository `git_dir`; returns the commit and a note about omitted files.
    fn unpack(
        &self,
        path: &Path,
        source: &Source,
        meter: &Meter<'_>,
        git_dir: &Path,
    ) -> Result<(String, Option<String>), Fault> {
        let mut collector = Collector::create(git_dir, &self.limits, meter)?;
        let unpacked = match source.unpack(path, meter) {
            Ok(Opened::Tar(reader)) => tar_file::read(reader, meter, &mut collector),
            Ok(Opened::Zip(reader)) => zip_file::read(reader, self.limits.files_max, meter, &mut collector),
            Err(error) => Err(error),
        };
        unpacked.map_err(|error| meter.explain(error))?;
        collector.finish()
    }

    /// Moves a complete mirror to its place. If the same files are there already, from other bytes of the archive, they stay, because runs
    /// may read them, and are registered under `file` from now on. A damaged mirror is replaced.
    fn move_into_place(
        &self,
        path: &Path,
        fresh: &Path,
        commit: &str,
        file: &ArchiveFile,
        must_stop: &dyn Fn() -> bool,
    ) -> Result<PathBuf, Fault> {
        let invalid = || Fault::internal("An archive became no commit.", commit.to_owned());
        let git_dir = self.git_dir(path, commit).ok_or_else(invalid)?;
        let _lock = MirrorLock::wait(&git_dir.with_extension("lock"), must_stop)?;
        if trusted_file(&git_dir, commit).is_some() {
            file.write(&git_dir).map_err(faults::not_written)?;
            let _ = fs::remove_dir_all(fresh);
            return Ok(git_dir);
        }
        let replaced = git_dir.with_extension(NEW_ENDING);
        let _ = fs::remove_dir_all(&replaced);
        match fs::rename(&git_dir, &replaced) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(faults::not_written(error)),
            _ => {}
        }
        fs::rename(fresh, &git_dir).map_err(faults::not_written)?;
        let _ = fs::remove_dir_all(replaced);
        Ok(git_dir)
    }

    /// The mirrors of an archive, with their commits.
    fn mirrors_of(&self, path: &Path) -> Vec<(PathBuf, String)> {
        let prefix = format!("{}-", key(path));
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mirrors = entries.filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let commit =
                name.strip_prefix(&prefix)?.strip_suffix(MIRROR_ENDING)?.strip_suffix('.')?.to_owned();
            Some((entry.path(), commit))
        });
        mirrors.collect()
    }
}

/// Returns the file of a mirror, unless the mirror is damaged.
fn trusted_file(git_dir: &Path, commit: &str) -> Option<ArchiveFile> {
    let is_whole = CommitTree::open(git_dir, commit).is_ok_and(|tree| tree.root().is_ok());
    ArchiveFile::read(git_dir).filter(|_| is_whole)
}

/// Returns the common prefix of the names of the mirrors of an archive.
fn key(path: &Path) -> String {
    blake3::hash(path.as_os_str().as_encoded_bytes()).to_hex()[..32].to_owned()
}

#[cfg(test)]
mod tests;
