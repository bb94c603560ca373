//! Tests of the limit of all mirrors together, and of when git runs at all.

use super::*;
use history::CommitWriter;

/// Text that does not compress to less than 100,000 bytes.
fn noise() -> String {
    (0..10_000u32).map(|n| blake3::hash(&n.to_le_bytes()).to_hex().to_string()).collect()
}

/// Another repository whose mirror is in the same folder, with this limit.
fn neighbour(fixture: &Fixture, mirrors_bytes_max: u64) -> Fixture {
    let mut other = Fixture::new();
    let settings = config::Git { mirrors_bytes_max, ..fixture.mirrors.settings.clone() };
    other.mirrors = Mirrors::new(fixture.mirrors.folder.clone(), settings, DiskSpace::default());
    other
}

fn assert_refused(fetched: Result<Fetched, Fault>) {
    let fault = fetched.unwrap_err();
    assert_eq!(fault.code, ErrorCode::InvalidRequest, "{fault}");
    assert!(fault.message.contains("git.mirrors_bytes_max"), "{fault}");
    assert!(fault.hint.is_some_and(|hint| hint.contains("cache_gc")));
}

#[test]
fn mirrors_together_have_a_limit() {
    let mut fixture = Fixture::new();
    let first = fixture.commit("a.txt", &noise());
    let git_dir = fixture.fetch().unwrap().git_dir;
    let bytes = size_of(&git_dir);
    assert!(bytes > 100_000, "{bytes}");

    // Refused before anything is fetched.
    let full = neighbour(&fixture, bytes - 1);
    full.commit("b.rs", "two");
    assert_refused(full.fetch());
    assert!(!full.mirrors.git_dir(&full.address()).exists());
    // Refused when it turns out to be too large.
    let large = neighbour(&fixture, bytes + 100_000);
    large.commit("b.txt", &noise());
    assert_refused(large.fetch());
    assert!(!large.mirrors.git_dir(&large.address()).exists(), "what does not fit is removed");
    // With room for it, it is fetched.
    let small = neighbour(&fixture, bytes + 100_000);
    small.commit("b.rs", "two");
    small.fetch().unwrap();

    // Existing mirrors need no room, and stay when a new one is refused.
    fixture.mirrors.settings.mirrors_bytes_max = bytes;
    assert_eq!(fixture.fetch().unwrap().head.commit, first);
    fixture.commit("c.rs", "three");
    assert_refused(fixture.fetch());
    assert_eq!(fixture.mirrors.last_commit(&fixture.address()), Some(first.clone()));
    assert!(CommitTree::open(&git_dir, &first).is_ok_and(|tree| tree.root().is_ok()));
}

#[test]
fn what_a_mirror_takes_in_beside_what_it_has_is_checked_at_the_end() {
    let mut fixture = Fixture::new();
    fixture.commit("a.rs", "one");
    let git_dir = fixture.fetch().unwrap().git_dir;
    fixture.mirrors.settings.mirrors_bytes_max = size_of(&git_dir) + 50_000;
    fixture.commit("b.txt", &noise());
    assert_refused(fixture.fetch());
    assert!(git_dir.exists());
}

#[test]
fn mirrors_of_archives_count() {
    let fixture = Fixture::new();
    fixture.commit("a.rs", "one");
    let objects = fixture.mirrors.folder.join("archives/0123.git/objects/ab");
    fs::create_dir_all(&objects).unwrap();
    fs::write(objects.join("cd"), vec![1; 200_000]).unwrap();
    let full = neighbour(&fixture, 150_000);
    full.commit("b.rs", "two");
    assert_refused(full.fetch());
    fs::remove_dir_all(objects).unwrap();
    full.fetch().unwrap();
}

#[test]
fn a_tag_whose_folder_is_too_large_is_fetched_once() {
    let mut fixture = Fixture::new();
    fixture.commit("a.rs", "one");
    // More entries than are read of one folder.
    let large = fixture.folder.path().join("large.git");
    let mut writer = CommitWriter::create(&large).unwrap();
    writer.add_file(b"0", 1, &mut &b"x"[..]).unwrap();
    for number in 1..=250_000 {
        assert!(writer.add_copy(number.to_string().as_bytes(), b"0"));
    }
    writer.finish(&|| Ok(())).unwrap();
    let refspec = "refs/heads/pairofcleats:refs/tags/v-large";
    fixture.git("fetch", &["--quiet", large.to_str().unwrap(), refspec]);
    let file = fixture.folder.path().join("commands");
    fixture.run_before_git(&format!("echo \"$1\" >> '{}'", file.display()));
    for expected in [&["version", "ls-remote", "init", "fetch"][..], &["ls-remote"]] {
        let fetched = fixture.fetch_matching(&["v-*"]).unwrap();
        assert_eq!(commands(&file), expected);
        assert!(fetched.revisions.is_empty());
        assert_eq!(
            fetched.notes,
            [
                "The tag `v-large` was left out, because its commit or its topmost folder is too large or malformed."
            ]
        );
    }
}

#[test]
fn what_a_fetch_that_was_killed_left_is_removed() {
    let fixture = Fixture::new();
    fixture.commit("a.rs", "one");
    let git_dir = fixture.fetch().unwrap().git_dir;
    let beside = git_dir.with_extension(FRESH_ENDING);
    fs::create_dir_all(beside.join("objects/pack")).unwrap();
    fs::write(beside.join("objects/pack/tmp_pack_1"), "half of it").unwrap();
    fixture.fetch().unwrap();
    assert!(!beside.exists() && git_dir.exists());
}

/// Returns the commands of git in the file that a script wrote them to, and empties the file.
fn commands(file: &Path) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap();
    fs::remove_file(file).unwrap();
    text.lines().filter(|command| !command.starts_with('-')).map(str::to_owned).collect()
}

#[test]
fn git_is_asked_for_its_version_once_and_fetches_only_what_is_new() {
    let mut fixture = Fixture::new();
    fixture.commit("a.rs", "one");
    let blob = fixture.git("hash-object", &["-w", "a.rs"]);
    fixture.git("tag", &["v1"]);
    fixture.git("tag", &["v-blob", &blob]);
    let file = fixture.folder.path().join("commands");
    let program = fixture.run_before_git(&format!("echo \"$1\" >> '{}'", file.display()));
    fixture.fetch_matching(&["v*"]).unwrap();
    assert_eq!(commands(&file), ["version", "ls-remote", "init", "fetch"]);
    let again = fixture.fetch_matching(&["v*"]).unwrap();
    assert_eq!(again.revisions.len(), 1);
    assert_eq!(commands(&file), ["ls-remote"]);
    // A tag of a commit that the mirror has is nothing new for git.
    fixture.git("tag", &["v2"]);
    assert_eq!(fixture.fetch_matching(&["v*"]).unwrap().revisions.len(), 2);
    assert_eq!(commands(&file), ["ls-remote"]);
    fixture.git("switch", &["--quiet", "--create", "v3"]);
    fixture.commit("b.rs", "two");
    fixture.git("switch", &["--quiet", "main"]);
    assert_eq!(fixture.fetch_matching(&["v*"]).unwrap().revisions.len(), 3);
    assert_eq!(commands(&file), ["ls-remote", "fetch"]);
    // A missing program is not mistaken for an answer of the host.
    fs::remove_file(program).unwrap();
    assert_eq!(fixture.fetch().unwrap_err().code, ErrorCode::ToolchainMissing);
}
