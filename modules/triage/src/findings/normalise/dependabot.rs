//! Reads GitHub Dependabot alerts in the form of the REST API; also accepts the camel-case names of the GraphQL API.

use serde_json::Value;

use super::{MappedItem, cvss_at, joined_key};
use crate::findings::identity::Claims;
use crate::findings::json_path::{text_at, texts_at};
use crate::findings::record::{Package, Record, Vuln};

pub(super) fn dependabot_record(item: &Value) -> MappedItem {
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
    let claims = alert_claims(item, ghsa.as_deref(), &vuln, &package);
    let is_fixed = text_at(item, &["state"]).is_some_and(|state| state.eq_ignore_ascii_case("fixed"));
    let repo = text_at(item, &["repository.full_name", "repository.nameWithOwner"]);
    MappedItem { record: Record { vuln, package, repo, ..Record::default() }, claims, is_fixed }
}

/// Returns the claims of an alert. Its number identifies it only within its repository, which only its address names.
fn alert_claims(item: &Value, ghsa: Option<&str>, vuln: &Vuln, package: &Package) -> Claims {
    let number = text_at(item, &["alert.id", "alertId", "alert_id", "id", "number"]);
    let address = text_at(item, &["html_url", "htmlUrl", "url"]);
    let repository = text_at(item, &["repository.full_name", "repository.nameWithOwner"]);
    // An alert of another repository is another finding, whatever else is the same.
    let folder = address.as_deref().and_then(|address| Some(address.rsplit_once('/')?.0));
    let place = repository.as_deref().or(folder);
    let advisory = ghsa.or(vuln.vuln_id.as_deref());
    let affected = [package.name.as_deref(), package.ecosystem.as_deref(), package.manifest_path.as_deref()];
    let mut claims = Claims::default();
    claims.add_global("address", &[address.as_deref(), advisory]);
    claims.add("alert", &[number.as_deref(), place, advisory, affected[0], affected[1], affected[2]]);
    claims.add("advisory", &[advisory, place, affected[0], affected[1], affected[2]]);
    claims.add_facts(&[vuln.title.as_deref(), vuln.description.as_deref()]);
    let of = |id: Option<&str>| {
        let id = id.map(str::to_owned);
        joined_key(&[id.as_ref(), package.name.as_ref(), package.manifest_path.as_ref()])
    };
    claims.set_former_key(number.or_else(|| of(ghsa)).or_else(|| of(vuln.vuln_id.as_deref())));
    claims
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
        let record = dependabot_record(&alert).record;
        assert_eq!(record.vuln.vuln_id.as_deref(), Some("CVE-2024-0001"));
        let cvss = record.vuln.cvss.unwrap();
        assert_eq!((cvss.score, cvss.version.as_deref()), (Some(7.4), Some("3.1")));
        assert_eq!(record.vuln.cwe, ["CWE-1321"]);
        assert_eq!(record.vuln.references, ["https://example.com/alerts/7", "https://example.com/a"]);
        assert_eq!(record.package.name.as_deref(), Some("lodash"));
        assert_eq!(record.package.fixed_version.as_deref(), Some("4.17.21"));
        assert_eq!(record.package.manifest_path.as_deref(), Some("web/package.json"));
    }
}
