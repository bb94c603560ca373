//! Breakdowns of a project: chunks by language, and files whose facts could not be read.

use super::condition::Condition;
use super::filter::{Filter, Test};
use crate::postgres::sql;
use crate::transaction::ProjectTx;
use contract::Fault;

/// Maximum number of paths that are listed for each reason.
const PATHS_MAX: i64 = 5;

/// Numbers for one language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LanguageCount {
    /// Language id; `None` if the language is unknown.
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
    /// The reason, in snake case.
    pub reason: String,
    /// Number of files.
    pub count: i64,
    /// The first few, in path order.
    pub paths: Vec<String>,
}

impl Filter {
    /// The conditions on files, without those on imports (unless inside `Any` or `Not`). Every chunk that matches the filter is
    /// in a file that matches these.
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

/// Numbers of chunks by language, in the files that pass the file conditions of a filter, largest first.
pub async fn languages(tx: &mut ProjectTx, filter: &Filter) -> Result<Vec<LanguageCount>, Fault> {
    let filter = filter.of_files();
    let condition = Condition::new(&filter, tx, 1);
    let text = format!(
        "SELECT f.language, sum(f.chunks)::int8 AS chunks, \
           count(*) FILTER (WHERE f.facts_missing IS NOT NULL) AS facts_missing \
         FROM {} f \
         WHERE f.chunks > 0 AND {} \
         GROUP BY f.language \
         ORDER BY sum(f.chunks) DESC, f.language",
        tx.table("files"),
        condition.text
    );
    let rows = tx.tx.all(condition.bind(sql(text))).await?;
    let counted = rows.iter().map(|row| {
        Ok(LanguageCount {
            language: row.try_get("language")?,
            chunks: row.try_get("chunks")?,
            facts_missing: row.try_get("facts_missing")?,
        })
    });
    counted.collect()
}

/// Files whose facts could not be read, by repository and reason, the most frequent reason first.
pub async fn facts_missing(tx: &mut ProjectTx, repository_ids: &[i64]) -> Result<Vec<FactsMissing>, Fault> {
    let text = format!(
        "SELECT repository_id, facts_missing AS reason, count(*) AS count, \
           array_agg(path ORDER BY path) FILTER (WHERE place <= $2) AS paths \
         FROM (SELECT repository_id, facts_missing, path, \
           row_number() OVER (PARTITION BY repository_id, facts_missing ORDER BY path) AS place \
           FROM {} WHERE repository_id = ANY($1) AND facts_missing IS NOT NULL) t \
         GROUP BY repository_id, facts_missing \
         ORDER BY repository_id, count(*) DESC, facts_missing",
        tx.table("files")
    );
    let rows = tx.tx.all(sql(text).bind(repository_ids).bind(PATHS_MAX)).await?;
    let missing = rows.iter().map(|row| {
        Ok(FactsMissing {
            repository_id: row.try_get("repository_id")?,
            reason: row.try_get("reason")?,
            count: row.try_get("count")?,
            paths: row.try_get("paths")?,
        })
    });
    missing.collect()
}
