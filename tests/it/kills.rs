//! A process that dies at any named place leaves nothing that the same command does not put right: the same rows as one that
//! was never interrupted, nothing embedded twice, no job left.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use platform::failpoints;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, PgConnection, Row};

use crate::harness::{PROGRAM, Repository, home, project};
use crate::upkeep::{number, raw, run, schema};

/// Runs the program, to die at a place if one is named.
fn program(arguments: &[&str], failpoint: Option<&str>) -> Output {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).arg("--json").env("PAIROFCLEATS_HOME", home()).stdin(Stdio::null());
    if let Some(failpoint) = failpoint {
        command.env("PAIROFCLEATS_FAILPOINT", failpoint);
    }
    command.output().unwrap()
}

pub(crate) fn succeed(arguments: &[&str]) -> Value {
    let output = program(arguments, None);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{arguments:?}: {text} {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_str(&text).unwrap()
}

/// Dies at a place, which it must have come to.
fn die(arguments: &[&str], failpoint: &str) {
    use std::os::unix::process::ExitStatusExt;
    let output = program(arguments, Some(failpoint));
    assert!(
        output.status.signal().is_some(),
        "{arguments:?} never came to {failpoint}: {} {}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

/// What is stored of a project, table by table, without what differs from run to run: ids, which are places here, and times.
pub(crate) async fn digest(project: &str) -> Vec<(String, String)> {
    digest_over(&mut raw().await, project).await
}

/// The same over a connection of the caller's.
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
        let of_chunk = "(SELECT f.path || '#' || c.ordinal FROM {s}.chunks c JOIN {s}.files f ON f.id = c.file_id WHERE c.id = t.chunk_id)";
        let of_file = "(SELECT f.path FROM {s}.files f WHERE f.id = t.file_id)";
        let place = match (has("chunk_id"), has("file_id")) {
            (true, _) => of_chunk.replace("{s}", &schema),
            (false, true) => of_file.replace("{s}", &schema),
            _ => "''".to_owned(),
        };
        // Names and vectors are told apart by what they are; other ids are drawn.
        let id = if matches!(table.as_str(), "names" | "triage_records") { "''" } else { "'id'" };
        let volatile = "ARRAY['chunk_id','file_id','repository_id','modified_ns','facts_tried_ms','next_id','fence','generation',\
            'updated_at','indexed_at','report','root','embedded_to','changed_since_statistics','created_ms','updated_ms','record']";
        let text = format!(
            "SELECT coalesce(string_agg(line, E'\\n' ORDER BY line), '') FROM (SELECT {place} || ' ' || \
             (to_jsonb(t) - {volatile} - {id})::text AS line FROM {schema}.{table} t) lines"
        );
        let row = sqlx::query(AssertSqlSafe(text)).fetch_one(&mut *connection).await.unwrap();
        all.push((table, row.get(0)));
    }
    all
}

/// Equal but for what the name of the project changes.
pub(crate) async fn assert_alike(what: &str, interrupted: &str, whole: &str) {
    assert_equal(what, &digest(interrupted).await, &digest(whole).await);
    assert_no_job(what, interrupted).await;
}

/// Two digests, table by table.
pub(crate) fn assert_equal(what: &str, one: &[(String, String)], other: &[(String, String)]) {
    for ((table, one), (_, other)) in one.iter().zip(other) {
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        let (one, other) = (lines(one), lines(other));
        let differing: Vec<_> = one.iter().zip(&other).filter(|(one, other)| one != other).take(2).collect();
        assert!(
            one == other,
            "{what}: {table} differs ({} rows, {} rows): {differing:#?}",
            one.len(),
            other.len()
        );
    }
    assert_eq!(one.len(), other.len(), "{what}");
}

async fn assert_no_job(what: &str, interrupted: &str) {
    let live = format!(
        "SELECT count(*) FROM pairofcleats.jobs WHERE project_id = '{interrupted}' AND state IN ('queued', 'running')"
    );
    assert_eq!(number(&live).await, 0, "{what}: a job is left");
}

/// Flows between files, comments, history and several batches, so that every part of a run has something to lose.
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
    git(repository.path(), &["init", "-q"]);
    commit(repository.path(), "begin");
    repository
}

fn git(at: &Path, arguments: &[&str]) {
    let status = Command::new("git")
        .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.com"])
        .args(arguments)
        .env("GIT_AUTHOR_DATE", "2026-01-02T03:04:05Z")
        .env("GIT_COMMITTER_DATE", "2026-01-02T03:04:05Z")
        .current_dir(at)
        .status()
        .unwrap();
    assert!(status.success(), "{arguments:?}");
}

fn commit(at: &Path, message: &str) {
    git(at, &["add", "-A"]);
    git(at, &["commit", "-q", "-m", message]);
}

/// What changes a repository that is indexed already: a file comes, one goes, one is another.
fn edit(repository: &Repository) {
    repository.write("new.py", "def fresh(coin):\n    return coin\n");
    repository.remove("m0.py");
    repository.write(
        "run.py",
        "import os\n\ndef execute(command):\n    print('now')\n    return os.system(command)\n",
    );
    commit(repository.path(), "edit");
}

fn places(of: &str) -> Vec<&'static str> {
    let found: Vec<&str> = failpoints::ALL.iter().copied().filter(|name| name.starts_with(of)).collect();
    assert!(!found.is_empty(), "{of}");
    found
}

/// Indexes with two files a batch, so that a run has several.
fn index(root: &str, id: &str, failpoint: Option<&str>) {
    let arguments = ["index", root, "--project", id, "--set", "indexing.batch_files=2"];
    match failpoint {
        Some(failpoint) => die(&arguments, failpoint),
        None => drop(succeed(&arguments)),
    }
}

/// A first run and a later one, each dying once at each place.
async fn index_runs(places: Vec<String>) {
    let repository = repository();
    let root = repository.root();
    let whole = project("whole");
    index(&root, &whole, None);
    let mut victims = Vec::new();
    for place in &places {
        let id = project("killed");
        // Nothing is there to be removed in a first run; what is made once is made in that one.
        if place != "index.removed" {
            index(&root, &id, Some(place));
            let vectors = if number(&there(&id)).await > 0 { vectors(&id).await } else { 0 };
            let report = succeed(&["index", &root, "--project", &id, "--set", "indexing.batch_files=2"]);
            let embedded = report["result"]["report"]["vectorsEmbedded"].as_i64().unwrap();
            assert_eq!(vectors + embedded, self::vectors(&id).await, "{place}: embedded twice: {report:#}");
        } else {
            index(&root, &id, None);
        }
        assert_alike(place, &id, &whole).await;
        victims.push((place, id));
    }
    edit(&repository);
    index(&root, &whole, None);
    for (place, id) in &victims {
        if !place.starts_with("provision") {
            index(&root, id, Some(place));
        }
        index(&root, id, None);
        assert_alike(&format!("{place}, the second run"), id, &whole).await;
    }
    for (_, id) in victims.iter().chain([&(&String::new(), whole)]) {
        succeed(&["projects", "delete", id, "--yes"]);
    }
}

fn there(id: &str) -> String {
    format!("SELECT count(*) FROM pg_tables WHERE schemaname = '{}' AND tablename = 'vectors'", schema(id))
}

async fn vectors(id: &str) -> i64 {
    number(&format!("SELECT count(*) FROM {}.vectors", schema(id))).await
}

/// The places in turn, so that several tests share them.
fn share(of: &str, part: usize, parts: usize) -> Vec<String> {
    places(of)
        .into_iter()
        .enumerate()
        .filter(|(at, _)| at % parts == part)
        .map(|(_, name)| name.to_owned())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provisioning_that_dies_is_made_whole() {
    index_runs(share("provision.", 0, 1)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_run_that_dies_is_made_whole_first_part() {
    index_runs(share("index.", 0, 2)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_run_that_dies_is_made_whole_second_part() {
    index_runs(share("index.", 1, 2)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn records_that_were_being_stored_are_stored_once() {
    let repository = repository();
    let report = json!([{ "stableKey": "g-1", "vulnId": "CVE-2024-0001", "severity": "high", "title": "coins in the shop" }]);
    let whole = project("whole");
    let ingest = |id: &str| json!({ "source": "manual", "payload": report, "project_id": id }).to_string();
    index(&repository.root(), &whole, None);
    succeed(&["call", "triage_ingest", "--args", &ingest(&whole)]);
    for place in places("triage.") {
        let id = project("killed");
        index(&repository.root(), &id, None);
        die(&["call", "triage_ingest", "--args", &ingest(&id)], place);
        succeed(&["call", "triage_ingest", "--args", &ingest(&id)]);
        // Records say when they came, so that no two are alike: what can be compared is how many there are of everything.
        let counted = async |id: &str| -> Vec<(String, usize)> {
            digest(id).await.into_iter().map(|(table, text)| (table, text.lines().count())).collect()
        };
        assert_eq!(counted(&id).await, counted(&whole).await, "{place}");
        assert_no_job(place, &id).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removal_that_dies_is_completed_by_the_same_call() {
    let (repository, other) =
        (repository(), Repository::new(&[("vault.py", "def vault():\n    return 7\n")]));
    let whole = project("whole");
    index(&other.root(), &whole, None);
    index(&repository.root(), &whole, None);
    let clean = |id: &str| json!({ "repoPath": other.root(), "project_id": id }).to_string();
    succeed(&["call", "clean_artifacts", "--args", &clean(&whole)]);
    for place in places("clean.") {
        let id = project("killed");
        index(&other.root(), &id, None);
        index(&repository.root(), &id, None);
        die(&["call", "clean_artifacts", "--args", &clean(&id)], place);
        // The dead process holds the project until its lease is over; who asks meanwhile is told to ask again.
        let again = || program(&["call", "clean_artifacts", "--args", &clean(&id)], None);
        assert!(
            (0..60).any(|_| again().status.success()),
            "{place}: {}",
            String::from_utf8_lossy(&again().stdout)
        );
        index(&repository.root(), &id, None);
        succeed(&["call", "cache_gc", "--args", &json!({ "project_id": id }).to_string()]);
        assert_alike(place, &id, &whole).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_were_being_written_are_whole_or_not_there() {
    let repository = repository();
    let (id, folder) = (project("written"), tempfile::tempdir().unwrap());
    index(&repository.root(), &id, None);
    let file = folder.path().join("a.zip").to_string_lossy().into_owned();
    die(&["projects", "export", &id, &file], "export.written");
    assert!(!Path::new(&file).exists());
    succeed(&["projects", "export", &id, &file]);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "something is left beside it");

    let build = json!({ "project_id": id }).to_string();
    die(&["call", "build_sqlite_index", "--args", &build], "sqlite.written");
    succeed(&["call", "build_sqlite_index", "--args", &build]);

    for place in places("import.") {
        let copy = project("killed");
        let root = format!(
            "{}={}",
            Path::new(&repository.root()).file_name().unwrap().to_string_lossy(),
            repository.root()
        );
        let import = ["projects", "import", &file, "--project", &copy, "--root", &root];
        die(&import, place);
        // The server may need a moment to see that the other process is gone.
        let mut tries = 0;
        while number(&there(&copy)).await == 0 && !program(&import, None).status.success() {
            tries += 1;
            assert!(tries < 50, "{place}");
        }
        index(&repository.root(), &copy, None);
        assert_alike(place, &copy, &id).await;
        succeed(&["projects", "delete", &copy, "--yes"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_that_dies_is_completed_by_the_same_command() {
    let repository = repository();
    for place in places("delete.") {
        let id = project("killed");
        index(&repository.root(), &id, None);
        die(&["projects", "delete", &id, "--yes"], place);
        let hidden = program(&["search", "coins", "--project", &id], None);
        assert!(String::from_utf8_lossy(&hidden.stdout).contains("NO_INDEX"), "{place}");
        // After its last step there is nothing left to complete.
        let again = program(&["projects", "delete", &id, "--yes"], None);
        let done = again.status.success() || String::from_utf8_lossy(&again.stdout).contains("NO_INDEX");
        assert!(done, "{place}: {}", String::from_utf8_lossy(&again.stdout));
        let left = format!(
            "SELECT (SELECT count(*) FROM pg_namespace WHERE nspname = '{}') + (SELECT count(*) FROM pairofcleats.projects WHERE id = '{id}') \
             + (SELECT count(*) FROM pairofcleats.jobs WHERE project_id = '{id}')",
            schema(&id)
        );
        assert_eq!(number(&left).await, 0, "{place}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_the_model_that_dies_has_happened_or_not() {
    let repository = repository();
    let whole = project("whole");
    index(&repository.root(), &whole, None);
    for place in places("model.") {
        let id = project("killed");
        index(&repository.root(), &id, None);
        // As if another model had made its vectors: only then is there something to change.
        run(&format!(
            "UPDATE pairofcleats.projects SET model_hash = '\\x{}' WHERE id = '{id}'",
            "00".repeat(32)
        ))
        .await;
        let model =
            number_text(&format!("SELECT model_id FROM pairofcleats.projects WHERE id = '{whole}'")).await;
        let change = ["projects", "model", &id, &model, "--yes"];
        die(&change, place);
        succeed(&change);
        index(&repository.root(), &id, None);
        assert_alike(place, &id, &whole).await;
    }
}

async fn number_text(text: &str) -> String {
    sqlx::query(AssertSqlSafe(text)).fetch_one(&mut raw().await).await.unwrap().get(0)
}

#[test]
fn every_place_is_died_at() {
    let families =
        ["provision.", "index.", "triage.", "clean.", "export.", "sqlite.", "import.", "delete.", "model."];
    for name in failpoints::ALL {
        assert!(families.iter().any(|family| name.starts_with(family)), "{name} belongs to no test");
    }
    assert!(failpoints::ALL.len() >= 20);
}
