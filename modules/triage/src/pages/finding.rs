//! `GET` and `POST /triage/finding`: shows one finding, why it matters, evidence in the code, and the decisions.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use serde_json::{Value, json};

use super::answers::{Detail, Finding};
use super::decide::{Draft, form};
use super::facts::facts;
use super::finding_address::url;
use super::timeline::timeline;
use super::{board, severity_badge, status_label, unknown_parameter};
use crate::findings::Record;
use crate::tools::READ_FINDING;
use contract::ErrorCode;
use gate::tools::browse::SEARCH_PAGE;
use surfaces::http::pages::frame::{Asker, Frame, PageError, SentForm, failure, find_code, moment};
use surfaces::http::routing::{SentQuery, unique_parameters};

pub(super) use super::finding_address::PATH;

/// The tool that records a decision.
const DECIDE: &str = "triage_decision";

/// Number of hits of the search for evidence.
const EVIDENCE: usize = 8;
/// Length limit of the query for evidence, in bytes; the names that do not fit are omitted.
const QUERY_BYTES_MAX: usize = 4096;

/// `GET /triage/finding`.
pub(super) async fn show(asker: Asker, sent: SentQuery) -> Response {
    match address(sent, &asker) {
        Ok((project, id)) => respond(&asker, &project, &id, &Draft::default(), None).await,
        Err(error) => failure::page(&asker, asker.default_project(), board::PATH, &error),
    }
}

/// `POST /triage/finding`: records a decision.
pub(super) async fn decide(sent: SentForm) -> Response {
    let (project, id, draft) = (sent.project(), sent.text("id"), Draft::read(&sent));
    let deciding = sent.asker.tool::<Value>(DECIDE, draft.arguments(project, id));
    match sent.once("The decision was recorded already.", deciding).await {
        Ok(_) => Redirect::to(&format!("{}#decisions", url(project, id))).into_response(),
        Err(error) => respond(&sent.asker, project, id, &draft, Some(&error)).await,
    }
}

fn address(sent: SentQuery, asker: &Asker) -> Result<(String, String), PageError> {
    let (mut project, mut id) = (asker.default_project().to_owned(), String::new());
    for (name, value) in unique_parameters(sent)? {
        match name.as_str() {
            "project" if value.is_empty() => {}
            "project" => project = value,
            "id" => id = value,
            _ => return Err(unknown_parameter(&name)),
        }
    }
    if id.is_empty() {
        return Err(PageError::new(
            ErrorCode::InvalidRequest,
            "No finding is named: the address needs `id`.",
        ));
    }
    Ok((project, id))
}

/// Renders the page, with the user's input and the reason why it was refused.
async fn respond(
    asker: &Asker,
    project: &str,
    id: &str,
    draft: &Draft,
    error: Option<&PageError>,
) -> Response {
    let arguments = json!({ "finding": id, "project_id": project });
    let detail = match asker.operation::<Detail>(READ_FINDING, arguments).await {
        Ok(answered) => answered.result,
        Err(error) => return failure::page(asker, project, board::PATH, &error),
    };
    let may_search = asker.may_call(SEARCH_PAGE.name);
    let mut repositories =
        if may_search { asker.repositories(project).await.unwrap_or_default() } else { Vec::new() };
    repositories.retain(|name| !asker.is_of_records(name));
    let query = evidence_query(&detail.evidence_queries);
    let evidence = match query.is_empty() || !may_search {
        true => html! {},
        false => evidence(asker, project, &query, &repositories).await,
    };
    let title = title(&detail.finding.record);
    let content = html! {
        h1 { bdi { (title) } }
        (summary(project, &detail.finding))
        @if let Some(error) = error { (failure::note(error)) }
        div.beside {
            div { (facts(project, &detail.finding, &repositories)) (evidence) }
            aside {
                @if asker.may_call(DECIDE) {
                    (form(asker, project, &detail.finding.record_id, draft))
                }
                (timeline(&detail.decisions, detail.truncated))
            }
        }
    };
    let frame = Frame { section: board::PATH, ..Frame::new(asker, project, title) };
    frame.respond(error.map_or(StatusCode::OK, |error| error.status), &content)
}

/// Returns the name of a finding.
fn title(record: &Record) -> &str {
    let (vuln, package) = (&record.vuln, &record.package);
    let names = [&vuln.title, &vuln.vuln_id, &vuln.cve, &package.name];
    names.into_iter().flatten().next().map_or("Finding without a name", String::as_str)
}

fn summary(project: &str, finding: &Finding) -> Markup {
    html! {
        p.summary {
            (severity_badge(&finding.record.vuln.severity)) " "
            strong { (status_label(&finding.status)) }
            @if let Some(end) = &finding.status_expires_at { " until " (moment(end)) }
            " · " a href=(board::url(project)) { "All findings" }
        }
    }
}

/// Builds one query for all names in the finding; those with filters beside the name are omitted.
fn evidence_query(queries: &[String]) -> String {
    let mut all = String::new();
    for phrase in queries.iter().filter(|query| query.starts_with('"')) {
        let joint = if all.is_empty() { "" } else { " OR " };
        if all.len() + joint.len() + phrase.len() <= QUERY_BYTES_MAX {
            all.extend([joint, phrase]);
        }
    }
    all
}

/// Searches code and documents for the subject of the finding.
async fn evidence(asker: &Asker, project: &str, query: &str, repositories: &[String]) -> Markup {
    let repository = repositories.first().map(String::as_str).unwrap_or_default();
    let found = match find_code(asker, project, repository, query, EVIDENCE).await {
        Ok(Some(hits)) => hits,
        Ok(None) => html! { p { "Neither code nor documents name it." } },
        Err(error) => failure::note(&error),
    };
    html! { section aria-labelledby="evidence" { h2 id="evidence" { "In the code" } (found) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_for_evidence_has_the_names_that_fit() {
        let queries = ["\"a b\"", "words file:\"x\"", "path:\"p\"", "\"c\""].map(str::to_owned);
        assert_eq!(evidence_query(&queries), "\"a b\" OR \"c\"");
        let long = [format!("\"{}\"", "x".repeat(QUERY_BYTES_MAX)), "\"c\"".to_owned()];
        assert_eq!(evidence_query(&long), "\"c\"");
        assert_eq!(evidence_query(&[]), "");
    }
}
