//! What is found in a file, as it is stored with its chunks. All lines are 1-based.

use serde::{Deserialize, Serialize};

use super::rule::Severity;

/// Everything that the rules find in one file.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Findings {
    /// Where untrusted input comes in, by line.
    pub sources: Vec<Place>,
    /// Dangerous operations, by line, whether something reaches them or not.
    pub sinks: Vec<Place>,
    /// Where values are made harmless, by line.
    pub sanitizers: Vec<Place>,
    /// Untrusted input that reaches a dangerous operation inside this file.
    pub flows: Vec<RiskFlow>,
    /// Untrusted input handed to functions that this file does not define.
    pub outgoing: Vec<TaintedCall>,
    /// Parameters of this file's functions that reach a dangerous operation.
    pub incoming: Vec<ParamSink>,
    /// Functions of this file that give untrusted input back.
    pub returning: Vec<ReturnSource>,
    /// Whether a bound was met, so that more may be there.
    pub capped: bool,
}

impl Findings {
    /// Whether nothing was found.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty() && self.sinks.is_empty() && self.sanitizers.is_empty() && !self.capped
    }
}

/// A rule that holds somewhere.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Place {
    /// The rule's name, which filters use.
    pub name: String,
    /// The rule.
    pub rule_id: String,
    /// Where.
    pub line: u32,
    /// The rule's tags.
    pub tags: Vec<String>,
    /// The rule's category.
    pub category: String,
    /// How sure the rule is, 0 to 1.
    pub confidence: f64,
    /// How bad it is; only of sinks.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub severity: Option<Severity>,
}

/// Places that say the same only once: of rules that find one thing of one category in a line, the surest stays, and
/// has the tags of all. In the order of lines.
pub(super) fn once(mut places: Vec<Place>) -> Vec<Place> {
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

/// How far a flow goes.
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
    /// How far it goes.
    pub scope: Scope,
    /// How sure both rules together are, 0 to 1.
    pub confidence: f64,
    /// The source's rule and the sink's.
    pub rule_ids: Vec<String>,
    /// The function that it starts in, then those called; empty for a local flow.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub via: Vec<String>,
    /// The function it starts in; none at the file's top level.
    pub function: Option<String>,
    /// Where it can be seen.
    pub evidence: Evidence,
}

/// The lines of a flow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Evidence {
    /// Where the input comes in.
    pub source_line: u32,
    /// Where the dangerous operation is.
    pub sink_line: u32,
    /// Assignments and calls between them, in order, at most 8.
    pub steps: Vec<u32>,
    /// The sink's line, at most 160 characters.
    pub excerpt: String,
}

/// Untrusted input in an argument of a call that leads out of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaintedCall {
    /// Last name of what is called.
    pub callee: String,
    /// All of what is called: `store.save`.
    pub chain: String,
    /// Which argument, from 0.
    pub argument: usize,
    /// Name of the source's rule.
    pub source: String,
    /// The source's rule.
    pub rule_id: String,
    /// The source's tags.
    pub tags: Vec<String>,
    /// The source's confidence.
    pub confidence: f64,
    /// Categories of sinks that the value was made harmless for.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub cleared: Vec<String>,
    /// Where the call is.
    pub line: u32,
    /// Where the input comes in.
    pub source_line: u32,
    /// The calling function; none at the file's top level.
    pub function: Option<String>,
}

/// A parameter that reaches a dangerous operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ParamSink {
    /// Simple name of the function.
    pub function: String,
    /// Which argument of a call it is, from 0; `self` is not counted.
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
    /// Where the dangerous operation is.
    pub line: u32,
    /// That line, at most 160 characters.
    pub excerpt: String,
}

/// A function that gives untrusted input back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReturnSource {
    /// Simple name of the function.
    pub function: String,
    /// Name of the source's rule.
    pub source: String,
    /// The source's confidence.
    pub confidence: f64,
    /// Where the input comes in.
    pub line: u32,
}

/// How sure a flow from a source to a sink is: `min(1, source * sink + 0.1)`.
pub(super) fn confidence(source: f64, sink: f64) -> f64 {
    rounded((source * sink + 0.1).min(1.0))
}

/// What remains of a flow's confidence when it goes over calls: names may be resolved wrongly.
#[must_use]
pub fn confidence_over_calls(confidence: f64) -> f64 {
    rounded((confidence * 0.85).max(0.2))
}

/// Three digits, so that JSON shows no arithmetic.
fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

/// Longest excerpt, in characters.
const EXCERPT_CHARS: usize = 160;

/// The line around a byte, without its indentation; of a long line, from that byte on.
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
