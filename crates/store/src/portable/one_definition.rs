//! Conditions that a single definition of a chunk must meet together, evaluated on a portable file.

use std::collections::{HashMap, HashSet};

use super::filter::ChunkIds;
use super::reader::Reader;
use super::writer::json;
use crate::{DefinitionRow, Filter, Test};
use contract::Fault;

/// A filter to evaluate on each definition; conditions about chunks are evaluated beforehand.
enum Condition<'f> {
    All(Vec<Condition<'f>>),
    Any(Vec<Condition<'f>>),
    /// Has one of these facts.
    Facts(&'f [i64]),
    Signature(&'f str),
    Chunks(ChunkIds),
}

/// The subject of a condition: a definition, the code outside of definitions, or a whole chunk.
struct Subject<'c> {
    chunk_id: i64,
    facts: &'c HashSet<i64>,
    signature: Option<&'c str>,
}

impl Condition<'_> {
    fn holds(&self, subject: &Subject<'_>) -> bool {
        match self {
            Self::All(parts) => parts.iter().all(|part| part.holds(subject)),
            Self::Any(parts) => parts.iter().any(|part| part.holds(subject)),
            Self::Facts(ids) => ids.iter().any(|id| subject.facts.contains(id)),
            Self::Signature(text) => subject.signature.is_some_and(|signature| signature.contains(text)),
            Self::Chunks(chunks) => chunks.contains(&subject.chunk_id),
        }
    }
}

/// A chunk with its facts and definitions.
struct Chunk {
    name: Option<String>,
    signature: Option<String>,
    facts: HashSet<i64>,
    definitions: Vec<DefinitionRow>,
}

impl Chunk {
    /// Returns `true` if one of the definitions meets the condition, or the code outside of definitions, or, if the chunk's main definition
    /// is in another chunk, the chunk as a whole.
    fn meets(&self, chunk_id: i64, part: &Condition<'_>) -> bool {
        let holds = |facts: &HashSet<i64>, signature: Option<&str>| {
            part.holds(&Subject { chunk_id, facts, signature })
        };
        let facts_of = |one: &DefinitionRow| one.ids.as_ref().map(|ids| ids.iter().copied().collect());
        let by_definition = |one: &DefinitionRow| {
            let own: Option<HashSet<i64>> = facts_of(one);
            holds(own.as_ref().unwrap_or(&self.facts), one.signature.as_deref())
        };
        if self.definitions.iter().any(by_definition) {
            return true;
        }
        if !self.definitions.iter().any(|one| Some(&one.qualified) == self.name.as_ref()) {
            let all = self.definitions.iter().filter_map(|one| one.signature.as_deref());
            let all: Vec<&str> = self.signature.as_deref().into_iter().chain(all).collect();
            if holds(&self.facts, Some(&all.join("\n"))) {
                return true;
            }
        }
        let inside: HashSet<i64> =
            self.definitions.iter().flat_map(|one| one.ids.iter().flatten()).copied().collect();
        holds(&self.facts.difference(&inside).copied().collect(), None)
    }
}

impl Reader {
    /// The chunks of `among` with a definition that meets the filter.
    pub(super) fn by_one_definition(&self, filter: &Filter, among: &ChunkIds) -> Result<ChunkIds, Fault> {
        let condition = self.condition(filter, among)?;
        let ids = json(&among.iter().collect::<Vec<_>>())?;
        let text = "SELECT c.id, c.name, c.signature \
             FROM chunks c \
             WHERE c.id IN (SELECT value FROM json_each(?1))";
        let rows: Vec<(i64, Option<String>, Option<String>)> =
            self.rows(text, [&ids], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        let mut chunks: HashMap<i64, Chunk> = rows
            .into_iter()
            .map(|(id, name, signature)| {
                (id, Chunk { name, signature, facts: HashSet::new(), definitions: Vec::new() })
            })
            .collect();
        let text = "SELECT k.chunk_id, k.name_id \
             FROM chunk_facts k \
             WHERE k.chunk_id IN (SELECT value FROM json_each(?1))";
        let facts: Vec<(i64, i64)> = self.rows(text, [&ids], |row| Ok((row.get(0)?, row.get(1)?)))?;
        for (chunk_id, fact) in facts {
            if let Some(own) = chunks.get_mut(&chunk_id) {
                own.facts.insert(fact);
            }
        }
        for one in self.definitions(&among.iter().copied().collect::<Vec<_>>())? {
            if let Some(own) = chunks.get_mut(&one.chunk_id) {
                own.definitions.push(one);
            }
        }
        Ok(chunks.into_iter().filter(|(id, own)| own.meets(*id, &condition)).map(|(id, _)| id).collect())
    }

    fn condition<'f>(&self, filter: &'f Filter, among: &ChunkIds) -> Result<Condition<'f>, Fault> {
        Ok(match filter {
            Filter::All(all) => {
                Condition::All(all.iter().map(|one| self.condition(one, among)).collect::<Result<_, _>>()?)
            }
            Filter::Any(any) => {
                Condition::Any(any.iter().map(|one| self.condition(one, among)).collect::<Result<_, _>>()?)
            }
            Filter::Is(Test::Facts(ids)) => Condition::Facts(ids),
            Filter::Is(Test::Chunks { facts, .. }) if !facts.is_empty() => Condition::Facts(facts),
            Filter::Is(Test::Signature(text)) => Condition::Signature(text),
            chunk_filter => Condition::Chunks(self.passing(chunk_filter, among)?),
        })
    }
}
