//! Validates the rows of an archive before they become a project, and sets the local roots of its repositories.
//!
//! Archives are untrusted. The database checks columns and types; this module checks the invariants that the rest of the
//! program relies on because it writes such rows itself.

use std::collections::BTreeMap;

use super::project::history::LINE_HISTORY_BYTES_MAX;
use super::project::repositories::IMPORTED_PREFIX;
use super::transaction::ControlTx;
use crate::postgres::{INDEXED_TEXT_BYTES_MAX, MODULES, SchemaName, sql};
use contract::clock::MILLIS_MAX;
use contract::{ErrorCode, Fault};

/// Largest id, generation or count: a trillion. Later runs count on from these numbers and add them up, and stay far below the
/// end of an `int8`.
const NUMBER_MAX: i64 = 1 << 40;
/// Largest number in an `int4`; the sum of two is still an `int4`.
const SMALL_NUMBER_MAX: i64 = (1 << 30) - 1;
/// Maximum size of one half of a file's symbols, in bytes.
const SYMBOLS_BYTES_MAX: i64 = 64 << 20;
/// Maximum number of names and places in one row; a file has at most 100,000 symbols, imports and uses each.
const PLACES_MAX: i64 = 1 << 20;

/// Columns of numbers: their table, their names, and the smallest and largest number that a row may have. [`INVALID_ROWS`]
/// bounds the sizes of files. The others are hashes, versions and times of files; nothing is calculated with them.
const NUMBERS: &[(&str, &[&str], i64, i64)] = &[
    ("repositories", &["id"], 1, NUMBER_MAX),
    ("repositories", &["generation", "files", "chunks"], 0, NUMBER_MAX),
    ("repositories", &["statistics_chunks", "changed_since_statistics"], 0, NUMBER_MAX),
    ("files", &["id"], 1, NUMBER_MAX),
    ("files", &["facts_tried_ms"], 0, NUMBER_MAX),
    ("files", &["lines", "chunks", "churn_added", "churn_deleted", "churn_commits"], 0, SMALL_NUMBER_MAX),
    ("chunks", &["id"], 1, NUMBER_MAX),
    ("chunks", &["ordinal"], 0, SMALL_NUMBER_MAX),
    ("chunks", &["start_line", "end_line", "name_line"], 1, SMALL_NUMBER_MAX),
    ("comments", &["start_line", "end_line"], 1, SMALL_NUMBER_MAX),
    ("definitions", &["ordinal", "name_column"], 0, SMALL_NUMBER_MAX),
    ("definitions", &["line", "start_line", "end_line"], 1, SMALL_NUMBER_MAX),
    ("repositories", &["navigation_version"], 0, SMALL_NUMBER_MAX),
    ("symbols", &["scip_uses", "resolved_uses", "name_uses"], 0, SMALL_NUMBER_MAX),
    ("scip_files", &["refused"], 0, SMALL_NUMBER_MAX),
    ("uses", &["ordinal"], 0, SMALL_NUMBER_MAX),
    ("uses", &["certainty"], 1, 3),
    ("uses", &["kinds"], 1, 127),
    ("terms", &["chunks"], 1, SMALL_NUMBER_MAX),
    ("index_state", &["id"], 1, 1),
    ("index_state", &["next_id"], 1, NUMBER_MAX),
    ("index_state", &["generation", "chunks", "files"], 0, NUMBER_MAX),
    ("index_state", &["statistics_chunks", "changed_since_statistics"], 0, NUMBER_MAX),
    ("triage_records", &["created_ms", "updated_ms", "expires_ms", "fixed_ms"], 0, MILLIS_MAX),
    ("instructions", &["revision"], 0, NUMBER_MAX),
    ("instructions", &["priority"], 1, 100),
    ("instructions", &["created_ms", "updated_ms"], 0, MILLIS_MAX),
    ("instruction_state", &["id"], 1, 1),
    ("instruction_state", &["revision", "entries"], 0, SMALL_NUMBER_MAX),
    ("instruction_usage", &["usage_count"], 0, NUMBER_MAX),
    ("instruction_usage", &["first_used_ms", "last_used_ms"], 0, MILLIS_MAX),
    ("instruction_changes", &["revision"], 1, SMALL_NUMBER_MAX),
    ("launch_runs", &["seq"], 1, SMALL_NUMBER_MAX),
    ("launch_runs", &["fix_attempts"], 0, 1000),
    ("launch_runs", &["pr_number"], 0, NUMBER_MAX),
    ("launch_runs", &["created_ms", "finished_ms", "updated_ms"], 0, MILLIS_MAX),
    ("launch_events", &["seq"], 1, SMALL_NUMBER_MAX),
    ("launch_events", &["ts_ms"], 0, MILLIS_MAX),
    ("launch_items", &["attempt"], 1, 10_000),
    ("launch_items", &["started_ms", "finished_ms"], 0, MILLIS_MAX),
    ("launch_artifacts", &["version"], 1, SMALL_NUMBER_MAX),
    ("launch_issues", &["line", "opened_seq", "closed_seq"], 0, SMALL_NUMBER_MAX),
    ("launch_watches", &["generation"], 0, NUMBER_MAX),
    ("launch_watches", &["checked_ms"], 0, MILLIS_MAX),
    ("launch_watches", &["claims", "stale"], 0, SMALL_NUMBER_MAX),
];

/// Invalid rows: their table, a description for the error message, and the SQL condition over the row `t` that detects them.
/// Names of other tables and of bounds are in braces.
const INVALID_ROWS: &[(&str, &str, &str)] = &[
    (
        "repositories",
        "a repository without a proper name",
        r"t.name = '' OR octet_length(t.name) > 255 OR t.name ~ '[/[:cntrl:]]'",
    ),
    // Commit ids have at most 64 hexadecimal digits.
    (
        "repositories",
        "a repository with a text that is too long",
        "octet_length(t.root) > {indexed} OR octet_length(t.branch) > 4096 OR octet_length(t.commit_id) > 64",
    ),
    ("repositories", "a repository with an impossible time", "t.indexed_at NOT BETWEEN {times}"),
    (
        "repositories",
        "revisions of no repository, or improper ones",
        "(t.revisions_of IS NOT NULL AND (t.root <> 'revisions:' || t.revisions_of OR NOT EXISTS \
           (SELECT 1 FROM {repositories} r WHERE r.id = t.revisions_of AND r.revisions_of IS NULL AND r.name = t.name))) \
           OR (t.revisions_of IS NULL AND starts_with(t.root, 'revisions:')) OR cardinality(t.revision_patterns) > 64 \
           OR EXISTS (SELECT 1 FROM unnest(t.revision_patterns) p WHERE p IS NULL OR octet_length(p) > 255)",
    ),
    ("files", "a file of no revision", "t.views < 0"),
    // Its own files have one version each.
    (
        "files",
        "two versions of a file",
        "t.version <> 0 AND EXISTS (SELECT 1 FROM {repositories} r WHERE r.id = t.repository_id AND r.revisions_of IS NULL)",
    ),
    (
        "revisions",
        "a revision of no repository, or with an improper name or commit",
        "NOT EXISTS (SELECT 1 FROM {repositories} r WHERE r.id = t.repository_id) OR octet_length(t.commit_id) > 64 \
           OR octet_length(t.name) NOT BETWEEN 1 AND 255 OR t.name ~ '[[:cntrl:]]'",
    ),
    // Rejects empty components, `.` and `..`, and a slash at the beginning or end, because they may lead out of the root.
    (
        "files",
        "a file with a path that leads elsewhere",
        r"octet_length(t.path) NOT BETWEEN 1 AND {indexed} OR t.path ~ '(^|/)\.{0,2}(/|$)'",
    ),
    // Languages, modes and reasons are identifiers of this program; an extension is a part of a file name.
    (
        "files",
        "a file with a text that is too long",
        "octet_length(t.facts_missing) > 64 OR octet_length(t.skipped) > 64 OR octet_length(t.language) > 64 \
           OR octet_length(t.mode) > 64 OR octet_length(t.extension) > 255 \
           OR octet_length(t.last_commit) > 64 OR octet_length(t.last_author) > 256",
    ),
    // Only the sizes of searchable files are added up.
    ("files", "a file of an impossible size", "t.bytes < 0 OR (t.skipped IS NULL AND t.bytes > {number})"),
    ("files", "a file with a hash of the wrong length", "octet_length(t.content_hash) NOT IN (0, 32)"),
    ("chunks", "a chunk with impossible lines", "t.end_line < t.start_line"),
    (
        "chunks",
        "a chunk with a name that is too long",
        "EXISTS (SELECT 1 FROM unnest(t.defines) AS d (name) WHERE octet_length(d.name) > {indexed})",
    ),
    ("chunks", "a chunk with a hash of the wrong length", "octet_length(t.content_hash) <> 32"),
    (
        "chunks",
        "a chunk of another file",
        "NOT EXISTS (SELECT 1 FROM {files} f WHERE f.id = t.file_id AND f.repository_id = t.repository_id)",
    ),
    (
        "terms",
        "words of no repository",
        "t.repository_id <> 0 AND NOT EXISTS (SELECT 1 FROM {repositories} r WHERE r.id = t.repository_id)",
    ),
    ("names", "a name that is too long", "octet_length(t.folded) > {indexed}"),
    ("lexical", "words of no chunk", OF_NO_CHUNK),
    ("grams", "trigrams of no chunk", OF_NO_CHUNK),
    ("facts", "facts of no chunk", OF_NO_CHUNK),
    ("comments", "comments of no chunk", OF_NO_CHUNK),
    ("comments", "comments with impossible lines", "t.end_line < t.start_line"),
    ("authors", "authors of no chunk", OF_NO_CHUNK),
    // What is serialised is checked where it is read.
    (
        "line_history",
        "a history of the lines of no file, or one that is too large",
        "NOT EXISTS (SELECT 1 FROM {files} f WHERE f.id = t.file_id) OR octet_length(t.lines) > {lines}",
    ),
    ("flows", "flows of no chunk", OF_NO_CHUNK),
    ("definitions", "definitions of no chunk", OF_NO_CHUNK),
    ("definitions", "definitions with impossible lines", "t.end_line < t.start_line"),
    (
        "symbols",
        "symbols of no file",
        "NOT EXISTS (SELECT 1 FROM {files} f WHERE f.id = t.file_id AND f.repository_id = t.repository_id)",
    ),
    // What is serialised is checked where it is read.
    (
        "symbols",
        "symbols that are too large",
        "octet_length(t.interface) > {symbols} OR octet_length(t.body) > {symbols} \
           OR octet_length(t.language) > 64 OR cardinality(t.offers) > {places} \
           OR cardinality(t.mentions) > {places}",
    ),
    (
        "symbols",
        "symbols without a number",
        "EXISTS (SELECT 1 FROM unnest(t.offers) o WHERE o IS NULL) \
           OR EXISTS (SELECT 1 FROM unnest(t.mentions) m WHERE m IS NULL)",
    ),
    (
        "name_changes",
        "changed names of no repository, too many of them, or none",
        "NOT EXISTS (SELECT 1 FROM {repositories} r WHERE r.id = t.repository_id) \
           OR octet_length(t.language) > 64 OR cardinality(t.names) > {places} \
           OR EXISTS (SELECT 1 FROM unnest(t.names) n WHERE n IS NULL)",
    ),
    (
        "scip_documents",
        "a compiler's words on no repository",
        "NOT EXISTS (SELECT 1 FROM {repositories} r WHERE r.id = t.repository_id)",
    ),
    (
        "scip_documents",
        "a compiler's words that are too long",
        "octet_length(t.document) > {symbols} OR octet_length(t.tool) > 255 OR octet_length(t.path) > {indexed} \
           OR octet_length(t.content_hash) <> 32",
    ),
    (
        "scip_files",
        "a SCIP file of no repository, or with a name or hash of the wrong length",
        "NOT EXISTS (SELECT 1 FROM {repositories} r WHERE r.id = t.repository_id) \
           OR octet_length(t.name) NOT BETWEEN 1 AND 255 OR octet_length(t.hash) <> 32",
    ),
    ("uses", "uses in no file", "NOT EXISTS (SELECT 1 FROM {files} f WHERE f.id = t.file_id)"),
    (
        "uses",
        "uses without a place, or with too many",
        "array_ndims(t.places) IS DISTINCT FROM 1 OR cardinality(t.places) > {places}",
    ),
    ("vectors", "a vector with a hash of the wrong length", "octet_length(t.hash) <> 32"),
    ("index_state", "an impossible time", "t.updated_at NOT BETWEEN {times}"),
    (
        "index_state",
        "a next id that is in use already",
        "t.next_id <= greatest((SELECT max(id) FROM {repositories}), (SELECT max(id) FROM {files}), \
           (SELECT max(id) FROM {chunks}), 0)",
    ),
    // Ids are parts of paths.
    (
        "triage_records",
        "a record with a malformed id",
        "t.id !~ '^[0-9a-f]{40}$' OR t.finding_id !~ '^[0-9a-f]{40}$'",
    ),
    ("triage_records", "a record with too many claims", "cardinality(t.claims) > 64"),
    // Ids are names of files.
    (
        "instructions",
        "an instruction with a malformed id",
        "t.id !~ '^[a-z0-9][a-z0-9_-]{0,119}$' OR t.deprecated_by !~ '^[a-z0-9][a-z0-9_-]{0,119}$'",
    ),
    (
        "instructions",
        "an instruction with a text that is too long",
        "octet_length(t.title) > 800 OR octet_length(t.body) > {symbols} OR octet_length(t.folded) > {symbols} \
           OR octet_length(t.rationale) > 4096 OR cardinality(t.categories) > 32 OR t.schema_version <> '1'",
    ),
    (
        "instructions",
        "an instruction with a hash of the wrong length",
        "octet_length(t.source_hash) <> 32 OR octet_length(t.meta_hash) <> 32",
    ),
    (
        "instruction_state",
        "a catalog with a hash of the wrong length",
        "octet_length(t.hash) <> 32 OR octet_length(t.meta_hash) <> 32",
    ),
    ("instruction_usage", "uses of a malformed id", "t.id !~ '^[a-z0-9][a-z0-9_-]{0,119}$'"),
    (
        "instruction_documents",
        "a document of the catalog that is too long",
        "octet_length(t.content) > 1048576 OR octet_length(t.hash) <> 32",
    ),
    (
        "instruction_changes",
        "a change of the catalog that is too large",
        "cardinality(t.added) + cardinality(t.updated) + cardinality(t.removed) > {places} OR octet_length(t.hash) <> 32",
    ),
    // Ids are parts of branches and of addresses.
    (
        "launch_runs",
        "a launch run with a malformed id, commit or branch",
        "t.run_id !~ '^r_[0-9TZ-]{20}_[0-9a-f]{8}$' OR t.repo_sha !~ '^[0-9a-f]{40}$' OR t.site_sha !~ '^[0-9a-f]{40}$' \
           OR t.site_tree !~ '^[0-9a-f]{40}$' OR t.commit_sha !~ '^[0-9a-f]{40}$' \
           OR t.product_slug !~ '^[a-z0-9]+(-[a-z0-9]+)*$' \
           OR t.branch <> 'launch/' || t.run_id || '/' || t.product_slug",
    ),
    (
        "launch_runs",
        "a launch run with a text or a hash of the wrong length",
        "octet_length(t.idempotency_key) > {indexed} OR octet_length(t.config) > 1048576 \
           OR octet_length(t.config_hash) <> 32 OR octet_length(t.head_hash) <> 32 \
           OR octet_length(t.product_slug) > 64 OR octet_length(t.site_profile) > 64 \
           OR octet_length(t.pr_url) > 4096 OR octet_length(t.state) > 16",
    ),
    // The chain of the events is checked where they are read.
    (
        "launch_events",
        "an event of no launch run, or with a text or a hash of the wrong length",
        "NOT EXISTS (SELECT 1 FROM {launch_runs} r WHERE r.run_id = t.run_id) OR octet_length(t.type) > 64 \
           OR octet_length(t.payload) > {symbols} OR octet_length(t.prev_hash) <> 32 OR octet_length(t.hash) <> 32",
    ),
    (
        "launch_items",
        "a work item of no launch run, or with a text or a hash of the wrong length",
        "NOT EXISTS (SELECT 1 FROM {launch_runs} r WHERE r.run_id = t.run_id) OR octet_length(t.worker) > 64 \
           OR octet_length(t.scope_key) > 255 OR octet_length(t.inputs_hash) NOT IN (0, 32)",
    ),
    (
        "launch_artifacts",
        "an artifact of no launch run, or with a malformed name or hash",
        "NOT EXISTS (SELECT 1 FROM {launch_runs} r WHERE r.run_id = t.run_id) OR octet_length(t.name) > 255 \
           OR t.name !~ '^[A-Za-z0-9._/-]+$' OR t.name ~ '(^|/)[.]{0,2}(/|$)' OR octet_length(t.sha256) <> 32 \
           OR octet_length(t.bytes) > {symbols}",
    ),
    (
        "launch_issues",
        "an issue of no launch run, or with a malformed id or a text that is too long",
        "NOT EXISTS (SELECT 1 FROM {launch_runs} r WHERE r.run_id = t.run_id) OR t.issue_id !~ '^[0-9a-f]{12}$' \
           OR octet_length(t.gate) > 64 OR octet_length(t.message) > 65536 OR octet_length(t.path) > 4096",
    ),
    (
        "launch_watches",
        "a check of the pages of no launch run, or with a malformed commit or a report that is too long",
        "NOT EXISTS (SELECT 1 FROM {launch_runs} r WHERE r.run_id = t.run_id) OR t.checked_sha !~ '^[0-9a-f]{40,64}$' \
           OR octet_length(t.report) > 1048576",
    ),
];

/// Detects rows that belong to a chunk but not to its file, or to no chunk.
const OF_NO_CHUNK: &str =
    "NOT EXISTS (SELECT 1 FROM {chunks} c WHERE c.id = t.chunk_id AND c.file_id = t.file_id)";

/// Checks all imported rows of `tables`.
///
/// # Errors
/// `ARCHIVE_UNSAFE` describes the first invalid kind of row; storage faults.
pub(super) async fn check(
    control: &mut ControlTx,
    schema: &SchemaName,
    tables: &[&str],
) -> Result<(), Fault> {
    for (table, what, condition) in checks(tables) {
        let condition = with_names(&condition, schema);
        let text = format!("SELECT EXISTS (SELECT 1 FROM {} t WHERE {condition})", schema.table(table));
        if control.tx.scalar(sql(text)).await? {
            return Err(Fault::new(
                ErrorCode::ArchiveUnsafe,
                format!("The archive holds {what}; nothing was imported."),
            )
            .with_hint("Use a file that `pairofcleats projects export` wrote."));
        }
    }
    Ok(())
}

/// The checks of `tables`: the table, the description of an invalid row, and the condition that detects it.
fn checks(tables: &[&str]) -> Vec<(&'static str, String, String)> {
    let numbers = NUMBERS.iter().map(|(table, columns, least, most)| {
        let is_outside = |column: &&str| format!("t.{column} NOT BETWEEN {least} AND {most}");
        let condition = columns.iter().map(is_outside).collect::<Vec<_>>().join(" OR ");
        (*table, format!("an impossible number in {table} ({})", columns.join(", ")), condition)
    });
    let others = INVALID_ROWS
        .iter()
        .map(|(table, what, condition)| (*table, (*what).to_owned(), (*condition).to_owned()));
    numbers.chain(others).filter(|(table, ..)| tables.contains(table)).collect()
}

/// Replaces the names in braces: tables by their qualified names in the schema, bounds by their values.
fn with_names(condition: &str, schema: &SchemaName) -> String {
    let tables = ["repositories", "files", "chunks", "launch_runs"].map(|table| (table, schema.table(table)));
    let bounds = [
        ("indexed", INDEXED_TEXT_BYTES_MAX.to_string()),
        ("number", NUMBER_MAX.to_string()),
        ("symbols", SYMBOLS_BYTES_MAX.to_string()),
        ("lines", LINE_HISTORY_BYTES_MAX.to_string()),
        ("places", PLACES_MAX.to_string()),
        ("times", "'1970-01-01 00:00:00Z' AND '9999-12-31 23:59:59Z'".to_owned()),
    ];
    let names = tables.into_iter().chain(bounds);
    names.fold(condition.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), &value))
}

/// Sets the root of each repository: the path that `roots` has for its name, else a placeholder that is not a path, so that
/// nothing on this machine is read for it. Returns the names of the repositories without a path.
///
/// # Errors
/// `INVALID_REQUEST` if `roots` names a repository that the archive does not have; storage faults.
pub(super) async fn assign_roots(
    control: &mut ControlTx,
    schema: &SchemaName,
    roots: &BTreeMap<String, String>,
) -> Result<Vec<String>, Fault> {
    let table = schema.table("repositories");
    // Records are not in a folder: their root is `module:name`, and stays so.
    let records: Vec<&str> = MODULES.iter().map(|module| module.name).collect();
    let listed = format!(
        "SELECT name FROM {table} WHERE split_part(root, ':', 1) <> ALL ($1) AND revisions_of IS NULL ORDER BY name"
    );
    let names: Vec<String> = control.tx.scalars(sql(listed).bind(&records)).await?;
    if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        let message = format!("The archive holds two repositories called {}.", pair[0].escape_debug());
        return Err(Fault::new(ErrorCode::ArchiveUnsafe, message)
            .with_hint("Use a file that `pairofcleats projects export` wrote."));
    }
    if let Some(unknown) = roots.keys().find(|name| !names.contains(name)) {
        let message = format!("The archive has no repository `{unknown}`.");
        return Err(Fault::new(ErrorCode::InvalidRequest, message)
            .with_details(serde_json::json!({ "repositories": names }))
            .with_hint("Name one of those that it has, or leave --root out."));
    }
    // First replace all roots by placeholders, so that two repositories that swap roots do not violate uniqueness.
    let reset = format!(
        "UPDATE {table} SET root = $1 || name WHERE split_part(root, ':', 1) <> ALL ($2) AND revisions_of IS NULL"
    );
    control.tx.execute(sql(reset).bind(IMPORTED_PREFIX).bind(&records)).await?;
    for (name, root) in roots {
        let text = format!("UPDATE {table} SET root = $2 WHERE name = $1 AND root = $3 || $1");
        control.tx.execute(sql(text).bind(name).bind(root).bind(IMPORTED_PREFIX)).await?;
    }
    Ok(names.into_iter().filter(|name| !roots.contains_key(name)).collect())
}
