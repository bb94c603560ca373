//! Changes of several processes, and processes that die while they change the catalog.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::{entry, import, import_arguments, sha256sum, writable_app};
use crate::harness::{PROGRAM, home, project, result};

/// The hash that follows from the entries of a catalog.
async fn recomputed(app: &std::sync::Arc<gate::app::App>, project: &str) -> (Value, String) {
    let listed = result(app, "instructions_list", json!({ "fields": "full", "project_id": project })).await;
    let entries: BTreeMap<&str, &str> = listed["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| (item["id"].as_str().unwrap(), item["body"].as_str().unwrap()))
        .collect();
    let pairs: Vec<String> = entries.iter().map(|(id, body)| format!("{id}:{}", sha256sum(body))).collect();
    let expected = sha256sum(&pairs.join("|"));
    (listed, expected)
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_imports_follow_one_another() {
    let project = project("concurrent-imports");
    let (one, other) = (writable_app(), writable_app());
    import(&one, &project, &[entry("first", "First")], json!({})).await;
    let of_one: Vec<Value> = (0..20).map(|at| entry(&format!("one-{at}"), "One")).collect();
    let of_other: Vec<Value> = (0..20).map(|at| entry(&format!("other-{at}"), "Other")).collect();
    let (a, b) = tokio::join!(
        import(&one, &project, &of_one, json!({})),
        import(&other, &project, &of_other, json!({}))
    );
    let mut revisions = [a["revision"].as_i64().unwrap(), b["revision"].as_i64().unwrap()];
    revisions.sort_unstable();
    assert_eq!(revisions, [2, 3]);
    let (listed, expected) = recomputed(&one, &project).await;
    assert_eq!((&listed["count"], &listed["hash"]), (&json!(41), &json!(expected)));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_that_dies_is_all_or_nothing() {
    let (app, project) = (writable_app(), project("concurrent-kill"));
    let before = import(&app, &project, &[entry("first", "First")], json!({})).await;
    let entries: Vec<Value> = (0..1000).map(|at| entry(&format!("e{at}"), "x")).collect();
    for failpoint in ["catalog.batch_written", "catalog.before_commit"] {
        let arguments = import_arguments(&project, &entries, json!({})).to_string();
        let mut child = Command::new(PROGRAM)
            .args(["call", "instructions_import", "-"])
            .env("PAIROFCLEATS_HOME", home())
            .env("PAIROFCLEATS_FAILPOINT", failpoint)
            .env("MCP_ENABLE_MUTATION", "1")
            .env_remove("DATABASE_URL")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), arguments.as_bytes()).unwrap();
        let status = child.wait().unwrap();
        assert!(!status.success(), "the process was to die at {failpoint}");
        let (listed, expected) = recomputed(&app, &project).await;
        assert_eq!((&listed["count"], &listed["hash"]), (&json!(1), &json!(expected)), "{failpoint}");
        assert_eq!(listed["hash"], before["hash"]);
    }
}
