//! Decisions about findings. A decision is a record of its own and inherits service, vulnerability and package from the
//! finding.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::clean::{Cleaner, CleaningStats};
use super::record::{Decision, ParsedMeta, Record, StoredRecord, record_id};
use super::record_source::load_record;
use contract::clock::{Clock, iso_from_millis, iso_millis};
use contract::config;
use contract::{ErrorCode, Fault};
use store::triage;
use store::{Access, Project, ProjectTx, Store};

/// The outcome of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It will be fixed.
    Fix,
    /// The risk is accepted.
    Accept,
    /// It will be decided later.
    Defer,
    /// The finding is wrong.
    FalsePositive,
    /// The vulnerability is present, but cannot be exploited here.
    NotAffected,
}

impl Verdict {
    /// Returns the name of the verdict in the database and in answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fix => "fix",
            Self::Accept => "accept",
            Self::Defer => "defer",
            Self::FalsePositive => "false_positive",
            Self::NotAffected => "not_affected",
        }
    }
}

/// A decision to store.
#[derive(Debug, Clone)]
pub struct NewDecision {
    /// The finding that it is about.
    pub finding: StoredRecord,
    /// The outcome.
    pub verdict: Verdict,
    /// Reason for the decision.
    pub justification: Option<String>,
    /// Author of the decision.
    pub reviewer: Option<String>,
    /// Expiry: a date, which includes that day, or a time.
    pub expires: Option<String>,
    /// The scope of the decision (`service`, `env` …), and other fields of the caller.
    pub meta: Map<String, Value>,
    /// Machine-readable reasons.
    pub codes: Vec<String>,
    /// Links or files that support it.
    pub evidence: Vec<String>,
}

/// Stores a decision and returns it.
///
/// # Errors
/// `INVALID_REQUEST` if `expires` is not a date or is in the past, or if the record is too large; storage faults.
pub async fn decide(
    store: &Store,
    project: &Project,
    clock: &dyn Clock,
    (settings, redact): (&config::Triage, bool),
    new: NewDecision,
) -> Result<StoredRecord, Fault> {
    let now = clock.now();
    let expires_ms = new.expires.as_deref().map(|text| parse_expiry(text, now)).transpose()?;
    let finding = new.finding;
    let decision = Decision {
        finding_record_id: finding.record_id.clone(),
        status: new.verdict.as_str().to_owned(),
        justification: new.justification,
        justification_codes: new.codes,
        reviewer: new.reviewer,
        expires_at: expires_ms.map(iso_from_millis),
        evidence_refs: new.evidence,
    };
    let inherited = finding.record;
    let mut record = Record {
        source: "manual".to_owned(),
        service: inherited.service,
        env: inherited.env,
        team: inherited.team,
        owner: inherited.owner,
        repo: inherited.repo,
        vuln: inherited.vuln,
        package: inherited.package,
        asset: inherited.asset,
        decision: Some(decision),
        ..Record::default()
    };
    ParsedMeta::new(new.meta).apply(&mut record, None);
    let record = clean_record(record, settings, redact)?;
    let content = serde_json::to_string(&record).unwrap_or_default();
    // The hash distinguishes two decisions of the same millisecond.
    let key = format!(
        "{}:{}:{}:{}",
        finding.record_id,
        new.verdict.as_str(),
        iso_millis(now),
        blake3::hash(content.as_bytes())
    );
    let id = record_id("manual", &key);
    let write = record
        .into_write(id.clone(), expires_ms, settings.record_bytes_max)
        .map_err(|why| Fault::new(ErrorCode::InvalidRequest, format!("The decision is too large: {why}.")))?;
    let mut tx = ProjectTx::begin(store, project, Access::Write).await?;
    triage::put(&mut tx, &[write], now.as_millisecond()).await?;
    tx.commit().await?;
    load_record(store, project, &id, now.as_millisecond()).await?.ok_or_else(|| {
        Fault::new(ErrorCode::IllegalState, "The decision was removed while it was stored.")
            .with_hint("Record the decision again.")
    })
}

fn clean_record(record: Record, settings: &config::Triage, redact: bool) -> Result<Record, Fault> {
    let failed = |error| Fault::internal("The decision could not be serialized.", error);
    let mut value = serde_json::to_value(record).map_err(failed)?;
    let cleaner = Cleaner { redact, text_bytes_max: settings.text_bytes_max, list_max: settings.list_max };
    cleaner.clean_value(&mut value, &mut CleaningStats::default());
    serde_json::from_value(value).map_err(failed)
}

/// Parses the expiry of a decision; milliseconds since the epoch.
fn parse_expiry(text: &str, now: Timestamp) -> Result<i64, Fault> {
    let invalid = |why: &str| {
        Fault::new(ErrorCode::InvalidRequest, format!("`expires` {why}."))
            .with_details(serde_json::json!({ "field": "expires" }))
            .with_hint("Give a future date such as 2030-12-31, or a time such as 2030-12-31T12:00:00Z.")
    };
    let text = text.trim();
    let end_of_day = || {
        let day: Date = text.parse().ok().filter(|_| text.len() == "2030-12-31".len())?;
        Some(day.tomorrow().ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp())
    };
    let end = text.parse::<Timestamp>().ok().or_else(end_of_day).ok_or_else(|| invalid("is not a date"))?;
    if end <= now { Err(invalid("is in the past")) } else { Ok(end.as_millisecond()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_expires_at_the_end_of_its_day() {
        let now: Timestamp = "2026-05-04T12:00:00Z".parse().unwrap();
        let ms = |text: &str| text.parse::<Timestamp>().unwrap().as_millisecond();
        assert_eq!(parse_expiry("2026-05-04", now).unwrap(), ms("2026-05-05T00:00:00Z"));
        assert_eq!(parse_expiry(" 2026-05-04T12:00:01+00:00 ", now).unwrap(), ms("2026-05-04T12:00:01Z"));
        for bad in
            ["2026-05-03", "2026-05-04T12:00:00Z", "2026-02-30", "tomorrow", "", "05/04/2027", "20300101"]
        {
            assert_eq!(parse_expiry(bad, now).unwrap_err().code, ErrorCode::InvalidRequest, "{bad}");
        }
    }
}
