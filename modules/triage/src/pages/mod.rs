//! Findings of security scanners: a board with filters, and a page for each finding, where people decide.
//!
//! Every text of a finding comes from outside and is shown as text; only web addresses become links.

mod answers;
mod board;
mod decide;
mod facts;
mod finding;
mod finding_address;
mod timeline;

use axum::routing::{MethodFilter, on};
use maud::{Markup, html};

use crate::tools::LIST_FINDINGS;
use contract::ErrorCode;
use store::triage::SEVERITIES;
use surfaces::http::Route;
use surfaces::http::pages::frame::{PageError, page};
use surfaces::module::NavigationLink;

const GET: MethodFilter = MethodFilter::GET;
const POST: MethodFilter = MethodFilter::POST;

/// The pages.
pub(crate) const PAGES: &[Route] = &[
    page(board::PATH, GET, |method| on(method, board::show)),
    page(finding::PATH, GET, |method| on(method, finding::show)),
    page(finding::PATH, POST, |method| on(method, finding::decide)),
];

/// The link in the head of every page.
pub(crate) const NAVIGATION: &[NavigationLink] =
    &[NavigationLink { place: 40, label: "Triage", path: board::PATH, tool: Some(LIST_FINDINGS.name) }];

/// The statuses of findings, with their labels; all but the first and the last are decisions.
const STATUSES: &[(&str, &str)] = &[
    ("open", "Open"),
    ("fix", "To be fixed"),
    ("defer", "Deferred"),
    ("accept", "Accepted"),
    ("not_affected", "Not affected"),
    ("false_positive", "False positive"),
    ("fixed", "No longer reported"),
];

/// Returns the label of a status.
fn status_label(status: &str) -> &str {
    STATUSES.iter().find(|(name, _)| *name == status).map_or(status, |(_, label)| label)
}

/// Renders a severity in its colour.
fn severity_badge(severity: &str) -> Markup {
    let class = SEVERITIES.into_iter().find(|known| *known == severity).unwrap_or("other");
    html! { span class={ "badge " (class) } { (severity) } }
}

/// Formats a number of days: `1 day`, `12 days`.
fn days(count: i64) -> String {
    if count == 1 { "1 day".to_owned() } else { format!("{count} days") }
}

fn unknown_parameter(name: &str) -> PageError {
    let message = format!("The page has no parameter `{}` with that value.", contract::echo(name));
    PageError::new(ErrorCode::InvalidRequest, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_severity_without_a_colour_names_no_class() {
        assert_eq!(severity_badge("high").into_string(), "<span class=\"badge high\">high</span>");
        assert_eq!(severity_badge("a b").into_string(), "<span class=\"badge other\">a b</span>");
    }

    #[test]
    fn statuses_are_those_of_the_board() {
        let names: Vec<&str> = STATUSES.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, crate::findings::STATUSES);
    }
}
