//! Reads GitHub Dependabot alerts in the form of the REST API; also accepts the camel-case names of the GraphQL API.

use serde_json::Value;

use super::{cvss_at, joined_key};
use crate::triage::json_path::{text_at, texts_at};
use crate::triage::record::{Package, Record, Vuln};

pub(super) fn dependabot_record(item: &Value) -> (Record, Option<String>) {
    let advisory = |field: &str| {
        [format!("security_advisory.{field}"), format!("securityAdvisory.{field}"), field.to_owned()]
    };
    let vulnerability =
        |field: &str| [format!("security_vulnerability.{field}"), format!("securityVulnerability.{field}")];
    fn strs(paths: &[String]) -> Vec<&str> {
        paths.iter().map(String::as_str).collect()
    }
    let text = |paths: &[String]| text_at(item, &strs(paths));
    let cve = text(&[advisory("cve_id"), advisory("cveId")].concat());
    let ghsa = text(&[advisory("ghsa_id"), advisory("ghsaId")].concat());
    let vuln = Vuln {
        vuln_id: cve.clone().or_else(|| ghsa.clone()),
        cve,
        title: text(&advisory("summary")),
        description: text(&advisory("description")),
        severity: text(&[advisory("severity").as_slice(), &vulnerability("severity")].concat())
            .unwrap_or_default(),
        cvss: cvss_at(item, &strs(&[advisory("cvss_severities.cvss_v3"), advisory("cvss")].concat())),
        cwe: texts_at(item, &strs(&advisory("cwes")), &["cwe_id", "cweId"], &[',']),
        references: references(item, &strs(&advisory("references"))),
    };
    let package = Package {
        name: text(
            &[
                vulnerability("package.name").as_slice(),
                &["dependency.package.name".to_owned(), "package.name".to_owned()],
            ]
            .concat(),
        ),
        ecosystem: text(
            &[
                vulnerability("package.ecosystem").as_slice(),
                &["dependency.package.ecosystem".to_owned(), "package.ecosystem".to_owned()],
            ]
            .concat(),
        ),
        installed_version: text_at(item, &["dependency.version", "dependency.installed_version"]),
        affected_range: text(
            &[vulnerability("vulnerable_version_range"), vulnerability("vulnerableVersionRange")].concat(),
        ),
        fixed_version: text(
            &[
                vulnerability("first_patched_version.identifier"),
                vulnerability("firstPatchedVersion.identifier"),
                vulnerability("first_patched_version"),
            ]
            .concat(),
        ),
        manifest_path: text_at(
            item,
            &["dependency.manifest_path", "dependency.manifestPath", "manifest_path"],
        ),
        purl: text_at(item, &["dependency.package.purl", "package.purl"]),
        import_name: text_at(
            item,
            &["package.importName", "package.module", "package.moduleName", "importName"],
        ),
    };
    let alert_id = text_at(item, &["alert.id", "alertId", "alert_id", "id", "number"]);
    let key = alert_id
        .or_else(|| joined_key(&[ghsa.as_ref(), package.name.as_ref(), package.manifest_path.as_ref()]))
        .or_else(|| {
            joined_key(&[vuln.vuln_id.as_ref(), package.name.as_ref(), package.manifest_path.as_ref()])
        });
    (Record { vuln, package, ..Record::default() }, key)
}

fn references(item: &Value, paths: &[&str]) -> Vec<String> {
    let mut references = texts_at(item, &["html_url", "htmlUrl"], &[], &[]);
    references.extend(texts_at(item, paths, &["url"], &[]));
    references
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_alert_is_read() {
        let alert = json!({
            "number": 7, "html_url": "https://example.com/alerts/7",
            "dependency": { "package": { "name": "lodash", "ecosystem": "npm" }, "manifest_path": "web/package.json" },
            "security_advisory": { "ghsa_id": "GHSA-aaaa-bbbb-cccc", "cve_id": "CVE-2024-0001", "summary": "Pollution",
                "severity": "HIGH", "cvss": { "score": 7.4, "vector_string": "CVSS:3.1/AV:N" },
                "cwes": [{ "cwe_id": "CWE-1321" }], "references": [{ "url": "https://example.com/a" }] },
            "security_vulnerability": { "vulnerable_version_range": "< 4.17.21",
                "first_patched_version": { "identifier": "4.17.21" } }
        });
        let (record, key) = dependabot_record(&alert);
        assert_eq!(key.as_deref(), Some("7"));
        assert_eq!(record.vuln.vuln_id.as_deref(), Some("CVE-2024-0001"));
        let cvss = record.vuln.cvss.unwrap();
        assert_eq!((cvss.score, cvss.version.as_deref()), (Some(7.4), Some("3.1")));
        assert_eq!(record.vuln.cwe, ["CWE-1321"]);
        assert_eq!(record.vuln.references, ["https://example.com/alerts/7", "https://example.com/a"]);
        assert_eq!(record.package.name.as_deref(), Some("lodash"));
        assert_eq!(record.package.fixed_version.as_deref(), Some("4.17.21"));
        assert_eq!(record.package.manifest_path.as_deref(), Some("web/package.json"));
    }

    #[test]
    fn without_a_number_the_advisory_is_the_key() {
        let alert = json!({ "securityAdvisory": { "ghsaId": "GHSA-x" }, "dependency": { "package": { "name": "p" } } });
        assert_eq!(dependabot_record(&alert).1.as_deref(), Some("GHSA-x:p:"));
    }
}
