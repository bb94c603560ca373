//! Pages for the operator of the server: its health and sizes, the API keys, the audited calls.

mod audit;
mod keys;
mod overview;

use axum::routing::{MethodFilter, on};
use maud::{Markup, html};

use super::data::Asker;
use super::page;
use crate::http::route::Route;
use crate::module::NavigationLink;

const GET: MethodFilter = MethodFilter::GET;
const POST: MethodFilter = MethodFilter::POST;

/// The pages of this section.
pub(crate) const PAGES: &[Route] = &[
    page(overview::PATH, GET, |method| on(method, overview::show)),
    page(keys::PATH, GET, |method| on(method, keys::show)),
    page(keys::PATH, POST, |method| on(method, keys::change)),
    page(audit::PATH, GET, |method| on(method, audit::show)),
];

/// The link in the head of every page.
pub(crate) const NAVIGATION: &[NavigationLink] = &[NavigationLink {
    place: 60,
    label: "Administration",
    path: overview::PATH,
    tool: Some("config_status"),
}];

/// The tabs of this section, with their labels.
const TABS: [(&str, &str); 3] =
    [("Health and sizes", overview::PATH), ("API keys", keys::PATH), ("Audited calls", audit::PATH)];

/// Renders links to the other pages of the section. Those that concern all projects are for the operator.
fn tabs(asker: &Asker, here: &str) -> Markup {
    html! {
        nav.tabs aria-label="Administration" {
            @for (label, path) in TABS {
                @if path == overview::PATH || asker.is_operator() {
                    a href=(path) aria-current=[(path == here).then_some("page")] { (label) }
                }
            }
        }
    }
}
