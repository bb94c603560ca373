//! A process that dies in the middle of a build or a compaction: the file that was there answers, and the next run completes.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{beside, export, file_of};
use crate::filters::corpus::corpus;
use crate::harness::{PROGRAM, app, home, result};

fn begin(tool: &str, arguments: &Value) -> Child {
    let mut command = Command::new(PROGRAM);
    command.env("PAIROFCLEATS_HOME", home()).args(["call", tool, "--args", &arguments.to_string()]);
    // Small pages leave time to be killed between them.
    command.args(["--set", "portable.page_chunks=5"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Kills the process as soon as `part` is being written.
fn kill_at(part: &Path, mut victim: Child) {
    let give_up = Instant::now() + Duration::from_secs(60);
    while !std::fs::metadata(part).is_ok_and(|part| part.len() > 0) {
        assert!(Instant::now() < give_up, "waited in vain for {}", part.display());
        assert!(victim.try_wait().unwrap().is_none(), "it was over before it could be killed");
        std::thread::sleep(Duration::from_millis(1));
    }
    victim.kill().unwrap();
    victim.wait().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_leaves_the_old_file_and_the_next_run_completes() {
    let shop = corpus(app()).await;
    let file = file_of(&shop.project);
    let name = "index.sqlite";
    export(&shop.app, &shop.project, json!({ "out": name })).await;
    let whole = std::fs::read(&file).unwrap();
    let part = file.with_file_name(format!(".{name}.part"));
    for (tool, arguments) in [
        ("build_sqlite_index", json!({ "project_id": shop.project, "out": name })),
        ("build_sqlite_index", json!({ "project_id": shop.project, "out": name, "incremental": true })),
        ("compact_sqlite_index", json!({ "project_id": shop.project, "path": name })),
    ] {
        std::fs::write(&file, &whole).unwrap();
        kill_at(&part, begin(tool, &arguments));
        assert!(std::fs::read(&file).unwrap() == whole, "{tool}: the old file is whole");
        assert!(part.exists(), "{tool}: the kill came too late to prove anything");
        result(&shop.app, tool, arguments).await;
        let left: Vec<String> =
            beside(&file).into_iter().filter(|left| left.starts_with(".index.sqlite")).collect();
        assert_eq!(left, [format!(".{name}.lock")], "{tool}");
        let found = shop.ask("order", json!({ "backend": "sqlite", "top": 5 })).await;
        assert_eq!(found["hits"].as_array().unwrap().len(), 5, "{tool}: {found:#}");
    }
}
