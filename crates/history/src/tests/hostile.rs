//! Git directories that strangers made: what they hold in place of git's files, and where they point.

use std::fs;
use std::path::Path;

use super::{Repo, why_not};
use crate::{History, NoHistory};

/// What a stranger's repository can hold in place of git's files; none of it is read, and nothing waits for it.
#[test]
fn a_hostile_git_directory_is_refused() {
    let made = || {
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
            let repo = made();
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
    let repo = made();
    repo.git(&["pack-refs", "--all"]);
    link(&repo.path.join(".git/config"), "/dev/zero");
    assert_eq!(repo.open().head().unwrap().branch.as_deref(), Some("main"));
    link(&repo.path.join(".git/packed-refs"), "/dev/zero");
    assert!(matches!(why_not(&repo.path), NoHistory::Refused(why) if why.contains("packed-refs")));
    // A loose object.
    let repo = made();
    let objects = repo.path.join(".git/objects");
    let folder =
        fs::read_dir(&objects).unwrap().flatten().find(|entry| entry.file_name().len() == 2).unwrap();
    let object = fs::read_dir(folder.path()).unwrap().flatten().next().unwrap().path();
    pipe(&object);
    assert!(matches!(why_not(&repo.path), NoHistory::Refused(why) if why.contains("not a regular file")));
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
    let refused = |what: &str| match why_not(&own.path) {
        NoHistory::Refused(why) => assert!(why.contains(what), "{why}"),
        NoHistory::Absent => panic!("{what}"),
    };
    fs::write(git.join("objects/info/alternates"), format!("{}/objects\n", elsewhere.display())).unwrap();
    refused("objects/info/alternates");
    fs::remove_dir_all(&git).unwrap();
    fs::write(&git, format!("gitdir: {}\n", elsewhere.display())).unwrap();
    refused("another repository's");
    // Nor when a directory in between says so.
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
