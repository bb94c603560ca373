//! Vector search in a portable file: an exact scan with the same arithmetic as Postgres.

use std::collections::HashMap;

use rusqlite::params;

use super::reader::Reader;
use super::rows::VectorOut;
use super::writer::json;
use crate::postgres::OrFault;
use crate::{ChunkSelection, VectorHit};
use contract::Fault;

/// Largest deviation from 1 of the length of a unit vector after rounding to half precision.
const LENGTH_ERROR_MAX: f32 = 0.02;

impl Reader {
    pub(crate) fn candidates_exact(
        &self,
        selection: &ChunkSelection,
        query_vector: &[f32],
        limit: i64,
    ) -> Result<Vec<VectorHit>, Fault> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        match selection {
            ChunkSelection::All => self.nearest(query_vector, limit),
            ChunkSelection::Listed(ids) => {
                let mut hits = self.similarities(query_vector, ids)?;
                hits.sort_by(|a, b| {
                    b.similarity.total_cmp(&a.similarity).then_with(|| a.chunk_id.cmp(&b.chunk_id))
                });
                hits.truncate(limit);
                Ok(hits)
            }
            ChunkSelection::Matching(filter) => {
                let limit = i64::try_from(limit).unwrap_or(i64::MAX);
                self.candidates_exact(&self.select_chunks(filter)?, query_vector, limit)
            }
        }
    }

    /// The chunks of the nearest texts; ties are ordered by chunk, as in a list of all chunks.
    fn nearest(&self, query_vector: &[f32], limit: usize) -> Result<Vec<VectorHit>, Fault> {
        let query_vector = rounded(query_vector);
        let mut statement =
            self.connection.prepare_cached("SELECT hash, embedding FROM vectors").or_fault()?;
        let mut rows = statement.query([]).or_fault()?;
        let mut all: Vec<(f64, Vec<u8>)> = Vec::new();
        while let Some(row) = rows.next().or_fault()? {
            let (hash, bytes) = (row.get_ref(0).or_fault()?, row.get_ref(1).or_fault()?);
            if let (Ok(hash), Ok(bytes)) = (hash.as_blob(), bytes.as_blob())
                && let Some(similarity) = similarity_to(&query_vector, bytes)
            {
                all.push((similarity, hash.to_vec()));
            }
        }
        all.sort_by(|(a, first), (b, second)| b.total_cmp(a).then_with(|| first.cmp(second)));
        let mut hits: Vec<VectorHit> = Vec::new();
        let text = "SELECT id, file_id FROM chunks WHERE content_hash = ?1 ORDER BY id";
        for (similarity, hash) in all {
            // Chunks of all texts that are as near as the last one compete for the last places.
            if hits.len() >= limit && hits.last().is_some_and(|last| last.similarity > similarity) {
                break;
            }
            hits.extend(self.rows(text, [hash], |row| {
                Ok(VectorHit { chunk_id: row.get(0)?, file_id: row.get(1)?, similarity })
            })?);
        }
        hits.sort_by(|a, b| b.similarity.total_cmp(&a.similarity).then_with(|| a.chunk_id.cmp(&b.chunk_id)));
        hits.truncate(limit);
        Ok(hits)
    }

    pub(crate) fn similarities(
        &self,
        query_vector: &[f32],
        chunk_ids: &[i64],
    ) -> Result<Vec<VectorHit>, Fault> {
        let query_vector = rounded(query_vector);
        let text = "SELECT c.id, c.file_id, v.embedding \
             FROM json_each(?1) w JOIN chunks c ON c.id = w.value \
             JOIN vectors v ON v.hash = c.content_hash";
        let hits = self.rows(text, [json(&chunk_ids)?], |row| {
            let similarity =
                row.get_ref(2)?.as_blob().ok().and_then(|bytes| similarity_to(&query_vector, bytes));
            Ok((row.get(0)?, row.get(1)?, similarity))
        })?;
        Ok(hits
            .into_iter()
            .filter_map(|(chunk_id, file_id, similarity)| {
                Some(VectorHit { chunk_id, file_id, similarity: similarity? })
            })
            .collect())
    }

    pub(crate) fn of_chunk(&self, chunk_id: i64) -> Result<(bool, Option<Vec<f32>>), Fault> {
        let text = "SELECT v.embedding \
             FROM chunks c LEFT JOIN vectors v ON v.hash = c.content_hash \
             WHERE c.id = ?1";
        let found = self.rows(text, params![chunk_id], |row| row.get::<_, Option<Vec<u8>>>(0))?;
        let exists = !found.is_empty();
        Ok((exists, found.into_iter().flatten().next().map(|bytes| numbers(&bytes).collect())))
    }

    /// The vectors of texts, as far as they are valid: unit vectors with the dimensions of the model.
    ///
    /// # Errors
    /// `SCHEMA_VALIDATION_FAILED` if the file is damaged.
    pub fn vectors(&self, hashes: &[Vec<u8>]) -> Result<Vec<VectorOut>, Fault> {
        let mut statement =
            self.connection.prepare_cached("SELECT embedding FROM vectors WHERE hash = ?1").or_fault()?;
        let mut found = HashMap::new();
        for hash in hashes {
            let mut rows = statement.query([hash]).or_fault()?;
            if let Some(row) = rows.next().or_fault()?
                && let Ok(bytes) = row.get_ref(0).or_fault()?.as_blob()
            {
                let vector: Vec<f32> = numbers(bytes).collect();
                let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
                let fits = bytes.len() == 4 * self.model().dimensions;
                if fits && (length - 1.0).abs() <= LENGTH_ERROR_MAX {
                    found.insert(hash.clone(), vector);
                }
            }
        }
        Ok(found.into_iter().collect())
    }
}

fn numbers(bytes: &[u8]) -> impl Iterator<Item = f32> {
    bytes.chunks_exact(4).map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]]))
}

/// The query vector rounded to half precision, in which Postgres compares it.
fn rounded(query_vector: &[f32]) -> Vec<f32> {
    query_vector.iter().map(|number| half::f16::from_f32(*number).to_f32()).collect()
}

/// Inner product with a stored vector; `None` if that has other dimensions or the result is not finite.
fn similarity_to(query_vector: &[f32], bytes: &[u8]) -> Option<f64> {
    if bytes.len() != 4 * query_vector.len() {
        return None;
    }
    // Eight independent sums let the compiler vectorise the loop.
    let mut sums = [0.0_f32; 8];
    let (wide, rest) = query_vector.split_at(query_vector.len() / 8 * 8);
    let (wide_bytes, rest_bytes) = bytes.split_at(wide.len() * 4);
    for (query_block, stored_block) in wide.chunks_exact(8).zip(wide_bytes.chunks_exact(32)) {
        for (at, (sum, stored)) in sums.iter_mut().zip(numbers(stored_block)).enumerate() {
            *sum += query_block[at] * stored;
        }
    }
    let tail: f32 = rest.iter().zip(numbers(rest_bytes)).map(|(a, b)| a * b).sum();
    let product = f64::from(sums.iter().sum::<f32>() + tail);
    product.is_finite().then_some(product)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(vector: &[f32]) -> Vec<u8> {
        vector.iter().flat_map(|number| number.to_le_bytes()).collect()
    }

    #[test]
    fn similarity_is_the_inner_product_of_equal_lengths() {
        let vector: Vec<f32> = (0_u8..19).map(f32::from).collect();
        let plain: f32 = vector.iter().map(|number| number * number).sum();
        assert!((similarity_to(&vector, &bytes(&vector)).unwrap() - f64::from(plain)).abs() < 1e-3);
        assert_eq!(similarity_to(&vector, &bytes(&vector[1..])), None);
        assert_eq!(similarity_to(&[1.0], &bytes(&[f32::NAN])), None);
    }
}
