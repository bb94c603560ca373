//! What part of a project a question is about.

use sqlx::Row;

use crate::contract::Fault;
use crate::postgres::{Query, sql};
use crate::store::door::ProjectTx;

/// Narrows a question to files; every field that is set must hold. Empty: the whole project, at no cost.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only this repository.
    pub repository_id: Option<i64>,
    /// Any of these languages (ids).
    pub languages: Vec<String>,
    /// Any of these extensions, lower case without the dot.
    pub extensions: Vec<String>,
    /// Regular expressions of our own making; any must match the path.
    pub path_patterns: Vec<String>,
    /// Regular expressions of our own making; any must match the file's name.
    pub file_patterns: Vec<String>,
}

impl Filter {
    /// Whether it lets everything through.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The condition on files `f`, its values bound from `$first` on. A field that is not set is bound as
    /// null and folds away at planning, so one text serves all filters.
    pub(super) fn condition(first: usize) -> String {
        let [repository, languages, extensions, paths, names] =
            [0, 1, 2, 3, 4].map(|i| format!("${}", first + i));
        format!(
            "({repository}::int8 IS NULL OR f.repository_id = {repository}) \
             AND ({languages}::text[] IS NULL OR f.language = ANY({languages})) \
             AND ({extensions}::text[] IS NULL OR f.extension = ANY({extensions})) \
             AND ({paths}::text[] IS NULL OR f.path ~ ANY({paths})) \
             AND ({names}::text[] IS NULL OR substring(f.path from '[^/]*$') ~ ANY({names}))"
        )
    }

    /// Binds the five values of [`Filter::condition`].
    pub(super) fn bind<'q>(&'q self, query: Query<'q>) -> Query<'q> {
        query
            .bind(self.repository_id)
            .bind(set(&self.languages))
            .bind(set(&self.extensions))
            .bind(set(&self.path_patterns))
            .bind(set(&self.file_patterns))
    }
}

fn set(values: &[String]) -> Option<&[String]> {
    (!values.is_empty()).then_some(values)
}

/// How many chunks lie within `filter`: what decides between exact and approximate vector search.
///
/// # Errors
/// Storage faults.
pub async fn filter_rows(tx: &mut ProjectTx, filter: &Filter) -> Result<i64, Fault> {
    let text = format!(
        "SELECT coalesce(sum(f.chunks), 0)::int8 FROM {} f WHERE {}",
        tx.table("files"),
        Filter::condition(1)
    );
    Ok(tx.tx.one(filter.bind(sql(text))).await?.try_get(0)?)
}
