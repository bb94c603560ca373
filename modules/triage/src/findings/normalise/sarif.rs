//! Reads results of SARIF 2.1.0 logs, a format of code scanners.

use serde_json::{Map, Value};

use super::sarif_claims::result_claims;
use super::sarif_run::SarifRun;
use super::{MappedItem, is_cve};
use crate::findings::json_path::{number_at, text_at, texts_at, value_at};
use crate::findings::record::{Cvss, Location, Package, Record, Vuln};

pub(super) fn sarif_record(item: &Value, run: Option<&SarifRun>) -> MappedItem {
    let unnamed = SarifRun::default();
    let run = run.unwrap_or(&unnamed);
    let (id, rule) = run.rule(item);
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
    let locations = result_locations(item, |file| run.uri(file).map(|uri| path_of_uri(&uri)));
    // The path according to older programs: the address with its escapes, and nothing for a file that is named by number.
    let former =
        result_locations(item, |file| text_at(file, &["uri"]).map(|uri| without_scheme(&uri).to_owned()));
    let tool = run.tool.as_deref().unwrap_or_default();
    let claims = result_claims(item, (tool, id.as_deref()), (&locations, &former), message.as_deref());
    let package = message.as_deref().map(package_of_message).unwrap_or_default();
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
    add_meta("tool", run.tool.clone());
    add_meta("ruleId", id.clone());
    let baseline = text_at(item, &["baselineState"]);
    let is_fixed = baseline.as_deref() == Some("absent");
    add_meta("baselineState", baseline);
    MappedItem { record: Record { vuln, package, locations, meta, ..Record::default() }, claims, is_fixed }
}

/// Returns the package that a message names in lines of its own, as scanners of packages write them.
fn package_of_message(message: &str) -> Package {
    let line = |name: &str| {
        let value = message.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?.trim();
        (!value.is_empty()).then(|| value.to_owned())
    };
    let Some(name) = line("Package") else { return Package::default() };
    let (installed_version, fixed_version) = (line("Installed Version"), line("Fixed Version"));
    Package { name: Some(name), installed_version, fixed_version, ..Package::default() }
}

/// Returns the message of a result: its own text, or that of its rule with the arguments of the result.
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

/// Returns the severity, from the score with the thresholds of GitHub code scanning if there is one, otherwise from the level.
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

/// Returns the weakness that a tag names: `CWE-79` for `external/cwe/cwe-079` and `CWE-79: …`.
fn cwe_of_tag(tag: &str) -> Option<String> {
    let lower = tag.to_lowercase();
    let number = &lower[lower.find("cwe-")? + 4..];
    let digits: String = number.chars().take_while(char::is_ascii_digit).collect();
    digits.parse::<u32>().ok().map(|number| format!("CWE-{number}"))
}

/// Returns the locations whose file has a path, which `path_of` reads from an `artifactLocation`.
fn result_locations(item: &Value, path_of: impl Fn(&Value) -> Option<String>) -> Vec<Location> {
    let locations = value_at(item, "locations").and_then(Value::as_array).into_iter().flatten();
    let convert = |location: &Value| {
        let path = path_of(value_at(location, "physicalLocation.artifactLocation")?)?;
        let line = |name: &str| {
            value_at(location, &format!("physicalLocation.region.{name}")).and_then(Value::as_u64)
        };
        let (start_line, end_line) = (line("startLine"), line("endLine"));
        Some(Location { path, start_line, end_line, start_column: line("startColumn") })
    };
    locations.filter_map(convert).collect()
}

/// Returns the path that the address of a file represents: `src/a b.py` for `src/a%20b.py`. Addresses of other kinds, such as `https://`,
/// stay, and so does one whose escapes are not text.
fn path_of_uri(uri: &str) -> String {
    let path = without_scheme(uri);
    let unescaped = (!path.contains("://")).then(|| String::from_utf8(unescape(path.as_bytes())).ok());
    unescaped.flatten().unwrap_or_else(|| path.to_owned())
}

fn without_scheme(uri: &str) -> &str {
    uri.strip_prefix("file://").unwrap_or(uri)
}

/// Replaces escapes, such as `%20`, by the bytes that they represent, except NUL, which no path has, and malformed escapes.
fn unescape(mut text: &[u8]) -> Vec<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let mut bytes = Vec::with_capacity(text.len());
    while let [first, rest @ ..] = text {
        let escaped = match text {
            [b'%', high, low, ..] => digit(*high).zip(digit(*low)).map(|(high, low)| high * 16 + low),
            _ => None,
        };
        let escaped = escaped.filter(|byte| *byte != 0);
        bytes.push(escaped.unwrap_or(*first));
        text = if escaped.is_some() { &rest[2..] } else { rest };
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn run() -> SarifRun {
        let tool = json!({ "driver": { "name": "scan", "rules": [
            { "id": "js/sqli", "shortDescription": { "text": "SQL injection" }, "helpUri": "https://example.com/sqli",
              "properties": { "security-severity": "8.8", "tags": ["security", "external/cwe/cwe-089"] } },
            { "id": "style", "defaultConfiguration": { "level": "note" }, "messageStrings": { "m": { "text": "{0} is {1}" } } }
        ] } });
        SarifRun::from_fields(|name| (name == "tool").then(|| tool.clone()))
    }

    #[test]
    fn a_result_is_read_with_its_rule() {
        let result = json!({
            "ruleId": "js/sqli", "level": "warning", "message": { "text": "Built from input." },
            "locations": [{ "physicalLocation": { "artifactLocation": { "uri": "src/db.js" }, "region": { "startLine": 4, "endLine": 5 } } }],
            "partialFingerprints": { "primaryLocationLineHash": "abc:1" }
        });
        let record = sarif_record(&result, Some(&run())).record;
        assert_eq!(record.vuln.vuln_id.as_deref(), Some("js/sqli"));
        assert_eq!(record.vuln.title.as_deref(), Some("SQL injection"));
        assert_eq!(record.vuln.severity, "high", "the score takes precedence over the level");
        assert_eq!(record.vuln.cwe, ["CWE-89"]);
        assert_eq!(
            record.locations[0],
            Location { path: "src/db.js".into(), start_line: Some(4), end_line: Some(5), start_column: None }
        );
    }

    #[test]
    fn an_address_becomes_a_path() {
        for (uri, path) in [
            ("src/a%20b.py", "src/a b.py"),
            ("file:///srv/%C3%A4%2Bb/c.py", "/srv/ä+b/c.py"),
            ("100%25.py", "100%.py"),
            ("50%.py", "50%.py"),
            ("a%2", "a%2"),
            ("a%zz%+1%20", "a%zz%+1 "),
            ("a%00b%41", "a%00bA"),
            ("caf%E9%20.py", "caf%E9%20.py"),
            ("https://example.com/a%20b", "https://example.com/a%20b"),
        ] {
            assert_eq!(path_of_uri(uri), path, "{uri}");
        }
    }

    #[test]
    fn a_file_that_older_programs_read_otherwise_is_the_same() {
        let run = run().with_artifacts(vec!["src/a b.py".to_owned()]);
        let result = |location: Value, line: u64| {
            json!({ "ruleId": "r", "message": { "text": "m" }, "partialFingerprints": { "p": "f:1" },
                "locations": [{ "physicalLocation": { "artifactLocation": location, "region": { "startLine": line } } }] })
        };
        let digests = |result: &Value| {
            let MappedItem { record, claims, .. } = sarif_record(result, Some(&run));
            let claims = claims.into_key("s", &record, String::new).claims;
            claims.into_iter().map(|claim| claim.digest).collect::<Vec<_>>()
        };
        let claim_of = |name: &str, parts: &[Option<&str>]| {
            let mut claims = crate::findings::identity::Claims::default();
            claims.add(name, parts);
            claims.into_key("s", &Record::default(), String::new).claims[0].digest
        };
        let escaped = digests(&result(json!({ "uri": "src/a%20b.py" }), 3));
        let by_number = digests(&result(json!({ "index": 0 }), 3));
        let now = [Some("p=f:1"), Some("r"), Some("src/a b.py")];
        for (digests, before) in [(&escaped, Some("src/a%20b.py")), (&by_number, None)] {
            for file in [now[2], before] {
                let claim = claim_of("partial fingerprints", &[now[0], now[1], file]);
                assert!(digests.contains(&claim), "{file:?}");
            }
        }
        let record = sarif_record(&result(json!({ "index": 0 }), 3), Some(&run)).record;
        assert_eq!(
            (record.locations[0].path.as_str(), record.locations[0].start_line),
            ("src/a b.py", Some(3))
        );
        assert_eq!(escaped[0], by_number[0], "the same file, however it is named");
    }

    #[test]
    fn messages_and_levels_of_rules() {
        let result = json!({ "ruleIndex": 1, "message": { "id": "m", "arguments": ["it", "odd"] } });
        let record = sarif_record(&result, Some(&run())).record;
        assert_eq!(record.vuln.description.as_deref(), Some("it is odd"));
        assert_eq!(record.vuln.severity, "low");
        assert_eq!(cwe_of_tag("CWE-079: x").as_deref(), Some("CWE-79"));
        assert_eq!(cwe_of_tag("external/owasp"), None);
    }

    #[test]
    fn a_package_is_read_from_its_lines() {
        let package =
            package_of_message("Package: zlib1g\nInstalled Version: 1.2\nSeverity: HIGH\nFixed Version: ");
        assert_eq!(package.name.as_deref(), Some("zlib1g"));
        assert_eq!((package.installed_version.as_deref(), package.fixed_version), (Some("1.2"), None));
        assert_eq!(package_of_message("Installed Version: 1.2"), Package::default());
    }
}
