//! Checks that a report has the format that the caller named. A file of another kind would otherwise count as a report without findings.

use serde::de::IgnoredAny;

use super::scanners::{self, format_of, is_null_list, is_report};
use super::source::FindingSource;
use super::split::{self, ItemSpan, ReportShape, split_items};
use contract::{ErrorCode, Fault};

const FORMATS: &str = "The formats are dependabot, aws_inspector, sarif, semgrep, trivy, grype, gitleaks, snyk, eslint, \
    checkov, bandit, npm_audit, generic and manual.";

// Fields by which the items of a format are recognised. Those of the generic format also occur in other formats.

const DEPENDABOT_FIELDS: &[&str] = &[
    "security_advisory", "securityAdvisory", "security_vulnerability", "securityVulnerability", "dependency",
    "ghsa_id", "ghsaId", "cve_id", "cveId", "summary",
];

const INSPECTOR_FIELDS: &[&str] = &[
    "findingArn", "arn", "awsAccountId", "resources", "packageVulnerabilityDetails",
    "codeVulnerabilityDetails", "networkReachabilityDetails", "vulnerabilityId", "inspectorScore",
    "inspectorScoreDetails",
];

const GENERIC_FIELDS: &[&str] = &[
    "stableKey", "recordId", "vuln", "vulnId", "vuln_id", "cve", "title", "summary", "description",
    "package", "packageName", "asset", "assetId",
];

/// Checks that `text` is a report of the format `source`; `has_items` says whether items were found in it. A report without findings
/// passes, and so does one with broken items, whose errors are reported when they are read.
///
/// # Errors
/// `INVALID_REQUEST`, which says what is wrong and which format the text seems to have.
pub(super) fn require_format(text: &[u8], source: FindingSource, has_items: bool) -> Result<(), Fault> {
    let refusal =
        |message: String, hint: &str| Fault::new(ErrorCode::InvalidRequest, message).with_hint(hint);
    if split::root_start(text) == text.len() {
        return match source {
            // These are JSON lines without a line.
            FindingSource::Generic | FindingSource::Manual => Ok(()),
            _ => Err(refusal(
                "The report is empty.".to_owned(),
                "Check whether the scanner failed. A report without findings is an empty list, in SARIF an empty `runs`.",
            )),
        };
    }
    if let Some(line) = last_line_before_more(text, source) {
        let message = format!("The report ends at line {line}, and there is more text after it.");
        return Err(refusal(
            message,
            "A file holds one report: send each report on its own, without what else the scanner printed. In JSON lines, each line is one object.",
        ));
    }
    let (shape, items) = split_items(text);
    if format_of(source).is_some_and(|format| is_null_list(text, format)) {
        return Ok(());
    }
    // An empty list does not show its format, except that only SARIF has `runs`, and that not all scanners write lists.
    let may_be_list = format_of(source).map_or(source != FindingSource::Sarif, |format| {
        format.is_list && text.get(split::root_start(text)) == Some(&b'[')
    });
    let is_empty_list = items.is_empty() && may_be_list && !has_runs(text);
    let is_of_format = is_empty_list || shows_format(text, &items, source);
    if is_of_format && has_items {
        return Ok(());
    }
    if let Some(error) = json_error(text, shape, &items) {
        return Err(refusal(
            format!("The report is not valid JSON: {error}."),
            "A report is a JSON array, an object with one, a single object, or JSON lines.",
        ));
    }
    if is_of_format {
        return Ok(());
    }
    let message = format!("It is not {}: {}.", name_with_article(source), what_is_missing(text, source));
    Err(refusal(message, &formats_hint(text, &items)))
}

/// Returns the line at which the report in a text ends, from 1, if there is more text after it: another report, or output of the scanner.
/// That text would not be read, and its findings would be missing. `None` if the text is JSON lines.
fn last_line_before_more(text: &[u8], source: FindingSource) -> Option<usize> {
    let (start, end) = (split::root_start(text), split::end_before_more(text)?);
    let report = &text[start..end];
    let is_whole = match format_of(source) {
        _ if report.starts_with(b"[") => true,
        // Scanners do not write JSON lines; but a text of another format is refused because of its format.
        Some(format) => is_report(text, format),
        None => {
            let rest_of_line = text[end..].split(|byte| *byte == b'\n').next().unwrap_or_default();
            // Broken lines among records are items with errors; but the text after a log is another log, or does not belong to it.
            let is_log = source == FindingSource::Sarif && has_runs(text);
            let lacks_next_log = is_log && !text[end..].trim_ascii_start().starts_with(b"{");
            report.contains(&b'\n') || !rest_of_line.trim_ascii().is_empty() || lacks_next_log
        }
    };
    // The end of text that is not JSON may be detected too early.
    let ends_here = is_whole && serde_json::from_slice::<IgnoredAny>(report).is_ok();
    ends_here.then(|| text[..end].iter().filter(|byte| **byte == b'\n').count() + 1)
}

/// Returns whether something in the text is typical of the format.
fn shows_format(text: &[u8], items: &[ItemSpan], source: FindingSource) -> bool {
    if source == FindingSource::Sarif && has_runs(text) {
        return true;
    }
    if let Some(format) = format_of(source) {
        return is_report(text, format);
    }
    let is_scanners = || scanners::FORMATS.iter().any(|format| is_report(text, format));
    let takes_all = matches!(source, FindingSource::Generic | FindingSource::Manual | FindingSource::Sarif);
    if !takes_all && is_scanners() {
        return false;
    }
    let is_typical = |at: usize| match source {
        FindingSource::Dependabot => split::has_field(text, at, DEPENDABOT_FIELDS),
        FindingSource::AwsInspector => split::has_field(text, at, INSPECTOR_FIELDS),
        FindingSource::Sarif => is_sarif_item(text, at),
        _ => split::has_field(text, at, GENERIC_FIELDS),
    };
    items.iter().any(|item| is_typical(item.bytes.start))
}

/// Returns whether the text is an object with `runs`, which may be null, as in SARIF.
fn has_runs(text: &[u8]) -> bool {
    has_runs_at(text, split::root_start(text))
}

fn has_runs_at(text: &[u8], at: usize) -> bool {
    let runs = split::object_field(text, at, "runs");
    runs.is_some_and(|runs| matches!(text.get(runs.start), Some(b'[' | b'n')))
}

/// Returns whether a SARIF log, run or result is at `at`. Other tools also write `results` and `tool`, but not `tool.driver`.
fn is_sarif_item(text: &[u8], at: usize) -> bool {
    let tool = split::object_field(text, at, "tool");
    let is_run = tool.is_some_and(|tool| split::has_field(text, tool.start, &["driver"]));
    is_run || is_sarif_result(text, at) || has_runs_at(text, at)
}

/// Returns whether a result of a SARIF run is at `at`.
pub(super) fn is_sarif_result(text: &[u8], at: usize) -> bool {
    let message = split::object_field(text, at, "message");
    let has_message = message.is_some_and(|message| text.get(message.start) == Some(&b'{'));
    has_message || split::object_field(text, at, "ruleId").is_some()
}

/// Returns the error of a text that is neither JSON nor JSON lines, with its line and column.
fn json_error(text: &[u8], shape: ReportShape, items: &[ItemSpan]) -> Option<serde_json::Error> {
    let error = |json: &[u8]| serde_json::from_slice::<IgnoredAny>(json).err();
    let is_json_line = |item: &ItemSpan| {
        let line = &text[item.bytes.clone()];
        line.starts_with(b"{") && error(line).is_none()
    };
    if shape == ReportShape::Lines && items.iter().any(is_json_line) {
        return None;
    }
    error(split::without_mark(text))
}

fn name_with_article(source: FindingSource) -> &'static str {
    match source {
        FindingSource::Dependabot => "a Dependabot report",
        FindingSource::AwsInspector => "an AWS Inspector report",
        FindingSource::Sarif => "a SARIF report",
        FindingSource::Generic => "a generic report",
        FindingSource::Manual => "a manual report",
        _ => format_of(source).map_or("a report of that scanner", |format| format.name),
    }
}

fn what_is_missing(text: &[u8], source: FindingSource) -> String {
    if let Some(format) = format_of(source) {
        let has = |field: &str| split::object_field(text, split::root_start(text), field).is_some();
        return format!("the root lacks {}", format.missing_marks(has));
    }
    let missing = match source {
        FindingSource::Dependabot => "no item has a field of an alert, such as `security_advisory`",
        FindingSource::AwsInspector => "no item has a field of a finding, such as `findingArn`",
        FindingSource::Sarif if split::object_field(text, split::root_start(text), "runs").is_some() => {
            "`runs` is not a list"
        }
        FindingSource::Sarif => "the root has no `runs`",
        _ => "no item has a field of a finding, such as `title`, `vulnId` or `package`",
    };
    missing.to_owned()
}

/// Names the formats, and the one that the text seems to have.
fn formats_hint(text: &[u8], items: &[ItemSpan]) -> String {
    let of_scanners = scanners::FORMATS.iter().map(|format| format.source);
    let others = [FindingSource::Dependabot, FindingSource::AwsInspector, FindingSource::Generic];
    let mut formats = std::iter::once(FindingSource::Sarif).chain(of_scanners).chain(others);
    match formats.find(|format| shows_format(text, items, *format)) {
        Some(format) => {
            format!(
                "It looks like {}: use the format `{}`. {FORMATS}",
                name_with_article(format),
                format.as_str()
            )
        }
        None => FORMATS.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::report::Report;

    const ALL: [FindingSource; 5] = [
        FindingSource::Dependabot,
        FindingSource::AwsInspector,
        FindingSource::Sarif,
        FindingSource::Generic,
        FindingSource::Manual,
    ];

    /// Returns the message and the hint of a refused report.
    fn refusal(text: &str, source: FindingSource) -> Option<(String, String)> {
        let fault = Report::read(text.as_bytes().to_vec(), source, usize::MAX).err()?;
        assert_eq!(fault.code, ErrorCode::InvalidRequest, "{text}");
        Some((fault.message, fault.hint.unwrap()))
    }

    #[test]
    fn each_format_is_distinguished_from_the_others() {
        let alert =
            r#"{"number": 1, "state": "open", "dependency": {}, "security_advisory": {"summary": "s"}}"#;
        let finding = r#"{"findingArn": "arn:1", "title": "t", "severity": "HIGH", "description": "d"}"#;
        let result = r#"{"ruleId": "r", "message": {"text": "m"}}"#;
        let log = format!("{{\"runs\": [{{\"tool\": {{\"driver\": {{}}}}, \"results\": [{result}]}}]}}");
        let generic = r#"{"stableKey": "k", "vulnId": "CVE-2024-0001", "package": {"name": "p"}}"#;
        let samples = [
            ("dependabot", format!("[{alert}, {alert}]"), "a Dependabot report"),
            ("dependabot", format!("{alert}\n{alert}\n"), "a Dependabot report"),
            ("aws_inspector", format!("{{\"findings\": [{finding}]}}"), "an AWS Inspector report"),
            ("sarif", log, "a SARIF report"),
            ("sarif", "{\"version\": \"2.1.0\", \"runs\": []}".to_owned(), "a SARIF report"),
            ("generic", format!("{generic}\n{{\"title\": broken\n"), "a generic report"),
        ];
        for (name, text, kind) in &samples {
            for source in ALL {
                let is_generic = matches!(source, FindingSource::Generic | FindingSource::Manual);
                // A finding of AWS Inspector also has the title of a generic one.
                let fits =
                    source.as_str() == *name || (is_generic && matches!(*name, "generic" | "aws_inspector"));
                let Some((message, hint)) = refusal(text, source) else {
                    assert!(fits, "{source:?} accepts {text}");
                    continue;
                };
                assert!(!fits, "{source:?} refuses {text}: {message}");
                assert!(
                    message.starts_with(&format!("It is not {}: ", name_with_article(source))),
                    "{message}"
                );
                assert_eq!(
                    hint,
                    format!("It looks like {kind}: use the format `{name}`. {FORMATS}"),
                    "{text}"
                );
            }
        }
    }

    #[test]
    fn reports_without_findings_are_reports() {
        for source in ALL {
            let is_sarif = source == FindingSource::Sarif;
            for text in
                ["[]", "\u{feff}[\n]\n", "{\"alerts\": []}", "{\"findings\": [], \"nextToken\": null}"]
            {
                assert_eq!(refusal(text, source).is_none(), !is_sarif, "{source:?} {text}");
            }
            for text in
                ["{\"version\": \"2.1.0\", \"runs\": []}", "{\"runs\": null}", "{\"runs\": [{\"tool\": {}}]}"]
            {
                assert_eq!(refusal(text, source).is_none(), is_sarif, "{source:?} {text}");
            }
            for text in ["", " \n", "\u{feff}"] {
                let has_lines = matches!(source, FindingSource::Generic | FindingSource::Manual);
                assert_eq!(refusal(text, source).is_none(), has_lines, "{source:?} {text:?}");
            }
        }
        let lines = "{\"tool\": {\"driver\": {}}, \"results\": []}\n{\"tool\": {\"driver\": {}}}\n";
        assert_eq!(refusal(lines, FindingSource::Sarif), None);
    }

    #[test]
    fn the_place_of_an_error_in_json_is_named() {
        for source in ALL {
            for (text, place) in [
                ("not a report", "expected ident at line 1 column 2."),
                ("[", "EOF while parsing a list at line 1 column 1."),
                ("{\n  \"a\": 1,\n  b\n}", "key must be a string at line 3 column 3."),
                ("<html>\n</html>\n", "expected value at line 1 column 1."),
                ("{\"runs\": [{\"tool\": {\"driver\"", "EOF while parsing an object at line 1 column 28."),
            ] {
                let (message, _) = refusal(text, source).unwrap();
                assert_eq!(message, format!("The report is not valid JSON: {place}"), "{source:?}");
            }
        }
    }

    #[test]
    fn a_file_holds_one_report() {
        use FindingSource::{Dependabot, Eslint, Generic, Gitleaks, Sarif, Semgrep};
        let semgrep = "{\n\"results\": [],\n\"errors\": []\n}";
        let log = "{\n\"runs\": []\n}\n";
        for (source, text, line) in [
            (Semgrep, format!("{semgrep}\nRan 3 rules.\n"), 4),
            (Semgrep, format!("\u{feff}\n{semgrep}{semgrep}"), 5),
            (Semgrep, semgrep.replace('\n', "") + "\n{}\n", 1),
            (Eslint, "[]\n[]\n".to_owned(), 1),
            (Gitleaks, "[{\"RuleID\": \"r\", \"Secret\": \"s\"}] done".to_owned(), 1),
            (Sarif, format!("{log}{log}"), 3),
            (Sarif, "{\"runs\": []} {\"runs\": []}\n".to_owned(), 1),
            (Sarif, "{\"runs\": []}\n\nRan 3 rules.\n".to_owned(), 1),
            (Dependabot, "[{\"ghsa_id\": \"a\"}]\n[{\"ghsa_id\": \"b\"}]\n".to_owned(), 1),
            (Generic, "{\n\"title\": \"a\"\n}\n{\n\"title\": \"b\"\n}\n".to_owned(), 3),
        ] {
            let (message, hint) = refusal(&text, source).unwrap();
            let expected = format!("The report ends at line {line}, and there is more text after it.");
            assert_eq!(message, expected, "{source:?} {text}");
            assert!(hint.contains("A file holds one report"), "{hint}");
        }
        for (source, text) in [
            (Semgrep, format!("\n{semgrep}\r\n \n")),
            (Sarif, "{\"runs\": []}\n{\"runs\": []}\n".to_owned()),
            (Generic, "{\"title\": \"a\"} \r\n{broken}\nnot json\n".to_owned()),
            (Gitleaks, "null\n".to_owned()),
        ] {
            assert_eq!(refusal(&text, source), None, "{source:?} {text}");
        }
        let (message, _) = refusal("null\nnull\n", Gitleaks).unwrap();
        assert!(message.starts_with("The report is not valid JSON: "), "{message}");
        let (_, hint) = refusal("{\"ghsa_id\": \"a\"}\n{\"ghsa_id\": \"b\"}\n", Semgrep).unwrap();
        assert!(hint.contains("use the format `dependabot`"), "{hint}");
    }

    #[test]
    fn files_of_other_kinds_are_refused() {
        let code_scanning =
            r#"[{"number": 4, "rule": {"id": "r"}, "tool": {"name": "CodeQL"}, "state": "open"}]"#;
        let api_error = r#"{"message": "Bad credentials", "status": "401"}"#;
        for text in [code_scanning, api_error, "17", "{\"level\": \"info\"}\n[]\n", "{}"] {
            for source in ALL {
                let (message, hint) = refusal(text, source).unwrap();
                assert!(message.starts_with("It is not "), "{source:?} {text}: {message}");
                assert_eq!(hint, FORMATS, "{source:?} {text}");
            }
        }
        let semgrep = r#"{"errors": [], "paths": {}, "results": [], "summary": 1}"#;
        let npm_audit = r#"{"auditReportVersion": 2, "vulnerabilities": {"p": {"severity": "high"}}}"#;
        for (text, name) in [(semgrep, "semgrep"), (npm_audit, "npm_audit")] {
            for source in [FindingSource::Dependabot, FindingSource::AwsInspector, FindingSource::Sarif] {
                let (_, hint) = refusal(text, source).unwrap();
                assert!(hint.contains(&format!("use the format `{name}`. {FORMATS}")), "{source:?} {hint}");
            }
        }
        let (message, _) = refusal("{\"runs\": {}}", FindingSource::Sarif).unwrap();
        assert_eq!(message, "It is not a SARIF report: `runs` is not a list.");
    }
}
