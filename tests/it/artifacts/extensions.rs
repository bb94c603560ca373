//! Vector extensions: brought, tried, and refused where they are malicious; each field of both tools.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use store::postgres::{Pool, sql};
use tenancy::Projects;
use upkeep::extensions::{platform, suffix};

use super::{allowed, asked_by, names, remote, sha256};
use crate::file_server::{FileServer, Page};
use crate::harness::{Repository, app, app_with, error, result};

const GET: &str = "download_extensions";
const TRY: &str = "verify_extensions";

/// The product's library in a folder of its own, and that folder.
async fn brought() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let said = result(&app(), GET, json!({ "dir": folder.path() })).await;
    let library = PathBuf::from(said["extensionPath"].as_str().unwrap());
    assert!(library.is_file(), "{said:#}");
    (folder, library)
}

/// Whether a program of this machine can load a library into SQLite, found out without the code under test.
fn somebody_can(library: &Path) -> bool {
    let script = "import sqlite3, sys; c = sqlite3.connect(':memory:'); c.enable_load_extension(True); c.load_extension(sys.argv[1])";
    let python = Command::new("python3").args(["-c", script]).arg(library).output();
    let load = format!(".load \"{}\"", library.display());
    let sqlite = Command::new("sqlite3").args(["-bail", ":memory:", &load, "SELECT vec_version()"]).output();
    [python, sqlite].into_iter().flatten().any(|ran| ran.status.success())
}

fn tar(entries: &[(&str, tar::EntryType, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, kind, content) in entries {
        let mut header = tar::Header::new_ustar();
        header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(*kind);
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        builder.append(&header, *content).unwrap();
    }
    builder.into_inner().unwrap()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_products_own_is_brought_verified_and_tried() {
    let (folder, library) = brought().await;
    let dir = folder.path().to_string_lossy().into_owned();
    let tried = result(&app(), TRY, json!({ "dir": dir })).await;
    assert_eq!((&tried["exists"], &tried["intact"]), (&json!(true), &json!(true)), "{tried:#}");
    if somebody_can(&library) {
        assert_eq!((&tried["load"]["ok"], &tried["smoke"]["ok"]), (&json!(true), &json!(true)), "{tried:#}");
        assert_eq!(tried["readBack"], "[0.100000,0.200000,0.300000]");
    } else {
        assert_eq!(tried["load"]["attempted"], false, "{tried:#}");
        assert!(tried["load"]["reason"].as_str().unwrap().contains("no program here"), "{tried:#}");
    }
    let config = &tried["config"];
    let key = platform(None, None).unwrap();
    assert_eq!(
        (&config["module"], &config["encoding"], &config["platformKey"]),
        (&json!("vec0"), &json!("float32"), &json!(key))
    );

    let again = result(&app(), GET, json!({ "dir": dir })).await;
    assert_eq!(again["skipped"], json!([{ "name": "sqlite-vec", "reason": "present" }]));
    let updated = result(&app(), GET, json!({ "dir": dir, "update": true, "provider": "sqlite-vec" })).await;
    assert_eq!(updated["skipped"][0]["reason"], "not-modified");
    // An altered library is told, and brought again.
    std::fs::write(&library, b"\x7fELF altered").unwrap();
    let tried = result(&app(), TRY, json!({ "dir": dir })).await;
    assert_eq!(
        (&tried["intact"], &tried["load"]["ok"], &tried["smoke"]["ok"]),
        (&json!(false), &json!(false), &json!(false))
    );
    let mended = result(&app(), GET, json!({ "dir": dir })).await;
    assert_eq!(mended["downloaded"], json!(["sqlite-vec"]));
    assert_eq!(mended["extensions"][0]["verified"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_tried_is_what_the_caller_says() {
    let (folder, library) = brought().await;
    assert!(somebody_can(&library), "this test needs python3 with loadable extensions, or sqlite3");
    let app = app();
    let tried = async |more: Value| {
        let mut arguments = json!({ "path": library });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        result(&app, TRY, arguments).await
    };
    for (more, smoke, read) in [
        (json!({}), true, json!("[0.100000,0.200000,0.300000]")),
        (json!({ "encoding": "int8" }), true, json!("[1,2,3]")),
        (
            json!({ "options": "distance_metric=cosine, chunk_size=8" }),
            true,
            json!("[0.100000,0.200000,0.300000]"),
        ),
        (json!({ "options": "distance_metric=nonsense" }), false, Value::Null),
        (json!({ "options": "chunk_size=7" }), false, Value::Null),
        (json!({ "module": "vec9" }), false, Value::Null),
        (json!({ "table": "t1", "column": "c1" }), true, json!("[0.100000,0.200000,0.300000]")),
        // A word of SQL that cannot be a column: the name reaches the statement.
        (json!({ "column": "rowid" }), false, Value::Null),
        (json!({ "table": "sqlite_master" }), false, Value::Null),
    ] {
        let said = tried(more.clone()).await;
        assert_eq!(
            (&said["load"]["ok"], &said["smoke"]["ok"]),
            (&json!(true), &json!(smoke)),
            "{more}: {said:#}"
        );
        assert_eq!(said["readBack"], read, "{more}: {said:#}");
        assert_eq!(said["path"], library.to_string_lossy().as_ref());
        assert!(said.get("intact").is_none(), "nobody recorded it there");
    }
    let looked = tried(json!({ "load": false })).await;
    assert_eq!(
        (&looked["exists"], &looked["load"]["attempted"], &looked["smoke"]["attempted"]),
        (&json!(true), &json!(false), &json!(false))
    );
    for (more, code) in [
        (json!({ "table": "a b" }), "INVALID_REQUEST"),
        (json!({ "column": "x; DROP TABLE y" }), "INVALID_REQUEST"),
        (json!({ "module": "0" }), "INVALID_REQUEST"),
        (json!({ "options": "metric=cosine" }), "INVALID_REQUEST"),
        (json!({ "options": "chunk_size=many" }), "INVALID_REQUEST"),
        (json!({ "encoding": "float16" }), "INVALID_REQUEST"),
        (json!({ "annMode": "js" }), "INVALID_REQUEST"),
        (json!({ "dir": folder.path() }), "INVALID_REQUEST"),
        (json!({ "annMode": "extension", "module": "vec9" }), "CAPABILITY_MISSING"),
    ] {
        let mut arguments = json!({ "path": library });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let refused = error(&app, TRY, arguments).await;
        assert_eq!(refused["code"], code, "{more}: {refused:#}");
    }
    assert_eq!(tried(json!({ "annMode": "extension" })).await["smoke"]["ok"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_there_is_told_or_an_error() {
    let app = app();
    let repository = Repository::new(&[("a.py", "a = 1\n"), ("lib/vec0.so", "no library")]);
    let root = repository.root();
    let missing = result(&app, TRY, json!({ "dir": "none", "repoPath": root })).await;
    assert_eq!((&missing["exists"], &missing["load"]["attempted"]), (&json!(false), &json!(false)));
    let must = error(&app, TRY, json!({ "dir": "none", "repoPath": root, "annMode": "extension" })).await;
    assert_eq!(must["code"], "CAPABILITY_MISSING");
    let no_library = result(&app, TRY, json!({ "path": "lib/vec0.so", "repoPath": root })).await;
    assert_eq!(
        (&no_library["exists"], &no_library["load"]["ok"]),
        (&json!(true), &json!(false)),
        "{no_library:#}"
    );
    assert!(!no_library.to_string().contains(&root) || no_library["load"]["reason"].is_string());
    for arguments in [json!({ "path": "lib/vec0.so" }), json!({ "repoPath": root })] {
        assert_eq!(error(&app, TRY, arguments.clone()).await["code"], "INVALID_REQUEST", "{arguments}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn libraries_of_other_platforms_lie_beside_this_machines_own() {
    let folder = tempfile::tempdir().unwrap();
    let (app, dir) = (app(), folder.path().to_string_lossy().into_owned());
    let own = platform(None, None).unwrap();
    let other = ["linux-aarch64", "macos-aarch64"].into_iter().find(|other| *other != own).unwrap();
    let (system, arch) = other.split_once('-').unwrap();
    let said = result(&app, GET, json!({ "dir": dir, "platform": system, "arch": arch })).await;
    assert_eq!(said["extensions"][0]["platform"], other);
    assert_eq!(said["extensionPath"], format!("{dir}/{other}/vec0.{}", suffix(other)));
    let tried = result(&app, TRY, json!({ "dir": dir, "platform": system, "arch": arch })).await;
    assert_eq!((&tried["exists"], &tried["load"]["attempted"]), (&json!(true), &json!(false)), "{tried:#}");
    assert!(tried["load"]["reason"].as_str().unwrap().contains("another platform"));
    assert_eq!(
        result(&app, TRY, json!({ "dir": dir })).await["exists"],
        false,
        "this machine's own is not there"
    );
    for bad in [json!({ "platform": "plan9" }), json!({ "arch": "sparc" })] {
        for tool in [GET, TRY] {
            assert_eq!(error(&app, tool, bad.clone()).await["code"], "INVALID_REQUEST", "{tool} {bad}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn own_libraries_come_as_they_are_or_out_of_archives() {
    let (server, (_product, library)) = (FileServer::start().await, brought().await);
    let (app, folder) = (app(), tempfile::tempdir().unwrap());
    let bytes = std::fs::read(&library).unwrap();
    let ending = suffix(&platform(None, None).unwrap());
    let inside = format!("./lib/mine.{ending}");
    let tarred =
        tar(&[(&inside, tar::EntryType::Regular, &bytes), ("README", tar::EntryType::Regular, b"text")]);
    let mut zipped = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    zipped.start_file(&inside[2..], zip::write::SimpleFileOptions::default()).unwrap();
    zipped.write_all(&bytes).unwrap();
    let zipped = zipped.finish().unwrap().into_inner();
    for (body, copy) in [(bytes.clone(), "a"), (tarred.clone(), "b"), (gzip(&tarred), "c"), (zipped, "d")] {
        let url = server.put("/mine", Page::tagged(body, copy));
        let out = folder.path().join(copy);
        let arguments =
            json!({ "url": format!("mine={url}"), "dir": folder.path(), "out": out, "update": true });
        let said = result(&app, GET, arguments).await;
        assert_eq!(said["downloaded"], json!(["mine"]), "{said:#}");
        assert_eq!(said["extensionPath"], out.to_string_lossy().as_ref());
        assert_eq!(std::fs::read(&out).unwrap(), bytes);
        let kept = folder.path().join(platform(None, None).unwrap()).join(format!("mine.{ending}"));
        assert_eq!(std::fs::read(kept).unwrap(), bytes);
        let asked = server.heads().len();
        let arguments = json!({ "url": format!("mine={url}"), "dir": folder.path() });
        assert_eq!(result(&app, GET, arguments.clone()).await["skipped"][0]["reason"], "present");
        assert_eq!(server.heads().len(), asked);
        let mut again = arguments.clone();
        again["update"] = json!(true);
        assert_eq!(result(&app, GET, again).await["skipped"][0]["reason"], "not-modified");
        assert!(server.heads()[asked].contains("if-none-match"));
        let mut anew = arguments;
        anew["force"] = json!(true);
        assert_eq!(result(&app, GET, anew).await["downloaded"], json!(["mine"]));
        assert!(!server.heads()[asked + 1].contains("if-none-match"));
    }
    assert_eq!(names(&folder.path().join(".incoming")), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn malicious_archives_and_what_holds_no_library_are_refused_and_leave_nothing() {
    let (server, folder) = (FileServer::start().await, tempfile::tempdir().unwrap());
    let app = app_with(|config| {
        config.downloads.unpacked_bytes_max = 10_000;
        config.downloads.entry_bytes_max = 6_000;
        config.downloads.entries_max = 4;
        config.downloads.allow = vec![allowed("wrong", &format!("{}/bad", server.url), Some("0".repeat(64)))];
    });
    let regular = tar::EntryType::Regular;
    let elf = b"\x7fELF";
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (gzip(&tar(&[("../up.so", regular, elf)])), "ARCHIVE_UNSAFE"),
        (tar(&[("/tmp/absolute.so", regular, elf)]), "ARCHIVE_UNSAFE"),
        (tar(&[("link.so", tar::EntryType::Symlink, b"")]), "ARCHIVE_UNSAFE"),
        (tar(&[("hard.so", tar::EntryType::Link, b"")]), "ARCHIVE_UNSAFE"),
        (tar(&[("device.so", tar::EntryType::Block, b"")]), "ARCHIVE_UNSAFE"),
        (gzip(&tar(&[("big.so", regular, &[0; 6_001])])), "ARCHIVE_TOO_LARGE"),
        (tar(&[("a", regular, &[0; 6_000]), ("b", regular, &[0; 6_000])]), "ARCHIVE_TOO_LARGE"),
        (
            tar(&[
                ("a", regular, b""),
                ("b", regular, b""),
                ("c", regular, b""),
                ("d", regular, b""),
                ("e", regular, b""),
            ]),
            "ARCHIVE_TOO_LARGE",
        ),
        (tar(&[("README", regular, b"text")]), "DOWNLOAD_VERIFY_FAILED"),
        (tar(&[("fake.so", regular, b"text")]), "DOWNLOAD_VERIFY_FAILED"),
        (b"<html>".to_vec(), "ARCHIVE_UNSAFE"),
    ];
    for (number, (body, code)) in cases.into_iter().enumerate() {
        let url = server.put("/bad", Page::of(body));
        let arguments = json!({ "url": format!("bad={url}"), "dir": folder.path(), "platform": "linux" });
        assert_eq!(error(&app, GET, arguments).await["code"], code, "case {number}");
    }
    for (given, code) in
        [("wrong", "DOWNLOAD_VERIFY_FAILED"), ("sqlite-vec=https://example.org/x", "INVALID_REQUEST")]
    {
        let refused = error(&app, GET, json!({ "url": given, "dir": folder.path() })).await;
        assert_eq!(refused["code"], code, "{refused:#}");
    }
    let key = platform(Some("linux"), None).unwrap();
    assert_eq!(names(&folder.path().join(key)), [""; 0], "nothing was kept");
    assert_eq!(names(&folder.path().join(".incoming")), [""; 0], "nothing was left");
    assert!(!Path::new("/tmp/absolute.so").exists() && !folder.path().join("up.so").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn pgvector_is_looked_up_and_tried_and_leaves_nothing() {
    let app = app();
    let found = result(&app, GET, json!({ "provider": "pgvector" })).await;
    assert_eq!(found["skipped"], json!([{ "name": "pgvector", "reason": "present" }]));
    assert_eq!(found["pgvector"]["installed"], found["pgvector"]["available"], "{found:#}");
    assert_eq!(found["pgvector"]["warnings"], json!([]));
    let updated = result(&app, GET, json!({ "provider": "pgvector", "update": true })).await;
    assert_eq!(updated["skipped"][0]["reason"], "not-modified");
    for field in ["dir", "out", "url", "from", "platform", "arch", "repoPath"] {
        let refused = error(&app, GET, json!({ "provider": "pgvector", (field): "x=y" })).await;
        assert_eq!(refused["code"], "INVALID_REQUEST");
        assert!(refused["message"].as_str().unwrap().contains(field), "{refused:#}");
    }

    let tried = async |more: Value| {
        let mut arguments = json!({ "provider": "pgvector", "table": "probe_of_a_test" });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        arguments
    };
    let plain = result(&app, TRY, tried(json!({})).await).await;
    assert_eq!(
        (&plain["smoke"]["ok"], &plain["readBack"]),
        (&json!(true), &json!("[0.1,0.2,0.3]")),
        "{plain:#}"
    );
    let half = json!({ "encoding": "float16", "column": "Column1", "options": "m=8,ef_construction=32" });
    let half = result(&app, TRY, tried(half).await).await;
    assert_eq!(half["smoke"]["ok"], true, "{half:#}");
    assert!(half["readBack"].as_str().unwrap().starts_with("[0.0999"), "half precision shows: {half:#}");
    assert_eq!(half["config"]["options"], json!(["m=8", "ef_construction=32"]));
    let looked = result(&app, TRY, tried(json!({ "load": false })).await).await;
    assert_eq!((&looked["smoke"]["attempted"], &looked["exists"]), (&json!(false), &json!(true)));
    for more in [
        json!({ "options": "m=1" }),
        json!({ "options": "lists=10" }),
        json!({ "encoding": "int8" }),
        json!({ "module": "vec0" }),
        json!({ "path": "/x" }),
        json!({ "table": "a\"b" }),
    ] {
        let refused = error(&app, TRY, tried(more.clone()).await).await;
        assert_eq!(refused["code"], "INVALID_REQUEST", "{more}: {refused:#}");
    }
    let mut tx = app.store().await.unwrap().database().begin(Pool::Ddl).await.unwrap();
    let left = sql("SELECT 1 FROM pg_catalog.pg_class WHERE relname = 'probe_of_a_test'");
    assert!(tx.first(left).await.unwrap().is_none(), "the table is still there");
    tx.rollback().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_from_elsewhere_name_no_files_and_no_addresses() {
    let (server, (_product, library)) = (FileServer::start().await, brought().await);
    let bytes = std::fs::read(&library).unwrap();
    let url = server.put("/mine", Page::of(bytes.clone()));
    let app = app_with(|config| config.downloads.allow = vec![allowed("listed", &url, Some(sha256(&bytes)))]);
    let none = Projects::These([].into());
    for (tool, projects, arguments) in [
        (GET, none.clone(), json!({ "url": "listed" })),
        (TRY, none, json!({ "load": false })),
        (GET, Projects::All, json!({ "url": format!("mine={url}") })),
        (GET, Projects::All, json!({ "url": "listed", "out": "/tmp/x" })),
        (GET, Projects::All, json!({ "dir": "/tmp" })),
        (GET, Projects::All, json!({ "from": "/tmp" })),
        (TRY, Projects::All, json!({ "path": library })),
        (TRY, Projects::All, json!({ "dir": "/tmp" })),
    ] {
        let said = asked_by(&app, remote(projects), tool, arguments.clone()).await;
        assert_eq!(said.unwrap_err(), "FORBIDDEN", "{tool} {arguments}");
    }
    assert!(server.heads().is_empty());
    let said = asked_by(&app, remote(Projects::All), GET, json!({ "url": "listed" })).await.unwrap();
    assert!(said["extensionPath"].as_str().unwrap().starts_with("extensions/"), "{said:#}");
    assert!(!said.to_string().contains("home-"), "a path of the server is told: {said:#}");
}
