//! Parts that the pages of the catalog share: tabs, verdicts, texts, and how to start a catalog.

use axum::http::StatusCode;
use axum::response::Response;
use maud::{Markup, html};

use super::paths::{CATALOG, CATALOG_CHANGES, CATALOG_CHECKS, CATALOG_GATES, CATALOG_REVIEW, CATALOG_USAGE};
use surfaces::http::pages::frame::{Asker, Frame, PageError, failure, moment, url};

/// The pages of the catalog, with their labels.
const TABS: &[(&str, &str)] = &[
    ("Entries", CATALOG),
    ("Changes", CATALOG_CHANGES),
    ("Usage", CATALOG_USAGE),
    ("Gates", CATALOG_GATES),
    ("Checks", CATALOG_CHECKS),
    ("Review", CATALOG_REVIEW),
];

/// The position of a page of the catalog, and its title.
pub(super) struct CatalogFrame<'a> {
    /// The user who requests the page.
    pub(super) asker: &'a Asker,
    /// The project that the page is about.
    pub(super) project: &'a str,
    /// The address of its tab.
    pub(super) tab: &'a str,
    /// Its title and heading.
    pub(super) title: &'a str,
}

impl CatalogFrame<'_> {
    /// Responds with the page that has this content.
    pub(super) fn respond(&self, status: StatusCode, content: &Markup) -> Response {
        let frame = Frame { section: CATALOG, ..Frame::new(self.asker, self.project, self.title) };
        frame.respond(status, &html! { (self.tabs()) h1 { (self.title) } (content) })
    }

    /// Responds with this content, or with the reason why it is missing.
    pub(super) fn answer(&self, content: Result<Markup, PageError>) -> Response {
        match content {
            Ok(content) => self.respond(StatusCode::OK, &content),
            Err(error) => refused(self.asker, self.project, &error),
        }
    }

    fn tabs(&self) -> Markup {
        html! {
            nav.tabs aria-label="Instructions" {
                @for (label, path) in TABS {
                    a href=(url(path, self.project, &[])) aria-current=[(*path == self.tab).then_some("page")] { (label) }
                }
            }
        }
    }
}

/// Responds with a page that gives the reason of an error.
pub(super) fn refused(asker: &Asker, project: &str, error: &PageError) -> Response {
    failure::page(asker, project, CATALOG, error)
}

/// Explains how to add the first entries to a catalog.
pub(super) fn beginning() -> Markup {
    html! {
        p { "The catalog has no entries yet. On the machine of the server, this takes the rules that a repository has for its agents:" }
        pre.command.text { "MCP_ENABLE_MUTATION=1 pairofcleats instructions import-agents PATH" }
    }
}

/// Renders whether a check passed, as a word that a colour only emphasises.
pub(super) fn verdict(is_good: bool, word: &str) -> Markup {
    html! { @if is_good { span.good { (word) } } @else { strong.wrong { (word) } } }
}

/// Renders a text of the catalog verbatim, because agents read the source text and not a rendered version.
pub(super) fn text(text: &str) -> Markup {
    html! { pre.command.text { (text) } }
}

/// Renders a time; `None` shows nothing.
pub(super) fn time(at: Option<&str>) -> Markup {
    html! { @if let Some(at) = at { (moment(at)) } }
}
