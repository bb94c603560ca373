//! Renders tables that scroll by themselves.

use maud::{Markup, html};

/// Renders a table that scrolls by itself if it is too wide; `head` and `rows` are rows of it.
#[must_use]
pub fn table(label: &str, head: &Markup, rows: &Markup) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label=(label) {
            table { thead { tr { (head) } } tbody { (rows) } }
        }
    }
}
