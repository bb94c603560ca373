//! Source code as HTML: line numbers that are links, syntax colours, marked words.

use std::ops::Range;

use languages::highlight::{Highlight, HighlightedLine, HighlightedSpan, by_line};
use maud::{Markup, html};

use super::words::Marks;

/// Code to show.
pub(super) struct CodeView<'a> {
    pub(super) text: &'a str,
    /// Its coloured parts.
    pub(super) spans: &'a [HighlightedSpan],
    /// Number of the first line, 1-based.
    pub(super) first_line: u32,
    pub(super) marks: &'a Marks,
    /// The page of the file, to which line numbers lead; empty on that page itself.
    pub(super) file_url: &'a str,
    /// Whether names of functions and types lead to where they are defined and used; on the page of the file only.
    pub(super) links_names: bool,
}

/// A part of a line that looks the same.
#[derive(Debug, PartialEq, Eq)]
struct Piece {
    range: Range<usize>,
    highlight: Option<Highlight>,
    is_marked: bool,
}

/// The lines in a scrolling block.
pub(super) fn block(view: &CodeView<'_>) -> Markup {
    html! {
        pre.code tabindex="0" dir="ltr" {
            @for (number, line) in (view.first_line..).zip(by_line(view.text, view.spans)) {
                (self::line(view, number, &line))
            }
        }
    }
}

fn line(view: &CodeView<'_>, number: u32, line: &HighlightedLine<'_>) -> Markup {
    let text = line.text;
    let pieces = pieces(text.len(), &line.spans, &view.marks.within(text));
    // On its own page a line has an id to jump to.
    let id = view.file_url.is_empty().then(|| format!("L{number}"));
    html! {
        span.l id=[id] {
            a.n href=(format!("{}#L{number}", view.file_url)) { (number) }
            @for piece in &pieces { (self::piece(view, number, text, piece)) }
            "\n"
        }
    }
}

fn piece(view: &CodeView<'_>, number: u32, line: &str, piece: &Piece) -> Markup {
    let text = &line[piece.range.clone()];
    let shown = html! { @if piece.is_marked { mark { (text) } } @else { (text) } };
    let class = piece.highlight.map(Highlight::as_str);
    match piece.highlight {
        Some(Highlight::Function | Highlight::Type) if view.links_names => {
            let column = line[..piece.range.start].chars().count() + 1;
            html! { a class=[class] href=(format!("?at={number}:{column}#L{number}")) rel="nofollow" { (shown) } }
        }
        Some(_) => html! { span class=[class] { (shown) } },
        None => shown,
    }
}

/// Cuts a line of `length` bytes wherever a span or a mark begins or ends. Both are in order and do not overlap among themselves.
fn pieces(length: usize, spans: &[(Range<usize>, Highlight)], marks: &[Range<usize>]) -> Vec<Piece> {
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

    fn view<'a>(text: &'a str, marks: &'a Marks) -> CodeView<'a> {
        CodeView { text, spans: &[], first_line: 3, marks, file_url: "/f", links_names: false }
    }

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

    #[test]
    fn text_of_a_file_is_never_markup() {
        let marks = Marks::of_query("script");
        let html = block(&view("// <script>alert(\"x\")</script>&\n", &marks)).into_string();
        assert!(!html.contains("<script"), "{html}");
        assert!(
            html.contains("&lt;") && html.contains("<mark>script</mark>") && html.contains("&amp;"),
            "{html}"
        );
    }

    #[test]
    fn names_lead_to_their_uses_on_the_page_of_the_file() {
        let marks = Marks::default();
        let spans = [HighlightedSpan { start: 3, end: 7, highlight: Highlight::Function }];
        let page =
            CodeView { spans: &spans, file_url: "", links_names: true, ..view("fn é_x() {}\n", &marks) };
        let html = block(&page).into_string();
        assert!(html.contains("href=\"?at=3:4#L3\"") && html.contains("id=\"L3\""), "{html}");
        let elsewhere = block(&CodeView { spans: &spans, ..view("fn é_x() {}\n", &marks) }).into_string();
        assert!(elsewhere.contains("href=\"/f#L3\"") && !elsewhere.contains("?at="), "{elsewhere}");
    }
}
