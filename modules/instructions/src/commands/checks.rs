//! `review`, `verify`, `gates`, `hot`: check prompts and the catalog. Their exit codes are designed for scripts.

use std::fmt::Write;
use std::fs::File;
use std::io::{self, Read};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ProjectArg, counted};
use contract::{ErrorCode, Fault, escaped_line};
use gate::tools::Progress;
use surfaces::cli::shell::{
    BAD, BOLD, CommandError, CommandResult, DIM, Exit, GOOD, NOTE, Session, styled, whole_number_in,
};

/// Size limit of a text that is read for a review. The tool refuses much shorter ones with an error that gives their length.
const REVIEWED_BYTES_MAX: u64 = 16 << 20;
/// Severities that make `review` fail.
const FAILING: [&str; 2] = ["critical", "high"];

/// Arguments of `review`.
#[derive(Debug, clap::Args)]
pub(super) struct ReviewArgs {
    /// File with the prompt, or - for stdin
    #[arg(value_name = "FILE|-")]
    file: String,
    #[command(flatten)]
    project: ProjectArg,
}

/// Arguments of `verify`.
#[derive(Debug, clap::Args)]
pub(super) struct VerifyArgs {
    /// Also list entries that name files, scripts or symbols that the project's index does not have; exits with 1 if no repository
    /// is indexed
    #[arg(long)]
    stale: bool,
    /// Also list pairs of entries that say nearly the same, or contradict each other
    #[arg(long)]
    duplicates: bool,
    /// Check this too, and exit with 1 if there is any: stale, duplicates, or both with a comma between them
    #[arg(long, value_name = "CHECKS", value_delimiter = ',')]
    fail_on: Vec<Check>,
    #[command(flatten)]
    project: ProjectArg,
}

/// A check for what a person has to judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Check {
    Stale,
    Duplicates,
}

impl VerifyArgs {
    fn fails_on(&self, check: Check) -> bool {
        self.fail_on.contains(&check)
    }
}

#[derive(Serialize)]
struct VerifyInput<'a> {
    stale: bool,
    duplicates: bool,
    #[serde(flatten)]
    project: &'a ProjectArg,
}

/// Arguments of `gates`.
#[derive(Debug, clap::Args)]
pub(super) struct GatesArgs {
    /// Exit with 1 also if the catalog has no gates
    #[arg(long)]
    require: bool,
    #[command(flatten)]
    project: ProjectArg,
}

/// Arguments of `hot`, and of the tool.
#[derive(Debug, clap::Args, Serialize)]
pub(super) struct HotArgs {
    /// Most entries, 1 to 100 [default: 10]
    #[arg(long, value_name = "N", value_parser = |text: &str| whole_number_in(text, &(1..=100_u32)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<u32>,
    #[command(flatten)]
    #[serde(flatten)]
    project: ProjectArg,
}

#[derive(Serialize)]
struct ReviewInput<'a> {
    prompt: String,
    #[serde(flatten)]
    project: &'a ProjectArg,
}

/// Entry point of `review`.
pub(super) async fn review_prompt(session: &Session, args: &ReviewArgs) -> CommandResult {
    let prompt = read_prompt(&args.file).map_err(CommandError::not_run)?;
    let input = ReviewInput { prompt, project: &args.project };
    let called = session.call("prompt_review", &input, Progress::default()).await;
    let issues = called.envelope.result.as_ref().map(issues_of).unwrap_or_default();
    let exit = session.output.answer(&called, |_| render_review(&issues));
    let fails = issues.iter().any(|issue| FAILING.contains(&issue.severity.as_str()));
    Ok(if exit == Exit::Ok && fails { Exit::Failed } else { exit })
}

fn read_prompt(file: &str) -> Result<String, Fault> {
    let unreadable = |why: &dyn std::fmt::Display| {
        Fault::new(ErrorCode::InvalidInput, format!("The prompt cannot be read: {why}."))
            .with_hint("Name a file of UTF-8 text, or - for stdin.")
    };
    let mut bytes = Vec::new();
    let read =
        |source: &mut dyn Read, bytes: &mut Vec<u8>| source.take(REVIEWED_BYTES_MAX + 1).read_to_end(bytes);
    let outcome = match file {
        "-" => read(&mut io::stdin().lock(), &mut bytes),
        path => File::open(path).and_then(|mut file| read(&mut file, &mut bytes)),
    };
    outcome.map_err(|error| unreadable(&error))?;
    if bytes.len() as u64 > REVIEWED_BYTES_MAX {
        return Err(unreadable(&format_args!("it has more than {REVIEWED_BYTES_MAX} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| unreadable(&"it is not UTF-8"))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Issue {
    rule_id: String,
    severity: String,
    description: String,
    remediation: String,
    #[serde(rename = "match")]
    matched: Option<String>,
    line: Option<u64>,
}

fn issues_of(result: &Value) -> Vec<Issue> {
    Vec::deserialize(&result["issues"]).unwrap_or_default()
}

fn render_review(issues: &[Issue]) -> String {
    if issues.is_empty() {
        return format!("{} No issues\n", styled(GOOD, "✓"));
    }
    let mut text = String::new();
    for Issue { rule_id, severity, description, remediation, matched, line } in issues {
        let style = if FAILING.contains(&severity.as_str()) { BAD } else { NOTE };
        let place = line.map(|line| format!(", line {line}")).unwrap_or_default();
        let matched = matched.as_ref().map(|text| format!(": {}", escaped_line(text))).unwrap_or_default();
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{} {}{place}{matched}\n  {}\n  {}",
            styled(style, &escaped_line(severity)),
            styled(BOLD, &escaped_line(rule_id)),
            escaped_line(description),
            styled(DIM, &escaped_line(remediation))
        );
    }
    text
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Verified {
    count: usize,
    issues: Vec<Mismatch>,
    catalog_hash: Option<Mismatch>,
    stale: Vec<StaleEntry>,
    stale_not_checked: Option<String>,
    duplicates: Vec<SimilarPair>,
}

/// A hash that differs from the stored one; without an id, that of the catalog.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Mismatch {
    id: String,
    expected: String,
    actual: String,
}

/// Names in an entry that the index does not have.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct StaleEntry {
    id: String,
    paths: Vec<String>,
    scripts: Vec<String>,
    symbols: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SimilarPair {
    ids: Vec<String>,
    titles: Vec<String>,
    similarity: f64,
    by: String,
}

/// Entry point of `verify`. Stale or duplicate entries are for the user to judge, and count as a failure only with `--fail-on`; a
/// check that could not be made always does.
pub(super) async fn verify_entries(session: &Session, args: &VerifyArgs) -> CommandResult {
    let input = VerifyInput {
        stale: args.stale || args.fails_on(Check::Stale),
        duplicates: args.duplicates || args.fails_on(Check::Duplicates),
        project: &args.project,
    };
    let called = session.call("integrity_verify", &input, Progress::default()).await;
    let verified = called.envelope.result.as_ref().and_then(|result| Verified::deserialize(result).ok());
    let verified = verified.unwrap_or_default();
    let exit = session.output.answer(&called, |_| render_verified(&verified));
    let fails = !verified.issues.is_empty()
        || verified.catalog_hash.is_some()
        || verified.stale_not_checked.is_some()
        || (args.fails_on(Check::Stale) && !verified.stale.is_empty())
        || (args.fails_on(Check::Duplicates) && !verified.duplicates.is_empty());
    Ok(if exit == Exit::Ok && fails { Exit::Failed } else { exit })
}

fn render_verified(verified: &Verified) -> String {
    let wrong = |what: &str, Mismatch { expected, actual, .. }: &Mismatch| {
        format!("{} {}: stored is {expected}, actual is {actual}\n", styled(BAD, "✗"), styled(BOLD, what))
    };
    let mut text: String =
        verified.issues.iter().map(|issue| wrong(&escaped_line(&issue.id), issue)).collect();
    text.extend(verified.catalog_hash.iter().map(|mismatch| wrong("the catalog", mismatch)));
    if text.is_empty() {
        let count = counted(verified.count, "entry", "entries");
        text = format!("{} {count}, each as it was stored\n", styled(GOOD, "✓"));
    }
    for StaleEntry { id, paths, scripts, symbols } in &verified.stale {
        let names = [&paths[..], &scripts[..], &symbols[..]].concat().join(", ");
        let (id, names) = (styled(BOLD, &escaped_line(id)), escaped_line(&names));
        text.push_str(&format!("{} {id} names what the index does not have: {names}\n", styled(NOTE, "!")));
    }
    if let Some(reason) = &verified.stale_not_checked {
        let reason = escaped_line(reason);
        text.push_str(&format!(
            "{} Names of files and symbols were not checked: {reason}\n",
            styled(BAD, "✗")
        ));
    }
    for SimilarPair { ids, titles, similarity, by } in &verified.duplicates {
        let named = |(id, title): (&String, &String)| {
            format!("{} ({})", styled(BOLD, &escaped_line(id)), escaped_line(title))
        };
        let both = ids.iter().zip(titles).map(named).collect::<Vec<_>>().join(" and ");
        let what = match by.as_str() {
            "text" => "have the same text".to_owned(),
            _ => format!("say nearly the same, or contradict each other ({similarity:.2})"),
        };
        text.push_str(&format!("{} {both} {what}\n", styled(NOTE, "!")));
    }
    text
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct GateReport {
    not_configured: bool,
    results: Vec<Gate>,
    summary: GateSummary,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Gate {
    id: String,
    description: Option<String>,
    passed: bool,
    count: usize,
    op: String,
    value: usize,
    severity: String,
    parts: Option<Vec<Value>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct GateSummary {
    errors: usize,
    warnings: usize,
    total: usize,
}

/// Entry point of `gates`.
pub(super) async fn evaluate_gates(session: &Session, args: &GatesArgs) -> CommandResult {
    let called = session.call("gates_evaluate", &args.project, Progress::default()).await;
    // A report that cannot be read must not pass.
    let report = called.envelope.result.as_ref().map(GateReport::deserialize).transpose();
    let report = report.map_err(|error| Fault::internal("The report of the gates cannot be read.", error))?;
    let report = report.unwrap_or_default();
    let exit = session.output.answer(&called, |_| render_gates(&report));
    let fails = report.summary.errors > 0 || (args.require && report.not_configured);
    Ok(if exit == Exit::Ok && fails { Exit::Failed } else { exit })
}

fn render_gates(report: &GateReport) -> String {
    if report.not_configured {
        return format!("{}\n", styled(DIM, "The catalog has no gates."));
    }
    let mut text = String::new();
    for gate in &report.results {
        let mark = match (gate.passed, gate.severity.as_str()) {
            (true, _) => styled(GOOD, "✓"),
            (false, "warn") => styled(NOTE, "!"),
            (false, _) => styled(BAD, "✗"),
        };
        let description =
            gate.description.as_ref().map(|text| format!(": {}", escaped_line(text))).unwrap_or_default();
        let outcome = match (gate.passed, &gate.parts) {
            (true, _) => String::new(),
            (false, None) => format!(" ({}, must be {} {})", gate.count, gate.op, gate.value),
            (false, Some(_)) => format!(" ({} of {} parts hold, for `{}`)", gate.count, gate.value, gate.op),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{mark} {}{description}{}",
            styled(BOLD, &escaped_line(&gate.id)),
            styled(DIM, &escaped_line(&outcome))
        );
    }
    let GateSummary { errors, warnings, total } = report.summary;
    let summary = format!(
        "{}: {}, {}",
        counted(total, "gate", "gates"),
        counted(errors, "error", "errors"),
        counted(warnings, "warning", "warnings")
    );
    text + &styled(DIM, &summary) + "\n"
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct HotEntry {
    id: String,
    usage_count: u64,
    last_used_at: String,
}

/// Entry point of `hot`.
pub(super) async fn list_hot_entries(session: &Session, args: &HotArgs) -> CommandResult {
    let called = session.call("usage_hotset", args, Progress::default()).await;
    Ok(session.output.answer(&called, render_hot_entries))
}

fn render_hot_entries(result: &Value) -> String {
    let hot: Vec<HotEntry> = Vec::deserialize(&result["items"]).unwrap_or_default();
    if hot.is_empty() {
        return format!("{}\n", styled(DIM, "No entry was used yet."));
    }
    let mut text = String::new();
    for HotEntry { id, usage_count, last_used_at } in hot {
        let last = styled(DIM, &format!("last {}", escaped_line(&last_used_at)));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{usage_count:>8}  {}  {last}", styled(BOLD, &escaped_line(&id)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn a_review_is_shown_with_place_and_remedy() {
        let result = json!({ "issues": [{ "ruleId": "aws", "severity": "critical", "category": "secrets",
            "description": "A key.", "remediation": "Remove it.", "match": "AKIA…[20 characters]", "line": 3 },
            { "ruleId": "audience", "severity": "low", "description": "For whom?", "remediation": "Say it." }] });
        assert_eq!(
            plain(&render_review(&issues_of(&result))),
            "critical aws, line 3: AKIA…[20 characters]\n  A key.\n  Remove it.\nlow audience\n  For whom?\n  Say it.\n"
        );
        assert_eq!(plain(&render_review(&[])), "✓ No issues\n");
    }

    #[test]
    fn a_failed_gate_says_what_was_counted() {
        let report = json!({ "results": [
            { "id": "a", "description": "One is mandatory", "passed": false, "count": 0, "op": ">=", "value": 1,
              "severity": "error" },
            { "id": "b", "passed": false, "count": 1, "op": "all", "value": 2, "severity": "warn", "parts": [] },
            { "id": "c", "passed": true, "count": 1, "op": ">=", "value": 1, "severity": "error" }],
            "summary": { "errors": 1, "warnings": 1, "total": 3 } });
        assert_eq!(
            plain(&render_gates(&GateReport::deserialize(report).unwrap())),
            "✗ a: One is mandatory (0, must be >= 1)\n! b (1 of 2 parts hold, for `all`)\n✓ c\n3 gates: 1 error, 1 warning\n"
        );
        let none = GateReport::deserialize(json!({ "notConfigured": true })).unwrap();
        assert_eq!(plain(&render_gates(&none)), "The catalog has no gates.\n");
    }

    #[test]
    fn a_changed_entry_is_named_with_both_hashes() {
        let verified = json!({ "count": 2, "issues": [{ "id": "a", "expected": "1", "actual": "2" }],
            "catalogHash": { "expected": "3", "actual": "4" } });
        assert_eq!(
            plain(&render_verified(&Verified::deserialize(verified).unwrap())),
            "✗ a: stored is 1, actual is 2\n✗ the catalog: stored is 3, actual is 4\n"
        );
        let advice = json!({ "count": 1, "stale": [{ "id": "a", "paths": ["src/x.rs"], "symbols": ["Gone"] }],
            "duplicates": [
                { "ids": ["a", "b"], "titles": ["Coverage", "Tests"], "similarity": 0.9123, "by": "meaning" },
                { "ids": ["a", "c"], "titles": ["Coverage", "Copy"], "similarity": 1.0, "by": "text" }] });
        assert_eq!(
            plain(&render_verified(&Verified::deserialize(advice).unwrap())),
            "✓ 1 entry, each as it was stored\n! a names what the index does not have: src/x.rs, Gone\n\
             ! a (Coverage) and b (Tests) say nearly the same, or contradict each other (0.91)\n\
             ! a (Coverage) and c (Copy) have the same text\n"
        );
        let unknown = json!({ "count": 1, "staleNotChecked": "no repository is indexed" });
        assert_eq!(
            plain(&render_verified(&Verified::deserialize(unknown).unwrap())),
            "✓ 1 entry, each as it was stored\n\
             ✗ Names of files and symbols were not checked: no repository is indexed\n"
        );
    }

    #[test]
    fn a_prompt_must_be_text() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, b"\xff").unwrap();
        for path in [file.path().to_str().unwrap(), "/no/such/file", "/"] {
            assert_eq!(read_prompt(path).unwrap_err().code, ErrorCode::InvalidInput, "{path}");
        }
        std::fs::write(&file, "a prompt").unwrap();
        assert_eq!(read_prompt(file.path().to_str().unwrap()).unwrap(), "a prompt");
    }
}
