//! `GET /`: the search box, and the results. Without a query, the start page.

use axum::http::StatusCode;
use axum::response::Response;
use languages::highlight::HighlightedSpan;
use maud::{Markup, html};
use serde_json::{Value, json};

use super::answer_notes::{coverage, nothing_indexed, warnings};
use super::data::{Answered, Asker, PageError};
use super::facets::{Narrowed, facets, is_pattern_mode};
use super::layout::{Frame, project_field, shown_project};
use super::links::{Place, search_url, with_parameters};
use super::repository_word::take_repository;
use super::result_colours::colours;
use super::results::{Results, ResultsView};
use super::text::message;
use super::{failure, repositories, suggest};
use crate::http::query::{SentQuery, unique_parameters};
use crate::marks::Marks;
use crate::score::LEGEND;
use contract::{ErrorCode, echo};
use engine::search::slashed_query;
use gate::tools::browse::SEARCH_PAGE;

pub(super) use super::paths::SEARCH as PATH;

/// Number of hits on a page.
const HITS: usize = 20;
/// Number of matching lines on a page.
const LINES: usize = 100;
/// Number of repositories that the start page names; the page of repositories lists all.
const REPOSITORIES_SHOWN: usize = 30;

/// The ways in which the words in the box are interpreted, with the label of the choice.
const MODES: &[(&str, &str)] = &[
    ("", "code and prose"),
    ("code", "code"),
    ("prose", "prose"),
    ("extracted-prose", "comments"),
    ("exact", "exact text"),
    ("regex", "regular expression"),
    ("records", "findings and rules"),
];

/// Example queries that show what the box understands.
const EXAMPLES: &[(&str, &str)] = &[
    ("where are errors turned into responses", "a question"),
    ("parse_config", "a name"),
    ("retry lang:rust -test", "words with filters"),
    ("type:function async:true", "only filters"),
    ("/TODO|FIXME/", "a regular expression between slashes"),
];

/// The state of the page, which its address encodes.
#[derive(Debug, Default, Clone)]
struct SearchState {
    query: String,
    project: String,
    repository: String,
    mode: String,
    is_case_sensitive: bool,
    is_explained: bool,
    offset: usize,
}

impl SearchState {
    /// Reads the query string. An empty parameter counts as absent, because a form sends its empty fields.
    fn read(sent: SentQuery, asker: &Asker) -> Result<Self, PageError> {
        let mut state = Self { project: asker.default_project().to_owned(), ..Self::default() };
        for (name, value) in unique_parameters(sent)? {
            if value.is_empty() {
                continue;
            }
            match name.as_str() {
                "q" => state.query = value,
                "project" => state.project = value,
                "repo" => state.repository = value,
                "mode" if MODES.iter().any(|(mode, _)| *mode == value) => state.mode = value,
                "case" => state.is_case_sensitive = true,
                "explain" => state.is_explained = true,
                "offset" => {
                    let refused = || PageError::new(ErrorCode::InvalidRequest, "`offset` must be a number.");
                    state.offset = value.parse().map_err(|_| refused())?;
                }
                _ => {
                    let message = format!("The page has no parameter `{}` with that value.", echo(&name));
                    return Err(PageError::new(ErrorCode::InvalidRequest, message));
                }
            }
        }
        if !is_pattern_mode(&state.mode)
            && let Some((query, repository)) = take_repository(&state.query)
        {
            (state.query, state.repository) = (query, repository);
        }
        Ok(state)
    }

    /// Returns `true` if the answer has lines instead of hits.
    fn is_exact(&self) -> bool {
        is_pattern_mode(&self.mode) || slashed_query(&self.query).is_some()
    }

    fn arguments(&self) -> Value {
        let mut arguments = json!({
            "query": self.query,
            "project_id": self.project,
            "repoPath": if self.repository.is_empty() { "*" } else { &self.repository },
            "top": if self.is_exact() { LINES } else { HITS },
            "offset": self.offset,
        });
        match self.mode.as_str() {
            "" => {}
            "regex" => arguments["regex"] = true.into(),
            mode => arguments["mode"] = mode.into(),
        }
        if self.is_case_sensitive {
            arguments["case"] = true.into();
        }
        if self.is_explained {
            arguments["explain"] = true.into();
        }
        arguments
    }

    fn url(&self) -> String {
        let flag = |is_set: bool| if is_set { "1" } else { "" };
        let offset = if self.offset == 0 { String::new() } else { self.offset.to_string() };
        with_parameters(
            PATH,
            &[
                ("q", &self.query),
                ("project", shown_project(&self.project)),
                ("repo", &self.repository),
                ("mode", &self.mode),
                ("case", flag(self.is_case_sensitive)),
                ("explain", flag(self.is_explained)),
                ("offset", &offset),
            ],
        )
    }

    /// Returns the first page of a search with an additional condition.
    fn narrowed(&self, Narrowed { query, mode, repository }: Narrowed) -> Self {
        let repository = repository.unwrap_or_else(|| self.repository.clone());
        Self { query, mode, repository, offset: 0, ..self.clone() }
    }

    /// Returns the words to mark in the results.
    fn marks(&self) -> Marks {
        Marks::of_search(&self.query, &self.mode, self.is_case_sensitive)
    }
}

/// `GET /`.
pub(super) async fn show(asker: Asker, sent: SentQuery) -> Response {
    let state = match SearchState::read(sent, &asker) {
        Ok(state) => state,
        Err(error) => return failure::page(&asker, asker.default_project(), PATH, &error),
    };
    let title = if state.query.is_empty() { "Search" } else { &state.query };
    let frame = Frame { section: PATH, has_search_box: false, ..Frame::new(&asker, &state.project, title) };
    if state.query.is_empty() {
        let (known, projects) = tokio::join!(asker.repositories(&state.project), asker.projects());
        let known = known.unwrap_or_default();
        let content = html! { (search_form(&state, &known)) (beginning(&state, &known, &projects)) };
        return frame.respond(StatusCode::OK, &content);
    }
    let (answered, known) = tokio::join!(
        asker.operation::<Results>(SEARCH_PAGE, state.arguments()),
        asker.repositories(&state.project)
    );
    // Without the names the results are still useful.
    let known = known.unwrap_or_default();
    let (status, found) = match &answered {
        Ok(answered) => {
            let results = &answered.result;
            let colours = colours(&asker, &results.parts(), &results.sources).await;
            (StatusCode::OK, found(&asker, &state, answered, &known, &colours))
        }
        Err(error) if error.is_unindexed() => unindexed(&asker, &state, error, &known).await,
        Err(error) => (error.status, failure::note(error)),
    };
    frame.respond(status, &html! { (search_form(&state, &known)) (found) })
}

fn search_form(state: &SearchState, repositories: &[String]) -> Markup {
    html! {
        h1.unseen { "Search" }
        form.search role="search" action=(PATH) {
            (project_field(&state.project))
            div.box {
                input type="text" inputmode="search" enterkeyhint="search" name="q" id="q" value=(state.query)
                    aria-label="Search code" autocomplete="off"
                    spellcheck="false" autocapitalize="none" maxlength="8192" autofocus[state.query.is_empty()]
                    placeholder="A question, a name, or words with filters" data-suggest=(suggest::PATH);
                button { "Search" }
            }
            // The script fills it while the user types.
            ul.suggestions id="suggestions" role="listbox" aria-label="Suggestions" hidden {}
            div.options {
                label {
                    "in "
                    select name="repo" {
                        option value="" { "all repositories" }
                        @for name in repositories { option selected[*name == state.repository] { (name) } }
                        @if !state.repository.is_empty() && !repositories.contains(&state.repository) {
                            option selected { (state.repository) }
                        }
                    }
                }
                label {
                    "look for "
                    select name="mode" {
                        @for (mode, label) in MODES { option value=(mode) selected[*mode == state.mode] { (label) } }
                    }
                }
                label { input type="checkbox" name="case" value="1" checked[state.is_case_sensitive]; " match case" }
                label { input type="checkbox" name="explain" value="1" checked[state.is_explained]; " explain the order" }
            }
        }
    }
}

fn found(
    asker: &Asker,
    state: &SearchState,
    answered: &Answered<Results>,
    known: &[String],
    colours: &[Vec<HighlightedSpan>],
) -> Markup {
    let Answered { result, meta } = answered;
    let marks = state.marks();
    let searched: Vec<&String> =
        known.iter().filter(|name| asker.is_of_records(name) == (state.mode == "records")).collect();
    let repository = match searched[..] {
        [only] if state.repository.is_empty() => only,
        _ => &state.repository,
    };
    let view = ResultsView { project: &state.project, repository, marks: &marks, colours };
    let took = meta.duration_ms.unwrap_or_default().round();
    html! {
        p.summary role="status" { (summary(result)) " in " (took) " ms" }
        (warnings(&meta.warnings))
        (coverage(meta.coverage.as_ref()))
        @if state.is_explained { p.dim { (LEGEND) } }
        @if matches!(result.confidence.as_deref(), Some("low" | "none")) {
            p.note {
                "The answer is probably not here."
                @if !result.did_you_mean.is_empty() {
                    " Names that are spelled alike: "
                    @for (at, name) in result.did_you_mean.iter().enumerate() {
                        @if at > 0 { ", " }
                        a href=(search_url(&state.project, name)) { (name) }
                    }
                }
            }
        }
        (facets(&result.facets, (&state.query, &state.mode), |narrowed| state.narrowed(narrowed).url()))
        @match &result.matches {
            Some(matches) => (view.lines(matches)),
            None => (view.hits(&result.hits)),
        }
        (pages(state, result.next_offset))
    }
}

fn summary(result: &Results) -> String {
    let at_least = if result.total_relation.is_some() { "at least " } else { "" };
    match &result.matches {
        Some(matches) => {
            let (lines, files) =
                (counted(result.total, "matching line"), counted(matches.total_files, "file"));
            format!("{at_least}{lines} in {files}")
        }
        None if result.hits.is_empty() => "Nothing was found".to_owned(),
        None => {
            let hits = counted(result.hits.len(), "hit");
            format!("{hits}, the best first, of {at_least}{}", result.total)
        }
    }
}

/// Formats a number with the noun that it counts.
fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

fn pages(state: &SearchState, next: Option<usize>) -> Markup {
    let page = if state.is_exact() { LINES } else { HITS };
    let at = |offset: usize| SearchState { offset, ..state.clone() }.url();
    html! {
        nav.pages aria-label="Pages of results" {
            @if state.offset > 0 { a rel="prev" href=(at(state.offset.saturating_sub(page))) { "← Previous" } }
            @if let Some(next) = next { a rel="next" href=(at(next)) { "Next →" } }
        }
    }
}

/// Renders the page before the first query.
fn beginning(state: &SearchState, repositories: &[String], projects: &[String]) -> Markup {
    let project = state.project.as_str();
    html! {
        section.columns {
            div {
                h2 { "What you can ask" }
                ul.plain {
                    @for (query, what) in EXAMPLES {
                        li { a href=(search_url(project, query)) { code { (query) } } " " span.dim { (what) } }
                    }
                }
            }
            div {
                h2 { "Repositories" }
                @if !is_known_project(project, projects) {
                    p { "There is no project " code { (project) } ", or nothing has been indexed in it yet." }
                    p { a href=(repositories::PATH) { "See what is indexed" } }
                } @else if repositories.is_empty() {
                    (nothing_indexed())
                } @else {
                    ul.plain {
                        @for name in repositories.iter().take(REPOSITORIES_SHOWN) {
                            li { a href=(Place { project, repository: name, path: "" }.folder()) { bdi { (name) } } }
                        }
                    }
                    p { a href=(repositories::url(project)) { "How fresh they are" } }
                }
                @if projects.len() > 1 {
                    h2 { "Projects" }
                    ul.plain {
                        @for id in projects {
                            li {
                                a href=(with_parameters(PATH, &[("project", id)])) aria-current=[(id == project).then_some("true")] { (id) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Explains why there are no results: nothing is indexed yet, or the address names something that is not indexed.
async fn unindexed(
    asker: &Asker,
    state: &SearchState,
    error: &PageError,
    known: &[String],
) -> (StatusCode, Markup) {
    let is_known = is_known_project(&state.project, &asker.projects().await);
    if is_known && known.iter().all(|name| asker.is_of_records(name)) {
        let content = html! { div.note { p { (message(&error.message)) } } (nothing_indexed()) };
        return (StatusCode::OK, content);
    }
    let indexed = if is_known { repositories::url(&state.project) } else { repositories::PATH.to_owned() };
    let content = html! { (failure::note(error)) p { a href=(indexed) { "See what is indexed" } } };
    (error.status, content)
}

/// Checks whether a project is among those of the asker. The default workspace is available to everyone, even if it is empty.
fn is_known_project(project: &str, projects: &[String]) -> bool {
    shown_project(project).is_empty() || projects.iter().any(|id| id == project)
}
