//! Branches and tags beside the default branch.

use std::fs::File;

use super::*;
use history::{REVISIONS_MAX, RevisionKind};

/// The names and commits of revisions.
fn named(fetched: &Fetched) -> Vec<(&str, &str)> {
    fetched.revisions.iter().map(|revision| (revision.name.as_str(), revision.commit.as_str())).collect()
}

fn has_note(fetched: &Fetched, part: &str) -> bool {
    fetched.notes.iter().any(|note| note.contains(part))
}

impl Fixture {
    /// Commits to a new branch, and returns to the default branch.
    fn commit_to(&self, branch: &str, path: &str, text: &str) -> String {
        self.git("switch", &["--quiet", "--create", branch]);
        let commit = self.commit(path, text);
        self.git("switch", &["--quiet", "main"]);
        commit
    }

    /// Returns the commits of the mirror's references for revisions, as git reads them.
    fn kept(&self) -> Vec<String> {
        let git_dir = format!("--git-dir={}", self.mirrors.git_dir(&self.address()).display());
        let arguments = ["for-each-ref", "--format=%(objectname)", "refs/pairofcleats/revisions"];
        let mut commits: Vec<String> = self.git(&git_dir, &arguments).lines().map(str::to_owned).collect();
        commits.sort();
        commits
    }
}

#[test]
fn matching_branches_and_tags_are_fetched() {
    let fixture = Fixture::new();
    let first = fixture.commit("a.rs", "one");
    fixture.git("tag", &["v1"]);
    let second = fixture.commit("a.rs", "two");
    fixture.git("tag", &["--annotate", "--message=Two", "v2"]);
    let released = fixture.commit_to("release/1", "r.rs", "released");
    fixture.commit_to("topic", "t.rs", "topic");
    let main = fixture.commit("a.rs", "three");
    let fetched = fixture.fetch_matching(&["release/*", "v*", "main"]).unwrap();
    assert_eq!(fetched.head, Head { branch: Some("main".to_owned()), commit: main.clone() });
    assert_eq!(
        named(&fetched),
        [("release/1", released.as_str()), ("v2", second.as_str()), ("v1", first.as_str())]
    );
    let kinds: Vec<RevisionKind> = fetched.revisions.iter().map(|revision| revision.kind).collect();
    assert_eq!(kinds, [RevisionKind::Branch, RevisionKind::Tag, RevisionKind::Tag]);
    assert_eq!(fetched.notes, [""; 0]);
    assert_eq!(fixture.read(&released, "r.rs").as_deref(), Some("released"));
    let mut expected = vec![released, second.clone(), first];
    expected.sort();
    assert_eq!(fixture.kept(), expected);
    // Without patterns, only the default branch is fetched; objects fetched for others stay.
    let alone = fixture.fetch().unwrap();
    assert_eq!((&alone.head.commit, named(&alone)), (&main, Vec::new()));
    assert_eq!(fixture.read(&second, "a.rs").as_deref(), Some("two"));
}

#[test]
fn branches_that_were_set_back_or_deleted_are_followed() {
    let fixture = Fixture::new();
    let first = fixture.commit("a.rs", "one");
    let old = fixture.commit_to("release/1", "r.rs", "old");
    let patterns = ["release*"];
    assert_eq!(named(&fixture.fetch_matching(&patterns).unwrap()), [("release/1", old.as_str())]);
    fixture.git("branch", &["--quiet", "-D", "release/1"]);
    let new = fixture.commit_to("release/1", "r.rs", "new");
    assert_eq!(named(&fixture.fetch_matching(&patterns).unwrap()), [("release/1", new.as_str())]);
    assert_eq!(fixture.read(&old, "r.rs").as_deref(), Some("old"), "a run may still read it");
    fixture.git("branch", &["--force", "release/1", &first]);
    assert_eq!(named(&fixture.fetch_matching(&patterns).unwrap()), [("release/1", first.as_str())]);
    assert_eq!(fixture.kept(), [first.as_str()]);
    fixture.git("branch", &["-D", "release/1"]);
    let gone = fixture.fetch_matching(&patterns).unwrap();
    assert!(named(&gone).is_empty());
    assert!(has_note(&gone, "`release*`"), "{:?}", gone.notes);
    // A folder of branches becomes a branch.
    let folder = fixture.commit_to("release", "r.rs", "folder");
    assert_eq!(named(&fixture.fetch_matching(&patterns).unwrap()), [("release", folder.as_str())]);
}

#[test]
fn tags_of_files_and_folders_are_left_out() {
    let fixture = Fixture::new();
    let commit = fixture.commit("a.rs", "one");
    let blob = fixture.git("hash-object", &["-w", "a.rs"]);
    fixture.git("tag", &["v-file", &blob]);
    fixture.git("tag", &["--annotate", "--message=Folder", "v-folder", "HEAD^{tree}"]);
    fixture.git("tag", &["--annotate", "--message=Commit", "v-commit"]);
    fixture.git("tag", &["--annotate", "--message=Again", "v-tag", "v-commit"]);
    let fetched = fixture.fetch_matching(&["v-*"]).unwrap();
    assert_eq!(named(&fetched), [("v-tag", commit.as_str()), ("v-commit", commit.as_str())]);
    assert!(has_note(&fetched, "`v-file`") && has_note(&fetched, "`v-folder`"), "{:?}", fetched.notes);
    assert_eq!(fetched.notes.len(), 2);
}

#[test]
fn names_that_are_options_or_do_not_fit_a_file_harm_nothing() {
    let fixture = Fixture::new();
    let commit = fixture.commit("a.rs", "one");
    for name in ["-x", "--upload-pack=touch", "a/-b", "Good", "good"] {
        fixture.git("update-ref", &[&format!("refs/heads/{name}"), &commit]);
    }
    // The longest possible name, without room for the ending of a lock.
    let long = "x".repeat(255);
    let packed = format!("# pack-refs with: peeled fully-peeled \n{commit} refs/heads/{long}\n");
    fs::write(fixture.source().join(".git/packed-refs"), packed).unwrap();
    let fetched = fixture.fetch_matching(&["*"]).unwrap();
    let names: Vec<&str> = named(&fetched).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["Good", "good", &long]);
    assert_eq!(fetched.notes, ["3 branches or tags were left out, because their names cannot be used."]);
    assert_eq!(fetched.head.commit, commit);
}

#[test]
fn no_more_than_the_limit_are_fetched() {
    let fixture = Fixture::new();
    let commit = fixture.commit("a.rs", "one");
    for minor in 0..70 {
        fs::write(fixture.source().join(format!(".git/refs/tags/v1.{minor}")), format!("{commit}\n"))
            .unwrap();
    }
    let fetched = fixture.fetch_matching(&["v*"]).unwrap();
    assert_eq!(fetched.revisions.len(), REVISIONS_MAX);
    assert_eq!((named(&fetched)[0].0, named(&fetched)[62].0), ("v1.69", "v1.7"));
    assert!(has_note(&fetched, "70 branches and tags match"), "{:?}", fetched.notes);
    assert_eq!(fixture.kept().len(), REVISIONS_MAX);
}

#[test]
fn references_that_are_not_fetched_are_removed_after_a_week() {
    let fixture = Fixture::new();
    fixture.commit("a.rs", "one");
    let ours = fixture.commit_to("ours", "b.rs", "ours");
    let theirs = fixture.commit_to("theirs", "b.rs", "theirs");
    fixture.fetch_matching(&["ours"]).unwrap();
    // Another project has other patterns.
    fixture.fetch_matching(&["theirs"]).unwrap();
    let mut both = vec![ours, theirs.clone()];
    both.sort();
    assert_eq!(fixture.kept(), both);
    let folder = fixture.mirrors.git_dir(&fixture.address()).join("refs/pairofcleats/revisions");
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let file = File::options().write(true).open(entry.path()).unwrap();
        let written_at = file.metadata().unwrap().modified().unwrap();
        file.set_modified(written_at - Duration::from_secs(8 * 24 * 60 * 60)).unwrap();
    }
    fixture.fetch_matching(&["theirs"]).unwrap();
    assert_eq!(fixture.kept(), [theirs]);
}

#[test]
fn a_branch_that_vanishes_during_a_fetch_does_not_hold_up_the_default_branch() {
    let mut fixture = Fixture::new();
    fixture.commit("a.rs", "one");
    fixture.commit_to("vanishing", "b.rs", "two");
    let stays = fixture.commit_to("stays", "b.rs", "three");
    let removal = format!(
        "if [ \"$1\" = fetch ]; then (unset GIT_DIR; git -C '{}' update-ref -d refs/heads/vanishing) >/dev/null 2>&1; fi",
        fixture.source().display()
    );
    fixture.run_before_git(&removal);
    let patterns = ["vanishing", "stays"];
    let first = fixture.fetch_matching(&patterns).unwrap();
    assert_eq!(fixture.read(&first.head.commit, "a.rs").as_deref(), Some("one"));
    assert!(has_note(&first, "`vanishing`"), "{:?}", first.notes);
    let second = fixture.fetch_matching(&patterns).unwrap();
    assert_eq!(named(&second), [("stays", stays.as_str())]);
    assert!(has_note(&second, "No branch or tag matches the pattern `vanishing`"), "{:?}", second.notes);
}

#[test]
fn a_list_without_end_is_read_up_to_a_limit() {
    let fixture = Fixture::new();
    let commit = fixture.commit("a.rs", "one");
    let good = fixture.commit_to("good", "b.rs", "two");
    let mut packed = "# pack-refs with: peeled fully-peeled sorted \n".to_owned();
    for number in 0..60_000 {
        packed.push_str(&format!("{commit} refs/tags/{number:0>240}\n"));
    }
    assert!(packed.len() > 17_000_000, "more than is read");
    fs::write(fixture.source().join(".git/packed-refs"), packed).unwrap();
    let fetched = fixture.fetch_matching(&["good", "*59999"]).unwrap();
    assert_eq!(fetched.head.commit, commit);
    assert_eq!(named(&fetched), [("good", good.as_str())]);
    assert!(has_note(&fetched, "Only the first 16 MiB"), "{:?}", fetched.notes);
    let list = fixture.mirrors.git_dir(&fixture.address()).with_extension(LIST_ENDING);
    assert!(!list.exists());
    // The default branch alone needs no list.
    assert_eq!(fixture.fetch().unwrap().notes, [""; 0]);
}
