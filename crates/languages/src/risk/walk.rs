//! Follows tainted values through one function, step by step.

use std::ops::Range;

use super::file::{File, Spot, Step};
use super::findings::{
    Evidence, ReturnSource, RiskFlow, Scope, TaintedCall, confidence, confidence_over_calls, excerpt,
};
use super::taint::{Env, Origin, STEPS_MAX, Taint, Taints};

/// Deepest nesting of calls that are evaluated; in deeper calls all names count as used.
const DEPTH_MAX: usize = 24;
/// Maximum number of steps that are followed in a function.
const FUNCTION_STEPS_MAX: usize = 4000;
/// Maximum number of pairs of a parameter and a sink that it reaches, for a function.
const REACHES_MAX: usize = 64;
/// Maximum number of functions that a flow is followed through.
const VIA_MAX: usize = 4;
/// Maximum number of flows, and of tainted calls, of a function.
const FOUND_MAX: usize = 150;

/// The summary of a function for its callers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Summary {
    /// Parameters that reach a sink.
    pub(super) reaches: Vec<Reach>,
    /// The taints of its return value.
    pub(super) returns: Taints,
}

/// A parameter that reaches a sink.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reach {
    pub(super) param: usize,
    /// The sink's rule.
    pub(super) rule: usize,
    /// Byte offset of the sink.
    pub(super) at: usize,
    /// Bit set of the categories that the value was sanitized for.
    pub(super) cleared: u64,
    /// The units that it passes through, this one first.
    pub(super) via: Vec<usize>,
    pub(super) steps: Vec<u32>,
}

/// The result of following a unit.
#[derive(Debug, Clone, Default)]
pub(super) struct Followed {
    /// `true` if it was followed at all.
    pub(super) known: bool,
    pub(super) env: Env,
    pub(super) summary: Summary,
    pub(super) flows: Vec<RiskFlow>,
    pub(super) outgoing: Vec<TaintedCall>,
    pub(super) returning: Vec<ReturnSource>,
    pub(super) capped: bool,
}

/// Follows one unit. `followed` has the results for all units so far; `work` is the number of names that may still be
/// evaluated.
pub(super) fn follow(
    file: &File<'_>,
    targets: &[Vec<u32>],
    followed: &[Followed],
    unit: usize,
    work: &mut usize,
) -> Followed {
    let mut walk =
        Walk { file, targets, followed, unit, work, found: Followed { known: true, ..Followed::default() } };
    walk.params();
    let steps = &file.units[unit].steps;
    walk.found.capped = steps.len() > FUNCTION_STEPS_MAX;
    let steps = &steps[..steps.len().min(FUNCTION_STEPS_MAX)];
    // Twice, because a value assigned late in a loop is used early in its next iteration. The top level has hardly any loops.
    let turns = if file.units[unit].function.is_some() { 2 } else { 1 };
    for _ in 0..turns {
        steps.iter().for_each(|(_, step)| walk.step(*step));
    }
    walk.found.capped |= *walk.work == 0;
    walk.found
}

struct Walk<'w, 'a> {
    file: &'w File<'a>,
    /// For each assignment, the chains of its targets.
    targets: &'w [Vec<u32>],
    followed: &'w [Followed],
    unit: usize,
    work: &'w mut usize,
    found: Followed,
}

impl Walk<'_, '_> {
    /// Initially, the taint of each parameter is the parameter itself.
    fn params(&mut self) {
        let Some(function) = self.file.units[self.unit].function else { return };
        for (at, name) in self.file.params(function).iter().enumerate() {
            if let Some(chain) = self.file.names.known_chain(name) {
                let mut taints = Taints::default();
                taints.add(Taint::new(Origin::Param(at)));
                self.found.env.add(chain, &taints);
            }
        }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Call(call) => {
                let sinks = self.file.marks.get(&call).map_or(&[][..], |marks| &marks.sinks);
                for rule in sinks {
                    self.sink_call(call, *rule);
                }
                self.fill(call);
                match self.file.callees(call) {
                    [] if !self.file.marks.contains_key(&call) => self.external_call(call),
                    [] => {}
                    functions => functions.iter().for_each(|function| self.internal_call(call, *function)),
                }
            }
            Step::Spot(at) => {
                let Spot { rule, at, value } = self.file.spots[at].clone();
                let taints = self.value(&value);
                self.reach(&taints, rule, at);
            }
            Step::Assign(at) => self.assign(at),
            Step::Return(at) => {
                let taints = self.value(&self.file.returns[at].clone());
                self.add_returned(&taints);
            }
        }
    }

    fn sink_call(&mut self, call: usize, rule: usize) {
        let site = &self.file.flow.calls[call];
        let sink = self.file.rules.rule(rule);
        let mut taints = Taints::default();
        for (at, argument) in site.arguments.iter().enumerate() {
            if sink.argument.is_none_or(|wanted| wanted == at) {
                taints.extend(&self.value(argument));
            }
        }
        if sink.receiver {
            taints.extend(&self.receiver(call, 0));
        }
        self.reach(&taints, rule, site.range.start);
    }

    /// Taints the argument that a source writes to.
    fn fill(&mut self, call: usize) {
        let Some(rule) = self.file.marks.get(&call).and_then(|marks| marks.source) else { return };
        let site = &self.file.flow.calls[call];
        let Some(range) = self.file.rules.rule(rule).fills.and_then(|at| site.arguments.get(at)) else {
            return;
        };
        let mut taints = Taints::default();
        taints.add(Taint::new(Origin::Source { rule, line: site.line }));
        for part in self.file.names.parts_in(range.start, range.end) {
            self.found.env.add(self.file.names.parts[part].chain, &taints);
        }
    }

    /// Records untrusted input in the arguments of a call to a function outside of the file.
    fn external_call(&mut self, call: usize) {
        let site = &self.file.flow.calls[call];
        for (argument, range) in site.arguments.iter().enumerate() {
            for taint in self.value(range).iter() {
                let Origin::Source { rule, line } = taint.origin else { continue };
                let source = self.file.rules.rule(rule);
                let leaving = TaintedCall {
                    callee: site.callee.rsplit('.').next().unwrap_or("").to_owned(),
                    chain: site.callee.clone(),
                    argument,
                    source: source.name.clone(),
                    rule_id: source.id.clone(),
                    tags: source.tags.clone(),
                    confidence: source.confidence,
                    cleared: self.file.rules.category_names(taint.cleared),
                    line: site.line,
                    source_line: line,
                    function: self.file.unit_name(self.unit).map(str::to_owned),
                };
                push(&mut self.found.outgoing, leaving, &mut self.found.capped);
            }
        }
    }

    /// Follows the arguments of a call into a function of this file, where they may reach a sink.
    fn internal_call(&mut self, call: usize, function: usize) {
        let unit = function + 1;
        let site = &self.file.flow.calls[call];
        let followed = self.followed;
        for reach in &followed[unit].summary.reaches {
            let Some(argument) = site.arguments.get(reach.param) else { continue };
            if reach.via.len() >= VIA_MAX {
                continue;
            }
            let mut taints = self.value(argument);
            taints.clear(reach.cleared);
            taints.step(site.line);
            for taint in taints.iter() {
                self.reach_one(taint, reach.rule, reach.at, &reach.via, &reach.steps);
            }
        }
    }

    fn reach(&mut self, taints: &Taints, rule: usize, at: usize) {
        for taint in taints.iter() {
            self.reach_one(taint, rule, at, &[], &[]);
        }
    }

    /// Records that a value reaches a sink, in this function, or in the called functions `below` through the lines `steps`.
    fn reach_one(&mut self, taint: &Taint, rule: usize, at: usize, below: &[usize], steps: &[u32]) {
        if taint.cleared & self.file.rules.categories(rule) != 0 {
            return;
        }
        let mut taint = taint.clone();
        steps.iter().for_each(|line| taint.step(*line));
        match taint.origin {
            Origin::Param(param) => {
                let via = std::iter::once(self.unit).chain(below.iter().copied()).collect();
                let reach = Reach { param, rule, at, cleared: taint.cleared, via, steps: taint.steps };
                let reaches = &mut self.found.summary.reaches;
                let known = |r: &Reach| (r.param, r.rule, r.at) == (param, rule, at);
                if reaches.len() < REACHES_MAX && !reaches.iter().any(known) {
                    reaches.push(reach);
                }
            }
            Origin::Source { rule: source, line } => self.flow(&taint, (source, line), (rule, at), below),
        }
    }

    fn flow(
        &mut self,
        taint: &Taint,
        (source, source_line): (usize, u32),
        (sink, at): (usize, usize),
        below: &[usize],
    ) {
        let (source, sink) = (self.file.rules.rule(source), self.file.rules.rule(sink));
        let name = |unit: &usize| self.file.unit_name(*unit).unwrap_or("<file>").to_owned();
        let local = taint.via.is_empty() && below.is_empty();
        let all = taint.via.iter().chain(std::iter::once(&self.unit)).chain(below);
        let combined = confidence(source.confidence, sink.confidence);
        let mut tags: Vec<String> = source.tags.iter().chain(&sink.tags).cloned().collect();
        tags.sort();
        tags.dedup();
        let sink_line = self.file.line(at);
        let mut steps = taint.steps.clone();
        steps.retain(|line| *line != source_line && *line != sink_line);
        steps.truncate(STEPS_MAX);
        let flow = RiskFlow {
            source: source.name.clone(),
            sink: sink.name.clone(),
            category: sink.category.clone(),
            severity: sink.severity,
            tags,
            scope: if local { Scope::Local } else { Scope::File },
            confidence: if local { combined } else { confidence_over_calls(combined) },
            rule_ids: vec![source.id.clone(), sink.id.clone()],
            via: if local { Vec::new() } else { all.map(name).collect() },
            function: self.file.unit_name(*taint.via.first().unwrap_or(&self.unit)).map(str::to_owned),
            evidence: Evidence { source_line, sink_line, steps, excerpt: excerpt(self.file.text, at) },
        };
        push(&mut self.found.flows, flow, &mut self.found.capped);
    }

    fn assign(&mut self, at: usize) {
        let assignment = &self.file.flow.assignments[at];
        let mut taints = self.value(&assignment.value);
        taints.step(assignment.line);
        let compound = is_compound(self.file.text, assignment.value.start);
        for (target, chain) in assignment.targets.iter().zip(&self.targets[at]) {
            if compound || target.ends_with("[]") {
                if !taints.is_empty() {
                    let before = self.lookup(*chain);
                    self.found.env.add(*chain, &before);
                    self.found.env.add(*chain, &taints);
                }
            } else if !taints.is_empty() || !self.lookup(*chain).is_empty() {
                self.found.env.set(*chain, taints.clone(), |chain| self.file.names.parent(chain));
            }
        }
    }

    fn add_returned(&mut self, taints: &Taints) {
        self.found.summary.returns.extend(taints);
        let Some(function) = self.file.unit_name(self.unit) else { return };
        for taint in taints.iter() {
            let Origin::Source { rule, line } = taint.origin else { continue };
            let source = self.file.rules.rule(rule);
            let confidence = source.confidence;
            let given =
                ReturnSource { function: function.to_owned(), source: source.name.clone(), confidence, line };
            push(&mut self.found.returning, given, &mut self.found.capped);
        }
    }

    /// The taints of a chain in this function, or in an enclosing one.
    fn lookup(&self, chain: u32) -> Taints {
        if let Some(own) = self.found.env.get(chain) {
            return own.clone();
        }
        let mut outer = self.file.units[self.unit].outer;
        while let Some(unit) = outer {
            if let Some(held) = self.followed[unit].env.get(chain) {
                // Parameters of the enclosing function are not parameters of this one.
                let mut taints = Taints::default();
                held.iter()
                    .filter(|taint| matches!(taint.origin, Origin::Source { .. }))
                    .for_each(|taint| taints.add(taint.clone()));
                return taints;
            }
            outer = self.file.units[unit].outer;
        }
        Taints::default()
    }

    fn value(&mut self, range: &Range<usize>) -> Taints {
        let first = self.file.flow.calls.partition_point(|call| call.range.start < range.start);
        self.range(range, first, 0)
    }

    /// The taints of the expression in a range. Evaluates the calls in it, from the one numbered `call` on.
    fn range(&mut self, range: &Range<usize>, mut call: usize, depth: usize) -> Taints {
        let mut taints = Taints::default();
        let body = self.file.names.lambda_body_at(range.start);
        let mut from = range.start;
        let calls = &self.file.flow.calls;
        while depth < DEPTH_MAX
            && let Some(site) = calls.get(call).filter(|site| site.range.start < range.end)
        {
            let inside =
                site.range.start >= from && site.range.end <= range.end && site.range.end > site.range.start;
            if inside
                && self.file.names.lambda_body_at(site.range.start) == body
                && self.file.unit(site.range.start) == self.unit
            {
                self.names(from..site.range.start, body, &mut taints);
                taints.extend(&self.call(call, depth + 1));
                from = site.range.end;
            }
            call += 1;
            if *self.work == 0 {
                return taints;
            }
            *self.work -= 1;
        }
        self.names(from..range.end, body, &mut taints);
        taints
    }

    /// Adds the taints of the names in a range.
    fn names(&mut self, range: Range<usize>, body: u32, taints: &mut Taints) {
        let parts = self.file.names.parts_in(range.start, range.end);
        if *self.work < parts.len() {
            *self.work = 0;
            return;
        }
        *self.work -= parts.len();
        for at in parts {
            let part = &self.file.names.parts[at];
            if part.lambda_body != body || self.file.part_units[at] != self.unit {
                continue;
            }
            if let Some(rule) = self.file.reads.get(&at) {
                let line = self.file.line(self.file.names.chain_start(part));
                taints.add(Taint::new(Origin::Source { rule: *rule, line }));
            }
            taints.extend(&self.lookup(part.chain));
        }
    }

    /// The taints of the callee of a call, including its receiver.
    fn receiver(&mut self, call: usize, depth: usize) -> Taints {
        let site = &self.file.flow.calls[call];
        let end = site.arguments.first().map_or(site.range.end, |first| first.start);
        self.range(&(site.range.start..end), call + 1, depth)
    }

    /// The taints of the return value of a call.
    fn call(&mut self, call: usize, depth: usize) -> Taints {
        let site = &self.file.flow.calls[call];
        let mut taints = self.receiver(call, depth);
        let mut arguments = Vec::with_capacity(site.arguments.len());
        for range in &site.arguments {
            let first =
                self.file.flow.calls[call + 1..].partition_point(|inner| inner.range.start < range.start);
            arguments.push(self.range(range, call + 1 + first, depth));
        }
        // Unless all callees are known, the result is assumed to depend on all arguments.
        let mut depends_on_arguments = true;
        for function in self.file.callees(call) {
            depends_on_arguments &=
                !(self.file.units[function + 1].returns_known && self.followed[function + 1].known);
            taints.extend(&self.returned(*function, &arguments));
        }
        if depends_on_arguments {
            arguments.iter().for_each(|argument| taints.extend(argument));
        }
        let Some(marks) = self.file.marks.get(&call) else { return taints };
        if !marks.sinks.is_empty() {
            // The result of a dangerous operation does not contain its arguments.
            taints = Taints::default();
        }
        if let Some(rule) = marks.source {
            taints.add(Taint::new(Origin::Source { rule, line: site.line }));
        }
        marks.sanitizers.iter().for_each(|rule| taints.clear(self.file.rules.categories(*rule)));
        taints
    }

    /// The taints of the return value of a function of this file for these arguments.
    fn returned(&self, function: usize, arguments: &[Taints]) -> Taints {
        let unit = function + 1;
        let mut taints = Taints::default();
        for taint in self.followed[unit].summary.returns.iter() {
            match taint.origin {
                Origin::Source { .. } if taint.via.len() < VIA_MAX && unit != self.unit => {
                    let mut taint = taint.clone();
                    taint.via.push(unit);
                    taints.add(taint);
                }
                Origin::Source { .. } => {}
                Origin::Param(at) => {
                    let mut held = arguments.get(at).cloned().unwrap_or_default();
                    held.clear(taint.cleared);
                    taints.extend(&held);
                }
            }
        }
        taints
    }
}

/// Checks whether the operator before a value keeps the old value of the target: `+=`, `.=`, `||=`.
fn is_compound(text: &str, value: usize) -> bool {
    let before = text.get(..value).unwrap_or("").trim_end();
    before
        .strip_suffix('=')
        .is_some_and(|rest| rest.ends_with(['+', '.', '|', '&', '?', '*', '-', '%', '/', '~']))
}

/// Adds a finding unless it is a duplicate or the limit is reached.
fn push<T: PartialEq>(all: &mut Vec<T>, one: T, capped: &mut bool) {
    if all.contains(&one) {
        return;
    }
    if all.len() < FOUND_MAX { all.push(one) } else { *capped = true }
}
