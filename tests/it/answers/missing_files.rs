//! A file that cannot be shown: the error says why it was not indexed, or names the nearest path.

use serde_json::json;

use crate::filters::shop::index;
use crate::harness::{Repository, app_with, call, project};

#[tokio::test(flavor = "multi_thread")]
async fn the_error_for_a_file_that_was_not_indexed_says_why() {
    let app = app_with(|config| config.indexing.file_bytes_max = 50_000);
    let (project, repository) =
        (project("left-out"), Repository::new(&[("src/a.py", "def a():\n    return 1\n")]));
    let minified = format!("var a={};", "f(1)+".repeat(4000));
    repository.write("web/app.min.js", &minified);
    repository.write("big.py", &"value = 1\n".repeat(9000));
    std::fs::write(repository.path().join("latin1.py"), b"# caf\xe9\nvalue = 1\n").unwrap();
    repository.write("empty.py", "");
    index(&app, &repository, &project).await;
    for (path, reason, part) in [
        ("web/app.min.js", "minified", "too long"),
        ("latin1.py", "not_utf8", "UTF-8"),
        ("big.py", "too_large", "larger"),
        ("empty.py", "empty", "empty"),
    ] {
        for extra in [json!({}), json!({ "repoPath": repository.root() })] {
            let mut arguments = json!({ "file": path, "project_id": project });
            arguments.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
            let envelope = call(&app, "show_file", arguments).await;
            let error = &envelope["error"];
            assert_eq!(error["code"], "NOT_FOUND", "{envelope:#}");
            assert_eq!(error["details"]["reason"], reason, "{envelope:#}");
            assert!(error["message"].as_str().unwrap().contains(part), "{envelope:#}");
            assert!(!error["hint"].as_str().unwrap_or_default().contains("the file is new"), "{envelope:#}");
            assert!(envelope["_meta"].get("next").is_none(), "a search would not find it: {envelope:#}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_error_for_an_unknown_path_names_the_nearest_one() {
    let app = app_with(|_| {});
    let (project, repository) = (
        project("nearest-path"),
        Repository::new(&[
            ("starlette/routing.py", "def route():\n    return 1\n"),
            ("starlette/requests.py", "def request():\n    return 1\n"),
            ("tests/test_routing.py", "def test_route():\n    return 1\n"),
            ("docs/guide.md", "# Guide\n\nNothing.\n"),
        ]),
    );
    index(&app, &repository, &project).await;
    let show_file =
        async |path: &str| call(&app, "show_file", json!({ "file": path, "project_id": project })).await;
    for (path, nearest) in [
        ("starlette/routng.py", "starlette/routing.py"),
        ("routing.py", "starlette/routing.py"),
        ("src/starlette/routing.py", "starlette/routing.py"),
        ("starlette/Routing.py", "starlette/routing.py"),
        ("guide.md", "docs/guide.md"),
    ] {
        let envelope = show_file(path).await;
        let error = &envelope["error"];
        assert_eq!(
            (&error["code"], &error["details"]["nearest"][0]),
            (&json!("NOT_FOUND"), &json!(nearest)),
            "{envelope:#}"
        );
        assert!(error["hint"].as_str().unwrap().contains(nearest), "{envelope:#}");
        let next = &envelope["_meta"]["next"];
        assert_eq!(
            (&next["tool"], &next["arguments"]["file"]),
            (&json!("show_file"), &json!(nearest)),
            "{envelope:#}"
        );
        let followed = call(&app, "show_file", next["arguments"].clone()).await;
        assert_eq!(followed["ok"], true, "{followed:#}");
    }
    let envelope = show_file("zebra/qqqq.xyz").await;
    assert!(envelope["error"]["details"].get("nearest").is_none(), "{envelope:#}");
    assert_ne!(envelope["_meta"]["next"]["tool"], "search", "{envelope:#}");
}
