//! `GET /catalog`: the entries, all of them or those of a category, and those that a search finds.

use axum::http::StatusCode;
use axum::response::Response;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::{Value, json};

use super::answers::Entry;
use super::entry_address;
use super::frame::{CatalogFrame, beginning, refused, time};
use super::paths::CATALOG_TOOL;
use contract::ErrorCode;
use surfaces::http::pages::frame::{
    Answered, Asker, PageError, Parameters, failure, message, project_field, table, url, warnings,
};
use surfaces::http::routing::SentQuery;

pub(super) use super::paths::CATALOG as PATH;

/// Number of entries on a page; fewer if they are long, because answers have a size limit.
const ENTRIES: usize = 100;
/// Number of entries that a search finds.
const FOUND: usize = 50;

/// The ways in which a search interprets its words, with the label of the choice.
const READINGS: &[(&str, &str)] = &[("meaning", "are about it"), ("text", "contain it")];

/// The state of the page, which its address encodes.
struct EntriesState {
    project: String,
    category: Option<String>,
    /// Shows only entries after this id.
    after: Option<String>,
    query: String,
    by_meaning: bool,
}

impl EntriesState {
    fn read(asker: &Asker, sent: SentQuery) -> Result<Self, PageError> {
        let parameters = Parameters::read(asker, sent, &["category", "after", "q", "by"])?;
        let owned = |name: &str| parameters.get(name).map(str::to_owned);
        let state = Self {
            category: owned("category"),
            after: owned("after"),
            query: owned("q").unwrap_or_default(),
            by_meaning: parameters.get("by") != Some("text"),
            project: parameters.project.clone(),
        };
        if !state.query.is_empty() && (state.category.is_some() || state.after.is_some()) {
            let message = "A search goes over all entries: leave `category` and `after` out.";
            return Err(PageError::new(ErrorCode::InvalidRequest, message));
        }
        if parameters.get("by").is_some_and(|by| READINGS.iter().all(|(known, _)| *known != by)) {
            let message = "The parameter `by` of this page is `meaning` or `text`.";
            return Err(PageError::new(ErrorCode::InvalidRequest, message));
        }
        Ok(state)
    }

    fn is_search(&self) -> bool {
        !self.query.is_empty()
    }

    /// Returns the tool that answers, and its arguments.
    fn call(&self) -> (&'static str, Value) {
        let project = &self.project;
        if self.is_search() {
            let arguments = json!({ "q": self.query, "semantic": self.by_meaning, "limit": FOUND, "project_id": project });
            return ("instructions_search", arguments);
        }
        let (category, cursor) = (&self.category, &self.after);
        let arguments = json!({
            "category": category, "cursor": cursor, "limit": ENTRIES, "fields": "full", "project_id": project,
        });
        (CATALOG_TOOL, arguments)
    }
}

/// The answer of `instructions_list` and of `instructions_search`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Listed {
    hash: String,
    /// The number of matching entries on all pages.
    count: usize,
    items: Vec<Entry>,
    next_cursor: Option<String>,
}

/// `GET /catalog`.
pub(super) async fn show(asker: Asker, sent: SentQuery) -> Response {
    let state = match EntriesState::read(&asker, sent) {
        Ok(state) => state,
        Err(error) => return refused(&asker, asker.default_project(), &error),
    };
    let frame = CatalogFrame { asker: &asker, project: &state.project, tab: PATH, title: "Instructions" };
    let (tool, arguments) = state.call();
    match asker.tool::<Listed>(tool, arguments).await {
        Ok(answered) => {
            frame.respond(StatusCode::OK, &html! { (forms(&state)) (content(&state, &answered)) })
        }
        Err(error) if error.is_unindexed() => {
            let content = html! { div.note { p { (message(&error.message)) } } (beginning()) };
            frame.respond(StatusCode::OK, &content)
        }
        // Keeps the user's input.
        Err(error) if state.is_search() && asker.may_call(tool) => {
            frame.respond(error.status, &html! { (forms(&state)) (failure::note(&error)) })
        }
        Err(error) => refused(&asker, &state.project, &error),
    }
}

/// Renders the two ways to choose entries: a search, and a category.
fn forms(state: &EntriesState) -> Markup {
    html! {
        form.search role="search" action=(PATH) {
            (project_field(&state.project))
            div.box {
                input type="search" name="q" value=(state.query) aria-label="Search instructions" autocomplete="off"
                    spellcheck="false" maxlength="8192" placeholder="What the instruction is about";
                button { "Search" }
            }
            div.options {
                label {
                    "entries that "
                    select name="by" {
                        @for (reading, label) in READINGS {
                            option value=(reading) selected[(*reading == "meaning") == state.by_meaning] { (label) }
                        }
                    }
                }
            }
        }
        form.options action=(PATH) {
            (project_field(&state.project))
            label { "Category " input name="category" value=(state.category.as_deref().unwrap_or_default()) maxlength="255"; }
            button { "Show" }
        }
    }
}

fn content(state: &EntriesState, answered: &Answered<Listed>) -> Markup {
    let listed = &answered.result;
    let is_empty_catalog = listed.count == 0 && !state.is_search() && state.category.is_none();
    html! {
        (summary(state, listed))
        (warnings(&answered.meta.warnings))
        @if is_empty_catalog { (beginning()) }
        @if !listed.items.is_empty() { (entries(&state.project, "Instructions", &listed.items)) }
        @if state.is_search() && listed.items.len() < listed.count {
            p.note { "Only the first " (listed.items.len()) " are shown; search for more words." }
        }
        (pages(state, listed))
    }
}

fn summary(state: &EntriesState, listed: &Listed) -> Markup {
    html! {
        p.summary role="status" {
            (listed.count) @if listed.count == 1 { " entry" } @else { " entries" }
            @if let Some(category) = &state.category { " in the category " strong { (category) } }
            @if state.category.is_some() || state.is_search() {
                " · " a href=(url(PATH, &state.project, &[])) { "all entries" }
            }
            " · catalog " code title="SHA-256 of the catalog" { (listed.hash.get(..12).unwrap_or_default()) }
        }
    }
}

/// Renders a table of entries, each with a link to its page.
pub(super) fn entries(project: &str, label: &str, entries: &[Entry]) -> Markup {
    let has_scores = entries.iter().any(|entry| entry.score.is_some());
    let head = html! {
        th scope="col" { "Instruction" } th scope="col" { "Requirement" } th.number scope="col" { "Priority" }
        th scope="col" { "Categories" } th scope="col" { "Changed" } th.number scope="col" { "Used" }
        @if has_scores { th.number scope="col" { "Score" } }
    };
    let rows = html! {
        @for entry in entries {
            tr {
                td { a href=(entry_address::url(project, &entry.id)) { bdi { (entry.title) } } br; code.dim { (entry.id) } }
                td { (entry.requirement) }
                td.number { (entry.priority) }
                td { (categories(project, &entry.categories)) }
                td { (time(entry.updated_at.as_deref())) }
                td.number { (entry.usage_count.unwrap_or_default()) }
                @if has_scores { td.number { @if let Some(score) = entry.score { (format!("{score:.2}")) } } }
            }
        }
    };
    table(label, &head, &rows)
}

/// Renders the categories of an entry, each with a link to its entries.
pub(super) fn categories(project: &str, categories: &[String]) -> Markup {
    html! {
        @for (at, category) in categories.iter().enumerate() {
            @if at > 0 { ", " }
            a href=(url(PATH, project, &[("category", category)])) { bdi { (category) } }
        }
    }
}

fn pages(state: &EntriesState, listed: &Listed) -> Markup {
    let category = state.category.as_deref().unwrap_or_default();
    let at = |after: &str| url(PATH, &state.project, &[("category", category), ("after", after)]);
    html! {
        @if state.after.is_some() || listed.next_cursor.is_some() {
            nav.pages aria-label="Pages of entries" {
                @if state.after.is_some() { a href=(at("")) { "← From the beginning" } }
                @if let Some(last) = &listed.next_cursor { a rel="next" href=(at(last)) { "Further entries →" } }
            }
        }
    }
}
