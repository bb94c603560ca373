//! `chunks`: the parts of files that searches return.

use crate::postgres::Row;
use pgvector::HalfVector;

use super::copies::{self, CandidateText};
use super::lexical::{LexicalQuery, LexicalSource, sparse};
use super::several::rows_of_three;
use crate::postgres::sql;
use crate::transaction::ProjectTx;
use contract::Fault;

/// A chunk with its file and repository, without its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkRow {
    /// Id of the row.
    pub id: i64,
    /// Id of its file.
    pub file_id: i64,
    /// Id of its repository; of a chunk that only revisions have, of the repository that these are of.
    pub repository_id: i64,
    /// Root of its repository.
    pub repository_root: String,
    /// Name of its repository.
    pub repository_name: String,
    /// Path of its file, relative to the root.
    pub path: String,
    /// Language id.
    pub language: Option<String>,
    /// `code`, `prose` or `records`.
    pub mode: String,
    /// Its lines and definitions.
    pub span: ChunkSpan,
}

/// The lines of a chunk and what it defines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkSpan {
    /// Id of the row.
    pub id: i64,
    /// First line, 1-based.
    pub start_line: i32,
    /// Last line, 1-based and inclusive.
    pub end_line: i32,
    /// `function`, `class`, `block` …
    pub kind: String,
    /// Qualified name of the main definition.
    pub name: Option<String>,
    /// Line of that name, which may be in another chunk; `None` if it is unknown.
    pub name_line: Option<i32>,
    /// Simple names defined in it.
    pub defines: Vec<String>,
    /// Signature of the main definition, on one line.
    pub signature: Option<String>,
}

const SPAN: &str = "c.id, c.start_line, c.end_line, c.kind, c.name, c.defines, c.signature, c.name_line";

/// Columns of a chunk `c`, its file `f` and its repository `r`.
const ROW: &str = "c.id, c.start_line, c.end_line, c.kind, c.name, c.defines, c.signature, c.name_line, \
    c.file_id, r.id AS repository_id, r.root AS repository_root, r.name AS repository_name, f.path, f.language, f.mode";

/// The chunks with these ids, in the order of `ids`; skips ids that do not exist any more.
pub async fn hydrate(tx: &mut ProjectTx, ids: &[i64]) -> Result<Vec<ChunkRow>, Fault> {
    let text = format!(
        "SELECT {ROW} \
         FROM unnest($1::int8[]) WITH ORDINALITY AS wanted (id, place) \
         JOIN {chunks} c ON c.id = wanted.id \
         JOIN {files} f ON f.id = c.file_id \
         JOIN {repositories} o ON o.id = c.repository_id \
         JOIN {repositories} r ON r.id = coalesce(o.revisions_of, o.id) \
         ORDER BY wanted.place",
        chunks = tx.table("chunks"),
        files = tx.table("files"),
        repositories = tx.table("repositories"),
    );
    let rows = tx.tx.all(sql(text).bind(ids)).await?;
    rows.iter().map(chunk).collect()
}

/// A candidate: the properties of a chunk that ranking uses, with the scores of the retrievers.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// Id of the row.
    pub id: i64,
    /// Id of its file.
    pub file_id: i64,
    /// Id of its repository.
    pub repository_id: i64,
    /// Path of its file, relative to the root.
    pub path: String,
    /// First line, 1-based.
    pub start_line: i32,
    /// Simple names defined in it.
    pub defines: Vec<String>,
    /// Number of other files that use one of its definitions, if requested.
    pub users: Option<i32>,
    /// BM25 score, if requested.
    pub lexical: Option<f64>,
    /// BM25 score of the other words, if there are any.
    pub other: Option<f64>,
    /// Cosine similarity to the query, if requested.
    pub similarity: Option<f64>,
    /// The fingerprint of its text; `None` for a record, which says something of its own even if it reads like another.
    pub text: Option<CandidateText>,
}

/// Maximum number of uses of a definition in other files that are looked at to count these files. One with so many is used everywhere.
const USES_COUNTED_MAX: u32 = 4_096;

/// The number of other files that use a definition of a chunk, as a subquery.
pub(super) fn users(tx: &ProjectTx, chunk_id: &str) -> String {
    format!(
        "(SELECT count(DISTINCT u.file_id)::int4 FROM {definitions} d CROSS JOIN LATERAL (SELECT u.file_id FROM {uses} u \
           WHERE u.target = d.symbol AND u.file_id <> d.file_id LIMIT {USES_COUNTED_MAX}) u WHERE d.chunk_id = {chunk_id})",
        definitions = tx.table("definitions"),
        uses = tx.table("uses"),
    )
}

/// The terms of a query, used to score the candidates of a repository.
#[derive(Debug, Clone, PartialEq)]
pub struct CandidateWords {
    /// The repository; `None` for all candidates.
    pub repository_id: Option<i64>,
    /// The terms.
    pub query: LexicalQuery,
    /// The terms with other weights; each chunk is scored with these as well.
    pub other: Option<LexicalQuery>,
}

/// Missing scores to compute for candidates in one statement, because a chunk that only one retriever found also needs the
/// score of the other.
#[derive(Debug, Clone, Copy)]
pub struct Completion<'a> {
    /// Ids of the chunks, without duplicates.
    pub ids: &'a [i64],
    /// For each of `ids`, `true` to compute the lexical score of the chunk.
    pub needs_lexical: &'a [bool],
    /// For each of `ids`, `true` to compute the similarity of the chunk.
    pub needs_similarity: &'a [bool],
    /// Sources of the lexical score; the first that has terms of the chunk counts.
    pub sources: &'a [LexicalSource],
    /// The query's terms, with their weights in each repository.
    pub words: &'a [CandidateWords],
    /// `true` to count the files that use each chunk's definitions.
    pub counts_users: bool,
    /// The query's vector; `None`: computes no similarity.
    pub query_vector: Option<&'a [f32]>,
}

/// The chunks of `wanted.ids`, in no particular order; skips ids that do not exist any more.
pub async fn candidates(tx: &mut ProjectTx, wanted: &Completion<'_>) -> Result<Vec<Candidate>, Fault> {
    let score = |vector: &str| {
        let of_source = |source: &LexicalSource| {
            let table = tx.table(source.table());
            format!("(SELECT l.weights <#> {vector} FROM {table} l WHERE l.chunk_id = c.id)")
        };
        let scores: Vec<String> = wanted.sources.iter().map(of_source).collect();
        if scores.is_empty() { "NULL::float8".to_owned() } else { format!("coalesce({})", scores.join(", ")) }
    };
    // CASE evaluates the subqueries only for the rows that need them.
    let (lexical, other, users) = (score("q.weights"), score("q.others"), users(tx, "c.id"));
    let text = format!(
        "SELECT c.id, c.file_id, coalesce(o.revisions_of, o.id) AS repository_id, f.path, c.start_line, c.defines, CASE WHEN w.said \
           THEN {lexical} END AS lexical, {text_columns}, CASE WHEN w.meant THEN (SELECT v.embedding <#> $4 FROM {vectors} v \
           WHERE v.hash = c.content_hash) END AS similarity, \
           CASE WHEN q.others IS NOT NULL THEN {other} END AS other, \
           CASE WHEN $5 THEN {users} END AS users \
         FROM unnest($1::int8[], $2::bool[], $3::bool[]) AS w (id, said, meant) \
         JOIN {chunks} c ON c.id = w.id \
         JOIN {files} f ON f.id = c.file_id \
         JOIN {repositories} o ON o.id = c.repository_id \
         JOIN (VALUES {words}) q (repository_id, weights, others) \
           ON q.repository_id IS NULL OR q.repository_id = coalesce(o.revisions_of, o.id)",
        repositories = tx.table("repositories"),
        words = rows_of_three(6, wanted.words.len(), ["int8", "sparsevec", "sparsevec"]),
        text_columns = copies::TEXT_COLUMNS,
        vectors = tx.table("vectors"),
        chunks = tx.table("chunks"),
        files = tx.table("files"),
    );
    let vector = wanted.query_vector.map(HalfVector::from_f32_slice);
    let query = sql(text).bind(wanted.ids).bind(wanted.needs_lexical).bind(wanted.needs_similarity);
    let query = query.bind(vector).bind(wanted.counts_users);
    let weights = |words: &LexicalQuery| sparse(&words.terms, &words.weights);
    let query = wanted.words.iter().fold(query, |query, words| {
        query.bind(words.repository_id).bind(weights(&words.query)).bind(words.other.as_ref().map(weights))
    });
    let rows = tx.tx.all(query).await?;
    rows.iter()
        .map(|row| {
            let score = |column| row.try_get::<Option<f64>>(column).map(|d| d.map(|distance| -distance));
            Ok(Candidate {
                id: row.try_get("id")?,
                file_id: row.try_get("file_id")?,
                repository_id: row.try_get("repository_id")?,
                path: row.try_get("path")?,
                start_line: row.try_get("start_line")?,
                defines: row.try_get("defines")?,
                users: row.try_get("users")?,
                lexical: score("lexical")?,
                other: score("other")?,
                similarity: score("similarity")?,
                text: copies::text(row)?,
            })
        })
        .collect()
}

/// The texts of chunks, in the order of `ids`; skips ids that do not exist any more.
pub async fn contents(tx: &mut ProjectTx, ids: &[i64]) -> Result<Vec<(i64, String)>, Fault> {
    let text = format!(
        "SELECT c.id, c.content \
         FROM unnest($1::int8[]) WITH ORDINALITY AS wanted (id, place) \
         JOIN {} c ON c.id = wanted.id ORDER BY wanted.place",
        tx.table("chunks")
    );
    let rows = tx.tx.all(sql(text).bind(ids)).await?;
    rows.iter().map(|row| Ok((row.try_get("id")?, row.try_get("content")?))).collect()
}

/// The chunks of a file, in file order.
pub async fn by_file(tx: &mut ProjectTx, file_id: i64) -> Result<Vec<ChunkSpan>, Fault> {
    let text = format!("SELECT {SPAN} FROM {} c WHERE c.file_id = $1 ORDER BY c.ordinal", tx.table("chunks"));
    let rows = tx.tx.all(sql(text).bind(file_id)).await?;
    rows.iter().map(span).collect()
}

/// The first line and the text of each chunk of a file, in file order.
pub async fn contents_of_file(tx: &mut ProjectTx, file_id: i64) -> Result<Vec<(i32, String)>, Fault> {
    let text = format!(
        "SELECT start_line, content FROM {} WHERE file_id = $1 ORDER BY start_line, ordinal",
        tx.table("chunks")
    );
    let rows = tx.tx.all(sql(text).bind(file_id)).await?;
    rows.iter().map(|row| Ok((row.try_get("start_line")?, row.try_get("content")?))).collect()
}

/// A chunk with its text and displayed facts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkDetails {
    /// The chunk without its text.
    pub chunk: ChunkRow,
    /// Its text.
    pub content: String,
    /// Facts of the chunk that are displayed but not filtered by, as JSON.
    pub detail: Option<String>,
    /// Flows of untrusted input from or to other files, as JSON.
    pub flows: Option<String>,
}

/// Chunks with their texts and displayed facts, in no particular order; skips ids that do not exist any more.
pub async fn details(tx: &mut ProjectTx, ids: &[i64]) -> Result<Vec<ChunkDetails>, Fault> {
    let text = format!(
        "SELECT {ROW}, c.content, c.detail, w.detail AS flows \
         FROM {chunks} c JOIN {files} f ON f.id = c.file_id \
         JOIN {repositories} o ON o.id = c.repository_id \
         JOIN {repositories} r ON r.id = coalesce(o.revisions_of, o.id) \
         LEFT JOIN {flows} w ON w.chunk_id = c.id \
         WHERE c.id = ANY($1)",
        chunks = tx.table("chunks"),
        files = tx.table("files"),
        repositories = tx.table("repositories"),
        flows = tx.table("flows"),
    );
    let rows = tx.tx.all(sql(text).bind(ids)).await?;
    rows.iter()
        .map(|row| {
            Ok(ChunkDetails {
                chunk: chunk(row)?,
                content: row.try_get("content")?,
                detail: row.try_get("detail")?,
                flows: row.try_get("flows")?,
            })
        })
        .collect()
}

/// The comments of chunks as (chunk, first line, last line, text), in no particular order; skips chunks without comments.
pub async fn comments(tx: &mut ProjectTx, ids: &[i64]) -> Result<Vec<(i64, i32, i32, String)>, Fault> {
    let text = format!(
        "SELECT chunk_id, start_line, end_line, content FROM {} WHERE chunk_id = ANY($1)",
        tx.table("comments")
    );
    let rows = tx.tx.all(sql(text).bind(ids)).await?;
    let comment = |row: &Row| {
        Ok((
            row.try_get("chunk_id")?,
            row.try_get("start_line")?,
            row.try_get("end_line")?,
            row.try_get("content")?,
        ))
    };
    rows.iter().map(comment).collect()
}

/// The current number of chunks of the project.
pub async fn count(tx: &mut ProjectTx) -> Result<i64, Fault> {
    let text = format!("SELECT count(*) FROM {}", tx.table("chunks"));
    tx.tx.scalar(sql(text)).await
}

/// Decodes a row of [`ROW`].
fn chunk(row: &Row) -> Result<ChunkRow, Fault> {
    Ok(ChunkRow {
        id: row.try_get("id")?,
        file_id: row.try_get("file_id")?,
        repository_id: row.try_get("repository_id")?,
        repository_root: row.try_get("repository_root")?,
        repository_name: row.try_get("repository_name")?,
        path: row.try_get("path")?,
        language: row.try_get("language")?,
        mode: row.try_get("mode")?,
        span: span(row)?,
    })
}

/// Decodes a row of [`SPAN`].
fn span(row: &Row) -> Result<ChunkSpan, Fault> {
    Ok(ChunkSpan {
        id: row.try_get("id")?,
        start_line: row.try_get("start_line")?,
        end_line: row.try_get("end_line")?,
        kind: row.try_get("kind")?,
        name: row.try_get("name")?,
        defines: row.try_get("defines")?,
        signature: row.try_get("signature")?,
        name_line: row.try_get("name_line")?,
    })
}
