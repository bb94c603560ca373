//! Filters: a boolean expression over the facts of chunks and files, and the chunks that match it.

use super::condition::Condition;
use crate::postgres::sql;
use crate::transaction::ProjectTx;
use contract::Fault;

/// A condition on chunks. [`Filter::EVERYTHING`] adds no cost to a search.
#[derive(Debug, Clone, PartialEq)]
pub enum Filter {
    /// All of these match; an empty list matches everything.
    All(Vec<Filter>),
    /// At least one of these matches; an empty list matches nothing.
    Any(Vec<Filter>),
    /// This does not match, or is unknown.
    Not(Box<Filter>),
    /// All conditions about definitions in it (facts and signatures) hold for the same definition of the chunk. The code
    /// outside of definitions counts as a definition, and so does the whole chunk if its main definition is in another chunk,
    /// as with the later parts of a long function. Negations inside are about the chunk.
    OneDefinition(Box<Filter>),
    /// A single test.
    Is(Test),
}

/// A single condition. An unknown value passes no test.
#[derive(Debug, Clone, PartialEq)]
pub enum Test {
    /// In one of these repositories.
    Repositories(Vec<i64>),
    /// In a file that one of these revisions has, given as bits.
    Views(i64),
    /// In a file of one of these modes: `code`, `prose`, `records`.
    Modes(Vec<String>),
    /// In a file in one of these languages (ids).
    Languages(Vec<String>),
    /// In a file with one of these extensions, lower-case and without the dot.
    Extensions(Vec<String>),
    /// In a file whose path matches one of these regular expressions, which this program generates.
    Paths(Vec<String>),
    /// In a file whose name matches one of these regular expressions, which this program generates.
    FileNames(Vec<String>),
    /// In a file that imports one of these names (ids).
    Imports(Vec<i64>),
    /// In a file whose last author's name contains one of these texts (lower-case).
    LastAuthors(Vec<String>),
    /// In a file that was last changed at this time or later, seconds since the epoch.
    ModifiedFrom(i64),
    /// In a file with at least this churn, in lines.
    ChurnFrom(i64),
    /// In a file whose metadata has this key, with a value that contains the text, if there is one.
    Meta {
        /// Dotted key, lower-case.
        key: String,
        /// Part of the value, lower-case.
        value: Option<String>,
    },
    /// With one of these facts (ids).
    Facts(Vec<i64>),
    /// One of these chunks, which were looked up beforehand by facts.
    Chunks {
        /// Ids of the chunks.
        chunks: Vec<i64>,
        /// Ids of the facts; empty if definitions do not have such facts.
        facts: Vec<i64>,
    },
    /// With lines by one of these authors; if the authors of its lines are unknown, in a file last changed by one.
    Authors {
        /// Ids of names.
        ids: Vec<i64>,
        /// Parts of the last author's name, lower-case.
        names: Vec<String>,
    },
    /// With at least this number of statements of a kind.
    AtLeast(Counted, i64),
    /// With a signature that contains this text, case-sensitively.
    Signature(String),
    /// Contains all of these terms.
    HasTerms(Vec<i32>),
    /// With a text that matches this regular expression, which this program generates.
    Text(String),
    /// With comments.
    HasComments,
    /// In one of these files: the result of other tests of files, so that they are evaluated only once.
    Files {
        /// Ids of the files.
        ids: Vec<i64>,
        /// Number of their chunks.
        chunks: u64,
    },
}

/// A kind of statement that is counted in each chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// `if`, `match` and other branches.
    Branches,
    /// Loops of any kind.
    Loops,
    /// `break` statements.
    Breaks,
    /// `continue` statements.
    Continues,
}

impl Counted {
    pub(crate) fn column(self) -> &'static str {
        match self {
            Self::Branches => "branches",
            Self::Loops => "loops",
            Self::Breaks => "breaks",
            Self::Continues => "continues",
        }
    }
}

impl Filter {
    /// Matches every chunk.
    pub const EVERYTHING: Self = Self::All(Vec::new());

    /// Returns `true` if it matches every chunk.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::All(all) if all.iter().all(Self::is_empty))
    }

    /// The filter with another one in place of a part of it.
    #[must_use]
    pub fn replaced(&self, part: &Self, by: &Self) -> Self {
        let all = |filters: &[Self]| filters.iter().map(|filter| filter.replaced(part, by)).collect();
        match self {
            whole if whole == part => by.clone(),
            Self::All(filters) => Self::All(all(filters)),
            Self::Any(filters) => Self::Any(all(filters)),
            Self::Not(filter) => Self::Not(Box::new(filter.replaced(part, by))),
            Self::OneDefinition(filter) => Self::OneDefinition(Box::new(filter.replaced(part, by))),
            Self::Is(test) => Self::Is(test.clone()),
        }
    }

    /// If the filter is a list of files: the files, and the number of their chunks.
    #[must_use]
    pub fn files(&self) -> Option<(&[i64], u64)> {
        match self {
            Self::Is(Test::Files { ids, chunks }) => Some((ids, *chunks)),
            _ => None,
        }
    }

    /// Returns `true` if all its tests are about files.
    pub(super) fn is_of_files(&self) -> bool {
        match self {
            Self::All(filters) | Self::Any(filters) => filters.iter().all(Self::is_of_files),
            Self::Not(filter) => filter.is_of_files(),
            Self::OneDefinition(_) => false,
            Self::Is(test) => test.is_of_files(),
        }
    }

    /// The shortest list of chunks that contains all matches, if the filter has such a list.
    fn shortest_list(&self) -> Option<&[i64]> {
        match self {
            Self::All(all) => all.iter().filter_map(Self::shortest_list).min_by_key(|list| list.len()),
            Self::Is(Test::Chunks { chunks, .. }) => Some(chunks),
            _ => None,
        }
    }

    /// The conjunction with another filter.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match self {
            Self::All(mut all) => {
                all.push(other);
                Self::All(all)
            }
            one => Self::All(vec![one, other]),
        }
    }
}

impl Test {
    /// Returns `true` if it is about files.
    fn is_of_files(&self) -> bool {
        match self {
            Self::Repositories(_)
            | Self::Views(_)
            | Self::Modes(_)
            | Self::Languages(_)
            | Self::Extensions(_)
            | Self::Paths(_)
            | Self::FileNames(_)
            | Self::Imports(_)
            | Self::LastAuthors(_)
            | Self::ModifiedFrom(_)
            | Self::ChurnFrom(_)
            | Self::Meta { .. }
            | Self::Files { .. } => true,
            Self::Facts(_)
            | Self::Chunks { .. }
            | Self::Authors { .. }
            | Self::AtLeast(..)
            | Self::Signature(_)
            | Self::HasTerms(_)
            | Self::Text(_)
            | Self::HasComments => false,
        }
    }
}

impl Filter {
    /// Adds the condition that tests about definitions that must hold together do so for the same definition.
    #[must_use]
    pub fn of_one_definition(self) -> Self {
        if self.required_definition_tests() < 2 {
            return self;
        }
        let mut parts = Vec::new();
        self.flatten(&mut parts);
        parts.retain(|part| part.required_definition_tests() > 0);
        let together = Self::All(parts.into_iter().cloned().collect());
        self.and(Self::OneDefinition(Box::new(together)))
    }

    /// Appends the operands of nested conjunctions to `parts`.
    fn flatten<'f>(&'f self, parts: &mut Vec<&'f Self>) {
        match self {
            Self::All(all) => all.iter().for_each(|one| one.flatten(parts)),
            one => parts.push(one),
        }
    }

    /// The largest number of tests about definitions that must hold at once. Negated tests are about the chunk.
    fn required_definition_tests(&self) -> usize {
        match self {
            Self::All(all) => all.iter().map(Self::required_definition_tests).sum(),
            Self::Any(any) => any.iter().map(Self::required_definition_tests).max().unwrap_or(0),
            Self::Not(_) | Self::OneDefinition(_) => 0,
            Self::Is(test) => usize::from(test.is_of_definitions()),
        }
    }
}

impl Test {
    /// Returns `true` if it is about properties that definitions have themselves.
    pub(crate) fn is_of_definitions(&self) -> bool {
        match self {
            Self::Facts(_) | Self::Signature(_) => true,
            Self::Chunks { facts, .. } => !facts.is_empty(),
            _ => false,
        }
    }
}

impl From<Test> for Filter {
    fn from(test: Test) -> Self {
        Self::Is(test)
    }
}

/// The chunks that match a filter, in the form that is fastest to search.
#[derive(Debug, Clone, PartialEq)]
pub enum ChunkSelection {
    /// All chunks.
    All,
    /// The matching chunks, which are few enough to list.
    Listed(Vec<i64>),
    /// Too many to list: searches test each candidate with the filter.
    Matching(Filter),
}

/// Evaluates a filter: lists its matches if there are at most `rows_max`.
///
/// `chunks_max` is the number of chunks in the repositories that the filter selects, 0 if it is unknown. The planner's estimate,
/// which depends on everything in the project, decides only where they may be too many to try.
pub async fn select_chunks(
    tx: &mut ProjectTx,
    filter: &Filter,
    (rows_max, chunks_max): (usize, u64),
) -> Result<ChunkSelection, Fault> {
    if filter.is_empty() {
        return Ok(ChunkSelection::All);
    }
    let limit = i64::try_from(rows_max.saturating_add(1)).unwrap_or(i64::MAX);
    let ids: Vec<i64> = match filter.shortest_list() {
        // All matches are in this list.
        Some(list) if list.len() <= rows_max => {
            let condition = Condition::new(filter, tx, 3);
            let text = format!(
                "SELECT k.chunk_id \
                 FROM unnest($2::int8[]) AS l (id) \
                 JOIN {facts} k ON k.chunk_id = l.id \
                 JOIN {files} f ON f.id = k.file_id \
                 WHERE {condition} LIMIT $1",
                facts = tx.table("facts"),
                files = tx.table("files"),
                condition = condition.text,
            );
            tx.tx.scalars(condition.bind(sql(text).bind(limit).bind(list))).await?
        }
        None if filter.is_of_files() => return within_files(tx, filter, rows_max).await,
        // Do not list if the result is almost certainly too long.
        _ if may_be_long(chunks_max, rows_max)
            && estimated_matches(tx, filter).await? > rows_max.saturating_mul(ESTIMATE_FACTOR) =>
        {
            return Ok(ChunkSelection::Matching(filter.clone()));
        }
        _ => {
            let condition = Condition::new(filter, tx, 2);
            let (from, condition_text) = (chunks_with_facts(tx), &condition.text);
            let text = format!("SELECT k.chunk_id FROM {from} WHERE {condition_text} LIMIT $1");
            tx.tx.scalars(condition.bind(sql(text).bind(limit))).await?
        }
    };
    if ids.len() > rows_max {
        return Ok(ChunkSelection::Matching(filter.clone()));
    }
    Ok(ChunkSelection::Listed(ids))
}

/// Maximum number of files to list. More are a large part of a project, so it is faster to test each candidate.
const FILES_MAX: usize = 20_000;

/// As [`select_chunks`], for a filter whose tests are all about files, whose rows contain their numbers of chunks.
async fn within_files(tx: &mut ProjectTx, filter: &Filter, rows_max: usize) -> Result<ChunkSelection, Fault> {
    let condition = Condition::new(filter, tx, 2);
    let text = format!(
        "SELECT f.id, f.chunks FROM {} f WHERE f.chunks > 0 AND {} LIMIT $1",
        tx.table("files"),
        condition.text
    );
    let limit = i64::try_from(FILES_MAX + 1).unwrap_or(i64::MAX);
    let rows = tx.tx.all(condition.bind(sql(text).bind(limit))).await?;
    if rows.len() > FILES_MAX {
        return Ok(ChunkSelection::Matching(filter.clone()));
    }
    let (mut ids, mut chunks) = (Vec::with_capacity(rows.len()), 0);
    for row in rows {
        ids.push(row.try_get("id")?);
        chunks += u64::from(row.try_get::<i32>("chunks")?.unsigned_abs());
    }
    if chunks > rows_max as u64 {
        return Ok(ChunkSelection::Matching(Test::Files { ids, chunks }.into()));
    }
    let text = format!("SELECT chunk_id FROM {} WHERE file_id = ANY($1)", tx.table("facts"));
    let ids: Vec<i64> = tx.tx.scalars(sql(text).bind(ids)).await?;
    Ok(ChunkSelection::Listed(ids))
}

/// Factor by which the planner's estimate may be too high.
const ESTIMATE_FACTOR: usize = 3;

fn may_be_long(chunks_max: u64, rows_max: usize) -> bool {
    chunks_max == 0 || chunks_max > rows_max.saturating_mul(ESTIMATE_FACTOR) as u64
}

/// The planner's estimate of the number of matching chunks.
async fn estimated_matches(tx: &mut ProjectTx, filter: &Filter) -> Result<usize, Fault> {
    let condition = Condition::new(filter, tx, 1);
    let text = format!("EXPLAIN SELECT k.chunk_id FROM {} WHERE {}", chunks_with_facts(tx), condition.text);
    let rows = tx.tx.all(condition.bind(sql(text))).await?;
    let plan: String = rows.first().map_or(Ok(String::new()), |row| row.try_get("QUERY PLAN"))?;
    let rows = plan.split("rows=").nth(1).and_then(|rest| rest.split(' ').next());
    Ok(rows.and_then(|rows| rows.parse().ok()).unwrap_or(0))
}

/// The first `limit` of the selected chunks, ordered by repository, path and line, and the number of all selected chunks.
pub async fn listed(
    tx: &mut ProjectTx,
    selection: &ChunkSelection,
    limit: i64,
) -> Result<(Vec<i64>, i64), Fault> {
    let filter = match selection {
        ChunkSelection::All => &Filter::EVERYTHING,
        ChunkSelection::Matching(filter) => filter,
        ChunkSelection::Listed(ids) => {
            let text = format!(
                "SELECT k.chunk_id, count(*) OVER () AS total \
                 FROM {} \
                 WHERE k.chunk_id = ANY($2) \
                 ORDER BY f.repository_id, f.path, k.chunk_id LIMIT $1",
                chunks_with_facts(tx)
            );
            let rows = tx.tx.all(sql(text).bind(limit).bind(ids)).await?;
            return with_total(&rows);
        }
    };
    let condition = Condition::new(filter, tx, 2);
    let text = format!(
        "SELECT k.chunk_id, count(*) OVER () AS total \
         FROM {} \
         WHERE {} ORDER BY f.repository_id, f.path, k.chunk_id LIMIT $1",
        chunks_with_facts(tx),
        condition.text
    );
    let rows = tx.tx.all(condition.bind(sql(text).bind(limit))).await?;
    with_total(&rows)
}

fn with_total(rows: &[crate::postgres::Row]) -> Result<(Vec<i64>, i64), Fault> {
    let total = rows.first().map_or(Ok(0), |row| row.try_get("total"))?;
    let ids = rows.iter().map(|row| row.try_get("chunk_id")).collect::<Result<Vec<i64>, Fault>>()?;
    Ok((ids, total))
}

/// The FROM clause for the facts `k` and files `f` that conditions refer to.
pub(super) fn chunks_with_facts(tx: &ProjectTx) -> String {
    format!("{} k JOIN {} f ON f.id = k.file_id", tx.table("facts"), tx.table("files"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_about_definitions_are_joined_where_several_hold_together() {
        let fact = |id| Filter::from(Test::Facts(vec![id]));
        let path = || Filter::from(Test::Paths(vec!["^src/".into()]));
        let not = |filter| Filter::Not(Box::new(filter));
        for alone in
            [fact(1), fact(1).and(path()), fact(1).and(not(fact(2))), Filter::Any(vec![fact(1), fact(2)])]
        {
            assert_eq!(alone.clone().of_one_definition(), alone);
        }
        let joined = path().and(fact(1)).and(Test::Signature("fn ".into()).into()).and(not(fact(2)));
        let Filter::All(parts) = joined.clone().of_one_definition() else { panic!() };
        let together = Filter::All(vec![fact(1), Test::Signature("fn ".into()).into()]);
        assert_eq!(parts.last(), Some(&Filter::OneDefinition(Box::new(together))));
        let branch = Filter::Any(vec![fact(1).and(fact(2)), path()]);
        assert!(matches!(branch.of_one_definition(), Filter::All(parts) if parts.len() == 2));
        let risky = Test::Chunks { chunks: vec![1], facts: Vec::new() };
        assert!(
            !risky.is_of_definitions()
                && !fact(1).and(risky.clone().into()).of_one_definition().is_of_files()
        );
    }

    #[test]
    fn a_filter_is_about_files_if_no_part_is_about_chunks() {
        let language = || Filter::from(Test::Languages(vec!["rust".into()]));
        let path = Filter::Not(Box::new(Test::Paths(vec!["^src/".into()]).into()));
        assert!(language().and(path.clone()).is_of_files());
        assert!(Filter::Any(vec![path, language()]).is_of_files());
        assert!(!language().and(Test::HasComments.into()).is_of_files());
        assert!(!Filter::Not(Box::new(Test::Facts(vec![1]).into())).is_of_files());
    }
}
