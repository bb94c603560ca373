//! `definitions`: the definitions in chunks.

use crate::postgres::Row;

use super::condition::Condition;
use super::filter::ChunkSelection;
use crate::postgres::sql;
use crate::transaction::ProjectTx;
use contract::Fault;

/// A definition of a chunk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DefinitionRow {
    /// The chunk that contains its name.
    pub chunk_id: i64,
    /// Position among the definitions of its chunk, from 0.
    pub ordinal: i32,
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
    /// Ids of its facts; `None` if it is the only definition of its chunk and so has the chunk's facts.
    pub ids: Option<Vec<i64>>,
    /// The language of its file; only in rows that are found by name.
    pub language: Option<String>,
}

/// Maximum number of chunks that are read for one name; in a large project thousands define a `new`.
const SAME_NAME_MAX: u32 = 5000;

const ROW: &str = "d.chunk_id, d.ordinal, d.name, d.qualified, d.kind, d.signature, d.line, d.name_column, \
      d.start_line, d.end_line, d.exported, d.ids";

/// The definitions of chunks, ordered by chunk and position.
pub async fn of_chunks(tx: &mut ProjectTx, chunk_ids: &[i64]) -> Result<Vec<DefinitionRow>, Fault> {
    let text = format!(
        "SELECT {ROW} FROM {} d WHERE d.chunk_id = ANY($1) ORDER BY d.chunk_id, d.ordinal",
        tx.table("definitions")
    );
    let rows = tx.tx.all(sql(text).bind(chunk_ids)).await?;
    rows.iter().map(decode).collect()
}

/// Maximum number of definitions that [`of_lines`] returns.
const OF_LINES_MAX: u32 = 2000;

/// The definitions of a file that overlap the lines `first ..= last`, the outer before the inner, without their facts. At most
/// the first 2,000.
pub async fn of_lines(
    tx: &mut ProjectTx,
    file_id: i64,
    (first, last): (i32, i32),
) -> Result<Vec<DefinitionRow>, Fault> {
    let text = format!(
        "SELECT d.chunk_id, d.ordinal, d.name, d.qualified, d.kind, d.signature, d.line, d.name_column, \
           d.start_line, d.end_line, d.exported, NULL::int8[] AS ids \
         FROM {} d \
         WHERE d.file_id = $1 AND d.start_line <= $3 AND d.end_line >= $2 \
         ORDER BY d.start_line, d.end_line DESC, d.chunk_id, d.ordinal \
         LIMIT {OF_LINES_MAX}",
        tx.table("definitions")
    );
    let rows = tx.tx.all(sql(text).bind(file_id).bind(first).bind(last)).await?;
    rows.iter().map(decode).collect()
}

/// All definitions of the selected chunks that have one of the facts `ids`, which are folded forms of names, each with its
/// repository. Reads at most 5,000 such chunks, and uses the first `limit` chunks of each repository among them, by path. With
/// `repositories`, reads that many of each of them.
pub async fn named(
    tx: &mut ProjectTx,
    ids: &[i64],
    selection: &ChunkSelection,
    repositories: &[i64],
    limit: i64,
) -> Result<Vec<(i64, DefinitionRow)>, Fault> {
    let (facts, files, definitions) = (tx.table("facts"), tx.table("files"), tx.table("definitions"));
    let repositories_table = tx.table("repositories");
    // Materialised, so that the planner uses the index: with ORDER BY and LIMIT it would rather scan all chunks by id.
    let select = |condition: &str| {
        let chunks = format!(
            "SELECT k.chunk_id, f.repository_id, f.path, f.language \
             FROM {facts} k JOIN {files} f ON f.id = k.file_id \
             WHERE k.ids && $1::int8[] AND {condition}"
        );
        let found = if repositories.is_empty() {
            format!("{chunks} AND $3::int8[] IS NOT NULL LIMIT {SAME_NAME_MAX}")
        } else {
            format!(
                "SELECT n.chunk_id, n.repository_id, n.path, n.language FROM unnest($3::int8[]) AS r (id) \
                 CROSS JOIN LATERAL ({chunks} AND f.repository_id = r.id LIMIT {SAME_NAME_MAX}) n"
            )
        };
        format!(
            "WITH found AS MATERIALIZED ({found}) \
             SELECT coalesce(r.revisions_of, r.id) AS repository_id, n.language, {ROW} \
             FROM (SELECT chunk_id, repository_id, language, \
                 row_number() OVER (PARTITION BY repository_id ORDER BY path, chunk_id) AS place FROM found) n \
             JOIN {repositories_table} r ON r.id = n.repository_id \
             JOIN {definitions} d ON d.chunk_id = n.chunk_id \
             WHERE n.place <= $2 ORDER BY d.chunk_id, d.ordinal"
        )
    };
    let bind = |text: String| sql(text).bind(ids).bind(limit).bind(repositories);
    let rows = match selection {
        ChunkSelection::All => tx.tx.all(bind(select("true"))).await?,
        ChunkSelection::Listed(these) => tx.tx.all(bind(select("k.chunk_id = ANY($4)")).bind(these)).await?,
        ChunkSelection::Matching(filter) => {
            let condition = Condition::new(filter, tx, 4);
            tx.tx.all(condition.bind(bind(select(&condition.text)))).await?
        }
    };
    let decode = |row: &Row| {
        let definition = DefinitionRow { language: row.try_get("language")?, ..decode(row)? };
        Ok((row.try_get("repository_id")?, definition))
    };
    rows.iter().map(decode).collect()
}

/// Decodes a row of [`ROW`].
fn decode(row: &Row) -> Result<DefinitionRow, Fault> {
    Ok(DefinitionRow {
        chunk_id: row.try_get("chunk_id")?,
        ordinal: row.try_get("ordinal")?,
        name: row.try_get("name")?,
        qualified: row.try_get("qualified")?,
        kind: row.try_get("kind")?,
        signature: row.try_get("signature")?,
        line: row.try_get("line")?,
        column: row.try_get("name_column")?,
        start_line: row.try_get("start_line")?,
        end_line: row.try_get("end_line")?,
        exported: row.try_get("exported")?,
        ids: row.try_get("ids")?,
        language: None,
    })
}
