//! `/catalog/review`: looks for secrets, vague words and dangerous phrases in a text, or in an entry.

use axum::http::StatusCode;
use axum::response::Response;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::json;

use super::answers::{self, document_text, documents};
use super::frame::{CatalogFrame, refused, verdict};
use surfaces::http::pages::frame::{
    Asker, PageError, Parameters, SentForm, failure, project_field, table, token_field,
};
use surfaces::http::routing::SentQuery;

pub(super) use super::paths::CATALOG_REVIEW as PATH;

/// The tool that reviews.
const TOOL: &str = "prompt_review";

/// The answer of `prompt_review`.
#[derive(Debug, Deserialize)]
struct Review {
    issues: Vec<Issue>,
    length: usize,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Issue {
    rule_id: String,
    severity: String,
    category: String,
    description: String,
    remediation: String,
    #[serde(rename = "match")]
    matched: Option<String>,
    line: Option<usize>,
}

/// `GET /catalog/review`: the form; with `entry`, the review of that entry.
pub(super) async fn show(asker: Asker, sent: SentQuery) -> Response {
    let parameters = match Parameters::read(&asker, sent, &["entry"]) {
        Ok(parameters) => parameters,
        Err(error) => return refused(&asker, asker.default_project(), &error),
    };
    let project = parameters.project.as_str();
    let Some(id) = parameters.get("entry") else { return respond(&asker, project, "", None).await };
    match answers::entry(&asker, project, id).await {
        Ok((entry, _)) => {
            let reviewed = reviewed(&asker, project, &entry.body).await;
            respond(&asker, project, &entry.body, Some(reviewed)).await
        }
        Err(error) => refused(&asker, project, &error),
    }
}

/// `POST /catalog/review`: reviews a text, which may contain a secret and therefore is not part of an address. Changes nothing.
pub(super) async fn review(form: SentForm) -> Response {
    let (asker, project) = (&form.asker, form.project());
    let reviewed = match form.required("text", "Text") {
        Ok(text) => reviewed(asker, project, text).await,
        Err(error) => Err(error),
    };
    respond(asker, project, form.text("text"), Some(reviewed)).await
}

async fn reviewed(asker: &Asker, project: &str, text: &str) -> Result<Review, PageError> {
    let arguments = json!({ "prompt": text, "project_id": project });
    Ok(asker.tool::<Review>(TOOL, arguments).await?.result)
}

async fn respond(
    asker: &Asker,
    project: &str,
    text: &str,
    reviewed: Option<Result<Review, PageError>>,
) -> Response {
    let criteria = match documents(asker, project).await {
        Ok(documents) => documents.criteria,
        Err(error) => return refused(asker, project, &error),
    };
    let status = match &reviewed {
        Some(Err(error)) => error.status,
        _ => StatusCode::OK,
    };
    let content = html! {
        @match &reviewed {
            Some(Ok(review)) => (issues(review)),
            Some(Err(error)) => (failure::note(error)),
            None => "",
        }
        (form(asker, project, text))
        @if let Some(criteria) = &criteria {
            details { summary { "The team's own rules" } pre.command.text { (document_text(criteria)) } }
        }
    };
    let frame = CatalogFrame { asker, project, tab: PATH, title: "Review a text" };
    frame.respond(status, &content)
}

fn issues(review: &Review) -> Markup {
    let head = html! {
        th scope="col" { "Severity" } th scope="col" { "Issue" } th scope="col" { "Found" } th.number scope="col" { "Line" }
        th scope="col" { "Rule" }
    };
    let rows = html! {
        @for issue in &review.issues {
            tr {
                td { (issue.severity) }
                td { (issue.description) br; span.dim { (issue.remediation) } }
                td { @match &issue.matched { Some(matched) => code { (matched) }, None => span.dim { "missing" } } }
                td.number { @if let Some(line) = issue.line { (line) } }
                td { code { (issue.rule_id) } br; span.dim { (issue.category) } }
            }
        }
    };
    html! {
        p.summary role="status" {
            @if review.issues.is_empty() { (verdict(true, "no issues")) } @else { (verdict(false, &count(review.issues.len()))) }
            " in " (review.length) " characters"
        }
        @if !review.issues.is_empty() { (table("Issues", &head, &rows)) }
    }
}

fn count(issues: usize) -> String {
    if issues == 1 { "1 issue".to_owned() } else { format!("{issues} issues") }
}

fn form(asker: &Asker, project: &str, text: &str) -> Markup {
    html! {
        form.stacked method="post" action=(PATH) {
            (token_field(asker))
            (project_field(project))
            label for="text" { "Text: an instruction or a prompt, at most 10,240 bytes" }
            textarea id="text" name="text" rows="12" required { (text) }
            button { "Review" }
        }
        p.dim { "The text is reviewed and not kept. Secrets that are found are shown masked." }
    }
}
