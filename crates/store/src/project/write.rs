//! Replaces all rows of a file in one transaction: the file, its chunks, their terms, facts and comments.

use std::collections::HashMap;

use pgvector::SparseVector;

use super::definition_rows;
use super::files::{mark_changed, remove_chunks_of};
use super::grams;
use super::index_state::{self, Fence};
use super::lexical::sparse;
use super::names::{self, KnownNames, NamedFact, NewNames};
use super::symbols::{self, SymbolsWrite};
use crate::postgres::sql;
use crate::transaction::ProjectTx;
use contract::Fault;

/// Most rows of one INSERT; larger statements are not faster.
pub(super) const ROWS_MAX: usize = 1000;
/// Separates the texts of a list that is sent as one text; identifiers and metadata do not contain it.
const SEPARATOR: &str = "\u{1f}";

/// The new state of a file, with all its chunks.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FileWrite {
    /// Path relative to the repository's root; unique within a batch.
    pub path: String,
    /// Language id.
    pub language: Option<&'static str>,
    /// Extension in lower case, without the dot.
    pub extension: Option<String>,
    /// `code`, `prose` or `records`.
    pub mode: &'static str,
    /// Size in bytes.
    pub bytes: i64,
    /// Modification time, nanoseconds since the epoch.
    pub modified_ns: i64,
    /// blake3 of the bytes; empty if the file was skipped without being read.
    pub content_hash: Vec<u8>,
    /// Number of lines.
    pub lines: u32,
    /// Why it is not searchable; it then has no chunks. `None` if it is.
    pub skipped: Option<&'static str>,
    /// Why its facts could not be read, if it is searchable all the same.
    pub facts_missing: Option<&'static str>,
    /// Milliseconds spent in all on attempts to read its facts that timed out.
    pub facts_tried_ms: i64,
    /// Names that it imports.
    pub imports: Vec<NamedFact>,
    /// Its metadata as `key=value`, lower-case; `None` if it has none.
    pub meta: Option<Vec<String>>,
    /// Open ends of flows (untrusted input that leaves the file, and dangerous parameters), as JSON; `None` if there are none.
    pub risk_ends: Option<String>,
    /// Its symbols; `None` if they were not read.
    pub symbols: Option<SymbolsWrite>,
    /// Its chunks, in file order.
    pub chunks: Vec<ChunkWrite>,
}

/// A chunk with its lexical row. Its texts must not contain NUL.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChunkWrite {
    /// First line, 1-based.
    pub start_line: u32,
    /// Last line, 1-based and inclusive.
    pub end_line: u32,
    /// `function`, `class`, `block` …
    pub kind: &'static str,
    /// Qualified name of the main definition.
    pub name: Option<String>,
    /// Simple names defined in it.
    pub defines: Vec<String>,
    /// Line of the main definition's name, which may be in another chunk.
    pub name_line: Option<u32>,
    /// Signature of the main definition, on one line.
    pub signature: Option<String>,
    /// Its definitions, in file order.
    pub definitions: Vec<DefinitionWrite>,
    /// Ids of the names that it defines, as facts.
    pub defined: Vec<i64>,
    /// Signatures of all its definitions, one on each line.
    pub signatures: Option<String>,
    /// Its text.
    pub content: String,
    /// blake3 of the text.
    pub content_hash: [u8; 32],
    /// Its terms, with their weights.
    pub words: WordsWrite,
    /// Facts that filters find it by.
    pub facts: Vec<NamedFact>,
    /// Numbers of branches, loops, breaks and continues; `None` if they are not counted.
    pub counts: Option<[i16; 4]>,
    /// Facts that are displayed but not filtered by, as JSON.
    pub detail: Option<String>,
    /// Its comments, if they contain text.
    pub comment: Option<CommentWrite>,
}

/// A definition of a chunk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DefinitionWrite {
    /// Simple name.
    pub name: String,
    /// Name, qualified with those of the enclosing definitions.
    pub qualified: String,
    /// `function`, `class`, `method` …
    pub kind: &'static str,
    /// The fact of its folded simple name, by which navigation finds it; `None` if it is not a name of code.
    pub name_id: Option<i64>,
    /// Signature, on one line.
    pub signature: Option<String>,
    /// Line of the name, 1-based.
    pub line: u32,
    /// Column of the name in characters, 1-based.
    pub column: u32,
    /// First line, including attributes, 1-based.
    pub start_line: u32,
    /// Last line, 1-based and inclusive.
    pub end_line: u32,
    /// Whether other files can use it; `None` if that is unknown.
    pub exported: Option<bool>,
    /// Its facts; `None` if they are those of the chunk.
    pub facts: Option<Vec<NamedFact>>,
}

/// The lexical row of a text.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WordsWrite {
    /// Term ids, sorted and unique.
    pub terms: Vec<i32>,
    /// BM25 weights, parallel to `terms`.
    pub weights: Vec<f32>,
}

/// The comments of a chunk as one text.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CommentWrite {
    /// First line of the first comment, 1-based.
    pub start_line: u32,
    /// Last line of the last comment, inclusive.
    pub end_line: u32,
    /// Their text.
    pub content: String,
    /// Its terms, with their weights.
    pub words: WordsWrite,
}

/// The result of a batch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Written {
    /// Files written.
    pub files: i64,
    /// Chunks inserted.
    pub chunks: i64,
    /// Old chunks removed.
    pub chunks_removed: i64,
}

/// Replaces all rows of the files, so that a search sees either the old or the new state of each file. Files keep their ids.
/// `known` has the facts that the run has stored.
///
/// # Errors
/// `ILLEGAL_STATE` if another run took over; storage faults. The transaction and `known` must then be dropped.
pub async fn write_batch(
    tx: &mut ProjectTx,
    fence: Fence,
    repository_id: i64,
    files: &[FileWrite],
    known: &mut KnownNames,
) -> Result<Written, Fault> {
    let chunks: usize = files.iter().map(|file| file.chunks.len()).sum();
    let first_id = index_state::reserve_ids(tx, fence, count(files.len() + chunks)).await?;
    let chunks_removed = remove_chunks(tx, repository_id, files).await?;
    let mut fresh = NewNames::default();
    let ids = upsert(tx, repository_id, files, first_id, known, &mut fresh).await?;
    let mut rows = Vec::with_capacity(chunks);
    let mut next_id = first_id + count(files.len());
    for file in files {
        let Some(&file_id) = ids.get(file.path.as_str()) else { continue };
        let symbols = symbols::of_definitions(repository_id, file);
        for ((ordinal, chunk), symbols) in file.chunks.iter().enumerate().zip(symbols) {
            rows.push(NewChunk { id: next_id, file_id, ordinal, chunk, symbols });
            next_id += 1;
        }
    }
    for rows in rows.chunks(ROWS_MAX) {
        insert_chunks(tx, repository_id, rows).await?;
        insert_lexical(tx, rows).await?;
        let texts = column(rows, |r| (r.id, r.file_id, r.chunk.content.as_str()));
        grams::insert(tx, &texts).await?;
        insert_facts(tx, rows, known, &mut fresh).await?;
        definition_rows::insert(tx, rows, known, &mut fresh).await?;
        insert_comments(tx, rows).await?;
    }
    names::insert(tx, &fresh).await?;
    let stored: Vec<(i64, &FileWrite)> =
        files.iter().filter_map(|file| Some((*ids.get(file.path.as_str())?, file))).collect();
    symbols::write(tx, repository_id, &stored).await?;
    mark_changed(tx, &ids.values().copied().collect::<Vec<_>>(), count(chunks)).await?;
    Ok(Written { files: count(files.len()), chunks: count(chunks), chunks_removed })
}

/// A chunk with the ids that it gets.
pub(super) struct NewChunk<'a> {
    pub(super) id: i64,
    pub(super) file_id: i64,
    ordinal: usize,
    pub(super) chunk: &'a ChunkWrite,
    /// The symbols of its definitions.
    pub(super) symbols: Vec<Option<i64>>,
}

async fn remove_chunks(tx: &mut ProjectTx, repository_id: i64, files: &[FileWrite]) -> Result<i64, Fault> {
    let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let text = format!("SELECT id FROM {} WHERE repository_id = $1 AND path = ANY($2)", tx.table("files"));
    let ids: Vec<i64> = tx.tx.scalars(sql(text).bind(repository_id).bind(paths)).await?;
    if ids.is_empty() { Ok(0) } else { remove_chunks_of(tx, &ids).await }
}

/// Writes the rows of the files and returns their ids by path. New files get ids from `first_id` on. Clears the attribution of
/// lines, so that it is computed again.
async fn upsert<'a>(
    tx: &mut ProjectTx,
    repository_id: i64,
    files: &'a [FileWrite],
    first_id: i64,
    known: &mut KnownNames,
    fresh: &mut NewNames<'a>,
) -> Result<HashMap<&'a str, i64>, Fault> {
    let text = format!(
        "INSERT INTO {} AS f (id, repository_id, path, language, extension, mode, bytes, modified_ns, \
           content_hash, lines, chunks, skipped, imports, meta, risk_ends, facts_missing, facts_tried_ms, \
           grams_written) \
         SELECT t.id, $1, t.path, t.language, t.extension, t.mode, t.bytes, t.modified_ns, t.content_hash, \
           t.lines, t.chunks, t.skipped, ($12::int8[])[t.first:t.last], string_to_array(t.meta, $2), \
           t.risk_ends, t.facts_missing, t.facts_tried_ms, true \
         FROM unnest($3::int8[], $4::text[], $5::text[], $6::text[], $7::text[], $8::int8[], $9::int8[], \
           $10::bytea[], $11::int4[], $13::int4[], $14::text[], $15::int4[], $16::int4[], $17::text[], \
           $18::text[], $19::text[], $20::int8[]) AS t (id, path, language, extension, mode, bytes, \
           modified_ns, content_hash, lines, chunks, skipped, first, last, meta, risk_ends, facts_missing, \
           facts_tried_ms) \
         ON CONFLICT (repository_id, path) DO UPDATE SET language = excluded.language, \
           extension = excluded.extension, mode = excluded.mode, bytes = excluded.bytes, \
           modified_ns = excluded.modified_ns, content_hash = excluded.content_hash, lines = excluded.lines, \
           chunks = excluded.chunks, skipped = excluded.skipped, imports = excluded.imports, \
           meta = excluded.meta, risk_ends = excluded.risk_ends, facts_missing = excluded.facts_missing, \
           facts_tried_ms = excluded.facts_tried_ms, grams_written = true, lines_attributed_to = NULL \
         RETURNING f.path, f.id",
        tx.table("files")
    );
    let ids: Vec<i64> = (first_id..first_id + count(files.len())).collect();
    let imports = FlatLists::from_lists(files.iter().map(|file| known.ids(named(&file.imports), fresh)));
    let query = sql(text)
        .bind(repository_id)
        .bind(SEPARATOR)
        .bind(ids)
        .bind(column(files, |f| f.path.as_str()))
        .bind(column(files, |f| f.language))
        .bind(column(files, |f| f.extension.as_deref()))
        .bind(column(files, |f| if f.mode.is_empty() { "code" } else { f.mode }))
        .bind(column(files, |f| f.bytes))
        .bind(column(files, |f| f.modified_ns))
        .bind(column(files, |f| f.content_hash.as_slice()))
        .bind(column(files, |f| int4(f.lines)))
        .bind(imports.all)
        .bind(column(files, |f| i32::try_from(f.chunks.len()).unwrap_or(i32::MAX)))
        .bind(column(files, |f| f.skipped))
        .bind(imports.first)
        .bind(imports.last)
        .bind(column(files, |f| f.meta.as_ref().map(|meta| meta.join(SEPARATOR))))
        .bind(column(files, |f| f.risk_ends.as_deref()))
        .bind(column(files, |f| f.facts_missing))
        .bind(column(files, |f| f.facts_tried_ms));
    let rows = tx.tx.all(query).await?;
    let mut stored = rows
        .iter()
        .map(|row| Ok((row.try_get("path")?, row.try_get("id")?)))
        .collect::<Result<HashMap<String, i64>, Fault>>()?;
    Ok(files.iter().filter_map(|f| Some((f.path.as_str(), stored.remove(&f.path)?))).collect())
}

async fn insert_chunks(tx: &mut ProjectTx, repository_id: i64, rows: &[NewChunk<'_>]) -> Result<(), Fault> {
    let text = format!(
        "INSERT INTO {} (id, file_id, repository_id, ordinal, start_line, end_line, kind, name, name_line, \
           defines, signature, content, content_hash, detail) \
         SELECT t.id, t.file_id, $1, t.ordinal, t.start_line, t.end_line, t.kind, t.name, t.name_line, \
           string_to_array(t.defines, $2), t.signature, t.content, t.content_hash, t.detail \
         FROM unnest($3::int8[], $4::int8[], $5::int4[], $6::int4[], $7::int4[], $8::text[], $9::text[], \
           $10::text[], $11::text[], $12::text[], $13::bytea[], $14::text[], $15::int4[]) \
           AS t (id, file_id, ordinal, start_line, end_line, kind, name, defines, signature, content, \
           content_hash, detail, name_line)",
        tx.table("chunks")
    );
    let query = sql(text)
        .bind(repository_id)
        .bind(SEPARATOR)
        .bind(column(rows, |r| r.id))
        .bind(column(rows, |r| r.file_id))
        .bind(column(rows, |r| i32::try_from(r.ordinal).unwrap_or(i32::MAX)))
        .bind(column(rows, |r| int4(r.chunk.start_line)))
        .bind(column(rows, |r| int4(r.chunk.end_line)))
        .bind(column(rows, |r| r.chunk.kind))
        .bind(column(rows, |r| r.chunk.name.as_deref()))
        .bind(column(rows, |r| r.chunk.defines.join(SEPARATOR)))
        .bind(column(rows, |r| r.chunk.signature.as_deref()))
        .bind(column(rows, |r| r.chunk.content.as_str()))
        .bind(column(rows, |r| r.chunk.content_hash.as_slice()))
        .bind(column(rows, |r| r.chunk.detail.as_deref()))
        .bind(column(rows, |r| r.chunk.name_line.map(int4)));
    tx.execute(query).await?;
    Ok(())
}

async fn insert_lexical(tx: &mut ProjectTx, rows: &[NewChunk<'_>]) -> Result<(), Fault> {
    let text = format!(
        "INSERT INTO {} (chunk_id, file_id, terms, weights) \
         SELECT t.chunk_id, t.file_id, ($1::int4[])[t.first:t.last], t.weights \
         FROM unnest($2::int8[], $3::int8[], $4::int4[], $5::int4[], $6::sparsevec[]) \
           AS t (chunk_id, file_id, first, last, weights)",
        tx.table("lexical")
    );
    let weights: Vec<SparseVector> = column(rows, |r| sparse(&r.chunk.words.terms, &r.chunk.words.weights));
    let terms = FlatLists::from_lists(weights.iter().map(|weights| weights.indices().to_vec()));
    let query = sql(text)
        .bind(terms.all)
        .bind(column(rows, |r| r.id))
        .bind(column(rows, |r| r.file_id))
        .bind(terms.first)
        .bind(terms.last)
        .bind(weights);
    tx.execute(query).await?;
    Ok(())
}

async fn insert_facts<'a>(
    tx: &mut ProjectTx,
    rows: &[NewChunk<'a>],
    known: &mut KnownNames,
    fresh: &mut NewNames<'a>,
) -> Result<(), Fault> {
    let text = format!(
        "INSERT INTO {} (chunk_id, file_id, branches, loops, breaks, continues, content_hash, signature, ids) \
         SELECT t.chunk_id, t.file_id, t.branches, t.loops, t.breaks, t.continues, t.content_hash, \
           t.signature, ($1::int8[])[t.first:t.last] \
         FROM unnest($2::int8[], $3::int8[], $4::int2[], $5::int2[], $6::int2[], $7::int2[], $8::bytea[], \
           $9::text[], $10::int4[], $11::int4[]) AS t (chunk_id, file_id, branches, loops, breaks, \
           continues, content_hash, signature, first, last)",
        tx.table("facts")
    );
    let ids = FlatLists::from_lists(rows.iter().map(|row| {
        let mut ids = known.ids(named(&row.chunk.facts), fresh);
        ids.extend_from_slice(&row.chunk.defined);
        ids.sort_unstable();
        ids.dedup();
        ids
    }));
    let counted = |at: usize| column(rows, |r| r.chunk.counts.map(|counts| counts[at]));
    let query = sql(text)
        .bind(ids.all)
        .bind(column(rows, |r| r.id))
        .bind(column(rows, |r| r.file_id))
        .bind(counted(0))
        .bind(counted(1))
        .bind(counted(2))
        .bind(counted(3))
        .bind(column(rows, |r| r.chunk.content_hash.as_slice()))
        .bind(column(rows, |r| r.chunk.signatures.as_deref().or(r.chunk.signature.as_deref())))
        .bind(ids.first)
        .bind(ids.last);
    tx.execute(query).await?;
    Ok(())
}

async fn insert_comments(tx: &mut ProjectTx, rows: &[NewChunk<'_>]) -> Result<(), Fault> {
    let rows: Vec<(i64, i64, &CommentWrite)> =
        rows.iter().filter_map(|row| Some((row.id, row.file_id, row.chunk.comment.as_ref()?))).collect();
    if rows.is_empty() {
        return Ok(());
    }
    let text = format!(
        "INSERT INTO {} (chunk_id, file_id, start_line, end_line, content, terms, weights) \
         SELECT t.chunk_id, t.file_id, t.start_line, t.end_line, t.content, ($1::int4[])[t.first:t.last], \
           t.weights \
         FROM unnest($2::int8[], $3::int8[], $4::int4[], $5::int4[], $6::text[], $7::int4[], $8::int4[], \
           $9::sparsevec[]) AS t (chunk_id, file_id, start_line, end_line, content, first, last, weights)",
        tx.table("comments")
    );
    let weights: Vec<SparseVector> = column(&rows, |(.., c)| sparse(&c.words.terms, &c.words.weights));
    let terms = FlatLists::from_lists(weights.iter().map(|weights| weights.indices().to_vec()));
    let query = sql(text)
        .bind(terms.all)
        .bind(column(&rows, |(id, ..)| *id))
        .bind(column(&rows, |(_, file_id, _)| *file_id))
        .bind(column(&rows, |(.., c)| int4(c.start_line)))
        .bind(column(&rows, |(.., c)| int4(c.end_line)))
        .bind(column(&rows, |(.., c)| c.content.as_str()))
        .bind(terms.first)
        .bind(terms.last)
        .bind(weights);
    tx.execute(query).await?;
    Ok(())
}

/// Lists as one array with the bounds of each list, because Postgres supports only rectangular arrays of arrays.
pub(super) struct FlatLists<T> {
    pub(super) all: Vec<T>,
    /// Index of the first element of each list, 1-based.
    pub(super) first: Vec<i32>,
    /// Index of the last element of each list, inclusive.
    pub(super) last: Vec<i32>,
}

impl<T> FlatLists<T> {
    pub(super) fn from_lists(lists: impl Iterator<Item = Vec<T>>) -> Self {
        let mut flat = Self { all: Vec::new(), first: Vec::new(), last: Vec::new() };
        for list in lists {
            flat.first.push(bound(flat.all.len() + 1));
            flat.all.extend(list);
            flat.last.push(bound(flat.all.len()));
        }
        flat
    }
}

pub(super) fn named(facts: &[NamedFact]) -> impl Iterator<Item = (i16, &str)> {
    facts.iter().map(|(field, value)| (*field, value.as_str()))
}

pub(super) fn column<'a, R, T>(rows: &'a [R], value: impl Fn(&'a R) -> T) -> Vec<T> {
    rows.iter().map(value).collect()
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn bound(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

pub(super) fn int4(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}
