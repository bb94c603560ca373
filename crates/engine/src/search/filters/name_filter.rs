//! Filters for names: in the spelling that was asked for, as each language stores it; other spellings count only if that one does not
//! occur. Covers whole names, names that end with a value, names that contain it, and decorators.

use std::collections::BTreeSet;

use crate::search::filters::fields::FilterField;
use crate::search::filters::request_filter::invalid_value;
use crate::search::filters::resolver::Resolver;
use crate::search::query::other_spelling::other_spelling;
use contract::Fault;
use languages::facts::{Field, decorator_pieces, spelling_groups, spellings};
use languages::{bare, near_spellings};
use store::{ChunkSelection, Filter, Test, fact_id};

/// Fields whose values are names, or begin with one.
const FIELDS_OF_NAMES: &[Field] = &[
    Field::Extends,
    Field::Implements,
    Field::Throw,
    Field::Await,
    Field::Read,
    Field::Member,
    Field::Write,
    Field::Mutate,
    Field::Alias,
];
/// Text that may follow a name in a stored value: arguments, type arguments, or the target of an alias.
const NAME_ENDS: &[&str] = &["(", "<", "[", " ", "="];
/// Text that may precede a name in a stored value: an owner.
const SEPARATORS: &[&str] = &["::", ".", "\\"];
/// Text that may precede the target of an alias.
const ALIAS_SEPARATORS: &[&str] = &["=", "."];

impl Resolver<'_> {
    /// Returns the filter for chunks with one of these whole names in these fields. If there are no such chunks, other spellings count,
    /// with a warning.
    pub(in crate::search) async fn whole_names(
        &mut self,
        within: &[Field],
        names: &[String],
    ) -> Result<Filter, Fault> {
        let exact = exact_names(within, names);
        if self.passes_any(&exact).await? {
            return Ok(exact);
        }
        let mut others: Vec<String> = Vec::new();
        for name in names {
            let mut known: Vec<String> = Vec::new();
            for spelling in near(name) {
                // Only as it is stored: in TypeScript, `item!` would pass as a spelling of `item`.
                let stored = within.iter().map(|field| fact_id(*field as i16, &spelling)).collect();
                if self.passes_any(&Test::Facts(stored).into()).await? {
                    known.push(spelling);
                }
            }
            if !known.is_empty() {
                self.warnings.push(other_spelling(name, known.iter().map(String::as_str)));
            }
            others.extend(known);
        }
        Ok(if others.is_empty() { exact } else { exact_names(within, &others) })
    }

    /// Returns whether any chunk of the searched repositories passes a filter.
    pub(in crate::search) async fn passes_any(&mut self, filter: &Filter) -> Result<bool, Fault> {
        if filter.is_empty() {
            return Ok(false);
        }
        let ids = self.repositories.iter().map(|repository| repository.id).collect();
        let here = filter.clone().and(Test::Repositories(ids).into());
        Ok(match self.reads.select_chunks(&here, (1, 0)).await? {
            ChunkSelection::Listed(chunks) => !chunks.is_empty(),
            ChunkSelection::All | ChunkSelection::Matching(_) => true,
        })
    }

    /// Returns the ids of the names that equal one of `names` or end with it behind a separator, in any spelling in which it may be stored.
    /// If no name has the marks that were asked for, other spellings count, with a warning.
    pub(in crate::search) async fn ends_of_names(
        &mut self,
        within: &[Field],
        names: &[String],
    ) -> Result<Vec<i64>, Fault> {
        let exact = self.ends_with(within, names).await?;
        if !exact.is_empty() {
            return Ok(exact);
        }
        let mut found = BTreeSet::new();
        for name in names {
            let mut known: Vec<String> = Vec::new();
            for spelling in near(name) {
                let ids = self.ends_with(within, std::slice::from_ref(&spelling)).await?;
                // The letters alone come first; names that they find are not another spelling.
                if !ids.iter().all(|id| found.contains(id)) {
                    found.extend(ids);
                    known.push(spelling);
                }
            }
            if !known.is_empty() {
                self.warnings.push(other_spelling(name, known.iter().map(String::as_str)));
            }
        }
        Ok(found.into_iter().collect())
    }

    /// Returns the ids of the names that equal one of `names` or end with it behind a separator, with its marks if it has any.
    pub(in crate::search) async fn ends_with(
        &mut self,
        within: &[Field],
        names: &[String],
    ) -> Result<Vec<i64>, Fault> {
        let mut found = BTreeSet::new();
        for field in within {
            for name in names {
                for spelling in with_marks(*field, name) {
                    let code = *field as i16;
                    found.extend(self.reads.names_with_prefix(code, &spelling, NAME_ENDS).await?);
                    found.extend(self.behind_separators(code, &spelling).await?);
                }
            }
        }
        Ok(found.into_iter().collect())
    }

    /// Returns the ids of the names that end with `name` behind a separator.
    async fn behind_separators(&mut self, code: i16, name: &str) -> Result<Vec<i64>, Fault> {
        let mut found = Vec::new();
        let separators = if code == Field::Alias as i16 { ALIAS_SEPARATORS } else { SEPARATORS };
        for separator in separators {
            let end = format!("{separator}{name}").to_lowercase();
            found.extend(self.reads.names_with_suffix(code, &end, NAME_ENDS).await?);
        }
        Ok(found)
    }

    /// Returns the ids of the names that contain one of `parts`, in any spelling in which it may be stored.
    pub(in crate::search) async fn names(
        &mut self,
        field: &'static FilterField,
        within: &[Field],
        parts: &[String],
    ) -> Result<Vec<i64>, Fault> {
        let mut spelled = spelled(within, parts);
        // The index compares values with and without their white space: `str|None` is a part of `str | None`.
        let close = spelled.iter().filter(|part| part.contains(char::is_whitespace));
        let close: Vec<String> = close.map(|part| part.split_whitespace().collect()).collect();
        spelled.extend(close);
        // Without a dot, `self` would match every member access.
        let single = within.contains(&Field::Member) && !spelled.iter().any(|part| part.contains('.'));
        let within: Vec<Field> =
            within.iter().copied().filter(|field| !single || *field != Field::Member).collect();
        let mut found = self.spelled_names(field, &within, &spelled, parts).await?;
        if found.is_empty() && within == [Field::Decorator] {
            for part in parts {
                found.extend(self.decorated(field, &decorator_pieces(part)).await?);
            }
        }
        Ok(found)
    }

    /// Returns the ids of the names that contain one of `spelled`, the spellings of `parts`: first of those with their marks, and only if
    /// there are none, of the letters alone, with a warning.
    async fn spelled_names(
        &mut self,
        field: &'static FilterField,
        within: &[Field],
        spelled: &[String],
        parts: &[String],
    ) -> Result<Vec<i64>, Fault> {
        let letters: Vec<String> = parts.iter().map(|part| bare(part.trim()).to_lowercase()).collect();
        let has_marks =
            parts.iter().zip(&letters).any(|(part, letters)| part.trim().to_lowercase() != *letters);
        if !has_marks || !within.iter().all(|field| FIELDS_OF_NAMES.contains(field)) {
            return self.find_names(field, within, spelled).await;
        }
        let marked: Vec<String> = spelled.iter().filter(|part| !letters.contains(part)).cloned().collect();
        let exact = self.find_names(field, within, &marked).await?;
        if !exact.is_empty() {
            return Ok(exact);
        }
        let found = self.find_names(field, within, &letters).await?;
        if let Some(asked) = parts.first().filter(|_| !found.is_empty()) {
            self.warnings.push(other_spelling(asked, [bare(asked.trim())]));
        }
        Ok(found)
    }

    /// Returns the ids of the decorators that match a decorator as written (`@app.route("/x")`): those that begin with
    /// it; if there are none, those with the same name, also qualified (`@module.name`), and the same arguments in any
    /// order and quotes.
    pub(in crate::search) async fn decorator(
        &mut self,
        field: &'static FilterField,
        given: &str,
        bare: &str,
    ) -> Result<Vec<i64>, Fault> {
        let code = Field::Decorator as i16;
        let exact = self.reads.names_with_prefix(code, bare, NAME_ENDS).await?;
        if !exact.is_empty() {
            return Ok(exact);
        }
        let pieces = decorator_pieces(given);
        let name = bare.split('(').next().unwrap_or(bare);
        let mut found = self.reads.names_with_prefix(code, name, NAME_ENDS).await?;
        if found.is_empty() {
            found = self.behind_separators(code, name).await?;
        }
        if !pieces.is_empty() {
            let with = self.decorated(field, &pieces).await?;
            found.retain(|id| with.contains(id));
        }
        Ok(found)
    }

    /// Returns the ids of the decorators that contain all of `pieces`.
    async fn decorated(&mut self, field: &'static FilterField, pieces: &[String]) -> Result<Vec<i64>, Fault> {
        let mut found: Option<Vec<i64>> = None;
        for piece in pieces {
            let mut with = self.find_names(field, &[Field::Decorator], std::slice::from_ref(piece)).await?;
            with.retain(|id| found.as_ref().is_none_or(|found| found.contains(id)));
            found = Some(with);
        }
        Ok(found.unwrap_or_default())
    }

    /// Returns the ids of the names that contain one of `parts`, which are in lower case.
    ///
    /// # Errors
    /// `INVALID_REQUEST` if there are more than `search.filter_names_max`.
    pub(in crate::search) async fn find_names(
        &mut self,
        field: &'static FilterField,
        within: &[Field],
        parts: &[String],
    ) -> Result<Vec<i64>, Fault> {
        let codes: Vec<i16> = within.iter().map(|field| *field as i16).collect();
        let names_max = self.settings.filter_names_max;
        let limit = i64::try_from(names_max.saturating_add(1)).unwrap_or(i64::MAX);
        let found = self.reads.find_names(&codes, parts, limit).await?;
        if found.len() > names_max {
            return Err(invalid_value(
                field,
                &format!("matches more than {} different names here; give more of the name", names_max),
            ));
        }
        Ok(found)
    }
}

/// Returns the spellings in which values may be stored, in lower case, sorted.
fn spelled(within: &[Field], values: &[String]) -> Vec<String> {
    let spelled =
        values.iter().flat_map(|value| within.iter().flat_map(move |field| spellings(*field, value)));
    let spelled: BTreeSet<String> = spelled.map(|value| value.to_lowercase()).collect();
    spelled.into_iter().collect()
}

/// Returns the spellings in which a name may be stored, in lower case: of one with marks, not those of its letters alone, which are
/// another name.
fn with_marks(field: Field, name: &str) -> Vec<String> {
    let (name, letters) = (name.trim(), bare(name.trim()));
    let mut found = spelled(&[field], &[name.to_owned()]);
    if letters != name {
        let others = spelled(&[field], &[letters.to_owned()]);
        found.retain(|spelling| !others.contains(spelling));
    }
    found
}

/// Returns the other spellings of the last part of a name, each behind the same other parts.
fn near(name: &str) -> Vec<String> {
    let (outer, last) = name.rsplit_once('.').map_or(("", name), |(outer, last)| (outer, last));
    let spellings = near_spellings(last).into_iter();
    spellings.map(|one| if outer.is_empty() { one } else { format!("{outer}.{one}") }).collect()
}

/// Returns the filter for chunks with one of these whole names in these fields, in the spellings in which each language stores it.
pub(in crate::search) fn exact_names(within: &[Field], names: &[String]) -> Filter {
    let mut everywhere: Vec<i64> = Vec::new();
    let mut alternatives: Vec<Filter> = Vec::new();
    for (name, field) in names.iter().flat_map(|name| within.iter().map(move |field| (name, *field))) {
        for group in spelling_groups(field, name) {
            let ids: Vec<i64> = group.spellings.iter().map(|one| fact_id(field as i16, one)).collect();
            let languages = |ids: &[&str]| -> Filter {
                Test::Languages(ids.iter().map(|id| (*id).to_owned()).collect()).into()
            };
            match (group.only.as_slice(), group.except.as_slice()) {
                ([], []) => everywhere.extend(ids),
                ([], except) => {
                    let others = Filter::Not(Box::new(languages(except)));
                    alternatives.push(Filter::from(Test::Facts(ids)).and(others));
                }
                (only, _) => alternatives.push(Filter::from(Test::Facts(ids)).and(languages(only))),
            }
        }
    }
    if alternatives.is_empty() {
        return Test::Facts(everywhere).into();
    }
    alternatives.extend((!everywhere.is_empty()).then(|| Test::Facts(everywhere).into()));
    Filter::Any(alternatives)
}
