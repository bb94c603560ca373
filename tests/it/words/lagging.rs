//! Counts that lag behind the chunks: in a first run that was interrupted, in a project of an earlier version, in what only revisions
//! have. Words are found all the same, and the next run counts them.

use serde_json::json;

use super::{assert_counted, assert_found, index, search};
use crate::git_host::GitHost;
use crate::harness::{Repository, app, project, result};
use crate::kills::die;
use crate::upkeep::{execute_sql, schema};

const PROSE: &str = "# Ferry\n\nThe zebrafinch ferry crosses the harbour at noon.\n";

#[tokio::test(flavor = "multi_thread")]
async fn words_of_a_project_of_an_earlier_version_are_found_and_counted_by_the_next_run() {
    let app = app();
    let project = project("earlier");
    let repository = Repository::new(&[("a.py", "def drawer():\n    return 'coins'\n"), ("b.md", PROSE)]);
    index(&app, &project, &repository.root()).await;
    let schema = schema(&project);
    // As an earlier version left it after a small edit: the words of `b.md` are not counted.
    for statement in [
        format!("UPDATE {schema}.repositories SET changed_since_statistics = 1, statistics_chunks = 1"),
        format!(
            "DELETE FROM {schema}.terms t USING {schema}.lexical l JOIN {schema}.files f ON f.id = l.file_id \
             WHERE f.path = 'b.md' AND t.term = ANY(l.terms)"
        ),
    ] {
        execute_sql(&statement).await;
    }
    for query in ["zebrafinch", "when does the zebrafinch ferry cross the harbour", "crosses noon"] {
        let answer = search(&app, &project, query, json!({ "explain": true, "ann": false })).await;
        assert_found(&answer, "b.md", query);
        let known = answer["explain"]["evidence"]["knownWords"].as_f64().unwrap();
        assert!(known > 0.6, "{query}: {answer:#}");
    }
    assert_eq!(search(&app, &project, "qqquux", json!({ "ann": false })).await["hits"], json!([]));
    index(&app, &project, &repository.root()).await;
    assert_found(&search(&app, &project, "zebrafinch", json!({ "ann": false })).await, "b.md", "counted");
}

#[tokio::test(flavor = "multi_thread")]
async fn words_of_an_interrupted_first_run_are_found_and_counted_by_the_next_run() {
    let app = app();
    let project = project("interrupted");
    let repository = Repository::new(&[("b.md", PROSE)]);
    die(&["index", "--project", &project, &repository.root()], "index.files_written");
    let query = "when does the zebrafinch ferry cross the harbour";
    assert_found(&search(&app, &project, query, json!({ "ann": false })).await, "b.md", query);
    index(&app, &project, &repository.root()).await;
    repository.write("c.md", "# Barge\n\nflamingo\n");
    die(&["index", "--project", &project, &repository.root()], "index.files_written");
    assert_counted(&project).await;
    assert_found(
        &search(&app, &project, "flamingo", json!({ "ann": false })).await,
        "c.md",
        "of a killed later run",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn words_that_only_a_revision_has_are_found_there() {
    let (host, app, project) = (GitHost::start().await, app(), project("revision-words"));
    let shop = host.repository("acme/river");
    shop.commit(&[("a.md", "# Bridge\n\nA bridge over the river.\n")], "Begin");
    shop.commit_to("crossing", &[("b.md", PROSE)], "Ferry");
    let arguments = json!({ "repoPath": shop.url(), "project_id": project, "revisions": ["crossing"] });
    result(&app, "build_index", arguments).await;
    assert_counted(&project).await;
    let lexical = || json!({ "ann": false });
    for query in ["zebrafinch", "when does the zebrafinch ferry cross the harbour"] {
        let there = search(&app, &project, &format!("{query} rev:crossing"), lexical()).await;
        assert_found(&there, "b.md", query);
        let here = search(&app, &project, query, lexical()).await;
        assert!(here["hits"].as_array().unwrap().iter().all(|hit| hit["file"] != "b.md"), "{here:#}");
    }
    // A file that the default branch loses and the revision keeps is no longer counted.
    shop.commit(&[("c.md", "# Tunnel\n\nUnder the river.\n")], "Dig");
    shop.remove(&["a.md"]);
    index(&app, &project, &shop.url()).await;
    assert_eq!(search(&app, &project, "bridge", lexical()).await["hits"], json!([]));
    assert_found(&search(&app, &project, "bridge rev:crossing", lexical()).await, "a.md", "kept");
}
