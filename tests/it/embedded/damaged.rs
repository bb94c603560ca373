//! A damaged page of a table: reported as such, found by `doctor`, repaired from the repositories.

use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sqlx::{ConnectOptions, Connection, Row};

use super::cluster::{processes_of, wait_for};
use crate::harness::{Repository, cluster, new_home, run_json};

/// Path of the file of a table. Stops the server first, so that the file can be changed.
fn table_file(home: &Path, table: &str) -> PathBuf {
    let server = cluster(home);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let path: String = runtime.block_on(async {
        let mut connection = server.connect_options().connect().await.unwrap();
        let row = sqlx::query(
            "SELECT current_setting('data_directory') || '/' || pg_relation_filepath($1::text::regclass)",
        )
        .bind(table)
        .fetch_one(&mut connection)
        .await
        .unwrap();
        connection.close().await.unwrap();
        row.get(0)
    });
    drop(server);
    wait_for("the cluster to stop", || {
        processes_of(Path::new(&path).parent().unwrap().ancestors().nth(2).unwrap()).is_empty()
    });
    path.into()
}

fn corrupt_page(file: &Path) {
    let file = std::fs::File::options().read(true).write(true).open(file).unwrap();
    let mut bytes = [0; 64];
    file.read_exact_at(&mut bytes, 8000).unwrap();
    file.write_all_at(&bytes.map(|byte| byte ^ 0x55), 8000).unwrap();
}

#[test]
fn a_damaged_page_is_reported_and_repaired_from_the_repositories() {
    let home = new_home("damaged-page");
    let repository = Repository::new(&[("a.py", "def count_coins(drawer):\n    return sum(drawer)\n")]);
    let (root, project) = (repository.root(), "damaged-page");
    let index = || run_json(&home, &["index", &root, "--project", project, "--stub-embeddings"]);
    assert_eq!(index().0, 0);
    let finding =
        json!({ "source": "generic", "payload": "{\"title\": \"Open drawer\"}\n", "project_id": project });
    let (_, ingested) = run_json(&home, &["call", "triage_ingest", "--args", &finding.to_string()]);
    let record = ingested["result"]["recordIds"][0].clone();
    let decision =
        json!({ "finding": record, "status": "accept", "justification": "known", "project_id": project });
    let (code, decided) = run_json(&home, &["call", "triage_decision", "--args", &decision.to_string()]);
    assert_eq!(code, 0, "{decided:#}");
    let search = |query: &str| run_json(&home, &["search", query, "--project", project]);
    let (_, before) = search("count coins");

    corrupt_page(&table_file(&home, "project_damaged_page.chunks"));
    let (code, fault) = search("count coins");
    assert_eq!((code, &fault["error"]["code"]), (1, &json!("STORAGE_UNAVAILABLE")), "{fault:#}");
    assert_eq!(fault["error"]["retryable"], false, "{fault:#}");
    assert!(fault["error"]["hint"].as_str().unwrap().contains("pairofcleats doctor --repair"), "{fault:#}");
    let (code, report) = run_json(&home, &["doctor"]);
    let text = report.to_string();
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("project damaged-page") && text.contains("chunks"), "{text}");

    // A repository that cannot be indexed again is deleted only on request.
    let moved_away = repository.path().with_extension("aside");
    std::fs::rename(repository.path(), &moved_away).unwrap();
    let (code, refused) = run_json(&home, &["projects", "rebuild", project]);
    assert_eq!((code, &refused["error"]["code"]), (2, &json!("ILLEGAL_STATE")), "{refused:#}");
    assert!(refused["error"]["hint"].as_str().unwrap().contains("--drop-missing"), "{refused:#}");
    let (code, report) = run_json(&home, &["doctor", "--repair"]);
    assert!(code == 1 && report.to_string().contains("--drop-missing"), "{report:#}");
    std::fs::rename(&moved_away, repository.path()).unwrap();

    let (code, report) = run_json(&home, &["doctor", "--repair"]);
    assert_eq!(code, 0, "{report:#}");
    let (code, after) = search("count coins");
    assert_eq!(code, 0, "{after:#}");
    let location = |answer: &Value| {
        let hit = &answer["result"]["hits"][0];
        (hit["file"].clone(), hit["path"].clone(), hit["startLine"].clone())
    };
    assert_eq!(location(&after), location(&before));
    let known = json!({ "recordId": record, "project_id": project });
    let (code, pack) = run_json(&home, &["call", "triage_context_pack", "--args", &known.to_string()]);
    assert!(code == 0 && pack.to_string().contains("known"), "the decision stays: {pack:#}");
    assert_eq!(run_json(&home, &["doctor"]).0, 0);

    // Triage records exist nowhere else: `doctor` points to the backup.
    corrupt_page(&table_file(&home, "project_damaged_page.triage_records"));
    let (code, report) = run_json(&home, &["doctor", "--repair"]);
    let text = report.to_string();
    assert!(code == 1 && text.contains("triage_records") && text.contains("backup"), "{text}");
}
