//! Walks a repository: finds its regular files, without ignored, vendored and generated ones.

use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::file::{SkipReason, root_fault};
use super::ignored::{GIT_DIR, IgnoreRules};
use super::skipped_directories::skip_reason;
use contract::config;
use contract::{ErrorCode, Fault};
use platform::safe_open::{DirectoryEntry, EntryKind, FileMetadata, Folder};
use store::INDEXED_TEXT_BYTES_MAX;
use tenancy::AllowedRoots;

/// Maximum number of skipped paths that are listed; all are counted.
const SKIPPED_NAMED_MAX: usize = 10_000;

/// Maximum number of reported reasons for an incomplete walk.
const INCOMPLETE_REASONS_MAX: usize = 20;

/// Limits of a walk (`[indexing]` in the configuration).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WalkLimits {
    /// Maximum number of files; beyond it the walk stops and is incomplete.
    pub(super) files_max: usize,
    /// Maximum nesting depth below the root.
    pub(super) depth_max: usize,
    /// Time limit; beyond it the walk stops and is incomplete.
    pub(super) time_max: Duration,
    /// Directories of this program, without links: they hold its database, copies of configuration files and keys.
    pub(super) own_directories: Vec<PathBuf>,
}

impl From<&config::Indexing> for WalkLimits {
    fn from(settings: &config::Indexing) -> Self {
        Self {
            files_max: settings.files_max,
            depth_max: settings.walk_depth_max,
            time_max: Duration::from_millis(settings.walk_ms_max),
            own_directories: own_directories(settings),
        }
    }
}

/// The data directory and the places of clusters outside of it, as far as they exist.
fn own_directories(settings: &config::Indexing) -> Vec<PathBuf> {
    let clusters = config::RELOCATED_CLUSTERS.iter().map(Path::new);
    let directories = settings.data_directory.as_deref().into_iter().chain(clusters);
    directories.filter_map(|directory| directory.canonicalize().ok()).collect()
}

/// A regular file to index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WalkedFile {
    /// Path below the root with `/`.
    pub(super) path: String,
    /// Size in bytes.
    pub(super) bytes: u64,
    /// Modification time in nanoseconds since 1970; only a hint.
    pub(super) modified_ns: i64,
}

/// A skipped file, or a skipped directory if the path ends in `/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SkippedPath {
    /// Path below the root with `/`; lossy if the name is not UTF-8.
    pub(super) path: String,
    pub(super) reason: SkipReason,
}

/// The result of a walk. Ignored files are in neither list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct WalkResult {
    /// Sorted by path.
    pub(super) entries: Vec<WalkedFile>,
    /// The first 10,000 that the walk found, sorted by path.
    pub(super) skipped: Vec<SkippedPath>,
    /// Total number of skipped paths.
    pub(super) skipped_count: usize,
    /// Reasons why the walk is incomplete, one sentence each. If there is any, a file that is missing from `entries`
    /// may still exist, so no file may be deleted from the index.
    pub(super) incomplete: Vec<String>,
    /// Notes about rejected ignore files, one sentence each.
    pub(super) notes: Vec<String>,
}

impl WalkResult {
    /// Returns whether every directory was read completely.
    #[must_use]
    pub(super) fn is_complete(&self) -> bool {
        self.incomplete.is_empty()
    }

    fn skip(&mut self, path: String, reason: SkipReason) {
        self.skipped_count += 1;
        if self.skipped.len() < SKIPPED_NAMED_MAX {
            self.skipped.push(SkippedPath { path, reason });
        }
    }
}

/// Walks a repository. Of the directories above it, only those in `allowed` are read for ignore rules. Polls `cancelled` at every
/// entry; a cancelled walk is incomplete.
///
/// # Errors
/// `NOT_FOUND` if the root is missing or not a directory, `FORBIDDEN` if it may not be read.
pub(super) fn walk(
    root: &Path,
    allowed: &AllowedRoots,
    limits: &WalkLimits,
    cancelled: &dyn Fn() -> bool,
) -> Result<WalkResult, Fault> {
    walk_with_directories(root, allowed, limits, cancelled, &mut |_| {})
}

/// Walks a repository and calls `on_directory` for each directory that it enters, beginning with the root.
///
/// # Errors
/// The faults of [`walk`].
pub(super) fn walk_with_directories(
    root: &Path,
    allowed: &AllowedRoots,
    limits: &WalkLimits,
    cancelled: &dyn Fn() -> bool,
    on_directory: &mut dyn FnMut(&Path),
) -> Result<WalkResult, Fault> {
    let folder = Folder::open(root).map_err(root_fault)?;
    if folder.is_kernel_file_system() {
        return Err(Fault::new(ErrorCode::Forbidden, "The directory is a pseudo file system of the kernel.")
            .with_hint("Choose the directory of a repository."));
    }
    let mut walker = Walker {
        root,
        canonical_root: root.canonicalize().unwrap_or_else(|_| root.to_owned()),
        limits,
        deadline: Instant::now() + limits.time_max,
        cancelled,
        on_directory,
        rules: IgnoreRules::inherited(root, allowed),
        walk: WalkResult::default(),
    };
    // If the walk stopped early, `incomplete` has the reason.
    let _ = walker.walk_directory(&folder, "", 0)?;
    let Walker { mut walk, rules, .. } = walker;
    walk.notes = rules.into_notes();
    walk.entries.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    walk.skipped.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    Ok(walk)
}

/// The state of a walk. `ControlFlow::Break` stops it; the reason is in `incomplete`.
struct Walker<'a> {
    root: &'a Path,
    canonical_root: PathBuf,
    limits: &'a WalkLimits,
    deadline: Instant,
    cancelled: &'a dyn Fn() -> bool,
    on_directory: &'a mut dyn FnMut(&Path),
    rules: IgnoreRules,
    walk: WalkResult,
}

impl Walker<'_> {
    /// Walks a directory; `path` is its path below the root, `depth` 0 for the root.
    ///
    /// # Errors
    /// Only if the root itself cannot be read.
    fn walk_directory(
        &mut self,
        folder: &Folder,
        path: &str,
        depth: usize,
    ) -> Result<ControlFlow<()>, Fault> {
        let here = self.root.join(path);
        (self.on_directory)(&here);
        let (mut entries, is_complete) = match folder.entries(self.entries_max()) {
            Ok(read) => read,
            Err(error) if depth == 0 => return Err(root_fault(error)),
            Err(error) => {
                self.record_unreadable(path, &error);
                return Ok(ControlFlow::Continue(()));
            }
        };
        entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        self.rules.enter(folder, &here, path);
        let mut flow =
            entries.into_iter().try_for_each(|entry| self.visit_entry(folder, path, &entry, depth + 1));
        self.rules.leave();
        if !is_complete && flow.is_continue() {
            flow = self.stop(format!("`{}` has too many entries.", display_path(path)));
        }
        Ok(flow)
    }

    /// Maximum number of entries read from one directory, to limit memory.
    fn entries_max(&self) -> usize {
        self.limits.files_max.saturating_mul(2).saturating_add(1000)
    }

    fn visit_entry(
        &mut self,
        parent: &Folder,
        parent_path: &str,
        entry: &DirectoryEntry,
        depth: usize,
    ) -> ControlFlow<()> {
        self.check_stop()?;
        if entry.name == GIT_DIR {
            return ControlFlow::Continue(());
        }
        let is_folder = entry.kind == EntryKind::Folder;
        let name = entry.name.to_string_lossy();
        let path = if parent_path.is_empty() { name.to_string() } else { format!("{parent_path}/{name}") };
        let must_stop = || (self.cancelled)() || Instant::now() >= self.deadline;
        let full_path = self.root.join(parent_path).join(&entry.name);
        let is_ignored = self.rules.is_ignored(&full_path, is_folder, &must_stop);
        self.check_stop()?;
        if is_ignored {
            return ControlFlow::Continue(());
        }
        if is_folder {
            self.visit_directory(parent, path, entry, depth)
        } else {
            self.visit_file(parent, path, entry)
        }
    }

    /// Stops the walk if it was cancelled or its time is over.
    fn check_stop(&mut self) -> ControlFlow<()> {
        if (self.cancelled)() {
            return self.stop("The walk was cancelled.".to_owned());
        }
        if Instant::now() >= self.deadline {
            let seconds = self.limits.time_max.as_secs_f64();
            return self.stop(format!("The walk took longer than {seconds} s (indexing.walk_ms_max)."));
        }
        ControlFlow::Continue(())
    }

    fn visit_directory(
        &mut self,
        parent: &Folder,
        path: String,
        entry: &DirectoryEntry,
        depth: usize,
    ) -> ControlFlow<()> {
        let Some(name) = entry.name.to_str() else {
            self.walk.skip(format!("{path}/"), SkipReason::NameNotUtf8);
            return ControlFlow::Continue(());
        };
        let folder = match parent.open_folder(name) {
            Ok(folder) => folder,
            Err(error) => {
                self.record_unreadable(&path, &error);
                return ControlFlow::Continue(());
            }
        };
        let is_own = self.is_own(&path);
        let reason = is_own.then_some(SkipReason::OwnData);
        let reason = reason
            .or_else(|| skip_reason(&folder, name, depth))
            .or_else(|| (depth >= self.limits.depth_max).then_some(SkipReason::TooDeep));
        if let Some(reason) = reason {
            self.walk.skip(format!("{path}/"), reason);
            return ControlFlow::Continue(());
        }
        // Only a fault of the root fails the walk.
        self.walk_directory(&folder, &path, depth).unwrap_or(ControlFlow::Continue(()))
    }

    /// Whether the directory `path` below the root is one of this program.
    fn is_own(&self, path: &str) -> bool {
        let mut below_root =
            self.limits.own_directories.iter().filter_map(|own| own.strip_prefix(&self.canonical_root).ok());
        below_root.any(|own| own == Path::new(path))
    }

    fn visit_file(&mut self, parent: &Folder, path: String, entry: &DirectoryEntry) -> ControlFlow<()> {
        let reason = match entry.kind {
            EntryKind::Link => Some(SkipReason::Link),
            EntryKind::Other | EntryKind::Folder => Some(SkipReason::NotRegular),
            EntryKind::File if entry.name.to_str().is_none() => Some(SkipReason::NameNotUtf8),
            EntryKind::File => (path.len() > INDEXED_TEXT_BYTES_MAX).then_some(SkipReason::PathTooLong),
        };
        match (reason, parent.metadata(&entry.name)) {
            (Some(reason), _) => self.walk.skip(path, reason),
            (None, Ok(FileMetadata { bytes, modified_ns })) => {
                if self.walk.entries.len() >= self.limits.files_max {
                    return self.stop(format!("There are more than {} files.", self.limits.files_max));
                }
                self.walk.entries.push(WalkedFile { path, bytes, modified_ns });
            }
            (None, Err(error)) => self.record_unreadable(&path, &error),
        }
        ControlFlow::Continue(())
    }

    fn stop(&mut self, reason: String) -> ControlFlow<()> {
        self.walk.incomplete.push(reason);
        ControlFlow::Break(())
    }

    /// Records an entry that could not be read. Ignores entries that vanished or became links meanwhile.
    fn record_unreadable(&mut self, path: &str, error: &io::Error) {
        let gone = matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
        if !gone && self.walk.incomplete.len() < INCOMPLETE_REASONS_MAX {
            let (path, reason) = (display_path(path), error.kind());
            self.walk.incomplete.push(format!("`{path}` could not be read: {reason}."));
        }
    }
}

fn display_path(path: &str) -> &str {
    if path.is_empty() { "." } else { path }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use super::super::ignored::IGNORE_FILE;
    use super::*;

    const LIMITS: WalkLimits = WalkLimits {
        files_max: 1000,
        depth_max: 16,
        time_max: Duration::from_secs(600),
        own_directories: Vec::new(),
    };

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    fn walked(root: &Path) -> WalkResult {
        walk(root, &AllowedRoots::any(), &LIMITS, &|| false).unwrap()
    }

    fn paths(walk: &WalkResult) -> Vec<&str> {
        walk.entries.iter().map(|entry| entry.path.as_str()).collect()
    }

    fn skipped(walk: &WalkResult) -> Vec<(&str, SkipReason)> {
        walk.skipped.iter().map(|skipped| (skipped.path.as_str(), skipped.reason)).collect()
    }

    #[test]
    fn ignore_files_apply_at_every_level_without_git() {
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
    fn rules_above_the_root_apply_only_within_its_git_repository() {
        let outer = tree(&[(".gitignore", "*.txt\n"), ("repo/a.txt", ""), ("repo/a.rs", "")]);
        assert_eq!(paths(&walked(&outer.path().join("repo"))), ["a.rs", "a.txt"]);
        fs::create_dir(outer.path().join(".git")).unwrap();
        assert_eq!(paths(&walked(&outer.path().join("repo"))), ["a.rs"]);
    }

    #[test]
    fn ignore_files_outside_the_allowed_directories_are_not_read() {
        let outer = tree(&[(".gitignore", "*.txt\n"), ("tenant/repo/a.txt", ""), ("tenant/repo/a.rs", "")]);
        fs::create_dir(outer.path().join(".git")).unwrap();
        symlink("/dev/zero", outer.path().join(IGNORE_FILE)).unwrap();
        fs::write(outer.path().join("tenant/.gitignore"), "*.rs\n").unwrap();
        symlink("/dev/zero", outer.path().join("tenant").join(IGNORE_FILE)).unwrap();
        let tenant = outer.path().join("tenant").canonicalize().unwrap();
        let allowed = AllowedRoots::within(vec![tenant.clone()]);
        let walk = walk(&tenant.join("repo"), &allowed, &LIMITS, &|| false).unwrap();
        assert_eq!(paths(&walk), ["a.txt"]);
        let note =
            "The rules of `../.pairofcleatsignore` were not applied: it is a symbolic link or below one.";
        assert_eq!(walk.notes, [note]);
    }

    #[test]
    fn vendored_and_generated_directories_are_skipped_with_a_reason() {
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
    fn links_pipes_and_invalid_names_are_skipped() {
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
    fn unsafe_ignore_files_are_not_read_and_cause_a_note() {
        let secret = tree(&[("rules", "*.rs\n")]);
        for file in [".gitignore", ".pairofcleatsignore", ".git/info/exclude", "deep/.gitignore"] {
            let assert_note = |root: &Path, reason: &str| {
                let walk = walked(root);
                assert!(paths(&walk).contains(&"a.rs"), "{file}: {walk:?}");
                let [note] = walk.notes.as_slice() else { panic!("{file}: {:?}", walk.notes) };
                assert!(note.contains(file) && note.contains(reason), "{note}");
                assert!(walk.is_complete());
            };
            let repository = || tree(&[("a.rs", ""), (".git/info/x", ""), ("deep/b.rs", "")]);
            let root = repository();
            symlink("/dev/zero", root.path().join(file)).unwrap();
            assert_note(root.path(), "symbolic link");
            let root = repository();
            symlink(secret.path().join("rules"), root.path().join(file)).unwrap();
            assert_note(root.path(), "symbolic link");
            let root = repository();
            rustix::fs::mkfifoat(rustix::fs::CWD, root.path().join(file), rustix::fs::Mode::RWXU).unwrap();
            assert_note(root.path(), "not a regular file");
            let root = repository();
            fs::write(root.path().join(file), "*.rs\n".repeat(100_000)).unwrap();
            assert_note(root.path(), "exceeds");
        }
        let root = tree(&[("a.rs", "")]);
        fs::create_dir(root.path().join(".git")).unwrap();
        symlink(secret.path(), root.path().join(".git/info")).unwrap();
        fs::write(secret.path().join("exclude"), "*.rs\n").unwrap();
        assert_eq!(paths(&walked(root.path())), ["a.rs"], "not read through a linked directory either");
    }

    #[test]
    fn rules_have_the_semantics_of_git() {
        let root = tree(&[
            (".gitignore", "\u{feff}*.tmp\n# none\n\\#real\nbuild/\n!keep.tmp\n/top.rs\n"),
            ("a.tmp", ""),
            ("keep.tmp", ""),
            ("#real", ""),
            ("top.rs", ""),
            ("deep/top.rs", ""),
            ("deep/build/x.rs", ""),
            // The rule `build/` does not apply to a file.
            ("other/build", ""),
            // In a nested git repository, git's rules of the directories above do not apply, but those of `IGNORE_FILE`
            // do.
            ("nested/.git/HEAD", ""),
            ("nested/b.tmp", ""),
            ("nested/c.own", ""),
            (IGNORE_FILE, "*.own\n!deep.tmp\n"),
            ("deep.tmp", ""),
        ]);
        assert_eq!(
            paths(&walked(root.path())),
            [".gitignore", IGNORE_FILE, "deep.tmp", "deep/top.rs", "keep.tmp", "nested/b.tmp", "other/build"]
        );
    }

    #[test]
    fn limits_are_enforced_and_reported() {
        let root = tree(&[("1/2/3/deep.rs", ""), ("1/a.rs", ""), ("b.rs", ""), ("c.rs", "")]);
        let shallow =
            walk(root.path(), &AllowedRoots::any(), &WalkLimits { depth_max: 2, ..LIMITS }, &|| false)
                .unwrap();
        assert_eq!(paths(&shallow), ["1/a.rs", "b.rs", "c.rs"]);
        assert_eq!(skipped(&shallow), [("1/2/", SkipReason::TooDeep)]);
        let few = walk(root.path(), &AllowedRoots::any(), &WalkLimits { files_max: 2, ..LIMITS }, &|| false)
            .unwrap();
        assert_eq!((few.entries.len(), few.is_complete()), (2, false));
        let cancelled = walk(root.path(), &AllowedRoots::any(), &LIMITS, &|| true).unwrap();
        assert!(!cancelled.is_complete());
        let late = walk(
            root.path(),
            &AllowedRoots::any(),
            &WalkLimits { time_max: Duration::ZERO, ..LIMITS },
            &|| false,
        )
        .unwrap();
        assert!(late.incomplete[0].contains("walk_ms_max"), "{late:?}");
    }

    #[test]
    fn the_data_directory_of_this_program_is_never_walked() {
        let root = tree(&[
            ("a.rs", ""),
            ("tools/home/config.toml", "# secret\n"),
            ("tools/home/postgres/data/PG_VERSION", "18"),
            ("tools/homes/b.rs", ""),
            // No ignore file of the repository brings it back.
            (IGNORE_FILE, "!tools/home\n"),
        ]);
        // Also if it is named through a link.
        let elsewhere = tempfile::tempdir().unwrap();
        symlink(root.path(), elsewhere.path().join("link")).unwrap();
        let homes = [root.path().join("tools/../tools/home"), elsewhere.path().join("link/tools/home")];
        for home in homes {
            let overrides = config::Overrides { home: Some(home), ..config::Overrides::default() };
            let settings = config::load(&overrides).unwrap().0.indexing;
            let walk = walk(root.path(), &AllowedRoots::any(), &(&settings).into(), &|| false).unwrap();
            assert_eq!(paths(&walk), [IGNORE_FILE, "a.rs", "tools/homes/b.rs"]);
            assert_eq!(skipped(&walk), [("tools/home/", SkipReason::OwnData)]);
        }
        assert_eq!(walked(root.path()).entries.len(), 5, "that is all that keeps it out");
    }

    #[test]
    fn entries_have_size_and_time() {
        let root = tree(&[("a.rs", "12345")]);
        let entry = &walked(root.path()).entries[0];
        let metadata = fs::metadata(root.path().join("a.rs")).unwrap();
        assert_eq!(entry.bytes, 5);
        assert_eq!(entry.modified_ns, metadata.mtime() * 1_000_000_000 + metadata.mtime_nsec());
    }

    #[test]
    fn a_root_that_cannot_be_walked_is_a_fault() {
        let root = tree(&[("file", "")]);
        let code =
            |path: &Path| walk(path, &AllowedRoots::any(), &LIMITS, &|| false).map(drop).unwrap_err().code;
        assert_eq!(code(&root.path().join("missing")), ErrorCode::NotFound);
        assert_eq!(code(&root.path().join("file")), ErrorCode::NotFound);
        #[cfg(target_os = "linux")]
        assert_eq!(code(Path::new("/proc/1")), ErrorCode::Forbidden);
    }

    /// Root can read every directory, so the test runs itself again as an unprivileged user if it runs as root.
    #[test]
    fn an_unreadable_directory_makes_the_walk_incomplete() {
        let root = tree(&[("a.rs", ""), ("closed/b.rs", "")]);
        let closed = root.path().join("closed");
        if rustix::process::geteuid().is_root() {
            let test = "indexing::walk::tests::an_unreadable_directory_makes_the_walk_incomplete";
            // Uses a copy, because the original may be below a directory that only root can enter.
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
            let stdout = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success() && stdout.contains("1 passed"), "{output:?}");
            return;
        }
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
        let walk = walked(root.path());
        let root_fault =
            super::walk(&closed, &AllowedRoots::any(), &LIMITS, &|| false).map(drop).unwrap_err();
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
        assert_eq!(paths(&walk), ["a.rs"]);
        assert_eq!(walk.incomplete, ["`closed` could not be read: permission denied."]);
        assert_eq!(root_fault.code, ErrorCode::Forbidden);
    }
}
