//! Directories that are not a repository's own work: copies of other projects, what tools wrote, the kernel's.

use std::io::Read;

use super::file::SkipReason;
use platform::beneath::Folder;

/// Directories that hold copies of other projects, by name alone.
const VENDORED: &[&str] = &[
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

/// Directories that tools write, by name alone.
const GENERATED: &[&str] = &[
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
    "bazel-bin",
    "bazel-out",
    "bazel-testlogs",
];

/// Why the directory `name`, open as `folder`, is not the repository's own work, if it is not. `depth` is 1 for one that
/// lies in the root.
pub(super) fn directory_of_others(folder: &Folder, name: &str, depth: usize) -> Option<SkipReason> {
    let holds = |file: &str| folder.kind(file).is_some();
    if VENDORED.contains(&name) || holds("pyvenv.cfg") {
        return Some(SkipReason::Vendored);
    }
    // A shop has vendors of its own: further down, `vendor` needs the mark of a package manager.
    let marks = ["modules.txt", "autoload.php", "bundle", "cache", ".package-cache"];
    if name == "vendor" && (depth == 1 || marks.iter().any(|mark| holds(mark))) {
        return Some(SkipReason::Vendored);
    }
    if GENERATED.contains(&name) || has_cache_tag(folder) {
        return Some(SkipReason::Generated);
    }
    folder.is_of_the_kernel().then_some(SkipReason::NotRegular)
}

/// Whether a directory says of itself that it is a cache (bford.info/cachedir): build outputs of cargo and others.
fn has_cache_tag(folder: &Folder) -> bool {
    const SIGNATURE: &[u8; 43] = b"Signature: 8a477f597d28d172789f06886806bc55";
    let mut start = [0; SIGNATURE.len()];
    folder.file("CACHEDIR.TAG").is_ok_and(|mut tag| tag.read_exact(&mut start).is_ok()) && start == *SIGNATURE
}
