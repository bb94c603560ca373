//! Word lists: each argument of the tool, invalid lists, and what a search finds with a list.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use contract::ProjectId;
use contract::config::{Config, Enabled};
use gate::app::App;
use serde_json::{Value, json};
use tempfile::TempDir;
use tenancy::Projects;

use super::{allowed_download, call_as, remote_caller, sha256, visible_files};
use crate::file_server::{FileServer, ServedFile};
use crate::harness::{Repository, app_with, error, project, result};

const TOOL: &str = "download_dictionaries";
const WORDS: &str =
    "# ours\nget 605984508\nuser 316446229\nname 464532702\nparse 3698919\nrest 100000000000\n";

/// An application whose word lists are in `folder`.
fn app_with_folder(folder: &TempDir, change: impl FnOnce(&mut Config)) -> Arc<App> {
    app_with(|config| {
        config.dictionaries.dir = Some(folder.path().to_owned());
        change(config);
    })
}

async fn server_and_folder() -> (FileServer, TempDir) {
    (FileServer::start().await, tempfile::tempdir().unwrap())
}

fn catalog(folder: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(folder.join("dictionaries.json")).unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn unsegmented_identifiers_are_found_by_their_words_with_a_dictionary() {
    let ((server, folder), project) = (server_and_folder().await, project("words"));
    let app = app_with_folder(&folder, |_| {});
    let repository = Repository::new(&[
        ("a.py", "def getusername():\n    return 1\n"),
        ("b.py", "def other(value):\n    return value\n"),
    ]);
    let run = json!({ "repoPath": repository.root(), "project_id": project });
    let query = json!({ "query": "user name", "ann": false, "project_id": project });
    let first = result(&app, "build_index", run.clone()).await;
    assert_eq!(first["report"]["filesChanged"], 2);
    let before = result(&app, "search", query.clone()).await;
    assert_eq!(before["hits"], json!([]), "{before:#}");
    let same = result(&app, "build_index", run.clone()).await;
    assert_eq!(same["report"]["filesChanged"], 0, "without a dictionary nothing is read again");

    let url = server.put("/words", ServedFile::new(WORDS));
    let downloaded = result(&app, TOOL, json!({ "url": format!("ours={url}"), "project_id": project })).await;
    assert_eq!(
        downloaded["downloaded"][0],
        json!({ "name": "ours", "words": 5, "bytes": WORDS.len(), "verified": false })
    );
    assert_eq!((&downloaded["active"], &downloaded["words"]), (&json!(true), &json!(5)), "{downloaded:#}");
    assert_eq!(downloaded["outdated"].as_array().unwrap().len(), 1, "{downloaded:#}");

    let second = result(&app, "build_index", run.clone()).await;
    assert_eq!(
        second["report"]["filesChanged"], 2,
        "the dictionary has changed, so all files are read again"
    );
    let after = result(&app, "search", query.clone()).await;
    assert_eq!(after["hits"][0]["file"], "a.py", "{after:#}");
    assert_eq!(after["hits"].as_array().unwrap().len(), 1, "{after:#}");
    // The unsegmented name itself is still found, and it is also split in a query.
    let unsegmented = json!({ "query": "getusername", "ann": false, "project_id": project, "explain": true });
    let found = result(&app, "search", unsegmented).await;
    assert_eq!(found["hits"][0]["file"], "a.py");
    assert!(found["explain"]["terms"].to_string().contains("\"user\""), "{:#}", found["explain"]);
    assert_eq!(result(&app, "build_index", run.clone()).await["report"]["filesChanged"], 0);
    let again = result(&app, TOOL, json!({ "url": format!("ours={url}"), "project_id": project })).await;
    assert_eq!(again["outdated"], json!([]));

    // With dictionaries switched off, the next run removes the words again.
    let off = app_with_folder(&folder, |config| config.dictionaries.enabled = Enabled::Off);
    assert_eq!(result(&off, "build_index", run.clone()).await["report"]["filesChanged"], 2);
    assert_eq!(result(&off, "search", query.clone()).await["hits"], json!([]));
    assert_eq!(result(&off, TOOL, json!({ "lang": "" })).await["active"], false);
    let french = app_with_folder(&folder, |config| config.dictionaries.languages = vec!["fr".into()]);
    assert_eq!(result(&french, "build_index", run.clone()).await["report"]["filesChanged"], 0);
    let few = app_with_folder(&folder, |config| config.dictionaries.words_max = 2);
    assert_eq!(result(&few, TOOL, json!({ "lang": "" })).await["words"], 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_built_in_list_is_english_with_frequencies() {
    let (folder, app) = {
        let folder = tempfile::tempdir().unwrap();
        let app = app_with_folder(&folder, |_| {});
        (folder, app)
    };
    let downloaded = result(&app, TOOL, json!({})).await;
    assert_eq!(downloaded["downloaded"][0]["name"], "en");
    assert_eq!(downloaded["downloaded"][0]["verified"], true);
    assert!(downloaded["downloaded"][0]["words"].as_u64().unwrap() > 300_000, "{downloaded:#}");
    assert!((50_000..=60_000).contains(&downloaded["words"].as_u64().unwrap()), "{downloaded:#}");
    let dictionary = app.dictionaries.current().await.unwrap();
    let mut words = Vec::new();
    for part in ["getusername", "parsehttprequest", "username", "github", "getelementbyid"] {
        words.push(part);
        dictionary.split(part, &mut |word| words.push(word));
    }
    assert_eq!(
        words.join(" "),
        "getusername get username user name parsehttprequest parse http request username github \
        getelementbyid get element by id"
    );
    let again = result(&app, TOOL, json!({ "lang": "en" })).await;
    assert_eq!(again["skipped"], json!([{ "name": "en", "reason": "present" }]));
    let updated = result(&app, TOOL, json!({ "lang": " en ,", "update": true })).await;
    assert_eq!(updated["skipped"], json!([{ "name": "en", "reason": "not-modified" }]));
    // A damaged list is not used, and it is downloaded again.
    std::fs::write(folder.path().join("en.txt"), "the 1\n").unwrap();
    assert_eq!(result(&app, TOOL, json!({ "lang": "en" })).await["downloaded"][0]["name"], "en");
    let refused = error(&app, TOOL, json!({ "lang": "en,xx" })).await;
    assert_eq!(refused["code"], "INVALID_REQUEST");
    assert!(refused["message"].as_str().unwrap().contains("xx"));
}

#[tokio::test(flavor = "multi_thread")]
async fn update_downloads_only_changes_and_force_downloads_always() {
    let (server, folder) = server_and_folder().await;
    let app = app_with_folder(&folder, |_| {});
    let url = server.put("/words", ServedFile::with_etag(WORDS, "one"));
    let call = async |flag: &str| {
        let mut arguments = json!({ "url": [format!("ours={url}")] });
        if !flag.is_empty() {
            arguments[flag] = json!(true);
        }
        result(&app, TOOL, arguments).await
    };
    assert_eq!(call("").await["downloaded"][0]["name"], "ours");
    let entry = catalog(folder.path())["dictionaries"][0].clone();
    assert_eq!(
        (&entry["etag"], &entry["file"], &entry["sha256"]),
        (&json!("\"one\""), &json!("ours.txt"), &json!(sha256(WORDS.as_bytes())))
    );
    assert_eq!(entry["url"], url.as_str());
    let requests = || server.request_heads().len();
    assert_eq!(
        (call("").await["skipped"][0]["reason"].clone(), requests()),
        (json!("present"), 1),
        "nothing is requested"
    );
    assert_eq!(call("update").await["skipped"][0]["reason"], "not-modified");
    assert!(server.request_heads()[1].contains("if-none-match: \"one\""));
    assert_eq!(call("force").await["downloaded"][0]["name"], "ours");
    assert!(!server.request_heads()[2].contains("if-none-match"));

    let extra = format!("{WORDS}frobnicate 12\n");
    server.put(
        "/words",
        ServedFile {
            last_modified: Some("Mon, 02 Mar 2026 10:00:00 GMT".into()),
            ..ServedFile::new(extra.clone())
        },
    );
    assert_eq!(call("update").await["downloaded"][0]["words"], 6);
    assert_eq!(std::fs::read_to_string(folder.path().join("ours.txt")).unwrap(), extra);
    assert_eq!(call("update").await["skipped"][0]["reason"], "not-modified");
    assert!(server.request_heads().last().unwrap().contains("if-modified-since: mon, 02 mar 2026"));
    // A server without validators sends the whole file; an identical file is not a change.
    server.put("/words", ServedFile::new(extra));
    assert_eq!(call("update").await["skipped"][0]["reason"], "not-modified");
    assert_eq!(visible_files(folder.path()), ["dictionaries.json", "ours.txt"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_are_stored_in_the_named_folder() {
    let (server, folder) = server_and_folder().await;
    let app = app_with_folder(&folder, |_| {});
    let url = server.put("/words", ServedFile::new(WORDS));
    let ours = format!("ours={url}");
    let repository =
        Repository::new(&[("a.py", "def a():\n    return 1\n"), ("given/ours.txt", "user 1\nname 2\n")]);
    let elsewhere =
        result(&app, TOOL, json!({ "url": ours, "dir": "words", "repoPath": repository.root() })).await;
    assert_eq!(
        (&elsewhere["active"], &elsewhere["words"]),
        (&json!(false), &json!(0)),
        "a list in another folder is not used"
    );
    assert_eq!(visible_files(&repository.path().join("words")), ["dictionaries.json", "ours.txt"]);
    assert_eq!(visible_files(folder.path()), [""; 0]);
    assert!(!elsewhere.to_string().contains(&repository.root()), "{elsewhere:#}");
    let absolute = repository.path().join("more").to_string_lossy().into_owned();
    result(&app, TOOL, json!({ "url": ours, "dir": absolute })).await;
    assert_eq!(visible_files(Path::new(&absolute)), ["dictionaries.json", "ours.txt"]);
    assert_eq!(error(&app, TOOL, json!({ "url": ours, "dir": "words" })).await["code"], "INVALID_REQUEST");
    assert_eq!(error(&app, TOOL, json!({ "lang": "", "repoPath": "/no/such" })).await["code"], "NOT_FOUND");

    let requests = server.request_heads().len();
    let imported =
        result(&app, TOOL, json!({ "url": ours, "from": "given", "repoPath": repository.root() })).await;
    assert_eq!(
        (imported["downloaded"][0]["words"].clone(), server.request_heads().len()),
        (json!(2), requests),
        "no network"
    );
    let lacking = error(&app, TOOL, json!({ "url": format!("other={url}"), "from": absolute })).await;
    assert_eq!(lacking["code"], "CAPABILITY_MISSING");
}

#[tokio::test(flavor = "multi_thread")]
async fn outdated_lists_only_the_named_project_and_repository() {
    let (server, folder) = server_and_folder().await;
    let app = app_with_folder(&folder, |_| {});
    let (one, two) = (project("outdated-one"), project("outdated-two"));
    let repositories = [Repository::new(&[("a.py", "a = 1\n")]), Repository::new(&[("b.py", "b = 1\n")])];
    for repository in &repositories {
        result(&app, "build_index", json!({ "repoPath": repository.root(), "project_id": one })).await;
    }
    let url = server.put("/words", ServedFile::new(WORDS));
    let outdated = async |extra: Value| {
        let mut arguments = json!({ "url": format!("ours={url}") });
        arguments.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        result(&app, TOOL, arguments).await["outdated"].as_array().unwrap().len()
    };
    assert_eq!(outdated(json!({ "project_id": one })).await, 2);
    assert_eq!(outdated(json!({ "project_id": one, "repoPath": repositories[0].root() })).await, 1);
    assert_eq!(outdated(json!({ "project_id": two })).await, 0, "another project");
    let bad = error(&app, TOOL, json!({ "lang": "", "project_id": "A" })).await;
    assert_eq!(bad["code"], "VALIDATION_ERROR");
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_and_unexpected_lists_are_refused_and_not_stored() {
    let (server, folder) = server_and_folder().await;
    let url = server.put("/words", ServedFile::new(WORDS));
    let app = app_with_folder(&folder, |config| {
        config.downloads.bytes_max = 1_000;
        config.downloads.redirects_max = 2;
        config.downloads.timeout_ms = 5_000;
        config.dictionaries.list_words_max = 20;
        config.dictionaries.line_bytes_max = 60;
        config.downloads.allow = vec![
            allowed_download("right", &url, Some(sha256(WORDS.as_bytes()).to_uppercase())),
            allowed_download("wrong", &url, Some("0".repeat(64))),
        ];
    });
    for (body, code) in [
        (b"\x7fELF\x01\x02".to_vec(), "DOWNLOAD_VERIFY_FAILED"),
        (b"us\xffer\n".to_vec(), "DOWNLOAD_VERIFY_FAILED"),
        ("a".repeat(61).into_bytes(), "DOWNLOAD_VERIFY_FAILED"),
        ("user\n".repeat(21).into_bytes(), "DOWNLOAD_VERIFY_FAILED"),
        (b"1 2 3\n".to_vec(), "DOWNLOAD_VERIFY_FAILED"),
        (vec![b'a'; 1_001], "ARCHIVE_TOO_LARGE"),
    ] {
        let url = server.put("/bad", ServedFile::new(body));
        let refused = error(&app, TOOL, json!({ "url": format!("bad={url}") })).await;
        assert_eq!(refused["code"], code, "{refused:#}");
    }
    let loop_url = server.put("/loop", ServedFile::redirect("/loop"));
    for (url_argument, code) in [
        ("wrong".to_owned(), "DOWNLOAD_VERIFY_FAILED"),
        (format!("loop={loop_url}"), "CAPABILITY_MISSING"),
        (format!("none={}/none", server.url), "CAPABILITY_MISSING"),
        (format!("en={url}"), "INVALID_REQUEST"),
        ("x=http://example.org/words".to_owned(), "INVALID_URL"),
        ("x=file:///etc/passwd".to_owned(), "INVALID_URL"),
        (format!("../x={url}"), "INVALID_REQUEST"),
    ] {
        assert_eq!(error(&app, TOOL, json!({ "url": url_argument })).await["code"], code, "{url_argument}");
    }
    assert_eq!(visible_files(folder.path()), [""; 0], "a refused list was kept");
    let right = result(&app, TOOL, json!({ "url": "right" })).await;
    assert_eq!(right["downloaded"][0]["verified"], true, "{right:#}");
    let strict = app_with_folder(&folder, |config| config.downloads.require_hash = true);
    let refused = error(&strict, TOOL, json!({ "url": format!("ours={url}") })).await;
    assert_eq!(refused["code"], "DOWNLOAD_VERIFY_FAILED", "{refused:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn remote_callers_get_only_downloads_that_the_operator_allowed() {
    let (server, folder) = server_and_folder().await;
    let url = server.put("/words", ServedFile::new(WORDS));
    let app = app_with_folder(&folder, |config| {
        config.downloads.allow = vec![allowed_download("listed", &url, None)]
    });
    let one_project = Projects::Only(BTreeSet::from([ProjectId::parse("one").unwrap()]));
    for (projects, url_argument, outcome) in [
        (one_project, "listed".to_owned(), Err("FORBIDDEN".to_owned())),
        (Projects::All, format!("other={url}"), Err("FORBIDDEN".to_owned())),
        (Projects::All, format!("listed={url}/more"), Err("FORBIDDEN".to_owned())),
        (Projects::All, "listed".to_owned(), Ok(())),
    ] {
        let requests = server.request_heads().len();
        let answer = call_as(&app, remote_caller(projects), TOOL, json!({ "url": url_argument })).await;
        assert_eq!(answer.map(|_| ()), outcome, "{url_argument}");
        assert_eq!(server.request_heads().len() - requests, usize::from(outcome.is_ok()), "{url_argument}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_download_resumes_and_concurrent_calls_download_once() {
    let (server, folder) = server_and_folder().await;
    let app = app_with_folder(&folder, |_| {});
    let url = server.put("/words", ServedFile { cut_at: Some(40), ..ServedFile::with_etag(WORDS, "one") });
    let arguments = json!({ "url": format!("ours={url}") });
    let cut = error(&app, TOOL, arguments.clone()).await;
    assert_eq!((&cut["code"], &cut["retryable"]), (&json!("CAPABILITY_MISSING"), &json!(true)), "{cut:#}");
    server.put("/words", ServedFile::with_etag(WORDS, "one"));
    let other = app_with_folder(&folder, |_| {});
    let (one, two) = tokio::join!(result(&app, TOOL, arguments.clone()), result(&other, TOOL, arguments));
    let downloaded = [one, two].iter().filter(|answer| answer["downloaded"] != json!([])).count();
    assert_eq!((downloaded, server.request_heads().len()), (1, 2), "{:?}", server.request_heads());
    assert!(server.request_heads()[1].contains("range: bytes=40-"));
    assert_eq!(std::fs::read_to_string(folder.path().join("ours.txt")).unwrap(), WORDS);
}
