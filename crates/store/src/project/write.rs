//! Replaces all rows of a file in one transaction: the file, its chunks, their terms, facts and comments.

use std::collections::HashMap;

use pgvector::SparseVector;

use super::columns::{FlatLists, ROWS_MAX, column, int4, named};
use super::definition_rows;
use super::file_chunks::{count_chunks, mark_changed, remove_chunks_of};
use super::file_write::{CommentWrite, FileWrite, NewChunk};
use super::grams;
use super::index_state::{self, Fence};
use super::kept_files;
use super::lexical::sparse;
use super::names::{self, KnownNames, NewNames};
use super::symbols;
use super::term_changes::TermChanges;
use crate::postgres::sql;
use crate::transaction::ProjectTx;
use contract::Fault;

/// Separates the texts of a list that is sent as one text; identifiers and metadata do not contain it.
const SEPARATOR: &str = "\u{1f}";

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

/// Replaces all rows of the files, so that a search sees either the old or the new state of each file. Files keep their ids, unless
/// revisions have the old state, which is then kept for them. `known` has the facts that the run has stored.
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
    write(tx, fence, Target { repository_id, is_hidden: false }, files, known).await
}

/// As [`write_batch`], for files that only revisions have: into a hidden repository, in which a path has a row for each content. Its
/// definitions are found by searches, but are not symbols, and nothing is resolved to them.
///
/// # Errors
/// As [`write_batch`].
pub async fn write_versions(
    tx: &mut ProjectTx,
    fence: Fence,
    hidden_id: i64,
    files: &[FileWrite],
    known: &mut KnownNames,
) -> Result<Written, Fault> {
    write(tx, fence, Target { repository_id: hidden_id, is_hidden: true }, files, known).await
}

/// The repository that files are written to.
#[derive(Debug, Clone, Copy)]
struct Target {
    repository_id: i64,
    /// `true` if it is the hidden repository of revisions.
    is_hidden: bool,
}

impl Target {
    /// Returns the number that distinguishes the rows of one path.
    fn version(self, file: &FileWrite) -> i64 {
        if self.is_hidden { file.modified_ns } else { 0 }
    }
}

/// Ids of files by path and version.
type FileIds<'a> = HashMap<(&'a str, i64), i64>;

async fn write(
    tx: &mut ProjectTx,
    fence: Fence,
    target: Target,
    files: &[FileWrite],
    known: &mut KnownNames,
) -> Result<Written, Fault> {
    let repository_id = target.repository_id;
    let chunks: usize = files.iter().map(|file| file.chunks.len()).sum();
    let first_id = index_state::reserve_ids(tx, fence, count(files.len() + chunks)).await?;
    let mut changes = TermChanges::default();
    let chunks_removed = remove_chunks(tx, target, files, &mut changes).await?;
    let mut fresh = NewNames::default();
    let ids = upsert(tx, target, files, first_id, known, &mut fresh).await?;
    let mut rows = Vec::with_capacity(chunks);
    let mut next_id = first_id + count(files.len());
    for file in files {
        let Some(&file_id) = ids.get(&(file.path.as_str(), target.version(file))) else { continue };
        let symbols = match target.is_hidden {
            true => file.chunks.iter().map(|chunk| vec![None; chunk.definitions.len()]).collect(),
            false => symbols::of_definitions(repository_id, file),
        };
        for ((ordinal, chunk), symbols) in file.chunks.iter().enumerate().zip(symbols) {
            rows.push(NewChunk { id: next_id, file_id, ordinal, chunk, symbols });
            next_id += 1;
        }
    }
    for rows in rows.chunks(ROWS_MAX) {
        insert_chunks(tx, repository_id, rows).await?;
        let terms = insert_lexical(tx, rows).await?;
        changes.add(repository_id, rows.len(), &terms);
        let texts = column(rows, |r| (r.id, r.file_id, r.chunk.content.as_str()));
        grams::insert(tx, &texts).await?;
        insert_facts(tx, rows, known, &mut fresh).await?;
        definition_rows::insert(tx, rows, known, &mut fresh).await?;
        insert_comments(tx, rows).await?;
    }
    names::insert(tx, &fresh).await?;
    if !target.is_hidden {
        let id = |file: &FileWrite| ids.get(&(file.path.as_str(), target.version(file))).copied();
        let stored: Vec<(i64, &FileWrite)> =
            files.iter().filter_map(|file| Some((id(file)?, file))).collect();
        symbols::write(tx, repository_id, &stored).await?;
    }
    mark_changed(tx, &ids.values().copied().collect::<Vec<_>>(), count(chunks)).await?;
    changes.write(tx).await?;
    Ok(Written { files: count(files.len()), chunks: count(chunks), chunks_removed })
}

/// Removes the old chunks of files; returns their number. Former contents of changed files are kept for the revisions that have them.
async fn remove_chunks(
    tx: &mut ProjectTx,
    target: Target,
    files: &[FileWrite],
    changes: &mut TermChanges,
) -> Result<i64, Fault> {
    let text = format!(
        "SELECT f.id, f.views <> 0 AND f.modified_ns <> t.blob AS is_kept \
         FROM unnest($2::text[], $3::int8[], $4::int8[]) AS t (path, version, blob) \
         JOIN {} f ON f.repository_id = $1 AND f.path = t.path AND f.version = t.version",
        tx.table("files")
    );
    let query = sql(text).bind(target.repository_id).bind(column(files, |f| f.path.as_str()));
    let query = query.bind(column(files, |f| target.version(f))).bind(column(files, |f| f.modified_ns));
    let (mut ids, mut kept): (Vec<i64>, Vec<i64>) = (Vec::new(), Vec::new());
    for row in tx.tx.all(query).await? {
        let id = row.try_get("id")?;
        ids.push(id);
        if row.try_get("is_kept")? {
            kept.push(id);
        }
    }
    changes.remove(tx, &ids).await?;
    let mut removed = 0;
    if !kept.is_empty() {
        let kept = kept_files::keep(tx, &kept).await?;
        removed += count_chunks(tx, &kept).await?;
        ids.retain(|id| !kept.contains(id));
    }
    if !ids.is_empty() {
        removed += remove_chunks_of(tx, &ids).await?;
    }
    Ok(removed)
}

/// Writes the rows of the files and returns their ids by path. New files get ids from `first_id` on. Clears the attribution of
/// lines, so that it is computed again.
async fn upsert<'a>(
    tx: &mut ProjectTx,
    target: Target,
    files: &'a [FileWrite],
    first_id: i64,
    known: &mut KnownNames,
    fresh: &mut NewNames<'a>,
) -> Result<FileIds<'a>, Fault> {
    let text = format!(
        "INSERT INTO {} AS f (id, repository_id, path, language, extension, mode, bytes, modified_ns, \
           content_hash, lines, chunks, skipped, imports, meta, risk_ends, facts_missing, facts_tried_ms, \
           grams_written, version) \
         SELECT t.id, $1, t.path, t.language, t.extension, t.mode, t.bytes, t.modified_ns, t.content_hash, \
           t.lines, t.chunks, t.skipped, ($12::int8[])[t.first:t.last], string_to_array(t.meta, $2), \
           t.risk_ends, t.facts_missing, t.facts_tried_ms, true, t.version \
         FROM unnest($3::int8[], $4::text[], $5::text[], $6::text[], $7::text[], $8::int8[], $9::int8[], \
           $10::bytea[], $11::int4[], $13::int4[], $14::text[], $15::int4[], $16::int4[], $17::text[], \
           $18::text[], $19::text[], $20::int8[], $21::int8[]) AS t (id, path, language, extension, mode, \
           bytes, modified_ns, content_hash, lines, chunks, skipped, first, last, meta, risk_ends, \
           facts_missing, facts_tried_ms, version) \
         ON CONFLICT (repository_id, path, version) DO UPDATE SET language = excluded.language, \
           extension = excluded.extension, mode = excluded.mode, bytes = excluded.bytes, \
           modified_ns = excluded.modified_ns, content_hash = excluded.content_hash, lines = excluded.lines, \
           chunks = excluded.chunks, skipped = excluded.skipped, imports = excluded.imports, \
           meta = excluded.meta, risk_ends = excluded.risk_ends, facts_missing = excluded.facts_missing, \
           facts_tried_ms = excluded.facts_tried_ms, grams_written = true, lines_attributed_to = NULL, \
           views = CASE WHEN f.modified_ns = excluded.modified_ns THEN f.views ELSE 0 END \
         RETURNING f.path, f.version, f.id",
        tx.table("files")
    );
    let ids: Vec<i64> = (first_id..first_id + count(files.len())).collect();
    let imports = FlatLists::from_lists(files.iter().map(|file| known.ids(named(&file.imports), fresh)));
    let query = sql(text)
        .bind(target.repository_id)
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
        .bind(column(files, |f| f.facts_tried_ms))
        .bind(column(files, |f| target.version(f)));
    let rows = tx.tx.all(query).await?;
    let mut stored = rows
        .iter()
        .map(|row| Ok(((row.try_get("path")?, row.try_get("version")?), row.try_get("id")?)))
        .collect::<Result<HashMap<(String, i64), i64>, Fault>>()?;
    let id = |file: &'a FileWrite| {
        let version = target.version(file);
        Some(((file.path.as_str(), version), stored.remove(&(file.path.clone(), version))?))
    };
    Ok(files.iter().filter_map(id).collect())
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

/// Writes the words of chunks; returns the terms of all of them.
async fn insert_lexical(tx: &mut ProjectTx, rows: &[NewChunk<'_>]) -> Result<Vec<i32>, Fault> {
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
        .bind(&terms.all)
        .bind(column(rows, |r| r.id))
        .bind(column(rows, |r| r.file_id))
        .bind(terms.first)
        .bind(terms.last)
        .bind(weights);
    tx.execute(query).await?;
    Ok(terms.all)
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

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
