//! Reads a portable file: the same reads as those of a project's schema, with the same results.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::path::Path;

use rusqlite::{Connection, Params, Row};
use tokio_util::sync::CancellationToken;

use super::open::{self, Limits, Meta};
use super::writer::json;
use crate::overview::COUNTED_MAX;
use crate::postgres::OrFault;
use crate::statistics::WHOLE_PROJECT;
use crate::workspace::ModelFacts;
use crate::{
    Candidate, ChunkDetails, ChunkRow, ChunkSelection, ChunkSpan, Completion, Filter, IndexOverview,
    IndexState, LanguageCount, RepositoryRow, RepositoryState, Versions,
};
use contract::Fault;

/// The index that lexical search uses in a portable file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LexicalBackend {
    /// The postings with the weights of Postgres, which give the same scores.
    Postings,
    /// FTS5 with its own BM25.
    Fts,
}

/// An open file.
pub struct Reader {
    pub(super) connection: Connection,
    pub(super) lexical_backend: LexicalBackend,
    meta: Meta,
}

impl Reader {
    /// Opens an untrusted file; `stop` interrupts its statements.
    ///
    /// # Errors
    /// `NO_INDEX` if it does not exist; `SCHEMA_VALIDATION_FAILED` if it is damaged, too large, or not of this format.
    pub fn open(
        path: &Path,
        limits: Limits,
        lexical_backend: LexicalBackend,
        stop: &CancellationToken,
    ) -> Result<Self, Fault> {
        let connection = open::open_read_only(path, limits, stop)?;
        let meta = Meta::read(&connection)?;
        Ok(Self { connection, lexical_backend, meta })
    }

    /// The metadata of the file.
    #[must_use]
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// The index that lexical search uses.
    #[must_use]
    pub fn lexical_backend(&self) -> LexicalBackend {
        self.lexical_backend
    }

    /// The model of its vectors.
    #[must_use]
    pub fn model(&self) -> &ModelFacts {
        &self.meta.model
    }

    /// The version of the code that extracted the terms, for each repository.
    ///
    /// # Errors
    /// `SCHEMA_VALIDATION_FAILED` when the file is damaged.
    pub fn terms_versions(&self) -> Result<Vec<i64>, Fault> {
        self.rows("SELECT terms_version FROM repositories", [], |row| row.get(0))
    }

    pub(super) fn rows<T>(
        &self,
        text: &str,
        params: impl Params,
        decode: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, Fault> {
        let mut statement = self.connection.prepare_cached(text).or_fault()?;
        let rows = statement.query_map(params, decode).or_fault()?;
        rows.collect::<Result<_, _>>().or_fault()
    }

    fn number(&self, text: &str) -> Result<i64, Fault> {
        self.connection.query_row(text, [], |row| row.get(0)).or_fault()
    }

    pub(crate) fn state(&self) -> Result<IndexState, Fault> {
        Ok(IndexState {
            generation: self.meta.generation,
            chunks: self.count()?,
            files: self.number("SELECT count(*) FROM files")?,
            statistics_chunks: self.meta.statistics_chunks,
            terms_indexed: true,
            vectors_indexed: false,
            vectors_complete: true,
            statistics_due: false,
            updated_ms: self.meta.updated_ms,
        })
    }

    /// Its repositories, sorted by name. The name also serves as the root, because a portable file contains no absolute paths.
    pub(crate) fn repositories(&self) -> Result<Vec<RepositoryRow>, Fault> {
        let text = "SELECT r.id, r.name, r.state, r.generation, r.terms_version, r.facts_version, r.branch, \
               r.commit_id, r.indexed_ms, r.statistics_chunks, count(f.id) AS files, coalesce(sum(f.chunks), 0) AS chunks \
             FROM repositories r LEFT JOIN files f ON f.repository_id = r.id \
             GROUP BY r.id ORDER BY r.name";
        self.rows(text, [], |row| {
            let name: String = row.get("name")?;
            let versions = Versions {
                terms: row.get("terms_version")?,
                facts: row.get("facts_version")?,
                ..Versions::default()
            };
            Ok(RepositoryRow {
                id: row.get("id")?,
                root: name.clone(),
                name,
                state: RepositoryState::parse(&row.get::<_, String>("state")?),
                generation: row.get("generation")?,
                versions,
                branch: row.get("branch")?,
                commit: row.get("commit_id")?,
                indexed_ms: row.get("indexed_ms")?,
                files: row.get("files")?,
                chunks: row.get("chunks")?,
                statistics_chunks: row.get("statistics_chunks")?,
                is_counted: row.get::<_, i64>("statistics_chunks")? > 0,
                report: None,
            })
        })
    }

    pub(crate) fn count(&self) -> Result<i64, Fault> {
        self.number("SELECT count(*) FROM chunks")
    }

    pub(crate) fn pending_within(&self, repositories: &[i64]) -> Result<i64, Fault> {
        let text = "SELECT count(DISTINCT c.content_hash) \
             FROM chunks c JOIN files f ON f.id = c.file_id \
             WHERE f.repository_id IN (SELECT value FROM json_each(?1)) AND NOT EXISTS \
               (SELECT 1 FROM vectors v WHERE v.hash = c.content_hash)";
        let counts: Vec<i64> = self.rows(text, [json(&repositories)?], |row| row.get(0))?;
        Ok(counts.first().copied().unwrap_or(0))
    }

    pub(crate) fn any_records(&self) -> Result<bool, Fault> {
        Ok(self.number("SELECT EXISTS (SELECT 1 FROM files WHERE mode = 'records')")? == 1)
    }

    pub(crate) fn languages(&self, filter: &Filter) -> Result<Vec<LanguageCount>, Fault> {
        let selection = match self.select_chunks(&filter.of_files())? {
            ChunkSelection::Listed(ids) => Some(json(&ids)?),
            _ => None,
        };
        let text = "SELECT f.language, count(*) \
             FROM chunks c JOIN files f ON f.id = c.file_id \
             WHERE ?1 IS NULL OR c.id IN (SELECT value FROM json_each(?1)) \
             GROUP BY f.language \
             ORDER BY 2 DESC, f.language IS NULL, f.language";
        // A portable file does not record which files lack facts.
        self.rows(text, [selection], |row| {
            Ok(LanguageCount { language: row.get(0)?, chunks: row.get(1)?, facts_missing: 0 })
        })
    }

    pub(crate) fn hydrate(&self, ids: &[i64]) -> Result<Vec<ChunkRow>, Fault> {
        let text = "SELECT c.id, c.start_line, c.end_line, c.kind, c.name, c.defines, c.signature, \
               c.name_line, c.file_id, f.repository_id, r.name AS repository_name, f.path, \
               f.language, f.mode \
             FROM json_each(?1) w JOIN chunks c ON c.id = w.value \
             JOIN files f ON f.id = c.file_id \
             JOIN repositories r ON r.id = f.repository_id ORDER BY w.key";
        self.rows(text, [json(&ids)?], |row| {
            let repository_name: String = row.get("repository_name")?;
            Ok(ChunkRow {
                id: row.get("id")?,
                file_id: row.get("file_id")?,
                repository_id: row.get("repository_id")?,
                repository_root: repository_name.clone(),
                repository_name,
                path: row.get("path")?,
                language: row.get("language")?,
                mode: row.get("mode")?,
                span: span(row)?,
            })
        })
    }

    pub(crate) fn contents(&self, ids: &[i64]) -> Result<Vec<(i64, String)>, Fault> {
        let text =
            "SELECT c.id, c.content FROM json_each(?1) w JOIN chunks c ON c.id = w.value ORDER BY w.key";
        self.rows(text, [json(&ids)?], |row| Ok((row.get(0)?, row.get(1)?)))
    }

    pub(crate) fn by_file(&self, file_id: i64) -> Result<Vec<ChunkSpan>, Fault> {
        let text = "SELECT id, start_line, end_line, kind, name, defines, signature, name_line \
             FROM chunks \
             WHERE file_id = ?1 ORDER BY ordinal";
        self.rows(text, [file_id], span)
    }

    pub(crate) fn details(&self, ids: &[i64]) -> Result<Vec<ChunkDetails>, Fault> {
        let text = "SELECT c.id, c.content, c.detail, w.detail \
             FROM chunks c LEFT JOIN flows w ON w.chunk_id = c.id \
             WHERE c.id IN (SELECT value FROM json_each(?1))";
        let texts = self.rows(text, [json(&ids)?], |row| {
            Ok((row.get::<_, i64>(0)?, (row.get(1)?, row.get(2)?, row.get(3)?)))
        })?;
        let mut texts: HashMap<i64, (String, Option<String>, Option<String>)> = texts.into_iter().collect();
        let shown = self.hydrate(ids)?.into_iter().filter_map(|chunk| {
            let (content, detail, flows) = texts.remove(&chunk.id)?;
            Some(ChunkDetails { chunk, content, detail, flows })
        });
        Ok(shown.collect())
    }

    /// Candidates with the scores that one retriever did not give. The lexical score is that of the first source that has terms of
    /// the chunk.
    pub(crate) fn completed(&self, wanted: &Completion<'_>) -> Result<Vec<Candidate>, Fault> {
        let marked = |marks: &[bool]| -> Vec<i64> {
            wanted.ids.iter().zip(marks).filter(|(_, marked)| **marked).map(|(id, _)| *id).collect()
        };
        let chunks = self.hydrate(wanted.ids)?;
        let (needs_lexical, mut lexical, mut others) =
            (marked(wanted.needs_lexical), HashMap::new(), HashMap::new());
        for words in wanted.words {
            let of_repository =
                |chunk: &&ChunkRow| words.repository_id.is_none_or(|id| id == chunk.repository_id);
            let own: HashSet<i64> = chunks.iter().filter(of_repository).map(|chunk| chunk.id).collect();
            let scored: Vec<i64> = needs_lexical.iter().filter(|id| own.contains(id)).copied().collect();
            let own: Vec<i64> = own.into_iter().collect();
            for source in wanted.sources {
                for hit in self.scores(*source, &words.query, &scored)? {
                    lexical.entry(hit.chunk_id).or_insert(hit.score);
                }
                let Some(other) = &words.other else { continue };
                for hit in self.scores(*source, other, &own)? {
                    others.entry(hit.chunk_id).or_insert(hit.score);
                }
            }
        }
        let near = match wanted.query_vector {
            Some(question) => self.similarities(question, &marked(wanted.needs_similarity))?,
            None => Vec::new(),
        };
        let texts = self.texts(wanted.ids)?;
        let users = if wanted.counts_users { self.users(wanted.ids)? } else { HashMap::new() };
        let near: HashMap<i64, f64> = near.iter().map(|hit| (hit.chunk_id, hit.similarity)).collect();
        let candidate = |chunk: ChunkRow| Candidate {
            users: wanted.counts_users.then(|| users.get(&chunk.id).copied().unwrap_or(0)),
            id: chunk.id,
            file_id: chunk.file_id,
            repository_id: chunk.repository_id,
            path: chunk.path,
            start_line: chunk.span.start_line,
            defines: chunk.span.defines,
            lexical: lexical.get(&chunk.id).copied(),
            other: others.get(&chunk.id).copied(),
            similarity: near.get(&chunk.id).copied(),
            text: texts.get(&chunk.id).copied(),
        };
        Ok(chunks.into_iter().map(candidate).collect())
    }

    fn users(&self, ids: &[i64]) -> Result<HashMap<i64, i32>, Fault> {
        let text = "SELECT chunk_id, files FROM users WHERE chunk_id IN (SELECT value FROM json_each(?1))";
        let rows = self.rows(text, [json(&ids)?], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.into_iter().collect())
    }

    pub(crate) fn overview(&self, terms: &[i32], roots: &[String]) -> Result<IndexOverview, Fault> {
        let repositories = self.repositories()?;
        let mut searched: Vec<&RepositoryRow> =
            repositories.iter().filter(|row| roots.is_empty() || roots.contains(&row.root)).collect();
        searched.sort_by_key(|row| (Reverse(row.statistics_chunks), row.id));
        let mut counted: Vec<i64> = searched.iter().take(COUNTED_MAX).map(|row| row.id).collect();
        counted.push(WHOLE_PROJECT);
        Ok(IndexOverview {
            any_hidden: false,
            state: self.state()?,
            frequencies: self.document_frequencies(&counted, terms)?,
            any_records: self.any_records()?,
            repositories,
        })
    }

    pub(crate) fn comments(&self, ids: &[i64]) -> Result<Vec<(i64, i32, i32, String)>, Fault> {
        let text = "SELECT chunk_id, start_line, end_line, content \
             FROM comments \
             WHERE chunk_id IN (SELECT value FROM json_each(?1))";
        self.rows(text, [json(&ids)?], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
    }

    pub(crate) fn listed(&self, selection: &ChunkSelection, limit: i64) -> Result<(Vec<i64>, i64), Fault> {
        let order = "ORDER BY f.repository_id, f.path, c.id";
        let mut ids: Vec<i64> = match selection {
            ChunkSelection::Listed(ids) => {
                let text = format!(
                    "SELECT c.id \
                     FROM chunks c JOIN files f ON f.id = c.file_id \
                     WHERE c.id IN (SELECT value FROM json_each(?1)) {order}"
                );
                self.rows(&text, [json(&ids)?], |row| row.get(0))?
            }
            ChunkSelection::Matching(filter) => return self.listed(&self.select_chunks(filter)?, limit),
            ChunkSelection::All => {
                let text = format!("SELECT c.id FROM chunks c JOIN files f ON f.id = c.file_id {order}");
                self.rows(&text, [], |row| row.get(0))?
            }
        };
        let total = i64::try_from(ids.len()).unwrap_or(i64::MAX);
        ids.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok((ids, total))
    }
}

fn span(row: &Row<'_>) -> rusqlite::Result<ChunkSpan> {
    let defines: String = row.get("defines")?;
    Ok(ChunkSpan {
        id: row.get("id")?,
        start_line: row.get("start_line")?,
        end_line: row.get("end_line")?,
        kind: row.get("kind")?,
        name: row.get("name")?,
        // The file may come from anywhere, so a malformed list counts as empty.
        defines: serde_json::from_str(&defines).unwrap_or_default(),
        signature: row.get("signature")?,
        name_line: row.get("name_line")?,
    })
}
