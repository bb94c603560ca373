//! The findings of a file: where rules hold, and flows, function by function until nothing new comes to light.

use super::file::{File, place};
use super::findings::{Findings, ParamSink, RiskFlow, excerpt, once};
use super::rule_set::RuleSet;
use super::walk::{Followed, Summary, follow};
use crate::facts::Flow;

/// Rounds of following functions; what a chain of more calls does is not seen.
const ROUNDS_MAX: usize = 4;
/// Names looked at in a file, over all functions and rounds.
const WORK_MAX: usize = 2_000_000;
/// Most places of a kind, flows, and calls of a file.
const FOUND_MAX: usize = 150;

/// Finds sources, sinks and sanitizers in a file, and untrusted input that reaches a sink. `flow` is that of the
/// text; the language is given by its id. Pure, and bounded in what it looks at.
#[must_use]
pub fn analyse(text: &str, language: &str, flow: &Flow, rules: &RuleSet) -> Findings {
    let Some(mut file) = File::new(text, language, flow, rules) else { return Findings::default() };
    let chains =
        flow.assignments.iter().map(|a| a.targets.iter().map(|target| file.names.target(target)).collect());
    let targets: Vec<Vec<u32>> = chains.collect();
    let mut findings = Findings::default();
    places(&file, &mut findings);
    if !file.is_dangerous() {
        return findings;
    }
    let followed = rounds(&file, &targets);
    for unit in &followed {
        findings.capped |= unit.capped;
        findings.flows.extend(unit.flows.iter().cloned());
        findings.outgoing.extend(unit.outgoing.iter().cloned());
        findings.returning.extend(unit.returning.iter().cloned());
        findings.incoming.extend(incoming(&file, &unit.summary));
    }
    finish(&mut findings);
    findings
}

/// Follows all units that a rule touches, then those that call one of which something new is known.
fn rounds(file: &File<'_>, targets: &[Vec<u32>]) -> Vec<Followed> {
    let mut followed: Vec<Followed> = file.units.iter().map(|_| Followed::default()).collect();
    let mut due: Vec<bool> = file.units.iter().map(|unit| unit.marked).collect();
    let mut work = WORK_MAX;
    for _ in 0..ROUNDS_MAX {
        let mut changed = vec![false; due.len()];
        for unit in 0..due.len() {
            if !due[unit] && !reads_outer(file, &followed, unit, &mut work) {
                continue;
            }
            let found = follow(file, targets, &followed, unit, &mut work);
            // A function that is known to give nothing untrusted back is news as well.
            let news = !followed[unit].known && file.units[unit].returns_known;
            changed[unit] = news || found.summary != followed[unit].summary;
            followed[unit] = found;
        }
        if !changed.contains(&true) || work == 0 {
            break;
        }
        due = vec![false; due.len()];
        for (call, site) in file.flow.calls.iter().enumerate() {
            if file.callees(call).iter().any(|function| changed[function + 1]) {
                due[file.unit(site.range.start)] = true;
            }
        }
    }
    followed
}

/// Whether a function that no rule touches uses a name that one around it has from a source.
fn reads_outer(file: &File<'_>, followed: &[Followed], unit: usize, work: &mut usize) -> bool {
    let Some(outer) = file.units[unit].outer.filter(|outer| followed[*outer].env.is_tainted()) else {
        return false;
    };
    let Some(function) = file.units[unit].function else { return false };
    let range = &file.flow.functions[function].range;
    let parts = file.names.within(range.start, range.end);
    *work = work.saturating_sub(parts.len());
    file.names.parts[parts].iter().any(|part| followed[outer].env.get(part.chain).is_some())
}

/// The rules that hold somewhere in a text, by their place in the set.
pub(super) fn holding(text: &str, language: &str, flow: &Flow, rules: &RuleSet) -> Vec<usize> {
    let file = File::new(text, language, flow, rules);
    file.map_or_else(Vec::new, |file| rule_lines(&file).into_iter().map(|(rule, _)| rule).collect())
}

/// Rules with the lines where they hold, whether or not anything reaches them.
fn rule_lines(file: &File<'_>) -> Vec<(usize, u32)> {
    let mut found: Vec<(usize, u32)> = Vec::new();
    for (call, marks) in &file.marks {
        let rules = marks.source.iter().chain(&marks.sinks).chain(&marks.sanitizers);
        found.extend(rules.map(|rule| (*rule, file.flow.calls[*call].line)));
    }
    for (part, rule) in &file.reads {
        found.push((*rule, file.line(file.names.chain_start(&file.names.parts[*part]))));
    }
    found.extend(file.spots.iter().map(|spot| (spot.rule, file.line(spot.at))));
    found.sort_unstable_by_key(|(rule, line)| (*line, *rule));
    found.dedup();
    found
}

/// Where rules hold, each thing once.
fn places(file: &File<'_>, findings: &mut Findings) {
    for (rule, line) in rule_lines(file) {
        let rule = file.rules.rule(rule);
        let all = match rule.kind {
            super::Kind::Source => &mut findings.sources,
            super::Kind::Sink => &mut findings.sinks,
            super::Kind::Sanitizer => &mut findings.sanitizers,
        };
        all.push(place(rule, line));
    }
    for all in [&mut findings.sources, &mut findings.sinks, &mut findings.sanitizers] {
        *all = once(std::mem::take(all));
        findings.capped |= all.len() > FOUND_MAX;
        all.truncate(FOUND_MAX);
    }
}

fn incoming<'f>(file: &'f File<'_>, summary: &'f Summary) -> impl Iterator<Item = ParamSink> + 'f {
    summary.reaches.iter().filter_map(|reach| {
        let rule = file.rules.rule(reach.rule);
        Some(ParamSink {
            function: file.unit_name(*reach.via.first()?)?.to_owned(),
            parameter: reach.param,
            sink: rule.name.clone(),
            rule_id: rule.id.clone(),
            category: rule.category.clone(),
            severity: rule.severity,
            tags: rule.tags.clone(),
            confidence: rule.confidence,
            line: file.line(reach.at),
            excerpt: excerpt(file.text, reach.at),
        })
    })
}

/// Sorts, keeps the surest of flows that say the same, and bounds.
fn finish(findings: &mut Findings) {
    let key = |flow: &RiskFlow| {
        let lines = (flow.evidence.source_line, flow.evidence.sink_line);
        (lines, flow.source.clone(), flow.sink.clone(), flow.category.clone())
    };
    let flows = &mut findings.flows;
    flows.sort_by(|a, b| {
        key(a).cmp(&key(b)).then(a.scope.cmp(&b.scope)).then(b.confidence.total_cmp(&a.confidence))
    });
    flows.dedup_by(|later, kept| key(later) == key(kept));
    findings.incoming.sort_by(|a, b| {
        (a.line, a.parameter, &a.rule_id, &a.function).cmp(&(b.line, b.parameter, &b.rule_id, &b.function))
    });
    findings.outgoing.sort_by(|a, b| {
        (a.line, a.argument, &a.rule_id, &a.chain).cmp(&(b.line, b.argument, &b.rule_id, &b.chain))
    });
    findings.capped |= findings.flows.len() > FOUND_MAX
        || findings.outgoing.len() > FOUND_MAX
        || findings.incoming.len() > FOUND_MAX
        || findings.returning.len() > FOUND_MAX;
    findings.flows.truncate(FOUND_MAX);
    findings.outgoing.truncate(FOUND_MAX);
    findings.incoming.truncate(FOUND_MAX);
    findings.returning.truncate(FOUND_MAX);
}
