//! The pages of launch runs: the list, one run with its issues, artifacts and log, what it wrote, and the questions before a run is ended
//! or published.
//!
//! All texts of a run come from repositories and from those who start runs, and are shown as text. Everything comes from the tools, so
//! that these pages show what agents and the command line are told, and change only what these may.

pub(super) mod artifact;
pub(super) mod list;
pub(super) mod question;
pub(super) mod run;

mod actions;
mod answers;
mod issues;
mod log;
mod progress;
mod stale;

use std::time::Duration;

use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use percent_encoding::utf8_percent_encode;
use serde_json::{Value, json};

use super::data::{Asker, PageError};
use super::folder;
use super::links::encoded;
use super::parameters::{self, Parameters};
use crate::http::query::SentQuery;
use crate::uri_encoding::PATH as PATH_ENCODING;

/// How long a page waits for a call; the call goes on, and the page of the run shows how far it is.
const PATIENCE: Duration = Duration::from_secs(3);

/// The path of the page of a run.
fn run_path(run_id: &str) -> String {
    format!("{}/{}", list::PATH, encoded(run_id))
}

/// The page of a run.
fn run_url(project: &str, run_id: &str) -> String {
    parameters::url(&run_path(run_id), project, &[])
}

/// The page of an artifact, from a byte of it.
fn artifact_url(project: &str, run_id: &str, name: &str, offset: &str) -> String {
    let path = format!("{}/artifacts/{}", run_path(run_id), utf8_percent_encode(name, PATH_ENCODING));
    parameters::url(&path, project, &[("offset", offset)])
}

/// The bytes of an artifact.
fn raw_url(project: &str, run_id: &str, name: &str) -> String {
    let path = format!("{}/raw/{}", run_path(run_id), utf8_percent_encode(name, PATH_ENCODING));
    parameters::url(&path, project, &[])
}

/// Reads the address of a page about a run: the project and the id of the run.
fn address(
    asker: &Asker,
    id: Result<Path<String>, PathRejection>,
    sent: SentQuery,
) -> Result<(String, String), PageError> {
    let Path(run_id) = id.map_err(|_| folder::no_such_address())?;
    Ok((Parameters::read(asker, sent, &[])?.project, run_id))
}

/// Calls a tool about a run, and waits a moment for its answer.
async fn carry_out(asker: &Asker, tool: &'static str, project: &str, run_id: &str) -> Result<(), PageError> {
    let arguments = json!({ "run_id": run_id, "project_id": project });
    asker.tool_in_background::<Value>(tool, arguments, PATIENCE).await.map(drop)
}

/// The beginning of a commit's id.
fn short_id(id: &str) -> &str {
    id.get(..12).unwrap_or(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_keep_what_is_named_in_its_place() {
        assert_eq!(run_url("default", "r_1"), "/runs/r_1");
        assert_eq!(run_url("shop", "../x"), "/runs/..%2Fx?project=shop");
        assert_eq!(
            artifact_url("shop", "r_1", "drafts/a b.md", "7"),
            "/runs/r_1/artifacts/drafts/a%20b.md?project=shop&offset=7"
        );
        assert_eq!(raw_url("default", "r_1", "a/b"), "/runs/r_1/raw/a/b");
        assert_eq!((short_id("0123456789abcdef"), short_id("ä")), ("0123456789ab", "ä"));
    }
}
