//! Converts rows of the store to snapshots and events, and back. The rows of a run are derived from its events, so a write is the
//! difference of two snapshots.

use std::collections::BTreeMap;

use contract::Fault;
use launch::event::{ArtifactWritten, Event, ItemRef, PrOpened, RunCreated};
use launch::issue::{Issue, IssueStatus, Severity};
use launch::snapshot::{Item, ItemState, Publication, RunSnapshot, TrackedIssue};
use launch::state::RunState;
use platform::sha256;
use serde::Serialize;
use serde::de::DeserializeOwned;
use store::launch::{ArtifactRow, EventRow, IssueRow, ItemRow, RunRow};

/// The rows of a run.
pub(super) struct StoredRows {
    pub(super) run: RunRow,
    pub(super) items: Vec<ItemRow>,
    pub(super) artifacts: Vec<ArtifactRow>,
    pub(super) issues: Vec<IssueRow>,
}

/// The fault of a row that this program does not write.
pub(super) fn malformed(what: &str, cause: impl std::fmt::Display) -> Fault {
    Fault::internal(
        "A launch run is stored in a form that this program does not write.",
        format!("{what}: {cause}"),
    )
}

/// The snapshot that the rows of a run say.
pub(super) fn snapshot(rows: &StoredRows) -> Result<RunSnapshot, Fault> {
    let run = &rows.run;
    let state = RunState::parse(&run.state).ok_or_else(|| malformed("state", &run.state))?;
    let opened = match (&run.branch, &run.commit_sha, &run.pr_url) {
        (Some(branch), Some(commit_sha), Some(pr_url)) => Some(PrOpened {
            branch: branch.clone(),
            commit_sha: commit_sha.clone(),
            pr_url: pr_url.clone(),
            pr_number: run.pr_number,
        }),
        _ => None,
    };
    let publication = run.publish_key.clone().zip(run.branch.clone());
    Ok(RunSnapshot {
        run_id: run.run_id.clone(),
        created: RunCreated {
            product_slug: run.product_slug.clone(),
            config_hash: sha256::to_hex(&run.config_hash),
            repository_id: run.repository_id,
            repo_sha: run.repo_sha.clone(),
            site_profile: run.site_profile.clone(),
            site_sha: run.site_sha.clone(),
        },
        state,
        seq: run.seq,
        created_ms: run.created_ms,
        updated_ms: run.updated_ms,
        finished_ms: run.finished_ms,
        pending: parsed(run.pending.as_deref())?,
        site_tree: run.site_tree.clone(),
        artifacts: rows.artifacts.iter().map(artifact).collect::<Result<_, _>>()?,
        items: rows.items.iter().map(item).collect::<Result<_, _>>()?,
        issues: rows.issues.iter().map(issue).collect::<Result<_, _>>()?,
        report_ok: run.report_ok,
        fix_attempts: number(run.fix_attempts, "fix_attempts")?,
        fixing: parsed(run.fixing.as_deref())?,
        publication: publication.map(|(publish_key, branch)| Publication { publish_key, branch, opened }),
        failure: parsed(run.failure.as_deref())?,
        cancel_requested: run.cancel_requested,
    })
}

fn artifact(row: &ArtifactRow) -> Result<(String, ArtifactWritten), Fault> {
    let written = ArtifactWritten {
        name: row.name.clone(),
        version: number(row.version, "version")?,
        sha256: sha256::to_hex(&row.sha256),
        content_type: row.content_type.clone(),
        schema_id: row.schema_id.clone(),
        writer: row.writer.clone(),
        bytes: number(row.bytes, "bytes")?,
    };
    Ok((row.name.clone(), written))
}

fn item(row: &ItemRow) -> Result<(ItemRef, Item), Fault> {
    let key = ItemRef {
        worker: row.worker.clone(),
        scope_key: row.scope_key.clone(),
        attempt: number(row.attempt, "attempt")?,
    };
    let item = Item {
        state: ItemState::parse(&row.state).ok_or_else(|| malformed("state of an item", &row.state))?,
        inputs_hash: sha256::to_hex(&row.inputs_hash),
        outputs: parsed(Some(&row.outputs))?.unwrap_or_default(),
        error: parsed(row.error.as_deref())?,
        started_ms: row.started_ms,
        finished_ms: row.finished_ms,
    };
    Ok((key, item))
}

fn issue(row: &IssueRow) -> Result<(String, TrackedIssue), Fault> {
    let statuses = [IssueStatus::Open, IssueStatus::Resolved, IssueStatus::Ignored];
    let issue = Issue {
        issue_id: row.issue_id.clone(),
        gate: row.gate.clone(),
        severity: Severity::parse(&row.severity).ok_or_else(|| malformed("severity", &row.severity))?,
        code: row.code.clone(),
        title: row.title.clone(),
        message: row.message.clone(),
        path: row.path.clone(),
        line: row.line.map(|line| number(line, "line")).transpose()?,
        status: statuses
            .into_iter()
            .find(|status| status.as_str() == row.status)
            .ok_or_else(|| malformed("status", &row.status))?,
        fixable: row.fixable,
    };
    let tracked = TrackedIssue { issue, opened_seq: row.opened_seq, closed_seq: row.closed_seq };
    Ok((row.issue_id.clone(), tracked))
}

fn number<T, N>(value: T, what: &str) -> Result<N, Fault>
where
    N: TryFrom<T>,
    N::Error: std::fmt::Display,
{
    N::try_from(value).map_err(|error| malformed(what, error))
}

fn parsed<T: DeserializeOwned>(text: Option<&str>) -> Result<Option<T>, Fault> {
    text.map(|text| serde_json::from_str(text).map_err(|error| malformed("JSON", error))).transpose()
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// Returns the row of a run for a snapshot. `known` has the columns that do not follow from it: configuration, key and fence.
pub(super) fn run_row(known: &RunRow, snapshot: &RunSnapshot, head_hash: [u8; 32]) -> RunRow {
    let opened = snapshot.publication.as_ref().and_then(|publication| publication.opened.as_ref());
    RunRow {
        state: snapshot.state.as_str().to_owned(),
        site_sha: snapshot.created.site_sha.clone(),
        site_tree: snapshot.site_tree.clone(),
        seq: snapshot.seq,
        head_hash,
        fix_attempts: i16::try_from(snapshot.fix_attempts).unwrap_or(i16::MAX),
        report_ok: snapshot.report_ok,
        pending: snapshot.pending.as_ref().map(json),
        fixing: snapshot.fixing.as_ref().map(json),
        publish_key: snapshot.publication.as_ref().map(|publication| publication.publish_key.clone()),
        branch: snapshot.publication.as_ref().map(|publication| publication.branch.clone()),
        commit_sha: opened.map(|opened| opened.commit_sha.clone()),
        pr_url: opened.map(|opened| opened.pr_url.clone()),
        pr_number: opened.and_then(|opened| opened.pr_number),
        failure: snapshot.failure.as_ref().map(json),
        cancel_requested: snapshot.cancel_requested,
        created_ms: snapshot.created_ms,
        finished_ms: snapshot.finished_ms,
        updated_ms: snapshot.updated_ms,
        ..known.clone()
    }
}

/// Returns the items of `after` that are not in `before` in the same form.
pub(super) fn changed_items(before: &RunSnapshot, after: &RunSnapshot) -> Result<Vec<ItemRow>, Fault> {
    let is_changed = |(key, item): &(&ItemRef, &Item)| before.items.get(*key) != Some(*item);
    after.items.iter().filter(is_changed).map(|(key, item)| item_row(key, item)).collect()
}

fn item_row(key: &ItemRef, item: &Item) -> Result<ItemRow, Fault> {
    Ok(ItemRow {
        worker: key.worker.clone(),
        scope_key: key.scope_key.clone(),
        attempt: number(key.attempt, "attempt")?,
        state: item.state.as_str().to_owned(),
        inputs_hash: from_hex(&item.inputs_hash),
        outputs: json(&item.outputs),
        error: item.error.as_ref().map(json),
        started_ms: item.started_ms,
        finished_ms: item.finished_ms,
    })
}

/// Returns the bytes of hexadecimal digits; other characters are skipped.
pub(super) fn from_hex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits.chunks_exact(2).filter_map(|pair| u8::try_from(pair[0] * 16 + pair[1]).ok()).collect()
}

/// Returns the issues of `after` that are not in `before` in the same form.
pub(super) fn changed_issues(before: &RunSnapshot, after: &RunSnapshot) -> Result<Vec<IssueRow>, Fault> {
    changed(&before.issues, &after.issues).map(issue_row).collect()
}

fn changed<'a, T: PartialEq>(
    before: &'a BTreeMap<String, T>,
    after: &'a BTreeMap<String, T>,
) -> impl Iterator<Item = &'a T> {
    after.iter().filter(|(key, value)| before.get(*key) != Some(*value)).map(|(_, value)| value)
}

fn issue_row(tracked: &TrackedIssue) -> Result<IssueRow, Fault> {
    let issue = &tracked.issue;
    Ok(IssueRow {
        issue_id: issue.issue_id.clone(),
        gate: issue.gate.clone(),
        severity: issue.severity.as_str().to_owned(),
        code: issue.code.clone(),
        title: issue.title.clone(),
        message: issue.message.clone(),
        path: issue.path.clone(),
        line: issue.line.map(|line| number(line, "line")).transpose()?,
        status: issue.status.as_str().to_owned(),
        fixable: issue.fixable,
        opened_seq: tracked.opened_seq,
        closed_seq: tracked.closed_seq,
    })
}

/// The row of an artifact.
pub(super) fn artifact_row(written: &ArtifactWritten) -> Result<ArtifactRow, Fault> {
    let sha256: [u8; 32] =
        from_hex(&written.sha256).try_into().map_err(|_| malformed("sha256", &written.sha256))?;
    Ok(ArtifactRow {
        name: written.name.clone(),
        version: number(written.version, "version")?,
        sha256,
        content_type: written.content_type.clone(),
        schema_id: written.schema_id.clone(),
        writer: written.writer.clone(),
        bytes: number(written.bytes, "bytes")?,
    })
}

/// The event in a row.
pub(super) fn event(row: EventRow) -> Event {
    Event {
        run_id: row.run_id,
        seq: row.seq,
        event_id: row.event_id,
        ts_ms: row.ts_ms,
        kind: row.kind,
        payload: row.payload,
        trace_id: row.trace_id,
        span_id: row.span_id,
        parent_span_id: row.parent_span_id,
        prev_hash: row.prev_hash,
        hash: row.hash,
    }
}

/// The row of an event.
pub(super) fn event_row(event: &Event) -> EventRow {
    EventRow {
        run_id: event.run_id.clone(),
        seq: event.seq,
        event_id: event.event_id.clone(),
        ts_ms: event.ts_ms,
        kind: event.kind.clone(),
        payload: event.payload.clone(),
        trace_id: event.trace_id.clone(),
        span_id: event.span_id.clone(),
        parent_span_id: event.parent_span_id.clone(),
        prev_hash: event.prev_hash,
        hash: event.hash,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_digits_become_bytes() {
        assert_eq!(from_hex("00ff10"), [0, 255, 16]);
        assert_eq!(from_hex(""), [0_u8; 0]);
        assert_eq!(from_hex(&sha256::digest_hex(b"abc")), sha256::digest(b"abc"));
    }
}
