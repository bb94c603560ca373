//! Converts an item of a scanner's report to a record, by the paths of its format.

use serde_json::{Map, Value};

use super::{Paths, ScannerFormat};
use crate::findings::identity::{Claims, can_identify};
use crate::findings::json_path::{number_at, scalar_text, text_at, texts_at, value_at};
use crate::findings::normalise::{MappedItem, is_cve};
use crate::findings::record::{Cvss, Location, Package, Record, Vuln};

/// The text that Semgrep writes in place of the code, and of fingerprints, for users who are not logged in.
const NOT_LOGGED_IN: &str = "requires login";

/// Severities of scanners, each with the severity of records.
const SEVERITIES: &[(&str, &str)] = &[
    ("2", "high"),
    ("error", "high"),
    ("1", "medium"),
    ("warning", "medium"),
    ("moderate", "medium"),
    ("note", "low"),
    ("negligible", "low"),
    ("informational", "info"),
];

/// Returns the record of an item, whose field `^` is its enclosing object.
pub(in crate::findings) fn scanner_record(item: &Value, format: &ScannerFormat) -> MappedItem {
    let fields = &format.fields;
    let text = |paths: Paths| text_at(item, paths);
    let score = number_at(item, fields.cvss);
    let vuln = Vuln {
        vuln_id: text(fields.id).map(advisory_id),
        cve: text(fields.cve).filter(|id| is_cve(id)),
        title: text(fields.title).and_then(|title| title.lines().next().map(str::to_owned)),
        description: text(fields.message),
        severity: severity(text(fields.severity)),
        cvss: score.map(|score| Cvss { score: Some(score), ..Cvss::default() }),
        cwe: texts_at(item, fields.cwe, &[], &[',']).into_iter().map(weakness).collect(),
        references: texts_at(item, fields.references, &["url"], &[]),
    };
    let name = text(fields.package);
    let package = Package {
        ecosystem: text(fields.ecosystem).filter(|_| name.is_some()),
        installed_version: text(fields.version),
        fixed_version: text(fields.fixed),
        purl: text(fields.purl),
        name,
        ..Package::default()
    };
    let number = |paths: Paths| number_at(item, paths).and_then(whole_number);
    let location = text(fields.file).map(|path| Location {
        path,
        start_line: number(fields.line),
        end_line: number(fields.end_line),
        start_column: number(fields.column),
    });
    let record = Record { vuln, package, locations: location.into_iter().collect(), ..Record::default() };
    let claims = scanner_claims(item, format, &record);
    let meta = Map::from_iter([("tool".to_owned(), Value::from(format.source.as_str()))]);
    MappedItem { record: Record { meta, ..record }, claims, is_fixed: false }
}

fn scanner_claims(item: &Value, format: &ScannerFormat, record: &Record) -> Claims {
    let fields = &format.fields;
    let first = record.locations.first();
    let file = first.map(|first| first.path.as_str());
    let place = first.map(|it| format!("{:?}:{:?}", it.start_line, it.start_column));
    let (rule, message) = (record.vuln.vuln_id.as_deref(), record.vuln.description.as_deref());
    let package = record.package.name.as_deref();
    let fingerprint = text_at(item, fields.fingerprint).filter(|print| can_identify(print));
    let code = text_at(item, fields.code).filter(|code| code != NOT_LOGGED_IN);
    let unnumbered = code.as_deref().map(without_line_numbers);
    let parts: Vec<String> =
        fields.part.iter().filter_map(|path| value_at(item, path)).map(part_text).collect();
    let part = (!parts.is_empty()).then(|| parts.join("\n"));
    let mut claims = Claims::default();
    claims.add("fingerprint", &[fingerprint.as_deref(), rule, file]);
    claims.add("package", &[package, rule, file, part.as_deref()]);
    claims.add("package in file", &[package, rule, file]);
    claims.add("code", &[unnumbered.as_deref(), rule, file, message]);
    if package.is_none() {
        // Results in the same place with different fingerprints are different results.
        claims.add("place", &[file, rule, place.as_deref(), fingerprint.as_deref(), part.as_deref()]);
        claims.add("part", &[part.as_deref(), rule, file]);
    }
    let facts = [rule, message, place.as_deref(), fingerprint.as_deref(), part.as_deref(), code.as_deref()];
    claims.add_facts(&facts);
    claims
}

/// Removes the number that begins each line of the code and says where the code is; returns the code unchanged if a line has none.
fn without_line_numbers(code: &str) -> String {
    let unnumbered = |line: &str| {
        let rest = line.trim_start_matches(|char: char| char.is_ascii_digit());
        let is_numbered = rest.len() < line.len() && (rest.is_empty() || rest.starts_with(' '));
        is_numbered.then(|| rest.strip_prefix(' ').unwrap_or(rest).to_owned())
    };
    let lines: Option<Vec<String>> = code.lines().map(unnumbered).collect();
    let bare = lines.map(|lines| lines.join("\n")).filter(|bare| !bare.trim().is_empty());
    bare.unwrap_or_else(|| code.to_owned())
}

fn part_text(value: &Value) -> String {
    scalar_text(value).unwrap_or_else(|| value.to_string())
}

/// Returns the id in the address of an advisory; any other text unchanged.
fn advisory_id(id: String) -> String {
    match id.rsplit_once("/advisories/") {
        Some((_, advisory)) => advisory.to_owned(),
        None => id,
    }
}

/// Returns `CWE-79` for a number alone.
fn weakness(text: String) -> String {
    if text.bytes().all(|byte| byte.is_ascii_digit()) { format!("CWE-{text}") } else { text }
}

fn severity(word: Option<String>) -> String {
    let word = word.unwrap_or_default().to_lowercase();
    let known = SEVERITIES.iter().find(|(name, _)| *name == word).map(|(_, severity)| *severity);
    known.map_or(word, str::to_owned)
}

fn whole_number(number: f64) -> Option<u64> {
    format!("{number:.0}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::scanners::format_of;
    use crate::findings::source::FindingSource;
    use serde_json::json;

    #[test]
    fn only_code_whose_lines_are_all_numbered_loses_the_numbers() {
        for (code, expected) in [
            ("12 password = 'x'\n13 \n14     run()", "password = 'x'\n\n    run()"),
            ("9 a\n10 b\n11", "a\nb\n"),
            ("12 a\nb", "12 a\nb"),
            ("12a = 1", "12a = 1"),
            ("42", "42"),
            ("", ""),
        ] {
            assert_eq!(without_line_numbers(code), expected, "{code:?}");
        }
    }

    #[test]
    fn facts_of_an_advisory_are_its_own_and_its_claim_is_that_of_its_package_before() {
        let format = format_of(FindingSource::NpmAudit).unwrap();
        let advisory = json!({ "source": 7, "name": "p", "title": "Pollution", "url": "https://github.com/advisories/GHSA-a",
            "severity": "low", "cwe": ["CWE-1"], "cvss": { "score": 3.1 }, "range": "<1.0.1",
            "^": { "name": "p", "severity": "critical", "range": "<2.0.0", "nodes": ["node_modules/p"], "fixAvailable": { "version": "2.0.0" } } });
        let MappedItem { record, claims, .. } = scanner_record(&advisory, format);
        let (vuln, package) = (&record.vuln, &record.package);
        assert_eq!((vuln.vuln_id.as_deref(), vuln.severity.as_str()), (Some("GHSA-a"), "low"));
        assert_eq!((vuln.title.as_deref(), &vuln.cwe[..]), (Some("Pollution"), &["CWE-1".to_owned()][..]));
        assert_eq!(vuln.references, ["https://github.com/advisories/GHSA-a"]);
        assert_eq!(vuln.cvss.as_ref().and_then(|cvss| cvss.score), Some(3.1));
        assert_eq!((package.name.as_deref(), package.fixed_version.as_deref()), (Some("p"), Some("2.0.0")));
        assert_eq!(record.locations[0].path, "node_modules/p");
        let mut before = Claims::default();
        before.add("package in file", &[Some("p"), Some("GHSA-a"), Some("node_modules/p")]);
        let digests = |claims: Claims| {
            claims.into_key("s", &record, String::new).claims.into_iter().map(|claim| claim.digest)
        };
        let before = digests(before).next().unwrap();
        assert!(digests(claims).any(|digest| digest == before), "decisions about the package stay");
        let through = json!({ "name": "r", "severity": "high", "via": ["p"], "nodes": ["node_modules/r"] });
        let through = scanner_record(&through, format).record;
        assert_eq!(
            (through.vuln.vuln_id.as_deref(), through.package.name.as_deref()),
            (Some("r"), Some("r"))
        );
    }
}
