//! The pseudo repository of a project's records: one text a record, made of the table whenever it is asked for.

use futures::future::BoxFuture;

use super::record::{StoredRecord, id_of_path, is_record_id, record_path};
use super::render::{markdown, pairs};
use crate::indexing::{Document, Documents};
use contract::{ErrorCode, Fault};
use store::postgres::TRIAGE;
use store::{self, Access, Project, ProjectTx, Store, repositories, triage};

/// What the pseudo repository is called; no folder's path looks like it.
pub const ROOT: &str = repositories::RECORDS;

/// Hands out the texts of a project's records as they are at one moment.
pub struct Shelf<'a> {
    /// The database.
    pub store: &'a Store,
    /// Whose records.
    pub project: &'a Project,
    /// The moment, milliseconds since the epoch: it says which decisions still hold.
    pub now_ms: i64,
}

impl Documents for Shelf<'_> {
    fn page<'a>(&'a self, after: &'a str, limit: usize) -> BoxFuture<'a, Result<Vec<Document>, Fault>> {
        Box::pin(async move {
            let after = id_of_path(after).unwrap_or_default();
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let mut tx = ProjectTx::begin(self.store, self.project, Access::Write).await?;
            let rows = triage::page(&mut tx, after, limit, self.now_ms).await?;
            tx.commit().await?;
            rows.into_iter().map(|row| StoredRecord::of(row).map(|stored| document(&stored))).collect()
        })
    }
}

fn document(stored: &StoredRecord) -> Document {
    Document {
        path: record_path(&stored.record_id),
        text: markdown(stored),
        mode: "records",
        meta: pairs(stored),
        modified_ns: stored.updated_ms.saturating_mul(1_000_000),
    }
}

/// Makes the module's tables on their first use.
///
/// # Errors
/// As [`store::provision_module`].
pub async fn prepare(store: &Store, project: &Project) -> Result<(), Fault> {
    store::provision_module(store, project, &TRIAGE).await
}

/// Whether the project has records.
///
/// # Errors
/// Storage faults.
pub async fn has_records(store: &Store, project: &Project) -> Result<bool, Fault> {
    if !store::has_module(store, project, &TRIAGE).await? {
        return Ok(false);
    }
    let mut tx = ProjectTx::begin(store, project, Access::Search).await?;
    let any = triage::any(&mut tx).await?;
    tx.commit().await?;
    Ok(any)
}

/// A record as it is at `now_ms`, if there is one of that id.
pub(super) async fn stored(
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
    row.map(StoredRecord::of).transpose()
}

/// A finding as it is at `now_ms`.
///
/// # Errors
/// `INVALID_REQUEST` for what is no record's id, and for the id of a decision; `NOT_FOUND` when there is none; storage faults.
pub async fn finding(store: &Store, project: &Project, id: &str, now_ms: i64) -> Result<StoredRecord, Fault> {
    const HINT: &str =
        "Ids are those of `triage_ingest`; `search` with mode records finds them, as names of files.";
    if !is_record_id(id) {
        let message = "A record's id has 40 hexadecimal digits in lower case.";
        return Err(Fault::new(ErrorCode::InvalidRequest, message).with_hint(HINT));
    }
    match stored(store, project, id, now_ms).await? {
        Some(stored) if stored.record.decision.is_some() => {
            Err(Fault::new(ErrorCode::InvalidRequest, "This is the id of a decision, not of a finding.")
                .with_hint("Give the finding that it is about."))
        }
        Some(stored) => Ok(stored),
        None => Err(Fault::new(ErrorCode::NotFound, format!("There is no record {id}.")).with_hint(HINT)),
    }
}

/// The text of the record at a path of the pseudo repository, as it is at `now_ms`, and the hash that an unchanged one was
/// indexed with.
///
/// # Errors
/// Storage faults.
pub async fn text_of(
    store: &Store,
    project: &Project,
    path: &str,
    now_ms: i64,
) -> Result<Option<(String, [u8; 32])>, Fault> {
    let Some(id) = id_of_path(path) else { return Ok(None) };
    let Some(stored) = stored(store, project, id, now_ms).await? else { return Ok(None) };
    let document = document(&stored);
    let hash = document.content_hash();
    Ok(Some((document.text, hash)))
}
