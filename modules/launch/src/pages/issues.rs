//! The open issues of a run, in the order in which they are fixed, and the artifacts.

use maud::{Markup, html};

use super::answers::{OpenIssue, RunStatus};
use super::artifact_url;
use surfaces::http::pages::frame::{bytes, message};

/// The severities that have a colour, with the class of the colour.
const COLOURS: [(&str, &str); 3] = [("blocker", "critical"), ("error", "high"), ("warning", "medium")];

/// Renders the open issues, the worst first.
pub(super) fn issues(status: &RunStatus) -> Markup {
    let hidden = status.open_issue_count.saturating_sub(status.open_issues.len());
    html! {
        h2 id="issues" { "Open issues " span.dim { (status.open_issue_count) } }
        @if status.open_issues.is_empty() {
            p.dim { "None." }
        } @else {
            ol.plain { @for issue in &status.open_issues { li.card { (card(issue)) } } }
        }
        @if hidden > 0 { p.dim { (hidden) " more; the artifact " code { "validation_report.json" } " has all." } }
    }
}

fn card(issue: &OpenIssue) -> Markup {
    html! {
        p { (severity(&issue.severity)) " " (issue.title) }
        @if !issue.message.is_empty() { p.prose { (message(&issue.message)) } }
        p.dim {
            @if let Some(path) = &issue.path {
                bdi.path { (path) @if let Some(line) = issue.line { ":" (line) } }
                " · "
            }
            (issue.gate) " · " code { (issue.issue_id) }
            @if issue.fixable { " · can be fixed" }
        }
    }
}

/// Renders a severity in its colour.
fn severity(severity: &str) -> Markup {
    let class = COLOURS.iter().find(|(name, _)| *name == severity).map_or("other", |(_, class)| *class);
    html! { span class={ "badge " (class) } { (severity) } }
}

/// Renders the artifacts of the run, each with a link to its page.
pub(super) fn artifacts(project: &str, status: &RunStatus) -> Markup {
    let hidden = status.artifact_count.saturating_sub(status.artifacts.len());
    html! {
        h2 { "Artifacts " span.dim { (status.artifact_count) } }
        ul.plain {
            @for artifact in &status.artifacts {
                li {
                    a.path href=(artifact_url(project, &status.run_id, &artifact.name, "")) { bdi { (artifact.name) } }
                    " " span.dim { (bytes(artifact.bytes)) }
                }
            }
        }
        @if hidden > 0 { p.dim { (hidden) " more are not listed." } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_exact_problem_of_an_issue_is_shown_as_text() {
        let issue = json!({
            "issue_id": "0123456789ab", "severity": "error", "gate": "checks", "title": "A command failed",
            "message": "`spell` ended with status 1:\n<b>wrnog</b>", "fixable": false,
        });
        let html = card(&serde_json::from_value(issue).unwrap()).into_string();
        assert!(html.contains("A command failed"), "{html}");
        let shown =
            "<p class=\"prose\"><code>spell</code> ended with status 1:\n&lt;b&gt;wrnog&lt;/b&gt;</p>";
        assert!(html.contains(shown), "{html}");
    }

    #[test]
    fn a_severity_without_a_colour_names_no_class() {
        assert_eq!(severity("blocker").into_string(), "<span class=\"badge critical\">blocker</span>");
        assert_eq!(
            severity("\"><b>").into_string(),
            "<span class=\"badge other\">&quot;&gt;&lt;b&gt;</span>"
        );
    }
}
