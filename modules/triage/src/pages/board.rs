//! `GET /triage`: shows findings by status, with filters.

use axum::http::StatusCode;
use axum::response::Response;
use maud::{Markup, html};
use serde_json::{Value, json};

use super::{STATUSES, days, finding_address, severity_badge, status_label, unknown_parameter};
use crate::findings::{Count, FindingList, FindingSummary};
use crate::tools::LIST_FINDINGS;
use contract::ErrorCode;
use store::triage::SEVERITIES;
use surfaces::http::pages::frame::{
    Asker, Frame, PageError, failure, moment, project_field, shown_project, with_parameters,
};
use surfaces::http::routing::{SentQuery, unique_parameters};

pub(super) const PATH: &str = "/triage";

/// Number of findings for each status while none is selected.
const FINDINGS_OF_EACH: usize = 10;
/// Number of findings on a page of one status.
const FINDINGS: usize = 50;
/// Formats of reports, with their common names.
const SOURCES: &[(&str, &str)] = &[
    ("dependabot", "Dependabot"),
    ("aws_inspector", "AWS Inspector"),
    ("sarif", "code scanner (SARIF)"),
    ("generic", "another tool"),
    ("manual", "people"),
];

/// The state of the page, which its address encodes. An empty text selects nothing.
#[derive(Debug, Default, Clone)]
struct BoardState {
    project: String,
    status: String,
    severity: String,
    service: String,
    source: String,
    text: String,
    offset: usize,
}

impl BoardState {
    fn read(sent: SentQuery, asker: &Asker) -> Result<Self, PageError> {
        let mut state = Self { project: asker.default_project().to_owned(), ..Self::default() };
        for (name, value) in unique_parameters(sent)? {
            let value = value.trim();
            // A form sends its empty fields.
            if value.is_empty() {
                continue;
            }
            let is_among = |known: &[(&str, &str)]| known.iter().any(|(known, _)| *known == value);
            let field = match name.as_str() {
                "project" => &mut state.project,
                "status" if is_among(STATUSES) => &mut state.status,
                "severity" if SEVERITIES.contains(&value) => &mut state.severity,
                "source" if is_among(SOURCES) => &mut state.source,
                "service" => &mut state.service,
                "q" => &mut state.text,
                "offset" => {
                    let refused = || PageError::new(ErrorCode::InvalidRequest, "`offset` must be a number.");
                    state.offset = value.parse().map_err(|_| refused())?;
                    continue;
                }
                _ => return Err(unknown_parameter(&name)),
            };
            value.clone_into(field);
        }
        Ok(state)
    }

    fn is_filtered(&self) -> bool {
        [&self.status, &self.severity, &self.service, &self.source, &self.text]
            .iter()
            .any(|it| !it.is_empty())
    }

    fn limit(&self) -> usize {
        if self.status.is_empty() { FINDINGS_OF_EACH } else { FINDINGS }
    }

    fn arguments(&self) -> Value {
        let mut arguments =
            json!({ "project_id": self.project, "offset": self.offset, "limit": self.limit() });
        for (name, value) in [
            ("status", &self.status),
            ("severity", &self.severity),
            ("service", &self.service),
            ("source", &self.source),
            ("text", &self.text),
        ] {
            if !value.is_empty() {
                arguments[name] = value.as_str().into();
            }
        }
        arguments
    }

    fn url(&self) -> String {
        let offset = if self.offset == 0 { String::new() } else { self.offset.to_string() };
        with_parameters(
            PATH,
            &[
                ("project", shown_project(&self.project)),
                ("status", &self.status),
                ("severity", &self.severity),
                ("service", &self.service),
                ("source", &self.source),
                ("q", &self.text),
                ("offset", &offset),
            ],
        )
    }

    fn with_status(&self, status: &str) -> String {
        Self { status: status.to_owned(), offset: 0, ..self.clone() }.url()
    }

    fn with_severity(&self, severity: &str) -> String {
        Self { severity: severity.to_owned(), offset: 0, ..self.clone() }.url()
    }
}

/// Returns the board of a project.
pub(super) fn url(project: &str) -> String {
    BoardState { project: project.to_owned(), ..BoardState::default() }.url()
}

/// Returns the findings of a project with a text in the name of the vulnerability or package.
pub(super) fn text_url(project: &str, text: &str) -> String {
    BoardState { project: project.to_owned(), text: text.to_owned(), ..BoardState::default() }.url()
}

/// `GET /triage`.
pub(super) async fn show(asker: Asker, sent: SentQuery) -> Response {
    let state = match BoardState::read(sent, &asker) {
        Ok(state) => state,
        Err(error) => return failure::page(&asker, asker.default_project(), PATH, &error),
    };
    let content = match asker.operation::<FindingList>(LIST_FINDINGS, state.arguments()).await {
        Ok(answered) => board(&state, &answered.result),
        Err(error) if error.is_unindexed() => nothing_ingested(&state.project),
        Err(error) => return failure::page(&asker, &state.project, PATH, &error),
    };
    let frame = Frame { section: PATH, ..Frame::new(&asker, &state.project, "Findings") };
    frame.respond(StatusCode::OK, &html! { h1 { "Findings" } (content) })
}

fn board(state: &BoardState, list: &FindingList) -> Markup {
    let total: i64 = list.statuses.iter().map(|status| status.count).sum();
    if total == 0 && !state.is_filtered() {
        return nothing_ingested(&state.project);
    }
    html! {
        (filters(state))
        (status_links(state, &list.statuses, total))
        (severity_links(state, &list.severities))
        @if list.findings.is_empty() {
            p.note role="status" { "No finding passes these filters. " a href=(url(&state.project)) { "Show all findings" } }
        }
        div.lanes {
            @for status in &list.statuses {
                @let shown: Vec<&FindingSummary> =
                    list.findings.iter().filter(|finding| finding.status == status.name).collect();
                @if !shown.is_empty() { (lane(state, status, &shown)) }
            }
        }
        (pages(state, list))
    }
}

fn filters(state: &BoardState) -> Markup {
    html! {
        form.filters role="search" aria-label="Filter findings" action=(PATH) {
            (project_field(&state.project))
            label {
                "Vulnerability or package"
                input type="search" name="q" value=(state.text) maxlength="1024" autocomplete="off" spellcheck="false";
            }
            label {
                "Status"
                select name="status" {
                    option value="" { "any" }
                    @for (name, label) in STATUSES { option value=(name) selected[*name == state.status] { (label) } }
                }
            }
            label {
                "Severity"
                select name="severity" {
                    option value="" { "any" }
                    @for name in SEVERITIES { option selected[*name == state.severity] { (name) } }
                }
            }
            label {
                "Service"
                input name="service" value=(state.service) maxlength="1024" autocomplete="off" spellcheck="false";
            }
            label {
                "Reported by"
                select name="source" {
                    option value="" { "any" }
                    @for (name, label) in SOURCES { option value=(name) selected[*name == state.source] { (label) } }
                }
            }
            button { "Filter" }
            @if state.is_filtered() { a href=(url(&state.project)) { "Reset" } }
        }
    }
}

fn status_links(state: &BoardState, statuses: &[Count], total: i64) -> Markup {
    let current = |status: &str| (status == state.status).then_some("true");
    html! {
        nav.tabs aria-label="Status" {
            a href=(state.with_status("")) aria-current=[current("")] { "All " (total) }
            @for Count { name, count } in statuses {
                a href=(state.with_status(name)) aria-current=[current(name)] { (status_label(name)) " " (count) }
            }
        }
    }
}

fn severity_links(state: &BoardState, severities: &[Count]) -> Markup {
    html! {
        nav.tabs aria-label="Severity" {
            @if !state.severity.is_empty() { a href=(state.with_severity("")) { "any severity" } }
            @for Count { name, count } in severities.iter().filter(|it| it.count > 0 || it.name == state.severity) {
                @let current = (*name == state.severity).then_some("true");
                a href=(state.with_severity(name)) aria-current=[current] { (severity_badge(name)) " " (count) }
            }
        }
    }
}

/// Renders the findings of a status.
fn lane(state: &BoardState, status: &Count, shown: &[&FindingSummary]) -> Markup {
    let is_cut =
        state.status.is_empty() && i64::try_from(shown.len()).is_ok_and(|shown| shown < status.count);
    let id = format!("status-{}", status.name);
    html! {
        section.lane aria-labelledby=(id) {
            h2 id=(id) { (status_label(&status.name)) " " span.dim { (status.count) } }
            ol.plain { @for finding in shown { li.card { (card(state, finding)) } } }
            @if is_cut { p { a href=(state.with_status(&status.name)) { "All " (status.count) " →" } } }
        }
    }
}

fn card(state: &BoardState, finding: &FindingSummary) -> Markup {
    let title = finding.title.as_ref().or(finding.vuln_id.as_ref()).or(finding.package.as_ref());
    html! {
        h3 {
            a href=(finding_address::url(&state.project, &finding.record_id)) {
                bdi { (title.map_or("Finding without a name", String::as_str)) }
            }
        }
        p {
            (severity_badge(&finding.severity))
            @if let Some(id) = finding.vuln_id.as_ref().filter(|id| Some(*id) != title) { " " bdi { (id) } }
            @if let Some(package) = &finding.package {
                " · " bdi { (package) @if let Some(version) = &finding.version { " " (version) } }
            }
        }
        p.dim {
            @if let Some(service) = &finding.service {
                @let narrowed = BoardState { service: service.clone(), offset: 0, ..state.clone() };
                a href=(narrowed.url()) title="Only this service" { bdi { (service) } }
                @if let Some(env) = &finding.env { " / " bdi { (env) } }
                " · "
            }
            (age(finding)) (expiry(finding))
        }
    }
}

/// Renders the time since a finding is known.
fn age(finding: &FindingSummary) -> Markup {
    let age = match finding.age_days {
        ..=0 => "new today".to_owned(),
        count => format!("{} old", days(count)),
    };
    html! { time datetime=(finding.created_at) title=(finding.created_at) { (age) } }
}

/// Renders the end of the decision in force; empty if it has no end.
fn expiry(finding: &FindingSummary) -> Markup {
    html! {
        @if let Some(end) = &finding.status_expires_at {
            " · expires "
            @match finding.status_expires_in_days {
                Some(0) => "within a day",
                Some(count) if count <= 30 => { "in " (days(count)) }
                _ => (moment(end)),
            }
        }
    }
}

fn pages(state: &BoardState, list: &FindingList) -> Markup {
    let at = |offset: usize| BoardState { offset, ..state.clone() }.url();
    let next = state.offset + FINDINGS;
    let of_status = list.statuses.iter().find(|status| status.name == state.status);
    let has_more = of_status.is_some_and(|status| i64::try_from(next).is_ok_and(|next| next < status.count));
    html! {
        @if state.offset > 0 || has_more {
            nav.pages aria-label="Pages of findings" {
                @if state.offset > 0 { a rel="prev" href=(at(state.offset.saturating_sub(state.limit()))) { "← Previous" } }
                @if has_more { a rel="next" href=(at(next)) { "Next →" } }
            }
        }
    }
}

/// Explains how to ingest the first findings.
fn nothing_ingested(project: &str) -> Markup {
    let option = match shown_project(project) {
        "" => String::new(),
        project => format!(" --project {project}"),
    };
    html! {
        p { "There are no findings yet. A report of a scanner brings them, on the machine of the server:" }
        pre.command { "pairofcleats triage ingest dependabot alerts.json" (option) }
        p.dim {
            "Instead of " code { "dependabot" } " the format may be " code { "aws_inspector" } ", " code { "sarif" } ", "
            code { "generic" } " or " code { "manual" } ". Over HTTP and MCP the tool " code { "triage_ingest" } " does the same."
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_its_address() {
        let state =
            BoardState { project: "p".into(), severity: "high".into(), offset: 50, ..BoardState::default() };
        assert_eq!(state.url(), "/triage?project=p&severity=high&offset=50");
        assert_eq!(state.with_status("open"), "/triage?project=p&status=open&severity=high");
        assert_eq!(state.with_severity(""), "/triage?project=p");
        assert_eq!(text_url("default", "a&b"), "/triage?q=a%26b");
    }

    #[test]
    fn the_end_of_a_decision_is_shown_in_days_if_it_is_near() {
        let shown = |days: i64| {
            let end = Some("2027-01-03T01:00:00.000Z".to_owned());
            let finding = FindingSummary {
                status_expires_at: end,
                status_expires_in_days: Some(days),
                ..FindingSummary::default()
            };
            expiry(&finding).into_string()
        };
        assert_eq!(
            [shown(2), shown(1), shown(0)],
            [" · expires in 2 days", " · expires in 1 day", " · expires within a day"]
        );
        assert!(shown(31).contains("2027-01-03 01:00 UTC"));
        assert_eq!(expiry(&FindingSummary::default()).into_string(), "");
    }
}
