//! The record source of findings and decisions: provides one document per record, rendered from the table on each read.

use futures::future::BoxFuture;

use super::record::{StoredRecord, id_of_path, is_record_id, record_path};
use super::render::{metadata_pairs, record_markdown};
use contract::{ErrorCode, Fault};
use engine::indexing::{Document, Documents, RecordSource};
use store::postgres::TRIAGE;
use store::{self, Access, Project, ProjectTx, Store, triage};

/// The root under which records are indexed, in place of a repository's path; unlike those, it is not absolute.
pub const RECORDS_ROOT: &str = "triage:records";

/// The record source through which the index job and `show_file` read findings and decisions.
pub static RECORDS: RecordSource = RecordSource {
    root: RECORDS_ROOT,
    prepare: |store, project| Box::pin(provision_tables(store, project)),
    has_any: |store, project| Box::pin(has_records(store, project)),
    documents: |store, project, now_ms| Box::new(RecordDocuments { store, project, now_ms }),
    document: |store, project, path, now_ms| Box::pin(document_at(store, project, path, now_ms)),
};

/// The documents of a project's records at one point in time.
struct RecordDocuments<'a> {
    store: &'a Store,
    project: &'a Project,
    /// Time of the snapshot, milliseconds since the epoch: decides which decisions have expired.
    now_ms: i64,
}

impl Documents for RecordDocuments<'_> {
    fn page<'a>(&'a self, after: &'a str, limit: usize) -> BoxFuture<'a, Result<Vec<Document>, Fault>> {
        Box::pin(async move {
            let after = id_of_path(after).unwrap_or_default();
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let mut tx = ProjectTx::begin(self.store, self.project, Access::Write).await?;
            let rows = triage::page(&mut tx, after, limit, self.now_ms).await?;
            tx.commit().await?;
            rows.into_iter().map(|row| StoredRecord::from_row(row).map(|stored| document(&stored))).collect()
        })
    }
}

fn document(stored: &StoredRecord) -> Document {
    Document {
        path: record_path(&stored.record_id),
        text: record_markdown(stored),
        mode: "records",
        meta: metadata_pairs(stored),
        modified_ns: stored.updated_ms.saturating_mul(1_000_000),
    }
}

/// Creates the tables of the triage module on first use.
///
/// # Errors
/// As [`store::provision_module`].
pub async fn provision_tables(store: &Store, project: &Project) -> Result<(), Fault> {
    store::provision_module(store, project, &TRIAGE).await
}

/// Returns whether the project has records.
///
/// # Errors
/// Storage faults.
pub async fn has_records(store: &Store, project: &Project) -> Result<bool, Fault> {
    if !store::has_module(store, project, &TRIAGE).await? {
        return Ok(false);
    }
    let mut tx = ProjectTx::begin(store, project, Access::Search).await?;
    let has_any = triage::any(&mut tx).await?;
    tx.commit().await?;
    Ok(has_any)
}

/// Reads a record with its status at `now_ms`; `None` if it does not exist.
pub(super) async fn load_record(
    store: &Store,
    project: &Project,
    id: &str,
    now_ms: i64,
) -> Result<Option<StoredRecord>, Fault> {
    if !store::has_module(store, project, &TRIAGE).await? {
        return Ok(None);
    }
    let mut tx = ProjectTx::begin(store, project, Access::Search).await?;
    let row = triage::get(&mut tx, id, now_ms).await?;
    tx.commit().await?;
    row.map(StoredRecord::from_row).transpose()
}

/// Reads a finding with its status at `now_ms`.
///
/// # Errors
/// `INVALID_REQUEST` for a malformed id and for the id of a decision; `NOT_FOUND` if the record does not exist; storage
/// faults.
pub async fn load_finding(
    store: &Store,
    project: &Project,
    id: &str,
    now_ms: i64,
) -> Result<StoredRecord, Fault> {
    const HINT: &str =
        "`triage_ingest` returns the ids; `search` with mode records shows them as file names.";
    if !is_record_id(id) {
        let message = "A record id consists of 40 lower-case hexadecimal digits.";
        return Err(Fault::new(ErrorCode::InvalidRequest, message).with_hint(HINT));
    }
    match load_record(store, project, id, now_ms).await? {
        Some(stored) if stored.record.decision.is_some() => {
            Err(Fault::new(ErrorCode::InvalidRequest, "This is the id of a decision, not of a finding.")
                .with_hint("Give the id of the finding that the decision is about."))
        }
        Some(stored) => Ok(stored),
        None => {
            Err(Fault::new(ErrorCode::NotFound, format!("The record {id} does not exist.")).with_hint(HINT))
        }
    }
}

/// Returns the document at a path that [`record_path`] built; `None` if there is no such record.
async fn document_at(
    store: &Store,
    project: &Project,
    path: &str,
    now_ms: i64,
) -> Result<Option<Document>, Fault> {
    let Some(id) = id_of_path(path) else { return Ok(None) };
    Ok(load_record(store, project, id, now_ms).await?.as_ref().map(document))
}
