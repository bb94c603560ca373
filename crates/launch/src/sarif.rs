//! Issues as SARIF 2.1.0, for code hosts and for the program's own triage.

use std::collections::BTreeMap;

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde_json::{Value, json};

use crate::gate::{GATES, GENERAL_RULES};
use crate::issue::{Issue, Severity};

/// Characters that are escaped in the path of a file.
const ESCAPED: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'`')
    .add(b'{')
    .add(b'}');

/// An issue as a result. `base` is the folder of the site in the repository: places are relative to the repository, so that a code
/// host finds them.
fn result(issue: &Issue, base: &str) -> Value {
    let mut result = json!({
        "ruleId": rule_id(&issue.gate, &issue.code),
        "level": level(issue.severity),
        "message": { "text": if issue.message.is_empty() { &issue.title } else { &issue.message } },
        "partialFingerprints": { "issueId/v1": issue.issue_id },
        "properties": { "severity": issue.severity.as_str(), "fixable": issue.fixable },
    });
    if let Some(path) = &issue.path {
        let uri = utf8_percent_encode(&in_repository(base, path), ESCAPED).to_string();
        let mut place = json!({ "artifactLocation": { "uri": uri } });
        if let Some(line) = issue.line {
            place["region"] = json!({ "startLine": line });
        }
        result["locations"] = json!([{ "physicalLocation": place }]);
    }
    result
}

/// The path in the repository of a path of the site, which may lead out of the site.
fn in_repository(base: &str, path: &str) -> String {
    let mut parts: Vec<&str> = base.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/').filter(|part| !part.is_empty()) {
        match part {
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

fn rule_id(gate: &str, code: &str) -> String {
    format!("{gate}/{code}")
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Blocker | Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

/// The issues as a SARIF log. `version` is that of the program. `base` is the folder of the site in the repository.
#[must_use]
pub fn to_sarif(issues: &[Issue], base: Option<&str>, version: &str) -> Value {
    let mut rules: BTreeMap<String, Value> = BTreeMap::new();
    for issue in issues {
        let id = rule_id(&issue.gate, &issue.code);
        rules.entry(id.clone()).or_insert_with(|| {
            let is_general = GENERAL_RULES.iter().any(|rule| rule.code == issue.code);
            let gate = GATES.iter().find(|gate| !is_general && gate.name == issue.gate);
            let about = gate.map_or(issue.title.as_str(), |gate| gate.about);
            json!({
                "id": id,
                "name": issue.code,
                "shortDescription": { "text": issue.title },
                "fullDescription": { "text": about },
            })
        });
    }
    let base = base.unwrap_or_default();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "pairofcleats launch check",
                "version": version,
                "rules": rules.into_values().collect::<Vec<_>>(),
            } },
            "results": issues.iter().map(|issue| result(issue, base)).collect::<Vec<_>>(),
        }],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::issue::Rule;

    #[test]
    fn issues_are_results_with_places_in_the_repository() {
        let rule = Rule::new("dead_link", "A link leads nowhere");
        let issue = |path: &str, severity| {
            Issue::new("internal_links", &rule, severity, Some((path, Some(3))), path, "Gone.".to_owned())
        };
        let issues = [issue("a b.md", Severity::Error), issue("../README.md", Severity::Info)];
        let log = to_sarif(&issues, Some("docs"), "1.0");
        let run = &log["runs"][0];
        assert_eq!(run["tool"]["driver"]["rules"].as_array().map(Vec::len), Some(1));
        let results = run["results"].as_array().unwrap();
        let place = |at: usize| &results[at]["locations"][0]["physicalLocation"];
        assert_eq!(place(0)["artifactLocation"]["uri"], "docs/a%20b.md");
        assert_eq!((&place(0)["region"]["startLine"], &results[0]["level"]), (&json!(3), &json!("error")));
        assert_eq!(
            (&place(1)["artifactLocation"]["uri"], &results[1]["level"]),
            (&json!("README.md"), &json!("note"))
        );
        assert_eq!(results[0]["ruleId"], "internal_links/dead_link");
        assert_ne!(results[0]["partialFingerprints"], results[1]["partialFingerprints"]);
    }

    #[test]
    fn an_issue_without_a_place_is_a_result_without_one() {
        let rule = Rule::new("no_licence", "The repository has no licence");
        let issue = Issue::new("licence", &rule, Severity::Warning, None, "", String::new());
        let log = to_sarif(&[issue], None, "1.0");
        let result = &log["runs"][0]["results"][0];
        assert_eq!((&result["level"], &result["locations"]), (&json!("warning"), &Value::Null));
        assert_eq!(result["message"]["text"], "The repository has no licence");
    }
}
