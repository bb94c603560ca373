//! Updates a portable file: replaces files whose chunks changed, and rewrites rows that change independently of chunks.

use std::collections::HashMap;

use rusqlite::params;

use super::rows::{FileOut, RewrittenRows};
use super::writer::{Writer, json};
use crate::postgres::OrFault;
use contract::Fault;

/// Identifies the chunks of a file, to detect changes. Chunks never change: a file that is indexed again gets new ones with
/// larger ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStamp {
    /// Id of the file.
    pub file_id: i64,
    /// Smallest id of its chunks; 0 if it has none.
    pub first_chunk: i64,
    /// Number of its chunks.
    pub chunks: i64,
}

impl Writer {
    /// The stamps of the files in the portable file, by file id.
    ///
    /// # Errors
    /// `SCHEMA_VALIDATION_FAILED` if the portable file is damaged.
    pub fn stamps(&self) -> Result<HashMap<i64, FileStamp>, Fault> {
        let mut statement =
            self.connection.prepare("SELECT id, first_chunk, chunks FROM files").or_fault()?;
        let rows = statement
            .query_map([], |row| {
                let stamp = FileStamp { file_id: row.get(0)?, first_chunk: row.get(1)?, chunks: row.get(2)? };
                Ok((stamp.file_id, stamp))
            })
            .or_fault()?;
        rows.collect::<Result<_, _>>().or_fault()
    }

    /// Removes files with their chunks, and all rows that an update rewrites. Keeps vectors, because texts may be added again.
    pub fn clear(&mut self, file_ids: &[i64]) -> Result<(), Fault> {
        let connection = &self.connection;
        connection
            .execute_batch(
                "CREATE TEMP TABLE gone (id INTEGER PRIMARY KEY); \
                 DELETE FROM chunk_authors; \
                 DELETE FROM chunk_flows; \
                 DELETE FROM flows; \
                 DELETE FROM users; \
                 DELETE FROM terms; \
                 DELETE FROM names",
            )
            .or_fault()?;
        connection
            .execute(
                "INSERT INTO gone (id) \
                 SELECT id \
                 FROM chunks \
                 WHERE file_id IN (SELECT value FROM json_each(?1))",
                [json(&file_ids)?],
            )
            .or_fault()?;
        // A deletion from an FTS5 index with external content must pass the old values.
        connection
            .execute_batch(
                "INSERT INTO search (search, rowid, path, name, signature, body) \
                 SELECT 'delete', t.id, t.path, t.name, t.signature, t.body FROM search_text t \
                 WHERE t.id IN (SELECT id FROM gone); \
                 INSERT INTO comment_search (comment_search, rowid, content) \
                 SELECT 'delete', m.chunk_id, m.content FROM comments m \
                 WHERE m.chunk_id IN (SELECT id FROM gone); \
                 DELETE FROM definitions WHERE chunk_id IN (SELECT id FROM gone); \
                 DELETE FROM comments WHERE chunk_id IN (SELECT id FROM gone); \
                 DELETE FROM postings WHERE chunk_id IN (SELECT id FROM gone); \
                 DELETE FROM comment_postings WHERE chunk_id IN (SELECT id FROM gone); \
                 DELETE FROM chunk_facts WHERE chunk_id IN (SELECT id FROM gone); \
                 DELETE FROM chunks WHERE id IN (SELECT id FROM gone); \
                 DROP TABLE gone",
            )
            .or_fault()?;
        for table in ["file_imports WHERE file_id", "files WHERE id"] {
            connection
                .execute(
                    &format!("DELETE FROM {table} IN (SELECT value FROM json_each(?1))"),
                    [json(&file_ids)?],
                )
                .or_fault()?;
        }
        Ok(())
    }

    /// Hashes of texts without a vector, in ascending order from after `after` on.
    pub fn without_vector(&self, after: &[u8], limit: i64) -> Result<Vec<Vec<u8>>, Fault> {
        let mut statement = self
            .connection
            .prepare_cached(
                "SELECT DISTINCT c.content_hash \
                 FROM chunks c \
                 WHERE c.content_hash > ?1 AND NOT EXISTS (SELECT 1 FROM vectors v \
                   WHERE v.hash = c.content_hash) \
                 ORDER BY c.content_hash LIMIT ?2",
            )
            .or_fault()?;
        let rows = statement.query_map(params![after, limit], |row| row.get(0)).or_fault()?;
        rows.collect::<Result<_, _>>().or_fault()
    }

    /// Writes rows that each update rewrites; skips rows of chunks that the file does not contain.
    pub fn put_rewritten(&mut self, rows: &RewrittenRows) -> Result<(), Fault> {
        match rows {
            RewrittenRows::Files(files) => files.iter().try_for_each(|file| self.rewrite_file(file)),
            RewrittenRows::Names(names) => {
                let mut statement = self
                    .connection
                    .prepare_cached(
                        "INSERT OR REPLACE INTO names (id, field, name, folded) VALUES (?1, ?2, ?3, ?4)",
                    )
                    .or_fault()?;
                for (id, field, name, folded) in names {
                    statement.execute(params![id, field, name, folded]).or_fault()?;
                }
                Ok(())
            }
            RewrittenRows::Terms(terms) => {
                let mut statement = self
                    .connection
                    .prepare_cached("INSERT INTO terms (repository_id, term, chunks) VALUES (?1, ?2, ?3)")
                    .or_fault()?;
                for count in terms {
                    statement.execute(params![count.repository_id, count.term, count.chunks]).or_fault()?;
                }
                Ok(())
            }
            RewrittenRows::Authors(authors) => {
                let pairs = authors.iter().flat_map(|(chunk, ids)| ids.iter().map(|id| (*id, *chunk)));
                self.put_name_pairs(
                    "INSERT OR IGNORE INTO chunk_authors (name_id, chunk_id) \
                     SELECT ?1, id \
                     FROM chunks \
                     WHERE id = ?2",
                    pairs,
                )
            }
            RewrittenRows::Flows(flows) => {
                let pairs = flows.iter().flat_map(|(chunk, ids, _)| ids.iter().map(|id| (*id, *chunk)));
                self.put_name_pairs(
                    "INSERT OR IGNORE INTO chunk_flows (name_id, chunk_id) \
                     SELECT ?1, id \
                     FROM chunks \
                     WHERE id = ?2",
                    pairs,
                )?;
                let mut statement = self
                    .connection
                    .prepare_cached(
                        "INSERT INTO flows (chunk_id, detail) SELECT id, ?2 FROM chunks WHERE id = ?1",
                    )
                    .or_fault()?;
                for (chunk_id, _, detail) in flows {
                    statement.execute(params![chunk_id, detail]).or_fault()?;
                }
                Ok(())
            }
            RewrittenRows::Users(users) => {
                let mut statement = self
                    .connection
                    .prepare_cached(
                        "INSERT INTO users (chunk_id, files) SELECT id, ?2 FROM chunks WHERE id = ?1",
                    )
                    .or_fault()?;
                for (chunk_id, files) in users.iter().filter(|(_, files)| *files > 0) {
                    statement.execute(params![chunk_id, files]).or_fault()?;
                }
                Ok(())
            }
            RewrittenRows::Vectors(vectors) => self.put_vectors(vectors),
        }
    }

    /// Replaces the row of a file and its imports; the stamp stays, because the chunks did not change.
    fn rewrite_file(&self, file: &FileOut) -> Result<(), Fault> {
        let stamp = "SELECT first_chunk, chunks FROM files WHERE id = ?1";
        let (first, chunks) =
            self.connection.query_row(stamp, [file.id], |row| Ok((row.get(0)?, row.get(1)?))).or_fault()?;
        for delete in ["DELETE FROM file_imports WHERE file_id = ?1", "DELETE FROM files WHERE id = ?1"] {
            self.connection.prepare_cached(delete).or_fault()?.execute([file.id]).or_fault()?;
        }
        self.put_file(file, first, chunks)
    }

    fn put_name_pairs(&self, insert: &str, pairs: impl Iterator<Item = (i64, i64)>) -> Result<(), Fault> {
        let mut statement = self.connection.prepare_cached(insert).or_fault()?;
        for (name, chunk) in pairs {
            statement.execute(params![name, chunk]).or_fault()?;
        }
        Ok(())
    }
}
