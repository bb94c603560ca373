//! Cuts a coloured text at its line ends, for output line by line.

use std::ops::Range;

use super::{Highlight, HighlightedSpan};

/// One line of a text with its colours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HighlightedLine<'t> {
    /// The line without its end.
    pub text: &'t str,
    /// Its end: `\n`, `\r\n`, or nothing for a last line without one. All texts and ends together are the whole text.
    pub ending: &'t str,
    /// Its coloured parts in bytes of the line: sorted, not empty, not overlapping.
    pub spans: Vec<(Range<usize>, Highlight)>,
}

impl<'t> HighlightedLine<'t> {
    /// The line in pieces, coloured or not, none of them empty; together they are its text.
    pub fn pieces(&self) -> impl Iterator<Item = (&'t str, Option<Highlight>)> {
        let text = self.text;
        let starts = std::iter::once(0).chain(self.spans.iter().map(|(range, _)| range.end));
        let next = self.spans.iter().map(|(range, highlight)| (range.clone(), Some(*highlight)));
        let last = std::iter::once((text.len()..text.len(), None));
        let both = starts.zip(next.chain(last));
        let pieces =
            both.flat_map(|(start, (range, highlight))| [(start..range.start, None), (range, highlight)]);
        pieces
            .filter_map(move |(range, highlight)| Some((text.get(range)?, highlight)))
            .filter(|(piece, _)| !piece.is_empty())
    }
}

/// The lines of a text with the colours of [`highlight`](super::highlight()). A part that spans lines is cut at their ends, which
/// have no colour. An empty text has no lines; a lone `\r` does not end one.
pub fn by_line<'t>(text: &'t str, spans: &[HighlightedSpan]) -> impl Iterator<Item = HighlightedLine<'t>> {
    let (mut start, mut spans) = (0, spans);
    text.split_inclusive('\n').map(move |whole| {
        let line = whole.strip_suffix('\n').unwrap_or(whole);
        let line = line.strip_suffix('\r').filter(|_| line.len() < whole.len()).unwrap_or(line);
        let end = start + line.len();
        let first = spans.iter().position(|span| span.end > start).unwrap_or(spans.len());
        spans = &spans[first..];
        let here = spans.iter().take_while(|span| span.start < end);
        let within = |span: &HighlightedSpan| {
            span.start.saturating_sub(start)..span.end.min(end).saturating_sub(start)
        };
        let cut = here.map(|span| (within(span), span.highlight)).filter(|(range, _)| !range.is_empty());
        let line = HighlightedLine { text: line, ending: &whole[line.len()..], spans: cut.collect() };
        start += whole.len();
        line
    })
}
