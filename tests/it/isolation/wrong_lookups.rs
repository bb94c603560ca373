//! A server whose project lookups sometimes return the wrong project: these calls fail, and no answer contains data of the
//! other project.

use platform::failpoints;
use serde_json::{Value, json};

use crate::faults::trees::MeasuredServer;
use crate::harness::{Repository, app, project, result};

/// A project whose only file contains `word`, its repository and the id of its only finding.
async fn project_with_word(word: &str) -> (String, Repository, String) {
    let id = project(word);
    let text = format!("def common_name(coin):\n    return '{word}data'\n");
    let repository = Repository::new(&[("common.py", &text)]);
    let app = app();
    result(
        &app,
        "build_index",
        json!({ "repoPath": repository.root(), "project_id": id, "stubEmbeddings": true }),
    )
    .await;
    let report = json!([{ "stableKey": "same", "title": format!("coin {word}data") }]);
    let ingested =
        result(&app, "triage_ingest", json!({ "source": "manual", "payload": report, "project_id": id }))
            .await;
    let finding = ingested["recordIds"][0].as_str().expect("the finding was ingested").to_owned();
    (id, repository, finding)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lookup_of_the_wrong_project_fails_the_call() {
    let (theirs, _their_files, _) = project_with_word("yellow").await;
    let (ours, our_files, finding) = project_with_word("blue").await;
    // With right lookups, the finding is found.
    result(&app(), "triage_context_pack", json!({ "recordId": finding, "project_id": ours })).await;
    for lookup in failpoints::LOOKUPS {
        // The local operator may use both projects, so only the check that the project is the named one separates them.
        let wrong_lookup = format!("{lookup}:3:{theirs}");
        let server = MeasuredServer::start_with(&[], &[("PAIROFCLEATS_WRONG_LOOKUP", &wrong_lookup)]);
        let (mut succeeded, mut refused) = (0, Vec::new());
        for round in 0..12 {
            for (tool, arguments) in [
                ("search", json!({ "query": "common_name coin", "output": "full" })),
                ("search_code", json!({ "query": "coin" })),
                ("show_file", json!({ "path": "common.py" })),
                ("index_status", json!({})),
                ("triage_context_pack", json!({ "recordId": finding })),
                ("build_index", json!({ "repoPath": our_files.root(), "stubEmbeddings": true })),
            ] {
                let mut arguments = arguments;
                arguments["project_id"] = json!(ours);
                let answer: Value = server.call(tool, arguments).await;
                let text = answer.to_string();
                assert!(!text.contains("yellow"), "{lookup}, {round}, {tool}: {answer:#}");
                if answer["ok"] == true {
                    succeeded += 1;
                } else {
                    refused.push(format!("{tool}: {}", answer["error"]["code"]));
                }
            }
        }
        assert!(succeeded > 0 && !refused.is_empty(), "{lookup}: {succeeded} answers, {refused:?}");
    }
    // Nothing was written to the other project, either.
    let text = format!(
        "SELECT count(*) FROM {}.chunks WHERE position('blue' IN content) > 0",
        crate::upkeep::schema(&theirs)
    );
    assert_eq!(crate::upkeep::query_number(&text).await, 0);
}
