//! SCIP files: what compilers' indexers say wins over what the syntax says, for files that are as the indexer saw them.

use navigation::scip::{
    Document, Limits, Metadata, Occurrence, Position, PositionEncoding, Range, Reader, Roles, Writer,
};
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Row};

use crate::harness::{Repository, app, app_with, call, error, home, project, result, run_json};
use crate::upkeep::{query_number, raw, schema};

/// The index that `ty-scip` makes of `PYTHON`.
const TY_SCIP: &[u8] = include_bytes!("../../crates/navigation/src/scip/tests/fixtures/ty-scip.scip");
const PYTHON: &[(&str, &str)] = &[
    ("main.py", include_str!("../../crates/navigation/src/scip/tests/fixtures/python/main.py")),
    (
        "pkg/__init__.py",
        include_str!("../../crates/navigation/src/scip/tests/fixtures/python/pkg/__init__.py"),
    ),
    ("pkg/shapes.py", include_str!("../../crates/navigation/src/scip/tests/fixtures/python/pkg/shapes.py")),
];

/// A name in a document: line and column from 0, symbol, roles.
pub(crate) type Name = (u32, u32, &'static str, Roles);

/// A SCIP file with these documents, which count bytes.
pub(crate) fn scip_file(documents: &[(&str, &[Name])]) -> Vec<u8> {
    let metadata = Metadata { tool: "test".to_owned(), ..Metadata::default() };
    let mut writer = Writer::new(Vec::new(), &metadata).unwrap();
    for (path, names) in documents {
        let occurrence = |(line, character, symbol, roles): &Name| {
            let start = Position { line: *line, character: *character };
            let range = Range { start, end: start };
            Occurrence { range, symbol, roles: *roles, enclosing_range: None }
        };
        let occurrences = names.iter().map(occurrence).collect();
        let encoding = PositionEncoding::Utf8;
        writer.document(&Document { path, encoding, occurrences, ..Document::default() }).unwrap();
    }
    writer.finish().unwrap()
}

const NOTHING: Roles = Roles(0);
/// `c` calls `a` and `print`.
const CALLER: &str = "def a():\n    pass\n\ndef b():\n    pass\n\ndef c():\n    a()\n    b()\n";
const A: &str = "s . . . a().";
const B: &str = "s . . . b().";
const C: &str = "s . . . c().";
const DEFINED: [Name; 3] =
    [(0, 4, A, Roles::DEFINITION), (3, 4, B, Roles::DEFINITION), (6, 4, C, Roles::DEFINITION)];

fn caller_file(names: &[Name]) -> Vec<u8> {
    scip_file(&[("caller.py", &[&DEFINED, names].concat())])
}

async fn build(repository: &Repository, project: &str, arguments: Value) -> Value {
    let mut all = json!({ "repoPath": repository.root(), "project_id": project });
    all.as_object_mut().unwrap().extend(arguments.as_object().unwrap().clone());
    result(&app(), "build_index", all).await["report"].take()
}

/// The calls in a project: caller, callee and certainty.
async fn calls(project: &str) -> Vec<String> {
    let schema = schema(project);
    let text = format!(
        "SELECT s.name || ' ' || t.name || ' ' || u.certainty FROM {schema}.uses u \
         JOIN {schema}.definitions s ON s.symbol = u.source JOIN {schema}.definitions t ON t.symbol = u.target \
         WHERE u.kinds & 1 = 1 ORDER BY 1"
    );
    let rows = sqlx::query(AssertSqlSafe(text)).fetch_all(&mut raw().await).await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn uses_of_a_scip_file_win() {
    let (repository, project) = (Repository::new(&[("caller.py", CALLER)]), project("scip-wins"));
    build(&repository, &project, json!({})).await;
    assert_eq!(calls(&project).await, ["c a 2", "c b 2"]);
    // The first call is said to be of the other function, and the second one of something else.
    let said = [(7, 4, B, NOTHING), (8, 4, "s . python . print().", NOTHING)];
    std::fs::write(repository.path().join("one.scip"), caller_file(&said)).unwrap();
    let report = build(&repository, &project, json!({ "scip": ["one.scip"] })).await;
    let expected = json!({
        "files": 1, "filesRefused": 0, "documents": 1, "documentsDiffering": 0, "documentsUnknown": 0,
        "usesElsewhere": 1
    });
    assert_eq!((&report["scip"], &report["notes"]), (&expected, &Value::Null), "{report:#}");
    assert_eq!(calls(&project).await, ["c b 1"]);
    // The syntax decides again as soon as the file changes, until it is as before.
    repository.write("caller.py", &format!("# other\n{CALLER}"));
    build(&repository, &project, json!({})).await;
    assert_eq!(calls(&project).await, ["c a 2", "c b 2"]);
    repository.write("caller.py", CALLER);
    build(&repository, &project, json!({})).await;
    assert_eq!(calls(&project).await, ["c b 1"]);
    // A run from the beginning forgets what it is not given again, and a file that is gone is forgotten.
    build(&repository, &project, json!({ "incremental": false })).await;
    assert_eq!(calls(&project).await, ["c a 2", "c b 2"]);
    build(&repository, &project, json!({ "scip": ["one.scip"] })).await;
    repository.write("other.py", "x = 1\n");
    repository.remove("caller.py");
    build(&repository, &project, json!({})).await;
    let left = format!("SELECT count(*) FROM {}.scip_documents", schema(&project));
    assert_eq!(query_number(&left).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_the_syntax_does_not_list_belong_to_what_is_around_them() {
    let text = "def a():\n    pass\n\n# b\ndef b():\n    a()\n    'a'\n    a()\n    'a'\n\n'a'\nb()\n";
    let (repository, project) = (Repository::new(&[("caller.py", text)]), project("scip-unlisted"));
    let names = [
        (0, 4, A, Roles::DEFINITION),
        (4, 4, B, Roles::DEFINITION),
        // Before the definition, twice inside it, and after it.
        (3, 2, B, NOTHING),
        (6, 5, A, Roles::WRITE),
        (8, 5, A, NOTHING),
        (10, 1, A, Roles::IMPORT),
    ];
    std::fs::write(repository.path().join("one.scip"), scip_file(&[("caller.py", &names)])).unwrap();
    build(&repository, &project, json!({ "scip": ["one.scip"] })).await;
    let schema = schema(&project);
    let text = format!(
        "SELECT coalesce(s.name, 'file') || ' ' || t.name || ' ' || u.certainty || ' ' || u.kinds \
         FROM {schema}.uses u JOIN {schema}.definitions t ON t.symbol = u.target \
         LEFT JOIN {schema}.definitions s ON s.symbol = u.source ORDER BY 1"
    );
    let rows = sqlx::query(AssertSqlSafe(text)).fetch_all(&mut raw().await).await.unwrap();
    let found: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    // Calls 1, reads 2, writes 4, imports 8.
    assert_eq!(found, ["b a 1 6", "b a 2 1", "file a 1 8", "file b 1 2", "file b 2 1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_a_real_indexer_leads_to_definitions_in_other_files() {
    let (repository, project) = (Repository::new(PYTHON), project("scip-real"));
    std::fs::write(repository.path().join("index.scip"), TY_SCIP).unwrap();
    let report = build(&repository, &project, json!({ "scip": ["index.scip"] })).await;
    assert_eq!(report["scip"]["documents"], 3, "{report:#}");
    assert!(report["navigation"]["usesScip"].as_u64().unwrap() >= 8, "{report:#}");
    let calls = calls(&project).await;
    for call in ["größer area 1", "total area 1", "describe area 1"] {
        assert!(calls.iter().any(|one| one == call), "{call}: {calls:?}");
    }
    // The definition moves, and is found by its name; its callers are as they were.
    let moved = format!("\n\n{}", PYTHON[2].1);
    repository.write("pkg/shapes.py", &moved);
    let report = build(&repository, &project, json!({})).await;
    assert_eq!(report["filesChanged"], 1, "{report:#}");
    let after = self::calls(&project).await;
    assert!(after.iter().any(|one| one == "total area 1"), "{after:?}");
    assert!(after.iter().any(|one| one == "describe area 2"), "{after:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_or_foreign_file_changes_nothing() {
    let (repository, project) = (Repository::new(&[("caller.py", CALLER)]), project("scip-broken"));
    build(&repository, &project, json!({})).await;
    let write = |name: &str, bytes: &[u8]| {
        std::fs::create_dir_all(repository.path().join(".pairofcleats/scip")).unwrap();
        std::fs::write(repository.path().join(name), bytes).unwrap();
    };
    let sound = caller_file(&[(7, 4, B, NOTHING)]);
    let given = |name: &str| json!({ "repoPath": repository.root(), "project_id": project, "scip": [name] });
    for (name, bytes) in
        [("cut.scip", &sound[..sound.len() - 1]), ("text.scip", b"hello".as_slice()), ("empty.scip", b"")]
    {
        write(name, bytes);
        let refused = error(&app(), "build_index", given(name)).await;
        assert_eq!(refused["code"], "INVALID_REQUEST", "{name}: {refused:#}");
        assert!(refused["message"].as_str().unwrap().contains("byte"), "{refused:#}");
    }
    assert_eq!(error(&app(), "build_index", given("no.scip")).await["code"], "NOT_FOUND");
    assert_eq!(error(&app(), "build_index", given(".pairofcleats")).await["code"], "INVALID_REQUEST");
    // If it is in the folder, the report mentions it.
    write(".pairofcleats/scip/a.scip", &sound[..sound.len() - 1]);
    let report = build(&repository, &project, json!({})).await;
    assert_eq!((&report["scip"]["filesRefused"], &report["scip"]["documents"]), (&json!(1), &json!(0)));
    let note = report["notes"][0].as_str().unwrap();
    assert!(note.starts_with("a.scip was refused, and nothing of it was taken."), "{note}");
    repository.remove(".pairofcleats/scip/a.scip");
    // Another repository's paths, and another state of the file.
    write("foreign.scip", &scip_file(&[("elsewhere.py", &[(0, 4, A, Roles::DEFINITION)])]));
    let report = build(&repository, &project, json!({ "scip": ["foreign.scip"] })).await;
    assert_eq!(report["scip"]["documentsUnknown"], 1);
    assert!(report["notes"][0].as_str().unwrap().contains("is of another repository"), "{report:#}");
    let shifted: Vec<Name> =
        DEFINED.iter().map(|(line, at, symbol, roles)| (line + 1, *at, *symbol, *roles)).collect();
    write("old.scip", &scip_file(&[("caller.py", &shifted)]));
    let report = build(&repository, &project, json!({ "scip": ["old.scip"] })).await;
    assert_eq!(report["scip"]["documentsDiffering"], 1);
    assert!(report["notes"][0].as_str().unwrap().contains("another state of the repository"), "{report:#}");
    assert_eq!(calls(&project).await, ["c a 2", "c b 2"]);
}

/// scip-typescript writes a document for each configuration of a project that a file belongs to.
#[tokio::test(flavor = "multi_thread")]
async fn of_two_documents_of_a_file_the_first_counts() {
    let (repository, project) = (Repository::new(&[("caller.py", CALLER)]), project("scip-twice"));
    let said: &[Name] = &[&DEFINED[..], &[(7, 4, B, NOTHING)]].concat();
    let twice = scip_file(&[("caller.py", said), ("caller.py", &DEFINED)]);
    std::fs::write(repository.path().join("twice.scip"), twice).unwrap();
    let report = build(&repository, &project, json!({ "scip": ["twice.scip"] })).await;
    assert_eq!((&report["scip"]["documents"], &report["scip"]["filesRefused"]), (&json!(1), &json!(0)));
    assert!(report["navigation"]["usesScip"].as_u64().unwrap() > 0, "{report:#}");
}

/// A file may take longer to read than the database lets a transaction do nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_large_file_is_taken_at_once() {
    let (repository, project) = (Repository::new(&[("caller.py", CALLER)]), project("scip-large"));
    let said = [(7, 4, B, NOTHING)];
    let many: Vec<Name> = (0..400_000).map(|line| (line, 0, A, NOTHING)).collect();
    let known: &[Name] = &[&DEFINED[..], &said].concat();
    let gone = ["gone/0.py", "gone/1.py", "gone/2.py"];
    let documents: Vec<(&str, &[Name])> =
        std::iter::once(("caller.py", known)).chain(gone.map(|path| (path, many.as_slice()))).collect();
    std::fs::write(repository.path().join("ci.scip"), scip_file(&documents)).unwrap();
    let app = app_with(|config| config.database.idle_in_transaction_ms_max = 100);
    let arguments = json!({
        "repoPath": repository.root(), "project_id": project, "scip": ["ci.scip"],
    });
    let envelope = call(&app, "build_index", arguments).await;
    assert_eq!(envelope["ok"], true, "{envelope:#}");
    assert_eq!(calls(&project).await, ["c b 1", "c b 2"]);
    let report = &envelope["result"]["report"];
    assert!(!report.to_string().contains("waited for the database"), "{report:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn files_in_the_folder_are_read_once() {
    let (repository, project) = (Repository::new(&[("caller.py", CALLER)]), project("scip-folder"));
    let folder = repository.path().join(".pairofcleats/scip");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("ci.scip"), caller_file(&[(7, 4, B, NOTHING)])).unwrap();
    std::fs::write(folder.join("ci.scip.gz"), "not read").unwrap();
    std::os::unix::fs::symlink("ci.scip", folder.join("link.scip")).unwrap();
    let report = build(&repository, &project, json!({})).await;
    assert_eq!(
        (&report["scip"]["files"], &report["scip"]["documents"]),
        (&json!(1), &json!(1)),
        "{report:#}"
    );
    assert_eq!(calls(&project).await, ["c b 1", "c b 2"]);
    let again = build(&repository, &project, json!({})).await;
    assert_eq!(again["scip"], Value::Null, "{again:#}");
    // Another file is read; what does not fit yet is read again when the files have changed.
    let next = CALLER.replace("a()\n    b()", "b()\n    a()");
    let names = [(8, 4, B, NOTHING), (7, 4, A, NOTHING)];
    let all = [&[(9, 4, "s . . . d().", Roles::DEFINITION)], &DEFINED[..], &names].concat();
    std::fs::write(folder.join("ci.scip"), scip_file(&[("caller.py", &all)])).unwrap();
    let early = build(&repository, &project, json!({})).await;
    assert_eq!(early["scip"]["documentsDiffering"], 1, "{early:#}");
    assert_eq!(calls(&project).await, ["c b 1", "c b 2"], "the old document still fits");
    repository.write("caller.py", &format!("{next}def d(): pass\n"));
    let late = build(&repository, &project, json!({})).await;
    assert_eq!(late["scip"]["documents"], 1, "{late:#}");
    assert_eq!(calls(&project).await, ["c a 1", "c b 1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn paths_may_be_relative_to_the_folder_of_the_file() {
    let (repository, project) = (Repository::new(&[("part/caller.py", CALLER)]), project("scip-part"));
    std::fs::write(repository.path().join("part/index.scip"), caller_file(&[(7, 4, B, NOTHING)])).unwrap();
    let report = build(&repository, &project, json!({ "scip": ["part/index.scip"] })).await;
    assert_eq!(report["scip"]["documents"], 1, "{report:#}");
    assert_eq!(calls(&project).await, ["c b 1", "c b 2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_exported_is_read_as_it_was() {
    let (repository, project) = (Repository::new(PYTHON), project("scip-export"));
    build(&repository, &project, json!({})).await;
    let before = calls(&project).await;
    assert!(before.len() >= 2, "{before:?}");
    let folder = tempfile::tempdir().unwrap();
    let export = |name: &str| {
        let file = folder.path().join(name);
        let arguments =
            ["scip", "export", &repository.root(), "--out", file.to_str().unwrap(), "--project", &project];
        (run_json(home(), &arguments), file)
    };
    let ((code, done), one) = export("one.scip");
    assert_eq!((code, &done["result"]["documents"]), (0, &json!(3)), "{done:#}");
    let ((code, _), other) = export("other.scip");
    assert_eq!((code, std::fs::read(&one).unwrap()), (0, std::fs::read(&other).unwrap()));
    let ((code, refused), _) = export("one.scip");
    assert_eq!((code, &refused["error"]["code"]), (1, &json!("INVALID_REQUEST")), "{refused:#}");
    assert_eq!(folder.path().read_dir().unwrap().count(), 2, "nothing else was left");

    let mut reader = Reader::new(std::fs::File::open(&one).unwrap(), Limits::default()).unwrap();
    let (mut area, mut bases) = (Vec::new(), Vec::new());
    while let Some(document) = reader.next_document().unwrap() {
        for one in &document.occurrences {
            if one.symbol.ends_with("`shapes.py`/Shape#area().") {
                let Range { start, end } = one.range;
                area.push(format!(
                    "{}:{}:{}-{}",
                    document.path,
                    start.line + 1,
                    start.character,
                    end.character
                ));
            }
        }
        for symbol in &document.symbols {
            let related = symbol.relationships.iter().filter(|one| one.is_implementation);
            bases.extend(related.map(|one| format!("{} {}", last(symbol.symbol), last(one.symbol))));
        }
    }
    area.sort();
    assert_eq!(
        area,
        [
            "main.py:10:18-22", "main.py:10:29-33", "main.py:6:20-24", "pkg/shapes.py:11:21-25",
            "pkg/shapes.py:7:8-12"
        ]
    );
    bases.sort();
    assert_eq!(bases, ["Square# Shape#", "area(). area()."]);

    // Taken back, it says the same with more certainty.
    let taken = build(&repository, &project, json!({ "scip": [one.to_str().unwrap()] })).await;
    assert_eq!(taken["scip"]["documents"], 3, "{taken:#}");
    let given: Vec<String> = before.iter().map(|call| call.replace(" 2", " 1")).collect();
    assert_eq!(calls(&project).await, given);
}

/// The last descriptor of a symbol.
fn last(symbol: &str) -> &str {
    symbol
        .rsplit_once('#')
        .filter(|(_, last)| !last.is_empty())
        .map_or_else(|| symbol.rsplit_once('/').map_or(symbol, |(_, last)| last), |(_, last)| last)
}
