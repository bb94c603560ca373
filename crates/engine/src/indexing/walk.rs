//! Which files of a repository are worth reading: its own regular files, without what others wrote.

use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use super::file::SkipReason;
use super::ignored::{GIT, Rules};
use super::others::directory_of_others;
use contract::config;
use contract::{ErrorCode, Fault};
use platform::beneath::{Facts, Folder, Kind, Named};

/// Longest path below the root: the database indexes paths, and its index entries are bounded.
const PATH_BYTES_MAX: usize = 2_000;

/// Most skipped paths that are named; all are counted.
const SKIPPED_NAMED_MAX: usize = 10_000;

/// Most reasons why a walk did not see everything that are told.
const INCOMPLETE_TOLD_MAX: usize = 20;

/// Bounds of a walk (`[indexing]` in the configuration).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WalkLimits {
    /// Most files; beyond, the walk stops and is incomplete.
    pub(super) files_max: usize,
    /// Most directories below the root.
    pub(super) depth_max: usize,
    /// Longest time; beyond, the walk stops and is incomplete.
    pub(super) time_max: Duration,
}

impl From<&config::Indexing> for WalkLimits {
    fn from(settings: &config::Indexing) -> Self {
        Self {
            files_max: settings.files_max,
            depth_max: settings.walk_depth_max,
            time_max: Duration::from_millis(settings.walk_ms_max),
        }
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
    /// Ignore files whose rules were not taken, one sentence each.
    pub(super) notes: Vec<String>,
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
    let folder = Folder::open(root).map_err(root_fault)?;
    if folder.is_of_the_kernel() {
        return Err(Fault::new(
            ErrorCode::Forbidden,
            "The directory belongs to the kernel, it holds no files.",
        )
        .with_hint("Choose the directory of a repository."));
    }
    let mut walking = Walking {
        root,
        limits,
        until: Instant::now() + limits.time_max,
        cancelled,
        looks_into,
        rules: Rules::above(root),
        walk: Walk::default(),
    };
    // Where it stopped says `incomplete`.
    let _ = walking.look_into(&folder, "", 0)?;
    let Walking { mut walk, rules, .. } = walking;
    walk.notes = rules.into_notes();
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

/// A walk under way. Whether it goes on is a [`ControlFlow`]; why it stopped stands in the walk.
struct Walking<'a> {
    root: &'a Path,
    limits: &'a WalkLimits,
    until: Instant,
    cancelled: &'a dyn Fn() -> bool,
    looks_into: &'a mut dyn FnMut(&Path),
    rules: Rules,
    walk: Walk,
}

impl Walking<'_> {
    /// Walks a directory; `path` is its path below the root, `depth` 0 for the root.
    ///
    /// # Errors
    /// Why the root itself cannot be read.
    fn look_into(&mut self, folder: &Folder, path: &str, depth: usize) -> Result<ControlFlow<()>, Fault> {
        let here = self.root.join(path);
        (self.looks_into)(&here);
        let (mut entries, all) = match folder.entries(self.entries_max()) {
            Ok(read) => read,
            Err(error) if depth == 0 => return Err(root_fault(error)),
            Err(error) => {
                self.missed(path, &error);
                return Ok(ControlFlow::Continue(()));
            }
        };
        entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        self.rules.enter(folder, &here, path);
        let mut flow = entries.into_iter().try_for_each(|entry| self.take(folder, path, &entry, depth + 1));
        self.rules.leave();
        if !all && flow.is_continue() {
            flow = self.stop(format!("`{}` has more entries than are looked at.", shown(path)));
        }
        Ok(flow)
    }

    /// Most entries of one directory, so that one without end takes no memory without end.
    fn entries_max(&self) -> usize {
        self.limits.files_max.saturating_mul(2).saturating_add(1000)
    }

    fn take(&mut self, parent: &Folder, above: &str, entry: &Named, depth: usize) -> ControlFlow<()> {
        if (self.cancelled)() {
            return self.stop("The walk was cancelled.".to_owned());
        }
        if Instant::now() >= self.until {
            let seconds = self.limits.time_max.as_secs_f64();
            return self.stop(format!("The walk took longer than {seconds} s (indexing.walk_ms_max)."));
        }
        if entry.name == GIT {
            return ControlFlow::Continue(());
        }
        let is_folder = entry.kind == Kind::Folder;
        let name = entry.name.to_string_lossy();
        let path = if above.is_empty() { name.to_string() } else { format!("{above}/{name}") };
        if self.rules.leave_out(&self.root.join(above).join(&entry.name), is_folder) {
            return ControlFlow::Continue(());
        }
        if is_folder {
            self.take_folder(parent, path, entry, depth)
        } else {
            self.take_file(parent, path, entry)
        }
    }

    fn take_folder(&mut self, parent: &Folder, path: String, entry: &Named, depth: usize) -> ControlFlow<()> {
        let Some(name) = entry.name.to_str() else {
            self.walk.skip(format!("{path}/"), SkipReason::NameNotUtf8);
            return ControlFlow::Continue(());
        };
        let folder = match parent.folder(name) {
            Ok(folder) => folder,
            Err(error) => {
                self.missed(&path, &error);
                return ControlFlow::Continue(());
            }
        };
        let reason = directory_of_others(&folder, name, depth)
            .or_else(|| (depth >= self.limits.depth_max).then_some(SkipReason::TooDeep));
        if let Some(reason) = reason {
            self.walk.skip(format!("{path}/"), reason);
            return ControlFlow::Continue(());
        }
        // Only of the root a fault is answered.
        self.look_into(&folder, &path, depth).unwrap_or(ControlFlow::Continue(()))
    }

    fn take_file(&mut self, parent: &Folder, path: String, entry: &Named) -> ControlFlow<()> {
        let reason = match entry.kind {
            Kind::Link => Some(SkipReason::Link),
            Kind::Other | Kind::Folder => Some(SkipReason::NotRegular),
            Kind::File if entry.name.to_str().is_none() => Some(SkipReason::NameNotUtf8),
            Kind::File => (path.len() > PATH_BYTES_MAX).then_some(SkipReason::PathTooLong),
        };
        match (reason, parent.facts(&entry.name)) {
            (Some(reason), _) => self.walk.skip(path, reason),
            (None, Ok(Facts { bytes, modified_ns })) => {
                if self.walk.entries.len() >= self.limits.files_max {
                    return self.stop(format!("There are more than {} files.", self.limits.files_max));
                }
                self.walk.entries.push(Entry { path, bytes, modified_ns });
            }
            (None, Err(error)) => self.missed(&path, &error),
        }
        ControlFlow::Continue(())
    }

    fn stop(&mut self, why: String) -> ControlFlow<()> {
        self.walk.incomplete.push(why);
        ControlFlow::Break(())
    }

    /// An entry that could not be looked at. One that vanished, or became a link, in the meantime is not missed.
    fn missed(&mut self, path: &str, error: &io::Error) {
        let gone = matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
        if !gone && self.walk.incomplete.len() < INCOMPLETE_TOLD_MAX {
            let (path, what) = (shown(path), error.kind());
            self.walk.incomplete.push(format!("`{path}` could not be read: {what}."));
        }
    }
}

fn shown(path: &str) -> &str {
    if path.is_empty() { "." } else { path }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use super::super::ignored::IGNORE_FILE;
    use super::*;

    const LIMITS: WalkLimits =
        WalkLimits { files_max: 1000, depth_max: 16, time_max: Duration::from_secs(600) };

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
    fn hostile_ignore_files_are_not_read_and_that_is_told() {
        let secret = tree(&[("rules", "*.rs\n")]);
        for file in [".gitignore", ".pairofcleatsignore", ".git/info/exclude", "deep/.gitignore"] {
            let told = |root: &Path, why: &str| {
                let walk = walked(root);
                assert!(paths(&walk).contains(&"a.rs"), "{file}: {walk:?}");
                let [note] = walk.notes.as_slice() else { panic!("{file}: {:?}", walk.notes) };
                assert!(note.contains(file) && note.contains(why), "{note}");
                assert!(walk.is_complete());
            };
            let made = || tree(&[("a.rs", ""), (".git/info/x", ""), ("deep/b.rs", "")]);
            let root = made();
            symlink("/dev/zero", root.path().join(file)).unwrap();
            told(root.path(), "symbolic link");
            let root = made();
            symlink(secret.path().join("rules"), root.path().join(file)).unwrap();
            told(root.path(), "symbolic link");
            let root = made();
            rustix::fs::mkfifoat(rustix::fs::CWD, root.path().join(file), rustix::fs::Mode::RWXU).unwrap();
            told(root.path(), "not a regular file");
            let root = made();
            fs::write(root.path().join(file), "*.rs\n".repeat(100_000)).unwrap();
            told(root.path(), "more than");
        }
        let root = tree(&[("a.rs", "")]);
        fs::create_dir(root.path().join(".git")).unwrap();
        symlink(secret.path(), root.path().join(".git/info")).unwrap();
        fs::write(secret.path().join("exclude"), "*.rs\n").unwrap();
        assert_eq!(paths(&walked(root.path())), ["a.rs"], "nor through a linked directory");
    }

    #[test]
    fn rules_are_gits() {
        let root = tree(&[
            (".gitignore", "\u{feff}*.tmp\n# none\n\\#real\nbuild/\n!keep.tmp\n/top.rs\n"),
            ("a.tmp", ""),
            ("keep.tmp", ""),
            ("#real", ""),
            ("top.rs", ""),
            ("deep/top.rs", ""),
            ("deep/build/x.rs", ""),
            // A file of that name is no directory.
            ("other/build", ""),
            // Another repository: git's rules from above do not reach into it, ours do.
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
    fn bounds_are_told() {
        let root = tree(&[("1/2/3/deep.rs", ""), ("1/a.rs", ""), ("b.rs", ""), ("c.rs", "")]);
        let shallow = walk(root.path(), &WalkLimits { depth_max: 2, ..LIMITS }, &|| false).unwrap();
        assert_eq!(paths(&shallow), ["1/a.rs", "b.rs", "c.rs"]);
        assert_eq!(skipped(&shallow), [("1/2/", SkipReason::TooDeep)]);
        let few = walk(root.path(), &WalkLimits { files_max: 2, ..LIMITS }, &|| false).unwrap();
        assert_eq!((few.entries.len(), few.is_complete()), (2, false));
        let cancelled = walk(root.path(), &LIMITS, &|| true).unwrap();
        assert!(!cancelled.is_complete());
        let late = walk(root.path(), &WalkLimits { time_max: Duration::ZERO, ..LIMITS }, &|| false).unwrap();
        assert!(late.incomplete[0].contains("walk_ms_max"), "{late:?}");
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
        assert_eq!(code(Path::new("/proc/1")), ErrorCode::Forbidden);
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
