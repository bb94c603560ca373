//! A filter as SQL.

use super::filter::{Filter, Test};
use super::patterns::{escaped, literal};
use crate::door::ProjectTx;
use crate::postgres::Query;

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
    /// Whether what is written is about one definition.
    of_one: bool,
}

impl<'v> Condition<'v> {
    /// Writes the condition; its places are numbered from `$first` on.
    pub(super) fn of(filter: &'v Filter, tx: &ProjectTx, first: usize) -> Self {
        let mut condition = Self {
            text: String::new(),
            of_facts: !filter.is_of_files(),
            values: Vec::new(),
            first,
            of_one: false,
        };
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
            Filter::Not(not) => {
                let around = std::mem::replace(&mut self.of_one, false);
                let written = self.written(not, tx);
                self.of_one = around;
                format!("NOT coalesce({written}, false)")
            }
            Filter::OneDefinition(filter) => self.one_definition(filter, tx),
            Filter::Is(test) if self.of_one && test.is_of_definitions() => self.tested_of_one(test),
            Filter::Is(test) => self.tested(test, tx),
        }
    }

    fn joined(&mut self, filters: &'v [Filter], with: &str, tx: &ProjectTx) -> String {
        let written: Vec<String> = filters.iter().map(|filter| self.written(filter, tx)).collect();
        format!("({})", written.join(with))
    }

    /// That one of the definitions of `k` fulfils a filter; or the code outside of them; or all of the chunk, where what it is
    /// about is not among them. They are looked at in this order until one does.
    fn one_definition(&mut self, filter: &'v Filter, tx: &ProjectTx) -> String {
        let (definitions, chunks) = (tx.table("definitions"), tx.table("chunks"));
        let around = std::mem::replace(&mut self.of_one, true);
        let condition = self.written(filter, tx);
        self.of_one = around;
        format!(
            "EXISTS (SELECT 1 FROM (SELECT coalesce(d.ids, k.ids) AS ids, d.signature FROM {definitions} d WHERE d.chunk_id = k.chunk_id \
             UNION ALL SELECT k.ids, k.signature WHERE NOT EXISTS (SELECT 1 FROM {definitions} d JOIN {chunks} c ON c.id = d.chunk_id \
             WHERE d.chunk_id = k.chunk_id AND d.qualified = c.name) \
             UNION ALL SELECT ARRAY(SELECT unnest(k.ids) EXCEPT SELECT unnest(d.ids) FROM {definitions} d WHERE d.chunk_id = k.chunk_id), \
             NULL) o WHERE {condition})"
        )
    }

    /// A test of one definition `o`.
    fn tested_of_one(&mut self, test: &'v Test) -> String {
        match test {
            Test::Facts(ids) => format!("o.ids && {}", self.numbers(ids)),
            // Many ids are hashed: compared with each of the definition's, they would cost their product.
            Test::Chunks { facts, .. } => {
                format!(
                    "EXISTS (SELECT 1 FROM unnest(o.ids) u (id) WHERE u.id = ANY({}))",
                    self.numbers(facts)
                )
            }
            Test::Signature(text) => {
                let text = self.place(Value::Text(text), "text");
                format!("position({text} in o.signature) > 0")
            }
            _ => "false".to_owned(),
        }
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
            Test::Chunks { chunks, .. } => format!("k.chunk_id + 0 = ANY({})", self.numbers(chunks)),
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
