//! Equal texts: their fingerprints and other places.

use super::condition::Condition;
use super::filter::{ChunkSelection, Filter};
use crate::postgres::{Row, sql};
use crate::transaction::ProjectTx;
use contract::Fault;

/// Maximum number of chunks with one text, in the searched repositories, that are looked at to count its other places. A text of more
/// chunks has at least as many places as are found among these.
pub const SAME_TEXT_MAX: u32 = 10_000;
/// Maximum number of places of one text that are named; the others are counted.
pub const NAMED_PLACES_MAX: u32 = 3;

/// The fingerprint by which the equal text of another chunk is recognised, and the size of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CandidateText {
    /// blake3 of the text.
    pub hash: [u8; 32],
    /// Lines of the chunk, blank ones included.
    pub lines: u32,
    /// Bytes of the text.
    pub bytes: u32,
}

/// Columns of [`CandidateText`] of a chunk `c` in a file `f`. The size of a text is read without the text.
pub(super) const TEXT_COLUMNS: &str = "CASE WHEN f.mode <> 'records' THEN c.content_hash END AS text_hash, \
    c.end_line - c.start_line + 1 AS text_lines, octet_length(c.content) AS text_bytes";

/// Decodes [`TEXT_COLUMNS`].
pub(super) fn text(row: &Row) -> Result<Option<CandidateText>, Fault> {
    let hash: Option<Vec<u8>> = row.try_get("text_hash")?;
    let (lines, bytes): (i32, i32) = (row.try_get("text_lines")?, row.try_get("text_bytes")?);
    Ok(CandidateText::new(hash.as_deref(), i64::from(lines), i64::from(bytes)))
}

impl CandidateText {
    /// Returns `None` without a hash, and if the hash has the wrong length, which only a damaged row has.
    pub(crate) fn new(hash: Option<&[u8]>, lines: i64, bytes: i64) -> Option<Self> {
        let count = |number| u32::try_from(number).unwrap_or(0);
        Some(Self { hash: hash?.try_into().ok()?, lines: count(lines), bytes: count(bytes) })
    }
}

/// A chunk with its place and the fingerprint of its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextPlace {
    /// The chunk.
    pub chunk_id: i64,
    /// Its repository.
    pub repository_id: i64,
    /// Path of its file, relative to the root of the repository.
    pub path: String,
    /// First line, 1-based.
    pub start_line: i32,
    /// `None` for a record.
    pub text: Option<CandidateText>,
}

/// The places of chunks, in no particular order; skips ids that do not exist any more.
pub async fn places(tx: &mut ProjectTx, ids: &[i64]) -> Result<Vec<TextPlace>, Fault> {
    let statement = format!(
        "SELECT c.id, coalesce(r.revisions_of, r.id) AS repository_id, f.path, c.start_line, {TEXT_COLUMNS} \
         FROM {chunks} c JOIN {files} f ON f.id = c.file_id JOIN {repositories} r ON r.id = c.repository_id \
         WHERE c.id = ANY($1)",
        chunks = tx.table("chunks"),
        files = tx.table("files"),
        repositories = tx.table("repositories"),
    );
    let rows = tx.tx.all(sql(statement).bind(ids)).await?;
    let place = |row: &Row| {
        Ok(TextPlace {
            chunk_id: row.try_get("id")?,
            repository_id: row.try_get("repository_id")?,
            path: row.try_get("path")?,
            start_line: row.try_get("start_line")?,
            text: text(row)?,
        })
    };
    rows.iter().map(place).collect()
}

/// The scope of the search for other places of a text.
#[derive(Debug, Clone, Copy)]
pub struct SearchedPlaces<'a> {
    /// The repositories that may be named.
    pub repositories: &'a [i64],
    /// The chunks within them that count.
    pub selection: &'a ChunkSelection,
}

/// Another place of a chunk's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherPlace {
    /// Its repository.
    pub repository_id: i64,
    /// Path of its file, relative to the root of the repository.
    pub path: String,
    /// First line, 1-based.
    pub start_line: i32,
}

/// The other places of a chunk's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherPlaces {
    /// The chunk.
    pub chunk_id: i64,
    /// Number of these places.
    pub total: u32,
    /// `true` if there may be more, because only [`SAME_TEXT_MAX`] chunks with the text were looked at.
    pub total_is_least: bool,
    /// The first of them, at most [`NAMED_PLACES_MAX`]: those of the chunk's own repository first, then by age of the repository,
    /// path and line.
    pub first: Vec<OtherPlace>,
}

/// The other places of the texts of chunks; a chunk whose text is nowhere else has no entry.
pub async fn other_places(
    tx: &mut ProjectTx,
    ids: &[i64],
    searched: SearchedPlaces<'_>,
) -> Result<Vec<OtherPlaces>, Fault> {
    let listed: Option<&[i64]> = match searched.selection {
        ChunkSelection::Listed(ids) => Some(ids),
        _ => None,
    };
    let filter = match searched.selection {
        ChunkSelection::Matching(filter) => filter,
        _ => &Filter::EVERYTHING,
    };
    let condition = Condition::new(filter, tx, 4);
    // The inner LIMIT comes before the conditions, which cost more than the lookup of equal texts.
    let statement = format!(
        "SELECT * FROM (SELECT w.id, coalesce(r.revisions_of, r.id) AS repository_id, f.path, c.start_line, count(*) OVER (PARTITION BY w.id) AS total, \
             c.looked_at >= {SAME_TEXT_MAX} AS is_least, row_number() OVER (PARTITION BY w.id \
               ORDER BY c.repository_id <> o.repository_id, c.repository_id, f.path, c.start_line, c.id) AS place \
           FROM unnest($1::int8[]) AS w (id) \
           JOIN {chunks} o ON o.id = w.id \
           CROSS JOIN LATERAL (SELECT s.*, count(*) OVER () AS looked_at FROM (SELECT s.id, s.file_id, s.repository_id, \
               s.start_line FROM {chunks} s WHERE s.content_hash = o.content_hash AND s.id <> o.id \
               AND s.repository_id = ANY($2) LIMIT {SAME_TEXT_MAX}) s) c \
           JOIN {files} f ON f.id = c.file_id {facts} \
           JOIN {repositories} r ON r.id = c.repository_id \
           WHERE ($3::int8[] IS NULL OR c.id = ANY($3)) AND {condition}) p \
         WHERE p.place <= {NAMED_PLACES_MAX} ORDER BY p.id, p.place",
        chunks = tx.table("chunks"),
        files = tx.table("files"),
        repositories = tx.table("repositories"),
        facts = condition.facts_join(tx, "c.id"),
        condition = condition.text,
    );
    let query = sql(statement).bind(ids).bind(searched.repositories).bind(listed);
    let rows = tx.tx.all(condition.bind(query)).await?;
    let mut all: Vec<OtherPlaces> = Vec::new();
    for row in rows {
        let chunk_id: i64 = row.try_get("id")?;
        let place = OtherPlace {
            repository_id: row.try_get("repository_id")?,
            path: row.try_get("path")?,
            start_line: row.try_get("start_line")?,
        };
        match all.last_mut().filter(|last| last.chunk_id == chunk_id) {
            Some(last) => last.first.push(place),
            None => all.push(OtherPlaces {
                chunk_id,
                total: u32::try_from(row.try_get::<i64>("total")?).unwrap_or(u32::MAX),
                total_is_least: row.try_get("is_least")?,
                first: vec![place],
            }),
        }
    }
    Ok(all)
}
