//! Values of facts in a portable file, and the git history of its files.

use std::collections::HashMap;

use rusqlite::params;

use super::reader::Reader;
use super::writer::json;
use crate::FileFacts;
use crate::names::{ChunkWithFact, folded};
use contract::Fault;

impl Reader {
    pub(crate) fn find_names(&self, fields: &[i16], texts: &[String], limit: i64) -> Result<Vec<i64>, Fault> {
        let text = "SELECT n.id \
             FROM names n \
             WHERE n.field IN (SELECT value FROM json_each(?1)) AND EXISTS (SELECT 1 FROM json_each(?2) w \
               WHERE instr(n.folded, w.value) > 0 OR instr(replace(n.folded, ' ', ''), w.value) > 0 \
               OR w.value = '') \
             LIMIT ?3";
        self.rows(text, params![json(&fields)?, json(&texts)?, limit], |row| row.get(0))
    }

    pub(crate) fn names_of_lengths(
        &self,
        fields: &[i16],
        lengths: &[i32],
        limit: i64,
    ) -> Result<Vec<String>, Fault> {
        let text = "SELECT DISTINCT n.name \
             FROM names n \
             WHERE n.field IN (SELECT value FROM json_each(?1)) \
               AND length(n.name) IN (SELECT value FROM json_each(?2)) \
             LIMIT ?3";
        self.rows(text, params![json(&fields)?, json(&lengths)?, limit], |row| row.get(0))
    }

    pub(crate) fn used_in_repositories(&self, ids: &[i64], repositories: &[i64]) -> Result<Vec<i64>, Fault> {
        let text = "SELECT w.value \
             FROM json_each(?1) w \
             WHERE EXISTS (SELECT 1 FROM chunk_facts k JOIN chunks c ON c.id = k.chunk_id \
               JOIN files f ON f.id = c.file_id WHERE k.name_id = w.value AND f.repository_id IN \
               (SELECT value FROM json_each(?2)))";
        self.rows(text, params![json(&ids)?, json(&repositories)?], |row| row.get(0))
    }

    pub(crate) fn with_prefix(&self, field: i16, text: &str, separators: &[&str]) -> Result<Vec<i64>, Fault> {
        let (whole, prefixes) = folded(text, separators);
        let text = "SELECT n.id \
             FROM names n \
             WHERE n.field = ?1 AND (n.folded = ?2 OR substr(n.folded, 1, length(?2) + 1) IN \
               (SELECT value FROM json_each(?3))) \
             ORDER BY n.id";
        self.rows(text, params![field, whole, json(&prefixes)?], |row| row.get(0))
    }

    pub(crate) fn with_suffix(&self, field: i16, text: &str, separators: &[&str]) -> Result<Vec<i64>, Fault> {
        let (whole, prefixes) = folded(text, separators);
        let text = "SELECT n.id \
             FROM names n \
             WHERE n.field = ?1 AND (substr(n.folded, -length(?2)) = ?2 OR EXISTS \
               (SELECT 1 FROM json_each(?3) w WHERE instr(n.folded, w.value) > 0)) \
             ORDER BY n.id";
        self.rows(text, params![field, whole, json(&prefixes)?], |row| row.get(0))
    }

    pub(crate) fn chunks_with(&self, ids: &[i64], flows: bool) -> Result<Vec<i64>, Fault> {
        let select = |table: &str| {
            // CROSS JOIN fixes the order: looks up each id, instead of comparing every row with all ids.
            let text =
                format!("SELECT k.chunk_id FROM json_each(?1) w CROSS JOIN {table} k ON k.name_id = w.value");
            self.rows(&text, [json(&ids)?], |row| row.get(0))
        };
        let mut chunks: Vec<i64> = select("chunk_facts")?;
        if flows {
            chunks.extend(select("chunk_flows")?);
        }
        chunks.sort_unstable();
        chunks.dedup();
        Ok(chunks)
    }

    pub(crate) fn names_of_chunks(&self, ids: &[i64]) -> Result<Vec<(i64, i16, String)>, Fault> {
        let text = "SELECT u.chunk_id, n.field, n.name \
             FROM (SELECT chunk_id, name_id FROM chunk_facts WHERE chunk_id IN \
               (SELECT value FROM json_each(?1)) UNION ALL SELECT chunk_id, name_id FROM chunk_authors \
               WHERE chunk_id IN (SELECT value FROM json_each(?1))) u \
             JOIN names n ON n.id = u.name_id \
             ORDER BY u.chunk_id, n.field, n.name";
        self.rows(text, [json(&ids)?], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
    }

    pub(crate) fn chunks_with_facts(
        &self,
        wanted: &[(i64, i64)],
        limit: i64,
    ) -> Result<Vec<ChunkWithFact>, Fault> {
        let text = "SELECT c.id AS chunk_id, c.name, f.path, c.detail \
             FROM chunk_facts k JOIN chunks c ON c.id = k.chunk_id \
             JOIN files f ON f.id = c.file_id \
             WHERE k.name_id = ?1 AND f.repository_id = ?2 \
             ORDER BY f.path, c.id LIMIT ?3";
        let mut sorted = wanted.to_vec();
        sorted.sort_unstable();
        let mut holders = Vec::new();
        for (id, repository_id) in sorted {
            holders.extend(self.rows(text, params![id, repository_id, limit], |row| {
                Ok(ChunkWithFact {
                    id,
                    repository_id,
                    chunk_id: row.get("chunk_id")?,
                    name: row.get("name")?,
                    path: row.get("path")?,
                    detail: row.get("detail")?,
                })
            })?);
        }
        Ok(holders)
    }

    pub(crate) fn of_files(&self, ids: &[i64]) -> Result<Vec<(i64, FileFacts)>, Fault> {
        let text = "SELECT id, last_author, last_modified_s, last_commit, churn_added, churn_deleted, \
               churn_commits, meta \
             FROM files \
             WHERE id IN (SELECT value FROM json_each(?1))";
        let known = self.rows(text, [json(&ids)?], |row| {
            let meta: Option<String> = row.get("meta")?;
            let facts = FileFacts {
                last_author: row.get("last_author")?,
                last_modified_s: row.get("last_modified_s")?,
                last_commit: row.get("last_commit")?,
                churn_added: row.get("churn_added")?,
                churn_deleted: row.get("churn_deleted")?,
                churn_commits: row.get("churn_commits")?,
                meta: meta.and_then(|meta| serde_json::from_str(&meta).ok()),
            };
            Ok((row.get("id")?, facts))
        })?;
        // One row for each file, even if an id was passed twice.
        let unique: HashMap<i64, FileFacts> = known.into_iter().collect();
        Ok(unique.into_iter().collect())
    }
}
