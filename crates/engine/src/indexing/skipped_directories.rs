//! Directories to skip: vendored projects, generated files and pseudo file systems.

use std::io::Read;

use super::file::SkipReason;
use platform::beneath::Folder;

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

/// Names of directories with generated files.
const GENERATED_NAMES: &[&str] = &[
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

/// Why the directory `name`, open as `folder`, is skipped, if it is. `depth` is 1 for a directory in the root.
pub(super) fn skip_reason(folder: &Folder, name: &str, depth: usize) -> Option<SkipReason> {
    let holds = |file: &str| folder.kind(file).is_some();
    if VENDORED_NAMES.contains(&name) || holds("pyvenv.cfg") {
        return Some(SkipReason::Vendored);
    }
    // `vendor` may be an ordinary word of the project, so below the root it needs a marker file of a package manager.
    let marks = ["modules.txt", "autoload.php", "bundle", "cache", ".package-cache"];
    if name == "vendor" && (depth == 1 || marks.iter().any(|mark| holds(mark))) {
        return Some(SkipReason::Vendored);
    }
    if GENERATED_NAMES.contains(&name) || has_cache_tag(folder) {
        return Some(SkipReason::Generated);
    }
    folder.is_of_the_kernel().then_some(SkipReason::NotRegular)
}

/// Whether a directory is marked as a cache (bford.info/cachedir), as build outputs of cargo and other tools are.
fn has_cache_tag(folder: &Folder) -> bool {
    const SIGNATURE: &[u8; 43] = b"Signature: 8a477f597d28d172789f06886806bc55";
    let mut start = [0; SIGNATURE.len()];
    folder.file("CACHEDIR.TAG").is_ok_and(|mut tag| tag.read_exact(&mut start).is_ok()) && start == *SIGNATURE
}
