//! The sizes of mirrors on disk.

use std::cell::Cell;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use contract::{ErrorCode, Fault};

/// Folders below the objects of a mirror: one for each first byte, packs and information.
const OBJECT_FOLDERS_MAX: usize = 300;
/// The unit in which the system reports the disk usage of a file, in bytes.
const BLOCK_BYTES: u64 = 512;

/// The ending of mirrors.
pub(super) const MIRROR_ENDING: &str = "git";
/// The ending of a mirror that is fetched to replace a damaged one.
pub(super) const FRESH_ENDING: &str = "fresh";
/// The ending of the mirror of an archive that is being written, and of one that is being replaced.
pub(super) const NEW_ENDING: &str = "new";

/// Time between two checks of the size of all other mirrors while one grows: other runs may write them meanwhile.
const OTHERS_CHECK: Duration = Duration::from_secs(10);
/// Measuring takes at most one part of the time in so many.
const TIME_PARTS: u32 = 10;

/// Returns the size of the objects of a mirror in bytes. Many objects are smaller than the disk space of their files.
pub(super) fn size_of(git_dir: &Path) -> u64 {
    let size = |folder: &Path| -> u64 {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let files = entries.filter_map(|entry| entry.metadata().ok()).filter(fs::Metadata::is_file);
        files.map(|file| file.len().max(file.blocks().saturating_mul(BLOCK_BYTES))).sum()
    };
    let objects = git_dir.join("objects");
    let folders = fs::read_dir(&objects).into_iter().flatten().flatten().take(OBJECT_FOLDERS_MAX);
    size(&objects) + folders.map(|folder| size(&folder.path())).sum::<u64>()
}

/// Returns the size of the objects of all mirrors in some folders, without the one at `git_dir` and its replacement, in bytes.
fn size_of_others(folders: &[PathBuf], git_dir: &Path) -> u64 {
    let entries = folders.iter().flat_map(fs::read_dir).flatten().flatten();
    let is_mirror = |path: &Path| {
        let ending = path.extension().and_then(|ending| ending.to_str());
        ending.is_some_and(|ending| matches!(ending, MIRROR_ENDING | FRESH_ENDING | NEW_ENDING))
    };
    let is_other = |path: &Path| path.with_extension("") != git_dir.with_extension("");
    let paths = entries.map(|entry| entry.path());
    paths.filter(|path| is_mirror(path) && is_other(path)).map(|path| size_of(&path)).sum()
}

/// A size that is measured again from time to time.
pub(super) struct Measured {
    every: Duration,
    last: Cell<Option<Measurement>>,
}

#[derive(Debug, Clone, Copy)]
struct Measurement {
    bytes: u64,
    at: Instant,
    took: Duration,
}

impl Measured {
    /// Measures again after `every`, or later if it takes long.
    pub(super) fn new(every: Duration) -> Self {
        Self { every, last: Cell::new(None) }
    }

    /// Returns the size in bytes, calling `measure` unless it was called recently.
    pub(super) fn bytes(&self, measure: impl FnOnce() -> u64) -> u64 {
        let is_new =
            |last: &Measurement| last.at.elapsed() < self.every.max(last.took.saturating_mul(TIME_PARTS));
        if let Some(last) = self.last.get().filter(is_new) {
            return last.bytes;
        }
        let begun = Instant::now();
        let bytes = measure();
        self.last.set(Some(Measurement { bytes, at: Instant::now(), took: begun.elapsed() }));
        bytes
    }
}

/// The limit of all mirrors together, while one of them grows.
pub(super) struct TotalSize<'a> {
    folders: [PathBuf; 2],
    git_dir: &'a Path,
    bytes_max: u64,
    others: Measured,
}

impl<'a> TotalSize<'a> {
    /// Limits the mirrors in two folders, those of repositories and those of archives, to `bytes_max` bytes. The one at `git_dir` grows.
    pub(super) fn new(folders: [PathBuf; 2], git_dir: &'a Path, bytes_max: u64) -> Self {
        Self { folders, git_dir, bytes_max, others: Measured::new(OTHERS_CHECK) }
    }

    /// Checks the size of all mirrors together; the growing one has `own_bytes`. `refused` names the refused action, as the beginning of a
    /// sentence.
    ///
    /// # Errors
    /// `INVALID_REQUEST` if they are too large.
    pub(super) fn require(&self, own_bytes: u64, refused: &str) -> Result<(), Fault> {
        let others = self.others.bytes(|| size_of_others(&self.folders, self.git_dir));
        let bytes_max = self.bytes_max;
        if others.saturating_add(own_bytes) <= bytes_max {
            return Ok(());
        }
        let message = format!(
            "{refused}: the mirrors of all repositories may have {bytes_max} bytes together \
             (git.mirrors_bytes_max)."
        );
        Err(Fault::new(ErrorCode::InvalidRequest, message).with_hint(
            "Ask the operator to raise the limit, or to remove what no repository uses: pairofcleats call cache_gc.",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::config::ARCHIVES_FOLDER;

    /// Writes an object of so many bytes into a mirror.
    fn write(git_dir: &Path, bytes: usize) {
        let folder = git_dir.join("objects/ab");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("cd"), vec![1; bytes]).unwrap();
    }

    #[test]
    fn mirrors_of_repositories_and_archives_count() {
        let folder = tempfile::tempdir().unwrap();
        let folders = [folder.path().to_owned(), folder.path().join(ARCHIVES_FOLDER)];
        let [repositories, archives] = &folders;
        let own = repositories.join("own.git");
        for not_counted in [&own, &repositories.join("own.fresh"), &archives.join("x.lock")] {
            write(not_counted, 100_000);
        }
        assert_eq!(size_of_others(&folders, &own), 0);
        let counted = [
            repositories.join("a.git"),
            archives.join("b.git"),
            archives.join("c.new"),
            archives.join("own.git"),
        ];
        for mirror in &counted {
            write(mirror, 100_000);
        }
        let bytes = size_of_others(&folders, &own);
        assert!((400_000..500_000).contains(&bytes), "{bytes}");
    }

    #[test]
    fn other_mirrors_are_measured_anew() {
        let folder = tempfile::tempdir().unwrap();
        let (own, other) = (folder.path().join("own.git"), folder.path().join("other.git"));
        let folders = [folder.path().to_owned(), folder.path().join(ARCHIVES_FOLDER)];
        let mut total = TotalSize::new(folders, &own, 100_000);
        total.require(0, "It was not fetched").unwrap();
        write(&other, 200_000);
        total.require(0, "It was not fetched").unwrap();
        total.others.every = Duration::ZERO;
        // Measuring took a moment, and ten times as long has to pass.
        std::thread::sleep(Duration::from_millis(500));
        let fault = total.require(0, "It was not fetched").unwrap_err();
        assert!(fault.message.starts_with("It was not fetched: ") && fault.hint.is_some(), "{fault}");
    }
}
