//! `GET /runs/{run_id}/artifacts/{name}`: shows an artifact of a run as text, and sends its bytes, which a browser saves.

use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::http::StatusCode;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::json;

use super::{artifact_url, list, raw_url, run_url};
use crate::routes::file_response;
use crate::tools::{ArtifactBytes, READ_LAUNCH_ARTIFACT};
use contract::ErrorCode;
use surfaces::http::pages::frame::{Asker, Frame, PageError, Parameters, bytes, failure, no_such_address};
use surfaces::http::routing::SentQuery;

pub(super) const PATH: &str = "/runs/{run_id}/artifacts/{*name}";
pub(super) const RAW_PATH: &str = "/runs/{run_id}/raw/{*name}";

/// The tool that reads artifacts.
const TOOL: &str = "launch_get_artifact";
/// Number of bytes of an artifact on a page; the limit of the tool.
const BYTES_MAX: u32 = 256 << 10;

/// The answer of the tool.
#[derive(Debug, Deserialize)]
struct Answer {
    artifact: Artifact,
}

#[derive(Debug, Deserialize)]
struct Artifact {
    name: String,
    content_type: String,
    sha256: String,
    content: String,
    encoding: String,
    bytes: u64,
    version: u32,
    next_offset: Option<u32>,
}

/// An address as axum reads it: the id of the run, and the name of the artifact.
type Address = Result<Path<(String, String)>, PathRejection>;

/// `GET /runs/{run_id}/artifacts/{name}`.
pub(super) async fn show(asker: Asker, named: Address, sent: SentQuery) -> Response {
    let read = || -> Result<_, PageError> {
        let Path((run_id, name)) = named.map_err(|_| no_such_address())?;
        let parameters = Parameters::read(&asker, sent, &["offset"])?;
        let is_malformed = |_| PageError::new(ErrorCode::InvalidRequest, "`offset` must be a number.");
        let offset = parameters.get("offset").unwrap_or("0").parse::<u32>().map_err(is_malformed)?;
        Ok((parameters.project, run_id, name, offset))
    };
    let (project, run_id, name, offset) = match read() {
        Ok(read) => read,
        Err(error) => return failure::page(&asker, asker.default_project(), list::PATH, &error),
    };
    let arguments = json!({
        "run_id": run_id, "artifact_name": name, "offset": offset, "bytes_max": BYTES_MAX, "project_id": project,
    });
    match asker.tool::<Answer>(TOOL, arguments).await {
        Ok(answered) => {
            let artifact = answered.result.artifact;
            let frame = Frame { section: list::PATH, ..Frame::new(&asker, &project, artifact.name.as_str()) };
            frame.respond(StatusCode::OK, &content(&project, &run_id, &artifact, offset))
        }
        Err(error) => failure::page(&asker, &project, list::PATH, &error),
    }
}

fn content(project: &str, run_id: &str, artifact: &Artifact, offset: u32) -> Markup {
    let is_text = artifact.encoding == "utf-8";
    html! {
        h1.path { bdi { (artifact.name) } }
        p.dim {
            a href=(run_url(project, run_id)) { "The run" } " · " (artifact.content_type) " · " (bytes(artifact.bytes))
            " · version " (artifact.version) " · " a href=(raw_url(project, run_id, &artifact.name)) { "Save" }
        }
        p.dim { "SHA-256 " code.secret { (artifact.sha256) } }
        @if is_text {
            pre.command.text { (artifact.content) }
            (parts(project, run_id, artifact, offset))
        } @else {
            p.note { "This is not text; save it to look at it." }
        }
    }
}

fn parts(project: &str, run_id: &str, artifact: &Artifact, offset: u32) -> Markup {
    let at = |offset: u32| artifact_url(project, run_id, &artifact.name, &offset.to_string());
    html! {
        @if offset > 0 || artifact.next_offset.is_some() {
            nav.pages aria-label="Parts of the artifact" {
                @if offset > 0 { a href=(at(0)) { "← From the beginning" } }
                @if let Some(next) = artifact.next_offset { a rel="next" href=(at(next)) { "Next part →" } }
            }
        }
    }
}

/// `GET /runs/{run_id}/raw/{name}`: a browser saves the file instead of showing it.
pub(super) async fn send(asker: Asker, named: Address, sent: SentQuery) -> Response {
    let read = || -> Result<_, PageError> {
        let Path((run_id, name)) = named.map_err(|_| no_such_address())?;
        Ok((Parameters::read(&asker, sent, &[])?.project, run_id, name))
    };
    let (project, run_id, name) = match read() {
        Ok(read) => read,
        Err(error) => return failure::page(&asker, asker.default_project(), list::PATH, &error),
    };
    let arguments = json!({ "run_id": run_id, "artifact_name": name, "project_id": project });
    let artifact = match asker.operation::<ArtifactBytes>(READ_LAUNCH_ARTIFACT, arguments).await {
        Ok(answered) => answered.result,
        Err(error) => return failure::page(&asker, &project, list::PATH, &error),
    };
    let Ok(content) = STANDARD.decode(&artifact.content) else {
        let error = PageError::new(ErrorCode::Internal, "The artifact could not be read.");
        return failure::page(&asker, &project, list::PATH, &error);
    };
    let file = name.rsplit('/').next().unwrap_or_default();
    file_response(&artifact.content_type, file, content)
}
