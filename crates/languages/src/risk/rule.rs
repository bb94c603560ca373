//! A rule: its name, its patterns, and its examples.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The kind of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// An origin of untrusted input.
    Source,
    /// A dangerous operation.
    Sink,
    /// An operation that makes a value harmless.
    Sanitizer,
}

/// The impact of untrusted input that reaches a sink.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Little impact; worth a review.
    #[default]
    Low,
    /// Harmful under certain conditions.
    Medium,
    /// Harmful.
    High,
    /// Allows an attacker to take over the machine.
    Critical,
}

/// A rule. The fields `calls`, `reads`, `targets` and `keywords` determine what it matches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Unique: `sink.exec.python`. A later rule with the same id replaces it.
    pub id: String,
    /// Source, sink or sanitizer.
    pub kind: Kind,
    /// The name that filters use; several rules may share it.
    pub name: String,
    /// Kind of input or of danger: `input`, `command`, `sql`.
    pub category: String,
    /// Severity, for sinks.
    #[serde(default)]
    pub severity: Severity,
    /// Free labels.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Probability that a match is right, 0 to 1.
    pub confidence: f64,
    /// Ids of languages; empty: all. `javascript` includes TypeScript and TSX, `c` includes C++.
    #[serde(default)]
    pub languages: Vec<String>,
    /// Patterns for callees: they match the whole chain or its end. A single name must be the whole chain.
    #[serde(default)]
    pub calls: Vec<String>,
    /// Patterns for names in expressions: they match consecutive parts. A single name must be the first part.
    #[serde(default)]
    pub reads: Vec<String>,
    /// Patterns for targets of assignments.
    #[serde(default)]
    pub targets: Vec<String>,
    /// Keywords that make the rest of their line dangerous: `echo`.
    #[serde(default)]
    pub keywords: Vec<String>,
    /// Case-insensitive regular expression that must match the text of the call, or the last value assigned to one of
    /// its arguments.
    #[serde(default)]
    pub pattern: Option<String>,
    /// Regular expression that must not match the text of the call, such as an option that makes it safe.
    #[serde(default)]
    pub unless: Option<String>,
    /// For sources, the argument, from 0, that the call writes the input to.
    #[serde(default)]
    pub fills: Option<usize>,
    /// The only dangerous argument, from 0; `None`: all are.
    #[serde(default)]
    pub argument: Option<usize>,
    /// `true` if the receiver of a method call is dangerous, too.
    #[serde(default)]
    pub receiver: bool,
    /// For sanitizers, the categories of sinks that they protect; empty: all.
    #[serde(default)]
    pub clears: Vec<String>,
    /// Examples by language.
    #[serde(default, skip_serializing)]
    pub examples: BTreeMap<String, Examples>,
}

/// Source texts that a rule must match, and must not match.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Examples {
    /// The rule matches each.
    #[serde(default)]
    pub positive: Vec<String>,
    /// It matches none.
    #[serde(default)]
    pub negative: Vec<String>,
}

impl Rule {
    /// Its keys in a file, to suggest the nearest for an unknown one.
    pub(super) const KEYS: &'static [&'static str] = &[
        "id", "kind", "name", "category", "severity", "tags", "confidence", "languages", "calls", "reads",
        "targets", "keywords", "pattern", "unless", "fills", "argument", "receiver", "clears", "examples",
    ];

    /// Checks whether it applies to a language.
    #[must_use]
    pub fn applies_to(&self, language: &str) -> bool {
        let family = match language {
            "typescript" | "tsx" => "javascript",
            "cpp" => "c",
            other => other,
        };
        self.languages.is_empty() || self.languages.iter().any(|l| l == language || l == family)
    }

    /// Returns `true` if it has a positive and a negative example.
    #[must_use]
    pub fn has_examples(&self) -> bool {
        self.examples.values().any(|e| !e.positive.is_empty())
            && self.examples.values().any(|e| !e.negative.is_empty())
    }
}
