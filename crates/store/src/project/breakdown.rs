//! What languages the files are in that a filter admits, and whose facts could not be read.

use super::condition::Condition;
use super::filter::{Filter, Test};
use crate::door::ProjectTx;
use crate::postgres::sql;
use contract::Fault;

/// Paths that are named for one reason.
const PATHS_MAX: i64 = 5;

/// What there is in one language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LanguageCount {
    /// Language id; none where it is not known.
    pub language: Option<String>,
    /// Chunks.
    pub chunks: i64,
    /// Files whose facts could not be read.
    pub facts_missing: i64,
}

/// Files of a repository whose facts could not be read for one reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FactsMissing {
    /// Their repository.
    pub repository_id: i64,
    /// The reason, snake case.
    pub reason: String,
    /// How many.
    pub count: i64,
    /// The first few, in path order.
    pub paths: Vec<String>,
}

impl Filter {
    /// What it asks of files, imports apart. Everything that passes it is in a file that passes this.
    #[must_use]
    pub fn of_files(&self) -> Self {
        match self {
            Self::All(all) => Self::All(all.iter().map(Self::of_files).collect()),
            Self::Is(Test::Imports(_)) => Self::EVERYTHING,
            filter if filter.is_of_files() => filter.clone(),
            _ => Self::EVERYTHING,
        }
    }
}

/// Chunks by language in the files that pass what a filter asks of files, most first.
///
/// # Errors
/// Storage faults.
pub async fn languages(tx: &mut ProjectTx, filter: &Filter) -> Result<Vec<LanguageCount>, Fault> {
    let filter = filter.of_files();
    let condition = Condition::of(&filter, tx, 1);
    let text = format!(
        "SELECT f.language, sum(f.chunks)::int8, count(*) FILTER (WHERE f.facts_missing IS NOT NULL) FROM {} f \
         WHERE f.chunks > 0 AND {} GROUP BY f.language ORDER BY 2 DESC, 1",
        tx.table("files"),
        condition.text
    );
    let rows = tx.tx.all(condition.bind(sql(text))).await?;
    let counted = rows.iter().map(|row| {
        Ok(LanguageCount {
            language: row.try_get(0)?,
            chunks: row.try_get(1)?,
            facts_missing: row.try_get(2)?,
        })
    });
    counted.collect()
}

/// Files whose facts could not be read, by repository and reason, most first.
///
/// # Errors
/// Storage faults.
pub async fn facts_missing(tx: &mut ProjectTx, repository_ids: &[i64]) -> Result<Vec<FactsMissing>, Fault> {
    let text = format!(
        "SELECT repository_id, facts_missing, count(*), array_agg(path ORDER BY path) FILTER (WHERE place <= $2) \
         FROM (SELECT repository_id, facts_missing, path, \
         row_number() OVER (PARTITION BY repository_id, facts_missing ORDER BY path) AS place \
         FROM {} WHERE repository_id = ANY($1) AND facts_missing IS NOT NULL) t \
         GROUP BY 1, 2 ORDER BY 1, 3 DESC, 2",
        tx.table("files")
    );
    let rows = tx.tx.all(sql(text).bind(repository_ids).bind(PATHS_MAX)).await?;
    let missing = rows.iter().map(|row| {
        Ok(FactsMissing {
            repository_id: row.try_get(0)?,
            reason: row.try_get(1)?,
            count: row.try_get(2)?,
            paths: row.try_get(3)?,
        })
    });
    missing.collect()
}
