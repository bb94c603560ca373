//! Converts an item of a report to a record; one file per format.

mod dependabot;
mod generic;
mod inspector;
mod sarif;
mod sarif_claims;
pub(super) mod sarif_run;

use serde_json::Value;

use super::identity::{Claims, ItemKey};
use super::json_path::{bool_at, number_at, text_at, texts_at};
use super::record::{Cvss, Exposure, ParsedMeta, Record};
use super::scanners::{ItemParent, PARENT_FIELD, format_of, scanner_record};
use super::source::FindingSource;

/// Older programs identified an item without a key by the hash of this many of its first bytes.
const HASHED_BYTES_MAX: usize = 16 * 1024;

/// A record with its identity.
pub(super) struct NormalisedItem {
    pub(super) key: ItemKey,
    pub(super) record: Record,
    /// `true` if the report says that it is fixed.
    pub(super) is_fixed: bool,
}

/// An item as the mapping of its format reads it.
#[derive(Debug, Default)]
pub(super) struct MappedItem {
    pub(super) record: Record,
    pub(super) claims: Claims,
    pub(super) is_fixed: bool,
}

/// The context of an item.
#[derive(Debug, Clone, Copy)]
pub(super) struct ItemContext<'a> {
    /// Format of the report.
    pub(super) source: FindingSource,
    /// Fields that apply to all items.
    pub(super) meta: &'a ParsedMeta,
    /// Repository of items that do not name one.
    pub(super) repo: Option<&'a str>,
    /// `true` if the original item is kept in the record.
    pub(super) keep_raw: bool,
    /// For a SARIF result: the run that reported it.
    pub(super) run: Option<&'a sarif_run::SarifRun>,
    /// For an item of a scanner's own format: the object around it.
    pub(super) parent: Option<&'a ItemParent>,
}

/// Converts an item to a record.
///
/// # Errors
/// A clause that describes the defect of the item.
pub(super) fn normalise_item(mut item: Value, context: ItemContext<'_>) -> Result<NormalisedItem, String> {
    if !item.is_object() {
        return Err("an item must be an object".to_owned());
    }
    let MappedItem { mut record, claims, is_fixed } = map_item(&item, context);
    let source = context.source.as_str();
    source.clone_into(&mut record.source);
    if context.parent.is_none() && !claims.has_former_key() {
        record.parse_warnings.push("missing stable key; identified by its content".to_owned());
    }
    let raw = || {
        let raw = item.to_string();
        raw[..raw.floor_char_boundary(HASHED_BYTES_MAX)].to_owned()
    };
    let of_run = context.run.map(|run| run.scope.as_str());
    let scope = of_run.or(context.parent.map(|parent| parent.scope.as_str())).unwrap_or(source);
    let mut key = claims.into_key(scope, &record, raw);
    record.exposure = exposure(&item, &context.meta.0);
    context.meta.apply(&mut record, context.repo);
    if is_empty_finding(&record) {
        return Err("it names neither a vulnerability nor what is affected".to_owned());
    }
    key.related = record.place_names();
    complete_fields(&mut record);
    if let Some(fields) = item.as_object_mut().filter(|_| context.parent.is_some()) {
        fields.shift_remove(PARENT_FIELD);
    }
    record.raw = context.keep_raw.then_some(item);
    Ok(NormalisedItem { key, record, is_fixed })
}

fn map_item(item: &Value, context: ItemContext<'_>) -> MappedItem {
    if let Some(format) = format_of(context.source) {
        return scanner_record(item, format);
    }
    match context.source {
        FindingSource::Dependabot => dependabot::dependabot_record(item),
        FindingSource::AwsInspector => inspector::inspector_record(item),
        FindingSource::Sarif => sarif::sarif_record(item, context.run),
        _ => generic::generic_record(item),
    }
}

/// Returns whether a record names neither a vulnerability nor an affected package or asset.
fn is_empty_finding(record: &Record) -> bool {
    let vuln = &record.vuln;
    vuln.vuln_id.is_none()
        && vuln.title.is_none()
        && vuln.description.is_none()
        && record.package.name.is_none()
        && record.asset.asset_id.is_none()
}

fn complete_fields(record: &mut Record) {
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
        list.retain(|text| seen.insert(text.clone()));
    }
}

/// Returns whether a text is the id of a CVE.
pub(super) fn is_cve(text: &str) -> bool {
    let mut parts = text.split('-');
    let digits = |part: Option<&str>| {
        part.is_some_and(|part| part.len() >= 4 && part.bytes().all(|b| b.is_ascii_digit()))
    };
    parts.next().is_some_and(|part| part.eq_ignore_ascii_case("cve"))
        && digits(parts.next())
        && digits(parts.next())
        && parts.next().is_none()
}

/// Reads the exposure from the field `exposure` of the item, the item itself, or the call's `meta`; names in camel or
/// snake case, nested or with dots.
fn exposure(item: &Value, meta: &Value) -> Exposure {
    let paths = |camel: &str, snake: &str| {
        [format!("exposure.{camel}"), format!("exposure.{snake}"), camel.to_owned(), snake.to_owned()]
    };
    fn strs(paths: &[String; 4]) -> Vec<&str> {
        paths.iter().map(String::as_str).collect()
    }
    let text = |camel: &str, snake: &str| {
        let paths = paths(camel, snake);
        text_at(item, &strs(&paths)).or_else(|| text_at(meta, &strs(&paths)))
    };
    let internet = paths("internetExposed", "internet_exposed");
    let controls = paths("compensatingControls", "compensating_controls");
    let listed = |value: &Value| texts_at(value, &strs(&controls), &["name"], &[',', ';']);
    let mut compensating_controls = listed(item);
    if compensating_controls.is_empty() {
        compensating_controls = listed(meta);
    }
    Exposure {
        internet_exposed: bool_at(item, &strs(&internet)).or_else(|| bool_at(meta, &strs(&internet))),
        public_endpoint: text("publicEndpoint", "public_endpoint"),
        data_sensitivity: text("dataSensitivity", "data_sensitivity"),
        business_criticality: text("businessCriticality", "business_criticality"),
        compensating_controls,
    }
}

/// Returns the score at one of `paths`: a number, or an object with `score`, a vector and a version.
fn cvss_at(item: &Value, paths: &[&str]) -> Option<Cvss> {
    paths.iter().find_map(|path| {
        let found = super::json_path::value_at(item, path)?;
        let score =
            number_at(item, &[path]).or_else(|| number_at(found, &["score", "baseScore", "base_score"]));
        let vector = text_at(found, &["vector", "vector_string", "vectorString", "scoringVector"]);
        let stated = text_at(found, &["version"]);
        let in_vector = vector.as_deref().and_then(|vector| vector.strip_prefix("CVSS:"));
        let version = stated.or_else(|| in_vector?.split('/').next().map(str::to_owned));
        (score.is_some() || vector.is_some()).then_some(Cvss { score, vector, version })
    })
}

/// Joins the parts of a key; `None` if the first part is missing.
fn joined_key(parts: &[Option<&String>]) -> Option<String> {
    parts.first().copied().flatten()?;
    let parts: Vec<&str> = parts.iter().map(|part| part.map_or("", String::as_str)).collect();
    Some(parts.join(":"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn normalised(source: FindingSource, item: Value, meta: Value) -> Result<NormalisedItem, String> {
        let Value::Object(meta) = meta else { panic!("an object") };
        let meta = ParsedMeta::new(meta);
        normalise_item(
            item,
            ItemContext { source, meta: &meta, repo: Some("shop"), keep_raw: false, run: None, parent: None },
        )
    }

    #[test]
    fn meta_of_the_call_fills_the_record() {
        let meta = json!({
            "service": "api", "exposure.internetExposed": "yes", "compensating_controls": "waf; vpn", "ticket": "T-1",
            "exposure": { "public_endpoint": "/pay" }
        });
        let record =
            normalised(FindingSource::Manual, json!({ "vulnId": "cve-2024-0001" }), meta).unwrap().record;
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
    fn items_without_content_are_refused() {
        assert!(normalised(FindingSource::Generic, json!({ "a": 1 }), json!({})).is_err());
        assert!(normalised(FindingSource::Generic, json!([1]), json!({})).is_err());
        let unkeyed = normalised(FindingSource::Manual, json!({ "title": "Old cipher" }), json!({})).unwrap();
        assert!(unkeyed.record.parse_warnings[0].contains("missing stable key"));
    }

    #[test]
    fn cve_ids_are_recognised() {
        assert!(is_cve("CVE-2024-0001") && is_cve("cve-2024-12345"));
        for text in ["CVE-24-1", "GHSA-aaaa-bbbb-cccc", "CVE-2024-0001-x", "CVE-2024"] {
            assert!(!is_cve(text), "{text}");
        }
    }
}
