//! Validates the rows of an archive before they become a project, and sets the local roots of its repositories.
//!
//! Archives are untrusted. The database checks columns and types; this module checks the invariants that the rest of the program
//! relies on because it writes such rows itself.

use std::collections::BTreeMap;

use super::project::repositories::IMPORTED;
use super::transaction::ControlTx;
use crate::postgres::{MODULES, SchemaName, sql};
use contract::{ErrorCode, Fault};

/// Invalid rows: their table, a description for the error message, and the SQL condition over the row `t` that detects them.
/// Names of other tables are in braces.
const INVALID_ROWS: &[(&str, &str, &str)] = &[
    (
        "repositories",
        "a repository without a proper name",
        r"t.name = '' OR octet_length(t.name) > 255 OR t.name ~ '[/[:cntrl:]]'",
    ),
    // Roots are paths, limited to 4,096 bytes; commit ids have at most 64 hexadecimal digits.
    (
        "repositories",
        "a repository with a text that is too long",
        "octet_length(t.root) > 4096 OR octet_length(t.branch) > 4096 OR octet_length(t.commit_id) > 64",
    ),
    ("repositories", "a repository with negative counts", "t.files < 0 OR t.chunks < 0 OR t.generation < 0"),
    // Rejects empty components, `.` and `..`, and a slash at the beginning or end, because they may lead out of the root.
    (
        "files",
        "a file with a path that leads elsewhere",
        r"octet_length(t.path) NOT BETWEEN 1 AND 4096 OR t.path ~ '(^|/)\.{0,2}(/|$)'",
    ),
    // Languages, modes and reasons are identifiers of this program; an extension is a part of a file name.
    (
        "files",
        "a file with a text that is too long",
        "octet_length(t.facts_missing) > 64 OR octet_length(t.skipped) > 64 OR octet_length(t.language) > 64 \
           OR octet_length(t.mode) > 64 OR octet_length(t.extension) > 255 \
           OR octet_length(t.last_commit) > 64",
    ),
    ("files", "a file with negative counts", "t.bytes < 0 OR t.lines < 0 OR t.chunks < 0"),
    ("files", "a file with a hash of another kind", "octet_length(t.content_hash) NOT IN (0, 32)"),
    (
        "chunks",
        "a chunk with impossible lines",
        "t.start_line < 1 OR t.end_line < t.start_line OR t.ordinal < 0",
    ),
    ("chunks", "a chunk with a hash of another kind", "octet_length(t.content_hash) <> 32"),
    (
        "chunks",
        "a chunk of another file",
        "NOT EXISTS (SELECT 1 FROM {files} f WHERE f.id = t.file_id AND f.repository_id = t.repository_id)",
    ),
    (
        "lexical",
        "words of no chunk",
        "NOT EXISTS (SELECT 1 FROM {chunks} c WHERE c.id = t.chunk_id AND c.file_id = t.file_id)",
    ),
    (
        "facts",
        "facts of no chunk",
        "NOT EXISTS (SELECT 1 FROM {chunks} c WHERE c.id = t.chunk_id AND c.file_id = t.file_id)",
    ),
    (
        "comments",
        "comments of no chunk",
        "NOT EXISTS (SELECT 1 FROM {chunks} c WHERE c.id = t.chunk_id AND c.file_id = t.file_id)",
    ),
    ("comments", "comments with impossible lines", "t.start_line < 1 OR t.end_line < t.start_line"),
    (
        "authors",
        "authors of no chunk",
        "NOT EXISTS (SELECT 1 FROM {chunks} c WHERE c.id = t.chunk_id AND c.file_id = t.file_id)",
    ),
    (
        "flows",
        "flows of no chunk",
        "NOT EXISTS (SELECT 1 FROM {chunks} c WHERE c.id = t.chunk_id AND c.file_id = t.file_id)",
    ),
    (
        "definitions",
        "definitions of no chunk",
        "NOT EXISTS (SELECT 1 FROM {chunks} c WHERE c.id = t.chunk_id AND c.file_id = t.file_id)",
    ),
    (
        "definitions",
        "definitions with impossible lines",
        "t.line < 1 OR t.start_line < 1 OR t.end_line < t.start_line OR t.name_column < 0",
    ),
    ("terms", "words in no chunk", "t.chunks < 1"),
    ("vectors", "a vector of no text", "octet_length(t.hash) <> 32"),
    (
        "index_state",
        "counts that cannot be",
        "t.id <> 1 OR t.chunks < 0 OR t.files < 0 OR t.statistics_chunks < 0 OR t.changed_since_statistics < 0 OR t.generation < 0 OR t.embedded_to < 0",
    ),
    (
        "index_state",
        "ids that are taken twice",
        "t.next_id <= greatest((SELECT max(id) FROM {repositories}), (SELECT max(id) FROM {files}), \
           (SELECT max(id) FROM {chunks}), 0)",
    ),
];

/// Checks all imported rows.
///
/// # Errors
/// `ARCHIVE_UNSAFE` describes the first invalid kind of row; storage faults.
pub(super) async fn check(control: &mut ControlTx, schema: &SchemaName) -> Result<(), Fault> {
    for (table, what, condition) in INVALID_ROWS {
        let condition = with_table_names(condition, schema);
        let text = format!("SELECT EXISTS (SELECT 1 FROM {} t WHERE {condition})", schema.table(table));
        if control.tx.scalar(sql(text)).await? {
            return Err(Fault::new(
                ErrorCode::ArchiveUnsafe,
                format!("The archive holds {what}; nothing was kept of it."),
            )
            .with_hint("Use a file that `pairofcleats projects export` wrote."));
        }
    }
    Ok(())
}

/// Replaces table names in braces by the qualified names of the schema's tables.
fn with_table_names(condition: &str, schema: &SchemaName) -> String {
    ["repositories", "files", "chunks"]
        .iter()
        .fold(condition.to_owned(), |text, table| text.replace(&format!("{{{table}}}"), &schema.table(table)))
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
    let listed = format!("SELECT name FROM {table} WHERE split_part(root, ':', 1) <> ALL ($1) ORDER BY name");
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
    let reset = format!("UPDATE {table} SET root = $1 || name WHERE split_part(root, ':', 1) <> ALL ($2)");
    control.tx.execute(sql(reset).bind(IMPORTED).bind(&records)).await?;
    for (name, root) in roots {
        let text = format!("UPDATE {table} SET root = $2 WHERE name = $1 AND root = $3 || $1");
        control.tx.execute(sql(text).bind(name).bind(root).bind(IMPORTED)).await?;
    }
    Ok(names.into_iter().filter(|name| !roots.contains_key(name)).collect())
}
