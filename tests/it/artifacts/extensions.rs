//! Vector extensions: downloaded, verified, and refused if they are malicious; each argument of both tools.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use store::postgres::{Pool, sql};
use tenancy::Projects;
use upkeep::install::extensions::{library_suffix, platform_name};

use super::{allowed_download, call_as, remote_caller, sha256, visible_files};
use crate::file_server::{FileServer, ServedFile};
use crate::harness::{Repository, app, app_with, error, result};

const DOWNLOAD: &str = "download_extensions";
const VERIFY: &str = "verify_extensions";

/// Downloads the product's own library into a new folder; the folder and the library.
async fn download_library() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let answer = result(&app(), DOWNLOAD, json!({ "dir": folder.path() })).await;
    let library = PathBuf::from(answer["extensionPath"].as_str().unwrap());
    assert!(library.is_file(), "{answer:#}");
    (folder, library)
}

/// Checks whether Python or the program `sqlite3` of this machine can load a library, without using the code under test.
fn can_be_loaded(library: &Path) -> bool {
    let script = "import sqlite3, sys; c = sqlite3.connect(':memory:'); c.enable_load_extension(True); c.load_extension(sys.argv[1])";
    let python = Command::new("python3").args(["-c", script]).arg(library).output();
    let load = format!(".load \"{}\"", library.display());
    let sqlite = Command::new("sqlite3").args(["-bail", ":memory:", &load, "SELECT vec_version()"]).output();
    [python, sqlite].into_iter().flatten().any(|output| output.status.success())
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
async fn the_products_own_extension_is_downloaded_and_verified() {
    let (folder, library) = download_library().await;
    let dir = folder.path().to_string_lossy().into_owned();
    let verified = result(&app(), VERIFY, json!({ "dir": dir })).await;
    assert_eq!((&verified["exists"], &verified["intact"]), (&json!(true), &json!(true)), "{verified:#}");
    if can_be_loaded(&library) {
        assert_eq!(
            (&verified["load"]["ok"], &verified["smoke"]["ok"]),
            (&json!(true), &json!(true)),
            "{verified:#}"
        );
        assert_eq!(verified["readBack"], "[0.100000,0.200000,0.300000]");
    } else {
        assert_eq!(verified["load"]["attempted"], false, "{verified:#}");
        assert!(verified["load"]["reason"].as_str().unwrap().contains("no program here"), "{verified:#}");
    }
    let config = &verified["config"];
    let key = platform_name(None, None).unwrap();
    assert_eq!(
        (&config["module"], &config["encoding"], &config["platformKey"]),
        (&json!("vec0"), &json!("float32"), &json!(key))
    );

    let again = result(&app(), DOWNLOAD, json!({ "dir": dir })).await;
    assert_eq!(again["skipped"], json!([{ "name": "sqlite-vec", "reason": "present" }]));
    let updated =
        result(&app(), DOWNLOAD, json!({ "dir": dir, "update": true, "provider": "sqlite-vec" })).await;
    assert_eq!(updated["skipped"][0]["reason"], "not-modified");
    // A changed library is reported, and downloaded again.
    std::fs::write(&library, b"\x7fELF altered").unwrap();
    let verified = result(&app(), VERIFY, json!({ "dir": dir })).await;
    assert_eq!(
        (&verified["intact"], &verified["load"]["ok"], &verified["smoke"]["ok"]),
        (&json!(false), &json!(false), &json!(false))
    );
    let repaired = result(&app(), DOWNLOAD, json!({ "dir": dir })).await;
    assert_eq!(repaired["downloaded"], json!(["sqlite-vec"]));
    assert_eq!(repaired["extensions"][0]["verified"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn verification_follows_the_arguments() {
    let (folder, library) = download_library().await;
    assert!(can_be_loaded(&library), "this test needs python3 with loadable extensions, or sqlite3");
    let app = app();
    let verify = async |extra: Value| {
        let mut arguments = json!({ "path": library });
        arguments.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        result(&app, VERIFY, arguments).await
    };
    for (extra, smoke, read_back) in [
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
        // An SQL word that cannot be a column name: it fails only if the name reaches the statement.
        (json!({ "column": "rowid" }), false, Value::Null),
        (json!({ "table": "sqlite_master" }), false, Value::Null),
    ] {
        let answer = verify(extra.clone()).await;
        assert_eq!(
            (&answer["load"]["ok"], &answer["smoke"]["ok"]),
            (&json!(true), &json!(smoke)),
            "{extra}: {answer:#}"
        );
        assert_eq!(answer["readBack"], read_back, "{extra}: {answer:#}");
        assert_eq!(answer["path"], library.to_string_lossy().as_ref());
        assert!(answer.get("intact").is_none(), "no download recorded a hash for this path");
    }
    let not_loaded = verify(json!({ "load": false })).await;
    assert_eq!(
        (&not_loaded["exists"], &not_loaded["load"]["attempted"], &not_loaded["smoke"]["attempted"]),
        (&json!(true), &json!(false), &json!(false))
    );
    for (extra, code) in [
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
        arguments.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        let refused = error(&app, VERIFY, arguments).await;
        assert_eq!(refused["code"], code, "{extra}: {refused:#}");
    }
    assert_eq!(verify(json!({ "annMode": "extension" })).await["smoke"]["ok"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_library_is_reported_or_an_error() {
    let app = app();
    let repository = Repository::new(&[("a.py", "a = 1\n"), ("lib/vec0.so", "no library")]);
    let root = repository.root();
    let missing = result(&app, VERIFY, json!({ "dir": "none", "repoPath": root })).await;
    assert_eq!((&missing["exists"], &missing["load"]["attempted"]), (&json!(false), &json!(false)));
    let must = error(&app, VERIFY, json!({ "dir": "none", "repoPath": root, "annMode": "extension" })).await;
    assert_eq!(must["code"], "CAPABILITY_MISSING");
    let no_library = result(&app, VERIFY, json!({ "path": "lib/vec0.so", "repoPath": root })).await;
    assert_eq!(
        (&no_library["path"], &no_library["exists"], &no_library["load"]["ok"]),
        (&json!("lib/vec0.so"), &json!(true), &json!(false)),
        "{no_library:#}"
    );
    assert!(no_library["load"]["reason"].is_string(), "{no_library:#}");
    for arguments in [json!({ "path": "lib/vec0.so" }), json!({ "repoPath": root })] {
        assert_eq!(error(&app, VERIFY, arguments.clone()).await["code"], "INVALID_REQUEST", "{arguments}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn libraries_of_other_platforms_have_their_own_folders() {
    let folder = tempfile::tempdir().unwrap();
    let (app, dir) = (app(), folder.path().to_string_lossy().into_owned());
    let own = platform_name(None, None).unwrap();
    let other = ["linux-aarch64", "macos-aarch64"].into_iter().find(|other| *other != own).unwrap();
    let (system, arch) = other.split_once('-').unwrap();
    let answer = result(&app, DOWNLOAD, json!({ "dir": dir, "platform": system, "arch": arch })).await;
    assert_eq!(answer["extensions"][0]["platform"], other);
    assert_eq!(answer["extensionPath"], format!("{dir}/{other}/vec0.{}", library_suffix(other)));
    let verified = result(&app, VERIFY, json!({ "dir": dir, "platform": system, "arch": arch })).await;
    assert_eq!(
        (&verified["exists"], &verified["load"]["attempted"]),
        (&json!(true), &json!(false)),
        "{verified:#}"
    );
    assert!(verified["load"]["reason"].as_str().unwrap().contains("another platform"));
    assert_eq!(
        result(&app, VERIFY, json!({ "dir": dir })).await["exists"],
        false,
        "the library of this machine is missing"
    );
    for bad in [json!({ "platform": "plan9" }), json!({ "arch": "sparc" })] {
        for tool in [DOWNLOAD, VERIFY] {
            assert_eq!(error(&app, tool, bad.clone()).await["code"], "INVALID_REQUEST", "{tool} {bad}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn custom_libraries_are_downloaded_plain_or_in_archives() {
    let (server, (_product, library)) = (FileServer::start().await, download_library().await);
    let (app, folder) = (app(), tempfile::tempdir().unwrap());
    let bytes = std::fs::read(&library).unwrap();
    let suffix = library_suffix(&platform_name(None, None).unwrap());
    let inside = format!("./lib/mine.{suffix}");
    let tarred =
        tar(&[(&inside, tar::EntryType::Regular, &bytes), ("README", tar::EntryType::Regular, b"text")]);
    let mut zipped = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    zipped.start_file(&inside[2..], zip::write::SimpleFileOptions::default()).unwrap();
    zipped.write_all(&bytes).unwrap();
    let zipped = zipped.finish().unwrap().into_inner();
    for (body, copy) in [(bytes.clone(), "a"), (tarred.clone(), "b"), (gzip(&tarred), "c"), (zipped, "d")] {
        let url = server.put("/mine", ServedFile::with_etag(body, copy));
        let out = folder.path().join(copy);
        let arguments =
            json!({ "url": format!("mine={url}"), "dir": folder.path(), "out": out, "update": true });
        let answer = result(&app, DOWNLOAD, arguments).await;
        assert_eq!(answer["downloaded"], json!(["mine"]), "{answer:#}");
        assert_eq!(answer["extensionPath"], out.to_string_lossy().as_ref());
        assert_eq!(std::fs::read(&out).unwrap(), bytes);
        let kept = folder.path().join(platform_name(None, None).unwrap()).join(format!("mine.{suffix}"));
        assert_eq!(std::fs::read(kept).unwrap(), bytes);
        let requests = server.request_heads().len();
        let arguments = json!({ "url": format!("mine={url}"), "dir": folder.path() });
        assert_eq!(result(&app, DOWNLOAD, arguments.clone()).await["skipped"][0]["reason"], "present");
        assert_eq!(server.request_heads().len(), requests);
        let mut again = arguments.clone();
        again["update"] = json!(true);
        assert_eq!(result(&app, DOWNLOAD, again).await["skipped"][0]["reason"], "not-modified");
        assert!(server.request_heads()[requests].contains("if-none-match"));
        let mut forced = arguments;
        forced["force"] = json!(true);
        assert_eq!(result(&app, DOWNLOAD, forced).await["downloaded"], json!(["mine"]));
        assert!(!server.request_heads()[requests + 1].contains("if-none-match"));
    }
    assert_eq!(visible_files(&folder.path().join(".incoming")), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn malicious_archives_and_archives_without_a_library_are_refused_and_not_stored() {
    let (server, folder) = (FileServer::start().await, tempfile::tempdir().unwrap());
    let app = app_with(|config| {
        config.downloads.unpacked_bytes_max = 10_000;
        config.downloads.entry_bytes_max = 6_000;
        config.downloads.entries_max = 4;
        config.downloads.allow =
            vec![allowed_download("wrong", &format!("{}/bad", server.url), Some("0".repeat(64)))];
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
        let url = server.put("/bad", ServedFile::new(body));
        let arguments = json!({ "url": format!("bad={url}"), "dir": folder.path(), "platform": "linux" });
        assert_eq!(error(&app, DOWNLOAD, arguments).await["code"], code, "case {number}");
    }
    for (url_argument, code) in
        [("wrong", "DOWNLOAD_VERIFY_FAILED"), ("sqlite-vec=https://example.org/x", "INVALID_REQUEST")]
    {
        let refused = error(&app, DOWNLOAD, json!({ "url": url_argument, "dir": folder.path() })).await;
        assert_eq!(refused["code"], code, "{refused:#}");
    }
    let key = platform_name(Some("linux"), None).unwrap();
    assert_eq!(visible_files(&folder.path().join(key)), [""; 0], "a refused library was kept");
    assert_eq!(visible_files(&folder.path().join(".incoming")), [""; 0], "a partial file was left");
    assert!(!Path::new("/tmp/absolute.so").exists() && !folder.path().join("up.so").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn pgvector_is_found_and_verified_and_leaves_no_table() {
    let app = app();
    let found = result(&app, DOWNLOAD, json!({ "provider": "pgvector" })).await;
    assert_eq!(found["skipped"], json!([{ "name": "pgvector", "reason": "present" }]));
    assert_eq!(found["pgvector"]["installed"], found["pgvector"]["available"], "{found:#}");
    assert_eq!(found["pgvector"]["warnings"], json!([]));
    let updated = result(&app, DOWNLOAD, json!({ "provider": "pgvector", "update": true })).await;
    assert_eq!(updated["skipped"][0]["reason"], "not-modified");
    for field in ["dir", "out", "url", "from", "platform", "arch", "repoPath"] {
        let refused = error(&app, DOWNLOAD, json!({ "provider": "pgvector", (field): "x=y" })).await;
        assert_eq!(refused["code"], "INVALID_REQUEST");
        assert!(refused["message"].as_str().unwrap().contains(field), "{refused:#}");
    }

    let pgvector_arguments = async |extra: Value| {
        let mut arguments = json!({ "provider": "pgvector", "table": "probe_of_a_test" });
        arguments.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        arguments
    };
    let plain = result(&app, VERIFY, pgvector_arguments(json!({})).await).await;
    assert_eq!(
        (&plain["smoke"]["ok"], &plain["readBack"]),
        (&json!(true), &json!("[0.1,0.2,0.3]")),
        "{plain:#}"
    );
    let half = json!({ "encoding": "float16", "column": "Column1", "options": "m=8,ef_construction=32" });
    let half = result(&app, VERIFY, pgvector_arguments(half).await).await;
    assert_eq!(half["smoke"]["ok"], true, "{half:#}");
    assert!(
        half["readBack"].as_str().unwrap().starts_with("[0.0999"),
        "the value has half precision: {half:#}"
    );
    assert_eq!(half["config"]["options"], json!(["m=8", "ef_construction=32"]));
    let not_loaded = result(&app, VERIFY, pgvector_arguments(json!({ "load": false })).await).await;
    assert_eq!((&not_loaded["smoke"]["attempted"], &not_loaded["exists"]), (&json!(false), &json!(true)));
    for extra in [
        json!({ "options": "m=1" }),
        json!({ "options": "lists=10" }),
        json!({ "encoding": "int8" }),
        json!({ "module": "vec0" }),
        json!({ "path": "/x" }),
        json!({ "table": "a\"b" }),
    ] {
        let refused = error(&app, VERIFY, pgvector_arguments(extra.clone()).await).await;
        assert_eq!(refused["code"], "INVALID_REQUEST", "{extra}: {refused:#}");
    }
    let mut tx = app.store().await.unwrap().database().begin(Pool::Ddl).await.unwrap();
    let left = sql("SELECT 1 FROM pg_catalog.pg_class WHERE relname = 'probe_of_a_test'");
    assert!(tx.first(left).await.unwrap().is_none(), "the table is still there");
    tx.rollback().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn remote_callers_may_name_neither_files_nor_urls() {
    let (server, (_product, library)) = (FileServer::start().await, download_library().await);
    let bytes = std::fs::read(&library).unwrap();
    let url = server.put("/mine", ServedFile::new(bytes.clone()));
    let app = app_with(|config| {
        config.downloads.allow = vec![allowed_download("listed", &url, Some(sha256(&bytes)))]
    });
    let none = Projects::Only([].into());
    for (tool, projects, arguments) in [
        (DOWNLOAD, none.clone(), json!({ "url": "listed" })),
        (VERIFY, none, json!({ "load": false })),
        (DOWNLOAD, Projects::All, json!({ "url": format!("mine={url}") })),
        (DOWNLOAD, Projects::All, json!({ "url": "listed", "out": "/tmp/x" })),
        (DOWNLOAD, Projects::All, json!({ "dir": "/tmp" })),
        (DOWNLOAD, Projects::All, json!({ "from": "/tmp" })),
        (VERIFY, Projects::All, json!({ "path": library })),
        (VERIFY, Projects::All, json!({ "dir": "/tmp" })),
    ] {
        let answer = call_as(&app, remote_caller(projects), tool, arguments.clone()).await;
        assert_eq!(answer.unwrap_err(), "FORBIDDEN", "{tool} {arguments}");
    }
    assert!(server.request_heads().is_empty());
    let answer =
        call_as(&app, remote_caller(Projects::All), DOWNLOAD, json!({ "url": "listed" })).await.unwrap();
    assert!(answer["extensionPath"].as_str().unwrap().starts_with("extensions/"), "{answer:#}");
    assert!(!answer.to_string().contains("home-"), "a path of the server is shown: {answer:#}");
}
