//! Lexical search in a portable file: with the weights of Postgres, summed in the same order, or with FTS5.

use std::collections::{HashMap, HashSet};

use rusqlite::params;

use super::reader::{LexicalBackend, Reader};
use super::writer::json;
use crate::postgres::OrFault;
use crate::{ChunkSelection, LexicalHit, LexicalQuery, LexicalSource, TermCount};
use contract::Fault;

/// Maximum number of hits of FTS5 that are tested against a filter; queries seldom match more.
const FTS_TESTED_MAX: i64 = 100_000;

impl Reader {
    pub(crate) fn document_frequencies(
        &self,
        repositories: &[i64],
        terms: &[i32],
    ) -> Result<Vec<TermCount>, Fault> {
        let text = "SELECT repository_id, term, chunks \
             FROM terms \
             WHERE repository_id IN (SELECT value FROM json_each(?1)) \
               AND term IN (SELECT value FROM json_each(?2))";
        self.rows(text, [json(&repositories)?, json(&terms)?], |row| {
            Ok(TermCount { repository_id: row.get(0)?, term: row.get(1)?, chunks: row.get(2)? })
        })
    }

    pub(crate) fn candidates(
        &self,
        source: LexicalSource,
        selection: &ChunkSelection,
        query: &LexicalQuery,
        limit: i64,
    ) -> Result<Vec<LexicalHit>, Fault> {
        let allowed: Option<HashSet<i64>> = match selection {
            ChunkSelection::All => None,
            ChunkSelection::Listed(ids) => Some(ids.iter().copied().collect()),
            ChunkSelection::Matching(filter) => {
                return self.candidates(source, &self.select_chunks(filter)?, query, limit);
            }
        };
        let is_allowed = |id: &i64| allowed.as_ref().is_none_or(|allowed| allowed.contains(id));
        let mut hits: Vec<LexicalHit> = match self.lexical_backend {
            LexicalBackend::Fts => {
                let tested = if allowed.is_some() { FTS_TESTED_MAX } else { limit };
                let found = self.matching(source, query, tested)?;
                found.into_iter().filter(|hit| is_allowed(&hit.chunk_id)).collect()
            }
            LexicalBackend::Postings => {
                let mut chosen = HashSet::new();
                for term in &query.keep {
                    let ids = self.chunks_with_term(source, *term)?;
                    chosen.extend(ids.into_iter().filter(is_allowed));
                }
                self.sums(source, query, &chosen)?
            }
        };
        hits.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.chunk_id.cmp(&b.chunk_id)));
        hits.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(hits)
    }

    pub(crate) fn scores(
        &self,
        source: LexicalSource,
        query: &LexicalQuery,
        chunk_ids: &[i64],
    ) -> Result<Vec<LexicalHit>, Fault> {
        // A chunk without any term of the query scores 0; a chunk that does not have this source at all gets no score.
        let table = match source {
            LexicalSource::Chunks => "chunks",
            LexicalSource::Comments => "comments",
        };
        let id = if table == "chunks" { "id" } else { "chunk_id" };
        let text = format!("SELECT {id} FROM {table} WHERE {id} IN (SELECT value FROM json_each(?1))");
        let existing: HashSet<i64> =
            self.rows(&text, [json(&chunk_ids)?], |row| row.get(0))?.into_iter().collect();
        let scored = self.sums(source, query, &existing)?;
        let scored_ids: HashSet<i64> = scored.iter().map(|hit| hit.chunk_id).collect();
        let without_terms =
            existing.difference(&scored_ids).map(|id| LexicalHit { chunk_id: *id, file_id: 0, score: 0.0 });
        Ok(without_terms.chain(scored.iter().copied()).collect())
    }

    /// Chunks that contain a term.
    pub(super) fn chunks_with_term(&self, source: LexicalSource, term: i32) -> Result<Vec<i64>, Fault> {
        let text = format!("SELECT chunk_id FROM {} WHERE term = ?1", postings(source));
        self.rows(&text, [term], |row| row.get(0))
    }

    pub(crate) fn terms_within(&self, chunk_ids: &[i64], terms: &[i32]) -> Result<Vec<(i32, i64)>, Fault> {
        if self.lexical_backend == LexicalBackend::Fts {
            return Ok(Vec::new());
        }
        let text = format!(
            "SELECT term, count(*) FROM {} WHERE term IN (SELECT value FROM json_each(?1)) \
               AND chunk_id IN (SELECT value FROM json_each(?2)) GROUP BY term",
            postings(LexicalSource::Chunks)
        );
        self.rows(&text, params![json(&terms)?, json(&chunk_ids)?], |row| Ok((row.get(0)?, row.get(1)?)))
    }

    /// BM25 scores of the `chosen` chunks: sums of f32 in the order of terms, as pgvector computes them.
    fn sums(
        &self,
        source: LexicalSource,
        query: &LexicalQuery,
        chosen: &HashSet<i64>,
    ) -> Result<Vec<LexicalHit>, Fault> {
        let mut sums: HashMap<i64, f32> = HashMap::with_capacity(chosen.len());
        let few = chosen.len() <= FEW;
        let table = postings(source);
        let text = if few {
            format!(
                "SELECT chunk_id, weight \
                 FROM {table} \
                 WHERE term = ?1 AND chunk_id IN (SELECT value FROM json_each(?2))"
            )
        } else {
            format!("SELECT chunk_id, weight FROM {table} WHERE term = ?1 AND ?2 IS NOT NULL")
        };
        let ids: Vec<i64> = if few { chosen.iter().copied().collect() } else { Vec::new() };
        let ids = json(&ids)?;
        let mut statement = self.connection.prepare_cached(&text).or_fault()?;
        for (term, weight) in query.terms.iter().zip(&query.weights) {
            let mut rows = statement.query(params![term, ids]).or_fault()?;
            while let Some(row) = rows.next().or_fault()? {
                let chunk_id: i64 = row.get(0).or_fault()?;
                if chosen.contains(&chunk_id) {
                    *sums.entry(chunk_id).or_default() += single(row.get(1).or_fault()?) * weight;
                }
            }
        }
        Ok(sums
            .into_iter()
            .map(|(chunk_id, sum)| LexicalHit { chunk_id, file_id: 0, score: f64::from(sum) })
            .collect())
    }

    /// The best chunks by FTS5's own BM25.
    fn matching(
        &self,
        source: LexicalSource,
        query: &LexicalQuery,
        limit: i64,
    ) -> Result<Vec<LexicalHit>, Fault> {
        let quoted: Vec<String> =
            query.words.iter().map(|word| format!("\"{}\"", word.replace('"', "\"\""))).collect();
        if quoted.is_empty() {
            return Ok(Vec::new());
        }
        let text = match source {
            // Columns path, name, signature and body: a match in the name of a chunk weighs most.
            LexicalSource::Chunks => {
                "SELECT rowid, bm25(search, 2.0, 4.0, 2.0, 1.0) AS distance \
                 FROM search \
                 WHERE search MATCH ?1 ORDER BY distance, rowid LIMIT ?2"
            }
            LexicalSource::Comments => {
                "SELECT rowid, bm25(comment_search) AS distance \
                 FROM comment_search \
                 WHERE comment_search MATCH ?1 ORDER BY distance, rowid LIMIT ?2"
            }
        };
        self.rows(text, params![quoted.join(" OR "), limit], |row| {
            let distance: f64 = row.get(1)?;
            Ok(LexicalHit { chunk_id: row.get(0)?, file_id: 0, score: -distance })
        })
    }
}

/// Up to this number of chunks each is looked up in the postings; for more, whole posting lists are read.
const FEW: usize = 256;

fn postings(source: LexicalSource) -> &'static str {
    match source {
        LexicalSource::Chunks => "postings",
        LexicalSource::Comments => "comment_postings",
    }
}

#[expect(clippy::cast_possible_truncation, reason = "SQLite stores f32 weights as f64")]
fn single(weight: f64) -> f32 {
    weight as f32
}
