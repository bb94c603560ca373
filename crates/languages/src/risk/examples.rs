//! Tests that every rule matches its positive examples and not its negative ones.

use std::fmt::Write as _;

use super::rule_set::RuleSet;

#[test]
fn every_rule_matches_its_positive_examples_only() {
    let rules = RuleSet::defaults();
    let mut wrong = String::new();
    for rule in rules.rules() {
        if !rule.has_examples() {
            writeln!(wrong, "{}: needs a positive and a negative example", rule.id).unwrap();
        }
        for (language, examples) in &rule.examples {
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
