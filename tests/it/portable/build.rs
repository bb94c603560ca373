//! Building, updating and compacting portable files: each argument takes effect, and calls for one project leave other
//! projects alone.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::{build_index_file, files_beside, index_file, shop_with_index_file};
use crate::filters::shop::{IndexedProject, hit_files};
use crate::harness::{app, app_with, error, project, result};

/// The rows of a query, as Python's SQLite module reads and prints them.
fn rows(file: &Path, statement: &str) -> Vec<String> {
    let script = "import sqlite3, sys\n\
                  file = sqlite3.connect(f'file:{sys.argv[1]}?mode=ro', uri=True)\n\
                  for row in file.execute(sys.argv[2]):\n    print(repr(row))\n";
    let output = Command::new("python3").args(["-c", script]).arg(file).arg(statement).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

fn number(file: &Path, statement: &str) -> i64 {
    rows(file, statement)[0].trim_matches(|c: char| !c.is_ascii_digit()).parse().unwrap()
}

/// The rows of every table, without the build time and without vectors that no chunk needs.
fn content(file: &Path) -> Vec<(String, Vec<String>)> {
    let tables = [
        "SELECT * FROM meta WHERE key <> 'builtAt' ORDER BY key",
        "SELECT * FROM repositories ORDER BY id",
        "SELECT * FROM files ORDER BY id",
        "SELECT * FROM chunks ORDER BY id",
        "SELECT * FROM comments ORDER BY chunk_id",
        "SELECT * FROM postings ORDER BY term, chunk_id",
        "SELECT * FROM comment_postings ORDER BY term, chunk_id",
        "SELECT * FROM terms ORDER BY repository_id, term",
        "SELECT * FROM vectors WHERE hash IN (SELECT content_hash FROM chunks) ORDER BY hash",
        "SELECT * FROM names ORDER BY id",
        "SELECT * FROM chunk_facts ORDER BY name_id, chunk_id",
        "SELECT * FROM chunk_authors ORDER BY name_id, chunk_id",
        "SELECT * FROM chunk_flows ORDER BY name_id, chunk_id",
        "SELECT * FROM flows ORDER BY chunk_id",
        "SELECT * FROM file_imports ORDER BY name_id, file_id",
        "SELECT rowid, path FROM search WHERE search MATCH 'order OR wares' ORDER BY rowid",
        "SELECT rowid FROM comment_search WHERE comment_search MATCH 'order' ORDER BY rowid",
    ];
    tables.iter().map(|table| ((*table).to_owned(), rows(file, table))).collect()
}

fn modes(file: &Path) -> BTreeSet<String> {
    rows(file, "SELECT DISTINCT mode FROM files").into_iter().collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_argument_of_a_build_takes_effect() {
    let (shop, file) = shop_with_index_file(app(), "fields").await;
    let folder = file.parent().unwrap();
    assert_eq!(modes(&file).len(), 3);
    for (mode, kept, files) in [
        ("code", "('code',)", 9),
        ("prose", "('prose',)", 2),
        ("extracted-prose", "('code',)", 7),
        ("records", "('records',)", 1),
    ] {
        let report = build_index_file(&shop.app, &shop.project, json!({ "mode": mode })).await;
        let own = folder.join(format!("index-{mode}.sqlite"));
        assert_eq!(
            (&report["mode"], &report["files"][0]["files"]),
            (&json!(mode), &json!(files)),
            "{report:#}"
        );
        assert_eq!(modes(&own).into_iter().collect::<Vec<_>>(), [kept]);
    }
    let name = shop.repository.path().file_name().unwrap().to_string_lossy().into_owned();
    let report =
        build_index_file(&shop.app, &shop.project, json!({ "repoPath": shop.repository.root() })).await;
    assert_eq!(report["files"][0]["chunks"], 11, "{report:#}");
    let own = folder.join(format!("index-{name}.sqlite"));
    assert_eq!(rows(&own, "SELECT name FROM repositories"), [format!("('{name}',)")]);
    assert!(
        rows(&own, "SELECT name FROM names WHERE name = 'try_order'").is_empty(),
        "it holds nothing of another repository"
    );

    let report = build_index_file(&shop.app, &shop.project, json!({ "out": "other.sqlite" })).await;
    assert_eq!(report["outPath"], folder.join("other.sqlite").to_str().unwrap(), "{report:#}");
    let elsewhere = tempfile::tempdir().unwrap();
    let (code, prose) = (elsewhere.path().join("c"), elsewhere.path().join("p"));
    let arguments = json!({ "codeDir": code.to_str(), "proseDir": prose.to_str() });
    let report = build_index_file(&shop.app, &shop.project, arguments).await;
    assert_eq!(report["files"].as_array().unwrap().len(), 2, "{report:#}");
    assert_eq!(modes(&code.join("index-code.sqlite")).into_iter().collect::<Vec<_>>(), ["('code',)"]);
    assert_eq!(modes(&prose.join("index-prose.sqlite")).into_iter().collect::<Vec<_>>(), ["('prose',)"]);
    let bytes = std::fs::read(&file).unwrap();
    let whole = build_index_file(&shop.app, &shop.project, json!({ "out": "index.sqlite" })).await;
    assert_eq!(whole["files"][0]["bytes"], bytes.len());
    assert_eq!(whole["files"][0]["sha256"].as_str().unwrap().len(), 64);

    for (wrong, code) in [
        (json!({ "codeDir": "x", "out": "y" }), "INVALID_REQUEST"),
        (json!({ "codeDir": "x", "mode": "prose" }), "INVALID_REQUEST"),
        (json!({ "out": "relative/path.sqlite" }), "INVALID_REQUEST"),
        (json!({ "repoPath": "no-such-repository" }), "NO_INDEX"),
        (json!({ "project_id": project("absent") }), "NO_INDEX"),
    ] {
        let mut arguments = json!({ "project_id": shop.project });
        arguments.as_object_mut().unwrap().extend(wrong.as_object().unwrap().clone());
        assert_eq!(error(&shop.app, "build_sqlite_index", arguments).await["code"], code, "{wrong}");
    }
    // A file of another kind is not overwritten.
    let letter = elsewhere.path().join("letter.txt");
    std::fs::write(&letter, "Dear reader").unwrap();
    let arguments = json!({ "project_id": shop.project, "out": letter.to_str() });
    assert_eq!(error(&shop.app, "build_sqlite_index", arguments).await["code"], "ILLEGAL_STATE");
    assert_eq!(std::fs::read_to_string(&letter).unwrap(), "Dear reader");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_equals_a_full_build() {
    let (shop, file) = shop_with_index_file(app(), "update").await;
    let update = json!({ "incremental": true });
    let none = build_index_file(&shop.app, &shop.project, update.clone()).await;
    let written = &none["files"][0];
    assert_eq!((&written["incremental"], &written["filesWritten"]), (&json!(true), &json!(0)), "{none:#}");
    assert_eq!(written["fallback"], Value::Null);

    shop.repository.write("src/stock/walk.rs", "/// Fetches every ware of an order, by the shortest way.\npub fn fetch_wares(shelf: Shelf) {\n    hurry(shelf);\n}\n");
    shop.repository.write(
        "src/stock/new.rs",
        "/// A new order of wares.\npub fn newcomer(order: Order) {\n    fetch_wares(order);\n}\n",
    );
    shop.repository.remove("web/money.ts");
    let index = json!({ "repoPath": shop.repository.root(), "project_id": shop.project });
    result(&shop.app, "build_index", index.clone()).await;
    let report = build_index_file(&shop.app, &shop.project, update.clone()).await;
    assert_eq!(
        (&report["files"][0]["incremental"], &report["files"][0]["filesWritten"]),
        (&json!(true), &json!(2)),
        "{report:#}"
    );
    let full = build_index_file(&shop.app, &shop.project, json!({ "out": "full.sqlite" })).await;
    let full = Path::new(full["outPath"].as_str().unwrap()).to_owned();
    for (updated, rebuilt) in content(&file).into_iter().zip(content(&full)) {
        assert_eq!(updated, rebuilt);
    }
    assert_eq!(rows(&file, "PRAGMA integrity_check"), ["('ok',)"]);
    assert_eq!(
        hit_files(&shop.search("newcomer", json!({ "backend": "sqlite", "ann": false })).await)[0],
        "src/stock/new.rs"
    );
    assert_eq!(
        hit_files(&shop.search("newcomer", json!({ "backend": "sqlite-fts" })).await),
        ["src/stock/new.rs"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn compact_leaves_no_free_pages() {
    let shop =
        IndexedProject::shop(app_with(|config| config.portable.changed_percent_max = 1000), "gaps").await;
    let file = index_file(&shop.project);
    let index = json!({ "repoPath": shop.repository.root(), "project_id": shop.project });
    let functions = (0..200).map(|n| {
        format!("/// Number {n}.\nfn f{n}(order: u64) -> u64 {{\n    order * {n} + g{n}(order)\n}}\n")
    });
    shop.repository.write("large.rs", &functions.collect::<String>());
    result(&shop.app, "build_index", index.clone()).await;
    build_index_file(&shop.app, &shop.project, json!({})).await;
    shop.repository.remove("large.rs");
    result(&shop.app, "build_index", index).await;
    build_index_file(&shop.app, &shop.project, json!({ "incremental": true })).await;
    assert!(number(&file, "PRAGMA freelist_count") > 0, "an update leaves free pages");
    let before = content(&file);
    let report =
        build_index_file(&shop.app, &shop.project, json!({ "incremental": true, "compact": true })).await;
    assert_eq!(number(&file, "PRAGMA freelist_count"), 0, "{report:#}");
    assert_eq!(report["files"][0]["bytes"], std::fs::metadata(&file).unwrap().len(), "{report:#}");
    assert_eq!(content(&file), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_impossible_update_becomes_a_full_build_with_a_reason() {
    let shop = IndexedProject::shop(app(), "fallback").await;
    let file = index_file(&shop.project);
    let update = async |shop: &IndexedProject| {
        let report = build_index_file(&shop.app, &shop.project, json!({ "incremental": true })).await;
        assert_eq!(report["files"][0]["incremental"], report["files"][0]["fallback"].is_null(), "{report:#}");
        report["files"][0]["fallback"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(update(&shop).await, "there was no file");
    assert_eq!(update(&shop).await, "");
    let good = std::fs::read(&file).unwrap();
    std::fs::write(&file, &good[..good.len() / 2]).unwrap();
    assert_eq!(update(&shop).await, "the file is damaged or of another format");
    assert_eq!(update(&shop).await, "");
    build_index_file(&shop.app, &shop.project, json!({ "out": "index.sqlite", "mode": "code" })).await;
    assert_eq!(update(&shop).await, "the file has another project, repository or mode");
    let index =
        json!({ "repoPath": shop.repository.root(), "project_id": shop.project, "incremental": false });
    result(&shop.app, "build_index", index).await;
    assert_eq!(update(&shop).await, "more than 35 % changed");
    let with_higher_limit = app_with(|config| config.portable.changed_percent_max = 100);
    let index =
        json!({ "repoPath": shop.repository.root(), "project_id": shop.project, "incremental": false });
    result(&with_higher_limit, "build_index", index).await;
    let report = build_index_file(&with_higher_limit, &shop.project, json!({ "incremental": true })).await;
    assert_eq!(report["files"][0]["incremental"], true, "{report:#}");
    let meta = "import sqlite3, sys; f = sqlite3.connect(sys.argv[1]); f.execute(\"UPDATE meta SET value = 'aa' WHERE key = 'modelHash'\"); f.commit()";
    assert!(Command::new("python3").args(["-c", meta]).arg(&file).status().unwrap().success());
    assert_eq!(update(&shop).await, "the file has vectors of another model");
}

#[tokio::test(flavor = "multi_thread")]
async fn compaction_frees_what_its_dry_run_announced() {
    let (shop, file) = shop_with_index_file(app(), "compact").await;
    // A removed text leaves an unused vector and free pages behind.
    shop.repository.write(
        "src/billing/refund.rs",
        "/// Pays back.\nfn refund_order(order: &Order) {\n    pay(order);\n}\n",
    );
    let index = json!({ "repoPath": shop.repository.root(), "project_id": shop.project });
    result(&shop.app, "build_index", index).await;
    build_index_file(&shop.app, &shop.project, json!({ "incremental": true })).await;
    let before = std::fs::read(&file).unwrap();
    let compact = async |arguments: Value| {
        let mut all = json!({ "project_id": shop.project });
        all.as_object_mut().unwrap().extend(arguments.as_object().unwrap().clone());
        result(&shop.app, "compact_sqlite_index", all).await
    };
    let dry = compact(json!({ "dryRun": true, "keepBackup": true })).await;
    assert_eq!(dry["vectorsRemoved"], 1, "{dry:#}");
    assert!(dry["freedBytes"].as_u64().unwrap() > 0 && dry["backup"].is_null(), "{dry:#}");
    assert_eq!(std::fs::read(&file).unwrap(), before, "a dry run changes nothing");
    assert!(!files_beside(&file).contains(&"index.sqlite.bak".to_owned()));

    let answer = shop.search("order", json!({ "backend": "sqlite", "output": "full" })).await;
    let done = compact(json!({ "keepBackup": true })).await;
    assert_eq!(
        (&done["freedBytes"], &done["bytesAfter"]),
        (&dry["freedBytes"], &dry["bytesAfter"]),
        "{done:#}"
    );
    assert_eq!(std::fs::metadata(&file).unwrap().len(), done["bytesAfter"].as_u64().unwrap());
    assert_eq!(std::fs::read(file.with_file_name("index.sqlite.bak")).unwrap(), before);
    let again = shop.search("order", json!({ "backend": "sqlite", "output": "full" })).await;
    assert_eq!(again["hits"], answer["hits"]);
    let nothing = compact(json!({})).await;
    assert_eq!((&nothing["freedBytes"], &nothing["vectorsRemoved"]), (&json!(0), &json!(0)), "{nothing:#}");

    for arguments in [json!({ "mode": "code" }), json!({ "repoPath": shop.repository.root() })] {
        let report = build_index_file(&shop.app, &shop.project, arguments.clone()).await;
        assert_eq!(compact(arguments).await["path"], report["outPath"]);
    }
    assert_eq!(
        compact(json!({ "path": "index-code.sqlite" })).await["path"],
        file.with_file_name("index-code.sqlite").to_str().unwrap()
    );
    let both = json!({ "project_id": shop.project, "path": "index.sqlite", "mode": "code" });
    assert_eq!(error(&shop.app, "compact_sqlite_index", both).await["code"], "INVALID_REQUEST");
    let absent = json!({ "project_id": shop.project, "path": "absent.sqlite" });
    assert_eq!(error(&shop.app, "compact_sqlite_index", absent).await["code"], "NO_INDEX");
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_for_one_project_leave_other_projects_alone() {
    let (ours, our_file) = shop_with_index_file(app(), "touch-ours").await;
    let (theirs, their_file) = shop_with_index_file(app(), "touch-theirs").await;
    let theirs_before = (std::fs::read(&their_file).unwrap(), files_beside(&their_file));
    build_index_file(&ours.app, &ours.project, json!({ "incremental": true, "compact": true })).await;
    build_index_file(&ours.app, &ours.project, json!({ "mode": "code" })).await;
    result(&ours.app, "compact_sqlite_index", json!({ "project_id": ours.project, "keepBackup": true }))
        .await;
    assert_eq!((std::fs::read(&their_file).unwrap(), files_beside(&their_file)), theirs_before);
    assert_eq!(theirs.search("order", json!({ "backend": "sqlite" })).await["total"], 12);
    let text = String::from_utf8_lossy(&std::fs::read(&our_file).unwrap()).into_owned();
    assert!(!text.contains(&theirs.project));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_outside_a_partial_file_gives_a_warning() {
    let (shop, _) = shop_with_index_file(app(), "partial").await;
    build_index_file(&shop.app, &shop.project, json!({ "out": "index.sqlite", "mode": "code" })).await;
    let codes = async |mode: &str| -> Vec<String> {
        let warnings = crate::filters::shop::search_warnings(
            &shop,
            "order",
            json!({ "backend": "sqlite", "mode": mode }),
        )
        .await;
        warnings.iter().map(|warning| warning["code"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(codes("both").await, ["file_partial"]);
    assert_eq!(codes("code").await, [] as [String; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repositorys_file_answers_searches_of_that_repository_only() {
    let shop = IndexedProject::shop(app(), "own-file").await;
    build_index_file(&shop.app, &shop.project, json!({ "repoPath": shop.repository.root() })).await;
    let own = json!({ "backend": "sqlite", "repoPath": shop.repository.root() });
    assert_eq!(shop.search("order", own).await["total"], 11);
    let missing = shop.arguments("order", json!({ "backend": "sqlite" }));
    assert_eq!(error(&shop.app, "search", missing).await["code"], "NO_INDEX");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_build_reports_progress_and_leaves_no_file() {
    use gate::tools::{self, Caller, Progress, Request, Surface};
    use std::sync::{Arc, Mutex};

    let indexed = crate::filters::corpus::corpus(app_with(|config| config.portable.page_chunks = 100)).await;
    let seen: Arc<Mutex<Vec<f64>>> = Arc::default();
    let mut request = Request::new(
        "build_sqlite_index",
        json!({ "project_id": indexed.project, "out": "cancelled.sqlite" }),
        Caller::local(Surface::Cli),
    );
    let (sink, cancel) = (Arc::clone(&seen), request.cancel.clone());
    request.progress = Progress::to(move |update| {
        let mut seen = sink.lock().unwrap();
        seen.push(update.done);
        if seen.len() == 5 {
            cancel.cancel();
        }
    });
    let envelope = serde_json::to_value(tools::call(&indexed.app, request).await.unwrap()).unwrap();
    assert_eq!(envelope["error"]["code"], "CANCELLED", "{envelope:#}");
    let seen = seen.lock().unwrap().clone();
    assert!(seen.len() >= 5 && seen.is_sorted(), "{seen:?}");
    // A separate task cleans up after the cancellation.
    let is_gone = async || {
        let names = files_beside(&index_file(&indexed.project));
        !names.iter().any(|name| name.contains("cancelled") && !name.ends_with(".lock"))
    };
    for _ in 0..100 {
        if is_gone().await {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert!(is_gone().await, "{:?}", files_beside(&index_file(&indexed.project)));
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_builds_of_one_file_leave_a_sound_file() {
    let (shop, file) = shop_with_index_file(app(), "twice").await;
    let build =
        || crate::harness::call(&shop.app, "build_sqlite_index", json!({ "project_id": shop.project }));
    let answers = futures::future::join_all((0..6).map(|_| build())).await;
    let good = answers.iter().filter(|answer| answer["ok"] == true).count();
    assert!(good >= 1, "{answers:#?}");
    for answer in &answers {
        assert!(answer["ok"] == true || answer["error"]["code"] == "ILLEGAL_STATE", "{answer:#}");
    }
    assert_eq!(rows(&file, "PRAGMA integrity_check"), ["('ok',)"]);
}
