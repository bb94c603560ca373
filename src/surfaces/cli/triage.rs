//! `triage`: ingests security reports, records decisions and gathers context from the command line.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::flags::absolute;
use super::output::{BAD, BOLD, DIM, GOOD, NOTE, styled};
use super::progress_bar::CallProgressBar;
use super::session::{CommandResult, Exit, Session, ToolAnswer};
use contract::escaped_line;

/// Arguments of `triage`.
#[derive(Debug, clap::Args)]
pub(super) struct TriageArgs {
    #[command(subcommand)]
    step: Step,
}

#[derive(Debug, clap::Subcommand)]
enum Step {
    /// Ingest a security report as records that `search --mode records` finds
    Ingest(Ingest),
    /// Record a decision about a finding
    Decide(Decide),
    /// Write a context pack: what is known about a finding, in one file
    Pack(Pack),
}

/// The arguments of `triage_ingest`.
#[derive(Debug, clap::Args, Serialize)]
#[serde(rename_all = "camelCase")]
struct Ingest {
    /// Format of the report: dependabot, aws_inspector, sarif, generic, manual
    source: String,
    /// Report file
    #[arg(value_name = "FILE", value_parser = absolute)]
    input_path: String,
    /// Metadata for every finding, for example `--meta service=checkout --meta env=prod`; values may be JSON
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    #[serde(serialize_with = "object", skip_serializing_if = "Vec::is_empty")]
    meta: Vec<(String, Value)>,
    /// Do not index the records now; the next ingestion makes them searchable
    #[arg(long)]
    #[serde(rename = "buildIndex", serialize_with = "negated", skip_serializing_if = "is_false")]
    no_index: bool,
    /// Rewrite the text of every record
    #[arg(long)]
    #[serde(rename = "incremental", serialize_with = "negated", skip_serializing_if = "is_false")]
    full: bool,
    #[command(flatten)]
    #[serde(flatten)]
    project: ProjectArg,
}

/// The arguments of `triage_decision`.
#[derive(Debug, clap::Args, Serialize)]
#[serde(rename_all = "camelCase")]
struct Decide {
    /// Record ID of the finding
    finding: String,
    /// Decision: fix, accept, defer, false_positive or not_affected
    status: String,
    /// Reason
    #[arg(long, value_name = "TEXT")]
    #[serde(skip_serializing_if = "Option::is_none")]
    justification: Option<String>,
    /// Reason code; repeatable
    #[arg(long = "code", value_name = "CODE")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    codes: Vec<String>,
    /// Name of the person who decided
    #[arg(long, value_name = "NAME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    reviewer: Option<String>,
    /// Expiry date of the decision, for example 2030-12-31
    #[arg(long, value_name = "DATE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<String>,
    /// Link to evidence; repeatable
    #[arg(long, value_name = "LINK")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    evidence: Vec<String>,
    /// Metadata that limits the decision, if it differs from the finding's
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    #[serde(serialize_with = "object", skip_serializing_if = "Vec::is_empty")]
    meta: Vec<(String, Value)>,
    #[command(flatten)]
    #[serde(flatten)]
    project: ProjectArg,
}

/// The arguments of `triage_context_pack`.
#[derive(Debug, clap::Args, Serialize)]
#[serde(rename_all = "camelCase")]
struct Pack {
    /// Record ID of the finding
    record_id: String,
    /// File to write [default: in the project's folder]
    #[arg(long = "out", value_name = "FILE.json", value_parser = absolute)]
    #[serde(skip_serializing_if = "Option::is_none")]
    out_path: Option<String>,
    /// Lexical search only
    #[arg(long)]
    #[serde(rename = "ann", serialize_with = "negated", skip_serializing_if = "is_false")]
    no_ann: bool,
    #[command(flatten)]
    #[serde(flatten)]
    project: ProjectArg,
}

#[derive(Debug, clap::Args, Serialize)]
struct ProjectArg {
    /// Project of the finding [default: as configured, else the default workspace]
    #[arg(long, value_name = "ID")]
    #[serde(rename = "project_id", skip_serializing_if = "Option::is_none")]
    project: Option<String>,
}

fn pair(text: &str) -> Result<(String, Value), String> {
    let (name, value) = text.split_once('=').ok_or("write it as key=value")?;
    Ok((name.to_owned(), serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()))))
}

fn object<S: serde::Serializer>(pairs: &[(String, Value)], serializer: S) -> Result<S::Ok, S::Error> {
    pairs.iter().cloned().collect::<Map<_, _>>().serialize(serializer)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn negated<S: serde::Serializer>(flag: &bool, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bool(!flag)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_false(flag: &bool) -> bool {
    !flag
}

/// Entry point of `triage`.
pub(super) async fn run_triage(session: &Session, args: &TriageArgs) -> CommandResult {
    let bar = CallProgressBar::new(session.output);
    let (called, render): (ToolAnswer, fn(&Value) -> String) = match &args.step {
        Step::Ingest(args) => (session.call("triage_ingest", args, bar.progress()).await, render_ingest),
        Step::Decide(args) => (session.call("triage_decision", args, bar.progress()).await, render_decision),
        Step::Pack(args) => (session.call("triage_context_pack", args, bar.progress()).await, render_pack),
    };
    bar.finish();
    let has_errors =
        called.envelope.result.as_ref().is_some_and(|result| result["errors"].as_u64() > Some(0));
    let exit = session.output.answer(&called, render);
    // Valid items are stored, but a script has to notice that others were rejected.
    Ok(if exit == Exit::Ok && has_errors && matches!(args.step, Step::Ingest(_)) {
        Exit::Failed
    } else {
        exit
    })
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct IngestResult {
    total: u64,
    written: u64,
    updated: u64,
    unchanged: u64,
    errors: u64,
    secrets_redacted: u64,
    record_ids: Vec<String>,
    error_details: Vec<ItemError>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ItemError {
    index: u64,
    message: String,
}

/// Number of record IDs and of errors that are printed.
const PRINTED_MAX: usize = 10;

fn render_ingest(result: &Value) -> String {
    let done = IngestResult::deserialize(result).unwrap_or_default();
    let mut lines = vec![format!(
        "{} {} findings: {} new, {} updated, {} unchanged",
        styled(GOOD, "✓"),
        styled(BOLD, &(done.total - done.errors.min(done.total)).to_string()),
        done.written,
        done.updated,
        done.unchanged
    )];
    if done.secrets_redacted > 0 {
        let redacted = format!("{} secrets were redacted before storage", done.secrets_redacted);
        lines.push(format!("  {}", styled(NOTE, &redacted)));
    }
    if done.errors > 0 {
        lines.push(format!("{} {} items were rejected", styled(BAD, "✗"), done.errors));
        for ItemError { index, message } in done.error_details.iter().take(PRINTED_MAX) {
            lines.push(format!("  item {index}: {}", escaped_line(message)));
        }
    }
    lines.extend(done.record_ids.iter().take(PRINTED_MAX).map(|id| format!("  {}", escaped_line(id))));
    if done.record_ids.len() > PRINTED_MAX {
        lines.push(styled(DIM, &format!("  … and {} more", done.record_ids.len() - PRINTED_MAX)));
    }
    lines.join("\n") + "\n"
}

fn text_field<'v>(result: &'v Value, field: &str) -> &'v str {
    result.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn render_decision(result: &Value) -> String {
    format!(
        "{} Decision recorded for {}: {}\n  {}\n",
        styled(GOOD, "✓"),
        escaped_line(text_field(result, "findingId")),
        styled(BOLD, &escaped_line(text_field(result, "status"))),
        styled(DIM, &escaped_line(text_field(result, "recordId")))
    )
}

fn render_pack(result: &Value) -> String {
    let count = |field: &str| result.get(field).and_then(Value::as_u64).unwrap_or_default();
    format!(
        "{} {}\n  {} earlier decisions, {} evidence queries, {} warnings\n",
        styled(GOOD, "✓"),
        escaped_line(text_field(result, "outPath")),
        count("historyCount"),
        count("evidenceQueries"),
        count("warnings")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    #[command(no_binary_name = true)]
    struct Line {
        #[command(flatten)]
        args: TriageArgs,
    }

    fn arguments(line: &[&str]) -> Value {
        let args = Line::try_parse_from(line).unwrap().args;
        match args.step {
            Step::Ingest(args) => serde_json::to_value(args),
            Step::Decide(args) => serde_json::to_value(args),
            Step::Pack(args) => serde_json::to_value(args),
        }
        .unwrap()
    }

    #[test]
    fn flags_become_the_tools_arguments() {
        let line = [
            "ingest",
            "sarif",
            "/no/such/r.sarif",
            "--meta",
            "service=api",
            "--meta",
            "exposure={\"internetExposed\":true}",
            "--no-index",
            "--full",
            "--project",
            "p",
        ];
        assert_eq!(
            arguments(&line),
            serde_json::json!({ "source": "sarif", "inputPath": "/no/such/r.sarif", "buildIndex": false, "incremental": false,
                "meta": { "service": "api", "exposure": { "internetExposed": true } }, "project_id": "p" })
        );
        let line = [
            "decide",
            "f",
            "fix",
            "--code",
            "a",
            "--code",
            "b",
            "--reviewer",
            "ada",
            "--expires",
            "2030-01-01",
        ];
        assert_eq!(
            arguments(&line),
            serde_json::json!({ "finding": "f", "status": "fix", "codes": ["a", "b"], "reviewer": "ada", "expires": "2030-01-01" })
        );
        assert_eq!(
            arguments(&["pack", "f", "--no-ann"]),
            serde_json::json!({ "recordId": "f", "ann": false })
        );
        assert!(Line::try_parse_from(["ingest", "sarif", "x", "--meta", "nothing"]).is_err());
    }

    #[test]
    fn answers_read_as_lines() {
        let plain = |text: String| anstream::adapter::strip_str(&text).to_string();
        let shown =
            plain(render_ingest(&serde_json::json!({ "total": 3, "written": 1, "updated": 1, "errors": 1,
            "recordIds": ["a", "b"], "errorDetails": [{ "index": 1, "message": "bad\u{1b}" }] })));
        assert_eq!(
            shown,
            "✓ 2 findings: 1 new, 1 updated, 0 unchanged\n✗ 1 items were rejected\n  item 1: bad\\u{1b}\n  a\n  b\n"
        );
        assert!(
            plain(render_decision(&serde_json::json!({ "findingId": "f", "status": "fix" })))
                .starts_with("✓ Decision recorded for f: fix")
        );
    }
}
