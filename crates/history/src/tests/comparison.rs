//! Positions of commits in the history, and the files of HEAD.

use super::*;

impl Repo {
    /// Writes one file and commits; returns the id of the commit.
    fn commit_file(&self, path: &str, text: &str) -> String {
        self.write(path, text);
        self.commit("Ann");
        self.head().unwrap().commit
    }
}

#[test]
fn positions_count_from_head() {
    let repo = Repo::new();
    let [first, second] = ["one\n", "two\n"].map(|text| repo.commit_file("a.rs", text));
    repo.git(&["switch", "--quiet", "--create", "side"]);
    let side = repo.commit_file("side.rs", "side\n");
    repo.git(&["switch", "--quiet", "main"]);
    let third = repo.commit_file("a.rs", "three\n");
    let unknown = "0123456789".repeat(4);
    let asked = [third.as_str(), &side, &second, &first, &unknown, "not a commit"];
    assert_eq!(
        repo.open().positions(&asked, &limits()),
        [Some(0), None, Some(1), Some(2), None, None],
        "a branch that was not merged is no part of the history"
    );
    repo.merge("Ann", &["side"]);
    assert_eq!(
        repo.open().positions(&asked, &limits()),
        [Some(1), Some(2), Some(3), Some(4), None, None],
        "newest first"
    );
    let few = Limits { commits_max: 2, ..limits() };
    assert_eq!(repo.open().positions(&asked, &few), [Some(1), None, None, None, None, None]);
    let no_time = Limits { time: Duration::ZERO, ..limits() };
    assert_eq!(repo.open().positions(&[&third], &no_time), [None]);
    assert_eq!(Repo::new().open().positions(&[&third], &limits()), [None], "there is no commit");
}

#[test]
fn files_of_head_are_those_that_were_committed() {
    let repo = Repo::new();
    assert!(repo.open().committed_files().is_none());
    repo.write("src/deep/b.rs", "deep\n");
    repo.commit_file("a.rs", "committed\n");
    repo.write("a.rs", "changed\n");
    repo.write("untracked.rs", "new\n");
    let history = repo.open();
    let files = history.committed_files().unwrap();
    assert_eq!(files.read("a.rs", 100).as_deref(), Some("committed\n".as_bytes()));
    assert_eq!(files.read("a.rs", 3), None, "it is too large");
    assert_eq!((files.read("untracked.rs", 100), files.contains("untracked.rs")), (None, false));
    assert!(files.contains("src/deep/b.rs"));
    assert_eq!(files.into_paths().collect::<Vec<_>>(), ["a.rs", "src/deep/b.rs"]);

    let below = History::open(&repo.path.join("src")).unwrap();
    let files = below.committed_files().unwrap();
    assert_eq!(files.read("deep/b.rs", 100).as_deref(), Some("deep\n".as_bytes()));
    assert_eq!(files.into_paths().collect::<Vec<_>>(), ["deep/b.rs"]);
}
