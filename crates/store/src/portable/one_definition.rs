//! Conditions that one definition of a chunk must fulfil together, over a portable file.

use std::collections::{HashMap, HashSet};

use super::filter::Set;
use super::reader::Reader;
use super::writer::json;
use crate::{DefinitionRow, Filter, Test};
use contract::Fault;

/// A filter that is asked of one definition after another; what is about chunks is known by then.
enum Part<'f> {
    All(Vec<Part<'f>>),
    Any(Vec<Part<'f>>),
    /// One of these facts.
    Facts(&'f [i64]),
    Signature(&'f str),
    Chunks(Set),
}

/// A definition, the code outside of them, or a whole chunk.
struct Holder<'c> {
    chunk_id: i64,
    facts: &'c HashSet<i64>,
    signature: Option<&'c str>,
}

impl Part<'_> {
    fn holds(&self, holder: &Holder<'_>) -> bool {
        match self {
            Self::All(parts) => parts.iter().all(|part| part.holds(holder)),
            Self::Any(parts) => parts.iter().any(|part| part.holds(holder)),
            Self::Facts(ids) => ids.iter().any(|id| holder.facts.contains(id)),
            Self::Signature(text) => holder.signature.is_some_and(|signature| signature.contains(text)),
            Self::Chunks(chunks) => chunks.contains(&holder.chunk_id),
        }
    }
}

/// What a chunk says of itself.
struct Own {
    name: Option<String>,
    signature: Option<String>,
    facts: HashSet<i64>,
    definitions: Vec<DefinitionRow>,
}

impl Own {
    /// Whether one definition fulfils it; or the code outside of them; or the whole chunk, where what it is about is not
    /// among them.
    fn fulfils(&self, chunk_id: i64, part: &Part<'_>) -> bool {
        let holds = |facts: &HashSet<i64>, signature: Option<&str>| {
            part.holds(&Holder { chunk_id, facts, signature })
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
    /// Those of `among` of which one definition fulfils the filter.
    pub(super) fn by_one_definition(&self, filter: &Filter, among: &Set) -> Result<Set, Fault> {
        let part = self.part(filter, among)?;
        let ids = json(&among.iter().collect::<Vec<_>>())?;
        let text =
            "SELECT c.id, c.name, c.signature FROM chunks c WHERE c.id IN (SELECT value FROM json_each(?1))";
        let rows: Vec<(i64, Option<String>, Option<String>)> =
            self.rows(text, [&ids], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        let mut chunks: HashMap<i64, Own> = rows
            .into_iter()
            .map(|(id, name, signature)| {
                (id, Own { name, signature, facts: HashSet::new(), definitions: Vec::new() })
            })
            .collect();
        let text = "SELECT k.chunk_id, k.name_id FROM chunk_facts k WHERE k.chunk_id IN (SELECT value FROM json_each(?1))";
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
        Ok(chunks.into_iter().filter(|(id, own)| own.fulfils(*id, &part)).map(|(id, _)| id).collect())
    }

    fn part<'f>(&self, filter: &'f Filter, among: &Set) -> Result<Part<'f>, Fault> {
        Ok(match filter {
            Filter::All(all) => {
                Part::All(all.iter().map(|one| self.part(one, among)).collect::<Result<_, _>>()?)
            }
            Filter::Any(any) => {
                Part::Any(any.iter().map(|one| self.part(one, among)).collect::<Result<_, _>>()?)
            }
            Filter::Is(Test::Facts(ids)) => Part::Facts(ids),
            Filter::Is(Test::Chunks { facts, .. }) if !facts.is_empty() => Part::Facts(facts),
            Filter::Is(Test::Signature(text)) => Part::Signature(text),
            of_chunks => Part::Chunks(self.passing(of_chunks, among)?),
        })
    }
}
