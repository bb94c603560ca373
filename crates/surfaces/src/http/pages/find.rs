//! `GET /p/{project}/r/{repository}/find`: finds files by a part of their path.

use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::http::StatusCode;
use axum::response::Response;
use maud::{Markup, html};
use serde_json::json;

use super::data::{Asker, PageError};
use super::layout::Frame;
use super::links::Place;
use super::{failure, folder};
use crate::http::query::{SentQuery, unique_parameters};
use contract::ErrorCode;
use gate::tools::browse::{COMPLETE, Completions};

pub(super) const PATH: &str = "/p/{project}/r/{repository}/find";

/// `GET /p/{project}/r/{repository}/find`.
pub(super) async fn show(
    asker: Asker,
    path: Result<Path<(String, String)>, PathRejection>,
    sent: SentQuery,
) -> Response {
    let Ok(Path((project, repository))) = path else {
        return failure::page(&asker, asker.default_project(), "", &folder::no_such_address());
    };
    let place = Place { project: &project, repository: &repository, path: "" };
    let part = match unique_parameters(sent) {
        Ok(mut parameters) => parameters.remove("q").unwrap_or_default(),
        Err(fault) => return failure::page(&asker, &project, "", &fault.into()),
    };
    match find(&asker, &place, &part).await {
        Ok(found) => {
            let frame = Frame { repository: &repository, ..Frame::new(&asker, &project, "Find a file") };
            frame.respond(StatusCode::OK, &content(&place, &part, &found))
        }
        Err(error) => failure::page(&asker, &project, "", &error),
    }
}

async fn find(asker: &Asker, place: &Place<'_>, part: &str) -> Result<Completions, PageError> {
    let Place { project, repository, .. } = *place;
    if !asker.repositories(project).await?.iter().any(|name| name == repository) {
        return Err(PageError::new(ErrorCode::NotFound, "There is no such repository."));
    }
    let arguments = json!({ "kind": "path", "value": part, "repository": repository, "project_id": project });
    Ok(asker.operation::<Completions>(COMPLETE, arguments).await?.result)
}

fn content(place: &Place<'_>, part: &str, found: &Completions) -> Markup {
    html! {
        h1.path { (folder::trail(place)) }
        form.box role="search" action=(place.find()) {
            input type="search" name="q" value=(part) aria-label="Part of a path" placeholder="Part of a path"
                autocomplete="off" spellcheck="false" autofocus;
            button { "Find" }
        }
        p.summary role="status" { (found.total) @if found.total == 1 { " file" } @else { " files" } }
        ul.plain.tree {
            @for path in &found.values {
                li { a href=(Place { path, ..*place }.file()) { bdi { (path) } } }
            }
        }
        @if u64::try_from(found.values.len()).is_ok_and(|shown| shown < found.total) {
            p.note { "Only the first " (found.values.len()) " are shown; type more of the path." }
        }
    }
}
