//! Renders a record as Markdown, and its fields as pairs for the filter `meta`.

use std::fmt::Write;

use serde_json::{Map, Value};

use super::record::StoredRecord;
use contract::{escaped, escaped_line};
use engine::indexing;

/// Fields without pairs: long texts, which are not useful filters, and `meta`, which is added separately.
const UNPAIRED_FIELDS: &[&str] = &["parseWarnings", "raw", "meta"];
/// Fields of the vulnerability without pairs.
const UNPAIRED_VULN_FIELDS: &[&str] = &["title", "description", "references"];

/// Additional names, without a dot, of the fields that are filtered by most often.
const SHORT_NAMES: &[(&str, [&str; 2])] = &[
    ("vulnId", ["vuln", "vulnId"]),
    ("cve", ["vuln", "cve"]),
    ("severity", ["vuln", "severity"]),
    ("packageName", ["package", "name"]),
    ("packageEcosystem", ["package", "ecosystem"]),
    ("assetId", ["asset", "assetId"]),
];

/// Returns the record's fields as `key=value` with dotted keys. Fields of `meta` also have a key without the prefix `meta.`, unless the
/// record has a field of that name.
pub(super) fn metadata_pairs(stored: &StoredRecord) -> Vec<String> {
    let mut fields = match serde_json::to_value(stored) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    UNPAIRED_FIELDS.iter().for_each(|name| drop(fields.shift_remove(*name)));
    if let Some(Value::Object(vuln)) = fields.get_mut("vuln") {
        UNPAIRED_VULN_FIELDS.iter().for_each(|name| drop(vuln.shift_remove(*name)));
    }
    if let Some(Value::Object(decision)) = fields.get_mut("decision") {
        decision.shift_remove("justification");
    }
    for (short, [part, field]) in SHORT_NAMES {
        let value = fields.get(*part).and_then(|part| part.get(field)).filter(|value| !value.is_null());
        if let Some(value) = value.cloned() {
            fields.insert((*short).to_owned(), value);
        }
    }
    for (name, value) in &stored.record.meta {
        fields.entry(name.clone()).or_insert_with(|| value.clone());
    }
    fields.insert("meta".to_owned(), Value::Object(stored.record.meta.clone()));
    indexing::metadata_pairs(&Value::Object(fields))
}

/// Returns the record as Markdown. Values cannot forge structure or hide text: invisible characters are escaped, and lines that look like
/// markup are indented.
pub(super) fn record_markdown(stored: &StoredRecord) -> String {
    let record = &stored.record;
    let mut page = MarkdownPage(format!("{}\n", headline(stored)));
    let vuln = &record.vuln;
    page.section("Summary", |page| {
        page.line("", vuln.title.as_deref());
        page.line("Vulnerability", vuln.vuln_id.as_deref());
        page.line("CVE", vuln.cve.as_deref().filter(|cve| vuln.vuln_id.as_deref() != Some(cve)));
        page.line("Severity", Some(vuln.severity.as_str()).filter(|severity| !severity.is_empty()));
        if let Some(cvss) = &vuln.cvss {
            let score = cvss.score.map(|score| score.to_string());
            let parts = [score.as_deref(), cvss.vector.as_deref()];
            page.line("CVSS", Some(parts.into_iter().flatten().collect::<Vec<_>>().join(" ").as_str()));
        }
        page.line("Weaknesses", comma_list(&vuln.cwe).as_deref());
        page.text(vuln.description.as_deref());
    });
    page.section("Environment", |page| {
        page.line("Source", Some(record.source.as_str()));
        page.line("Service", record.service.as_deref());
        page.line("Environment", record.env.as_deref());
        page.line("Team", record.team.as_deref());
        page.line("Owner", record.owner.as_deref());
        page.line("Repository", record.repo.as_deref());
        for (name, value) in &record.meta {
            page.line(name, scalar_text(value).as_deref());
        }
    });
    add_target_sections(&mut page, stored);
    add_decision_section(&mut page, stored);
    page.section("References", |page| {
        for reference in vuln.references.iter() {
            page.line("", Some(reference));
        }
    });
    page.section("Parse warnings", |page| {
        for warning in &record.parse_warnings {
            page.line("", Some(warning));
        }
    });
    page.section("Raw", |page| page.text(record.raw.as_ref().map(Value::to_string).as_deref()));
    page.0
}

fn add_target_sections(page: &mut MarkdownPage, stored: &StoredRecord) {
    let record = &stored.record;
    let (exposure, package, asset) = (&record.exposure, &record.package, &record.asset);
    page.section("Exposure", |page| {
        page.line("Internet exposed", exposure.internet_exposed.map(|yes| yes.to_string()).as_deref());
        page.line("Public endpoint", exposure.public_endpoint.as_deref());
        page.line("Data sensitivity", exposure.data_sensitivity.as_deref());
        page.line("Business criticality", exposure.business_criticality.as_deref());
        page.line("Compensating controls", comma_list(&exposure.compensating_controls).as_deref());
    });
    page.section("Package", |page| {
        page.line("Name", package.name.as_deref());
        page.line("Ecosystem", package.ecosystem.as_deref());
        page.line("Installed version", package.installed_version.as_deref());
        page.line("Affected range", package.affected_range.as_deref());
        page.line("Fixed version", package.fixed_version.as_deref());
        page.line("Manifest", package.manifest_path.as_deref());
        page.line("PURL", package.purl.as_deref());
        page.line("Import", package.import_name.as_deref());
    });
    page.section("Asset", |page| {
        page.line("Id", asset.asset_id.as_deref());
        page.line("Type", asset.asset_type.as_deref());
        page.line("Account", asset.account.as_deref());
        page.line("Region", asset.region.as_deref());
        for (name, value) in &asset.tags {
            page.line(name, scalar_text(value).as_deref());
        }
    });
    page.section("Locations", |page| {
        for location in &record.locations {
            let line = location.start_line.map_or_else(String::new, |line| format!(":{line}"));
            page.line("", Some(&format!("{}{line}", location.path)));
        }
    });
}

fn add_decision_section(page: &mut MarkdownPage, stored: &StoredRecord) {
    page.section("Decision", |page| {
        if let Some(decision) = &stored.record.decision {
            page.line("Status", Some(&decision.status));
            page.line("Finding", Some(&decision.finding_record_id));
            page.line("Codes", comma_list(&decision.justification_codes).as_deref());
            page.line("Reviewer", decision.reviewer.as_deref());
            page.line("Expires", decision.expires_at.as_deref());
            page.line("Evidence", comma_list(&decision.evidence_refs).as_deref());
            page.text(decision.justification.as_deref());
        } else if let Some(id) = &stored.decision_record_id {
            page.line("Status", Some(&stored.status));
            page.line("Record", Some(id));
            page.line("Expires", stored.status_expires_at.as_deref());
        }
    });
}

/// Renders `# Finding open CVE-2024-0001 (lodash@4.17.20) [api / prod] [high]`.
fn headline(stored: &StoredRecord) -> String {
    let record = &stored.record;
    let kind = if stored.record_type == "decision" { "Decision" } else { "Finding" };
    let vuln = record.vuln.vuln_id.as_deref().or(record.vuln.title.as_deref()).unwrap_or("unnamed");
    let mut line = format!("# {kind} {} {}", stored.status, escaped_line(vuln));
    if let Some(name) = &record.package.name {
        let version = record.package.installed_version.as_ref();
        let version = version.map_or_else(String::new, |version| format!("@{version}"));
        let _ = write!(line, " ({})", escaped_line(&format!("{name}{version}")));
    }
    let scope: Vec<&str> = [record.service.as_deref(), record.env.as_deref()].into_iter().flatten().collect();
    if !scope.is_empty() {
        let _ = write!(line, " [{}]", escaped_line(&scope.join(" / ")));
    }
    let _ = write!(line, " [{}]", escaped_line(&record.vuln.severity));
    line
}

fn comma_list(texts: &[String]) -> Option<String> {
    (!texts.is_empty()).then(|| texts.join(", "))
}

fn scalar_text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// A Markdown page that is built from sections; empty sections are omitted.
struct MarkdownPage(String);

impl MarkdownPage {
    fn section(&mut self, title: &str, fill: impl FnOnce(&mut Self)) {
        let before = self.0.len();
        let _ = write!(self.0, "\n## {title}\n\n");
        let empty = self.0.len();
        fill(self);
        if self.0.len() == empty {
            self.0.truncate(before);
        }
    }

    fn line(&mut self, name: &str, value: Option<&str>) {
        let Some(value) = value.filter(|value| !value.trim().is_empty()) else { return };
        let label = if name.is_empty() { String::new() } else { format!("{}: ", escaped_line(name)) };
        let _ = writeln!(self.0, "- {label}{}", escaped_line(value));
    }

    /// Adds a text. Indents lines that begin like Markdown markup, which would otherwise make sections of their own.
    fn text(&mut self, text: Option<&str>) {
        let Some(text) = text.filter(|text| !text.trim().is_empty()) else { return };
        self.0.push('\n');
        for line in escaped(text).lines() {
            let indent =
                if line.trim_start().starts_with(['#', '-', '=', '+', '`', '~']) { "  " } else { "" };
            let _ = writeln!(self.0, "{indent}{line}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::record::{Decision, Package, Record, Vuln};

    fn stored(record: Record) -> StoredRecord {
        StoredRecord {
            record_id: "0".repeat(40),
            record_type: "finding",
            status: "open".into(),
            decision_record_id: None,
            status_expires_at: None,
            created_at: "2026-01-01T00:00:00.000Z".into(),
            updated_at: "2026-01-01T00:00:00.000Z".into(),
            updated_ms: 0,
            fixed_at: None,
            record,
        }
    }

    #[test]
    fn a_record_is_rendered_as_markdown_and_pairs() {
        let record = Record {
            source: "manual".into(),
            service: Some("api".into()),
            env: Some("prod".into()),
            vuln: Vuln {
                vuln_id: Some("CVE-2024-0001".into()),
                title: Some("One\nline\u{202e}".into()),
                description: Some("# not a heading\nsecond".into()),
                severity: "high".into(),
                ..Vuln::default()
            },
            package: Package {
                name: Some("lodash".into()),
                installed_version: Some("4.17.20".into()),
                ..Package::default()
            },
            meta: serde_json::from_str(r#"{"ticket": "T-1", "status": "mine"}"#).unwrap(),
            ..Record::default()
        };
        let page = record_markdown(&stored(record.clone()));
        assert!(
            page.starts_with("# Finding open CVE-2024-0001 (lodash@4.17.20) [api / prod] [high]\n"),
            "{page}"
        );
        assert!(
            page.contains("- One\\nline\\u{202e}\n") && page.contains("\n  # not a heading\nsecond\n"),
            "{page}"
        );
        assert!(!page.contains("## Decision") && !page.contains("## Asset"), "{page}");
        let pairs = metadata_pairs(&stored(record));
        for pair in [
            "recordtype=finding", "status=open", "ticket=t-1", "meta.status=mine", "package.name=lodash",
            "packagename=lodash", "severity=high", "vuln.severity=high",
        ] {
            assert!(pairs.contains(&pair.to_owned()), "{pair} in {pairs:?}");
        }
        assert!(!pairs.iter().any(|pair| pair.contains("heading")), "{pairs:?}");
    }

    #[test]
    fn decisions_show_their_justification() {
        let decision = Decision {
            status: "accept".into(),
            justification: Some("Not reachable.".into()),
            ..Decision::default()
        };
        let page = record_markdown(&stored(Record { decision: Some(decision), ..Record::default() }));
        assert!(page.contains("## Decision\n\n- Status: accept\n\nNot reachable.\n"), "{page}");
    }
}
