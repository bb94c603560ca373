//! A report of a known format, split into the items that become records.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;

use super::encoding::to_utf8;
use super::format::{is_sarif_result, require_format};
use super::normalise::sarif_run::{SarifRun, artifact_uris};
use super::scanners::{ItemParent, ScannerItem, ScannerItems, format_of, scanner_items};
use super::source::FindingSource;
use super::split::{self, ItemSpan, ReportShape, split_items};
use contract::{ErrorCode, Fault, Warning};

/// Kinds of SARIF results that are not problems.
const NO_PROBLEMS: &[&str] = &["pass", "notApplicable", "informational"];

/// A report whose format was checked.
pub struct Report {
    /// The report in UTF-8.
    pub(super) text: Arc<Vec<u8>>,
    pub(super) source: FindingSource,
    pub(super) items: Vec<PendingItem>,
    /// The scopes whose findings are all in the report, so that missing ones are fixed.
    pub(super) complete_scopes: BTreeSet<String>,
    /// The fields that say that something was not scanned.
    gaps: BTreeSet<&'static str>,
    left_out: LeftOut,
}

/// Numbers of SARIF results that are not findings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct LeftOut {
    /// Results whose kind says that there is no problem.
    no_problem: usize,
    /// Results that were suppressed in the tool.
    suppressed: usize,
}

/// An item that has not been read yet.
#[derive(Clone)]
pub(super) struct PendingItem {
    /// Its position in the list, or its line, from 0.
    pub(super) index: usize,
    pub(super) bytes: Range<usize>,
    /// For a SARIF result: the run that reported it.
    pub(super) run: Option<Arc<SarifRun>>,
    /// For an item of a scanner's own format: the object around it.
    pub(super) parent: Option<Arc<ItemParent>>,
    /// An error that was found while the report was split.
    pub(super) defect: Option<&'static str>,
}

impl Report {
    /// Checks the format of the report `text` and splits it into items.
    ///
    /// # Errors
    /// `INVALID_REQUEST` if the text is not a report of the format `source`, or if it has more than `items_max` items.
    pub fn read(text: Vec<u8>, source: FindingSource, items_max: usize) -> Result<Self, Fault> {
        let report = Self::split(text, source);
        require_format(&report.text, source, !report.items.is_empty())?;
        let count = report.items.len();
        if count > items_max {
            let message = format!("The report has {count} items, more than {items_max}.");
            return Err(Fault::new(ErrorCode::InvalidRequest, message)
                .with_hint("Send it in parts, or raise triage.items_max."));
        }
        Ok(report)
    }

    /// Returns the warnings about the report as a whole.
    pub(super) fn warnings(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        if !self.gaps.is_empty() {
            let fields: Vec<String> =
                self.gaps.iter().map(|path| format!("`{}`", path.replace("[]", ""))).collect();
            let message = format!(
                "The report says that not everything was scanned ({}), so findings that are missing there did not become fixed.",
                fields.join(", ")
            );
            warnings.push(Warning::new("report_incomplete", message));
        }
        let LeftOut { no_problem, suppressed } = self.left_out;
        if no_problem + suppressed > 0 {
            let message = format!(
                "{} results were left out: {no_problem} whose `kind` says that there is no problem, {suppressed} with accepted `suppressions`.",
                no_problem + suppressed
            );
            warnings.push(Warning::new("results_left_out", message));
        }
        warnings
    }

    /// Splits a text into items without checking its format.
    pub(super) fn split(text: Vec<u8>, source: FindingSource) -> Self {
        let text = to_utf8(text);
        let (shape, spans) = split_items(&text);
        let (mut gaps, mut left_out) = (BTreeSet::new(), LeftOut::default());
        let (mut items, complete_scopes) = if source == FindingSource::Sarif {
            let results = SarifResults::of(&text, spans);
            let complete = results.complete.difference(&results.incomplete).cloned().collect();
            (gaps, left_out) = (results.gaps, results.left_out);
            (results.items, complete)
        } else if let Some(format) = format_of(source) {
            let ScannerItems { items, complete, gaps: found } = scanner_items(&text, format);
            gaps = found;
            let pending = |(index, item): (usize, ScannerItem)| PendingItem {
                index,
                bytes: item.bytes,
                run: None,
                parent: Some(item.parent),
                defect: item.defect,
            };
            (items.into_iter().enumerate().map(pending).collect(), complete)
        } else {
            let pending = |ItemSpan { index, bytes }| PendingItem {
                index,
                bytes,
                run: None,
                parent: None,
                defect: None,
            };
            (spans.into_iter().map(pending).collect(), BTreeSet::new())
        };
        let is_cut = shape != ReportShape::Lines && !split::is_closed(&text, split::root_start(&text));
        if is_cut && items.last().is_some_and(|last| split::is_closed(&text, last.bytes.start)) {
            // No item is broken, so nothing else would report that items are missing.
            let (index, end) = (items.len() + left_out.count(), text.len());
            let defect = Some("the report ends here, before it is complete");
            items.push(PendingItem { index, bytes: end..end, run: None, parent: None, defect });
        }
        Self { text: Arc::new(text), source, items, complete_scopes, gaps, left_out }
    }
}

impl LeftOut {
    fn count(self) -> usize {
        self.no_problem + self.suppressed
    }
}

/// The results of all runs of a SARIF log, whose indexes continue over all runs, and the complete scopes of the log.
#[derive(Default)]
struct SarifResults<'a> {
    text: &'a [u8],
    items: Vec<PendingItem>,
    complete: BTreeSet<String>,
    incomplete: BTreeSet<String>,
    gaps: BTreeSet<&'static str>,
    left_out: LeftOut,
}

impl<'a> SarifResults<'a> {
    fn of(text: &'a [u8], spans: Vec<ItemSpan>) -> Self {
        let mut results = Self { text, ..Self::default() };
        for span in spans {
            let is_object = text.get(span.bytes.start) == Some(&b'{');
            let more = split::value_end(text, span.bytes.start)..span.bytes.end;
            results.add_item(span.bytes);
            if is_object && !more.is_empty() {
                // A line with two logs; the second one would be lost.
                results.push(more, None, Some("there is more text in this line than one value"));
            }
        }
        results
    }

    fn push(&mut self, bytes: Range<usize>, run: Option<Arc<SarifRun>>, defect: Option<&'static str>) {
        let index = self.items.len() + self.left_out.count();
        self.items.push(PendingItem { index, bytes, run, parent: None, defect });
    }

    /// Adds a result, unless it is not a finding.
    fn add_result(&mut self, bytes: Range<usize>, run: Option<Arc<SarifRun>>) {
        let text = self.text;
        let fields = split::fields(text, bytes.start);
        let value_of = |name: &str| {
            fields.iter().find(|(field, _)| *field == name.as_bytes()).map(|(_, value)| value.clone())
        };
        let text_of = |value: Range<usize>| serde_json::from_slice::<String>(&text[value]).ok();
        let kind = value_of("kind").and_then(text_of);
        let suppressions = value_of("suppressions").filter(|list| text.get(list.start) == Some(&b'['));
        let suppressions = suppressions.map(|list| split::array_elements(text, list.start));
        let is_accepted = |suppression: ItemSpan| {
            let at = suppression.bytes.start;
            let status = split::object_field(text, at, "status").and_then(text_of);
            text.get(at) == Some(&b'{') && status.is_none_or(|status| status == "accepted")
        };
        if kind.is_some_and(|kind| NO_PROBLEMS.contains(&kind.as_str())) {
            self.left_out.no_problem += 1;
        } else if suppressions.into_iter().flatten().any(is_accepted) {
            self.left_out.suppressed += 1;
        } else {
            self.push(bytes, run, None);
        }
    }

    /// Adds the results of an item: a run, a result without its log, or a log, because JSON lines may be logs.
    fn add_item(&mut self, bytes: Range<usize>) {
        let Some(runs) = split::object_field(self.text, bytes.start, "runs") else {
            return self.add_run(bytes);
        };
        match self.text.get(runs.start) {
            Some(b'[') => {
                for run in split::array_elements(self.text, runs.start) {
                    self.add_run(run.bytes);
                }
            }
            // null: the scanner could not determine the runs.
            Some(b'n') => {}
            _ => self.push(runs, None, Some("`runs` must be a list")),
        }
    }

    fn add_run(&mut self, run: Range<usize>) {
        let (text, at) = (self.text, run.start);
        if text.get(at) != Some(&b'{') {
            return self.push(run, None, Some("a run must be an object"));
        }
        let fields = split::fields(text, at);
        let value_of =
            |name: &str| fields.iter().find(|(field, _)| *field == name.as_bytes()).map(|(_, value)| value);
        let Some(results) = value_of("results") else {
            if is_sarif_result(text, at) {
                self.add_result(run, None);
            } else if value_of("tool").is_none() {
                self.push(run, None, Some("it is neither a run nor a result"));
            }
            // A run without results did not look for any, so it adds nothing.
            return;
        };
        let read = |name: &str| serde_json::from_slice::<Value>(&text[value_of(name)?.clone()]).ok();
        let artifacts = value_of("artifacts").map(|artifacts| artifact_uris(text, artifacts.start));
        let run = Arc::new(SarifRun::from_fields(read).with_artifacts(artifacts.unwrap_or_default()));
        let scope = run.scope.clone();
        match text.get(results.start) {
            Some(b'[') => {
                for ItemSpan { bytes, .. } in split::array_elements(text, results.start) {
                    self.add_result(bytes, Some(Arc::clone(&run)));
                }
                if run.has_failed {
                    self.gaps.insert("invocations");
                    self.incomplete.insert(scope);
                } else {
                    self.complete.insert(scope);
                }
            }
            // null: the scanner did not compute results.
            Some(b'n') => {
                self.gaps.insert("results");
                self.incomplete.insert(scope);
            }
            _ => self.push(results.clone(), None, Some("`results` must be a list")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the defects of the items, by position.
    fn defects(text: &str, source: FindingSource) -> Vec<Option<&'static str>> {
        let report = Report::split(text.as_bytes().to_vec(), source);
        assert!(report.items.iter().enumerate().all(|(at, item)| item.index == at), "{text}");
        report.items.iter().map(|item| item.defect).collect()
    }

    #[test]
    fn results_are_found_in_logs_in_runs_and_alone() {
        let run = r#"{"tool": {"driver": {"name": "t"}}, "results": [{"ruleId": "a"}, {"ruleId": "b"}]}"#;
        let log = format!("{{\"version\": \"2.1.0\", \"runs\": [{run}, {run}]}}");
        for (text, count) in [
            (log.clone(), 4),
            (format!("{log}\n{log}\n"), 8),
            (format!("[{log}]"), 4),
            (format!("[{run}, {run}]"), 4),
            (run.to_owned(), 2),
            (r#"{"ruleId": "a", "message": {"text": "m"}}"#.to_owned(), 1),
            (r#"{"runs": null}"#.to_owned(), 0),
            (r#"{"runs": []}"#.to_owned(), 0),
            (r#"{"runs": [{"tool": {}}, {"tool": {}, "results": null}]}"#.to_owned(), 0),
        ] {
            assert_eq!(defects(&text, FindingSource::Sarif), vec![None; count], "{text}");
        }
    }

    #[test]
    fn parts_of_a_log_that_are_no_runs_are_defects() {
        let log = r#"{"runs": [{"guid": "g"}, 5, {"results": 1}]}"#;
        let expected =
            ["it is neither a run nor a result", "a run must be an object", "`results` must be a list"];
        assert_eq!(defects(log, FindingSource::Sarif), expected.map(Some));
        let lines = "{\"runs\": [{\"ruleId\": \"a\"}]}\n{\"runs\": 1}\n";
        assert_eq!(defects(lines, FindingSource::Sarif), [None, Some("`runs` must be a list")]);
    }

    #[test]
    fn results_that_are_no_findings_are_counted() {
        let results = [
            (r#""kind": "fail""#, true),
            (r#""kind": "open""#, true),
            (r#""kind": "review""#, true),
            (r#""kind": 5"#, true),
            (r#""kind": "pass""#, false),
            (r#""kind" : "notApplicable" "#, false),
            (r#""kind": "informational""#, false),
            (r#""suppressions": []"#, true),
            (r#""suppressions": null"#, true),
            (
                r#""suppressions": [{"kind": "external", "status": "underReview"}, {"status": "rejected"}]"#,
                true,
            ),
            (r#""suppressions": [{"kind": "inSource"}]"#, false),
            (r#""suppressions": [{"status": "rejected"}, {"status": "accepted"}]"#, false),
        ];
        let result = |fields: &str| format!(r#"{{"ruleId": "r", {fields}}}"#);
        for (fields, is_finding) in results {
            let alone = Report::split(result(fields).into_bytes(), FindingSource::Sarif);
            assert_eq!(alone.items.len(), usize::from(is_finding), "{fields}");
        }
        let all: Vec<String> = results.iter().map(|(fields, _)| result(fields)).collect();
        let log = format!(r#"{{"runs": [{{"tool": {{}}, "results": [{}, 5]}}]}}"#, all.join(", "));
        let report = Report::split(log.into_bytes(), FindingSource::Sarif);
        assert_eq!(report.left_out, LeftOut { no_problem: 3, suppressed: 2 });
        let indexes: Vec<usize> = report.items.iter().map(|item| item.index).collect();
        assert_eq!(indexes.len(), 8);
        assert_eq!(indexes.last(), Some(&12), "the position in the report");
        assert_eq!(report.complete_scopes.len(), 1, "what is left out is no gap");
        let warnings = report.warnings();
        assert_eq!((warnings.len(), warnings[0].code.as_str()), (1, "results_left_out"));
        assert!(
            warnings[0].message.starts_with("5 results were left out: 3 whose"),
            "{}",
            warnings[0].message
        );
    }

    #[test]
    fn a_report_that_says_that_it_is_incomplete_warns() {
        let log = |run: &str| format!(r#"{{"runs": [{{"tool": {{}}, {run}}}]}}"#);
        let notified = |list: &str, level: &str| {
            log(&format!(r#""results": [], "invocations": [{{"{list}": [{{"level": "{level}"}}]}}]"#))
        };
        for (text, source, fields) in [
            (notified("toolExecutionNotifications", "error"), FindingSource::Sarif, Some("`invocations`")),
            (
                notified("toolConfigurationNotifications", "error"),
                FindingSource::Sarif,
                Some("`invocations`"),
            ),
            (notified("toolExecutionNotifications", "warning"), FindingSource::Sarif, None),
            (
                log(r#""invocations": [{"executionSuccessful": false}], "results": []"#),
                FindingSource::Sarif,
                Some("`invocations`"),
            ),
            (log(r#""results": null"#), FindingSource::Sarif, Some("`results`")),
            (
                r#"{"results": [], "errors": [{"level": "error"}], "paths": {"skipped": [5]}}"#.to_owned(),
                FindingSource::Semgrep,
                Some("`errors.level`, `paths.skipped`"),
            ),
            (r#"{"results": [], "errors": []}"#.to_owned(), FindingSource::Semgrep, None),
        ] {
            let report = Report::split(text.clone().into_bytes(), source);
            assert_eq!(report.complete_scopes.is_empty(), fields.is_some(), "{text}");
            let warnings = report.warnings();
            assert_eq!(warnings.len(), usize::from(fields.is_some()), "{text}");
            let Some((warning, fields)) = warnings.first().zip(fields) else { continue };
            assert_eq!(warning.code, "report_incomplete");
            assert!(warning.message.contains(&format!("({fields})")), "{}", warning.message);
        }
    }

    #[test]
    fn a_line_with_two_logs_is_no_single_log() {
        let log = r#"{"runs": [{"results": [{"ruleId": "a"}]}]}"#;
        let more = Some("there is more text in this line than one value");
        let sarif = FindingSource::Sarif;
        assert_eq!(defects(&format!("{log}\n{log}{log}\n{log} \n"), sarif), [None, None, more, None]);
    }

    #[test]
    fn a_report_that_is_cut_between_items_says_so() {
        let cut = Some("the report ends here, before it is complete");
        let generic = FindingSource::Generic;
        assert_eq!(defects(r#"[{"title": "a"}, "#, generic), [None, cut]);
        assert_eq!(defects(r#"{"alerts": [{"title": "a"}"#, generic), [None, cut]);
        assert_eq!(defects(r#"[{"title": "a"}, {"title": "#, generic), [None, None], "the item is broken");
        assert_eq!(defects(r#"[{"title": "a"}]"#, generic), [None]);
        assert_eq!(defects("{\"title\": \"a\"\n{\"title\": \"b\"}\n", generic), [None, None], "lines");
        let log = r#"{"runs": [{"results": [{"ruleId": "a"}]}, {"tool": "#;
        assert_eq!(defects(log, FindingSource::Sarif), [None, cut]);
    }
}
