//! `GET /p/{project}/r/{repository}/raw/{path}`: sends a file as plain text, which browsers do not interpret as anything else.

use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::data::Asker;
use super::{failure, folder};
use crate::http::query::{SentQuery, unique_parameters};
use gate::tools::browse::{FileText, READ_FILE};

pub(super) const PATH: &str = "/p/{project}/r/{repository}/raw/{*path}";

/// `GET /p/{project}/r/{repository}/raw/{path}`, with the parameter `revision` for a branch or tag other than the default one.
/// The text ends early if it exceeds the limit of answers, which a header reports.
pub(super) async fn show(
    asker: Asker,
    path: Result<Path<(String, String, String)>, PathRejection>,
    sent: SentQuery,
) -> Response {
    let Ok(Path((project, repository, path))) = path else {
        return failure::page(&asker, asker.default_project(), "", &folder::no_such_address());
    };
    let mut arguments = json!({ "repository": repository, "path": path, "project_id": project });
    match unique_parameters(sent) {
        Ok(mut parameters) => {
            if let Some(revision) = parameters.remove("revision").filter(|name| !name.is_empty()) {
                arguments["revision"] = revision.into();
            }
        }
        Err(fault) => return failure::page(&asker, &project, "", &fault.into()),
    }
    match asker.operation::<FileText>(READ_FILE, arguments).await {
        Ok(answered) => {
            let file = answered.result;
            let kind = [(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"))];
            let mut response = (kind, file.text).into_response();
            if let Some(line) = file.next_line {
                response.headers_mut().insert("x-next-line", HeaderValue::from(line));
            }
            response
        }
        Err(error) => failure::page(&asker, &project, "", &error),
    }
}
