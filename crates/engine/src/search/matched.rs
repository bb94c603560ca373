//! Which of a chunk's definitions a hit names: the one that is what was asked for.

use super::naming::AskedName;
use super::ranking::Ranking;
use languages::terms::parts;
use store::{ChunkRow, DefinitionRow, Filter, Test};

/// What a definition must say more of than what the chunk is about, to be named in its place. Its own name counts twice.
const MAIN_WORDS: usize = 2;
/// Shorter words of a question stand in too many names.
const WORD_BYTES_MIN: usize = 3;

/// What filters look for in definitions.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Marks {
    /// Facts, of which a definition has one of each list.
    pub(super) ids: Vec<Vec<i64>>,
    /// Texts of signatures.
    signatures: Vec<String>,
    /// What one definition must fulfil.
    together: Vec<Filter>,
}

impl Marks {
    /// Adds those of a filter. What must not hold is held by no chunk that passes, so that it marks nothing.
    pub(super) fn note(&mut self, filter: &Filter) {
        match filter {
            Filter::All(filters) | Filter::Any(filters) => {
                filters.iter().for_each(|filter| self.note(filter))
            }
            Filter::Not(_) => {}
            // Its parts stand beside it as well.
            Filter::OneDefinition(filter) => self.together.push((**filter).clone()),
            Filter::Is(Test::Facts(ids)) => self.ids.push(ids.clone()),
            Filter::Is(Test::Signature(text)) => self.signatures.push(text.clone()),
            Filter::Is(_) => {}
        }
    }

    /// How much of what must hold together a definition fulfils, and how many of the marks it has.
    fn of(&self, definition: &DefinitionRow) -> (usize, usize) {
        // What holds of the chunk holds of its only definition.
        let has =
            |ids: &&Vec<i64>| definition.ids.as_ref().is_none_or(|own| ids.iter().any(|id| own.contains(id)));
        let signature = definition.signature.as_deref().unwrap_or_default();
        let marks = self.ids.iter().filter(has).count()
            + self.signatures.iter().filter(|text| signature.contains(text.as_str())).count();
        (self.together.iter().filter(|filter| fulfils(definition, filter)).count(), marks)
    }
}

/// Whether a definition of a chunk that passes a filter fulfils it, as far as it is about definitions.
fn fulfils(definition: &DefinitionRow, filter: &Filter) -> bool {
    let has = |ids: &[i64]| definition.ids.as_ref().is_none_or(|own| ids.iter().any(|id| own.contains(id)));
    match filter {
        Filter::All(all) => all.iter().all(|one| fulfils(definition, one)),
        Filter::Any(any) => any.iter().any(|one| fulfils(definition, one)),
        Filter::Is(Test::Facts(ids)) => has(ids),
        Filter::Is(Test::Chunks { facts, .. }) if !facts.is_empty() => has(facts),
        Filter::Is(Test::Signature(text)) => {
            definition.signature.as_ref().is_some_and(|signature| signature.contains(text))
        }
        Filter::Not(_) | Filter::OneDefinition(_) | Filter::Is(_) => true,
    }
}

/// What a hit is called, and where that stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Matched {
    pub(super) kind: String,
    pub(super) name: Option<String>,
    pub(super) signature: Option<String>,
    /// Line of the name, or of the chunk where it has none.
    pub(super) line: u32,
    /// First and last line of the definition, where it begins in the chunk.
    pub(super) lines: Option<(u32, u32)>,
}

/// What hits are chosen by.
pub(super) struct Choice<'a> {
    pub(super) asked: Option<&'a AskedName>,
    pub(super) marks: &'a Marks,
    /// Words of the question, lower-case.
    pub(super) words: &'a [String],
    pub(super) ranking: &'a Ranking,
}

/// How much speaks for a definition: that its name was asked for, what filters look for in it, what it says of the question.
type Worth = (f32, (usize, usize), usize);

impl Choice<'_> {
    /// The definition of a chunk that a hit names: the one whose name was asked for, else the one that the filters look
    /// for, else the one that says most of the question, else what the chunk is about.
    pub(super) fn of(&self, chunk: &ChunkRow, definitions: &[DefinitionRow]) -> Matched {
        let main = definitions.iter().position(|one| Some(&one.qualified) == chunk.span.name.as_ref());
        let words: Vec<String> = self.words.iter().flat_map(|word| parts(word)).collect();
        let words: Vec<&String> = words.iter().filter(|word| word.len() >= WORD_BYTES_MIN).collect();
        let mut best: Option<(usize, Worth)> = None;
        for (at, one) in definitions.iter().enumerate() {
            let is_main = main == Some(at);
            let named = self.asked.map_or(0.0, |asked| asked.boost(one, &chunk.path, self.ranking));
            let said = said(&words, one) + if is_main { MAIN_WORDS } else { 0 };
            let worth = (named, self.marks.of(one), said);
            let better = best.is_none_or(|(_, other)| worth > other || (worth == other && is_main));
            if better {
                best = Some((at, worth));
            }
        }
        // What the chunk is about can begin in another chunk: it is named unless one of its own is what was meant.
        let least = (0.0, (0, 0), if main.is_none() && chunk.span.name.is_some() { MAIN_WORDS } else { 0 });
        match best {
            Some((at, worth)) if main.is_some() || chunk.span.name.is_none() || worth > least => {
                of_definition(&definitions[at])
            }
            _ => of_chunk(chunk),
        }
    }
}

/// How many words of the question a definition says, those of its name twice.
fn said(words: &[&String], definition: &DefinitionRow) -> usize {
    let name = parts(&definition.qualified);
    let signature =
        definition.signature.as_ref().map(|signature| signature.to_lowercase()).unwrap_or_default();
    let one = |word: &&String| match name.contains(*word) {
        true => 2,
        false => usize::from(signature.contains(word.as_str())),
    };
    words.iter().map(one).sum()
}

fn of_definition(definition: &DefinitionRow) -> Matched {
    Matched {
        kind: definition.kind.clone(),
        name: Some(definition.qualified.clone()),
        signature: definition.signature.clone(),
        line: line(definition.line),
        lines: Some((line(definition.start_line), line(definition.end_line))),
    }
}

/// As the chunk itself says: it is a part of a definition, defines nothing, or was indexed before definitions were listed.
fn of_chunk(chunk: &ChunkRow) -> Matched {
    let span = &chunk.span;
    // A heading far above is not where a part of a long section stands.
    let name_line = span.name_line.filter(|_| span.kind != "section");
    Matched {
        kind: span.kind.clone(),
        name: span.name.clone(),
        signature: span.signature.clone(),
        line: line(name_line.unwrap_or(span.start_line)),
        lines: None,
    }
}

/// A line number from the database, never negative there.
fn line(number: i32) -> u32 {
    u32::try_from(number).unwrap_or(0)
}
