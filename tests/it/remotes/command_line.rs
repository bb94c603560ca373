//! Addresses on the command line, and in the arguments of tools that also take directories.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{fill, index};
use crate::git_host::{BareRepository, GitHost};
use crate::harness::{PROGRAM, app_with, call, error, home, new_home, project, result, run_json};

/// The result of a command with the shared home, which must succeed.
fn succeed(arguments: &[&str]) -> Value {
    let (status, mut answer) = run_json(home(), arguments);
    assert_eq!(status, 0, "{arguments:?}: {answer:#}");
    answer["result"].take()
}

/// The exit status of a command with the shared home, and the error, which it must have.
fn fail(arguments: &[&str]) -> (i32, String, String) {
    let (status, answer) = run_json(home(), arguments);
    let text = |field: &str| {
        answer["error"][field].as_str().unwrap_or_else(|| panic!("{arguments:?}: {answer:#}")).to_owned()
    };
    (status, text("code"), text("message"))
}

#[test]
fn a_project_of_addresses_is_rebuilt_and_moved() {
    let shop = BareRepository::small();
    let (id, copy, address) = (project("rebuilt"), project("moved-address"), shop.address());
    succeed(&["index", &address, "--project", &id, "--stub-embeddings"]);
    let rebuilt = succeed(&["projects", "rebuild", &id]);
    assert_eq!((&rebuilt["repositories"], &rebuilt["missing"]), (&json!([address]), &json!([])));

    let file = shop.folder().join("project.zip");
    let file = file.to_str().unwrap();
    succeed(&["projects", "export", &id, file]);
    let spelled = format!("shop=FILE://localhost{}/acme/shop/", shop.folder().display());
    succeed(&["projects", "import", file, "--project", &copy, "--root", &spelled]);
    let status = || succeed(&["call", "index_status", &json!({ "project_id": copy }).to_string()]);
    assert_eq!(status()["repositories"][0]["address"], address);
    // A run goes on with the same repository.
    let report = succeed(&["index", &address, "--project", &copy])["report"].take();
    assert_eq!((&report["filesChanged"], &report["filesUnchanged"]), (&json!(0), &json!(1)), "{report:#}");
    assert_eq!(status()["repositories"].as_array().map(Vec::len), Some(1));
}

#[test]
fn addresses_are_not_watched() {
    let address = "https://git.invalid/acme/shop";
    let setting = format!("freshness.watch=[{{path={address:?}}}]");
    for arguments in [&["watch", address][..], &["tools", "--set", &setting]] {
        let (status, code, message) = fail(arguments);
        assert_eq!((status, code.as_str()), (2, "INVALID_INPUT"), "{message}");
        assert!(
            message.ends_with("addresses are refreshed by freshness.every_ms and by webhooks."),
            "{message}"
        );
    }
}

#[test]
fn a_key_is_limited_to_addresses() {
    let id = project("key-of-addresses");
    let create = |root: &'static str| {
        ["keys", "create", "--name", "ci", "--project", &id, "--scopes", "search,index", "--root", root]
            .map(str::to_owned)
    };
    let created = create("https://Git.invalid/acme/");
    let created = succeed(&created.each_ref().map(String::as_str));
    let keys = succeed(&["keys", "list"])["keys"].take();
    let key = keys.as_array().unwrap().iter().find(|key| key["id"] == created["id"]).unwrap();
    assert_eq!(key["roots"], json!(["https://git.invalid/acme"]));
    for root in ["file:///srv", "https://ann:secret@git.invalid"] {
        let (status, code, message) = fail(&create(root).each_ref().map(String::as_str));
        assert_eq!((status, code.as_str()), (2, "INVALID_REQUEST"), "{message}");
    }
}

#[test]
fn owner_and_name_are_completed_with_the_default_host() {
    let (shop, id) = (BareRepository::small(), project("completed"));
    let host = format!("git.default_host={}", shop.host());
    let arguments = ["index", "acme/shop", "--project", &id, "--stub-embeddings"];
    let indexed = succeed(&[&arguments[..], &["--set", &host]].concat());
    assert_eq!(indexed["report"]["repository"], "shop");
    let (status, code, message) = fail(&arguments);
    assert_eq!((status, code.as_str()), (1, "NOT_FOUND"), "without a host it is a path: {message}");
    // The lists are asked about the address, before a packet leaves.
    let (status, code, message) = fail(&[
        "quickstart",
        "acme/shop",
        "--once",
        "drawer",
        "--set",
        "git.default_host=https://git.invalid",
        "--set",
        "indexing.roots=[\"https://other.invalid\"]",
    ]);
    assert_eq!((status, code.as_str()), (1, "FORBIDDEN"), "{message}");
    assert!(message.starts_with("https://git.invalid/acme/shop is not among"), "{message}");
}

fn wait_until(what: &str, mut reached: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(300);
    while !reached() {
        assert!(Instant::now() < deadline, "timed out waiting for {what}");
        std::thread::sleep(Duration::from_millis(500));
    }
}

/// The check of git that `doctor` shows, if it shows one.
fn git_check(home: &Path, settings: &[&str]) -> Option<Value> {
    let (_, report) = run_json(home, &[&["doctor"][..], settings].concat());
    let checks = report["result"]["checks"].as_array().unwrap_or_else(|| panic!("{report:#}")).clone();
    checks.into_iter().find(|check| check["name"] == "git")
}

/// A program that exits leaves the run to another one, which gets the address.
#[test]
fn a_run_is_continued_by_its_address() {
    let files: Vec<(String, String)> = (0..40)
        .map(|file| {
            let text = (0..12).map(|n| {
                format!(
                    "def task_{file}_{n}(value):\n    \"\"\"Task {n} of module {file} hands out its value to workers.\"\"\"\n    \
                     partial = value * {n} + {file}\n    return [partial] * {n}\n\n"
                )
            });
            (format!("pkg/module_{file}.py"), text.collect::<String>())
        })
        .collect();
    let (home, shop) = (new_home("continued-address"), BareRepository::new(&files));
    assert_eq!(git_check(&home, &[]), None, "nothing is fetched here yet");
    let host = format!("git.default_host={}", shop.host());
    let arguments = json!({ "repoPath": "acme/shop", "wait": "words" }).to_string();
    let called = Command::new(PROGRAM)
        .args(["call", "build_index", &arguments, "--set", &host])
        .env("PAIROFCLEATS_HOME", &home)
        .env_remove("DATABASE_URL")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&called.stderr);
    assert!(called.status.success(), "{stderr}{}", String::from_utf8_lossy(&called.stdout));
    let hint = format!("`pairofcleats index {}` shows its progress", shop.address());
    assert!(stderr.contains(&hint), "{stderr}");
    let status = || run_json(&home, &["call", "index_status"]).1["result"].take();
    wait_until("the vectors", || status()["repositories"][0]["state"] == "ready");
    let status = status();
    assert_eq!(
        (&status["vectorsPending"], status["jobs"].as_array().map(Vec::len)),
        (&json!(0), Some(1)),
        "the other program goes on with the same run: {status:#}"
    );

    let once = ["quickstart", "acme/shop", "--once", "hand out tasks", "--set", &host];
    let (code, found) = run_json(&home, &once);
    assert_eq!(code, 0, "{found:#}");
    assert!(found["result"]["hits"][0]["file"].is_string(), "{found:#}");

    let check = git_check(&home, &[]).unwrap();
    assert_eq!(check["ok"], true, "{check:#}");
    assert!(check["message"].as_str().unwrap().starts_with("git version "), "{check:#}");
    let missing = git_check(&home, &["--set", "git.program=/no/such/git"]).unwrap();
    assert_eq!(missing["ok"], false, "{missing:#}");
    assert!(missing["message"].as_str().unwrap().contains("/no/such/git"), "{missing:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_run_is_found_by_any_spelling_of_its_address() {
    let host = GitHost::start().await;
    let (bank, shop) = (host.repository("acme/bank"), host.repository("acme/shop"));
    fill(&bank);
    fill(&shop);
    let app = app_with(|_| {});
    let id = project("queued-address");
    // In a project that exists, a run is queued before anything is fetched.
    index(&app, &id, &bank.url()).await;
    shop.faults().delay(Duration::from_secs(3));
    let arguments = json!({ "repoPath": shop.url(), "project_id": id, "wait": false });
    let started = result(&app, "build_index", arguments).await;
    let status = json!({ "repoPath": format!("{}/", shop.url()), "project_id": id });
    let status = result(&app, "index_status", status).await;
    assert_eq!(status["jobs"][0]["jobId"], started["jobId"], "{status:#}");
    shop.faults().clear();
    for attempt in 0.. {
        let status = result(&app, "index_status", json!({ "project_id": id })).await;
        if status["jobs"][0]["state"] == "succeeded" {
            break;
        }
        assert!(attempt < 600, "the run does not end: {status:#}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_is_not_indexed_is_proposed_for_indexing() {
    let (app, address) = (app_with(|_| {}), "https://git.invalid/acme/shop");
    let arguments = json!({ "query": "drawer", "repoPath": address, "project_id": project("proposed") });
    let answer = call(&app, "search", arguments).await;
    assert_eq!(answer["error"]["code"], "NO_INDEX", "{answer:#}");
    let next = &answer["_meta"]["next"];
    assert_eq!((&next["tool"], &next["arguments"]["repoPath"]), (&json!("build_index"), &json!(address)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_of_an_indexed_repository_is_indexed_with_a_warning() {
    let host = GitHost::start().await;
    let shop = host.repository("acme/shop");
    fill(&shop);
    let app = app_with(|_| {});
    let id = project("nested-addresses");
    let folder = format!("{}//src", shop.url());
    for (address, message) in [
        (shop.url(), None),
        (folder, Some("This address lies in the indexed repository `shop`.")),
        (shop.url(), Some("This address contains the indexed repository `src`.")),
    ] {
        let answer = call(&app, "build_index", json!({ "repoPath": address, "project_id": id })).await;
        assert_eq!(answer["ok"], true, "{answer:#}");
        let warnings = answer["_meta"]["warnings"].as_array().cloned().unwrap_or_default();
        let warning = warnings.iter().find(|warning| warning["code"] == "repositories_overlap");
        let text = warning.map(|warning| warning["message"].as_str().unwrap());
        match message {
            Some(message) => assert!(text.is_some_and(|text| text.starts_with(message)), "{answer:#}"),
            None => assert_eq!(text, None),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_is_no_base_of_relative_paths() {
    let host = GitHost::start().await;
    let shop = host.repository("acme/shop");
    fill(&shop);
    let app = app_with(|_| {});
    let id = project("no-directory");
    index(&app, &id, &shop.url()).await;
    let report =
        json!({ "source": "generic", "inputPath": "r.jsonl", "repoPath": shop.url(), "project_id": id });
    let words = json!({ "dir": "words", "repoPath": shop.url(), "project_id": id });
    for (tool, arguments) in [("triage_ingest", report), ("download_dictionaries", words)] {
        let refused = error(&app, tool, arguments).await;
        assert_eq!(refused["code"], "INVALID_REQUEST", "{tool}: {refused:#}");
        let message = refused["message"].as_str().unwrap();
        assert!(message.ends_with("is relative, but the repository has no directory."), "{tool}: {message}");
    }
}
