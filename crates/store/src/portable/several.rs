//! Retrieval from several repositories of a portable file, one after the other.

use std::collections::HashMap;

use super::filter::ChunkIds;
use super::reader::Reader;
use super::writer::json;
use crate::{ChunkSelection, Filter, LexicalHit, LexicalSource, RepositoryQuery, Test, VectorHit};
use contract::Fault;

impl Reader {
    pub(crate) fn candidates_of_each(
        &self,
        source: LexicalSource,
        selection: &ChunkSelection,
        queries: &[RepositoryQuery],
        limit: i64,
    ) -> Result<Vec<(i64, LexicalHit)>, Fault> {
        let mut all = Vec::new();
        for RepositoryQuery { repository_id, query } in queries {
            let own = self.of_repository(selection, *repository_id)?;
            let hits = self.candidates(source, &own, query, limit)?;
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
        let mut all = Vec::new();
        for repository_id in repositories {
            let own = self.of_repository(selection, *repository_id)?;
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

    /// The chunks of a selection that are in one repository.
    fn of_repository(&self, selection: &ChunkSelection, repository_id: i64) -> Result<ChunkSelection, Fault> {
        let own = Filter::from(Test::Repositories(vec![repository_id]));
        let among: ChunkIds = match selection {
            ChunkSelection::All => return self.select_chunks(&own),
            ChunkSelection::Matching(filter) => return self.select_chunks(&filter.clone().and(own)),
            ChunkSelection::Listed(ids) => ids.iter().copied().collect(),
        };
        let mut ids: Vec<i64> = self.passing(&own, &among)?.into_iter().collect();
        ids.sort_unstable();
        Ok(ChunkSelection::Listed(ids))
    }
}
