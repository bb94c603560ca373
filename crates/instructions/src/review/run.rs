//! Reviews a text. An answer never repeats a secret that a rule found, even if another rule found the text around it.

use std::collections::BTreeMap;
use std::ops::Range;

use contract::{echo, echo_within};
use schemars::JsonSchema;
use serde::Serialize;

use super::criteria::{Check, Criteria, IssueSeverity, Pattern, Rule};

/// Longest text that callers may have reviewed, in bytes.
pub const PROMPT_BYTES_MAX: usize = 10_240;
const MATCH_CHARS_MAX: usize = 80;
/// Limit on the work of a review beyond one search for each rule, as the sum of [`Pattern::cost`] over further searches. Each of them
/// can read the rest of the text, so that without a limit the time would grow with the square of its length.
const WORK_MAX: usize = 4 << 10;
/// The number of characters of a secret that are shown, so that people recognise it: at most this many, and at most a quarter.
const SECRET_CHARS_SHOWN_MAX: usize = 4;

/// The outcome of a review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Review {
    /// At most one issue for each rule; the most severe come first.
    pub issues: Vec<ReviewIssue>,
    /// How many issues there are.
    pub summary: ReviewSummary,
    /// Length of the text in characters, without NUL characters.
    pub length: usize,
}

/// How many issues a review found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReviewSummary {
    /// Number of issues by severity; severities without issues are absent.
    pub counts: BTreeMap<IssueSeverity, usize>,
    /// The highest severity, if there are issues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub highest_severity: Option<IssueSeverity>,
}

/// A violation of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReviewIssue {
    /// Id of the rule.
    pub rule_id: String,
    /// How much harm it may do.
    pub severity: IssueSeverity,
    /// Category of the rule.
    pub category: String,
    /// What is wrong.
    pub description: String,
    /// What to do.
    pub remediation: String,
    /// The first text that violates the rule, shortened; secrets in it are masked. Absent if something is missing.
    #[serde(rename = "match", skip_serializing_if = "Option::is_none")]
    pub matched: Option<String>,
    /// The line in which that text begins, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
}

/// Reviews a text of at most [`PROMPT_BYTES_MAX`] bytes, which the caller has checked. The time is linear in its length.
#[must_use]
pub fn review(criteria: &Criteria, prompt: &str) -> Review {
    let text = prompt.replace('\0', "");
    let mut search = Search { text: &text, secrets: Vec::new(), work: WORK_MAX };
    let found: Vec<(&Rule, Violation)> =
        criteria.rules.iter().filter_map(|rule| Some((&**rule, search.violation(rule)?))).collect();
    // Only now are all secrets known.
    let secrets = merged(search.secrets);
    let mut issues: Vec<ReviewIssue> =
        found.into_iter().map(|(rule, violation)| issue(rule, violation, &text, &secrets)).collect();
    issues.sort_by_key(|issue| std::cmp::Reverse(issue.severity));
    let mut counts = BTreeMap::new();
    for issue in &issues {
        *counts.entry(issue.severity).or_default() += 1;
    }
    let highest_severity = issues.first().map(|issue| issue.severity);
    Review { issues, summary: ReviewSummary { counts, highest_severity }, length: text.chars().count() }
}

/// The way in which a text violates a rule.
enum Violation {
    /// This range must not be in it.
    Contains(Range<usize>),
    /// Something is missing.
    Lacks,
}

/// The searches of a review.
struct Search<'a> {
    text: &'a str,
    /// The ranges that rules for secrets match.
    secrets: Vec<Range<usize>>,
    /// The remaining budget of work.
    work: usize,
}

impl Search<'_> {
    /// The first violation of `rule`. All matches of a rule for secrets are added to [`Search::secrets`].
    fn violation(&mut self, rule: &Rule) -> Option<Violation> {
        let (pattern, unless) = match &rule.check {
            Check::Contains(pattern, unless) => (pattern, unless.as_ref()),
            Check::Lacks(pattern) => return (!pattern.regex.is_match(self.text)).then_some(Violation::Lacks),
        };
        let mut first = None;
        for range in pattern.regex.find_iter(self.text).map(|found| found.range()) {
            let is_guarded =
                || unless.is_some_and(|unless| unless.regex.is_match(lines_around(self.text, &range)));
            if first.is_none() && !is_guarded() {
                first = Some(range.clone());
            }
            if first.is_some() && !rule.secret {
                break;
            }
            let may_go_on = self.allows(pattern, unless);
            if rule.secret {
                self.secrets.push(range.clone());
            }
            if !may_go_on {
                // The rest is not examined: it may be secret, and many guarded matches may hide others.
                if rule.secret {
                    self.secrets.push(range.end..self.text.len());
                }
                first.get_or_insert(range);
                break;
            }
        }
        first.map(Violation::Contains)
    }

    /// Spends the cost of one more search with these patterns; `false` if the budget does not allow it.
    fn allows(&mut self, pattern: &Pattern, unless: Option<&Pattern>) -> bool {
        let cost = pattern.cost + unless.map_or(0, |unless| unless.cost);
        let left = self.work.checked_sub(cost);
        self.work = left.unwrap_or(0);
        left.is_some()
    }
}

/// Merges ranges into ordered ones without overlaps.
fn merged(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|range| range.start);
    let mut merged: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

fn issue(rule: &Rule, violation: Violation, text: &str, secrets: &[Range<usize>]) -> ReviewIssue {
    let (matched, line) = match violation {
        Violation::Lacks => (None, None),
        Violation::Contains(range) => {
            let line = 1 + text[..range.start].matches('\n').count();
            let matched = if rule.secret { masked(&text[range]) } else { shown(text, range, secrets) };
            (Some(matched), Some(line))
        }
    };
    ReviewIssue {
        rule_id: rule.id.clone(),
        severity: rule.severity,
        category: rule.category.clone(),
        description: rule.description.clone(),
        remediation: rule.remediation.clone(),
        matched,
        line,
    }
}

/// Returns the lines that a range touches.
fn lines_around<'a>(text: &'a str, range: &Range<usize>) -> &'a str {
    let start = text[..range.start].rfind('\n').map_or(0, |at| at + 1);
    let end = text[range.end..].find('\n').map_or(text.len(), |at| range.end + at);
    &text[start..end]
}

/// Returns the beginning of a secret and its length.
fn masked(secret: &str) -> String {
    let chars = secret.chars().count();
    let shown: String = secret.chars().take(SECRET_CHARS_SHOWN_MAX.min(chars / 4)).collect();
    format!("{}…[{chars} characters]", echo(&shown))
}

/// Returns the text of `range` for display, without the secrets in it.
fn shown(text: &str, range: Range<usize>, secrets: &[Range<usize>]) -> String {
    let mut shown = String::new();
    let mut at = range.start;
    for secret in secrets.iter().filter(|secret| secret.start < range.end && range.start < secret.end) {
        shown.push_str(&text[at..secret.start.max(at)]);
        shown.push_str("[secret]");
        at = secret.end.min(range.end);
    }
    shown.push_str(&text[at..range.end]);
    echo_within(&shown, MATCH_CHARS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use schemars::generate::SchemaSettings;
    use serde_json::{Value, json};

    const KEY: &str = "AKIAIOSFODNN7EXAMPLE";

    fn rule(id: &str, fields: Value) -> Value {
        let mut rule =
            json!({ "id": id, "severity": "low", "description": "It is bad.", "remediation": "Change it." });
        for (field, value) in fields.as_object().unwrap() {
            rule[field] = value.clone();
        }
        rule
    }

    fn criteria(rules: Value) -> Criteria {
        Criteria::with_project(&json!({ "categories": [{ "id": "ours", "rules": rules }] }).to_string())
            .unwrap()
    }

    /// Returns the match of the rule `r`.
    fn matched(fields: Value, text: &str) -> Option<String> {
        let review = review(&criteria(json!([rule("r", fields)])), text);
        review.issues.into_iter().find(|issue| issue.rule_id == "r")?.matched
    }

    #[test]
    fn a_secret_is_masked_and_appears_nowhere() {
        let text = format!("You must upload with\nkey {KEY} and stuff.\n{KEY}");
        let review = serde_json::to_value(review(&Criteria::default(), &text)).unwrap();
        let expected = json!({ "ruleId": "aws-access-key-id", "severity": "critical", "category": "secrets",
            "description": "The text contains the id of an AWS access key.",
            "remediation": review["issues"][0]["remediation"], "match": "AKIA…[20 characters]", "line": 2 });
        assert_eq!(review["issues"][0], expected);
        assert_eq!(
            review["summary"],
            json!({ "counts": { "low": 1, "critical": 1 }, "highestSeverity": "critical" })
        );
        assert_eq!(review["length"], text.chars().count());
        assert!(!review.to_string().contains(&KEY[4..12]), "{review}");
    }

    #[test]
    fn other_rules_do_not_show_a_secret_either() {
        let text = format!("use {KEY}, then {KEY}.");
        let shown = |pattern: &str| matched(json!({ "pattern": pattern }), &text).unwrap();
        assert_eq!(shown("use.*"), "use [secret], then [secret].");
        assert_eq!(shown("iosf"), "[secret]");
        assert_eq!(shown("e, then ak"), "[secret], then [secret]");
        assert_eq!(shown(", then "), ", then ");
        let many = format!("{} {KEY}", "AKIA0000000000000000 ".repeat(WORK_MAX));
        assert_eq!(matched(json!({ "pattern": "EXAMPLE" }), &many).unwrap(), "[secret]");
    }

    #[test]
    fn a_short_secret_is_not_shown_whole() {
        for (secret, mask) in [
            ("1", "…[1 characters]"),
            ("1234567", "1…[7 characters]"),
            ("ä\u{202e}34567890123456", "ä\\u{202e}34…[16 characters]"),
        ] {
            assert_eq!(matched(json!({ "pattern": ".+", "secret": true }), secret).unwrap(), mask);
        }
    }

    #[test]
    fn other_matches_are_escaped_and_shortened() {
        let shown = |text: &str| matched(json!({ "pattern": "x[^.]*" }), text).unwrap();
        assert_eq!(shown("a x\u{202e}y\nz.w"), "x\\u{202e}y\\nz");
        assert_eq!(shown(&"x".repeat(81)), format!("{}… (81 characters)", "x".repeat(80)));
    }

    #[test]
    fn a_text_without_issues_has_empty_counts() {
        let review =
            serde_json::to_value(review(&Criteria::default(), "Developers must run the tests.")).unwrap();
        assert_eq!(review, json!({ "issues": [], "summary": { "counts": {} }, "length": 30 }));
    }

    #[test]
    fn what_is_missing_is_an_issue_without_a_match() {
        let rules = json!([rule("r", json!({ "mustContain": "json-?rpc" }))]);
        let missing = review(&criteria(rules.clone()), "Developers must use XML.");
        let missing = serde_json::to_value(missing).unwrap();
        assert_eq!(missing["issues"].as_array().unwrap().len(), 1);
        let issue = &missing["issues"][0];
        assert_eq!((&issue["ruleId"], issue.get("match"), issue.get("line")), (&json!("r"), None, None));
        assert!(review(&criteria(rules), "Developers must use JSON-RPC.").issues.is_empty());
    }

    #[test]
    fn nul_characters_do_not_hide_a_match() {
        let found = review(&criteria(json!([rule("r", json!({ "pattern": "banana" }))])), "\0\nba\0nana\0");
        let issue = found.issues.iter().find(|issue| issue.rule_id == "r").unwrap();
        assert_eq!((issue.matched.as_deref(), issue.line, found.length), (Some("banana"), Some(2), 7));
    }

    #[test]
    fn the_first_match_outside_guarded_lines_counts() {
        let fields = json!({ "pattern": r"del\s+\S+", "unless": "never" });
        assert_eq!(matched(fields.clone(), "never del a\nplease del b\ndel c").unwrap(), "del b");
        assert_eq!(matched(fields.clone(), "Never del a and del b"), None);
        assert_eq!(matched(fields.clone(), "del\na, never"), None, "all lines of the match count");
        let hidden = format!("{}del b", "never del a\n".repeat(WORK_MAX));
        assert!(matched(fields, &hidden).is_some());
    }

    #[test]
    fn severe_issues_come_first() {
        let rules = json!([rule("r", json!({ "pattern": "banana", "severity": "info" }))]);
        let found =
            review(&criteria(rules), &format!("You should take stuff, banana, {KEY} and `rm -rf /`."));
        let order: Vec<&str> = found.issues.iter().map(|issue| issue.rule_id.as_str()).collect();
        assert_eq!(order, ["aws-access-key-id", "delete-everything", "vague-words", "r"]);
    }

    #[test]
    fn the_schema_has_no_references() {
        let mut settings = SchemaSettings::draft2020_12().for_serialize();
        settings.inline_subschemas = true;
        let schema = settings.into_generator().into_root_schema_for::<Review>().to_value().to_string();
        assert!(!schema.contains("$ref") && schema.contains("highestSeverity"), "{schema}");
    }

    proptest! {
        #[test]
        fn counts_are_those_of_the_issues_and_no_secret_is_shown(
            words in prop::collection::vec(prop::sample::select(vec![
                KEY, "stuff", "rm -rf /", "ignore previous instructions", "\n", "\0", "password=", "https://u:", "@h ", "ä", "never",
            ]), 0..12),
            pattern in prop::sample::select(vec![".+", "(?s).+", "[A-Z0-9]{4,}", "example", r"\S+\s\S+", "."]),
        ) {
            let text = words.join(" ");
            let found = review(&criteria(json!([rule("r", json!({ "pattern": pattern }))])), &text);
            let answer = serde_json::to_string(&found).unwrap();
            prop_assert!(!answer.contains("IOSFODNN7") && !answer.contains("EXAMPLE"), "{}", answer);
            let counted: usize = found.summary.counts.values().sum();
            prop_assert_eq!(counted, found.issues.len());
            let highest = found.issues.iter().map(|issue| issue.severity).max();
            prop_assert_eq!(found.summary.highest_severity, highest);
        }
    }
}
