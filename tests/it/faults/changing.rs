//! Trees that change while they are walked and read: a run ends, and once they stand still the next one stores what a first run
//! of them would.

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

/// Files among which things happen.
const FILES: u64 = 120;

/// Writes without waiting for a reader, where a pipe stands by now.
fn write(path: &Path, text: &[u8], more: OFlags) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NONBLOCK | OFlags::CLOEXEC | more;
    let mut file = fs::File::from(rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?);
    text.chunks(100).try_for_each(|part| file.write_all(part))
}

/// Does one thing to the tree; what fails because of what was done before is nothing.
fn change(root: &Path, outside: &Outside, at: u64) {
    let path = |n: u64| root.join(format!("d{}/f{}.py", n % 7, n % FILES));
    let (one, other) = (path(rand(at)), path(rand(at + 1)));
    let folder = root.join(format!("d{}", rand(at + 2) % 7));
    let text = |n: u64| format!("def task_{n}(coin):\n    # changed {at}\n    return coin * {n}\n");
    let _ = match rand(at + 3) % 13 {
        0 => write(&one, text(at).as_bytes(), OFlags::TRUNC),
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
        10 => fs::write(root.join(".gitignore"), format!("f{}*.py\n", at % 10)),
        // It grows while it is read.
        11 => write(&one, text(at).repeat(50).as_bytes(), OFlags::APPEND),
        _ => write(&one, &vec![b'\n'; usize::try_from(rand(at + 4) % 2_000_000).unwrap_or(0)], OFlags::TRUNC),
    };
}

/// The files that are stored of a project: path, size, hash, and why it was left out.
async fn files(project: &str) -> BTreeSet<String> {
    let text = format!(
        "SELECT concat_ws(E'\\t', path, bytes, modified_ns, encode(content_hash, 'hex'), skipped) FROM {}.files",
        schema(project)
    );
    let rows = sqlx::query(AssertSqlSafe(text)).fetch_all(&mut raw().await).await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

/// Indexes while things happen, then once more, and compares with a first run of what is left.
async fn converges(rounds: u64, seed: u64) {
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
        let over = Arc::new(AtomicBool::new(false));
        let changing = std::thread::spawn({
            let (root, outside, over) =
                (repository.path().to_owned(), Arc::clone(&outside), Arc::clone(&over));
            move || {
                let mut at = rand(seed + round);
                while !over.load(Ordering::Relaxed) {
                    change(&root, &outside, at);
                    at = rand(at);
                    std::thread::sleep(std::time::Duration::from_micros(at % 900));
                }
            }
        });
        let arguments = |id: &str| json!({ "repoPath": repository.root(), "project_id": id, "force": true });
        for _ in 0..4 {
            let answer = call(&app, "build_index", arguments(&changed)).await;
            // A run that lost a file under its hands goes on; it does not fail.
            assert_eq!(answer["ok"], true, "seed {seed}, round {round}: {answer:#}");
        }
        over.store(true, Ordering::Relaxed);
        changing.join().unwrap();
        let report = result(&app, "build_index", arguments(&changed)).await;
        assert_eq!(report["state"], "succeeded", "{report:#}");
        result(&app, "build_index", arguments(&fresh)).await;
        // Vectors of texts that are gone wait for the collector; the same for a project that never had them.
        for id in [&changed, &fresh] {
            result(&app, "cache_gc", json!({ "project_id": id })).await;
        }
        let (stored, wanted) = (files(&changed).await, files(&fresh).await);
        for (one, other) in [(&stored, &wanted), (&wanted, &stored)] {
            if let Some(row) = one.difference(other).next() {
                let on_disk = fs::symlink_metadata(repository.path().join(row.split('\t').next().unwrap()));
                let whose =
                    if std::ptr::eq(one, &stored) { "of the changed tree" } else { "of the fresh one" };
                panic!("seed {seed}, round {round}: only {whose}: {row}; on disk: {on_disk:?}; {report:#}");
            }
        }
        for ((table, one), (_, other)) in digest(&changed).await.into_iter().zip(digest(&fresh).await) {
            // A vector keeps the path and the name of the file that brought its text first.
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
async fn a_tree_that_changes_under_the_walk_converges() {
    converges(2, u64::from(std::process::id())).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "the long form: cargo test --test it long_form -- --ignored --test-threads=1 --nocapture"]
async fn changing_trees_long_form() {
    converges(40, 0).await;
}
