//! Which files of a repository are worth reading: its own regular files, without what others wrote.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use ignore::{DirEntry, WalkBuilder};

use super::file::SkipReason;
use super::others::{directory_of_others, is_pseudo};
use crate::config;
use crate::contract::{ErrorCode, Fault};

/// Name of our own ignore file; its rules are those of `.gitignore`.
pub(super) const IGNORE_FILE: &str = ".pairofcleatsignore";

/// Longest path below the root: the database indexes paths, and its index entries are bounded.
const PATH_BYTES_MAX: usize = 2_000;

/// Most skipped paths that are named; all are counted.
const SKIPPED_NAMED_MAX: usize = 10_000;

/// Bounds of a walk (`[indexing]` in the configuration).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WalkLimits {
    /// Most files; beyond, the walk stops and is incomplete.
    pub(super) files_max: usize,
    /// Most directories below the root.
    pub(super) depth_max: usize,
}

impl From<&config::Indexing> for WalkLimits {
    fn from(settings: &config::Indexing) -> Self {
        Self { files_max: settings.files_max, depth_max: settings.walk_depth_max }
    }
}

/// A regular file to index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// Path below the root with `/`.
    pub(super) path: String,
    /// Size in bytes.
    pub(super) bytes: u64,
    /// Last modification in nanoseconds since 1970; a hint only.
    pub(super) modified_ns: i64,
}

/// A file or a whole directory (its path ends in `/`) that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Skipped {
    /// Path below the root with `/`; lossy where the name is not UTF-8.
    pub(super) path: String,
    /// Why.
    pub(super) reason: SkipReason,
}

/// What a walk found. Files that an ignore file names are neither entries nor skipped: the user said so.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Walk {
    /// Sorted by path.
    pub(super) entries: Vec<Entry>,
    /// Sorted by path; the first 10,000.
    pub(super) skipped: Vec<Skipped>,
    /// How many were skipped in all.
    pub(super) skipped_count: usize,
    /// What kept the walk from seeing everything, one sentence each. While this is not empty, a file that is
    /// missing from `entries` may well exist, so nothing may be deleted.
    pub(super) incomplete: Vec<String>,
}

impl Walk {
    /// Whether every directory was seen.
    #[must_use]
    pub(super) fn is_complete(&self) -> bool {
        self.incomplete.is_empty()
    }

    fn skip(&mut self, path: String, reason: SkipReason) {
        self.skipped_count += 1;
        if self.skipped.len() < SKIPPED_NAMED_MAX {
            self.skipped.push(Skipped { path, reason });
        }
    }
}

/// Walks a repository. `cancelled` is polled at every entry; a cancelled walk is incomplete.
///
/// # Errors
/// `NOT_FOUND` where the root is missing or no directory, `FORBIDDEN` where it may not be read.
pub(super) fn walk(root: &Path, limits: &WalkLimits, cancelled: &dyn Fn() -> bool) -> Result<Walk, Fault> {
    walk_telling(root, limits, cancelled, &mut |_| {})
}

/// The same, which also tells each directory that it looks into, the root first.
///
/// # Errors
/// As [`walk`].
pub(super) fn walk_telling(
    root: &Path,
    limits: &WalkLimits,
    cancelled: &dyn Fn() -> bool,
    looks_into: &mut dyn FnMut(&Path),
) -> Result<Walk, Fault> {
    check_root(root)?;
    let mut walk = Walk::default();
    let left_out = Arc::new(Mutex::new(Vec::new()));
    for found in builder(root, limits, Arc::clone(&left_out)).build() {
        if cancelled() {
            walk.incomplete.push("The walk was cancelled.".to_owned());
            break;
        }
        match found {
            Err(error) => missed(&error, root, &mut walk),
            Ok(entry) if entry.depth() == 0 => looks_into(root),
            Ok(entry) => {
                if entry.file_type().is_some_and(|kind| kind.is_dir()) && entry.depth() < limits.depth_max {
                    looks_into(entry.path());
                }
                take(&entry, root, limits, &mut walk);
                if walk.entries.len() > limits.files_max {
                    walk.entries.pop();
                    walk.incomplete.push(format!("There are more than {} files.", limits.files_max));
                    break;
                }
            }
        }
    }
    let left_out = std::mem::take(&mut *left_out.lock().unwrap_or_else(PoisonError::into_inner));
    left_out.into_iter().for_each(|Skipped { path, reason }| walk.skip(path, reason));
    walk.entries.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    walk.skipped.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    Ok(walk)
}

/// The fault of a root that cannot be walked or opened.
pub(super) fn root_fault(error: io::Error) -> Fault {
    let fault = match error.kind() {
        io::ErrorKind::PermissionDenied => {
            Fault::new(ErrorCode::Forbidden, "The repository may not be read.")
                .with_hint("Give the server's user read permission on the directory, or choose another one.")
        }
        io::ErrorKind::NotFound => Fault::new(ErrorCode::NotFound, "There is no such directory.")
            .with_hint("Check the path; it must exist on the machine that the server runs on."),
        io::ErrorKind::NotADirectory => Fault::new(ErrorCode::NotFound, "The path is not a directory.")
            .with_hint("Name the directory of the repository, not a file in it."),
        _ => Fault::new(ErrorCode::NotFound, "The directory cannot be read.")
            .with_hint("Check that the path leads to a readable directory."),
    };
    fault.with_source(error)
}

fn check_root(root: &Path) -> Result<(), Fault> {
    if is_pseudo(root) {
        return Err(Fault::new(
            ErrorCode::Forbidden,
            "The directory belongs to the kernel, it holds no files.",
        )
        .with_hint("Choose the directory of a repository."));
    }
    std::fs::read_dir(root).map(drop).map_err(root_fault)
}

fn builder(root: &Path, limits: &WalkLimits, left_out: Arc<Mutex<Vec<Skipped>>>) -> WalkBuilder {
    let mut builder = WalkBuilder::new(root);
    let above = root.to_owned();
    builder
        .standard_filters(false)
        .git_ignore(true)
        .git_exclude(true)
        // An exported tree has .gitignore files and no .git.
        .require_git(false)
        // The rules above count only when the root is part of a larger work tree.
        .parents(!root.join(".git").exists() && root.ancestors().skip(1).any(|dir| dir.join(".git").exists()))
        .follow_links(false)
        .max_depth(Some(limits.depth_max))
        .add_custom_ignore_filename(IGNORE_FILE)
        .sort_by_file_name(std::cmp::Ord::cmp)
        .filter_entry(move |entry| {
            if entry.depth() == 0 {
                return true;
            }
            if entry.file_name() == ".git" {
                return false;
            }
            let Some(reason) = directory_of_others(entry, &above) else { return true };
            let path = format!("{}/", relative(entry.path(), &above).0);
            left_out.lock().unwrap_or_else(PoisonError::into_inner).push(Skipped { path, reason });
            false
        });
    builder
}

fn take(entry: &DirEntry, root: &Path, limits: &WalkLimits, walk: &mut Walk) {
    let (path, utf8) = relative(entry.path(), root);
    let Some(kind) = entry.file_type() else { return };
    if kind.is_dir() {
        if entry.depth() >= limits.depth_max {
            walk.skip(format!("{path}/"), SkipReason::TooDeep);
        }
        return;
    }
    let reason = if kind.is_symlink() {
        Some(SkipReason::Link)
    } else if !kind.is_file() {
        Some(SkipReason::NotRegular)
    } else if !utf8 {
        Some(SkipReason::NameNotUtf8)
    } else if path.len() > PATH_BYTES_MAX {
        Some(SkipReason::PathTooLong)
    } else {
        None
    };
    match (reason, entry.metadata()) {
        (Some(reason), _) => walk.skip(path, reason),
        (None, Ok(metadata)) => {
            let modified_ns = modified_ns(&metadata);
            walk.entries.push(Entry { path, bytes: metadata.len(), modified_ns });
        }
        (None, Err(error)) => missed(&error, root, walk),
    }
}

/// A path below the root with `/`, and whether that is what it really says.
fn relative(path: &Path, root: &Path) -> (String, bool) {
    let path = path.strip_prefix(root).unwrap_or(path);
    match path.to_str() {
        Some(path) => (path.to_owned(), true),
        None => (path.to_string_lossy().into_owned(), false),
    }
}

fn modified_ns(metadata: &Metadata) -> i64 {
    metadata.mtime().saturating_mul(1_000_000_000).saturating_add(metadata.mtime_nsec())
}

/// An entry that could not be looked at. One that vanished in the meantime is not missed.
fn missed(error: &ignore::Error, root: &Path, walk: &mut Walk) {
    let io = error.io_error();
    if io.is_some_and(|error| error.kind() == io::ErrorKind::NotFound) {
        return;
    }
    let what = io.map_or_else(|| "an unknown error".to_owned(), |error| error.kind().to_string());
    let path = error_path(error).map_or_else(|| "?".to_owned(), |path| relative(path, root).0);
    walk.incomplete.push(format!("`{path}` could not be read: {what}."));
}

fn error_path(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => error_path(err),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    const LIMITS: WalkLimits = WalkLimits { files_max: 1000, depth_max: 16 };

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    fn walked(root: &Path) -> Walk {
        walk(root, &LIMITS, &|| false).unwrap()
    }

    fn paths(walk: &Walk) -> Vec<&str> {
        walk.entries.iter().map(|entry| entry.path.as_str()).collect()
    }

    fn skipped(walk: &Walk) -> Vec<(&str, SkipReason)> {
        walk.skipped.iter().map(|skipped| (skipped.path.as_str(), skipped.reason)).collect()
    }

    #[test]
    fn ignore_files_count_at_every_level_without_git() {
        let root = tree(&[
            (".gitignore", "*.log\n/out\n"),
            ("a.log", ""),
            ("a.rs", ""),
            ("out/x", ""),
            ("src/.gitignore", "secret.rs\n!keep.log\n"),
            ("src/secret.rs", ""),
            ("src/keep.log", ""),
            ("src/out/x", ""),
            (IGNORE_FILE, "docs/\n"),
            ("docs/a.md", ""),
            (".github/ci.yml", ""),
            (".git/config", ""),
            (".git/info/exclude", "excluded.txt\n"),
            ("excluded.txt", ""),
        ]);
        let walk = walked(root.path());
        assert_eq!(
            paths(&walk),
            [
                ".github/ci.yml",
                ".gitignore",
                IGNORE_FILE,
                "a.rs",
                "src/.gitignore",
                "src/keep.log",
                "src/out/x"
            ]
        );
        assert!(walk.is_complete());
    }

    #[test]
    fn rules_of_the_work_tree_above_count_and_others_do_not() {
        let outer = tree(&[(".gitignore", "*.txt\n"), ("repo/a.txt", ""), ("repo/a.rs", "")]);
        assert_eq!(paths(&walked(&outer.path().join("repo"))), ["a.rs", "a.txt"]);
        fs::create_dir(outer.path().join(".git")).unwrap();
        assert_eq!(paths(&walked(&outer.path().join("repo"))), ["a.rs"]);
    }

    #[test]
    fn work_of_others_is_left_out_with_a_reason() {
        let tag = "Signature: 8a477f597d28d172789f06886806bc55\n";
        let root = tree(&[
            ("node_modules/x/index.js", ""),
            ("vendor/lib/a.go", ""),
            ("app/vendor/model.rb", ""),
            ("app/deps/vendor/modules.txt", ""),
            ("target/CACHEDIR.TAG", tag),
            ("target/debug/a", ""),
            ("crates/target/mod.rs", ""),
            ("env/pyvenv.cfg", ""),
            ("tools/build.py", ""),
            ("dist/index.ts", ""),
            ("pkg/__pycache__/a.pyc", ""),
        ]);
        let walk = walked(root.path());
        assert_eq!(
            paths(&walk),
            ["app/vendor/model.rb", "crates/target/mod.rs", "dist/index.ts", "tools/build.py"]
        );
        let (vendored, generated) = (SkipReason::Vendored, SkipReason::Generated);
        assert_eq!(
            skipped(&walk),
            [
                ("app/deps/vendor/", vendored),
                ("env/", vendored),
                ("node_modules/", vendored),
                ("pkg/__pycache__/", generated),
                ("target/", generated),
                ("vendor/", vendored),
            ]
        );
    }

    #[test]
    fn links_pipes_and_odd_names_are_not_entries() {
        let outside = tree(&[("password", "")]);
        let root = tree(&[("a.rs", "")]);
        let at = |name: &str| root.path().join(name);
        symlink(root.path(), at("loop")).unwrap();
        symlink(outside.path(), at("out")).unwrap();
        symlink("a.rs", at("b.rs")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), rustix::fs::Mode::RWXU).unwrap();
        fs::write(root.path().join(std::ffi::OsStr::from_bytes(b"bad\xff.rs")), "").unwrap();
        let walk = walked(root.path());
        assert_eq!(paths(&walk), ["a.rs"]);
        let link = SkipReason::Link;
        assert_eq!(
            skipped(&walk),
            [
                ("b.rs", link),
                ("bad\u{fffd}.rs", SkipReason::NameNotUtf8),
                ("loop", link),
                ("out", link),
                ("pipe", SkipReason::NotRegular),
            ]
        );
        assert_eq!(walk.skipped_count, 5);
    }

    #[test]
    fn bounds_are_told() {
        let root = tree(&[("1/2/3/deep.rs", ""), ("1/a.rs", ""), ("b.rs", ""), ("c.rs", "")]);
        let shallow = walk(root.path(), &WalkLimits { depth_max: 2, ..LIMITS }, &|| false).unwrap();
        assert_eq!(paths(&shallow), ["1/a.rs", "b.rs", "c.rs"]);
        assert_eq!(skipped(&shallow), [("1/2/", SkipReason::TooDeep)]);
        let few = walk(root.path(), &WalkLimits { files_max: 2, ..LIMITS }, &|| false).unwrap();
        assert_eq!((few.entries.len(), few.is_complete()), (2, false));
        let cancelled = walk(root.path(), &LIMITS, &|| true).unwrap();
        assert!(!cancelled.is_complete());
    }

    #[test]
    fn entries_carry_size_and_time() {
        let root = tree(&[("a.rs", "12345")]);
        let entry = &walked(root.path()).entries[0];
        let metadata = fs::metadata(root.path().join("a.rs")).unwrap();
        assert_eq!(entry.bytes, 5);
        assert_eq!(entry.modified_ns, metadata.mtime() * 1_000_000_000 + metadata.mtime_nsec());
    }

    #[test]
    fn a_root_that_cannot_be_walked_is_a_fault() {
        let root = tree(&[("file", "")]);
        let code = |path: &Path| walk(path, &LIMITS, &|| false).map(drop).unwrap_err().code;
        assert_eq!(code(&root.path().join("missing")), ErrorCode::NotFound);
        assert_eq!(code(&root.path().join("file")), ErrorCode::NotFound);
        #[cfg(target_os = "linux")]
        assert_eq!(code(Path::new("/proc/self")), ErrorCode::Forbidden);
    }

    /// Root reads everything, so there the test runs itself again as nobody.
    #[test]
    fn an_unreadable_directory_makes_the_walk_incomplete() {
        let root = tree(&[("a.rs", ""), ("closed/b.rs", "")]);
        let closed = root.path().join("closed");
        if rustix::process::geteuid().is_root() {
            let test = "indexing::walk::tests::an_unreadable_directory_makes_the_walk_incomplete";
            // A copy: the original can be below a directory that only root enters.
            let program = root.path().join("walk-test");
            fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
            fs::set_permissions(root.path(), fs::Permissions::from_mode(0o755)).unwrap();
            let output = std::process::Command::new("setpriv")
                .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
                .arg(&program)
                .args([test, "--exact", "--test-threads=1"])
                .env("TMPDIR", std::env::temp_dir())
                .current_dir("/")
                .output()
                .unwrap();
            let told = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success() && told.contains("1 passed"), "{output:?}");
            return;
        }
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
        let walk = walked(root.path());
        let whole = super::walk(&closed, &LIMITS, &|| false).map(drop).unwrap_err();
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
        assert_eq!(paths(&walk), ["a.rs"]);
        assert_eq!(walk.incomplete, ["`closed` could not be read: permission denied."]);
        assert_eq!(whole.code, ErrorCode::Forbidden);
    }
}
