//! Word lists: each field of the tool, everything that can be wrong with a list, and what a search finds with one.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use contract::ProjectId;
use contract::config::{Config, Enabled};
use pairofcleats::app::App;
use serde_json::{Value, json};
use tempfile::TempDir;
use tenancy::Projects;

use super::{allowed, asked_by, names, remote, sha256};
use crate::file_server::{FileServer, Page};
use crate::harness::{Repository, app_with, error, project, result};

const TOOL: &str = "download_dictionaries";
const WORDS: &str =
    "# ours\nget 605984508\nuser 316446229\nname 464532702\nparse 3698919\nrest 100000000000\n";

/// An application with dictionaries of its own.
fn app_of(folder: &TempDir, change: impl FnOnce(&mut Config)) -> Arc<App> {
    app_with(|config| {
        config.dictionaries.dir = Some(folder.path().to_owned());
        change(config);
    })
}

async fn start() -> (FileServer, TempDir) {
    (FileServer::start().await, tempfile::tempdir().unwrap())
}

fn catalog(folder: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(folder.join("dictionaries.json")).unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn names_without_marks_are_found_by_their_words_once_a_dictionary_is_there() {
    let ((server, folder), project) = (start().await, project("words"));
    let app = app_of(&folder, |_| {});
    let repository = Repository::new(&[
        ("a.py", "def getusername():\n    return 1\n"),
        ("b.py", "def other(value):\n    return value\n"),
    ]);
    let run = json!({ "repoPath": repository.root(), "project_id": project });
    let question = json!({ "query": "user name", "ann": false, "project_id": project });
    let first = result(&app, "build_index", run.clone()).await;
    assert_eq!(first["report"]["filesChanged"], 2);
    let before = result(&app, "search", question.clone()).await;
    assert_eq!(before["hits"], json!([]), "{before:#}");
    let same = result(&app, "build_index", run.clone()).await;
    assert_eq!(same["report"]["filesChanged"], 0, "without a dictionary nothing is read again");

    let url = server.put("/words", Page::of(WORDS));
    let brought = result(&app, TOOL, json!({ "url": format!("ours={url}"), "project_id": project })).await;
    assert_eq!(
        brought["downloaded"][0],
        json!({ "name": "ours", "words": 5, "bytes": WORDS.len(), "verified": false })
    );
    assert_eq!((&brought["active"], &brought["words"]), (&json!(true), &json!(5)), "{brought:#}");
    assert_eq!(brought["outdated"].as_array().unwrap().len(), 1, "{brought:#}");

    let second = result(&app, "build_index", run.clone()).await;
    assert_eq!(second["report"]["filesChanged"], 2, "another dictionary, so it is read anew");
    let after = result(&app, "search", question.clone()).await;
    assert_eq!(after["hits"][0]["file"], "a.py", "{after:#}");
    assert_eq!(after["hits"].as_array().unwrap().len(), 1, "{after:#}");
    // The glued name itself is found as before, and the words are also in a question.
    let glued = json!({ "query": "getusername", "ann": false, "project_id": project, "explain": true });
    let found = result(&app, "search", glued).await;
    assert_eq!(found["hits"][0]["file"], "a.py");
    assert!(found["explain"]["terms"].to_string().contains("\"user\""), "{:#}", found["explain"]);
    assert_eq!(result(&app, "build_index", run.clone()).await["report"]["filesChanged"], 0);
    let again = result(&app, TOOL, json!({ "url": format!("ours={url}"), "project_id": project })).await;
    assert_eq!(again["outdated"], json!([]));

    // Switched off, the next run takes the words away again; the server that uses them says the repository is outdated.
    let off = app_of(&folder, |config| config.dictionaries.enabled = Enabled::Off);
    assert_eq!(result(&off, "build_index", run.clone()).await["report"]["filesChanged"], 2);
    assert_eq!(result(&off, "search", question.clone()).await["hits"], json!([]));
    assert_eq!(result(&off, TOOL, json!({ "lang": "" })).await["active"], false);
    let none = app_of(&folder, |config| config.dictionaries.languages = vec!["fr".into()]);
    assert_eq!(result(&none, "build_index", run.clone()).await["report"]["filesChanged"], 0);
    let few = app_of(&folder, |config| config.dictionaries.words_max = 2);
    assert_eq!(result(&few, TOOL, json!({ "lang": "" })).await["words"], 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_built_in_list_is_english_with_frequencies() {
    let (folder, app) = {
        let folder = tempfile::tempdir().unwrap();
        let app = app_of(&folder, |_| {});
        (folder, app)
    };
    let brought = result(&app, TOOL, json!({})).await;
    assert_eq!(brought["downloaded"][0]["name"], "en");
    assert_eq!(brought["downloaded"][0]["verified"], true);
    assert!(brought["downloaded"][0]["words"].as_u64().unwrap() > 300_000, "{brought:#}");
    assert!((50_000..=60_000).contains(&brought["words"].as_u64().unwrap()), "{brought:#}");
    let dictionary = app.dictionaries.current().await.unwrap();
    let mut said = Vec::new();
    for part in ["getusername", "parsehttprequest", "username", "github", "getelementbyid"] {
        said.push(part);
        dictionary.split(part, &mut |word| said.push(word));
    }
    assert_eq!(
        said.join(" "),
        "getusername get username user name parsehttprequest parse http request username github \
        getelementbyid get element by id"
    );
    let again = result(&app, TOOL, json!({ "lang": "en" })).await;
    assert_eq!(again["skipped"], json!([{ "name": "en", "reason": "present" }]));
    let updated = result(&app, TOOL, json!({ "lang": " en ,", "update": true })).await;
    assert_eq!(updated["skipped"], json!([{ "name": "en", "reason": "not-modified" }]));
    // A damaged list is not used, and brought again.
    std::fs::write(folder.path().join("en.txt"), "the 1\n").unwrap();
    assert_eq!(result(&app, TOOL, json!({ "lang": "en" })).await["downloaded"][0]["name"], "en");
    let refused = error(&app, TOOL, json!({ "lang": "en,xx" })).await;
    assert_eq!(refused["code"], "INVALID_REQUEST");
    assert!(refused["message"].as_str().unwrap().contains("xx"));
}

#[tokio::test(flavor = "multi_thread")]
async fn update_asks_for_a_change_and_force_brings_anew() {
    let (server, folder) = start().await;
    let app = app_of(&folder, |_| {});
    let url = server.put("/words", Page::tagged(WORDS, "one"));
    let call = async |more: &str| {
        let mut arguments = json!({ "url": [format!("ours={url}")] });
        if !more.is_empty() {
            arguments[more] = json!(true);
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
    let asked = || server.heads().len();
    assert_eq!(
        (call("").await["skipped"][0]["reason"].clone(), asked()),
        (json!("present"), 1),
        "nothing is asked"
    );
    assert_eq!(call("update").await["skipped"][0]["reason"], "not-modified");
    assert!(server.heads()[1].contains("if-none-match: \"one\""));
    assert_eq!(call("force").await["downloaded"][0]["name"], "ours");
    assert!(!server.heads()[2].contains("if-none-match"));

    let more = format!("{WORDS}frobnicate 12\n");
    server.put(
        "/words",
        Page { last_modified: Some("Mon, 02 Mar 2026 10:00:00 GMT".into()), ..Page::of(more.clone()) },
    );
    assert_eq!(call("update").await["downloaded"][0]["words"], 6);
    assert_eq!(std::fs::read_to_string(folder.path().join("ours.txt")).unwrap(), more);
    assert_eq!(call("update").await["skipped"][0]["reason"], "not-modified");
    assert!(server.heads().last().unwrap().contains("if-modified-since: mon, 02 mar 2026"));
    // A server without validators sends it all; what is the same is no change.
    server.put("/words", Page::of(more));
    assert_eq!(call("update").await["skipped"][0]["reason"], "not-modified");
    assert_eq!(names(folder.path()), ["dictionaries.json", "ours.txt"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn folders_are_where_the_operator_says() {
    let (server, folder) = start().await;
    let app = app_of(&folder, |_| {});
    let url = server.put("/words", Page::of(WORDS));
    let ours = format!("ours={url}");
    let repository =
        Repository::new(&[("a.py", "def a():\n    return 1\n"), ("given/ours.txt", "user 1\nname 2\n")]);
    let elsewhere =
        result(&app, TOOL, json!({ "url": ours, "dir": "words", "repoPath": repository.root() })).await;
    assert_eq!(
        (&elsewhere["active"], &elsewhere["words"]),
        (&json!(false), &json!(0)),
        "another folder is not used"
    );
    assert_eq!(names(&repository.path().join("words")), ["dictionaries.json", "ours.txt"]);
    assert_eq!(names(folder.path()), [""; 0]);
    assert!(!elsewhere.to_string().contains(&repository.root()), "{elsewhere:#}");
    let absolute = repository.path().join("more").to_string_lossy().into_owned();
    result(&app, TOOL, json!({ "url": ours, "dir": absolute })).await;
    assert_eq!(names(Path::new(&absolute)), ["dictionaries.json", "ours.txt"]);
    assert_eq!(error(&app, TOOL, json!({ "url": ours, "dir": "words" })).await["code"], "INVALID_REQUEST");
    assert_eq!(error(&app, TOOL, json!({ "lang": "", "repoPath": "/no/such" })).await["code"], "NOT_FOUND");

    let asked = server.heads().len();
    let imported =
        result(&app, TOOL, json!({ "url": ours, "from": "given", "repoPath": repository.root() })).await;
    assert_eq!(
        (imported["downloaded"][0]["words"].clone(), server.heads().len()),
        (json!(2), asked),
        "no network"
    );
    let lacking = error(&app, TOOL, json!({ "url": format!("other={url}"), "from": absolute })).await;
    assert_eq!(lacking["code"], "CAPABILITY_MISSING");
}

#[tokio::test(flavor = "multi_thread")]
async fn outdated_tells_of_the_project_and_the_repository_that_are_named() {
    let (server, folder) = start().await;
    let app = app_of(&folder, |_| {});
    let (one, two) = (project("outdated-one"), project("outdated-two"));
    let repositories = [Repository::new(&[("a.py", "a = 1\n")]), Repository::new(&[("b.py", "b = 1\n")])];
    for repository in &repositories {
        result(&app, "build_index", json!({ "repoPath": repository.root(), "project_id": one })).await;
    }
    let url = server.put("/words", Page::of(WORDS));
    let outdated = async |more: Value| {
        let mut arguments = json!({ "url": format!("ours={url}") });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        result(&app, TOOL, arguments).await["outdated"].as_array().unwrap().len()
    };
    assert_eq!(outdated(json!({ "project_id": one })).await, 2);
    assert_eq!(outdated(json!({ "project_id": one, "repoPath": repositories[0].root() })).await, 1);
    assert_eq!(outdated(json!({ "project_id": two })).await, 0, "another project");
    let bad = error(&app, TOOL, json!({ "lang": "", "project_id": "A" })).await;
    assert_eq!(bad["code"], "VALIDATION_ERROR");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_list_or_not_the_expected_one_is_refused_and_nothing_is_left() {
    let (server, folder) = start().await;
    let url = server.put("/words", Page::of(WORDS));
    let app = app_of(&folder, |config| {
        config.downloads.bytes_max = 1_000;
        config.downloads.redirects_max = 2;
        config.downloads.timeout_ms = 5_000;
        config.dictionaries.list_words_max = 20;
        config.dictionaries.line_bytes_max = 60;
        config.downloads.allow = vec![
            allowed("right", &url, Some(sha256(WORDS.as_bytes()).to_uppercase())),
            allowed("wrong", &url, Some("0".repeat(64))),
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
        let url = server.put("/bad", Page::of(body));
        let refused = error(&app, TOOL, json!({ "url": format!("bad={url}") })).await;
        assert_eq!(refused["code"], code, "{refused:#}");
    }
    let around = server.put("/around", Page::to("/around"));
    for (given, code) in [
        ("wrong".to_owned(), "DOWNLOAD_VERIFY_FAILED"),
        (format!("loop={around}"), "CAPABILITY_MISSING"),
        (format!("none={}/none", server.url), "CAPABILITY_MISSING"),
        (format!("en={url}"), "INVALID_REQUEST"),
        ("x=http://example.org/words".to_owned(), "INVALID_URL"),
        ("x=file:///etc/passwd".to_owned(), "INVALID_URL"),
        (format!("../x={url}"), "INVALID_REQUEST"),
    ] {
        assert_eq!(error(&app, TOOL, json!({ "url": given })).await["code"], code, "{given}");
    }
    assert_eq!(names(folder.path()), [""; 0], "nothing was kept");
    let right = result(&app, TOOL, json!({ "url": "right" })).await;
    assert_eq!(right["downloaded"][0]["verified"], true, "{right:#}");
    let strict = app_of(&folder, |config| config.downloads.require_hash = true);
    let refused = error(&strict, TOOL, json!({ "url": format!("ours={url}") })).await;
    assert_eq!(refused["code"], "DOWNLOAD_VERIFY_FAILED", "{refused:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_from_elsewhere_get_what_the_operator_listed_and_nothing_else() {
    let (server, folder) = start().await;
    let url = server.put("/words", Page::of(WORDS));
    let app = app_of(&folder, |config| config.downloads.allow = vec![allowed("listed", &url, None)]);
    let one = Projects::These(BTreeSet::from([ProjectId::parse("one").unwrap()]));
    for (projects, given, outcome) in [
        (one, "listed".to_owned(), Err("FORBIDDEN".to_owned())),
        (Projects::All, format!("other={url}"), Err("FORBIDDEN".to_owned())),
        (Projects::All, format!("listed={url}/more"), Err("FORBIDDEN".to_owned())),
        (Projects::All, "listed".to_owned(), Ok(())),
    ] {
        let asked = server.heads().len();
        let said = asked_by(&app, remote(projects), TOOL, json!({ "url": given })).await;
        assert_eq!(said.map(|_| ()), outcome, "{given}");
        assert_eq!(server.heads().len() - asked, usize::from(outcome.is_ok()), "{given}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_download_goes_on_and_calls_at_once_wait_for_each_other() {
    let (server, folder) = start().await;
    let app = app_of(&folder, |_| {});
    let url = server.put("/words", Page { cut_at: Some(40), ..Page::tagged(WORDS, "one") });
    let arguments = json!({ "url": format!("ours={url}") });
    let cut = error(&app, TOOL, arguments.clone()).await;
    assert_eq!((&cut["code"], &cut["retryable"]), (&json!("CAPABILITY_MISSING"), &json!(true)), "{cut:#}");
    server.put("/words", Page::tagged(WORDS, "one"));
    let other = app_of(&folder, |_| {});
    let (one, two) = tokio::join!(result(&app, TOOL, arguments.clone()), result(&other, TOOL, arguments));
    let brought = [one, two].iter().filter(|said| said["downloaded"] != json!([])).count();
    assert_eq!((brought, server.heads().len()), (1, 2), "{:?}", server.heads());
    assert!(server.heads()[1].contains("range: bytes=40-"));
    assert_eq!(std::fs::read_to_string(folder.path().join("ours.txt")).unwrap(), WORDS);
}
