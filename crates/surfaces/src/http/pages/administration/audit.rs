//! `GET /administration/audit`: shows the audited calls and their callers, newest first.

use axum::http::StatusCode;
use axum::response::Response;
use maud::{Markup, html};
use serde_json::{Map, Value};

use super::super::data::{Asker, PageError};
use super::super::failure;
use super::super::layout::Frame;
use super::super::links::with_parameters;
use super::super::table::table;
use super::super::text::moment;
use super::tabs;
use crate::http::query::{SentQuery, unique_parameters};
use contract::{ErrorCode, echo};
use gate::tools::admin::audit_log::{AuditPage, AuditedCall};
use gate::tools::browse::LIST_AUDIT;

pub(in super::super) const PATH: &str = "/administration/audit";

/// The filters of the page, with their labels.
const FILTERS: [(&str, &str); 4] =
    [("principal", "Caller"), ("tool", "Tool"), ("project", "Project"), ("outcome", "Outcome")];

/// `GET /administration/audit`.
pub(in super::super) async fn show(asker: Asker, sent: SentQuery) -> Response {
    match load(&asker, sent).await {
        Ok((filters, page)) => {
            let frame = Frame {
                section: super::overview::PATH,
                ..Frame::new(&asker, asker.default_project(), "Audited calls")
            };
            frame.respond(StatusCode::OK, &content(&asker, &filters, &page))
        }
        Err(error) => failure::page(&asker, asker.default_project(), PATH, &error),
    }
}

async fn load(asker: &Asker, sent: SentQuery) -> Result<(Map<String, Value>, AuditPage), PageError> {
    let mut arguments = Map::new();
    for (name, value) in unique_parameters(sent)? {
        let is_filter = FILTERS.iter().any(|(known, _)| *known == name);
        let value = match name.as_str() {
            _ if value.is_empty() => continue,
            "before" => value.parse::<i64>().ok().map(Value::from),
            _ if is_filter => Some(Value::from(value)),
            _ => None,
        };
        let value = value.ok_or_else(|| {
            let message = format!("The parameter `{}` of this page is not valid.", echo(&name));
            PageError::new(ErrorCode::InvalidRequest, message)
        })?;
        arguments.insert(name, value);
    }
    let page = asker.operation::<AuditPage>(LIST_AUDIT, Value::Object(arguments.clone())).await?.result;
    Ok((arguments, page))
}

fn content(asker: &Asker, filters: &Map<String, Value>, page: &AuditPage) -> Markup {
    let chosen = |name: &str| filters.get(name).and_then(Value::as_str).unwrap_or_default();
    html! {
        h1 { "Audited calls" }
        (tabs(asker, PATH))
        @if !page.enabled { p.note { "Calls are not audited: the setting " code { "audit.enabled" } " is off." } }
        form.options action=(PATH) {
            @for (name, label) in FILTERS {
                label { (label) " " input name=(name) value=(chosen(name)) autocomplete="off" spellcheck="false"; }
            }
            button { "Show" }
            span.dim { "Outcome: ok, failed, or an error code" }
        }
        @if page.entries.is_empty() {
            p { "No call matches." }
        } @else {
            (calls(&page.entries))
        }
        nav.pages aria-label="Pages of calls" {
            @if filters.contains_key("before") { a rel="prev" href=(address(filters, None)) { "← Newest" } }
            @if let Some(next) = page.next { a rel="next" href=(address(filters, Some(next))) { "Older →" } }
        }
    }
}

fn address(filters: &Map<String, Value>, before: Option<i64>) -> String {
    let before = before.map(|id| id.to_string()).unwrap_or_default();
    let mut parameters: Vec<(&str, &str)> =
        FILTERS.iter().filter_map(|(name, _)| Some((*name, filters.get(*name)?.as_str()?))).collect();
    parameters.push(("before", &before));
    with_parameters(PATH, &parameters)
}

fn calls(entries: &[AuditedCall]) -> Markup {
    let head = html! {
        th scope="col" { "When" } th scope="col" { "Caller" } th scope="col" { "Through" } th scope="col" { "Tool" }
        th scope="col" { "Project" } th scope="col" { "Outcome" } th.number scope="col" { "ms" }
    };
    let rows = html! {
        @for entry in entries {
            tr {
                td { (moment(&entry.at)) }
                td { bdi { (entry.name) } @if entry.name != entry.principal { br; code.dim { (entry.principal) } } }
                td { (entry.surface) }
                td { (entry.tool) @if let Some(query) = &entry.query { br; bdi.dim { (query) } } }
                td { @if let Some(project) = &entry.project { bdi { (project) } } }
                td { (entry.outcome) }
                td.number { (format!("{:.0}", entry.duration_ms)) }
            }
        }
    };
    table("Calls", &head, &rows)
}
