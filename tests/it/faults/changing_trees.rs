//! Indexes trees that change while they are walked and read. No run fails, and once the tree is stable, the next run stores
//! what a first run would.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{Mode, OFlags};
use serde_json::json;
use sqlx::{AssertSqlSafe, Row};

use super::tree_gen::{Outside, rand};
use super::trees::tables_with;
use crate::harness::{Repository, app, call, project, result};
use crate::kills::digest;
use crate::upkeep::{raw, schema};

/// Number of files in each tree.
const FILES: u64 = 120;

/// Writes to a path that may have become a pipe, without waiting for a reader.
fn write(path: &Path, text: &[u8], extra_flags: OFlags) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NONBLOCK | OFlags::CLOEXEC | extra_flags;
    let mut file = fs::File::from(rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?);
    text.chunks(100).try_for_each(|part| file.write_all(part))
}

/// Makes one random change to the tree. Errors are ignored: an earlier change may have removed the file.
fn make_random_change(root: &Path, outside: &Outside, seed: u64) {
    let path = |n: u64| root.join(format!("d{}/f{}.py", n % 7, n % FILES));
    let (one, other) = (path(rand(seed)), path(rand(seed + 1)));
    let folder = root.join(format!("d{}", rand(seed + 2) % 7));
    let text = |n: u64| format!("def task_{n}(coin):\n    # changed {seed}\n    return coin * {n}\n");
    let _ = match rand(seed + 3) % 13 {
        0 => write(&one, text(seed).as_bytes(), OFlags::TRUNC),
        1 => fs::rename(&one, &other),
        2 => fs::remove_file(&one),
        3 => fs::remove_file(&one).and_then(|()| std::os::unix::fs::symlink(outside.path("secret.py"), &one)),
        4 => fs::remove_file(&one)
            .and_then(|()| rustix::fs::mkfifoat(rustix::fs::CWD, &one, Mode::RWXU).map_err(Into::into)),
        5 => fs::remove_file(&one).and_then(|()| fs::create_dir(&one)),
        6 => fs::rename(&folder, root.join("moved")),
        7 => fs::rename(root.join("moved"), &folder),
        8 => fs::rename(&folder, root.join("kept"))
            .and_then(|()| std::os::unix::fs::symlink(outside.path("deep"), &folder)),
        9 => fs::remove_file(&folder).and_then(|()| fs::rename(root.join("kept"), &folder)),
        10 => fs::write(root.join(".gitignore"), format!("f{}*.py\n", seed % 10)),
        // The file grows while it is read.
        11 => write(&one, text(seed).repeat(50).as_bytes(), OFlags::APPEND),
        _ => {
            write(&one, &vec![b'\n'; usize::try_from(rand(seed + 4) % 2_000_000).unwrap_or(0)], OFlags::TRUNC)
        }
    };
}

/// The stored rows of a project's files: path, size, time, hash, and why the file was skipped.
async fn stored_files(project: &str) -> BTreeSet<String> {
    let text = format!(
        "SELECT concat_ws(E'\\t', path, bytes, modified_ns, encode(content_hash, 'hex'), skipped) FROM {}.files",
        schema(project)
    );
    let rows = sqlx::query(AssertSqlSafe(text)).fetch_all(&mut raw().await).await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

/// Indexes while the tree changes, then once more when it is stable, and compares with a first run of the final tree.
async fn assert_converges(rounds: u64, seed: u64) {
    let (app, outside) = (app(), Arc::new(Outside::new()));
    for round in 0..rounds {
        let repository = Repository::new(&[("stays.py", "def stays(coin):\n    return coin\n")]);
        for n in 0..FILES {
            repository.write(
                &format!("d{}/f{n}.py", n % 7),
                &format!("def task_{n}(coin):\n    return coin * {n}\n"),
            );
        }
        let (changed, fresh) = (project("changing"), project("fresh"));
        let stop = Arc::new(AtomicBool::new(false));
        let changing = std::thread::spawn({
            let (root, outside, stop) =
                (repository.path().to_owned(), Arc::clone(&outside), Arc::clone(&stop));
            move || {
                let mut seed = rand(seed + round);
                while !stop.load(Ordering::Relaxed) {
                    make_random_change(&root, &outside, seed);
                    seed = rand(seed);
                    std::thread::sleep(std::time::Duration::from_micros(seed % 900));
                }
            }
        });
        let arguments = |id: &str| json!({ "repoPath": repository.root(), "project_id": id, "force": true });
        for _ in 0..4 {
            let answer = call(&app, "build_index", arguments(&changed)).await;
            // A file that disappears during the run does not fail the run.
            assert_eq!(answer["ok"], true, "seed {seed}, round {round}: {answer:#}");
        }
        stop.store(true, Ordering::Relaxed);
        changing.join().unwrap();
        // Until then the time of a file proves nothing, and the two projects could store different ones.
        tokio::time::sleep(std::time::Duration::from_millis(2100)).await;
        let report = result(&app, "build_index", arguments(&changed)).await;
        assert_eq!(report["state"], "succeeded", "{report:#}");
        result(&app, "build_index", arguments(&fresh)).await;
        // Vectors of deleted texts stay until the collector runs; collect in both projects to compare them.
        for id in [&changed, &fresh] {
            result(&app, "cache_gc", json!({ "project_id": id })).await;
        }
        let (stored, expected) = (stored_files(&changed).await, stored_files(&fresh).await);
        for (one, other) in [(&stored, &expected), (&expected, &stored)] {
            if let Some(row) = one.difference(other).next() {
                let on_disk = fs::symlink_metadata(repository.path().join(row.split('\t').next().unwrap()));
                let side = if std::ptr::eq(one, &stored) {
                    "in the changed project"
                } else {
                    "in the fresh project"
                };
                panic!("seed {seed}, round {round}: only {side}: {row}; on disk: {on_disk:?}; {report:#}");
            }
        }
        for ((table, one), (_, other)) in digest(&changed).await.into_iter().zip(digest(&fresh).await) {
            // The vectors are not compared: they were embedded with the path and name of the file that had the text first.
            let rows = |text: String| -> Vec<String> {
                let rows = text.lines().map(|row| row.split(", \"embedding\"").next().unwrap().to_owned());
                rows.collect()
            };
            let (one, other) = (rows(one), rows(other));
            let differs: Vec<_> =
                one.iter().zip(&other).filter(|(one, other)| one != other).take(2).collect();
            assert!(one == other, "seed {seed}, round {round}: {table} differs: {differs:#?}");
        }
        let found = tables_with(&outside.canary, &[changed, fresh].into()).await;
        assert!(found.is_empty(), "seed {seed}, round {round}: {found:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_that_changes_during_the_walk_converges() {
    assert_converges(2, u64::from(std::process::id())).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "the long form: cargo test --test it long_form -- --ignored --test-threads=1 --nocapture"]
async fn changing_trees_long_form() {
    assert_converges(40, 0).await;
}
