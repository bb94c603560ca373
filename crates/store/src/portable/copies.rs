//! Equal texts in a portable file.

use std::collections::{HashMap, HashSet};

use rusqlite::params;

use super::reader::Reader;
use super::writer::json;
use crate::copies::{NAMED_PLACES_MAX, OtherPlace, OtherPlaces, SAME_TEXT_MAX};
use crate::{CandidateText, ChunkSelection, SearchedPlaces, TextPlace};
use contract::Fault;

impl Reader {
    pub(crate) fn places(&self, ids: &[i64]) -> Result<Vec<TextPlace>, Fault> {
        let text = "SELECT c.id, f.repository_id, f.path, c.start_line, c.end_line, f.mode, c.content_hash, \
               length(CAST(c.content AS BLOB)) AS bytes \
             FROM json_each(?1) w JOIN chunks c ON c.id = w.value JOIN files f ON f.id = c.file_id";
        self.rows(text, [json(&ids)?], |row| {
            let (first, last): (i32, i32) = (row.get("start_line")?, row.get("end_line")?);
            let lines = i64::from(last) - i64::from(first) + 1;
            let hash: Vec<u8> = row.get("content_hash")?;
            let is_record = row.get_ref("mode")?.as_str()? == "records";
            Ok(TextPlace {
                chunk_id: row.get("id")?,
                repository_id: row.get("repository_id")?,
                path: row.get("path")?,
                start_line: first,
                text: CandidateText::new(Some(&*hash).filter(|_| !is_record), lines, row.get("bytes")?),
            })
        })
    }

    /// Returns the fingerprints of the texts of chunks.
    pub(super) fn texts(&self, ids: &[i64]) -> Result<HashMap<i64, CandidateText>, Fault> {
        let places = self.places(ids)?.into_iter();
        Ok(places.filter_map(|place| Some((place.chunk_id, place.text?))).collect())
    }

    pub(crate) fn other_places(
        &self,
        ids: &[i64],
        searched: SearchedPlaces<'_>,
    ) -> Result<Vec<OtherPlaces>, Fault> {
        let matching = match searched.selection {
            ChunkSelection::Matching(filter) => Some(self.select_chunks(filter)?),
            _ => None,
        };
        let selected: Option<HashSet<i64>> = match matching.as_ref().unwrap_or(searched.selection) {
            ChunkSelection::Listed(ids) => Some(ids.iter().copied().collect()),
            _ => None,
        };
        let text = "SELECT s.id, f.repository_id, f.path, s.start_line, \
               (SELECT h.repository_id FROM files h WHERE h.id = o.file_id) \
             FROM chunks o JOIN chunks s ON s.content_hash = o.content_hash AND s.id <> o.id \
             JOIN files f ON f.id = s.file_id WHERE o.id = ?1 \
             AND f.repository_id IN (SELECT value FROM json_each(?3)) LIMIT ?2";
        let repositories = json(&searched.repositories)?;
        let mut all = Vec::new();
        for chunk_id in ids {
            let mut same: Vec<(i64, OtherPlace, i64)> =
                self.rows(text, params![chunk_id, SAME_TEXT_MAX, repositories], |row| {
                    let place =
                        OtherPlace { repository_id: row.get(1)?, path: row.get(2)?, start_line: row.get(3)? };
                    Ok((row.get(0)?, place, row.get(4)?))
                })?;
            let total_is_least = same.len() >= usize::try_from(SAME_TEXT_MAX).unwrap_or(usize::MAX);
            same.retain(|(id, ..)| selected.as_ref().is_none_or(|selected| selected.contains(id)));
            same.sort_by(|(id, a, home), (other_id, b, _)| {
                let by_repository = |place: &OtherPlace| (place.repository_id != *home, place.repository_id);
                by_repository(a)
                    .cmp(&by_repository(b))
                    .then_with(|| (&a.path, a.start_line, id).cmp(&(&b.path, b.start_line, other_id)))
            });
            let total = u32::try_from(same.len()).unwrap_or(u32::MAX);
            let named = usize::try_from(NAMED_PLACES_MAX).unwrap_or(usize::MAX);
            let first: Vec<OtherPlace> = same.into_iter().take(named).map(|(_, place, _)| place).collect();
            if total > 0 {
                all.push(OtherPlaces { chunk_id: *chunk_id, total, total_is_least, first });
            }
        }
        Ok(all)
    }
}
