//! Extends a set of rules with those of a repository, whose examples must hold.

use std::time::{Duration, Instant};

use super::analyse::matching_rules;
use super::rule::Rule;
use super::rule_set::{RuleSet, read};
use crate::ChunkLimits;

/// Longest text of rules, in bytes.
const TEXT_BYTES_MAX: usize = 256 << 10;
/// Time limit for the examples of a repository's rules.
const EXAMPLES_TIME_MAX: Duration = Duration::from_secs(10);
/// Maximum number of rules of a project.
const RULES_MAX: usize = 2000;

impl RuleSet {
    /// This set, extended with a repository's rules: `[[rule]]` tables, and `include_defaults = false` to drop the built-in
    /// ones. A rule with a known id replaces that one.
    ///
    /// # Errors
    ///
    /// A message that names the rule and the problem. Each rule needs a positive and a negative example, which must hold. Rules
    /// that take too much memory or time are rejected, because they come with untrusted repositories.
    pub fn with(&self, toml_text: &str) -> Result<Self, String> {
        self.with_time_limit(toml_text, EXAMPLES_TIME_MAX)
    }

    /// As [`RuleSet::with`], with a time limit for the examples.
    pub(super) fn with_time_limit(&self, toml_text: &str, time: Duration) -> Result<Self, String> {
        if toml_text.len() > TEXT_BYTES_MAX {
            return Err(format!("{} bytes, at most {TEXT_BYTES_MAX} are read", toml_text.len()));
        }
        let document = read(toml_text)?;
        if document.rule.len() > RULES_MAX {
            return Err(format!("{} rules, at most {RULES_MAX} are possible", document.rule.len()));
        }
        let mut rules = if document.include_defaults { self.rules().to_vec() } else { Vec::new() };
        let mut added: Vec<String> = Vec::new();
        for rule in document.rule {
            if added.contains(&rule.id) {
                return Err(format!("two rules are called `{}`", rule.id));
            }
            added.push(rule.id.clone());
            match rules.iter_mut().find(|known| known.id == rule.id) {
                Some(known) => *known = rule,
                None => rules.push(rule),
            }
        }
        let set = Self::new(rules)?;
        let until = Instant::now() + time;
        for rule in set.rules().iter().filter(|rule| added.contains(&rule.id)) {
            set.check_examples(rule, until)?;
        }
        Ok(set)
    }

    /// Checks that a rule matches its positive examples and not its negative ones.
    fn check_examples(&self, rule: &Rule, until: Instant) -> Result<(), String> {
        if !rule.has_examples() {
            return Err(format!("rule `{}` needs a positive and a negative example", rule.id));
        }
        for (language, examples) in &rule.examples {
            let expected = examples
                .positive
                .iter()
                .map(|e| (e, true))
                .chain(examples.negative.iter().map(|e| (e, false)));
            for (source, found) in expected {
                if Instant::now() >= until {
                    return Err("the examples take too long".to_owned());
                }
                if self.finds(rule, language, source) != found {
                    let says =
                        if found { "does not find its positive" } else { "finds itself in its negative" };
                    return Err(format!("rule `{}` {says} {language} example: {source}", rule.id));
                }
            }
        }
        Ok(())
    }

    /// Checks whether a rule matches in a source text.
    pub(super) fn finds(&self, rule: &Rule, language: &str, source: &str) -> bool {
        let chunked = crate::chunk(source, crate::by_name(language), &ChunkLimits::default());
        let held = matching_rules(source, language, &chunked.flow, self);
        held.into_iter().any(|held| self.rule(held).id == rule.id)
    }
}
