//! A server that watches: every kind of change is found, masses of them cost few runs, noise costs none.

use contract::config::{Indexed, Watched};

use super::{Keeper, content, git, index, wait_for, wait_until};
use crate::harness::{Repository, app, project};

fn function(name: &str) -> String {
    format!("def {name}(value):\n    return value + 1\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_change_reaches_the_search() {
    let (repository, project) = (Repository::new(&[("a.py", &function("first_word"))]), project("watch"));
    let keeper = Keeper::watching(&repository.root(), &project, |_| {});
    let see = async |word: &str, files: &[&str]| wait_for(keeper.app(), &project, word, files).await;
    see("first_word", &["a.py"]).await;
    repository.write("a.py", &function("second_word"));
    see("second_word", &["a.py"]).await;
    see("first_word", &[]).await;
    repository.write("new/deep/b.py", &function("third_word"));
    see("third_word", &["new/deep/b.py"]).await;
    repository.write("new/deep/c.py", &function("fourth_word"));
    see("fourth_word", &["new/deep/c.py"]).await;
    std::fs::rename(repository.path().join("new"), repository.path().join("moved")).unwrap();
    see("third_word", &["moved/deep/b.py"]).await;
    repository.write("moved/deep/d.py", &function("fifth_word"));
    see("fifth_word", &["moved/deep/d.py"]).await;
    repository.remove("a.py");
    see("second_word", &[]).await;
    assert_eq!(keeper.metric("pairofcleats_watch_repositories"), 1);
    assert_eq!(keeper.metric("pairofcleats_watch_polling"), 0);
    assert!(keeper.metric("pairofcleats_watch_events_total") > 6);
    assert_eq!(keeper.runs("status=\"ok\""), keeper.runs("trigger=\"watch\""), "no run failed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_switch_ends_where_a_first_run_would() {
    let (repository, project, other) = (Repository::new(&[]), project("branch"), project("scratch"));
    for n in 0..120 {
        repository.write(&format!("src/part_{n}/old_{n}.py"), &function(&format!("on_main_{n}")));
    }
    let run = |arguments: &[&str]| git(repository.path(), arguments);
    run(&["init", "--quiet", "--initial-branch=main"]);
    run(&["add", "--all"]);
    run(&["commit", "--quiet", "--message", "one"]);
    run(&["checkout", "--quiet", "-b", "trial"]);
    for n in 0..120 {
        if n % 3 == 0 {
            repository.remove(&format!("src/part_{n}/old_{n}.py"));
        }
        repository.write(&format!("lib/new_{n}.py"), &function(&format!("on_trial_{n}")));
    }
    run(&["add", "--all"]);
    run(&["commit", "--quiet", "--message", "two"]);
    run(&["checkout", "--quiet", "main"]);

    let keeper = Keeper::watching(&repository.root(), &project, |_| {});
    wait_for(keeper.app(), &project, "on_main_3", &["src/part_3/old_3.py"]).await;
    keeper.quiet().await;
    run(&["checkout", "--quiet", "trial"]);
    wait_for(keeper.app(), &project, "on_trial_119", &["lib/new_119.py"]).await;
    keeper.quiet().await;
    let fresh = app();
    let scratch = index(&fresh, &repository.root(), &other).await;
    let kept = index(&fresh, &repository.root(), &project).await;
    assert_eq!(kept["report"]["filesChanged"], 0, "the watch left nothing to do: {kept:#}");
    let [scratch, kept] = [scratch, kept].map(|answer| answer["schema_name"].as_str().unwrap().to_owned());
    let expected = content(&scratch).await;
    assert!(expected.contains("lib/new_7.py") && !expected.contains("old_3.py"), "{expected}");
    assert_eq!(content(&kept).await, expected);

    // A commit changes no file, but who wrote what.
    let before = keeper.quiet().await;
    run(&["commit", "--quiet", "--allow-empty", "--message", "three"]);
    wait_until("a run after the commit", async || keeper.runs("") > before).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mass_change_costs_few_runs() {
    let (repository, project) = (Repository::new(&[("a.py", &function("before"))]), project("mass"));
    let keeper = Keeper::watching(&repository.root(), &project, |_| {});
    wait_for(keeper.app(), &project, "before", &["a.py"]).await;
    let before = keeper.quiet().await;
    for n in 0..3000 {
        repository.write(&format!("mass/{}/file_{n}.txt", n % 40), &format!("mass number_{n}\n"));
    }
    wait_for(keeper.app(), &project, "number_2999", &["mass/39/file_2999.txt"]).await;
    wait_for(keeper.app(), &project, "number_0", &["mass/0/file_0.txt"]).await;
    let runs = keeper.quiet().await - before;
    assert!((1..=15).contains(&runs), "{runs} runs for 3,000 files");
    let left = index(keeper.app(), &repository.root(), &project).await;
    assert_eq!(left["report"]["filesChanged"], 0, "{left:#}");
    assert_eq!(left["report"]["files"], 3001, "{left:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_burst_is_one_change_and_noise_is_none() {
    let files = [(".gitignore", "*.log\nbuild/\n"), ("a.py", "x = 1\n"), ("node_modules/m/i.js", "1\n")];
    let (repository, project) = (Repository::new(&files), project("burst"));
    // Longer than the burst takes on any machine that is worth testing on.
    let keeper = Keeper::watching(&repository.root(), &project, |config| {
        config.freshness.debounce_ms = 1000;
        config.freshness.debounce_max_ms = 60_000;
    });
    wait_until("the first run", async || keeper.runs("") == 1).await;
    keeper.quiet().await;
    for n in 0..200 {
        repository.write("a.py", &function(&format!("burst_{n}")));
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    wait_for(keeper.app(), &project, "burst_199", &["a.py"]).await;
    assert_eq!(keeper.quiet().await, 2, "200 writes are one change");

    let heard = keeper.metric("pairofcleats_watch_events_total");
    for n in 0..20 {
        repository.write("noise.log", &format!("{n}"));
        repository.write(&format!("build/out_{n}.py"), &function("built"));
        repository.write(&format!("node_modules/m/{n}.js"), "2\n");
    }
    wait_until("the noise to be heard", async || keeper.metric("pairofcleats_watch_events_total") > heard)
        .await;
    assert_eq!(keeper.quiet().await, 2, "what the walk leaves out leads to no run");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_fails_does_not_end_the_watch() {
    let (repository, project) = (Repository::new(&[("keep.py", &function("kept_word"))]), project("guard"));
    let names: Vec<String> = (0..8).map(|n| format!("part_{n}.py")).collect();
    names.iter().for_each(|name| repository.write(name, &function("part_word")));
    let keeper = Keeper::watching(&repository.root(), &project, |config| {
        config.indexing.delete_guard_files = 3;
    });
    wait_for(keeper.app(), &project, "kept_word", &["keep.py"]).await;
    names.iter().for_each(|name| repository.remove(name));
    wait_until("the refusal", async || keeper.runs("ILLEGAL_STATE") > 0).await;
    let refused = keeper.quiet().await;
    assert_eq!(super::found(keeper.app(), &project, "part_word").await.len(), 8, "nothing was removed");
    names.iter().for_each(|name| repository.write(name, &function("new_word")));
    wait_until("the new files", async || super::found(keeper.app(), &project, "new_word").await.len() == 8)
        .await;
    assert!(keeper.quiet().await > refused);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_that_cannot_be_watched_and_a_root_that_vanishes_are_looked_for() {
    let (repository, project) = (Repository::new(&[("a/x.py", &function("one_word"))]), project("polled"));
    let keeper =
        Keeper::watching(&repository.root(), &project, |config| config.freshness.directories_max = 1);
    wait_for(keeper.app(), &project, "one_word", &["a/x.py"]).await;
    wait_until("a limit to be told", async || keeper.metric("pairofcleats_watch_polling") == 1).await;
    repository.write("a/y.py", &function("two_words"));
    wait_for(keeper.app(), &project, "two_words", &["a/y.py"]).await;

    let away = repository.path().with_extension("away");
    std::fs::rename(repository.path(), &away).unwrap();
    wait_until("nothing to be looked at", async || keeper.metric("pairofcleats_watch_polling") == 0).await;
    let before = keeper.quiet().await;
    std::fs::write(away.join("a/z.py"), function("three_words")).unwrap();
    std::fs::rename(&away, repository.path()).unwrap();
    wait_for(keeper.app(), &project, "three_words", &["a/z.py"]).await;
    assert_eq!(super::found(keeper.app(), &project, "one_word").await, ["a/x.py"], "nothing was removed");
    // Words are found before the run that brought them is over.
    wait_until("the run to be counted", async || keeper.runs("") > before).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_indexed_is_watched_within_the_roots_only() {
    let (inside, outside) = (tempfile::tempdir().unwrap(), Repository::new(&[("o.py", &function("outer"))]));
    let (project, app) = (project("roots"), app());
    let repository = inside.path().join("repository");
    std::fs::create_dir(&repository).unwrap();
    std::fs::write(repository.join("i.py"), function("inner")).unwrap();
    let root = repository.canonicalize().unwrap().to_string_lossy().into_owned();
    index(&app, &root, &project).await;
    index(&app, &outside.root(), &project).await;
    let keeper = Keeper::start(|config| {
        config.freshness.watch = Watched::All(Indexed::Indexed);
        config.indexing.roots = vec![inside.path().canonicalize().unwrap()];
        // The repositories of other tests and the one outside take no place: they cannot be watched.
        config.freshness.repositories_max = 1;
    });
    wait_until("the watch", async || keeper.metric("pairofcleats_watch_repositories") == 1).await;
    keeper.quiet().await;
    outside.write("o.py", &function("unheard_word"));
    std::fs::write(repository.join("j.py"), function("heard_word")).unwrap();
    wait_for(keeper.app(), &project, "heard_word", &["j.py"]).await;
    keeper.quiet().await;
    assert_eq!(keeper.metric("pairofcleats_watch_repositories"), 1);
    assert!(super::found(keeper.app(), &project, "unheard_word").await.is_empty());
    keeper.stop().await;
}
