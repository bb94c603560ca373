//! Rules that name what the code no longer has, and rules that say the same twice.

use serde_json::json;

use super::{allow_writes, entry, import, wait_until_indexed};
use crate::harness::{Repository, app_with_model_and, project, result};

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_that_names_what_is_gone_is_stale() {
    let (app, project) = (super::writable_app(), project("stale"));
    let repository = Repository::new(&[
        ("src/config.rs", "pub fn parse_config() {}\npub struct HttpClient;\n"),
        ("Makefile", "test:\n\tcargo test\n"),
        ("docs/guide.md", "# Guide\n"),
    ]);
    result(&app, "build_index", json!({ "repoPath": repository.root(), "project_id": project })).await;
    let good = entry(
        "good",
        "Change `src/config.rs` and `docs/guide.md`; run `make test`; call `parse_config()` of `HttpClient`.",
    );
    let stale = entry(
        "stale",
        "Change `src/settings.rs`; run `make deploy`; call `load_settings()`, then `parse_config()`.",
    );
    import(&app, &project, &[good, stale], json!({})).await;
    let verify = json!({ "stale": true, "project_id": project });
    let found = result(&app, "integrity_verify", verify.clone()).await;
    let expected = json!([{ "id": "stale", "paths": ["src/settings.rs"], "scripts": ["make deploy"], "symbols": ["load_settings"] }]);
    assert_eq!(found["stale"], expected, "{found:#}");
    // Once the code has it again, it is not stale any more.
    repository.write("src/settings.rs", "pub fn load_settings() {}\n");
    repository.write("Makefile", "test:\n\tcargo test\n\ndeploy:\n\ttrue\n");
    result(&app, "build_index", json!({ "repoPath": repository.root(), "project_id": project })).await;
    assert_eq!(result(&app, "integrity_verify", verify).await["stale"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_that_stands_twice_is_reported() {
    let (app, project) = (app_with_model_and(allow_writes), project("duplicates"));
    let mut entries = vec![
        entry("secrets", "Never commit passwords, API keys or other secrets to the repository."),
        entry("no-keys", "Do not commit secrets such as passwords or API keys to the repository."),
        entry("tests", "Write a failing test before you fix a bug."),
        entry("style", "Format Rust code with rustfmt before each commit."),
    ];
    for (entry, title) in
        entries.iter_mut().zip(["Secrets", "No secrets in commits", "Tests first", "Formatting"])
    {
        entry["title"] = title.into();
    }
    import(&app, &project, &entries, json!({})).await;
    wait_until_indexed(&app, &project).await;
    let found = result(&app, "integrity_verify", json!({ "duplicates": true, "project_id": project })).await;
    let pairs = found["duplicates"].as_array().unwrap();
    assert_eq!(pairs.len(), 1, "{found:#}");
    assert_eq!(pairs[0]["ids"], json!(["no-keys", "secrets"]), "{found:#}");
}
