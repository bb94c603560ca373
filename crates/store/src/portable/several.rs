//! Retrieval from several repositories of a portable file, one after the other.

use std::collections::HashMap;

use super::reader::Reader;
use super::writer::json;
use crate::{ChunkSelection, LexicalHit, LexicalSource, RepositoryQuery, VectorHit};
use contract::Fault;

impl Reader {
    pub(crate) fn candidates_of_each(
        &self,
        source: LexicalSource,
        selection: &ChunkSelection,
        queries: &[RepositoryQuery],
        limit: i64,
    ) -> Result<Vec<(i64, LexicalHit)>, Fault> {
        let (mut by_repository, mut all) = (self.by_repository(selection)?, Vec::new());
        for RepositoryQuery { repository_id, query } in queries {
            let hits = self.candidates(source, &take(&mut by_repository, *repository_id), query, limit)?;
            all.extend(hits.into_iter().map(|hit| (*repository_id, hit)));
        }
        Ok(all)
    }

    pub(crate) fn nearest_of_each(
        &self,
        selection: &ChunkSelection,
        repositories: &[i64],
        query_vector: &[f32],
        limit: i64,
    ) -> Result<Vec<(i64, VectorHit)>, Fault> {
        let (mut by_repository, mut all) = (self.by_repository(selection)?, Vec::new());
        for repository_id in repositories {
            let own = take(&mut by_repository, *repository_id);
            let hits = self.candidates_exact(&own, query_vector, limit)?;
            all.extend(hits.into_iter().map(|hit| (*repository_id, hit)));
        }
        Ok(all)
    }

    /// The repositories of chunks.
    pub(super) fn repositories_of(&self, chunks: &[i64]) -> Result<HashMap<i64, i64>, Fault> {
        let text = "SELECT c.id, f.repository_id \
             FROM chunks c JOIN files f ON f.id = c.file_id \
             WHERE c.id IN (SELECT value FROM json_each(?1))";
        let rows = self.rows(text, [json(&chunks)?], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.into_iter().collect())
    }

    /// The chunks of a selection by repository.
    fn by_repository(&self, selection: &ChunkSelection) -> Result<HashMap<i64, Vec<i64>>, Fault> {
        let ids = match selection {
            ChunkSelection::Listed(ids) => ids.clone(),
            ChunkSelection::Matching(filter) => match self.select_chunks(filter)? {
                ChunkSelection::Listed(ids) => ids,
                all => return self.by_repository(&all),
            },
            ChunkSelection::All => self.rows("SELECT id FROM chunks ORDER BY id", [], |row| row.get(0))?,
        };
        let (repositories, mut grouped) = (self.repositories_of(&ids)?, HashMap::new());
        for id in ids {
            if let Some(repository_id) = repositories.get(&id) {
                grouped.entry(*repository_id).or_insert_with(Vec::new).push(id);
            }
        }
        Ok(grouped)
    }
}

fn take(by_repository: &mut HashMap<i64, Vec<i64>>, repository_id: i64) -> ChunkSelection {
    ChunkSelection::Listed(by_repository.remove(&repository_id).unwrap_or_default())
}
