//! `GET /runs`: lists the runs of a project, by product and state.

use axum::http::StatusCode;
use axum::response::Response;
use launch::state::RunState;
use maud::{Markup, html};
use serde_json::{Map, Value, json};

use super::answers::{ListedRun, RunList};
use super::{run_url, short_id};
use surfaces::http::pages::frame::{
    Asker, Frame, Parameters, external_link, failure, moment, project_field, shown_project, table, url,
};
use surfaces::http::routing::SentQuery;

pub(super) const PATH: &str = "/runs";
/// The tool that lists runs.
pub(super) const TOOL: &str = "launch_list_runs";

/// Number of runs on a page.
const RUNS: usize = 50;
/// The parameters of the page that filter runs.
const FILTERS: [(&str, &str); 2] = [("product", "product_slug"), ("state", "state")];

/// `GET /runs`.
pub(super) async fn show(asker: Asker, sent: SentQuery) -> Response {
    let parameters = match Parameters::read(&asker, sent, &["product", "state", "after"]) {
        Ok(parameters) => parameters,
        Err(error) => return failure::page(&asker, asker.default_project(), PATH, &error),
    };
    let project = parameters.project.as_str();
    match asker.tool::<RunList>(TOOL, arguments(&parameters)).await {
        Ok(answered) => {
            let frame = Frame { section: PATH, ..Frame::new(&asker, project, "Launch runs") };
            frame.respond(StatusCode::OK, &content(&parameters, &answered.result))
        }
        Err(error) => failure::page(&asker, project, PATH, &error),
    }
}

fn arguments(parameters: &Parameters) -> Value {
    let chosen = FILTERS
        .iter()
        .filter_map(|(name, field)| Some(((*field).to_owned(), Value::from(parameters.get(name)?))));
    let filter: Map<String, Value> = chosen.collect();
    let cursor = parameters.get("after");
    json!({ "filter": filter, "cursor": cursor, "limit": RUNS, "project_id": parameters.project })
}

fn content(parameters: &Parameters, list: &RunList) -> Markup {
    let is_filtered = FILTERS.iter().any(|(name, _)| parameters.get(name).is_some());
    let is_beginning = !is_filtered && parameters.get("after").is_none();
    html! {
        h1 { "Launch runs" }
        @if list.runs.is_empty() && is_beginning {
            (beginning(&parameters.project))
        } @else {
            (filters(parameters, is_filtered))
            @if list.runs.is_empty() {
                p.note role="status" { "No run passes these filters." }
            } @else {
                (runs(&parameters.project, &list.runs))
            }
            (pages(parameters, list))
        }
    }
}

fn filters(parameters: &Parameters, is_filtered: bool) -> Markup {
    let state = parameters.text("state");
    html! {
        form.filters role="search" aria-label="Filter runs" action=(PATH) {
            (project_field(&parameters.project))
            label {
                "Product"
                input name="product" value=(parameters.text("product")) maxlength="64" autocomplete="off" spellcheck="false";
            }
            label {
                "State"
                select name="state" {
                    option value="" { "any" }
                    @for known in RunState::ALL { option selected[known.as_str() == state] { (known.as_str()) } }
                }
            }
            button { "Filter" }
            @if is_filtered { a href=(url(PATH, &parameters.project, &[])) { "Reset" } }
        }
    }
}

fn runs(project: &str, runs: &[ListedRun]) -> Markup {
    let is_watched = runs.iter().any(|run| run.stale.is_some());
    let head = html! {
        th scope="col" { "Run" } th scope="col" { "State" } th.number scope="col" { "Open issues" }
        @if is_watched { th.number scope="col" { "Stale sentences" } }
        th scope="col" { "Commit" } th scope="col" { "Started" } th scope="col" { "Ended" } th scope="col" { "Published" }
    };
    let rows = html! {
        @for run in runs {
            tr {
                th scope="row" {
                    a href=(run_url(project, &run.run_id)) { bdi { (run.product_slug) } } br; code.dim { (run.run_id) }
                }
                td { (run.state) }
                td.number { (run.open_issue_count) }
                @if is_watched { td.number { @if let Some(count) = run.stale { (count) } } }
                td { code title=(run.repo_sha) { (short_id(&run.repo_sha)) } }
                td { (moment(&run.started_at)) }
                td { @if let Some(at) = &run.finished_at { (moment(at)) } }
                td { @if let Some(address) = &run.pr_url { (external_link(address)) } }
            }
        }
    };
    table("Launch runs", &head, &rows)
}

fn pages(parameters: &Parameters, list: &RunList) -> Markup {
    let at = |after: &str| {
        let (product, state) = (parameters.text("product"), parameters.text("state"));
        url(PATH, &parameters.project, &[("product", product), ("state", state), ("after", after)])
    };
    let is_later = parameters.get("after").is_some();
    html! {
        @if is_later || list.next_cursor.is_some() {
            nav.pages aria-label="Pages of runs" {
                @if is_later { a href=(at("")) { "← The newest" } }
                @if let Some(next) = &list.next_cursor { a rel="next" href=(at(next)) { "Earlier runs →" } }
            }
        }
    }
}

/// Explains how to start the first run.
fn beginning(project: &str) -> Markup {
    let option = match shown_project(project) {
        "" => String::new(),
        project => format!(" --project {project}"),
    };
    html! {
        p { "There are no launch runs yet. A file that describes a run starts one, on the machine of the server:" }
        pre.command.text { "pairofcleats launch start run.json" (option) }
        p.dim { "Over HTTP and MCP the tool " code { "launch_start_run" } " does the same." }
    }
}
