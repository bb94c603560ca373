//! `GET /p/{project}/r/{repository}/-/{path}`: a file as it is now, and what a name in it means.

use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::http::StatusCode;
use axum::response::Response;
use engine::highlighting::CodeText;
use languages::highlight::HighlightedSpan;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::json;

use super::code::{CodeView, block};
use super::data::{Asker, PageError};
use super::layout::Frame;
use super::links::{Place, with_parameters};
use super::words::Marks;
use super::{failure, folder, symbol};
use crate::surfaces::http::query::{SentQuery, unique_parameters};
use contract::{ErrorCode, echo};

pub(super) const PATH: &str = "/p/{project}/r/{repository}/-/{*path}";

/// More lines than a page has; the limit on the bytes of an answer ends it before.
const LINES_MAX: u32 = 20_000;

/// The parameters of the page.
#[derive(Debug, Default)]
struct FileState {
    /// First line, 1-based.
    from: Option<u32>,
    /// Line and column of the name that the panel is about.
    at: Option<(u32, u32)>,
}

impl FileState {
    fn read(sent: SentQuery) -> Result<Self, PageError> {
        let mut state = Self::default();
        for (name, value) in unique_parameters(sent)? {
            let refused = || {
                let message = format!("The parameter `{}` of this page is not valid.", echo(&name));
                PageError::new(ErrorCode::InvalidRequest, message)
            };
            let number = |text: &str| text.parse::<u32>().ok().filter(|number| *number > 0);
            match name.as_str() {
                "from" => state.from = Some(number(&value).ok_or_else(refused)?),
                "at" => {
                    let place = value
                        .split_once(':')
                        .and_then(|(line, column)| Some((number(line)?, number(column)?)));
                    state.at = Some(place.ok_or_else(refused)?);
                }
                _ => return Err(refused()),
            }
        }
        Ok(state)
    }
}

/// The answer of `show_file`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ShownFile {
    language: Option<String>,
    start_line: u32,
    end_line: u32,
    total_lines: u32,
    truncated: bool,
    changed_since_indexed: bool,
    text: String,
    chunks: Vec<OutlineChunk>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct OutlineChunk {
    start_line: u32,
    kind: String,
    name: Option<String>,
}

/// `GET /p/{project}/r/{repository}/-/{path}`.
pub(super) async fn show(
    asker: Asker,
    path: Result<Path<(String, String, String)>, PathRejection>,
    sent: SentQuery,
) -> Response {
    let Ok(Path((project, repository, path))) = path else {
        return failure::page(&asker, asker.default_project(), "", &folder::no_such_address());
    };
    let place = Place { project: &project, repository: &repository, path: &path };
    match load(&asker, &place, sent).await {
        Ok((file, panel)) => {
            let language = file.language.clone().unwrap_or_default();
            let colours = asker.colours(vec![CodeText { language, text: file.text.clone() }]).await;
            let spans = colours.first().map(Vec::as_slice).unwrap_or_default();
            let frame = Frame::new(&asker, &project, &path);
            frame.respond(StatusCode::OK, &content(&place, &file, spans, panel.as_ref()))
        }
        Err(error) => failure::page(&asker, &project, "", &error),
    }
}

async fn load(
    asker: &Asker,
    place: &Place<'_>,
    sent: SentQuery,
) -> Result<(ShownFile, Option<Markup>), PageError> {
    let state = FileState::read(sent)?;
    let from = state.from.unwrap_or(1);
    let arguments = json!({
        "file": place.path, "repoPath": place.repository, "project_id": place.project,
        "startLine": from, "endLine": from.saturating_add(LINES_MAX),
    });
    let panel = async {
        match state.at {
            Some(at) => Some(symbol::panel(asker, place, at).await),
            None => None,
        }
    };
    let (file, panel) = tokio::join!(asker.tool::<ShownFile>("show_file", arguments), panel);
    Ok((file?.result, panel))
}

fn content(place: &Place<'_>, file: &ShownFile, spans: &[HighlightedSpan], panel: Option<&Markup>) -> Markup {
    let marks = Marks::default();
    let view = CodeView {
        text: &file.text,
        spans,
        first_line: file.start_line,
        marks: &marks,
        file_url: "",
        links_names: true,
    };
    html! {
        h1.path { (folder::trail(place)) button.copy type="button" hidden data-copy=(place.path) { "Copy path" } }
        p.dim {
            a href=(place.find()) data-key="t" { "Find a file" } " · "
            @if let Some(language) = &file.language { (language) " · " }
            (file.total_lines) " lines"
            @if file.start_line > 1 || file.truncated { " · lines " (file.start_line) " to " (file.end_line) " are shown" }
        }
        @if file.changed_since_indexed {
            p.note { "The file has changed since it was indexed: what is known of its names may be about other lines." }
        }
        div.beside {
            div.main { (block(&view)) (parts(place, file)) }
            aside aria-label="About this file" { @match panel { Some(panel) => (panel), None => (outline(file)) } }
        }
    }
}

/// Links to the other parts of a file that does not fit a page.
fn parts(place: &Place<'_>, file: &ShownFile) -> Markup {
    let lines = file.end_line.saturating_sub(file.start_line) + 1;
    let before = file.start_line.saturating_sub(lines).max(1);
    let from = |line: u32| with_parameters(&place.file(), &[("from", &line.to_string())]);
    html! {
        nav.pages aria-label="Parts of the file" {
            @if file.start_line > 1 { a rel="prev" href=(from(before)) { "← Earlier lines" } }
            @if file.end_line < file.total_lines { a rel="next" href=(from(file.end_line + 1)) { "Later lines →" } }
        }
    }
}

fn outline(file: &ShownFile) -> Markup {
    let named: Vec<(&OutlineChunk, &str)> =
        file.chunks.iter().filter_map(|chunk| Some((chunk, chunk.name.as_deref()?))).collect();
    html! {
        h2 { "Outline" }
        @if named.is_empty() {
            p.dim { "Nothing in this part has a name." }
        } @else {
            ul.plain.outline {
                @for (chunk, name) in named {
                    li { a href=(format!("#L{}", chunk.start_line)) { (name) } " " span.dim { (chunk.kind) } }
                }
            }
        }
        p.dim { "Click a coloured name in the code to see where it is defined and used." }
    }
}
