//! The `.pairofcleats.json` of a cloned repository: it chooses the project for reads at once, for writes only after the user
//! has confirmed it.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::harness::{PROGRAM, Repository, app, home, project, result};

/// Runs the program in the repository: whether it succeeded, and its envelope.
fn run(repository: &Repository, arguments: &[&str]) -> (bool, Value) {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).arg("--json").current_dir(repository.path()).stdin(Stdio::null());
    let output = command.env("PAIROFCLEATS_HOME", home()).env_remove("DATABASE_URL").output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let answer = serde_json::from_str(&stdout)
        .unwrap_or_else(|error| panic!("{error}: {stdout} {}", String::from_utf8_lossy(&output.stderr)));
    (output.status.success(), answer)
}

fn call(repository: &Repository, tool: &str, arguments: &Value) -> Value {
    run(repository, &["call", tool, "--args", &arguments.to_string()]).1
}

const FILES: [(&str, &str); 1] = [("a.py", "def count_coins(drawer):\n    return sum(drawer)\n")];

#[tokio::test(flavor = "multi_thread")]
async fn an_unconfirmed_file_chooses_the_project_for_reads_but_not_for_writes() {
    let victim = project("victim");
    let indexed = Repository::new(&FILES);
    result(
        &app(),
        "build_index",
        json!({ "repoPath": indexed.root(), "project_id": victim, "stubEmbeddings": true }),
    )
    .await;
    let finding =
        json!({ "source": "generic", "payload": "{\"title\": \"Open door\"}\n", "project_id": victim });
    let ingested = result(&app(), "triage_ingest", finding).await;
    let record = ingested["recordIds"][0].clone();
    let before = result(&app(), "workspace_status", json!({ "project_id": victim })).await;

    let cloned = Repository::new(&[("evil.py", "def planted():\n    pass\n")]);
    cloned.write(".pairofcleats.json", &json!({ "project_id": victim }).to_string());
    let root = cloned.root();
    for (tool, arguments) in [
        ("build_index", json!({ "repoPath": root, "stubEmbeddings": true })),
        ("index_repository", json!({ "repo_path": root })),
        ("build_sqlite_index", json!({})),
        ("compact_sqlite_index", json!({})),
        ("triage_ingest", json!({ "source": "generic", "payload": "{\"title\": \"x\"}\n" })),
        (
            "triage_decision",
            json!({ "finding": record, "status": "false_positive", "justification": "mine" }),
        ),
        ("triage_context_pack", json!({ "recordId": record })),
        ("cache_gc", json!({})),
        ("clean_artifacts", json!({ "all": true })),
        ("bootstrap", json!({ "skipInstall": true, "skipDicts": true })),
    ] {
        let answer = call(&cloned, tool, &arguments);
        // A call that the schema refuses would prove nothing.
        assert_eq!(answer["error"]["code"], "FORBIDDEN", "{tool}: {answer:#}");
        let hint = answer["error"]["hint"].as_str().unwrap();
        assert!(hint.contains(&format!("pairofcleats trust {root}")), "{tool}: {hint}");
        assert_eq!(answer["error"]["details"]["project_id"], victim.as_str(), "{tool}");
    }
    let (succeeded, answer) = run(&cloned, &["index", ".", "--stub-embeddings"]);
    assert!(!succeeded && answer["error"]["code"] == "FORBIDDEN", "{answer:#}");
    let after = result(&app(), "workspace_status", json!({ "project_id": victim })).await;
    assert_eq!(before["projects"][0]["repositories"], after["projects"][0]["repositories"]);
    assert_eq!(before["projects"][0]["chunks"], after["projects"][0]["chunks"]);

    let (succeeded, found) = run(&cloned, &["search", "count coins", "--repo", "*"]);
    assert!(succeeded, "{found:#}");
    assert_eq!(found["_meta"]["project_id"], victim.as_str(), "the answer names the project");
    assert_eq!(found["_meta"]["project_decided_by"], "session");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_confirmed_once_for_its_exact_content() {
    let repository = Repository::new(&FILES);
    let (first, second) = (project("first"), project("second"));
    let index = || run(&repository, &["index", ".", "--stub-embeddings"]);
    let (succeeded, answer) = run(&repository, &["trust"]);
    assert!(!succeeded && answer["error"]["code"] == "NOT_FOUND", "{answer:#}");
    repository
        .write(".pairofcleats.json", &json!({ "project_id": first, "search": { "top": 3 } }).to_string());
    assert!(!index().0);
    let (succeeded, answer) = run(&repository, &["trust"]);
    assert!(succeeded && answer["result"]["project_id"] == first.as_str(), "{answer:#}");
    let (succeeded, answer) = index();
    assert!(succeeded && answer["_meta"]["project_id"] == first.as_str(), "{answer:#}");

    // `trust --project` writes the project into the file, confirms it, and keeps the other settings.
    let (succeeded, answer) = run(&repository, &["trust", "--project", &second]);
    assert!(succeeded && answer["result"]["trusted"] == true, "{answer:#}");
    let text = std::fs::read_to_string(repository.path().join(".pairofcleats.json")).unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(&text).unwrap(),
        json!({ "project_id": second, "search": { "top": 3 } })
    );
    let (succeeded, answer) = index();
    assert!(succeeded && answer["_meta"]["project_id"] == second.as_str(), "{answer:#}");

    repository.write(".pairofcleats.json", &json!({ "project_id": second, "more": 1 }).to_string());
    assert!(!index().0, "a changed file must be confirmed again");
    repository.write(".pairofcleats.json", &text);
    assert!(index().0);
    // A revocation is for all texts of the file: putting an earlier text back does not restore the trust.
    repository.write(".pairofcleats.json", &json!({ "project_id": second, "more": 2 }).to_string());
    for revoked in [true, false] {
        let (succeeded, answer) = run(&repository, &["trust", "--revoke"]);
        assert!(succeeded && answer["result"]["revoked"] == revoked, "{answer:#}");
        assert_eq!(answer["result"]["trusted"], false, "{answer:#}");
    }
    repository.write(".pairofcleats.json", &text);
    assert!(!index().0);
    assert!(
        run(&repository, &["index", ".", "--stub-embeddings", "--project", &first]).0,
        "a project named on the command line needs no confirmation"
    );
}

/// Only the place of a file counts for its revocation, not what is there now.
#[test]
fn trust_is_revoked_whatever_became_of_the_file() {
    let trusted = json!({ "project_id": "client-a" }).to_string();
    let too_long = format!("{trusted}{}", " ".repeat(70_000));
    for now in [None, Some("{"), Some(r#"{"project_id": "No Id"}"#), Some("{}"), Some(too_long.as_str())] {
        let repository = Repository::new(&[(".pairofcleats.json", &trusted)]);
        let (succeeded, answer) = run(&repository, &["trust"]);
        assert!(succeeded && answer["result"]["trusted"] == true, "{answer:#}");
        match now {
            Some(text) => repository.write(".pairofcleats.json", text),
            None => repository.remove(".pairofcleats.json"),
        }
        let (succeeded, answer) = run(&repository, &["trust", "--revoke"]);
        assert!(succeeded && answer["result"]["revoked"] == true, "{now:?}: {answer:#}");
        assert_eq!(answer["result"]["trusted"], false, "{answer:#}");
        repository.write(".pairofcleats.json", &trusted);
        let (succeeded, answer) = run(&repository, &["trust", "--revoke"]);
        assert!(succeeded && answer["result"]["revoked"] == false, "{now:?}: {answer:#}");
    }
    let (succeeded, answer) = run(&Repository::new(&[]), &["trust", "--revoke"]);
    assert!(!succeeded && answer["error"]["code"] == "NOT_FOUND", "{answer:#}");
}

/// A part of the file that is not read could change without notice.
#[test]
fn a_session_file_that_is_too_long_is_refused() {
    let named = json!({ "project_id": "client-a" }).to_string();
    let padded = |bytes: usize| format!("{named}{}", " ".repeat(bytes - named.len()));
    let repository = Repository::new(&[(".pairofcleats.json", &padded(65_537))]);
    for arguments in [&["trust"][..], &["search", "coins"][..], &["index", ".", "--stub-embeddings"][..]] {
        let (succeeded, answer) = run(&repository, arguments);
        let error = &answer["error"];
        assert!(!succeeded && error["code"] == "VALIDATION_ERROR", "{arguments:?}: {answer:#}");
        assert!(error["message"].as_str().unwrap().ends_with("has more than 65536 bytes."), "{answer:#}");
        assert_eq!(error["hint"], "Correct or remove it.");
    }
    repository.write(".pairofcleats.json", &padded(65_536));
    assert!(run(&repository, &["trust"]).0);
}

/// `trust --project` keeps what it cannot read completely, and leaves no temporary file.
#[test]
fn a_session_file_that_cannot_be_kept_is_refused() {
    let settings_of = |bytes: usize| json!({ "search": "x".repeat(bytes) }).to_string();
    let many_lines = json!({ "search": vec![1; 30_000] }).to_string();
    for (text, why) in [
        (None, "is not a regular file"),
        (Some(settings_of(70_000)), "has more than 65536 bytes"),
        (Some(many_lines), "would have more than 65536 bytes"),
    ] {
        let repository = Repository::new(&[]);
        let file = repository.path().join(".pairofcleats.json");
        match &text {
            None => std::fs::create_dir(&file).unwrap(),
            Some(text) => std::fs::write(&file, text).unwrap(),
        }
        let (succeeded, answer) = run(&repository, &["trust", "--project", "client-a"]);
        let error = &answer["error"];
        assert!(!succeeded && error["code"] == "INVALID_INPUT", "{why}: {answer:#}");
        assert!(error["message"].as_str().unwrap().contains(why), "{answer:#}");
        assert_eq!(error["hint"], "Correct or remove it.");
        assert_eq!(std::fs::read_dir(repository.path()).unwrap().count(), 1, "{why}: a file was left");
        if let Some(text) = text {
            assert_eq!(std::fs::read_to_string(&file).unwrap(), text, "{why}");
        }
    }
    // A symbolic link is replaced; the file that it names stays as it is.
    let repository = Repository::new(&[("elsewhere.json", "{\"search\": 1}")]);
    let file = repository.path().join(".pairofcleats.json");
    std::os::unix::fs::symlink("elsewhere.json", &file).unwrap();
    let (succeeded, answer) = run(&repository, &["trust", "--project", "client-a"]);
    assert!(succeeded, "{answer:#}");
    let written: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(written, json!({ "project_id": "client-a" }));
    assert!(!file.is_symlink());
    assert_eq!(std::fs::read_to_string(repository.path().join("elsewhere.json")).unwrap(), "{\"search\": 1}");
}
