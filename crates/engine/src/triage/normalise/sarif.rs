//! Results of SARIF 2.1.0 logs, which scanners of code write.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::is_cve;
use crate::triage::look::{at, number, text, texts};
use crate::triage::record::{Cvss, Location, Record, Vuln};

/// Most rules of a tool that are looked at.
const RULES_MAX: usize = 20_000;

/// The tool of a run: what it is called and what its rules say.
#[derive(Debug, Clone, Default)]
pub(in crate::triage) struct Tool {
    name: Option<String>,
    rules: HashMap<String, Value>,
    /// Ids of the driver's rules, by the index that results use.
    by_index: Vec<String>,
}

impl Tool {
    /// From the field `tool` of a run; what is not there is not known.
    pub(in crate::triage) fn of(tool: &Value) -> Self {
        let rules_of = |component: &Value| -> Vec<Value> {
            let rules = at(component, "rules").and_then(Value::as_array);
            rules.map(|rules| rules.iter().take(RULES_MAX).cloned().collect()).unwrap_or_default()
        };
        let driver = at(tool, "driver").cloned().unwrap_or_default();
        let mut found = Self { name: text(&driver, &["name"]), ..Self::default() };
        for rule in rules_of(&driver) {
            let id = text(&rule, &["id"]).unwrap_or_default();
            found.by_index.push(id.clone());
            found.rules.insert(id, rule);
        }
        for extension in at(tool, "extensions").and_then(Value::as_array).into_iter().flatten() {
            for rule in rules_of(extension) {
                if let Some(id) = text(&rule, &["id"]) {
                    found.rules.entry(id).or_insert(rule);
                }
            }
        }
        found
    }

    fn rule(&self, result: &Value) -> (Option<String>, Value) {
        let index = at(result, "ruleIndex").or_else(|| at(result, "rule.index")).and_then(Value::as_u64);
        let by_index = || self.by_index.get(usize::try_from(index?).ok()?).cloned();
        let id = text(result, &["ruleId", "rule.id"]).or_else(by_index);
        let rule = id.as_ref().and_then(|id| {
            // `CA1000/1` is a finer form of the rule `CA1000`.
            self.rules.get(id).or_else(|| self.rules.get(id.rsplit_once('/')?.0))
        });
        (id, rule.cloned().unwrap_or_default())
    }
}

pub(super) fn record(item: &Value, tool: Option<&Tool>) -> (Record, Option<String>) {
    let nothing = Tool::default();
    let tool = tool.unwrap_or(&nothing);
    let (id, rule) = tool.rule(item);
    let message = message(item, &rule);
    let score = number(item, &["properties.security-severity"])
        .or_else(|| number(&rule, &["properties.security-severity"]));
    let mut tags = texts(&rule, &["properties.tags"], &[], &[]);
    tags.extend(texts(item, &["properties.tags"], &[], &[]));
    let cve = id.iter().chain(&tags).find(|text| is_cve(text)).cloned();
    let full = text(&rule, &["fullDescription.text", "help.text"]);
    let description: Vec<String> =
        [message.clone(), full].into_iter().flatten().filter(|text| !text.is_empty()).collect();
    let mut references = texts(item, &["hostedViewerUri"], &[], &[]);
    references.extend(texts(&rule, &["helpUri"], &[], &[]));
    let vuln = Vuln {
        vuln_id: cve.clone().or_else(|| id.clone()),
        cve,
        title: text(&rule, &["shortDescription.text", "name"]).or_else(|| message.map(first_line)),
        description: (!description.is_empty()).then(|| description.join("\n\n")),
        severity: severity(item, &rule, score),
        cvss: score.map(|score| Cvss { score: Some(score), ..Cvss::default() }),
        cwe: tags.iter().filter_map(|tag| cwe(tag)).collect(),
        references,
    };
    let mut meta = Map::new();
    let mut say = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            meta.insert(name.to_owned(), Value::String(value));
        }
    };
    say("tool", tool.name.clone());
    say("ruleId", id.clone());
    say("baselineState", text(item, &["baselineState"]));
    let locations = locations(item);
    let key = key(item, tool, id.as_deref(), &locations);
    (Record { vuln, locations, meta, ..Record::default() }, key)
}

/// What the result says: its own text, or the rule's with the result's arguments.
fn message(item: &Value, rule: &Value) -> Option<String> {
    if let Some(own) = text(item, &["message.text", "message.markdown"]) {
        return Some(own);
    }
    let id = text(item, &["message.id"])?;
    let mut message = text(rule, &[&format!("messageStrings.{id}.text")])?;
    let arguments = at(item, "message.arguments").and_then(Value::as_array).into_iter().flatten();
    for (number, argument) in arguments.enumerate() {
        message = message.replace(&format!("{{{number}}}"), argument.as_str().unwrap_or_default());
    }
    Some(message)
}

fn first_line(text: String) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

/// By the score where there is one, as code hosts read it, else by the level.
fn severity(item: &Value, rule: &Value, score: Option<f64>) -> String {
    let level = || text(item, &["level"]).or_else(|| text(rule, &["defaultConfiguration.level"]));
    let word = match score {
        Some(score) if score >= 9.0 => "critical",
        Some(score) if score >= 7.0 => "high",
        Some(score) if score >= 4.0 => "medium",
        Some(score) if score > 0.0 => "low",
        // The default of the format.
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

/// `external/cwe/cwe-079` and `CWE-79: …` are the weakness CWE-79.
fn cwe(tag: &str) -> Option<String> {
    let lower = tag.to_lowercase();
    let number = &lower[lower.find("cwe-")? + 4..];
    let digits: String = number.chars().take_while(char::is_ascii_digit).collect();
    digits.parse::<u32>().ok().map(|number| format!("CWE-{number}"))
}

fn locations(item: &Value) -> Vec<Location> {
    let places = at(item, "locations").and_then(Value::as_array).into_iter().flatten();
    let place = |location: &Value| {
        let uri = text(location, &["physicalLocation.artifactLocation.uri"])?;
        let line =
            |name: &str| at(location, &format!("physicalLocation.region.{name}")).and_then(Value::as_u64);
        let path = uri.strip_prefix("file://").unwrap_or(&uri).to_owned();
        Some(Location { path, start_line: line("startLine"), end_line: line("endLine") })
    };
    places.filter_map(place).collect()
}

/// Fingerprints stay when lines move; ids come next; the place is the last resort.
fn key(item: &Value, tool: &Tool, rule: Option<&str>, locations: &[Location]) -> Option<String> {
    let prints = |field: &str| {
        let prints = at(item, field)?.as_object()?;
        let mut prints: Vec<String> =
            prints.iter().filter_map(|(name, value)| Some(format!("{name}={}", value.as_str()?))).collect();
        prints.sort();
        (!prints.is_empty()).then(|| prints.join(";"))
    };
    let place = || {
        let first = locations.first()?;
        Some(format!("{}:{}", first.path, first.start_line.unwrap_or(0)))
    };
    let own = prints("partialFingerprints")
        .or_else(|| prints("fingerprints"))
        .or_else(|| text(item, &["correlationGuid", "guid"]))
        .or_else(place)?;
    // A fingerprint may stand for a line; in one line two rules can find two things.
    let file = locations.first().map_or("", |first| first.path.as_str());
    Some(format!("{}:{}:{file}:{own}", tool.name.as_deref().unwrap_or_default(), rule.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tool() -> Tool {
        Tool::of(&json!({ "driver": { "name": "scan", "rules": [
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
        let (record, key) = record(&result, Some(&tool()));
        assert_eq!(record.vuln.vuln_id.as_deref(), Some("js/sqli"));
        assert_eq!(record.vuln.title.as_deref(), Some("SQL injection"));
        assert_eq!(record.vuln.severity, "high", "the score tells more than the level");
        assert_eq!(record.vuln.cwe, ["CWE-89"]);
        assert_eq!(
            record.locations[0],
            Location { path: "src/db.js".into(), start_line: Some(4), end_line: Some(5) }
        );
        let moved = json!({ "ruleId": "js/sqli", "message": { "text": "x" },
            "locations": [{ "physicalLocation": { "artifactLocation": { "uri": "src/db.js" }, "region": { "startLine": 9 } } }],
            "partialFingerprints": { "primaryLocationLineHash": "abc:1" } });
        assert_eq!(super::record(&moved, Some(&tool())).1, key, "a fingerprint outlives its line");
    }

    #[test]
    fn messages_and_levels_of_rules() {
        let result = json!({ "ruleIndex": 1, "message": { "id": "m", "arguments": ["it", "odd"] } });
        let (record, _) = record(&result, Some(&tool()));
        assert_eq!(record.vuln.description.as_deref(), Some("it is odd"));
        assert_eq!(record.vuln.severity, "low");
        assert_eq!(cwe("CWE-079: x").as_deref(), Some("CWE-79"));
        assert_eq!(cwe("external/owasp"), None);
    }
}
