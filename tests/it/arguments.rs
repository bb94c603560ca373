//! Arguments are read as people write them, and checked before any work begins.

use serde_json::json;

use crate::harness::{Repository, app, error, project, result};

#[tokio::test(flavor = "multi_thread")]
async fn a_malformed_project_is_refused_before_anything_is_installed() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    std::fs::create_dir(path("given")).unwrap();
    std::fs::write(path("given/ours.txt"), "alpha\nbeta\n").unwrap();
    let arguments = |project: &str| json!({ "url": "ours=http://127.0.0.1:9/ours.txt", "from": path("given"), "dir": path("words"), "project_id": project });
    let refused = error(&app(), "download_dictionaries", arguments("No Project")).await;
    assert_eq!(
        (&refused["code"], &refused["details"]["field"]),
        (&json!("VALIDATION_ERROR"), &json!("project_id"))
    );
    assert!(!folder.path().join("words").exists(), "nothing was installed");
    // No tool does anything before: neither those that write nor those that refuse something else first.
    for (tool, arguments) in [
        ("download_models", json!({ "model": "none", "project_id": "No Project" })),
        ("build_index", json!({ "repoPath": "/nowhere/at/all", "project_id": "No Project" })),
        ("triage_ingest", json!({ "source": "generic", "project_id": "No Project" })),
        ("bootstrap", json!({ "project_id": "No Project", "skipIndex": true, "incremental": true })),
    ] {
        assert_eq!(error(&app(), tool, arguments).await["code"], "VALIDATION_ERROR", "{tool}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_case_of_a_value_from_a_list_does_not_count() {
    let (app, project) = (app(), project("case"));
    let repository = Repository::new(&[("hash.py", "def hash_password():\n    return 'argon2'\n")]);
    let build = json!({ "repoPath": repository.root(), "mode": "ALL", "project_id": project });
    result(&app, "build_index", build).await;
    for (mode, output) in [("CODE", "Full"), ("Code", " full "), ("code", "FULL")] {
        let arguments = json!({ "query": "hash", "mode": mode, "output": output, "project_id": project });
        let found = result(&app, "search", arguments).await;
        assert_eq!(found["hits"][0]["file"], "hash.py", "{mode} {output}: {found:#}");
    }
    let arguments = json!({ "symbol": "hash_password", "relation": "Definition", "project_id": project });
    assert_eq!(result(&app, "navigate", arguments).await["relation"], "definition");
    let other = json!({ "query": "hash", "mode": "codex", "project_id": project });
    let refused = crate::harness::try_call(&app, "search", other).await;
    assert!(refused.is_err(), "another value is refused: {refused:?}");
}
