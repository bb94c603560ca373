//! Filters over resolved edges: `calls`, `calledBy` and `extends` pass the chunks with edges to or from the definitions that the value
//! names.
//!
//! If the value names no definition with such edges, because it is external or its language is not resolved, the facts of chunks decide,
//! which know only names.

use crate::search::filters::fields::{FilterField, FilterTarget};
use crate::search::filters::name_filter::exact_names;
use crate::search::filters::narrowed_name::NarrowedName;
use crate::search::filters::resolver::Resolver;
use crate::search::query::other_spelling::other_spelling;
use crate::search::query::symbol_name::Spelling;
use crate::search::retrieve::symbol_lookup::{Wanted, look_up};
use contract::{Fault, Warning};
use languages::Closeness;
use store::{Filter, Reads, Test, UsedFor, use_places};

/// Maximum number of definitions that one value may mean.
const DEFINITIONS_MAX: usize = 500;
/// Maximum number of chunks that a value is resolved to.
const CHUNKS_MAX: i64 = 50_000;

/// The edges that a filter compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::search) enum EdgeFilter {
    /// Calls of the named definition.
    Calls,
    /// Calls by the named definition.
    CalledBy,
    /// Types that derive from the named one or implement it.
    Extends,
}

impl EdgeFilter {
    /// Returns the edges that a field compares, if it is such a filter.
    pub(in crate::search) fn of(field: &FilterField) -> Option<Self> {
        match field.name {
            "calls" => Some(Self::Calls),
            "calledBy" => Some(Self::CalledBy),
            "extends" => Some(Self::Extends),
            _ => None,
        }
    }
}

/// The definitions that a value names, with the chunks that have edges to or from them.
struct Resolved {
    /// Chunks, each with the first line that has such an edge.
    chunks: Vec<(i64, i32)>,
    repositories: Vec<i64>,
    /// The warning, if only another spelling of the value is defined.
    other_spelling: Option<Warning>,
}

impl Resolver<'_> {
    /// Returns the filter for one of `values` by its edges; the facts of chunks decide in repositories in which no value has any.
    pub(in crate::search) async fn by_edges(
        &mut self,
        field: &'static FilterField,
        edges: EdgeFilter,
        values: &[String],
    ) -> Result<Filter, Fault> {
        let (mut chunks, mut repositories): (Vec<i64>, Vec<i64>) = (Vec::new(), Vec::new());
        let mut near: Vec<Resolved> = Vec::new();
        for value in values {
            let Some(resolved) = self.resolved(edges, value).await? else { continue };
            match resolved.other_spelling {
                None => self.add(resolved, &mut chunks, &mut repositories),
                Some(_) => near.push(resolved),
            }
        }
        let facts: Filter = match field.target {
            FilterTarget::Names(within) if chunks.is_empty() && near.is_empty() => {
                self.whole_names(within, values).await?
            }
            FilterTarget::Names(within) => exact_names(within, values),
            FilterTarget::EndsOfNames(within) => {
                let ids = match chunks.is_empty() && near.is_empty() {
                    true => self.ends_of_names(within, values).await?,
                    false => self.ends_with(within, values).await?,
                };
                self.having(ids, false).await?
            }
            _ => Filter::Any(Vec::new()),
        };
        // Other spellings count only if the one that was asked for has no hits, by edges or by facts.
        if chunks.is_empty() && !near.is_empty() && !self.passes_any(&facts).await? {
            for resolved in near {
                self.warnings.extend(resolved.other_spelling.clone());
                self.add(resolved, &mut chunks, &mut repositories);
            }
        }
        if chunks.is_empty() {
            return Ok(facts);
        }
        chunks.sort_unstable();
        chunks.dedup();
        let with_edges: Filter = Test::Chunks { chunks, facts: Vec::new() }.into();
        repositories.sort_unstable();
        repositories.dedup();
        let named = Filter::Any(vec![with_edges.clone(), facts.clone()]);
        let passed = if self.repositories.iter().all(|repository| repositories.contains(&repository.id)) {
            with_edges
        } else {
            let elsewhere = Filter::Not(Box::new(Test::Repositories(repositories).into()));
            Filter::Any(vec![with_edges, facts.and(elsewhere)])
        };
        if edges != EdgeFilter::CalledBy {
            let values = values.to_vec();
            self.narrowed.push(NarrowedName { field, values, passed: passed.clone(), named });
        }
        Ok(passed)
    }
}

impl Resolver<'_> {
    /// Adds the chunks of a value.
    fn add(&mut self, resolved: Resolved, chunks: &mut Vec<i64>, repositories: &mut Vec<i64>) {
        chunks.extend(resolved.chunks.iter().map(|(chunk, _)| *chunk));
        // The hit is about the definition around that line, not about another one in the chunk.
        let lines = resolved.chunks.into_iter();
        let lines = lines.filter_map(|(chunk, line)| Some((chunk, u32::try_from(line).ok()?)));
        self.terms.lines.extend(lines);
        repositories.extend(resolved.repositories);
    }

    /// Returns the definitions that a value names, with their edges; `None` if there are none.
    async fn resolved(&mut self, edges: EdgeFilter, value: &str) -> Result<Option<Resolved>, Fault> {
        let Ok(Spelling::Name(readings)) = Spelling::parse(value) else { return Ok(None) };
        let ids: Vec<i64> = self.repositories.iter().map(|repository| repository.id).collect();
        let Reads::Postgres(tx) = &mut *self.reads else { return Ok(None) };
        let wanted = Wanted { repositories: &ids, path: None, line: None, limit: DEFINITIONS_MAX };
        let Some(found) = look_up(tx, &readings, wanted).await? else { return Ok(None) };
        let symbols: Vec<i64> = found.definitions.iter().filter_map(|row| row.symbol).collect();
        if symbols.is_empty() {
            return Ok(None);
        }
        let chunks = match edges {
            EdgeFilter::Calls => {
                use_places::chunks_of_uses(tx, &symbols, UsedFor::Call.bit(), CHUNKS_MAX).await?
            }
            EdgeFilter::CalledBy => use_places::chunks_of_callees(tx, &symbols, CHUNKS_MAX).await?,
            EdgeFilter::Extends => use_places::chunks_of_derived(tx, &symbols, CHUNKS_MAX).await?,
        };
        let repositories = found.definitions.iter().map(|row| row.repository_id).collect();
        let other_spelling = (found.closeness == Closeness::Bare).then(|| {
            let names = found.definitions.iter().map(|row| row.name.as_str());
            other_spelling(found.reading.name.simple(), names)
        });
        Ok((!chunks.is_empty()).then_some(Resolved { chunks, repositories, other_spelling }))
    }
}
