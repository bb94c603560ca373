//! An item of a report to a record; one file a format.

mod dependabot;
mod generic;
mod inspector;
pub(super) mod sarif;

use serde_json::Value;

use super::look::{number, text, texts, truth};
use super::record::{Cvss, Exposure, ParsedMeta, Record, record_id};
use super::source::Source;

/// Bytes of an item of which its key is made where it has none of its own.
const KEY_BYTES: usize = 16 * 1024;

/// A record and the id that it always gets.
pub(super) struct Normalised {
    pub(super) id: String,
    pub(super) record: Record,
}

/// Where an item came from, besides itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Context<'a> {
    /// What reported it.
    pub(super) source: Source,
    /// What the caller says of all items.
    pub(super) meta: &'a ParsedMeta,
    /// What the repository is called where nobody says.
    pub(super) repo: Option<&'a str>,
    /// Whether items are kept as they came.
    pub(super) keep_raw: bool,
    /// Of a result in a SARIF log: the tool that found it.
    pub(super) tool: Option<&'a sarif::Tool>,
}

/// The record of an item.
///
/// # Errors
/// A sentence that says what is wrong with it.
pub(super) fn normalise(item: Value, context: Context<'_>) -> Result<Normalised, String> {
    if !item.is_object() {
        return Err("an item must be an object".to_owned());
    }
    let (mut record, key) = match context.source {
        Source::Dependabot => dependabot::record(&item),
        Source::AwsInspector => inspector::record(&item),
        Source::Sarif => sarif::record(&item, context.tool),
        Source::Generic | Source::Manual => generic::record(&item),
    };
    let source = context.source.as_str();
    source.clone_into(&mut record.source);
    record.exposure = exposure(&item, &context.meta.0);
    context.meta.apply(&mut record, context.repo);
    if says_nothing(&record) {
        return Err("it says neither what is wrong nor where".to_owned());
    }
    let id = match key {
        Some(key) => record_id(source, &key),
        None => {
            record.parse_warnings.push("missing stable key; using raw payload hash".to_owned());
            let raw = item.to_string();
            record_id(source, &raw[..raw.floor_char_boundary(KEY_BYTES)])
        }
    };
    tidy(&mut record);
    record.raw = context.keep_raw.then_some(item);
    Ok(Normalised { id, record })
}

/// Whether there is nothing in a record that anybody could look for or decide about.
fn says_nothing(record: &Record) -> bool {
    let vuln = &record.vuln;
    vuln.vuln_id.is_none()
        && vuln.title.is_none()
        && vuln.description.is_none()
        && record.package.name.is_none()
        && record.asset.asset_id.is_none()
}

fn tidy(record: &mut Record) {
    let vuln = &mut record.vuln;
    vuln.severity = vuln.severity.trim().to_lowercase();
    if vuln.severity.is_empty() {
        "unknown".clone_into(&mut vuln.severity);
    }
    if vuln.cve.is_none() {
        vuln.cve = vuln.vuln_id.clone().filter(|id| is_cve(id));
    }
    vuln.cve = vuln.cve.take().map(|cve| cve.to_uppercase());
    if vuln.vuln_id.is_none() {
        vuln.vuln_id.clone_from(&vuln.cve);
    }
    for list in [&mut vuln.cwe, &mut vuln.references] {
        let mut seen = std::collections::HashSet::new();
        list.retain(|one| seen.insert(one.clone()));
    }
}

/// Whether a text is the id of a CVE.
fn is_cve(text: &str) -> bool {
    let mut parts = text.split('-');
    let digits = |part: Option<&str>| {
        part.is_some_and(|part| part.len() >= 4 && part.bytes().all(|b| b.is_ascii_digit()))
    };
    parts.next().is_some_and(|part| part.eq_ignore_ascii_case("cve"))
        && digits(parts.next())
        && digits(parts.next())
        && parts.next().is_none()
}

/// From `exposure` of the item, the item itself, or what the caller says; names in either style, also with dots.
fn exposure(item: &Value, meta: &Value) -> Exposure {
    let ways = |camel: &str, snake: &str| {
        [format!("exposure.{camel}"), format!("exposure.{snake}"), camel.to_owned(), snake.to_owned()]
    };
    fn strs(ways: &[String; 4]) -> Vec<&str> {
        ways.iter().map(String::as_str).collect()
    }
    let said = |camel: &str, snake: &str| {
        let ways = ways(camel, snake);
        text(item, &strs(&ways)).or_else(|| text(meta, &strs(&ways)))
    };
    let internet = ways("internetExposed", "internet_exposed");
    let controls = ways("compensatingControls", "compensating_controls");
    let listed = |value: &Value| texts(value, &strs(&controls), &["name"], &[',', ';']);
    let mut compensating_controls = listed(item);
    if compensating_controls.is_empty() {
        compensating_controls = listed(meta);
    }
    Exposure {
        internet_exposed: truth(item, &strs(&internet)).or_else(|| truth(meta, &strs(&internet))),
        public_endpoint: said("publicEndpoint", "public_endpoint"),
        data_sensitivity: said("dataSensitivity", "data_sensitivity"),
        business_criticality: said("businessCriticality", "business_criticality"),
        compensating_controls,
    }
}

/// The score at one of `paths`: a number, or an object with `score`, a vector and a version.
fn cvss(item: &Value, paths: &[&str]) -> Option<Cvss> {
    paths.iter().find_map(|path| {
        let found = super::look::at(item, path)?;
        let score = number(item, &[path]).or_else(|| number(found, &["score", "baseScore", "base_score"]));
        let vector = text(found, &["vector", "vector_string", "vectorString", "scoringVector"]);
        let said = text(found, &["version"]);
        let in_vector = vector.as_deref().and_then(|vector| vector.strip_prefix("CVSS:"));
        let version = said.or_else(|| in_vector?.split('/').next().map(str::to_owned));
        (score.is_some() || vector.is_some()).then_some(Cvss { score, vector, version })
    })
}

/// Parts of a key, where the first of them is there.
fn joined(parts: &[Option<&String>]) -> Option<String> {
    parts.first().copied().flatten()?;
    let parts: Vec<&str> = parts.iter().map(|part| part.map_or("", String::as_str)).collect();
    Some(parts.join(":"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(source: Source, item: Value, meta: Value) -> Result<Normalised, String> {
        let Value::Object(meta) = meta else { panic!("an object") };
        let meta = ParsedMeta::new(meta);
        normalise(item, Context { source, meta: &meta, repo: Some("shop"), keep_raw: false, tool: None })
    }

    #[test]
    fn what_a_caller_says_fills_the_record() {
        let meta = json!({
            "service": "api", "exposure.internetExposed": "yes", "compensating_controls": "waf; vpn", "ticket": "T-1",
            "exposure": { "public_endpoint": "/pay" }
        });
        let record = of(Source::Manual, json!({ "vulnId": "cve-2024-0001" }), meta).unwrap().record;
        assert_eq!(record.service.as_deref(), Some("api"));
        assert_eq!(record.repo.as_deref(), Some("shop"));
        assert_eq!(record.vuln.cve.as_deref(), Some("CVE-2024-0001"));
        assert_eq!(record.vuln.severity, "unknown");
        assert_eq!(record.exposure.internet_exposed, Some(true));
        assert_eq!(record.exposure.public_endpoint.as_deref(), Some("/pay"));
        assert_eq!(record.exposure.compensating_controls, ["waf", "vpn"]);
        assert_eq!(Value::Object(record.meta), json!({ "ticket": "T-1" }));
    }

    #[test]
    fn what_says_nothing_is_no_finding() {
        assert!(of(Source::Generic, json!({ "a": 1 }), json!({})).is_err());
        assert!(of(Source::Generic, json!([1]), json!({})).is_err());
        let unkeyed = of(Source::Manual, json!({ "title": "Old cipher" }), json!({})).unwrap();
        assert!(unkeyed.record.parse_warnings[0].contains("missing stable key"));
    }

    #[test]
    fn cves_are_told() {
        assert!(is_cve("CVE-2024-0001") && is_cve("cve-2024-12345"));
        for text in ["CVE-24-1", "GHSA-aaaa-bbbb-cccc", "CVE-2024-0001-x", "CVE-2024"] {
            assert!(!is_cve(text), "{text}");
        }
    }
}
