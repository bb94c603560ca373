//! Resolves the filters of a request and of its query to a [`store::Filter`].

use futures::future::BoxFuture;

use crate::search::exact::matching_chunks;
use crate::search::filters::fields::{self, FilterField, FilterTarget};
use crate::search::filters::filter_value::{
    extensions, is_path, known_kind, language, on_one_line, parse_date, people,
};
use crate::search::filters::graph_filter::EdgeFilter;
use crate::search::filters::pattern::path_regex;
use crate::search::filters::request_filter::{self, FilterValue, RequestFilter, invalid_value};
use crate::search::filters::resolver::Resolver;
use crate::search::query::FilterClause;
use contract::{Fault, echo};
use languages::facts::{Field, Flag, VISIBILITIES, marked_decorator, spellings, whole_visibility};
use languages::nfc;
use languages::terms::{self, whole_word};
use store::{ChunkSelection, Filter, Test, fact_id};

/// Maximum number of fact ids that are tested on each chunk; more are resolved to chunks first.
const IDS_TESTED_MAX: usize = 4;

impl Resolver<'_> {
    /// Resolves all filters of the request.
    pub(in crate::search) async fn all(&mut self, filters: &[RequestFilter]) -> Result<Filter, Fault> {
        let mut resolved = Filter::EVERYTHING;
        for filter in filters {
            resolved = resolved.and(self.field(filter.field, &filter.value).await?);
        }
        Ok(resolved)
    }

    /// Resolves a filter clause of the query.
    pub(in crate::search) fn clause<'g>(
        &'g mut self,
        clause: &'g FilterClause,
    ) -> BoxFuture<'g, Result<Filter, Fault>> {
        Box::pin(async move {
            Ok(match clause {
                FilterClause::All(clauses) => {
                    let mut all = Vec::with_capacity(clauses.len());
                    for clause in clauses {
                        all.push(self.clause(clause).await?);
                    }
                    Filter::All(all)
                }
                FilterClause::Any(clauses) => {
                    let mut any = Vec::with_capacity(clauses.len());
                    for clause in clauses {
                        any.push(self.clause(clause).await?);
                    }
                    Filter::Any(any)
                }
                FilterClause::Not(clause) => {
                    // Hits do not contain the values of a negated clause, so those are not recorded.
                    let terms = std::mem::take(&mut self.terms);
                    let filter = self.clause(clause).await?;
                    self.terms = terms;
                    Filter::Not(Box::new(filter))
                }
                FilterClause::Word(word) => contains_word(word, self.case_tokens),
                FilterClause::Phrase(phrase) => {
                    self.terms.phrases.push(phrase.to_lowercase());
                    contains(phrase, self.case_tokens)
                }
                FilterClause::Field { name, value } => {
                    let Some(field) = fields::field(name) else {
                        return Ok(contains_word(value, self.case_tokens));
                    };
                    let value = request_filter::from_text(field, value)?;
                    self.field(field, &value).await?
                }
            })
        })
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each filter target")]
    async fn field(&mut self, field: &'static FilterField, value: &FilterValue) -> Result<Filter, Fault> {
        self.used.push(field);
        let value = &value.composed();
        if let (
            FilterTarget::Names(_) | FilterTarget::EndsOfNames(_) | FilterTarget::PartsOfNames(_),
            FilterValue::Texts(names),
        ) = (field.target, value)
        {
            names.iter().for_each(|name| self.terms.add_name(name));
        }
        if let (Some(edges), FilterValue::Texts(names)) = (EdgeFilter::of(field), value) {
            return self.by_edges(field, edges, names).await;
        }
        Ok(match (field.target, value) {
            (FilterTarget::Kind, FilterValue::Texts(kinds)) => {
                let kinds =
                    kinds.iter().map(|kind| Ok(fact_id(Field::Kind as i16, known_kind(field, kind)?)));
                Test::Facts(kinds.collect::<Result<_, Fault>>()?).into()
            }
            (FilterTarget::Names(within), FilterValue::Texts(names)) => {
                self.whole_names(within, names).await?
            }
            (FilterTarget::PartsOfNames(&[Field::Decorator]), FilterValue::Texts(given)) => {
                let mut ids = Vec::new();
                for one in given {
                    ids.extend(match marked_decorator(one) {
                        Some(name) => self.decorator(field, one, &name).await?,
                        None => self.names(field, &[Field::Decorator], std::slice::from_ref(one)).await?,
                    });
                }
                self.having(ids, false).await?
            }
            (FilterTarget::Visibility, FilterValue::Texts(words)) => self.visible(field, words).await?,
            (FilterTarget::EndsOfNames(within), FilterValue::Texts(names)) => {
                let ids = self.ends_of_names(within, names).await?;
                self.having(ids, false).await?
            }
            (FilterTarget::PartsOfNames(within), FilterValue::Texts(parts)) => {
                let ids = self.names(field, within, parts).await?;
                self.having(ids, false).await?
            }
            (FilterTarget::Risk(within), FilterValue::Texts(parts)) => {
                let ids = self.names(field, within, parts).await?;
                self.having(ids, true).await?
            }
            (FilterTarget::Imports, FilterValue::Texts(names)) => {
                let spelled = names.iter().flat_map(|name| spellings(Field::Import, name));
                Test::Imports(spelled.map(|name| fact_id(Field::Import as i16, &name)).collect()).into()
            }
            (FilterTarget::Signature, FilterValue::Texts(texts)) => {
                let signature = |text: &String| Test::Signature(on_one_line(&nfc(text))).into();
                Filter::Any(texts.iter().map(signature).collect())
            }
            (FilterTarget::LastAuthor, FilterValue::Texts(names)) => Test::LastAuthors(people(names)).into(),
            (FilterTarget::LineAuthors, FilterValue::Texts(names)) => {
                let names = people(names);
                let ids = self.names(field, &[Field::Author], &names).await?;
                Test::Authors { ids, names }.into()
            }
            (FilterTarget::ModifiedAfter, FilterValue::Texts(dates)) => {
                let date = dates.first().map_or("", String::as_str);
                Test::ModifiedFrom(parse_date(field, date)?).into()
            }
            (FilterTarget::Branch, FilterValue::Texts(names)) => self.branch(names),
            (FilterTarget::Revision, FilterValue::Texts(names)) => self.revision(field, names)?,
            (FilterTarget::Language, FilterValue::Texts(names)) => {
                Test::Languages(names.iter().map(|name| language(name)).collect::<Result<_, _>>()?).into()
            }
            (FilterTarget::Path, FilterValue::Texts(given)) => Test::Paths(self.patterns(given)?).into(),
            (FilterTarget::FileName, FilterValue::Texts(given)) => {
                // A file name has no slash, so a pattern with one is a path.
                let (paths, names): (Vec<_>, Vec<_>) = given.iter().cloned().partition(|one| is_path(one));
                let names: Filter = Test::FileNames(self.patterns(&names)?).into();
                if paths.is_empty() {
                    names
                } else {
                    Filter::Any(vec![names, Test::Paths(self.patterns(&paths)?).into()])
                }
            }
            (FilterTarget::Content, FilterValue::Texts(given)) => self.content(given).await?,
            (FilterTarget::Extension, FilterValue::Texts(given)) => {
                // Stored extensions begin after the last dot, so `d.ts` is matched as the end of a file name.
                let (long, short): (Vec<_>, Vec<_>) =
                    extensions(given)?.into_iter().partition(|extension| extension.contains('.'));
                let short: Filter = Test::Extensions(short).into();
                if long.is_empty() {
                    short
                } else {
                    let ends = long
                        .iter()
                        .map(|end| format!("(?i)\\.{}$", crate::search::filters::pattern::escaped(end)));
                    Filter::Any(vec![short, Test::FileNames(ends.collect()).into()])
                }
            }
            (FilterTarget::Count(counted), FilterValue::Number(number)) => {
                Test::AtLeast(counted, rounded_up(*number)).into()
            }
            (FilterTarget::Churn, FilterValue::Number(number)) => Test::ChurnFrom(rounded_up(*number)).into(),
            (FilterTarget::ModifiedSince, FilterValue::Number(days)) => {
                Test::ModifiedFrom(self.days_ago(*days)).into()
            }
            // `false` matches only chunks known not to have the flag; chunks without that knowledge pass only `NOT field:true`.
            (FilterTarget::Flag(flag), FilterValue::Boolean(holds)) => {
                let value = if *holds { flag.as_str() } else { flag.denied() };
                Test::Facts(vec![fact_id(Field::Flag as i16, value)]).into()
            }
            (FilterTarget::AnyLint, FilterValue::Boolean(false)) => {
                Test::Facts(vec![fact_id(Field::Flag as i16, Flag::Lint.denied())]).into()
            }
            (FilterTarget::AnyLint, FilterValue::Boolean(true)) => {
                let rules = self.find_names(field, &[Field::Lint], &[String::new()]).await?;
                self.having(rules, false).await?
            }
            (FilterTarget::Meta, FilterValue::Pairs(pairs)) => {
                let pair = |(key, value): &(String, Option<String>)| {
                    Test::Meta { key: key.clone(), value: value.clone() }.into()
                };
                Filter::All(pairs.iter().map(pair).collect())
            }
            _ => return Err(invalid_value(field, "has a value of another type")),
        })
    }

    /// Resolves visibilities. A whole word matches that visibility; a part of a word, every visibility of any language
    /// that contains the part.
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
                return Err(invalid_value(field, &why));
            }
            ids.extend(found);
        }
        self.having(ids, false).await
    }

    /// Returns a filter for chunks with one of these facts. Many ids are resolved to chunks first, because testing each
    /// id on each chunk would be slower.
    pub(in crate::search) async fn having(&mut self, ids: Vec<i64>, flows: bool) -> Result<Filter, Fault> {
        if ids.len() <= IDS_TESTED_MAX && !flows {
            return Ok(Test::Facts(ids).into());
        }
        let chunks = self.reads.chunks_with(&ids, flows).await?;
        self.terms.ids.push(ids.clone());
        // Flows belong to chunks, not to definitions.
        let facts = if flows { Vec::new() } else { ids };
        Ok(Test::Chunks { chunks, facts }.into())
    }

    /// Returns a filter for chunks with a line that matches one of the values.
    async fn content(&mut self, given: &[String]) -> Result<Filter, Fault> {
        let selection = if self.is_part {
            let ids: Vec<i64> = self.repositories.iter().map(|repository| repository.id).collect();
            self.reads.select_chunks(&self.asked.within(&ids), (self.settings.filter_rows_max, 0)).await?
        } else {
            ChunkSelection::All
        };
        let mut chunks = Vec::new();
        for value in given {
            let lines =
                matching_chunks(self.reads, value, self.case_tokens, &selection, self.settings, self.clock)
                    .await?;
            chunks.extend(lines.keys());
            self.terms.lines.extend(lines);
        }
        Ok(Test::Chunks { chunks, facts: Vec::new() }.into())
    }

    /// Returns the regular expressions of path filters. An absolute path in one of the repositories is made relative to
    /// its root.
    fn patterns(&self, given: &[String]) -> Result<Vec<String>, Fault> {
        let inside = |path: &str| {
            let below =
                |root: &str| path.strip_prefix(root)?.strip_prefix('/').filter(|rest| !rest.is_empty());
            let roots = self.repositories.iter().filter(|repository| repository.has_path());
            roots
                .filter_map(|repository| below(&repository.root))
                .min_by_key(|rest| rest.len())
                .map(str::to_owned)
        };
        let relative = |path: &String| inside(path).unwrap_or_else(|| path.clone());
        given.iter().map(|pattern| path_regex(&relative(pattern), self.case_file)).collect()
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

#[expect(clippy::cast_possible_truncation, reason = "counts beyond i64 match nothing either way")]
fn rounded_up(number: f64) -> i64 {
    number.ceil() as i64
}

/// Returns a filter for chunks that contain a word, as a whole or as a part of a name.
fn contains_word(word: &str, exact_case: bool) -> Filter {
    match whole_word(word) {
        Some(term) if !exact_case => Test::HasTerms(vec![term]).into(),
        Some(term) => {
            Filter::All(vec![Test::HasTerms(vec![term]).into(), Test::Text(text_regex(word, true)).into()])
        }
        None => contains(word, exact_case),
    }
}

/// Returns a filter for chunks that contain a text between word boundaries; whitespace is folded.
pub(in crate::search) fn contains(text: &str, exact_case: bool) -> Filter {
    // The index finds chunks with the words, so that only their texts are read.
    let mut ids: Vec<i32> = terms::words(text).filter_map(|word| whole_word(word.text)).collect();
    ids.sort_unstable();
    ids.dedup();
    let test: Filter = Test::Text(text_regex(text, exact_case)).into();
    if ids.is_empty() { test } else { Filter::All(vec![Test::HasTerms(ids).into(), test]) }
}

/// Returns a filter for chunks that contain any of these words in exactly this case.
pub(in crate::search) fn any_in_case(words: &[String]) -> Filter {
    Filter::Any(words.iter().map(|word| contains_word(word, true)).collect())
}

/// Returns a regular expression of Postgres that matches a literal text.
fn text_regex(text: &str, exact_case: bool) -> String {
    let text = &*nfc(text);
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let words: Vec<String> = text.split_whitespace().map(crate::search::filters::pattern::escaped).collect();
    let start = if text.trim_start().starts_with(is_word) { "\\m" } else { "" };
    let end = if text.trim_end().ends_with(is_word) { "\\M" } else { "" };
    format!("{}{start}{}{end}", if exact_case { "" } else { "(?i)" }, words.join("\\s+"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_literal_and_ends_at_word_boundaries() {
        assert_eq!(text_regex("fn  get(", false), "(?i)\\mfn\\s+get\\(");
        assert_eq!(text_regex("a.b", true), "\\ma\\.b\\M");
        assert!(matches!(contains_word("Store", false), Filter::Is(Test::HasTerms(_))));
        assert!(matches!(contains_word("::", false), Filter::Is(Test::Text(_))));
    }
}
