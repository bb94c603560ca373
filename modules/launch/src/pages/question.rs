//! `/runs/{run_id}/cancel` and `/runs/{run_id}/publish`: ask for confirmation before a run is ended or published, and do it.

use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};

use super::answers::{self, RunStatus};
use super::{address, carry_out, list, run_path, run_url};
use contract::ErrorCode;
use surfaces::http::pages::frame::{
    Asker, Frame, PageError, SentForm, failure, no_such_address, project_field, token_field,
};
use surfaces::http::routing::SentQuery;

pub(super) const CANCEL_PATH: &str = "/runs/{run_id}/cancel";
pub(super) const PUBLISH_PATH: &str = "/runs/{run_id}/publish";

/// An action that needs confirmation.
pub(super) struct Question {
    /// The last part of its address.
    name: &'static str,
    /// The tool that carries it out.
    pub(super) tool: &'static str,
    /// The button that leads to the question.
    pub(super) label: &'static str,
    title: &'static str,
    consequence: &'static str,
    yes: &'static str,
    no: &'static str,
}

const PUBLISH: &Question = &Question {
    name: "publish",
    tool: "launch_open_pr",
    label: "Open a pull request …",
    title: "Open a pull request?",
    consequence: "The pages of this run become a branch of the site, for review. Others see it, and this page cannot take it back.",
    yes: "Open it",
    no: "Not now",
};

const CANCEL: &Question = &Question {
    name: "cancel",
    tool: "launch_cancel",
    label: "Cancel …",
    title: "Cancel this run?",
    consequence: "The run ends for good. What it wrote stays readable; nothing is published.",
    yes: "Cancel the run",
    no: "Keep it",
};

/// All questions, in the order of their buttons.
pub(super) const ALL: [&Question; 2] = [PUBLISH, CANCEL];

impl Question {
    /// Returns the path of the question about a run.
    pub(super) fn path_of(&self, run_id: &str) -> String {
        format!("{}/{}", run_path(run_id), self.name)
    }
}

/// `GET /runs/{run_id}/cancel`.
pub(super) async fn ask_cancel(
    asker: Asker,
    id: Result<Path<String>, PathRejection>,
    sent: SentQuery,
) -> Response {
    ask(CANCEL, &asker, id, sent).await
}

/// `POST /runs/{run_id}/cancel`.
pub(super) async fn cancel(id: Result<Path<String>, PathRejection>, form: SentForm) -> Response {
    carry(CANCEL, id, &form).await
}

/// `GET /runs/{run_id}/publish`.
pub(super) async fn ask_publish(
    asker: Asker,
    id: Result<Path<String>, PathRejection>,
    sent: SentQuery,
) -> Response {
    ask(PUBLISH, &asker, id, sent).await
}

/// `POST /runs/{run_id}/publish`.
pub(super) async fn publish(id: Result<Path<String>, PathRejection>, form: SentForm) -> Response {
    carry(PUBLISH, id, &form).await
}

async fn ask(
    question: &Question,
    asker: &Asker,
    id: Result<Path<String>, PathRejection>,
    sent: SentQuery,
) -> Response {
    match address(asker, id, sent) {
        Ok((project, run_id)) => respond(question, asker, &project, &run_id, None).await,
        Err(error) => failure::page(asker, asker.default_project(), list::PATH, &error),
    }
}

async fn carry(question: &Question, id: Result<Path<String>, PathRejection>, form: &SentForm) -> Response {
    let (asker, project) = (&form.asker, form.project());
    let Ok(Path(run_id)) = id else {
        return failure::page(asker, project, list::PATH, &no_such_address());
    };
    match carry_out(asker, question.tool, project, &run_id).await {
        Ok(()) => Redirect::to(&run_url(project, &run_id)).into_response(),
        Err(error) => respond(question, asker, project, &run_id, Some(&error)).await,
    }
}

/// Renders the question, with the error of the last attempt.
async fn respond(
    question: &Question,
    asker: &Asker,
    project: &str,
    run_id: &str,
    error: Option<&PageError>,
) -> Response {
    let refused = |refusal: &PageError| failure::page(asker, project, list::PATH, error.unwrap_or(refusal));
    if !asker.may_call(question.tool) {
        return refused(&PageError::new(
            ErrorCode::Forbidden,
            format!("You may not call `{}`.", question.tool),
        ));
    }
    let status = match answers::status(asker, project, run_id).await {
        Ok(status) if status.is_legal(question.tool) => status,
        Ok(status) => {
            let text = format!("The run is in the state {}, in which this cannot be done.", status.state);
            return refused(&PageError::new(ErrorCode::IllegalState, text));
        }
        Err(missing) => return refused(&missing),
    };
    let frame = Frame { section: list::PATH, ..Frame::new(asker, project, question.title) };
    let code = error.map_or(StatusCode::OK, |error| error.status);
    frame.respond(code, &content(question, asker, project, &status, error))
}

fn content(
    question: &Question,
    asker: &Asker,
    project: &str,
    status: &RunStatus,
    error: Option<&PageError>,
) -> Markup {
    let stale = status.freshness.as_ref().map_or(0, |freshness| freshness.stale_count);
    html! {
        h1 { (question.title) }
        @if let Some(error) = error { (failure::note(error)) }
        p {
            strong { bdi { (status.product_slug) } } " " code.dim { (status.run_id) }
            ", for the site " bdi { (status.site_profile) }
        }
        p { (question.consequence) }
        @if question.tool == PUBLISH.tool && stale > 0 {
            p.note {
                "The repository has changed since: " (stale) @if stale == 1 { " sentence is" } @else { " sentences are" }
                " stale. The page of the run shows them."
            }
        }
        form.options method="post" action=(question.path_of(&status.run_id)) {
            (token_field(asker))
            (project_field(project))
            button { (question.yes) }
            a href=(run_url(project, &status.run_id)) { (question.no) }
        }
    }
}
