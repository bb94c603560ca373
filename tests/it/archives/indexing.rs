//! Indexing an archive gives the same result as indexing its files in a directory; later runs read only what changed.

use std::path::Path;

use serde_json::{Value, json};

use super::{ArchiveFolder, FILES, files_with, index, mirror, status, tar_gz, zip_file};
use crate::harness::{app_with, call, project, result};
use crate::kills::digest;

#[tokio::test(flavor = "multi_thread")]
async fn an_archive_is_indexed_like_its_directory() {
    let folder = ArchiveFolder::new();
    let app = app_with(|_| {});
    for (name, bytes) in [("shop-1.0.tar.gz", tar_gz("shop-1.0/", FILES)), ("shop-1.0.zip", zip_file(FILES))]
    {
        let (ours, theirs) = (project("archived"), project("unpacked"));
        let report = index(&app, &ours, &folder.write(name, &bytes)).await;
        assert_eq!(report["repository"], name);
        assert_eq!(report["filesChanged"], 4, "{report:#}");

        // A directory may have a name like this, too.
        let directory = folder.unpack(&format!("unpacked/{name}"), FILES);
        let unpacked = index(&app, &theirs, &directory).await;
        for field in ["repository", "files", "chunks", "filesChanged", "factsMissing", "skipped", "notes"] {
            assert_eq!(report[field], unpacked[field], "{name}: {field}");
        }
        let (archived, in_directory) = (digest(&ours).await, digest(&theirs).await);
        for table in ["chunks", "lexical", "facts", "vectors", "names", "grams"] {
            let rows = |digest: &[(String, String)]| {
                digest.iter().find(|(name, _)| name == table).map(|(_, text)| text.clone()).expect(table)
            };
            assert_eq!(rows(&archived), rows(&in_directory), "{name}: {table}");
        }
        for word in ["count_drawer", "drawer at night"] {
            assert_eq!(files_with(&app, &ours, word).await, files_with(&app, &theirs, word).await, "{word}");
        }
        let uses = json!({ "relation": "callers", "symbol": "count_drawer", "project_id": ours });
        let uses = result(&app, "navigate", uses).await;
        assert_eq!(uses["files"][0]["file"], "src/shop.py", "{uses:#}");
        // Files of the directory are read from it, and those of the archive are not found there.
        for (id, text) in [(&ours, "return sum(coins)"), (&theirs, "return 7")] {
            std::fs::write(Path::new(&directory).join("src/till.py"), "def count_drawer():\n    return 7\n")
                .unwrap();
            let shown = result(&app, "show_file", json!({ "path": "src/till.py", "project_id": id })).await;
            assert!(shown.to_string().contains(text), "{name}: {shown:#}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn later_runs_read_what_changed() {
    let folder = ArchiveFolder::new();
    let app = app_with(|_| {});
    let id = project("replaced");
    let archive = folder.write("shop.tar.gz", &tar_gz("shop-1.0/", FILES));
    let first = index(&app, &id, &archive).await;
    let unchanged = index(&app, &id, &archive).await;
    assert_eq!((&unchanged["filesChanged"], &unchanged["filesUnchanged"]), (&json!(0), &json!(4)));

    // The next release, in a folder of another name, with one file changed and one removed.
    let mut files = FILES.to_vec();
    files[0].1 = "def weigh_drawer(coins):\n    return len(coins)\n";
    files.remove(2);
    folder.write("shop.tar.gz", &tar_gz("shop-1.1/", &files));
    let changed = index(&app, &id, &archive).await;
    assert_eq!((&changed["filesChanged"], &changed["filesRemoved"]), (&json!(1), &json!(1)), "{changed:#}");
    let embedded = |report: &Value| report["vectorsEmbedded"].as_u64().unwrap();
    assert!(embedded(&changed) > 0 && embedded(&changed) < embedded(&first), "{changed:#}");
    assert_eq!(files_with(&app, &id, "weigh_drawer").await, ["src/till.py"]);
    assert_eq!(files_with(&app, &id, "drawer at night").await, [""; 0]);

    // The same files in another format are the same content.
    let zip = folder.write("shop.zip", &zip_file(&files));
    std::fs::rename(&zip, &archive).unwrap();
    let commit = status(&app, &id).await["commit"].take();
    let unchanged = index(&app, &id, &archive).await;
    assert_eq!((&unchanged["filesChanged"], &unchanged["filesUnchanged"]), (&json!(0), &json!(3)));
    assert_eq!(status(&app, &id).await["commit"], commit);
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_shown_as_they_were_indexed() {
    let folder = ArchiveFolder::new();
    let app = app_with(|_| {});
    let id = project("shown-archive");
    let archive = folder.write("shop.zip", &zip_file(FILES));
    index(&app, &id, &archive).await;
    let search = json!({ "query": "count_drawer", "project_id": id, "repoPath": archive });
    let hits = result(&app, "search", search).await["hits"].take();
    let hit = hits.as_array().unwrap().iter().find(|hit| hit["file"] == "src/till.py").unwrap();
    let of_hit = json!({ "path": hit["file"], "repoPath": archive, "project_id": id });
    let by_hit = result(&app, "show_file", of_hit).await;
    assert!(by_hit.to_string().contains("return sum(coins)"), "{by_hit:#}");

    let show = json!({ "path": "src/till.py", "project_id": id });
    let before = result(&app, "show_file", show.clone()).await;
    assert!(before.to_string().contains("return sum(coins)"), "{before:#}");
    assert_ne!(before["changedSinceIndexed"], true);
    // Replacing or removing the archive does not change what the index shows.
    folder.write("shop.zip", &zip_file(&[("src/till.py", "# changed\n")]));
    assert_eq!(result(&app, "show_file", show.clone()).await, before);
    std::fs::remove_file(&archive).unwrap();
    assert_eq!(result(&app, "show_file", show.clone()).await, before);
    // Without its mirror the text comes from the index.
    std::fs::remove_dir_all(mirror(&app, &id, &archive).await).unwrap();
    let without = result(&app, "show_file", show).await;
    assert!(without.to_string().contains("return sum(coins)"), "{without:#}");
    // The next run makes it again.
    folder.write("shop.zip", &zip_file(FILES));
    let again = index(&app, &id, &archive).await;
    assert_eq!(again["filesUnchanged"], 4, "{again:#}");
    assert!(mirror(&app, &id, &archive).await.is_dir());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archive_has_no_history_and_no_directory() {
    let folder = ArchiveFolder::new();
    let app = app_with(|_| {});
    let id = project("no-history");
    let archive = folder.write("shop.tar.gz", &tar_gz("", FILES));
    index(&app, &id, &archive).await;
    let full = json!({ "query": "count_drawer", "project_id": id, "output": "full" });
    let found = result(&app, "search", full).await;
    assert!(!found.to_string().contains("lastAuthor"), "{found:#}");
    let by_author = json!({ "query": "count_drawer author:pairofcleats", "project_id": id });
    let answer = call(&app, "search", by_author).await;
    assert_eq!(answer["result"]["hits"], json!([]), "{answer:#}");
    assert!(answer["_meta"]["warnings"].to_string().contains("history_unknown"), "{answer:#}");

    let report =
        json!({ "source": "generic", "inputPath": "r.jsonl", "repoPath": archive, "project_id": id });
    let artifacts = json!({ "repoPath": archive, "project_id": id, "useArtifacts": true });
    for (tool, arguments) in [("triage_ingest", report), ("build_index", artifacts)] {
        let refused = crate::harness::error(&app, tool, arguments).await;
        assert_eq!(refused["code"], "INVALID_REQUEST", "{tool}: {refused:#}");
        let message = refused["message"].as_str().unwrap();
        assert!(message.ends_with("is relative, but the repository has no directory."), "{tool}: {message}");
    }
}

/// A directory does not have the files of the archives in it, so nothing is found twice.
#[tokio::test(flavor = "multi_thread")]
async fn an_archive_in_an_indexed_directory_is_a_repository_of_its_own() {
    let folder = ArchiveFolder::new();
    let app = app_with(|_| {});
    let id = project("vendored-archive");
    let directory = folder.unpack("shop", &[("a.py", "def of_the_directory():\n    return 1\n")]);
    let archive = folder.write("shop/vendor.tar.gz", &tar_gz("", FILES));
    index(&app, &id, &directory).await;
    let indexed = call(&app, "build_index", json!({ "repoPath": archive, "project_id": id })).await;
    assert_eq!(indexed["ok"], true, "{indexed:#}");
    assert!(!indexed.to_string().contains("repositories_overlap"), "{indexed:#}");
    assert_eq!(files_with(&app, &id, "count_drawer").await, ["src/shop.py", "src/till.py"]);
    assert_eq!(files_with(&app, &id, "of_the_directory").await, ["a.py"]);
    let only = json!({ "query": "\"count_drawer\"", "project_id": id, "repoPath": directory });
    assert_eq!(result(&app, "search", only).await["hits"], json!([]));
    // By its name it is indexed again.
    let again = index(&app, &id, "vendor.tar.gz").await;
    assert_eq!((&again["repository"], &again["filesUnchanged"]), (&json!("vendor.tar.gz"), &json!(4)));
}
