//! Files of other programs, and damaged or incomplete files: each gives a clear fault, none a crash, and none is changed.

use std::path::Path;

use serde_json::{Value, json};

use super::shop_with_index_file;
use crate::filters::shop::IndexedProject;
use crate::harness::{Dice, app, app_with, call};

async fn search(indexed: &IndexedProject, arguments: Value) -> Value {
    call(&indexed.app, "search", indexed.arguments("order", arguments)).await
}

async fn search_fault(indexed: &IndexedProject) -> Value {
    let mut envelope = search(indexed, json!({ "backend": "sqlite" })).await;
    assert_eq!(envelope["ok"], false, "{envelope:#}");
    assert!(envelope["error"]["hint"].is_string(), "{envelope:#}");
    assert!(!envelope.to_string().contains("projects/"), "a path of the server is shown: {envelope:#}");
    envelope["error"].take()
}

/// Changes the bytes of a file.
fn change_bytes(file: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = std::fs::read(file).unwrap();
    change(&mut bytes);
    std::fs::write(file, bytes).unwrap();
}

/// Runs an SQL script on a file with Python's SQLite module.
pub(super) fn run_sqlite_script(file: &Path, script: &str) {
    let python = "import sqlite3, sys\nfile = sqlite3.connect(sys.argv[1])\nfile.executescript(sys.argv[2])\nfile.commit()\n";
    let done =
        std::process::Command::new("python3").args(["-c", python]).arg(file).arg(script).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// A change to a portable file.
type Change = Box<dyn Fn(&Path)>;

/// Changes that make a file unusable, each with a name and the code of the fault.
fn unusable_files() -> Vec<(&'static str, &'static str, Change)> {
    vec![
        ("missing", "NO_INDEX", Box::new(|file| std::fs::remove_file(file).unwrap())),
        ("empty", "SCHEMA_VALIDATION_FAILED", Box::new(|file| std::fs::write(file, b"").unwrap())),
        (
            "text",
            "SCHEMA_VALIDATION_FAILED",
            Box::new(|file| std::fs::write(file, "text ".repeat(100)).unwrap()),
        ),
        (
            "of another program",
            "SCHEMA_VALIDATION_FAILED",
            Box::new(|file| run_sqlite_script(file, "PRAGMA application_id = 7")),
        ),
        (
            "newer",
            "SCHEMA_VALIDATION_FAILED",
            Box::new(|file| run_sqlite_script(file, "PRAGMA user_version = 99")),
        ),
        (
            "truncated",
            "SCHEMA_VALIDATION_FAILED",
            Box::new(|file| change_bytes(file, |bytes| bytes.truncate(bytes.len() / 2))),
        ),
        (
            "a view for a table",
            "SCHEMA_VALIDATION_FAILED",
            Box::new(|file| {
                run_sqlite_script(
                    file,
                    "ALTER TABLE terms RENAME TO t; CREATE VIEW terms AS WITH RECURSIVE r(n) AS \
                            (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n AS term, n AS chunks FROM r",
                );
            }),
        ),
        (
            "a trigger",
            "SCHEMA_VALIDATION_FAILED",
            Box::new(|file| {
                run_sqlite_script(
                    file,
                    "CREATE TRIGGER x AFTER INSERT ON terms BEGIN DELETE FROM chunks; END",
                );
            }),
        ),
        (
            "no metadata",
            "SCHEMA_VALIDATION_FAILED",
            Box::new(|file| run_sqlite_script(file, "DELETE FROM meta")),
        ),
        (
            "not text",
            "SCHEMA_VALIDATION_FAILED",
            Box::new(|file| {
                run_sqlite_script(
                    file,
                    "UPDATE chunks SET content = x'ff00ff', kind = 5.5, start_line = 'x'",
                );
            }),
        ),
    ]
}

/// Files with a path that an index never contains.
fn unsafe_paths() -> impl Iterator<Item = (&'static str, &'static str, Change)> {
    let paths =
        ["'../../../../etc/passwd'", "'/etc/passwd'", "''", "'a/../../b'", "'a//b'", "'a' || char(0)"];
    paths.into_iter().map(|path| {
        let script = format!("UPDATE files SET path = {path} WHERE id = (SELECT min(id) FROM files)");
        let change: Change = Box::new(move |file| run_sqlite_script(file, &script));
        (path, "SCHEMA_VALIDATION_FAILED", change)
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn foreign_and_incomplete_files_are_refused() {
    let (shop, file) = shop_with_index_file(app(), "foreign").await;
    let good = std::fs::read(&file).unwrap();
    for (what, code, change) in unusable_files().into_iter().chain(unsafe_paths()) {
        std::fs::write(&file, &good).unwrap();
        change(&file);
        let before = std::fs::read(&file).ok();
        let fault = search_fault(&shop).await;
        assert_eq!(fault["code"], code, "{what}: {fault:#}");
        assert_eq!(std::fs::read(&file).ok(), before, "{what}: the file was changed");
    }
    std::fs::write(&file, &good).unwrap();
    assert_eq!(search(&shop, json!({ "backend": "sqlite" })).await["ok"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_pages_give_a_fault_or_an_answer() {
    // Without the check at opening, damage is found in the middle of a search.
    let (shop, file) =
        shop_with_index_file(app_with(|config| config.portable.check_bytes_max = 0), "damaged").await;
    let good = std::fs::read(&file).unwrap();
    let mut dice = Dice(5);
    let mut faults = 0;
    for round in 0..60 {
        let mut bytes = good.clone();
        for _ in 0..64 {
            let at = usize::try_from(100 + dice.roll(bytes.len() as u64 - 100)).unwrap();
            bytes[at] = u8::try_from(dice.roll(256)).unwrap();
        }
        std::fs::write(&file, &bytes).unwrap();
        let backend = if round % 2 == 0 { "sqlite" } else { "sqlite-fts" };
        let envelope = search(&shop, json!({ "backend": backend, "output": "full", "context": 3 })).await;
        if envelope["ok"] == false {
            faults += 1;
            let code = envelope["error"]["code"].as_str().unwrap();
            assert!(["SCHEMA_VALIDATION_FAILED", "STORAGE_UNAVAILABLE"].contains(&code), "{envelope:#}");
        }
    }
    assert!(faults > 5, "{faults}");
    std::fs::write(&file, &good).unwrap();
    let checked = IndexedProject::new(app(), shop.project.clone(), crate::harness::Repository::new(&[]));
    change_bytes(&file, |bytes| {
        let page = bytes.len() / 4096 / 2 * 4096;
        bytes[page..page + 2048].fill(0xAA);
    });
    assert_eq!(
        search_fault(&checked).await["code"],
        "SCHEMA_VALIDATION_FAILED",
        "the damage is found when the file is opened"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_on_file_and_value_sizes_hold() {
    let (shop, file) = shop_with_index_file(app(), "bounds").await;
    let bytes = std::fs::metadata(&file).unwrap().len();
    let with = |change: fn(&mut contract::config::Portable, u64)| {
        let app = app_with(|config| change(&mut config.portable, bytes));
        IndexedProject::new(app, shop.project.clone(), crate::harness::Repository::new(&[]))
    };
    let small = with(|portable, bytes| portable.file_bytes_max = bytes - 1);
    let refused = search_fault(&small).await;
    assert!(refused["hint"].as_str().unwrap().contains("file_bytes_max"), "{refused:#}");
    let exact = with(|portable, bytes| portable.file_bytes_max = bytes);
    assert_eq!(search(&exact, json!({ "backend": "sqlite" })).await["ok"], true);
    // Larger than any text of the shop, and than FTS5's blocks.
    run_sqlite_script(&file, "UPDATE chunks SET content = hex(zeroblob(200000))");
    let narrow = with(|portable, _| portable.value_bytes_max = 100_000);
    assert_eq!(search_fault(&narrow).await["code"], "SCHEMA_VALIDATION_FAILED");
}
