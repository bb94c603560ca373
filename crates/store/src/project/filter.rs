//! What part of a project a question is about: an expression over facts, and the chunks that fulfil it.

use super::condition::Condition;
use crate::door::ProjectTx;
use crate::postgres::sql;
use contract::Fault;

/// Which chunks may answer. [`Filter::EVERYTHING`] costs nothing.
#[derive(Debug, Clone, PartialEq)]
pub enum Filter {
    /// All of these hold; of none: everything passes.
    All(Vec<Filter>),
    /// One of these holds; of none: nothing passes.
    Any(Vec<Filter>),
    /// This does not hold, or is not known.
    Not(Box<Filter>),
    /// All of this holds of one definition of the chunk, as far as it is about definitions: facts and signatures. Code outside
    /// of definitions counts as one, and so does the whole chunk where what it is about is defined elsewhere: a further part
    /// of a long function. Negations inside are about the chunk.
    OneDefinition(Box<Filter>),
    /// This holds.
    Is(Test),
}

/// One condition. What is not known of a chunk fulfils none.
#[derive(Debug, Clone, PartialEq)]
pub enum Test {
    /// In one of these repositories.
    Repositories(Vec<i64>),
    /// In a file of one of these modes: `code`, `prose`, `records`.
    Modes(Vec<String>),
    /// In a file in one of these languages (ids).
    Languages(Vec<String>),
    /// In a file with one of these extensions, lower case without the dot.
    Extensions(Vec<String>),
    /// In a file whose path matches one of these regular expressions of our own making.
    Paths(Vec<String>),
    /// In a file whose name matches one of these regular expressions of our own making.
    FileNames(Vec<String>),
    /// In a file that imports one of these names (ids).
    Imports(Vec<i64>),
    /// In a file whose last author's name contains one of these texts, in lower case.
    LastAuthors(Vec<String>),
    /// In a file that was last changed at this time or later, seconds since the epoch.
    ModifiedFrom(i64),
    /// In a file with at least this churn.
    ChurnFrom(i64),
    /// In a file with this metadata: the key is there, or its value contains the text (lower case).
    Meta {
        /// Dotted key, lower case.
        key: String,
        /// Part of the value, lower case.
        value: Option<String>,
    },
    /// With one of these facts (ids).
    Facts(Vec<i64>),
    /// One of these: those that have one of some facts, looked up at once.
    Chunks {
        /// Their ids.
        chunks: Vec<i64>,
        /// Ids of the facts; empty where they are not those of definitions.
        facts: Vec<i64>,
    },
    /// With lines by one of these authors; where that is not known, in a file last changed by one.
    Authors {
        /// Ids of names.
        ids: Vec<i64>,
        /// Parts of the last author's name, lower case.
        names: Vec<String>,
    },
    /// With at least so many.
    AtLeast(Counted, i64),
    /// With this text in the signature, in this case.
    Signature(String),
    /// That says all of these terms.
    Says(Vec<i32>),
    /// Whose text matches this regular expression of our own making.
    Text(String),
    /// With comments.
    HasComments,
    /// In one of these files: what other tests of files come to, so that they are made once.
    Files {
        /// Their ids.
        ids: Vec<i64>,
        /// How many chunks they have.
        chunks: u64,
    },
}

/// What is counted in a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// Branches.
    Branches,
    /// Loops.
    Loops,
    /// Breaks.
    Breaks,
    /// Continues.
    Continues,
}

impl Counted {
    pub(super) fn column(self) -> &'static str {
        match self {
            Self::Branches => "branches",
            Self::Loops => "loops",
            Self::Breaks => "breaks",
            Self::Continues => "continues",
        }
    }
}

impl Filter {
    /// Lets everything through.
    pub const EVERYTHING: Self = Self::All(Vec::new());

    /// Whether it lets everything through.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::All(all) if all.iter().all(Self::is_empty))
    }

    /// The files that decide alone, and how many chunks they have.
    #[must_use]
    pub fn files(&self) -> Option<(&[i64], u64)> {
        match self {
            Self::Is(Test::Files { ids, chunks }) => Some((ids, *chunks)),
            _ => None,
        }
    }

    /// Whether files alone decide.
    pub(super) fn is_of_files(&self) -> bool {
        match self {
            Self::All(filters) | Self::Any(filters) => filters.iter().all(Self::is_of_files),
            Self::Not(filter) => filter.is_of_files(),
            Self::OneDefinition(_) => false,
            Self::Is(test) => test.is_of_files(),
        }
    }

    /// The shortest list of chunks that must hold what passes, if there is one.
    fn shortest_list(&self) -> Option<&[i64]> {
        match self {
            Self::All(all) => all.iter().filter_map(Self::shortest_list).min_by_key(|list| list.len()),
            Self::Is(Test::Chunks { chunks, .. }) => Some(chunks),
            _ => None,
        }
    }

    /// Both hold.
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
    /// Whether it looks at files alone.
    fn is_of_files(&self) -> bool {
        match self {
            Self::Repositories(_)
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
            | Self::Says(_)
            | Self::Text(_)
            | Self::HasComments => false,
        }
    }
}

impl Filter {
    /// The same, where conditions about definitions that hold together hold for one definition.
    #[must_use]
    pub fn of_one_definition(self) -> Self {
        if self.demanded_of_definitions() < 2 {
            return self;
        }
        let mut parts = Vec::new();
        self.parts(&mut parts);
        parts.retain(|part| part.demanded_of_definitions() > 0);
        let together = Self::All(parts.into_iter().cloned().collect());
        self.and(Self::OneDefinition(Box::new(together)))
    }

    /// Adds what must hold at once.
    fn parts<'f>(&'f self, parts: &mut Vec<&'f Self>) {
        match self {
            Self::All(all) => all.iter().for_each(|one| one.parts(parts)),
            one => parts.push(one),
        }
    }

    /// How many conditions about definitions can have to hold at once. What must not hold is about the chunk.
    fn demanded_of_definitions(&self) -> usize {
        match self {
            Self::All(all) => all.iter().map(Self::demanded_of_definitions).sum(),
            Self::Any(any) => any.iter().map(Self::demanded_of_definitions).max().unwrap_or(0),
            Self::Not(_) | Self::OneDefinition(_) => 0,
            Self::Is(test) => usize::from(test.is_of_definitions()),
        }
    }
}

impl Test {
    /// Whether it looks at what definitions have of their own.
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

/// The chunks of a filter, in the form that is fastest to ask with.
#[derive(Debug, Clone, PartialEq)]
pub enum Within {
    /// All chunks.
    Everything,
    /// These: few, so each of them is looked at.
    These(Vec<i64>),
    /// Many: candidates are looked for in all chunks and tested one by one.
    Where(Filter),
}

/// Looks how much a filter lets through: up to `rows_max` chunks are listed.
///
/// # Errors
/// Storage faults.
pub async fn within(tx: &mut ProjectTx, filter: &Filter, rows_max: usize) -> Result<Within, Fault> {
    if filter.is_empty() {
        return Ok(Within::Everything);
    }
    let limit = i64::try_from(rows_max.saturating_add(1)).unwrap_or(i64::MAX);
    let rows = match filter.shortest_list() {
        // Nothing else can be within.
        Some(list) if list.len() <= rows_max => {
            let condition = Condition::of(filter, tx, 3);
            let text = format!(
                "SELECT k.chunk_id FROM unnest($2::int8[]) AS l (id) JOIN {facts} k ON k.chunk_id = l.id \
                 JOIN {files} f ON f.id = k.file_id WHERE {condition} LIMIT $1",
                facts = tx.table("facts"),
                files = tx.table("files"),
                condition = condition.text,
            );
            tx.tx.all(condition.bind(sql(text).bind(limit).bind(list))).await?
        }
        None if filter.is_of_files() => return within_files(tx, filter, rows_max).await,
        // Listing what is sure to be too much would be in vain.
        _ if estimated(tx, filter).await? > rows_max.saturating_mul(ESTIMATE_FACTOR) => {
            return Ok(Within::Where(filter.clone()));
        }
        _ => {
            let condition = Condition::of(filter, tx, 2);
            let (from, condition_text) = (chunks_with_facts(tx), &condition.text);
            let text = format!("SELECT k.chunk_id FROM {from} WHERE {condition_text} LIMIT $1");
            tx.tx.all(condition.bind(sql(text).bind(limit))).await?
        }
    };
    if rows.len() > rows_max {
        return Ok(Within::Where(filter.clone()));
    }
    let ids = rows.iter().map(|row| row.try_get(0)).collect::<Result<Vec<i64>, Fault>>()?;
    Ok(Within::These(ids))
}

/// Files up to which they are listed; more are most of a project, and each candidate is tested.
const FILES_MAX: usize = 20_000;

/// The same where files alone decide: they know how many chunks they have.
async fn within_files(tx: &mut ProjectTx, filter: &Filter, rows_max: usize) -> Result<Within, Fault> {
    let condition = Condition::of(filter, tx, 2);
    let text = format!(
        "SELECT f.id, f.chunks FROM {} f WHERE f.chunks > 0 AND {} LIMIT $1",
        tx.table("files"),
        condition.text
    );
    let limit = i64::try_from(FILES_MAX + 1).unwrap_or(i64::MAX);
    let rows = tx.tx.all(condition.bind(sql(text).bind(limit))).await?;
    if rows.len() > FILES_MAX {
        return Ok(Within::Where(filter.clone()));
    }
    let (mut ids, mut chunks) = (Vec::with_capacity(rows.len()), 0);
    for row in rows {
        ids.push(row.try_get(0)?);
        chunks += u64::from(row.try_get::<i32>(1)?.unsigned_abs());
    }
    if chunks > rows_max as u64 {
        return Ok(Within::Where(Test::Files { ids, chunks }.into()));
    }
    let text = format!("SELECT chunk_id FROM {} WHERE file_id = ANY($1)", tx.table("facts"));
    let rows = tx.tx.all(sql(text).bind(ids)).await?;
    let ids = rows.iter().map(|row| row.try_get(0)).collect::<Result<Vec<i64>, Fault>>()?;
    Ok(Within::These(ids))
}

/// How far off the planner's estimate may be.
const ESTIMATE_FACTOR: usize = 3;

/// How many chunks the planner thinks pass.
async fn estimated(tx: &mut ProjectTx, filter: &Filter) -> Result<usize, Fault> {
    let condition = Condition::of(filter, tx, 1);
    let text = format!("EXPLAIN SELECT k.chunk_id FROM {} WHERE {}", chunks_with_facts(tx), condition.text);
    let rows = tx.tx.all(condition.bind(sql(text))).await?;
    let plan: String = rows.first().map_or(Ok(String::new()), |row| row.try_get(0))?;
    let rows = plan.split("rows=").nth(1).and_then(|rest| rest.split(' ').next());
    Ok(rows.and_then(|rows| rows.parse().ok()).unwrap_or(0))
}

/// The first chunks within, in the order of repositories, paths and lines, and how many there are in all.
///
/// # Errors
/// Storage faults.
pub async fn listed(tx: &mut ProjectTx, within: &Within, limit: i64) -> Result<(Vec<i64>, i64), Fault> {
    let these;
    let filter = match within {
        Within::Everything => &Filter::EVERYTHING,
        Within::Where(filter) => filter,
        Within::These(ids) => {
            these = ids;
            let text = format!(
                "SELECT k.chunk_id, count(*) OVER () FROM {} WHERE k.chunk_id = ANY($2) \
                 ORDER BY f.repository_id, f.path, k.chunk_id LIMIT $1",
                chunks_with_facts(tx)
            );
            let rows = tx.tx.all(sql(text).bind(limit).bind(these)).await?;
            return counted(&rows);
        }
    };
    let condition = Condition::of(filter, tx, 2);
    let text = format!(
        "SELECT k.chunk_id, count(*) OVER () FROM {} WHERE {} ORDER BY f.repository_id, f.path, k.chunk_id LIMIT $1",
        chunks_with_facts(tx),
        condition.text
    );
    let rows = tx.tx.all(condition.bind(sql(text).bind(limit))).await?;
    counted(&rows)
}

fn counted(rows: &[crate::postgres::Row]) -> Result<(Vec<i64>, i64), Fault> {
    let total = rows.first().map_or(Ok(0), |row| row.try_get(1))?;
    let ids = rows.iter().map(|row| row.try_get(0)).collect::<Result<Vec<i64>, Fault>>()?;
    Ok((ids, total))
}

/// Facts `k` with their files `f`: what a condition speaks of.
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
    fn files_alone_decide_where_no_part_looks_at_chunks() {
        let language = || Filter::from(Test::Languages(vec!["rust".into()]));
        let path = Filter::Not(Box::new(Test::Paths(vec!["^src/".into()]).into()));
        assert!(language().and(path.clone()).is_of_files());
        assert!(Filter::Any(vec![path, language()]).is_of_files());
        assert!(!language().and(Test::HasComments.into()).is_of_files());
        assert!(!Filter::Not(Box::new(Test::Facts(vec![1]).into())).is_of_files());
    }
}
