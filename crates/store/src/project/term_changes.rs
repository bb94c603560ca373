//! Keeps the document frequencies of counted repositories exact: whatever changes chunks in a transaction also changes, in this
//! transaction, how many chunks contain each of their terms. A repository is counted from its first rebuild on.

use std::collections::HashMap;

use crate::postgres::sql;
use crate::transaction::ProjectTx;
use contract::Fault;

/// The condition that the terms of a row of `repositories` are counted exactly. Until then they are counted when the run ends.
pub(super) const IS_COUNTED: &str =
    "statistics_chunks > 0 AND changed_since_statistics = 0 AND revisions_of IS NULL";

/// The changes of a transaction, by repository.
#[derive(Debug, Default)]
pub(super) struct TermChanges(HashMap<i64, RepositoryChange>);

/// Chunks that a repository gained, less those that it lost: in all, and those that contain a term.
#[derive(Debug, Default)]
struct RepositoryChange {
    chunks: i64,
    terms: HashMap<i32, i64>,
}

impl RepositoryChange {
    fn add(&mut self, term: i32, chunks: i64) {
        *self.terms.entry(term).or_default() += chunks;
    }

    /// The terms whose frequency changes, sorted, with the changes.
    fn by_term(self) -> (Vec<i32>, Vec<i64>) {
        let mut terms: Vec<(i32, i64)> = self.terms.into_iter().filter(|(_, chunks)| *chunks != 0).collect();
        terms.sort_unstable();
        terms.into_iter().unzip()
    }
}

impl TermChanges {
    /// Takes away the chunks of files. Call it before they are removed, or leave their repositories.
    pub(super) async fn remove(&mut self, tx: &mut ProjectTx, file_ids: &[i64]) -> Result<(), Fault> {
        // No term has the id 0, which counts the chunks here.
        let text = format!(
            "SELECT n.repository_id, array_agg(n.term) AS terms, array_agg(n.chunks) AS chunks \
             FROM (SELECT f.repository_id, u.term, count(*) AS chunks \
               FROM {files} f JOIN {repositories} r ON r.id = f.repository_id AND {IS_COUNTED} \
               JOIN {lexical} l ON l.file_id = f.id CROSS JOIN unnest(l.terms || 0) AS u (term) \
               WHERE f.id = ANY($1) GROUP BY f.repository_id, u.term) n \
             GROUP BY n.repository_id",
            files = tx.table("files"),
            repositories = tx.table("repositories"),
            lexical = tx.table("lexical"),
        );
        for row in tx.tx.all(sql(text).bind(file_ids)).await? {
            let terms: Vec<i32> = row.try_get("terms")?;
            let chunks: Vec<i64> = row.try_get("chunks")?;
            let change = self.0.entry(row.try_get("repository_id")?).or_default();
            for (term, chunks) in terms.into_iter().zip(chunks) {
                match term {
                    0 => change.chunks -= chunks,
                    _ => change.add(term, -chunks),
                }
            }
        }
        Ok(())
    }

    /// Adds chunks of a repository; `terms` has the terms of all of them, each as often as it has chunks.
    pub(super) fn add(&mut self, repository_id: i64, chunks: usize, terms: &[i32]) {
        let change = self.0.entry(repository_id).or_default();
        change.chunks += i64::try_from(chunks).unwrap_or(i64::MAX);
        terms.iter().for_each(|term| change.add(*term, 1));
    }

    /// Adds the changes to the document frequencies of counted repositories. Call it at the end of the transaction.
    pub(super) async fn write(self, tx: &mut ProjectTx) -> Result<(), Fault> {
        for (repository_id, change) in self.0 {
            let text = format!(
                "UPDATE {} SET statistics_chunks = greatest(statistics_chunks + $2, 0) WHERE id = $1 AND {IS_COUNTED}",
                tx.table("repositories")
            );
            if tx.execute(sql(text).bind(repository_id).bind(change.chunks)).await? == 0 {
                continue;
            }
            let (terms, chunks) = change.by_term();
            let table = tx.table("terms");
            let text = format!(
                "INSERT INTO {table} AS t (repository_id, term, chunks) \
                 SELECT $1, c.term, c.chunks FROM unnest($2::int4[], $3::int8[]) AS c (term, chunks) \
                 ON CONFLICT (repository_id, term) DO UPDATE SET chunks = t.chunks + excluded.chunks"
            );
            tx.execute(sql(text).bind(repository_id).bind(&terms).bind(&chunks)).await?;
            let fewer = terms.into_iter().zip(chunks).filter(|(_, chunks)| *chunks < 0);
            let fewer: Vec<i32> = fewer.map(|(term, _)| term).collect();
            let text =
                format!("DELETE FROM {table} WHERE repository_id = $1 AND term = ANY($2) AND chunks <= 0");
            tx.execute(sql(text).bind(repository_id).bind(fewer)).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_term_that_is_lost_and_gained_does_not_change() {
        let mut changes = TermChanges::default();
        changes.add(7, 2, &[3, 1, 3]);
        let change = changes.0.entry(7).or_default();
        for (term, chunks) in [(3, -1), (1, -1), (9, -2)] {
            change.add(term, chunks);
        }
        let change = changes.0.remove(&7).unwrap();
        assert_eq!((change.chunks, change.by_term()), (2, (vec![3, 9], vec![1, -2])));
    }
}
