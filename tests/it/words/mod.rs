//! A word that was written is found: the counts of the lexical index follow every edit, and an answer that has the text of the
//! query is never called doubtful.

mod edits;
mod lagging;
mod literal;

use std::sync::Arc;

use gate::app::App;
use serde_json::{Value, json};

use crate::harness::result;
use crate::upkeep::{query_number, schema};

/// Searches a project with further arguments.
async fn search(app: &Arc<App>, project: &str, query: &str, mut arguments: Value) -> Value {
    arguments["query"] = json!(query);
    arguments["project_id"] = json!(project);
    result(app, "search", arguments).await
}

/// Indexes a folder, and checks that afterwards all counts are those of the chunks.
async fn index(app: &Arc<App>, project: &str, root: &str) -> Value {
    let report = result(app, "build_index", json!({ "repoPath": root, "project_id": project })).await;
    assert_counted(project).await;
    report
}

/// Checks that the counts of terms, and of chunks, are those of the chunks of each repository.
async fn assert_counted(project: &str) {
    let schema = schema(project);
    let counted = format!(
        "SELECT f.repository_id, u.term, count(*)::int4 AS chunks \
         FROM {schema}.files f JOIN {schema}.repositories r ON r.id = f.repository_id AND r.revisions_of IS NULL \
         JOIN {schema}.lexical l ON l.file_id = f.id CROSS JOIN unnest(l.terms) AS u (term) GROUP BY 1, 2"
    );
    let stored = format!("SELECT repository_id, term, chunks FROM {schema}.terms");
    for (one, other) in [(&counted, &stored), (&stored, &counted)] {
        let differing = format!("SELECT count(*) FROM ({one} EXCEPT {other}) d");
        assert_eq!(query_number(&differing).await, 0, "{project}: rows of `{one}` that `{other}` has not");
    }
    let chunks = format!(
        "SELECT count(*) FROM {schema}.repositories r WHERE r.revisions_of IS NULL AND (r.changed_since_statistics <> 0 \
           OR r.statistics_chunks <> (SELECT count(*) FROM {schema}.files f \
             JOIN {schema}.lexical l ON l.file_id = f.id WHERE f.repository_id = r.id))"
    );
    assert_eq!(query_number(&chunks).await, 0, "{project}: the number of chunks");
}

/// Checks that an answer is trusted, and that its first hit is in `file`.
fn assert_found(answer: &Value, file: &str, what: &str) {
    let first = &answer["hits"][0];
    assert_eq!(first["file"], file, "{what}: {answer:#}");
    let confidence = answer["confidence"].as_str().unwrap_or_default();
    assert!(["medium", "high"].contains(&confidence), "{what}: {answer:#}");
}
