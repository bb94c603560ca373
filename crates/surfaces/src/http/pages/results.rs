//! The answer of a search, as the page reads and renders it.

use engine::search::{Facets, Sources};
use languages::highlight::HighlightedSpan;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::code::{CodeView, NO_NOTES, block};
use super::links::{Place, line_of, similar_url, with_parameters};
use super::result_colours::ShownPart;
use super::symbol;
use crate::code_pieces::language_of;
use crate::marks::Marks;
use crate::score;

/// The number of callers that a hit names.
const CALLERS_MAX: usize = 5;

/// The part of an answer that the page needs.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Results {
    pub(super) hits: Vec<Hit>,
    pub(super) matches: Option<Matches>,
    pub(super) total: usize,
    pub(super) total_relation: Option<String>,
    pub(super) next_offset: Option<usize>,
    pub(super) confidence: Option<String>,
    #[serde(default)]
    pub(super) did_you_mean: Vec<String>,
    #[serde(default)]
    pub(super) facets: Facets,
    #[serde(default)]
    pub(super) sources: Sources,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Hit {
    id: i64,
    file: String,
    mode: Option<String>,
    start_line: u32,
    line: u32,
    kind: String,
    name: Option<String>,
    headline: Option<String>,
    repo: Option<String>,
    /// The requested branches and tags that contain it.
    #[serde(default)]
    revisions: Vec<String>,
    snippet: Option<String>,
    snippet_line: Option<u32>,
    #[serde(default)]
    called_by: Vec<String>,
    other_places: Option<OtherPlaces>,
    score: f64,
    score_breakdown: Option<Map<String, Value>>,
}

#[derive(Debug, Deserialize)]
struct OtherPlaces {
    total: u32,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Matches {
    pub(super) files: Vec<MatchedFile>,
    pub(super) total_files: usize,
}

#[derive(Debug, Deserialize)]
pub(super) struct MatchedFile {
    file: String,
    repo: Option<String>,
    lang: Option<String>,
    lines: Vec<MatchedLine>,
}

#[derive(Debug, Deserialize)]
struct MatchedLine {
    line: u32,
    text: String,
}

impl Results {
    /// Returns the code of the answer, in the order in which the functions of [`ResultsView`] show it.
    pub(super) fn parts(&self) -> Vec<ShownPart<'_>> {
        let hits = self.hits.iter().map(|hit| ShownPart {
            language: language_of(&hit.file).unwrap_or_default(),
            first_line: hit.first_line(),
            text: hit.snippet.as_deref().unwrap_or_default(),
        });
        let files = self.matches.iter().flat_map(|matches| &matches.files);
        let lines = files.flat_map(|file| {
            let language = file.lang.as_deref().unwrap_or_default();
            file.lines.iter().map(move |line| ShownPart { language, first_line: line.line, text: &line.text })
        });
        hits.chain(lines).collect()
    }
}

impl Hit {
    /// Returns number of the first line of the snippet.
    fn first_line(&self) -> u32 {
        self.snippet_line.unwrap_or(self.start_line)
    }
}

/// A hit with the coloured parts of its snippet.
type ColouredHit<'a> = (&'a Hit, &'a [HighlightedSpan]);

/// The hits of a file in some revisions; without revisions, in the default branch.
struct FileHits<'a> {
    place: Place<'a>,
    revisions: &'a [String],
    hits: Vec<ColouredHit<'a>>,
}

impl FileHits<'_> {
    /// Returns the page of the file in the first of the revisions.
    fn url(&self) -> String {
        file_url(&self.place, self.revisions)
    }
}

fn file_url(place: &Place<'_>, revisions: &[String]) -> String {
    with_parameters(&place.file(), &[("revision", revisions.first().map_or("", String::as_str))])
}

/// The context in which the results are shown.
pub(super) struct ResultsView<'a> {
    pub(super) project: &'a str,
    /// The repository of hits that do not name one: the only one that was searched.
    pub(super) repository: &'a str,
    pub(super) marks: &'a Marks,
    /// The colours of [`Results::parts`].
    pub(super) colours: &'a [Vec<HighlightedSpan>],
}

impl ResultsView<'_> {
    /// Renders ranked hits, grouped by file; a group is at the position of its best hit.
    pub(super) fn hits(&self, hits: &[Hit]) -> Markup {
        let mut files: Vec<FileHits<'_>> = Vec::new();
        for (at, hit) in hits.iter().enumerate() {
            let coloured = (hit, self.colours(at));
            let (place, revisions) = (self.place(hit.repo.as_deref(), &hit.file), hit.revisions.as_slice());
            let is_same = |known: &&mut FileHits<'_>| {
                (known.place.repository, known.place.path, known.revisions)
                    == (place.repository, place.path, revisions)
            };
            let known = files.iter_mut().find(is_same);
            match known {
                Some(known) => known.hits.push(coloured),
                None => files.push(FileHits { place, revisions, hits: vec![coloured] }),
            }
        }
        html! {
            ol.files {
                @for file in &files {
                    li.file {
                        (file_head(&file.place, file.revisions))
                        @for (hit, spans) in &file.hits { (self.hit(file, hit, spans)) }
                    }
                }
            }
        }
    }

    fn hit(&self, file: &FileHits<'_>, hit: &Hit, spans: &[HighlightedSpan]) -> Markup {
        let (place, url) = (&file.place, file.url());
        let title = hit.name.as_deref().or(hit.headline.as_deref()).unwrap_or("lines");
        html! {
            article.hit {
                h3 {
                    a href=(line_of(&url, hit.line)) { (title) }
                    span.dim {
                        " " (hit.kind) " · line " (hit.line)
                        @if let Some(mode) = &hit.mode { " · " (mode) }
                        @if let Some(others) = &hit.other_places { " · " (others.total) " more with the same text" }
                        @if hit.mode.as_deref() != Some("records") {
                            " · " a href=(similar_url(self.project, hit.id)) rel="nofollow" { "similar" }
                        }
                    }
                }
                @if let Some(text) = &hit.snippet {
                    (block(&CodeView {
                        text, spans, first_line: hit.first_line(), marks: self.marks, file_url: &url,
                        links_names: false, notes: NO_NOTES,
                    }))
                }
                @if !hit.called_by.is_empty() {
                    p.dim {
                        "called by "
                        @for (at, name) in hit.called_by.iter().take(CALLERS_MAX).enumerate() {
                            @if at > 0 { ", " }
                            a href=(symbol::url(place.project, place.repository, name)) { (name) }
                        }
                    }
                }
                @if let Some(parts) = &hit.score_breakdown { (breakdown(hit.score, parts)) }
            }
        }
    }

    /// Renders matching lines, file by file.
    pub(super) fn lines(&self, matches: &Matches) -> Markup {
        let mut colours = self.colours.iter();
        html! {
            ol.files {
                @for file in &matches.files {
                    @let place = self.place(file.repo.as_deref(), &file.file);
                    li.file {
                        (file_head(&place, &[]))
                        @for line in &file.lines {
                            (block(&CodeView {
                                text: &line.text,
                                spans: colours.next().map(Vec::as_slice).unwrap_or_default(),
                                first_line: line.line,
                                marks: self.marks,
                                file_url: &place.file(),
                                links_names: false,
                                notes: NO_NOTES,
                            }))
                        }
                    }
                }
            }
        }
    }

    fn colours(&self, at: usize) -> &[HighlightedSpan] {
        self.colours.get(at).map(Vec::as_slice).unwrap_or_default()
    }

    fn place<'a>(&'a self, repository: Option<&'a str>, path: &'a str) -> Place<'a> {
        Place { project: self.project, repository: repository.unwrap_or(self.repository), path }
    }
}

fn file_head(place: &Place<'_>, revisions: &[String]) -> Markup {
    html! {
        h2.path {
            a.dim href=(Place { path: "", ..*place }.folder()) { bdi { (place.repository) } }
            " "
            a href=(file_url(place, revisions)) { bdi { (place.path) } }
            @for (at, revision) in revisions.iter().enumerate() {
                span.dim { @if at == 0 { " on " } @else { ", " } bdi { (revision) } }
            }
            button.copy type="button" hidden data-copy=(place.path) { "Copy path" }
            button.copy type="button" hidden data-context=(place.path) { "Copy for an agent" }
        }
    }
}

/// Renders what found a hit, and the parts of its score.
fn breakdown(score: f64, parts: &Map<String, Value>) -> Markup {
    html! {
        p.dim { (score::found_by(parts)) }
        dl.parts {
            @for (label, figure) in score::lines(parts) { dt { (label) } dd { (figure) } }
            dt { "score" } dd { (format!("{score:.3}")) }
        }
    }
}
