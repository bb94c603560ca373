//! Translates a filter into an SQL condition.

use super::filter::{Filter, Test};
use super::patterns::{escaped, literal};
use crate::normal::nfc_sql;
use crate::postgres::Query;
use crate::transaction::ProjectTx;

/// A value to bind.
enum Value<'v> {
    Number(i64),
    Numbers(&'v [i64]),
    Terms(&'v [i32]),
    Text(&'v str),
    OwnedText(String),
    Texts(Vec<&'v str>),
    Patterns(Vec<String>),
}

/// A filter as an SQL condition on facts `k` and files `f`, with the values of its placeholders.
pub(super) struct Condition<'v> {
    /// The SQL condition.
    pub(super) text: String,
    /// `true` if it refers to facts; if not, they need not be joined.
    pub(super) needs_facts: bool,
    values: Vec<Value<'v>>,
    /// Number of the first placeholder.
    first: usize,
    /// `true` if the part being translated is about a single definition.
    in_definition: bool,
}

impl<'v> Condition<'v> {
    /// Translates `filter`; the placeholders are numbered from `$first` on.
    pub(super) fn new(filter: &'v Filter, tx: &ProjectTx, first: usize) -> Self {
        let mut condition = Self {
            text: String::new(),
            needs_facts: !filter.is_of_files(),
            values: Vec::new(),
            first,
            in_definition: false,
        };
        condition.text = condition.translate(filter, tx);
        condition
    }

    /// The JOIN of the facts `k` of a chunk, or nothing if the condition does not refer to them.
    pub(super) fn facts_join(&self, tx: &ProjectTx, chunk_id: &str) -> String {
        let join = || format!("JOIN {} k ON k.chunk_id = {chunk_id}", tx.table("facts"));
        if self.needs_facts { join() } else { String::new() }
    }

    /// Binds the values.
    pub(super) fn bind<'q>(&'q self, query: Query<'q>) -> Query<'q> {
        self.values.iter().fold(query, |query, value| match value {
            Value::Number(number) => query.bind(*number),
            Value::Numbers(numbers) => query.bind(*numbers),
            Value::Terms(terms) => query.bind(*terms),
            Value::Text(text) => query.bind(*text),
            Value::OwnedText(text) => query.bind(text),
            Value::Texts(texts) => query.bind(texts),
            Value::Patterns(patterns) => query.bind(patterns),
        })
    }

    fn translate(&mut self, filter: &'v Filter, tx: &ProjectTx) -> String {
        match filter {
            Filter::All(all) if all.is_empty() => "true".to_owned(),
            Filter::Any(any) if any.is_empty() => "false".to_owned(),
            Filter::All(all) => self.joined(all, " AND ", tx),
            Filter::Any(any) => self.joined(any, " OR ", tx),
            // An unknown value passes no test, so it passes the negation.
            Filter::Not(not) => {
                let outer = std::mem::replace(&mut self.in_definition, false);
                let inner = self.translate(not, tx);
                self.in_definition = outer;
                format!("NOT coalesce({inner}, false)")
            }
            Filter::OneDefinition(filter) => self.one_definition(filter, tx),
            Filter::Is(test) if self.in_definition && test.is_of_definitions() => self.tested_of_one(test),
            Filter::Is(test) => self.tested(test, tx),
        }
    }

    fn joined(&mut self, filters: &'v [Filter], with: &str, tx: &ProjectTx) -> String {
        let parts: Vec<String> = filters.iter().map(|filter| self.translate(filter, tx)).collect();
        format!("({})", parts.join(with))
    }

    /// The condition that one of these matches a filter, tested in this order: a definition of the chunk `k`; the chunk as a
    /// whole, if its main definition is in another chunk; the code outside of its definitions.
    fn one_definition(&mut self, filter: &'v Filter, tx: &ProjectTx) -> String {
        let (definitions, chunks) = (tx.table("definitions"), tx.table("chunks"));
        let outer = std::mem::replace(&mut self.in_definition, true);
        let condition = self.translate(filter, tx);
        self.in_definition = outer;
        format!(
            "EXISTS (SELECT 1 FROM ( \
               SELECT coalesce(d.ids, k.ids) AS ids, d.signature FROM {definitions} d WHERE d.chunk_id = k.chunk_id \
               UNION ALL \
               SELECT k.ids, k.signature WHERE NOT EXISTS (SELECT 1 FROM {definitions} d \
                 JOIN {chunks} c ON c.id = d.chunk_id WHERE d.chunk_id = k.chunk_id AND d.qualified = c.name) \
               UNION ALL \
               SELECT ARRAY(SELECT unnest(k.ids) \
                 EXCEPT SELECT unnest(d.ids) FROM {definitions} d WHERE d.chunk_id = k.chunk_id), NULL \
             ) o WHERE {condition})"
        )
    }

    /// A test of one definition `o`.
    fn tested_of_one(&mut self, test: &'v Test) -> String {
        match test {
            Test::Facts(ids) => format!("o.ids && {}", self.numbers(ids)),
            // ANY over a constant array hashes many ids; `&&` would compare each with every id of the definition.
            Test::Chunks { facts, .. } => {
                format!(
                    "EXISTS (SELECT 1 FROM unnest(o.ids) u (id) WHERE u.id = ANY({}))",
                    self.numbers(facts)
                )
            }
            Test::Signature(text) => {
                let text = self.placeholder(Value::Text(text), "text");
                format!("position({text} in {}) > 0", nfc_sql("o.signature"))
            }
            _ => "false".to_owned(),
        }
    }

    fn tested(&mut self, test: &'v Test, tx: &ProjectTx) -> String {
        match test {
            Test::Repositories(ids) => format!("f.repository_id = ANY({})", self.numbers(ids)),
            Test::Views(views) => format!("f.views & {} <> 0", self.number(*views)),
            Test::Modes(modes) => format!("f.mode = ANY({})", self.texts(modes)),
            Test::Languages(ids) => format!("f.language = ANY({})", self.texts(ids)),
            Test::Extensions(extensions) => format!("f.extension = ANY({})", self.texts(extensions)),
            Test::Paths(patterns) => self.path(patterns),
            Test::FileNames(patterns) => {
                let name = format!("substring({} from '[^/]*$')", nfc_sql("f.path"));
                format!("{name} ~ ANY({})", self.texts(patterns))
            }
            Test::Imports(ids) => format!("f.imports && {}", self.numbers(ids)),
            Test::LastAuthors(names) => self.last_author(names),
            Test::ModifiedFrom(seconds) => format!("f.last_modified_s >= {}", self.number(*seconds)),
            Test::ChurnFrom(churn) => {
                format!("f.churn_added + f.churn_deleted >= {}", self.number(*churn))
            }
            Test::Meta { key, value } => self.meta(key, value.as_deref()),
            Test::Facts(ids) => format!("k.ids && {}", self.numbers(ids)),
            // `+ 0` prevents index lookups of every id for each candidate: the list is hashed once instead.
            Test::Chunks { chunks, .. } => format!("k.chunk_id + 0 = ANY({})", self.numbers(chunks)),
            Test::Authors { ids, names } => {
                let authors = tx.table("authors");
                let (ids, last) = (self.numbers(ids), self.last_author(names));
                format!(
                    "(EXISTS (SELECT 1 FROM {authors} a WHERE a.chunk_id = k.chunk_id AND a.ids && {ids}) \
                       OR (NOT EXISTS (SELECT 1 FROM {authors} a WHERE a.chunk_id = k.chunk_id) AND {last}))"
                )
            }
            Test::AtLeast(counted, number) => format!("k.{} >= {}", counted.column(), self.number(*number)),
            Test::Signature(text) => {
                let text = self.placeholder(Value::Text(text), "text");
                format!("position({text} in {}) > 0", nfc_sql("k.signature"))
            }
            Test::HasTerms(terms) => {
                let (lexical, terms) = (tx.table("lexical"), self.placeholder(Value::Terms(terms), "int4[]"));
                format!(
                    "EXISTS (SELECT 1 FROM {lexical} s WHERE s.chunk_id = k.chunk_id AND s.terms @> {terms})"
                )
            }
            Test::Text(pattern) => {
                let (chunks, pattern) = (tx.table("chunks"), self.placeholder(Value::Text(pattern), "text"));
                // A pattern of ASCII letters needs no composed text.
                let ascii = matches!(test, Test::Text(text) if text.is_ascii());
                let content = if ascii { "t.content".to_owned() } else { nfc_sql("t.content") };
                format!("EXISTS (SELECT 1 FROM {chunks} t WHERE t.id = k.chunk_id AND {content} ~ {pattern})")
            }
            Test::HasComments => {
                let comments = tx.table("comments");
                format!("EXISTS (SELECT 1 FROM {comments} m WHERE m.chunk_id = k.chunk_id)")
            }
            Test::Files { ids, .. } => format!("f.id = ANY({})", self.numbers(ids)),
        }
    }

    /// Searches for a literal part of the path without a regular expression, which would take eight times as long.
    fn path(&mut self, patterns: &'v [String]) -> String {
        let Some(parts) = patterns.iter().map(|pattern| literal(pattern)).collect::<Option<Vec<_>>>() else {
            return format!("{} ~ ANY({})", nfc_sql("f.path"), self.texts(patterns));
        };
        let mut contains = |part| {
            format!("position({} in lower(f.path)) > 0", self.placeholder(Value::OwnedText(part), "text"))
        };
        format!("({})", parts.into_iter().map(&mut contains).collect::<Vec<_>>().join(" OR "))
    }

    fn last_author(&mut self, names: &'v [String]) -> String {
        let patterns = names.iter().map(|name| format!("%{}%", escaped(name))).collect();
        format!("lower(f.last_author) LIKE ANY({})", self.placeholder(Value::Patterns(patterns), "text[]"))
    }

    fn meta(&mut self, key: &'v str, value: Option<&'v str>) -> String {
        let key = self.placeholder(Value::Text(key), "text");
        let value = self.placeholder(Value::Text(value.unwrap_or_default()), "text");
        format!(
            "EXISTS (SELECT 1 FROM unnest(f.meta) AS m (pair) WHERE starts_with(m.pair, {key} || '=') \
               AND length(m.pair) > length({key}) + 1 \
               AND position({value} in substr(m.pair, length({key}) + 2)) > 0)"
        )
    }

    fn number(&mut self, number: i64) -> String {
        self.placeholder(Value::Number(number), "int8")
    }

    fn numbers(&mut self, numbers: &'v [i64]) -> String {
        self.placeholder(Value::Numbers(numbers), "int8[]")
    }

    fn texts(&mut self, texts: &'v [String]) -> String {
        self.placeholder(Value::Texts(texts.iter().map(String::as_str).collect()), "text[]")
    }

    /// Adds a value and returns its placeholder.
    fn placeholder(&mut self, value: Value<'v>, kind: &str) -> String {
        self.values.push(value);
        format!("${}::{kind}", self.first + self.values.len() - 1)
    }
}
