//! Chooses which definition of a chunk a hit names and which line its snippet must show: the ones that matched.

use std::ops::RangeInclusive;

use super::exact_name::QueriedName;
use super::ranking::Ranking;
use languages::facts::{Detail, Field};
use languages::risk::{RiskFlow, flow_facts};
use languages::terms::parts;
use store::{ChunkRow, DefinitionRow, Filter, Test, fact_id};

/// Shorter words of a query occur in too many names; bytes.
const WORD_BYTES_MIN: usize = 3;

/// What the filters look for, in a form that can be found in definitions and lines.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct HighlightMarks {
    /// Lists of fact ids; a definition matches a list if it has one of them.
    pub(super) ids: Vec<Vec<i64>>,
    /// Parts of signatures.
    signatures: Vec<String>,
    /// Filters that one definition must fulfil as a whole.
    together: Vec<Filter>,
    /// Names that filters look for, as written in code, in lower case.
    pub(super) names: Vec<String>,
    /// Phrases that a chunk must contain, in lower case, whitespace folded.
    pub(super) phrases: Vec<String>,
}

impl HighlightMarks {
    /// Adds what a filter looks for. Negated parts are skipped: no chunk that passes contains them.
    pub(super) fn note(&mut self, filter: &Filter) {
        match filter {
            Filter::All(filters) | Filter::Any(filters) => {
                filters.iter().for_each(|filter| self.note(filter))
            }
            Filter::Not(_) => {}
            // Its parts are members of the surrounding filter as well.
            Filter::OneDefinition(filter) => self.together.push((**filter).clone()),
            Filter::Is(Test::Facts(ids)) => self.ids.push(ids.clone()),
            Filter::Is(Test::Signature(text)) => self.signatures.push(text.clone()),
            Filter::Is(_) => {}
        }
    }

    /// How many filters a definition fulfils as a whole, and how many single marks it has.
    fn of(&self, definition: &DefinitionRow) -> (usize, usize) {
        // Without ids of its own it is the only definition, and has all facts of its chunk.
        let has =
            |ids: &&Vec<i64>| definition.ids.as_ref().is_none_or(|own| ids.iter().any(|id| own.contains(id)));
        let signature = definition.signature.as_deref().unwrap_or_default();
        let marks = self.ids.iter().filter(has).count()
            + self.signatures.iter().filter(|text| signature.contains(text.as_str())).count();
        (self.together.iter().filter(|filter| fulfils(definition, filter)).count(), marks)
    }
}

/// Whether a definition fulfils a filter that its chunk passes; parts that are not about definitions count as fulfilled.
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

/// The definition that a hit names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct MatchedDefinition {
    pub(super) kind: String,
    pub(super) name: Option<String>,
    pub(super) signature: Option<String>,
    /// Line of the name; outside of definitions, of the match; else the first line of the chunk.
    pub(super) line: u32,
    /// First and last line of the definition, if it begins in the chunk, or of the code between definitions.
    pub(super) lines: Option<(u32, u32)>,
    /// The line that a filter matched; snippets must show it.
    pub(super) focus: Option<u32>,
}

/// A chunk with its definitions and facts.
pub(super) struct ChunkContext<'a> {
    pub(super) chunk: &'a ChunkRow,
    pub(super) content: &'a str,
    pub(super) definitions: &'a [DefinitionRow],
    pub(super) detail: &'a Detail,
    /// Flows between files that begin or end here.
    pub(super) flows: &'a [RiskFlow],
}

/// Chooses definitions by the query and its filters.
pub(super) struct DefinitionChoice<'a> {
    pub(super) name: Option<&'a QueriedName>,
    pub(super) marks: &'a HighlightMarks,
    /// Words of the query, lower-case.
    pub(super) words: &'a [String],
    pub(super) ranking: &'a Ranking,
}

/// How well a part of a chunk matches; compared field by field, the first counts most.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
struct MatchStrength {
    /// Whether what a filter found, such as a risk, is in its own lines.
    holds: bool,
    /// Boost for having the queried name.
    named: f32,
    /// Fulfilled filters, and single marks.
    marks: (usize, usize),
    /// Words of the query in it; those in its name count twice.
    said: usize,
}

/// A part of a chunk that a hit can name.
struct ChunkPart<'a> {
    /// `None` for the continuation of a definition that begins in another chunk.
    definition: Option<&'a DefinitionRow>,
    lines: RangeInclusive<u32>,
    worth: MatchStrength,
    /// Words and phrases of the query in its text, without its name.
    told: usize,
}

/// The lines of a chunk in lower case.
struct FoldedText {
    first: u32,
    lines: Vec<String>,
}

impl FoldedText {
    fn new(whole: &ChunkContext<'_>) -> Self {
        let first = line(whole.chunk.span.start_line);
        Self { first, lines: whole.content.lines().map(str::to_lowercase).collect() }
    }

    fn all(&self) -> RangeInclusive<u32> {
        let count = u32::try_from(self.lines.len()).unwrap_or(u32::MAX);
        self.first..=self.first.saturating_add(count.saturating_sub(1))
    }

    /// The lines within a range, each with its number.
    fn within(&self, range: &RangeInclusive<u32>) -> impl Iterator<Item = (u32, &str)> {
        let at = |line: u32| usize::try_from(line.saturating_sub(self.first)).unwrap_or(usize::MAX);
        let end = at(*range.end()).saturating_add(1).min(self.lines.len());
        let start = at(*range.start()).min(end);
        (*range.start().max(&self.first)..).zip(self.lines[start..end].iter().map(String::as_str))
    }

    fn says(&self, range: &RangeInclusive<u32>, word: &str) -> bool {
        self.within(range).any(|(_, line)| line.contains(word))
    }

    /// Whether the phrase occurs in the range, also across line breaks.
    fn holds(&self, range: &RangeInclusive<u32>, phrase: &str) -> bool {
        let words: Vec<&str> = self.within(range).flat_map(|(_, line)| line.split_whitespace()).collect();
        words.join(" ").contains(phrase)
    }
}

impl DefinitionChoice<'_> {
    /// Chooses the definition that a hit names, by the first criterion that decides: it contains what a filter found; it has
    /// the queried name; the filters look for it; its text contains most words of the query, the innermost of equals; it
    /// is the main definition of the chunk. A match outside of all definitions names none.
    pub(super) fn choose(&self, whole: &ChunkContext<'_>) -> MatchedDefinition {
        let text = FoldedText::new(whole);
        let words: Vec<String> = self.words.iter().flat_map(|word| parts(word)).collect();
        let words: Vec<&str> =
            words.iter().map(String::as_str).filter(|word| word.len() >= WORD_BYTES_MIN).collect();
        let found = self.found(whole, &text.all());
        let parts = self.parts(whole, &text, &words, &found);
        let is_outside = |line: &u32| !parts.iter().any(|part| part.lines.contains(line));
        let chosen = chosen(&parts, whole.chunk);
        let Some(part) = chosen else {
            let focus = found.first().copied().or_else(|| self.focus(&text, &text.all()));
            return MatchedDefinition { focus, ..of_chunk(whole.chunk) };
        };
        if !part.worth.holds
            && let Some(line) = found.iter().copied().find(is_outside)
        {
            return outside(&parts, &text, line);
        }
        let unseen = part.worth.named <= 0.0 && !part.worth.holds;
        if unseen && let Some(line) = self.outside_line(part, &text, &words, &is_outside) {
            return documented(&parts, &text, line).unwrap_or_else(|| outside(&parts, &text, line));
        }
        let inside = found.iter().copied().find(|line| part.lines.contains(line));
        let focus = inside.or_else(|| self.focus(&text, &part.lines));
        match part.definition {
            Some(definition) => MatchedDefinition { focus, ..of_definition(definition) },
            None => MatchedDefinition { focus, ..of_chunk(whole.chunk) },
        }
    }

    /// The lines of facts that filters matched and that have a line: risks and lint findings. Only those that fulfil most
    /// filters.
    fn found(&self, whole: &ChunkContext<'_>, here: &RangeInclusive<u32>) -> Vec<u32> {
        let fulfilled = |facts: &[(Field, String)]| {
            let ids: Vec<i64> = facts.iter().map(|(field, value)| fact_id(*field as i16, value)).collect();
            self.marks.ids.iter().filter(|list| ids.iter().any(|id| list.contains(id))).count()
        };
        let mut found: Vec<(usize, u32)> = Vec::new();
        if self.marks.ids.is_empty() {
            return Vec::new();
        }
        let mut note = |lines: &[u32], facts: &[(Field, String)]| {
            if let Some(line) = lines.iter().copied().find(|line| here.contains(line)) {
                found.push((fulfilled(facts), line));
            }
        };
        let risk = whole.detail.risk.as_ref();
        risk.into_iter().flat_map(|risk| risk.findings()).for_each(|(lines, facts)| note(&lines, &facts));
        for flow in whole.flows {
            // Source and sink are in two files; the sink is in this one if a sink of its name is at its line.
            let (sink, source) = (flow.evidence.sink_line, flow.evidence.source_line);
            let ends_here = risk
                .is_some_and(|risk| risk.sinks.iter().any(|one| (one.line, &one.name) == (sink, &flow.sink)));
            note(&[if ends_here { sink } else { source }], &flow_facts(flow));
        }
        for lint in &whole.detail.lint {
            note(&[lint.line], &[(Field::Lint, lint.rule.clone())]);
        }
        let most = found.iter().map(|(count, _)| *count).max().unwrap_or(0);
        found.retain(|(count, _)| *count == most && most > 0);
        found.into_iter().map(|(_, line)| line).collect()
    }

    fn parts<'w>(
        &self,
        whole: &ChunkContext<'w>,
        text: &FoldedText,
        words: &[&str],
        found: &[u32],
    ) -> Vec<ChunkPart<'w>> {
        let lines = |one: &DefinitionRow| line(one.start_line)..=line(one.end_line);
        let about = whole.chunk.span.name.as_ref();
        let is_continued =
            about.is_some() && !whole.definitions.iter().any(|one| Some(&one.qualified) == about);
        let innermost = |at: &u32| {
            let around = whole.definitions.iter().map(&lines).filter(|lines| lines.contains(at));
            around.min_by_key(|lines| lines.end() - lines.start())
        };
        let held: Vec<Option<RangeInclusive<u32>>> = found.iter().map(innermost).collect();
        let phrases = |lines: &RangeInclusive<u32>| {
            self.marks.phrases.iter().filter(|phrase| text.holds(lines, phrase)).count()
        };
        let of_definition = |definition: &'w DefinitionRow| {
            let lines = lines(definition);
            let (said, told) = said(words, &definition.qualified, definition.signature.as_deref(), |word| {
                text.says(&lines, word)
            });
            let (together, facts) = self.marks.of(definition);
            let phrases = phrases(&lines);
            let worth = MatchStrength {
                holds: held.contains(&Some(lines.clone())),
                named: self.name.map_or(0.0, |name| name.boost(definition, &whole.chunk.path, self.ranking)),
                marks: (together, facts + phrases),
                said,
            };
            ChunkPart { definition: Some(definition), lines, worth, told: told + phrases }
        };
        let mut parts: Vec<ChunkPart<'w>> = Vec::with_capacity(whole.definitions.len() + 1);
        if is_continued {
            let span = &whole.chunk.span;
            let (name, signature) = (span.name.as_deref().unwrap_or_default(), span.signature.as_deref());
            let (said, told) = said(words, name, signature, |word| text.says(&text.all(), word));
            let phrases = phrases(&text.all());
            let worth = MatchStrength { holds: held.contains(&None), named: 0.0, marks: (0, phrases), said };
            parts.push(ChunkPart { definition: None, lines: text.all(), worth, told: told + phrases });
        }
        parts.extend(whole.definitions.iter().map(of_definition));
        parts
    }

    /// The line outside of all definitions that contains what the best definition does not: what a filter looks for, a
    /// phrase, or words of the query.
    fn outside_line(
        &self,
        best: &ChunkPart<'_>,
        text: &FoldedText,
        words: &[&str],
        is_outside: &impl Fn(&u32) -> bool,
    ) -> Option<u32> {
        let all = text.all();
        let lines = || text.within(&all).filter(|(line, _)| is_outside(line));
        let sought = || self.marks.names.iter().chain(&self.marks.phrases);
        let is_only = best.definition.is_some_and(|definition| definition.ids.is_none());
        let has_marks = best.worth.marks > (0, 0) && !is_only;
        if !has_marks && !sought().any(|text_| text.says(&best.lines, text_)) {
            let line = lines().find(|(_, line)| sought().any(|text| line.contains(text.as_str())));
            if let Some((line, _)) = line {
                return Some(line);
            }
        }
        if best.worth.marks > (0, 0) || best.worth.said > 0 {
            return None;
        }
        let says = |line: &str| words.iter().filter(|word| line.contains(**word)).count();
        let mut most = (0, None);
        for (line, text) in lines() {
            let count = says(text);
            if count > most.0 {
                most = (count, Some(line));
            }
        }
        most.1
    }

    /// The first of `lines` with a name that a filter looks for, else with a part of such a name, else with a phrase, else
    /// with a compound name (`sign_cookie`) from the query.
    fn focus(&self, text: &FoldedText, lines: &RangeInclusive<u32>) -> Option<u32> {
        let first =
            |holds: &dyn Fn(&str) -> bool| text.within(lines).find(|(_, line)| holds(line)).map(|(at, _)| at);
        let names = &self.marks.names;
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let is_name =
            |line: &str| line.split(|c| !is_part(c)).any(|word| names.iter().any(|name| name == word));
        let any = |all: &[String], line: &str| all.iter().any(|one| line.contains(one.as_str()));
        let compound: Vec<String> = self.words.iter().filter(|word| parts(word).len() > 1).cloned().collect();
        first(&is_name)
            .or_else(|| first(&|line| any(names, line)))
            .or_else(|| first(&|line| any(&self.marks.phrases, line)))
            .or_else(|| first(&|line| any(&compound, line)))
    }
}

/// The part that matches best.
fn chosen<'p, 'w>(parts: &'p [ChunkPart<'w>], chunk: &ChunkRow) -> Option<&'p ChunkPart<'w>> {
    let mut best = parts.first()?;
    for part in parts {
        let is_main = part.definition.is_some_and(|one| Some(&one.qualified) == chunk.span.name.as_ref());
        if part.worth > best.worth || (part.worth == best.worth && is_main) {
            best = part;
        }
    }
    let inside = |outer: &ChunkPart<'_>, inner: &ChunkPart<'_>| {
        inner.lines != outer.lines
            && outer.lines.contains(inner.lines.start())
            && outer.lines.contains(inner.lines.end())
    };
    // Each is smaller than the one before.
    while let Some(inner) =
        parts.iter().find(|part| part.worth == best.worth && part.told > 0 && inside(best, part))
    {
        best = inner;
    }
    Some(best)
}

/// How many words of the query a part says, those of its name twice, and how many of them its text alone.
fn said(words: &[&str], name: &str, signature: Option<&str>, says: impl Fn(&str) -> bool) -> (usize, usize) {
    let name = parts(name);
    let signature = signature.map(str::to_lowercase).unwrap_or_default();
    let (mut said, mut told) = (0, 0);
    for word in words {
        if name.iter().any(|part| part == word) {
            said += 2;
        } else if signature.contains(word) {
            said += 1;
        } else if says(word) {
            said += 1;
            told += 1;
        }
    }
    (said, told)
}

/// The definition that begins right below the lines around this one, which say something of it: a comment, as a rule.
fn documented(parts: &[ChunkPart<'_>], text: &FoldedText, line: u32) -> Option<MatchedDefinition> {
    let below =
        parts.iter().filter(|part| *part.lines.start() > line).min_by_key(|part| *part.lines.start())?;
    let between = line..=below.lines.start().saturating_sub(1);
    let is_close = text.within(&between).all(|(_, line)| !line.trim().is_empty());
    let matched = below.definition.filter(|_| is_close).map(of_definition)?;
    Some(MatchedDefinition { lines: Some((line, *below.lines.end())), focus: Some(line), ..matched })
}

/// What matches between definitions, where none of them is named.
fn outside(parts: &[ChunkPart<'_>], text: &FoldedText, line: u32) -> MatchedDefinition {
    let all = text.all();
    let first =
        parts.iter().map(|part| part.lines.end().saturating_add(1)).filter(|first| *first <= line).max();
    let last =
        parts.iter().map(|part| part.lines.start().saturating_sub(1)).filter(|last| *last >= line).min();
    let lines = (first.unwrap_or(*all.start()).max(*all.start()), last.unwrap_or(*all.end()).min(*all.end()));
    MatchedDefinition {
        kind: "block".to_owned(),
        line,
        lines: Some(lines),
        focus: Some(line),
        ..MatchedDefinition::default()
    }
}

fn of_definition(definition: &DefinitionRow) -> MatchedDefinition {
    MatchedDefinition {
        kind: definition.kind.clone(),
        name: Some(definition.qualified.clone()),
        signature: definition.signature.clone(),
        line: line(definition.line),
        lines: Some((line(definition.start_line), line(definition.end_line))),
        focus: None,
    }
}

/// As the chunk itself says: it is a part of a definition, defines nothing, or was indexed before definitions were listed.
fn of_chunk(chunk: &ChunkRow) -> MatchedDefinition {
    let span = &chunk.span;
    // A heading far above is not where a part of a long section stands.
    let name_line = span.name_line.filter(|_| span.kind != "section");
    MatchedDefinition {
        kind: span.kind.clone(),
        name: span.name.clone(),
        signature: span.signature.clone(),
        line: line(name_line.unwrap_or(span.start_line)),
        lines: None,
        focus: None,
    }
}

/// A line number from the database, never negative there.
fn line(number: i32) -> u32 {
    u32::try_from(number).unwrap_or(0)
}
