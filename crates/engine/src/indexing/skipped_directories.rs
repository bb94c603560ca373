//! Directories to skip: vendored projects, generated files and pseudo file systems.

use std::path::Path;

use super::file::SkipReason;
use super::file_tree::TreeFolder;
use languages::{TOOL_FOLDERS, VENDORED_FOLDERS};
use platform::safe_open::EntryKind;

/// Returns the reason to skip the directory `name`, open as `folder`; `None` to walk it. `depth` is 1 for a directory
/// in the root.
pub(super) fn skip_reason(folder: &TreeFolder, name: &str, depth: usize) -> Option<SkipReason> {
    let contains = |entry: &str| folder.entry_kind(entry).is_some();
    if VENDORED_FOLDERS.contains(&name) || contains("pyvenv.cfg") {
        return Some(SkipReason::Vendored);
    }
    // Projects use the name `vendor` for other things too, so unless it is directly in the root, it must contain an entry that a package
    // manager creates there.
    let package_manager_entries = ["modules.txt", "autoload.php", "bundle", "cache", ".package-cache"];
    if name == "vendor" && (depth == 1 || package_manager_entries.iter().any(|entry| contains(entry))) {
        return Some(SkipReason::Vendored);
    }
    if TOOL_FOLDERS.contains(&name) || has_cache_tag(folder) {
        return Some(SkipReason::Generated);
    }
    if is_linked_work_tree(folder) {
        return Some(SkipReason::WorkTree);
    }
    folder.is_kernel_file_system().then_some(SkipReason::NotRegular)
}

/// Returns whether a directory is a work tree made by `git worktree add`: it duplicates the files of its repository. A submodule, whose
/// `.git` is a file as well, is part of the tree around it.
fn is_linked_work_tree(folder: &TreeFolder) -> bool {
    /// Longest file that names a git directory.
    const GIT_FILE_BYTES_MAX: u64 = 4096;
    let is_file = folder.entry_kind(".git") == Some(EntryKind::File);
    let read = is_file.then(|| folder.read(".git", GIT_FILE_BYTES_MAX).ok()).flatten();
    let text = read.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
    let Some(git_dir) = text.strip_prefix("gitdir:").map(|path| Path::new(path.trim())) else { return false };
    let is_among_work_trees = git_dir.parent().is_some_and(|parent| parent.ends_with("worktrees"));
    // Git names the directories of submodules by relative paths; a submodule may lie in a folder called `worktrees`.
    let is_submodule =
        git_dir.is_relative() && git_dir.components().any(|part| part.as_os_str() == "modules");
    is_among_work_trees && !is_submodule
}

/// Returns whether a directory is marked as a cache (bford.info/cachedir), as the build directories of cargo and other
/// tools are.
fn has_cache_tag(folder: &TreeFolder) -> bool {
    const SIGNATURE: &[u8; 43] = b"Signature: 8a477f597d28d172789f06886806bc55";
    folder.begins_with("CACHEDIR.TAG", SIGNATURE)
}
