//! Files that are not ours, or not whole: each is a clear fault, none a crash, and none is changed.

use std::path::Path;

use serde_json::{Value, json};

use super::exported_shop;
use crate::filters::shop::Shop;
use crate::harness::{Dice, app, app_with, call};

async fn asked(shop: &Shop, arguments: Value) -> Value {
    call(&shop.app, "search", shop.arguments("order", arguments)).await
}

async fn fault(shop: &Shop) -> Value {
    let mut envelope = asked(shop, json!({ "backend": "sqlite" })).await;
    assert_eq!(envelope["ok"], false, "{envelope:#}");
    assert!(envelope["error"]["hint"].is_string(), "{envelope:#}");
    assert!(!envelope.to_string().contains("projects/"), "no path of the server: {envelope:#}");
    envelope["error"].take()
}

fn alter(file: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = std::fs::read(file).unwrap();
    change(&mut bytes);
    std::fs::write(file, bytes).unwrap();
}

pub(super) fn by_stock(file: &Path, script: &str) {
    let python = "import sqlite3, sys\nfile = sqlite3.connect(sys.argv[1])\nfile.executescript(sys.argv[2])\nfile.commit()\n";
    let done =
        std::process::Command::new("python3").args(["-c", python]).arg(file).arg(script).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_whole_file_of_ours_is_refused() {
    let (shop, file) = exported_shop(app(), "foreign").await;
    let good = std::fs::read(&file).unwrap();
    type Change = Box<dyn Fn(&Path)>;
    let changes: Vec<(&str, &str, Change)> = vec![
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
            Box::new(|file| by_stock(file, "PRAGMA application_id = 7")),
        ),
        ("newer", "SCHEMA_VALIDATION_FAILED", Box::new(|file| by_stock(file, "PRAGMA user_version = 99"))),
        (
            "truncated",
            "SCHEMA_VALIDATION_FAILED",
            Box::new(|file| alter(file, |bytes| bytes.truncate(bytes.len() / 2))),
        ),
        (
            "a view for a table",
            "SCHEMA_VALIDATION_FAILED",
            Box::new(|file| {
                by_stock(
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
                by_stock(file, "CREATE TRIGGER x AFTER INSERT ON terms BEGIN DELETE FROM chunks; END");
            }),
        ),
        (
            "no word of itself",
            "SCHEMA_VALIDATION_FAILED",
            Box::new(|file| by_stock(file, "DELETE FROM meta")),
        ),
        (
            "not text",
            "SCHEMA_VALIDATION_FAILED",
            Box::new(|file| {
                by_stock(file, "UPDATE chunks SET content = x'ff00ff', kind = 5.5, start_line = 'x'");
            }),
        ),
    ];
    let paths =
        ["'../../../../etc/passwd'", "'/etc/passwd'", "''", "'a/../../b'", "'a//b'", "'a' || char(0)"];
    let of_paths = paths.map(|path| {
        let script = format!("UPDATE files SET path = {path} WHERE id = (SELECT min(id) FROM files)");
        let change: Change = Box::new(move |file| by_stock(file, &script));
        (path, "SCHEMA_VALIDATION_FAILED", change)
    });
    for (what, code, change) in changes.into_iter().chain(of_paths) {
        std::fs::write(&file, &good).unwrap();
        change(&file);
        let before = std::fs::read(&file).ok();
        let fault = fault(&shop).await;
        assert_eq!(fault["code"], code, "{what}: {fault:#}");
        assert_eq!(std::fs::read(&file).ok(), before, "{what}: the file was changed");
    }
    std::fs::write(&file, &good).unwrap();
    assert_eq!(asked(&shop, json!({ "backend": "sqlite" })).await["ok"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_pages_are_faults_or_harmless() {
    // Without the check at opening, damage is met in the middle of a question.
    let (shop, file) = exported_shop(app_with(|config| config.portable.check_bytes_max = 0), "damaged").await;
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
        let envelope = asked(&shop, json!({ "backend": backend, "output": "full", "context": 3 })).await;
        if envelope["ok"] == false {
            faults += 1;
            let code = envelope["error"]["code"].as_str().unwrap();
            assert!(["SCHEMA_VALIDATION_FAILED", "STORAGE_UNAVAILABLE"].contains(&code), "{envelope:#}");
        }
    }
    assert!(faults > 5, "{faults}");
    std::fs::write(&file, &good).unwrap();
    let checked = Shop::of(app(), shop.project.clone(), crate::harness::Repository::new(&[]));
    alter(&file, |bytes| {
        let page = bytes.len() / 4096 / 2 * 4096;
        bytes[page..page + 2048].fill(0xAA);
    });
    assert_eq!(fault(&checked).await["code"], "SCHEMA_VALIDATION_FAILED", "found when it is opened");
}

#[tokio::test(flavor = "multi_thread")]
async fn bounds_hold() {
    let (shop, file) = exported_shop(app(), "bounds").await;
    let bytes = std::fs::metadata(&file).unwrap().len();
    let with = |change: fn(&mut contract::config::Portable, u64)| {
        let app = app_with(|config| change(&mut config.portable, bytes));
        Shop::of(app, shop.project.clone(), crate::harness::Repository::new(&[]))
    };
    let small = with(|portable, bytes| portable.file_bytes_max = bytes - 1);
    let refused = fault(&small).await;
    assert!(refused["hint"].as_str().unwrap().contains("file_bytes_max"), "{refused:#}");
    let exact = with(|portable, bytes| portable.file_bytes_max = bytes);
    assert_eq!(asked(&exact, json!({ "backend": "sqlite" })).await["ok"], true);
    // Larger than any of our texts, and than FTS5's blocks.
    by_stock(&file, "UPDATE chunks SET content = hex(zeroblob(200000))");
    let narrow = with(|portable, _| portable.value_bytes_max = 100_000);
    assert_eq!(fault(&narrow).await["code"], "SCHEMA_VALIDATION_FAILED");
}
