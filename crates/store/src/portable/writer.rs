//! Writes a portable file. The file is read only once it is complete, and discarded after a crash, so it needs no journal.

use std::path::Path;

use rusqlite::{Connection, OpenFlags, params};
use tokio_util::sync::CancellationToken;

use super::fault::{fault, unusable};
use super::open::{self, Limits, Meta, set_cache_and_cancellation};
use super::rows::{ChunkOut, FileOut, Page, VectorOut};
use super::schema;
use crate::RepositoryRow;
use crate::postgres::OrFault;
use contract::Fault;

/// A file that is being written.
pub struct Writer {
    pub(super) connection: Connection,
    /// `true` if an existing file is updated: FTS5 is then maintained row by row instead of rebuilt at the end.
    pub(super) updates: bool,
}

/// Numbers of rows of a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RowCounts {
    /// Files.
    pub files: i64,
    /// Chunks.
    pub chunks: i64,
    /// Vectors.
    pub vectors: i64,
}

/// Rows that a compaction removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Compacted {
    /// Vectors of texts that no chunk has.
    pub vectors: i64,
    /// Other orphaned rows.
    pub rows: i64,
}

impl Writer {
    /// Creates a file at `path`, which must not exist.
    ///
    /// # Errors
    /// `STORAGE_UNAVAILABLE` if it cannot be created.
    pub fn create(path: &Path, limits: Limits, stop: &CancellationToken) -> Result<Self, Fault> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let writer = Self::open(path, flags, limits, stop, false)?;
        schema::create(&writer.connection)?;
        writer.connection.execute_batch("BEGIN").or_fault()?;
        Ok(writer)
    }

    /// Opens a copy of an existing file to update it.
    ///
    /// # Errors
    /// `SCHEMA_VALIDATION_FAILED` if it is damaged or not of this format.
    pub fn update(path: &Path, limits: Limits, stop: &CancellationToken) -> Result<Self, Fault> {
        drop(open::open_read_only(path, limits, stop)?);
        let writer = Self::open(path, OpenFlags::SQLITE_OPEN_READ_WRITE, limits, stop, true)?;
        writer.connection.execute_batch("BEGIN").or_fault()?;
        Ok(writer)
    }

    fn open(
        path: &Path,
        flags: OpenFlags,
        limits: Limits,
        stop: &CancellationToken,
        updates: bool,
    ) -> Result<Self, Fault> {
        let mut connection =
            Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX).or_fault()?;
        set_cache_and_cancellation(&mut connection, limits, stop)?;
        connection.pragma_update_and_check(None, "journal_mode", "OFF", |_| Ok(())).or_fault()?;
        connection.pragma_update(None, "synchronous", "OFF").or_fault()?;
        connection.pragma_update_and_check(None, "locking_mode", "EXCLUSIVE", |_| Ok(())).or_fault()?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS_KEPT);
        Ok(Self { connection, updates })
    }

    /// The metadata of the file before the update.
    ///
    /// # Errors
    /// `SCHEMA_VALIDATION_FAILED` if the file is damaged.
    pub fn meta(&self) -> Result<Meta, Fault> {
        Meta::read(&self.connection)
    }

    /// Adds files with their chunks; none of them may exist yet.
    pub fn put(&mut self, page: &Page) -> Result<(), Fault> {
        let (mut postings, mut comments) = (Vec::new(), Vec::new());
        for file in &page.files {
            let own = page.chunks.iter().filter(|chunk| chunk.file_id == file.id);
            let first = own.clone().map(|chunk| chunk.id).min().unwrap_or(0);
            self.put_file(file, first, i64::try_from(own.count()).unwrap_or(i64::MAX))?;
        }
        for chunk in &page.chunks {
            self.put_chunk(chunk)?;
            postings.extend(chunk.term_weights.iter().map(|(term, weight)| (*term, chunk.id, *weight)));
        }
        self.put_definitions(&page.definitions)?;
        for comment in &page.comments {
            let (first, last) = comment.lines;
            self.connection
                .prepare_cached(
                    "INSERT INTO comments (chunk_id, start_line, end_line, content) \
                     VALUES (?1, ?2, ?3, ?4)",
                )
                .or_fault()?
                .execute(params![comment.chunk_id, first, last, comment.content])
                .or_fault()?;
            if self.updates {
                self.connection
                    .prepare_cached("INSERT INTO comment_search (rowid, content) VALUES (?1, ?2)")
                    .or_fault()?
                    .execute(params![comment.chunk_id, comment.content])
                    .or_fault()?;
            }
            comments
                .extend(comment.term_weights.iter().map(|(term, weight)| (*term, comment.chunk_id, *weight)));
        }
        self.put_postings("INSERT INTO postings (term, chunk_id, weight) VALUES (?1, ?2, ?3)", postings)?;
        self.put_postings(
            "INSERT INTO comment_postings (term, chunk_id, weight) VALUES (?1, ?2, ?3)",
            comments,
        )?;
        self.put_vectors(&page.vectors)?;
        if self.updates {
            let ids: Vec<i64> = page.chunks.iter().map(|chunk| chunk.id).collect();
            self.connection
                .execute(
                    "INSERT INTO search (rowid, path, name, signature, body) \
                     SELECT t.id, t.path, t.name, t.signature, t.body \
                     FROM search_text t \
                     WHERE t.id IN (SELECT value FROM json_each(?1))",
                    [json(&ids)?],
                )
                .or_fault()?;
        }
        Ok(())
    }

    pub(super) fn put_file(&self, file: &FileOut, first_chunk: i64, chunks: i64) -> Result<(), Fault> {
        let history = &file.history;
        let meta = file.meta.as_ref().map(json).transpose()?;
        self.connection
            .prepare_cached(
                "INSERT INTO files (id, repository_id, path, language, extension, mode, bytes, lines, \
                   content_hash, meta, last_author, last_modified_s, last_commit, churn_added, \
                   churn_deleted, churn_commits, first_chunk, chunks) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)",
            )
            .or_fault()?
            .execute(params![
                file.id, file.repository_id, file.path, file.language, file.extension, file.mode, file.bytes,
                file.lines, file.content_hash, meta, history.last_author, history.last_modified_s,
                history.last_commit, history.churn_added, history.churn_deleted, history.churn_commits,
                first_chunk, chunks,
            ])
            .or_fault()?;
        let mut imports = self
            .connection
            .prepare_cached("INSERT OR IGNORE INTO file_imports (name_id, file_id) VALUES (?1, ?2)")
            .or_fault()?;
        for name in &file.imports {
            imports.execute(params![name, file.id]).or_fault()?;
        }
        Ok(())
    }

    fn put_chunk(&self, chunk: &ChunkOut) -> Result<(), Fault> {
        let [branches, loops, breaks, continues] = chunk.counts;
        let (first, last) = chunk.lines;
        self.connection
            .prepare_cached(
                "INSERT INTO chunks (id, file_id, ordinal, start_line, end_line, kind, name, defines, \
                   signature, content, content_hash, detail, branches, loops, breaks, continues, name_line) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)",
            )
            .or_fault()?
            .execute(params![
                chunk.id,
                chunk.file_id,
                chunk.ordinal,
                first,
                last,
                chunk.kind,
                chunk.name,
                json(&chunk.defines)?,
                chunk.signature,
                chunk.content,
                chunk.content_hash,
                chunk.detail,
                branches,
                loops,
                breaks,
                continues,
                chunk.name_line,
            ])
            .or_fault()?;
        let mut facts = self
            .connection
            .prepare_cached("INSERT OR IGNORE INTO chunk_facts (name_id, chunk_id) VALUES (?1, ?2)")
            .or_fault()?;
        for name in &chunk.facts {
            facts.execute(params![name, chunk.id]).or_fault()?;
        }
        Ok(())
    }

    /// Inserts postings in the order of the primary key, so that neighbours are on one page.
    fn put_postings(&self, insert: &str, mut postings: Vec<(i32, i64, f32)>) -> Result<(), Fault> {
        postings.sort_unstable_by_key(|(term, chunk_id, _)| (*term, *chunk_id));
        let mut statement = self.connection.prepare_cached(insert).or_fault()?;
        for (term, chunk_id, weight) in postings {
            statement.execute(params![term, chunk_id, f64::from(weight)]).or_fault()?;
        }
        Ok(())
    }

    /// Adds vectors; texts that have a vector keep it.
    pub(super) fn put_vectors(&self, vectors: &[VectorOut]) -> Result<(), Fault> {
        let mut statement = self
            .connection
            .prepare_cached("INSERT OR IGNORE INTO vectors (hash, embedding) VALUES (?1, ?2)")
            .or_fault()?;
        for (hash, vector) in vectors {
            let bytes: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
            statement.execute(params![hash, bytes]).or_fault()?;
        }
        Ok(())
    }

    /// Completes the file: writes repositories and metadata, and builds the FTS5 indexes of a new file. Returns its row counts.
    pub fn finish(self, meta: &Meta, repositories: &[RepositoryRow]) -> Result<RowCounts, Fault> {
        let connection = &self.connection;
        connection.execute("DELETE FROM repositories", []).or_fault()?;
        for row in repositories {
            connection.execute(
                "INSERT INTO repositories (id, name, state, generation, terms_version, facts_version, branch, \
                   commit_id, indexed_ms, statistics_chunks) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
                params![
                    row.id,
                    row.name,
                    row.state.as_str(),
                    row.generation,
                    row.versions.terms,
                    row.versions.facts,
                    row.branch,
                    row.commit,
                    row.indexed_ms,
                    row.statistics_chunks
                ],
            ).or_fault()?;
        }
        connection.execute("DELETE FROM meta", []).or_fault()?;
        for (key, value) in meta.pairs() {
            connection.execute("INSERT INTO meta (key, value) VALUES (?1, ?2)", [key, &value]).or_fault()?;
        }
        connection
            .execute(
                "DELETE FROM names \
                 WHERE id NOT IN (SELECT name_id FROM chunk_facts UNION SELECT name_id FROM file_imports \
                   UNION SELECT name_id FROM chunk_authors UNION SELECT name_id FROM chunk_flows)",
                [],
            )
            .or_fault()?;
        if !self.updates {
            connection.execute("INSERT INTO search (search) VALUES ('rebuild')", []).or_fault()?;
            connection
                .execute("INSERT INTO comment_search (comment_search) VALUES ('rebuild')", [])
                .or_fault()?;
        }
        connection.execute_batch("COMMIT").or_fault()?;
        let count = |table: &str| -> Result<i64, Fault> {
            connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).or_fault()
        };
        let counts =
            RowCounts { files: count("files")?, chunks: count("chunks")?, vectors: count("vectors")? };
        self.close()?;
        Ok(counts)
    }

    /// Removes orphaned rows and writes the rest into a new file at `into`, which must not exist.
    ///
    /// # Errors
    /// `SCHEMA_VALIDATION_FAILED` if the file is damaged; storage faults.
    pub fn compact(self, into: &Path) -> Result<Compacted, Fault> {
        let connection = &self.connection;
        let delete = |text: &str| -> Result<i64, Fault> {
            Ok(i64::try_from(connection.execute(text, []).or_fault()?).unwrap_or(i64::MAX))
        };
        let mut compacted = Compacted {
            vectors: delete("DELETE FROM vectors WHERE hash NOT IN (SELECT content_hash FROM chunks)")?,
            rows: 0,
        };
        for (table, key, owner) in OWNED {
            compacted.rows +=
                delete(&format!("DELETE FROM {table} WHERE {key} NOT IN (SELECT id FROM {owner})"))?;
        }
        compacted.rows += delete(
            "DELETE FROM names \
             WHERE id NOT IN (SELECT name_id FROM chunk_facts UNION SELECT name_id FROM file_imports UNION \
               SELECT name_id FROM chunk_authors UNION SELECT name_id FROM chunk_flows)",
        )?;
        for table in ["search", "comment_search"] {
            connection
                .execute(&format!("INSERT INTO {table} ({table}) VALUES ('optimize')"), [])
                .or_fault()?;
        }
        connection.execute_batch("COMMIT").or_fault()?;
        let name = into.to_str().ok_or_else(|| unusable("its path is not UTF-8"))?;
        connection.execute("VACUUM INTO ?1", [name]).or_fault()?;
        self.close()?;
        let made = Connection::open_with_flags(into, OpenFlags::SQLITE_OPEN_READ_ONLY).or_fault()?;
        open::check_pages(&made, "integrity_check")?;
        Ok(compacted)
    }

    fn close(self) -> Result<(), Fault> {
        self.connection.close().map_err(|(_, error)| fault(error))
    }
}

/// Prepared statements that are cached; this covers nearly all of them.
const STATEMENTS_KEPT: usize = 32;

/// Tables whose rows belong to rows of another table: table, column, owning table.
const OWNED: &[(&str, &str, &str)] = &[
    ("chunks", "file_id", "files"),
    ("definitions", "chunk_id", "chunks"),
    ("comments", "chunk_id", "chunks"),
    ("postings", "chunk_id", "chunks"),
    ("comment_postings", "chunk_id", "chunks"),
    ("chunk_facts", "chunk_id", "chunks"),
    ("chunk_authors", "chunk_id", "chunks"),
    ("chunk_flows", "chunk_id", "chunks"),
    ("flows", "chunk_id", "chunks"),
    ("users", "chunk_id", "chunks"),
    ("file_imports", "file_id", "files"),
];

/// A list as JSON, the form in which the file stores lists and statements take them.
pub(super) fn json<T: serde::Serialize>(list: &T) -> Result<String, Fault> {
    serde_json::to_string(list).map_err(|error| Fault::internal("A list could not be written.", error))
}
