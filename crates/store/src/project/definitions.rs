//! `definitions`: what chunks define, each with its place.

use crate::postgres::Row;

use super::condition::Condition;
use super::filter::Within;
use crate::door::ProjectTx;
use crate::postgres::sql;
use contract::Fault;

/// A definition of a chunk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DefinitionRow {
    /// The chunk in which its name stands.
    pub chunk_id: i64,
    /// Place among the definitions of its chunk, from 0.
    pub ordinal: i32,
    /// Simple name.
    pub name: String,
    /// Name with those of the definitions around it.
    pub qualified: String,
    /// function, class, method …
    pub kind: String,
    /// One line.
    pub signature: Option<String>,
    /// Line of the name, 1-based.
    pub line: i32,
    /// Column of the name in characters, 1-based.
    pub column: i32,
    /// First line with attributes, 1-based.
    pub start_line: i32,
    /// Last line, inclusive.
    pub end_line: i32,
    /// Whether other files can use it; none where that is not known.
    pub exported: Option<bool>,
    /// Ids of its own facts; none where it is the only definition of its chunk, whose facts are then its own.
    pub ids: Option<Vec<i64>>,
}

/// Chunks of one name that are looked at; in a large project thousands define a `new`.
const SAME_NAME_MAX: u32 = 5000;

const ROW: &str = "d.chunk_id, d.ordinal, d.name, d.qualified, d.kind, d.signature, d.line, d.name_column, \
    d.start_line, d.end_line, d.exported, d.ids";

/// The definitions of chunks, by chunk and in their order.
///
/// # Errors
/// Storage faults.
pub async fn of_chunks(tx: &mut ProjectTx, chunk_ids: &[i64]) -> Result<Vec<DefinitionRow>, Fault> {
    let text = format!(
        "SELECT {ROW} FROM {} d WHERE d.chunk_id = ANY($1) ORDER BY d.chunk_id, d.ordinal",
        tx.table("definitions")
    );
    let rows = tx.tx.all(sql(text).bind(chunk_ids)).await?;
    rows.iter().map(decode).collect()
}

/// Definitions of a file that are looked at around some of its lines.
const OF_LINES_MAX: u32 = 2000;

/// The definitions of a file that have lines among `first ..= last`, the outer before the inner; without their facts. At most
/// 2,000, the first ones.
///
/// # Errors
/// Storage faults.
pub async fn of_lines(
    tx: &mut ProjectTx,
    file_id: i64,
    (first, last): (i32, i32),
) -> Result<Vec<DefinitionRow>, Fault> {
    let text = format!(
        "SELECT d.chunk_id, d.ordinal, d.name, d.qualified, d.kind, d.signature, d.line, d.name_column, \
         d.start_line, d.end_line, d.exported, NULL::int8[] FROM {} d \
         WHERE d.file_id = $1 AND d.start_line <= $3 AND d.end_line >= $2 \
         ORDER BY d.start_line, d.end_line DESC, d.chunk_id, d.ordinal LIMIT {OF_LINES_MAX}",
        tx.table("definitions")
    );
    let rows = tx.tx.all(sql(text).bind(file_id).bind(first).bind(last)).await?;
    rows.iter().map(decode).collect()
}

/// The definitions of chunks within that have one of `ids`, which are those of folded names, at most `limit` chunks, those
/// that came first. All definitions of such a chunk are answered.
///
/// # Errors
/// Storage faults.
pub async fn named(
    tx: &mut ProjectTx,
    ids: &[i64],
    within: &Within,
    limit: i64,
) -> Result<Vec<DefinitionRow>, Fault> {
    let (facts, definitions) = (tx.table("facts"), tx.table("definitions"));
    // Found by the index first: with an order and a limit in sight the planner would rather walk all chunks by id.
    let answered = |chunks: String| {
        format!(
            "WITH found AS MATERIALIZED ({chunks} LIMIT {SAME_NAME_MAX}) \
             SELECT {ROW} FROM (SELECT chunk_id FROM found ORDER BY chunk_id LIMIT $2) n \
             JOIN {definitions} d ON d.chunk_id = n.chunk_id ORDER BY d.chunk_id, d.ordinal"
        )
    };
    let chunks = format!("SELECT k.chunk_id FROM {facts} k WHERE k.ids && $1::int8[]");
    let rows = match within {
        Within::Everything => tx.tx.all(sql(answered(chunks)).bind(ids).bind(limit)).await?,
        Within::These(these) => {
            let text = answered(format!("{chunks} AND k.chunk_id = ANY($3)"));
            tx.tx.all(sql(text).bind(ids).bind(limit).bind(these)).await?
        }
        Within::Where(filter) => {
            let condition = Condition::of(filter, tx, 3);
            let text = answered(format!(
                "SELECT k.chunk_id FROM {facts} k JOIN {files} f ON f.id = k.file_id WHERE k.ids && $1::int8[] AND {}",
                condition.text,
                files = tx.table("files"),
            ));
            tx.tx.all(condition.bind(sql(text).bind(ids).bind(limit))).await?
        }
    };
    rows.iter().map(decode).collect()
}

/// Of a row that begins with [`ROW`].
fn decode(row: &Row) -> Result<DefinitionRow, Fault> {
    Ok(DefinitionRow {
        chunk_id: row.try_get(0)?,
        ordinal: row.try_get(1)?,
        name: row.try_get(2)?,
        qualified: row.try_get(3)?,
        kind: row.try_get(4)?,
        signature: row.try_get(5)?,
        line: row.try_get(6)?,
        column: row.try_get(7)?,
        start_line: row.try_get(8)?,
        end_line: row.try_get(9)?,
        exported: row.try_get(10)?,
        ids: row.try_get(11)?,
    })
}
