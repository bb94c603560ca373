//! A validation report as tools answer it: complete except for the issues, as there may be thousands.

use launch::issue::Severity;
use launch::report::ValidationReport;
use schemars::JsonSchema;
use serde::Serialize;

/// Issues that an answer contains.
const ISSUES_LISTED_MAX: usize = 100;

/// A report.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ShownReport {
    /// The report, with at most 100 issues, the worst first; the artifact `validation_report.json` has more.
    pub(super) validation_report: ValidationReport,
    /// Number of its issues.
    pub(super) issue_count: usize,
    /// Number of its open blockers.
    pub(super) remaining_blockers: usize,
}

impl From<ValidationReport> for ShownReport {
    fn from(mut report: ValidationReport) -> Self {
        let (issue_count, remaining_blockers) = (report.issues.len(), report.count(Severity::Blocker));
        report.issues.truncate(ISSUES_LISTED_MAX);
        Self { validation_report: report, issue_count, remaining_blockers }
    }
}
