//! The one way to write a run: its events, and the rows that follow from them.

use super::artifacts::{self, ArtifactWrite};
use super::events::{self, EventRow};
use super::issues::{self, IssueRow};
use super::items::{self, ItemRow};
use super::runs::{self, RunRow};
use crate::transaction::ProjectTx;
use contract::Fault;

/// The changes of a run that one transaction writes.
#[derive(Debug, Clone, Copy)]
pub struct RunWrite<'a> {
    /// The run as it is afterwards.
    pub run: &'a RunRow,
    /// Number of its last event before; `None` for a new run.
    pub before: Option<i32>,
    /// The new events.
    pub events: &'a [EventRow],
    /// Items that are new or changed.
    pub items: &'a [ItemRow],
    /// New versions of artifacts.
    pub artifacts: &'a [ArtifactWrite],
    /// Issues that are new or changed.
    pub issues: &'a [IssueRow],
}

/// Writes events of a run and the rows that follow from them. Returns false, and writes nothing, if the run is no longer as the caller read
/// it: another event was written, or a later job advances it; for a new run, if there is one with its id or its key.
pub async fn write(tx: &mut ProjectTx, write: RunWrite<'_>) -> Result<bool, Fault> {
    let is_current = match write.before {
        None => runs::insert(tx, write.run).await?,
        Some(before) => runs::update(tx, write.run, before).await?,
    };
    if !is_current {
        return Ok(false);
    }
    let run_id = write.run.run_id.as_str();
    if !write.events.is_empty() {
        events::append(tx, run_id, write.events).await?;
    }
    if !write.items.is_empty() {
        items::put(tx, run_id, write.items).await?;
    }
    for artifact in write.artifacts {
        artifacts::insert(tx, run_id, artifact).await?;
    }
    if !write.issues.is_empty() {
        issues::put(tx, run_id, write.issues).await?;
    }
    Ok(true)
}
