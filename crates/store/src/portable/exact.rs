//! The reads of exact search on a portable file. It has no index of trigrams, so they are computed from the texts.

use rusqlite::Row;

use super::reader::Reader;
use super::writer::json;
use crate::gram_query::grams_of;
use crate::{ChunkSelection, ChunkText, FilePlace, GramQuery};
use contract::Fault;

const PLACE: &str = "SELECT f.id, f.repository_id, f.path, f.language, f.chunks FROM files f";
const TEXT: &str = "SELECT c.id, c.file_id, c.start_line, c.content FROM chunks c";

impl Reader {
    /// The selected chunks with their files, at most `limit`.
    pub(crate) fn gram_candidates(
        &self,
        selection: &ChunkSelection,
        _query: &GramQuery,
        limit: i64,
    ) -> Result<Vec<(i64, i64)>, Fault> {
        let ids = self.listed_ids(selection)?;
        let text = "SELECT id, file_id FROM chunks \
             WHERE ?1 IS NULL OR id IN (SELECT value FROM json_each(?1)) LIMIT ?2";
        self.rows(text, (ids, limit), |row| Ok((row.get(0)?, row.get(1)?)))
    }

    pub(crate) fn file_places(&self, ids: &[i64]) -> Result<Vec<FilePlace>, Fault> {
        let text = format!("{PLACE} WHERE f.id IN (SELECT value FROM json_each(?1))");
        self.rows(&text, [json(&ids)?], place)
    }

    pub(crate) fn file_places_within(&self, selection: &ChunkSelection) -> Result<Vec<FilePlace>, Fault> {
        let text = format!(
            "{PLACE} WHERE ?1 IS NULL OR f.id IN \
               (SELECT file_id FROM chunks WHERE id IN (SELECT value FROM json_each(?1)))"
        );
        self.rows(&text, [self.listed_ids(selection)?], place)
    }

    pub(crate) fn chunk_texts(&self, ids: &[i64]) -> Result<Vec<ChunkText>, Fault> {
        let text = format!("{TEXT} WHERE c.id IN (SELECT value FROM json_each(?1))");
        self.rows(&text, [json(&ids)?], chunk_text)
    }

    pub(crate) fn texts_of_files(
        &self,
        files: &[i64],
        selection: &ChunkSelection,
        query: &GramQuery,
    ) -> Result<Vec<ChunkText>, Fault> {
        let text = format!(
            "{TEXT} WHERE c.file_id IN (SELECT value FROM json_each(?1)) \
               AND (?2 IS NULL OR c.id IN (SELECT value FROM json_each(?2)))"
        );
        let mut texts = self.rows(&text, (json(&files)?, self.listed_ids(selection)?), chunk_text)?;
        if !query.is_everything() {
            texts.retain(|text| query.accepts(&grams_of(&text.content)));
        }
        Ok(texts)
    }

    /// The ids of a selection as JSON; `None`: all chunks.
    fn listed_ids(&self, selection: &ChunkSelection) -> Result<Option<String>, Fault> {
        match selection {
            ChunkSelection::All => Ok(None),
            ChunkSelection::Listed(ids) => Ok(Some(json(ids)?)),
            ChunkSelection::Matching(filter) => match self.select_chunks(filter)? {
                ChunkSelection::Listed(ids) => Ok(Some(json(&ids)?)),
                _ => Ok(None),
            },
        }
    }
}

fn place(row: &Row<'_>) -> rusqlite::Result<FilePlace> {
    Ok(FilePlace {
        id: row.get("id")?,
        repository_id: row.get("repository_id")?,
        path: row.get("path")?,
        language: row.get("language")?,
        chunks: row.get("chunks")?,
    })
}

fn chunk_text(row: &Row<'_>) -> rusqlite::Result<ChunkText> {
    Ok(ChunkText {
        id: row.get("id")?,
        file_id: row.get("file_id")?,
        start_line: row.get("start_line")?,
        content: row.get("content")?,
    })
}
