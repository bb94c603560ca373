//! Histories of temporary repositories. Only these tests run the `git` program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::*;
mod comparison;
mod hostile;

/// A repository with fixed authors and dates, one minute between commits.
struct Repo {
    _home: tempfile::TempDir,
    path: PathBuf,
    minutes: std::cell::Cell<i64>,
}

const FIRST_COMMIT_S: i64 = 1_700_000_000;

impl Repo {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("repo");
        fs::create_dir(&path).unwrap();
        let repo = Self { _home: home, path, minutes: 0.into() };
        repo.git(&["init", "--quiet", "--initial-branch=main"]);
        repo
    }

    fn git(&self, arguments: &[&str]) {
        self.git_as("Ann", arguments);
    }

    fn git_as(&self, author: &str, arguments: &[&str]) {
        let date = format!("{} +0000", FIRST_COMMIT_S + 60 * self.minutes.get());
        let mut command = Command::new("git");
        command.current_dir(&self.path).args(["-c", "commit.gpgSign=false"]).args(arguments);
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"] {
            command.env_remove(name);
        }
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        command.env("GIT_AUTHOR_NAME", author).env("GIT_AUTHOR_EMAIL", format!("{author}@example.org"));
        command.env("GIT_COMMITTER_NAME", "Committer").env("GIT_COMMITTER_EMAIL", "c@example.org");
        command.env("GIT_AUTHOR_DATE", &date).env("GIT_COMMITTER_DATE", &date);
        let output = command.output().expect("these tests need the `git` program on the PATH");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {arguments:?}: {stderr}");
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path.join(path)).unwrap()
    }

    /// Commits the work tree; returns the author date.
    fn commit(&self, author: &str) -> i64 {
        self.minutes.set(self.minutes.get() + 1);
        self.git(&["add", "--all"]);
        self.git_as(author, &["commit", "--quiet", "--allow-empty", "--message=change"]);
        FIRST_COMMIT_S + 60 * self.minutes.get()
    }

    fn merge(&self, author: &str, arguments: &[&str]) {
        self.minutes.set(self.minutes.get() + 1);
        self.git_as(author, &[&["merge", "--quiet", "--no-ff", "--message=merge"], arguments].concat());
    }

    fn open(&self) -> History {
        History::open(&self.path).unwrap()
    }

    fn head(&self) -> Option<Head> {
        head(&self.path)
    }

    fn authors(&self, path: &str) -> Option<Vec<String>> {
        authors(&self.open(), path, &self.read(path))
    }
}

fn head(root: &Path) -> Option<Head> {
    FoundRepository::find(root, &|_| true).unwrap().head().cloned()
}

fn limits() -> Limits {
    Limits { commits_max: 10_000, churn_commits: 10, blob_bytes_max: 1 << 20, time: Duration::from_secs(600) }
}

fn files(history: &History) -> FileHistories {
    let found = history.files(&limits(), &|| false);
    assert!(found.complete);
    found
}

/// Returns the author of each line; `-` for a line without an author.
fn authors(history: &History, path: &str, text: &str) -> Option<Vec<String>> {
    let lines = history.line_history(path, text, &limits()).ok()?;
    assert!(lines.is_sound(), "{lines:?}");
    let mut authors = Vec::new();
    for run in &lines.runs {
        let author = lines.commit_of(run).map_or("-", |commit| lines.author_of(commit));
        authors.resize(run.last_line as usize, author.to_owned());
    }
    Some(authors)
}

fn churn(file: &FileHistory) -> (u32, u32, u32) {
    (file.churn_added, file.churn_deleted, file.churn_commits)
}

#[test]
fn two_authors_share_a_file() {
    let repo = Repo::new();
    repo.write("src/a.rs", "one\ntwo\nthree\n");
    repo.write("other.rs", "x\n");
    let first = repo.commit("Ann");
    repo.write("src/a.rs", "one\n2\nthree\nfour\n");
    let second = repo.commit("Bob");

    let history = repo.open();
    let head = repo.head().unwrap();
    assert_eq!((head.branch.as_deref(), head.commit.len()), (Some("main"), 40));
    let found = files(&history);
    assert_eq!((found.files.len(), found.commits_seen), (2, 2));
    let a = &found.files["src/a.rs"];
    assert_eq!((&*a.last_author, a.last_modified_s, &a.last_commit), ("Bob", second, &head.commit));
    assert_eq!(churn(a), (5, 1, 2));
    let other = &found.files["other.rs"];
    assert_eq!((&*other.last_author, other.last_modified_s, churn(other)), ("Ann", first, (1, 0, 1)));
    assert_eq!(repo.authors("src/a.rs").unwrap(), ["Ann", "Bob", "Ann", "Bob"]);
}

#[test]
fn lines_of_one_commit_are_one_run() {
    let repo = Repo::new();
    let mut commits = Vec::new();
    for (author, text) in [
        ("Ann", "one\ntwo\nthree\nfour\n"),
        ("Bob", "one\n2\n3\nfour\n"),
        // Another commit by the author of the lines beside it.
        ("Ann", "one\n2\n3\nfour\nfive\n"),
    ] {
        repo.write("a.txt", text);
        let authored_s = repo.commit(author);
        commits.push((author, repo.head().unwrap().commit, authored_s));
    }
    let text = "one\n2\n3\nfour\nfive\nsix\n";
    let lines = repo.open().line_history("a.txt", text, &limits()).unwrap();
    let shown = |run: &LineRun| {
        let commit = lines.commit_of(run);
        let commit = commit.map(|commit| (lines.author_of(commit), commit.hex(), commit.authored_s));
        (run.last_line, commit)
    };
    let found: Vec<_> = lines.runs.iter().map(shown).collect();
    let [first, second, third]: [_; 3] = commits.try_into().unwrap();
    let expected =
        [(1, Some(first.clone())), (3, Some(second)), (4, Some(first)), (5, Some(third)), (6, None)];
    assert_eq!(found, expected);
    assert_eq!(lines.commits.len(), 3);
    assert_eq!(lines.authors, ["Ann", "Bob"]);
    assert_eq!((lines.authors_of(1, 4), lines.authors_of(4, 6)), (vec!["Ann", "Bob"], vec!["Ann"]));
    assert_eq!(repo.open().line_history("a.txt", "", &limits()), Ok(LineHistory::default()));
}

#[test]
fn churn_counts_the_last_commits_only() {
    let repo = Repo::new();
    for round in 1..=12 {
        // The first commit writes 100 lines, each later one replaces two.
        let text: String =
            (0..100).map(|line| format!("{line} {}\n", if line < 2 { round } else { 0 })).collect();
        repo.write("a.txt", text);
        repo.commit("Ann");
    }
    let history = repo.open();
    assert_eq!(churn(&files(&history).files["a.txt"]), (20, 20, 10));
    let all = history.files(&Limits { churn_commits: 50, ..limits() }, &|| false);
    assert_eq!(churn(&all.files["a.txt"]), (122, 22, 12));
    let none = history.files(&Limits { churn_commits: 0, ..limits() }, &|| false);
    assert_eq!((churn(&none.files["a.txt"]), none.commits_seen), ((0, 0, 0), 1));
}

#[test]
fn binary_and_large_files_have_no_churn() {
    let repo = Repo::new();
    repo.write("binary", b"\0\n\n");
    repo.write("large", "line\n".repeat(100));
    repo.commit("Ann");
    let history = repo.open();
    let found = history.files(&Limits { blob_bytes_max: 499, ..limits() }, &|| false);
    assert_eq!(churn(&found.files["binary"]), (0, 0, 1));
    assert_eq!(churn(&found.files["large"]), (0, 0, 1));
    assert_eq!(authors(&history, "binary", "\0\n\n"), None);
    assert_eq!(
        history.line_history("large", &repo.read("large"), &Limits { blob_bytes_max: 499, ..limits() }),
        Err(AuthorsUnknown::Permanent)
    );
}

#[test]
fn lines_that_are_not_committed_have_no_author() {
    let repo = Repo::new();
    repo.write("a.txt", "one\ntwo\nthree\n");
    repo.commit("Ann");
    repo.write("a.txt", "zero\none\n2\nthree");
    repo.write("untracked.txt", "new\n");
    assert_eq!(repo.authors("a.txt").unwrap(), ["-", "Ann", "-", "Ann"]);
    assert_eq!(authors(&repo.open(), "a.txt", ""), Some(vec![]));
    assert_eq!(repo.authors("untracked.txt"), None);
    assert!(!files(&repo.open()).files.contains_key("untracked.txt"));
}

#[test]
fn lines_keep_their_authors_when_line_ends_change() {
    let repo = Repo::new();
    repo.write("crlf.txt", "one\r\ntwo\r\n");
    repo.write("lf.txt", "one\ntwo\n");
    repo.commit("Ann");
    repo.write("crlf.txt", "one\r\ntwo\r\nthree\r\n");
    repo.commit("Bob");
    assert_eq!(repo.authors("crlf.txt").unwrap(), ["Ann", "Ann", "Bob"]);
    // A checkout with core.autocrlf.
    assert_eq!(authors(&repo.open(), "lf.txt", "one\r\ntwo\r\n").unwrap(), ["Ann", "Ann"]);
}

fn no_history(root: &Path) -> NoHistory {
    History::open(root).err().expect("there should be no history")
}

#[test]
fn missing_and_empty_repositories_have_no_history() {
    let empty = tempfile::tempdir().unwrap();
    assert_eq!(no_history(empty.path()), NoHistory::Absent);
    assert!(History::open(&empty.path().join("missing")).is_err());
    fs::write(empty.path().join(".git"), "gitdir: nowhere\n").unwrap();
    assert!(matches!(no_history(empty.path()), NoHistory::Refused(_)));

    let unborn = Repo::new();
    let history = unborn.open();
    assert_eq!(unborn.head(), None);
    assert!(files(&history).files.is_empty());
    assert_eq!(authors(&history, "a.txt", "one\n"), None);
}

#[test]
fn paths_are_relative_to_the_opened_folder() {
    let repo = Repo::new();
    repo.write("top.rs", "top\n");
    repo.write("crates/a/src/lib.rs", "one\n");
    repo.commit("Ann");
    repo.write("top.rs", "changed\n");
    repo.commit("Bob");
    repo.write("untracked/x.rs", "x\n");

    let history = History::open(&repo.path.join("crates/a")).unwrap();
    let found = files(&history);
    assert_eq!(found.files.keys().collect::<Vec<_>>(), ["src/lib.rs"]);
    assert_eq!(&*found.files["src/lib.rs"].last_author, "Ann");
    assert_eq!(authors(&history, "src/lib.rs", "one\ntwo\n").unwrap(), ["Ann", "-"]);
    assert_eq!(authors(&history, "crates/a/src/lib.rs", "one\n"), None);
    assert_eq!(authors(&history, "src", "one\n"), None);
    assert!(files(&History::open(&repo.path.join("untracked")).unwrap()).files.is_empty());
}

#[test]
fn a_detached_head_has_no_branch() {
    let repo = Repo::new();
    repo.write("a.txt", "one\n");
    repo.commit("Ann");
    repo.write("a.txt", "two\n");
    repo.commit("Bob");
    let history = repo.open();
    repo.git(&["checkout", "--quiet", "--detach", "HEAD~1"]);
    let detached = repo.open();
    assert_eq!(repo.head().unwrap().branch, None);
    assert_eq!(&*files(&detached).files["a.txt"].last_author, "Ann");
    // A handle stays at the commit at which it was opened.
    assert_eq!(&*files(&history).files["a.txt"].last_author, "Bob");
    repo.git(&["checkout", "--quiet", "-b", "feature/x"]);
    assert_eq!(repo.head().unwrap().branch.as_deref(), Some("feature/x"));
}

#[test]
fn a_merge_counts_where_it_differs_from_all_parents() {
    let repo = Repo::new();
    repo.write("main.txt", "1\n2\n3\n");
    repo.write("side.txt", "1\n2\n3\n");
    repo.write("both.txt", "1\n2\n3\n4\n5\n");
    repo.write("dropped.txt", "1\n2\n3\n");
    repo.commit("Ann");
    repo.git(&["checkout", "--quiet", "-b", "side"]);
    repo.write("side.txt", "1\n2\n3\nside\n");
    repo.write("both.txt", "1\n2\n3\n4\nside\n");
    repo.commit("Sid");
    repo.git(&["checkout", "--quiet", "main"]);
    repo.write("main.txt", "main\n2\n3\n");
    repo.write("both.txt", "main\n2\n3\n4\n5\n");
    repo.commit("Bob");
    repo.merge("Mia", &["side"]);
    // A branch whose change the merge drops does not belong to the file's history.
    repo.git(&["checkout", "--quiet", "-b", "dropped"]);
    repo.write("dropped.txt", "other\n");
    repo.commit("Dan");
    repo.git(&["checkout", "--quiet", "main"]);
    repo.commit("Bob");
    repo.merge("Mia", &["--strategy=ours", "dropped"]);

    let found = files(&repo.open());
    let facts = |path: &str| (found.files[path].last_author.to_string(), churn(&found.files[path]));
    assert_eq!(facts("main.txt"), ("Bob".into(), (4, 1, 2)));
    assert_eq!(facts("side.txt"), ("Sid".into(), (4, 0, 2)));
    assert_eq!(facts("both.txt"), ("Mia".into(), (7, 2, 4)));
    assert_eq!(facts("dropped.txt"), ("Ann".into(), (3, 0, 1)));
    assert_eq!(repo.authors("both.txt").unwrap(), ["Bob", "Ann", "Ann", "Ann", "Sid"]);
    assert_eq!(repo.authors("dropped.txt").unwrap(), ["Ann", "Ann", "Ann"]);
}

#[test]
fn a_rename_ends_the_churn_but_lines_keep_their_authors() {
    let repo = Repo::new();
    repo.write("old/a.txt", "1\n2\n3\n4\n5\n6\n");
    repo.write("old/b.txt", "other\n");
    repo.commit("Ann");
    repo.git(&["mv", "old", "new"]);
    repo.commit("Bob");
    repo.git(&["mv", "new/a.txt", "c.txt"]);
    repo.git(&["rm", "--quiet", "new/b.txt"]);
    repo.write("c.txt", "1\n2\n3\n4\n5\nsix\n");
    repo.commit("Cem");

    let found = files(&repo.open());
    let c = &found.files["c.txt"];
    assert_eq!((found.files.len(), &*c.last_author, churn(c)), (1, "Cem", (6, 0, 1)));
    assert_eq!(repo.authors("c.txt").unwrap(), ["Ann", "Ann", "Ann", "Ann", "Ann", "Cem"]);
}

#[test]
fn the_history_of_a_shallow_clone_ends_at_its_depth() {
    let repo = Repo::new();
    for (author, text) in [("Ann", "1\n"), ("Bob", "1\n2\n"), ("Cem", "1\n2\n3\n")] {
        repo.write("a.txt", text);
        repo.commit(author);
    }
    let url = format!("file://{}", repo.path.display());
    repo.git(&["clone", "--quiet", "--depth=2", &url, "shallow"]);
    let history = History::open(&repo.path.join("shallow")).unwrap();
    let found = files(&history);
    assert_eq!((&*found.files["a.txt"].last_author, churn(&found.files["a.txt"])), ("Cem", (3, 0, 2)));
    assert_eq!(authors(&history, "a.txt", "1\n2\n3\n").unwrap(), ["Bob", "Bob", "Cem"]);
}

#[test]
fn a_partial_clone_has_authors_and_dates() {
    let repo = Repo::new();
    repo.write("a.txt", "1\n");
    repo.commit("Ann");
    repo.write("a.txt", "1\n2\n");
    repo.commit("Bob");
    repo.git(&["config", "uploadpack.allowFilter", "true"]);
    let url = format!("file://{}", repo.path.display());
    repo.git(&["clone", "--quiet", "--filter=blob:none", &url, "partial"]);
    let history = History::open(&repo.path.join("partial")).unwrap();
    let found = history.files(&limits(), &|| false);
    let a = &found.files["a.txt"];
    assert_eq!((&*a.last_author, churn(a), found.complete), ("Bob", (0, 0, 2), false));
    assert_eq!(authors(&history, "a.txt", "1\n2\n"), None);
}

#[test]
fn a_checkout_of_a_partial_clone_omits_missing_files() {
    let repo = Repo::new();
    repo.write("lib/small.txt", "1\n");
    repo.write("lib/large.txt", "1\n".repeat(2000));
    repo.commit("Ann");
    repo.git(&["config", "uploadpack.allowFilter", "true"]);
    let url = format!("file://{}", repo.path.display());
    repo.git(&["clone", "--quiet", "--bare", "--filter=blob:limit=1k", &url, "partial"]);
    let into = repo.path.join("out");
    assert!(checkout(&repo.path.join("partial"), "HEAD", Some("lib"), &into).unwrap());
    assert_eq!(fs::read_to_string(into.join("lib/small.txt")).unwrap(), "1\n");
    assert!(!into.join("lib/large.txt").exists());
    assert!(checkout(&repo.path, "HEAD", None, &into).unwrap() && into.join("lib/large.txt").exists());
    assert!(!checkout(&repo.path, "HEAD", Some("nowhere"), &into).unwrap());
}

#[test]
fn linked_work_trees_and_commit_graphs_give_the_same_history() {
    let repo = Repo::new();
    repo.write("a.txt", "one\n");
    repo.commit("Ann");
    repo.write("a.txt", "one\ntwo\n");
    repo.commit("Bob");
    let before = files(&repo.open()).files;
    repo.git(&["commit-graph", "write", "--reachable"]);
    assert_eq!(files(&repo.open()).files, before);
    repo.git(&["worktree", "add", "--quiet", "../linked", "-b", "linked"]);
    let linked = History::open(&repo.path.join("../linked")).unwrap();
    assert_eq!(head(&repo.path.join("../linked")).unwrap().branch.as_deref(), Some("linked"));
    assert_eq!(files(&linked).files, before);
    assert_eq!(authors(&linked, "a.txt", "one\ntwo\n").unwrap(), ["Ann", "Bob"]);
}

#[test]
fn symlinks_and_submodules_are_left_out_and_the_mailmap_applies() {
    let repo = Repo::new();
    repo.write("a.txt", "one\n");
    repo.write(".mailmap", "Ann Example <Ann@example.org>\n");
    std::os::unix::fs::symlink("a.txt", repo.path.join("link.txt")).unwrap();
    repo.commit("Ann");
    let commit = repo.head().unwrap().commit;
    repo.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{commit},module")]);
    repo.git_as("Ann", &["commit", "--quiet", "--message=module"]);

    let found = files(&repo.open());
    let mut paths: Vec<_> = found.files.keys().collect();
    paths.sort();
    assert_eq!(paths, [".mailmap", "a.txt"]);
    assert_eq!(&*found.files["a.txt"].last_author, "Ann Example");
    assert_eq!(repo.authors("a.txt").unwrap(), ["Ann Example"]);
    assert_eq!(repo.authors("link.txt"), None);
}

#[test]
fn files_beyond_the_limits_are_omitted() {
    let repo = Repo::new();
    repo.write("early.txt", "one\n");
    repo.write("often.txt", "1\n");
    repo.commit("Ann");
    for round in 2..=5 {
        repo.write("often.txt", format!("{round}\n"));
        repo.commit("Bob");
    }
    let history = repo.open();
    let few = Limits { commits_max: 3, ..limits() };
    let found = history.files(&few, &|| false);
    assert_eq!((found.complete, found.commits_seen, found.files.len()), (false, 3, 1));
    assert_eq!(
        (&*found.files["often.txt"].last_author, churn(&found.files["often.txt"])),
        ("Bob", (3, 3, 3))
    );
    assert_eq!(history.line_history("early.txt", "one\n", &few), Err(AuthorsUnknown::Permanent));
    assert!(history.line_history("often.txt", "5\n", &few).is_ok());

    let no_time = Limits { time: Duration::ZERO, ..limits() };
    let cancelled = [history.files(&limits(), &|| true), history.files(&no_time, &|| false)];
    assert!(cancelled.iter().all(|found| !found.complete && found.files.is_empty()));
    assert_eq!(history.line_history("early.txt", "one\n", &no_time), Err(AuthorsUnknown::TimedOut));
}

#[test]
fn programs_in_the_configuration_are_not_started() {
    let repo = Repo::new();
    repo.write("a.txt", "one\n");
    repo.write(".gitattributes", "*.txt diff=evil filter=evil\n");
    repo.commit("Ann");
    let marker = repo.path.join("started");
    let program = format!("touch {}", marker.display());
    for key in
        ["core.fsmonitor", "diff.evil.textconv", "diff.external", "filter.evil.clean", "filter.evil.smudge"]
    {
        repo.git(&["config", key, &program]);
    }
    assert_eq!(repo.authors("a.txt").unwrap(), ["Ann"]);
    assert_eq!(churn(&files(&repo.open()).files["a.txt"]), (1, 0, 1));
    assert!(!marker.exists());
}

#[test]
fn clones_of_a_handle_work_on_several_threads() {
    let repo = Repo::new();
    repo.write("a.txt", "one\n");
    repo.commit("Ann");
    let history = repo.open();
    let authors_per_thread = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2).map(|_| history.clone()).collect();
        let threads =
            threads.into_iter().map(|history| scope.spawn(move || authors(&history, "a.txt", "one\n")));
        threads.collect::<Vec<_>>().into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(authors_per_thread, [Some(vec!["Ann".to_owned()]), Some(vec!["Ann".to_owned()])]);
}

#[test]
fn the_git_directory_of_a_submodule_is_found() {
    let (module, repo) = (Repo::new(), Repo::new());
    module.write("m.txt", "one\n");
    module.commit("Mia");
    repo.write("a.txt", "one\n");
    repo.commit("Ann");
    let from = module.path.to_str().unwrap();
    repo.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", from, "sub"]);
    let history = History::open(&repo.path.join("sub")).unwrap();
    assert_eq!(authors(&history, "m.txt", "one\n").unwrap(), ["Mia"]);
}
