//! Reads for sets of methods: the definitions of several names at once, and the methods of types.
//!
//! Each function is one bounded statement.

use super::navigation::{DefinitionAt, ROW, decode};
use crate::postgres::sql;
use crate::transaction::ProjectTx;
use contract::Fault;

/// Maximum number of definitions of one name that are read.
const SAME_NAME_MAX: u32 = 20_000;

/// Conditions on the definitions of several names.
#[derive(Debug, Clone, Copy)]
pub struct NamedOfKinds<'a> {
    /// In this repository.
    pub repository_id: i64,
    /// In files of this language.
    pub language: &'a str,
    /// Of these kinds.
    pub kinds: &'a [&'a str],
    /// The names, each with the fact of its folded form ([`super::file_write::DefinitionWrite::name_id`]).
    pub names: &'a [(i64, &'a str)],
    /// Text that their signatures must not begin with.
    pub unlike: Option<&'a str>,
}

/// Definitions of names, sorted by path and line; at most `limit`, which is at most 20,000. If there are fewer, they are all.
pub async fn named(
    tx: &mut ProjectTx,
    wanted: NamedOfKinds<'_>,
    limit: i64,
) -> Result<Vec<DefinitionAt>, Fault> {
    // All conditions come before the limit of a name: a name that reaches it fills the answer, so that nothing is missing unnoticed.
    let text = format!(
        "SELECT {ROW} \
         FROM unnest($1::int8[], $2::text[]) AS n (name_id, name) \
         CROSS JOIN LATERAL (SELECT o.symbol, o.file_id, o.chunk_id, o.ordinal, o.name, o.qualified, o.kind, \
           o.signature, o.line, o.name_column, o.start_line, o.end_line, o.exported \
           FROM {definitions} o JOIN {files} i ON i.id = o.file_id \
           WHERE o.name_id = n.name_id AND o.name = n.name AND o.kind = ANY($3::text[]) \
             AND i.repository_id = $4 AND i.language = $5 \
             AND ($6::text IS NULL OR NOT starts_with(coalesce(o.signature, ''), $6)) LIMIT {SAME_NAME_MAX}) d \
         JOIN {files} f ON f.id = d.file_id \
         ORDER BY f.path, d.line, d.name_column, d.ordinal LIMIT $7",
        definitions = tx.table("definitions"),
        files = tx.table("files"),
    );
    let (ids, names): (Vec<i64>, Vec<&str>) = wanted.names.iter().copied().unzip();
    let query = sql(text).bind(ids).bind(names).bind(wanted.kinds).bind(wanted.repository_id);
    let rows = tx.tx.all(query.bind(wanted.language).bind(wanted.unlike).bind(limit)).await?;
    rows.iter().map(decode).collect()
}

/// The methods in some files, sorted by path and line; at most `limit`.
pub async fn in_files(tx: &mut ProjectTx, file_ids: &[i64], limit: i64) -> Result<Vec<DefinitionAt>, Fault> {
    let text = format!(
        "SELECT {ROW} \
         FROM {definitions} d JOIN {files} f ON f.id = d.file_id \
         WHERE d.file_id = ANY($1) AND d.kind = 'method' \
         ORDER BY f.path, d.line, d.name_column, d.ordinal LIMIT $2",
        definitions = tx.table("definitions"),
        files = tx.table("files"),
    );
    let rows = tx.tx.all(sql(text).bind(file_ids).bind(limit)).await?;
    rows.iter().map(decode).collect()
}

/// The package of some types.
#[derive(Debug, Clone, Copy)]
pub struct Package<'a> {
    /// Its repository.
    pub repository_id: i64,
    /// Language of its files.
    pub language: &'a str,
    /// The folder in which these are, with a slash at its end; empty for the root.
    pub folder: &'a str,
}

/// The methods of some types of a package, sorted by path and line; at most `limit`. The types are given by their qualified names, to
/// which the methods add a dot and their own.
pub async fn of_types(
    tx: &mut ProjectTx,
    package: Package<'_>,
    types: &[String],
    limit: i64,
) -> Result<Vec<DefinitionAt>, Fault> {
    let text = format!(
        "SELECT {ROW} \
         FROM {files} f JOIN {definitions} d ON d.file_id = f.id \
         WHERE f.repository_id = $1 AND f.language = $2 AND starts_with(f.path, $3) \
           AND strpos(substr(f.path, length($3) + 1), '/') = 0 AND d.kind = 'method' \
           AND right(d.qualified, length(d.name) + 1) = '.' || d.name \
           AND left(d.qualified, length(d.qualified) - length(d.name) - 1) = ANY($4::text[]) \
         ORDER BY f.path, d.line, d.name_column, d.ordinal LIMIT $5",
        definitions = tx.table("definitions"),
        files = tx.table("files"),
    );
    let query = sql(text).bind(package.repository_id).bind(package.language).bind(package.folder);
    let rows = tx.tx.all(query.bind(types).bind(limit)).await?;
    rows.iter().map(decode).collect()
}
