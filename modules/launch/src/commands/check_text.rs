//! Formats the output of `launch check` for people.

use std::fmt::Write;

use launch::coverage::Coverage;
use launch::issue::{Issue, Severity};
use launch::report::{GateStatus, ValidationReport};
use launch::site::counted_by_extension;

use crate::runs::CheckedSite;
use contract::escaped_line;
use surfaces::cli::shell::{BAD, BOLD, DIM, GOOD, NOTE, PATH, short_commit, styled};

/// Maximum number of issues that are printed, and of undocumented definitions.
const ISSUES_MAX: usize = 200;
const UNDOCUMENTED_MAX: usize = 30;
/// The number of unread documents that are named.
const UNREAD_MAX: usize = 3;

/// Formats the report as text. Issues of severity `info` are printed only with `all`.
pub(super) fn render(checked: &CheckedSite, all: bool) -> String {
    let mut text = String::new();
    let report = &checked.report;
    let shown: Vec<&Issue> =
        report.issues.iter().filter(|issue| all || issue.severity < Severity::Info).collect();
    for issue in shown.iter().take(ISSUES_MAX) {
        push_issue(&mut text, issue);
    }
    if shown.len() > ISSUES_MAX {
        let more = format!("… and {} more; --json lists all\n", shown.len() - ISSUES_MAX);
        text.push_str(&styled(DIM, &more));
    }
    if !shown.is_empty() {
        text.push('\n');
    }
    if let Some(coverage) = &checked.coverage {
        push_coverage(&mut text, coverage);
    }
    push_gates(&mut text, report);
    push_unread(&mut text, &checked.unread);
    let mut pages = counted(checked.pages, "page");
    if !checked.unread.is_empty() {
        pages.push_str(&format!(" ({} not read)", counted(checked.unread.len(), "document")));
    }
    let mark = if report.ok { styled(GOOD, "✓") } else { styled(BAD, "✗") };
    let against = match (&checked.repository, &checked.revision) {
        (Some(name), Some(commit)) => {
            format!(", against the index of {} at {}", escaped_line(name), short_commit(commit))
        }
        (Some(name), None) => format!(", against the index of {}", escaped_line(name)),
        (None, _) => ", without an index of the repository".to_owned(),
    };
    let counts: Vec<String> = Severity::ALL
        .into_iter()
        .filter(|severity| *severity != Severity::Info)
        .map(|severity| counted(report.count(severity), severity.as_str()))
        .collect();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{mark} {}: {pages}{against}", styled(BOLD, &counts.join(", ")));
    text
}

/// Formats a number with its noun, which takes an `s` in the plural.
fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

fn push_issue(text: &mut String, issue: &Issue) {
    let style = match issue.severity {
        Severity::Blocker | Severity::Error => BAD,
        Severity::Warning => NOTE,
        Severity::Info => DIM,
    };
    let place = match (&issue.path, issue.line) {
        (Some(path), Some(line)) => format!("{}:{line}", escaped_line(path)),
        (Some(path), None) => escaped_line(path),
        (None, _) => "site".to_owned(),
    };
    let _ = writeln!(
        text,
        "{} {} {} {}",
        styled(PATH, &place),
        styled(style, issue.severity.as_str()),
        escaped_line(&issue.message),
        styled(DIM, &format!("[{}/{}]", issue.gate, issue.code)),
    );
}

/// Lists the gates that did not run, with the reason.
fn push_gates(text: &mut String, report: &ValidationReport) {
    let skipped = report.gates.iter().filter(|gate| gate.status == GateStatus::Skipped);
    for gate in skipped {
        let reason = escaped_line(gate.reason.as_deref().unwrap_or_default());
        let _ = writeln!(text, "{}", styled(DIM, &format!("- {} skipped: {reason}", gate.gate)));
    }
}

/// Lists the documents in unsupported formats.
fn push_unread(text: &mut String, unread: &[String]) {
    if unread.is_empty() {
        return;
    }
    let named: Vec<String> = unread.iter().take(UNREAD_MAX).map(|path| escaped_line(path)).collect();
    let more = match unread.len().saturating_sub(UNREAD_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let line =
        format!("! not read, so not checked: {}: {}{more}", counted_by_extension(unread), named.join(", "));
    let _ = writeln!(text, "{}", styled(NOTE, &line));
}

fn push_coverage(text: &mut String, coverage: &Coverage) {
    let _ = writeln!(
        text,
        "{}: {} % of {} public definitions are mentioned",
        styled(BOLD, "Coverage"),
        coverage.percent,
        coverage.public
    );
    for folder in &coverage.folders {
        let name = if folder.folder.is_empty() { "." } else { &folder.folder };
        let _ = writeln!(
            text,
            "  {:>5}/{:<5} {}",
            folder.documented,
            folder.public,
            styled(PATH, &escaped_line(name))
        );
    }
    for one in coverage.undocumented.iter().take(UNDOCUMENTED_MAX) {
        let place = format!("{}:{}", escaped_line(&one.path), one.line);
        let _ = writeln!(text, "  {} {} {}", styled(PATH, &place), one.kind, escaped_line(&one.name));
    }
    let listed = coverage.undocumented.len().min(UNDOCUMENTED_MAX);
    let left = usize::try_from(coverage.public.saturating_sub(coverage.documented)).unwrap_or(usize::MAX);
    if left > listed {
        let _ = writeln!(text, "{}", styled(DIM, &format!("  … and {} more", left - listed)));
    }
    let _ = writeln!(
        text,
        "  {} of what is gone, {}\n",
        counted(coverage.gone.len(), "mention"),
        counted(coverage.broken_examples.len(), "broken example")
    );
}

#[cfg(test)]
mod tests {
    use launch::issue::Rule;
    use launch::report::{GateOutcome, Profile};

    use super::*;

    #[test]
    fn issues_and_skipped_gates_are_printed() {
        let rule = Rule::new("dead_link", "A link leads nowhere");
        let issue = |severity, message: &str| {
            Issue::new(
                "internal_links",
                &rule,
                severity,
                Some(("a\n.md", Some(3))),
                message,
                message.to_owned(),
            )
        };
        let gates = vec![GateOutcome {
            gate: "truth_lock".to_owned(),
            status: GateStatus::Skipped,
            reason: Some("no page marks its claims".to_owned()),
            issues: 1,
        }];
        let issues = vec![issue(Severity::Error, "Gone."), issue(Severity::Info, "Note.")];
        let checked = CheckedSite {
            report: ValidationReport::new(Profile::Local, gates, issues),
            coverage: None,
            pages: 1,
            unread: ["a.mdx", "b.mdx", "c.rst", "d.mdx"].map(str::to_owned).to_vec(),
            base: None,
            repository: Some("shop".to_owned()),
            revision: None,
        };
        let text = anstream::adapter::strip_str(&render(&checked, false)).to_string();
        assert_eq!(
            text,
            "a\\n.md:3 error Gone. [internal_links/dead_link]\n\n- truth_lock skipped: no page marks its claims\n\
             ! not read, so not checked: 3 .mdx, 1 .rst: a.mdx, b.mdx, c.rst and 1 more\n\
             ✓ 0 blockers, 1 error, 0 warnings: 1 page (4 documents not read), against the index of shop\n"
        );
        assert!(render(&checked, true).contains("Note."));
    }
}
