//! Archives that are damaged, too large, or where they may not be.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use super::{ArchiveFolder, FILES, files_with, index, mirror, status, tar_gz, zip_file};
use crate::harness::{app_with, error, project, result};

fn arguments(path: &str, project: &str) -> Value {
    json!({ "repoPath": path, "project_id": project })
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_allowed_is_neither_indexed_nor_probed() {
    let folder = ArchiveFolder::new();
    let bytes = zip_file(FILES);
    let (inside, outside) = (folder.write("in/shop.zip", &bytes), folder.write("out/bank.zip", &bytes));
    let text = folder.write("in/text.txt", b"text");
    let link = folder.path().join("in/way-out.zip");
    symlink(&outside, &link).unwrap();
    let allowed = folder.path().join("in");
    let app = app_with(|config| config.indexing.roots = vec![allowed.clone()]);
    let id = project("allowed-archives");
    let missing = [folder.path().join("in/none.zip"), folder.path().join("out/none.zip")];
    let missing = missing.map(|path| path.to_str().unwrap().to_owned());
    for (path, code) in [
        (outside.as_str(), "FORBIDDEN"),
        (link.to_str().unwrap(), "FORBIDDEN"),
        (missing[1].as_str(), "FORBIDDEN"),
        (missing[0].as_str(), "NOT_FOUND"),
        (text.as_str(), "NOT_FOUND"),
    ] {
        let refused = error(&app, "build_index", arguments(path, &id)).await;
        assert_eq!(refused["code"], code, "{path}: {refused:#}");
        assert!(refused["hint"].is_string(), "{path}: {refused:#}");
    }
    let unknown = error(&app, "index_status", json!({ "project_id": id })).await;
    assert_eq!(unknown["code"], "NO_INDEX", "no workspace was made: {unknown:#}");

    index(&app, &id, &inside).await;
    let narrowed = app_with(|config| config.indexing.roots = vec![allowed.join("other")]);
    let show = json!({ "path": "src/till.py", "project_id": id });
    assert_eq!(error(&narrowed, "show_file", show.clone()).await["code"], "FORBIDDEN");
    assert_eq!(error(&narrowed, "build_index", arguments(&inside, &id)).await["code"], "FORBIDDEN");
    assert!(result(&app, "show_file", show).await.to_string().contains("return sum(coins)"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archive_that_cannot_be_read_leaves_no_project() {
    let folder = ArchiveFolder::new();
    let app = app_with(|config| config.indexing.archive_bytes_max = 100_000);
    let whole = tar_gz("", FILES);
    for (name, bytes, code) in [
        ("text.tar.gz", b"no archive".repeat(100), "INVALID_REQUEST"),
        ("empty.zip", Vec::new(), "INVALID_REQUEST"),
        ("cut.zip", zip_file(FILES)[..300].to_vec(), "INVALID_REQUEST"),
        ("large.tar.gz", vec![0; 100_001], "ARCHIVE_TOO_LARGE"),
    ] {
        let id = project("unreadable");
        let refused = error(&app, "build_index", arguments(&folder.write(name, &bytes), &id)).await;
        assert_eq!(refused["code"], code, "{name}: {refused:#}");
        assert!(refused["hint"].is_string(), "{name}: {refused:#}");
        let unknown = error(&app, "index_status", json!({ "project_id": id })).await;
        assert_eq!(unknown["code"], "NO_INDEX", "{name}: {unknown:#}");
    }
    // The beginning of this one is sound, so only the run notices; nothing of it is found.
    let id = project("cut");
    let cut = folder.write("cut.tar.gz", &whole[..whole.len() - 20]);
    let refused = error(&app, "build_index", arguments(&cut, &id)).await;
    assert_eq!(refused["code"], "INVALID_REQUEST", "{refused:#}");
    let listed = result(&app, "index_status", json!({ "project_id": id })).await;
    assert_eq!(listed["repositories"], json!([]), "{listed:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_archive_changes_nothing_of_what_is_indexed() {
    let folder = ArchiveFolder::new();
    let app = app_with(|config| config.indexing.archive_unpacked_bytes_max = 1_000_000);
    let id = project("refused-archive");
    let archive = folder.write("shop.tar.gz", &tar_gz("", FILES));
    index(&app, &id, &archive).await;
    let zeros = "0".repeat(2_000_000);
    let bomb = tar_gz("", &[FILES, &[("zeros.txt", zeros.as_str())]].concat());
    let cut = tar_gz("", FILES);
    for (bytes, code) in [(&bomb[..], "ARCHIVE_TOO_LARGE"), (&cut[..cut.len() - 20], "INVALID_REQUEST")] {
        folder.write("shop.tar.gz", bytes);
        assert_eq!(error(&app, "build_index", arguments(&archive, &id)).await["code"], code);
        assert_eq!(files_with(&app, &id, "count_drawer").await, ["src/shop.py", "src/till.py"], "{code}");
        assert_eq!(status(&app, &id).await["state"], "failed", "{code}");
    }
    folder.write("shop.tar.gz", &tar_gz("", FILES));
    let report = index(&app, &id, &archive).await;
    assert_eq!((&report["filesChanged"], &report["filesUnchanged"]), (&json!(0), &json!(4)), "{report:#}");
    assert_eq!(status(&app, &id).await["state"], "ready");
}

#[tokio::test(flavor = "multi_thread")]
async fn omitted_files_are_reported() {
    let folder = ArchiveFolder::new();
    let app = app_with(|_| {});
    let id = project("left-out");
    let mut builder = tar::Builder::new(Vec::new());
    let mut append = |kind: tar::EntryType, name: &str, target: &str, text: &str| {
        let mut header = tar::Header::new_gnu();
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.as_old_mut().linkname[..target.len()].copy_from_slice(target.as_bytes());
        header.set_entry_type(kind);
        header.set_size(text.len() as u64);
        header.set_mode(0o4777);
        header.set_cksum();
        builder.append(&header, text.as_bytes()).unwrap();
    };
    let file = tar::EntryType::Regular;
    append(file, "till.py", "", "def count_drawer(coins):\n    return sum(coins)\n");
    append(file, "../../way/out.py", "", "def way_out():\n    return 1\n");
    append(file, "/etc/cron.d/job.py", "", "def absolute():\n    return 1\n");
    append(tar::EntryType::Symlink, "passwd.py", "/etc/passwd", "");
    append(tar::EntryType::Fifo, "pipe.py", "", "");
    append(file, ".git/hooks/post-checkout", "", "#!/bin/sh\ntouch ran\n");
    append(file, "inner.zip", "", "PK\u{3}\u{4}\0\0\0");
    let archive = folder.write("mixed.tar", &builder.into_inner().unwrap());
    let report = index(&app, &id, &archive).await;
    assert_eq!(report["files"], 1, "{report:#}");
    let note = "Left out of the archive: names that lead out of it or are too long (2), devices, pipes and unknown kinds of entries (1).";
    assert_eq!(report["notes"], json!([note]), "{report:#}");
    let reasons = |reason: &str| {
        let skipped = report["skipped"].as_array().unwrap();
        skipped.iter().find(|one| one["reason"] == reason).map(|one| one["count"].clone())
    };
    assert_eq!((reasons("link"), reasons("binary")), (Some(json!(1)), Some(json!(1))), "{report:#}");
    for word in ["way_out", "absolute"] {
        assert_eq!(files_with(&app, &id, word).await, [""; 0], "{word}");
    }
    // The note stays as long as the archive does.
    assert_eq!(index(&app, &id, &archive).await["notes"], json!([note]));
    let mirror = mirror(&app, &id, &archive).await;
    assert!(!mirror.join("hooks").exists());
}

/// A mirror is not needed once nothing is indexed of its archive.
#[tokio::test(flavor = "multi_thread")]
async fn an_unused_mirror_is_collected() {
    let folder = ArchiveFolder::new();
    let app = crate::harness::stub_app_in(&crate::harness::new_home("archive-mirrors"), |_| {});
    let id = project("collected-archive");
    let archive = folder.write("shop.tar.gz", &tar_gz("", FILES));
    index(&app, &id, &archive).await;
    let first = mirror(&app, &id, &archive).await;
    folder.write("shop.tar.gz", &tar_gz("", &FILES[..2]));
    index(&app, &id, &archive).await;
    let second = mirror(&app, &id, &archive).await;
    let unused = async || {
        let unused = gate::app::unused_mirrors(&app).await.unwrap();
        unused.into_iter().map(|mirror| mirror.git_dir).collect::<Vec<_>>()
    };
    assert_eq!(unused().await, [] as [std::path::PathBuf; 0], "a run may still read it");
    for mirror in [&first, &second] {
        let used = std::fs::File::options().append(true).open(mirror.join("pairofcleats")).unwrap();
        used.set_modified(std::time::UNIX_EPOCH).unwrap();
    }
    assert_eq!(unused().await, std::slice::from_ref(&first), "the other one is of what is indexed");
    let removed = result(&app, "cache_gc", json!({ "project_id": id })).await;
    let names: Vec<&Value> = removed["removals"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert!(names.contains(&&json!(archive)), "{removed:#}");
    assert_eq!((first.exists(), second.exists()), (false, true));
}
