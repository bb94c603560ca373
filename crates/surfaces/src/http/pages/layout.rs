//! Parts that all pages share: head, navigation, search box.

use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use maud::{DOCTYPE, Markup, html};

use super::assets;
use super::data::{Asker, is_of_records};
use super::links::with_parameters;
use super::paths::{
    ADMINISTRATION, CATALOG, CATALOG_TOOL, REPOSITORIES, RUNS, RUNS_TOOL, SEARCH, SIGN_OUT, TRIAGE,
};
use contract::escaped_line;
use gate::tools::browse::LIST_FINDINGS;

pub(super) use super::links::shown_project;

/// The pages that the head of every page links to. A subsystem adds its first page here.
pub(super) static NAVIGATION: &[NavigationLink] = &[
    NavigationLink { label: "Search", path: SEARCH, tool: None },
    NavigationLink { label: "Repositories", path: REPOSITORIES, tool: None },
    NavigationLink { label: "Instructions", path: CATALOG, tool: Some(CATALOG_TOOL) },
    NavigationLink { label: "Triage", path: TRIAGE, tool: Some(LIST_FINDINGS.name) },
    NavigationLink { label: "Runs", path: RUNS, tool: Some(RUNS_TOOL) },
    NavigationLink { label: "Administration", path: ADMINISTRATION, tool: Some("config_status") },
];

/// A link in the head of every page.
pub(super) struct NavigationLink {
    label: &'static str,
    path: &'static str,
    /// The tool or operation that a caller must be able to call to see the link; a link without one is always shown.
    tool: Option<&'static str>,
}

/// The frame around the content of a page.
pub(super) struct Frame<'a> {
    pub(super) title: &'a str,
    pub(super) project: &'a str,
    /// The repository that the page is about, in which the search box of the head searches; empty if the page is not about one.
    pub(super) repository: &'a str,
    /// The page of [`NAVIGATION`] that this one belongs to.
    pub(super) section: &'a str,
    /// The links of [`NAVIGATION`] that the asker may use.
    pub(super) links: Vec<&'static NavigationLink>,
    pub(super) is_signed_in: bool,
    /// `true` to show the search box in the head; a page with a search box of its own omits it.
    pub(super) has_search_box: bool,
    /// The address of a page that shows work in progress: the script reloads the part `data-live`, which has this address, every few
    /// seconds; without scripts the whole page is reloaded. The browser may show another address, that of a form whose answer this is.
    pub(super) live: Option<String>,
}

impl<'a> Frame<'a> {
    /// Creates the frame of a page without a section, with a search box.
    pub(super) fn new(asker: &Asker, project: &'a str, title: &'a str) -> Self {
        Self {
            title,
            project,
            repository: "",
            section: "",
            links: links(|tool| asker.may_call(tool)),
            is_signed_in: asker.is_signed_in,
            has_search_box: true,
            live: None,
        }
    }

    /// Creates the frame of a page for a user who has not signed in yet.
    pub(super) fn signed_out(title: &'a str, section: &'a str) -> Self {
        Self {
            title,
            project: "",
            repository: "",
            section,
            links: links(|_| false),
            is_signed_in: false,
            has_search_box: false,
            live: None,
        }
    }

    /// Responds with the page.
    pub(super) fn respond(&self, status: StatusCode, content: &Markup) -> Response {
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
        let repository = Some(self.repository).filter(|name| !name.is_empty() && !is_of_records(name));
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

/// Returns the links of [`NAVIGATION`] that need no tool, or one that passes the test.
fn links(may_call: impl Fn(&str) -> bool) -> Vec<&'static NavigationLink> {
    NAVIGATION.iter().filter(|link| link.tool.is_none_or(&may_call)).collect()
}

/// Renders the hidden field that keeps the project of a form.
pub(super) fn project_field(project: &str) -> Markup {
    html! { @if !shown_project(project).is_empty() { input type="hidden" name="project" value=(project); } }
}
