//! The pages of launch runs: the list, one run with its issues, artifacts and log, the artifacts themselves, and the
//! confirmations before a run is ended or published.
//!
//! All texts of a run come from repositories and from those who start runs, and are shown as text. Everything goes through the
//! tools, so these pages show and permit the same as agents and the command line.

mod actions;
mod answers;
mod artifact;
mod issues;
mod list;
mod log;
mod progress;
mod question;
mod run;
mod stale;

use std::time::Duration;

use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::routing::{MethodFilter, on};
use serde_json::{Value, json};

use surfaces::http::Route;
use surfaces::http::pages::frame::{
    Asker, PageError, Parameters, encoded, encoded_path, no_such_address, page, url,
};
use surfaces::http::routing::SentQuery;
use surfaces::module::NavigationLink;

const GET: MethodFilter = MethodFilter::GET;
const POST: MethodFilter = MethodFilter::POST;

/// The pages.
pub(crate) const PAGES: &[Route] = &[
    page(list::PATH, GET, |method| on(method, list::show)),
    page(run::PATH, GET, |method| on(method, run::show)),
    page(run::PATH, POST, |method| on(method, run::change)),
    page(question::CANCEL_PATH, GET, |method| on(method, question::ask_cancel)),
    page(question::CANCEL_PATH, POST, |method| on(method, question::cancel)),
    page(question::PUBLISH_PATH, GET, |method| on(method, question::ask_publish)),
    page(question::PUBLISH_PATH, POST, |method| on(method, question::publish)),
    page(artifact::PATH, GET, |method| on(method, artifact::show)),
    page(artifact::RAW_PATH, GET, |method| on(method, artifact::send)),
];

/// The link in the head of every page.
pub(crate) const NAVIGATION: &[NavigationLink] =
    &[NavigationLink { place: 50, label: "Runs", path: list::PATH, tool: Some(list::TOOL) }];

/// The time that a page waits for a call; the call continues, and the page of the run shows its progress.
const PATIENCE: Duration = Duration::from_secs(3);

/// Returns the path of a run's page.
fn run_path(run_id: &str) -> String {
    format!("{}/{}", list::PATH, encoded(run_id))
}

/// Returns the page of a run.
fn run_url(project: &str, run_id: &str) -> String {
    url(&run_path(run_id), project, &[])
}

/// Returns the page of an artifact, starting at one of its bytes.
fn artifact_url(project: &str, run_id: &str, name: &str, offset: &str) -> String {
    let path = format!("{}/artifacts/{}", run_path(run_id), encoded_path(name));
    url(&path, project, &[("offset", offset)])
}

/// Returns the address of an artifact's bytes.
fn raw_url(project: &str, run_id: &str, name: &str) -> String {
    let path = format!("{}/raw/{}", run_path(run_id), encoded_path(name));
    url(&path, project, &[])
}

/// Reads the address of a page about a run: the project and the id of the run.
fn address(
    asker: &Asker,
    id: Result<Path<String>, PathRejection>,
    sent: SentQuery,
) -> Result<(String, String), PageError> {
    let Path(run_id) = id.map_err(|_| no_such_address())?;
    Ok((Parameters::read(asker, sent, &[])?.project, run_id))
}

/// Calls a tool about a run, and waits briefly for its answer.
async fn carry_out(asker: &Asker, tool: &'static str, project: &str, run_id: &str) -> Result<(), PageError> {
    let arguments = json!({ "run_id": run_id, "project_id": project });
    asker.tool_in_background::<Value>(tool, arguments, PATIENCE).await.map(drop)
}

/// Returns the beginning of a commit's id.
fn short_id(id: &str) -> &str {
    id.get(..12).unwrap_or(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_keep_names_in_their_segment() {
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
