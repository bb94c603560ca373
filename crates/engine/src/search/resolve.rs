//! What was given for fields and asked for in the question, to the store's filter.

use futures::future::BoxFuture;

use super::fields::{self, FilterField, LooksAt};
use super::given::{self, Given, GivenValue, refused};
use super::pattern::path_regex;
use super::question::Gate;
use super::spelled::{date_of, extensions, is_path, known_kind, language, on_one_line, people};
use contract::clock::Clock;
use contract::{Fault, Warning, echo};
use languages::facts::{
    Field, Flag, VISIBILITIES, decorator_pieces, marked_decorator, spellings, whole_visibility,
};
use languages::terms;
use languages::terms::whole_word;
use store::{Filter, Reads, RepositoryRow, Test, fact_id};

/// Ids of facts that are compared on each chunk.
const IDS_TESTED_MAX: usize = 4;

/// What can follow the name of a decorator: its arguments, or the types or value that it is given.
const DECORATOR_ENDS: &[&str] = &["(", "<", " ", "="];

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
    /// What hits show of what they were found by.
    pub(super) sought: Sought,
}

/// What was looked for and may not be missing.
#[derive(Debug, Default)]
pub(super) struct Sought {
    /// Facts that were looked up at once, of which a definition that is meant has one of each list.
    pub(super) ids: Vec<Vec<i64>>,
    /// Names that facts were to have, as they stand in code, in lower case.
    pub(super) names: Vec<String>,
    /// Phrases in lower case, whitespace folded.
    pub(super) phrases: Vec<String>,
}

impl Sought {
    /// Notes the name of a value: what stands last in it before arguments and types. `api.save(x)` is `save`.
    fn note_name(&mut self, value: &str) {
        let bare = value.trim_start_matches(|c: char| !is_of_name(c));
        let head = bare.split(['(', '<', '[', '{', '=']).next().unwrap_or_default();
        let last = head.split(|c: char| !is_of_name(c)).rfind(|part| !part.is_empty());
        self.names.extend(last.filter(|name| name.len() > 1).map(str::to_lowercase));
    }
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
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
                Gate::Not(gate) => {
                    // What may not be there is not shown either.
                    let sought = std::mem::take(&mut self.sought);
                    let filter = self.gate(gate).await?;
                    self.sought = sought;
                    Filter::Not(Box::new(filter))
                }
                Gate::Word(word) => says(word, self.case_tokens),
                Gate::Phrase(phrase) => {
                    self.sought.phrases.push(phrase.to_lowercase());
                    contains(phrase, self.case_tokens)
                }
                Gate::Field { name, value } => {
                    let Some(field) = fields::field(name) else { return Ok(says(value, self.case_tokens)) };
                    let value = given::from_text(field, value)?;
                    self.field(field, &value).await?
                }
            })
        })
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each way to look")]
    async fn field(&mut self, field: &'static FilterField, value: &GivenValue) -> Result<Filter, Fault> {
        self.used.push(field);
        if let (LooksAt::Names(_) | LooksAt::PartsOfNames(_), GivenValue::Texts(names)) =
            (field.looks_at, value)
        {
            names.iter().for_each(|name| self.sought.note_name(name));
        }
        Ok(match (field.looks_at, value) {
            (LooksAt::Kind, GivenValue::Texts(kinds)) => {
                let kinds =
                    kinds.iter().map(|kind| Ok(fact_id(Field::Kind as i16, known_kind(field, kind)?)));
                Test::Facts(kinds.collect::<Result<_, Fault>>()?).into()
            }
            (LooksAt::Names(within), GivenValue::Texts(names)) => {
                Test::Facts(names.iter().flat_map(|name| whole_ids(within, name)).collect()).into()
            }
            (LooksAt::PartsOfNames(&[Field::Decorator]), GivenValue::Texts(given)) => {
                let mut ids = Vec::new();
                for one in given {
                    ids.extend(match marked_decorator(one) {
                        Some(name) => self.decorator(field, one, &name).await?,
                        None => self.names(field, &[Field::Decorator], std::slice::from_ref(one)).await?,
                    });
                }
                self.having(ids, false).await?
            }
            (LooksAt::Visibility, GivenValue::Texts(words)) => self.visible(field, words).await?,
            (LooksAt::PartsOfNames(within), GivenValue::Texts(parts)) => {
                let ids = self.names(field, within, parts).await?;
                self.having(ids, false).await?
            }
            (LooksAt::Risk(within), GivenValue::Texts(parts)) => {
                let ids = self.names(field, within, parts).await?;
                self.having(ids, true).await?
            }
            (LooksAt::Imports, GivenValue::Texts(names)) => {
                Test::Imports(names.iter().flat_map(|name| whole_ids(&[Field::Import], name)).collect())
                    .into()
            }
            (LooksAt::Signature, GivenValue::Texts(texts)) => {
                Filter::Any(texts.iter().map(|text| Test::Signature(on_one_line(text)).into()).collect())
            }
            (LooksAt::LastAuthor, GivenValue::Texts(names)) => Test::LastAuthors(people(names)).into(),
            (LooksAt::LineAuthors, GivenValue::Texts(names)) => {
                let names = people(names);
                let ids = self.names(field, &[Field::Author], &names).await?;
                Test::Authors { ids, names }.into()
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
            (LooksAt::FileName, GivenValue::Texts(given)) => {
                // No name has a slash: what has one is the path of a file.
                let (paths, names): (Vec<_>, Vec<_>) = given.iter().cloned().partition(|one| is_path(one));
                let names: Filter = Test::FileNames(self.patterns(&names)?).into();
                if paths.is_empty() {
                    names
                } else {
                    Filter::Any(vec![names, Test::Paths(self.patterns(&paths)?).into()])
                }
            }
            (LooksAt::Extension, GivenValue::Texts(given)) => {
                // What is stored is behind the last dot: `d.ts` is the end of a name.
                let (long, short): (Vec<_>, Vec<_>) =
                    extensions(given)?.into_iter().partition(|extension| extension.contains('.'));
                let short: Filter = Test::Extensions(short).into();
                if long.is_empty() {
                    short
                } else {
                    let ends = long.iter().map(|end| format!("(?i)\\.{}$", super::pattern::escaped(end)));
                    Filter::Any(vec![short, Test::FileNames(ends.collect()).into()])
                }
            }
            (LooksAt::Count(counted), GivenValue::Number(number)) => {
                Test::AtLeast(counted, rounded_up(*number)).into()
            }
            (LooksAt::Churn, GivenValue::Number(number)) => Test::ChurnFrom(rounded_up(*number)).into(),
            (LooksAt::ModifiedSince, GivenValue::Number(days)) => {
                Test::ModifiedFrom(self.days_ago(*days)).into()
            }
            // `false` asks for what is known not to hold, unlike `NOT field:true`, which what is not known passes, too.
            (LooksAt::Holds(flag), GivenValue::Flag(holds)) => {
                let value = if *holds { flag.as_str() } else { flag.denied() };
                Test::Facts(vec![fact_id(Field::Flag as i16, value)]).into()
            }
            (LooksAt::AnyLint, GivenValue::Flag(false)) => {
                Test::Facts(vec![fact_id(Field::Flag as i16, Flag::Lint.denied())]).into()
            }
            (LooksAt::AnyLint, GivenValue::Flag(true)) => {
                let rules = self.find_names(field, &[Field::Lint], &[String::new()]).await?;
                self.having(rules, false).await?
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

    /// Ids of the names that contain one of `parts`, in a spelling in which they may be stored.
    async fn names(
        &mut self,
        field: &'static FilterField,
        within: &[Field],
        parts: &[String],
    ) -> Result<Vec<i64>, Fault> {
        let spelled =
            parts.iter().flat_map(|part| within.iter().flat_map(move |field| spellings(*field, part)));
        let mut spelled: Vec<String> = spelled.map(|one| one.to_lowercase()).collect();
        spelled.sort_unstable();
        spelled.dedup();
        // Members are many, and all of `self` would be meant by it.
        let single = within.contains(&Field::Member) && !spelled.iter().any(|part| part.contains('.'));
        let within: Vec<Field> =
            within.iter().copied().filter(|field| !single || *field != Field::Member).collect();
        let mut found = self.find_names(field, &within, &spelled).await?;
        if found.is_empty() && within == [Field::Decorator] {
            for part in parts {
                found.extend(self.decorated(field, &decorator_pieces(part)).await?);
            }
        }
        Ok(found)
    }

    /// Ids of the decorators that are meant by one in its own marks: those of just this name, with whatever arguments where
    /// none are given; else those of this name behind the name of what it stands in; else, with arguments, those of this
    /// name that contain them in any order and quotes.
    async fn decorator(
        &mut self,
        field: &'static FilterField,
        given: &str,
        bare: &str,
    ) -> Result<Vec<i64>, Fault> {
        let code = Field::Decorator as i16;
        let exact = self.reads.beginning(code, bare, DECORATOR_ENDS).await?;
        if !exact.is_empty() {
            return Ok(exact);
        }
        let pieces = decorator_pieces(given);
        let name = bare.split('(').next().unwrap_or(bare);
        let mut found = self.reads.beginning(code, name, DECORATOR_ENDS).await?;
        for joint in if found.is_empty() { &["::", ".", "\\"][..] } else { &[] } {
            let inside = format!("{joint}{name}").to_lowercase();
            found.extend(self.reads.ending(code, &inside, DECORATOR_ENDS).await?);
        }
        if !pieces.is_empty() {
            let with = self.decorated(field, &pieces).await?;
            found.retain(|id| with.contains(id));
        }
        Ok(found)
    }

    /// Ids of the decorators that contain all of these.
    async fn decorated(&mut self, field: &'static FilterField, pieces: &[String]) -> Result<Vec<i64>, Fault> {
        let mut found: Option<Vec<i64>> = None;
        for piece in pieces {
            let mut with = self.find_names(field, &[Field::Decorator], std::slice::from_ref(piece)).await?;
            with.retain(|id| found.as_ref().is_none_or(|found| found.contains(id)));
            found = Some(with);
        }
        Ok(found.unwrap_or_default())
    }

    /// Ids of the names that contain one of `parts`, which are in lower case.
    async fn find_names(
        &mut self,
        field: &'static FilterField,
        within: &[Field],
        parts: &[String],
    ) -> Result<Vec<i64>, Fault> {
        let codes: Vec<i16> = within.iter().map(|field| *field as i16).collect();
        let limit = i64::try_from(self.names_max.saturating_add(1)).unwrap_or(i64::MAX);
        let found = self.reads.find_names(&codes, parts, limit).await?;
        if found.len() > self.names_max {
            return Err(refused(
                field,
                &format!("fits more than {} different names here; give more of the name", self.names_max),
            ));
        }
        Ok(found)
    }

    /// A whole word is that visibility; else all that contain it, in the words of all languages.
    async fn visible(&mut self, field: &'static FilterField, words: &[String]) -> Result<Filter, Fault> {
        let mut ids = Vec::new();
        for word in words {
            if let Some(value) = whole_visibility(word) {
                ids.push(fact_id(Field::Visibility as i16, &value));
                continue;
            }
            let found = self.names(field, &[Field::Visibility], std::slice::from_ref(word)).await?;
            if found.is_empty()
                && !VISIBILITIES.iter().any(|known| known.contains(word.to_lowercase().as_str()))
            {
                let known = VISIBILITIES.join(", ");
                let why =
                    format!("knows no `{}`; it is one of {known}, or a language's own word", echo(word));
                return Err(refused(field, &why));
            }
            ids.extend(found);
        }
        self.having(ids, false).await
    }

    /// Chunks with one of these facts. Many ids are looked up at once: tested on each chunk, they would cost their
    /// product.
    async fn having(&mut self, ids: Vec<i64>, flows: bool) -> Result<Filter, Fault> {
        if ids.len() <= IDS_TESTED_MAX && !flows {
            return Ok(Test::Facts(ids).into());
        }
        let chunks = self.reads.chunks_with(&ids, flows).await?;
        self.sought.ids.push(ids.clone());
        // Dangers are told of chunks: no definition has one of its own.
        let facts = if flows { Vec::new() } else { ids };
        Ok(Test::Chunks { chunks, facts }.into())
    }

    /// An absolute path inside one of the repositories is one from its root.
    fn patterns(&self, given: &[String]) -> Result<Vec<String>, Fault> {
        let inside = |path: &str| {
            let below =
                |root: &str| path.strip_prefix(root)?.strip_prefix('/').filter(|rest| !rest.is_empty());
            let roots = self.repositories.iter().filter(|repository| repository.is_folder());
            roots
                .filter_map(|repository| below(&repository.root))
                .min_by_key(|rest| rest.len())
                .map(str::to_owned)
        };
        let relative = |path: &String| inside(path).unwrap_or_else(|| path.clone());
        given.iter().map(|pattern| path_regex(&relative(pattern), self.case_file)).collect()
    }

    /// Repositories that were indexed on this branch; where the branch is not known, it cannot be wrong.
    fn branch(&mut self, names: &[String]) -> Filter {
        let asked = names.first().map_or("", String::as_str);
        let asked = asked.strip_prefix("refs/heads/").unwrap_or(asked);
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

/// Ids of the values that a whole name may be stored as in these fields.
fn whole_ids(within: &[Field], name: &str) -> Vec<i64> {
    let of = |field: &Field| {
        let code = *field as i16;
        spellings(*field, name).into_iter().map(move |spelling| fact_id(code, &spelling))
    };
    within.iter().flat_map(of).collect()
}

#[expect(clippy::cast_possible_truncation, reason = "counts beyond i64 match nothing either way")]
fn rounded_up(number: f64) -> i64 {
    number.ceil() as i64
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
    fn a_text_is_literal_and_ends_at_words() {
        assert_eq!(text_regex("fn  get(", false), "(?i)\\mfn\\s+get\\(");
        assert_eq!(text_regex("a.b", true), "\\ma\\.b\\M");
        assert!(matches!(says("Store", false), Filter::Is(Test::Says(_))));
        assert!(matches!(says("::", false), Filter::Is(Test::Text(_))));
    }
}
