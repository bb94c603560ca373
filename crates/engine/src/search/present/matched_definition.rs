//! Chooses the definition of a chunk that a hit names, and the line that its snippet must show: those that matched.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use crate::search::query::exact_name::QueriedName;
use crate::search::rank::ranking::Ranking;
use languages::facts::{Detail, Field};
use languages::nfc;
use languages::risk::{RiskFlow, flow_facts};
use languages::terms::parts;
use store::{ChunkRow, DefinitionRow, Filter, Test, fact_id};

/// Shortest word of a query that is compared, in bytes; shorter ones occur in too many names.
const WORD_BYTES_MIN: usize = 3;

/// The values that the filters require, in a form that can be found in definitions and lines.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::search) struct HighlightMarks {
    /// Lists of fact ids; a definition matches a list if it has one of them.
    pub(in crate::search) ids: Vec<Vec<i64>>,
    /// Parts of signatures.
    signatures: Vec<String>,
    /// Filters whose conditions must all be fulfilled by one definition.
    one_definition: Vec<Filter>,
    /// Names in filters, as written in code, in lower case.
    pub(in crate::search) names: Vec<String>,
    /// Phrases that a chunk must contain, in lower case, whitespace folded.
    pub(in crate::search) phrases: Vec<String>,
    /// The first line that a content filter matches, by chunk.
    pub(in crate::search) lines: HashMap<i64, u32>,
}

impl HighlightMarks {
    /// Adds the values of a filter. Negated parts are skipped, because no chunk that passes contains them.
    pub(in crate::search) fn add(&mut self, filter: &Filter) {
        match filter {
            Filter::All(filters) | Filter::Any(filters) => filters.iter().for_each(|filter| self.add(filter)),
            Filter::Not(_) => {}
            // The surrounding filter contains the conditions as well, so their ids are added there.
            Filter::OneDefinition(filter) => self.one_definition.push((**filter).clone()),
            Filter::Is(Test::Facts(ids)) => self.ids.push(ids.clone()),
            Filter::Is(Test::Signature(text)) => self.signatures.push(text.clone()),
            Filter::Is(_) => {}
        }
    }

    /// Counts the filters of `one_definition` that a definition fulfils, and the single values that it has.
    fn count(&self, definition: &DefinitionRow) -> (usize, usize) {
        // A definition without ids is the only one of its chunk and has all facts of the chunk.
        let has =
            |ids: &&Vec<i64>| definition.ids.as_ref().is_none_or(|own| ids.iter().any(|id| own.contains(id)));
        let signature = definition.signature.as_deref().unwrap_or_default();
        let marks = self.ids.iter().filter(has).count()
            + self.signatures.iter().filter(|text| signature.contains(text.as_str())).count();
        (self.one_definition.iter().filter(|filter| fulfils(definition, filter)).count(), marks)
    }
}

/// Returns whether a definition fulfils a filter that its chunk passes. Conditions on other things count as fulfilled.
fn fulfils(definition: &DefinitionRow, filter: &Filter) -> bool {
    let has = |ids: &[i64]| definition.ids.as_ref().is_none_or(|own| ids.iter().any(|id| own.contains(id)));
    match filter {
        Filter::All(filters) => filters.iter().all(|filter| fulfils(definition, filter)),
        Filter::Any(filters) => filters.iter().any(|filter| fulfils(definition, filter)),
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
pub(in crate::search) struct MatchedDefinition {
    pub(in crate::search) kind: String,
    pub(in crate::search) name: Option<String>,
    pub(in crate::search) signature: Option<String>,
    /// Line of the name; for a match outside of definitions, the line of the match; otherwise the first line of the chunk.
    pub(in crate::search) line: u32,
    /// First and last line of the definition, if it begins in the chunk, or of the code between definitions.
    pub(in crate::search) lines: Option<(u32, u32)>,
    /// The line that a filter matched; snippets must show it.
    pub(in crate::search) focus: Option<u32>,
}

/// A chunk with its definitions and facts.
pub(in crate::search) struct ChunkContext<'a> {
    pub(in crate::search) chunk: &'a ChunkRow,
    pub(in crate::search) content: &'a str,
    pub(in crate::search) definitions: &'a [DefinitionRow],
    pub(in crate::search) detail: &'a Detail,
    /// Flows between files that begin or end in the chunk.
    pub(in crate::search) flows: &'a [RiskFlow],
}

/// Chooses definitions by the query and its filters.
pub(in crate::search) struct DefinitionChoice<'a> {
    pub(in crate::search) name: Option<&'a QueriedName>,
    pub(in crate::search) marks: &'a HighlightMarks,
    /// Words of the query, lower-case.
    pub(in crate::search) words: &'a [String],
    pub(in crate::search) ranking: &'a Ranking,
}

/// Quality of the match of a part of a chunk. Compared field by field, the first one first.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
struct MatchStrength {
    /// `true` if the part is the innermost one around a finding that a filter matched, such as a risk.
    has_finding: bool,
    /// Boost for having the queried name.
    name_boost: f32,
    /// Fulfilled filters, and single values of filters.
    marks: (usize, usize),
    /// Words of the query in the part; those in its name count twice.
    words: usize,
}

/// A part of a chunk that a hit can name.
struct ChunkPart<'a> {
    /// `None` for the continuation of a definition that begins in another chunk.
    definition: Option<&'a DefinitionRow>,
    lines: RangeInclusive<u32>,
    strength: MatchStrength,
    /// Words and phrases of the query in the text of the part, without those in its name or signature.
    text_matches: usize,
}

/// The lines of a chunk in lower case.
struct FoldedText {
    first: u32,
    lines: Vec<String>,
}

impl FoldedText {
    fn new(context: &ChunkContext<'_>) -> Self {
        let first = line(context.chunk.span.start_line);
        Self { first, lines: nfc(context.content).lines().map(str::to_lowercase).collect() }
    }

    /// Returns the lines of the chunk.
    fn range(&self) -> RangeInclusive<u32> {
        let count = u32::try_from(self.lines.len()).unwrap_or(u32::MAX);
        self.first..=self.first.saturating_add(count.saturating_sub(1))
    }

    /// Returns the lines in a range, each with its number.
    fn lines_in(&self, range: &RangeInclusive<u32>) -> impl Iterator<Item = (u32, &str)> {
        let at = |line: u32| usize::try_from(line.saturating_sub(self.first)).unwrap_or(usize::MAX);
        let end = at(*range.end()).saturating_add(1).min(self.lines.len());
        let start = at(*range.start()).min(end);
        (*range.start().max(&self.first)..).zip(self.lines[start..end].iter().map(String::as_str))
    }

    fn contains(&self, range: &RangeInclusive<u32>, word: &str) -> bool {
        self.lines_in(range).any(|(_, line)| line.contains(word))
    }

    /// Returns whether the phrase occurs in the range, also across line breaks.
    fn contains_phrase(&self, range: &RangeInclusive<u32>, phrase: &str) -> bool {
        let words: Vec<&str> = self.lines_in(range).flat_map(|(_, line)| line.split_whitespace()).collect();
        words.join(" ").contains(phrase)
    }
}

impl DefinitionChoice<'_> {
    /// Chooses the definition that a hit names, by the first criterion that decides: it contains a finding that a filter matched; it has
    /// the queried name; it has the most values of the filters; it contains the most words of the query, the innermost of equals; it is the
    /// main definition of the chunk. A match outside of all definitions names none.
    pub(in crate::search) fn choose(&self, context: &ChunkContext<'_>) -> MatchedDefinition {
        let text = FoldedText::new(context);
        let words: Vec<String> = self.words.iter().flat_map(|word| parts(word)).collect();
        let words: Vec<&str> =
            words.iter().map(String::as_str).filter(|word| word.len() >= WORD_BYTES_MIN).collect();
        let finding_lines = self.finding_lines(context, &text.range());
        let parts = self.parts(context, &text, &words, &finding_lines);
        let is_outside = |line: &u32| !parts.iter().any(|part| part.lines.contains(line));
        let Some(part) = best_part(&parts, context.chunk) else {
            let focus = finding_lines.first().copied().or_else(|| self.focus(&text, &text.range()));
            return MatchedDefinition { focus, ..from_chunk(context.chunk) };
        };
        if !part.strength.has_finding
            && let Some(line) = finding_lines.iter().copied().find(is_outside)
        {
            return between_definitions(&parts, &text, line);
        }
        let may_be_outside = part.strength.name_boost <= 0.0 && !part.strength.has_finding;
        if may_be_outside && let Some(line) = self.outside_line(part, &text, &words, &is_outside) {
            return definition_below(&parts, &text, line)
                .unwrap_or_else(|| between_definitions(&parts, &text, line));
        }
        let finding_line = finding_lines.iter().copied().find(|line| part.lines.contains(line));
        let focus = finding_line.or_else(|| self.focus(&text, &part.lines));
        match part.definition {
            Some(definition) => MatchedDefinition { focus, ..from_definition(definition) },
            None => MatchedDefinition { focus, ..from_chunk(context.chunk) },
        }
    }

    /// Returns the line that a content filter matched, otherwise those of risks and lint findings that filters matched, only those that
    /// fulfil the most filters.
    fn finding_lines(&self, context: &ChunkContext<'_>, range: &RangeInclusive<u32>) -> Vec<u32> {
        let count_fulfilled = |facts: &[(Field, String)]| {
            let ids: Vec<i64> = facts.iter().map(|(field, value)| fact_id(*field as i16, value)).collect();
            self.marks.ids.iter().filter(|list| ids.iter().any(|id| list.contains(id))).count()
        };
        if let Some(line) = self.marks.lines.get(&context.chunk.span.id) {
            return vec![*line];
        }
        let mut found: Vec<(usize, u32)> = Vec::new();
        if self.marks.ids.is_empty() {
            return Vec::new();
        }
        let mut add = |lines: &[u32], facts: &[(Field, String)]| {
            if let Some(line) = lines.iter().copied().find(|line| range.contains(line)) {
                found.push((count_fulfilled(facts), line));
            }
        };
        let risk = context.detail.risk.as_ref();
        risk.into_iter().flat_map(|risk| risk.findings()).for_each(|(lines, facts)| add(&lines, &facts));
        for flow in context.flows {
            // Source and sink are in two files; the sink is in this one if a sink with the same name is at the line.
            let (sink_line, source_line) = (flow.evidence.sink_line, flow.evidence.source_line);
            let ends_here = risk.is_some_and(|risk| {
                risk.sinks.iter().any(|sink| (sink.line, &sink.name) == (sink_line, &flow.sink))
            });
            add(&[if ends_here { sink_line } else { source_line }], &flow_facts(flow));
        }
        for lint in &context.detail.lint {
            add(&[lint.line], &[(Field::Lint, lint.rule.clone())]);
        }
        let most = found.iter().map(|(count, _)| *count).max().unwrap_or(0);
        found.retain(|(count, _)| *count == most && most > 0);
        found.into_iter().map(|(_, line)| line).collect()
    }

    /// Returns the parts of a chunk: its definitions, and the definition that it continues, if any.
    fn parts<'c>(
        &self,
        context: &ChunkContext<'c>,
        text: &FoldedText,
        words: &[&str],
        finding_lines: &[u32],
    ) -> Vec<ChunkPart<'c>> {
        let lines = |definition: &DefinitionRow| line(definition.start_line)..=line(definition.end_line);
        let chunk_name = context.chunk.span.name.as_ref();
        let is_chunk_name = |definition: &DefinitionRow| Some(&definition.qualified) == chunk_name;
        let is_continued = chunk_name.is_some() && !context.definitions.iter().any(is_chunk_name);
        let innermost = |at: &u32| {
            let around = context.definitions.iter().map(&lines).filter(|lines| lines.contains(at));
            around.min_by_key(|lines| lines.end() - lines.start())
        };
        // The innermost definition around each finding; `None` outside of all definitions.
        let with_finding: Vec<Option<RangeInclusive<u32>>> = finding_lines.iter().map(innermost).collect();
        let count_phrases = |lines: &RangeInclusive<u32>| {
            self.marks.phrases.iter().filter(|phrase| text.contains_phrase(lines, phrase)).count()
        };
        let part = |definition: &'c DefinitionRow| {
            let lines = lines(definition);
            let (name, signature) = (&definition.qualified, definition.signature.as_deref());
            let (score, in_text) = count_words(words, name, signature, |word| text.contains(&lines, word));
            let (filters, facts) = self.marks.count(definition);
            let phrases = count_phrases(&lines);
            let name_boost =
                self.name.map_or(0.0, |name| name.boost(definition, &context.chunk.path, self.ranking));
            let strength = MatchStrength {
                has_finding: with_finding.contains(&Some(lines.clone())),
                name_boost,
                marks: (filters, facts + phrases),
                words: score,
            };
            ChunkPart { definition: Some(definition), lines, strength, text_matches: in_text + phrases }
        };
        let mut parts: Vec<ChunkPart<'c>> = Vec::with_capacity(context.definitions.len() + 1);
        if is_continued {
            let span = &context.chunk.span;
            let lines = text.range();
            let (name, signature) = (span.name.as_deref().unwrap_or_default(), span.signature.as_deref());
            let (score, in_text) = count_words(words, name, signature, |word| text.contains(&lines, word));
            let phrases = count_phrases(&lines);
            let strength = MatchStrength {
                has_finding: with_finding.contains(&None),
                name_boost: 0.0,
                marks: (0, phrases),
                words: score,
            };
            parts.push(ChunkPart { definition: None, lines, strength, text_matches: in_text + phrases });
        }
        parts.extend(context.definitions.iter().map(part));
        parts
    }

    /// Returns a line outside of all definitions with something that the best definition lacks: a name or phrase of a filter, or words of
    /// the query.
    fn outside_line(
        &self,
        best: &ChunkPart<'_>,
        text: &FoldedText,
        words: &[&str],
        is_outside: &impl Fn(&u32) -> bool,
    ) -> Option<u32> {
        let range = text.range();
        let lines = || text.lines_in(&range).filter(|(line, _)| is_outside(line));
        let sought = || self.marks.names.iter().chain(&self.marks.phrases);
        let is_only = best.definition.is_some_and(|definition| definition.ids.is_none());
        let has_marks = best.strength.marks > (0, 0) && !is_only;
        if !has_marks && !sought().any(|value| text.contains(&best.lines, value)) {
            let line = lines().find(|(_, line)| sought().any(|value| line.contains(value.as_str())));
            if let Some((line, _)) = line {
                return Some(line);
            }
        }
        if best.strength.marks > (0, 0) || best.strength.words > 0 {
            return None;
        }
        let count_words = |line: &str| words.iter().filter(|word| line.contains(**word)).count();
        let mut most = (0, None);
        for (number, line) in lines() {
            let count = count_words(line);
            if count > most.0 {
                most = (count, Some(number));
            }
        }
        most.1
    }

    /// Returns the first of `lines` with a whole name of a filter, else with such a name inside a word, else with a
    /// phrase, else with a compound name (`sign_cookie`) of the query.
    fn focus(&self, text: &FoldedText, lines: &RangeInclusive<u32>) -> Option<u32> {
        let first = |matches: &dyn Fn(&str) -> bool| {
            text.lines_in(lines).find(|(_, line)| matches(line)).map(|(number, _)| number)
        };
        let names = &self.marks.names;
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let has_name =
            |line: &str| line.split(|c| !is_part(c)).any(|word| names.iter().any(|name| name == word));
        let has_any =
            |values: &[String], line: &str| values.iter().any(|value| line.contains(value.as_str()));
        let compound: Vec<String> = self.words.iter().filter(|word| parts(word).len() > 1).cloned().collect();
        first(&has_name)
            .or_else(|| first(&|line| has_any(names, line)))
            .or_else(|| first(&|line| has_any(&self.marks.phrases, line)))
            .or_else(|| first(&|line| has_any(&compound, line)))
    }
}

/// Returns the part that matches best.
fn best_part<'p, 'c>(parts: &'p [ChunkPart<'c>], chunk: &ChunkRow) -> Option<&'p ChunkPart<'c>> {
    let mut best = parts.first()?;
    for part in parts {
        let is_main =
            part.definition.is_some_and(|definition| Some(&definition.qualified) == chunk.span.name.as_ref());
        if part.strength > best.strength || (part.strength == best.strength && is_main) {
            best = part;
        }
    }
    let inside = |outer: &ChunkPart<'_>, inner: &ChunkPart<'_>| {
        inner.lines != outer.lines
            && outer.lines.contains(inner.lines.start())
            && outer.lines.contains(inner.lines.end())
    };
    // Terminates, because each inner part is smaller.
    while let Some(inner) = parts
        .iter()
        .find(|part| part.strength == best.strength && part.text_matches > 0 && inside(best, part))
    {
        best = inner;
    }
    Some(best)
}

/// Counts the words of the query in a part, those in its name twice; the second number counts those only in its text.
fn count_words(
    words: &[&str],
    name: &str,
    signature: Option<&str>,
    is_in_text: impl Fn(&str) -> bool,
) -> (usize, usize) {
    let name = parts(name);
    let signature = signature.map(str::to_lowercase).unwrap_or_default();
    let (mut score, mut in_text) = (0, 0);
    for word in words {
        if name.iter().any(|part| part == word) {
            score += 2;
        } else if signature.contains(word) {
            score += 1;
        } else if is_in_text(word) {
            score += 1;
            in_text += 1;
        }
    }
    (score, in_text)
}

/// Returns the definition below `line` if no blank line is between: `line` is then usually part of its comment.
fn definition_below(parts: &[ChunkPart<'_>], text: &FoldedText, line: u32) -> Option<MatchedDefinition> {
    let below =
        parts.iter().filter(|part| *part.lines.start() > line).min_by_key(|part| *part.lines.start())?;
    let between = line..=below.lines.start().saturating_sub(1);
    let is_close = text.lines_in(&between).all(|(_, line)| !line.trim().is_empty());
    let matched = below.definition.filter(|_| is_close).map(from_definition)?;
    Some(MatchedDefinition { lines: Some((line, *below.lines.end())), focus: Some(line), ..matched })
}

/// Returns the code between definitions around `line`, as a block without a name.
fn between_definitions(parts: &[ChunkPart<'_>], text: &FoldedText, line: u32) -> MatchedDefinition {
    let range = text.range();
    let first =
        parts.iter().map(|part| part.lines.end().saturating_add(1)).filter(|first| *first <= line).max();
    let last =
        parts.iter().map(|part| part.lines.start().saturating_sub(1)).filter(|last| *last >= line).min();
    let (start, end) = (*range.start(), *range.end());
    let lines = (first.unwrap_or(start).max(start), last.unwrap_or(end).min(end));
    MatchedDefinition {
        kind: "block".to_owned(),
        line,
        lines: Some(lines),
        focus: Some(line),
        ..MatchedDefinition::default()
    }
}

fn from_definition(definition: &DefinitionRow) -> MatchedDefinition {
    MatchedDefinition {
        kind: definition.kind.clone(),
        name: Some(definition.qualified.clone()),
        signature: definition.signature.clone(),
        line: line(definition.line),
        lines: Some((line(definition.start_line), line(definition.end_line))),
        focus: None,
    }
}

/// Returns the values of the chunk itself: it is a part of a definition, defines nothing, or was indexed before
/// definitions were stored.
fn from_chunk(chunk: &ChunkRow) -> MatchedDefinition {
    let span = &chunk.span;
    // The heading of a long section may be far above the chunk.
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

/// Converts a line number from the database, which is never negative.
fn line(number: i32) -> u32 {
    u32::try_from(number).unwrap_or(0)
}
