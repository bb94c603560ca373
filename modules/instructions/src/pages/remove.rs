//! `/catalog/entries/{id}/remove`: asks for confirmation, and removes the entry.

use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::json;

use super::answers::{self, Entry};
use super::changes;
use super::entry_address;
use super::frame::{CatalogFrame, refused, text};
use contract::ErrorCode;
use surfaces::http::pages::frame::{
    self as pages, Asker, PageError, SentForm, failure, no_such_address, project_field, token_field,
};
use surfaces::http::routing::SentQuery;

pub(super) const PATH: &str = "/catalog/entries/{id}/remove";
/// The tool that removes.
pub(super) const TOOL: &str = "instructions_remove";

/// Returns the page that asks whether to remove an entry.
pub(super) fn url(project: &str, id: &str) -> String {
    pages::url(&path(id), project, &[])
}

fn path(id: &str) -> String {
    format!("{}/remove", entry_address::path(id))
}

/// `GET /catalog/entries/{id}/remove`.
pub(super) async fn ask(asker: Asker, id: Result<Path<String>, PathRejection>, sent: SentQuery) -> Response {
    match entry_address::read(&asker, id, sent) {
        Ok((parameters, id)) => question(&asker, &parameters.project, &id, None).await,
        Err(error) => refused(&asker, asker.default_project(), &error),
    }
}

/// The answer of `instructions_remove`.
#[derive(Debug, Deserialize)]
struct Removed {
    removed: usize,
    revision: i64,
}

/// `POST /catalog/entries/{id}/remove`: removes the entry if the catalog has not changed since the page was shown.
pub(super) async fn remove(id: Result<Path<String>, PathRejection>, form: SentForm) -> Response {
    let (asker, project) = (&form.asker, form.project());
    let Ok(Path(id)) = id else { return refused(asker, project, &no_such_address()) };
    match removed(&form, project, &id).await {
        Ok(revision) => Redirect::to(&changes::since(project, revision.saturating_sub(1))).into_response(),
        Err(error) => question(asker, project, &id, Some(&error)).await,
    }
}

/// Removes an entry. Returns the new revision of the catalog.
async fn removed(form: &SentForm, project: &str, id: &str) -> Result<i64, PageError> {
    let hash = form.required("hash", "hash of the catalog")?;
    let arguments = json!({ "ids": [id], "ifHash": hash, "project_id": project });
    let Removed { removed, revision } = form.asker.tool(TOOL, arguments).await?.result;
    if removed == 0 {
        return Err(PageError::new(ErrorCode::NotFound, "The entry has already been removed."));
    }
    Ok(revision)
}

/// Renders the confirmation page, with the error of the last attempt.
async fn question(asker: &Asker, project: &str, id: &str, error: Option<&PageError>) -> Response {
    match answers::entry(asker, project, id).await {
        Ok((entry, hash)) => {
            let frame = CatalogFrame { asker, project, tab: "", title: "Remove this entry?" };
            let status = error.map_or(StatusCode::OK, |error| error.status);
            frame.respond(status, &content(asker, project, &entry, &hash, error))
        }
        Err(missing) => refused(asker, project, error.unwrap_or(&missing)),
    }
}

fn content(asker: &Asker, project: &str, entry: &Entry, hash: &str, error: Option<&PageError>) -> Markup {
    html! {
        @if let Some(error) = error { (failure::note(error)) }
        p { strong { (entry.title) } " " code.dim { (entry.id) } }
        (text(&entry.body))
        p {
            "Agents will no longer receive this entry. Its usage count is kept. A folder that is bound to the project, or an import, can \
             bring it back; this page cannot."
        }
        form.options method="post" action=(path(&entry.id)) {
            (token_field(asker))
            (project_field(project))
            input type="hidden" name="hash" value=(hash);
            button { "Remove it" }
            a href=(entry_address::url(project, &entry.id)) { "Keep it" }
        }
    }
}
