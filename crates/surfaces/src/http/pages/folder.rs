//! `GET /p/{project}/r/{repository}/tree`: lists the indexed files of a folder.

use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::http::StatusCode;
use axum::response::Response;
use maud::{Markup, html};
use serde_json::json;

use super::data::{Asker, PageError};
use super::failure;
use super::layout::Frame;
use super::links::Place;
use crate::http::query::{SentQuery, unique_parameters};
use contract::{ErrorCode, echo, escaped_line};
use gate::tools::browse::{FolderList, LIST_FOLDER};

pub(super) const PATH: &str = "/p/{project}/r/{repository}/tree";

/// `GET /p/{project}/r/{repository}/tree`.
pub(super) async fn show(
    asker: Asker,
    path: Result<Path<(String, String)>, PathRejection>,
    sent: SentQuery,
) -> Response {
    let Ok(Path((project, repository))) = path else {
        return failure::page(&asker, asker.default_project(), "", &no_such_address());
    };
    let folder = match folder_path(sent) {
        Ok(folder) => folder,
        Err(error) => return failure::page(&asker, &project, "", &error),
    };
    let place = Place { project: &project, repository: &repository, path: &folder };
    let mut arguments = json!({ "repository": repository, "project_id": project });
    if !folder.is_empty() {
        arguments["path"] = folder.as_str().into();
    }
    match asker.operation::<FolderList>(LIST_FOLDER, arguments).await {
        Ok(answered) => {
            let title = if folder.is_empty() { &repository } else { &folder };
            let frame = Frame { repository: &repository, ..Frame::new(&asker, &project, title) };
            frame.respond(StatusCode::OK, &content(&place, &answered.result))
        }
        Err(error) => failure::page(&asker, &project, "", &error),
    }
}

fn folder_path(sent: SentQuery) -> Result<String, PageError> {
    let mut folder = String::new();
    for (name, value) in unique_parameters(sent)? {
        if name != "path" {
            let message = format!("The page has no parameter `{}`.", echo(&name));
            return Err(PageError::new(ErrorCode::InvalidRequest, message));
        }
        folder = value.trim_matches('/').to_owned();
    }
    Ok(folder)
}

fn content(place: &Place<'_>, list: &FolderList) -> Markup {
    let below =
        |name: &str| if place.path.is_empty() { name.to_owned() } else { format!("{}/{name}", place.path) };
    html! {
        h1.path { (trail(place)) }
        p { a href=(place.find()) data-key="t" { "Find a file" } }
        ul.plain.tree {
            @for item in &list.entries {
                @let path = below(&item.name);
                @let target = Place { path: &path, ..*place };
                li {
                    @match item.files {
                        Some(files) => { a.folder href=(target.folder()) { bdi { (item.name) } "/" } " " span.dim { (files) } }
                        None => { a href=(target.file()) { bdi { (item.name) } } }
                    }
                }
            }
        }
        @if list.truncated { p.note { "The folder has more entries than are shown." } }
    }
}

/// Renders the repository and the folders above a file or folder as links.
pub(super) fn trail(place: &Place<'_>) -> Markup {
    let ends: Vec<usize> = place.path.match_indices('/').map(|(at, _)| at).collect();
    let starts = std::iter::once(0).chain(ends.iter().map(|end| end + 1));
    let above: Vec<(&str, &str)> = starts
        .clone()
        .zip(&ends)
        .map(|(start, end)| (&place.path[..*end], &place.path[start..*end]))
        .collect();
    let last = starts.last().unwrap_or(0);
    html! {
        a href=(Place { path: "", ..*place }.folder()) { bdi { (place.repository) } }
        @for (path, name) in above { " / " a href=(Place { path, ..*place }.folder()) { bdi { (escaped_line(name)) } } }
        @if !place.path.is_empty() { " / " bdi { (escaped_line(&place.path[last..])) } }
    }
}

/// Returns the error for an address that is not UTF-8, and therefore does not exist.
#[must_use]
pub fn no_such_address() -> PageError {
    PageError::new(ErrorCode::NotFound, "There is no such page.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_trail_leads_to_each_folder_above() {
        let place = Place { project: "p", repository: "r", path: "a/b&c/d.rs" };
        let html = trail(&place).into_string();
        for part in
            ["/p/p/r/r/tree\"", "tree?path=a\"", "tree?path=a%2Fb%26c\"", ">b&amp;c<", "<bdi>d.rs</bdi>"]
        {
            assert!(html.contains(part), "{part}: {html}");
        }
        let root = trail(&Place { path: "", ..place }).into_string();
        assert_eq!(root.matches("<a ").count(), 1, "{root}");
    }
}
