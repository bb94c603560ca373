//! Reads findings of AWS Inspector as `aws inspector2 list-findings` returns them.

use serde_json::{Map, Value};

use super::{MappedItem, cvss_at, joined_key};
use crate::findings::identity::Claims;
use crate::findings::json_path::{text_at, texts_at, value_at};
use crate::findings::record::{Asset, Package, Record, Vuln};

pub(super) fn inspector_record(item: &Value) -> MappedItem {
    const DETAILS: &str = "packageVulnerabilityDetails";
    let text = |field: &str| text_at(item, &[&format!("{DETAILS}.{field}")]);
    let package_text = |field: &str| text(&format!("vulnerablePackages.0.{field}"));
    let mut references = texts_at(item, &["packageVulnerabilityDetails.sourceUrl"], &[], &[]);
    references.extend(texts_at(item, &["packageVulnerabilityDetails.referenceUrls"], &["url"], &[]));
    let vuln = Vuln {
        vuln_id: text("vulnerabilityId").or_else(|| text_at(item, &["vulnerabilityId", "vulnId", "cve"])),
        cve: None,
        title: text_at(item, &["title"]),
        description: text_at(item, &["description"]),
        severity: text_at(item, &["severity", "packageVulnerabilityDetails.vendorSeverity"])
            .unwrap_or_default(),
        cvss: cvss_at(
            item,
            &[
                "inspectorScoreDetails.adjustedCvss",
                "packageVulnerabilityDetails.cvss.0",
                "cvss",
                "inspectorScore",
            ],
        ),
        cwe: texts_at(
            item,
            &["packageVulnerabilityDetails.cwes", "codeVulnerabilityDetails.cwes"],
            &[],
            &[','],
        ),
        references,
    };
    let package = Package {
        name: package_text("name"),
        ecosystem: package_text("packageManager"),
        installed_version: package_text("version"),
        affected_range: None,
        fixed_version: package_text("fixedInVersion").or_else(|| package_text("fixedVersion")),
        manifest_path: package_text("filePath"),
        purl: package_text("purl"),
        import_name: None,
    };
    let asset = Asset {
        asset_id: text_at(item, &["resources.0.id"]),
        asset_type: text_at(item, &["resources.0.type"]),
        account: text_at(item, &["awsAccountId"]),
        region: text_at(item, &["region", "resources.0.region"]),
        tags: value_at(item, "resources.0.tags").and_then(Value::as_object).cloned().unwrap_or_default(),
    };
    let arn = text_at(item, &["findingArn", "arn", "id"]);
    let (vuln_id, asset_id) = (vuln.vuln_id.as_deref(), asset.asset_id.as_deref());
    let mut claims = Claims::default();
    claims.add_global("arn", &[arn.as_deref(), vuln_id]);
    claims.add(
        "vulnerability",
        &[vuln_id, asset_id, package.name.as_deref(), package.manifest_path.as_deref()],
    );
    claims.add_facts(&[vuln.title.as_deref(), vuln.description.as_deref()]);
    claims.set_former_key(arn.or_else(|| joined_key(&[vuln.vuln_id.as_ref(), asset.asset_id.as_ref()])));
    let is_fixed = text_at(item, &["status"]).is_some_and(|status| status.eq_ignore_ascii_case("closed"));
    let mut meta = Map::new();
    for name in ["firstObservedAt", "lastObservedAt", "type"] {
        if let Some(value) = value_at(item, name) {
            let kept = if name == "type" { "findingType" } else { name };
            meta.insert(kept.to_owned(), value.clone());
        }
    }
    MappedItem { record: Record { vuln, package, asset, meta, ..Record::default() }, claims, is_fixed }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_finding_is_read() {
        let finding = json!({
            "findingArn": "arn:aws:inspector2:eu-west-1:111122223333:finding/a", "awsAccountId": "111122223333",
            "severity": "CRITICAL", "title": "CVE-2024-0002 - openssl", "inspectorScore": 9.1, "type": "PACKAGE_VULNERABILITY",
            "firstObservedAt": "2024-05-01T00:00:00Z",
            "resources": [{ "id": "i-1", "type": "AWS_EC2_INSTANCE", "region": "eu-west-1", "tags": { "env": "prod" } }],
            "packageVulnerabilityDetails": { "vulnerabilityId": "CVE-2024-0002", "referenceUrls": ["https://example.com/r"],
                "vulnerablePackages": [{ "name": "openssl", "version": "3.0.0", "packageManager": "OS", "fixedInVersion": "3.0.9" }] }
        });
        let record = inspector_record(&finding).record;
        assert_eq!(record.vuln.cvss.unwrap().score, Some(9.1));
        assert_eq!(record.package.fixed_version.as_deref(), Some("3.0.9"));
        assert_eq!(record.asset.region.as_deref(), Some("eu-west-1"));
        assert_eq!(record.asset.tags["env"], "prod");
        assert_eq!(record.meta["firstObservedAt"], "2024-05-01T00:00:00Z");
    }
}
