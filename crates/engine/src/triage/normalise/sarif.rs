//! Reads results of SARIF 2.1.0 logs, a format of code scanners.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::is_cve;
use crate::triage::json_path::{number_at, text_at, texts_at, value_at};
use crate::triage::record::{Cvss, Location, Record, Vuln};

/// Most rules of a tool that are read.
const RULES_MAX: usize = 20_000;

/// The tool of a SARIF run: its name and its rules.
#[derive(Debug, Clone, Default)]
pub(in crate::triage) struct SarifTool {
    name: Option<String>,
    rules: HashMap<String, Value>,
    /// Ids of the driver's rules; results refer to them by index.
    driver_rule_ids: Vec<String>,
}

impl SarifTool {
    /// Reads the field `tool` of a run; ignores missing and malformed fields.
    pub(in crate::triage) fn from_json(tool: &Value) -> Self {
        let rules_of = |component: &Value| -> Vec<Value> {
            let rules = value_at(component, "rules").and_then(Value::as_array);
            rules.map(|rules| rules.iter().take(RULES_MAX).cloned().collect()).unwrap_or_default()
        };
        let driver = value_at(tool, "driver").cloned().unwrap_or_default();
        let mut found = Self { name: text_at(&driver, &["name"]), ..Self::default() };
        for rule in rules_of(&driver) {
            let id = text_at(&rule, &["id"]).unwrap_or_default();
            found.driver_rule_ids.push(id.clone());
            found.rules.insert(id, rule);
        }
        for extension in value_at(tool, "extensions").and_then(Value::as_array).into_iter().flatten() {
            for rule in rules_of(extension) {
                if let Some(id) = text_at(&rule, &["id"]) {
                    found.rules.entry(id).or_insert(rule);
                }
            }
        }
        found
    }

    /// The id and the rule of a result; the rule is null if it is not known.
    fn rule(&self, result: &Value) -> (Option<String>, Value) {
        let index =
            value_at(result, "ruleIndex").or_else(|| value_at(result, "rule.index")).and_then(Value::as_u64);
        let by_index = || self.driver_rule_ids.get(usize::try_from(index?).ok()?).cloned();
        let id = text_at(result, &["ruleId", "rule.id"]).or_else(by_index);
        let rule = id.as_ref().and_then(|id| {
            // `CA1000/1` is a sub-rule of `CA1000`.
            self.rules.get(id).or_else(|| self.rules.get(id.rsplit_once('/')?.0))
        });
        (id, rule.cloned().unwrap_or_default())
    }
}

pub(super) fn sarif_record(item: &Value, tool: Option<&SarifTool>) -> (Record, Option<String>) {
    let unnamed_tool = SarifTool::default();
    let tool = tool.unwrap_or(&unnamed_tool);
    let (id, rule) = tool.rule(item);
    let message = result_message(item, &rule);
    let score = number_at(item, &["properties.security-severity"])
        .or_else(|| number_at(&rule, &["properties.security-severity"]));
    let mut tags = texts_at(&rule, &["properties.tags"], &[], &[]);
    tags.extend(texts_at(item, &["properties.tags"], &[], &[]));
    let cve = id.iter().chain(&tags).find(|text| is_cve(text)).cloned();
    let rule_description = text_at(&rule, &["fullDescription.text", "help.text"]);
    let description: Vec<String> =
        [message.clone(), rule_description].into_iter().flatten().filter(|text| !text.is_empty()).collect();
    let mut references = texts_at(item, &["hostedViewerUri"], &[], &[]);
    references.extend(texts_at(&rule, &["helpUri"], &[], &[]));
    let vuln = Vuln {
        vuln_id: cve.clone().or_else(|| id.clone()),
        cve,
        title: text_at(&rule, &["shortDescription.text", "name"]).or_else(|| message.map(first_line)),
        description: (!description.is_empty()).then(|| description.join("\n\n")),
        severity: result_severity(item, &rule, score),
        cvss: score.map(|score| Cvss { score: Some(score), ..Cvss::default() }),
        cwe: tags.iter().filter_map(|tag| cwe_of_tag(tag)).collect(),
        references,
    };
    let mut meta = Map::new();
    let mut add_meta = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            meta.insert(name.to_owned(), Value::String(value));
        }
    };
    add_meta("tool", tool.name.clone());
    add_meta("ruleId", id.clone());
    add_meta("baselineState", text_at(item, &["baselineState"]));
    let locations = result_locations(item);
    let key = result_key(item, tool, id.as_deref(), &locations);
    (Record { vuln, locations, meta, ..Record::default() }, key)
}

/// The message of a result: its own text, or that of its rule with the arguments of the result.
fn result_message(item: &Value, rule: &Value) -> Option<String> {
    if let Some(text) = text_at(item, &["message.text", "message.markdown"]) {
        return Some(text);
    }
    let id = text_at(item, &["message.id"])?;
    let mut message = text_at(rule, &[&format!("messageStrings.{id}.text")])?;
    let arguments = value_at(item, "message.arguments").and_then(Value::as_array).into_iter().flatten();
    for (number, argument) in arguments.enumerate() {
        message = message.replace(&format!("{{{number}}}"), argument.as_str().unwrap_or_default());
    }
    Some(message)
}

fn first_line(text: String) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

/// The severity, from the score with the thresholds of GitHub code scanning if there is one, else from the level.
fn result_severity(item: &Value, rule: &Value, score: Option<f64>) -> String {
    let level = || text_at(item, &["level"]).or_else(|| text_at(rule, &["defaultConfiguration.level"]));
    let word = match score {
        Some(score) if score >= 9.0 => "critical",
        Some(score) if score >= 7.0 => "high",
        Some(score) if score >= 4.0 => "medium",
        Some(score) if score > 0.0 => "low",
        // `warning` is the default level in SARIF.
        _ => match level().as_deref().unwrap_or("warning") {
            "error" => "high",
            "warning" => "medium",
            "note" => "low",
            "none" => "info",
            _ => "unknown",
        },
    };
    word.to_owned()
}

/// The weakness that a tag names: `CWE-79` for `external/cwe/cwe-079` and `CWE-79: …`.
fn cwe_of_tag(tag: &str) -> Option<String> {
    let lower = tag.to_lowercase();
    let number = &lower[lower.find("cwe-")? + 4..];
    let digits: String = number.chars().take_while(char::is_ascii_digit).collect();
    digits.parse::<u32>().ok().map(|number| format!("CWE-{number}"))
}

fn result_locations(item: &Value) -> Vec<Location> {
    let locations = value_at(item, "locations").and_then(Value::as_array).into_iter().flatten();
    let convert = |location: &Value| {
        let uri = text_at(location, &["physicalLocation.artifactLocation.uri"])?;
        let line = |name: &str| {
            value_at(location, &format!("physicalLocation.region.{name}")).and_then(Value::as_u64)
        };
        let path = uri.strip_prefix("file://").unwrap_or(&uri).to_owned();
        Some(Location { path, start_line: line("startLine"), end_line: line("endLine") })
    };
    locations.filter_map(convert).collect()
}

/// The stable key of a result: its fingerprints, which do not change when lines move; else its id; else its location.
fn result_key(item: &Value, tool: &SarifTool, rule: Option<&str>, locations: &[Location]) -> Option<String> {
    let fingerprints = |field: &str| {
        let values = value_at(item, field)?.as_object()?;
        let mut prints: Vec<String> =
            values.iter().filter_map(|(name, value)| Some(format!("{name}={}", value.as_str()?))).collect();
        prints.sort();
        (!prints.is_empty()).then(|| prints.join(";"))
    };
    let location = || {
        let first = locations.first()?;
        Some(format!("{}:{}", first.path, first.start_line.unwrap_or(0)))
    };
    let identity = fingerprints("partialFingerprints")
        .or_else(|| fingerprints("fingerprints"))
        .or_else(|| text_at(item, &["correlationGuid", "guid"]))
        .or_else(location)?;
    // A fingerprint may identify only a line, in which two rules can have results: the key includes the rule.
    let file = locations.first().map_or("", |first| first.path.as_str());
    Some(format!(
        "{}:{}:{file}:{identity}",
        tool.name.as_deref().unwrap_or_default(),
        rule.unwrap_or_default()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tool() -> SarifTool {
        SarifTool::from_json(&json!({ "driver": { "name": "scan", "rules": [
            { "id": "js/sqli", "shortDescription": { "text": "SQL injection" }, "helpUri": "https://example.com/sqli",
              "properties": { "security-severity": "8.8", "tags": ["security", "external/cwe/cwe-089"] } },
            { "id": "style", "defaultConfiguration": { "level": "note" }, "messageStrings": { "m": { "text": "{0} is {1}" } } }
        ] } }))
    }

    #[test]
    fn a_result_is_read_with_its_rule() {
        let result = json!({
            "ruleId": "js/sqli", "level": "warning", "message": { "text": "Built from input." },
            "locations": [{ "physicalLocation": { "artifactLocation": { "uri": "src/db.js" }, "region": { "startLine": 4, "endLine": 5 } } }],
            "partialFingerprints": { "primaryLocationLineHash": "abc:1" }
        });
        let (record, key) = sarif_record(&result, Some(&tool()));
        assert_eq!(record.vuln.vuln_id.as_deref(), Some("js/sqli"));
        assert_eq!(record.vuln.title.as_deref(), Some("SQL injection"));
        assert_eq!(record.vuln.severity, "high", "the score takes precedence over the level");
        assert_eq!(record.vuln.cwe, ["CWE-89"]);
        assert_eq!(
            record.locations[0],
            Location { path: "src/db.js".into(), start_line: Some(4), end_line: Some(5) }
        );
        let moved = json!({ "ruleId": "js/sqli", "message": { "text": "x" },
            "locations": [{ "physicalLocation": { "artifactLocation": { "uri": "src/db.js" }, "region": { "startLine": 9 } } }],
            "partialFingerprints": { "primaryLocationLineHash": "abc:1" } });
        assert_eq!(sarif_record(&moved, Some(&tool())).1, key, "the fingerprint stays when the line moves");
    }

    #[test]
    fn messages_and_levels_of_rules() {
        let result = json!({ "ruleIndex": 1, "message": { "id": "m", "arguments": ["it", "odd"] } });
        let (record, _) = sarif_record(&result, Some(&tool()));
        assert_eq!(record.vuln.description.as_deref(), Some("it is odd"));
        assert_eq!(record.vuln.severity, "low");
        assert_eq!(cwe_of_tag("CWE-079: x").as_deref(), Some("CWE-79"));
        assert_eq!(cwe_of_tag("external/owasp"), None);
    }
}
