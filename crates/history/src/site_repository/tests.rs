//! Trees, commits and branches, read again by the `git` program.

use std::process::Command;

use super::*;

/// A bare repository with one commit on `main`.
struct Bare {
    folder: tempfile::TempDir,
}

impl Bare {
    fn new() -> Self {
        let bare = Self { folder: tempfile::tempdir().unwrap() };
        let work = bare.folder.path().join("work");
        fs::create_dir_all(work.join("content/docs")).unwrap();
        fs::write(work.join("content/docs/a.md"), "# A\n").unwrap();
        fs::write(work.join("content/run.sh"), "#!/bin/sh\n").unwrap();
        fs::write(work.join("README.md"), "site\n").unwrap();
        std::os::unix::fs::symlink("/etc", work.join("content/out")).unwrap();
        bare.git(&work, &["init", "--quiet", "--initial-branch=main"]);
        bare.git(&work, &["add", "--all"]);
        bare.git(&work, &["update-index", "--chmod=+x", "content/run.sh"]);
        bare.git(&work, &["commit", "--quiet", "--message=first"]);
        bare.git(bare.folder.path(), &["clone", "--quiet", "--bare", "work", "site.git"]);
        bare
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("site.git")
    }

    fn git(&self, directory: &Path, arguments: &[&str]) -> String {
        let mut command = Command::new("git");
        command.current_dir(directory).args(["-c", "commit.gpgSign=false"]).args(arguments);
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"] {
            command.env_remove(name);
        }
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        for role in ["AUTHOR", "COMMITTER"] {
            command
                .env(format!("GIT_{role}_NAME"), "Ada")
                .env(format!("GIT_{role}_EMAIL"), "ada@example.org");
        }
        let output = command.output().expect("these tests need the `git` program on the PATH");
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }

    /// Runs git in the bare repository.
    fn read(&self, arguments: &[&str]) -> String {
        self.git(&self.path(), arguments)
    }

    fn open(&self) -> (SiteRepository, String, String) {
        let repository = SiteRepository::open(&self.path()).unwrap();
        let commit = repository.branch("main").unwrap().unwrap();
        let tree = repository.tree_of(&commit).unwrap();
        (repository, commit, tree)
    }
}

#[test]
fn a_commit_with_changed_files_is_what_git_would_have_made() {
    let bare = Bare::new();
    let (repository, commit, base) = bare.open();
    assert_eq!(
        (commit.as_str(), base.as_str()),
        (bare.read(&["rev-parse", "main"]).as_str(), bare.read(&["rev-parse", "main^{tree}"]).as_str())
    );
    let changes: [(&str, &[u8]); 3] = [
        ("content/docs/a.md", b"# A, changed\n"),
        ("content/docs/new/b.md", b"# B\n"),
        ("content/run.sh", b"#!/bin/sh\nexit\n"),
    ];
    let tree = repository.write_tree(&base, &changes).unwrap();
    assert_eq!(repository.write_tree(&base, &changes).unwrap(), tree, "equal inputs");
    let new = NewCommit {
        tree: &tree,
        parent: &commit,
        name: "Launch <x>\n",
        email: "launch@example.org",
        time_s: 1_700_000_000,
        message: "Pages of the shop\n\nBody.\n",
    };
    let written = repository.write_commit(&new).unwrap();
    assert_eq!(repository.write_commit(&new).unwrap(), written);
    assert_eq!(repository.create_branch("launch/r/shop", &written).unwrap(), BranchCreated::New);
    bare.read(&["fsck", "--strict", "--no-dangling"]);
    let changed = bare.read(&["diff", "--name-status", "main", "launch/r/shop"]);
    assert_eq!(changed, "M\tcontent/docs/a.md\nA\tcontent/docs/new/b.md\nM\tcontent/run.sh");
    assert_eq!(bare.read(&["show", "launch/r/shop:content/docs/new/b.md"]), "# B");
    assert!(
        bare.read(&["ls-tree", "launch/r/shop", "content/run.sh"]).starts_with("100755"),
        "it stays executable"
    );
    assert_eq!(
        bare.read(&["log", "-1", "--format=%an|%ae|%at|%s", "launch/r/shop"]),
        "Launch x|launch@example.org|1700000000|Pages of the shop"
    );
    let paths = repository.changed_paths(&base, &tree, 10).unwrap();
    assert_eq!(paths, ["content/docs/a.md", "content/docs/new/b.md", "content/run.sh"]);
    assert!(matches!(repository.changed_paths(&base, &tree, 2), Err(SiteError::TooLarge)));
    assert_eq!(repository.changed_paths(&base, &base, 0).unwrap(), [""; 0]);
}

#[test]
fn files_are_listed_without_links_and_read_from_packs_too() {
    let bare = Bare::new();
    bare.read(&["gc", "--quiet"]);
    let (repository, _, base) = bare.open();
    let files = repository.files(&base).unwrap();
    let paths: Vec<&str> = files.paths().collect();
    assert_eq!(paths, ["README.md", "content/docs/a.md", "content/run.sh"]);
    assert_eq!(files.read("content/docs/a.md").as_deref(), Some(&b"# A\n"[..]));
    assert_eq!((files.read("content/out"), files.read("nothing")), (None, None));
    repository.complete_files(&base).unwrap();
}

#[test]
fn nothing_is_written_through_a_link_or_over_a_folder() {
    let bare = Bare::new();
    let (repository, _, base) = bare.open();
    for path in ["content/out/passwd", "content/out", "README.md/x.md", "content/docs"] {
        let refused = repository.write_tree(&base, &[(path, b"x")]);
        assert!(
            matches!(&refused, Err(SiteError::Blocked(at)) if path.starts_with(at.as_str())),
            "{path}: {refused:?}"
        );
    }
}

#[test]
fn a_branch_is_created_once() {
    let bare = Bare::new();
    let (repository, commit, base) = bare.open();
    let tree = repository.write_tree(&base, &[("content/x.md", b"x")]).unwrap();
    let new = NewCommit { tree: &tree, parent: &commit, name: "n", email: "e", time_s: 1, message: "m" };
    let other = repository.write_commit(&new).unwrap();
    let made: Vec<BranchCreated> = std::thread::scope(|scope| {
        let attempts: Vec<_> = [&commit, &other, &commit, &other]
            .into_iter()
            .map(|commit| {
                let path = bare.path();
                scope.spawn(move || {
                    SiteRepository::open(&path).unwrap().create_branch("launch/r/x", commit).unwrap()
                })
            })
            .collect();
        attempts.into_iter().map(|attempt| attempt.join().unwrap()).collect()
    });
    assert_eq!(made.iter().filter(|made| **made == BranchCreated::New).count(), 1, "{made:?}");
    let head = bare.read(&["rev-parse", "launch/r/x"]);
    assert!(
        made.iter()
            .all(|made| matches!(made, BranchCreated::New) || *made == BranchCreated::Exists(head.clone()))
    );
    bare.read(&["pack-refs", "--all"]);
    assert_eq!(repository.create_branch("launch/r/x", &commit).unwrap(), BranchCreated::Exists(head));
    assert_eq!(bare.read(&["for-each-ref", "--format=%(refname)"]), "refs/heads/launch/r/x\nrefs/heads/main");
}

#[test]
fn a_missing_object_is_noticed() {
    let bare = Bare::new();
    let (repository, _, base) = bare.open();
    let tree = repository.write_tree(&base, &[("content/x.md", b"unique\n")]).unwrap();
    repository.complete_files(&tree).unwrap();
    let blob = bare.read(&["rev-parse", &format!("{tree}:content/x.md")]);
    fs::remove_file(bare.path().join("objects").join(&blob[..2]).join(&blob[2..])).unwrap();
    assert!(matches!(repository.complete_files(&tree), Err(SiteError::Damaged(_))));
    assert!(matches!(repository.files(&"0".repeat(40)), Err(SiteError::Damaged(_))));
    assert!(matches!(repository.tree_of("nonsense"), Err(SiteError::Damaged(_))));
}

#[test]
fn directories_other_than_bare_repositories_are_refused() {
    let bare = Bare::new();
    for path in [bare.folder.path().join("work"), bare.folder.path().join("absent")] {
        assert!(
            matches!(SiteRepository::open(&path), Err(SiteError::NotRepository(_))),
            "{}",
            path.display()
        );
    }
    assert_eq!(SiteRepository::open(&bare.path()).unwrap().branch("absent").unwrap(), None);
}

/// Writes a tree of folders that contain one another: a few objects that represent more folders than can ever be visited.
fn folder_bomb(bare: &Bare) -> String {
    let objects = gix::odb::loose::Store::at(bare.path().join("objects"), gix::hash::Kind::Sha1);
    let mut id = ObjectId::empty_tree(gix::hash::Kind::Sha1);
    for _ in 0..10 {
        let mut bytes = Vec::new();
        for number in 0..100 {
            bytes.extend_from_slice(format!("40000 d{number:02}\0").as_bytes());
            bytes.extend_from_slice(id.as_bytes());
        }
        id = objects.write_buf(ObjectKind::Tree, &bytes).unwrap();
    }
    id.to_hex().to_string()
}

#[test]
fn folders_without_files_count_too() {
    let bare = Bare::new();
    let (repository, _, base) = bare.open();
    let bomb = folder_bomb(&bare);
    assert!(matches!(repository.files(&bomb), Err(SiteError::TooLarge)));
    assert!(matches!(repository.complete_files(&bomb), Err(SiteError::TooLarge)));
    assert!(matches!(repository.changed_paths(&base, &bomb, 10_000), Err(SiteError::TooLarge)));
}

#[test]
fn an_object_that_cannot_be_written_is_not_lost() {
    let bare = Bare::new();
    bare.read(&["gc", "--quiet"]);
    let (repository, commit, base) = bare.open();
    let files: [(&str, &[u8]); 1] = [("content/x.md", b"unique\n")];
    let tree = repository.write_tree(&base, &files).unwrap();
    let blob = bare.read(&["rev-parse", &format!("{tree}:content/x.md")]);
    let in_the_way = |id: &str| {
        let folder = bare.path().join("objects").join(&id[..2]);
        fs::remove_dir_all(&folder).unwrap();
        fs::write(&folder, "").unwrap();
        folder
    };
    // A file in place of the object's folder makes writing fail, as on a full disk.
    let folder = in_the_way(&blob);
    assert!(matches!(repository.write_tree(&base, &files), Err(SiteError::Io(_))));
    fs::remove_file(folder).unwrap();
    assert_eq!(repository.write_tree(&base, &files).unwrap(), tree);
    let new = NewCommit { tree: &tree, parent: &commit, name: "n", email: "e", time_s: 1, message: "m" };
    let written = repository.write_commit(&new).unwrap();
    in_the_way(&written);
    assert!(matches!(repository.write_commit(&new), Err(SiteError::Io(_))));
}

#[test]
fn a_branch_above_or_below_is_reported() {
    let bare = Bare::new();
    let (repository, commit, _) = bare.open();
    let create = |name: &str| repository.create_branch(name, &commit).unwrap();
    for is_packed in [false, true] {
        bare.read(&["branch", "launch", "main"]);
        bare.read(&["branch", "shop/r/x/old", "main"]);
        if is_packed {
            bare.read(&["pack-refs", "--all"]);
        }
        let blocked = |name: &str| BranchCreated::Blocked(name.to_owned());
        assert_eq!(create("launch/r/x"), blocked("launch"), "packed: {is_packed}");
        assert_eq!(create("shop/r/x"), blocked("shop/r/x/old"), "packed: {is_packed}");
        assert_eq!(repository.conflicting_branch("launchpad/r/x").unwrap(), None, "only whole parts count");
        assert_eq!(repository.conflicting_branch("shop/r/x/older").unwrap(), None);
        bare.read(&["branch", "--delete", "--force", "launch", "shop/r/x/old"]);
    }
    assert_eq!(create("launch/r/x"), BranchCreated::New);
}

#[test]
fn changed_files_have_the_modes_and_ids_of_git() {
    let bare = Bare::new();
    let (repository, _, base) = bare.open();
    let changes: [(&str, &[u8]); 2] = [("content/docs/new.md", b"# New\n"), ("content/run.sh", b"exit\n")];
    let tree = repository.write_tree(&base, &changes).unwrap();
    let paths = repository.changed_paths(&base, &tree, 10).unwrap();
    let files = repository.changed_files(&base, &tree, &paths).unwrap();
    let seen: Vec<(&str, bool, bool)> =
        files.iter().map(|file| (file.path.as_str(), file.is_executable, file.is_new)).collect();
    assert_eq!(seen, [("content/docs/new.md", false, true), ("content/run.sh", true, false)]);
    for file in &files {
        assert_eq!(bare.read(&["rev-parse", &format!("{tree}:{}", file.path)]), file.id);
        assert_eq!(bare.read(&["cat-file", "blob", &file.id]).as_bytes(), file.content.trim_ascii_end());
    }
    for path in ["README.md/x", "gone.md", "content", "content/out"] {
        let refused = repository.changed_files(&base, &tree, &[path.to_owned()]);
        assert!(matches!(refused, Err(SiteError::Blocked(_))), "{path}: {refused:?}");
    }
    let listed: String = repository
        .root_entries(&tree)
        .unwrap()
        .iter()
        .map(|entry| format!("{} {} {}\n", entry.mode, entry.id, entry.name))
        .collect();
    let shown = bare.read(&["ls-tree", "--format=%(objectmode) %(objectname) %(path)", &tree]);
    assert_eq!(listed.trim_end(), shown);
}
