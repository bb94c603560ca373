//! Export and import: an imported project gives the same answers, nothing is left half-done, and nothing in an archive is
//! trusted.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use contract::{ErrorCode, Fault, ProjectId};
use gate::app::App;
use serde_json::{Value, json};
use store::DecidedBy;
use tokio_util::sync::CancellationToken;
use upkeep::archive::{ExportReport, ImportReport, ImportSettings, export_project, import_project};
use upkeep::retention::delete_project;

use super::{TwoProjects, execute_sql, query_number, schema, stored_state};
use crate::harness::{PROGRAM, Repository, app, commit_all, home, project, result, run_json};
use crate::kills::{assert_equal, digest};
use crate::scip::scip_file;
use navigation::scip::Roles;

async fn export(app: &App, id: &str, file: &Path) -> Result<ExportReport, Fault> {
    let store = app.store().await.unwrap();
    let id = ProjectId::parse(id).unwrap();
    let project = tenancy::open(store, &id, DecidedBy::Argument).await.unwrap().unwrap();
    let cancel = CancellationToken::new();
    export_project(store, &project, file, "2026-01-02T03:04:05.000Z".into(), &cancel, &|_| {}).await
}

fn settings(app: &App) -> ImportSettings {
    ImportSettings {
        bytes_max: app.config.upkeep.import_bytes_max,
        hnsw_rows_min: 1,
        maintenance_work_mem_mb: app.config.embedded.maintenance_work_mem_mb,
    }
}

/// Imports with the roots of these repositories.
async fn import(
    app: &App,
    file: &Path,
    id: &str,
    repositories: &[&Repository],
) -> Result<ImportReport, Fault> {
    import_with(app, file, id, repositories, settings(app)).await
}

async fn import_with(
    app: &App,
    file: &Path,
    id: &str,
    repositories: &[&Repository],
    settings: ImportSettings,
) -> Result<ImportReport, Fault> {
    let (store, cancel) = (app.store().await.unwrap(), CancellationToken::new());
    let id = ProjectId::parse(id).unwrap();
    let root_of = |repository: &&Repository| {
        let root = repository.path().canonicalize().unwrap();
        let name = root.file_name().unwrap().to_string_lossy().into_owned();
        (name, root.to_string_lossy().into_owned())
    };
    let roots = repositories.iter().map(root_of).collect();
    import_project(store, file, Some(id), |_| Ok(roots), settings, &cancel, &|_| {}).await
}

/// Returns a project's answers to some searches, without timings.
async fn answers(app: &Arc<App>, project: &str) -> Vec<Value> {
    let mut all = Vec::new();
    for arguments in [
        json!({ "query": "count the coins", "output": "full" }),
        json!({ "query": "open vault code", "lang": "python", "output": "full" }),
        json!({ "query": "drawer", "ann": false }),
        json!({ "query": "same text", "calls": "sum" }),
        json!({ "query": "anything", "author": "nobody" }),
        json!({ "query": "\"the same text\"", "top": 50 }),
    ] {
        let mut arguments = arguments;
        arguments["project_id"] = json!(project);
        let mut answer = result(app, "search", arguments).await;
        for timing in ["stats", "latency_ms"] {
            answer.as_object_mut().unwrap().remove(timing);
        }
        all.push(answer);
    }
    all
}

async fn delete(app: &App, id: &str) {
    let id = ProjectId::parse(id).unwrap();
    let store = app.store().await.unwrap();
    delete_project(store, &app.layout, &app.config.upkeep, &id, true).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_imported_project_gives_the_same_answers() {
    let projects = TwoProjects::new().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ours.zip");
    let (before, rows) =
        (answers(&projects.app, &projects.ours).await, stored_state(&projects.app, &projects.ours).await);
    assert!(before.iter().filter(|answer| answer["hits"][0]["file"].is_string()).count() >= 4, "{before:#?}");
    let exported = export(&projects.app, &projects.ours, &file).await.unwrap();
    assert_eq!(exported.bytes, std::fs::metadata(&file).unwrap().len());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left in the folder");
    assert_eq!(stored_state(&projects.app, &projects.ours).await, rows, "an export changed something");
    let again = export(&projects.app, &projects.ours, &file).await.unwrap_err();
    assert_eq!(again.code, ErrorCode::InvalidRequest, "an existing file is not overwritten");

    let copy = project("copy");
    let imported = import(&projects.app, &file, &copy, &[&projects.shop, &projects.bank]).await.unwrap();
    assert_eq!((imported.rows, imported.exported_as.as_str()), (exported.rows, projects.ours.as_str()));
    assert_eq!(answers(&projects.app, &copy).await, before, "the copy beside the original");
    let refused =
        import(&projects.app, &file, &projects.ours, &[&projects.shop, &projects.bank]).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::IllegalState);
    assert_eq!(stored_state(&projects.app, &projects.ours).await, rows, "a refused import changed something");

    delete(&projects.app, &projects.ours).await;
    import(&projects.app, &file, &projects.ours, &[&projects.shop, &projects.bank]).await.unwrap();
    assert_eq!(answers(&projects.app, &projects.ours).await, before, "imported again under its own name");
    let indexes = format!(
        "SELECT count(*) FROM pg_indexes WHERE schemaname = '{}' AND indexname IN ('lexical_terms', 'vectors_hnsw')",
        schema(&projects.ours)
    );
    assert_eq!(query_number(&indexes).await, 2, "its indexes are built");
    let status = result(&projects.app, "config_status", json!({ "project_id": copy })).await;
    assert_eq!(status["ownRole"], true, "{status:#}");
    projects.shop.write("new.py", "def freshly_written():\n    return 'after the import'\n");
    let built = projects.result("build_index", json!({ "repoPath": projects.shop.root() })).await;
    assert_eq!(built["report"]["filesChanged"], 1, "a run continues from the imported state: {built:#}");
    assert_eq!(built["report"]["vectorsEmbedded"], 1, "{built:#}");
    delete(&projects.app, &copy).await;
    projects.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_exports_and_imports_projects() {
    let projects = TwoProjects::new().await;
    let folder = tempfile::tempdir().unwrap();
    let (file, copy) = (folder.path().join("a.zip").to_string_lossy().into_owned(), project("moved"));
    let projects_command = |arguments: &[&str]| -> (Option<i32>, Value) {
        let mut command = Command::new(PROGRAM);
        command.args(["projects"]).args(arguments).arg("--json").env("PAIROFCLEATS_HOME", home());
        let output = command.stdin(Stdio::null()).output().unwrap();
        (output.status.code(), serde_json::from_slice(&output.stdout).unwrap())
    };
    let (code, exported) = projects_command(&["export", &projects.ours, &file]);
    assert_eq!(code, Some(0), "{exported:#}");
    let [shop, bank] = [&projects.shop, &projects.bank].map(|repository| {
        let root = repository.path().canonicalize().unwrap();
        format!("{}={}", root.file_name().unwrap().to_string_lossy(), root.to_string_lossy())
    });
    let (code, unknown) = projects_command(&["import", &file, "--project", &copy, "--root", "attic=/tmp"]);
    assert_eq!((code, &unknown["error"]["code"]), (Some(1), &json!("INVALID_REQUEST")), "{unknown:#}");
    let (code, imported) =
        projects_command(&["import", &file, "--project", &copy, "--root", &shop, "--root", &bank]);
    assert_eq!((code, &imported["result"]["project_id"]), (Some(0), &json!(copy)), "{imported:#}");
    assert_eq!(imported["result"]["rows"], exported["result"]["rows"]);
    let (code, refused) = projects_command(&["import", &file]);
    assert_eq!(
        (code, &refused["error"]["code"]),
        (Some(1), &json!("ILLEGAL_STATE")),
        "its own name is taken"
    );
    let (code, missing) = projects_command(&["import", "/no/such/file.zip"]);
    assert_eq!((code, &missing["error"]["code"]), (Some(1), &json!("NOT_FOUND")));
    let (code, absent) = projects_command(&["export", &project("absent"), "/tmp/never.zip"]);
    assert_eq!((code, &absent["error"]["code"]), (Some(1), &json!("NO_INDEX")));
    assert_eq!(answers(&projects.app, &copy).await, answers(&projects.app, &projects.ours).await);
    delete(&projects.app, &copy).await;
    projects.finish().await;
}

/// Without `--project`, the exported id decides which folders are allowed, as it does whenever the project is used.
#[tokio::test(flavor = "multi_thread")]
async fn an_import_under_the_exported_id_follows_the_roots_of_that_project() {
    let projects = TwoProjects::new().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.zip");
    export(&projects.app, &projects.ours, &file).await.unwrap();
    delete(&projects.app, &projects.ours).await;
    let file = file.to_str().unwrap();
    let [shop, bank] =
        [&projects.shop, &projects.bank].map(|repository| repository.path().canonicalize().unwrap());
    let general = format!("indexing.roots=[{bank:?}]");
    let own = format!("indexing.project_roots={{{}=[{shop:?}]}}", projects.ours);
    let import_linking = |root: &Path| {
        let root = format!("{}={}", root.file_name().unwrap().to_str().unwrap(), root.to_str().unwrap());
        run_json(home(), &["projects", "import", file, "--root", &root, "--set", &general, "--set", &own])
    };
    let (code, refused) = import_linking(&bank);
    assert_eq!(refused["error"]["code"], "FORBIDDEN", "only `roots` allows it: {code} {refused:#}");
    let left = format!("SELECT count(*) FROM pg_namespace WHERE nspname = '{}'", schema(&projects.ours));
    assert_eq!(query_number(&left).await, 0);
    let (code, imported) = import_linking(&shop);
    assert_eq!((code, &imported["result"]["project_id"]), (0, &json!(projects.ours)), "{imported:#}");
    let without_folder = imported["result"]["repositoriesWithoutFolder"].as_array().unwrap();
    assert_eq!(without_folder.len(), 1, "the other repository is linked: {imported:#}");
    projects.finish().await;
}

/// The entries of an archive.
fn entries(file: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut archive = zip::ZipArchive::new(std::fs::File::open(file).unwrap()).unwrap();
    let names: Vec<String> = archive.file_names().map(|name| name.unwrap().into_owned()).collect();
    let read = |name: String| {
        let mut bytes = Vec::new();
        archive.by_name(&name).unwrap().read_to_end(&mut bytes).unwrap();
        (name, bytes)
    };
    names.into_iter().map(read).collect()
}

fn write(file: &Path, entries: &BTreeMap<String, Vec<u8>>) {
    let mut archive = zip::ZipWriter::new(std::fs::File::create(file).unwrap());
    for (name, bytes) in entries {
        archive.start_file(name.as_str(), zip::write::SimpleFileOptions::default()).unwrap();
        archive.write_all(bytes).unwrap();
    }
    archive.finish().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::too_many_lines, reason = "one table of cases")]
async fn nothing_in_an_archive_is_taken_on_trust() {
    let projects = TwoProjects::new().await;
    let folder = tempfile::tempdir().unwrap();
    let (good, bad) = (folder.path().join("good.zip"), folder.path().join("bad.zip"));
    export(&projects.app, &projects.ours, &good).await.unwrap();
    let good = entries(&good);
    let manifest_text = String::from_utf8(good["manifest.json"].clone()).unwrap();
    let manifest = |change: &dyn Fn(&mut Value)| {
        let mut value: Value = serde_json::from_str(&manifest_text).unwrap();
        change(&mut value);
        let mut entries = good.clone();
        entries.insert("manifest.json".into(), value.to_string().into_bytes());
        entries
    };
    let with = |name: &str, bytes: Vec<u8>| {
        let mut entries = good.clone();
        entries.insert(name.into(), bytes);
        entries
    };
    let without = |name: &str| {
        let mut entries = good.clone();
        entries.remove(name);
        entries
    };
    let mut altered = good["search/chunks"].clone();
    let at = altered.len() / 2;
    altered[at] ^= 1;
    let table = |manifest: &mut Value, name: &str, field: &str, value: Value| {
        let tables = manifest["tables"].as_array_mut().unwrap();
        tables.iter_mut().find(|table| table["name"] == name).unwrap()[field] = value;
    };
    let id = project("victim");
    let verify = ErrorCode::DownloadVerifyFailed;
    for (what, entries, code) in [
        ("one bit", with("search/chunks", altered), verify),
        ("a shorter table", with("search/chunks", good["search/chunks"][..at].to_vec()), verify),
        (
            "a longer table",
            with("search/names", [good["search/names"].clone(), vec![0]].concat()),
            ErrorCode::ArchiveTooLarge,
        ),
        ("a table too few", without("search/vectors"), verify),
        ("no manifest", without("manifest.json"), verify),
        ("an entry too many", with("../../etc/passwd", vec![1]), ErrorCode::ArchiveUnsafe),
        ("another table", with("search/pg_authid", vec![1]), ErrorCode::ArchiveUnsafe),
        ("another format", manifest(&|m| m["format"] = json!(2)), ErrorCode::IllegalState),
        ("another version", manifest(&|m| m["modules"][0]["version"] = json!(99)), ErrorCode::IllegalState),
        (
            "an unknown module",
            manifest(&|m| m["modules"][0]["name"] = json!("x\"; DROP")),
            ErrorCode::IllegalState,
        ),
        ("no modules", manifest(&|m| m["modules"] = json!([])), verify),
        ("other rows", manifest(&|m| table(m, "chunks", "rows", json!(1))), verify),
        ("other columns", manifest(&|m| table(m, "chunks", "columns", json!([["id", "text"]]))), verify),
        (
            "a table of another name",
            manifest(&|m| table(m, "chunks", "name", json!("jobs"))),
            ErrorCode::ArchiveUnsafe,
        ),
        ("no model", manifest(&|m| m["model"]["hash"] = json!("zz")), verify),
        ("absurd dimensions", manifest(&|m| m["model"]["dimensions"] = json!(99_999_999)), verify),
        ("other dimensions", manifest(&|m| m["model"]["dimensions"] = json!(5)), verify),
        (
            "an endless table",
            manifest(&|m| table(m, "chunks", "bytes", json!(u64::MAX))),
            ErrorCode::ArchiveTooLarge,
        ),
    ] {
        write(&bad, &entries);
        let fault = import(&projects.app, &bad, &id, &[]).await.unwrap_err();
        assert_eq!(fault.code, code, "{what}: {fault}");
        assert!(fault.hint.is_some(), "{what} has no hint");
        if what == "a longer table" {
            assert_eq!(fault.message, "The archive's table names is longer than its manifest says.");
        }
        assert_eq!(
            query_number(&format!("SELECT count(*) FROM pg_namespace WHERE nspname = '{}'", schema(&id)))
                .await,
            0,
            "{what}"
        );
    }
    std::fs::write(&bad, "no zip file").unwrap();
    assert_eq!(import(&projects.app, &bad, &id, &[]).await.unwrap_err().code, verify);
    write(&bad, &good);
    let small = ImportSettings { bytes_max: 1000, ..settings(&projects.app) };
    assert_eq!(
        import_with(&projects.app, &bad, &id, &[], small).await.unwrap_err().code,
        ErrorCode::ArchiveTooLarge
    );
    import(&projects.app, &bad, &id, &[]).await.unwrap();
    delete(&projects.app, &id).await;
    projects.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_import_leaves_nothing_and_can_be_repeated() {
    let (app, source, copy) = (app(), project("large"), project("killed"));
    let repository = Repository::new(&[]);
    for file in 0..600 {
        repository.write(
            &format!("m{file}.py"),
            &format!("def task_{file}(value):\n    return [value] * {file}\n"),
        );
    }
    result(&app, "build_index", json!({ "repoPath": repository.root(), "project_id": source })).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("large.zip");
    export(&app, &source, &file).await.unwrap();
    let leftovers = format!(
        "SELECT (SELECT count(*) FROM pg_namespace WHERE nspname = '{}') + (SELECT count(*) FROM pairofcleats.projects WHERE id = '{copy}')",
        schema(&copy)
    );
    // Sessions that are in the middle of an import.
    let importing = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pairofcleats ddl' AND query LIKE 'COPY%FROM STDIN%'";
    let mut killed = 0;
    for _ in 0..5 {
        let mut command = Command::new(PROGRAM);
        command
            .args(["projects", "import", &file.to_string_lossy(), "--project", &copy])
            .env("PAIROFCLEATS_HOME", home());
        let mut victim =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        while query_number(importing).await == 0 && victim.try_wait().unwrap().is_none() {
            tokio::task::yield_now().await;
        }
        victim.kill().unwrap();
        victim.wait().unwrap();
        if query_number(&leftovers).await > 0 {
            delete(&app, &copy).await;
            continue;
        }
        killed += 1;
    }
    assert!(killed > 0, "every kill came too late to prove anything");
    // Postgres notices the dead process within seconds; until then its locks block the name.
    let mut tries = 0;
    while let Err(fault) = import(&app, &file, &copy, &[&repository]).await {
        tries += 1;
        assert!(tries < 100 && fault.code == ErrorCode::StorageUnavailable, "{fault}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    assert_eq!(answers(&app, &copy).await, answers(&app, &source).await);
    for id in [&source, &copy] {
        delete(&app, id).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_export_leaves_no_file_and_an_export_during_a_run_is_consistent() {
    let projects = TwoProjects::new().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("stopped.zip");
    let store = projects.app.store().await.unwrap();
    let id = ProjectId::parse(&projects.ours).unwrap();
    let open = tenancy::open(store, &id, DecidedBy::Argument).await.unwrap().unwrap();
    let cancel = CancellationToken::new();
    let stop = |table: &str| {
        if table == "chunks" {
            cancel.cancel()
        }
    };
    let stopped = export_project(store, &open, &file, String::new(), &cancel, &stop).await.unwrap_err();
    assert_eq!(stopped.code, ErrorCode::Cancelled);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "a stopped export left something");
    let missing_folder = folder.path().join("no/such/folder/a.zip");
    assert!(export(&projects.app, &projects.ours, &missing_folder).await.is_err());

    for file in 0..400 {
        projects.shop.write(
            &format!("m{file}.py"),
            &format!("def task_{file}(value):\n    return [value] * {file}\n"),
        );
    }
    let (app, arguments) =
        (Arc::clone(&projects.app), json!({ "repoPath": projects.shop.root(), "project_id": projects.ours }));
    let running = tokio::spawn(async move { result(&app, "build_index", arguments).await });
    let files = format!("SELECT count(*) FROM {}.files", schema(&projects.ours));
    while query_number(&files).await < 10 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    export(&projects.app, &projects.ours, &file).await.unwrap();
    running.await.unwrap();
    let copy = project("during");
    import(&projects.app, &file, &copy, &[&projects.shop, &projects.bank]).await.unwrap();
    let built =
        result(&projects.app, "build_index", json!({ "repoPath": projects.shop.root(), "project_id": copy }))
            .await;
    assert_eq!(built["report"]["files"], 402, "a run adds what the export did not see: {built:#}");
    // Settings and statistics may differ from those of the exported project.
    let rows = async |id: &str| {
        let mut rows = digest(id).await;
        rows.retain(|(table, _)| {
            ["files", "chunks", "lexical", "vectors", "facts", "definitions"].contains(&table.as_str())
        });
        rows
    };
    assert_equal("after the same run", &rows(&copy).await, &rows(&projects.ours).await);
    delete(&projects.app, &copy).await;
    projects.finish().await;
}

/// An archive names roots and paths of the exporting machine. Its author must not gain access to files of this one.
#[tokio::test(flavor = "multi_thread")]
async fn an_archive_gives_no_access_to_files_of_this_machine() {
    let projects = TwoProjects::new().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.zip");
    export(&projects.app, &projects.ours, &file).await.unwrap();
    let copy = project("elsewhere");
    let imported = import(&projects.app, &file, &copy, &[]).await.unwrap();
    assert_eq!(imported.repositories_without_folder.len(), 2, "{imported:?}");
    // The files at the exported root change after the export.
    projects.shop.write("cash.py", "def drawer(coins):\n    return 'what this machine holds'\n");
    let shown = result(&projects.app, "show_file", json!({ "path": "cash.py", "project_id": copy })).await;
    assert_eq!(shown["text"], "def drawer(coins):\n    return sum(coins)\n".trim_end(), "{shown:#}");
    assert_eq!(shown["changedSinceIndexed"], json!(false), "{shown:#}");
    let found = result(&projects.app, "search", json!({ "query": "drawer coins", "project_id": copy })).await;
    assert_eq!(found["hits"][0]["file"], "cash.py", "{found:#}");
    assert!(!found.to_string().contains(&*projects.shop.root()), "the exported root is shown: {found:#}");
    let roots = format!("SELECT count(*) FROM {}.repositories WHERE root LIKE '/%'", schema(&copy));
    assert_eq!(query_number(&roots).await, 0);
    // The index cannot be built again here, so a rebuild that would empty it is refused.
    let (code, refused) = run_json(home(), &["projects", "rebuild", &copy]);
    assert_eq!((code, &refused["error"]["code"]), (2, &json!("ILLEGAL_STATE")), "{refused:#}");
    let still = result(&projects.app, "search", json!({ "query": "drawer coins", "project_id": copy })).await;
    assert_eq!(still["hits"], found["hits"]);
    // It can be cleaned like any other repository.
    let clean = json!({ "all": true, "dryRun": false, "project_id": copy });
    let cleaned = result(&projects.app, "clean_artifacts", clean).await;
    assert_eq!(query_number(&roots.replace("LIKE '/%'", "LIKE 'imported:%'")).await, 0, "{cleaned:#}");
    delete(&projects.app, &copy).await;
    projects.finish().await;
}

/// Changes to a project's rows that no index run makes, and how each is undone.
const IMPOSSIBLE_CHANGES: &[(&str, &str)] = &[
    ("UPDATE files SET path = '../' || path", "UPDATE files SET path = substr(path, 4)"),
    ("UPDATE files SET path = '/etc/' || path", "UPDATE files SET path = substr(path, 6)"),
    ("UPDATE files SET path = path || '/./x'", "UPDATE files SET path = left(path, -4)"),
    ("UPDATE files SET path = path || repeat('x', 100000)", "UPDATE files SET path = left(path, -100000)"),
    ("UPDATE files SET facts_missing = repeat('x', 100000)", "UPDATE files SET facts_missing = NULL"),
    (
        "UPDATE files SET last_author = last_author || repeat('x', 257)",
        "UPDATE files SET last_author = left(last_author, -257)",
    ),
    (
        "UPDATE repositories SET root = root || repeat('x', 100000)",
        "UPDATE repositories SET root = left(root, -100000)",
    ),
    ("UPDATE repositories SET name = '../' || name", "UPDATE repositories SET name = substr(name, 4)"),
    ("UPDATE repositories SET name = name || E'\\n'", "UPDATE repositories SET name = left(name, -1)"),
    ("UPDATE chunks SET start_line = -start_line", "UPDATE chunks SET start_line = -start_line"),
    ("UPDATE chunks SET end_line = end_line - 100000", "UPDATE chunks SET end_line = end_line + 100000"),
    ("UPDATE facts SET file_id = -file_id", "UPDATE facts SET file_id = -file_id"),
    ("UPDATE definitions SET chunk_id = -chunk_id", "UPDATE definitions SET chunk_id = -chunk_id"),
    (
        "UPDATE index_state SET next_id = next_id - 1000000",
        "UPDATE index_state SET next_id = next_id + 1000000",
    ),
    // Later runs count on from these numbers, or add them up, and would reach the end of their types.
    (
        "UPDATE index_state SET next_id = 9223372036854775807 - next_id",
        "UPDATE index_state SET next_id = 9223372036854775807 - next_id",
    ),
    (
        "UPDATE index_state SET generation = 9223372036854775807 - generation",
        "UPDATE index_state SET generation = 9223372036854775807 - generation",
    ),
    (
        "UPDATE repositories SET generation = 9223372036854775807 - generation",
        "UPDATE repositories SET generation = 9223372036854775807 - generation",
    ),
    ("UPDATE files SET facts_tried_ms = 9223372036854775807", "UPDATE files SET facts_tried_ms = 0"),
    (
        "UPDATE files SET bytes = 9223372036854775807 - bytes",
        "UPDATE files SET bytes = 9223372036854775807 - bytes",
    ),
    ("UPDATE files SET chunks = 2147483647 - chunks", "UPDATE files SET chunks = 2147483647 - chunks"),
    ("UPDATE files SET churn_added = 2147483647", "UPDATE files SET churn_added = NULL"),
    ("UPDATE index_state SET updated_at = 'infinity'", "UPDATE index_state SET updated_at = now()"),
    (
        "UPDATE triage_records SET created_ms = 9223372036854775807 - created_ms",
        "UPDATE triage_records SET created_ms = 9223372036854775807 - created_ms",
    ),
    ("UPDATE triage_records SET id = '../' || id", "UPDATE triage_records SET id = substr(id, 4)"),
    // The indexes on these names are not there yet when the rows come in.
    ("UPDATE chunks SET defines = repeat('x', 100000) || defines", "UPDATE chunks SET defines = defines[2:]"),
    (
        "UPDATE symbols SET repository_id = -repository_id",
        "UPDATE symbols SET repository_id = -repository_id",
    ),
    ("UPDATE symbols SET offers = array_prepend(NULL, offers)", "UPDATE symbols SET offers = offers[2:]"),
    ("UPDATE symbols SET name_uses = name_uses - 1000", "UPDATE symbols SET name_uses = name_uses + 1000"),
    (
        "UPDATE scip_documents SET repository_id = -repository_id",
        "UPDATE scip_documents SET repository_id = -repository_id",
    ),
    (
        "UPDATE scip_documents SET content_hash = content_hash || content_hash",
        "UPDATE scip_documents SET content_hash = substr(content_hash, 1, 32)",
    ),
    ("UPDATE scip_files SET refused = refused - 1000", "UPDATE scip_files SET refused = refused + 1000"),
    ("UPDATE line_history SET file_id = -file_id", "UPDATE line_history SET file_id = -file_id"),
    (
        "UPDATE line_history SET lines = lines || decode(repeat('00', 1048577), 'hex')",
        "UPDATE line_history SET lines = substr(lines, 1, octet_length(lines) - 1048577)",
    ),
    ("UPDATE uses SET file_id = -file_id", "UPDATE uses SET file_id = -file_id"),
    ("UPDATE uses SET certainty = certainty + 10", "UPDATE uses SET certainty = certainty - 10"),
    ("UPDATE uses SET places = ARRAY[places]", "UPDATE uses SET places = ARRAY(SELECT unnest(places))"),
    (
        "UPDATE names SET folded = repeat('x', 100000) || folded",
        "UPDATE names SET folded = substr(folded, 100001)",
    ),
];

/// Rows of the right types but with impossible values, made by changing the project before its export.
#[tokio::test(flavor = "multi_thread")]
async fn rows_that_no_index_run_writes_are_refused() {
    let projects = TwoProjects::new().await;
    let finding =
        json!({ "source": "generic", "payload": "{\"title\": \"Open door\"}\n", "buildIndex": false });
    projects.result("triage_ingest", finding).await;
    // A file with a use of a definition.
    projects.shop.write("till.py", "def count():\n    return 1\n\ndef total():\n    return count()\n");
    let names = [(0, 4, "s . . . drawer().", Roles::DEFINITION)];
    std::fs::create_dir_all(projects.shop.path().join(".pairofcleats/scip")).unwrap();
    let scip = projects.shop.path().join(".pairofcleats/scip/ci.scip");
    std::fs::write(scip, scip_file(&[("cash.py", &names)])).unwrap();
    // Lines with a history.
    commit_all(projects.shop.path());
    let built = projects.result("build_index", json!({ "repoPath": projects.shop.root() })).await;
    assert_eq!(built["report"]["scip"]["documents"], 1, "{built:#}");
    let (folder, id) = (tempfile::tempdir().unwrap(), project("victim"));
    let schema_of = schema(&projects.ours);
    for (case, (change, undo)) in IMPOSSIBLE_CHANGES.iter().copied().enumerate() {
        let in_schema = |update: &str| update.replacen("UPDATE ", &format!("UPDATE {schema_of}."), 1);
        execute_sql(&in_schema(change)).await;
        let file = folder.path().join(format!("{case}.zip"));
        let exported = export(&projects.app, &projects.ours, &file).await;
        execute_sql(&in_schema(undo)).await;
        exported.unwrap();
        let fault = import(&projects.app, &file, &id, &[]).await.unwrap_err();
        assert_eq!(fault.code, ErrorCode::ArchiveUnsafe, "{change}: {fault}");
        let left = format!("SELECT count(*) FROM pg_namespace WHERE nspname = '{}'", schema(&id));
        assert_eq!(query_number(&left).await, 0, "{change}");
    }
    projects.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_largest_numbers_of_an_archive_leave_room_to_count_on() {
    let projects = TwoProjects::new().await;
    let (folder, copy) = (tempfile::tempdir().unwrap(), project("large-numbers"));
    let largest = "SET next_id = 1099511627776, generation = 1099511627776";
    execute_sql(&format!("UPDATE {}.index_state {largest}", schema(&projects.ours))).await;
    let file = folder.path().join("a.zip");
    export(&projects.app, &projects.ours, &file).await.unwrap();
    import(&projects.app, &file, &copy, &[&projects.shop, &projects.bank]).await.unwrap();
    projects.shop.write("new.py", "def freshly_written():\n    return 'after the import'\n");
    let arguments = json!({ "repoPath": projects.shop.root(), "project_id": copy });
    let built = result(&projects.app, "build_index", arguments).await;
    assert_eq!(built["report"]["filesChanged"], 1, "{built:#}");
    delete(&projects.app, &copy).await;
    projects.finish().await;
}

/// Postgres refuses such a row when it builds the index, before the checks on imported rows run.
#[tokio::test(flavor = "multi_thread")]
async fn a_text_too_long_for_a_postgres_index_makes_an_archive_unsafe() {
    let projects = TwoProjects::new().await;
    let (folder, id, ours) = (tempfile::tempdir().unwrap(), project("victim"), schema(&projects.ours));
    execute_sql(&format!("DROP INDEX {ours}.files_facts_missing")).await;
    let long = "(SELECT string_agg(md5(n::text), '') FROM generate_series(1, 10000) n)";
    execute_sql(&format!("UPDATE {ours}.files SET facts_missing = {long}")).await;
    let file = folder.path().join("a.zip");
    export(&projects.app, &projects.ours, &file).await.unwrap();
    let fault = import(&projects.app, &file, &id, &[]).await.unwrap_err();
    assert_eq!(fault.code, ErrorCode::ArchiveUnsafe, "{fault}");
    assert!(!fault.to_string().contains("report it"), "{fault}");
    projects.finish().await;
}

/// Opening a pipe blocks until a writer opens it too, and reading from it may never end.
#[tokio::test(flavor = "multi_thread")]
async fn a_pipe_is_refused_as_an_archive() {
    let app = app();
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("a.zip");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let fault = import(&app, &pipe, &project("pipe"), &[]).await.unwrap_err();
    assert_eq!(fault.code, ErrorCode::InvalidRequest, "{fault}");
}
