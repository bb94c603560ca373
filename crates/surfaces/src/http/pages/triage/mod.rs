//! Findings of security scanners: a board with filters, and a page for each finding, where people decide.
//!
//! Every text of a finding comes from outside and is shown as text; only web addresses become links.

pub(super) mod board;
pub(super) mod finding;

mod answers;
mod decide;
mod facts;
mod finding_address;
mod timeline;

use maud::{Markup, html};

use super::data::PageError;
use contract::ErrorCode;
use store::triage::SEVERITIES;

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

/// Renders a web address as a link; any other text unchanged.
pub(super) fn external_link(text: &str) -> Markup {
    let scheme = text.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    let is_web = matches!(scheme.as_deref(), Some("http" | "https"))
        && !text.contains(|char: char| char.is_whitespace() || char.is_control());
    html! {
        @if is_web {
            a.external href=(text) rel="noopener noreferrer nofollow" { bdi { (text) } }
        } @else {
            bdi { (text) }
        }
    }
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
    fn only_addresses_of_the_web_become_links() {
        for address in ["https://example.com/a?b=c", "HTTP://example.com"] {
            let html = external_link(address).into_string();
            assert!(
                html.contains("rel=\"noopener noreferrer nofollow\"") && html.contains("href="),
                "{html}"
            );
        }
        for text in [
            "javascript:alert(1)//https://x", "javascript://%0aalert(1)", "//example.com", "https://a b",
            "file:///x",
        ] {
            assert!(!external_link(text).into_string().contains("href"), "{text}");
        }
        assert!(!external_link("https://a/\"><script>").into_string().contains("<script>"));
    }

    #[test]
    fn a_severity_without_a_colour_names_no_class() {
        assert_eq!(severity_badge("high").into_string(), "<span class=\"badge high\">high</span>");
        assert_eq!(severity_badge("a b").into_string(), "<span class=\"badge other\">a b</span>");
    }

    #[test]
    fn statuses_are_those_of_the_board() {
        let names: Vec<&str> = STATUSES.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, engine::triage::STATUSES);
    }
}
