//! Retrieval from several repositories in one statement: each has its own query and its own limit, as if it were searched alone.

use pgvector::HalfVector;

use super::condition::Condition;
use super::filter::ChunkSelection;
use super::lexical::{self, LexicalHit, LexicalQuery, LexicalSource, selecting, sparse};
use super::vectors::{self, VectorHit};
use crate::postgres::{Query, sql};
use crate::transaction::ProjectTx;
use contract::Fault;

/// A repository with the query of its lexical index; the weights of its terms are its own.
#[derive(Debug, Clone, PartialEq)]
pub struct RepositoryQuery {
    /// Id of the repository.
    pub repository_id: i64,
    /// Its query.
    pub query: LexicalQuery,
}

/// The best chunks of each repository among those of `selection`, as [`lexical::candidates`] finds them in one repository: at most
/// `limit` of each, best first. Each hit comes with its repository. Reads all chunks of the selection, so these should be few.
pub async fn lexical_hits(
    tx: &mut ProjectTx,
    source: LexicalSource,
    selection: &ChunkSelection,
    queries: &[RepositoryQuery],
    limit: i64,
) -> Result<Vec<(i64, LexicalHit)>, Fault> {
    let next = 2 + 3 * queries.len();
    let select = |facts: &str, condition: &str| {
        format!(
            "SELECT b.repository_id, b.chunk_id, b.file_id, b.distance \
             FROM (SELECT q.repository_id, l.chunk_id, l.file_id, l.weights <#> q.weights AS distance, \
                 row_number() OVER (PARTITION BY q.repository_id ORDER BY l.weights <#> q.weights, l.chunk_id) AS place \
               FROM {lexical} l JOIN {files} f ON f.id = l.file_id {facts} \
               JOIN (VALUES {queries}) q (repository_id, weights, keep) ON q.repository_id = f.repository_id \
               WHERE l.weights <#> q.keep < 0 AND {condition}) b \
             WHERE b.place <= $1 ORDER BY b.repository_id, b.place",
            lexical = tx.table(source.table()),
            files = tx.table("files"),
            queries = rows_of_three(2, queries.len(), ["int8", "sparsevec", "sparsevec"]),
        )
    };
    let bind = |text: String| {
        let query = sql(text).bind(limit);
        queries.iter().fold(query, |query, RepositoryQuery { repository_id, query: words }| {
            query.bind(*repository_id).bind(sparse(&words.terms, &words.weights)).bind(selecting(words))
        })
    };
    let rows = match selection {
        ChunkSelection::All => tx.tx.all(bind(select("", "true"))).await?,
        ChunkSelection::Listed(ids) => {
            let text = select("", &format!("l.chunk_id = ANY(${next})"));
            tx.tx.all(bind(text).bind(ids)).await?
        }
        ChunkSelection::Matching(filter) => match filter.files() {
            Some((files, _)) => {
                let text = select("", &format!("l.file_id = ANY(${next})"));
                tx.tx.all(bind(text).bind(files)).await?
            }
            None => {
                let condition = Condition::new(filter, tx, next);
                let text = select(&condition.facts_join(tx, "l.chunk_id"), &condition.text);
                tx.tx.all(condition.bind(bind(text))).await?
            }
        },
    };
    rows.iter().map(|row| Ok((row.try_get("repository_id")?, lexical::hit(row)?))).collect()
}

/// The nearest chunks of each repository among those of `selection`, by an exact scan: at most `limit` of each, best first. Each
/// hit comes with its repository.
pub async fn vector_hits(
    tx: &mut ProjectTx,
    selection: &ChunkSelection,
    repositories: &[i64],
    query_vector: &[f32],
    limit: i64,
) -> Result<Vec<(i64, VectorHit)>, Fault> {
    let select = |condition: &str| {
        // `+ 0` keeps the planner from using the HNSW index.
        format!(
            "SELECT b.repository_id, b.chunk_id, b.file_id, b.distance \
             FROM (SELECT f.repository_id, k.chunk_id, k.file_id, (v.embedding <#> $1) + 0 AS distance, \
                 row_number() OVER (PARTITION BY f.repository_id ORDER BY (v.embedding <#> $1) + 0, k.chunk_id) AS place \
               FROM {facts} k JOIN {files} f ON f.id = k.file_id JOIN {vectors} v ON v.hash = k.content_hash \
               WHERE f.repository_id = ANY($3) AND {condition}) b \
             WHERE b.place <= $2 ORDER BY b.repository_id, b.place",
            facts = tx.table("facts"),
            files = tx.table("files"),
            vectors = tx.table("vectors"),
        )
    };
    let query_vector = HalfVector::from_f32_slice(query_vector);
    let bind = |text: String| -> Query<'_> { sql(text).bind(&query_vector).bind(limit).bind(repositories) };
    let rows = match selection {
        ChunkSelection::All => tx.tx.all(bind(select("true"))).await?,
        ChunkSelection::Listed(ids) => tx.tx.all(bind(select("k.chunk_id = ANY($4)")).bind(ids)).await?,
        ChunkSelection::Matching(filter) => match filter.files() {
            Some((files, _)) => tx.tx.all(bind(select("k.file_id = ANY($4)")).bind(files)).await?,
            None => {
                let condition = Condition::new(filter, tx, 4);
                tx.tx.all(condition.bind(bind(select(&condition.text)))).await?
            }
        },
    };
    rows.iter().map(|row| Ok((row.try_get("repository_id")?, vectors::hit(row)?))).collect()
}

/// The placeholders of `count` rows of VALUES with three columns of these types, numbered from `$first` on.
pub(super) fn rows_of_three(first: usize, count: usize, types: [&str; 3]) -> String {
    let row = |at: usize| {
        let columns =
            types.iter().enumerate().map(|(column, kind)| format!("${}::{kind}", first + 3 * at + column));
        format!("({})", columns.collect::<Vec<_>>().join(", "))
    };
    (0..count).map(row).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_numbered_by_row() {
        assert_eq!(
            rows_of_three(3, 2, ["a", "b", "c[]"]),
            "($3::a, $4::b, $5::c[]), ($6::a, $7::b, $8::c[])"
        );
    }
}
