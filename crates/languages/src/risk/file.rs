//! A file prepared for analysis: where each rule matches, and the steps of each function in execution order.

use std::collections::HashMap;
use std::ops::Range;

use super::names::{NONE, Names, Occurrence};
use super::rule::{Kind, Rule};
use super::rule_set::{Entry, Index, RuleSet};
use crate::facts::Flow;
use crate::innermost::Innermost;

/// Languages whose functions return their last expression.
const TAIL_LANGUAGES: &[&str] = &["rust", "ruby", "kotlin", "scala", "swift", "elixir", "haskell"];
/// A call may mean any function of its name in the file if there are at most this many.
const SAME_NAME_MAX: usize = 3;
/// Maximum number of bytes of a call or value that a rule's pattern is matched against.
const PATTERN_TEXT_MAX: usize = 2048;
/// Maximum number of bytes at the end of a function that are searched for its last expression.
const TAIL_BYTES_MAX: usize = 4096;
/// Maximum number of names in the arguments of a call whose assignments are looked up.
const ARGUMENT_NAMES_MAX: usize = 64;
/// Maximum number of assignments before a call that are searched for the value of an argument.
const ASSIGNMENTS_BACK_MAX: usize = 200;
/// Names of the current object or type.
const SELF_NAMES: &[&str] = &["self", "this", "Self", "cls", "super", "static"];

/// The rules that match a call.
#[derive(Debug, Default, Clone)]
pub(super) struct CallRules {
    pub(super) source: Option<usize>,
    pub(super) sinks: Vec<usize>,
    pub(super) sanitizers: Vec<usize>,
}

/// A sink other than a call: the value of an assignment, or the rest of a line.
#[derive(Debug, Clone)]
pub(super) struct Spot {
    pub(super) rule: usize,
    /// Byte offset where it starts.
    pub(super) at: usize,
    /// Range of the value that is dangerous if it is untrusted.
    pub(super) value: Range<usize>,
}

/// A step of a function. Steps are ordered by the bytes where they end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    /// A call, by its number in the flow.
    Call(usize),
    /// A sink other than a call.
    Spot(usize),
    /// An assignment.
    Assign(usize),
    /// A return.
    Return(usize),
}

/// A unit of analysis: a function, or the file's top level.
#[derive(Debug, Default)]
pub(super) struct Unit {
    /// Number of the function in the flow; `None` for the top level.
    pub(super) function: Option<usize>,
    /// The enclosing unit.
    pub(super) outer: Option<usize>,
    /// Its steps with the bytes where they end, in this order.
    pub(super) steps: Vec<(usize, Step)>,
    /// `true` if a rule matches in it.
    pub(super) marked: bool,
    /// `true` if all its return values are known.
    pub(super) returns_known: bool,
}

/// A file with the rules that match in it.
pub(super) struct File<'a> {
    pub(super) text: &'a str,
    pub(super) flow: &'a Flow,
    pub(super) rules: &'a RuleSet,
    pub(super) names: Names<'a>,
    /// Calls that rules match, by their number in the flow.
    pub(super) marks: HashMap<usize, CallRules>,
    /// Parts that read from a source, with its rule.
    pub(super) reads: HashMap<usize, usize>,
    pub(super) spots: Vec<Spot>,
    /// Ranges of returned values: those of the flow, and last expressions.
    pub(super) returns: Vec<Range<usize>>,
    /// The top level, then the functions of the flow.
    pub(super) units: Vec<Unit>,
    /// For each part, its unit.
    pub(super) part_units: Vec<usize>,
    /// The innermost function of the flow around a byte.
    inner: Innermost,
    by_name: HashMap<&'a str, Vec<usize>>,
    newlines: Vec<usize>,
}

impl<'a> File<'a> {
    /// Prepares a file; `None` if no rule can match.
    pub(super) fn new(text: &'a str, language: &str, flow: &'a Flow, rules: &'a RuleSet) -> Option<Self> {
        let index = rules.index(language)?;
        let called = called(text, flow, index);
        let targets = targets(flow, index);
        let reads = index.may_read(text);
        if called.is_empty() && targets.is_empty() && !reads {
            return None;
        }
        let sanitizes = |rule: &usize| rules.rule(*rule).kind == Kind::Sanitizer;
        let harmless =
            targets.is_empty() && called.iter().all(|(_, found)| found.iter().all(sanitizes)) && !reads;
        let names = if harmless { Names::default() } else { Names::read(text, language, flow) };
        let mut file = Self {
            text,
            flow,
            rules,
            names,
            marks: HashMap::new(),
            reads: HashMap::new(),
            spots: Vec::new(),
            returns: flow.returns.clone(),
            units: Vec::new(),
            inner: Innermost::default(),
            part_units: Vec::new(),
            by_name: HashMap::new(),
            newlines: text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(at, _)| at).collect(),
        };
        file.units = units(flow);
        file.inner = inner(flow, &file.units);
        for (at, function) in flow.functions.iter().enumerate() {
            file.by_name.entry(&function.name).or_default().push(at);
        }
        for (call, found) in called {
            file.mark(call, found);
        }
        file.spots.extend(targets);
        file.find_reads(index);
        if file.marks.is_empty() && file.reads.is_empty() && file.spots.is_empty() {
            return None;
        }
        if TAIL_LANGUAGES.contains(&language) {
            file.returns.extend(flow.functions.iter().filter_map(|f| last_expression(text, &f.range)));
        }
        file.assign_steps(language);
        Some(file)
    }

    /// The 1-based line of a byte.
    pub(super) fn line(&self, at: usize) -> u32 {
        u32::try_from(self.newlines.partition_point(|newline| *newline < at) + 1).unwrap_or(u32::MAX)
    }

    /// The unit around a byte.
    pub(super) fn unit(&self, at: usize) -> usize {
        self.inner.at(at).map_or(0, |function| function + 1)
    }

    /// The functions of this file that a call may mean, if it uses a simple name or calls a method of the current object.
    pub(super) fn callees(&self, call: usize) -> &[usize] {
        let chain = self.flow.calls[call].callee.as_str();
        let name = match chain.rsplit_once('.') {
            None => chain,
            Some((head, name)) if SELF_NAMES.contains(&head) => name,
            Some(_) => return &[],
        };
        let found = self.by_name.get(name).map_or(&[][..], Vec::as_slice);
        if found.len() > SAME_NAME_MAX { &[] } else { found }
    }

    /// The parameters of a function without its receiver, numbered as the arguments of its calls.
    pub(super) fn params(&self, function: usize) -> &'a [String] {
        let params = self.flow.functions[function].params.as_slice();
        match params.split_first() {
            Some((first, rest)) if SELF_NAMES.contains(&first.as_str()) => rest,
            _ => params,
        }
    }

    /// The name of a unit's function; `None` for the top level.
    pub(super) fn unit_name(&self, unit: usize) -> Option<&'a str> {
        self.units[unit].function.map(|function| self.flow.functions[function].name.as_str())
    }

    fn mark(&mut self, call: usize, found: Vec<usize>) {
        let mut marks = CallRules::default();
        for rule in found {
            if !self.passes_patterns(call, rule) {
                continue;
            }
            match self.rules.rule(rule).kind {
                Kind::Source if marks.source.is_none_or(|known| self.is_more_confident(rule, known)) => {
                    marks.source = Some(rule)
                }
                Kind::Source => {}
                Kind::Sink => marks.sinks.push(rule),
                Kind::Sanitizer => marks.sanitizers.push(rule),
            }
        }
        if marks.source.is_some() || !marks.sinks.is_empty() || !marks.sanitizers.is_empty() {
            self.marks.insert(call, marks);
        }
    }

    fn is_more_confident(&self, rule: usize, other: usize) -> bool {
        self.rules.rule(rule).confidence > self.rules.rule(other).confidence
    }

    /// Checks whether a rule's regular expressions allow the match: `pattern` must match the text of the call, or the last value assigned
    /// to one of its arguments, and `unless` must not match the call.
    fn passes_patterns(&self, call: usize, rule: usize) -> bool {
        let site = &self.flow.calls[call];
        if self.rules.unless(rule).is_some_and(|unless| unless.is_match(clip(self.text, &site.range))) {
            return false;
        }
        let Some(pattern) = self.rules.pattern(rule) else { return true };
        let found = |range: &Range<usize>| pattern.is_match(clip(self.text, range));
        if found(&site.range) {
            return true;
        }
        let before = self.flow.assignments.partition_point(|a| a.value.start < site.range.start);
        let recent = &self.flow.assignments[before.saturating_sub(ASSIGNMENTS_BACK_MAX)..before];
        let unit = self.unit(site.range.start);
        let arguments = site.arguments.iter().flat_map(|range| self.names.parts_in(range.start, range.end));
        let arguments = arguments.take(ARGUMENT_NAMES_MAX);
        arguments.map(|part| &self.names.parts[part]).filter(|part| part.owner == NONE).any(|part| {
            let name = self.names.name(part);
            let assigned = recent.iter().rev().find(|a| a.targets.iter().any(|target| target == name));
            assigned.is_some_and(|a| self.unit(a.value.start) == unit && found(&a.value))
        })
    }

    /// Finds names that read from sources, and sinks by keyword.
    fn find_reads(&mut self, index: &Index) {
        // Cached by chain, because the same chain is often read repeatedly.
        let mut by_chain: Vec<Option<Option<usize>>> = vec![None; self.names.chain_count()];
        for (at, part) in self.names.parts.iter().enumerate() {
            if let Some(rule) = by_chain[part.chain as usize].get_or_insert_with(|| self.source(part, index))
            {
                self.reads.insert(at, *rule);
            }
            if part.owner != NONE || index.keywords.is_empty() {
                continue;
            }
            for rule in index.keywords.get(self.names.name(part)).into_iter().flatten() {
                let from = part.end as usize;
                let value = from..from + rest_of_statement(&self.text[from..]);
                if self.rules.pattern(*rule).is_none_or(|pattern| pattern.is_match(&self.text[value.clone()]))
                {
                    self.spots.push(Spot { rule: *rule, at: part.start as usize, value });
                }
            }
        }
    }

    /// The source that a part reads from; if several match, the one with the longest pattern, which is the most specific.
    fn source(&self, part: &Occurrence, index: &Index) -> Option<usize> {
        let fits = |entry: &&Entry| {
            let single = entry.pattern.is_single() && part.owner != NONE;
            !single && entry.pattern.matches(self.names.reversed(part))
        };
        let found = index.reads.by(self.names.name(part)).iter().filter(fits);
        found.max_by_key(|entry| entry.pattern.len()).map(|entry| entry.rule)
    }

    /// Returns `true` if it has a source or a sink, and not only sanitizers.
    pub(super) fn is_dangerous(&self) -> bool {
        let marked = self.marks.values().any(|marks| marks.source.is_some() || !marks.sinks.is_empty());
        marked || !self.reads.is_empty() || !self.spots.is_empty()
    }

    /// Assigns the steps to the units.
    fn assign_steps(&mut self, language: &str) {
        let flow = self.flow;
        self.part_units = self.names.parts.iter().map(|part| self.unit(part.start as usize)).collect();
        let calls = flow.calls.iter().enumerate().map(|(at, c)| (&c.range, Step::Call(at)));
        let assigns = flow.assignments.iter().enumerate().map(|(at, a)| (&a.value, Step::Assign(at)));
        let spots = self.spots.iter().enumerate().map(|(at, s)| (&s.value, Step::Spot(at)));
        let returns = self.returns.iter().enumerate().map(|(at, r)| (r, Step::Return(at)));
        let steps = calls.chain(assigns).chain(spots).chain(returns);
        let steps: Vec<_> = steps.map(|(range, step)| (self.unit(range.start), range.end, step)).collect();
        for (unit, end, step) in steps {
            let unit = &mut self.units[unit];
            unit.steps.push((end, step));
            unit.marked |= match step {
                Step::Call(at) => self.marks.contains_key(&at),
                Step::Spot(_) => true,
                Step::Return(_) => {
                    unit.returns_known |= !TAIL_LANGUAGES.contains(&language);
                    false
                }
                Step::Assign(_) => false,
            };
        }
        for part in self.reads.keys() {
            self.units[self.part_units[*part]].marked = true;
        }
        self.units.iter_mut().for_each(|unit| unit.steps.sort_unstable());
    }
}

/// Calls, with the rules whose name patterns match.
fn called(text: &str, flow: &Flow, index: &Index) -> Vec<(usize, Vec<usize>)> {
    let mut found = Vec::new();
    let mut calls = Vec::new();
    for (at, call) in flow.calls.iter().enumerate() {
        // A call on a literal or an expression in brackets is also a method call; `*` represents its owner.
        let before = text.get(..call.range.start).unwrap_or("");
        if [".", "->", "::"].iter().any(|joint| before.ends_with(joint)) {
            index.calls.of_chain(&format!("*.{}", call.callee), &mut found);
        } else {
            index.calls.of_chain(&call.callee, &mut found);
        }
        if !found.is_empty() {
            calls.push((at, std::mem::take(&mut found)));
        }
    }
    calls
}

/// Assignments to dangerous targets.
fn targets(flow: &Flow, index: &Index) -> Vec<Spot> {
    let mut spots = Vec::new();
    let mut found = Vec::new();
    for assignment in &flow.assignments {
        for target in &assignment.targets {
            index.targets.of_chain(target.trim_end_matches("[]"), &mut found);
        }
        let value = &assignment.value;
        spots.extend(found.drain(..).map(|rule| Spot { rule, at: value.start, value: value.clone() }));
    }
    spots
}

/// The top level and the functions, each with its enclosing unit.
fn units(flow: &Flow) -> Vec<Unit> {
    let mut units = vec![Unit::default()];
    for (at, function) in flow.functions.iter().enumerate() {
        // The enclosing unit is the preceding function, or one that encloses that.
        let mut outer = at;
        while outer > 0 && flow.functions[outer - 1].range.end <= function.range.start {
            outer = units[outer].outer.unwrap_or(0);
        }
        units.push(Unit { function: Some(at), outer: Some(outer), ..Unit::default() });
    }
    units
}

/// An index of the innermost function at each byte.
fn inner(flow: &Flow, units: &[Unit]) -> Innermost {
    let outer = |at: usize| units[at + 1].outer.and_then(|outer| units[outer].function);
    let ranges = flow.functions.iter().enumerate().map(|(at, function)| (function.range.clone(), outer(at)));
    Innermost::new(&ranges.collect::<Vec<_>>())
}

/// The last expression of a function: its last line, or, in a function on a single line, the text after `=` or `{`. `None` if
/// it is a statement or too long.
fn last_expression(text: &str, function: &Range<usize>) -> Option<Range<usize>> {
    let from = text.ceil_char_boundary(function.start.max(function.end.saturating_sub(TAIL_BYTES_MAX)));
    let whole = text.get(from..function.end)?;
    let inside = whole.trim_end_matches(|c: char| c.is_whitespace() || c == '}');
    let inside = inside.strip_suffix("end").map_or(inside, str::trim_end);
    let start = match inside.rfind('\n') {
        Some(newline) => newline + 1,
        None if from > function.start => return None,
        None => inside.find(['=', '{'])? + 1,
    };
    // A statement has no value.
    (!inside.ends_with(';')).then(|| from + start..from + inside.len())
}

/// The length of the rest of a statement on its line.
fn rest_of_statement(text: &str) -> usize {
    let near = &text[..text.floor_char_boundary(PATTERN_TEXT_MAX)];
    near.find([';', '\n']).unwrap_or(near.len())
}

/// A range of a text, truncated to the length that patterns are matched against.
fn clip<'t>(text: &'t str, range: &Range<usize>) -> &'t str {
    let end = text.floor_char_boundary(range.end.min(range.start.saturating_add(PATTERN_TEXT_MAX)));
    text.get(range.start..end).unwrap_or("")
}

/// A match of a rule as a finding.
pub(super) fn place(rule: &Rule, line: u32) -> super::Place {
    super::Place {
        name: rule.name.clone(),
        rule_id: rule.id.clone(),
        line,
        tags: rule.tags.clone(),
        category: rule.category.clone(),
        confidence: rule.confidence,
        severity: (rule.kind == Kind::Sink).then_some(rule.severity),
    }
}
