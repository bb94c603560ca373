//! Written commits are valid for git, and are read back with the intended content.

use std::process::Command;

use super::*;
use crate::CommitTree;
use platform::safe_open::{EntryKind as Kind, ReadError};

const GO_ON: Check<'static> = &|| Ok(());

/// A bare repository that is being written.
struct Fixture {
    folder: tempfile::TempDir,
    writer: CommitWriter,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let writer = CommitWriter::create(&folder.path().join("x.git")).unwrap();
        Self { folder, writer }
    }

    fn add(&mut self, path: &str, text: &str) -> bool {
        self.writer.add_file(path.as_bytes(), text.len() as u64, &mut text.as_bytes()).unwrap()
    }

    /// Returns the commit, and its files as `git` and [`CommitTree`] read them.
    fn finish(self) -> (String, Vec<(String, String)>) {
        let commit = self.writer.finish(GO_ON).unwrap();
        let git_dir = self.folder.path().join("x.git");
        let git = |arguments: &[&str]| {
            let mut git = Command::new("git");
            git.arg("--git-dir").arg(&git_dir).args(arguments).env("GIT_CONFIG_GLOBAL", "/dev/null");
            let output = git.output().expect("these tests need the `git` program on the PATH");
            let shown = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "git {arguments:?}: {shown}");
            String::from_utf8(output.stdout).unwrap()
        };
        git(&["fsck", "--full", "--strict"]);
        assert_eq!(git(&["rev-parse", "HEAD"]).trim(), commit);
        let listed = git(&["ls-tree", "-r", "-z", "--name-only", &commit]);
        let root = CommitTree::open(&git_dir, &commit).unwrap().root().unwrap();
        let read = |path: &str| match root.read_with_metadata(path, 1000).1 {
            Ok(bytes) => String::from_utf8(bytes).unwrap(),
            Err(why) => format!("{why:?}"),
        };
        let paths = listed.split('\0').filter(|path| !path.is_empty());
        (commit, paths.map(|path| (path.to_owned(), read(path))).collect())
    }
}

fn files(listed: &[(&str, &str)]) -> Vec<(String, String)> {
    listed.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
}

#[test]
fn files_are_read_as_they_were_written() {
    let mut fixture = Fixture::new();
    // Git sorts folders as if their name ended in a slash: `a-b` and `a.b` come before `a/`, and `a0` after it.
    for path in ["a/b/c", "a.b", "a0", "a/b.c", "a-b", "z", "a/b/d/e", "größe"] {
        assert!(!fixture.add(path, path));
    }
    assert!(!fixture.writer.add_link(b"link", b"a.b").unwrap());
    assert!(fixture.writer.add_copy(b"copy", b"z"));
    assert!(!fixture.writer.add_copy(b"other", b"missing"));
    assert!(!fixture.writer.add_copy(b"other", b"link"), "a link has no other names");
    assert_eq!(fixture.writer.len(), 10);
    let (_, found) = fixture.finish();
    let paths = ["a-b", "a.b", "a/b.c", "a/b/c", "a/b/d/e", "a0", "copy", "größe", "link", "z"];
    let expected = paths.map(|path| match path {
        "copy" => (path, "z"),
        "link" => (path, "Link"),
        path => (path, path),
    });
    assert_eq!(found, files(&expected));
}

#[test]
fn the_same_files_are_the_same_commit() {
    let write = |order: &[&str], folder: &str| {
        let mut fixture = Fixture::new();
        for path in order {
            fixture.add(&format!("{folder}{path}"), path);
        }
        fixture.finish().0
    };
    let one = write(&["src/a.rs", "src/b.rs", "README.md"], "");
    assert_eq!(one, write(&["README.md", "src/b.rs", "src/a.rs"], ""));
    assert_eq!(one, write(&["README.md", "src/b.rs", "src/a.rs"], "project-1.2/"), "the folder is left out");
    assert_ne!(one, write(&["README.md", "src/b.rs"], ""));
}

#[test]
fn only_a_folder_that_contains_everything_is_left_out() {
    let of = |paths: &[&str]| {
        let mut fixture = Fixture::new();
        for path in paths {
            fixture.add(path, "");
        }
        fixture.finish().1.into_iter().map(|(path, _)| path).collect::<Vec<_>>()
    };
    assert_eq!(of(&["p/a", "p/q/b"]), ["a", "q/b"]);
    assert_eq!(of(&["p/q/a", "p/q/b"]), ["q/a", "q/b"], "only one of them");
    assert_eq!(of(&["p/a", "p-1/b"]), ["p-1/b", "p/a"]);
    assert_eq!(of(&["p/a", "q"]), ["p/a", "q"]);
    assert_eq!(of(&["p"]), ["p"]);
    assert_eq!(of(&[]), [""; 0]);
}

#[test]
fn the_later_of_two_entries_counts() {
    let mut fixture = Fixture::new();
    assert!(!fixture.add("x", "0"));
    assert!(!fixture.add("a", "1"));
    assert!(fixture.add("a", "2"));
    assert!(fixture.add("a/b/c", "3"), "a file became a folder");
    assert!(!fixture.add("a/b/d", "4"));
    assert!(fixture.add("a/b", "5"), "a folder became a file");
    assert!(!fixture.add("a/bb", "6"));
    assert_eq!(fixture.finish().1, files(&[("a/b", "5"), ("a/bb", "6"), ("x", "0")]));
}

#[test]
fn paths_may_be_deep() {
    let mut fixture = Fixture::new();
    let deep = vec!["d"; 2000].join("/");
    fixture.add(&deep, "x");
    fixture.add("top", "y");
    let commit = fixture.writer.finish(GO_ON).unwrap();
    let tree = CommitTree::open(&fixture.folder.path().join("x.git"), &commit).unwrap();
    let root = tree.root().unwrap();
    let kinds: Vec<Kind> = root.entries(9).0.into_iter().map(|entry| entry.kind).collect();
    assert_eq!(kinds, [Kind::Folder, Kind::File]);
    assert_eq!(root.read_with_metadata(&deep, 9).1.unwrap(), b"x");
    assert_eq!(root.read_with_metadata("d/none", 9).1, Err(ReadError::NotFound));
}

#[test]
fn folders_are_counted_once() {
    let mut fixture = Fixture::new();
    for (path, folders) in [
        ("a/b/c/1", 3),
        ("a/b/c/2", 3),
        ("a/b/1", 3),
        ("top", 3),
        ("a/x/y/1", 5),
        // Sorted beside `a/`, but not inside of it.
        ("a-/b/c/1", 8),
        ("a/b/d/1", 9),
        ("a/b/d/1", 9),
        ("a/b/c/3", 9),
    ] {
        fixture.add(path, path);
        assert_eq!(fixture.writer.folders(), folders, "{path}");
    }
}

#[test]
fn each_folder_is_written_only_if_it_may() {
    let written = |allowed: usize| {
        let mut fixture = Fixture::new();
        // The topmost folder and three others.
        for path in ["a/b/1", "c/2", "3"] {
            fixture.add(path, path);
        }
        let left = std::cell::Cell::new(allowed);
        let check = || {
            let fewer = left.get().checked_sub(1).ok_or_else(|| io::Error::other("stopped"))?;
            left.set(fewer);
            Ok(())
        };
        fixture.writer.finish(&check).map_err(|error| error.to_string())
    };
    for allowed in 0..4 {
        assert_eq!(written(allowed), Err("stopped".to_owned()), "{allowed}");
    }
    assert!(written(4).is_ok());
}

#[test]
fn a_content_that_fails_is_not_added() {
    struct Failing;
    impl Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("broken"))
        }
    }
    let mut fixture = Fixture::new();
    assert!(fixture.writer.add_file(b"a", 1, &mut Failing).is_err());
    assert!(fixture.writer.is_empty());
}
