//! A record: one finding, or one decision about a finding.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::look;
use contract::Fault;
use contract::clock::iso_from_millis;
use store::triage::{RecordRow, RecordWrite, Related};

/// Digits of a record's id.
const ID_DIGITS: usize = 40;
/// What a finding is before anybody decided.
const OPEN: &str = "open";

/// What a record says by itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Record {
    /// What reported it.
    pub source: String,
    /// The service it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// The environment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env: Option<String>,
    /// The team.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team: Option<String>,
    /// Who owns the service.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repo: Option<String>,
    /// The vulnerability.
    pub vuln: Vuln,
    /// The package that has it.
    #[serde(skip_serializing_if = "Package::is_empty")]
    pub package: Package,
    /// The thing that has it.
    #[serde(skip_serializing_if = "Asset::is_empty")]
    pub asset: Asset,
    /// Who can reach it.
    #[serde(skip_serializing_if = "Exposure::is_empty")]
    pub exposure: Exposure,
    /// Places in code, as scanners of code report them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub locations: Vec<Location>,
    /// Of a decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// What else the caller said of it.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub meta: Map<String, Value>,
    /// What could not be read as it should.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parse_warnings: Vec<String>,
    /// The item it was made of; only with `triage.store_raw_payload`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw: Option<Value>,
}

/// A vulnerability.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Vuln {
    /// CVE, GHSA, the scanner's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vuln_id: Option<String>,
    /// The CVE, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cve: Option<String>,
    /// One line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// At length.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Lower case; `unknown` where nobody says.
    pub severity: String,
    /// The score.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cvss: Option<Cvss>,
    /// Weaknesses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cwe: Vec<String>,
    /// Where to read more.
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
    /// Version of the scheme.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

macro_rules! texts {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $field:ident,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        pub struct $name {
            $($(#[$doc])* #[serde(skip_serializing_if = "Option::is_none")] pub $field: Option<String>,)*
        }
    };
}

texts! {
    /// A package.
    Package {
        /// Its name.
        name,
        /// npm, pip, maven …
        ecosystem,
        /// The version that is installed.
        installed_version,
        /// The versions that have the vulnerability.
        affected_range,
        /// The first version without it.
        fixed_version,
        /// The file that asks for it.
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

/// A machine, an image, a function.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Asset {
    /// Its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asset_id: Option<String>,
    /// What it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asset_type: Option<String>,
    /// The account it is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// The region it is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Its tags.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub tags: Map<String, Value>,
}

impl Asset {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Who can reach what has the vulnerability, and what that would cost.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Exposure {
    /// Whether the internet reaches it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub internet_exposed: Option<bool>,
    /// Where.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public_endpoint: Option<String>,
    /// What data it handles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_sensitivity: Option<String>,
    /// What the business loses without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub business_criticality: Option<String>,
    /// What protects it anyway.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub compensating_controls: Vec<String>,
}

impl Exposure {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A place in code.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Location {
    /// The file.
    pub path: String,
    /// First line, 1-based.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_line: Option<u64>,
    /// Last line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_line: Option<u64>,
}

/// What was decided.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Decision {
    /// The finding.
    pub finding_record_id: String,
    /// fix, accept, defer, `false_positive` or `not_affected`.
    pub status: String,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub justification: Option<String>,
    /// Why, as codes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub justification_codes: Vec<String>,
    /// Who.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reviewer: Option<String>,
    /// Until when it holds, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// What it rests on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub evidence_refs: Vec<String>,
}

/// A record with its id, its times and, of a finding, what was decided last.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StoredRecord {
    /// 40 hexadecimal digits.
    pub record_id: String,
    /// finding or decision.
    pub record_type: &'static str,
    /// Of a finding: `open`, or the status of the latest decision that holds. Of a decision: its own.
    pub status: String,
    /// Of a finding: the decision that holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision_record_id: Option<String>,
    /// Until when that holds, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_expires_at: Option<String>,
    /// When it was first stored, UTC.
    pub created_at: String,
    /// When it last changed, UTC.
    pub updated_at: String,
    /// When that was, milliseconds since the epoch.
    #[serde(skip)]
    pub updated_ms: i64,
    /// All else.
    #[serde(flatten)]
    #[schemars(skip)]
    pub record: Record,
}

impl StoredRecord {
    /// From its row.
    ///
    /// # Errors
    /// `INTERNAL` when the row holds no record.
    pub(super) fn of(row: RecordRow) -> Result<Self, Fault> {
        let record: Record = serde_json::from_str(&row.record)
            .map_err(|error| Fault::internal("A record could not be read.", error))?;
        let (mut decision_record_id, mut expires_ms) = (None, row.expires_ms);
        let status = match row.current {
            Some(current) => {
                (decision_record_id, expires_ms) = (Some(current.id), current.expires_ms);
                current.status
            }
            None => row.status.unwrap_or_else(|| OPEN.to_owned()),
        };
        Ok(Self {
            record_id: row.id,
            record_type: if row.is_decision { "decision" } else { "finding" },
            status,
            decision_record_id,
            status_expires_at: expires_ms.filter(|_| !row.is_decision).map(iso_from_millis),
            created_at: iso_from_millis(row.created_ms),
            updated_at: iso_from_millis(row.updated_ms),
            updated_ms: row.updated_ms,
            record,
        })
    }
}

impl Record {
    /// What relates it to decisions.
    pub(super) fn related(&self) -> Related {
        let folded = |text: &Option<String>| text.as_ref().map(|text| text.to_lowercase());
        let vuln = self.vuln.cve.clone().or_else(|| self.vuln.vuln_id.clone());
        Related {
            vuln: folded(&vuln),
            package: folded(&self.package.name),
            service: folded(&self.service),
            env: folded(&self.env),
        }
    }

    /// As it is stored; `expires_ms` is when a decision ends.
    ///
    /// # Errors
    /// A sentence, when it is larger than a record may be even without what can be left out.
    pub(super) fn into_write(
        mut self,
        id: String,
        expires_ms: Option<i64>,
        bytes_max: usize,
    ) -> Result<RecordWrite, String> {
        let written = |record: &Self| serde_json::to_string(record).map_err(|error| format!("{error}."));
        let mut json = written(&self)?;
        if json.len() > bytes_max && self.raw.take().is_some() {
            self.parse_warnings.push("the raw payload was left out: it is too large".to_owned());
            json = written(&self)?;
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
            content_hash: *blake3::hash(json.as_bytes()).as_bytes(),
            record: json,
            id,
        })
    }
}

/// The id of what `source` calls `key`.
pub(super) fn record_id(source: &str, key: &str) -> String {
    let mut hex = blake3::hash(format!("{source}:{key}").as_bytes()).to_hex().to_string();
    hex.truncate(ID_DIGITS);
    hex
}

/// Whether a text has the form of a record's id.
#[must_use]
pub fn is_record_id(text: &str) -> bool {
    text.len() == ID_DIGITS && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

/// Where a record stands in the pseudo repository.
#[must_use]
pub fn record_path(id: &str) -> String {
    format!("{FOLDER}{id}.md")
}

/// The id of the record at a path.
pub(super) fn id_of_path(path: &str) -> Option<&str> {
    path.strip_prefix(FOLDER)?.strip_suffix(".md").filter(|id| is_record_id(id))
}

const FOLDER: &str = "triage/records/";

/// What a caller says of everything it sends: who it belongs to, who can reach it, and fields of its own.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ParsedMeta(pub(super) Value);

/// Fields of `meta` that a record has a place for.
const KNOWN: &[&str] = &["service", "env", "team", "owner", "repo", "exposure"];
/// Fields of exposure, as they may also stand alone.
const EXPOSURE: &[&str] =
    &["internetexposed", "publicendpoint", "datasensitivity", "businesscriticality", "compensatingcontrols"];

impl ParsedMeta {
    /// From the object that the caller sent.
    #[must_use]
    pub fn new(meta: Map<String, Value>) -> Self {
        Self(Value::Object(meta))
    }

    /// Fills in what the record does not say by itself; `repo` is what it is called where nobody says.
    pub(super) fn apply(&self, record: &mut Record, repo: Option<&str>) {
        let say = |field: &mut Option<String>, name: &str| {
            if let Some(text) = look::text(&self.0, &[name]) {
                *field = Some(text);
            }
        };
        say(&mut record.service, "service");
        say(&mut record.env, "env");
        say(&mut record.team, "team");
        say(&mut record.owner, "owner");
        say(&mut record.repo, "repo");
        record.repo = record.repo.take().or_else(|| repo.map(str::to_owned));
        for (name, value) in self.0.as_object().into_iter().flatten() {
            let plain = name.to_lowercase().replace('_', "");
            let exposure = plain.strip_prefix("exposure.").unwrap_or(&plain);
            if !KNOWN.contains(&name.as_str()) && !EXPOSURE.contains(&exposure) {
                record.meta.insert(name.clone(), value.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_stable_and_told_from_other_texts() {
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
        assert!(write.record.contains("left out") && !write.record.contains("xxx"));
        let large = Record { service: Some("x".repeat(500)), ..record };
        assert!(large.into_write("i".into(), None, 300).unwrap_err().contains("more than 300"));
    }
}
