//! What was given for fields and asked for in the question, to the store's filter.

use futures::future::BoxFuture;
use jiff::{Timestamp, civil, tz::TimeZone};

use super::fields::{self, FilterField, LooksAt};
use super::given::{self, Given, GivenValue, refused};
use super::pattern::path_regex;
use super::question::Gate;
use crate::clock::Clock;
use crate::contract::{ErrorCode, Fault, Warning};
use crate::languages::facts::{Field, Flag};
use crate::languages::terms::whole_word;
use crate::languages::{self, terms};
use crate::store::{Filter, Reads, RepositoryRow, Test, fact_id};

/// Kinds of chunks with the words that people use for them; a list's own name stands first.
const KINDS: &[(&str, &[&str])] = &[
    ("function", &["func", "fn", "def", "functiondeclaration", "arrowfunction"]),
    ("method", &["methoddeclaration", "constructor", "methoddefinition"]),
    ("class", &["classdeclaration"]),
    ("struct", &["structdeclaration", "record", "union"]),
    ("interface", &["interfacedeclaration", "protocol"]),
    ("trait", &["traitdeclaration", "mixin"]),
    ("enum", &["enumdeclaration"]),
    ("impl", &["impldeclaration", "implementation", "extension"]),
    ("module", &["moduledeclaration", "namespace", "package"]),
    ("type", &["typedeclaration", "typealias", "alias"]),
    ("variable", &["variabledeclaration", "constant", "const", "field", "property"]),
    ("section", &["heading"]),
    ("block", &["other"]),
];

/// Ids of facts that are compared on each chunk.
const IDS_TESTED_MAX: usize = 4;

/// Resolves fields and gates. Names are looked up in the project, so that the filter holds ids alone.
pub(super) struct Resolver<'a> {
    pub(super) reads: &'a mut Reads,
    pub(super) clock: &'a dyn Clock,
    pub(super) repositories: &'a [RepositoryRow],
    pub(super) case_file: bool,
    pub(super) case_tokens: bool,
    pub(super) names_max: usize,
    /// Fields that were used, for what must be said about them.
    pub(super) used: Vec<&'static FilterField>,
    pub(super) warnings: Vec<Warning>,
    /// Facts that were looked up at once, of which a definition that is meant has one of each list.
    pub(super) sought: Vec<Vec<i64>>,
}

impl Resolver<'_> {
    /// All given fields hold.
    pub(super) async fn all(&mut self, all: &[Given]) -> Result<Filter, Fault> {
        let mut filter = Filter::EVERYTHING;
        for one in all {
            filter = filter.and(self.field(one.field, &one.value).await?);
        }
        Ok(filter)
    }

    /// What the question demands.
    pub(super) fn gate<'g>(&'g mut self, gate: &'g Gate) -> BoxFuture<'g, Result<Filter, Fault>> {
        Box::pin(async move {
            Ok(match gate {
                Gate::All(gates) => {
                    let mut all = Vec::with_capacity(gates.len());
                    for gate in gates {
                        all.push(self.gate(gate).await?);
                    }
                    Filter::All(all)
                }
                Gate::Any(gates) => {
                    let mut any = Vec::with_capacity(gates.len());
                    for gate in gates {
                        any.push(self.gate(gate).await?);
                    }
                    Filter::Any(any)
                }
                Gate::Not(gate) => Filter::Not(Box::new(self.gate(gate).await?)),
                Gate::Word(word) => says(word, self.case_tokens),
                Gate::Phrase(phrase) => contains(phrase, self.case_tokens),
                Gate::Field { name, value } => {
                    let Some(field) = fields::field(name) else { return Ok(says(value, self.case_tokens)) };
                    let value = given::from_text(field, value)?;
                    self.field(field, &value).await?
                }
            })
        })
    }

    async fn field(&mut self, field: &'static FilterField, value: &GivenValue) -> Result<Filter, Fault> {
        self.used.push(field);
        Ok(match (field.looks_at, value) {
            (LooksAt::Kind, GivenValue::Texts(kinds)) => {
                let kinds =
                    kinds.iter().map(|kind| Ok(fact_id(Field::Kind as i16, known_kind(field, kind)?)));
                Test::Facts(kinds.collect::<Result<_, Fault>>()?).into()
            }
            (LooksAt::Names(within), GivenValue::Texts(names)) => {
                // Callees are chains with dots, callers are named as their language does.
                let names = names.iter().flat_map(|name| [name.clone(), undotted(name)]);
                let ids = |name: String| within.iter().map(move |field| fact_id(*field as i16, &name));
                Test::Facts(names.flat_map(ids).collect()).into()
            }
            (LooksAt::PartsOfNames(within), GivenValue::Texts(parts)) => {
                let ids = self.names(field, within, parts).await?;
                self.having(ids, false).await?
            }
            (LooksAt::Risk(within), GivenValue::Texts(parts)) => {
                let ids = self.names(field, within, parts).await?;
                self.having(ids, true).await?
            }
            (LooksAt::Imports, GivenValue::Texts(names)) => {
                Test::Imports(names.iter().map(|name| fact_id(Field::Import as i16, name)).collect()).into()
            }
            (LooksAt::Signature, GivenValue::Texts(texts)) => {
                Filter::Any(texts.iter().map(|text| Test::Signature(text.clone()).into()).collect())
            }
            (LooksAt::LastAuthor, GivenValue::Texts(names)) => Test::LastAuthors(lower(names)).into(),
            (LooksAt::LineAuthors, GivenValue::Texts(names)) => {
                let ids = self.names(field, &[Field::Author], names).await?;
                Test::Authors { ids, names: lower(names) }.into()
            }
            (LooksAt::ModifiedAfter, GivenValue::Texts(dates)) => {
                let date = dates.first().map_or("", String::as_str);
                Test::ModifiedFrom(date_of(field, date)?).into()
            }
            (LooksAt::Branch, GivenValue::Texts(names)) => self.branch(names),
            (LooksAt::Language, GivenValue::Texts(names)) => {
                Test::Languages(names.iter().map(|name| language(name)).collect::<Result<_, _>>()?).into()
            }
            (LooksAt::Path, GivenValue::Texts(given)) => Test::Paths(self.patterns(given)?).into(),
            (LooksAt::FileName, GivenValue::Texts(given)) => Test::FileNames(self.patterns(given)?).into(),
            (LooksAt::Extension, GivenValue::Texts(given)) => Test::Extensions(extensions(given)?).into(),
            (LooksAt::Count(counted), GivenValue::Number(number)) => {
                Test::AtLeast(counted, rounded_up(*number)).into()
            }
            (LooksAt::Churn, GivenValue::Number(number)) => Test::ChurnFrom(rounded_up(*number)).into(),
            (LooksAt::ModifiedSince, GivenValue::Number(days)) => {
                Test::ModifiedFrom(self.days_ago(*days)).into()
            }
            (LooksAt::Holds(flag), GivenValue::Flag(holds)) => {
                holding(Test::Facts(vec![flag_id(flag)]), *holds)
            }
            (LooksAt::AnyLint, GivenValue::Flag(holds)) => {
                let rules = self.names(field, &[Field::Lint], &[String::new()]).await?;
                let broken = self.having(rules, false).await?;
                if *holds { broken } else { Filter::Not(Box::new(broken)) }
            }
            (LooksAt::Meta, GivenValue::Pairs(pairs)) => {
                let pair = |(key, value): &(String, Option<String>)| {
                    Test::Meta { key: key.clone(), value: value.clone() }.into()
                };
                Filter::All(pairs.iter().map(pair).collect())
            }
            _ => return Err(refused(field, "has a value of another type")),
        })
    }

    /// Ids of the names that contain one of `parts`.
    async fn names(
        &mut self,
        field: &'static FilterField,
        within: &[Field],
        parts: &[String],
    ) -> Result<Vec<i64>, Fault> {
        let codes: Vec<i16> = within.iter().map(|field| *field as i16).collect();
        let limit = i64::try_from(self.names_max.saturating_add(1)).unwrap_or(i64::MAX);
        let found = self.reads.find_names(&codes, &lower(parts), limit).await?;
        if found.len() > self.names_max {
            return Err(refused(
                field,
                &format!("fits more than {} different names here; give more of the name", self.names_max),
            ));
        }
        Ok(found)
    }

    /// Chunks with one of these facts. Many ids are looked up at once: tested on each chunk, they would cost their
    /// product.
    async fn having(&mut self, ids: Vec<i64>, flows: bool) -> Result<Filter, Fault> {
        if ids.len() <= IDS_TESTED_MAX && !flows {
            return Ok(Test::Facts(ids).into());
        }
        let chunks = self.reads.chunks_with(&ids, flows).await?;
        self.sought.push(ids);
        Ok(Test::Chunks(chunks).into())
    }

    fn patterns(&self, given: &[String]) -> Result<Vec<String>, Fault> {
        given.iter().map(|pattern| path_regex(pattern, self.case_file)).collect()
    }

    /// Repositories that were indexed on this branch; where the branch is not known, it cannot be wrong.
    fn branch(&mut self, names: &[String]) -> Filter {
        let asked = names.first().map_or("", String::as_str);
        let same = |branch: &str| {
            if self.case_file { branch == asked } else { branch.to_lowercase() == asked.to_lowercase() }
        };
        let (known, unknown): (Vec<_>, Vec<_>) =
            self.repositories.iter().partition(|repository| repository.branch.is_some());
        let fitting: Vec<i64> =
            known.iter().filter(|r| r.branch.as_deref().is_some_and(same)).map(|r| r.id).collect();
        let other: Vec<String> = known
            .iter()
            .filter(|repository| !fitting.contains(&repository.id))
            .map(|repository| {
                format!("{} ({})", repository.name, repository.branch.as_deref().unwrap_or_default())
            })
            .collect();
        if !other.is_empty() {
            let message =
                format!("Indexed on another branch than `{asked}` and left out: {}.", other.join(", "));
            let details = serde_json::json!({ "branchFilter": asked, "branchMatch": !fitting.is_empty() });
            self.warnings
                .push(Warning { details: Some(details), ..Warning::new("branch_mismatch", message) });
        }
        if !unknown.is_empty() {
            let names: Vec<&str> = unknown.iter().map(|repository| repository.name.as_str()).collect();
            let message = format!(
                "On which branch {} was indexed is not known: `branch` leaves it in.",
                names.join(", ")
            );
            self.warnings.push(Warning::new("branch_unknown", message));
        }
        Test::Repositories(
            fitting.into_iter().chain(unknown.iter().map(|repository| repository.id)).collect(),
        )
        .into()
    }

    fn days_ago(&self, days: f64) -> i64 {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "saturates, and the date is then before every file"
        )]
        let seconds = (days * 86_400.0) as i64;
        self.clock.now().as_second().saturating_sub(seconds)
    }
}

fn holding(test: Test, holds: bool) -> Filter {
    if holds { test.into() } else { Filter::Not(Box::new(test.into())) }
}

fn flag_id(flag: Flag) -> i64 {
    fact_id(Field::Flag as i16, flag.as_str())
}

fn lower(texts: &[String]) -> Vec<String> {
    texts.iter().map(|text| text.to_lowercase()).collect()
}

/// A qualified name as chains are stored: `a::b` and `a->b` are `a.b`.
fn undotted(name: &str) -> String {
    name.trim_end_matches("()").trim_end_matches(['!', '?']).replace("::", ".").replace("->", ".")
}

#[expect(clippy::cast_possible_truncation, reason = "counts beyond i64 match nothing either way")]
fn rounded_up(number: f64) -> i64 {
    number.ceil() as i64
}

fn known_kind(field: &FilterField, word: &str) -> Result<&'static str, Fault> {
    let word = word.to_lowercase();
    let found = KINDS.iter().find(|(kind, others)| *kind == word || others.contains(&word.as_str()));
    found.map(|(kind, _)| *kind).ok_or_else(|| {
        let kinds = KINDS.iter().map(|(kind, _)| *kind).collect::<Vec<_>>().join(", ");
        refused(field, &format!("knows no `{word}`; kinds are {kinds}"))
    })
}

/// A date or a moment; a date without zone is in UTC.
fn date_of(field: &FilterField, text: &str) -> Result<i64, Fault> {
    let in_utc = |moment: civil::DateTime| moment.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp());
    let found = text
        .parse::<Timestamp>()
        .ok()
        .or_else(|| text.parse::<civil::DateTime>().ok().and_then(in_utc))
        .or_else(|| text.parse::<civil::Date>().ok().and_then(|date| in_utc(date.at(0, 0, 0, 0))));
    found.map(Timestamp::as_second).ok_or_else(|| refused(field, &format!("is no date: `{text}`")))
}

fn language(name: &str) -> Result<String, Fault> {
    if let Some(language) = languages::by_name(name) {
        return Ok(language.id.to_owned());
    }
    let nearest = languages::nearest(name);
    let hint = if nearest.is_empty() {
        "Filter by extension (`ext`) instead, for example `rs`.".to_owned()
    } else {
        format!(
            "Did you mean {}?",
            nearest.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" or ")
        )
    };
    Err(Fault::new(ErrorCode::InvalidRequest, format!("Unknown language `{name}`."))
        .with_details(serde_json::json!({ "field": "lang", "value": name, "nearest": nearest }))
        .with_hint(hint))
}

/// `rs, toml` is two: no extension holds a comma.
fn extensions(given: &[String]) -> Result<Vec<String>, Fault> {
    let parts = given.iter().flat_map(|given| given.split(','));
    parts.filter(|part| !part.trim().is_empty()).map(extension).collect()
}

/// `*.RS`, `.rs` and `rs` are all `rs`.
fn extension(given: &str) -> Result<String, Fault> {
    let bare = given.trim().trim_start_matches('*').trim_start_matches('.').to_lowercase();
    if bare.is_empty() || bare.contains(['/', '*', ' ']) {
        return Err(Fault::new(ErrorCode::InvalidRequest, format!("`{given}` is no file extension."))
            .with_hint("Give extensions like `rs` or `.rs`; for patterns use `path`."));
    }
    Ok(bare)
}

/// A word stands in the chunk, as a whole or as a part of a name.
fn says(word: &str, exact_case: bool) -> Filter {
    match whole_word(word) {
        Some(term) if !exact_case => Test::Says(vec![term]).into(),
        Some(term) => {
            Filter::All(vec![Test::Says(vec![term]).into(), Test::Text(text_regex(word, true)).into()])
        }
        None => contains(word, exact_case),
    }
}

/// A text stands in the chunk, between the borders of words; whitespace is folded.
pub(super) fn contains(text: &str, exact_case: bool) -> Filter {
    // The index finds the words; only what holds them is read.
    let mut ids: Vec<i32> = terms::words(text).filter_map(|word| whole_word(word.text)).collect();
    ids.sort_unstable();
    ids.dedup();
    let test: Filter = Test::Text(text_regex(text, exact_case)).into();
    if ids.is_empty() { test } else { Filter::All(vec![Test::Says(ids).into(), test]) }
}

/// Any of these words stands in the chunk in just this case.
pub(super) fn any_in_case(words: &[String]) -> Filter {
    Filter::Any(words.iter().map(|word| says(word, true)).collect())
}

/// A regular expression of Postgres for a literal text.
fn text_regex(text: &str, exact_case: bool) -> String {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let words: Vec<String> = text.split_whitespace().map(super::pattern::escaped).collect();
    let start = if text.trim_start().starts_with(is_word) { "\\m" } else { "" };
    let end = if text.trim_end().ends_with(is_word) { "\\M" } else { "" };
    format!("{}{start}{}{end}", if exact_case { "" } else { "(?i)" }, words.join("\\s+"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_many_names() {
        let field = fields::field("type").unwrap();
        for (word, kind) in [("Function", "function"), ("ClassDeclaration", "class"), ("namespace", "module")]
        {
            assert_eq!(known_kind(field, word).unwrap(), kind);
        }
        assert_eq!(known_kind(field, "thing").unwrap_err().code, ErrorCode::InvalidRequest);
    }

    #[test]
    fn dates_are_read_in_their_usual_forms() {
        let field = fields::field("modifiedAfter").unwrap();
        for text in ["1970-01-02", "1970-01-02T00:00:00Z", "1970-01-02T00:00:00", "1970-01-02T02:00:00+02:00"]
        {
            assert_eq!(date_of(field, text).unwrap(), 86_400, "{text}");
        }
        assert!(date_of(field, "yesterday").is_err());
    }

    #[test]
    fn languages_and_extensions_are_normalised_or_refused() {
        assert_eq!(language("golang").unwrap(), "go");
        assert!(language("rusd").unwrap_err().hint.unwrap().contains("rust"));
        assert_eq!(extension("*.RS").unwrap(), "rs");
        assert!(extension("a/b").is_err());
    }

    #[test]
    fn a_text_is_literal_and_ends_at_words() {
        assert_eq!(text_regex("fn  get(", false), "(?i)\\mfn\\s+get\\(");
        assert_eq!(text_regex("a.b", true), "\\ma\\.b\\M");
        assert!(matches!(says("Store", false), Filter::Is(Test::Says(_))));
        assert!(matches!(says("::", false), Filter::Is(Test::Text(_))));
    }
}
