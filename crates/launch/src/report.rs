//! The report of a validation: the outcome of each gate, and the issues in the order in which they are fixed.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::issue::{Issue, IssueStatus, Severity};

/// Version of the report's form.
const REPORT_SCHEMA_VERSION: &str = "1.0";

/// How strict a validation is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// At a desk: gates that cannot run are skipped.
    #[default]
    Local,
    /// In CI: a gate that cannot run fails.
    Ci,
    /// Before publishing: as `ci`, and warnings fail as well.
    Prod,
}

impl Profile {
    /// All profiles.
    pub const ALL: [Self; 3] = [Self::Local, Self::Ci, Self::Prod];

    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Ci => "ci",
            Self::Prod => "prod",
        }
    }

    /// The profile with this name.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|profile| profile.as_str() == text)
    }

    /// Returns `true` if an open issue of this severity makes its gate fail.
    #[must_use]
    pub fn fails_on(self, severity: Severity) -> bool {
        severity <= if self == Self::Prod { Severity::Warning } else { Severity::Error }
    }
}

/// What a gate says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum GateStatus {
    /// It ran and found nothing that fails it.
    Passed,
    /// It found something, or could not run although the profile requires it.
    Failed,
    /// It did not run.
    Skipped,
}

impl GateStatus {
    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }
}

/// The outcome of one gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GateOutcome {
    /// Name of the gate.
    pub gate: String,
    /// What it says.
    pub status: GateStatus,
    /// Why it did not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Number of its issues.
    pub issues: u32,
}

/// The report of a validation. Equal inputs give the same bytes: it contains no times.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ValidationReport {
    /// Version of its form.
    pub schema_version: String,
    /// Whether no gate failed.
    pub ok: bool,
    /// How strict it is.
    pub profile: Profile,
    /// The outcomes, in the order in which the gates ran.
    pub gates: Vec<GateOutcome>,
    /// The issues, the worst first.
    pub issues: Vec<Issue>,
}

impl ValidationReport {
    /// Creates a report of these outcomes. Sorts the issues; of several with one id, it keeps the first.
    #[must_use]
    pub fn new(profile: Profile, gates: Vec<GateOutcome>, mut issues: Vec<Issue>) -> Self {
        issues.sort_by(|one, other| one.order().cmp(&other.order()));
        let mut seen = BTreeSet::new();
        issues.retain(|issue| seen.insert(issue.issue_id.clone()));
        let ok = gates.iter().all(|gate| gate.status != GateStatus::Failed);
        Self { schema_version: REPORT_SCHEMA_VERSION.to_owned(), ok, profile, gates, issues }
    }

    /// Number of open issues of a severity.
    #[must_use]
    pub fn count(&self, severity: Severity) -> usize {
        let is_counted = |issue: &&Issue| issue.severity == severity && issue.status == IssueStatus::Open;
        self.issues.iter().filter(is_counted).count()
    }

    /// The report as JSON with sorted keys and a line break at the end.
    #[must_use]
    pub fn to_json(&self) -> String {
        stable_json(self)
    }
}

/// Writes a value as indented JSON with sorted keys and a line break at the end, so that equal values give equal bytes. A value that cannot
/// be represented as JSON becomes `null`.
#[must_use]
pub fn stable_json(value: &impl Serialize) -> String {
    let value = sorted(serde_json::to_value(value).unwrap_or_default());
    let mut text = serde_json::to_string_pretty(&value).unwrap_or_default();
    text.push('\n');
    text
}

/// The value with sorted keys in all objects.
pub(crate) fn sorted(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<(String, Value)> = fields.into_iter().collect();
            fields.sort_by(|one, other| one.0.cmp(&other.0));
            let fields: Map<String, Value> =
                fields.into_iter().map(|(name, field)| (name, sorted(field))).collect();
            Value::Object(fields)
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::issue::Rule;

    fn issue(gate: &str, severity: Severity, line: u32) -> Issue {
        let rule = Rule::new("code", "Title");
        Issue::new(
            gate,
            &rule,
            severity,
            Some(("a.md", Some(line))),
            &severity.as_str().repeat(2),
            String::new(),
        )
    }

    fn outcome(gate: &str, status: GateStatus) -> GateOutcome {
        GateOutcome { gate: gate.to_owned(), status, reason: None, issues: 0 }
    }

    #[test]
    fn a_report_is_ok_if_no_gate_failed() {
        let passed = || outcome("a", GateStatus::Passed);
        let skipped = || outcome("b", GateStatus::Skipped);
        assert!(ValidationReport::new(Profile::Local, vec![passed(), skipped()], Vec::new()).ok);
        let failed = vec![passed(), outcome("b", GateStatus::Failed)];
        assert!(!ValidationReport::new(Profile::Local, failed, Vec::new()).ok);
    }

    #[test]
    fn issues_are_sorted_and_listed_once() {
        let issues = vec![
            issue("b", Severity::Warning, 1),
            issue("a", Severity::Error, 7),
            issue("a", Severity::Error, 2),
            issue("z", Severity::Blocker, 9),
        ];
        let mut reversed = issues.clone();
        reversed.reverse();
        let report = ValidationReport::new(Profile::Ci, Vec::new(), issues);
        let order: Vec<_> = report.issues.iter().map(|issue| (issue.gate.as_str(), issue.line)).collect();
        assert_eq!(order, [("z", Some(9)), ("a", Some(2)), ("b", Some(1))]);
        assert_eq!(report.count(Severity::Error), 1);
        assert_eq!(report.to_json(), ValidationReport::new(Profile::Ci, Vec::new(), reversed).to_json());
    }

    #[test]
    fn warnings_fail_in_prod_only() {
        assert!(Profile::Prod.fails_on(Severity::Warning) && !Profile::Ci.fails_on(Severity::Warning));
        assert!(Profile::Local.fails_on(Severity::Error) && !Profile::Prod.fails_on(Severity::Info));
        for profile in Profile::ALL {
            assert_eq!(Profile::parse(profile.as_str()), Some(profile));
        }
    }

    #[test]
    fn keys_are_sorted_at_every_depth() {
        let value = serde_json::json!({ "b": [{ "d": 1, "c": 2 }], "a": null });
        let text = stable_json(&value);
        let places: Vec<_> = ["\"a\"", "\"b\"", "\"c\"", "\"d\""].iter().map(|key| text.find(key)).collect();
        assert!(places.is_sorted() && places[0].is_some() && text.ends_with("}\n"), "{text}");
    }
}
