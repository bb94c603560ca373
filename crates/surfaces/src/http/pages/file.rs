//! `GET /p/{project}/r/{repository}/-/{path}`: shows a file as it is now, and the meaning of a name in it.

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

use super::code::{CodeView, block_with_authors};
use super::data::{Asker, PageError};
use super::layout::Frame;
use super::line_authors::labels;
use super::links::{Place, with_parameters};
use super::text::moment;
use super::{failure, folder, symbol};
use crate::http::query::{SentQuery, unique_parameters};
use crate::marks::Marks;
use contract::{ErrorCode, echo};
use gate::tools::browse::{FILE_FACTS, KnownDefinition, KnownFile};

pub(super) const PATH: &str = "/p/{project}/r/{repository}/-/{*path}";

/// Maximum number of lines on a page; the size limit of an answer usually ends it before.
const LINES_MAX: u32 = 10_000;

/// The parameters of the page.
#[derive(Debug, Default)]
struct FileState {
    /// First line, 1-based.
    from: Option<u32>,
    /// A line that must be among the shown ones.
    line: Option<u32>,
    /// Line and column of the name that the panel describes.
    at: Option<(u32, u32)>,
    /// `true` to show the authors of the lines.
    shows_authors: bool,
    /// The commit that was indexed when the address was copied, in hexadecimal.
    commit: Option<String>,
    /// The branch, tag or commit to show; `None` for the default branch.
    revision: Option<String>,
}

/// The number of digits in a commit: from an abbreviation to SHA-256.
const COMMIT_DIGITS: std::ops::RangeInclusive<usize> = 7..=64;

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
                "revision" => state.revision = Some(value).filter(|name| !name.is_empty()),
                "commit" => {
                    let is_commit = COMMIT_DIGITS.contains(&value.len())
                        && value.bytes().all(|digit| digit.is_ascii_hexdigit());
                    state.commit = Some(is_commit.then_some(value).ok_or_else(refused)?);
                }
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
    /// The branch or tag, if the address names one, and its commit.
    revision: Option<String>,
    commit: Option<String>,
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
    /// Returns `true` if not even one line fits; its beginning then ends with an ellipsis.
    fn is_cut_line(&self) -> bool {
        self.truncated && self.start_line == self.end_line && self.text.ends_with('…')
    }

    /// Returns the address of a page about the file, at the revision that is shown.
    fn address(&self, page: &str, parameters: &[(&str, &str)]) -> String {
        let revision = self.revision.as_deref().unwrap_or_default();
        with_parameters(page, &[&[("revision", revision)], parameters].concat())
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
        Ok(loaded) => {
            let language = loaded.file.language.clone().unwrap_or_default();
            let colours = asker.colours(vec![CodeText { language, text: loaded.file.text.clone() }]).await;
            let spans = colours.first().map(Vec::as_slice).unwrap_or_default();
            let frame = Frame { repository: &repository, ..Frame::new(&asker, &project, &path) };
            frame.respond(StatusCode::OK, &content(&place, &loaded, spans))
        }
        Err(error) => failure::page(&asker, &project, "", &error),
    }
}

/// The content of a page about a file.
struct LoadedFile {
    file: ShownFile,
    known: KnownFile,
    /// The notes above lines.
    notes: BTreeMap<u32, Vec<String>>,
    /// `true` to show the authors of the lines.
    shows_authors: bool,
    /// The authors, beside the first line of each run; empty if they are not shown, or not known by line.
    authors: BTreeMap<u32, Markup>,
    panel: Option<Markup>,
    permalink: Permalink,
}

/// An address that includes the commit of its lines.
#[derive(Default)]
struct Permalink {
    url: Option<String>,
    /// The commit of the address that was opened, if a different one is indexed now.
    other_commit: Option<String>,
}

impl Permalink {
    fn new(place: &Place<'_>, state: &FileState, indexed: Option<&String>) -> Self {
        if state.revision.is_some() {
            return Self::default();
        }
        let line = state.line.map(|line| line.to_string()).unwrap_or_default();
        let url = |commit: &String| with_parameters(&place.file(), &[("line", &line), ("commit", commit)]);
        let is_other =
            |commit: &&String| indexed.is_none_or(|indexed| !indexed.starts_with(&commit.to_lowercase()));
        Self { url: indexed.map(url), other_commit: state.commit.as_ref().filter(is_other).cloned() }
    }
}

async fn load(asker: &Asker, place: &Place<'_>, sent: SentQuery) -> Result<LoadedFile, PageError> {
    let state = FileState::read(sent)?;
    let wanted_line = state.line.or(state.at.map(|(line, _)| line));
    let from = first_line(state.from.unwrap_or(1), wanted_line);
    let mut arguments = json!({
        "file": place.path, "repoPath": place.repository, "project_id": place.project,
        "startLine": from, "endLine": from.saturating_add(LINES_MAX - 1),
    });
    if let Some(line) = wanted_line {
        arguments["line"] = line.into();
    }
    if let Some(revision) = &state.revision {
        arguments["revision"] = revision.as_str().into();
    }
    // Additional facts are known only about the default branch.
    let is_default = state.revision.is_none();
    let panel = async {
        match state.at.filter(|_| is_default) {
            Some(at) => Some(symbol::panel(asker, place, at).await),
            None => None,
        }
    };
    let of_file = json!({
        "repository": place.repository, "path": place.path, "project_id": place.project, "lines": state.shows_authors,
    });
    let known = async {
        match is_default {
            true => asker.operation::<KnownFile>(FILE_FACTS, of_file).await.ok(),
            false => None,
        }
    };
    let (file, known, panel) = tokio::join!(asker.tool::<ShownFile>("show_file", arguments), known, panel);
    let file = file?.result;
    // These facts are optional: without them the file is still worth reading.
    let known = known.map(|answered| answered.result).unwrap_or_default();
    let shows_authors = state.shows_authors;
    // In a file that has changed, the lines are no longer those that the commits added.
    let lines = known.lines.as_ref().filter(|_| shows_authors && !file.changed_since_indexed);
    let authors = lines.map(|lines| labels(lines, file.start_line..=file.end_line)).unwrap_or_default();
    let notes = notes(&known, file.start_line, shows_authors && authors.is_empty());
    let permalink = Permalink::new(place, &state, known.history.commit.as_ref());
    Ok(LoadedFile { file, known, notes, shows_authors, authors, panel, permalink })
}

/// Returns the first line of a page that begins at `from`, or that has `line` in its middle if that is on another page.
fn first_line(from: u32, line: Option<u32>) -> u32 {
    match line {
        Some(line) if line < from || line - from >= LINES_MAX => line.saturating_sub(LINES_MAX / 2).max(1),
        _ => from,
    }
}

/// Collects the notes above the lines where a part begins: its risks and violated rules, and its authors if they are to be named there.
fn notes(known: &KnownFile, first_line: u32, names_authors: bool) -> BTreeMap<u32, Vec<String>> {
    let mut notes: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for part in &known.parts {
        let said = [
            ("risk", part.risks.as_slice()),
            ("rule broken", &part.lint),
            ("by", if names_authors { &part.authors } else { &[] }),
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

fn content(place: &Place<'_>, loaded: &LoadedFile, spans: &[HighlightedSpan]) -> Markup {
    let LoadedFile { file, known, permalink, .. } = loaded;
    let marks = Marks::default();
    let view = CodeView {
        text: &file.text,
        spans,
        first_line: file.start_line,
        marks: &marks,
        file_url: "",
        links_names: file.revision.is_none(),
        notes: &loaded.notes,
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
            " · " a href=(file.address(&place.raw(), &[])) { "Raw" }
            @if let Some(url) = &permalink.url { " · " a href=(url) rel="nofollow" data-permalink { "Permalink" } }
            (last_change(place, known, loaded.shows_authors))
        }
        @if let Some(revision) = &file.revision { (revision_note(place, revision, file.commit.as_deref())) }
        @if let Some(commit) = &permalink.other_commit {
            p.note {
                "The link is of commit " code { (commit.get(..10).unwrap_or(commit)) } ", and the index is now of "
                @match &known.history.commit {
                    Some(indexed) => { code { (indexed.get(..10).unwrap_or(indexed)) } }
                    None => { "a folder without commits" }
                }
                ": the lines that were meant may be elsewhere."
            }
        }
        @if file.changed_since_indexed {
            p.note { "The file has changed since it was indexed: what is known of its names may be about other lines." }
        }
        @if file.is_cut_line() {
            p.note { "Only the beginning of the line is shown: it is too long for a page." }
        }
        div.beside.named[loaded.panel.is_some()] {
            div.main { (block_with_authors(&view, &loaded.authors)) (parts(place, file)) }
            aside aria-label="About this file" {
                @match &loaded.panel { Some(panel) => (panel), None => (outline(place, file, &known.definitions)) }
            }
        }
    }
}

/// Renders which revision is shown, and a link to the default branch.
fn revision_note(place: &Place<'_>, revision: &str, commit: Option<&str>) -> Markup {
    html! {
        p.note {
            "The file as it is on " bdi { (revision) }
            @if let Some(commit) = commit { ", commit " code { (commit.get(..10).unwrap_or(commit)) } }
            ". " a href=(place.file()) { "Show the default branch" }
        }
    }
}

/// Renders the author of the last change, and a link that shows or hides the authors of the lines, or a note that they are unknown.
fn last_change(place: &Place<'_>, known: &KnownFile, shows_authors: bool) -> Markup {
    let has_authors = known.lines_known || known.parts.iter().any(|part| !part.authors.is_empty());
    html! {
        @if let (Some(author), Some(at)) = (&known.history.last_author, &known.history.last_modified) {
            " · last changed by " bdi { (author) } " on " (moment(at))
            @if let Some(commit) = &known.history.last_commit { " in " code { (commit.get(..10).unwrap_or(commit)) } }
        }
        @if has_authors && shows_authors {
            " · " a href=(place.file()) { "Hide authors" }
        } @else if has_authors {
            " · " a href=(with_parameters(&place.file(), &[("authors", "1")])) rel="nofollow" { "Authors" }
        } @else if known.lines_pending {
            " · who wrote its lines is not known yet"
        } @else if shows_authors {
            " · who wrote its lines is not known"
        }
    }
}

/// Renders links to the other parts of a file that does not fit on a page.
fn parts(place: &Place<'_>, file: &ShownFile) -> Markup {
    let lines = file.end_line.saturating_sub(file.start_line) + 1;
    let before = file.start_line.saturating_sub(lines).max(1);
    let from = |line: u32| file.address(&place.file(), &[("from", &line.to_string())]);
    html! {
        nav.pages aria-label="Parts of the file" {
            @if file.start_line > 1 { a rel="prev" href=(from(before)) { "← Earlier lines" } }
            @if file.end_line < file.total_lines { a rel="next" href=(from(file.end_line + 1)) { "Later lines →" } }
        }
    }
}

/// Renders the definitions of the file; for prose and other files without definitions, its parts.
fn outline(place: &Place<'_>, file: &ShownFile, definitions: &[KnownDefinition]) -> Markup {
    html! {
        h2 { "Outline" }
        @if definitions.is_empty() {
            (outline_of_chunks(&file.chunks))
        } @else {
            ul.plain.outline {
                @for definition in definitions {
                    @let line = u32::try_from(definition.line).unwrap_or(1);
                    // Below its container the simple name is enough.
                    @let name = if definition.level == 0 { &definition.qualified } else { &definition.name };
                    li class=[indent(definition.level)] {
                        a href=(outline_address(place, file, line)) { (name) } " " span.dim { (definition.kind) }
                    }
                }
            }
        }
        @if file.revision.is_none() {
            p.dim { "Click a coloured name in the code to see where it is defined and used." }
        }
    }
}

fn outline_of_chunks(chunks: &[OutlineChunk]) -> Markup {
    let named: Vec<(&OutlineChunk, &str)> =
        chunks.iter().filter_map(|chunk| Some((chunk, chunk.name.as_deref()?))).collect();
    html! {
        @if named.is_empty() {
            p.dim { "Nothing in this part has a name." }
        } @else {
            ul.plain.outline {
                @for (chunk, name) in named {
                    li { a href=(format!("#L{}", chunk.start_line)) { (name) } " " span.dim { (chunk.kind) } }
                }
            }
        }
    }
}

/// Returns the class that indents an entry of the outline; deeper levels are indented like the third.
fn indent(level: usize) -> Option<&'static str> {
    match level {
        0 => None,
        1 => Some("in1"),
        2 => Some("in2"),
        _ => Some("in3"),
    }
}

/// Returns the address of a line in the file, which may be on another page of it.
fn outline_address(place: &Place<'_>, file: &ShownFile, line: u32) -> String {
    if (file.start_line..=file.end_line).contains(&line) {
        return format!("#L{line}");
    }
    format!("{}#L{line}", file.address(&place.file(), &[("line", &line.to_string())]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_not_longer_for_the_line_that_it_must_show() {
        let first = |from, line| first_line(from, Some(line));
        assert_eq!((first_line(7, None), first(1, 1), first(1, LINES_MAX)), (7, 1, 1));
        assert_eq!((first(1, LINES_MAX + 1), first(20_000, 1)), (LINES_MAX / 2 + 1, 1));
        assert_eq!(first(u32::MAX, u32::MAX), u32::MAX);
        assert_eq!(first(1, 200_000), 200_000 - LINES_MAX / 2);
    }
}
