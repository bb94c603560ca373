//! Git directories of untrusted repositories: special files, and references to other directories.

use std::fs;
use std::path::Path;

use super::{Repo, no_history};
use crate::{FoundRepository, History, NoHistory};

/// Pipes, devices and links in place of git's files are not opened.
#[test]
fn a_hostile_git_directory_is_refused() {
    let new_repo = || {
        let repo = Repo::new();
        repo.write("a.txt", "one\n");
        repo.commit("Ann");
        repo
    };
    let pipe = |path: &Path| {
        let _ = fs::remove_file(path);
        rustix::fs::mkfifoat(rustix::fs::CWD, path, rustix::fs::Mode::RWXU).unwrap();
    };
    let link = |path: &Path, to: &str| {
        let _ = fs::remove_file(path);
        std::os::unix::fs::symlink(to, path).unwrap();
    };
    for file in ["HEAD", "refs/heads/main", "shallow", "objects/info/commit-graph", "objects/pack/pack-1.idx"]
    {
        for hostile in ["pipe", "/dev/zero", "/etc/passwd"] {
            let repo = new_repo();
            let path = repo.path.join(".git").join(file);
            if hostile == "pipe" {
                pipe(&path)
            } else {
                link(&path, hostile)
            }
            match History::open(&repo.path).err() {
                Some(NoHistory::Refused(why)) => assert!(why.contains(file), "{file}: {hostile}: {why}"),
                other => panic!("{file}: {hostile}: {other:?}"),
            }
        }
    }
    // The configuration is not read at all.
    let repo = new_repo();
    repo.git(&["pack-refs", "--all"]);
    link(&repo.path.join(".git/config"), "/dev/zero");
    assert_eq!(repo.head().unwrap().branch.as_deref(), Some("main"));
    link(&repo.path.join(".git/packed-refs"), "/dev/zero");
    assert!(matches!(no_history(&repo.path), NoHistory::Refused(why) if why.contains("packed-refs")));
    // A loose object.
    let repo = new_repo();
    let objects = repo.path.join(".git/objects");
    let folder =
        fs::read_dir(&objects).unwrap().flatten().find(|entry| entry.file_name().len() == 2).unwrap();
    let object = fs::read_dir(folder.path()).unwrap().flatten().next().unwrap().path();
    pipe(&object);
    assert!(matches!(no_history(&repo.path), NoHistory::Refused(why) if why.contains("not a regular file")));
}

#[test]
fn the_history_of_another_repository_is_not_read() {
    let (other, own) = (Repo::new(), Repo::new());
    other.write("a.txt", "one\n");
    other.commit("Ann");
    own.write("a.txt", "one\n");
    own.commit("Eve");
    let git = own.path.join(".git");
    let elsewhere = other.path.join(".git");
    let refused = |what: &str| match no_history(&own.path) {
        NoHistory::Refused(why) => assert!(why.contains(what), "{why}"),
        NoHistory::Absent => panic!("{what}"),
    };
    fs::write(git.join("objects/info/alternates"), format!("{}/objects\n", elsewhere.display())).unwrap();
    refused("objects/info/alternates");
    fs::remove_dir_all(&git).unwrap();
    fs::write(&git, format!("gitdir: {}\n", elsewhere.display())).unwrap();
    refused("another repository's");
    // The same through a directory in between.
    let middle = own.path.join("middle");
    fs::create_dir(&middle).unwrap();
    fs::write(middle.join("commondir"), format!("{}\n", elsewhere.display())).unwrap();
    fs::write(middle.join("gitdir"), format!("{}\n", git.display())).unwrap();
    fs::write(middle.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    fs::write(&git, "gitdir: middle\n").unwrap();
    refused("another repository's");
    fs::remove_file(&git).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &git).unwrap();
    refused("symbolic link");
}

/// The untrusted submodule `s1` must not get the history of `s2`, nor that of the repository above.
#[test]
fn a_submodule_has_its_own_history_and_no_other() {
    let (one, two, above) = (Repo::new(), Repo::new(), Repo::new());
    for (repo, author) in [(&one, "One"), (&two, "Two")] {
        repo.write("m.txt", "one\n");
        repo.commit(author);
    }
    for (from, name) in [(&one, "s1"), (&two, "s2")] {
        let from = from.path.to_str().unwrap();
        above.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", from, name]);
    }
    above.commit("Ann");
    let author = |at: &str| -> Result<String, NoHistory> {
        let history = History::open(&above.path.join(at))?;
        Ok(super::files(&history).files["m.txt"].last_author.clone())
    };
    let refused = |at: &str| match author(at) {
        Err(NoHistory::Refused(why)) => assert!(why.contains("another repository's"), "{why}"),
        other => panic!("{other:?}"),
    };
    assert_eq!((author("s1").unwrap(), author("s2").unwrap()), ("One".into(), "Two".into()));
    let own = fs::read(above.path.join("s1/.git")).unwrap();
    for other in ["../.git/modules/s2", "../.git/modules/s1/../s2", "../.git/modules", "../.git"] {
        fs::write(above.path.join("s1/.git"), format!("gitdir: {other}\n")).unwrap();
        refused("s1");
    }
    fs::write(above.path.join("s1/.git"), own).unwrap();
    // A moved submodule keeps its git directory; a new one at the old path does not get its history.
    above.git(&["mv", "s1", "moved"]);
    assert_eq!(author("moved").unwrap(), "One");
    above.write("s1/.git", "gitdir: ../.git/modules/s1\n");
    refused("s1");
    // With `extensions.worktreeConfig`, git stores `core.worktree` in another file.
    let config = above.path.join(".git/modules/s2/config");
    let text = fs::read_to_string(&config).unwrap();
    let without: String =
        text.lines().filter(|line| !line.contains("worktree =")).map(|line| format!("{line}\n")).collect();
    fs::write(&config, without).unwrap();
    assert_eq!(author("s2").unwrap(), "Two", "the git directory has the path of the submodule");
    let elsewhere = above.path.join(".git/modules/s2/config.worktree");
    fs::write(&elsewhere, "[core]\n\tworktree = \"../../../s2\"\n").unwrap();
    assert_eq!(author("s2").unwrap(), "Two");
    fs::write(&elsewhere, "[core]\n\tworktree = ../../../s1\n").unwrap();
    refused("s2");
}

/// `.git` can name any path; the error does not reveal whether it exists.
#[test]
fn forbidden_paths_give_the_same_error_as_missing_ones() {
    let (other, own) = (Repo::new(), Repo::new());
    other.write("a.txt", "one\n");
    other.commit("Ann");
    let root = own.path.canonicalize().unwrap();
    let outside = other.path.canonicalize().unwrap();
    fs::remove_dir_all(root.join(".git")).unwrap();
    fs::create_dir(root.join("middle")).unwrap();
    std::os::unix::fs::symlink(&outside, root.join("link")).unwrap();
    std::os::unix::fs::symlink(outside.join("no such"), root.join("broken")).unwrap();
    let why = |named: &Path| {
        fs::write(root.join(".git"), format!("gitdir: {}\n", named.display())).unwrap();
        match FoundRepository::find(&root, &|path| path.starts_with(&root)).err() {
            Some(NoHistory::Refused(why)) => why,
            other => panic!("{named:?}: {other:?}"),
        }
    };
    let absent = why(&root.join("absent"));
    let up = |path: &str| root.join("middle/../..").join(path);
    let out = outside.file_name().unwrap().to_str().unwrap();
    let paths = [
        outside.join("no such"),
        outside.clone(),
        outside.join(".git"),
        outside.join("a.txt"),
        up("no such"),
        up(out),
        root.join("link/.git"),
        root.join("broken"),
        "/etc/passwd".into(),
        "/etc".into(),
    ];
    for path in &paths {
        assert_eq!(why(path), absent, "{path:?}");
        // The same through `commondir` of an allowed directory.
        fs::write(root.join("middle/commondir"), format!("{}\n", path.display())).unwrap();
        fs::write(root.join("middle/gitdir"), format!("{}\n", root.join(".git").display())).unwrap();
        assert_eq!(why(Path::new("middle")), absent, "commondir {path:?}");
    }
}
