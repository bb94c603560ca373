//! `/repositories`: shows what is indexed, how fresh it is, which files were omitted and why, and which runs are in progress;
//! adds, refreshes and removes repositories.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer_notes::nothing_indexed;
use super::data::{Asker, PageError};
use super::failure;
use super::forms::{SentForm, token_field};
use super::layout::{Frame, project_field};
use super::links::Place;
use super::parameters::{self, Parameters};
use super::table::table;
use super::text::{message, moment};
use crate::http::query::SentQuery;
use contract::ErrorCode;

pub(super) use super::paths::REPOSITORIES as PATH;

/// Maximum number of revisions of a repository that are named.
const REVISIONS_NAMED_MAX: usize = 5;

/// Returns the page of a project's repositories.
pub(super) fn url(project: &str) -> String {
    parameters::url(PATH, project, &[])
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
    #[serde(default)]
    revisions: Vec<Revision>,
    indexed_at: Option<String>,
    report: Option<Report>,
}

#[derive(Debug, Deserialize)]
struct Revision {
    name: String,
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
    finished_at: Option<String>,
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

    /// Describes the job; a maintenance job names its work where others name a repository.
    fn work(&self) -> Markup {
        html! {
            @match (self.kind.as_str(), self.repository.as_deref()) {
                ("index", Some(repository)) => { "Indexing of " bdi { (repository) } }
                ("index", None) => "Embedding of texts without vectors",
                ("upkeep", Some("clean_artifacts")) => "Removal from the index",
                ("upkeep", Some("cache_gc")) => "Removal of what nothing uses",
                (kind, subject) => { (kind) @if let Some(subject) = subject { " " bdi { (subject) } } }
            }
        }
    }
}

/// `GET /repositories`.
pub(super) async fn show(asker: Asker, sent: SentQuery) -> Response {
    match Parameters::read(&asker, sent, &[]) {
        Ok(parameters) => respond(&asker, &parameters.project, None, "").await,
        Err(error) => failure::page(&asker, asker.default_project(), PATH, &error),
    }
}

/// `POST /repositories`: starts a run for a folder or a repository (`index`), or removes a repository from the index (`remove`).
pub(super) async fn change(form: SentForm) -> Response {
    let (asker, project) = (&form.asker, form.project());
    let outcome = match (form.optional("index"), form.optional("remove")) {
        (Some(repository), None) => {
            let arguments = json!({ "repoPath": repository, "project_id": project, "wait": false });
            asker.tool::<Value>("build_index", arguments).await
        }
        (None, Some(repository)) => {
            asker.tool("clean_artifacts", json!({ "repoPath": repository, "project_id": project })).await
        }
        _ => Err(PageError::new(
            ErrorCode::InvalidRequest,
            "Type the path of a folder on the server, or the address of a git repository.",
        )),
    };
    match outcome {
        Ok(_) => Redirect::to(&url(project)).into_response(),
        Err(error) => respond(asker, project, Some(&error), form.text("index")).await,
    }
}

async fn respond(asker: &Asker, project: &str, failed: Option<&PageError>, typed: &str) -> Response {
    let status = match asker.tool::<IndexStatus>("index_status", json!({ "project_id": project })).await {
        Ok(answered) => Some(answered.result),
        Err(error) if error.is_unindexed() => None,
        Err(error) => return failure::page(asker, project, PATH, &error),
    };
    let is_live = status.as_ref().is_some_and(|status| status.jobs.iter().any(Job::is_unfinished));
    let live = is_live.then(|| url(project));
    let frame = Frame { section: PATH, live, ..Frame::new(asker, project, "Repositories") };
    let actions = Actions { asker, project };
    let content = html! {
        h1 { "Repositories" }
        @if let Some(error) = failed { (failure::note(error)) }
        // The script replaces only this part while a run is in progress, so that text being typed is not lost.
        div.state data-live=[frame.live.as_deref()] {
            @match &status {
                Some(status) => (content(&actions, status)),
                None => (nothing_indexed()),
            }
        }
        (actions.add(typed))
    };
    frame.respond(failed.map_or(StatusCode::OK, |error| error.status), &content)
}

/// The forms that change what is indexed; those that the gate would refuse are omitted.
struct Actions<'a> {
    asker: &'a Asker,
    project: &'a str,
}

impl Actions<'_> {
    /// Renders the form that indexes a folder or an address, into this project or another.
    fn add(&self, typed: &str) -> Markup {
        html! {
            @if self.asker.may_call("build_index") {
                h2 { "Index a repository" }
                form.fields method="post" action=(PATH) {
                    (token_field(self.asker))
                    label for="index" { "Folder on the server, or address" }
                    input id="index" name="index" value=(typed) required maxlength="4096" autocomplete="off" spellcheck="false"
                        placeholder="/srv/code/shop or https://git.example.com/acme/shop";
                    label for="project" { "Project" }
                    input id="project" name="project" value=(self.project) required maxlength="64" autocomplete="off"
                        spellcheck="false";
                    button { "Index" }
                }
            }
        }
    }

    fn for_repository(&self, name: &str) -> Markup {
        html! {
            @if self.asker.may_call("build_index") { (self.button("index", name, &html! { "Refresh" })) }
            @if self.asker.may_call("clean_artifacts") {
                details {
                    summary { "Remove" }
                    (self.button("remove", name, &html! { "Remove " bdi { (name) } " from the index" }))
                }
            }
        }
    }

    fn button(&self, action: &str, repository: &str, label: &Markup) -> Markup {
        html! {
            form method="post" action=(url(self.project)) {
                (token_field(self.asker))
                (project_field(self.project))
                button.quiet name=(action) value=(repository) { (label) }
            }
        }
    }
}

fn content(actions: &Actions<'_>, status: &IndexStatus) -> Markup {
    html! {
        p.dim {
            (status.files) " files in " (status.chunks) " chunks, embedded by " (status.model.id)
            @if status.vectors_pending > 0 { " · " (status.vectors_pending) " texts have no vector yet" }
        }
        @let unfinished: Vec<&Job> = status.jobs.iter().filter(|job| job.is_unfinished()).collect();
        @if !unfinished.is_empty() {
            h2 { "In progress" }
            ul.plain { @for job in unfinished { li { (self::job(job)) } } }
        }
        (table("Repositories", &head(), &html! { @for repository in &status.repositories { (row(actions, repository)) } }))
        @let ended: Vec<&Job> = status.jobs.iter().filter(|job| !job.is_unfinished()).collect();
        @if !ended.is_empty() {
            h2 { "Last runs" }
            ul.plain { @for job in ended { li { (self::job(job)) } } }
        }
    }
}

fn head() -> Markup {
    html! {
        th scope="col" { "Repository" } th scope="col" { "State" } th.number scope="col" { "Files" }
        th.number scope="col" { "Chunks" } th scope="col" { "Indexed" } th scope="col" { "Left out" }
        th scope="col" { span.unseen { "Change" } }
    }
}

fn row(actions: &Actions<'_>, repository: &Repository) -> Markup {
    let place = Place { project: actions.project, repository: &repository.name, path: "" };
    html! {
        tr {
            th scope="row" { a href=(place.folder()) { bdi { (repository.name) } } (revisions(&repository.revisions)) }
            td { (repository.state) }
            td.number { (repository.files) }
            td.number { (repository.chunks) }
            td { @match &repository.indexed_at { Some(at) => (moment(at)), None => "not yet" } }
            td { @if let Some(report) = &repository.report { (left_out(report)) } }
            td { (actions.for_repository(&repository.name)) }
        }
    }
}

/// Renders the branches and tags that are indexed in addition to the default branch.
fn revisions(revisions: &[Revision]) -> Markup {
    let more = revisions.len().saturating_sub(REVISIONS_NAMED_MAX);
    html! {
        @if !revisions.is_empty() {
            div.dim {
                "with "
                @for (at, revision) in revisions.iter().take(REVISIONS_NAMED_MAX).enumerate() {
                    @if at > 0 { ", " }
                    bdi { (revision.name) }
                }
                @if more > 0 { " and " (more) " more" }
            }
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
                @for note in &report.notes { p { (message(note)) } }
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
        (job.work()) ": " strong { (job.state) }
        span.dim {
            @match &job.finished_at {
                Some(at) => { " · finished at " (moment(at)) }
                None => { " · asked for at " (moment(&job.created_at)) }
            }
        }
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
        @if let Some(error) = job.error.as_ref().and_then(|error| error.message.as_ref()) { " · " (message(error)) }
    }
}
