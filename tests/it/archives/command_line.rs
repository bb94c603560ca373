//! Archives on the command line.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::{ArchiveFolder, FILES, tar_gz, zip_file};
use crate::harness::{PROGRAM, home, new_home, project, run_json};

#[test]
fn an_archive_is_indexed_and_searched_by_its_path_and_name() {
    let (folder, id) = (ArchiveFolder::new(), project("archive-commands"));
    let archive = folder.write("shop-1.0.tar.gz", &tar_gz("shop-1.0/", FILES));
    // Relative paths are those of the current directory.
    let indexed = Command::new(PROGRAM)
        .args(["index", "shop-1.0.tar.gz", "--project", &id, "--stub-embeddings", "--json"])
        .current_dir(folder.path())
        .env("PAIROFCLEATS_HOME", home())
        .env_remove("DATABASE_URL")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&indexed.stderr);
    assert!(indexed.status.success(), "{stderr}{}", String::from_utf8_lossy(&indexed.stdout));
    let indexed: Value = serde_json::from_slice(&indexed.stdout).unwrap();
    assert_eq!(indexed["result"]["report"]["repository"], "shop-1.0.tar.gz", "{indexed:#}");
    for repository in [archive.as_str(), "shop-1.0.tar.gz"] {
        let search = ["search", "count_drawer", "--repo", repository, "--project", &id];
        let (status, found) = run_json(home(), &search);
        let files: Vec<&Value> =
            found["result"]["hits"].as_array().unwrap().iter().map(|hit| &hit["file"]).collect();
        assert_eq!(status, 0, "{found:#}");
        assert!(files.contains(&&json!("src/till.py")), "{repository}: {found:#}");
    }
}

#[test]
fn quickstart_takes_an_archive() {
    let (home, folder) = (new_home("archive-quickstart"), ArchiveFolder::new());
    let archive = folder.write("shop.zip", &zip_file(FILES));
    let (status, found) =
        run_json(&home, &["quickstart", &archive, "--once", "count the coins of the drawer"]);
    assert_eq!(status, 0, "{found:#}");
    assert!(found["result"]["hits"][0]["file"].is_string(), "{found:#}");
    let (status, refused) = run_json(
        &home,
        &["quickstart", &archive, "--once", "coins", "--set", "indexing.roots=[\"/no/such/folder\"]"],
    );
    assert_eq!((status, &refused["error"]["code"]), (1, &json!("FORBIDDEN")), "{refused:#}");
}

#[test]
fn archives_are_not_watched() {
    let folder = ArchiveFolder::new();
    let archive = folder.write("shop.tgz", &tar_gz("", FILES));
    let setting = format!("freshness.watch=[{{path={archive:?}}}]");
    for arguments in [&["watch", &archive][..], &["tools", "--set", &setting]] {
        let (status, refused) = run_json(home(), arguments);
        let error = &refused["error"];
        assert_eq!((status, &error["code"]), (2, &json!("INVALID_INPUT")), "{refused:#}");
        let message = error["message"].as_str().unwrap();
        assert!(message.ends_with("archives are refreshed by freshness.every_ms."), "{message}");
    }
}
