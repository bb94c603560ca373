//! `chunks`: what is found.

use crate::postgres::Row;
use pgvector::HalfVector;

use super::lexical::{LexicalQuery, Words, sparse};
use crate::door::ProjectTx;
use crate::postgres::sql;
use contract::Fault;

/// A chunk with where it comes from, without its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkRow {
    /// Row id.
    pub id: i64,
    /// The file.
    pub file_id: i64,
    /// The repository.
    pub repository_id: i64,
    /// Its root.
    pub repository_root: String,
    /// Its name.
    pub repository_name: String,
    /// Relative to the root.
    pub path: String,
    /// Language id.
    pub language: Option<String>,
    /// `code`, `prose` or `records`.
    pub mode: String,
    /// Where and what in the file.
    pub span: ChunkSpan,
}

/// Where a chunk lies in its file and what it defines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkSpan {
    /// Row id.
    pub id: i64,
    /// 1-based.
    pub start_line: i32,
    /// 1-based, inclusive.
    pub end_line: i32,
    /// function, class, block …
    pub kind: String,
    /// Qualified name of the main definition.
    pub name: Option<String>,
    /// Line of that name, which can stand in another chunk; none where it is not known.
    pub name_line: Option<i32>,
    /// Simple names defined in it.
    pub defines: Vec<String>,
    /// One line.
    pub signature: Option<String>,
}

const SPAN: &str = "c.id, c.start_line, c.end_line, c.kind, c.name, c.defines, c.signature, c.name_line";

/// A chunk `c` with its file `f` and its repository `r`.
const ROW: &str = "c.id, c.start_line, c.end_line, c.kind, c.name, c.defines, c.signature, c.name_line, \
    c.file_id, c.repository_id, r.root, r.name, f.path, f.language, f.mode";

/// The chunks with these ids, in the order of `ids`; an id that is gone is left out.
///
/// # Errors
/// Storage faults.
pub async fn hydrate(tx: &mut ProjectTx, ids: &[i64]) -> Result<Vec<ChunkRow>, Fault> {
    let text = format!(
        "SELECT {ROW} FROM unnest($1::int8[]) WITH ORDINALITY AS wanted (id, place) JOIN {chunks} c ON c.id = wanted.id \
         JOIN {files} f ON f.id = c.file_id JOIN {repositories} r ON r.id = c.repository_id ORDER BY wanted.place",
        chunks = tx.table("chunks"),
        files = tx.table("files"),
        repositories = tx.table("repositories"),
    );
    let rows = tx.tx.all(sql(text).bind(ids)).await?;
    rows.iter().map(chunk).collect()
}

/// A chunk that may answer: what the ranking knows of it, and what each leg says of it where it was asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// Row id.
    pub id: i64,
    /// The file.
    pub file_id: i64,
    /// The repository.
    pub repository_id: i64,
    /// Relative to the root.
    pub path: String,
    /// 1-based.
    pub start_line: i32,
    /// Simple names defined in it.
    pub defines: Vec<String>,
    /// BM25.
    pub lexical: Option<f64>,
    /// Likeness to the question.
    pub similarity: Option<f64>,
}

/// What is asked of candidates besides their rows, in one statement: what is absent from a leg's list is scored all the
/// same.
#[derive(Debug, Clone, Copy)]
pub struct Completion<'a> {
    /// Chunks, each once.
    pub ids: &'a [i64],
    /// Whether words are to score the chunk; parallel to `ids`.
    pub by_words: &'a [bool],
    /// Whether its vector is.
    pub by_meaning: &'a [bool],
    /// Whose words, the first that has some speaks.
    pub sources: &'a [Words],
    /// The question's words.
    pub words: &'a LexicalQuery,
    /// The question's vector; none: no likeness.
    pub question: Option<&'a [f32]>,
}

/// The chunks of `wanted.ids`, in no order; an id that is gone is left out.
///
/// # Errors
/// Storage faults.
pub async fn candidates(tx: &mut ProjectTx, wanted: &Completion<'_>) -> Result<Vec<Candidate>, Fault> {
    // Subqueries are run for the rows that want them alone.
    let said: Vec<String> = wanted
        .sources
        .iter()
        .map(|source| {
            format!("(SELECT l.weights <#> $4 FROM {} l WHERE l.chunk_id = c.id)", tx.table(source.table()))
        })
        .collect();
    let said =
        if said.is_empty() { "NULL::float8".to_owned() } else { format!("coalesce({})", said.join(", ")) };
    let text = format!(
        "SELECT c.id, c.file_id, c.repository_id, f.path, c.start_line, c.defines, CASE WHEN w.said THEN {said} END, \
         CASE WHEN w.meant THEN (SELECT v.embedding <#> $5 FROM {vectors} v WHERE v.hash = c.content_hash) END \
         FROM unnest($1::int8[], $2::bool[], $3::bool[]) AS w (id, said, meant) JOIN {chunks} c ON c.id = w.id \
         JOIN {files} f ON f.id = c.file_id",
        vectors = tx.table("vectors"),
        chunks = tx.table("chunks"),
        files = tx.table("files"),
    );
    let vector = wanted.question.map(HalfVector::from_f32_slice);
    let query = sql(text).bind(wanted.ids).bind(wanted.by_words).bind(wanted.by_meaning);
    let rows = tx.tx.all(query.bind(sparse(&wanted.words.terms, &wanted.words.weights)).bind(vector)).await?;
    rows.iter()
        .map(|row| {
            let score = |at: usize| row.try_get::<Option<f64>>(at).map(|d| d.map(|distance| -distance));
            Ok(Candidate {
                id: row.try_get(0)?,
                file_id: row.try_get(1)?,
                repository_id: row.try_get(2)?,
                path: row.try_get(3)?,
                start_line: row.try_get(4)?,
                defines: row.try_get(5)?,
                lexical: score(6)?,
                similarity: score(7)?,
            })
        })
        .collect()
}

/// The texts of chunks, in the order of `ids`; an id that is gone is left out.
///
/// # Errors
/// Storage faults.
pub async fn contents(tx: &mut ProjectTx, ids: &[i64]) -> Result<Vec<(i64, String)>, Fault> {
    let text = format!(
        "SELECT c.id, c.content FROM unnest($1::int8[]) WITH ORDINALITY AS wanted (id, place) \
         JOIN {} c ON c.id = wanted.id ORDER BY wanted.place",
        tx.table("chunks")
    );
    let rows = tx.tx.all(sql(text).bind(ids)).await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
}

/// The chunks of a file, in its order.
///
/// # Errors
/// Storage faults.
pub async fn by_file(tx: &mut ProjectTx, file_id: i64) -> Result<Vec<ChunkSpan>, Fault> {
    let text = format!("SELECT {SPAN} FROM {} c WHERE c.file_id = $1 ORDER BY c.ordinal", tx.table("chunks"));
    let rows = tx.tx.all(sql(text).bind(file_id)).await?;
    rows.iter().map(span).collect()
}

/// The texts of a file's chunks with their first lines, in order.
///
/// # Errors
/// Storage faults.
pub async fn contents_of_file(tx: &mut ProjectTx, file_id: i64) -> Result<Vec<(i32, String)>, Fault> {
    let text = format!(
        "SELECT start_line, content FROM {} WHERE file_id = $1 ORDER BY start_line, ordinal",
        tx.table("chunks")
    );
    let rows = tx.tx.all(sql(text).bind(file_id)).await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
}

/// What is shown of a chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// The chunk.
    pub chunk: ChunkRow,
    /// Its text.
    pub content: String,
    /// What the chunk itself does, as JSON.
    pub detail: Option<String>,
    /// Flows from other chunks, as JSON.
    pub flows: Option<String>,
}

/// What is shown of chunks, in no order; an id that is gone is left out.
///
/// # Errors
/// Storage faults.
pub async fn shown(tx: &mut ProjectTx, ids: &[i64]) -> Result<Vec<Shown>, Fault> {
    let text = format!(
        "SELECT {ROW}, c.content, c.detail, w.detail FROM {chunks} c JOIN {files} f ON f.id = c.file_id \
         JOIN {repositories} r ON r.id = c.repository_id LEFT JOIN {flows} w ON w.chunk_id = c.id WHERE c.id = ANY($1)",
        chunks = tx.table("chunks"),
        files = tx.table("files"),
        repositories = tx.table("repositories"),
        flows = tx.table("flows"),
    );
    let rows = tx.tx.all(sql(text).bind(ids)).await?;
    rows.iter()
        .map(|row| {
            let (content, detail, flows) = (row.try_get(15)?, row.try_get(16)?, row.try_get(17)?);
            Ok(Shown { chunk: chunk(row)?, content, detail, flows })
        })
        .collect()
}

/// The comments of chunks: first line, last line and text, in no order; a chunk without is left out.
///
/// # Errors
/// Storage faults.
pub async fn comments(tx: &mut ProjectTx, ids: &[i64]) -> Result<Vec<(i64, i32, i32, String)>, Fault> {
    let text = format!(
        "SELECT chunk_id, start_line, end_line, content FROM {} WHERE chunk_id = ANY($1)",
        tx.table("comments")
    );
    let rows = tx.tx.all(sql(text).bind(ids)).await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?, row.try_get(3)?))).collect()
}

/// How many chunks the project has right now.
///
/// # Errors
/// Storage faults.
pub async fn count(tx: &mut ProjectTx) -> Result<i64, Fault> {
    let text = format!("SELECT count(*) FROM {}", tx.table("chunks"));
    tx.tx.one(sql(text)).await?.try_get(0)
}

/// Of a row that begins with [`ROW`].
fn chunk(row: &Row) -> Result<ChunkRow, Fault> {
    Ok(ChunkRow {
        id: row.try_get(0)?,
        file_id: row.try_get(8)?,
        repository_id: row.try_get(9)?,
        repository_root: row.try_get(10)?,
        repository_name: row.try_get(11)?,
        path: row.try_get(12)?,
        language: row.try_get(13)?,
        mode: row.try_get(14)?,
        span: span(row)?,
    })
}

/// Of a row that begins with [`SPAN`].
fn span(row: &Row) -> Result<ChunkSpan, Fault> {
    Ok(ChunkSpan {
        id: row.try_get(0)?,
        start_line: row.try_get(1)?,
        end_line: row.try_get(2)?,
        kind: row.try_get(3)?,
        name: row.try_get(4)?,
        defines: row.try_get(5)?,
        signature: row.try_get(6)?,
        name_line: row.try_get(7)?,
    })
}
