//! Tests of the walk: which files it finds, skips and refuses.

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
    walk(root, &FileTree::Directory, &AllowedRoots::any(), &LIMITS, &|| false).unwrap()
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
        [".github/ci.yml", ".gitignore", IGNORE_FILE, "a.rs", "src/.gitignore", "src/keep.log", "src/out/x"]
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
    let walk = walk(&tenant.join("repo"), &FileTree::Directory, &allowed, &LIMITS, &|| false).unwrap();
    assert_eq!(paths(&walk), ["a.txt"]);
    let note = "The rules of `../.pairofcleatsignore` were not applied: it is a symbolic link or below one.";
    assert_eq!(walk.notes, [note]);
}

fn git(folder: &Path, arguments: &[&str]) {
    let ran = std::process::Command::new("git").current_dir(folder).args(arguments).output().unwrap();
    assert!(ran.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
}

#[test]
fn tracked_files_are_not_ignored() {
    let root = tree(&[
        (".gitignore", "*.log\nbuild/\n/generated\n"),
        (IGNORE_FILE, "build/private/\n"),
        ("a.log", ""),
        ("kept.log", ""),
        ("build/out.py", ""),
        ("build/deep/kept.py", ""),
        ("build/deep/out.py", ""),
        ("build/private/kept.py", ""),
        ("generated/.gitignore", "*\n"),
        ("generated/kept.rs", ""),
        ("sub/.gitignore", "*.tmp\n"),
        ("sub/kept.tmp", ""),
        ("sub/other.tmp", ""),
        ("logs/kept.log", ""),
        ("logs/other.log", ""),
    ]);
    let (folder, sub) = (root.path(), root.path().join("sub"));
    git(folder, &["init", "--quiet"]);
    git(&sub, &["init", "--quiet"]);
    git(&sub, &["add", "--force", "kept.tmp"]);
    let kept =
        ["kept.log", "build/deep/kept.py", "build/private/kept.py", "generated/kept.rs", "logs/kept.log"];
    git(folder, &[&["add", "--force"], &kept[..]].concat());
    let walk = walked(folder);
    let found: Vec<&str> = paths(&walk).into_iter().filter(|path| !path.ends_with("ignore")).collect();
    assert_eq!(
        found,
        ["build/deep/kept.py", "generated/kept.rs", "kept.log", "logs/kept.log", "sub/kept.tmp"]
    );
    // The index above a folder counts for it, too.
    assert_eq!(paths(&walked(&folder.join("logs"))), ["kept.log"]);
    fs::write(folder.join(".git/index"), "DIRC").unwrap();
    assert!(!paths(&walked(folder)).contains(&"kept.log"), "a damaged index names nothing");
}

#[test]
fn a_submodule_that_is_not_checked_out_is_left_out() {
    let root = tree(&[("a.rs", ""), ("other/b.rs", "")]);
    let other = root.path().join("other");
    let identity = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"];
    git(&other, &["init", "--quiet"]);
    git(&other, &["add", "b.rs"]);
    git(&other, &[&identity[..], &["commit", "--quiet", "--message", "one"]].concat());
    git(root.path(), &["init", "--quiet"]);
    git(root.path(), &["add", "other"]);
    let checked_out = walked(root.path());
    assert_eq!((paths(&checked_out), skipped(&checked_out)), (vec!["a.rs", "other/b.rs"], vec![]));
    fs::remove_dir_all(&other).unwrap();
    fs::create_dir(&other).unwrap();
    fs::create_dir(root.path().join("empty")).unwrap();
    let walk = walked(root.path());
    assert_eq!((paths(&walk), skipped(&walk)), (vec!["a.rs"], vec![("other/", SkipReason::Submodule)]));
}

#[test]
fn entries_after_the_limit_are_skipped_as_not_reached() {
    let root = tree(&[("a/1.rs", ""), ("a/2.rs", ""), ("b/3.rs", "")]);
    let limits = WalkLimits { files_max: 1, ..LIMITS };
    let walk = walk(root.path(), &FileTree::Directory, &AllowedRoots::any(), &limits, &|| false).unwrap();
    assert_eq!((paths(&walk), skipped(&walk)), (vec!["a/1.rs"], vec![("a/2.rs", SkipReason::NotReached)]));
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
    let shallow = walk(
        root.path(),
        &FileTree::Directory,
        &AllowedRoots::any(),
        &WalkLimits { depth_max: 2, ..LIMITS },
        &|| false,
    )
    .unwrap();
    assert_eq!(paths(&shallow), ["1/a.rs", "b.rs", "c.rs"]);
    assert_eq!(skipped(&shallow), [("1/2/", SkipReason::TooDeep)]);
    let few = walk(
        root.path(),
        &FileTree::Directory,
        &AllowedRoots::any(),
        &WalkLimits { files_max: 2, ..LIMITS },
        &|| false,
    )
    .unwrap();
    assert_eq!((few.entries.len(), few.is_complete()), (2, false));
    let cancelled = walk(root.path(), &FileTree::Directory, &AllowedRoots::any(), &LIMITS, &|| true).unwrap();
    assert!(!cancelled.is_complete());
    let late = walk(
        root.path(),
        &FileTree::Directory,
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
        let walk =
            walk(root.path(), &FileTree::Directory, &AllowedRoots::any(), &(&settings).into(), &|| false)
                .unwrap();
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
    let code = |path: &Path| {
        walk(path, &FileTree::Directory, &AllowedRoots::any(), &LIMITS, &|| false).map(drop).unwrap_err().code
    };
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
    let root_fault = super::walk(&closed, &FileTree::Directory, &AllowedRoots::any(), &LIMITS, &|| false)
        .map(drop)
        .unwrap_err();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(paths(&walk), ["a.rs"]);
    assert_eq!(walk.incomplete, ["`closed` could not be read: permission denied."]);
    assert_eq!(root_fault.code, ErrorCode::Forbidden);
}

/// A work tree within another one duplicates its files; a submodule has files of its own.
#[test]
fn linked_work_trees_are_left_out_and_submodules_are_not() {
    let root = tree(&[
        ("a.rs", ""),
        ("feature/.git", "gitdir: /srv/shop/.git/worktrees/feature\n"),
        ("feature/a.rs", ""),
        (".worktrees/fix/.git", "gitdir: ../../.git/worktrees/fix"),
        (".worktrees/fix/a.rs", ""),
        ("lib/other/.git", "gitdir: /srv/shop/.git/modules/lib/worktrees/other\n"),
        ("lib/other/b.rs", ""),
        ("lib/.git", "gitdir: ../.git/modules/lib\n"),
        ("lib/b.rs", ""),
        ("worktrees/c/.git", "gitdir: ../../.git/modules/worktrees/c\n"),
        ("worktrees/c/c.rs", ""),
        ("own/.git/HEAD", "ref: refs/heads/main\n"),
        ("own/d.rs", ""),
    ]);
    let walk = walked(root.path());
    assert_eq!(paths(&walk), ["a.rs", "lib/b.rs", "own/d.rs", "worktrees/c/c.rs"]);
    let left_out = [".worktrees/fix/", "feature/", "lib/other/"].map(|path| (path, SkipReason::WorkTree));
    assert_eq!(skipped(&walk), left_out);
    // One that is indexed by its own path is read.
    assert_eq!(paths(&walked(&root.path().join("feature"))), ["a.rs"]);
}
