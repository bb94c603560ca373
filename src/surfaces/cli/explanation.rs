//! `search --explain`: how the query was read, what found each hit, and the parts of its score.

use std::fmt::Write;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::output::{DIM, styled};
use contract::escaped_line;

/// What the legend below the hits says.
const LEGEND: &str = "lexical: how many of the query's words, and how rare; vectors: nearness in meaning; 1 is the best candidate. \
    + is added, × multiplies; the total orders the hits of a repository. The first hit's score is how likely the answer is right; \
    the others are relative to it.";

/// How a part enters the total.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    /// It is a figure by itself.
    None,
    /// It is the sum that the others are added to.
    Base,
    /// It is added.
    Add,
    /// It multiplies.
    Multiply,
}

/// The parts of a score: the field of the answer, the words for it, and its use. In the order in which they are applied.
const PARTS: &[(&str, &str, Operation)] = &[
    ("lexical", "lexical", Operation::None),
    ("dense", "vectors", Operation::None),
    ("fused", "both by weight", Operation::Base),
    ("definition", "defines the name", Operation::Add),
    ("path", "file name", Operation::Add),
    ("used", "used by other files", Operation::Add),
    ("coherence", "other hits in the file", Operation::Add),
    ("role", "path kind", Operation::Multiply),
    ("saturation", "better hits in the file", Operation::Multiply),
];

/// How the query was read; set only with `--explain`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SearchExplanation {
    filters: Vec<String>,
    terms: Vec<ExplainedTerm>,
    /// The remaining numbers that concern the whole query.
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ExplainedTerm {
    term: String,
    weight: f64,
    chunks: u64,
}

impl SearchExplanation {
    /// The parsed query, the filters and the weights of the terms.
    pub(super) fn render(&self, query: &str) -> String {
        let mut shown = String::new();
        let mut line = |label: &str, text: &str| {
            let _ = writeln!(shown, "{} {}", styled(DIM, &format!("{label:>8}")), escaped_line(text));
        };
        line("query", query);
        line("filters", &self.filters.join("; "));
        let terms = self
            .terms
            .iter()
            .map(|term| format!("{} {:.2} ({} chunks)", term.term, term.weight, term.chunks));
        line("terms", &terms.collect::<Vec<_>>().join(", "));
        line("weights", &weights(&self.rest));
        shown.push('\n');
        shown
    }
}

/// The legend, which explains the parts of all hits.
pub(super) fn legend() -> String {
    format!("{}\n", styled(DIM, LEGEND))
}

/// What found a hit, and the parts of its score, one on each line; empty if the answer has none.
pub(super) fn score_parts(parts: &Map<String, Value>) -> String {
    if parts.is_empty() {
        return String::new();
    }
    let mut shown = format!("    {}\n", styled(DIM, found_by(parts)));
    let lines = if is_ranked(parts) { lines(parts) } else { Vec::new() };
    let width = lines.iter().map(|(label, _)| label.chars().count()).max().unwrap_or_default();
    for (label, figure) in lines {
        let line = format!("{label:<width$}  {figure:>7}");
        let _ = writeln!(shown, "      {}", styled(DIM, &escaped_line(&line)));
    }
    shown
}

fn part(parts: &Map<String, Value>, name: &str) -> f64 {
    parts.get(name).and_then(Value::as_f64).unwrap_or_default()
}

/// Whether the hit was ranked; a listing has only zeros.
fn is_ranked(parts: &Map<String, Value>) -> bool {
    parts.values().any(|value| value.as_f64() != Some(0.0))
}

fn found_by(parts: &Map<String, Value>) -> &'static str {
    match (part(parts, "lexical") > 0.0, part(parts, "dense") > 0.0) {
        (true, true) => "found by words and vectors",
        (true, false) => "found by words",
        (false, true) => "found by vectors",
        // The last candidate of vectors has the figure 0, because figures reach from the last to the best one.
        (false, false) if is_ranked(parts) => "found by vectors, as the last candidate",
        (false, false) => "found by the filters alone, which do not rank",
    }
}

/// Labels and figures, and the total. Parts without an effect are left out.
fn lines(parts: &Map<String, Value>) -> Vec<(String, String)> {
    let mut lines = Vec::new();
    let mut total = 0.0;
    for (name, label, operation) in PARTS {
        let value = part(parts, name);
        let (sign, has_effect) = match operation {
            Operation::None => ("", value != 0.0),
            Operation::Base => ("", value != 0.0),
            Operation::Add => ("+", value != 0.0),
            Operation::Multiply => ("×", parts.contains_key(*name) && (value - 1.0).abs() > f64::EPSILON),
        };
        if !has_effect {
            continue;
        }
        match operation {
            Operation::None => {}
            Operation::Base | Operation::Add => total += value,
            Operation::Multiply => total *= value,
        }
        lines.push(((*label).to_owned(), format!("{sign}{value:.3}")));
    }
    let known = |name: &str| PARTS.iter().any(|(known, ..)| *known == name);
    let others = parts.iter().filter(|(name, _)| !known(name));
    lines.extend(others.filter_map(|(name, value)| Some((words(name), figure(value)?))));
    if total != 0.0 {
        lines.push(("total".to_owned(), format!("{total:.3}")));
    }
    lines
}

/// Named values in one line.
fn weights(values: &Map<String, Value>) -> String {
    let shown = values.iter().filter_map(|(name, value)| Some(format!("{} {}", words(name), figure(value)?)));
    shown.collect::<Vec<_>>().join(", ")
}

/// A value in text; `None` for lists and objects.
fn figure(value: &Value) -> Option<String> {
    Some(match value {
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() => format!("{float:.3}"),
            _ => number.to_string(),
        },
        Value::String(text) => text.clone(),
        Value::Bool(holds) => holds.to_string(),
        _ => return None,
    })
}

/// A name in camel or snake case as words.
fn words(name: &str) -> String {
    let mut words = String::new();
    for char in name.replace('_', " ").chars() {
        if char.is_uppercase() {
            words.push(' ');
        }
        words.extend(char.to_lowercase());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::search::ScoreParts;
    use serde_json::json;

    fn shown(parts: Value) -> String {
        let Value::Object(parts) = parts else { panic!("{parts}") };
        anstream::adapter::strip_str(&score_parts(&parts)).to_string()
    }

    #[test]
    fn parts_are_words_with_aligned_figures_and_a_total() {
        let parts = json!({ "lexical": 1.0, "dense": 0.5, "fused": 0.75, "definition": 0.25, "path": 0.0,
            "coherence": 0.1, "role": 0.5, "saturation": 1.0 });
        assert_eq!(
            shown(parts),
            "    found by words and vectors\n\
             \x20     lexical                   1.000\n\
             \x20     vectors                   0.500\n\
             \x20     both by weight            0.750\n\
             \x20     defines the name         +0.250\n\
             \x20     other hits in the file   +0.100\n\
             \x20     path kind                ×0.500\n\
             \x20     total                     0.550\n"
        );
        assert_eq!(score_parts(&Map::new()), "");
    }

    #[test]
    fn what_found_a_hit_is_said() {
        for (parts, expected) in [
            (json!({ "lexical": 0.2, "dense": 0.0, "fused": 0.1 }), "found by words\n"),
            (json!({ "lexical": 0.0, "dense": 0.2, "fused": 0.1 }), "found by vectors\n"),
            (
                json!({ "lexical": 0.0, "dense": 0.0, "role": 1.0 }),
                "found by vectors, as the last candidate\n",
            ),
        ] {
            assert!(shown(parts.clone()).contains(expected), "{parts}");
        }
        let listed = shown(json!({ "lexical": 0.0, "fused": 0.0, "role": 0.0 }));
        assert_eq!(listed, "    found by the filters alone, which do not rank\n");
        let hostile = shown(json!({ "a\u{1b}B": "\u{1b}", "lexical": 1.0 }));
        assert!(!hostile.contains('\u{1b}'), "{hostile:?}");
    }

    #[test]
    fn every_part_of_a_score_has_words() {
        let parts = serde_json::to_value(ScoreParts::default()).unwrap();
        for name in parts.as_object().unwrap().keys() {
            assert!(PARTS.iter().any(|(known, ..)| known == name), "{name} needs words in PARTS");
        }
        assert_eq!(parts.as_object().unwrap().len(), PARTS.len());
    }
}
