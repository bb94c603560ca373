//! The arguments of all tools: tool, argument, the other arguments of the call, and a value. The world of a call replaces
//! placeholders like `$ROOT`.

use serde_json::{Value, json};

/// Content of a world before the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Prepared {
    /// No project, an empty folder.
    Nothing,
    /// The project `$OURS` with the repositories `$ROOT` and `$ROOT2`, and `$THEIRS` with `$ROOT3`.
    Indexed,
    /// As `Indexed`, with the records `$FINDING` and `$FINDING2` in `$OURS`.
    Findings,
    /// As `Indexed`, with an instruction catalog and its documents in `$OURS`, and another one in `$THEIRS`.
    Catalog,
    /// As `Indexed`, with a portable file.
    Portable,
    /// As `Indexed`, with an old file in the project's folder.
    Leftovers,
    /// A word list in `$DIR/words`.
    Dictionary,
    /// An extension in `$DIR/ext`.
    Extension,
}

/// An argument and the call that shows its effect.
pub(super) struct Row {
    pub(super) tool: &'static str,
    pub(super) prepared: Prepared,
    pub(super) argument: &'static str,
    /// The other arguments of the call.
    pub(super) base: Value,
    /// The value of the argument.
    pub(super) value: Value,
}

/// An argument of `search` that is not a filter: name, other arguments, value.
pub(super) type SearchRow = (&'static str, fn() -> Value, fn() -> Value);

pub(super) const SEARCH: &[SearchRow] = &[
    ("query", || json!({}), || json!("receipt")),
    ("repoPath", || json!({}), || json!("$ROOT")),
    ("project_id", || json!({}), || json!("$ABSENT")),
    ("regex", || json!({ "query": "order|receipt" }), || json!(true)),
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

/// Arguments whose effect needs more than a world of a few files, with the test that shows it: tool, argument, file, test.
pub(super) const TESTED_ELSEWHERE: &[(&str, &str, &str, &str)] = &[
    ("build_index", "force", "faults.rs", "removing_most_files_needs_force"),
    ("build_index", "scip", "scip.rs", "uses_of_a_scip_file_win"),
    (
        "build_index",
        "revisions",
        "remotes/revisions/leaving.rs",
        "without_patterns_only_the_default_branch_is_left",
    ),
    ("build_index", "artifactsDir", "portable/artifacts.rs", "artifacts_are_read_from_the_named_folder"),
    ("build_sqlite_index", "compact", "portable/build.rs", "compact_leaves_no_free_pages"),
    ("navigate", "hit", "navigation/subjects.rs", "a_hit_of_search_is_passed_on_unchanged"),
    ("navigate", "column", "navigation/subjects.rs", "every_spelling_of_a_name_and_a_place_means_the_symbol"),
    ("navigate", "limit", "navigation/subjects.rs", "an_answer_stays_within_max_tokens_and_pages_cover_it"),
    ("navigate", "offset", "navigation/subjects.rs", "an_answer_stays_within_max_tokens_and_pages_cover_it"),
    (
        "navigate",
        "maxTokens",
        "navigation/subjects.rs",
        "an_answer_stays_within_max_tokens_and_pages_cover_it",
    ),
    ("navigate", "depth", "navigation/walks.rs", "impact_walks_step_by_step_and_says_where_it_stopped"),
    ("navigate", "kind", "navigation/complaints.rs", "re_exported_types_are_found_where_they_are_used"),
    (
        "navigate",
        "certainty",
        "navigation/complaints.rs",
        "a_call_on_an_unknown_receiver_is_no_use_of_a_method_of_that_name",
    ),
    ("show_file", "line", "cost.rs", "show_file_accepts_a_hit_unchanged"),
    ("show_file", "revision", "remotes/revisions/shown.rs", "a_file_is_shown_as_of_a_revision"),
    ("triage_ingest", "project_id", "triage/limits.rs", "records_of_one_project_are_not_found_in_another"),
    ("triage_ingest", "meta", "triage/ingest.rs", "metadata_of_the_caller_can_be_filtered_by"),
    (
        "instructions_search",
        "semantic",
        "instructions/semantic.rs",
        "entries_are_found_by_meaning_and_only_where_they_belong",
    ),
    (
        "instructions_diff",
        "clientHash",
        "instructions/synchronise.rs",
        "a_difference_is_what_the_client_lacks",
    ),
    (
        "instructions_diff",
        "clientMetaHash",
        "instructions/synchronise.rs",
        "a_difference_is_what_the_client_lacks",
    ),
    (
        "instructions_repair",
        "clientMetaHash",
        "instructions/synchronise.rs",
        "tampering_is_found_and_repaired",
    ),
    (
        "launch_start_run",
        "run_config",
        "launch/starting.rs",
        "a_configuration_is_checked_before_anything_is_written",
    ),
    ("launch_start_run", "idempotency_key", "launch/starting.rs", "a_key_starts_one_run"),
    (
        "launch_start_run",
        "project_id",
        "launch/starting.rs",
        "a_configuration_is_checked_before_anything_is_written",
    ),
    (
        "launch_start_run_from_product_url",
        "url",
        "launch/addresses.rs",
        "a_product_page_starts_the_run_of_its_repository",
    ),
    (
        "launch_start_run_from_product_url",
        "idempotency_key",
        "launch/addresses.rs",
        "a_product_page_starts_the_run_of_its_repository",
    ),
    (
        "launch_start_run_from_product_url",
        "site_profile",
        "launch/addresses.rs",
        "one_of_several_sites_has_to_be_named",
    ),
    (
        "launch_start_run_from_product_url",
        "project_id",
        "launch/addresses.rs",
        "a_product_page_starts_the_run_of_its_repository",
    ),
    (
        "launch_start_run_from_github_repo_url",
        "github_repo_url",
        "launch/addresses.rs",
        "a_clear_repository_starts_a_run",
    ),
    (
        "launch_start_run_from_github_repo_url",
        "idempotency_key",
        "launch/addresses.rs",
        "a_clear_repository_starts_a_run",
    ),
    (
        "launch_start_run_from_github_repo_url",
        "site_profile",
        "launch/addresses.rs",
        "one_of_several_sites_has_to_be_named",
    ),
    (
        "launch_start_run_from_github_repo_url",
        "project_id",
        "launch/addresses.rs",
        "a_clear_repository_starts_a_run",
    ),
    ("launch_get_status", "run_id", "launch/access.rs", "runs_of_another_project_are_not_found"),
    ("launch_get_status", "project_id", "launch/access.rs", "runs_of_another_project_are_not_found"),
    ("launch_validate", "run_id", "launch/access.rs", "runs_of_another_project_are_not_found"),
    ("launch_validate", "project_id", "launch/access.rs", "runs_of_another_project_are_not_found"),
    ("launch_fix_next", "run_id", "launch/access.rs", "runs_of_another_project_are_not_found"),
    ("launch_fix_next", "project_id", "launch/access.rs", "runs_of_another_project_are_not_found"),
    ("launch_resume", "run_id", "launch/access.rs", "runs_of_another_project_are_not_found"),
    ("launch_resume", "project_id", "launch/access.rs", "runs_of_another_project_are_not_found"),
    ("launch_cancel", "run_id", "launch/access.rs", "runs_of_another_project_are_not_found"),
    ("launch_cancel", "project_id", "launch/access.rs", "runs_of_another_project_are_not_found"),
    ("launch_open_pr", "run_id", "launch/access.rs", "runs_of_another_project_are_not_found"),
    ("launch_open_pr", "project_id", "launch/access.rs", "runs_of_another_project_are_not_found"),
    ("launch_get_artifact", "run_id", "launch/access.rs", "runs_of_another_project_are_not_found"),
    ("launch_get_artifact", "project_id", "launch/access.rs", "runs_of_another_project_are_not_found"),
    ("launch_list_runs", "filter", "launch/starting.rs", "runs_are_listed_by_product_and_state_page_by_page"),
    ("launch_list_runs", "limit", "launch/starting.rs", "runs_are_listed_by_product_and_state_page_by_page"),
    ("launch_list_runs", "cursor", "launch/starting.rs", "runs_are_listed_by_product_and_state_page_by_page"),
    (
        "launch_list_runs",
        "project_id",
        "launch/starting.rs",
        "runs_are_listed_by_product_and_state_page_by_page",
    ),
    (
        "launch_get_artifact",
        "artifact_name",
        "launch/artifacts.rs",
        "a_large_artifact_comes_in_parts_and_as_a_file",
    ),
    ("launch_get_artifact", "offset", "launch/artifacts.rs", "a_large_artifact_comes_in_parts_and_as_a_file"),
    (
        "launch_get_artifact",
        "bytes_max",
        "launch/artifacts.rs",
        "a_large_artifact_comes_in_parts_and_as_a_file",
    ),
];

/// Rows for several arguments of one tool that share the other arguments.
fn group(
    tool: &'static str,
    prepared: Prepared,
    base: Value,
    arguments: &[(&'static str, Value)],
) -> Vec<Row> {
    let row = |(argument, value): &(&'static str, Value)| Row {
        tool,
        prepared,
        argument,
        base: base.clone(),
        value: value.clone(),
    };
    arguments.iter().map(row).collect()
}

pub(super) fn rows() -> Vec<Row> {
    let mut rows = reading_rows();
    rows.extend(navigation_rows());
    rows.extend(status_rows());
    rows.extend(indexing_rows());
    rows.extend(triage_rows());
    rows.extend(catalog_rows());
    rows.extend(portable_rows());
    rows.extend(upkeep_rows());
    rows.extend(model_rows());
    rows.extend(dictionary_rows());
    rows.extend(extension_rows());
    rows
}

fn reading_rows() -> Vec<Row> {
    use Prepared::Indexed;
    [
        group(
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
        group(
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
        group(
            "show_file",
            Indexed,
            json!({ "project_id": "$OURS" }),
            &[
                ("id", json!(1)),
                ("file", json!("cash.py")),
                ("hit", json!({ "file": "cash.py", "startLine": 2, "endLine": 2 })),
            ],
        ),
        group(
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

fn navigation_rows() -> Vec<Row> {
    group(
        "navigate",
        Prepared::Indexed,
        json!({ "symbol": "drawer", "project_id": "$OURS" }),
        &[
            ("symbol", json!("vault")),
            ("project_id", json!("$THEIRS")),
            ("repoPath", json!("$ROOT2")),
            ("file", json!("bank.py")),
            ("line", json!(2)),
            ("relation", json!("definition")),
        ],
    )
}

fn status_rows() -> Vec<Row> {
    use Prepared::Indexed;
    [
        group(
            "index_status",
            Indexed,
            json!({ "project_id": "$OURS" }),
            &[("repoPath", json!("$ROOT2")), ("project_id", json!("$THEIRS"))],
        ),
        group("check_status", Indexed, json!({ "project_id": "$OURS" }), &[("project_id", json!("$THEIRS"))]),
        group(
            "workspace_status",
            Indexed,
            json!({ "project_id": "$OURS" }),
            &[("project_id", json!("$THEIRS"))],
        ),
        group(
            "report_artifacts",
            Indexed,
            json!({ "project_id": "$OURS" }),
            &[("repoPath", json!("$ROOT2")), ("project_id", json!("$THEIRS")), ("all", json!(true))],
        ),
        group(
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

fn indexing_rows() -> Vec<Row> {
    use Prepared::Indexed;
    let base = json!({ "repoPath": "$ROOT", "project_id": "$OURS" });
    let with_model = json!({ "repoPath": "$ROOT", "project_id": "$OURS", "model": crate::models::MINILM });
    [
        group(
            "index_repository",
            Indexed,
            json!({ "repo_path": "$ROOT", "project_id": "$OURS" }),
            &[("repo_path", json!("$ROOT3")), ("project_id", json!("$FRESH"))],
        ),
        group(
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
        group(
            "build_index",
            Indexed,
            with_model,
            &[("confirmReembed", json!(true)), ("stubEmbeddings", json!(true))],
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn triage_rows() -> Vec<Row> {
    use Prepared::{Findings, Indexed};
    let with_payload =
        json!({ "source": "generic", "payload": crate::triage::GENERIC, "project_id": "$OURS" });
    let with_file = json!({ "source": "generic", "inputPath": "report.jsonl", "repoPath": "$ROOT", "project_id": "$OURS" });
    let decision = json!({ "finding": "$FINDING", "status": "accept", "project_id": "$OURS" });
    [
        group(
            "triage_ingest",
            Indexed,
            with_payload.clone(),
            &[
                ("source", json!("manual")),
                ("payload", json!("{\"title\": \"Open door\"}")),
                ("buildIndex", json!(false)),
                ("stubEmbeddings", json!(true)),
            ],
        ),
        group("triage_ingest", Findings, with_payload, &[("incremental", json!(false))]),
        group(
            "triage_ingest",
            Indexed,
            with_file,
            &[("inputPath", json!("other.jsonl")), ("repoPath", json!("$ROOT2"))],
        ),
        group(
            "triage_decision",
            Findings,
            decision,
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
        group(
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

/// An entry of the catalogs of the worlds.
pub(super) fn catalog_entry(id: &str, body: &str, category: &str) -> Value {
    let mut entry = crate::instructions::entry(id, body);
    entry["categories"] = json!([category]);
    entry
}

#[expect(clippy::too_many_lines, reason = "one table")]
fn catalog_rows() -> Vec<Row> {
    use Prepared::Catalog;
    let ours = || json!({ "project_id": "$OURS" });
    let theirs = || ("project_id", json!("$THEIRS"));
    let missing = || ("project_id", json!("$FRESH"));
    let known = json!([{ "id": "a", "sourceHash": "00" }]);
    let with = |extra: Value| {
        let mut arguments = ours();
        for (name, value) in extra.as_object().unwrap() {
            arguments[name] = value.clone();
        }
        arguments
    };
    let rules = |value: Value| json!({ "categories": [{ "id": "team", "rules": [value] }] });
    let rule =
        json!({ "id": "team/x", "pattern": "x", "severity": "low", "description": "x", "remediation": "y" });
    let imported = |entry: Value| with(json!({ "entries": [entry] }));
    let changed = catalog_entry("a", "Changed.", "style");
    [
        group(
            "instructions_list",
            Catalog,
            ours(),
            &[
                ("category", json!("style")),
                ("limit", json!(1)),
                ("cursor", json!("a")),
                ("fields", json!("summary")),
                theirs(),
            ],
        ),
        group("instructions_get", Catalog, with(json!({ "id": "a" })), &[("id", json!("b")), theirs()]),
        group(
            "instructions_search",
            Catalog,
            with(json!({ "q": "count" })),
            &[("q", json!("nothing like it")), ("limit", json!(1)), theirs()],
        ),
        group(
            "instructions_export",
            Catalog,
            ours(),
            &[
                ("ids", json!(["a"])),
                ("metaOnly", json!(true)),
                ("gates", json!(true)),
                ("criteria", json!(true)),
                ("cursor", json!("a")),
                theirs(),
            ],
        ),
        group(
            "instructions_diff",
            Catalog,
            with(json!({ "known": known })),
            &[("known", json!([])), ("buckets", json!(["00"])), ("cursor", json!("a")), theirs()],
        ),
        group("instructions_diff", Catalog, ours(), &[("sinceRevision", json!(1))]),
        group("instructions_checksums", Catalog, ours(), &[("prefixBits", json!(4)), theirs()]),
        group(
            "instructions_import",
            Catalog,
            imported(changed.clone()),
            &[
                ("entries", json!([catalog_entry("new", "New.", "style")])),
                ("mode", json!("overwrite")),
                ("ifHash", json!("00")),
                ("ifRevision", json!(999)),
                ("gates", json!({ "gates": [] })),
                ("criteria", rules(rule)),
                theirs(),
            ],
        ),
        group(
            "instructions_import",
            Catalog,
            with(json!({ "entries": [changed], "mode": "overwrite" })),
            &[("prune", json!(true))],
        ),
        group(
            "instructions_remove",
            Catalog,
            with(json!({ "ids": ["a"] })),
            &[("ids", json!(["a", "b"])), ("ifHash", json!("00")), ("ifRevision", json!(999)), theirs()],
        ),
        group(
            "instructions_repair",
            Catalog,
            ours(),
            &[("clientHash", json!("00")), ("known", known), missing()],
        ),
        group("instructions_reload", Catalog, ours(), &[theirs()]),
        group(
            "prompt_review",
            Catalog,
            with(json!({ "prompt": "Do stuff." })),
            &[("prompt", json!("Do it.")), missing()],
        ),
        group(
            "integrity_verify",
            Catalog,
            ours(),
            &[("stale", json!(true)), ("duplicates", json!(true)), theirs()],
        ),
        group("gates_evaluate", Catalog, ours(), &[theirs()]),
        group("usage_track", Catalog, with(json!({ "id": "a" })), &[("id", json!("none")), theirs()]),
        group(
            "usage_track_batch",
            Catalog,
            with(json!({ "items": [{ "id": "a" }] })),
            &[("items", json!([{ "id": "a", "count": 7 }])), theirs()],
        ),
        group("usage_hotset", Catalog, ours(), &[("limit", json!(1)), theirs()]),
        group("usage_flush", Catalog, ours(), &[missing()]),
        group("metrics_snapshot", Catalog, ours(), &[missing()]),
        group("meta_tools", Catalog, json!({}), &[missing()]),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn portable_rows() -> Vec<Row> {
    use Prepared::{Indexed, Portable};
    [
        group(
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
        group(
            "build_sqlite_index",
            Portable,
            json!({ "project_id": "$OURS" }),
            &[("incremental", json!(true))],
        ),
        group(
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

fn upkeep_rows() -> Vec<Row> {
    use Prepared::{Indexed, Leftovers};
    let skipping_all = json!({
        "project_id": "$OURS", "repoPath": "$ROOT", "skipInstall": true, "skipDicts": true, "skipTooling": true,
        "skipArtifacts": true, "skipIndex": true,
    });
    let mut indexing = skipping_all.clone();
    indexing["skipIndex"] = json!(false);
    [
        group(
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
        group(
            "cache_gc",
            Leftovers,
            json!({ "project_id": "$OURS" }),
            &[("maxBytes", json!(100)), ("maxGb", json!(0.000_000_1))],
        ),
        group(
            "clean_artifacts",
            Indexed,
            json!({ "project_id": "$OURS", "repoPath": "$ROOT" }),
            &[("repoPath", json!("$ROOT2")), ("project_id", json!("$THEIRS")), ("dryRun", json!(true))],
        ),
        group("clean_artifacts", Indexed, json!({ "project_id": "$OURS" }), &[("all", json!(true))]),
        group(
            "bootstrap",
            Indexed,
            skipping_all,
            &[
                ("skipInstall", json!(false)),
                ("skipDicts", json!(false)),
                ("skipTooling", json!(false)),
                ("skipArtifacts", json!(false)),
                ("skipIndex", json!(false)),
                ("withSqlite", json!(true)),
            ],
        ),
        group(
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

fn model_rows() -> Vec<Row> {
    let mut rows = group(
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
    // The default variant depends on the machine, so this row names one.
    rows.extend(group(
        "download_models",
        Prepared::Indexed,
        json!({ "variant": "int8" }),
        &[("variant", json!("fp32"))],
    ));
    rows
}

fn dictionary_rows() -> Vec<Row> {
    use Prepared::{Dictionary, Indexed, Nothing};
    let url = "ours=http://127.0.0.1:9/ours.txt";
    [
        group(
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
        group(
            "download_dictionaries",
            Dictionary,
            json!({ "url": url, "from": "$DIR/given", "dir": "$DIR/words" }),
            &[("update", json!(true)), ("force", json!(true))],
        ),
        group(
            "download_dictionaries",
            Nothing,
            json!({ "url": url, "from": "given", "dir": "$DIR/words" }),
            &[("repoPath", json!("$DIR"))],
        ),
        group(
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

fn extension_rows() -> Vec<Row> {
    use Prepared::{Extension, Nothing};
    let verify = json!({ "dir": "$DIR/ext" });
    let mut broken = verify.clone();
    broken["module"] = json!("vec9");
    [
        group(
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
        group(
            "download_extensions",
            Extension,
            json!({ "dir": "$DIR/ext" }),
            &[("update", json!(true)), ("force", json!(true))],
        ),
        group("download_extensions", Nothing, json!({ "dir": "ext" }), &[("repoPath", json!("$DIR"))]),
        group(
            "verify_extensions",
            Extension,
            verify,
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
        group("verify_extensions", Extension, broken, &[("annMode", json!("extension"))]),
        group("verify_extensions", Extension, json!({ "dir": "ext" }), &[("repoPath", json!("$DIR"))]),
    ]
    .into_iter()
    .flatten()
    .collect()
}
