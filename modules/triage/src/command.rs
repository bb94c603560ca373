//! `triage`: ingests security reports, records decisions and gathers context from the command line.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use contract::escaped_line;
use surfaces::cli::shell::{
    BAD, BOLD, CallProgressBar, CommandResult, DIM, Exit, GOOD, NOTE, Session, ToolAnswer, absolute, command,
    parsed, styled,
};
use surfaces::module::ModuleCommand;

/// The command.
pub(crate) const COMMAND: ModuleCommand = ModuleCommand {
    command: || {
        command::<TriageArgs>("triage", "Security findings: ingest reports, record decisions, gather context")
    },
    run: |session, matches| Box::pin(async move { run_triage(session, &parsed(matches)?).await }),
    after: "scip",
};

/// Arguments of `triage`.
#[derive(Debug, clap::Args)]
struct TriageArgs {
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
    /// Format of the report: dependabot, aws_inspector, sarif, semgrep, trivy, grype, gitleaks, snyk, eslint, checkov, bandit, npm_audit,
    /// generic, manual
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
async fn run_triage(session: &Session, args: &TriageArgs) -> CommandResult {
    let bar = CallProgressBar::new(session.output);
    let called = match &args.step {
        Step::Ingest(args) => session.call("triage_ingest", args, bar.progress()).await,
        Step::Decide(args) => session.call("triage_decision", args, bar.progress()).await,
        Step::Pack(args) => session.call("triage_context_pack", args, bar.progress()).await,
    };
    bar.finish();
    let has_errors =
        called.envelope.result.as_ref().is_some_and(|result| result["errors"].as_u64() > Some(0));
    let exit = session.output.answer(&called, |result| match &args.step {
        Step::Ingest(_) => render_ingest(result),
        Step::Decide(_) => render_decision(result),
        Step::Pack(_) => render_pack(result, &project_folder(session, &called)),
    });
    // Valid items are stored, but a script has to notice that others were rejected.
    Ok(if exit == Exit::Ok && has_errors && matches!(args.step, Step::Ingest(_)) {
        Exit::Failed
    } else {
        exit
    })
}

/// Returns the folder of the project that the call concerned; tools name files relative to it.
fn project_folder(session: &Session, called: &ToolAnswer) -> PathBuf {
    let id = called.envelope.meta.project_id.as_ref().and_then(Value::as_str);
    session.app.layout.project(id.unwrap_or("default"))
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
    fixed: u64,
    split: Vec<Split>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Split {
    record_id: String,
    record_ids: Vec<String>,
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
    let findings = done.total - done.errors.min(done.total);
    let mut lines = vec![format!(
        "{} {} {}: {} new, {} updated, {} unchanged",
        styled(GOOD, "✓"),
        styled(BOLD, &findings.to_string()),
        noun(findings, "finding", "findings"),
        done.written,
        done.updated,
        done.unchanged
    )];
    if done.secrets_redacted > 0 {
        let secrets = noun(done.secrets_redacted, "secret was", "secrets were");
        let redacted = format!("{} {secrets} redacted before storage", done.secrets_redacted);
        lines.push(format!("  {}", styled(NOTE, &redacted)));
    }
    if done.errors > 0 {
        let items = noun(done.errors, "item was", "items were");
        lines.push(format!("{} {} {items} rejected", styled(BAD, "✗"), done.errors));
        for ItemError { index, message } in done.error_details.iter().take(PRINTED_MAX) {
            lines.push(format!("  item {index}: {}", escaped_line(message)));
        }
    }
    if done.fixed > 0 {
        let findings = noun(done.fixed, "finding is", "findings are");
        lines.push(format!("  {} {findings} no longer reported and now fixed", done.fixed));
    }
    for Split { record_id, record_ids } in done.split.iter().take(PRINTED_MAX) {
        let count = record_ids.len();
        lines.push(format!("  {} was {count} findings: {count} records now", escaped_line(record_id)));
    }
    lines.extend(done.record_ids.iter().take(PRINTED_MAX).map(|id| format!("  {}", escaped_line(id))));
    if done.record_ids.len() > PRINTED_MAX {
        lines.push(styled(DIM, &format!("  … and {} more", done.record_ids.len() - PRINTED_MAX)));
    }
    lines.join("\n") + "\n"
}

/// Returns the form of a noun that fits the number before it.
fn noun(count: u64, one: &'static str, many: &'static str) -> &'static str {
    if count == 1 { one } else { many }
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

fn render_pack(result: &Value, folder: &Path) -> String {
    let counted = |field: &str, one: &'static str, many: &'static str| {
        let count = result.get(field).and_then(Value::as_u64).unwrap_or_default();
        format!("{count} {}", noun(count, one, many))
    };
    format!(
        "{} {}\n  {}, {}, {}\n",
        styled(GOOD, "✓"),
        escaped_line(&folder.join(text_field(result, "outPath")).to_string_lossy()),
        counted("historyCount", "earlier decision", "earlier decisions"),
        counted("evidenceQueries", "evidence query", "evidence queries"),
        counted("warnings", "warning", "warnings")
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
            "decide", "f", "fix", "--code", "a", "--code", "b", "--reviewer", "ada", "--expires",
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
            "✓ 2 findings: 1 new, 1 updated, 0 unchanged\n✗ 1 item was rejected\n  item 1: bad\\u{1b}\n  a\n  b\n"
        );
        let shown = plain(render_ingest(&serde_json::json!({ "total": 2, "updated": 2, "fixed": 1,
            "split": [{ "recordId": "a", "recordIds": ["a", "b"] }] })));
        assert_eq!(
            shown,
            "✓ 2 findings: 0 new, 2 updated, 0 unchanged\n  1 finding is no longer reported and now fixed\n  a was 2 findings: 2 records now\n"
        );
        let shown = plain(render_ingest(
            &serde_json::json!({ "total": 3, "written": 1, "errors": 2, "secretsRedacted": 1 }),
        ));
        assert_eq!(
            shown,
            "✓ 1 finding: 1 new, 0 updated, 0 unchanged\n  1 secret was redacted before storage\n✗ 2 items were rejected\n"
        );
        assert!(
            plain(render_decision(&serde_json::json!({ "findingId": "f", "status": "fix" })))
                .starts_with("✓ Decision recorded for f: fix")
        );
    }

    #[test]
    fn a_context_pack_is_shown_with_a_path_that_can_be_opened() {
        let pack = |path: &str, count: u64| {
            let result = serde_json::json!({ "outPath": path, "historyCount": count, "evidenceQueries": count,
                "warnings": count });
            anstream::adapter::strip_str(&render_pack(&result, Path::new("/home/a"))).to_string()
        };
        assert_eq!(
            pack("context-packs/f.json", 1),
            "✓ /home/a/context-packs/f.json\n  1 earlier decision, 1 evidence query, 1 warning\n"
        );
        assert_eq!(
            pack("/tmp/f.json", 0),
            "✓ /tmp/f.json\n  0 earlier decisions, 0 evidence queries, 0 warnings\n"
        );
    }
}
