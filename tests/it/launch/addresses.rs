//! Runs that are started from addresses: of pages of products, and of repositories on GitHub. The host of the latter is one of these tests.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use gate::app::App;
use gate::tools::{self, Caller, Request, Surface};
use serde_json::{Value, json};
use tenancy::Scope;

use super::{README, Scene, code, workers};
use crate::git_host::GitHost;
use crate::harness::{Repository, commit_all, error, git, git_output, modules, new_home, project, result};
use crate::serving::{TestServer, issue_key};

const FROM_GITHUB: &str = "launch_start_run_from_github_repo_url";
const FROM_PRODUCT: &str = "launch_start_run_from_product_url";
const SHOPKIT: &str = "https://github.com/acme/ShopKit-for-Python";

/// A product whose folder was cloned from a repository on GitHub.
async fn cloned(origin: &str) -> Scene {
    let scene = Scene::with(|config| config.launch.auto_advance = false).await;
    git(scene.repository.path(), &["remote", "add", "origin", origin]);
    scene
}

/// The ids of the runs of a project.
async fn runs(app: &Arc<App>, project: &str) -> Vec<Value> {
    let listed = result(app, "launch_list_runs", json!({ "project_id": project })).await;
    listed["runs"].as_array().unwrap().clone()
}

/// A git program for which a host of these tests is github.com.
fn git_for(host: &GitHost, folder: &Path) -> String {
    let program = folder.join("git-of-these-tests");
    let script = format!(
        "#!/bin/sh\nGIT_ALLOW_PROTOCOL=http exec git -c url.{}/.insteadOf=https://github.com/ \"$@\"\n",
        host.url()
    );
    // Another process writes it: this one may start programs meanwhile, which would inherit the open file and keep it from being run.
    let write = [
        "-c",
        "printf '%s' \"$1\" >\"$2\" && chmod 755 \"$2\"",
        "sh",
        script.as_str(),
        program.to_str().unwrap(),
    ];
    assert!(Command::new("/bin/sh").args(write).status().unwrap().success());
    program.to_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clear_repository_starts_a_run() {
    let scene = cloned("git@github.com:acme/ShopKit-for-Python.git").await;
    let arguments = json!({
        "github_repo_url": format!("{SHOPKIT}.git"), "idempotency_key": "first", "project_id": scene.project,
    });
    let started = result(&scene.app, FROM_GITHUB, arguments.clone()).await;
    assert_eq!((&started["state"], &started["existing"]), (&json!("CREATED"), &json!(false)));
    let head = git_output(scene.repository.path(), &["rev-parse", "HEAD"]);
    assert_eq!(
        started["derived_config"],
        json!({
            "family": "shopkit", "target_platform": "python", "locales": ["en"], "layout_mode": "auto",
            "allow_inference": false, "github_repo_url": SHOPKIT, "github_ref": head.trim(),
        })
    );
    let run = started["run_id"].as_str().unwrap();
    let config: Value = serde_json::from_str(&scene.artifact(run, "run_config.json").await).unwrap();
    assert_eq!(
        (
            &config["product_slug"], &config["product_name"], &config["required_sections"],
            &config["site_profile"]
        ),
        (&json!("shopkit"), &json!("ShopKit for Python"), &json!(["docs"]), &json!("docs"))
    );
    let again = result(&scene.app, FROM_GITHUB, arguments.clone()).await;
    assert_eq!((&again["run_id"], &again["existing"]), (&json!(run), &json!(true)), "{again:#}");
    assert_eq!(scene.drive(run).await["state"], "READY_FOR_PR");
    let other = project("launch-other");
    let elsewhere =
        error(&scene.app, FROM_GITHUB, json!({ "github_repo_url": SHOPKIT, "project_id": other })).await;
    assert_eq!(code(&elsewhere), "INVALID_INPUT", "another project has no site: {elsewhere:#}");

    scene.repository.write("till.py", "def till():\n    return []\n");
    commit_all(scene.repository.path());
    scene.index().await;
    let moved = error(&scene.app, FROM_GITHUB, arguments).await;
    assert_eq!(code(&moved), "INVALID_INPUT", "{moved:#}");
    assert_eq!(moved["details"]["differing_fields"], json!(["github_ref"]), "{moved:#}");
    assert_eq!(moved["details"]["existing_run_id"], run, "{moved:#}");
    assert_eq!(runs(&scene.app, &scene.project).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_repository_does_not_say_clearly_is_asked_for() {
    let notes = Repository::new(&[("README.md", "# Notes for Python\n\nKeeps notes.\n")]);
    commit_all(notes.path());
    git(notes.path(), &["remote", "add", "origin", "https://github.com/acme/notes"]);
    let scene = Scene::with_workers(notes, workers::TABLE).await;
    let arguments =
        json!({ "github_repo_url": "https://github.com/acme/notes", "project_id": scene.project });
    let refused = error(&scene.app, FROM_GITHUB, arguments).await;
    assert_eq!((code(&refused), &refused["retryable"]), ("INVALID_INPUT", &json!(false)), "{refused:#}");
    assert_eq!(
        refused["details"],
        json!({
            "missing_fields": ["family", "target_platform"],
            "suggested_values": { "family": ["notes"], "target_platform": ["python"] },
        })
    );
    assert!(refused["hint"].as_str().unwrap().contains("launch_start_run"), "{refused:#}");
    assert!(runs(&scene.app, &scene.project).await.is_empty(), "nothing was started");
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_addresses_start_nothing() {
    let scene = Scene::new().await;
    for (tool, argument, address, expected) in [
        (FROM_GITHUB, "github_repo_url", "git@github.com:acme/shop.git", "INVALID_URL"),
        (FROM_GITHUB, "github_repo_url", "https://github.com/acme/shop/tree/main", "INVALID_URL"),
        (FROM_GITHUB, "github_repo_url", "https://ada:secret@github.com/acme/shop", "INVALID_URL"),
        (FROM_GITHUB, "github_repo_url", "https://github.com:8443/acme/shop", "INVALID_URL"),
        (FROM_GITHUB, "github_repo_url", "https://github.com/acme/..", "INVALID_URL"),
        (FROM_GITHUB, "github_repo_url", "https://169.254.169.254/acme/shop", "INVALID_URL"),
        (FROM_PRODUCT, "url", "http://products.aspose.org/3d/en/python/", "INVALID_URL"),
        (FROM_PRODUCT, "url", "https://products.aspose.org:99999/3d/en/python/", "INVALID_URL"),
        (FROM_PRODUCT, "url", "https://ada:secret@products.aspose.org/3d/en/python/", "INVALID_URL"),
        (FROM_PRODUCT, "url", "https://products.aspose.org/3d%2fen/python/", "INVALID_URL"),
        (FROM_PRODUCT, "url", "https://products.aspose.org/3d/en/cobol/", "INVALID_URL"),
        (FROM_PRODUCT, "url", "https://example.com/3d/en/python/", "UNSUPPORTED_SITE"),
    ] {
        let refused =
            error(&scene.app, tool, json!({ argument: address, "project_id": scene.project })).await;
        assert_eq!(
            (code(&refused), &refused["retryable"]),
            (expected, &json!(false)),
            "{address}: {refused:#}"
        );
        assert!(refused["hint"].is_string(), "{address}: {refused:#}");
        assert!(!refused.to_string().contains("secret"), "{address}: {refused:#}");
    }
    assert!(runs(&scene.app, &scene.project).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_product_page_starts_the_run_of_its_repository() {
    let scene = cloned(SHOPKIT).await;
    let arguments = |url: &str| json!({ "url": url, "idempotency_key": "page", "project_id": scene.project });
    let page = arguments("https://docs.aspose.org/shopkit/de/python/first-steps/");
    let started = result(&scene.app, FROM_PRODUCT, page.clone()).await;
    assert_eq!(
        started["derived_config"],
        json!({ "site": "docs.aspose.org", "product_slug": "shopkit", "platform": "python", "locale": "de" })
    );
    let run = started["run_id"].as_str().unwrap();
    let config: Value = serde_json::from_str(&scene.artifact(run, "run_config.json").await).unwrap();
    let head = git_output(scene.repository.path(), &["rev-parse", "HEAD"]);
    assert_eq!(
        (&config["github_repo_url"], &config["github_ref"], &config["locales"], &config["target_platform"]),
        (&json!(SHOPKIT), &json!(head.trim()), &json!(["de"]), &json!("python"))
    );
    let again = result(&scene.app, FROM_PRODUCT, page).await;
    assert_eq!((&again["run_id"], &again["existing"]), (&json!(run), &json!(true)), "{again:#}");
    let other =
        error(&scene.app, FROM_PRODUCT, arguments("https://docs.aspose.org/shopkit/en/python/")).await;
    assert_eq!(other["details"]["differing_fields"], json!(["locales"]), "{other:#}");
    assert_eq!(scene.drive(run).await["state"], "READY_FOR_PR");

    // The address names a product or a platform that no repository is for.
    for (url, suggested) in [
        ("https://docs.aspose.org/shopkit/en/java/", json!([SHOPKIT])),
        ("https://products.aspose.org/cells/en/python/", json!([SHOPKIT])),
    ] {
        let refused =
            error(&scene.app, FROM_PRODUCT, json!({ "url": url, "project_id": scene.project })).await;
        assert_eq!(code(&refused), "INVALID_INPUT", "{url}: {refused:#}");
        assert_eq!(
            refused["details"],
            json!({ "missing_fields": ["github_repo_url"], "suggested_values": { "github_repo_url": suggested } }),
            "{url}"
        );
    }
    assert_eq!(runs(&scene.app, &scene.project).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_operator_adds_sites_of_product_pages() {
    let scene = Scene::with(|config| {
        config.launch.product_hosts = [("docs.acme.example".to_owned(), "docs".to_owned())].into();
    })
    .await;
    git(scene.repository.path(), &["remote", "add", "origin", SHOPKIT]);
    let page = json!({ "url": "https://docs.acme.example/shopkit/en/python/", "project_id": scene.project });
    let started = result(&scene.app, FROM_PRODUCT, page).await;
    assert_eq!(started["derived_config"]["site"], "docs.acme.example", "{started:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_former_name_of_a_tool_can_be_called_and_is_not_listed() {
    let scene = cloned(SHOPKIT).await;
    let call = async |name: &str, url: &str| {
        let arguments = json!({ "url": url, "idempotency_key": "alias", "project_id": scene.project });
        let called =
            tools::call(&scene.app, Request::new(name, arguments, Caller::local(Surface::Cli))).await;
        serde_json::to_value(called.unwrap()).unwrap()
    };
    let alias = "launch_start_run_from_url";
    let page = "https://docs.aspose.org/shopkit/en/python/";
    let (by_alias, by_name) = (call(alias, page).await, call(FROM_PRODUCT, page).await);
    assert_eq!(by_alias["_meta"]["warnings"][0]["code"], "deprecated_alias", "{by_alias:#}");
    assert!(by_name["_meta"].get("warnings").is_none(), "{by_name:#}");
    assert_eq!(by_alias["result"]["run_id"], by_name["result"]["run_id"], "{by_alias:#} {by_name:#}");
    assert_eq!((&by_alias["run_id"], &by_name["result"]["existing"]), (&by_name["run_id"], &json!(true)));
    for url in
        ["https://docs.aspose.org/shopkit/", "https://example.com/", "https://docs.aspose.org/cells/en/java/"]
    {
        let (by_alias, by_name) = (call(alias, url).await, call(FROM_PRODUCT, url).await);
        assert_eq!(by_alias["ok"], false, "{by_alias:#}");
        assert_eq!(by_alias["error"], by_name["error"], "{url}");
    }
    assert!(modules().list_of_tools().iter().all(|tool| tool.name != alias));
    assert_eq!(modules().tools().find(alias).map(|tool| tool.name), Some(FROM_PRODUCT));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_several_sites_has_to_be_named() {
    let scene = Scene::with(|config| {
        let mut second = config.launch.sites[0].clone();
        second.name = "kb".to_owned();
        config.launch.sites.push(second);
    })
    .await;
    git(scene.repository.path(), &["remote", "add", "origin", SHOPKIT]);
    for (tool, argument, address) in [
        (FROM_GITHUB, "github_repo_url", SHOPKIT),
        (FROM_PRODUCT, "url", "https://docs.aspose.org/shopkit/en/python/"),
    ] {
        let mut arguments = json!({ argument: address, "project_id": scene.project });
        let refused = error(&scene.app, tool, arguments.clone()).await;
        assert_eq!((code(&refused), &refused["details"]["field"]), ("INVALID_INPUT", &json!("site_profile")));
        assert_eq!(refused["details"]["available_profiles"], json!(["docs", "kb"]), "{refused:#}");
        arguments["site_profile"] = "absent".into();
        assert_eq!(code(&error(&scene.app, tool, arguments.clone()).await), "INVALID_INPUT", "{tool}");
        arguments["site_profile"] = "kb".into();
        let started = result(&scene.app, tool, arguments).await;
        let run = started["run_id"].as_str().unwrap();
        let config: Value = serde_json::from_str(&scene.artifact(run, "run_config.json").await).unwrap();
        assert_eq!(config["site_profile"], "kb", "{tool}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_that_is_not_indexed_is_fetched_and_the_run_waits_for_its_index() {
    let (host, folder) = (GitHost::start().await, tempfile::tempdir().unwrap());
    let hosted = host.repository("acme/ShopKit-for-Python");
    let manifest = "[project]\nname = \"shopkit\"\nlicense = \"MIT\"\n";
    let mit = "Permission is hereby granted, free of charge, to any person obtaining a copy. \
        THE SOFTWARE IS PROVIDED \"AS IS\".\n";
    let head =
        hosted.commit(&[("README.md", README), ("LICENSE", mit), ("pyproject.toml", manifest)], "Begin");
    let notes = host.repository("acme/notes");
    notes.commit(&[("README.md", "# Notes\n")], "Begin");
    let program = git_for(&host, folder.path());
    // A database of its own, because no server of another test can fetch from this host.
    let home = new_home("launch-fetched");
    let scene = Scene::in_home(&home, |config| {
        config.launch.auto_advance = false;
        config.git.program = program;
    })
    .await;
    let start = |address: &str| json!({ "github_repo_url": address, "idempotency_key": "new", "project_id": scene.project });

    // A repository whose purpose is unclear, and one that the host does not have, leave no run behind.
    let unclear = error(&scene.app, FROM_GITHUB, start("https://github.com/acme/notes")).await;
    assert_eq!(code(&unclear), "INVALID_INPUT", "{unclear:#}");
    assert_eq!(unclear["details"]["missing_fields"], json!(["family", "target_platform"]), "{unclear:#}");
    let missing = error(&scene.app, FROM_GITHUB, start("https://github.com/acme/none")).await;
    assert_eq!(code(&missing), "REPO_NOT_FOUND", "{missing:#}");
    assert!(runs(&scene.app, &scene.project).await.is_empty());

    let started = result(&scene.app, FROM_GITHUB, start(SHOPKIT)).await;
    assert_eq!(started["derived_config"]["github_ref"], head, "{started:#}");
    let run = started["run_id"].as_str().unwrap();
    for _ in 0..2 {
        let waiting = scene.result("launch_resume", run).await["status"].take();
        assert_eq!(
            (&waiting["state"], &waiting["repo_sha"]),
            (&json!("CREATED"), &json!(head)),
            "{waiting:#}"
        );
        let pending = waiting["pending"].as_str().unwrap_or_else(|| panic!("{waiting:#}"));
        assert!(pending.contains(SHOPKIT) && pending.contains(&head), "{pending}");
    }
    let again = result(&scene.app, FROM_GITHUB, start(SHOPKIT)).await;
    assert_eq!((&again["run_id"], &again["existing"]), (&json!(run), &json!(true)), "before it is indexed");

    result(&scene.app, "build_index", json!({ "repoPath": SHOPKIT, "project_id": scene.project })).await;
    let status = scene.drive(run).await;
    assert_eq!((&status["state"], status.get("pending")), (&json!("READY_FOR_PR"), None), "{status:#}");
    let again = result(&scene.app, FROM_GITHUB, start(SHOPKIT)).await;
    assert_eq!((&again["run_id"], &again["existing"]), (&json!(run), &json!(true)), "and afterwards");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_moves_on_before_it_is_indexed_fails_the_run() {
    let (host, folder) = (GitHost::start().await, tempfile::tempdir().unwrap());
    let hosted = host.repository("acme/ShopKit-for-Python");
    hosted.commit(&[("README.md", README)], "Begin");
    let program = git_for(&host, folder.path());
    // A database of its own, because no server of another test can fetch from this host.
    let home = new_home("launch-moved-on");
    let scene = Scene::in_home(&home, |config| {
        config.launch.auto_advance = false;
        config.git.program = program;
    })
    .await;
    let arguments = json!({ "github_repo_url": SHOPKIT, "project_id": scene.project });
    let started = result(&scene.app, FROM_GITHUB, arguments).await;
    let run = started["run_id"].as_str().unwrap();
    assert_eq!(scene.result("launch_resume", run).await["status"]["state"], "CREATED");
    hosted.commit(&[("more.md", "More.\n")], "Go on");
    result(&scene.app, "build_index", json!({ "repoPath": SHOPKIT, "project_id": scene.project })).await;
    let status = scene.drive(run).await;
    assert_eq!(
        (&status["state"], &status["failure"]["code"]),
        (&json!("FAILED"), &json!("INPUTS_MOVED")),
        "{status:#}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn only_who_may_index_an_address_may_have_it_fetched() {
    let (host, folder) = (GitHost::start().await, tempfile::tempdir().unwrap());
    let hosted = host.repository("acme/ShopKit-for-Python");
    hosted.commit(&[("README.md", README)], "Begin");
    let program = git_for(&host, folder.path());
    let scene = Scene::with(|config| {
        config.launch.auto_advance = false;
        config.access.required = contract::config::Required::Always;
        config.git.program = program;
        let project = config.launch.sites[0].project.clone().unwrap();
        let allowed = vec![std::env::temp_dir(), PathBuf::from("https://github.com/acme")];
        config.indexing.project_roots = [(project, allowed)].into();
    })
    .await;
    let server = TestServer::over(scene.app.clone(), modules().tools()).await;
    let (_, launcher) = issue_key(&scene.app, &[&scene.project], &[Scope::Launch]).await;
    let (_, indexer) = issue_key(&scene.app, &[&scene.project], &[Scope::Launch, Scope::Index]).await;
    let start = async |key: &str, address: &str| {
        let arguments = json!({ "github_repo_url": address, "project_id": scene.project });
        server.call(Some(key), FROM_GITHUB, arguments).await.1
    };
    host.forget_requests();
    for (key, address) in [(&launcher, SHOPKIT), (&indexer, "https://github.com/other/ShopKit-for-Python")] {
        let refused = start(key, address).await;
        assert_eq!(code(&refused["error"]), "REPO_NOT_FOUND", "{address}: {refused:#}");
        let hint = refused["error"]["hint"].as_str().unwrap();
        assert!(hint.contains("indexing.project_roots") && hint.contains("`index`"), "{hint}");
    }
    assert_eq!(host.requests().len(), 0, "no packet leaves for what is not allowed");
    assert!(runs(&scene.app, &scene.project).await.is_empty());
    let started = start(&indexer, SHOPKIT).await;
    assert_eq!(started["result"]["state"], "CREATED", "{started:#}");
    server.stop().await;
}
