//! Words of a portable file: the weights of Postgres, summed as it sums them, or FTS5.

use std::collections::{HashMap, HashSet};

use rusqlite::params;

use super::reader::{Reader, WordsBy};
use super::writer::json;
use crate::postgres::OrFault;
use crate::{LexicalHit, LexicalQuery, Within, Words};
use contract::Fault;

/// Hits of FTS5 looked at where a filter follows: the words of a question seldom stand in more.
const FTS_TESTED_MAX: i64 = 100_000;

impl Reader {
    pub(crate) fn document_frequencies(&self, terms: &[i32]) -> Result<Vec<(i32, i32)>, Fault> {
        let text = "SELECT term, chunks FROM terms WHERE term IN (SELECT value FROM json_each(?1))";
        self.rows(text, [json(&terms)?], |row| Ok((row.get(0)?, row.get(1)?)))
    }

    pub(crate) fn candidates(
        &self,
        words: Words,
        within: &Within,
        query: &LexicalQuery,
        limit: i64,
    ) -> Result<Vec<LexicalHit>, Fault> {
        let allowed: Option<HashSet<i64>> = match within {
            Within::Everything => None,
            Within::These(ids) => Some(ids.iter().copied().collect()),
            Within::Where(filter) => {
                return self.candidates(words, &self.within(filter)?, query, limit);
            }
        };
        let is_allowed = |id: &i64| allowed.as_ref().is_none_or(|allowed| allowed.contains(id));
        let mut hits: Vec<LexicalHit> = match self.words_by {
            WordsBy::Fts => {
                let tested = if allowed.is_some() { FTS_TESTED_MAX } else { limit };
                let found = self.matching(words, query, tested)?;
                found.into_iter().filter(|hit| is_allowed(&hit.chunk_id)).collect()
            }
            WordsBy::Postings => {
                let mut chosen = HashSet::new();
                for term in &query.keep {
                    let ids = self.saying(words, *term)?;
                    chosen.extend(ids.into_iter().filter(is_allowed));
                }
                self.sums(words, query, &chosen)?
            }
        };
        hits.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.chunk_id.cmp(&b.chunk_id)));
        hits.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(hits)
    }

    pub(crate) fn scores(
        &self,
        words: Words,
        query: &LexicalQuery,
        chunk_ids: &[i64],
    ) -> Result<Vec<LexicalHit>, Fault> {
        // A chunk that says none of the words scores 0, one that has no words of this kind at all does not score.
        let table = match words {
            Words::Chunks => "chunks",
            Words::Comments => "comments",
        };
        let id = if table == "chunks" { "id" } else { "chunk_id" };
        let text = format!("SELECT {id} FROM {table} WHERE {id} IN (SELECT value FROM json_each(?1))");
        let there: HashSet<i64> =
            self.rows(&text, [json(&chunk_ids)?], |row| row.get(0))?.into_iter().collect();
        let scored = self.sums(words, query, &there)?;
        let said: HashSet<i64> = scored.iter().map(|hit| hit.chunk_id).collect();
        let silent = there.difference(&said).map(|id| LexicalHit { chunk_id: *id, file_id: 0, score: 0.0 });
        Ok(silent.chain(scored.iter().copied()).collect())
    }

    /// Chunks that say a term.
    pub(super) fn saying(&self, words: Words, term: i32) -> Result<Vec<i64>, Fault> {
        let text = format!("SELECT chunk_id FROM {} WHERE term = ?1", postings(words));
        self.rows(&text, [term], |row| row.get(0))
    }

    /// BM25 of `chosen` chunks: f32 sums in the order of terms, which is what pgvector does.
    fn sums(
        &self,
        words: Words,
        query: &LexicalQuery,
        chosen: &HashSet<i64>,
    ) -> Result<Vec<LexicalHit>, Fault> {
        let mut sums: HashMap<i64, f32> = HashMap::with_capacity(chosen.len());
        let few = chosen.len() <= FEW;
        let table = postings(words);
        let text = if few {
            format!(
                "SELECT chunk_id, weight FROM {table} WHERE term = ?1 AND chunk_id IN (SELECT value FROM json_each(?2))"
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
    fn matching(&self, words: Words, query: &LexicalQuery, limit: i64) -> Result<Vec<LexicalHit>, Fault> {
        let quoted: Vec<String> =
            query.words.iter().map(|word| format!("\"{}\"", word.replace('"', "\"\""))).collect();
        if quoted.is_empty() {
            return Ok(Vec::new());
        }
        let text = match words {
            // What names a chunk says more of it than what stands in it.
            Words::Chunks => {
                "SELECT rowid, bm25(search, 2.0, 4.0, 2.0, 1.0) AS distance FROM search WHERE search MATCH ?1 \
                 ORDER BY distance, rowid LIMIT ?2"
            }
            Words::Comments => {
                "SELECT rowid, bm25(comment_search) AS distance FROM comment_search WHERE comment_search MATCH ?1 \
                 ORDER BY distance, rowid LIMIT ?2"
            }
        };
        self.rows(text, params![quoted.join(" OR "), limit], |row| {
            let distance: f64 = row.get(1)?;
            Ok(LexicalHit { chunk_id: row.get(0)?, file_id: 0, score: -distance })
        })
    }
}

/// Chunks up to which each is looked up; beyond, whole lists are read.
const FEW: usize = 256;

fn postings(words: Words) -> &'static str {
    match words {
        Words::Chunks => "postings",
        Words::Comments => "comment_postings",
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the file widens what was an f32")]
fn single(weight: f64) -> f32 {
    weight as f32
}
