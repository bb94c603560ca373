//! Git hooks: they refresh the index after a commit and never overwrite existing hooks unasked.

use std::process::{Command, Output, Stdio};

use super::wait_for;
use crate::harness::{PROGRAM, Repository, app, git, home, project};

fn hook(arguments: &[&str]) -> Output {
    Command::new(PROGRAM)
        .arg("hook")
        .args(arguments)
        .env("PAIROFCLEATS_HOME", home())
        .env_remove("DATABASE_URL")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_refreshes_the_index_in_the_background() {
    let (repository, project) =
        (Repository::new(&[("a.py", "def one_hook():\n    return 1\n")]), project("hook"));
    git(repository.path(), &["init", "--quiet", "--initial-branch=main"]);
    let root = repository.root();
    let installed = hook(&["--install", &root, "--project", &project]);
    assert!(installed.status.success(), "{}", String::from_utf8_lossy(&installed.stderr));
    git(repository.path(), &["add", "--all"]);
    git(repository.path(), &["commit", "--quiet", "--message", "one"]);
    let app = app();
    wait_for(&app, &project, "one_hook", &["a.py"]).await;
    git(repository.path(), &["checkout", "--quiet", "-b", "other"]);
    repository.write("sub/b.py", "def two_hooks():\n    return 1\n");
    git(repository.path(), &["add", "--all"]);
    git(&repository.path().join("sub"), &["commit", "--quiet", "--message", "two"]);
    wait_for(&app, &project, "two_hooks", &["sub/b.py"]).await;
    git(repository.path(), &["checkout", "--quiet", "main"]);
    wait_for(&app, &project, "two_hooks", &[]).await;
    git(repository.path(), &["merge", "--quiet", "other"]);
    wait_for(&app, &project, "two_hooks", &["sub/b.py"]).await;
}

#[test]
fn existing_hooks_are_kept_unless_forced() {
    let repository = Repository::new(&[("a.py", "x = 1\n")]);
    git(repository.path(), &["init", "--quiet"]);
    let (root, existing) = (repository.root(), "#!/bin/sh\necho theirs\n");
    let hook_path = |name: &str| repository.path().join(".git/hooks").join(name);
    let _ = std::fs::create_dir_all(hook_path(""));
    std::fs::write(hook_path("post-merge"), existing).unwrap();
    let refused = hook(&["--install", &root]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("post-merge"));
    assert!(!hook_path("post-commit").exists(), "nothing was written");
    assert!(hook(&["--install", &root, "--force"]).status.success());
    assert_eq!(std::fs::read_to_string(hook_path("post-merge.before-pairofcleats")).unwrap(), existing);
    let printed = String::from_utf8(hook(&[]).stdout).unwrap();
    assert_eq!(
        std::fs::read_to_string(hook_path("post-merge")).unwrap(),
        printed,
        "the installed hook is the printed one"
    );
    assert!(hook(&["--install", &root]).status.success(), "our own hooks are replaced");
    let elsewhere = tempfile::tempdir().unwrap();
    let no_repository = hook(&["--install", &elsewhere.path().to_string_lossy()]);
    assert_eq!(no_repository.status.code(), Some(1));
    assert_eq!(hook(&["--project", "Not_One"]).status.code(), Some(1));
    assert_eq!(hook(&["--force"]).status.code(), Some(2), "there is nothing to replace");
}
