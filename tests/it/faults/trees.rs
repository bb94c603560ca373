//! Indexes hostile repositories ([`tree_gen`](super::tree_gen)). Each may fail only its own run: memory stays bounded, runs of
//! other projects succeed, and nothing outside of its root reaches the database or an answer.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use futures::StreamExt;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Row};

use super::tree_gen::{Outside, Tree, trees};
use crate::harness::{PROGRAM, Repository, home, http, project};
use crate::upkeep::{query_number, raw, schema};

/// Memory that a run may take beyond what the server already has, in kB.
const MEMORY_KB_MAX: u64 = 400 << 10;
/// Timeout of a call; a longer one is considered hung.
const CALL_TIMEOUT: Duration = Duration::from_secs(7200);

/// A server in its own process, so that its memory can be measured.
pub(crate) struct MeasuredServer {
    child: Child,
    url: String,
    log: PathBuf,
}

impl MeasuredServer {
    fn start(settings: &[&str]) -> Self {
        Self::start_with(settings, &[])
    }

    pub(crate) fn start_with(settings: &[&str], environment: &[(&str, &str)]) -> Self {
        let log = home().join(format!("serve-{}.log", project("log")));
        let mut command = Command::new(PROGRAM);
        command.args(["serve", "--port", "0", "--json"]).envs(environment.iter().copied());
        command.args(settings.iter().flat_map(|setting| ["--set", setting]));
        let mut child = command
            .env("PAIROFCLEATS_HOME", home())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(fs::File::create(&log).unwrap())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap();
        Self { child, url: ready["result"]["url"].as_str().unwrap().to_owned(), log }
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Value {
        let call =
            http().post(format!("{}/tools/{tool}", self.url)).timeout(CALL_TIMEOUT).json(&arguments).send();
        let response = call.await.unwrap_or_else(|error| {
            let log = fs::read_to_string(&self.log).unwrap();
            let from = log.floor_char_boundary(log.len().saturating_sub(3000));
            let state = fs::read_to_string(format!("/proc/{}/stat", self.child.id()));
            panic!(
                "{tool} {arguments}: {error:?}; process state {state:?}, end of its log:\n{}",
                &log[from..]
            )
        });
        response.json().await.unwrap()
    }

    async fn index(&self, project: &str, root: &str) -> Value {
        let arguments = json!({ "repoPath": root, "project_id": project, "stubEmbeddings": true });
        self.call("build_index", arguments).await
    }

    /// A field of `/proc/PID/status`, in kB.
    fn memory_kb(&self, name: &str) -> u64 {
        let text = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.split_whitespace().next().unwrap().parse().unwrap()
    }

    /// Resets the peak of the resident memory (`VmHWM`).
    fn reset_peak_memory(&self) {
        fs::write(format!("/proc/{}/clear_refs", self.child.id()), "5").unwrap();
    }
}

impl Drop for MeasuredServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The tables of the installation and of these projects that hold `text` in any column.
pub(crate) async fn tables_with(text: &str, projects: &BTreeSet<String>) -> Vec<String> {
    let mut connection = raw().await;
    let mut schemas: Vec<String> = projects.iter().map(|project| schema(project)).collect();
    schemas.push("pairofcleats".to_owned());
    let tables = sqlx::query(
        "SELECT schemaname::text || '.' || tablename::text FROM pg_tables WHERE schemaname = ANY($1)",
    );
    let tables = tables.bind(schemas).fetch_all(&mut connection).await.unwrap();
    let hex: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    let mut found = Vec::new();
    for table in tables {
        let table: String = table.get(0);
        let query = format!(
            "SELECT count(*) FROM {table} t WHERE position('{text}' IN t::text) > 0 OR position('{hex}' IN t::text) > 0"
        );
        if query_number(&AssertSqlSafe(query).0).await > 0 {
            found.push(table);
        }
    }
    found
}

async fn is_indexed(project: &str, root: &Path, file: &str) -> bool {
    let (schema, root) = (schema(project), root.canonicalize().unwrap());
    let text = format!(
        "SELECT count(*) FROM {schema}.files f JOIN {schema}.repositories r ON r.id = f.repository_id \
         WHERE r.root = '{}' AND f.path = '{file}' AND f.skipped IS NULL",
        root.display()
    );
    query_number(&text).await == 1
}

/// Indexes a tree and removes it. Returns the failure, if any.
async fn index(
    server: &MeasuredServer,
    tree: &Tree,
    project: &str,
    folder: tempfile::TempDir,
) -> Option<String> {
    let root = folder.path().to_string_lossy().into_owned();
    let answer = server.index(project, &root).await;
    if answer["ok"] != true {
        return Some(format!("{}: {:#}", tree.name, answer["error"]));
    }
    let found = is_indexed(project, folder.path(), "found.py").await;
    // The standard library cannot remove a tree that is 2,000 directories deep.
    let _ = Command::new("rm").arg("-rf").arg(folder.keep()).status();
    (!found)
        .then(|| format!("{}: its normal file is not indexed: {:#}", tree.name, answer["result"]["report"]))
}

async fn assert_harmless(trees: Vec<Tree>) {
    let (server, outside) = (MeasuredServer::start(&[]), Outside::new());
    let bystander = Repository::new(&[("plain.py", "def plain(coin):\n    return coin\n")]);
    let (bystander_project, shared) = (project("bystander"), [project("hostile"), project("hostile")]);
    let mut projects = BTreeSet::from(shared.clone());
    for id in shared.iter().chain([&bystander_project]) {
        let answer = server.index(id, &bystander.root()).await;
        assert_eq!(answer["ok"], true, "{answer:#}");
    }
    let (mut failures, mut peak) = (Vec::new(), (0, String::new()));
    let count = trees.len();
    // Two runs at a time take all slots for runs; the bystander's run must get one in turn.
    let mut pairs = futures::stream::iter(trees).chunks(2);
    let mut round = 0;
    let started = std::time::Instant::now();
    while let Some(pair) = pairs.next().await {
        round += 1;
        let names: Vec<&str> = pair.iter().map(|tree| tree.name.as_str()).collect();
        eprintln!("{:>6.1} s  {}", started.elapsed().as_secs_f64(), names.join(" | "));
        let folders: Vec<tempfile::TempDir> = pair
            .iter()
            .map(|tree| {
                let folder = tempfile::tempdir().unwrap();
                tree.write(folder.path(), &outside);
                folder
            })
            .collect();
        let before = server.memory_kb("VmRSS:");
        server.reset_peak_memory();
        let ids: Vec<String> = pair
            .iter()
            .zip(&shared)
            .map(|(tree, shared)| if tree.own_project { project("hostile") } else { shared.clone() })
            .collect();
        projects.extend(ids.iter().cloned());
        let trees = pair.iter().zip(&ids).zip(folders);
        let runs = trees.map(|((tree, id), folder)| index(&server, tree, id, folder));
        let bystander_run = async {
            bystander.write("plain.py", &format!("def plain(coin):\n    return coin + {round}\n"));
            server.index(&bystander_project, &bystander.root()).await
        };
        let (ended, bystander_run) = futures::join!(futures::future::join_all(runs), bystander_run);
        failures.extend(ended.into_iter().flatten());
        if bystander_run["ok"] != true || bystander_run["result"]["report"]["filesChanged"] != 1 {
            failures.push(format!("the bystander's run during {names:?}: {bystander_run:#}"));
        }
        let memory = server.memory_kb("VmHWM:").saturating_sub(before);
        if memory > MEMORY_KB_MAX {
            failures.push(format!("{names:?}: {memory} kB of memory"));
        }
        peak = peak.max((memory, names.join(", ")));
    }
    eprintln!("{count} trees; the most memory beyond the server's own: {} kB by {}", peak.0, peak.1);
    for table in tables_with(&outside.canary, &projects).await {
        failures.push(format!("{table} holds content from outside the roots"));
    }
    let passwd = fs::read_to_string("/etc/passwd").unwrap();
    for table in tables_with(passwd.lines().next().unwrap(), &projects).await {
        failures.push(format!("{table} holds /etc/passwd"));
    }
    assert!(failures.is_empty(), "{} of {count}:\n{}", failures.len(), failures.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_trees_harm_at_most_their_own_run() {
    let seed = u64::from(std::process::id());
    eprintln!("seed {seed}");
    assert_harmless(trees(false, seed)).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "the long form, some 40 minutes: cargo test --test it long_form -- --ignored --test-threads=1 --nocapture"]
async fn hostile_trees_long_form() {
    assert_harmless(trees(true, 0)).await;
}
