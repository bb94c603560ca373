//! Mirrors of repositories in directories, which the `git` program serves like a host.

use std::process::Command;

use super::*;
use history::CommitTree;

mod limits;
mod revisions;

/// A bare repository with commits, and the mirrors of an installation.
struct Fixture {
    folder: tempfile::TempDir,
    mirrors: Mirrors,
}

const GO_ON: &dyn Fn() -> bool = &|| false;

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let settings = config::Git {
            program: "git".to_owned(),
            webhook_secret_file: None,
            default_host: None,
            credentials: Vec::new(),
            fetch_ms: 60_000,
            probe_ms: 60_000,
            stalled_s: 60,
            mirror_bytes_max: 1 << 30,
            mirrors_bytes_max: 1 << 30,
        };
        let mirrors = Mirrors::new(folder.path().join("mirrors"), settings, DiskSpace::default());
        let fixture = Self { folder, mirrors };
        fixture.git("init", &["--quiet", "--initial-branch=main"]);
        fixture
    }

    fn source(&self) -> PathBuf {
        self.folder.path().join("source")
    }

    fn address(&self) -> RepositoryAddress {
        RepositoryAddress::parse(&format!("file://{}", self.source().display())).unwrap().unwrap()
    }

    fn git(&self, command: &str, arguments: &[&str]) -> String {
        fs::create_dir_all(self.source()).unwrap();
        let mut git = Command::new("git");
        git.current_dir(self.source()).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        git.args(["-c", "user.name=A", "-c", "user.email=a@example.org", command]).args(arguments);
        let output = git.output().expect("these tests need the `git` program on the PATH");
        assert!(output.status.success(), "git {command}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn commit(&self, path: &str, text: &str) -> String {
        let file = self.source().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
        self.git("add", &["--all"]);
        self.git("commit", &["--quiet", "-m", path]);
        self.git("rev-parse", &["HEAD"])
    }

    fn fetch(&self) -> Result<Fetched, Fault> {
        self.fetch_matching(&[])
    }

    fn fetch_matching(&self, patterns: &[&str]) -> Result<Fetched, Fault> {
        let patterns: Vec<String> = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
        self.mirrors.fetch(&self.address(), &RevisionPatterns::parse(&patterns).unwrap(), GO_ON)
    }

    /// Makes mirrors run a program that first runs `script`, with the arguments of git, and then git; returns its path.
    fn run_before_git(&mut self, script: &str) -> PathBuf {
        let program = self.folder.path().join("git-with-a-script");
        let text = format!("#!/bin/sh\n{script}\nexec git \"$@\"\n");
        // Another process writes it: a program started by another test would inherit a file that is open here, and a file that is open for
        // writing cannot be run.
        let mut shell = Command::new("sh");
        shell.args(["-c", r#"printf %s "$1" > "$2" && chmod 755 "$2""#, "sh", &text]).arg(&program);
        assert!(shell.status().unwrap().success());
        self.mirrors.settings.program = program.display().to_string();
        program
    }

    fn read(&self, commit: &str, path: &str) -> Option<String> {
        let tree = CommitTree::open(&self.mirrors.git_dir(&self.address()), commit).ok()?.root().ok()?;
        String::from_utf8(tree.read_with_metadata(path, 1000).1.ok()?).ok()
    }
}

#[test]
fn follows_a_repository() {
    let fixture = Fixture::new();
    let first = fixture.commit("src/a.rs", "fn a() {}");
    fixture.mirrors.probe(&fixture.address(), GO_ON).unwrap();
    let fetched = fixture.fetch().unwrap();
    assert_eq!(fetched.head, Head { branch: Some("main".to_owned()), commit: first.clone() });
    assert_eq!(fixture.read(&first, "src/a.rs").as_deref(), Some("fn a() {}"));
    let second = fixture.commit("src/a.rs", "fn b() {}");
    assert_eq!(fixture.fetch().unwrap().head.commit, second);
    assert_eq!(fixture.read(&second, "src/a.rs").as_deref(), Some("fn b() {}"));
    assert_eq!(fixture.read(&first, "src/a.rs").as_deref(), Some("fn a() {}"), "a run may still read it");
    // A branch that was reset, and another default branch.
    fixture.git("reset", &["--quiet", "--hard", &first]);
    assert_eq!(fixture.fetch().unwrap().head.commit, first);
    assert_eq!(fixture.mirrors.last_commit(&fixture.address()), Some(first.clone()));
    fixture.git("switch", &["--quiet", "--create", "trunk"]);
    let third = fixture.commit("b.rs", "fn c() {}");
    let head = fixture.fetch().unwrap().head;
    assert_eq!(head, Head { branch: Some("trunk".to_owned()), commit: third });
}

#[test]
fn the_entries_of_a_commit_are_those_of_its_tree() {
    let fixture = Fixture::new();
    std::os::unix::fs::symlink("a.rs", fixture.source().join("link")).unwrap();
    let commit = fixture.commit("a.rs", "one");
    fixture.fetch().unwrap();
    let root =
        CommitTree::open(&fixture.mirrors.git_dir(&fixture.address()), &commit).unwrap().root().unwrap();
    use platform::safe_open::{EntryKind, ReadError};
    let kinds: Vec<_> = root.entries(10).0.into_iter().map(|entry| (entry.name, entry.kind)).collect();
    assert_eq!(kinds, [("a.rs".into(), EntryKind::File), ("link".into(), EntryKind::Link)]);
    assert!(!root.entries(1).1, "there are more");
    let read = |path: &str, bytes: u64| root.read_with_metadata(path, bytes).1;
    assert_eq!(read("a.rs", 3).unwrap(), b"one");
    assert_eq!(read("a.rs", 2), Err(ReadError::TooLarge));
    assert_eq!(read("link", 9), Err(ReadError::Link));
    assert_eq!(read("link/x", 9), Err(ReadError::Link));
    assert_eq!(read("no", 9), Err(ReadError::NotFound));
    assert_eq!(read("../a.rs", 9), Err(ReadError::NotFound));
    assert_eq!(root.metadata("a.rs".as_ref()).unwrap().bytes, 3);
}

#[test]
fn what_cannot_be_fetched_is_named_and_leaves_nothing() {
    let fixture = Fixture::new();
    let code = |fault: Fault| fault.code;
    assert_eq!(fixture.fetch().map_err(code), Err(ErrorCode::InvalidRequest), "it is empty");
    let missing = RepositoryAddress::parse("file:///no/such/repository").unwrap().unwrap();
    let none = RevisionPatterns::default();
    assert_eq!(fixture.mirrors.fetch(&missing, &none, GO_ON).map_err(code), Err(ErrorCode::RepoNotFound));
    let closed = RepositoryAddress::parse("http://127.0.0.1:1/a/b").unwrap().unwrap();
    assert_eq!(
        fixture.mirrors.fetch(&closed, &none, GO_ON).map_err(code),
        Err(ErrorCode::CommitServiceError)
    );
    let commit = fixture.commit("a.rs", "one");
    let stopped = fixture.mirrors.fetch(&fixture.address(), &none, &|| true);
    assert_eq!(stopped.map_err(code), Err(ErrorCode::Cancelled));
    assert_eq!(fixture.mirrors.unused(&[], Duration::ZERO).unwrap(), []);
    assert_eq!(fixture.fetch().unwrap().head.commit, commit);
}

#[test]
fn a_repository_that_is_too_large_is_refused_and_what_was_there_stays() {
    let mut fixture = Fixture::new();
    let first = fixture.commit("a.rs", "one");
    fixture.fetch().unwrap();
    // Letters that do not compress to less than the limit.
    let noise: String = (0..20_000u32).map(|n| blake3::hash(&n.to_le_bytes()).to_hex().to_string()).collect();
    fixture.commit("b.txt", &noise);
    fixture.mirrors.settings.mirror_bytes_max = 100_000;
    let fault = fixture.fetch().unwrap_err();
    assert_eq!(fault.code, ErrorCode::InvalidRequest, "{fault}");
    assert!(fault.message.contains("mirror_bytes_max"));
    assert_eq!(
        fixture.fetch().unwrap_err().code,
        ErrorCode::InvalidRequest,
        "also if it was fetched before that was known"
    );
    assert_eq!(fixture.read(&first, "a.rs").as_deref(), Some("one"));
}

/// The packs of a mirror, in the order of their names.
fn packs(git_dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(git_dir.join("objects/pack")).unwrap().flatten().map(|entry| entry.path());
    let mut packs: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|extension| extension == "pack")).collect();
    packs.sort();
    packs
}

/// Without one of its packs, the newest commit may still be read, but not all of its files.
#[test]
fn a_damaged_mirror_is_fetched_again() {
    for lost in 0..2 {
        let fixture = Fixture::new();
        fixture.commit("a.rs", "one");
        let git_dir = fixture.fetch().unwrap().git_dir;
        let second = fixture.commit("b.rs", "two");
        fixture.fetch().unwrap();
        assert_eq!(packs(&git_dir).len(), 2);
        let pack = &packs(&git_dir)[lost];
        fs::remove_file(pack).unwrap();
        fs::remove_file(pack.with_extension("idx")).unwrap();
        assert_eq!(fixture.fetch().unwrap().head.commit, second);
        for (path, text) in [("a.rs", "one"), ("b.rs", "two")] {
            assert_eq!(fixture.read(&second, path).as_deref(), Some(text));
        }
        // A mirror that a run could not read is fetched anew as well.
        let file = fs::read_dir(git_dir.join("objects/pack")).unwrap().flatten().next().unwrap().path();
        fs::remove_file(file).unwrap();
        history::distrust_mirror(&git_dir);
        assert_eq!(fixture.fetch().unwrap().head.commit, second);
        assert_eq!(fixture.read(&second, "a.rs").as_deref(), Some("one"));
    }
}

#[test]
fn many_packs_are_repacked_and_older_commits_stay_readable() {
    let fixture = Fixture::new();
    let first = fixture.commit("a.rs", "0");
    fixture.fetch().unwrap();
    for n in 1..52 {
        fixture.commit("a.rs", &n.to_string());
        fixture.fetch().unwrap();
    }
    let git_dir = fixture.mirrors.git_dir(&fixture.address());
    assert!(address_file::packs(&git_dir).len() < 5);
    assert_eq!(fixture.read(&first, "a.rs").as_deref(), Some("0"));
    // A branch that was reset is read from the packed references.
    fixture.git("reset", &["--quiet", "--hard", &first]);
    assert_eq!(fixture.fetch().unwrap().head.commit, first);
    assert_eq!(fixture.mirrors.last_commit(&fixture.address()), Some(first));
}

#[test]
fn nothing_of_a_repository_runs() {
    let fixture = Fixture::new();
    let witness = fixture.folder.path().join("ran");
    let script = format!("#!/bin/sh\ntouch {}\n", witness.display());
    for hook in ["post-checkout", "reference-transaction", "pre-auto-gc", "post-update", "upload-pack"] {
        let path = fixture.source().join(".git/hooks").join(hook);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &script).unwrap();
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let command = format!("touch {}", witness.display());
    fixture.git("config", &["filter.x.smudge", &command]);
    fixture.git("config", &["core.fsmonitor", &command]);
    fixture.git("config", &["uploadpack.packObjectsHook", &command]);
    fs::write(fixture.source().join(".gitattributes"), "* filter=x\n").unwrap();
    let module = format!("[submodule \"m\"]\npath = m\nurl = ext::sh -c '{command}'\nupdate = !{command}\n");
    fs::write(fixture.source().join(".gitmodules"), module).unwrap();
    fixture.commit("a.rs", "one");
    fs::remove_file(&witness).ok();
    fixture.fetch().unwrap();
    assert!(!witness.exists(), "a command of the repository ran");
}

#[test]
fn unused_mirrors_are_found_and_removed() {
    let fixture = Fixture::new();
    fixture.commit("a.rs", "one");
    fixture.fetch().unwrap();
    let address = fixture.address();
    assert_eq!(fixture.mirrors.unused(std::slice::from_ref(&address), Duration::ZERO).unwrap(), []);
    assert_eq!(fixture.mirrors.unused(&[], Duration::from_secs(3600)).unwrap(), [], "it was just fetched");
    let unused = fixture.mirrors.unused(&[], Duration::ZERO).unwrap();
    assert_eq!(unused[0].address.as_deref(), Some(address.as_str()));
    let lock = fixture.mirrors.git_dir(&address).with_extension("lock");
    let held = MirrorLock::try_now(&lock).unwrap().unwrap();
    assert!(!fixture.mirrors.remove(&unused[0], Duration::ZERO).unwrap(), "a run uses it");
    drop(held);
    assert!(fixture.mirrors.remove(&unused[0], Duration::ZERO).unwrap());
    assert_eq!(fs::read_dir(fixture.folder.path().join("mirrors")).unwrap().count(), 0);
}
