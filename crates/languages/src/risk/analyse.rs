//! Analyses a file: finds where rules match, and follows flows through its functions until the results do not change any more.

use super::file::{File, place};
use super::findings::{Findings, ParamSink, RiskFlow, deduplicated, excerpt};
use super::rule_set::RuleSet;
use super::walk::{Followed, Summary, follow};
use crate::facts::Flow;

/// Maximum number of rounds over the functions; flows through longer chains of calls are not found.
const ROUNDS_MAX: usize = 4;
/// Maximum number of names that are evaluated in a file, over all functions and rounds.
const WORK_MAX: usize = 2_000_000;
/// Maximum number of findings of each kind in a file.
const FOUND_MAX: usize = 150;

/// Finds sources, sinks and sanitizers in a file, and untrusted input that reaches a sink. `flow` is the data flow of
/// the text, `language` an id. A pure function, whose work is bounded.
#[must_use]
pub fn analyse(text: &str, language: &str, flow: &Flow, rules: &RuleSet) -> Findings {
    let Some(mut file) = File::new(text, language, flow, rules) else { return Findings::default() };
    let chains = flow
        .assignments
        .iter()
        .map(|a| a.targets.iter().map(|target| file.names.chain_of_target(target)).collect());
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

/// Follows all units in which a rule matches, then repeatedly the callers of functions whose results changed.
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
            // To learn that a function returns nothing untrusted is also a change.
            let newly_known = !followed[unit].known && file.units[unit].returns_known;
            changed[unit] = newly_known || found.summary != followed[unit].summary;
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

/// Checks whether a function without matching rules uses a tainted name of an enclosing function.
fn reads_outer(file: &File<'_>, followed: &[Followed], unit: usize, work: &mut usize) -> bool {
    let Some(outer) = file.units[unit].outer.filter(|outer| followed[*outer].env.is_tainted()) else {
        return false;
    };
    let Some(function) = file.units[unit].function else { return false };
    let range = &file.flow.functions[function].range;
    let parts = file.names.parts_in(range.start, range.end);
    *work = work.saturating_sub(parts.len());
    file.names.parts[parts].iter().any(|part| followed[outer].env.get(part.chain).is_some())
}

/// The rules that match somewhere in a text, by their position in the set.
pub(super) fn matching_rules(text: &str, language: &str, flow: &Flow, rules: &RuleSet) -> Vec<usize> {
    let file = File::new(text, language, flow, rules);
    file.map_or_else(Vec::new, |file| rule_lines(&file).into_iter().map(|(rule, _)| rule).collect())
}

/// Rules with the lines where they match, whether or not a flow reaches them.
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

/// Adds the places where rules match, without duplicates.
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
        *all = deduplicated(std::mem::take(all));
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

/// Sorts the findings and limits their number. Of equal flows, keeps one with the smallest scope, the most confident of these.
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
