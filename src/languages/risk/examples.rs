//! Every rule finds itself in its positive examples and not in its negative ones.

use std::fmt::Write as _;

use super::rule_set::RuleSet;
use crate::languages::{self, ChunkLimits};

/// Whether a language tells how values move.
pub(super) fn tells_flow(language: &str) -> bool {
    let source = match language {
        "go" => "package a\n\nfunc f(s string) { g(s) }\n",
        "php" => "<?php\nfunction f($s) { g($s); }\n",
        "python" => "g(s)\n",
        "java" | "csharp" => "class A { void f(String s) { g(s); } }\n",
        "rust" => "fn f() { g(s) }\n",
        "kotlin" => "fun f() { g(s) }\n",
        "swift" => "func f() { g(s) }\n",
        "c" | "cpp" => "void f() { g(s); }\n",
        _ => "g(s)\n",
    };
    let language = languages::by_name(language);
    !languages::chunk(source, language, &ChunkLimits::default()).flow.calls.is_empty()
}

#[test]
fn every_rule_is_proven_by_its_examples() {
    let rules = RuleSet::defaults();
    let mut wrong = String::new();
    for rule in rules.rules() {
        if !rule.is_proven() {
            writeln!(wrong, "{}: needs a positive and a negative example", rule.id).unwrap();
        }
        for (language, examples) in &rule.examples {
            if !tells_flow(language) {
                continue;
            }
            for (source, expected) in examples
                .positive
                .iter()
                .map(|source| (source, true))
                .chain(examples.negative.iter().map(|source| (source, false)))
            {
                if rules.finds(rule, language, source) != expected {
                    writeln!(wrong, "{} in {language}, expected {expected}: {source:?}", rule.id).unwrap();
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}
