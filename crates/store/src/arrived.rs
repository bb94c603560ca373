//! What rows of an archive must be before a project is made of them, and where their repositories lie here.
//!
//! An archive is anybody's. Its rows have the right columns and types, which the database checks; what it cannot know stands
//! here: whatever the rest of the program takes for granted because it wrote such rows itself.

use std::collections::BTreeMap;

use super::door::ControlTx;
use super::project::repositories::{IMPORTED, RECORDS};
use crate::postgres::{SchemaName, sql};
use contract::{ErrorCode, Fault};

/// What no row may be, by table: what is said of it, and the condition that finds it, over the row `t`. Other tables are
/// written in braces.
const WRONG: &[(&str, &str, &str)] = &[
    (
        "repositories",
        "a repository without a proper name",
        r"t.name = '' OR octet_length(t.name) > 255 OR t.name ~ '[/[:cntrl:]]'",
    ),
    // Roots are paths; ids of commits are at most 64 hexadecimal digits.
    (
        "repositories",
        "a repository with a text that is too long",
        "octet_length(t.root) > 4096 OR octet_length(t.branch) > 4096 OR octet_length(t.commit_id) > 64",
    ),
    ("repositories", "a repository with negative counts", "t.files < 0 OR t.chunks < 0 OR t.generation < 0"),
    // An empty part, `.` and `..` lead elsewhere; so does a path that begins or ends with a slash.
    (
        "files",
        "a file with a path that leads elsewhere",
        r"octet_length(t.path) NOT BETWEEN 1 AND 4096 OR t.path ~ '(^|/)\.{0,2}(/|$)'",
    ),
    // Languages, modes and reasons are words of this program's own; an extension is a part of a file's name.
    (
        "files",
        "a file with a text that is too long",
        "octet_length(t.facts_missing) > 64 OR octet_length(t.skipped) > 64 OR octet_length(t.language) > 64 OR \
         octet_length(t.mode) > 64 OR octet_length(t.extension) > 255 OR octet_length(t.last_commit) > 64",
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
        "t.next_id <= greatest((SELECT max(id) FROM {repositories}), (SELECT max(id) FROM {files}), (SELECT max(id) FROM {chunks}), 0)",
    ),
];

/// Checks the rows that came.
///
/// # Errors
/// `ARCHIVE_UNSAFE` names the first that no run of this program writes; storage faults.
pub(super) async fn check(door: &mut ControlTx, schema: &SchemaName) -> Result<(), Fault> {
    for (table, what, condition) in WRONG {
        let condition = filled(condition, schema);
        let text = format!("SELECT EXISTS (SELECT 1 FROM {} t WHERE {condition})", schema.table(table));
        if door.tx.one(sql(text)).await?.try_get(0)? {
            return Err(Fault::new(
                ErrorCode::ArchiveUnsafe,
                format!("The archive holds {what}; nothing was kept of it."),
            )
            .with_hint("Take a file that `pairofcleats projects export` wrote."));
        }
    }
    Ok(())
}

/// Names of tables in braces become the schema's own.
fn filled(condition: &str, schema: &SchemaName) -> String {
    ["repositories", "files", "chunks"]
        .iter()
        .fold(condition.to_owned(), |text, table| text.replace(&format!("{{{table}}}"), &schema.table(table)))
}

/// Gives each repository its root here, by name: what `places` says, or none, so that nothing of this machine is read for
/// it. Returns the names without a place.
///
/// # Errors
/// `INVALID_REQUEST` when a place is for a repository that the archive does not have; storage faults.
pub(super) async fn settle(
    door: &mut ControlTx,
    schema: &SchemaName,
    places: &BTreeMap<String, String>,
) -> Result<Vec<String>, Fault> {
    let table = schema.table("repositories");
    let listed = format!("SELECT name FROM {table} WHERE root <> $1 ORDER BY name");
    let rows = door.tx.all(sql(listed).bind(RECORDS)).await?;
    let names = rows.iter().map(|row| row.try_get(0)).collect::<Result<Vec<String>, Fault>>()?;
    if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        let message = format!("The archive holds two repositories called {}.", pair[0].escape_debug());
        return Err(Fault::new(ErrorCode::ArchiveUnsafe, message)
            .with_hint("Take a file that `pairofcleats projects export` wrote."));
    }
    if let Some(unknown) = places.keys().find(|name| !names.contains(name)) {
        let message = format!("The archive has no repository `{unknown}`.");
        return Err(Fault::new(ErrorCode::InvalidRequest, message)
            .with_details(serde_json::json!({ "repositories": names }))
            .with_hint("Name one of those that it has, or leave --root out."));
    }
    // First away from every path, so that two that change places do not meet.
    let away = format!("UPDATE {table} SET root = $1 || name WHERE root <> $2");
    door.tx.execute(sql(away).bind(IMPORTED).bind(RECORDS)).await?;
    for (name, root) in places {
        let text = format!("UPDATE {table} SET root = $2 WHERE name = $1 AND root = $3 || $1");
        door.tx.execute(sql(text).bind(name).bind(root).bind(IMPORTED)).await?;
    }
    Ok(names.into_iter().filter(|name| !places.contains_key(name)).collect())
}
