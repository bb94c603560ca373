//! Exact search of portable files and on the command line answers as the tool does.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::{grep, lines};
use crate::filters::shop::IndexedProject;
use crate::harness::{PROGRAM, app, home, result};

const PATTERNS: &[&str] =
    &["order", "ledger\\.\\w+ =", "^}$", "\\w{12,}", "(?s)let mut open.*?for", "nothing at all"];

#[tokio::test(flavor = "multi_thread")]
async fn a_portable_file_answers_the_same() {
    let shop = IndexedProject::shop(app(), "grep-portable").await;
    result(&shop.app, "build_sqlite_index", json!({ "project_id": shop.project })).await;
    for pattern in PATTERNS {
        for arguments in [
            json!({}),
            json!({ "lang": "rust" }),
            json!({ "context": 2, "top": 3, "offset": 1 }),
            json!({ "async": true }),
        ] {
            let postgres = grep(&shop, pattern, arguments.clone()).await;
            let mut arguments = arguments;
            arguments["backend"] = json!("sqlite");
            let file = grep(&shop, pattern, arguments.clone()).await;
            assert_eq!(file["backend"], "sqlite");
            assert_eq!(file["matches"]["files"], postgres["matches"]["files"], "{pattern} {arguments}");
            assert_eq!((&file["total"], &file["nextOffset"]), (&postgres["total"], &postgres["nextOffset"]));
        }
    }
    let content = shop.search("order content:/ledger\\.\\w+ =/", json!({ "backend": "sqlite" })).await;
    assert_eq!(content["hits"][0]["file"], "src/billing/charge.rs", "{content:#}");
}

fn run_grep(shop: &IndexedProject, flags: &[&str]) -> (i32, String, String) {
    run("grep", shop, flags)
}

fn run(command: &str, shop: &IndexedProject, flags: &[&str]) -> (i32, String, String) {
    let output = Command::new(PROGRAM)
        .arg(command)
        .args(flags)
        .args(["--project", &shop.project, "--all"])
        .env("PAIROFCLEATS_HOME", home())
        .env_remove("DATABASE_URL")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_prints_what_the_tool_answers() {
    let shop = IndexedProject::shop(app(), "grep-command").await;
    let whole = grep(&shop, "order", json!({ "mode": "both" })).await;
    let (status, stdout, stderr) = run_grep(&shop, &["order"]);
    assert_eq!((status, stdout.lines().count() as u64), (0, whole["total"].as_u64().unwrap()), "{stderr}");
    let (path, line, column, _, text) = lines(&whole).remove(0);
    assert!(stdout.lines().next().unwrap().ends_with(&format!("{path}:{line}:{column}:{text}")), "{stdout}");
    assert!(stderr.contains(&format!("{} lines in", whole["total"])), "{stderr}");
    let (_, files, _) = run_grep(&shop, &["-l", "order"]);
    assert_eq!(files.lines().count() as u64, whole["matches"]["totalFiles"].as_u64().unwrap());
    let (_, counts, _) = run_grep(&shop, &["--count", "order"]);
    let sum: u64 = counts.lines().map(|line| line.rsplit(':').next().unwrap().parse::<u64>().unwrap()).sum();
    assert_eq!(sum, whole["total"].as_u64().unwrap());
    let (_, narrowed, _) = run_grep(&shop, &["-F", "-s", "ledger.total = ", "--lang", "rust", "-A", "1"]);
    assert_eq!(narrowed.lines().count(), 2, "{narrowed}");
    let (status, json, _) = run_grep(&shop, &["order", "--json", "-n", "2"]);
    let envelope: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((status, lines(&envelope["result"]).len()), (0, 2));
    let (status, stdout, stderr) = run_grep(&shop, &["order", "-n", "0"]);
    assert!(status == 2 && stdout.is_empty() && stderr.contains("from 1"), "{stderr}");
    let (status, stdout, stderr) = run_grep(&shop, &["order("]);
    assert!(status == 2 && stdout.is_empty() && stderr.contains("unclosed group"), "{stderr}");
    let (status, stdout, _) = run_grep(&shop, &["no such text"]);
    assert_eq!((status, stdout.as_str()), (1, ""));
    // The same lines by the other command, which prints what the answer has around them.
    let (status, stdout, stderr) = run("search", &shop, &["--regex", "order\\w*"]);
    assert!(status == 0 && stdout.lines().count() > 0, "{stderr}");
}
