//! Predicates of patterns: conditions on the texts of captured nodes.

use super::nodes::{Captured, Nodes};

/// A condition on a capture. It holds if the capture has no nodes.
pub(super) struct Predicate {
    pub(super) capture: u16,
    /// The result that the test must have for each node of the capture.
    pub(super) is: bool,
    pub(super) test: Test,
}

/// A test of a text.
pub(super) enum Test {
    /// It equals one of these.
    Among(Vec<String>),
    /// It equals the text of the other capture's node at the same position.
    Same(u16),
    /// The regular expression matches it.
    Matches(regex::Regex),
}

impl Predicate {
    /// Returns `true` if it can be tested on each node separately.
    pub(super) fn is_alone(&self) -> bool {
        !matches!(self.test, Test::Same(_))
    }

    /// Checks whether it needs a capture.
    pub(super) fn needs(&self, capture: u16) -> bool {
        self.capture == capture || matches!(self.test, Test::Same(other) if other == capture)
    }

    /// Checks whether a node's text satisfies it; `true` for a predicate that compares nodes.
    pub(super) fn accepts(&self, node_text: &str) -> bool {
        match &self.test {
            Test::Among(texts) => texts.iter().any(|text| text == node_text) == self.is,
            Test::Matches(regex) => regex.is_match(node_text) == self.is,
            Test::Same(_) => true,
        }
    }

    /// Checks whether the captures of a whole match satisfy it.
    pub(super) fn holds(&self, captured: &[Captured], nodes: &Nodes<'_>, text: &str) -> bool {
        let texts_of = |capture: u16| {
            let these = captured.iter().filter(move |captured| captured.capture == capture);
            these.map(|captured| nodes.text(captured.at, text))
        };
        match &self.test {
            Test::Same(other) => {
                texts_of(self.capture).count() == texts_of(*other).count()
                    && texts_of(self.capture)
                        .zip(texts_of(*other))
                        .all(|(one, other)| (one == other) == self.is)
            }
            _ => texts_of(self.capture).all(|text| self.accepts(text)),
        }
    }
}
