//! When a process dies at a failpoint, the same command repairs what it left: afterwards the rows equal those of an
//! uninterrupted process, nothing was embedded twice, and no job is left.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use navigation::scip::Roles;
use platform::failpoints;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, PgConnection, Row};

use crate::embedded::cluster::wait_for;
use crate::harness::{PROGRAM, Repository, home, project};
use crate::scip::scip_file;
use crate::upkeep::{execute_sql, query_number, raw, schema};

/// Runs the program, which dies at the failpoint, if one is named.
fn run_program(arguments: &[&str], failpoint: Option<&str>) -> Output {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).arg("--json").env("PAIROFCLEATS_HOME", home()).stdin(Stdio::null());
    if let Some(failpoint) = failpoint {
        command.env("PAIROFCLEATS_FAILPOINT", failpoint);
    }
    command.output().unwrap()
}

pub(crate) fn succeed(arguments: &[&str]) -> Value {
    let output = run_program(arguments, None);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{arguments:?}: {text} {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_str(&text).unwrap()
}

/// Runs the program, which must die at the failpoint.
pub(crate) fn die(arguments: &[&str], failpoint: &str) {
    use std::os::unix::process::ExitStatusExt;
    let output = run_program(arguments, Some(failpoint));
    assert!(
        output.status.signal().is_some(),
        "{arguments:?} did not die at {failpoint}: {} {}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

/// The stored rows of a project, by table, without what differs between runs: times, and ids, which are replaced by paths and
/// positions. Which bit a revision has depends on those before it.
pub(crate) async fn digest(project: &str) -> Vec<(String, String)> {
    digest_over(&mut raw().await, project).await
}

/// The same over a given connection.
pub(crate) async fn digest_over(connection: &mut PgConnection, project: &str) -> Vec<(String, String)> {
    let schema = schema(project);
    let tables = format!("SELECT tablename::text FROM pg_tables WHERE schemaname = '{schema}' ORDER BY 1");
    let tables = sqlx::query(AssertSqlSafe(tables)).fetch_all(&mut *connection).await.unwrap();
    let mut all = Vec::new();
    for table in tables {
        let table: String = table.get(0);
        let columns = format!(
            "SELECT attname::text FROM pg_attribute WHERE attrelid = '{schema}.{table}'::regclass AND attnum > 0 AND NOT attisdropped"
        );
        let columns = sqlx::query(AssertSqlSafe(columns)).fetch_all(&mut *connection).await.unwrap();
        let has = |name: &str| columns.iter().any(|row| row.get::<String, _>(0) == name);
        let chunk_position = "(SELECT f.path || '#' || c.ordinal FROM {s}.chunks c JOIN {s}.files f ON f.id = c.file_id WHERE c.id = t.chunk_id)";
        let file_path = "(SELECT f.path FROM {s}.files f WHERE f.id = t.file_id)";
        let location = match (has("chunk_id"), has("file_id")) {
            (true, _) => chunk_position.replace("{s}", &schema),
            (false, true) => file_path.replace("{s}", &schema),
            _ => "''".to_owned(),
        };
        // Ids of names and records derive from their content; other ids come from sequences.
        let id = if matches!(table.as_str(), "names" | "triage_records") { "''" } else { "'id'" };
        let volatile = "ARRAY['chunk_id','file_id','repository_id','modified_ns','facts_tried_ms','next_id','fence','generation',\
            'updated_at','indexed_at','report','root','embedded_to','changed_since_statistics','created_ms','updated_ms','record',\
            'revisions_of','views','bit']";
        let text = format!(
            "SELECT coalesce(string_agg(line, E'\\n' ORDER BY line), '') FROM (SELECT {location} || ' ' || \
             (to_jsonb(t) - {volatile} - {id})::text AS line FROM {schema}.{table} t) lines"
        );
        let row = sqlx::query(AssertSqlSafe(text)).fetch_one(&mut *connection).await.unwrap();
        all.push((table, row.get(0)));
    }
    all
}

/// Checks that two projects have the same rows and that the interrupted one has no job left.
pub(crate) async fn assert_same_rows(label: &str, interrupted: &str, uninterrupted: &str) {
    assert_equal(label, &digest(interrupted).await, &digest(uninterrupted).await);
    assert_no_job(label, interrupted).await;
}

/// Compares two digests, table by table.
pub(crate) fn assert_equal(label: &str, one: &[(String, String)], other: &[(String, String)]) {
    for ((table, one), (_, other)) in one.iter().zip(other) {
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        let (one, other) = (lines(one), lines(other));
        let differing: Vec<_> = one.iter().zip(&other).filter(|(one, other)| one != other).take(2).collect();
        assert!(
            one == other,
            "{label}: {table} differs ({} rows, {} rows): {differing:#?}",
            one.len(),
            other.len()
        );
    }
    assert_eq!(one.len(), other.len(), "{label}");
}

async fn assert_no_job(label: &str, interrupted: &str) {
    let live = format!(
        "SELECT count(*) FROM pairofcleats.jobs WHERE project_id = '{interrupted}' AND state IN ('queued', 'running')"
    );
    assert_eq!(query_number(&live).await, 0, "{label}: a job is left");
}

/// A repository with data flow between files, comments, history and several batches, so that every part of a run writes rows.
fn repository() -> Repository {
    let repository = Repository::new(&[
        (
            "app.py",
            "import os\nfrom run import execute\n\ndef handle(request):\n    # what the client sent\n    command = request.args['command']\n    return execute(command)\n",
        ),
        (
            "run.py",
            "import os\n\ndef execute(command):\n    \"\"\"Runs it.\"\"\"\n    return os.system(command)\n",
        ),
        ("readme.md", "# Shop\n\nHow coins are counted.\n"),
    ]);
    for file in 0..6 {
        repository.write(
            &format!("m{file}.py"),
            &format!("def task_{file}(value):\n    return [value] * {file}\n"),
        );
    }
    let folder = repository.path().join(".pairofcleats/scip");
    std::fs::create_dir_all(&folder).unwrap();
    let execute = "s . . . run/execute().";
    let defined = [(2, 4, execute, Roles::DEFINITION)];
    let used = [(1, 16, execute, Roles::IMPORT), (6, 11, execute, Roles::READ)];
    std::fs::write(folder.join("ci.scip"), scip_file(&[("run.py", &defined), ("app.py", &used)])).unwrap();
    git(repository.path(), &["init", "-q"]);
    commit(repository.path(), "begin");
    repository
}

fn git(folder: &Path, arguments: &[&str]) {
    let status = Command::new("git")
        .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.com"])
        .args(arguments)
        .env("GIT_AUTHOR_DATE", "2026-01-02T03:04:05Z")
        .env("GIT_COMMITTER_DATE", "2026-01-02T03:04:05Z")
        .current_dir(folder)
        .status()
        .unwrap();
    assert!(status.success(), "{arguments:?}");
}

fn commit(folder: &Path, message: &str) {
    git(folder, &["add", "-A"]);
    git(folder, &["commit", "-q", "-m", message]);
}

/// Changes an indexed repository: adds, removes and changes a file.
fn edit(repository: &Repository) {
    repository.write("new.py", "def fresh(coin):\n    return coin\n");
    repository.remove("m0.py");
    repository.write(
        "run.py",
        "import os\n\ndef execute(command):\n    print('now')\n    return os.system(command)\n",
    );
    commit(repository.path(), "edit");
}

pub(crate) fn failpoints_of(prefix: &str) -> Vec<&'static str> {
    let found: Vec<&str> = failpoints::ALL.iter().copied().filter(|name| name.starts_with(prefix)).collect();
    assert!(!found.is_empty(), "{prefix}");
    found
}

/// Indexes with two files per batch, so that a run has several batches.
fn index(root: &str, id: &str, failpoint: Option<&str>) {
    let arguments = ["index", root, "--project", id, "--set", "indexing.batch_files=2"];
    match failpoint {
        Some(failpoint) => die(&arguments, failpoint),
        None => drop(succeed(&arguments)),
    }
}

/// Runs a first and a later index run that die once at each failpoint, each followed by a complete run.
async fn index_runs(failpoints: Vec<String>) {
    let repository = repository();
    let root = repository.root();
    let uninterrupted = project("uninterrupted");
    index(&root, &uninterrupted, None);
    let mut interrupted_projects = Vec::new();
    for failpoint in &failpoints {
        let id = project("killed");
        // A first run removes nothing, and provisions the project, which later runs do not.
        if failpoint != "index.removed" {
            index(&root, &id, Some(failpoint));
            let vectors_before =
                if query_number(&vectors_table_query(&id)).await > 0 { vector_count(&id).await } else { 0 };
            let report = succeed(&["index", &root, "--project", &id, "--set", "indexing.batch_files=2"]);
            let embedded = report["result"]["report"]["vectorsEmbedded"].as_i64().unwrap();
            assert_eq!(
                vectors_before + embedded,
                vector_count(&id).await,
                "{failpoint}: embedded twice: {report:#}"
            );
        } else {
            index(&root, &id, None);
        }
        assert_same_rows(failpoint, &id, &uninterrupted).await;
        interrupted_projects.push((failpoint, id));
    }
    edit(&repository);
    index(&root, &uninterrupted, None);
    for (failpoint, id) in &interrupted_projects {
        if !failpoint.starts_with("provision") {
            index(&root, id, Some(failpoint));
        }
        index(&root, id, None);
        assert_same_rows(&format!("{failpoint}, the second run"), id, &uninterrupted).await;
    }
    for (_, id) in interrupted_projects.iter().chain([&(&String::new(), uninterrupted)]) {
        succeed(&["projects", "delete", id, "--yes"]);
    }
}

fn vectors_table_query(id: &str) -> String {
    format!("SELECT count(*) FROM pg_tables WHERE schemaname = '{}' AND tablename = 'vectors'", schema(id))
}

async fn vector_count(id: &str) -> i64 {
    query_number(&format!("SELECT count(*) FROM {}.vectors", schema(id))).await
}

/// Failpoints of runs over repositories that are given by their address; `remotes::revisions` dies at them.
pub(crate) const OF_REVISIONS: &str = "index.revisions_";

/// Every `parts`-th failpoint of a prefix, starting at number `part`, so that several tests share them.
fn every_nth(prefix: &str, part: usize, parts: usize) -> Vec<String> {
    failpoints_of(prefix)
        .into_iter()
        .filter(|name| !name.starts_with(OF_REVISIONS))
        .enumerate()
        .filter(|(index, _)| index % parts == part)
        .map(|(_, name)| name.to_owned())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_provisioning_is_completed() {
    index_runs(every_nth("provision.", 0, 1)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_index_run_is_completed_first_half() {
    index_runs(every_nth("index.", 0, 2)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_index_run_is_completed_second_half() {
    index_runs(every_nth("index.", 1, 2)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn records_of_an_interrupted_ingest_are_stored_once() {
    let repository = repository();
    let report = json!([{ "stableKey": "g-1", "vulnId": "CVE-2024-0001", "severity": "high", "title": "coins in the shop" }]);
    let uninterrupted = project("uninterrupted");
    let ingest = |id: &str| json!({ "source": "manual", "payload": report, "project_id": id }).to_string();
    index(&repository.root(), &uninterrupted, None);
    succeed(&["call", "triage_ingest", "--args", &ingest(&uninterrupted)]);
    for failpoint in failpoints_of("triage.").into_iter().chain(failpoints_of("records.")) {
        let id = project("killed");
        index(&repository.root(), &id, None);
        die(&["call", "triage_ingest", "--args", &ingest(&id)], failpoint);
        succeed(&["call", "triage_ingest", "--args", &ingest(&id)]);
        // Records contain their time and so are never equal: only the numbers of rows are compared.
        let row_counts = async |id: &str| -> Vec<(String, usize)> {
            digest(id).await.into_iter().map(|(table, text)| (table, text.lines().count())).collect()
        };
        assert_eq!(row_counts(&id).await, row_counts(&uninterrupted).await, "{failpoint}");
        assert_no_job(failpoint, &id).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_cleaning_is_completed_by_the_same_call() {
    let (repository, other) =
        (repository(), Repository::new(&[("vault.py", "def vault():\n    return 7\n")]));
    let uninterrupted = project("uninterrupted");
    index(&other.root(), &uninterrupted, None);
    index(&repository.root(), &uninterrupted, None);
    let clean = |id: &str| json!({ "repoPath": other.root(), "project_id": id }).to_string();
    succeed(&["call", "clean_artifacts", "--args", &clean(&uninterrupted)]);
    for failpoint in failpoints_of("clean.") {
        let id = project("killed");
        index(&other.root(), &id, None);
        index(&repository.root(), &id, None);
        die(&["call", "clean_artifacts", "--args", &clean(&id)], failpoint);
        // The dead process holds the project until its lease expires; until then the call fails.
        let call_again = || run_program(&["call", "clean_artifacts", "--args", &clean(&id)], None);
        wait_for(&format!("{failpoint}: the cleaning"), || call_again().status.success());
        index(&repository.root(), &id, None);
        succeed(&["call", "cache_gc", "--args", &json!({ "project_id": id }).to_string()]);
        assert_same_rows(failpoint, &id, &uninterrupted).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn interrupted_file_writes_leave_a_complete_file_or_none() {
    let repository = repository();
    let (id, folder) = (project("written"), tempfile::tempdir().unwrap());
    index(&repository.root(), &id, None);
    let file = folder.path().join("a.zip").to_string_lossy().into_owned();
    die(&["projects", "export", &id, &file], "export.written");
    assert!(!Path::new(&file).exists());
    succeed(&["projects", "export", &id, &file]);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "a temporary file is left");

    let build = json!({ "project_id": id }).to_string();
    die(&["call", "build_sqlite_index", "--args", &build], "sqlite.written");
    succeed(&["call", "build_sqlite_index", "--args", &build]);

    for failpoint in failpoints_of("import.") {
        let copy = project("killed");
        let root = format!(
            "{}={}",
            Path::new(&repository.root()).file_name().unwrap().to_string_lossy(),
            repository.root()
        );
        let import = ["projects", "import", &file, "--project", &copy, "--root", &root];
        die(&import, failpoint);
        // Postgres may need a moment to notice that the other process is gone.
        let mut tries = 0;
        while query_number(&vectors_table_query(&copy)).await == 0
            && !run_program(&import, None).status.success()
        {
            tries += 1;
            assert!(tries < 50, "{failpoint}");
        }
        index(&repository.root(), &copy, None);
        assert_same_rows(failpoint, &copy, &id).await;
        succeed(&["projects", "delete", &copy, "--yes"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_project_deletion_is_completed_by_the_same_command() {
    let repository = repository();
    for failpoint in failpoints_of("delete.") {
        let id = project("killed");
        index(&repository.root(), &id, None);
        die(&["projects", "delete", &id, "--yes"], failpoint);
        let hidden = run_program(&["search", "coins", "--project", &id], None);
        assert!(String::from_utf8_lossy(&hidden.stdout).contains("NO_INDEX"), "{failpoint}");
        // After its last step there is nothing left to complete.
        let again = run_program(&["projects", "delete", &id, "--yes"], None);
        let done = again.status.success() || String::from_utf8_lossy(&again.stdout).contains("NO_INDEX");
        assert!(done, "{failpoint}: {}", String::from_utf8_lossy(&again.stdout));
        let leftovers = format!(
            "SELECT (SELECT count(*) FROM pg_namespace WHERE nspname = '{}') + (SELECT count(*) FROM pairofcleats.projects WHERE id = '{id}') \
             + (SELECT count(*) FROM pairofcleats.jobs WHERE project_id = '{id}')",
            schema(&id)
        );
        assert_eq!(query_number(&leftovers).await, 0, "{failpoint}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_model_change_is_completed_by_the_same_command() {
    let repository = repository();
    let uninterrupted = project("uninterrupted");
    index(&repository.root(), &uninterrupted, None);
    for failpoint in failpoints_of("model.") {
        let id = project("killed");
        index(&repository.root(), &id, None);
        // Pretends that another model made the vectors, so that there is something to change.
        execute_sql(&format!(
            "UPDATE pairofcleats.projects SET model_hash = '\\x{}' WHERE id = '{id}'",
            "00".repeat(32)
        ))
        .await;
        let model =
            query_text(&format!("SELECT model_id FROM pairofcleats.projects WHERE id = '{uninterrupted}'"))
                .await;
        let change = ["projects", "model", &id, &model, "--yes"];
        die(&change, failpoint);
        succeed(&change);
        index(&repository.root(), &id, None);
        assert_same_rows(failpoint, &id, &uninterrupted).await;
    }
}

async fn query_text(text: &str) -> String {
    sqlx::query(AssertSqlSafe(text)).fetch_one(&mut raw().await).await.unwrap().get(0)
}

#[test]
fn every_failpoint_belongs_to_a_test() {
    // Those of `catalog.` are tested in instructions::concurrent, those of `launch.` in launch::kills.
    let families = [
        "provision.", "index.", "triage.", "records.", "clean.", "export.", "sqlite.", "import.", "delete.",
        "model.", "catalog.", "launch.",
    ];
    for name in failpoints::ALL {
        assert!(families.iter().any(|family| name.starts_with(family)), "{name} belongs to no test");
    }
    assert!(failpoints::ALL.len() >= 20);
}
