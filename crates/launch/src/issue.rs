//! Issues: faults that gates find, each with an id that stays the same when other lines of its page change.

use contract::echo_within;
use platform::sha256;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Hexadecimal digits of an issue's id.
const ID_DIGITS: usize = 12;
/// Longest quote of a page in a message, in characters.
const QUOTE_CHARS_MAX: usize = 120;

/// How bad an issue is; the worst comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Must not be published.
    Blocker,
    /// Wrong; the gate fails.
    Error,
    /// Probably wrong. Fails the gate in the profile `prod` only.
    Warning,
    /// Worth knowing.
    Info,
}

impl Severity {
    /// All, the worst first.
    pub const ALL: [Self; 4] = [Self::Blocker, Self::Error, Self::Warning, Self::Info];

    /// The name in reports and in the database.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Blocker => "blocker",
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Info => "info",
        }
    }

    /// The severity with this name.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|severity| severity.as_str() == text)
    }
}

/// What became of an issue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum IssueStatus {
    /// The last validation found it.
    #[default]
    Open,
    /// A later validation did not find it any more.
    Resolved,
    /// Somebody decided to leave it.
    Ignored,
}

impl IssueStatus {
    /// The name in reports and in the database.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Resolved => "resolved",
            Self::Ignored => "ignored",
        }
    }
}

/// One kind of issue, which a gate can find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// Stable name in snake case, unique within its gate.
    pub code: &'static str,
    /// The problem, in a few words.
    pub title: &'static str,
    /// `true` if a fixer may be able to repair it.
    pub fixable: bool,
}

impl Rule {
    /// Creates a rule whose issues people have to repair.
    #[must_use]
    pub const fn new(code: &'static str, title: &'static str) -> Self {
        Self { code, title, fixable: false }
    }

    /// Creates a rule whose issues a fixer may repair.
    #[must_use]
    pub const fn fixable(code: &'static str, title: &'static str) -> Self {
        Self { code, title, fixable: true }
    }
}

/// Something that a gate found wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Issue {
    /// Twelve hexadecimal digits: a hash of gate, code, path and subject, so that it survives shifted lines.
    pub issue_id: String,
    /// Name of the gate.
    pub gate: String,
    /// How bad it is.
    pub severity: Severity,
    /// Kind of issue.
    pub code: String,
    /// What is wrong, in a few words; the same for all issues of this code.
    pub title: String,
    /// What is wrong here.
    pub message: String,
    /// Path of the file, relative to the site or, for files outside of it, to the repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Line in the file, 1-based.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// What became of it.
    pub status: IssueStatus,
    /// Whether a fixer may be able to repair it.
    pub fixable: bool,
}

impl Issue {
    /// Creates an open issue. `subject` is the thing that it is about, such as the target of a link: together with gate, code and path it
    /// identifies the issue.
    #[must_use]
    pub fn new(
        gate: &str,
        rule: &Rule,
        severity: Severity,
        place: Option<(&str, Option<u32>)>,
        subject: &str,
        message: String,
    ) -> Self {
        let path = place.map(|(path, _)| path.to_owned());
        Self {
            issue_id: issue_id(gate, rule.code, path.as_deref().unwrap_or_default(), subject),
            gate: gate.to_owned(),
            severity,
            code: rule.code.to_owned(),
            title: rule.title.to_owned(),
            message,
            path,
            line: place.and_then(|(_, line)| line),
            status: IssueStatus::Open,
            fixable: rule.fixable,
        }
    }

    /// Returns `true` if it is open and makes a gate fail in every profile.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        self.status == IssueStatus::Open && self.severity <= Severity::Error
    }

    /// The key of the order in which issues are reported and fixed: severity, gate, path, line, id.
    #[must_use]
    pub fn order(&self) -> (Severity, &str, &str, u32, &str) {
        let path = self.path.as_deref().unwrap_or_default();
        (self.severity, &self.gate, path, self.line.unwrap_or_default(), &self.issue_id)
    }
}

/// Returns the id of an issue. White space in the subject does not count.
fn issue_id(gate: &str, code: &str, path: &str, subject: &str) -> String {
    let subject = subject.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut id = sha256::digest_hex([gate, code, path, &subject].join("\0").as_bytes());
    id.truncate(ID_DIGITS);
    id
}

/// Quotes a part of a page in a message: on one line, without hidden characters, at most 120 characters.
#[must_use]
pub fn quote(text: &str) -> String {
    format!("`{}`", echo_within(text.trim(), QUOTE_CHARS_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: Rule = Rule::fixable("dead_link", "A link leads nowhere");

    fn issue(path: &str, line: u32, subject: &str) -> Issue {
        Issue::new("links", &RULE, Severity::Error, Some((path, Some(line))), subject, String::new())
    }

    #[test]
    fn the_id_depends_on_what_is_wrong_and_not_on_the_line() {
        let first = issue("a.md", 3, "x.md");
        assert_eq!(first.issue_id.len(), 12);
        assert_eq!(first.issue_id, issue("a.md", 30, " x.md\n").issue_id);
        for other in [issue("b.md", 3, "x.md"), issue("a.md", 3, "y.md")] {
            assert_ne!(first.issue_id, other.issue_id);
        }
        // The parts are hashed with separators.
        assert_ne!(issue_id("a", "bc", "d", "e"), issue_id("ab", "c", "d", "e"));
    }

    #[test]
    fn the_worst_issue_comes_first() {
        assert!(Severity::Blocker < Severity::Error && Severity::Warning < Severity::Info);
        let mut issues = [issue("b.md", 1, "x"), issue("a.md", 9, "x"), issue("a.md", 2, "x")];
        issues[0].severity = Severity::Blocker;
        issues.sort_by(|one, other| one.order().cmp(&other.order()));
        let places: Vec<_> = issues.iter().map(|issue| (issue.path.as_deref(), issue.line)).collect();
        assert_eq!(places, [(Some("b.md"), Some(1)), (Some("a.md"), Some(2)), (Some("a.md"), Some(9))]);
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        for severity in Severity::ALL {
            assert_eq!(Severity::parse(severity.as_str()), Some(severity));
            assert_eq!(serde_json::to_value(severity).unwrap(), severity.as_str());
        }
        assert_eq!(serde_json::to_value(IssueStatus::Resolved).unwrap(), IssueStatus::Resolved.as_str());
    }

    #[test]
    fn quotes_are_short_and_on_one_line() {
        assert_eq!(quote(" a\nb "), "`a\\nb`");
        assert!(quote(&"x".repeat(10_000)).chars().count() < 200);
    }
}
