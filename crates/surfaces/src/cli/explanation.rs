//! `search --explain`: shows how the query was parsed, what found each hit, and the parts of its score.

use std::fmt::Write;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::output::{DIM, styled};
use crate::score::{LEGEND, figure, found_by, lines, words};
use contract::escaped_line;

/// The interpretation of the query; set only with `--explain`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SearchExplanation {
    filters: Vec<String>,
    terms: Vec<ExplainedTerm>,
    /// The remaining numbers, which concern the whole query.
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
    /// Formats the parsed query, the filters and the weights of the terms.
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

/// Returns the legend, which explains the parts of all hits.
pub(super) fn legend() -> String {
    format!("{}\n", styled(DIM, LEGEND))
}

/// Formats what found a hit, and the parts of its score, one on each line; empty if the answer has none.
pub(super) fn score_parts(parts: &Map<String, Value>) -> String {
    if parts.is_empty() {
        return String::new();
    }
    let mut shown = format!("    {}\n", styled(DIM, found_by(parts)));
    let lines = lines(parts);
    let width = lines.iter().map(|(label, _)| label.chars().count()).max().unwrap_or_default();
    for (label, figure) in lines {
        let line = format!("{label:<width$}  {figure:>7}");
        let _ = writeln!(shown, "      {}", styled(DIM, &escaped_line(&line)));
    }
    shown
}

/// Formats named values on one line.
fn weights(values: &Map<String, Value>) -> String {
    let shown = values.iter().filter_map(|(name, value)| Some(format!("{} {}", words(name), figure(value)?)));
    shown.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
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
    fn the_source_of_a_hit_is_named() {
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
}
