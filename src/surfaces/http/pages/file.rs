//! `GET /p/{project}/r/{repository}/-/{path}`: a file as it is now, and what a name in it means.

use std::collections::BTreeMap;

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
use super::text::moment;
use super::{failure, folder, symbol};
use crate::surfaces::http::query::{SentQuery, unique_parameters};
use crate::surfaces::marks::Marks;
use crate::tools::browse::{FILE_FACTS, KnownFile};
use contract::{ErrorCode, echo};

pub(super) const PATH: &str = "/p/{project}/r/{repository}/-/{*path}";

/// More lines than a page has; the limit on the bytes of an answer ends it before.
const LINES_MAX: u32 = 20_000;

/// The parameters of the page.
#[derive(Debug, Default)]
struct FileState {
    /// First line, 1-based.
    from: Option<u32>,
    /// A line that must be among those that are shown.
    line: Option<u32>,
    /// Line and column of the name that the panel is about.
    at: Option<(u32, u32)>,
    /// Whether the authors of each part are shown.
    shows_authors: bool,
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
                "line" => state.line = Some(number(&value).ok_or_else(refused)?),
                "authors" => state.shows_authors = value == "1",
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

impl ShownFile {
    /// Whether not even one line fits; its beginning then ends with an ellipsis.
    fn is_cut_line(&self) -> bool {
        self.truncated && self.start_line == self.end_line && self.text.ends_with('…')
    }
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
        Ok(LoadedFile { file, known, panel, notes }) => {
            let language = file.language.clone().unwrap_or_default();
            let colours = asker.colours(vec![CodeText { language, text: file.text.clone() }]).await;
            let spans = colours.first().map(Vec::as_slice).unwrap_or_default();
            let frame = Frame::new(&asker, &project, &path);
            frame.respond(StatusCode::OK, &content(&place, &file, &known, &notes, spans, panel.as_ref()))
        }
        Err(error) => failure::page(&asker, &project, "", &error),
    }
}

/// What a page about a file shows.
struct LoadedFile {
    file: ShownFile,
    known: KnownFile,
    /// What is said above lines.
    notes: BTreeMap<u32, Vec<String>>,
    panel: Option<Markup>,
}

async fn load(asker: &Asker, place: &Place<'_>, sent: SentQuery) -> Result<LoadedFile, PageError> {
    let state = FileState::read(sent)?;
    let from = state.from.unwrap_or(1);
    let mut arguments = json!({
        "file": place.path, "repoPath": place.repository, "project_id": place.project,
        "startLine": from, "endLine": from.saturating_add(LINES_MAX),
    });
    if let Some(line) = state.line.or(state.at.map(|(line, _)| line)) {
        arguments["line"] = line.into();
    }
    let panel = async {
        match state.at {
            Some(at) => Some(symbol::panel(asker, place, at).await),
            None => None,
        }
    };
    let of_file = json!({ "repository": place.repository, "path": place.path, "project_id": place.project });
    let (file, known, panel) = tokio::join!(
        asker.tool::<ShownFile>("show_file", arguments),
        asker.operation::<KnownFile>(FILE_FACTS, of_file),
        panel
    );
    let file = file?.result;
    // What is known beside the text is an addition: without it the file is still worth reading.
    let known = known.map(|answered| answered.result).unwrap_or_default();
    let notes = notes(&known, file.start_line, state.shows_authors);
    Ok(LoadedFile { file, known, notes, panel })
}

/// What is said above the lines where a part begins: its risks and broken rules, and its authors if they are asked for.
fn notes(known: &KnownFile, first_line: u32, shows_authors: bool) -> BTreeMap<u32, Vec<String>> {
    let mut notes: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for part in &known.parts {
        let said = [
            ("risk", part.risks.as_slice()),
            ("rule broken", &part.lint),
            ("by", if shows_authors { &part.authors } else { &[] }),
        ];
        let first = u32::try_from(part.start_line).unwrap_or(1);
        let last = u32::try_from(part.end_line).unwrap_or(u32::MAX);
        if last < first_line {
            continue;
        }
        for (label, values) in said.iter().filter(|(_, values)| !values.is_empty()) {
            notes.entry(first.max(first_line)).or_default().push(format!("{label}: {}", values.join(", ")));
        }
    }
    notes
}

fn content(
    place: &Place<'_>,
    file: &ShownFile,
    known: &KnownFile,
    notes: &BTreeMap<u32, Vec<String>>,
    spans: &[HighlightedSpan],
    panel: Option<&Markup>,
) -> Markup {
    let marks = Marks::default();
    let view = CodeView {
        text: &file.text,
        spans,
        first_line: file.start_line,
        marks: &marks,
        file_url: "",
        links_names: true,
        notes,
    };
    html! {
        h1.path { (folder::trail(place)) button.copy type="button" hidden data-copy=(place.path) { "Copy path" }
            button.copy type="button" hidden data-context=(place.path) { "Copy for an agent" }
        }
        p.dim {
            a href=(place.find()) data-key="t" { "Find a file" } " · "
            @if let Some(language) = &file.language { (language) " · " }
            (file.total_lines) " lines"
            @if file.start_line > 1 || file.truncated { " · lines " (file.start_line) " to " (file.end_line) " are shown" }
            " · " a href=(place.raw()) { "Raw" }
            (last_change(place, known))
        }
        @if file.changed_since_indexed {
            p.note { "The file has changed since it was indexed: what is known of its names may be about other lines." }
        }
        @if file.is_cut_line() {
            p.note { "Only the beginning of the line is shown: it is too long for a page." }
        }
        div.beside {
            div.main { (block(&view)) (parts(place, file)) }
            aside aria-label="About this file" { @match panel { Some(panel) => (panel), None => (outline(file)) } }
        }
    }
}

/// Who changed the file last, and a link that shows who wrote which part.
fn last_change(place: &Place<'_>, known: &KnownFile) -> Markup {
    html! {
        @if let (Some(author), Some(at)) = (&known.history.last_author, &known.history.last_modified) {
            " · last changed by " bdi { (author) } " on " (moment(at))
            @if let Some(commit) = &known.history.last_commit { " in " code { (commit.get(..10).unwrap_or(commit)) } }
        }
        @if known.parts.iter().any(|part| !part.authors.is_empty()) {
            " · " a href=(with_parameters(&place.file(), &[("authors", "1")])) rel="nofollow" { "Authors" }
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
