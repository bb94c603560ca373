//! `GET /symbol`: shows where a symbol is defined and used, with the evidence for each place; the same as a panel beside a file.

use axum::http::StatusCode;
use axum::response::Response;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer_notes::{coverage, warnings};
use super::data::{Asker, PageError};
use super::failure;
use super::layout::{Frame, shown_project};
use super::links::{Place, similar_url, with_parameters};
use super::symbol_graph::{NEIGHBOURS_MAX, Neighbour, graph};
use super::text::moment;
use crate::http::query::{SentQuery, unique_parameters};
use contract::{ErrorCode, echo};
use gate::tools::browse::{FILE_FACTS, KnownFile};

pub(super) const PATH: &str = "/symbol";

/// Number of places on a page.
const PLACES: usize = 200;
/// Number of places in a panel, and of those that are considered for a drawing.
const PANEL_PLACES: usize = 40;

/// The relations of a symbol that can be requested, with their labels.
const RELATIONS: &[(&str, &str)] = &[
    ("references", "Uses"),
    ("callers", "Callers"),
    ("callees", "Calls"),
    ("implementations", "Implementations"),
    ("hierarchy", "Hierarchy"),
    ("impact", "Impact of a change"),
    ("definition", "Definition"),
];

/// Returns the page of a name.
pub(super) fn url(project: &str, repository: &str, name: &str) -> String {
    with_parameters(PATH, &[("symbol", name), ("repo", repository), ("project", shown_project(project))])
}

/// The answer of `navigate`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Navigated {
    symbol: Option<SymbolInfo>,
    #[serde(default)]
    candidates: Vec<SymbolInfo>,
    files: Vec<FilePlaces>,
    total: usize,
    total_relation: Option<String>,
    next_offset: Option<usize>,
}

#[derive(Debug, Deserialize)]
struct SymbolInfo {
    qualified: String,
    kind: String,
    signature: Option<String>,
    repo: String,
    file: String,
    line: u32,
    column: u32,
    uses: Option<usize>,
}

#[derive(Debug, Deserialize)]
struct FilePlaces {
    repo: Option<String>,
    file: String,
    places: Vec<UsePlace>,
}

#[derive(Debug, Deserialize)]
struct UsePlace {
    line: u32,
    kind: String,
    name: Option<String>,
    #[serde(rename = "in")]
    within: Option<String>,
    certainty: Option<String>,
    candidates: Option<usize>,
    distance: Option<i32>,
    text: Option<String>,
}

/// The state of the page, which its address encodes: a symbol by its name, or by a place.
#[derive(Debug, Default, Clone)]
struct SymbolState {
    project: String,
    repository: String,
    symbol: String,
    file: String,
    line: String,
    column: String,
    relation: String,
    certainty: String,
    offset: String,
}

impl SymbolState {
    fn read(sent: SentQuery, asker: &Asker) -> Result<Self, PageError> {
        let mut state = Self { project: asker.default_project().to_owned(), ..Self::default() };
        for (name, value) in unique_parameters(sent)? {
            let field = match name.as_str() {
                "project" => &mut state.project,
                "repo" => &mut state.repository,
                "symbol" => &mut state.symbol,
                "file" => &mut state.file,
                "line" => &mut state.line,
                "column" => &mut state.column,
                "relation" => &mut state.relation,
                "certainty" => &mut state.certainty,
                "offset" => &mut state.offset,
                _ => {
                    let message = format!("The page has no parameter `{}`.", echo(&name));
                    return Err(PageError::new(ErrorCode::InvalidRequest, message));
                }
            };
            if !value.is_empty() {
                *field = value;
            }
        }
        Ok(state)
    }

    /// Returns the arguments of `navigate`. A text that is not a number stays one, so that the gate reports the error.
    fn arguments(&self, limit: usize) -> Value {
        let mut arguments = json!({ "project_id": self.project, "limit": limit });
        let texts = [
            ("repoPath", &self.repository),
            ("symbol", &self.symbol),
            ("file", &self.file),
            ("relation", &self.relation),
            ("certainty", &self.certainty),
        ];
        let numbers = [("line", &self.line), ("column", &self.column), ("offset", &self.offset)];
        for (name, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
            arguments[name] = text.as_str().into();
        }
        for (name, text) in numbers.into_iter().filter(|(_, text)| !text.is_empty()) {
            arguments[name] = text.parse::<i64>().map_or_else(|_| text.as_str().into(), Value::from);
        }
        arguments
    }

    fn url(&self) -> String {
        with_parameters(
            PATH,
            &[
                ("symbol", &self.symbol),
                ("file", &self.file),
                ("line", &self.line),
                ("column", &self.column),
                ("repo", &self.repository),
                ("project", shown_project(&self.project)),
                ("relation", &self.relation),
                ("certainty", &self.certainty),
                ("offset", &self.offset),
            ],
        )
    }

    /// Returns the state for a definition.
    fn of(&self, symbol: &SymbolInfo) -> Self {
        Self {
            repository: symbol.repo.clone(),
            symbol: String::new(),
            file: symbol.file.clone(),
            line: symbol.line.to_string(),
            column: symbol.column.to_string(),
            offset: String::new(),
            ..self.clone()
        }
    }

    fn with_relation(&self, relation: &str) -> Self {
        Self { relation: relation.to_owned(), offset: String::new(), ..self.clone() }
    }
}

/// `GET /symbol`.
pub(super) async fn show(asker: Asker, sent: SentQuery) -> Response {
    let state = match SymbolState::read(sent, &asker) {
        Ok(state) => state,
        Err(error) => return failure::page(&asker, asker.default_project(), "", &error),
    };
    match asker.tool::<Navigated>("navigate", state.arguments(PLACES)).await {
        Ok(answered) => {
            let (found, coverage) = (answered.result, coverage(answered.meta.coverage.as_ref()));
            let title = found.symbol.as_ref().map_or(state.symbol.as_str(), |symbol| &symbol.qualified);
            let picture = match &found.symbol {
                Some(symbol) => {
                    let of_symbol = state.of(symbol);
                    let (origin, picture) = tokio::join!(
                        origin(&asker, &state.project, symbol),
                        picture(&asker, &of_symbol, symbol)
                    );
                    html! { (origin) (picture) }
                }
                None => html! {},
            };
            let frame = Frame::new(&asker, &state.project, title);
            let said = warnings(&answered.meta.warnings);
            let content = html! { h1 { (title) } (said) (coverage) (answer(&state, &found, &picture)) };
            frame.respond(StatusCode::OK, &content)
        }
        Err(error) => failure::page(&asker, &state.project, "", &error),
    }
}

/// Renders what is known about the name at a line and column of a file, to be shown beside it.
pub(super) async fn panel(asker: &Asker, place: &Place<'_>, (line, column): (u32, u32)) -> Markup {
    let state = SymbolState {
        project: place.project.to_owned(),
        repository: place.repository.to_owned(),
        file: place.path.to_owned(),
        line: line.to_string(),
        column: column.to_string(),
        ..SymbolState::default()
    };
    let answered = asker.tool::<Navigated>("navigate", state.arguments(PANEL_PLACES)).await;
    html! {
        p { a href=(place.line(line)) { "← Outline" } }
        @match answered {
            Ok(answered) => {
                @if let Some(symbol) = &answered.result.symbol { h2 { (symbol.qualified) } }
                (coverage(answered.meta.coverage.as_ref()))
                (answer(&state, &answered.result, &html! {}))
            }
            Err(error) => (failure::note(&error)),
        }
    }
}

/// Renders the author of the symbol, the author of the last change to its file, and a link to similar code; empty where these are unknown.
async fn origin(asker: &Asker, project: &str, symbol: &SymbolInfo) -> Markup {
    let of_file = json!({ "repository": symbol.repo, "path": symbol.file, "project_id": project });
    let known = asker.operation::<KnownFile>(FILE_FACTS, of_file).await;
    let known = known.map(|answered| answered.result).unwrap_or_default();
    let authors = known.authors_of(symbol.line);
    let definition = known.definitions.iter().find(|definition| {
        definition.qualified == symbol.qualified && u32::try_from(definition.line) == Ok(symbol.line)
    });
    html! {
        p.dim {
            @if !authors.is_empty() { "written by " bdi { (authors.join(", ")) } }
            @if let (Some(author), Some(at)) = (&known.history.last_author, &known.history.last_modified) {
                @if !authors.is_empty() { " · " }
                "file last changed by " bdi { (author) } " on " (moment(at))
            }
            @if let Some(definition) = definition {
                @if known.history.last_author.is_some() || !authors.is_empty() { " · " }
                a href=(similar_url(project, definition.chunk)) rel="nofollow" { "Similar code" }
            }
        }
    }
}

/// Renders the symbol between its callers and its callees; empty where these are unknown.
async fn picture(asker: &Asker, of_symbol: &SymbolState, symbol: &SymbolInfo) -> Markup {
    let neighbours = async |relation: &str| {
        let state = SymbolState { certainty: String::new(), ..of_symbol.with_relation(relation) };
        let answered = asker.tool::<Navigated>("navigate", state.arguments(PANEL_PLACES)).await;
        answered.map_or_else(|_| Vec::new(), |answered| neighbours(&state, &answered.result, relation))
    };
    let (callers, callees) = tokio::join!(neighbours("callers"), neighbours("callees"));
    graph(&symbol.qualified, &callers, &callees)
}

/// Returns the different symbols at the places of an answer, in order.
fn neighbours(state: &SymbolState, found: &Navigated, relation: &str) -> Vec<Neighbour> {
    let mut neighbours: Vec<Neighbour> = Vec::new();
    for file in &found.files {
        for used in &file.places {
            let name = if relation == "callers" { &used.within } else { &used.name };
            let Some(name) = name else { continue };
            if neighbours.len() < NEIGHBOURS_MAX && neighbours.iter().all(|known| known.name != *name) {
                let repository = file.repo.as_deref().unwrap_or(&state.repository);
                neighbours.push(Neighbour { name: name.clone(), url: url(&state.project, repository, name) });
            }
        }
    }
    neighbours
}

fn answer(state: &SymbolState, found: &Navigated, picture: &Markup) -> Markup {
    let shown = if state.relation.is_empty() { "references" } else { &state.relation };
    html! {
        @if let Some(symbol) = &found.symbol {
            (definition(&state.project, symbol))
            (picture)
            nav.tabs aria-label="What to show" {
                @for (relation, label) in RELATIONS {
                    a href=(state.of(symbol).with_relation(relation).url()) aria-current=[(*relation == shown).then_some("true")] { (label) }
                }
            }
        }
        @if !found.candidates.is_empty() {
            p { (before_candidates(state, found)) }
            ul.plain {
                @for candidate in &found.candidates {
                    li {
                        a href=(state.of(candidate).url()) { (candidate.qualified) }
                        span.dim {
                            " " (candidate.kind) " · " bdi { (candidate.file) } ":" (candidate.line)
                            @if let Some(uses) = candidate.uses { " · used " (uses) " times" }
                        }
                    }
                }
            }
        } @else {
            p.summary role="status" {
                @if found.total_relation.is_some() { "at least " }
                (found.total) @if found.total == 1 { " place" } @else { " places" }
            }
            (places(state, found))
            @if let Some(next) = found.next_offset {
                nav.pages { a rel="next" href=(SymbolState { offset: next.to_string(), ..state.clone() }.url()) { "More places →" } }
            }
        }
    }
}

/// Introduces the list of candidates: for a name at a place, its possible meanings there; for a name that was typed, the symbols with it.
fn before_candidates(state: &SymbolState, found: &Navigated) -> String {
    let is_at_place = !state.file.is_empty() && state.symbol.is_empty();
    let at_least = if found.total_relation.is_some() { "at least " } else { "" };
    match (is_at_place, found.total.max(found.candidates.len())) {
        (true, 1) => "Which definition is meant here is not known. With this name there is:".to_owned(),
        (true, _) => "Which definition is meant here is not known. With this name there are:".to_owned(),
        (false, 1) => "The name has one definition:".to_owned(),
        (false, count) => format!("The name has {at_least}{count} definitions:"),
    }
}

fn definition(project: &str, symbol: &SymbolInfo) -> Markup {
    let place = Place { project, repository: &symbol.repo, path: &symbol.file };
    html! {
        p.dim { (symbol.kind) " · " a href=(place.line(symbol.line)) { bdi { (symbol.file) } ":" (symbol.line) } }
        @if let Some(signature) = &symbol.signature { pre.command tabindex="0" { (signature) } }
    }
}

fn places(state: &SymbolState, found: &Navigated) -> Markup {
    let home = found.symbol.as_ref().map_or(state.repository.as_str(), |symbol| &symbol.repo);
    html! {
        ol.files {
            @for file in &found.files {
                @let place = Place {
                    project: &state.project,
                    repository: file.repo.as_deref().unwrap_or(home),
                    path: &file.file,
                };
                li.file {
                    h2.path { a href=(place.file()) { bdi { (place.path) } } }
                    ul.plain {
                        @for used in &file.places { li.use { (use_place(&place, used)) } }
                    }
                }
            }
        }
    }
}

fn use_place(place: &Place<'_>, used: &UsePlace) -> Markup {
    html! {
        a.n href=(place.line(used.line)) { (used.line) }
        code { (used.text.as_deref().or(used.name.as_deref()).unwrap_or_default().trim()) }
        span.dim {
            " " (used.kind)
            @if let Some(within) = &used.within { " in " (within) }
            @if let Some(certainty) = &used.certainty { " · " (certainty) }
            @if let Some(candidates) = used.candidates { " (" (candidates) " candidates)" }
            @if let Some(distance) = used.distance { " · step " (distance) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_are_introduced_by_what_was_asked() {
        let candidate = || SymbolInfo {
            qualified: "Till.count".into(),
            kind: "method".into(),
            signature: None,
            repo: "shop".into(),
            file: "src/till.py".into(),
            line: 1,
            column: 5,
            uses: None,
        };
        let said = |state: &SymbolState, count: usize| {
            let found = Navigated {
                symbol: None,
                candidates: (0..count).map(|_| candidate()).collect(),
                files: Vec::new(),
                total: count,
                total_relation: None,
                next_offset: None,
            };
            before_candidates(state, &found)
        };
        let place = SymbolState { file: "src/shop.py".into(), line: "2".into(), ..SymbolState::default() };
        assert!(said(&place, 1).ends_with("is not known. With this name there is:"));
        assert!(said(&place, 2).ends_with("is not known. With this name there are:"));
        let name = SymbolState { symbol: "count".into(), ..SymbolState::default() };
        assert_eq!(said(&name, 1), "The name has one definition:");
        assert_eq!(said(&name, 3), "The name has 3 definitions:");
    }
}
