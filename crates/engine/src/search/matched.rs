//! Which of a chunk's definitions a hit names and which of its lines it shows: those that matched.

use std::ops::RangeInclusive;

use super::naming::AskedName;
use super::ranking::Ranking;
use languages::facts::{Detail, Field};
use languages::risk::{RiskFlow, flow_facts};
use languages::terms::parts;
use store::{ChunkRow, DefinitionRow, Filter, Test, fact_id};

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
    /// Names that filters look for, as they stand in code, in lower case.
    pub(super) names: Vec<String>,
    /// Phrases that must stand in a chunk, in lower case, whitespace folded.
    pub(super) phrases: Vec<String>,
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
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Matched {
    pub(super) kind: String,
    pub(super) name: Option<String>,
    pub(super) signature: Option<String>,
    /// Line of the name; of what matches outside of definitions; or of the chunk where neither is known.
    pub(super) line: u32,
    /// First and last line of the definition, where it begins in the chunk, or of the code between definitions.
    pub(super) lines: Option<(u32, u32)>,
    /// The line that must be seen, because it is what a filter found.
    pub(super) focus: Option<u32>,
}

/// A chunk with what is known of its parts.
pub(super) struct Whole<'a> {
    pub(super) chunk: &'a ChunkRow,
    pub(super) content: &'a str,
    pub(super) definitions: &'a [DefinitionRow],
    pub(super) detail: &'a Detail,
    /// Flows from other files that begin or end here.
    pub(super) flows: &'a [RiskFlow],
}

/// What hits are chosen by.
pub(super) struct Choice<'a> {
    pub(super) asked: Option<&'a AskedName>,
    pub(super) marks: &'a Marks,
    /// Words of the question, lower-case.
    pub(super) words: &'a [String],
    pub(super) ranking: &'a Ranking,
}

/// How much speaks for a part of a chunk; what stands first counts most.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
struct Worth {
    /// What a filter found, such as a risk, is in its own lines.
    holds: bool,
    /// Its name was asked for.
    named: f32,
    /// What filters and phrases look for in it.
    marks: (usize, usize),
    /// What it says of the question: the words of its name twice, those of its signature and text once.
    said: usize,
}

/// A part of a chunk that a hit can be named by.
struct Part<'a> {
    /// None for what the chunk is about, where that begins in another chunk.
    definition: Option<&'a DefinitionRow>,
    lines: RangeInclusive<u32>,
    worth: Worth,
    /// Words and phrases of the question that its text says beside its name.
    told: usize,
}

/// A chunk's lines in lower case.
struct Text {
    first: u32,
    lines: Vec<String>,
}

impl Text {
    fn of(whole: &Whole<'_>) -> Self {
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

    /// Whether words stand there in a row, over the ends of lines.
    fn holds(&self, range: &RangeInclusive<u32>, phrase: &str) -> bool {
        let words: Vec<&str> = self.within(range).flat_map(|(_, line)| line.split_whitespace()).collect();
        words.join(" ").contains(phrase)
    }
}

impl Choice<'_> {
    /// What a hit names: the definition that holds what a filter found, else the one whose name was asked for, else the one
    /// that the filters look for, else the one whose text says most of the question: the innermost of those that say as
    /// much, and what the chunk is about where no text decides. What matches outside of definitions is named by none.
    pub(super) fn of(&self, whole: &Whole<'_>) -> Matched {
        let text = Text::of(whole);
        let words: Vec<String> = self.words.iter().flat_map(|word| parts(word)).collect();
        let words: Vec<&str> =
            words.iter().map(String::as_str).filter(|word| word.len() >= WORD_BYTES_MIN).collect();
        let found = self.found(whole, &text.all());
        let parts = self.parts(whole, &text, &words, &found);
        let is_outside = |line: &u32| !parts.iter().any(|part| part.lines.contains(line));
        let chosen = chosen(&parts, whole.chunk);
        let Some(part) = chosen else {
            let focus = found.first().copied().or_else(|| self.focus(&text, &text.all()));
            return Matched { focus, ..of_chunk(whole.chunk) };
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
            Some(definition) => Matched { focus, ..of_definition(definition) },
            None => Matched { focus, ..of_chunk(whole.chunk) },
        }
    }

    /// The lines of what filters found that says where it stands: risks and broken rules. Those that fulfil most of what is
    /// asked, the most telling first.
    fn found(&self, whole: &Whole<'_>, here: &RangeInclusive<u32>) -> Vec<u32> {
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
            // Its two lines are those of two files: the sink is here where one of its name stands in its line.
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

    fn parts<'w>(&self, whole: &Whole<'w>, text: &Text, words: &[&str], found: &[u32]) -> Vec<Part<'w>> {
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
            let worth = Worth {
                holds: held.contains(&Some(lines.clone())),
                named: self
                    .asked
                    .map_or(0.0, |asked| asked.boost(definition, &whole.chunk.path, self.ranking)),
                marks: (together, facts + phrases),
                said,
            };
            Part { definition: Some(definition), lines, worth, told: told + phrases }
        };
        let mut parts: Vec<Part<'w>> = Vec::with_capacity(whole.definitions.len() + 1);
        if is_continued {
            let span = &whole.chunk.span;
            let (name, signature) = (span.name.as_deref().unwrap_or_default(), span.signature.as_deref());
            let (said, told) = said(words, name, signature, |word| text.says(&text.all(), word));
            let phrases = phrases(&text.all());
            let worth = Worth { holds: held.contains(&None), named: 0.0, marks: (0, phrases), said };
            parts.push(Part { definition: None, lines: text.all(), worth, told: told + phrases });
        }
        parts.extend(whole.definitions.iter().map(of_definition));
        parts
    }

    /// The line outside of all definitions that says what the best of them does not: what a filter looks for, a phrase, or
    /// any word of the question.
    fn outside_line(
        &self,
        best: &Part<'_>,
        text: &Text,
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

    /// The first line of some that holds what a filter or a phrase looks for, as a whole name, else within one; else a name
    /// of several words that the question has.
    fn focus(&self, text: &Text, lines: &RangeInclusive<u32>) -> Option<u32> {
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

/// The part that most speaks for.
fn chosen<'p, 'w>(parts: &'p [Part<'w>], chunk: &ChunkRow) -> Option<&'p Part<'w>> {
    let mut best = parts.first()?;
    for part in parts {
        let is_main = part.definition.is_some_and(|one| Some(&one.qualified) == chunk.span.name.as_ref());
        if part.worth > best.worth || (part.worth == best.worth && is_main) {
            best = part;
        }
    }
    let inside = |outer: &Part<'_>, inner: &Part<'_>| {
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

/// How many words of the question a part says, those of its name twice, and how many of them its text alone.
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
fn documented(parts: &[Part<'_>], text: &Text, line: u32) -> Option<Matched> {
    let below =
        parts.iter().filter(|part| *part.lines.start() > line).min_by_key(|part| *part.lines.start())?;
    let between = line..=below.lines.start().saturating_sub(1);
    let is_close = text.within(&between).all(|(_, line)| !line.trim().is_empty());
    let matched = below.definition.filter(|_| is_close).map(of_definition)?;
    Some(Matched { lines: Some((line, *below.lines.end())), focus: Some(line), ..matched })
}

/// What matches between definitions, where none of them is named.
fn outside(parts: &[Part<'_>], text: &Text, line: u32) -> Matched {
    let all = text.all();
    let first =
        parts.iter().map(|part| part.lines.end().saturating_add(1)).filter(|first| *first <= line).max();
    let last =
        parts.iter().map(|part| part.lines.start().saturating_sub(1)).filter(|last| *last >= line).min();
    let lines = (first.unwrap_or(*all.start()).max(*all.start()), last.unwrap_or(*all.end()).min(*all.end()));
    Matched { kind: "block".to_owned(), line, lines: Some(lines), focus: Some(line), ..Matched::default() }
}

fn of_definition(definition: &DefinitionRow) -> Matched {
    Matched {
        kind: definition.kind.clone(),
        name: Some(definition.qualified.clone()),
        signature: definition.signature.clone(),
        line: line(definition.line),
        lines: Some((line(definition.start_line), line(definition.end_line))),
        focus: None,
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
        focus: None,
    }
}

/// A line number from the database, never negative there.
fn line(number: i32) -> u32 {
    u32::try_from(number).unwrap_or(0)
}
