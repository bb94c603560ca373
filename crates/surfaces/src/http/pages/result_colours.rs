//! Colours hits and matching lines: like the whole text of their chunk where it is known, because a string or a comment may begin
//! above the shown lines, or end below them.

use std::collections::HashMap;

use engine::highlighting::CodeText;
use engine::search::{SourceText, Sources};
use languages::highlight::{HighlightedSpan, by_line};

use super::data::Asker;

/// Some lines of a chunk, as a page shows them: without their common indentation, and possibly with the last one cut.
pub(super) struct ShownPart<'a> {
    /// Language id; empty if it is unknown.
    pub(super) language: &'a str,
    /// Number of the first line, 1-based.
    pub(super) first_line: u32,
    pub(super) text: &'a str,
}

/// Returns the coloured parts of each of `parts`, which are in the order of [`Sources::of_parts`].
pub(super) async fn colours(
    asker: &Asker,
    parts: &[ShownPart<'_>],
    sources: &Sources,
) -> Vec<Vec<HighlightedSpan>> {
    let (texts, coloured_by) = texts(parts, sources);
    let coloured = asker.colours(texts).await;
    let spans = |at: usize| coloured.get(at).map(Vec::as_slice).unwrap_or_default();
    parts
        .iter()
        .zip(coloured_by)
        .map(|(part, (at, source))| match source {
            Some(source) => within(part, source, spans(at)),
            None => spans(at).to_vec(),
        })
        .collect()
}

/// Returns the texts to colour and, for each part, the position of the text that has its colours, with the source if that is a whole one.
fn texts<'s>(
    parts: &[ShownPart<'_>],
    sources: &'s Sources,
) -> (Vec<CodeText>, Vec<(usize, Option<&'s SourceText>)>) {
    let (mut texts, mut coloured_by) = (Vec::new(), Vec::with_capacity(parts.len()));
    let mut whole: HashMap<usize, usize> = HashMap::new();
    for (at, part) in parts.iter().enumerate() {
        let source = sources.of_part(at).filter(|_| !part.text.is_empty());
        let mut add = |text: &str| {
            texts.push(CodeText { language: part.language.to_owned(), text: text.to_owned() });
            texts.len() - 1
        };
        let position = match source {
            Some((id, source)) => *whole.entry(id).or_insert_with(|| add(&source.text)),
            None => add(part.text),
        };
        coloured_by.push((position, source.map(|(_, source)| source)));
    }
    (texts, coloured_by)
}

/// Returns the colours of a part, which is located line by line in the whole text.
fn within(part: &ShownPart<'_>, source: &SourceText, spans: &[HighlightedSpan]) -> Vec<HighlightedSpan> {
    let above = usize::try_from(part.first_line.saturating_sub(source.start_line)).unwrap_or(usize::MAX);
    let lines = by_line(&source.text, spans).skip(above);
    let (mut found, mut start) = (Vec::new(), 0);
    for (shown, line) in part.text.split_inclusive('\n').zip(lines) {
        let text = shown.trim_end_matches(['\n', '…']);
        if let Some(cut) = line.text.find(text) {
            for (range, highlight) in line.spans {
                let (from, to) = (range.start.max(cut), range.end.min(cut + text.len()));
                if from < to {
                    let moved = |at: usize| start + at - cut;
                    found.push(HighlightedSpan { start: moved(from), end: moved(to), highlight });
                }
            }
        }
        start += shown.len();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use languages::highlight::Highlight;

    fn source(text: &str) -> SourceText {
        SourceText { start_line: 10, text: text.to_owned() }
    }

    fn part(first_line: u32, text: &str) -> ShownPart<'_> {
        ShownPart { language: "python", first_line, text }
    }

    const WHOLE: &str = "def f():\n    '''é\n    more text\n    '''\n    return 1\n";

    /// Returns the coloured parts of a text that is shown from a line on.
    fn shown(first_line: u32, text: &'static str) -> Vec<(&'static str, Highlight)> {
        let span = |start, end, highlight| HighlightedSpan { start, end, highlight };
        let (string_start, string_end) = (WHOLE.find("'''").unwrap(), WHOLE.rfind("'''").unwrap() + 3);
        let number = WHOLE.find('1').unwrap();
        let spans = [
            span(0, 3, Highlight::Keyword),
            span(string_start, string_end, Highlight::String),
            span(number, number + 1, Highlight::Number),
        ];
        let found = within(&part(first_line, text), &source(WHOLE), &spans);
        found.iter().map(|span| (&text[span.start..span.end], span.highlight)).collect()
    }

    #[test]
    fn a_part_has_the_colours_of_the_whole() {
        let string = Highlight::String;
        assert_eq!(
            shown(12, "more text\n'''\nreturn 1"),
            [("more text", string), ("'''", string), ("1", Highlight::Number)]
        );
        assert_eq!(shown(10, "def f():\n    '''é…"), [("def", Highlight::Keyword), ("'''é", string)]);
        assert_eq!(shown(12, "mor…"), [("mor", string)]);
        // Lines that are not found there have no colours, and neither have those below the text.
        assert_eq!(shown(12, "other\n'''"), [("'''", string)]);
        assert_eq!(shown(99, "more text"), []);
    }

    #[test]
    fn each_text_is_coloured_once_and_parts_without_one_by_themselves() {
        let of_parts = vec![Some(0), Some(0), None, Some(9)];
        let sources = Sources { texts: vec![source("a\nb\n")], of_parts };
        let parts = [part(10, "a"), part(11, "b"), part(10, "x…"), part(1, "c"), part(1, "")];
        let (texts, coloured_by) = texts(&parts, &sources);
        let shown: Vec<&str> = texts.iter().map(|text| text.text.as_str()).collect();
        assert_eq!(shown, ["a\nb\n", "x…", "c", ""]);
        let positions: Vec<(usize, bool)> =
            coloured_by.iter().map(|(at, source)| (*at, source.is_some())).collect();
        assert_eq!(positions, [(0, true), (0, true), (1, false), (2, false), (3, false)]);
    }
}
