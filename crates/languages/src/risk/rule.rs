//! A rule: what it is called, what it matches, and the examples that prove it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What a rule finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Where untrusted input comes in.
    Source,
    /// A dangerous operation.
    Sink,
    /// What makes a value harmless.
    Sanitizer,
}

/// How bad it is when untrusted input reaches a sink.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth a look.
    #[default]
    Low,
    /// Harm under conditions.
    Medium,
    /// Harm.
    High,
    /// Anybody takes over the machine.
    Critical,
}

/// One rule of the table. Which of the ways to match are given decides what it is matched against.
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
    /// Of sinks.
    #[serde(default)]
    pub severity: Severity,
    /// Free words.
    #[serde(default)]
    pub tags: Vec<String>,
    /// How often it is right, 0 to 1.
    pub confidence: f64,
    /// Ids of languages, empty for all. `javascript` speaks for TypeScript and TSX, `c` for C++.
    #[serde(default)]
    pub languages: Vec<String>,
    /// Matched against what is called: the whole chain or its tail.
    #[serde(default)]
    pub calls: Vec<String>,
    /// Matched against names in expressions: a run of parts. A single name must be the first part.
    #[serde(default)]
    pub reads: Vec<String>,
    /// Matched against what is assigned to.
    #[serde(default)]
    pub targets: Vec<String>,
    /// Words that make the rest of their line dangerous: `echo`.
    #[serde(default)]
    pub keywords: Vec<String>,
    /// Regular expression, without regard to case, that the text of the call must hold, or the text that one of
    /// its arguments was last assigned.
    #[serde(default)]
    pub pattern: Option<String>,
    /// Regular expression that the text of the call must not hold: the option that makes it safe.
    #[serde(default)]
    pub unless: Option<String>,
    /// Of sources: the argument, from 0, that the call writes the input into.
    #[serde(default)]
    pub fills: Option<usize>,
    /// The only dangerous argument, from 0.
    #[serde(default)]
    pub argument: Option<usize>,
    /// Whether what a method is called on is dangerous too.
    #[serde(default)]
    pub receiver: bool,
    /// Of sanitizers: the categories of sinks it protects, empty for all.
    #[serde(default)]
    pub clears: Vec<String>,
    /// By language.
    #[serde(default, skip_serializing)]
    pub examples: BTreeMap<String, Examples>,
}

/// Sources that a rule must find itself in, and must not.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Examples {
    /// The rule holds in each.
    #[serde(default)]
    pub positive: Vec<String>,
    /// It holds in none.
    #[serde(default)]
    pub negative: Vec<String>,
}

impl Rule {
    /// Its keys in a file, to find the nearest for a wrong one.
    pub(super) const KEYS: &'static [&'static str] = &[
        "id",
        "kind",
        "name",
        "category",
        "severity",
        "tags",
        "confidence",
        "languages",
        "calls",
        "reads",
        "targets",
        "keywords",
        "pattern",
        "unless",
        "fills",
        "argument",
        "receiver",
        "clears",
        "examples",
    ];

    /// Whether it is asked in this language.
    #[must_use]
    pub fn speaks(&self, language: &str) -> bool {
        let family = match language {
            "typescript" | "tsx" => "javascript",
            "cpp" => "c",
            other => other,
        };
        self.languages.is_empty() || self.languages.iter().any(|l| l == language || l == family)
    }

    /// Whether it has a positive and a negative example.
    #[must_use]
    pub fn is_proven(&self) -> bool {
        self.examples.values().any(|e| !e.positive.is_empty())
            && self.examples.values().any(|e| !e.negative.is_empty())
    }
}
