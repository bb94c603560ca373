//! Backup and restore of one project, with the scripts that the operations guide names.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use super::postgres_programs;
use crate::harness::{Repository, app, call, project, result, server};

/// Runs a script of `deploy/` against the cluster of these tests.
fn script(name: &str, arguments: &[&str]) -> Output {
    let options = server().connect_options();
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", postgres_programs().display());
    Command::new("sh")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy").join(name))
        .args(arguments)
        .env("PATH", path)
        .env("PGHOST", options.get_socket().unwrap())
        .env("PGPORT", options.get_port().to_string())
        .env("PGUSER", options.get_username())
        .env("PGDATABASE", options.get_database().unwrap())
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn stderr_text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The hits of several queries.
async fn search_all(project: &str) -> Value {
    let app = app();
    let mut all = Vec::new();
    for query in ["restored_word", "where are totals added", "risk:command-exec", "\"kept in the backup\""] {
        let arguments = json!({ "query": query, "project_id": project, "output": "full", "top": 20 });
        all.push(result(&app, "search", arguments).await["hits"].take());
    }
    Value::Array(all)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restored_project_answers_as_before_the_backup() {
    let (repository, project, other) = (
        Repository::new(&[
            (
                "a.py",
                "def restored_word(items):\n    \"\"\"Adds the totals; kept in the backup.\"\"\"\n    return sum(items)\n",
            ),
            ("b.py", "import os\n\ndef run(request):\n    os.system(request.args['command'])\n"),
            ("docs/c.md", "# Totals\n\nWhere the totals are added.\n"),
        ]),
        project("backup"),
        project("bystander"),
    );
    let app = app();
    let built =
        result(&app, "build_index", json!({ "repoPath": repository.root(), "project_id": project })).await;
    result(&app, "build_index", json!({ "repoPath": repository.root(), "project_id": other })).await;
    let (before, of_other) = (search_all(&project).await, search_all(&other).await);
    assert!(before.as_array().unwrap().iter().all(|hits| !hits.as_array().unwrap().is_empty()), "{before:#}");
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("saved").to_string_lossy().into_owned();
    let saved = script("backup-project.sh", &[&project, &folder]);
    assert!(saved.status.success(), "{}", stderr_text(&saved));
    let unknown = script("backup-project.sh", &["no-such-project", &folder]);
    assert!(
        !unknown.status.success() && stderr_text(&unknown).contains("no-such-project"),
        "{}",
        stderr_text(&unknown)
    );
    assert!(!script("backup-project.sh", &["'; DROP TABLE x; --", &folder]).status.success());

    let again = script("restore-project.sh", &[&folder]);
    assert!(!again.status.success(), "restoring does not overwrite an existing project");
    assert_eq!(search_all(&project).await, before);

    let mut connection = PgConnection::connect_with(&server().connect_options()).await.unwrap();
    let schema = built["schema_name"].as_str().unwrap();
    let role: String =
        sqlx::query_scalar("DELETE FROM pairofcleats.projects WHERE id = $1 RETURNING role_name")
            .bind(&project)
            .fetch_one(&mut connection)
            .await
            .unwrap();
    for text in [
        format!("DROP SCHEMA \"{schema}\" CASCADE"),
        format!("DROP OWNED BY \"{role}\""),
        format!("DROP ROLE \"{role}\""),
    ] {
        sqlx::query(AssertSqlSafe(text)).execute(&mut connection).await.unwrap();
    }
    let gone = call(&app, "search", json!({ "query": "restored_word", "project_id": project })).await;
    assert_eq!(gone["error"]["code"], "NO_INDEX", "{gone:#}");

    let restored = script("restore-project.sh", &[&folder]);
    assert!(restored.status.success(), "{}", stderr_text(&restored));
    assert_eq!(search_all(&project).await, before);
    let after =
        result(&app, "build_index", json!({ "repoPath": repository.root(), "project_id": project })).await;
    assert_eq!(
        (&after["report"]["filesChanged"], &after["report"]["vectorsEmbedded"]),
        (&json!(0), &json!(0)),
        "{after:#}"
    );
    assert_eq!(search_all(&other).await, of_other, "other projects are unchanged");
}
