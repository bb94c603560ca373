//! Findings that already have the form of a record; fields may also stand at the top.

use serde_json::Value;

use super::cvss;
use crate::triage::look::{at, text, texts};
use crate::triage::record::{Asset, Location, Package, Record, Vuln};

pub(super) fn record(item: &Value) -> (Record, Option<String>) {
    let said = |paths: &[&str]| text(item, paths);
    let vuln = Vuln {
        vuln_id: said(&["vuln.vulnId", "vulnId", "vuln_id", "vuln.cve", "cve"]),
        cve: said(&["vuln.cve", "cve"]),
        title: said(&["vuln.title", "title", "summary"]),
        description: said(&["vuln.description", "description"]),
        severity: said(&["vuln.severity", "severity"]).unwrap_or_default(),
        cvss: cvss(item, &["vuln.cvss", "cvss"]),
        cwe: texts(item, &["vuln.cwe", "cwe", "cwes"], &["cweId", "cwe_id", "id"], &[',']),
        references: texts(item, &["vuln.references", "references"], &["url"], &[]),
    };
    let package = Package {
        name: said(&["package.name", "packageName", "package"]),
        ecosystem: said(&["package.ecosystem", "ecosystem"]),
        installed_version: said(&["package.installedVersion", "package.version", "installedVersion"]),
        affected_range: said(&["package.affectedRange", "affectedRange"]),
        fixed_version: said(&["package.fixedVersion", "fixedVersion"]),
        manifest_path: said(&["package.manifestPath", "manifestPath"]),
        purl: said(&["package.purl", "purl"]),
        import_name: said(&[
            "package.importName",
            "package.module",
            "package.moduleName",
            "importName",
            "import",
            "module",
        ]),
    };
    let asset = Asset {
        asset_id: said(&["asset.assetId", "asset.id", "assetId"]),
        asset_type: said(&["asset.assetType", "asset.type", "assetType"]),
        account: said(&["asset.account", "account"]),
        region: said(&["asset.region", "region"]),
        tags: at(item, "asset.tags").and_then(Value::as_object).cloned().unwrap_or_default(),
    };
    let meta = at(item, "meta").and_then(Value::as_object).cloned().unwrap_or_default();
    let locations = at(item, "locations").and_then(Value::as_array).into_iter().flatten();
    let location = |place: &Value| {
        Some(Location {
            path: text(place, &["path", "file"])?,
            start_line: at(place, "startLine").and_then(Value::as_u64),
            end_line: at(place, "endLine").and_then(Value::as_u64),
        })
    };
    let key = said(&["stableKey", "recordId", "vulnId", "vuln.vulnId", "package.name", "asset.assetId"]);
    let record = Record {
        source: String::new(),
        service: said(&["service"]),
        env: said(&["env"]),
        team: said(&["team"]),
        owner: said(&["owner"]),
        repo: said(&["repo"]),
        locations: locations.filter_map(location).collect(),
        vuln,
        package,
        asset,
        meta,
        ..Record::default()
    };
    (record, key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn known_fields_pass() {
        let item = json!({
            "stableKey": "k1", "vulnId": "CVE-2024-0003", "severity": "low", "service": "api", "meta": { "ticket": 5 },
            "package": { "name": "left-pad", "installedVersion": "1.0.0" }, "asset": { "assetId": "img-1", "tags": { "a": "b" } },
            "vuln": { "cvss": { "score": 4.0, "version": "3.1" }, "cwe": ["CWE-79"] }, "locations": [{ "path": "a.js", "startLine": 3 }]
        });
        let (record, key) = record(&item);
        assert_eq!(key.as_deref(), Some("k1"));
        assert_eq!(record.vuln.vuln_id.as_deref(), Some("CVE-2024-0003"));
        assert_eq!(record.package.installed_version.as_deref(), Some("1.0.0"));
        assert_eq!(record.asset.tags["a"], "b");
        assert_eq!(record.locations[0].start_line, Some(3));
        assert_eq!(record.meta["ticket"], 5);
    }
}
