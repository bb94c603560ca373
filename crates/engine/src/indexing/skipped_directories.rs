//! Directories to skip: vendored projects, generated files and pseudo file systems.

use super::file::SkipReason;
use super::file_tree::TreeFolder;

/// Names of directories with vendored projects.
const VENDORED_NAMES: &[&str] = &[
    "node_modules",
    "bower_components",
    "jspm_packages",
    "third_party",
    "thirdparty",
    "3rdparty",
    "third-party",
    "Pods",
    "Carthage",
    "site-packages",
    "elm-stuff",
    "deps.bundle",
];

/// Names of directories in which tools keep files of their own.
const TOOL_DIRECTORY_NAMES: &[&str] = &[
    "__pycache__",
    ".tox",
    ".nox",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".ipynb_checkpoints",
    ".gradle",
    ".terraform",
    ".next",
    ".nuxt",
    ".svelte-kit",
    ".parcel-cache",
    ".turbo",
    ".dart_tool",
    ".eggs",
    ".hg",
    ".svn",
    ".jj",
    ".sl",
    ".bzr",
    "DerivedData",
    "htmlcov",
];

/// Returns the reason to skip the directory `name`, open as `folder`; `None` to walk it. `depth` is 1 for a directory
/// in the root.
pub(super) fn skip_reason(folder: &TreeFolder, name: &str, depth: usize) -> Option<SkipReason> {
    let contains = |entry: &str| folder.entry_kind(entry).is_some();
    if VENDORED_NAMES.contains(&name) || contains("pyvenv.cfg") {
        return Some(SkipReason::Vendored);
    }
    // Projects use the name `vendor` for other things too, so unless it is directly in the root, it must contain an entry that
    // a package manager leaves there.
    let package_manager_entries = ["modules.txt", "autoload.php", "bundle", "cache", ".package-cache"];
    if name == "vendor" && (depth == 1 || package_manager_entries.iter().any(|entry| contains(entry))) {
        return Some(SkipReason::Vendored);
    }
    if TOOL_DIRECTORY_NAMES.contains(&name) || has_cache_tag(folder) {
        return Some(SkipReason::Generated);
    }
    folder.is_kernel_file_system().then_some(SkipReason::NotRegular)
}

/// Returns whether a directory is marked as a cache (bford.info/cachedir), as the build directories of cargo and other
/// tools are.
fn has_cache_tag(folder: &TreeFolder) -> bool {
    const SIGNATURE: &[u8; 43] = b"Signature: 8a477f597d28d172789f06886806bc55";
    folder.begins_with("CACHEDIR.TAG", SIGNATURE)
}
