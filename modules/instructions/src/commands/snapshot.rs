//! Reads a whole catalog at one point in time.
//!
//! A tool is called first, so that the gate checks permissions. The entries are then read from the database: answers of tools
//! show invisible characters escaped, and a file made from an answer would not have the text that was hashed.

use std::collections::BTreeMap;

use serde_json::Value;

use super::ProjectArg;
use crate::catalog::{Catalog, Document};
use contract::{Fault, ProjectId};
use gate::tools::Progress;
use instructions::Stored;
use instructions::diff::{CatalogHashes, Hashes};
use instructions::import::Existing;
use store::Project;
use surfaces::cli::shell::{CommandError, Session, ToolAnswer};

/// A catalog with everything that is exported.
pub(super) struct CatalogSnapshot {
    /// Hash of the catalog, in hexadecimal.
    pub(super) hash: String,
    /// Hash of its metadata, in hexadecimal.
    pub(super) meta_hash: String,
    /// All entries, ordered by id.
    pub(super) entries: Vec<Stored>,
    /// The gates, if there are any.
    pub(super) gates: Option<Value>,
    /// The project's review criteria, if there are any.
    pub(super) criteria: Option<Value>,
}

impl CatalogSnapshot {
    /// Returns the hashes of the entries.
    pub(super) fn hashes(&self) -> CatalogHashes {
        let hashes = |stored: &Stored| Hashes { source: stored.source_hash, meta: stored.meta_hash };
        self.entries.iter().map(|stored| (stored.instruction.id.clone(), hashes(stored))).collect()
    }

    /// Returns the entries in the form that the plan of an import needs.
    pub(super) fn existing(&self) -> BTreeMap<String, Existing> {
        let existing = |stored: &Stored| Existing {
            source_hash: stored.source_hash,
            meta_hash: stored.meta_hash,
            created_ms: stored.created_ms,
        };
        self.entries.iter().map(|stored| (stored.instruction.id.clone(), existing(stored))).collect()
    }
}

/// Reads the catalog.
pub(super) async fn read_catalog(
    session: &Session,
    project: &ProjectArg,
) -> Result<CatalogSnapshot, CommandError> {
    let called = session.call("instructions_checksums", project, Progress::default()).await;
    if let Some(error) = failure(&called) {
        return Err(error);
    }
    let project = project_of(session, &called).await?;
    let mut catalog = Catalog::open_long(session.app.store().await?, &project).await?;
    let snapshot = CatalogSnapshot {
        hash: catalog.hash(),
        meta_hash: catalog.meta_hash(),
        entries: catalog.all().await?,
        gates: catalog.document_json(Document::Gates).await?,
        criteria: catalog.document_json(Document::Criteria).await?,
    };
    catalog.close().await?;
    Ok(snapshot)
}

/// Returns the project that a call concerned.
pub(super) async fn project_of(session: &Session, called: &ToolAnswer) -> Result<Project, Fault> {
    let id = match &called.envelope.meta.project_id {
        Some(Value::String(id)) => ProjectId::parse(id)?,
        _ => ProjectId::default_workspace(),
    };
    tenancy::require(session.app.store().await?, &id).await
}

/// Returns the error of a call that failed or was refused.
pub(super) fn failure(called: &ToolAnswer) -> Option<CommandError> {
    let error = called.envelope.error.as_ref()?;
    let mut fault = Fault::new(error.code, error.message.clone());
    (fault.hint, fault.details, fault.retryable) =
        (error.hint.clone(), error.details.clone(), error.retryable);
    Some(CommandError { fault, exit: called.exit })
}
