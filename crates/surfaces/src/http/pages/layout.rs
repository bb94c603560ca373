//! Parts that all pages share: head, navigation, search box.

use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use maud::{DOCTYPE, Markup, html};

use super::assets;
use super::data::Asker;
use super::links::with_parameters;
use super::paths::{SEARCH, SIGN_OUT};
use crate::module::{Modules, NavigationLink};
use contract::escaped_line;

pub use super::links::shown_project;

/// The frame around the content of a page.
pub struct Frame<'a> {
    /// The title.
    pub title: &'a str,
    /// The project that the page is about.
    pub project: &'a str,
    /// The repository that the page is about, in which the search box of the head searches; empty if the page is not about one.
    pub repository: &'a str,
    /// The page of the navigation that this one belongs to.
    pub section: &'a str,
    /// The modules, whose links the head shows.
    pub modules: &'static Modules,
    /// The links that the asker may use.
    pub links: Vec<&'static NavigationLink>,
    /// `true` if the browser has signed in, so that it can sign out.
    pub is_signed_in: bool,
    /// `true` to show the search box in the head; a page with a search box of its own omits it.
    pub has_search_box: bool,
    /// The address of a page that shows work in progress: the script reloads the part `data-live`, which has this address, every few
    /// seconds; without scripts the whole page is reloaded. The browser may show another address, that of a form whose answer this is.
    pub live: Option<String>,
}

impl<'a> Frame<'a> {
    /// Creates the frame of a page without a section, with a search box.
    #[must_use]
    pub fn new(asker: &Asker, project: &'a str, title: &'a str) -> Self {
        Self {
            title,
            project,
            repository: "",
            section: "",
            modules: asker.modules,
            links: links(asker.modules, |tool| asker.may_call(tool)),
            is_signed_in: asker.is_signed_in,
            has_search_box: true,
            live: None,
        }
    }

    /// Creates the frame of a page for a user who has not signed in yet.
    pub(super) fn signed_out(modules: &'static Modules, title: &'a str, section: &'a str) -> Self {
        Self {
            title,
            project: "",
            repository: "",
            section,
            modules,
            links: links(modules, |_| false),
            is_signed_in: false,
            has_search_box: false,
            live: None,
        }
    }

    /// Responds with the page.
    #[must_use]
    pub fn respond(&self, status: StatusCode, content: &Markup) -> Response {
        (status, Html(self.page(content).into_string())).into_response()
    }

    fn page(&self, content: &Markup) -> Markup {
        let in_project = |path: &str| with_parameters(path, &[("project", shown_project(self.project))]);
        html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    @if let Some(address) = &self.live { noscript { meta http-equiv="refresh" content={ "3; url=" (address) }; } }
                    title { (escaped_line(self.title)) " · PairOfCleats" }
                    link rel="stylesheet" href=(assets::STYLE.url());
                    link rel="icon" href=(assets::ICON.url()) type="image/svg+xml";
                    script src=(assets::SCRIPT.url()) defer {}
                }
                body {
                    a.skip href="#content" { "Skip to the content" }
                    header.top {
                        a.brand href=(in_project(SEARCH)) { "PairOfCleats" }
                        @if self.has_search_box { (self.search_box()) }
                        nav aria-label="Pages" {
                            @for link in &self.links {
                                a href=(in_project(link.path)) aria-current=[(link.path == self.section).then_some("page")] {
                                    (link.label)
                                }
                            }
                            @if self.is_signed_in {
                                form method="post" action=(SIGN_OUT) { button.link { "Sign out" } }
                            }
                        }
                    }
                    main id="content" { (content) }
                }
            }
        }
    }

    fn search_box(&self) -> Markup {
        // Records are searched in a mode of their own, which the box of the head does not offer.
        let repository =
            Some(self.repository).filter(|name| !name.is_empty() && !self.modules.is_of_records(name));
        let label = repository.map_or_else(|| "Search code".to_owned(), |name| format!("Search in {name}"));
        html! {
            form.small role="search" action=(SEARCH) {
                (project_field(self.project))
                @if let Some(name) = repository { input type="hidden" name="repo" value=(name); }
                input type="search" name="q" id="q" aria-label=(label) placeholder=(label) autocomplete="off"
                    spellcheck="false";
            }
        }
    }
}

/// Returns the links that need no tool, or one that passes the test.
fn links(modules: &Modules, may_call: impl Fn(&str) -> bool) -> Vec<&'static NavigationLink> {
    modules.navigation().into_iter().filter(|link| link.tool.is_none_or(&may_call)).collect()
}

/// Renders the hidden field that keeps the project of a form.
#[must_use]
pub fn project_field(project: &str) -> Markup {
    html! { @if !shown_project(project).is_empty() { input type="hidden" name="project" value=(project); } }
}
