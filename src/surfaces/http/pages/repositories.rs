//! `GET /repositories`: what is indexed, how fresh it is, what was left out and why, and which runs are in progress.

use axum::http::StatusCode;
use axum::response::Response;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::json;

use super::data::Asker;
use super::layout::{Frame, shown_project};
use super::links::{Place, with_parameters};
use super::{failure, search};
use crate::surfaces::http::query::{SentQuery, unique_parameters};

pub(super) const PATH: &str = "/repositories";

/// The page of a project's repositories.
pub(super) fn url(project: &str) -> String {
    with_parameters(PATH, &[("project", shown_project(project))])
}

/// The answer of `index_status`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct IndexStatus {
    files: i64,
    chunks: i64,
    vectors_pending: i64,
    model: Model,
    repositories: Vec<Repository>,
    jobs: Vec<Job>,
}

#[derive(Debug, Deserialize)]
struct Model {
    id: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Repository {
    name: String,
    state: String,
    files: i64,
    chunks: i64,
    indexed_at: Option<String>,
    report: Option<Report>,
}

#[derive(Debug, Default, Deserialize)]
struct Report {
    #[serde(default)]
    skipped: Vec<Skipped>,
    #[serde(default)]
    notes: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Skipped {
    reason: String,
    count: u64,
    examples: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Job {
    kind: String,
    state: String,
    repository: Option<String>,
    progress: Option<Progress>,
    error: Option<JobError>,
    created_at: String,
}

#[derive(Debug, Deserialize)]
struct JobError {
    message: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Progress {
    phase: String,
    files_total: Option<u64>,
    files_done: u64,
    vectors_total: Option<u64>,
    vectors_done: u64,
    seconds_left: Option<u64>,
}

impl Job {
    fn is_unfinished(&self) -> bool {
        matches!(self.state.as_str(), "queued" | "running")
    }
}

/// `GET /repositories`.
pub(super) async fn show(asker: Asker, sent: SentQuery) -> Response {
    let project = match unique_parameters(sent) {
        Ok(mut parameters) => parameters.remove("project").filter(|project| !project.is_empty()),
        Err(fault) => return failure::page(&asker, asker.default_project(), PATH, &fault.into()),
    };
    let project = project.unwrap_or_else(|| asker.default_project().to_owned());
    let status = match asker.tool::<IndexStatus>("index_status", json!({ "project_id": project })).await {
        Ok(answered) => Some(answered.result),
        Err(error) if error.is_unindexed() => None,
        Err(error) => return failure::page(&asker, &project, PATH, &error),
    };
    let frame = Frame {
        section: PATH,
        is_live: status.as_ref().is_some_and(|status| status.jobs.iter().any(Job::is_unfinished)),
        ..Frame::new(&asker, &project, "Repositories")
    };
    let content = match &status {
        Some(status) => content(&project, status),
        None => html! { h1 { "Repositories" } (search::nothing_indexed()) },
    };
    frame.respond(StatusCode::OK, &content)
}

fn content(project: &str, status: &IndexStatus) -> Markup {
    html! {
        h1 { "Repositories" }
        p.dim {
            (status.files) " files in " (status.chunks) " chunks, embedded by " (status.model.id)
            @if status.vectors_pending > 0 { " · " (status.vectors_pending) " texts have no vector yet" }
        }
        @let unfinished: Vec<&Job> = status.jobs.iter().filter(|job| job.is_unfinished()).collect();
        @if !unfinished.is_empty() {
            h2 { "In progress" }
            ul.plain { @for job in unfinished { li { (self::job(job)) } } }
        }
        div.scroll tabindex="0" role="region" aria-label="Repositories" {
            table {
                thead {
                    tr {
                        th scope="col" { "Repository" } th scope="col" { "State" } th.number scope="col" { "Files" }
                        th.number scope="col" { "Chunks" } th scope="col" { "Indexed" } th scope="col" { "Left out" }
                    }
                }
                tbody {
                    @for repository in &status.repositories { (row(project, repository)) }
                }
            }
        }
        @let ended: Vec<&Job> = status.jobs.iter().filter(|job| !job.is_unfinished()).collect();
        @if !ended.is_empty() {
            h2 { "Last runs" }
            ul.plain { @for job in ended { li { (self::job(job)) } } }
        }
    }
}

fn row(project: &str, repository: &Repository) -> Markup {
    let place = Place { project, repository: &repository.name, path: "" };
    html! {
        tr {
            th scope="row" { a href=(place.folder()) { bdi { (repository.name) } } }
            td { (repository.state) }
            td.number { (repository.files) }
            td.number { (repository.chunks) }
            td { @match &repository.indexed_at { Some(at) => (moment(at)), None => "not yet" } }
            td { @if let Some(report) = &repository.report { (left_out(report)) } }
        }
    }
}

fn left_out(report: &Report) -> Markup {
    let files: u64 = report.skipped.iter().map(|skipped| skipped.count).sum();
    html! {
        @if files == 0 && report.notes.is_empty() {
            "nothing"
        } @else {
            details {
                summary { (files) @if files == 1 { " file" } @else { " files" } }
                @for note in &report.notes { p { (note) } }
                dl {
                    @for skipped in &report.skipped {
                        dt { (skipped.reason.replace('_', " ")) ": " (skipped.count) }
                        @for example in &skipped.examples { dd { bdi { (example) } } }
                    }
                }
            }
        }
    }
}

fn job(job: &Job) -> Markup {
    html! {
        (job.kind) " "
        @if let Some(repository) = &job.repository { bdi { (repository) } " " }
        strong { (job.state) }
        span.dim { " since " (moment(&job.created_at)) }
        @if let (true, Some(progress)) = (job.is_unfinished(), &job.progress) {
            @let (done, total) = match progress.vectors_total {
                Some(total) => (progress.vectors_done, Some(total)),
                None => (progress.files_done, progress.files_total),
            };
            " " (progress.phase)
            @if let Some(total) = total {
                " " progress value=(done) max=(total.max(1)) aria-label="Progress" { } " " (done) " of " (total)
            }
            @if let Some(seconds) = progress.seconds_left { " · about " (seconds) " s left" }
        }
        @if let Some(message) = job.error.as_ref().and_then(|error| error.message.as_ref()) { " · " (message) }
    }
}

/// A time in UTC, to the minute.
fn moment(at: &str) -> Markup {
    let shown =
        at.get(..16).map_or_else(|| at.to_owned(), |minute| format!("{} UTC", minute.replace('T', " ")));
    html! { time datetime=(at) { (shown) } }
}
