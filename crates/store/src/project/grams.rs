//! `grams`: the trigrams of chunks, and the reads of exact search.

use super::columns::{FlatLists, column};
use super::condition::Condition;
use super::filter::{ChunkSelection, Filter};
use super::index_state::{self, Fence};
use crate::gram_query::{Gram, GramQuery, grams_of};
use crate::postgres::{Row, sql};
use crate::transaction::ProjectTx;
use contract::Fault;

/// A file as exact search orders and shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePlace {
    /// Id of the row.
    pub id: i64,
    /// Id of its repository.
    pub repository_id: i64,
    /// Path relative to the repository's root.
    pub path: String,
    /// Language id.
    pub language: Option<String>,
    /// Number of its chunks.
    pub chunks: i32,
}

/// The text of a chunk with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkText {
    /// Id of the chunk.
    pub id: i64,
    /// Id of its file.
    pub file_id: i64,
    /// First line, 1-based.
    pub start_line: i32,
    /// The text.
    pub content: String,
}

/// A condition on trigrams as SQL over rows `g`, with the values of its placeholders.
struct GramCondition<'q> {
    text: String,
    values: Vec<&'q [Gram]>,
    /// Number of the first placeholder.
    first: usize,
}

impl<'q> GramCondition<'q> {
    /// Translates `query`; the placeholders are numbered from `$first` on.
    fn new(query: &'q GramQuery, first: usize) -> Self {
        let mut condition = Self { text: String::new(), values: Vec::new(), first };
        condition.text = condition.translate(query);
        condition
    }

    /// Number of the first placeholder after its own.
    fn next(&self) -> usize {
        self.first + self.values.len()
    }

    fn translate(&mut self, query: &'q GramQuery) -> String {
        match query {
            GramQuery::All(all) if all.is_empty() => "true".to_owned(),
            GramQuery::Any(any) if any.is_empty() => "false".to_owned(),
            GramQuery::All(all) => self.joined(all, " AND "),
            GramQuery::Any(any) => self.joined(any, " OR "),
            GramQuery::HasAll(grams) => format!("g.grams @> {}", self.placeholder(grams)),
            GramQuery::HasAny(grams) => format!("g.grams && {}", self.placeholder(grams)),
        }
    }

    fn joined(&mut self, queries: &'q [GramQuery], with: &str) -> String {
        let parts: Vec<String> = queries.iter().map(|query| self.translate(query)).collect();
        format!("({})", parts.join(with))
    }

    fn placeholder(&mut self, grams: &'q [Gram]) -> String {
        self.values.push(grams);
        format!("${}::int2[]", self.next() - 1)
    }

    fn bind<'a>(&'a self, query: crate::postgres::Query<'a>) -> crate::postgres::Query<'a> {
        self.values.iter().fold(query, |query, grams| query.bind(*grams))
    }
}

/// Writes the trigrams of new chunks, given as chunk, file and text.
pub(super) async fn insert(tx: &mut ProjectTx, chunks: &[(i64, i64, &str)]) -> Result<(), Fault> {
    let text = format!(
        "INSERT INTO {} (chunk_id, file_id, grams) \
         SELECT t.chunk_id, t.file_id, ($1::int2[])[t.first:t.last] \
         FROM unnest($2::int8[], $3::int8[], $4::int4[], $5::int4[]) AS t (chunk_id, file_id, first, last) \
         ON CONFLICT (chunk_id) DO NOTHING",
        tx.table("grams")
    );
    let grams = FlatLists::from_lists(chunks.iter().map(|(.., text)| grams_of(text)));
    let query = sql(text)
        .bind(grams.all)
        .bind(column(chunks, |(id, ..)| *id))
        .bind(column(chunks, |(_, file_id, _)| *file_id))
        .bind(grams.first)
        .bind(grams.last);
    tx.execute(query).await?;
    Ok(())
}

/// Writes the trigrams of some files that an earlier version wrote, from the stored texts; returns their number. 0: no such file
/// is left.
///
/// # Errors
/// `ILLEGAL_STATE` when another run took over.
pub async fn write_missing(tx: &mut ProjectTx, fence: Fence, files_max: i64) -> Result<usize, Fault> {
    index_state::check_fence(tx, fence).await?;
    let text = format!(
        "SELECT id FROM {} WHERE NOT grams_written AND chunks > 0 ORDER BY id LIMIT $1",
        tx.table("files")
    );
    let files: Vec<i64> = tx.tx.scalars(sql(text).bind(files_max)).await?;
    if files.is_empty() {
        return Ok(0);
    }
    for texts in texts_of_files(tx, &files, &ChunkSelection::All, &GramQuery::EVERYTHING).await?.chunks(1000)
    {
        let rows: Vec<(i64, i64, &str)> =
            texts.iter().map(|text| (text.id, text.file_id, text.content.as_str())).collect();
        insert(tx, &rows).await?;
    }
    let text = format!("UPDATE {} SET grams_written = true WHERE id = ANY($1)", tx.table("files"));
    tx.execute(sql(text).bind(&files)).await?;
    Ok(files.len())
}

/// Chunks and their files that may match: those of the selection whose trigrams pass, and those without trigrams. At most
/// `limit` of each, in no particular order.
pub async fn candidates(
    tx: &mut ProjectTx,
    selection: &ChunkSelection,
    query: &GramQuery,
    limit: i64,
) -> Result<Vec<(i64, i64)>, Fault> {
    if query.is_everything() {
        let (facts, files) = (tx.table("facts"), tx.table("files"));
        let from = format!("SELECT k.chunk_id, k.file_id FROM {facts} k JOIN {files} f ON f.id = k.file_id");
        return selected(tx, &from, "k", &GramCondition::new(query, 2), selection, limit).await;
    }
    let (grams, files, facts, chunks) =
        (tx.table("grams"), tx.table("files"), tx.table("facts"), tx.table("chunks"));
    let condition = GramCondition::new(query, 2);
    // The planner sometimes expects so many matches that it would rather scan the table until the limit.
    tx.execute(sql("SET LOCAL enable_seqscan = off")).await?;
    let joined = match selection {
        ChunkSelection::Matching(filter) if filter.files().is_none() => {
            format!(
                " JOIN {files} f ON f.id = g.file_id{}",
                if Condition::new(filter, tx, 1).needs_facts {
                    format!(" JOIN {facts} k ON k.chunk_id = g.chunk_id")
                } else {
                    String::new()
                }
            )
        }
        _ => String::new(),
    };
    let from = format!("SELECT g.chunk_id, g.file_id FROM {grams} g{joined}");
    let mut found = selected(tx, &from, "g", &condition, selection, limit).await?;
    tx.execute(sql("SET LOCAL enable_seqscan = on")).await?;
    let unwritten = format!("SELECT EXISTS (SELECT 1 FROM {files} WHERE NOT grams_written AND chunks > 0)");
    if tx.tx.scalar(sql(unwritten)).await? {
        let from = format!(
            "SELECT k.chunk_id, k.file_id FROM {chunks} c JOIN {files} f ON f.id = c.file_id AND NOT f.grams_written \
             JOIN {facts} k ON k.chunk_id = c.id"
        );
        let everything = GramQuery::EVERYTHING;
        let everything = GramCondition::new(&everything, 2);
        found.extend(selected(tx, &from, "k", &everything, selection, limit).await?);
    }
    Ok(found)
}

/// Runs a statement that begins with `from`, limited to a selection; `row` is the alias with the columns `chunk_id` and `file_id`.
async fn selected(
    tx: &mut ProjectTx,
    from: &str,
    row: &str,
    grams: &GramCondition<'_>,
    selection: &ChunkSelection,
    limit: i64,
) -> Result<Vec<(i64, i64)>, Fault> {
    let at = grams.next();
    let start = format!("{from} WHERE {}", grams.text);
    let bound = |text: String| grams.bind(sql(text).bind(limit));
    let rows = match selection {
        ChunkSelection::All => tx.tx.all(bound(format!("{start} LIMIT $1"))).await?,
        ChunkSelection::Listed(ids) => {
            let text = format!("{start} AND {row}.chunk_id = ANY(${at}) LIMIT $1");
            tx.tx.all(bound(text).bind(ids)).await?
        }
        ChunkSelection::Matching(filter) => match filter.files() {
            Some((files, _)) => {
                let text = format!("{start} AND {row}.file_id = ANY(${at}) LIMIT $1");
                tx.tx.all(bound(text).bind(files)).await?
            }
            None => {
                let condition = Condition::new(filter, tx, at);
                let text = format!("{start} AND {} LIMIT $1", condition.text);
                tx.tx.all(condition.bind(bound(text))).await?
            }
        },
    };
    rows.iter().map(|row| Ok((row.try_get("chunk_id")?, row.try_get("file_id")?))).collect()
}

/// Columns of a file `f` and its repository `r`, as [`place`] decodes them.
const FILE_PLACE: &str =
    "f.id, coalesce(r.revisions_of, r.id) AS repository_id, f.path, f.language, f.chunks";

/// The files with these ids, in no particular order.
pub async fn files(tx: &mut ProjectTx, ids: &[i64]) -> Result<Vec<FilePlace>, Fault> {
    let text = format!(
        "SELECT {FILE_PLACE} FROM {} f JOIN {} r ON r.id = f.repository_id WHERE f.id = ANY($1)",
        tx.table("files"),
        tx.table("repositories")
    );
    let rows = tx.tx.all(sql(text).bind(ids)).await?;
    rows.iter().map(place).collect()
}

/// All files that may have chunks of the selection, in no particular order.
pub async fn files_within(tx: &mut ProjectTx, selection: &ChunkSelection) -> Result<Vec<FilePlace>, Fault> {
    let filter = match selection {
        ChunkSelection::All => Filter::EVERYTHING,
        ChunkSelection::Matching(filter) => filter.of_files(),
        ChunkSelection::Listed(ids) => {
            let text = format!("SELECT DISTINCT file_id FROM {} WHERE id = ANY($1)", tx.table("chunks"));
            let ids: Vec<i64> = tx.tx.scalars(sql(text).bind(ids)).await?;
            return files(tx, &ids).await;
        }
    };
    let condition = Condition::new(&filter, tx, 1);
    let text = format!(
        "SELECT {FILE_PLACE} FROM {} f JOIN {} r ON r.id = f.repository_id WHERE f.chunks > 0 AND {}",
        tx.table("files"),
        tx.table("repositories"),
        condition.text
    );
    let rows = tx.tx.all(condition.bind(sql(text))).await?;
    rows.iter().map(place).collect()
}

/// The texts of the chunks with these ids, in no particular order; skips ids that do not exist any more.
pub async fn texts(tx: &mut ProjectTx, ids: &[i64]) -> Result<Vec<ChunkText>, Fault> {
    let text = format!(
        "SELECT c.id, c.file_id, c.start_line, c.content FROM {} c WHERE c.id = ANY($1)",
        tx.table("chunks")
    );
    let rows = tx.tx.all(sql(text).bind(ids)).await?;
    rows.iter().map(chunk_text).collect()
}

/// The texts of the selected chunks of some files whose trigrams pass or are missing, in no particular order.
pub async fn texts_of_files(
    tx: &mut ProjectTx,
    files: &[i64],
    selection: &ChunkSelection,
    query: &GramQuery,
) -> Result<Vec<ChunkText>, Fault> {
    let grams = GramCondition::new(query, 2);
    let at = grams.next();
    let (joined, condition) = if query.is_everything() {
        (String::new(), grams.text.clone())
    } else {
        let joined = format!("LEFT JOIN {} g ON g.chunk_id = c.id", tx.table("grams"));
        (joined, format!("(NOT f.grams_written OR {})", grams.text))
    };
    let start = format!(
        "SELECT c.id, c.file_id, c.start_line, c.content \
         FROM {chunks} c JOIN {of} f ON f.id = c.file_id JOIN {facts} k ON k.chunk_id = c.id {joined} \
         WHERE c.file_id = ANY($1) AND {condition}",
        chunks = tx.table("chunks"),
        of = tx.table("files"),
        facts = tx.table("facts"),
    );
    let bound = |text: String| grams.bind(sql(text).bind(files));
    let rows = match selection {
        ChunkSelection::Listed(ids) => {
            let text = format!("{start} AND c.id = ANY(${at})");
            tx.tx.all(bound(text).bind(ids)).await?
        }
        ChunkSelection::Matching(filter) => {
            let condition = Condition::new(filter, tx, at);
            let text = format!("{start} AND {}", condition.text);
            tx.tx.all(condition.bind(bound(text))).await?
        }
        ChunkSelection::All => tx.tx.all(bound(start)).await?,
    };
    rows.iter().map(chunk_text).collect()
}

fn place(row: &Row) -> Result<FilePlace, Fault> {
    Ok(FilePlace {
        id: row.try_get("id")?,
        repository_id: row.try_get("repository_id")?,
        path: row.try_get("path")?,
        language: row.try_get("language")?,
        chunks: row.try_get("chunks")?,
    })
}

fn chunk_text(row: &Row) -> Result<ChunkText, Fault> {
    Ok(ChunkText {
        id: row.try_get("id")?,
        file_id: row.try_get("file_id")?,
        start_line: row.try_get("start_line")?,
        content: row.try_get("content")?,
    })
}
