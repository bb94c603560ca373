//! A process that dies during a build or a compaction leaves the old file intact, and the next run succeeds.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{build_index_file, files_beside, index_file};
use crate::filters::corpus::corpus;
use crate::harness::{PROGRAM, app, home, result};

fn start(tool: &str, arguments: &Value) -> Child {
    let mut command = Command::new(PROGRAM);
    command.env("PAIROFCLEATS_HOME", home()).args(["call", tool, "--args", &arguments.to_string()]);
    // Small pages leave time for the kill between them.
    command.args(["--set", "portable.page_chunks=5"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Kills the process as soon as `part` is being written.
fn kill_while_writing(part: &Path, mut victim: Child) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !std::fs::metadata(part).is_ok_and(|part| part.len() > 0) {
        assert!(Instant::now() < deadline, "timed out waiting for {}", part.display());
        assert!(victim.try_wait().unwrap().is_none(), "the process ended before it could be killed");
        std::thread::sleep(Duration::from_millis(1));
    }
    victim.kill().unwrap();
    victim.wait().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_leaves_the_old_file_and_the_next_run_succeeds() {
    let indexed = corpus(app()).await;
    let file = index_file(&indexed.project);
    let name = "index.sqlite";
    build_index_file(&indexed.app, &indexed.project, json!({ "out": name })).await;
    let whole = std::fs::read(&file).unwrap();
    let part = file.with_file_name(format!(".{name}.part"));
    for (tool, arguments) in [
        ("build_sqlite_index", json!({ "project_id": indexed.project, "out": name })),
        ("build_sqlite_index", json!({ "project_id": indexed.project, "out": name, "incremental": true })),
        ("compact_sqlite_index", json!({ "project_id": indexed.project, "path": name })),
    ] {
        std::fs::write(&file, &whole).unwrap();
        kill_while_writing(&part, start(tool, &arguments));
        assert!(std::fs::read(&file).unwrap() == whole, "{tool}: the old file is whole");
        assert!(part.exists(), "{tool}: the kill came too late to prove anything");
        result(&indexed.app, tool, arguments).await;
        let left: Vec<String> =
            files_beside(&file).into_iter().filter(|left| left.starts_with(".index.sqlite")).collect();
        assert_eq!(left, [format!(".{name}.lock")], "{tool}");
        let found = indexed.search("order", json!({ "backend": "sqlite", "top": 5 })).await;
        assert_eq!(found["hits"].as_array().unwrap().len(), 5, "{tool}: {found:#}");
    }
}
