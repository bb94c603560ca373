//! Runs every language's `facts.cases`: small sources with facts that they must and must not have. The support matrix of the
//! documentation is generated from them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::field::{Field, Flag};
use super::gather::{Gathered, gather};
use super::query::{Compiled, CountKind, FactKind, QueryFeatures, Role, items};
use crate::stop::Stop;
use crate::{Language, PARSED, syntax};

/// One case: a kind of fact, its expected values, and a source.
struct Case {
    fact: String,
    /// Values that the source must have (`+`, true) or must not have (`-`, false); an empty text matches any value.
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

/// The values of a kind of fact.
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
        "reads" => {
            let fields = [Field::Read, Field::Member];
            all.flat_map(|facts| fields.iter().flat_map(|field| facts.values_of(*field).map(str::to_owned)))
                .collect()
        }
        "calls" => {
            let fields = [Field::Call, Field::Caller];
            all.flat_map(|facts| fields.iter().flat_map(|field| facts.values_of(*field).map(str::to_owned)))
                .collect()
        }
        "uses" => {
            let fields = [Field::Use, Field::Read, Field::Write, Field::Call, Field::Param];
            all.flat_map(|facts| fields.iter().flat_map(|field| facts.values_of(*field).map(str::to_owned)))
                .collect()
        }
        name => {
            let field = Field::ALL
                .iter()
                .find(|field| field.name() == name)
                .unwrap_or_else(|| panic!("no fact is called {name}"));
            all.flat_map(|facts| facts.values_of(*field).map(str::to_owned)).collect()
        }
    }
}

fn gathered(language: &Language, compiled: &Compiled, source: &str) -> Gathered {
    let grammar = language.grammar.as_ref().unwrap();
    let rows = source.lines().count().max(1);
    let stop = Stop::new(Duration::from_secs(60), &|| false);
    syntax::with_outline(source, language, grammar, &stop, |outline, nodes| {
        let items = items(source, compiled, nodes, &stop).unwrap();
        gather(outline, compiled, items, nodes.node(0), &[(0, rows - 1)], &stop).unwrap()
    })
    .unwrap()
}

fn folder(language: &Language) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(language.id)
}

/// Runs the cases of a language; appends failures to `wrong`. Returns the number of positive and negative cases by kind of
/// fact.
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
                    "{}/facts.cases:{} {} {sign} {value:?}; found {actual:?}",
                    language.id, case.line, case.fact
                )
                .unwrap();
            }
        }
    }
    counts
}

#[test]
fn every_case_has_the_expected_facts() {
    let mut wrong = String::new();
    for language in PARSED {
        let grammar = language.grammar.as_ref().unwrap();
        let compiled = match grammar.facts() {
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

/// Columns of the published matrix.
const GROUPS: &[(&str, &[&str])] = &[
    (
        "Declarations",
        &[
            "params", "types", "inferredTypes", "returnTypes", "decorators", "modifiers", "visibility",
            "extends", "implements", "imports", "exports", "doc",
        ],
    ),
    ("Behaviour", &["calls", "uses", "reads", "writes", "mutates", "aliases", "throws", "awaits", "yields"]),
    ("Control flow", &["branches", "loops", "breaks", "continues", "async", "generator", "returns", "lint"]),
];

/// Checks whether the query of a language can extract the facts of a column.
fn supports(features: &QueryFeatures, fact: &str) -> bool {
    let kind = match fact {
        "branches" => FactKind::Counts(CountKind::Branches),
        "loops" => FactKind::Counts(CountKind::Loops),
        "breaks" => FactKind::Counts(CountKind::Breaks),
        "continues" => FactKind::Counts(CountKind::Continues),
        "async" => FactKind::Flag(Flag::Async),
        "generator" => FactKind::Flag(Flag::Generator),
        "returns" => FactKind::Flag(Flag::Returns),
        "lint" => return features.has_role(Role::Lint),
        "doc" => return features.has_role(Role::Comment) || features.has_role(Role::Doc),
        "uses" => FactKind::Fields(&[Field::Use]),
        name => {
            let at = Field::ALL.iter().position(|field| field.name() == name).unwrap();
            FactKind::Fields(&Field::ALL[at..=at])
        }
    };
    features.supports(kind)
}

#[expect(clippy::disallowed_methods, reason = "UPDATE_DOCS=1 rewrites the matrix after a deliberate change")]
fn updating() -> bool {
    std::env::var_os("UPDATE_DOCS").is_some()
}

#[test]
fn a_work_mark_is_reported_at_its_line() {
    let language = crate::by_name("java").unwrap();
    let compiled = language.grammar.as_ref().unwrap().facts().unwrap();
    let source = "/**\n *\n * TODO: close it.\n */\nclass A {\n  // noqa TODO\n  int b; /* HACK */\n}\n";
    let gathered = gathered(language, compiled, source);
    let lines: Vec<u32> = gathered.facts[0].lint.iter().map(|lint| lint.line).collect();
    assert_eq!(lines, [3, 7]);
}

#[test]
fn an_asynchronous_function_belongs_to_the_definition_around_it_unless_it_has_a_name() {
    for (language, source, expected) in [
        (
            "javascript",
            "function outer() {\n  async function inner() {\n    await a();\n  }\n  return inner;\n}\n",
            [false, true],
        ),
        (
            "javascript",
            "function outer() {\n  return async () => {};\n}\nfunction other() {\n}\n",
            [true, false],
        ),
        ("rust", "fn outer() {\n    async fn inner() {\n        a();\n    }\n}\n", [false, true]),
        ("rust", "fn outer() {\n    spawn(async {});\n}\nfn other() {\n}\n", [true, false]),
        ("csharp", "class A {\n  void Outer() {\n    Run(async () => 1);\n  }\n}\n", [false, true]),
        ("swift", "func outer() {\n  Task { await a() }\n}\nfunc other() {\n}\n", [true, false]),
        ("kotlin", "fun outer() {\n  scope.launch { a() }\n}\nfun other() {\n}\n", [true, false]),
    ] {
        let language = crate::by_name(language).unwrap();
        let compiled = language.grammar.as_ref().unwrap().facts().unwrap();
        let gathered = gathered(language, compiled, source);
        let is_async = |values: &[(Field, String)]| values.contains(&(Field::Flag, "async".to_owned()));
        let actual: Vec<bool> = gathered.definitions[0].iter().map(|one| is_async(&one.values)).collect();
        assert_eq!(actual, expected, "{source}");
    }
}

#[test]
fn the_support_matrix_is_published() {
    let mut wrong = String::new();
    let mut table = String::new();
    for (group, facts) in GROUPS {
        write!(table, "\n### {group}\n\n| | {} |\n|---|{}\n", facts.join(" | "), "---|".repeat(facts.len()))
            .unwrap();
        for language in PARSED {
            let grammar = language.grammar.as_ref().unwrap();
            let compiled = grammar.facts().unwrap();
            let text = std::fs::read_to_string(folder(language).join("facts.cases")).unwrap_or_default();
            let counts = judge(language, compiled, &text, &mut String::new());
            write!(table, "| {} |", language.title).unwrap();
            for fact in *facts {
                let (yes, no) = counts.get(*fact).copied().unwrap_or_default();
                let is_supported = supports(&compiled.features, fact);
                if is_supported && (yes == 0 || no == 0) {
                    writeln!(wrong, "{}: {fact} has {yes} positive and {no} negative cases", language.id)
                        .unwrap();
                }
                table.push_str(if is_supported { " ● |" } else { " |" });
            }
            table.push('\n');
        }
    }
    table.push_str("\n### Lint rules by language\n\n");
    for language in PARSED {
        let grammar = language.grammar.as_ref().unwrap();
        let rules = grammar.facts().unwrap().lint_rules();
        if !rules.is_empty() {
            writeln!(table, "- {}: {}", language.title, rules.join(", ")).unwrap();
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/facts.md");
    let document = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = document.split_once("<!-- generated: support -->\n").unwrap();
    let (published, after) = rest.split_once("<!-- end -->").unwrap();
    if published != table && updating() {
        std::fs::write(&path, format!("{before}<!-- generated: support -->\n{table}<!-- end -->{after}"))
            .unwrap();
        return;
    }
    assert!(published == table, "docs/facts.md is out of date: UPDATE_DOCS=1 cargo test support_matrix");
}

#[test]
fn features_are_known_without_compiling_the_query() {
    for language in PARSED {
        let grammar = language.grammar.as_ref().unwrap();
        let fresh = super::query::FactQuery::new(grammar.facts.text());
        let (features, compiled) = (fresh.features(), grammar.facts().unwrap());
        for (_, facts) in GROUPS {
            for fact in *facts {
                assert_eq!(
                    supports(features, fact),
                    supports(&compiled.features, fact),
                    "{}: {fact}",
                    language.id
                );
            }
        }
        let mut roles: Vec<String> = compiled.roles().map(|role| format!("{role:?}")).collect();
        let mut by_text: Vec<String> = features.roles().iter().map(|role| format!("{role:?}")).collect();
        roles.sort();
        by_text.sort();
        assert_eq!(by_text, roles, "{}", language.id);
        assert!(!fresh.is_compiled(), "{}", language.id);
    }
}

/// Measures the time to compile the queries, which happens once per process. Run it with
/// `cargo test --lib reading_costs -- --ignored --nocapture`; a release build takes about a tenth of a debug build.
#[test]
#[ignore = "a measurement"]
fn reading_costs() {
    let mut all = Duration::ZERO;
    for language in PARSED {
        let grammar = language.grammar.as_ref().unwrap();
        let started = std::time::Instant::now();
        Compiled::new(&(grammar.language)(), grammar.facts.text()).unwrap();
        all += started.elapsed();
        println!("{:12} {:?}", language.id, started.elapsed());
    }
    println!("{:12} {all:?}", "all");
}
