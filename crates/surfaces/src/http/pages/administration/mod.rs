//! Pages for the operator of the server: its health and sizes, the API keys, the audited calls.

pub(super) mod audit;
pub(super) mod keys;
pub(super) mod overview;

use maud::{Markup, html};

use super::data::Asker;

/// The pages of this section, with their labels.
const PAGES: [(&str, &str); 3] =
    [("Health and sizes", overview::PATH), ("API keys", keys::PATH), ("Audited calls", audit::PATH)];

/// Renders links to the other pages of the section. Those that concern all projects are for the operator.
fn tabs(asker: &Asker, here: &str) -> Markup {
    html! {
        nav.tabs aria-label="Administration" {
            @for (label, path) in PAGES {
                @if path == overview::PATH || asker.is_operator() {
                    a href=(path) aria-current=[(path == here).then_some("page")] { (label) }
                }
            }
        }
    }
}
