//! Tool, field, what is sent otherwise, and a value: the fields of all tools. `$NAMES` are a world's.

use serde_json::{Value, json};

/// What is there before the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Prepared {
    /// Nothing: no project, an empty folder.
    Nothing,
    /// `$OURS` with `$ROOT` and `$ROOT2`, `$THEIRS` with `$ROOT3`.
    Indexed,
    /// The same with the records `$FINDING` and `$FINDING2` in `$OURS`.
    Findings,
    /// The same with a portable file.
    Portable,
    /// The same with an old file in the project's folder.
    Leftovers,
    /// A word list in `$DIR/words`.
    Dictionary,
    /// An extension in `$DIR/ext`.
    Extension,
}

/// A field and how its effect is seen.
pub(super) struct Row {
    pub(super) tool: &'static str,
    pub(super) prepared: Prepared,
    pub(super) field: &'static str,
    pub(super) base: Value,
    pub(super) value: Value,
}

/// The fields of `search` that are no filters: name, what is sent otherwise, value.
pub(super) type SearchRow = (&'static str, fn() -> Value, fn() -> Value);

pub(super) const SEARCH: &[SearchRow] = &[
    ("query", || json!({}), || json!("receipt")),
    ("repoPath", || json!({}), || json!("$ROOT")),
    ("project_id", || json!({}), || json!("$ABSENT")),
    ("mode", || json!({}), || json!("prose")),
    ("backend", || json!({}), || json!("sqlite")),
    ("ann", || json!({}), || json!(false)),
    ("top", || json!({}), || json!(1)),
    ("offset", || json!({}), || json!(3)),
    ("context", || json!({ "mode": "extracted-prose" }), || json!(1)),
    ("output", || json!({}), || json!("full")),
    ("explain", || json!({}), || json!(true)),
    ("case", || json!({ "path": "docs/shipping" }), || json!(true)),
    ("caseFile", || json!({ "path": "docs/shipping" }), || json!(true)),
    ("caseTokens", || json!({ "query": "\"ORDER\"" }), || json!(true)),
    ("maxTokens", || json!({ "output": "full" }), || json!(300)),
];

/// Fields whose effect needs more than a world of a few files, with the test that shows it: tool, field, file, function.
pub(super) const ELSEWHERE: &[(&str, &str, &str, &str)] = &[
    ("build_index", "force", "faults.rs", "losing_most_files_needs_force"),
    ("build_index", "artifactsDir", "portable/artifacts.rs", "artifacts_lie_where_they_are_named"),
    ("build_sqlite_index", "compact", "portable/build.rs", "compact_leaves_no_gaps"),
    ("show_file", "line", "cost.rs", "a_hit_is_passed_on_unchanged"),
    ("triage_ingest", "project_id", "triage/limits.rs", "two_projects_know_nothing_of_each_other"),
    ("triage_ingest", "meta", "triage/ingest.rs", "what_the_caller_says_of_all_items_is_filtered_by"),
];

/// Several fields of one tool, sent with the same other arguments.
fn of(tool: &'static str, prepared: Prepared, base: Value, fields: &[(&'static str, Value)]) -> Vec<Row> {
    let row = |(field, value): &(&'static str, Value)| Row {
        tool,
        prepared,
        field,
        base: base.clone(),
        value: value.clone(),
    };
    fields.iter().map(row).collect()
}

pub(super) fn rows() -> Vec<Row> {
    let mut rows = reading();
    rows.extend(status());
    rows.extend(indexing());
    rows.extend(triage());
    rows.extend(portable());
    rows.extend(upkeep());
    rows.extend(models());
    rows.extend(dictionaries());
    rows.extend(extensions());
    rows
}

fn reading() -> Vec<Row> {
    use Prepared::Indexed;
    [
        of(
            "search_code",
            Indexed,
            json!({ "query": "drawer", "project_id": "$OURS" }),
            &[
                ("query", json!("vault gold")),
                ("project_id", json!("$THEIRS")),
                ("limit", json!(1)),
                ("repo_path", json!("$ROOT2")),
                ("maxTokens", json!(300)),
            ],
        ),
        of(
            "show_file",
            Indexed,
            json!({ "path": "guide.md", "project_id": "$OURS" }),
            &[
                ("path", json!("cash.py")),
                ("repoPath", json!("$ROOT2")),
                ("project_id", json!("$THEIRS")),
                ("startLine", json!(3)),
                ("endLine", json!(1)),
                ("repo", json!("$ROOT2")),
            ],
        ),
        of(
            "show_file",
            Indexed,
            json!({ "project_id": "$OURS" }),
            &[
                ("id", json!(1)),
                ("file", json!("cash.py")),
                ("hit", json!({ "file": "cash.py", "startLine": 2, "endLine": 2 })),
            ],
        ),
        of(
            "show_file",
            Indexed,
            json!({ "path": "report.jsonl", "project_id": "$OURS" }),
            &[("maxTokens", json!(300))],
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn status() -> Vec<Row> {
    use Prepared::Indexed;
    [
        of(
            "index_status",
            Indexed,
            json!({ "project_id": "$OURS" }),
            &[("repoPath", json!("$ROOT2")), ("project_id", json!("$THEIRS"))],
        ),
        of("check_status", Indexed, json!({ "project_id": "$OURS" }), &[("project_id", json!("$THEIRS"))]),
        of(
            "workspace_status",
            Indexed,
            json!({ "project_id": "$OURS" }),
            &[("project_id", json!("$THEIRS"))],
        ),
        of(
            "report_artifacts",
            Indexed,
            json!({ "project_id": "$OURS" }),
            &[("repoPath", json!("$ROOT2")), ("project_id", json!("$THEIRS")), ("all", json!(true))],
        ),
        of(
            "config_status",
            Indexed,
            json!({ "project_id": "$OURS" }),
            &[("repoPath", json!("nothing-of-that-name")), ("project_id", json!("$FRESH"))],
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn indexing() -> Vec<Row> {
    use Prepared::Indexed;
    let base = json!({ "repoPath": "$ROOT", "project_id": "$OURS" });
    let other = json!({ "repoPath": "$ROOT", "project_id": "$OURS", "model": crate::models::MINILM });
    [
        of(
            "index_repository",
            Indexed,
            json!({ "repo_path": "$ROOT", "project_id": "$OURS" }),
            &[("repo_path", json!("$ROOT3")), ("project_id", json!("$FRESH"))],
        ),
        of(
            "build_index",
            Indexed,
            base.clone(),
            &[
                ("repoPath", json!("$ROOT3")),
                ("project_id", json!("$FRESH")),
                ("incremental", json!(false)),
                ("wait", json!(false)),
                ("mode", json!("prose")),
                ("model", json!(crate::models::MINILM)),
                ("sqlite", json!(true)),
                ("useArtifacts", json!(true)),
            ],
        ),
        of(
            "build_index",
            Indexed,
            other,
            &[("confirmReembed", json!(true)), ("stubEmbeddings", json!(true))],
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn triage() -> Vec<Row> {
    use Prepared::{Findings, Indexed};
    let sent = json!({ "source": "generic", "payload": crate::triage::GENERIC, "project_id": "$OURS" });
    let read = json!({ "source": "generic", "inputPath": "report.jsonl", "repoPath": "$ROOT", "project_id": "$OURS" });
    let decided = json!({ "finding": "$FINDING", "status": "accept", "project_id": "$OURS" });
    [
        of(
            "triage_ingest",
            Indexed,
            sent.clone(),
            &[
                ("source", json!("manual")),
                ("payload", json!("{\"title\": \"Open door\"}")),
                ("buildIndex", json!(false)),
                ("stubEmbeddings", json!(true)),
            ],
        ),
        of("triage_ingest", Findings, sent, &[("incremental", json!(false))]),
        of(
            "triage_ingest",
            Indexed,
            read,
            &[("inputPath", json!("other.jsonl")), ("repoPath", json!("$ROOT2"))],
        ),
        of(
            "triage_decision",
            Findings,
            decided,
            &[
                ("finding", json!("$FINDING2")),
                ("status", json!("defer")),
                ("justification", json!("The padding is bounded.")),
                ("codes", json!(["vulnerable_code_not_in_execute_path"])),
                ("reviewer", json!("grace")),
                ("expires", json!("2999-12-31")),
                ("evidence", json!(["https://example.com/review/1"])),
                ("meta", json!({ "env": "staging" })),
                ("project_id", json!("$THEIRS")),
            ],
        ),
        of(
            "triage_context_pack",
            Findings,
            json!({ "recordId": "$FINDING", "project_id": "$OURS" }),
            &[
                ("recordId", json!("$FINDING2")),
                ("outPath", json!("mine.json")),
                ("ann", json!(false)),
                ("stubEmbeddings", json!(true)),
                ("project_id", json!("$THEIRS")),
            ],
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn portable() -> Vec<Row> {
    use Prepared::{Indexed, Portable};
    [
        of(
            "build_sqlite_index",
            Indexed,
            json!({ "project_id": "$OURS" }),
            &[
                ("repoPath", json!("$ROOT2")),
                ("project_id", json!("$THEIRS")),
                ("mode", json!("prose")),
                ("codeDir", json!("$DIR/code")),
                ("proseDir", json!("$DIR/prose")),
                ("out", json!("other.sqlite")),
            ],
        ),
        of("build_sqlite_index", Portable, json!({ "project_id": "$OURS" }), &[("incremental", json!(true))]),
        of(
            "compact_sqlite_index",
            Portable,
            json!({ "project_id": "$OURS" }),
            &[
                ("repoPath", json!("$ROOT2")),
                ("project_id", json!("$THEIRS")),
                ("mode", json!("prose")),
                ("path", json!("nothing.sqlite")),
                ("dryRun", json!(true)),
                ("keepBackup", json!(true)),
            ],
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn upkeep() -> Vec<Row> {
    use Prepared::{Indexed, Leftovers};
    let nothing = json!({
        "project_id": "$OURS", "repoPath": "$ROOT", "skipInstall": true, "skipDicts": true, "skipTooling": true,
        "skipArtifacts": true, "skipIndex": true,
    });
    let mut indexing = nothing.clone();
    indexing["skipIndex"] = json!(false);
    [
        of(
            "cache_gc",
            Leftovers,
            json!({ "project_id": "$OURS", "maxAgeDays": 30 }),
            &[
                ("repoPath", json!("$ROOT2")),
                ("project_id", json!("$THEIRS")),
                ("dryRun", json!(true)),
                ("maxAgeDays", json!(365)),
            ],
        ),
        of(
            "cache_gc",
            Leftovers,
            json!({ "project_id": "$OURS" }),
            &[("maxBytes", json!(100)), ("maxGb", json!(0.000_000_1))],
        ),
        of(
            "clean_artifacts",
            Indexed,
            json!({ "project_id": "$OURS", "repoPath": "$ROOT" }),
            &[("repoPath", json!("$ROOT2")), ("project_id", json!("$THEIRS")), ("dryRun", json!(true))],
        ),
        of("clean_artifacts", Indexed, json!({ "project_id": "$OURS" }), &[("all", json!(true))]),
        of(
            "bootstrap",
            Indexed,
            nothing,
            &[
                ("skipInstall", json!(false)),
                ("skipDicts", json!(false)),
                ("skipTooling", json!(false)),
                ("skipArtifacts", json!(false)),
                ("skipIndex", json!(false)),
                ("withSqlite", json!(true)),
            ],
        ),
        of(
            "bootstrap",
            Indexed,
            indexing,
            &[("repoPath", json!("$ROOT3")), ("project_id", json!("$FRESH")), ("incremental", json!(false))],
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn models() -> Vec<Row> {
    let mut rows = of(
        "download_models",
        Prepared::Indexed,
        json!({}),
        &[
            ("model", json!("all")),
            ("from", json!(crate::models::wheels())),
            ("cacheDir", json!("$DIR/models")),
            ("repoPath", json!("$DIR/named")),
            ("project_id", json!("$OURS")),
        ],
    );
    // Which one is the default depends on the machine.
    rows.extend(of(
        "download_models",
        Prepared::Indexed,
        json!({ "variant": "int8" }),
        &[("variant", json!("fp32"))],
    ));
    rows
}

fn dictionaries() -> Vec<Row> {
    use Prepared::{Dictionary, Indexed, Nothing};
    let url = "ours=http://127.0.0.1:9/ours.txt";
    [
        of(
            "download_dictionaries",
            Nothing,
            json!({ "url": url, "from": "$DIR/given", "dir": "$DIR/words" }),
            &[
                ("lang", json!("xx")),
                ("dir", json!("$DIR/others")),
                ("url", json!("others=http://127.0.0.1:9/ours.txt")),
                ("from", json!("$DIR/named")),
            ],
        ),
        of(
            "download_dictionaries",
            Dictionary,
            json!({ "url": url, "from": "$DIR/given", "dir": "$DIR/words" }),
            &[("update", json!(true)), ("force", json!(true))],
        ),
        of(
            "download_dictionaries",
            Nothing,
            json!({ "url": url, "from": "given", "dir": "$DIR/words" }),
            &[("repoPath", json!("$DIR"))],
        ),
        of(
            "download_dictionaries",
            Indexed,
            json!({ "url": url, "from": "$DIR/given" }),
            &[("project_id", json!("$OURS"))],
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn extensions() -> Vec<Row> {
    use Prepared::{Extension, Nothing};
    let try_it = json!({ "dir": "$DIR/ext" });
    let mut broken = try_it.clone();
    broken["module"] = json!("vec9");
    [
        of(
            "download_extensions",
            Nothing,
            json!({ "dir": "$DIR/ext" }),
            &[
                ("provider", json!("pgvector")),
                ("dir", json!("$DIR/ext2")),
                ("url", json!("x=http://127.0.0.1:9/x.zip")),
                ("out", json!("$DIR/copy.so")),
                ("from", json!("$DIR/given")),
                ("platform", json!("macos")),
                ("arch", json!("aarch64")),
            ],
        ),
        of(
            "download_extensions",
            Extension,
            json!({ "dir": "$DIR/ext" }),
            &[("update", json!(true)), ("force", json!(true))],
        ),
        of("download_extensions", Nothing, json!({ "dir": "ext" }), &[("repoPath", json!("$DIR"))]),
        of(
            "verify_extensions",
            Extension,
            try_it,
            &[
                ("provider", json!("pgvector")),
                ("dir", json!("$DIR/none")),
                ("path", json!("$DIR/none.so")),
                ("platform", json!("macos")),
                ("arch", json!("aarch64")),
                ("module", json!("vec9")),
                ("table", json!("sqlite_master")),
                ("column", json!("rowid")),
                ("encoding", json!("int8")),
                ("options", json!("chunk_size=7")),
                ("load", json!(false)),
            ],
        ),
        of("verify_extensions", Extension, broken, &[("annMode", json!("extension"))]),
        of("verify_extensions", Extension, json!({ "dir": "ext" }), &[("repoPath", json!("$DIR"))]),
    ]
    .into_iter()
    .flatten()
    .collect()
}
