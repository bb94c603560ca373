//! Splits code into pieces of uniform appearance, for pages and for terminals: its colours, and the marked words of the query.

use std::ops::Range;

use languages::highlight::Highlight;

/// Returns the id of the language of a file, by its name. The text of a notebook is code, most often in Python.
pub(super) fn language_of(path: &str) -> Option<&'static str> {
    languages::detect(path, b"").map(|language| match language.id {
        "jupyter" => "python",
        id => id,
    })
}

/// A part of a line with a uniform appearance.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// The byte range in the line.
    pub(super) range: Range<usize>,
    /// The colour class.
    pub(super) highlight: Option<Highlight>,
    /// `true` if it is a word of the query.
    pub(super) is_marked: bool,
}

/// Splits a line of `length` bytes wherever a span or a mark begins or ends. Both are in order and do not overlap among themselves.
pub(super) fn pieces(
    length: usize,
    spans: &[(Range<usize>, Highlight)],
    marks: &[Range<usize>],
) -> Vec<Piece> {
    let mut cuts: Vec<usize> = vec![0, length];
    cuts.extend(spans.iter().flat_map(|(span, _)| [span.start, span.end]));
    cuts.extend(marks.iter().flat_map(|mark| [mark.start, mark.end]));
    cuts.retain(|cut| *cut <= length);
    cuts.sort_unstable();
    cuts.dedup();
    let (mut spans, mut marks) = (spans.iter().peekable(), marks.iter().peekable());
    let ranges = cuts.iter().zip(cuts.iter().skip(1)).map(|(start, end)| *start..*end);
    ranges
        .map(|range| {
            while spans.next_if(|(span, _)| span.end <= range.start).is_some() {}
            while marks.next_if(|mark| mark.end <= range.start).is_some() {}
            let span = spans.peek().filter(|(span, _)| span.start <= range.start);
            let is_marked = marks.peek().is_some_and(|mark| mark.start <= range.start);
            Piece { highlight: span.map(|(_, highlight)| *highlight), is_marked, range }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_follow_colours_and_marks() {
        let spans = [(0..2, Highlight::Keyword), (3..8, Highlight::Function)];
        let cut = pieces(10, &spans, std::slice::from_ref(&(1..5)));
        let shown: Vec<_> =
            cut.iter().map(|it| (it.range.clone(), it.highlight.is_some(), it.is_marked)).collect();
        assert_eq!(
            shown,
            [
                (0..1, true, false),
                (1..2, true, true),
                (2..3, false, true),
                (3..5, true, true),
                (5..8, true, false),
                (8..10, false, false)
            ]
        );
        assert!(pieces(0, &[], &[]).is_empty());
    }
}
