//! A record: one finding, or one decision about a finding.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::json_path;
use contract::Fault;
use contract::clock::iso_from_millis;
use store::triage::{RecordRow, RecordWrite, Related, STATUS_FIXED, STATUS_OPEN};

/// Length of a record's id, in hexadecimal digits.
const ID_DIGITS: usize = 40;

/// The content of a record, as it is stored.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Record {
    /// Format of the report that it came from; `manual` for a decision.
    pub source: String,
    /// The affected service.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// The affected environment, such as `prod`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env: Option<String>,
    /// The responsible team.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team: Option<String>,
    /// The owner of the service.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Name of the repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repo: Option<String>,
    /// The vulnerability.
    pub vuln: Vuln,
    /// The vulnerable package.
    #[serde(skip_serializing_if = "Package::is_empty")]
    pub package: Package,
    /// The affected asset.
    #[serde(skip_serializing_if = "Asset::is_empty")]
    pub asset: Asset,
    /// Access to the vulnerability.
    #[serde(skip_serializing_if = "Exposure::is_empty")]
    pub exposure: Exposure,
    /// Locations in code, from code scanners.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub locations: Vec<Location>,
    /// The decision; only in records of decisions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// Other fields from the call's `meta`.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub meta: Map<String, Value>,
    /// Problems in the item that did not prevent reading it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parse_warnings: Vec<String>,
    /// The original item; only with `triage.store_raw_payload`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw: Option<Value>,
}

/// A vulnerability.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Vuln {
    /// Id: CVE, GHSA or that of the scanner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vuln_id: Option<String>,
    /// The CVE, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cve: Option<String>,
    /// Title, one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Severity in lower case; `unknown` if the report does not state one.
    pub severity: String,
    /// CVSS score.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cvss: Option<Cvss>,
    /// Weaknesses, such as `CWE-79`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cwe: Vec<String>,
    /// URLs with more information.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<String>,
}

/// A CVSS score.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Cvss {
    /// 0 to 10.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// The vector.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vector: Option<String>,
    /// Version of CVSS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// Defines a struct of optional texts.
macro_rules! optional_texts {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $field:ident,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        pub struct $name {
            $($(#[$doc])* #[serde(skip_serializing_if = "Option::is_none")] pub $field: Option<String>,)*
        }
    };
}

optional_texts! {
    /// A package.
    Package {
        /// Package name.
        name,
        /// Package manager: npm, pip, maven …
        ecosystem,
        /// Installed version.
        installed_version,
        /// Vulnerable versions.
        affected_range,
        /// First version without the vulnerability.
        fixed_version,
        /// The manifest that requires the package, such as `package.json`.
        manifest_path,
        /// Its package URL.
        purl,
        /// The name under which code imports it.
        import_name,
    }
}

impl Package {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A deployed resource: a machine, a container image, a function.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Asset {
    /// Resource id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asset_id: Option<String>,
    /// Resource type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asset_type: Option<String>,
    /// Cloud account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// Cloud region.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Resource tags.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub tags: Map<String, Value>,
}

impl Asset {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Access to the vulnerability, and the possible damage.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Exposure {
    /// `true` if it is reachable from the internet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub internet_exposed: Option<bool>,
    /// Public URL or path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public_endpoint: Option<String>,
    /// Sensitivity of the data that it handles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_sensitivity: Option<String>,
    /// Its importance to the business.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub business_criticality: Option<String>,
    /// Protections that reduce the risk, such as a firewall.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub compensating_controls: Vec<String>,
}

impl Exposure {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A location in code.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Location {
    /// Path of the file.
    pub path: String,
    /// First line, 1-based.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_line: Option<u64>,
    /// Last line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_line: Option<u64>,
    /// Column in the first line, 1-based.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_column: Option<u64>,
}

/// The decision in a record.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Decision {
    /// Record id of the finding.
    pub finding_record_id: String,
    /// fix, accept, defer, `false_positive` or `not_affected`.
    pub status: String,
    /// Reason for the decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub justification: Option<String>,
    /// Machine-readable reasons.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub justification_codes: Vec<String>,
    /// Author of the decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reviewer: Option<String>,
    /// Time of expiry, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// Links or files that support it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub evidence_refs: Vec<String>,
}

/// A record with its id, its times and the status that results from the decisions about it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StoredRecord {
    /// 40 hexadecimal digits.
    pub record_id: String,
    /// finding or decision.
    pub record_type: &'static str,
    /// For a finding: the status of the latest decision that has not expired, else `fixed` or `open`. For a decision: its own status.
    pub status: String,
    /// For a finding: the decision that sets its status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision_record_id: Option<String>,
    /// For a finding: when that decision expires, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_expires_at: Option<String>,
    /// For a finding: when a report of its tool first lacked it or called it fixed, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fixed_at: Option<String>,
    /// When it was first stored, UTC.
    pub created_at: String,
    /// When it last changed, UTC.
    pub updated_at: String,
    /// As `updated_at`, milliseconds since the epoch.
    #[serde(skip)]
    pub updated_ms: i64,
    /// The content.
    #[serde(flatten)]
    #[schemars(skip)]
    pub record: Record,
}

impl StoredRecord {
    /// Reads a row.
    ///
    /// # Errors
    /// `INTERNAL` if the row contains no valid record.
    pub(super) fn from_row(row: RecordRow) -> Result<Self, Fault> {
        let record: Record = serde_json::from_str(&row.record)
            .map_err(|error| Fault::internal("A record could not be read.", error))?;
        let (mut decision_record_id, mut expires_ms) = (None, row.expires_ms);
        let status = match row.current {
            Some(current) => {
                (decision_record_id, expires_ms) = (Some(current.id), current.expires_ms);
                current.status
            }
            None => {
                let undecided = if row.fixed_ms.is_some() { STATUS_FIXED } else { STATUS_OPEN };
                row.status.unwrap_or_else(|| undecided.to_owned())
            }
        };
        Ok(Self {
            record_id: row.id,
            record_type: if row.is_decision { "decision" } else { "finding" },
            status,
            decision_record_id,
            status_expires_at: expires_ms.filter(|_| !row.is_decision).map(iso_from_millis),
            fixed_at: row.fixed_ms.map(iso_from_millis),
            created_at: iso_from_millis(row.created_ms),
            updated_at: iso_from_millis(row.updated_ms),
            updated_ms: row.updated_ms,
            record,
        })
    }
}

impl Record {
    /// Returns the keys by which decisions are related to findings, in lower case.
    pub(super) fn related(&self) -> Related {
        let lower_case = |text: &Option<String>| text.as_ref().map(|text| text.to_lowercase());
        let vuln = self.vuln.cve.clone().or_else(|| self.vuln.vuln_id.clone());
        Related {
            vuln: lower_case(&vuln),
            package: lower_case(&self.package.name),
            service: lower_case(&self.service),
            env: lower_case(&self.env),
            repo: lower_case(&self.repo),
        }
    }

    /// Returns service, environment and repository of [`Self::related`].
    pub(super) fn place_names(&self) -> Related {
        Related { vuln: None, package: None, ..self.related() }
    }

    /// Converts the record to a row to write; `expires_ms` is the expiry of a decision.
    ///
    /// # Errors
    /// A message, if the record is larger than `bytes_max` even without its raw payload.
    pub(super) fn into_write(
        mut self,
        id: String,
        expires_ms: Option<i64>,
        bytes_max: usize,
    ) -> Result<RecordWrite, String> {
        let to_json = |record: &Self| serde_json::to_string(record).map_err(|error| format!("{error}."));
        let mut json = to_json(&self)?;
        if json.len() > bytes_max && self.raw.take().is_some() {
            self.parse_warnings.push("the raw payload was dropped because it is too large".to_owned());
            json = to_json(&self)?;
        }
        if json.len() > bytes_max {
            return Err(format!("the record has {} bytes, more than {bytes_max}", json.len()));
        }
        let decision = self.decision.as_ref();
        Ok(RecordWrite {
            finding_id: decision.map(|decision| decision.finding_record_id.clone()),
            status: decision.map(|decision| decision.status.clone()),
            expires_ms,
            related: self.related(),
            identity: None,
            is_fixed: false,
            content_hash: *blake3::hash(json.as_bytes()).as_bytes(),
            record: json,
            id,
        })
    }
}

/// Returns the id of the record with this stable key in this source.
pub(super) fn record_id(source: &str, key: &str) -> String {
    let mut hex = blake3::hash(format!("{source}:{key}").as_bytes()).to_hex().to_string();
    hex.truncate(ID_DIGITS);
    hex
}

/// Returns whether a text is a well-formed record id.
#[must_use]
pub fn is_record_id(text: &str) -> bool {
    text.len() == ID_DIGITS && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

/// Returns the path of a record's document under [`RECORDS_ROOT`](super::RECORDS_ROOT).
#[must_use]
pub fn record_path(id: &str) -> String {
    format!("{RECORDS_FOLDER}{id}.md")
}

/// Returns the id of the record at a path.
pub(super) fn id_of_path(path: &str) -> Option<&str> {
    path.strip_prefix(RECORDS_FOLDER)?.strip_suffix(".md").filter(|id| is_record_id(id))
}

const RECORDS_FOLDER: &str = "triage/records/";

/// The argument `meta` of an ingestion: owner, exposure and other fields that apply to all items.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ParsedMeta(pub(super) Value);

/// Fields of `meta` that have a field of their own in a record.
const RECORD_FIELDS: &[&str] = &["service", "env", "team", "owner", "repo", "exposure"];
/// Fields of the exposure that may also be at the top level of `meta`; lower case, without underscores.
const EXPOSURE_FIELDS: &[&str] =
    &["internetexposed", "publicendpoint", "datasensitivity", "businesscriticality", "compensatingcontrols"];

impl ParsedMeta {
    /// Creates the argument from the object that the caller sent.
    #[must_use]
    pub fn new(meta: Map<String, Value>) -> Self {
        Self(Value::Object(meta))
    }

    /// Adds the fields to a record; known fields override those of the item. `repo` is the default repository.
    pub(super) fn apply(&self, record: &mut Record, repo: Option<&str>) {
        let override_field = |field: &mut Option<String>, name: &str| {
            if let Some(text) = json_path::text_at(&self.0, &[name]) {
                *field = Some(text);
            }
        };
        override_field(&mut record.service, "service");
        override_field(&mut record.env, "env");
        override_field(&mut record.team, "team");
        override_field(&mut record.owner, "owner");
        override_field(&mut record.repo, "repo");
        record.repo = record.repo.take().or_else(|| repo.map(str::to_owned));
        for (name, value) in self.0.as_object().into_iter().flatten() {
            let plain = name.to_lowercase().replace('_', "");
            let exposure = plain.strip_prefix("exposure.").unwrap_or(&plain);
            if !RECORD_FIELDS.contains(&name.as_str()) && !EXPOSURE_FIELDS.contains(&exposure) {
                record.meta.insert(name.clone(), value.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_stable_and_recognised() {
        let id = record_id("manual", "a");
        assert!(is_record_id(&id) && id == record_id("manual", "a") && id != record_id("generic", "a"));
        assert_eq!(id_of_path(&record_path(&id)), Some(id.as_str()));
        for bad in ["", "../x", &id[1..], &id.to_uppercase(), "a/b", &format!("{}g", &id[1..])] {
            assert!(!is_record_id(bad), "{bad}");
        }
    }

    #[test]
    fn a_record_that_is_too_large_loses_its_payload_first() {
        let record = Record { raw: Some("x".repeat(500).into()), ..Record::default() };
        let write = record.clone().into_write("i".into(), None, 300).unwrap();
        assert!(write.record.contains("dropped") && !write.record.contains("xxx"));
        let large = Record { service: Some("x".repeat(500)), ..record };
        assert!(large.into_write("i".into(), None, 300).unwrap_err().contains("more than 300"));
    }
}
