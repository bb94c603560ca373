//! Renders source code as HTML: line numbers that are links, syntax colours, marked words.

use std::collections::BTreeMap;

use languages::highlight::{Highlight, HighlightedLine, HighlightedSpan, by_line};
use maud::{Markup, html};

use super::links::line_of;
use crate::code_pieces::{Piece, pieces};
use crate::marks::Marks;

/// Code to show.
pub(super) struct CodeView<'a> {
    pub(super) text: &'a str,
    /// The coloured parts of the code.
    pub(super) spans: &'a [HighlightedSpan],
    /// Number of the first line, 1-based.
    pub(super) first_line: u32,
    pub(super) marks: &'a Marks,
    /// The page of the file, to which line numbers link; empty on that page itself.
    pub(super) file_url: &'a str,
    /// `true` if names of functions and types link to their definitions and uses; only on the page of the file.
    pub(super) links_names: bool,
    /// The notes above a line, by its number.
    pub(super) notes: &'a BTreeMap<u32, Vec<String>>,
}

/// No notes.
pub(super) static NO_NOTES: &BTreeMap<u32, Vec<String>> = &BTreeMap::new();

/// Renders the lines in a scrolling block.
pub(super) fn block(view: &CodeView<'_>) -> Markup {
    block_with_authors(view, &BTreeMap::new())
}

/// Renders the same with a column of authors: labels, by the line that each is beside.
pub(super) fn block_with_authors(view: &CodeView<'_>, authors: &BTreeMap<u32, Markup>) -> Markup {
    html! {
        pre.code.authors[!authors.is_empty()] tabindex="0" dir="ltr" {
            @for (number, line) in (view.first_line..).zip(by_line(view.text, view.spans)) {
                @for note in view.notes.get(&number).into_iter().flatten() { span.above { (note) "\n" } }
                // Outside of the line, whose text is that of the file.
                @if let Some(label) = authors.get(&number) { (label) }
                (self::line(view, number, &line))
            }
        }
    }
}

fn line(view: &CodeView<'_>, number: u32, line: &HighlightedLine<'_>) -> Markup {
    let text = line.text;
    let pieces = pieces(text.len(), &line.spans, &view.marks.within(text));
    // On its own page a line has an id to jump to.
    let is_own_page = view.file_url.is_empty();
    let id = is_own_page.then(|| format!("L{number}"));
    let address = if is_own_page { format!("#L{number}") } else { line_of(view.file_url, number) };
    html! {
        span.l id=[id] {
            // The Tab key skips blank lines.
            a.n href=(address) tabindex=[text.trim().is_empty().then_some("-1")] { (number) }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn view<'a>(text: &'a str, marks: &'a Marks) -> CodeView<'a> {
        CodeView {
            text,
            spans: &[],
            first_line: 3,
            marks,
            file_url: "/f",
            links_names: false,
            notes: NO_NOTES,
        }
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
