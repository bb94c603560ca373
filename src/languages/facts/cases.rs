//! Every language's `facts.cases`: small sources with what they say and what they do not. The support matrix is
//! made from them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::field::{Field, Flag};
use super::gather::{Gathered, gather};
use super::query::{Compiled, items};
use crate::languages::{Language, PARSED, syntax};

/// One case: a fact, what is expected of it, a source.
struct Case {
    fact: String,
    /// Says this (`+`) or does not (`-`); an empty text stands for anything at all.
    expected: Vec<(bool, String)>,
    source: String,
    line: usize,
}

/// `=== fact`, then lines `+ value` and `- value`, then the source up to the next `=== `.
fn cases(text: &str) -> Vec<Case> {
    let mut found: Vec<Case> = Vec::new();
    let mut heading = false;
    for (at, line) in text.lines().enumerate() {
        if let Some(fact) = line.strip_prefix("=== ") {
            found.push(Case {
                fact: fact.trim().to_owned(),
                expected: Vec::new(),
                source: String::new(),
                line: at + 1,
            });
            heading = true;
            continue;
        }
        let Some(case) = found.last_mut() else { continue };
        let says = line
            .strip_prefix("+ ")
            .map(|value| (true, value))
            .or_else(|| line.strip_prefix("- ").map(|value| (false, value)));
        match says.or((line == "-").then_some((false, ""))) {
            Some((says, value)) if heading => case.expected.push((says, value.trim().to_owned())),
            _ => {
                heading = false;
                case.source.push_str(line);
                case.source.push('\n');
            }
        }
    }
    found
}

/// What a source says of a fact.
fn values(gathered: &Gathered, fact: &str) -> Vec<String> {
    let all = gathered.facts.iter();
    let count = |of: fn(&super::Counts) -> u16| {
        let sum: u16 = gathered.facts.iter().filter_map(|facts| facts.counts.as_ref()).map(of).sum();
        if sum == 0 { Vec::new() } else { vec![sum.to_string()] }
    };
    let flag = |flag: Flag| {
        if gathered.facts.iter().any(|facts| facts.has(Field::Flag, flag.as_str())) {
            vec!["yes".to_owned()]
        } else {
            Vec::new()
        }
    };
    match fact {
        "branches" => count(|c| c.branches),
        "loops" => count(|c| c.loops),
        "breaks" => count(|c| c.breaks),
        "continues" => count(|c| c.continues),
        "async" => flag(Flag::Async),
        "generator" => flag(Flag::Generator),
        "returns" => flag(Flag::Returns),
        "doc" => all.filter_map(|facts| facts.doc.clone()).collect(),
        "comments" => gathered.comments.iter().flatten().map(|comment| comment.text.clone()).collect(),
        "pairs" => all
            .flat_map(|facts| {
                facts
                    .calls
                    .iter()
                    .map(|(caller, callee)| format!("{} > {callee}", caller.as_deref().unwrap_or("")))
            })
            .collect(),
        "flow" => gathered
            .flow
            .assignments
            .iter()
            .map(|a| a.targets.join(", "))
            .chain(gathered.flow.calls.iter().map(|c| format!("{}/{}", c.callee, c.arguments.len())))
            .collect(),
        "calls" => {
            let fields = [Field::Call, Field::Caller];
            all.flat_map(|facts| fields.iter().flat_map(|field| facts.of(*field).map(str::to_owned)))
                .collect()
        }
        "uses" => {
            let fields = [Field::Use, Field::Read, Field::Write, Field::Call, Field::Param];
            all.flat_map(|facts| fields.iter().flat_map(|field| facts.of(*field).map(str::to_owned)))
                .collect()
        }
        name => {
            let field = Field::ALL
                .iter()
                .find(|field| field.name() == name)
                .unwrap_or_else(|| panic!("no fact is called {name}"));
            all.flat_map(|facts| facts.of(*field).map(str::to_owned)).collect()
        }
    }
}

fn gathered(language: &Language, compiled: &Compiled, source: &str) -> Gathered {
    let grammar = language.grammar.as_ref().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    let rows = source.lines().count().max(1);
    syntax::with_outline(source, language.separator, grammar, deadline, |outline, root| {
        let items = items(source, compiled, root, deadline).unwrap();
        gather(outline, compiled, items, root, &[(0, rows - 1)])
    })
    .unwrap()
}

fn folder(language: &Language) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/languages").join(language.id)
}

/// By language and fact: whether all its cases hold, and how many of them say yes and no.
fn judge(
    language: &Language,
    compiled: &Compiled,
    text: &str,
    wrong: &mut String,
) -> BTreeMap<String, (usize, usize)> {
    let mut counts: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for case in cases(text) {
        let gathered = gathered(language, compiled, &case.source);
        let actual = values(&gathered, &case.fact);
        for (says, value) in &case.expected {
            let found = if value.is_empty() { !actual.is_empty() } else { actual.contains(value) };
            let count = counts.entry(case.fact.clone()).or_default();
            if *says {
                count.0 += 1
            } else {
                count.1 += 1
            }
            if found != *says {
                let sign = if *says { '+' } else { '-' };
                writeln!(
                    wrong,
                    "{}/facts.cases:{} {} {sign} {value:?}; it says {actual:?}",
                    language.id, case.line, case.fact
                )
                .unwrap();
            }
        }
    }
    counts
}

#[test]
fn every_language_says_what_its_cases_say() {
    let mut wrong = String::new();
    for language in PARSED {
        let grammar = language.grammar.as_ref().unwrap();
        let compiled = match grammar.facts.compiled(|| (grammar.language)()) {
            Ok(compiled) => compiled,
            Err(error) => {
                writeln!(wrong, "{}/facts.scm: {error}", language.id).unwrap();
                continue;
            }
        };
        let text = std::fs::read_to_string(folder(language).join("facts.cases")).unwrap_or_default();
        judge(language, compiled, &text, &mut wrong);
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}
