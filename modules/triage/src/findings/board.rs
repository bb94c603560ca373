//! Findings for people: a filtered list with counts, and one finding with the decisions about it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::decision::Verdict;
use super::evidence::evidence_queries;
use super::record::StoredRecord;
use super::record_source::load_finding;
use contract::Fault;
use store::postgres::TRIAGE;
use store::triage::{
    self, BoardPage, FindingCount, FindingFilter, RecordRow, SEVERITIES, STATUS_FIXED, STATUS_OPEN,
};
use store::{Access, Project, ProjectTx, Store};

/// The statuses of findings, in the order of a board.
pub const STATUSES: [&str; 7] = [
    STATUS_OPEN,
    Verdict::Fix.as_str(),
    Verdict::Defer.as_str(),
    Verdict::Accept.as_str(),
    Verdict::NotAffected.as_str(),
    Verdict::FalsePositive.as_str(),
    STATUS_FIXED,
];

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// A page of findings, and how many there are of each kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FindingList {
    /// Findings of each status: the most severe first, then the newest.
    pub findings: Vec<FindingSummary>,
    /// Findings that pass the filters other than that of the status, by status.
    pub statuses: Vec<Count>,
    /// Findings that pass the filters other than that of the severity, by severity.
    pub severities: Vec<Count>,
}

/// How many findings have a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Count {
    /// The value.
    pub name: String,
    /// The number.
    pub count: i64,
}

/// What a list says of a finding.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct FindingSummary {
    /// The record id.
    pub record_id: String,
    /// The status of the decision in force, else `fixed` or `open`.
    pub status: String,
    /// When that decision expires, UTC.
    pub status_expires_at: Option<String>,
    /// Whole days until then.
    pub status_expires_in_days: Option<i64>,
    /// When the finding was first stored, UTC.
    pub created_at: String,
    /// Whole days since then.
    pub age_days: i64,
    /// Severity as the report has it, in lower case.
    pub severity: String,
    /// Id of the vulnerability.
    pub vuln_id: Option<String>,
    /// Title, one line.
    pub title: Option<String>,
    /// Package name.
    pub package: Option<String>,
    /// Installed version of the package.
    pub version: Option<String>,
    /// The affected service.
    pub service: Option<String>,
    /// The affected environment.
    pub env: Option<String>,
    /// Format of the report.
    pub source: String,
}

/// A finding and the decisions about it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FindingDetail {
    /// The finding, without the original item.
    pub finding: StoredRecord,
    /// The latest decisions about it, the latest first.
    pub decisions: Vec<PastDecision>,
    /// Whether there are more decisions.
    pub truncated: bool,
    /// Queries of `search` for the names in the finding, each of which finds only texts that contain the name.
    #[serde(rename = "evidenceQueries")]
    pub evidence_queries: Vec<String>,
}

/// A decision about a finding.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PastDecision {
    /// Whether it has expired.
    pub is_expired: bool,
    /// Whether it sets the status of the finding now.
    pub is_in_force: bool,
    /// The record of the decision.
    #[serde(flatten)]
    pub record: StoredRecord,
}

/// Reads a page of a project's findings with their status at `now_ms`; an empty one if the project has no records.
///
/// # Errors
/// Storage faults.
pub async fn list_findings(
    store: &Store,
    project: &Project,
    filter: &FindingFilter,
    page: BoardPage<'_>,
    now_ms: i64,
) -> Result<FindingList, Fault> {
    if !store::has_module(store, project, &TRIAGE).await? {
        return Ok(FindingList::new(Vec::new(), &[], page));
    }
    let folded = |text: &Option<String>| text.as_ref().map(|text| text.to_lowercase());
    let filter = FindingFilter {
        service: folded(&filter.service),
        source: filter.source.clone(),
        text: folded(&filter.text),
    };
    let mut tx = ProjectTx::begin(store, project, Access::Search).await?;
    let rows = triage::findings(&mut tx, &filter, page, now_ms).await?;
    let counts = triage::finding_counts(&mut tx, &filter, now_ms).await?;
    tx.commit().await?;
    let findings = rows.into_iter().map(|row| FindingSummary::new(row, now_ms)).collect::<Result<_, _>>()?;
    Ok(FindingList::new(findings, &counts, page))
}

/// Reads a finding with its status at `now_ms` and at most `limit` decisions.
///
/// # Errors
/// As [`load_finding`].
pub async fn finding_detail(
    store: &Store,
    project: &Project,
    id: &str,
    limit: usize,
    now_ms: i64,
) -> Result<FindingDetail, Fault> {
    let mut finding = load_finding(store, project, id, now_ms).await?;
    finding.record.raw = None;
    let most = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut tx = ProjectTx::begin(store, project, Access::Search).await?;
    let mut rows = triage::decisions(&mut tx, id, most.saturating_add(1)).await?;
    tx.commit().await?;
    let truncated = rows.len() > limit;
    rows.truncate(limit);
    let past = |row: RecordRow| {
        let is_expired = row.expires_ms.is_some_and(|expires| expires <= now_ms);
        let is_in_force = finding.decision_record_id.as_ref() == Some(&row.id);
        Ok(PastDecision { is_expired, is_in_force, record: StoredRecord::from_row(row)? })
    };
    let decisions = rows.into_iter().map(past).collect::<Result<_, Fault>>()?;
    let evidence_queries = evidence_queries(&finding.record);
    Ok(FindingDetail { finding, decisions, truncated, evidence_queries })
}

impl FindingList {
    /// Adds up `counts`, which hold for all statuses and severities.
    fn new(findings: Vec<FindingSummary>, counts: &[FindingCount], page: BoardPage<'_>) -> Self {
        let is_chosen = |chosen: Option<&str>, value: &str| chosen.is_none_or(|chosen| chosen == value);
        let statuses = STATUSES.map(|status| {
            let of_status = |count: &&FindingCount| count.status == status;
            let counted = counts.iter().filter(of_status).filter(|it| is_chosen(page.severity, &it.severity));
            Count { name: status.to_owned(), count: counted.map(|counted| counted.count).sum() }
        });
        let severities = SEVERITIES.map(|severity| {
            let of_severity = |count: &&FindingCount| count.severity == severity;
            let counted = counts.iter().filter(of_severity).filter(|it| is_chosen(page.status, &it.status));
            Count { name: severity.to_owned(), count: counted.map(|counted| counted.count).sum() }
        });
        Self { findings, statuses: statuses.into(), severities: severities.into() }
    }
}

impl FindingSummary {
    fn new(row: RecordRow, now_ms: i64) -> Result<Self, Fault> {
        let days_until = |ms: i64| ms.saturating_sub(now_ms).div_euclid(DAY_MS);
        let expires_in = row.current.as_ref().and_then(|decision| decision.expires_ms).map(days_until);
        let age_days = now_ms.saturating_sub(row.created_ms).div_euclid(DAY_MS);
        let stored = StoredRecord::from_row(row)?;
        let record = stored.record;
        Ok(Self {
            record_id: stored.record_id,
            status: stored.status,
            status_expires_at: stored.status_expires_at,
            status_expires_in_days: expires_in,
            created_at: stored.created_at,
            age_days,
            severity: record.vuln.severity,
            vuln_id: record.vuln.vuln_id.or(record.vuln.cve),
            title: record.vuln.title,
            package: record.package.name,
            version: record.package.installed_version,
            service: record.service,
            env: record.env,
            source: record.source,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_group_of_counts_ignores_its_own_filter() {
        let count = |status: &str, severity: &str, count| FindingCount {
            status: status.to_owned(),
            severity: severity.to_owned(),
            count,
        };
        let counts = [count("open", "high", 3), count("open", "low", 2), count("fix", "high", 4)];
        let page = BoardPage { status: Some("open"), severity: Some("high"), ..BoardPage::default() };
        let list = FindingList::new(Vec::new(), &counts, page);
        let of = |counts: &[Count], name: &str| counts.iter().find(|it| it.name == name).unwrap().count;
        assert_eq!([of(&list.statuses, "open"), of(&list.statuses, "fix")], [3, 4]);
        assert_eq!([of(&list.severities, "high"), of(&list.severities, "low")], [3, 2]);
    }
}
