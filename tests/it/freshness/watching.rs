//! File events: every kind of change is indexed, mass changes cause few runs, and ignored files cause none.

use contract::config::{Indexed, WatchedRepositories};

use super::{FreshApp, index, indexed_content, wait_for, wait_until};
use crate::harness::{Repository, app, git, project};

fn function(name: &str) -> String {
    format!("def {name}(value):\n    return value + 1\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_change_reaches_the_search() {
    let (repository, project) = (Repository::new(&[("a.py", &function("first_word"))]), project("watch"));
    let fresh_app = FreshApp::watch(&repository.root(), &project, |_| {});
    let wait_for_files =
        async |word: &str, files: &[&str]| wait_for(fresh_app.app(), &project, word, files).await;
    wait_for_files("first_word", &["a.py"]).await;
    repository.write("a.py", &function("second_word"));
    wait_for_files("second_word", &["a.py"]).await;
    wait_for_files("first_word", &[]).await;
    repository.write("new/deep/b.py", &function("third_word"));
    wait_for_files("third_word", &["new/deep/b.py"]).await;
    repository.write("new/deep/c.py", &function("fourth_word"));
    wait_for_files("fourth_word", &["new/deep/c.py"]).await;
    std::fs::rename(repository.path().join("new"), repository.path().join("moved")).unwrap();
    wait_for_files("third_word", &["moved/deep/b.py"]).await;
    repository.write("moved/deep/d.py", &function("fifth_word"));
    wait_for_files("fifth_word", &["moved/deep/d.py"]).await;
    repository.remove("a.py");
    wait_for_files("second_word", &[]).await;
    assert_eq!(fresh_app.metric("pairofcleats_watch_repositories"), 1);
    assert_eq!(fresh_app.metric("pairofcleats_watch_polling"), 0);
    assert!(fresh_app.metric("pairofcleats_watch_events_total") > 6);
    assert_eq!(fresh_app.runs("status=\"ok\""), fresh_app.runs("trigger=\"watch\""), "no run failed");
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_branch_switch_the_index_equals_that_of_a_first_run() {
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

    let fresh_app = FreshApp::watch(&repository.root(), &project, |_| {});
    wait_for(fresh_app.app(), &project, "on_main_3", &["src/part_3/old_3.py"]).await;
    fresh_app.runs_when_idle().await;
    run(&["checkout", "--quiet", "trial"]);
    wait_for(fresh_app.app(), &project, "on_trial_119", &["lib/new_119.py"]).await;
    fresh_app.runs_when_idle().await;
    let app = app();
    let scratch = index(&app, &repository.root(), &other).await;
    let watched = index(&app, &repository.root(), &project).await;
    assert_eq!(watched["report"]["filesChanged"], 0, "the watch indexed everything: {watched:#}");
    let [scratch, watched] =
        [scratch, watched].map(|answer| answer["schema_name"].as_str().unwrap().to_owned());
    let expected = indexed_content(&scratch).await;
    assert!(expected.contains("lib/new_7.py") && !expected.contains("old_3.py"), "{expected}");
    assert_eq!(indexed_content(&watched).await, expected);

    // An empty commit changes no file, but it can change authorship.
    let before = fresh_app.runs_when_idle().await;
    run(&["commit", "--quiet", "--allow-empty", "--message", "three"]);
    wait_until("a run after the commit", async || fresh_app.runs("") > before).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mass_change_causes_few_runs() {
    let (repository, project) = (Repository::new(&[("a.py", &function("before"))]), project("mass"));
    let fresh_app = FreshApp::watch(&repository.root(), &project, |_| {});
    wait_for(fresh_app.app(), &project, "before", &["a.py"]).await;
    let before = fresh_app.runs_when_idle().await;
    for n in 0..3000 {
        repository.write(&format!("mass/{}/file_{n}.txt", n % 40), &format!("mass number_{n}\n"));
    }
    wait_for(fresh_app.app(), &project, "number_2999", &["mass/39/file_2999.txt"]).await;
    wait_for(fresh_app.app(), &project, "number_0", &["mass/0/file_0.txt"]).await;
    // What a run has written is found before the run ends.
    wait_until("the end of a run", async || fresh_app.runs("") > before).await;
    let runs = fresh_app.runs_when_idle().await - before;
    assert!((1..=15).contains(&runs), "{runs} runs for 3,000 files");
    let mut left = index(fresh_app.app(), &repository.root(), &project).await;
    if left["attached"] == true {
        // It is the report of a run that a last event caused meanwhile.
        left = index(fresh_app.app(), &repository.root(), &project).await;
    }
    assert_eq!(left["report"]["filesChanged"], 0, "{left:#}");
    assert_eq!(left["report"]["files"], 3001, "{left:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_burst_causes_one_run_and_ignored_files_none() {
    let files = [(".gitignore", "*.log\nbuild/\n"), ("a.py", "x = 1\n"), ("node_modules/m/i.js", "1\n")];
    let (repository, project) = (Repository::new(&files), project("burst"));
    // Longer than the burst takes on any machine that runs these tests.
    let fresh_app = FreshApp::watch(&repository.root(), &project, |config| {
        config.freshness.debounce_ms = 1000;
        config.freshness.debounce_max_ms = 60_000;
    });
    wait_until("the first run", async || fresh_app.runs("") == 1).await;
    fresh_app.runs_when_idle().await;
    for n in 0..200 {
        repository.write("a.py", &function(&format!("burst_{n}")));
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    wait_for(fresh_app.app(), &project, "burst_199", &["a.py"]).await;
    assert_eq!(fresh_app.runs_when_idle().await, 2, "200 writes are one change");

    let events_before = fresh_app.metric("pairofcleats_watch_events_total");
    for n in 0..20 {
        repository.write("noise.log", &format!("{n}"));
        repository.write(&format!("build/out_{n}.py"), &function("built"));
        repository.write(&format!("node_modules/m/{n}.js"), "2\n");
    }
    wait_until("events of the ignored files", async || {
        fresh_app.metric("pairofcleats_watch_events_total") > events_before
    })
    .await;
    assert_eq!(fresh_app.runs_when_idle().await, 2, "ignored files cause no run");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_run_does_not_end_the_watch() {
    let (repository, project) = (Repository::new(&[("keep.py", &function("kept_word"))]), project("guard"));
    let names: Vec<String> = (0..8).map(|n| format!("part_{n}.py")).collect();
    names.iter().for_each(|name| repository.write(name, &function("part_word")));
    let fresh_app = FreshApp::watch(&repository.root(), &project, |config| {
        config.indexing.delete_guard_files = 3;
    });
    wait_for(fresh_app.app(), &project, "kept_word", &["keep.py"]).await;
    names.iter().for_each(|name| repository.remove(name));
    wait_until("the refusal", async || fresh_app.runs("ILLEGAL_STATE") > 0).await;
    let runs_before = fresh_app.runs_when_idle().await;
    assert_eq!(
        super::files_with(fresh_app.app(), &project, "part_word").await.len(),
        8,
        "no indexed file was deleted"
    );
    names.iter().for_each(|name| repository.write(name, &function("new_word")));
    wait_until("the new files", async || {
        super::files_with(fresh_app.app(), &project, "new_word").await.len() == 8
    })
    .await;
    assert!(fresh_app.runs_when_idle().await > runs_before);
}

#[tokio::test(flavor = "multi_thread")]
async fn unwatchable_trees_and_vanished_roots_are_polled() {
    let (repository, project) = (Repository::new(&[("a/x.py", &function("one_word"))]), project("polled"));
    let fresh_app =
        FreshApp::watch(&repository.root(), &project, |config| config.freshness.directories_max = 1);
    wait_for(fresh_app.app(), &project, "one_word", &["a/x.py"]).await;
    wait_until("polling because of the limit", async || fresh_app.metric("pairofcleats_watch_polling") == 1)
        .await;
    repository.write("a/y.py", &function("two_words"));
    wait_for(fresh_app.app(), &project, "two_words", &["a/y.py"]).await;

    let away = repository.path().with_extension("away");
    std::fs::rename(repository.path(), &away).unwrap();
    wait_until("the vanished root", async || fresh_app.metric("pairofcleats_watch_polling") == 0).await;
    let before = fresh_app.runs_when_idle().await;
    std::fs::write(away.join("a/z.py"), function("three_words")).unwrap();
    std::fs::rename(&away, repository.path()).unwrap();
    wait_for(fresh_app.app(), &project, "three_words", &["a/z.py"]).await;
    assert_eq!(
        super::files_with(fresh_app.app(), &project, "one_word").await,
        ["a/x.py"],
        "no indexed file was deleted"
    );
    // Text is found before the run that indexed it has ended.
    wait_until("the run to be counted", async || fresh_app.runs("") > before).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn indexed_repositories_are_watched_within_the_roots_only() {
    let (inside, outside) = (tempfile::tempdir().unwrap(), Repository::new(&[("o.py", &function("outer"))]));
    let (project, app) = (project("roots"), app());
    let repository = inside.path().join("repository");
    std::fs::create_dir(&repository).unwrap();
    std::fs::write(repository.join("i.py"), function("inner")).unwrap();
    let root = repository.canonicalize().unwrap().to_string_lossy().into_owned();
    index(&app, &root, &project).await;
    index(&app, &outside.root(), &project).await;
    let fresh_app = FreshApp::start(|config| {
        config.freshness.watch = WatchedRepositories::All(Indexed::Indexed);
        config.indexing.roots = vec![inside.path().canonicalize().unwrap()];
        // The repositories of other tests and the one outside do not count towards the limit: they cannot be watched.
        config.freshness.repositories_max = 1;
    });
    wait_until("the watch", async || fresh_app.metric("pairofcleats_watch_repositories") == 1).await;
    fresh_app.runs_when_idle().await;
    outside.write("o.py", &function("unheard_word"));
    std::fs::write(repository.join("j.py"), function("heard_word")).unwrap();
    wait_for(fresh_app.app(), &project, "heard_word", &["j.py"]).await;
    fresh_app.runs_when_idle().await;
    assert_eq!(fresh_app.metric("pairofcleats_watch_repositories"), 1);
    assert!(super::files_with(fresh_app.app(), &project, "unheard_word").await.is_empty());
    fresh_app.stop().await;
}

/// The list of repositories is read once an hour here, so only a run that ended leads to another one.
#[tokio::test(flavor = "multi_thread")]
async fn a_repository_is_watched_from_its_first_run_on_by_every_server() {
    let inside = tempfile::tempdir().unwrap();
    let (project, app) = (project("first-run"), app());
    let make = |name: &str| {
        let repository = inside.path().join(name);
        std::fs::create_dir(&repository).unwrap();
        std::fs::write(repository.join("a.py"), function(&format!("{name}_word"))).unwrap();
        repository.canonicalize().unwrap()
    };
    let (early, late) = (make("early"), make("late"));
    index(&app, &early.to_string_lossy(), &project).await;
    let start = || {
        FreshApp::start(|config| {
            config.freshness.watch = WatchedRepositories::All(Indexed::Indexed);
            config.freshness.refresh_ms = 3_600_000;
            config.indexing.roots = vec![inside.path().canonicalize().unwrap()];
        })
    };
    let (one, other) = (start(), start());
    let watched = async |count: u64| {
        wait_until(&format!("{count} watched repositories"), async || {
            [&one, &other].iter().all(|server| server.metric("pairofcleats_watch_repositories") == count)
        })
        .await;
    };
    watched(1).await;
    index(&app, &late.to_string_lossy(), &project).await;
    // Changes made before the servers watch are not lost.
    std::fs::write(late.join("b.py"), function("between_word")).unwrap();
    watched(2).await;
    wait_for(other.app(), &project, "between_word", &["b.py"]).await;
    // Each of them follows it alone.
    one.stop().await;
    std::fs::write(late.join("c.py"), function("later_word")).unwrap();
    wait_for(other.app(), &project, "later_word", &["c.py"]).await;
    other.stop().await;
}
