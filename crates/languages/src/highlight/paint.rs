//! Matches a highlight query, and paints the nodes that it captures onto the text.

use super::HighlightedSpan;
use super::capture::Mark;
use super::queries::Compiled;
use crate::stop::Stop;
use crate::tree_query::{Matcher, Nodes};

/// The coloured parts of a text. If the time limit passes, those found so far.
pub(super) fn spans(
    text: &str,
    compiled: &Compiled,
    nodes: &Nodes<'_>,
    stop: &Stop<'_>,
) -> Vec<HighlightedSpan> {
    let marks = (0..).zip(marks(text, compiled, nodes, stop));
    let place = |at| (nodes.node(at).start_byte(), nodes.node(at).end_byte());
    painted(text, marks.filter_map(|(at, mark)| mark.map(|mark| (place(at).0, place(at).1, mark))))
}

/// Paints nodes onto a text: their first byte, one past their last, and their mark. They come sorted by their start, an outer one
/// before its inner ones.
pub(super) fn painted(text: &str, nodes: impl Iterator<Item = (usize, usize, Mark)>) -> Vec<HighlightedSpan> {
    let mut canvas = Canvas { text, painted: 0, open: Vec::new(), spans: Vec::new() };
    for (start, end, mark) in nodes {
        canvas.paint(start, end, mark);
    }
    canvas.advance(text.len());
    canvas.spans
}

/// For each node, what the captures say of it; the strongest counts.
pub(super) fn marks(
    text: &str,
    compiled: &Compiled,
    nodes: &Nodes<'_>,
    stop: &Stop<'_>,
) -> Vec<Option<Mark>> {
    let mut marks = vec![None; nodes.len() as usize];
    let mut matcher = Matcher::new(&compiled.query, nodes, text, stop.deadline());
    for at in 0..nodes.len() {
        let in_time = matcher.at(at, &mut |hit| {
            for captured in hit.captured {
                let mark = compiled.marks[usize::from(captured.capture)];
                let node = nodes.node(captured.at);
                let mark = mark
                    .map(|mark| mark.of(text.get(node.byte_range()).unwrap_or_default(), !node.is_named()));
                let known = &mut marks[captured.at as usize];
                *known = (*known).max(mark);
            }
        });
        if !in_time || stop.step(1).is_err() {
            break;
        }
    }
    marks
}

/// A text that is painted from left to right.
struct Canvas<'t> {
    text: &'t str,
    /// The end of the painted text.
    painted: usize,
    /// Nodes around the current byte, outer ones first: where they end, and their marks.
    open: Vec<(usize, Mark)>,
    spans: Vec<HighlightedSpan>,
}

impl Canvas<'_> {
    /// Begins a node.
    fn paint(&mut self, start: usize, end: usize, mark: Mark) {
        // What a grammar reads in place of the text (its mask) may put a border inside of a character.
        let (start, end) = (self.text.floor_char_boundary(start), self.text.floor_char_boundary(end));
        self.advance(start);
        if end > start {
            self.open.push((end, mark));
        }
    }

    /// Paints up to a byte with the open nodes; the innermost one counts.
    fn advance(&mut self, to: usize) {
        while let Some(&(end, mark)) = self.open.last() {
            self.fill(end.min(to), mark);
            if end > to {
                return;
            }
            self.open.pop();
        }
        self.painted = self.painted.max(to);
    }

    /// Paints up to a byte with one mark.
    fn fill(&mut self, to: usize, mark: Mark) {
        let start = self.painted;
        self.painted = start.max(to);
        if let Mark::Colour(highlight) = mark
            && start < to
        {
            match self.spans.last_mut() {
                Some(last) if last.end == start && last.highlight == highlight => last.end = to,
                _ => self.spans.push(HighlightedSpan { start, end: to, highlight }),
            }
        }
    }
}
