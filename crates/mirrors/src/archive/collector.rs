//! Adds the entries of an archive to a commit, and counts those that are omitted.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::Path;

use super::ArchiveLimits;
use super::entry_name::EntryName;
use super::faults;
use super::meter::{Content, Meter};
use contract::Fault;
use history::CommitWriter;

/// Maximum size in bytes of all paths together, which are in memory.
const PATH_BYTES_MAX: usize = 64 << 20;

/// Maximum length of the target of a symbolic link in bytes, as on disk.
pub(super) const TARGET_BYTES_MAX: usize = 4096;

/// The reason why an entry is omitted. Links have none: they are in the commit, and the run names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LeftOut {
    UnsafeName,
    TooDeep,
    Special,
    Sparse,
    MissingTarget,
    Encrypted,
    UnknownCompression,
}

impl LeftOut {
    /// Describes these entries in the note.
    fn describe(self) -> &'static str {
        match self {
            Self::UnsafeName => "names that lead out of it or are too long",
            Self::TooDeep => "files in more folders than indexing.walk_depth_max allows",
            Self::Special => "devices, pipes and unknown kinds of entries",
            Self::Sparse => "sparse files",
            Self::MissingTarget => "hard links to no file of it",
            Self::Encrypted => "encrypted files",
            Self::UnknownCompression => "files that are compressed by an unsupported method",
        }
    }
}

/// The files of an archive so far.
pub(super) struct Collector<'a> {
    writer: CommitWriter,
    meter: &'a Meter<'a>,
    files_max: usize,
    depth_max: usize,
    files: usize,
    path_bytes: usize,
    left_out: BTreeMap<LeftOut, u64>,
}

impl<'a> Collector<'a> {
    /// Creates a collector that writes the files that `limits` allow into the new repository `git_dir`.
    ///
    /// # Errors
    /// `STORAGE_UNAVAILABLE` if it cannot be created.
    pub(super) fn create(
        git_dir: &Path,
        limits: &ArchiveLimits,
        meter: &'a Meter<'a>,
    ) -> Result<Self, Fault> {
        let writer = CommitWriter::create(git_dir).map_err(faults::not_written)?;
        let (files_max, depth_max) = (limits.files_max, limits.depth_max);
        Ok(Self { writer, meter, files_max, depth_max, files: 0, path_bytes: 0, left_out: BTreeMap::new() })
    }

    /// Returns the path of an entry; `None` if the entry is omitted because of its name.
    pub(super) fn path(&mut self, name: &[u8]) -> Option<Vec<u8>> {
        match EntryName::parse(name) {
            // The folder at the top may not count.
            EntryName::Path(path) if folders_of(&path) > self.depth_max.saturating_add(1) => {
                self.leave_out(LeftOut::TooDeep);
                None
            }
            EntryName::Path(path) => Some(path),
            EntryName::Ignored => None,
            EntryName::Unsafe => {
                self.leave_out(LeftOut::UnsafeName);
                None
            }
        }
    }

    pub(super) fn leave_out(&mut self, why: LeftOut) {
        *self.left_out.entry(why).or_default() += 1;
    }

    /// Adds a file with `bytes` of content. Returns `true` if it replaced other entries.
    pub(super) fn add_file(&mut self, path: &[u8], bytes: u64, content: impl Read) -> io::Result<bool> {
        self.count(path)?;
        let mut content = Content::new(content, bytes);
        let added = self.writer.add_file(path, bytes, &mut content);
        match content.failure.take() {
            Some(failure) => Err(failure),
            None => self.written(added),
        }
    }

    /// Adds a symbolic link. Returns `true` if it replaced other entries.
    pub(super) fn add_link(&mut self, path: &[u8], target: &[u8]) -> io::Result<bool> {
        if target.len() > TARGET_BYTES_MAX {
            self.leave_out(LeftOut::UnsafeName);
            return Ok(false);
        }
        self.count(path)?;
        let added = self.writer.add_link(path, target);
        self.written(added)
    }

    /// Adds a hard link, another name of a file that came before.
    pub(super) fn add_hard_link(&mut self, path: &[u8], target: &[u8]) -> io::Result<()> {
        self.count(path)?;
        let is_added = match EntryName::parse(target) {
            EntryName::Path(target) => self.writer.add_copy(path, &target),
            EntryName::Ignored | EntryName::Unsafe => false,
        };
        if !is_added {
            self.leave_out(LeftOut::MissingTarget);
        }
        Ok(())
    }

    /// Writes the commit; returns it in hex, and a note if something was omitted.
    ///
    /// # Errors
    /// `INVALID_REQUEST` without any file; `STORAGE_UNAVAILABLE` if it cannot be written; those of the meter.
    pub(super) fn finish(self) -> Result<(String, Option<String>), Fault> {
        let note = self.note();
        if self.writer.is_empty() {
            return Err(faults::no_files(note.as_deref()));
        }
        let Self { writer, meter, .. } = self;
        let commit = writer.finish(&|| meter.check());
        // A fault of the meter came first, so it takes precedence.
        let commit = commit.map_err(|error| meter.explain(meter.stop(faults::not_written(error))))?;
        Ok((commit, note))
    }

    fn count(&mut self, path: &[u8]) -> io::Result<()> {
        self.files += 1;
        self.path_bytes = self.path_bytes.saturating_add(path.len());
        if self.files > self.files_max {
            return Err(self.meter.stop(faults::too_many_files(self.files_max)));
        }
        if self.path_bytes > PATH_BYTES_MAX {
            return Err(self.meter.stop(faults::names_too_long()));
        }
        let folders_max = self.files_max.saturating_mul(2);
        if self.writer.folders() > folders_max {
            return Err(self.meter.stop(faults::too_many_folders(folders_max)));
        }
        Ok(())
    }

    fn written<T>(&self, written: io::Result<T>) -> io::Result<T> {
        written.map_err(|error| self.meter.stop(faults::not_written(error)))
    }

    fn note(&self) -> Option<String> {
        let kinds = self.left_out.iter().map(|(why, count)| format!("{} ({count})", why.describe()));
        let kinds = kinds.collect::<Vec<_>>().join(", ");
        (!kinds.is_empty()).then(|| format!("Left out of the archive: {kinds}."))
    }
}

/// Returns the number of folders around a file.
fn folders_of(path: &[u8]) -> usize {
    path.split(|byte| *byte == b'/').count().saturating_sub(1)
}
