//! What part of a project a question is about: an expression over facts, and the chunks that fulfil it.

use sqlx::Row;

use super::patterns::{escaped, literal};
use crate::contract::Fault;
use crate::postgres::{Query, sql};
use crate::store::door::ProjectTx;

/// Which chunks may answer. [`Filter::EVERYTHING`] costs nothing.
#[derive(Debug, Clone, PartialEq)]
pub enum Filter {
    /// All of these hold; of none: everything passes.
    All(Vec<Filter>),
    /// One of these holds; of none: nothing passes.
    Any(Vec<Filter>),
    /// This does not hold, or is not known.
    Not(Box<Filter>),
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
    /// One of these.
    Chunks(Vec<i64>),
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
    fn column(self) -> &'static str {
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
            Self::Is(test) => test.is_of_files(),
        }
    }

    /// The shortest list of chunks that must hold what passes, if there is one.
    fn shortest_list(&self) -> Option<&[i64]> {
        match self {
            Self::All(all) => all.iter().filter_map(Self::shortest_list).min_by_key(|list| list.len()),
            Self::Is(Test::Chunks(list)) => Some(list),
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
            | Self::Chunks(_)
            | Self::Authors { .. }
            | Self::AtLeast(..)
            | Self::Signature(_)
            | Self::Says(_)
            | Self::Text(_)
            | Self::HasComments => false,
        }
    }
}

impl From<Test> for Filter {
    fn from(test: Test) -> Self {
        Self::Is(test)
    }
}

/// A value to bind.
enum Value<'v> {
    Number(i64),
    Numbers(&'v [i64]),
    Terms(&'v [i32]),
    Text(&'v str),
    Own(String),
    Texts(Vec<&'v str>),
    Patterns(Vec<String>),
}

/// A filter as a condition on facts `k` and files `f`, with what its places stand for.
pub(super) struct Condition<'v> {
    /// SQL.
    pub(super) text: String,
    /// Whether it speaks of facts at all; else they need not be joined.
    pub(super) of_facts: bool,
    values: Vec<Value<'v>>,
    first: usize,
}

impl<'v> Condition<'v> {
    /// Writes the condition; its places are numbered from `$first` on.
    pub(super) fn of(filter: &'v Filter, tx: &ProjectTx, first: usize) -> Self {
        let mut condition =
            Self { text: String::new(), of_facts: !filter.is_of_files(), values: Vec::new(), first };
        condition.text = condition.written(filter, tx);
        condition
    }

    /// What joins the facts `k` of a chunk, where the condition speaks of them.
    pub(super) fn joined_facts(&self, tx: &ProjectTx, chunk_id: &str) -> String {
        let join = || format!("JOIN {} k ON k.chunk_id = {chunk_id}", tx.table("facts"));
        if self.of_facts { join() } else { String::new() }
    }

    /// Binds the values.
    pub(super) fn bind<'q>(&'q self, query: Query<'q>) -> Query<'q> {
        self.values.iter().fold(query, |query, value| match value {
            Value::Number(number) => query.bind(*number),
            Value::Numbers(numbers) => query.bind(*numbers),
            Value::Terms(terms) => query.bind(*terms),
            Value::Text(text) => query.bind(*text),
            Value::Own(text) => query.bind(text),
            Value::Texts(texts) => query.bind(texts),
            Value::Patterns(patterns) => query.bind(patterns),
        })
    }

    fn written(&mut self, filter: &'v Filter, tx: &ProjectTx) -> String {
        match filter {
            Filter::All(all) if all.is_empty() => "true".to_owned(),
            Filter::Any(any) if any.is_empty() => "false".to_owned(),
            Filter::All(all) => self.joined(all, " AND ", tx),
            Filter::Any(any) => self.joined(any, " OR ", tx),
            // What is not known does not hold, so its negation does.
            Filter::Not(not) => format!("NOT coalesce({}, false)", self.written(not, tx)),
            Filter::Is(test) => self.tested(test, tx),
        }
    }

    fn joined(&mut self, filters: &'v [Filter], with: &str, tx: &ProjectTx) -> String {
        let written: Vec<String> = filters.iter().map(|filter| self.written(filter, tx)).collect();
        format!("({})", written.join(with))
    }

    fn tested(&mut self, test: &'v Test, tx: &ProjectTx) -> String {
        match test {
            Test::Repositories(ids) => format!("f.repository_id = ANY({})", self.numbers(ids)),
            Test::Modes(modes) => format!("f.mode = ANY({})", self.texts(modes)),
            Test::Languages(ids) => format!("f.language = ANY({})", self.texts(ids)),
            Test::Extensions(extensions) => format!("f.extension = ANY({})", self.texts(extensions)),
            Test::Paths(patterns) => self.path(patterns),
            Test::FileNames(patterns) => {
                format!("substring(f.path from '[^/]*$') ~ ANY({})", self.texts(patterns))
            }
            Test::Imports(ids) => format!("f.imports && {}", self.numbers(ids)),
            Test::LastAuthors(names) => self.last_author(names),
            Test::ModifiedFrom(seconds) => format!("f.last_modified_s >= {}", self.number(*seconds)),
            Test::ChurnFrom(churn) => {
                format!("f.churn_added + f.churn_deleted >= {}", self.number(*churn))
            }
            Test::Meta { key, value } => self.meta(key, value.as_deref()),
            Test::Facts(ids) => format!("k.ids && {}", self.numbers(ids)),
            // `+ 0` keeps the list from being looked up in the index, id by id, for each candidate: it is hashed once.
            Test::Chunks(ids) => format!("k.chunk_id + 0 = ANY({})", self.numbers(ids)),
            Test::Authors { ids, names } => {
                let authors = tx.table("authors");
                let (ids, last) = (self.numbers(ids), self.last_author(names));
                format!(
                    "(EXISTS (SELECT 1 FROM {authors} a WHERE a.chunk_id = k.chunk_id AND a.ids && {ids}) OR (NOT EXISTS \
                     (SELECT 1 FROM {authors} a WHERE a.chunk_id = k.chunk_id) AND {last}))"
                )
            }
            Test::AtLeast(counted, number) => format!("k.{} >= {}", counted.column(), self.number(*number)),
            Test::Signature(text) => {
                let text = self.place(Value::Text(text), "text");
                format!("position({text} in k.signature) > 0")
            }
            Test::Says(terms) => {
                let (lexical, terms) = (tx.table("lexical"), self.place(Value::Terms(terms), "int4[]"));
                format!(
                    "EXISTS (SELECT 1 FROM {lexical} s WHERE s.chunk_id = k.chunk_id AND s.terms @> {terms})"
                )
            }
            Test::Text(pattern) => {
                let (chunks, pattern) = (tx.table("chunks"), self.place(Value::Text(pattern), "text"));
                format!("EXISTS (SELECT 1 FROM {chunks} t WHERE t.id = k.chunk_id AND t.content ~ {pattern})")
            }
            Test::HasComments => {
                let comments = tx.table("comments");
                format!("EXISTS (SELECT 1 FROM {comments} m WHERE m.chunk_id = k.chunk_id)")
            }
            Test::Files { ids, .. } => format!("f.id = ANY({})", self.numbers(ids)),
        }
    }

    /// A part of the path is looked for as it is: an expression would take eight times as long.
    fn path(&mut self, patterns: &'v [String]) -> String {
        let Some(parts) = patterns.iter().map(|pattern| literal(pattern)).collect::<Option<Vec<_>>>() else {
            return format!("f.path ~ ANY({})", self.texts(patterns));
        };
        let mut holds =
            |part| format!("position({} in lower(f.path)) > 0", self.place(Value::Own(part), "text"));
        format!("({})", parts.into_iter().map(&mut holds).collect::<Vec<_>>().join(" OR "))
    }

    fn last_author(&mut self, names: &'v [String]) -> String {
        let patterns = names.iter().map(|name| format!("%{}%", escaped(name))).collect();
        format!("lower(f.last_author) LIKE ANY({})", self.place(Value::Patterns(patterns), "text[]"))
    }

    fn meta(&mut self, key: &'v str, value: Option<&'v str>) -> String {
        let key = self.place(Value::Text(key), "text");
        let value = self.place(Value::Text(value.unwrap_or_default()), "text");
        format!(
            "EXISTS (SELECT 1 FROM unnest(f.meta) AS m (pair) WHERE starts_with(m.pair, {key} || '=') \
             AND length(m.pair) > length({key}) + 1 AND position({value} in substr(m.pair, length({key}) + 2)) > 0)"
        )
    }

    fn number(&mut self, number: i64) -> String {
        self.place(Value::Number(number), "int8")
    }

    fn numbers(&mut self, numbers: &'v [i64]) -> String {
        self.place(Value::Numbers(numbers), "int8[]")
    }

    fn texts(&mut self, texts: &'v [String]) -> String {
        self.place(Value::Texts(texts.iter().map(String::as_str).collect()), "text[]")
    }

    fn place(&mut self, value: Value<'v>, kind: &str) -> String {
        self.values.push(value);
        format!("${}::{kind}", self.first + self.values.len() - 1)
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
    let ids = rows.iter().map(|row| Ok(row.try_get(0)?)).collect::<Result<Vec<i64>, Fault>>()?;
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
        chunks += u64::from(row.try_get::<i32, _>(1)?.unsigned_abs());
    }
    if chunks > rows_max as u64 {
        return Ok(Within::Where(Test::Files { ids, chunks }.into()));
    }
    let text = format!("SELECT chunk_id FROM {} WHERE file_id = ANY($1)", tx.table("facts"));
    let rows = tx.tx.all(sql(text).bind(ids)).await?;
    let ids = rows.iter().map(|row| Ok(row.try_get(0)?)).collect::<Result<Vec<i64>, Fault>>()?;
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

fn counted(rows: &[sqlx::postgres::PgRow]) -> Result<(Vec<i64>, i64), Fault> {
    let total = rows.first().map_or(Ok(0), |row| row.try_get(1))?;
    let ids = rows.iter().map(|row| Ok(row.try_get(0)?)).collect::<Result<Vec<i64>, Fault>>()?;
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
    fn files_alone_decide_where_no_part_looks_at_chunks() {
        let language = || Filter::from(Test::Languages(vec!["rust".into()]));
        let path = Filter::Not(Box::new(Test::Paths(vec!["^src/".into()]).into()));
        assert!(language().and(path.clone()).is_of_files());
        assert!(Filter::Any(vec![path, language()]).is_of_files());
        assert!(!language().and(Test::HasComments.into()).is_of_files());
        assert!(!Filter::Not(Box::new(Test::Facts(vec![1]).into())).is_of_files());
    }
}
