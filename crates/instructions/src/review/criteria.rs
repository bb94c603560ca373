//! The rules of a review: our own, and those of a project's document, which adds rules or replaces ours.
//!
//! A document is `{"categories": [{"id", "rules": [rule]}]}`. A rule has `id`, `severity`, `description`, `remediation` and one
//! of two patterns: `pattern` is an issue where it matches, `mustContain` is one if it matches nowhere. Patterns are regular
//! expressions of the crate `regex`, which match in linear time, and ignore case. `unless` is allowed beside `pattern`: lines
//! that it matches are not issues. Matches of a rule are masked if it is in the category `secrets` or has `"secret": true`.
//! `{"id", "disabled": true}` switches one of our rules off.

use std::sync::{Arc, LazyLock};

use regex::{Regex, RegexBuilder};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::document::{Fields, parse};
use contract::echo;

const DEFAULT_CRITERIA: &str = include_str!("criteria.json");
const SECRETS: &str = "secrets";
const RULES_MAX: usize = 200;
const PATTERN_BYTES_MAX: usize = 512;
const PATTERN_COST_MIN: usize = 4;
/// Largest compiled size of a pattern in KiB.
const PATTERN_COST_MAX: usize = 1 << 10;
/// Largest sum of [`Pattern::cost`] over a document. Linear time alone is not a bound: a crafted pattern of 512 bytes can take a
/// second to search 10 KB.
const DOCUMENT_COST_MAX: usize = 4 << 10;
/// Limit on the memory that a pattern caches while it matches, in bytes.
const CACHE_BYTES_MAX: usize = 128 << 10;

/// How much harm an issue may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum IssueSeverity {
    /// Worth knowing.
    Info,
    /// A matter of style.
    Low,
    /// May mislead a reader or do harm under certain conditions.
    Medium,
    /// Does harm if the text is used.
    High,
    /// Has already done harm, such as a secret that was given away.
    Critical,
}

impl IssueSeverity {
    const NAMES: [(&'static str, Self); 5] = [
        ("critical", Self::Critical),
        ("high", Self::High),
        ("medium", Self::Medium),
        ("low", Self::Low),
        ("info", Self::Info),
    ];
}

/// A compiled pattern.
#[derive(Debug)]
pub(super) struct Pattern {
    pub(super) regex: Regex,
    /// Its compiled size in KiB, rounded up to a power of two. The time of a search is at most proportional to it.
    pub(super) cost: usize,
}

/// The condition that makes an issue.
#[derive(Debug)]
pub(super) enum Check {
    /// A match of the first pattern on lines that the second does not match.
    Contains(Pattern, Option<Pattern>),
    /// No match of the pattern.
    Lacks(Pattern),
}

impl Check {
    /// Returns the cost of a search with all its patterns.
    fn cost(&self) -> usize {
        match self {
            Self::Contains(pattern, unless) => pattern.cost + unless.as_ref().map_or(0, |unless| unless.cost),
            Self::Lacks(pattern) => pattern.cost,
        }
    }
}

/// A rule.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) id: String,
    pub(super) category: String,
    pub(super) severity: IssueSeverity,
    pub(super) description: String,
    pub(super) remediation: String,
    pub(super) check: Check,
    /// `true` if its matches must not be shown.
    pub(super) secret: bool,
}

/// The rules of a review, compiled. A clone shares them.
#[derive(Debug, Clone)]
pub struct Criteria {
    pub(super) rules: Arc<[Arc<Rule>]>,
}

impl Default for Criteria {
    /// Returns our own rules.
    fn default() -> Self {
        static DEFAULT: LazyLock<Criteria> = LazyLock::new(|| {
            // The tests parse this constant, so parsing it here cannot fail.
            let rules = read(DEFAULT_CRITERIA).unwrap_or_default().into_iter();
            Criteria { rules: rules.filter_map(Given::rule).map(Arc::new).collect() }
        });
        DEFAULT.clone()
    }
}

impl Criteria {
    /// Returns our own rules together with those of a project's document, at most 256 KiB of JSON with at most 200 rules.
    ///
    /// # Errors
    /// The first mistake, as one sentence that names the rule.
    pub fn with_project(text: &str) -> Result<Self, String> {
        let mut rules = Self::default().rules.to_vec();
        for given in read(text)? {
            let default = rules.iter().position(|rule| rule.id == given.id());
            match (given, default) {
                (Given::Rule(rule), None) => rules.push(Arc::new(*rule)),
                (Given::Rule(mut rule), Some(at)) => {
                    // A new pattern for a secret may lack the flag that marks it as one.
                    rule.secret |= rules[at].secret;
                    rules[at] = Arc::new(*rule);
                }
                (Given::Disabled(_), Some(at)) => drop(rules.remove(at)),
                (Given::Disabled(id), None) => {
                    return Err(format!(
                        "Rule \"{id}\": only default rules can be disabled, and none has this id."
                    ));
                }
            }
        }
        Ok(Self { rules: rules.into() })
    }
}

/// A rule of a document.
enum Given {
    Rule(Box<Rule>),
    /// Switches the default rule of this id off.
    Disabled(String),
}

impl Given {
    fn id(&self) -> &str {
        match self {
            Self::Rule(rule) => &rule.id,
            Self::Disabled(id) => id,
        }
    }

    fn cost(&self) -> usize {
        match self {
            Self::Rule(rule) => rule.check.cost(),
            Self::Disabled(_) => 0,
        }
    }

    fn rule(self) -> Option<Rule> {
        match self {
            Self::Rule(rule) => Some(*rule),
            Self::Disabled(_) => None,
        }
    }
}

fn read(text: &str) -> Result<Vec<Given>, String> {
    const WHAT: &str = "The document of criteria";
    let mut document = Fields::new(parse(text, WHAT)?, WHAT.into())?;
    let given = document.list("categories")?;
    let given = document.required("categories", given)?;
    // Files of the specification's first implementation have it; it has no meaning for the rules.
    document.value("version");
    document.finish(&["categories"])?;
    let mut categories: Vec<String> = Vec::new();
    let mut rules: Vec<Given> = Vec::new();
    let mut cost = 0;
    for (at, category) in given.into_iter().enumerate() {
        let (category, given) = read_category(category, at + 1)?;
        if categories.contains(&category) {
            return Err(format!("Category \"{category}\": this id is used more than once."));
        }
        // Compiling takes time, so the number of rules is checked before.
        if rules.len() + given.len() > RULES_MAX {
            return Err(format!("{WHAT} has more than {RULES_MAX} rules."));
        }
        for (at, rule) in given.into_iter().enumerate() {
            let rule = read_rule(rule, &category, at + 1)?;
            cost += rule.cost();
            if cost > DOCUMENT_COST_MAX {
                return Err(format!(
                    "Rule \"{}\": the patterns up to here are too complex together: compiled, they have more than {} MiB.",
                    rule.id(),
                    DOCUMENT_COST_MAX >> 10
                ));
            }
            if rules.iter().any(|earlier| earlier.id() == rule.id()) {
                return Err(format!("Rule \"{}\": this id is used more than once.", rule.id()));
            }
            rules.push(rule);
        }
        categories.push(category);
    }
    Ok(rules)
}

fn read_category(value: Value, number: usize) -> Result<(String, Vec<Value>), String> {
    let mut fields = Fields::new(value, format!("Category #{number}"))?;
    let id = fields.id()?;
    fields.set_place(format!("Category \"{id}\""));
    let rules = fields.list("rules")?;
    let rules = fields.required("rules", rules)?;
    fields.finish(&["id", "rules"])?;
    Ok((id, rules))
}

fn read_rule(value: Value, category: &str, number: usize) -> Result<Given, String> {
    let mut fields = Fields::new(value, format!("Category \"{category}\", rule #{number}"))?;
    let id = fields.id()?;
    fields.set_place(format!("Rule \"{id}\""));
    if fields.flag("disabled")? == Some(true) {
        fields.finish(&["id", "disabled"])?;
        return Ok(Given::Disabled(id));
    }
    let severity = fields.choice("severity", &IssueSeverity::NAMES)?;
    let severity = fields.required("severity", severity)?;
    let description = fields.prose("description")?;
    let description = fields.required("description", description)?;
    let remediation = fields.prose("remediation")?;
    let remediation = fields.required("remediation", remediation)?;
    let secret = fields.flag("secret")? == Some(true) || category == SECRETS;
    let check = match (pattern(&mut fields, "pattern")?, pattern(&mut fields, "mustContain")?) {
        (Some(contained), None) => Check::Contains(contained, pattern(&mut fields, "unless")?),
        (None, Some(demanded)) => Check::Lacks(demanded),
        _ => return Err(fields.error("a rule has exactly one of `pattern` and `mustContain`.")),
    };
    let beside: &[&str] = match check {
        Check::Contains(..) => &["pattern", "unless"],
        Check::Lacks(_) => &["mustContain"],
    };
    fields.finish(
        &[&["id", "severity", "description", "remediation", "secret", "disabled"], beside].concat(),
    )?;
    let category = category.to_owned();
    Ok(Given::Rule(Box::new(Rule { id, category, severity, description, remediation, check, secret })))
}

/// Compiles a pattern, if it is present.
fn pattern(fields: &mut Fields, field: &str) -> Result<Option<Pattern>, String> {
    let Some(pattern) = fields.text(field)? else { return Ok(None) };
    if pattern.len() > PATTERN_BYTES_MAX {
        let message =
            format!("`{field}` has {} bytes; at most {PATTERN_BYTES_MAX} are allowed.", pattern.len());
        return Err(fields.error(&message));
    }
    match compiled(&pattern) {
        Ok(pattern) if pattern.regex.is_match("") => {
            Err(fields.error(&format!("`{field}` matches the empty text, and with it every text.")))
        }
        Ok(pattern) => Ok(Some(pattern)),
        Err(regex::Error::CompiledTooBig(_)) => Err(fields
            .error(&format!("`{field}` is too complex: compiled, it has more than {PATTERN_COST_MAX} KiB."))),
        Err(error) => {
            // The lines before the last one repeat the pattern.
            let error = error.to_string();
            let reason = error.lines().last().unwrap_or_default();
            let reason = reason.strip_prefix("error: ").unwrap_or(reason);
            Err(fields.error(&format!("`{field}` is not a valid regular expression: {}.", echo(reason))))
        }
    }
}

/// Compiles a pattern under growing limits, because a compiled pattern does not expose its size.
fn compiled(pattern: &str) -> Result<Pattern, regex::Error> {
    let mut cost = PATTERN_COST_MIN;
    loop {
        let regex = RegexBuilder::new(pattern)
            .case_insensitive(true)
            .size_limit(cost << 10)
            .dfa_size_limit(CACHE_BYTES_MAX)
            .build();
        match regex {
            Err(regex::Error::CompiledTooBig(_)) if cost < PATTERN_COST_MAX => cost *= 2,
            regex => return Ok(Pattern { regex: regex?, cost }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::review::{Review, review};
    use proptest::prelude::*;
    use serde_json::json;

    fn rule(fields: Value) -> Value {
        let mut rule = json!({ "id": "r", "severity": "high", "description": "It is bad.", "remediation": "Change it." });
        for (field, value) in fields.as_object().unwrap() {
            rule[field] = value.clone();
        }
        rule
    }

    fn document(category: &str, rules: impl IntoIterator<Item = Value>) -> String {
        let rules: Vec<Value> = rules.into_iter().collect();
        json!({ "categories": [{ "id": category, "rules": rules }] }).to_string()
    }

    fn with(fields: Value) -> Result<Criteria, String> {
        Criteria::with_project(&document("ours", [rule(fields)]))
    }

    fn issue<'a>(review: &'a Review, rule: &str) -> Option<&'a crate::review::ReviewIssue> {
        review.issues.iter().find(|issue| issue.rule_id == rule)
    }

    #[test]
    fn our_own_rules_can_be_read() {
        let rules = read(DEFAULT_CRITERIA).unwrap();
        assert_eq!(rules.len(), Criteria::default().rules.len());
    }

    #[test]
    fn a_project_adds_replaces_and_disables_rules() {
        let own = Criteria::default().rules.len();
        let added = with(json!({ "pattern": "banana" })).unwrap();
        assert_eq!(added.rules.len(), own + 1);
        let found = review(&added, "A BANANA");
        let found = issue(&found, "r").unwrap();
        assert_eq!((found.category.as_str(), found.matched.as_deref()), ("ours", Some("BANANA")));

        let replaced = rule(json!({ "id": "vague-words", "pattern": "banana" }));
        let disabled = json!({ "id": "missing-audience", "disabled": true });
        let criteria = Criteria::with_project(&document("ours", [replaced, disabled])).unwrap();
        assert_eq!(criteria.rules.len(), own - 1);
        let found = review(&criteria, "stuff");
        assert!(issue(&found, "vague-words").is_none() && issue(&found, "missing-audience").is_none());
        let found = review(&criteria, "banana");
        assert_eq!(issue(&found, "vague-words").unwrap().severity, IssueSeverity::High);
        assert_eq!(Criteria::default().rules.len(), own, "the default rules stay");
    }

    #[test]
    fn a_replaced_rule_for_a_secret_stays_one() {
        let text = "key zz12345678901234567890";
        let shown = |category: &str, fields: Value| {
            let criteria = Criteria::with_project(&document(category, [rule(fields)])).unwrap();
            review(&criteria, text)
                .issues
                .into_iter()
                .find(|issue| issue.category == category)
                .unwrap()
                .matched
                .unwrap()
        };
        assert_eq!(
            shown("ours", json!({ "id": "github-token", "pattern": "zz[0-9]{20}" })),
            "zz12…[22 characters]"
        );
        assert_eq!(
            shown("ours", json!({ "pattern": "zz[0-9]{20}", "secret": true })),
            "zz12…[22 characters]"
        );
        assert_eq!(shown("secrets", json!({ "pattern": "zz[0-9]{20}" })), "zz12…[22 characters]");
        assert_eq!(shown("ours", json!({ "pattern": "zz[0-9]{20}" })), "zz12345678901234567890");
    }

    #[test]
    fn each_mistake_in_a_rule_is_reported() {
        for (fields, expected) in [
            (json!({}), "a rule has exactly one of `pattern` and `mustContain`."),
            (json!({ "pattern": "a", "mustContain": "b" }), "a rule has exactly one of"),
            (json!({ "pattern": "(a" }), "`pattern` is not a valid regular expression: unclosed group."),
            (
                json!({ "mustContain": "a(?=b)" }),
                "`mustContain` is not a valid regular expression: look-around",
            ),
            (json!({ "pattern": "a", "unless": "[" }), "`unless` is not a valid regular expression"),
            (json!({ "pattern": "x".repeat(513) }), "`pattern` has 513 bytes; at most 512 are allowed."),
            (json!({ "pattern": r"\w{500}" }), "`pattern` is too complex"),
            (json!({ "pattern": "" }), "`pattern` matches the empty text"),
            (json!({ "mustContain": "a*" }), "`mustContain` matches the empty text"),
            (json!({ "mustContain": "a", "unless": "b" }), "`unless` is not allowed here"),
            (
                json!({ "pattern": "a", "severity": "fatal" }),
                "`severity` is \"fatal\", but must be one of: critical, high",
            ),
            (json!({ "pattern": "a", "description": " " }), "`description` is empty."),
            (json!({ "pattern": "a", "remediation": "x".repeat(501) }), "`remediation` has 501 characters"),
            (json!({ "pattern": "a", "secret": "yes" }), "`secret` must be true or false."),
            (json!({ "pattern": "a", "flags": "g" }), "`flags` is not allowed here"),
            (json!({ "disabled": true }), "`severity` is not allowed here; allowed are: id, disabled."),
        ] {
            let error = with(fields.clone()).unwrap_err();
            assert!(error.starts_with(&format!("Rule \"r\": {expected}")), "{fields}: {error}");
        }
        for field in ["severity", "description", "remediation"] {
            let mut rule = rule(json!({ "pattern": "a" }));
            rule.as_object_mut().unwrap().remove(field);
            let error = Criteria::with_project(&document("ours", [rule])).unwrap_err();
            assert_eq!(error, format!("Rule \"r\": `{field}` is missing."));
        }
    }

    #[test]
    fn each_mistake_in_a_document_is_reported() {
        let rule = || rule(json!({ "pattern": "a" }));
        let many = |count: usize| {
            document("c", (0..count).map(|number| json!({ "id": format!("x{number}"), "disabled": true })))
        };
        for (text, expected) in [
            ("{}".to_owned(), "The document of criteria: `categories` is missing."),
            (
                r#"{"categories":[],"author":1}"#.to_owned(),
                "The document of criteria: `author` is not allowed here",
            ),
            (r#"{"categories":[{"id":"c"}]}"#.to_owned(), "Category \"c\": `rules` is missing."),
            (r#"{"categories":[{"rules":[]}]}"#.to_owned(), "Category #1: `id` is missing."),
            (
                json!({ "categories": [{ "id": "c", "rules": [] }, { "id": "c", "rules": [] }] }).to_string(),
                "Category \"c\": this id",
            ),
            (document("c", [rule(), rule()]), "Rule \"r\": this id is used more than once."),
            (document("c", [json!({})]), "Category \"c\", rule #1: `id` is missing."),
            (
                document("c", [json!({ "id": "nope", "disabled": true })]),
                "Rule \"nope\": only default rules can be disabled",
            ),
            (many(201), "The document of criteria has more than 200 rules."),
            (many(200), "Rule \"x0\": only default rules"),
            (" ".repeat(262_145), "The document of criteria has 262145 bytes"),
        ] {
            let error = Criteria::with_project(&text).unwrap_err();
            assert!(error.starts_with(expected), "{text:.200}: {error}");
        }
    }

    #[test]
    fn all_patterns_together_are_bounded() {
        let rules = |count: usize| {
            let rule = |number: usize| rule(json!({ "id": format!("x{number}"), "pattern": r"\w{20}x" }));
            Criteria::with_project(&document("c", (0..count).map(rule)))
        };
        assert!(rules(4).is_ok());
        let error = rules(5).unwrap_err();
        assert_eq!(
            error,
            "Rule \"x4\": the patterns up to here are too complex together: compiled, they have more than 4 MiB."
        );
        let cost: usize = Criteria::default().rules.iter().map(|rule| rule.check.cost()).sum();
        assert!(cost < DOCUMENT_COST_MAX / 2, "{cost}");
    }

    #[test]
    fn a_pattern_that_is_slow_elsewhere_answers() {
        let criteria = with(json!({ "pattern": "(a+)+$", "severity": "critical" })).unwrap();
        let refused = format!("{}b", "a".repeat(10_239));
        assert!(issue(&review(&criteria, &refused), "r").is_none());
        let found = review(&criteria, &"a".repeat(10_240));
        assert!(issue(&found, "r").unwrap().matched.as_ref().unwrap().ends_with("… (10240 characters)"));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(
            text in r#"[\[\]{}:,"a-z0-9]{0,80}"#, pattern in r"[a-c()\[\]*+?{}|\\^$0-9.bwd-]{0,20}",
        ) {
            drop(Criteria::with_project(&text));
            if let Ok(criteria) = with(json!({ "pattern": pattern })) {
                drop(review(&criteria, &text));
            }
        }
    }
}
