//! A run of one mode reads files of that mode and leaves the others as they are.

use std::sync::atomic::Ordering;

use serde_json::json;

use super::{ToyEmbedder, arguments, build, build_error, status, wait_for};
use crate::harness::{Repository, app, app_with_own_queue, project, result};
use crate::status::start_build;

fn repository_of_all_modes() -> Repository {
    Repository::new(&[
        (
            "lib.py",
            "def first_code():\n    \"\"\"Tells what a remark of some length says.\"\"\"\n    return 1\n",
        ),
        ("notes.md", "# Notes\n\nfirst_prose stands here.\n"),
        ("build.log", "first_record was written\n"),
        ("found.md", "---\nrecordtype: finding\n---\n\nfirst_finding was made.\n"),
    ])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_reads_changes_and_removes_only_files_of_its_mode() {
    let (app, id, repository) = (app(), project("modes"), repository_of_all_modes());
    let found = async |word: &str| {
        let query = json!({ "query": format!("\"{word}\""), "mode": "all", "project_id": id });
        result(&app, "search", query).await["total"].as_u64().unwrap() > 0
    };
    let run = async |mode: &str| build(&app, &repository, &id, json!({ "mode": mode })).await;

    let code = run("code").await;
    assert_eq!((&code["files"], &code["filesChanged"]), (&json!(1), &json!(1)), "{code:#}");
    assert!(found("first_code").await && !found("first_prose").await && !found("first_record").await);
    assert_eq!(run("prose").await["filesChanged"], 1);
    assert!(found("first_code").await && found("first_prose").await && !found("first_finding").await);
    assert_eq!(
        run("records").await["filesChanged"],
        2,
        "the log, and the document whose front matter makes it a record"
    );
    assert_eq!(run("all").await["filesChanged"], 0, "the three modes together cover all files");

    for (path, from, to) in
        [("lib.py", "first_code", "second_code"), ("notes.md", "first_prose", "second_prose")]
    {
        let text = std::fs::read_to_string(repository.path().join(path)).unwrap();
        repository.write(path, &text.replace(from, to));
    }
    assert_eq!(run("prose").await["filesChanged"], 1);
    assert!(found("first_code").await && found("second_prose").await && !found("first_prose").await);
    // Comments are stored with the code around them.
    assert_eq!(run("extracted-prose").await["filesChanged"], 1);
    assert!(found("second_code").await && !found("first_code").await);

    repository.remove("notes.md");
    repository.remove("build.log");
    assert_eq!(run("code").await["filesRemoved"], 0);
    assert!(found("second_prose").await && found("first_record").await, "files of other modes stay");
    assert_eq!(run("prose").await["filesRemoved"], 1);
    assert!(!found("second_prose").await && found("first_record").await);
    assert_eq!(run("all").await["filesRemoved"], 1);
    assert!(!found("first_record").await && found("first_finding").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_without_files_of_the_mode_is_refused_only_while_it_is_new() {
    let (app, id) = (app(), project("nothing"));
    let repository = Repository::new(&[("a.py", "def a():\n    return 1\n")]);
    let refused = build_error(&app, &repository, &id, json!({ "mode": "records" })).await;
    assert_eq!(refused["code"], "INVALID_REQUEST", "{refused:#}");
    assert!(refused["message"].as_str().unwrap().contains("records"), "{refused:#}");
    build(&app, &repository, &id, json!({})).await;
    let report = build(&app, &repository, &id, json!({ "mode": "records" })).await;
    assert_eq!((&report["files"], &report["filesChanged"]), (&json!(1), &json!(0)), "{report:#}");
    let full = build(&app, &repository, &id, json!({ "mode": "records", "incremental": false })).await;
    assert_eq!(full["filesChanged"], 0, "{full:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_joined_a_smaller_run_gets_its_own_result() {
    let toy = ToyEmbedder::new("slow", 16, false);
    let (app, id, repository) =
        (app_with_own_queue(toy.clone()), project("joined"), repository_of_all_modes());
    let smaller = arguments(&repository, &id, json!({ "mode": "code", "wait": false }));
    result(&app, "build_index", smaller).await;
    wait_for("the smaller run to embed", async || {
        status(&app, &id).await["jobs"][0]["progress"]["phase"] == "embed"
    })
    .await;
    let mut larger = start_build(&app, arguments(&repository, &id, json!({})));
    // The embedder is still closed, so this is a step of the run that the call joined.
    larger.wait_for_step("embed", "").await;
    toy.open.store(true, Ordering::Release);
    let answer = serde_json::to_value(larger.answer.await.unwrap()).unwrap();
    assert_eq!(answer["result"]["report"]["files"], 4, "{answer:#}");
}
