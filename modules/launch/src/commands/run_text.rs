//! Formats the output of the commands about runs for people.

use std::fmt::Write;

use serde_json::Value;

use super::freshness_text;
use contract::escaped_line;
use surfaces::cli::shell::{BAD, BOLD, DIM, GOOD, NOTE, PATH, styled};

/// The number of issues that are printed.
const PRINTED_MAX: usize = 20;
/// The number of artifacts that are printed.
const ARTIFACTS_PRINTED_MAX: usize = 40;

fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value[field].as_str().unwrap_or_default()
}

/// Returns a text of an answer on a single line.
fn plain(value: &Value, field: &str) -> String {
    escaped_line(text(value, field))
}

fn list_of<'v>(value: &'v Value, field: &str) -> impl Iterator<Item = &'v Value> {
    value[field].as_array().into_iter().flatten()
}

/// Formats a run that was started.
pub(super) fn started(result: &Value) -> String {
    let verb = if result["existing"] == true { "Known as" } else { "Started" };
    format!(
        "{} {verb} {}: {}\n",
        styled(GOOD, "✓"),
        styled(BOLD, &plain(result, "run_id")),
        plain(result, "state")
    )
}

/// Formats a run with its status.
pub(super) fn status(result: &Value) -> String {
    let status = &result["status"];
    let state = text(status, "state");
    let style = match state {
        "FAILED" | "CANCELLED" => BAD,
        "READY_FOR_PR" | "DONE" => GOOD,
        _ => NOTE,
    };
    let mut shown = format!(
        "{} {} {}\n",
        styled(BOLD, &plain(status, "run_id")),
        plain(status, "product_slug"),
        styled(style, &plain(status, "state"))
    );
    push(&mut shown, "waits", &plain(status, "pending"));
    let failure = &status["failure"];
    if failure.is_object() {
        push(&mut shown, "failed", &format!("{} ({})", plain(failure, "message"), plain(failure, "code")));
    }
    let sections = status["section_states"].as_object().into_iter().flatten();
    let sections: Vec<String> = sections
        .map(|(name, state)| {
            format!("{} {}", escaped_line(name), escaped_line(state.as_str().unwrap_or_default()))
        })
        .collect();
    push(&mut shown, "sections", &sections.join(", "));
    push(&mut shown, "branch", &plain(&status["publication"], "branch"));
    push(&mut shown, "review", &plain(&status["publication"], "pr_url"));
    push_issues(&mut shown, list_of(status, "open_issues"), status["open_issue_count"].as_u64());
    let artifacts: Vec<String> =
        list_of(status, "artifacts").map(|artifact| plain(artifact, "name")).collect();
    let more = status["artifact_count"].as_u64().unwrap_or(0);
    push(&mut shown, "artifacts", &shortened(&artifacts, more));
    shown.push_str(&freshness_text::freshness(status));
    // A fix that finds nothing to fix ends the run.
    let can_fix = list_of(status, "open_issues")
        .any(|issue| issue["fixable"] == true && matches!(text(issue, "severity"), "blocker" | "error"));
    let next = list_of(status, "next").filter_map(Value::as_str);
    let next: Vec<String> =
        next.filter(|tool| can_fix || *tool != "launch_fix_next").map(command_of).collect();
    push(&mut shown, "next", &next.join(", "));
    shown
}

/// Appends a line, unless its value is empty.
fn push(shown: &mut String, name: &str, value: &str) {
    if !value.is_empty() {
        // Writing to a string cannot fail.
        let _ = writeln!(shown, "  {} {value}", styled(DIM, &format!("{name}:")));
    }
}

/// Joins the first texts, and appends the number of the others.
fn shortened(texts: &[String], count: u64) -> String {
    let mut shown = texts.iter().take(ARTIFACTS_PRINTED_MAX).cloned().collect::<Vec<_>>().join(", ");
    let listed = u64::try_from(texts.len().min(ARTIFACTS_PRINTED_MAX)).unwrap_or(u64::MAX);
    if count > listed {
        let _ = write!(shown, " and {} more", count - listed);
    }
    shown
}

/// Returns the command that calls a tool.
fn command_of(tool: &str) -> String {
    let command = match tool {
        "launch_fix_next" => "fix",
        "launch_open_pr" => "pr",
        other => other.trim_start_matches("launch_"),
    };
    format!("launch {}", escaped_line(command))
}

fn push_issues<'v>(shown: &mut String, issues: impl Iterator<Item = &'v Value>, count: Option<u64>) {
    let mut listed = 0_u64;
    for issue in issues.take(PRINTED_MAX) {
        listed += 1;
        let severity = text(issue, "severity");
        let style = if matches!(severity, "blocker" | "error") { BAD } else { NOTE };
        let mut place = plain(issue, "path");
        if let Some(line) = issue["line"].as_u64() {
            let _ = write!(place, ":{line}");
        }
        let _ = writeln!(
            shown,
            "  {} {} {} {}",
            styled(style, &plain(issue, "severity")),
            styled(PATH, &place),
            what(issue),
            styled(DIM, &format!("{} {}", plain(issue, "gate"), plain(issue, "issue_id")))
        );
    }
    let count = count.unwrap_or(0);
    if count > listed {
        let _ = writeln!(shown, "  {}", styled(DIM, &format!("… and {} more issues", count - listed)));
    }
}

/// Returns the message of an issue, which may have several lines, such as the output of a command.
fn what(issue: &Value) -> String {
    let lines: Vec<String> = match text(issue, "message") {
        "" => return plain(issue, "title"),
        message => message.lines().map(escaped_line).collect(),
    };
    lines.join("\n    ")
}

/// Formats the runs of a project.
pub(super) fn list(result: &Value) -> String {
    let mut shown = String::new();
    for run in list_of(result, "runs") {
        let _ = writeln!(
            shown,
            "{}  {:<13} {}  {}{}",
            plain(run, "run_id"),
            plain(run, "state"),
            styled(BOLD, &plain(run, "product_slug")),
            styled(DIM, &plain(run, "started_at")),
            freshness_text::stale_count(run)
        );
    }
    if shown.is_empty() {
        return "There are no launch runs.\n".to_owned();
    }
    if result.get("next_cursor").is_some() {
        shown.push_str(&styled(DIM, "… and earlier ones; --limit lists more\n"));
    }
    shown
}

/// Formats a report, after a validation or a fix.
pub(super) fn report(result: &Value) -> String {
    let report = &result["validation_report"];
    let mut shown = String::new();
    let fixed = plain(result, "fixed_issue_id");
    if !fixed.is_empty() {
        let _ = writeln!(shown, "{} Fixed {}", styled(GOOD, "✓"), styled(BOLD, &fixed));
    }
    push_issues(&mut shown, list_of(report, "issues"), result["issue_count"].as_u64());
    let (mark, verdict) = match report["ok"] == true {
        true => (styled(GOOD, "✓"), "The pages pass"),
        false => (styled(BAD, "✗"), "The pages do not pass"),
    };
    let blockers = result["remaining_blockers"].as_u64().unwrap_or(0);
    let _ = writeln!(shown, "{mark} {verdict}; {blockers} blockers; {}", plain(result, "state"));
    shown
}

/// Formats a run that was cancelled.
pub(super) fn cancelled(result: &Value) -> String {
    format!("{} Cancelled {}\n", styled(GOOD, "✓"), styled(BOLD, &plain(result, "run_id")))
}

/// Formats a run that was published.
pub(super) fn published(result: &Value) -> String {
    let mut shown = format!("{} {}\n", styled(GOOD, "✓"), styled(BOLD, &plain(result, "branch")));
    push(&mut shown, "commit", &plain(result, "commit_sha"));
    push(&mut shown, "review", &plain(result, "pr_url"));
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn stripped(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn a_status_reads_as_lines() {
        let shown = status(&json!({ "status": {
            "run_id": "r_1", "product_slug": "shop", "state": "VALIDATING",
            "section_states": { "docs": "BLOCKED", "kb": "DONE" },
            "open_issues": [
                { "severity": "error", "path": "a\u{1b}.md", "line": 3, "title": "Dead link", "gate": "g", "issue_id": "0",
                  "message": "`b.md`\u{1b} is not there.\nLast lines", "fixable": true },
                { "severity": "warning", "title": "No licence", "gate": "g", "issue_id": "1" },
            ],
            "open_issue_count": 9,
            "artifacts": [{ "name": "page_plan.json" }], "artifact_count": 2,
            "next": ["launch_resume", "launch_fix_next", "launch_open_pr"],
        } }));
        assert_eq!(
            stripped(&shown),
            "r_1 shop VALIDATING\n  sections: docs BLOCKED, kb DONE\n  error a\\u{1b}.md:3 `b.md`\\u{1b} is not there.\n    Last lines g 0\n  warning  No licence g 1\n  … and 7 more issues\n  artifacts: page_plan.json and 1 more\n  next: launch resume, launch fix, launch pr\n"
        );
        let failed = status(&json!({ "status": { "run_id": "r_1", "product_slug": "shop", "state": "FAILED",
            "failure": { "code": "FIX_EXHAUSTED", "message": "No attempt is left." } } }));
        assert!(stripped(&failed).contains("  failed: No attempt is left. (FIX_EXHAUSTED)\n"), "{failed}");
    }

    #[test]
    fn answers_read_as_lines() {
        let shown = |text: String| stripped(&text);
        assert_eq!(
            shown(started(&json!({ "run_id": "r_1", "state": "CREATED", "existing": false }))),
            "✓ Started r_1: CREATED\n"
        );
        assert_eq!(shown(list(&json!({ "runs": [] }))), "There are no launch runs.\n");
        let run = json!({ "run_id": "r_1", "product_slug": "shop", "state": "DONE", "started_at": "t" });
        assert_eq!(shown(list(&json!({ "runs": [run] }))), "r_1  DONE          shop  t\n");
        assert_eq!(
            shown(report(&json!({ "fixed_issue_id": "0", "state": "VALIDATING", "remaining_blockers": 2,
                "validation_report": { "ok": false, "issues": [] } }))),
            "✓ Fixed 0\n✗ The pages do not pass; 2 blockers; VALIDATING\n"
        );
        assert_eq!(
            shown(published(&json!({ "branch": "b", "commit_sha": "c", "pr_url": "u" }))),
            "✓ b\n  commit: c\n  review: u\n"
        );
        assert_eq!(shown(cancelled(&json!({ "run_id": "r_1" }))), "✓ Cancelled r_1\n");
    }
}
