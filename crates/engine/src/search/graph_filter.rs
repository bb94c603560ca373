//! Filters over resolved edges: `calls`, `calledBy` and `extends` pass the chunks with edges to or from what the value names.
//!
//! Where the value names no definition with such edges, because it comes from outside or its language is not resolved, the
//! facts of chunks decide, which know only names.

use super::fields::{FilterField, FilterTarget};
use super::resolve::{Resolver, whole_ids};
use super::symbol_name::Spelling;
use contract::{Fault, Warning, echo};
use languages::facts::DEFINED;
use languages::terms::squash;
use store::navigation::{self, DefinitionAt, NamedDefinitions};
use store::{ChunkSelection, Filter, Reads, Test, UsedFor, fact_id, use_places};

/// Most definitions that one value may mean.
const DEFINITIONS_MAX: i64 = 500;
/// Most chunks that a value is resolved to.
const CHUNKS_MAX: i64 = 50_000;
/// Most chunks that are counted of those that have only the name.
const LEFT_OUT_MAX: usize = 1000;

/// The edges that a filter compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EdgeFilter {
    /// Calls of the named definition.
    Calls,
    /// Calls by the named definition.
    CalledBy,
    /// Types that derive from the named one or implement it.
    Extends,
}

impl EdgeFilter {
    /// The edges that a field compares, if it is such a filter.
    pub(super) fn of(field: &FilterField) -> Option<Self> {
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
    /// Each with the first line that has such an edge.
    chunks: Vec<(i64, i32)>,
    repositories: Vec<i64>,
}

impl Resolver<'_> {
    /// The filter for one of `values` by its edges; the facts of chunks decide in repositories in which no
    /// value has any.
    pub(super) async fn by_edges(
        &mut self,
        field: &'static FilterField,
        edges: EdgeFilter,
        values: &[String],
    ) -> Result<Filter, Fault> {
        let facts = match field.target {
            FilterTarget::Names(within) => {
                Test::Facts(values.iter().flat_map(|name| whole_ids(within, name)).collect()).into()
            }
            FilterTarget::PartsOfNames(within) => {
                let ids = self.names(field, within, values).await?;
                self.having(ids, false).await?
            }
            _ => Filter::Any(Vec::new()),
        };
        let (mut chunks, mut repositories): (Vec<i64>, Vec<i64>) = (Vec::new(), Vec::new());
        for value in values {
            if let Some(resolved) = self.resolved(edges, value).await? {
                chunks.extend(resolved.chunks.iter().map(|(chunk, _)| *chunk));
                // The hit is about the definition around that line, and not another one of the chunk.
                let lines = resolved.chunks.into_iter();
                let lines = lines.filter_map(|(chunk, line)| Some((chunk, u32::try_from(line).ok()?)));
                self.terms.lines.extend(lines);
                repositories.extend(resolved.repositories);
            }
        }
        if chunks.is_empty() {
            return Ok(facts);
        }
        chunks.sort_unstable();
        chunks.dedup();
        let with_edges = Test::Chunks { chunks, facts: Vec::new() }.into();
        repositories.sort_unstable();
        repositories.dedup();
        self.warn_of_other_names(field, values, &facts, (&with_edges, &repositories)).await?;
        if self.repositories.iter().all(|repository| repositories.contains(&repository.id)) {
            return Ok(with_edges);
        }
        let elsewhere = Filter::Not(Box::new(Test::Repositories(repositories).into()));
        Ok(Filter::Any(vec![with_edges, facts.and(elsewhere)]))
    }

    /// Warns of chunks with the same name that have no such edge, and says how many.
    async fn warn_of_other_names(
        &mut self,
        field: &'static FilterField,
        values: &[String],
        facts: &Filter,
        (with_edges, repositories): (&Filter, &[i64]),
    ) -> Result<(), Fault> {
        if facts.is_empty() {
            return Ok(());
        }
        let others = facts
            .clone()
            .and(Filter::Not(Box::new(with_edges.clone())))
            .and(Test::Repositories(repositories.to_vec()).into());
        let (count, least) = match self.reads.select_chunks(&others, (LEFT_OUT_MAX, 0)).await? {
            ChunkSelection::Listed(chunks) => (chunks.len(), ""),
            ChunkSelection::All | ChunkSelection::Matching(_) => (LEFT_OUT_MAX, "More than "),
        };
        if count == 0 {
            return Ok(());
        }
        let (name, value) = (field.name, values.join(", "));
        let chunks = if count == 1 { "chunk" } else { "chunks" };
        let message = format!(
            "`{name}:{}` passes what is resolved to a definition of that name. {least}{count} {chunks} with the name alone, which means something else there or is not resolved, {} left out{}.",
            echo(&value),
            if count == 1 { "is" } else { "are" },
            if name == "calls" { "; `uses` finds them, too" } else { "" }
        );
        let details = Some(serde_json::json!({ "field": name, "value": value, "chunks": count }));
        self.warnings.push(Warning { details, ..Warning::new("names_left_out", message) });
        Ok(())
    }

    async fn resolved(&mut self, edges: EdgeFilter, value: &str) -> Result<Option<Resolved>, Fault> {
        let Ok(Spelling::Name { path, name }) = Spelling::parse(value) else { return Ok(None) };
        let ids: Vec<i64> = self.repositories.iter().map(|repository| repository.id).collect();
        let Reads::Postgres(tx) = &mut *self.reads else { return Ok(None) };
        let name_id = fact_id(DEFINED, &squash(name.simple()));
        let (paths, around): (Vec<&str>, Vec<String>) =
            (path.as_deref().into_iter().collect(), name.around());
        let wanted = NamedDefinitions {
            repositories: &ids,
            name_id,
            spelling: Some(name.simple()),
            paths: &paths,
            around: &around,
            line: None,
        };
        let definitions = navigation::find_definitions(tx, wanted, DEFINITIONS_MAX).await?;
        let named: Vec<&DefinitionAt> = definitions.iter().filter(|row| name.is_name_of(row)).collect();
        let symbols: Vec<i64> = named.iter().filter_map(|row| row.symbol).collect();
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
        let repositories = named.iter().map(|row| row.repository_id).collect();
        Ok((!chunks.is_empty()).then_some(Resolved { chunks, repositories }))
    }
}
