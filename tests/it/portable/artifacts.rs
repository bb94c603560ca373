//! Portable files as build artifacts: `build_index` refreshes the project's own file and takes vectors from files of others.

use std::path::Path;

use serde_json::{Value, json};

use super::{build_index_file, index_file};
use crate::filters::shop::hit_files;
use crate::harness::{Repository, app, app_with_model, error, project, result};

const SESSION: &str = "def refresh_session(token):\n    return renew(token)\n";
const WALL: &str = "def paint_wall(colour):\n    return brush(colour)\n";
const COINS: &str = "def count_coins(drawer):\n    return sum(drawer)\n";

/// A repository with a portable file of another project in its folder `folder`.
async fn repository_with_artifact(folder: &str) -> Repository {
    let (theirs, repository) =
        (project("artifact-source"), Repository::new(&[("a.py", SESSION), ("b.py", WALL)]));
    let index = json!({ "repoPath": repository.root(), "project_id": theirs });
    result(&app(), "build_index", index).await;
    build_index_file(&app(), &theirs, json!({})).await;
    std::fs::create_dir_all(repository.path().join(folder)).unwrap();
    std::fs::copy(index_file(&theirs), repository.path().join(folder).join("index.sqlite")).unwrap();
    repository
}

async fn build(repository: &Repository, project: &str, arguments: Value) -> Value {
    let mut all = json!({ "repoPath": repository.root(), "project_id": project });
    all.as_object_mut().unwrap().extend(arguments.as_object().unwrap().clone());
    result(&app(), "build_index", all).await["report"].take()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_embeds_only_what_no_artifact_has() {
    let repository = repository_with_artifact("ci-artifacts").await;
    repository.write("c.py", COINS);
    let (ours, plain) = (project("artifact"), project("artifact-plain"));
    let restored = build(&repository, &ours, json!({ "useArtifacts": true })).await;
    // The other project has the same folder, which is not in git.
    let used = json!([{ "file": "index.sqlite", "dirty": false, "relation": "repository", "vectors": 2 }]);
    let expected = json!({ "files": 1, "vectors": 2, "texts": 3, "used": used });
    assert_eq!(restored["restoredArtifacts"], expected, "{restored:#}");
    assert_eq!((&restored["vectorsEmbedded"], &restored["vectorsPending"]), (&json!(1), &json!(0)));
    let whole = build(&repository, &plain, json!({})).await;
    assert_eq!(
        (&whole["vectorsEmbedded"], &whole["restoredArtifacts"]),
        (&json!(3), &Value::Null),
        "{whole:#}"
    );
    let search = async |project: &str| {
        result(&app(), "search", json!({ "query": "keep a login alive", "project_id": project })).await
    };
    let (with, without) = (search(&ours).await, search(&plain).await);
    assert_eq!(hit_files(&with), hit_files(&without));
    let scores = |answer: &Value| -> Vec<Value> {
        answer["hits"].as_array().unwrap().iter().map(|hit| hit["score"].clone()).collect()
    };
    assert_eq!(scores(&with), scores(&without), "restored vectors are those that would have been made");
    let again = build(&repository, &ours, json!({ "useArtifacts": true })).await;
    let nothing = json!({ "files": 1, "vectors": 0, "texts": 0, "used": [] });
    assert_eq!(again["restoredArtifacts"], nothing, "{again:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn artifacts_are_read_from_the_named_folder() {
    let repository = repository_with_artifact("built/vectors").await;
    let none = build(&repository, &project("artifact-dir"), json!({ "useArtifacts": true })).await;
    assert_eq!((&none["restoredArtifacts"]["files"], &none["vectorsEmbedded"]), (&json!(0), &json!(2)));
    assert!(none["notes"][0].as_str().unwrap().starts_with("No portable index file"), "{none:#}");
    let relative = json!({ "useArtifacts": true, "artifactsDir": "built/vectors" });
    let found = build(&repository, &project("artifact-dir"), relative).await;
    assert_eq!((&found["restoredArtifacts"]["vectors"], &found["vectorsEmbedded"]), (&json!(2), &json!(0)));
    let folder = repository.path().join("built/vectors");
    let absolute = json!({ "useArtifacts": true, "artifactsDir": folder.to_str() });
    let found = build(&repository, &project("artifact-dir"), absolute).await;
    assert_eq!(found["restoredArtifacts"]["vectors"], 2);
    let without_use =
        json!({ "repoPath": repository.root(), "project_id": project("artifact-dir"), "artifactsDir": "x" });
    assert_eq!(error(&app(), "build_index", without_use).await["code"], "INVALID_REQUEST");
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_foreign_and_linked_artifacts_are_ignored() {
    let repository = repository_with_artifact("ci-artifacts").await;
    let folder = repository.path().join("ci-artifacts");
    let good = std::fs::read(folder.join("index.sqlite")).unwrap();
    std::fs::write(folder.join("index.sqlite"), &good[..good.len() / 2]).unwrap();
    std::fs::write(folder.join("letter.sqlite"), b"\0Dear reader").unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    std::fs::write(elsewhere.path().join("other.sqlite"), &good).unwrap();
    std::os::unix::fs::symlink(elsewhere.path().join("other.sqlite"), folder.join("link.sqlite")).unwrap();
    let report = build(&repository, &project("artifact-bad"), json!({ "useArtifacts": true })).await;
    let nothing = json!({ "files": 0, "vectors": 0, "texts": 2, "used": [] });
    assert_eq!(report["restoredArtifacts"], nothing, "{report:#}");
    assert_eq!(
        (&report["vectorsEmbedded"], report["notes"].as_array().unwrap().len()),
        (&json!(2), 1),
        "{report:#}"
    );
    assert!(report["notes"][0].as_str().unwrap().contains("index.sqlite was skipped"), "{report:#}");

    // Vectors that are zero, of another length or not numbers are not taken.
    std::fs::write(folder.join("index.sqlite"), &good).unwrap();
    for blob in ["zeroblob(length(embedding))", "x'0000'", "x'0000c07f' || substr(embedding, 5)"] {
        std::fs::write(folder.join("index.sqlite"), &good).unwrap();
        execute_on_sqlite_file(
            &folder.join("index.sqlite"),
            &format!("UPDATE vectors SET embedding = {blob}"),
        );
        let report = build(&repository, &project("artifact-bad"), json!({ "useArtifacts": true })).await;
        assert_eq!(
            (&report["restoredArtifacts"]["vectors"], &report["vectorsEmbedded"]),
            (&json!(0), &json!(2)),
            "{blob}"
        );
    }
    std::fs::write(folder.join("index.sqlite"), &good).unwrap();
    let arguments = json!({ "repoPath": repository.root(), "project_id": project("artifact-model"), "useArtifacts": true });
    let report = result(&app_with_model(), "build_index", arguments).await["report"].take();
    assert_eq!(report["vectorsEmbedded"], 2, "{report:#}");
    assert!(report["notes"][0].as_str().unwrap().contains("another model"), "{report:#}");
}

fn execute_on_sqlite_file(file: &Path, statement: &str) {
    let script = "import sqlite3, sys; f = sqlite3.connect(sys.argv[1]); f.execute(sys.argv[2]); f.commit()";
    let python =
        std::process::Command::new("python3").args(["-c", script]).arg(file).arg(statement).output().unwrap();
    assert!(python.status.success(), "{}", String::from_utf8_lossy(&python.stderr));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_refreshes_the_file_on_request() {
    let (repository, project) = (Repository::new(&[("a.py", SESSION), ("b.py", WALL)]), project("refresh"));
    let plain = build(&repository, &project, json!({})).await;
    assert!(plain["sqlite"].is_null() && !index_file(&project).exists(), "{plain:#}");
    let first = build(&repository, &project, json!({ "sqlite": true })).await;
    assert_eq!(
        (&first["sqlite"]["name"], &first["sqlite"]["incremental"]),
        (&json!("index.sqlite"), &json!(false))
    );
    assert_eq!(first["sqlite"]["bytes"], std::fs::metadata(index_file(&project)).unwrap().len(), "{first:#}");
    for n in 0..20 {
        repository.write(&format!("m{n}.py"), &SESSION.replace("session", &format!("session_{n}")));
    }
    build(&repository, &project, json!({ "sqlite": true })).await;
    repository.write("c.py", COINS);
    let second = build(&repository, &project, json!({ "sqlite": true })).await;
    assert_eq!(second["sqlite"]["incremental"], true, "{second:#}");
    let arguments = json!({ "query": "count_coins", "backend": "sqlite", "project_id": project });
    assert_eq!(hit_files(&result(&app(), "search", arguments).await)[0], "c.py");
    // A job without a waiting caller refreshes it as well.
    repository.write("d.py", &COINS.replace("coins", "notes"));
    let job = json!({ "repoPath": repository.root(), "project_id": project, "sqlite": true, "wait": false });
    result(&app(), "build_index", job).await;
    let arguments =
        json!({ "query": "count_notes", "backend": "sqlite", "ann": false, "project_id": project });
    for _ in 0..600 {
        if hit_files(&result(&app(), "search", arguments.clone()).await)
            .first()
            .is_some_and(|first| first == "d.py")
        {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!("the job did not refresh the file");
}
