//! `GET /runs/{run_id}`: shows one run: its progress, the problems of its pages, its artifacts, and the available actions.

use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use maud::html;

use super::{actions, address, answers, carry_out, issues, list, log, progress, run_url, stale};
use contract::ErrorCode;
use surfaces::http::pages::frame::{Asker, Frame, PageError, SentForm, failure, no_such_address};
use surfaces::http::routing::SentQuery;

pub(super) const PATH: &str = "/runs/{run_id}";

/// `GET /runs/{run_id}`.
pub(super) async fn show(asker: Asker, id: Result<Path<String>, PathRejection>, sent: SentQuery) -> Response {
    match address(&asker, id, sent) {
        Ok((project, run_id)) => respond(&asker, &project, &run_id, None).await,
        Err(error) => failure::page(&asker, asker.default_project(), list::PATH, &error),
    }
}

/// `POST /runs/{run_id}`: calls the tool of an action.
pub(super) async fn change(id: Result<Path<String>, PathRejection>, form: SentForm) -> Response {
    let (asker, project) = (&form.asker, form.project());
    let Ok(Path(run_id)) = id else {
        return failure::page(asker, project, list::PATH, &no_such_address());
    };
    let outcome = match actions::tool_of(form.text("action")) {
        Some(tool) => carry_out(asker, tool, project, &run_id).await,
        None => Err(PageError::new(ErrorCode::InvalidRequest, "The form names no action of this page.")),
    };
    match outcome {
        Ok(()) => Redirect::to(&run_url(project, &run_id)).into_response(),
        Err(error) => respond(asker, project, &run_id, Some(&error)).await,
    }
}

/// Renders the page, with the error of the last attempt.
async fn respond(asker: &Asker, project: &str, run_id: &str, error: Option<&PageError>) -> Response {
    let (status, events) =
        tokio::join!(answers::status(asker, project, run_id), log::read(asker, project, run_id));
    let status = match status {
        Ok(status) => status,
        Err(missing) => return failure::page(asker, project, list::PATH, error.unwrap_or(&missing)),
    };
    let live = status.is_advancing().then(|| run_url(project, run_id));
    let frame =
        Frame { section: list::PATH, live, ..Frame::new(asker, project, status.product_slug.as_str()) };
    let content = html! {
        h1 { bdi { (status.product_slug) } }
        @if let Some(error) = error { (failure::note(error)) }
        // The script replaces only this part while a job works on the run.
        div.state data-live=[frame.live.as_deref()] {
            (progress::states(&status.state))
            (progress::notes(&status))
            (actions::actions(asker, project, &status))
            (progress::facts(&status))
            (progress::sections(&status))
            (issues::issues(&status))
            @if let Some(freshness) = &status.freshness { (stale::stale(freshness)) }
            (issues::artifacts(project, &status))
            (log::log(&events))
        }
    };
    frame.respond(error.map_or(StatusCode::OK, |error| error.status), &content)
}
