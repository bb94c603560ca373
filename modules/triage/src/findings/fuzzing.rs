//! Fuzz target: reading the reports of scanners.

use super::ingest::read_report;
use super::record::{StoredRecord, is_record_id};
use super::render::{metadata_pairs, record_markdown};
use super::report::Report;
use super::source::FindingSource;
use contract::config::fuzzing::defaults;
use store::triage::RecordRow;

const SOURCES: [FindingSource; 14] = [
    FindingSource::Dependabot,
    FindingSource::AwsInspector,
    FindingSource::Sarif,
    FindingSource::Generic,
    FindingSource::Manual,
    FindingSource::Semgrep,
    FindingSource::Trivy,
    FindingSource::Grype,
    FindingSource::Gitleaks,
    FindingSource::Snyk,
    FindingSource::Eslint,
    FindingSource::Checkov,
    FindingSource::Bandit,
    FindingSource::NpmAudit,
];

/// Seeds: one byte with the index of the source in [`SOURCES`], then the report.
pub fn report_seeds() -> Vec<Vec<u8>> {
    let seeds = [
        (
            0,
            r#"[{"number":1,"state":"open","dependency":{"package":{"ecosystem":"npm","name":"lodash"},"manifest_path":"a/package.json"},"security_advisory":{"ghsa_id":"GHSA-x","cve_id":"CVE-2024-0001","summary":"s","severity":"high","cvss":{"score":7.5,"vector_string":"CVSS:3.1/AV:N"},"cwes":[{"cwe_id":"CWE-1"}],"references":[{"url":"https://a"}]}}]"#,
        ),
        (
            1,
            r#"{"findings":[{"findingArn":"arn:aws:1","title":"t","severity":"HIGH","packageVulnerabilityDetails":{"vulnerabilityId":"CVE-2024-0002","vulnerablePackages":[{"name":"n","version":"1","fixedInVersion":"2"}]},"resources":[{"id":"i-1","type":"AWS_EC2_INSTANCE"}]}]}"#,
        ),
        (
            2,
            r#"{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"t","rules":[{"id":"r","properties":{"security-severity":"8.1","tags":["external/cwe/cwe-079"]}}]}},"results":[{"ruleId":"r","level":"error","message":{"text":"m"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"src/a.rs"},"region":{"startLine":3}}}],"partialFingerprints":{"x":"y"}}]},{"results":null}]}"#,
        ),
        (
            3,
            "{\"vulnId\":\"CVE-2024-0003\",\"title\":\"a\",\"exposure\":{\"internetExposed\":\"yes\"},\"password\":\"hunter2x\"}\n{\"title\":\"b\"}\nnot json\n",
        ),
        (
            4,
            r#"{"title":"Old cipher","severity":" Medium ","references":["a","a"],"meta":{"a.b":[1,{"c":null}]},"asset":{"assetId":"x\u0000y"}}"#,
        ),
        (
            6,
            r#"{"SchemaVersion":2,"ArtifactName":"a","Results":[{"Target":"t","Type":"npm","Vulnerabilities":[{"VulnerabilityID":"CVE-2024-0004","PkgName":"p","Severity":"HIGH"}]},{"Target":"u","Secrets":null}]}"#,
        ),
        (
            8,
            r#"[{"RuleID":"r","Description":"d","File":"a","StartLine":1,"Fingerprint":"a:r:1","Secret":"x"}]"#,
        ),
        (
            10,
            r#"[{"filePath":"/a.js","messages":[{"ruleId":null,"severity":2,"message":"m","line":1,"column":2}]}]"#,
        ),
        (
            13,
            r#"{"auditReportVersion":2,"vulnerabilities":{"p":{"name":"p","severity":"high","via":["q"]}}}"#,
        ),
    ];
    seeds.map(|(source, text)| [&[source], text.as_bytes()].concat()).to_vec()
}

/// Checks that each item becomes a record or an error, even if the format is not that of the report, that a report of the right format has
/// the same items, and that records are bounded, can be read back and have stable ids.
pub fn fuzz_report(data: &[u8]) {
    let [source, text @ ..] = data else { return };
    let (source, settings) = (SOURCES[usize::from(*source) % SOURCES.len()], &defaults().triage);
    let (items, writes, errors) = read_report(text, source, settings);
    assert_eq!(items, writes.len() + errors.len());
    // Each item takes at least one byte: a comma, if its value is missing.
    assert!(items <= text.len() + 1, "{items} items of {} bytes", text.len());
    match Report::read(text.to_vec(), source, usize::MAX) {
        Ok(report) => assert_eq!(items, report.items.len()),
        Err(refusal) => assert!(refusal.hint.is_some(), "a refusal without a hint: {refusal:?}"),
    }
    let (_, again, _) = read_report(text, source, settings);
    assert!(again.iter().map(|write| &write.id).eq(writes.iter().map(|write| &write.id)));
    for write in writes {
        assert!(is_record_id(&write.id), "{}", write.id);
        assert!(write.record.len() <= settings.record_bytes_max && !write.record.contains("\\u0000"));
        let row = RecordRow {
            id: write.id,
            is_decision: false,
            finding_id: None,
            status: None,
            expires_ms: None,
            created_ms: 0,
            updated_ms: 0,
            fixed_ms: None,
            record: write.record,
            current: None,
        };
        let stored = StoredRecord::from_row(row);
        assert!(stored.is_ok(), "a record that cannot be read back: {stored:?}");
        if let Ok(stored) = stored {
            assert!(!record_markdown(&stored).contains('\0'));
            assert!(metadata_pairs(&stored).iter().all(|pair| pair.contains('=') && !pair.contains('\0')));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_seed_is_a_report_of_its_format() {
        for seed in report_seeds() {
            let report = Report::read(seed[1..].to_vec(), SOURCES[usize::from(seed[0])], usize::MAX);
            assert!(
                report.is_ok_and(|report| !report.items.is_empty()),
                "{}",
                String::from_utf8_lossy(&seed)
            );
        }
    }
}
