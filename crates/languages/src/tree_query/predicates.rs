//! What the text of captured nodes has to be.

use super::matches::Captured;
use super::nodes::Nodes;

/// A condition on a capture. One that captured nothing fulfils it.
pub(super) struct Predicate {
    pub(super) capture: u16,
    /// Whether the test has to hold, or not to hold, for each of its nodes.
    pub(super) is: bool,
    pub(super) test: Test,
}

/// A test of a text.
pub(super) enum Test {
    /// It is one of these.
    Among(Vec<String>),
    /// It is what the other capture's node in the same place says.
    Same(u16),
    /// It matches.
    Matches(regex::Regex),
}

impl Predicate {
    /// Whether it says something of each node by itself.
    pub(super) fn is_alone(&self) -> bool {
        !matches!(self.test, Test::Same(_))
    }

    /// Whether a capture is needed for it.
    pub(super) fn needs(&self, capture: u16) -> bool {
        self.capture == capture || matches!(self.test, Test::Same(other) if other == capture)
    }

    /// Whether a node's text fulfils it; of one that compares nodes, true.
    pub(super) fn accepts(&self, said: &str) -> bool {
        match &self.test {
            Test::Among(texts) => texts.iter().any(|text| text == said) == self.is,
            Test::Matches(regex) => regex.is_match(said) == self.is,
            Test::Same(_) => true,
        }
    }

    /// Whether what a whole match captured fulfils it.
    pub(super) fn holds(&self, captured: &[Captured], nodes: &Nodes<'_>, text: &str) -> bool {
        let of = |capture: u16| {
            let these = captured.iter().filter(move |captured| captured.capture == capture);
            these.map(|captured| nodes.text(captured.at, text))
        };
        match &self.test {
            Test::Same(other) => {
                of(self.capture).count() == of(*other).count()
                    && of(self.capture).zip(of(*other)).all(|(said, other)| (said == other) == self.is)
            }
            _ => of(self.capture).all(|said| self.accepts(said)),
        }
    }
}
