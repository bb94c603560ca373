//! The sizes of mirrors on disk.

use std::fs;
use std::path::Path;

/// Folders below the objects of a mirror: one for each first byte, packs and information.
const OBJECT_FOLDERS_MAX: usize = 300;

/// The ending of mirrors.
pub(super) const MIRROR_ENDING: &str = "git";
/// The ending of what is fetched beside a damaged mirror, and replaces it.
pub(super) const FRESH_ENDING: &str = "fresh";

/// The size of the objects of a mirror in bytes.
pub(super) fn size_of(git_dir: &Path) -> u64 {
    let size = |folder: &Path| -> u64 {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let files = entries.filter_map(|entry| entry.metadata().ok()).filter(fs::Metadata::is_file);
        files.map(|file| file.len()).sum()
    };
    let objects = git_dir.join("objects");
    let folders = fs::read_dir(&objects).into_iter().flatten().flatten().take(OBJECT_FOLDERS_MAX);
    size(&objects) + folders.map(|folder| size(&folder.path())).sum::<u64>()
}

/// The size of the objects of all mirrors in a folder, without the one at `git_dir` and its replacement, in bytes.
pub(super) fn size_of_others(folder: &Path, git_dir: &Path) -> u64 {
    let paths = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_mirror = |path: &Path| {
        path.extension().is_some_and(|ending| ending == MIRROR_ENDING || ending == FRESH_ENDING)
    };
    let others = paths.filter(|path| is_mirror(path) && path.file_stem() != git_dir.file_stem());
    others.map(|path| size_of(&path)).sum()
}
