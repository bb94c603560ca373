//! The findings of a file, as they are stored with its chunks. All lines are 1-based.

use serde::{Deserialize, Serialize};

use super::rule::Severity;

/// Everything that the rules find in one file.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Findings {
    /// Places where untrusted input enters, sorted by line.
    pub sources: Vec<Place>,
    /// Dangerous operations, sorted by line, whether or not untrusted input reaches them.
    pub sinks: Vec<Place>,
    /// Places where values are sanitized, sorted by line.
    pub sanitizers: Vec<Place>,
    /// Untrusted input that reaches a dangerous operation inside this file.
    pub flows: Vec<RiskFlow>,
    /// Untrusted input that is passed to functions that this file does not define.
    pub outgoing: Vec<TaintedCall>,
    /// Parameters of this file's functions that reach a dangerous operation.
    pub incoming: Vec<ParamSink>,
    /// Functions of this file that return untrusted input.
    pub returning: Vec<ReturnSource>,
    /// `true` if a limit was reached, so that findings may be missing.
    pub capped: bool,
}

impl Findings {
    /// Returns `true` if nothing was found.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty() && self.sinks.is_empty() && self.sanitizers.is_empty() && !self.capped
    }
}

/// A match of a rule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Place {
    /// The rule's name, which filters use.
    pub name: String,
    /// Id of the rule.
    pub rule_id: String,
    /// Line of the match.
    pub line: u32,
    /// The rule's tags.
    pub tags: Vec<String>,
    /// The rule's category.
    pub category: String,
    /// Confidence of the rule, 0 to 1.
    pub confidence: f64,
    /// Severity, for sinks only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub severity: Option<Severity>,
}

/// Removes duplicates: of matches with the same name and category in a line, keeps the most confident, with the tags of
/// all. Sorted by line.
pub(super) fn deduplicated(mut places: Vec<Place>) -> Vec<Place> {
    places.sort_by(|a, b| {
        (a.line, &a.name, &a.category)
            .cmp(&(b.line, &b.name, &b.category))
            .then(b.confidence.total_cmp(&a.confidence))
            .then(b.severity.cmp(&a.severity))
            .then(a.rule_id.cmp(&b.rule_id))
    });
    places.dedup_by(|other, kept| {
        let same = (other.line, &other.name, &other.category) == (kept.line, &kept.name, &kept.category);
        if same {
            let further = other.tags.drain(..).filter(|tag| !kept.tags.contains(tag)).collect::<Vec<_>>();
            kept.tags.extend(further);
        }
        same
    });
    places
}

/// The extent of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// Inside one function.
    Local,
    /// Across calls inside a file.
    File,
    /// Across files.
    CrossFile,
}

/// Untrusted input that reaches a dangerous operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RiskFlow {
    /// Name of the source's rule.
    pub source: String,
    /// Name of the sink's rule.
    pub sink: String,
    /// The sink's category.
    pub category: String,
    /// The sink's severity.
    pub severity: Severity,
    /// Tags of both rules, sorted.
    pub tags: Vec<String>,
    /// Its extent.
    pub scope: Scope,
    /// Combined confidence of both rules, 0 to 1.
    pub confidence: f64,
    /// Ids of the source's rule and the sink's.
    pub rule_ids: Vec<String>,
    /// The function that it starts in, then those called; empty for a local flow.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub via: Vec<String>,
    /// The function it starts in; `None` at the file's top level.
    pub function: Option<String>,
    /// The lines that show it.
    pub evidence: Evidence,
}

/// The lines of a flow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Evidence {
    /// Line where the input enters.
    pub source_line: u32,
    /// Line of the dangerous operation.
    pub sink_line: u32,
    /// Assignments and calls between them, in order, at most 8.
    pub steps: Vec<u32>,
    /// The sink's line, at most 160 characters.
    pub excerpt: String,
}

/// Untrusted input in an argument of a call to a function outside of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaintedCall {
    /// Last name of the callee.
    pub callee: String,
    /// The whole callee: `store.save`.
    pub chain: String,
    /// Position of the argument, from 0.
    pub argument: usize,
    /// Name of the source's rule.
    pub source: String,
    /// The source's rule.
    pub rule_id: String,
    /// The source's tags.
    pub tags: Vec<String>,
    /// The source's confidence.
    pub confidence: f64,
    /// Categories of sinks that the value was sanitized for.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub cleared: Vec<String>,
    /// Line of the call.
    pub line: u32,
    /// Line where the input enters.
    pub source_line: u32,
    /// The calling function; `None` at the file's top level.
    pub function: Option<String>,
}

/// A parameter that reaches a dangerous operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ParamSink {
    /// Simple name of the function.
    pub function: String,
    /// Position of the parameter, from 0, without `self`.
    pub parameter: usize,
    /// Name of the sink's rule.
    pub sink: String,
    /// The sink's rule.
    pub rule_id: String,
    /// The sink's category.
    pub category: String,
    /// The sink's severity.
    pub severity: Severity,
    /// The sink's tags.
    pub tags: Vec<String>,
    /// The sink's confidence.
    pub confidence: f64,
    /// Line of the dangerous operation.
    pub line: u32,
    /// That line, at most 160 characters.
    pub excerpt: String,
}

/// A function that returns untrusted input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReturnSource {
    /// Simple name of the function.
    pub function: String,
    /// Name of the source's rule.
    pub source: String,
    /// The source's confidence.
    pub confidence: f64,
    /// Line at which the input enters.
    pub line: u32,
}

/// The confidence of a flow from a source to a sink: `min(1, source * sink + 0.1)`.
pub(super) fn confidence(source: f64, sink: f64) -> f64 {
    rounded((source * sink + 0.1).min(1.0))
}

/// The reduced confidence of a flow that passes through calls, because names may be resolved wrongly.
#[must_use]
pub fn confidence_over_calls(confidence: f64) -> f64 {
    rounded((confidence * 0.85).max(0.2))
}

/// Rounds to three digits, so that JSON shows no rounding errors.
fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

/// Longest excerpt, in characters.
const EXCERPT_CHARS: usize = 160;

/// The line that contains a byte, without indentation; if it is long, the part from that byte on.
pub(super) fn excerpt(text: &str, at: usize) -> String {
    let at = text.floor_char_boundary(at);
    let near = text.floor_char_boundary(at.saturating_sub(EXCERPT_CHARS / 2));
    let from = match text[near..at].rfind('\n') {
        Some(newline) => near + newline + 1,
        None if near == 0 => 0,
        None => at,
    };
    let line = text[from..].chars().take_while(|c| *c != '\n').take(EXCERPT_CHARS + at - from);
    line.collect::<String>().trim().chars().take(EXCERPT_CHARS).collect()
}
