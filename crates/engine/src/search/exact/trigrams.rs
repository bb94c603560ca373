//! Derives from a pattern the condition on the trigrams of every text with a match.
//!
//! A pattern becomes a sequence of steps. A step is a few possible texts (a byte of a literal, the members of a small class, an optional
//! letter) or a gap. Every run of steps without a gap occurs in the text in one piece, so the first three bytes from each step on are a
//! trigram of the text. Alternatives that are not a few texts give a disjunction.

use std::collections::BTreeSet;

use regex_syntax::hir::{Class, ClassUnicode, Hir, HirKind};

use store::{Gram, GramQuery, gram};

/// Maximum number of texts of one step.
const TEXTS_MAX: usize = 16;
/// Maximum length in bytes of a text of a step with several.
const TEXT_BYTES_MAX: usize = 24;
/// Maximum number of alternatives of one trigram. More cost the index more than they exclude.
const ALTERNATIVES_MAX: usize = 32;
/// Maximum number of trigrams that have to occur together; further ones of a long literal exclude little.
const TRIGRAMS_MAX: usize = 48;
/// Maximum number of conditions with alternatives beside them.
const CHOICES_MAX: usize = 6;
/// Maximum number of steps of a sequence; repetitions inside repetitions multiply them.
const STEPS_MAX: usize = 16_384;
/// Maximum number of copies of a repeated part that are spelt out.
const COPIES_MAX: u32 = 3;
/// Maximum number of conditions in a disjunction; a pattern with more alternatives is searched without this part.
const BRANCHES_MAX: usize = 64;

type Text = Vec<u8>;

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    /// One of these texts, with ASCII letters in lower case.
    Texts(Vec<Text>),
    /// Anything.
    Gap,
}

/// A part of a pattern: its steps, and conditions on the text that do not depend on the position of the part.
#[derive(Debug, Default)]
struct Part {
    steps: Vec<Step>,
    conditions: Vec<GramQuery>,
}

/// Returns a condition that the trigrams of every text with a match of `hir` fulfil.
pub(super) fn trigrams(hir: &Hir) -> GramQuery {
    condition(part(hir))
}

fn part(hir: &Hir) -> Part {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => Part::default(),
        HirKind::Literal(literal) => {
            let byte = |byte: &u8| Step::Texts(vec![vec![byte.to_ascii_lowercase()]]);
            Part { steps: literal.0.iter().map(byte).collect(), conditions: Vec::new() }
        }
        HirKind::Class(class) => Part { steps: vec![class_step(class)], conditions: Vec::new() },
        HirKind::Capture(capture) => part(&capture.sub),
        HirKind::Repetition(repetition) => repeated(&repetition.sub, repetition.min, repetition.max),
        HirKind::Concat(parts) => {
            let mut whole = Part::default();
            for part in parts.iter().map(part) {
                whole.append(part);
            }
            whole
        }
        HirKind::Alternation(branches) => alternation(branches),
    }
}

impl Part {
    fn gap() -> Self {
        Self { steps: vec![Step::Gap], conditions: Vec::new() }
    }

    fn append(&mut self, mut next: Self) {
        if self.steps.len() + next.steps.len() > STEPS_MAX {
            next.steps = vec![Step::Gap];
        }
        self.steps.append(&mut next.steps);
        self.conditions.append(&mut next.conditions);
    }

    /// Returns the texts that the part matches, if they are few.
    fn texts(&self) -> Option<Vec<Text>> {
        let mut all = vec![Text::new()];
        for step in &self.steps {
            let Step::Texts(texts) = step else { return None };
            all = joined(&all, texts);
            let is_long = |text: &Text| text.len() > TEXT_BYTES_MAX;
            if all.len() > TEXTS_MAX || (all.len() > 1 && all.iter().any(is_long)) {
                return None;
            }
        }
        Some(all)
    }
}

/// Concatenates each of `starts` with each of `ends`.
fn joined(starts: &[Text], ends: &[Text]) -> Vec<Text> {
    let all: BTreeSet<Text> = starts
        .iter()
        .flat_map(|start| ends.iter().map(move |end| [start.as_slice(), end].concat()))
        .collect();
    all.into_iter().collect()
}

fn class_step(class: &Class) -> Step {
    let few = match class {
        Class::Unicode(class) => members(class),
        Class::Bytes(class) => {
            let bytes = class.ranges().iter().flat_map(|range| range.start()..=range.end());
            let texts: BTreeSet<Text> =
                bytes.take(2 * TEXTS_MAX + 1).map(|byte| vec![byte.to_ascii_lowercase()]).collect();
            Some(texts)
        }
    };
    match few {
        Some(texts) if (1..=TEXTS_MAX).contains(&texts.len()) => Step::Texts(texts.into_iter().collect()),
        _ => Step::Gap,
    }
}

/// Returns the members of a class in UTF-8 with ASCII letters in lower case; `None` if they are many.
fn members(class: &ClassUnicode) -> Option<BTreeSet<Text>> {
    let mut texts = BTreeSet::new();
    for range in class.ranges() {
        if range.len() > 2 * TEXTS_MAX {
            return None;
        }
        for char in range.start()..=range.end() {
            texts.insert(char.to_ascii_lowercase().to_string().into_bytes());
        }
        if texts.len() > TEXTS_MAX {
            return None;
        }
    }
    Some(texts)
}

fn repeated(sub: &Hir, min: u32, max: Option<u32>) -> Part {
    if min == 0 {
        let texts = if max == Some(1) { part(sub).texts() } else { None };
        let optional = |mut texts: Vec<Text>| {
            texts.insert(0, Text::new());
            texts.dedup();
            Part { steps: vec![Step::Texts(texts)], conditions: Vec::new() }
        };
        return texts.map_or_else(Part::gap, optional);
    }
    let one = part(sub);
    // Copies of a long part would repeat its trigrams.
    let copies = if one.steps.len() <= 2 { min.min(COPIES_MAX) } else { 1 };
    let mut whole = Part { steps: Vec::new(), conditions: one.conditions };
    let is_exact = max == Some(copies) && min == copies;
    for side in 0..if is_exact { 1 } else { 2 } {
        if side == 1 {
            // The first and the last copies may be the same or have others between them.
            whole.append(Part::gap());
        }
        for _ in 0..copies {
            whole.append(Part { steps: one.steps.clone(), conditions: Vec::new() });
        }
    }
    whole
}

fn alternation(branches: &[Hir]) -> Part {
    let parts: Vec<Part> = branches.iter().map(part).collect();
    let texts: Option<Vec<Vec<Text>>> = parts.iter().map(Part::texts).collect();
    let texts: Option<BTreeSet<Text>> = texts.map(|all| all.into_iter().flatten().collect());
    let step = match texts {
        Some(texts) if texts.len() <= TEXTS_MAX => Step::Texts(texts.into_iter().collect()),
        _ => Step::Gap,
    };
    let one_of = GramQuery::Any(parts.into_iter().map(condition).collect());
    let is_useful = !one_of.is_everything() && conditions_in(&one_of) <= BRANCHES_MAX;
    Part { steps: vec![step], conditions: if is_useful { vec![one_of] } else { Vec::new() } }
}

/// Returns the number of lists of trigrams in a condition.
fn conditions_in(query: &GramQuery) -> usize {
    match query {
        GramQuery::All(all) | GramQuery::Any(all) => all.iter().map(conditions_in).sum(),
        GramQuery::HasAll(_) | GramQuery::HasAny(_) => 1,
    }
}

/// Returns the condition on the whole text in which a part matches.
fn condition(part: Part) -> GramQuery {
    let (mut together, mut choices) = (BTreeSet::new(), BTreeSet::new());
    for at in 0..part.steps.len() {
        let Some(alternatives) = trigrams_at(&part.steps[at..]) else { continue };
        match alternatives.as_slice() {
            [one] => {
                together.insert(*one);
            }
            _ => {
                choices.insert((alternatives.len(), alternatives));
            }
        }
    }
    let step = together.len().div_ceil(TRIGRAMS_MAX).max(1);
    let together: Vec<Gram> = together.into_iter().step_by(step).collect();
    let mut all = Vec::new();
    if !together.is_empty() {
        all.push(GramQuery::HasAll(together));
    }
    // Those with the fewest alternatives come first.
    all.extend(
        choices.into_iter().take(CHOICES_MAX).map(|(_, alternatives)| GramQuery::HasAny(alternatives)),
    );
    all.extend(part.conditions);
    if all.len() == 1 { all.remove(0) } else { GramQuery::All(all) }
}

/// Returns the alternative trigrams at the first step; `None` if a gap comes too early or there are too many.
fn trigrams_at(steps: &[Step]) -> Option<Vec<Gram>> {
    let mut texts = vec![Text::new()];
    for step in steps {
        if texts.iter().all(|text| text.len() >= 3) {
            break;
        }
        let Step::Texts(next) = step else { return None };
        let (long, short): (Vec<Text>, Vec<Text>) = texts.into_iter().partition(|text| text.len() >= 3);
        texts = joined(&short, next);
        texts.extend(long);
        texts.iter_mut().for_each(|text| text.truncate(3));
        texts.sort_unstable();
        texts.dedup();
        if texts.len() > ALTERNATIVES_MAX {
            return None;
        }
    }
    // No trigram spans the end of a line.
    if texts.iter().any(|text| text.len() < 3 || text.contains(&b'\n')) {
        return None;
    }
    let grams: BTreeSet<Gram> = texts.iter().map(|text| gram([text[0], text[1], text[2]])).collect();
    Some(grams.into_iter().collect())
}
