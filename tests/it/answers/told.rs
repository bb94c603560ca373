//! Of a file that cannot be shown: why it was left out, or which paths there are.

use serde_json::json;

use crate::filters::shop::index;
use crate::harness::{Repository, app_with, call, project};

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_was_left_out_says_why() {
    let app = app_with(|config| config.indexing.file_bytes_max = 50_000);
    let (project, repository) =
        (project("left-out"), Repository::new(&[("src/a.py", "def a():\n    return 1\n")]));
    let long = format!("var a={};", "f(1)+".repeat(4000));
    repository.write("web/app.min.js", &long);
    repository.write("big.py", &"value = 1\n".repeat(9000));
    std::fs::write(repository.path().join("latin1.py"), b"# caf\xe9\nvalue = 1\n").unwrap();
    repository.write("empty.py", "");
    index(&app, &repository, &project).await;
    for (path, reason, said) in [
        ("web/app.min.js", "minified", "too long"),
        ("latin1.py", "not_utf8", "UTF-8"),
        ("big.py", "too_large", "larger"),
        ("empty.py", "empty", "nothing in it"),
    ] {
        for more in [json!({}), json!({ "repoPath": repository.root() })] {
            let mut arguments = json!({ "file": path, "project_id": project });
            arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let envelope = call(&app, "show_file", arguments).await;
            let error = &envelope["error"];
            assert_eq!(error["code"], "NOT_FOUND", "{envelope:#}");
            assert_eq!(error["details"]["reason"], reason, "{envelope:#}");
            assert!(error["message"].as_str().unwrap().contains(said), "{envelope:#}");
            assert!(
                !error["hint"].as_str().unwrap_or_default().contains("if the file is new"),
                "{envelope:#}"
            );
            assert!(envelope["_meta"].get("next").is_none(), "no search finds it: {envelope:#}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_that_is_not_there_is_told_the_nearest() {
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
    let ask =
        async |path: &str| call(&app, "show_file", json!({ "file": path, "project_id": project })).await;
    for (path, nearest) in [
        ("starlette/routng.py", "starlette/routing.py"),
        ("routing.py", "starlette/routing.py"),
        ("src/starlette/routing.py", "starlette/routing.py"),
        ("starlette/Routing.py", "starlette/routing.py"),
        ("guide.md", "docs/guide.md"),
    ] {
        let envelope = ask(path).await;
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
    let envelope = ask("zebra/qqqq.xyz").await;
    assert!(envelope["error"]["details"].get("nearest").is_none(), "{envelope:#}");
    assert_ne!(envelope["_meta"]["next"]["tool"], "search", "{envelope:#}");
}
