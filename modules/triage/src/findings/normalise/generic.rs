//! Reads findings that already have the structure of a record; fields of nested objects may also be at the top level.

use serde_json::Value;

use super::{MappedItem, cvss_at};
use crate::findings::identity::Claims;
use crate::findings::json_path::{text_at, texts_at, value_at};
use crate::findings::record::{Asset, Location, Package, Record, Vuln};

pub(super) fn generic_record(item: &Value) -> MappedItem {
    let text = |paths: &[&str]| text_at(item, paths);
    let vuln = Vuln {
        vuln_id: text(&["vuln.vulnId", "vulnId", "vuln_id", "vuln.cve", "cve"]),
        cve: text(&["vuln.cve", "cve"]),
        title: text(&["vuln.title", "title", "summary"]),
        description: text(&["vuln.description", "description"]),
        severity: text(&["vuln.severity", "severity"]).unwrap_or_default(),
        cvss: cvss_at(item, &["vuln.cvss", "cvss"]),
        cwe: texts_at(item, &["vuln.cwe", "cwe", "cwes"], &["cweId", "cwe_id", "id"], &[',']),
        references: texts_at(item, &["vuln.references", "references"], &["url"], &[]),
    };
    let package = Package {
        name: text(&["package.name", "packageName", "package"]),
        ecosystem: text(&["package.ecosystem", "ecosystem"]),
        installed_version: text(&["package.installedVersion", "package.version", "installedVersion"]),
        affected_range: text(&["package.affectedRange", "affectedRange"]),
        fixed_version: text(&["package.fixedVersion", "fixedVersion"]),
        manifest_path: text(&["package.manifestPath", "manifestPath"]),
        purl: text(&["package.purl", "purl"]),
        import_name: text(&[
            "package.importName", "package.module", "package.moduleName", "importName", "import", "module",
        ]),
    };
    let asset = Asset {
        asset_id: text(&["asset.assetId", "asset.id", "assetId"]),
        asset_type: text(&["asset.assetType", "asset.type", "assetType"]),
        account: text(&["asset.account", "account"]),
        region: text(&["asset.region", "region"]),
        tags: value_at(item, "asset.tags").and_then(Value::as_object).cloned().unwrap_or_default(),
    };
    let meta = value_at(item, "meta").and_then(Value::as_object).cloned().unwrap_or_default();
    let locations = value_at(item, "locations").and_then(Value::as_array).into_iter().flatten();
    let location = |location: &Value| {
        Some(Location {
            path: text_at(location, &["path", "file"])?,
            start_line: value_at(location, "startLine").and_then(Value::as_u64),
            end_line: value_at(location, "endLine").and_then(Value::as_u64),
            start_column: value_at(location, "startColumn").and_then(Value::as_u64),
        })
    };
    let record = Record {
        source: String::new(),
        service: text(&["service"]),
        env: text(&["env"]),
        team: text(&["team"]),
        owner: text(&["owner"]),
        repo: text(&["repo"]),
        locations: locations.filter_map(location).collect(),
        vuln,
        package,
        asset,
        meta,
        ..Record::default()
    };
    let claims = generic_claims(item, &record);
    MappedItem { record, claims, is_fixed: false }
}

fn generic_claims(item: &Value, record: &Record) -> Claims {
    let (vuln, package) = (&record.vuln, &record.package);
    let place = record.locations.first().map(|it| format!("{}:{}", it.path, it.start_line.unwrap_or(0)));
    let affected =
        [&package.name, &package.ecosystem, &package.manifest_path, &record.asset.asset_id, &place];
    let of = |first: &Option<String>| -> Vec<Option<String>> {
        std::iter::once(first).chain(affected).cloned().collect()
    };
    let mut claims = Claims::default();
    let key = text_at(item, &["stableKey", "recordId"]);
    claims.add_global("key", &[key.as_deref()]);
    for (name, first) in [("vulnerability", &vuln.vuln_id), ("title", &vuln.title)] {
        // An item with another key is another finding, whatever else is the same.
        let first = first.clone().filter(|_| key.is_none());
        let parts = of(&first);
        claims.add(name, &parts.iter().map(Option::as_deref).collect::<Vec<_>>());
    }
    claims.add_facts(&[vuln.title.as_deref(), vuln.description.as_deref()]);
    const KEYS: &[&str] =
        &["stableKey", "recordId", "vulnId", "vuln.vulnId", "package.name", "asset.assetId"];
    claims.set_former_key(text_at(item, KEYS));
    claims
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn all_fields_of_a_record_are_read() {
        let item = json!({
            "stableKey": "k1", "vulnId": "CVE-2024-0003", "severity": "low", "service": "api", "meta": { "ticket": 5 },
            "package": { "name": "left-pad", "installedVersion": "1.0.0" }, "asset": { "assetId": "img-1", "tags": { "a": "b" } },
            "vuln": { "cvss": { "score": 4.0, "version": "3.1" }, "cwe": ["CWE-79"] }, "locations": [{ "path": "a.js", "startLine": 3 }]
        });
        let record = generic_record(&item).record;
        assert_eq!(record.vuln.vuln_id.as_deref(), Some("CVE-2024-0003"));
        assert_eq!(record.package.installed_version.as_deref(), Some("1.0.0"));
        assert_eq!(record.asset.tags["a"], "b");
        assert_eq!(record.locations[0].start_line, Some(3));
        assert_eq!(record.meta["ticket"], 5);
    }
}
