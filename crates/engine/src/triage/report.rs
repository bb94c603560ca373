//! A report of a known format, split into the items that become records.

use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;

use super::format::{is_sarif_result, require_format};
use super::normalise::sarif::SarifTool;
use super::source::FindingSource;
use super::split::{self, ItemSpan, ReportShape, split_items};
use contract::{ErrorCode, Fault};

/// A report whose format was checked.
pub struct Report {
    pub(super) text: Arc<Vec<u8>>,
    pub(super) source: FindingSource,
    pub(super) items: Vec<PendingItem>,
}

/// An item that was not read yet.
pub(super) struct PendingItem {
    /// Its position in the list, or its line, from 0.
    pub(super) index: usize,
    pub(super) bytes: Range<usize>,
    /// For a SARIF result: the tool that reported it.
    pub(super) tool: Option<Arc<SarifTool>>,
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

    /// Splits a text into items without checking its format.
    pub(super) fn split(text: Vec<u8>, source: FindingSource) -> Self {
        let (shape, spans) = split_items(&text);
        let mut items = if source == FindingSource::Sarif {
            sarif_results(&text, spans)
        } else {
            let pending = |ItemSpan { index, bytes }| PendingItem { index, bytes, tool: None, defect: None };
            spans.into_iter().map(pending).collect()
        };
        let is_cut = shape != ReportShape::Lines && !split::is_closed(&text, split::root_start(&text));
        if is_cut && items.last().is_some_and(|last| split::is_closed(&text, last.bytes.start)) {
            // No item is broken, so nothing else would say that items are missing.
            let (index, end) = (items.len(), text.len());
            let defect = Some("the report ends here, before it is complete");
            items.push(PendingItem { index, bytes: end..end, tool: None, defect });
        }
        Self { text: Arc::new(text), source, items }
    }
}

impl PendingItem {
    pub(super) fn take(&mut self) -> Self {
        Self { index: self.index, bytes: self.bytes.clone(), tool: self.tool.take(), defect: self.defect }
    }
}

/// The results of all runs of a SARIF log; their indexes continue over all runs.
fn sarif_results(text: &[u8], spans: Vec<ItemSpan>) -> Vec<PendingItem> {
    let mut results = SarifResults { text, items: Vec::new() };
    for span in spans {
        results.add_item(span.bytes);
    }
    results.items
}

struct SarifResults<'a> {
    text: &'a [u8],
    items: Vec<PendingItem>,
}

impl SarifResults<'_> {
    fn push(&mut self, bytes: Range<usize>, tool: Option<Arc<SarifTool>>, defect: Option<&'static str>) {
        self.items.push(PendingItem { index: self.items.len(), bytes, tool, defect });
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
        let tool = split::object_field(text, at, "tool");
        let Some(results) = split::object_field(text, at, "results") else {
            if is_sarif_result(text, at) {
                self.push(run, None, None);
            } else if tool.is_none() {
                self.push(run, None, Some("it is neither a run nor a result"));
            }
            // A run without results has nothing to add.
            return;
        };
        let tool = tool.and_then(|bytes| serde_json::from_slice::<Value>(&text[bytes]).ok());
        let tool = Arc::new(tool.as_ref().map(SarifTool::from_json).unwrap_or_default());
        match text.get(results.start) {
            Some(b'[') => {
                for ItemSpan { bytes, .. } in split::array_elements(text, results.start) {
                    self.push(bytes, Some(Arc::clone(&tool)), None);
                }
            }
            // null: the scanner did not compute results.
            Some(b'n') => {}
            _ => self.push(results, None, Some("`results` must be a list")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The defects of the items, by position.
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
