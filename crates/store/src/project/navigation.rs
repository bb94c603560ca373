//! Reads for navigation: definitions by name, place and symbol, the lines at places, and how much of a repository is known.
//!
//! Each function is one bounded statement. Portable files do not carry symbols and uses.

use crate::normal::{nfc, nfc_sql};
use crate::postgres::{Row, sql};
use crate::transaction::ProjectTx;
use contract::Fault;

/// A definition with its file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DefinitionAt {
    /// The symbol; `None` if it is not a name of code, such as a section or an `impl`, and in files that were indexed by an older version
    /// of the program.
    pub symbol: Option<i64>,
    /// Its file.
    pub file_id: i64,
    /// Repository of the file.
    pub repository_id: i64,
    /// Path of the file, relative to the root of its repository.
    pub path: String,
    /// Language of the file.
    pub language: Option<String>,
    /// The chunk that contains its name.
    pub chunk_id: i64,
    /// Simple name.
    pub name: String,
    /// Name, qualified with those of the enclosing definitions.
    pub qualified: String,
    /// `function`, `class`, `method` …
    pub kind: String,
    /// Signature, on one line.
    pub signature: Option<String>,
    /// Line of the name, 1-based.
    pub line: i32,
    /// Column of the name in characters, 1-based.
    pub column: i32,
    /// First line, including attributes, 1-based.
    pub start_line: i32,
    /// Last line, 1-based and inclusive.
    pub end_line: i32,
    /// `true` if other files can use it; `None` if that is unknown.
    pub exported: Option<bool>,
}

/// The columns of a definition `d` with its file `f`, as [`decode`] reads them.
pub(super) const ROW: &str = "d.symbol, d.file_id, f.repository_id, f.path, f.language, d.chunk_id, d.name, d.qualified, \
      d.kind, d.signature, d.line, d.name_column, d.start_line, d.end_line, d.exported";

/// Maximum number of definitions of one name that are looked at first; in generated code millions may have the same.
const SAME_NAME_MAX: u32 = 20_000;
/// The same, if those that were looked at first have fewer of the wanted ones than the caller takes.
const SAME_NAME_WITHIN_MAX: u32 = 200_000;
/// Maximum number of names around a definition that the database tests; the caller tests all.
const AROUND_TESTED_MAX: usize = 8;

/// Conditions on the definitions of a name.
#[derive(Debug, Clone, Copy, Default)]
pub struct NamedDefinitions<'a> {
    /// In these repositories; empty means all.
    pub repositories: &'a [i64],
    /// The fact of the folded name ([`super::file_write::DefinitionWrite::name_id`]), so that case and separators do not matter.
    pub name_id: i64,
    /// The name in the only spelling that is wanted.
    pub spelling: Option<&'a str>,
    /// Paths, or the ends of paths: each is that of the file.
    pub paths: &'a [&'a str],
    /// Folded names of its surroundings: each is part of the folded path or qualified name. The caller compares exactly.
    pub around: &'a [String],
    /// Line of the name.
    pub line: Option<i32>,
}

/// Definitions of a name.
#[derive(Debug, Default)]
pub struct FoundDefinitions {
    /// The first ones by repository, path and line.
    pub rows: Vec<DefinitionAt>,
    /// True if there may be more.
    pub is_least: bool,
}

/// Definitions of a name, sorted by path and line; at most `limit`.
pub async fn find_definitions(
    tx: &mut ProjectTx,
    wanted: NamedDefinitions<'_>,
    limit: usize,
) -> Result<FoundDefinitions, Fault> {
    let is_within = !wanted.paths.is_empty() || !wanted.around.is_empty();
    if !is_within {
        let (found, are_all) = find_among(tx, wanted, limit, SAME_NAME_MAX).await?;
        if are_all || found.is_least {
            return Ok(found);
        }
    }
    let (found, are_all) = find_among(tx, wanted, limit, SAME_NAME_WITHIN_MAX).await?;
    Ok(FoundDefinitions { is_least: found.is_least || !are_all, ..found })
}

/// The wanted definitions among the first `looked_at` of their name, and whether these are all of the name.
async fn find_among(
    tx: &mut ProjectTx,
    wanted: NamedDefinitions<'_>,
    limit: usize,
    looked_at: u32,
) -> Result<(FoundDefinitions, bool), Fault> {
    // Other letters are folded by rules of their own.
    let around: Vec<&str> = wanted
        .around
        .iter()
        .map(String::as_str)
        .filter(|word| word.bytes().all(|byte| byte.is_ascii_alphanumeric()))
        .take(AROUND_TESTED_MAX)
        .collect();
    // Each test is a plain condition, because there may be very many rows. A word is part of the folded text if its letters follow one
    // another with only separators between them; that they follow one another at all is cheap to find out, and rare.
    // Paths of other letters are compared in composed form.
    let is_ascii = wanted.paths.iter().all(|path| path.is_ascii());
    let of_file = if is_ascii { "f.path".to_owned() } else { nfc_sql("f.path") };
    let composed: Vec<String> = wanted.paths.iter().map(|path| nfc(path).into_owned()).collect();
    let paths = (0..composed.len()).map(|at| {
        let path = format!("($5::text[])[{}]", at + 1);
        format!(" AND ({of_file} = {path} OR right({of_file}, length({path}) + 1) = '/' || {path})")
    });
    let text_around = "lower(f.path || '.' || d.qualified)";
    let around_each = (1..=around.len()).map(|at| {
        format!(" AND {text_around} LIKE ($6::text[])[{at}] AND {text_around} ~ ($7::text[])[{at}]")
    });
    let conditions: String = paths.chain(around_each).collect();
    let named = format!(
        "FROM {definitions} WHERE name_id = $1 AND ($3::text IS NULL OR name = $3) AND ($4::int4 IS NULL OR line = $4)",
        definitions = tx.table("definitions")
    );
    let text = format!(
        "SELECT r.*, m.are_more \
         FROM (SELECT EXISTS (SELECT {named} OFFSET {looked_at}) AS are_more) m \
         LEFT JOIN (SELECT {ROW}, d.ordinal \
           FROM (SELECT symbol, file_id, chunk_id, ordinal, name, qualified, kind, signature, line, name_column, \
             start_line, end_line, exported {named} LIMIT {looked_at}) d \
           JOIN {files} f ON f.id = d.file_id \
           WHERE (cardinality($2::int8[]) = 0 OR f.repository_id = ANY($2)) AND $5::text[] IS NOT NULL \
             AND $6::text[] IS NOT NULL AND $7::text[] IS NOT NULL{conditions} \
           ORDER BY f.repository_id, f.path COLLATE \"C\", d.line, d.name_column, d.ordinal LIMIT $8) r ON true \
         ORDER BY r.repository_id, r.path COLLATE \"C\", r.line, r.name_column, r.ordinal",
        files = tx.table("files"),
    );
    let query =
        sql(text).bind(wanted.name_id).bind(wanted.repositories).bind(wanted.spelling).bind(wanted.line);
    let letters =
        |word: &str, between: &str| word.chars().map(String::from).collect::<Vec<_>>().join(between);
    let likes: Vec<String> = around.iter().map(|word| format!("%{}%", letters(word, "%"))).collect();
    let patterns: Vec<String> = around.iter().map(|word| letters(word, "[^a-z0-9]*")).collect();
    let one_more = i64::try_from(limit.saturating_add(1)).unwrap_or(i64::MAX);
    let query = query.bind(composed).bind(likes).bind(patterns).bind(one_more);
    let rows = tx.tx.all(query).await?;
    let mut found = FoundDefinitions::default();
    let mut are_all = true;
    for row in &rows {
        are_all = !row.try_get::<bool>("are_more")?;
        // Without any, there is one row that only shows this.
        if row.try_get::<Option<i64>>("file_id")?.is_some() {
            found.rows.push(decode(row)?);
        }
    }
    found.is_least = found.rows.len() > limit;
    found.rows.truncate(limit);
    Ok((found, are_all))
}

/// The definitions of a file that contain a line, the inner before the outer; at most 200.
pub async fn definitions_at(tx: &mut ProjectTx, file_id: i64, line: i32) -> Result<Vec<DefinitionAt>, Fault> {
    let text = format!(
        "SELECT {ROW} \
         FROM {definitions} d JOIN {files} f ON f.id = d.file_id \
         WHERE d.file_id = $1 AND d.start_line <= $2 AND d.end_line >= $2 \
         ORDER BY d.start_line DESC, d.end_line, d.name_column DESC, d.ordinal LIMIT 200",
        definitions = tx.table("definitions"),
        files = tx.table("files"),
    );
    let rows = tx.tx.all(sql(text).bind(file_id).bind(line)).await?;
    rows.iter().map(decode).collect()
}

/// The definitions of these symbols, sorted by path and line. Symbols of files are not among them.
pub async fn definitions_by_symbols(tx: &mut ProjectTx, symbols: &[i64]) -> Result<Vec<DefinitionAt>, Fault> {
    let text = format!(
        "SELECT {ROW} \
         FROM {definitions} d JOIN {files} f ON f.id = d.file_id \
         WHERE d.symbol = ANY($1) \
         ORDER BY f.repository_id, f.path, d.line, d.name_column, d.ordinal",
        definitions = tx.table("definitions"),
        files = tx.table("files"),
    );
    let rows = tx.tx.all(sql(text).bind(symbols)).await?;
    rows.iter().map(decode).collect()
}

/// The definitions of a file that are names of code, in the order of the text; at most `limit`.
pub async fn definitions_of_file(
    tx: &mut ProjectTx,
    file_id: i64,
    limit: i64,
) -> Result<Vec<DefinitionAt>, Fault> {
    let text = format!(
        "SELECT {ROW} \
         FROM {definitions} d JOIN {files} f ON f.id = d.file_id \
         WHERE d.file_id = $1 AND d.symbol IS NOT NULL \
         ORDER BY d.line, d.name_column, d.ordinal LIMIT $2",
        definitions = tx.table("definitions"),
        files = tx.table("files"),
    );
    let rows = tx.tx.all(sql(text).bind(file_id).bind(limit)).await?;
    rows.iter().map(decode).collect()
}

/// The text of lines, as (file, line, text); at most 500 characters of each. Lines that no chunk contains are missing.
pub async fn lines_of(tx: &mut ProjectTx, places: &[(i64, i32)]) -> Result<Vec<(i64, i32, String)>, Fault> {
    let text = format!(
        "SELECT p.file_id, p.line, left(split_part(c.content, E'\\n', p.line - c.start_line + 1), 500) AS text \
         FROM unnest($1::int8[], $2::int4[]) AS p (file_id, line) \
         CROSS JOIN LATERAL (SELECT c.content, c.start_line FROM {} c WHERE c.file_id = p.file_id \
           AND c.start_line <= p.line AND c.end_line >= p.line ORDER BY c.ordinal LIMIT 1) AS c",
        tx.table("chunks")
    );
    let (files, lines): (Vec<i64>, Vec<i32>) = places.iter().copied().unzip();
    let rows = tx.tx.all(sql(text).bind(files).bind(lines)).await?;
    rows.iter().map(|row| Ok((row.try_get("file_id")?, row.try_get("line")?, row.try_get("text")?))).collect()
}

/// The qualified names of the innermost definitions around lines of files, as (file, line, name); lines outside of all are missing.
pub async fn names_around(
    tx: &mut ProjectTx,
    places: &[(i64, i32)],
) -> Result<Vec<(i64, i32, String)>, Fault> {
    let text = format!(
        "SELECT p.file_id, p.line, d.qualified \
         FROM unnest($1::int8[], $2::int4[]) AS p (file_id, line) \
         CROSS JOIN LATERAL (SELECT d.qualified FROM {} d WHERE d.file_id = p.file_id AND d.symbol IS NOT NULL \
           AND d.start_line <= p.line AND d.end_line >= p.line \
           ORDER BY d.start_line DESC, d.end_line, d.ordinal LIMIT 1) AS d",
        tx.table("definitions")
    );
    let (files, lines): (Vec<i64>, Vec<i32>) = places.iter().copied().unzip();
    let rows = tx.tx.all(sql(text).bind(files).bind(lines)).await?;
    rows.iter()
        .map(|row| Ok((row.try_get("file_id")?, row.try_get("line")?, row.try_get("qualified")?)))
        .collect()
}

/// The symbols and uses that are known of a repository's files in one language.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Coverage {
    /// The repository.
    pub repository_id: i64,
    /// Language of these files.
    pub language: String,
    /// Files with symbols.
    pub files: i64,
    /// Files among them with more symbols than the limits allow; some are missing.
    pub truncated: i64,
    /// Files whose symbols are larger than a run may store; all are missing. They are not among `files`.
    pub too_large: i64,
    /// Files whose own uses are not resolved yet.
    pub unresolved: i64,
    /// Sources and targets that a compiler's index joined.
    pub scip_uses: i64,
    /// Sources and targets that scopes, imports and types joined.
    pub resolved_uses: i64,
    /// Sources and names whose definition is not known.
    pub name_uses: i64,
}

/// Returns the coverage of repositories, by language.
pub async fn coverage(tx: &mut ProjectTx, repositories: &[i64]) -> Result<Vec<Coverage>, Fault> {
    let text = format!(
        "SELECT repository_id, language, count(*) FILTER (WHERE interface IS NOT NULL) AS files, \
           count(*) FILTER (WHERE truncated) AS truncated, \
           count(*) FILTER (WHERE interface IS NULL) AS too_large, \
           count(*) FILTER (WHERE NOT resolved) AS unresolved, sum(scip_uses)::int8 AS scip_uses, \
           sum(resolved_uses)::int8 AS resolved_uses, sum(name_uses)::int8 AS name_uses \
         FROM {} \
         WHERE repository_id = ANY($1) GROUP BY repository_id, language ORDER BY repository_id, language",
        tx.table("symbols")
    );
    let rows = tx.tx.all(sql(text).bind(repositories)).await?;
    rows.iter()
        .map(|row| {
            Ok(Coverage {
                repository_id: row.try_get("repository_id")?,
                language: row.try_get("language")?,
                files: row.try_get("files")?,
                truncated: row.try_get("truncated")?,
                too_large: row.try_get("too_large")?,
                unresolved: row.try_get("unresolved")?,
                scip_uses: row.try_get("scip_uses")?,
                resolved_uses: row.try_get("resolved_uses")?,
                name_uses: row.try_get("name_uses")?,
            })
        })
        .collect()
}

/// The repositories among these whose uses are not all resolved with their present texts: a run has not finished, or an older
/// version of the program indexed them.
pub async fn due(tx: &mut ProjectTx, repositories: &[i64], version: i32) -> Result<Vec<i64>, Fault> {
    let text = format!(
        "SELECT r.id \
         FROM {repositories} r \
         WHERE r.id = ANY($1) AND (r.navigation_version <> $2 \
           OR EXISTS (SELECT 1 FROM {symbols} s WHERE s.repository_id = r.id AND NOT s.resolved) \
           OR EXISTS (SELECT 1 FROM {changes} c WHERE c.repository_id = r.id)) \
         ORDER BY r.id",
        repositories = tx.table("repositories"),
        symbols = tx.table("symbols"),
        changes = tx.table("name_changes"),
    );
    tx.tx.scalars(sql(text).bind(repositories).bind(version)).await
}

/// Decodes a row of [`ROW`].
pub(super) fn decode(row: &Row) -> Result<DefinitionAt, Fault> {
    Ok(DefinitionAt {
        symbol: row.try_get("symbol")?,
        file_id: row.try_get("file_id")?,
        repository_id: row.try_get("repository_id")?,
        path: row.try_get("path")?,
        language: row.try_get("language")?,
        chunk_id: row.try_get("chunk_id")?,
        name: row.try_get("name")?,
        qualified: row.try_get("qualified")?,
        kind: row.try_get("kind")?,
        signature: row.try_get("signature")?,
        line: row.try_get("line")?,
        column: row.try_get("name_column")?,
        start_line: row.try_get("start_line")?,
        end_line: row.try_get("end_line")?,
        exported: row.try_get("exported")?,
    })
}
