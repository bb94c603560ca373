//! Draws a symbol between its callers and its callees, as boxes that are links.

use maud::{Markup, html};

/// Number of boxes in a column; the lists below contain the rest.
pub(super) const NEIGHBOURS_MAX: usize = 8;
/// Number of letters of a name in a box.
const LETTERS_MAX: usize = 30;

const BOX: (usize, usize) = (250, 26);
const ROW: usize = 36;
const COLUMNS: [usize; 3] = [0, 305, 610];

/// A symbol in the drawing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Neighbour {
    /// The name of the symbol, or that of its file.
    pub(super) name: String,
    /// The page about the symbol.
    pub(super) url: String,
}

/// Renders the drawing; empty if there are no neighbours.
pub(super) fn graph(symbol: &str, callers: &[Neighbour], callees: &[Neighbour]) -> Markup {
    let rows = callers.len().max(callees.len()).min(NEIGHBOURS_MAX);
    if rows == 0 {
        return html! {};
    }
    let height = rows * ROW;
    let (width, half) = (COLUMNS[2] + BOX.0, BOX.1 / 2);
    let middle = height / 2;
    html! {
        div.scroll {
            svg.graph viewBox=(format!("0 0 {width} {height}")) width=(width) height=(height) role="group"
                aria-label="Callers, the symbol, and what it calls" {
                @for (column, neighbours) in [(0, callers), (2, callees)] {
                    @for (row, neighbour) in neighbours.iter().take(rows).enumerate() {
                        // A short column is centred vertically.
                        @let top = row * ROW + (rows - neighbours.len().min(rows)) * ROW / 2 + (ROW - BOX.1) / 2;
                        @let (from, to) = match column {
                            0 => ((BOX.0, top + half), (COLUMNS[1], middle)),
                            _ => ((COLUMNS[1] + BOX.0, middle), (COLUMNS[2], top + half)),
                        };
                        path d=(curve(from, to)) {}
                        a href=(neighbour.url) { (labelled_box(COLUMNS[column], top, &neighbour.name)) }
                    }
                }
                g.centre { (labelled_box(COLUMNS[1], middle - half, symbol)) }
            }
        }
    }
}

/// Draws a curve that starts and ends horizontally.
fn curve(from: (usize, usize), to: (usize, usize)) -> String {
    let bend = from.0.midpoint(to.0);
    format!("M{} {}C{bend} {},{bend} {},{} {}", from.0, from.1, from.1, to.1, to.0, to.1)
}

fn labelled_box(left: usize, top: usize, name: &str) -> Markup {
    html! {
        title { (name) }
        rect x=(left) y=(top) width=(BOX.0) height=(BOX.1) rx="5" {}
        text x=(left + 10) y=(top + 18) { (shortened(name)) }
    }
}

/// Shortens a name at its beginning, because its end is more informative.
fn shortened(name: &str) -> String {
    let letters = name.chars().count();
    if letters <= LETTERS_MAX {
        return name.to_owned();
    }
    let end: String = name.chars().skip(letters + 1 - LETTERS_MAX).collect();
    format!("…{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_neighbour_is_a_link_and_names_are_text() {
        let neighbour =
            |name: &str| Neighbour { name: name.to_owned(), url: format!("/symbol?symbol={name}") };
        let many: Vec<Neighbour> = (0..20).map(|at| neighbour(&format!("f{at}"))).collect();
        let html = graph("<b>", &many, &[neighbour("one")]).into_string();
        assert_eq!(html.matches("<a href=").count(), NEIGHBOURS_MAX + 1);
        assert!(html.contains("&lt;b&gt;") && !html.contains("<b>"), "{html}");
        assert_eq!(graph("alone", &[], &[]).into_string(), "");
    }

    #[test]
    fn long_names_keep_their_end() {
        let long = format!("{}::end", "é".repeat(40));
        assert!(shortened(&long).ends_with("::end") && shortened(&long).chars().count() == LETTERS_MAX);
        assert_eq!(shortened("short"), "short");
    }
}
