//! The definitions in the chunks of a portable file.

use std::collections::{HashMap, HashSet};

use rusqlite::{Row, params};

use super::reader::Reader;
use super::writer::{Writer, json};
use crate::postgres::OrFault;
use crate::{ChunkSelection, DefinitionRow};
use contract::Fault;

const COLUMNS: &str = "d.chunk_id, d.ordinal, d.name, d.qualified, d.kind, d.signature, d.line, d.name_column, \
      d.start_line, d.end_line, d.exported, d.ids";

impl Writer {
    pub(super) fn put_definitions(&self, definitions: &[DefinitionRow]) -> Result<(), Fault> {
        let mut statement = self.connection.prepare_cached(
            "INSERT INTO definitions (chunk_id, ordinal, name, qualified, kind, signature, line, name_column, \
               start_line, end_line, exported, ids) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        ).or_fault()?;
        for one in definitions {
            let ids = one.ids.as_ref().map(json).transpose()?;
            statement
                .execute(params![
                    one.chunk_id, one.ordinal, one.name, one.qualified, one.kind, one.signature, one.line,
                    one.column, one.start_line, one.end_line, one.exported, ids
                ])
                .or_fault()?;
        }
        Ok(())
    }
}

impl Reader {
    pub(crate) fn definitions(&self, chunk_ids: &[i64]) -> Result<Vec<DefinitionRow>, Fault> {
        let text = format!(
            "SELECT {COLUMNS} \
             FROM definitions d \
             WHERE d.chunk_id IN (SELECT value FROM json_each(?1)) \
             ORDER BY d.chunk_id, d.ordinal"
        );
        self.rows(&text, [json(&chunk_ids)?], decode)
    }

    pub(crate) fn named(
        &self,
        ids: &[i64],
        selection: &ChunkSelection,
        wanted: &[i64],
        limit: i64,
    ) -> Result<Vec<(i64, DefinitionRow)>, Fault> {
        let mut chunks = self.chunks_with(ids, false)?;
        let listed = match selection {
            ChunkSelection::All => None,
            ChunkSelection::Listed(these) => Some(these.clone()),
            ChunkSelection::Matching(filter) => match self.select_chunks(filter)? {
                ChunkSelection::Listed(these) => Some(these),
                _ => None,
            },
        };
        if let Some(listed) = listed {
            let listed: HashSet<i64> = listed.into_iter().collect();
            chunks.retain(|id| listed.contains(id));
        }
        let repositories = self.repositories_of(&chunks)?;
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut taken: HashMap<i64, usize> = HashMap::new();
        chunks.retain(|id| {
            let Some(repository) = repositories.get(id) else { return false };
            if !wanted.is_empty() && !wanted.contains(repository) {
                return false;
            }
            let taken = taken.entry(*repository).or_default();
            *taken += 1;
            *taken <= limit
        });
        let definitions = self.definitions(&chunks)?.into_iter();
        let of_repository = |row: DefinitionRow| Some((*repositories.get(&row.chunk_id)?, row));
        Ok(definitions.filter_map(of_repository).collect())
    }
}

/// Decodes a row of [`COLUMNS`].
fn decode(row: &Row<'_>) -> rusqlite::Result<DefinitionRow> {
    let ids: Option<String> = row.get("ids")?;
    Ok(DefinitionRow {
        chunk_id: row.get("chunk_id")?,
        ordinal: row.get("ordinal")?,
        name: row.get("name")?,
        qualified: row.get("qualified")?,
        kind: row.get("kind")?,
        signature: row.get("signature")?,
        line: row.get("line")?,
        column: row.get("name_column")?,
        start_line: row.get("start_line")?,
        end_line: row.get("end_line")?,
        exported: row.get("exported")?,
        // The file may come from anywhere, so a malformed list counts as empty.
        ids: ids.map(|ids| serde_json::from_str(&ids).unwrap_or_default()),
        language: None,
    })
}
