//! Directories that are not a repository's own work: copies of other projects, what tools wrote, the kernel's.

use std::io;
use std::path::Path;

use ignore::DirEntry;

use super::file::SkipReason;

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

/// Why a directory is not the repository's own work, if it is not.
pub(super) fn directory_of_others(entry: &DirEntry, root: &Path) -> Option<SkipReason> {
    if !entry.file_type().is_some_and(|kind| kind.is_dir()) {
        return None;
    }
    let path = entry.path();
    let name = entry.file_name().to_str()?;
    let holds = |file: &str| path.join(file).exists();
    if VENDORED.contains(&name) || holds("pyvenv.cfg") {
        return Some(SkipReason::Vendored);
    }
    // A shop has vendors of its own: further down, `vendor` needs the mark of a package manager.
    let marks = ["modules.txt", "autoload.php", "bundle", "cache", ".package-cache"];
    if name == "vendor" && (path.parent() == Some(root) || marks.iter().any(|mark| holds(mark))) {
        return Some(SkipReason::Vendored);
    }
    if GENERATED.contains(&name) || has_cache_tag(path) {
        return Some(SkipReason::Generated);
    }
    is_pseudo(path).then_some(SkipReason::NotRegular)
}

/// Whether a directory says of itself that it is a cache (bford.info/cachedir): build outputs of cargo and others.
fn has_cache_tag(directory: &Path) -> bool {
    let mut start = [0; 43];
    let tag = directory.join("CACHEDIR.TAG");
    // Looked at before it is opened: a FIFO of that name would block.
    tag.symlink_metadata().is_ok_and(|metadata| metadata.is_file())
        && std::fs::File::open(tag).and_then(|mut file| io::Read::read_exact(&mut file, &mut start)).is_ok()
        && start == *b"Signature: 8a477f597d28d172789f06886806bc55"
}

/// Whether a directory is the kernel's (`/proc`, `/sys`): its files have no size and no end.
#[cfg(target_os = "linux")]
pub(super) fn is_pseudo(directory: &Path) -> bool {
    const SYSFS_MAGIC: u64 = 0x6265_6572;
    rustix::fs::statfs(directory).is_ok_and(|fs| {
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

#[cfg(not(target_os = "linux"))]
pub(super) fn is_pseudo(_directory: &Path) -> bool {
    false
}
