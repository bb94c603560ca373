//! Describes in words what found a hit and what its score consists of.

use serde_json::{Map, Value};

/// Explains the parts of all hits.
pub(super) const LEGEND: &str = "lexical: how many of the query's words, and how rare; vectors: nearness in meaning; 1 is the best candidate. \
    + is added, × multiplies; the total orders the hits of a repository. The first hit's score is how likely the answer is right; \
    the others are relative to it.";

/// The way in which a part enters the total.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    /// It is an independent figure.
    None,
    /// It is the base value to which the others are added.
    Base,
    /// It is added.
    Add,
    /// It multiplies.
    Multiply,
}

/// The parts of a score: the field of the answer, its label, and its operation. They are listed in the order in which they are applied.
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
    ("literal", "has the text as it stands", Operation::Add),
];

fn part(parts: &Map<String, Value>, name: &str) -> f64 {
    parts.get(name).and_then(Value::as_f64).unwrap_or_default()
}

/// Returns `true` if the hit was ranked; a listing has only zeros.
fn is_ranked(parts: &Map<String, Value>) -> bool {
    parts.values().any(|value| value.as_f64() != Some(0.0))
}

/// Describes what found a hit.
pub(super) fn found_by(parts: &Map<String, Value>) -> &'static str {
    match (part(parts, "lexical") > 0.0, part(parts, "dense") > 0.0) {
        (true, true) => "found by words and vectors",
        (true, false) => "found by words",
        (false, true) => "found by vectors",
        (false, false) if part(parts, "literal") > 0.0 => "found by its text",
        // The last candidate of vectors has the figure 0, because figures are scaled from the last to the best one.
        (false, false) if is_ranked(parts) => "found by vectors, as the last candidate",
        (false, false) => "found by the filters alone, which do not rank",
    }
}

/// Returns labels and figures, and the total; empty for a hit that was not ranked. Parts without an effect are omitted.
pub(super) fn lines(parts: &Map<String, Value>) -> Vec<(String, String)> {
    if !is_ranked(parts) {
        return Vec::new();
    }
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

/// Formats a value as text; `None` for lists and objects.
pub(super) fn figure(value: &Value) -> Option<String> {
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

/// Splits a name in camel or snake case into words.
pub(super) fn words(name: &str) -> String {
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

    #[test]
    fn every_part_of_a_score_has_words() {
        let parts = serde_json::to_value(ScoreParts::default()).unwrap();
        for name in parts.as_object().unwrap().keys() {
            assert!(PARTS.iter().any(|(known, ..)| known == name), "{name} needs words in PARTS");
        }
        assert_eq!(parts.as_object().unwrap().len(), PARTS.len());
    }
}
