//! Changes of a catalog. Each is one transaction that holds the lock of the catalog's state row, so changes follow one another,
//! also those of other processes, and the hashes are always those of the entries.

use std::collections::BTreeMap;

use contract::{ErrorCode, Fault, echo};
use instructions::canonical::{Hash, parse_hash};
use instructions::diff::{CatalogHashes, Hashes, catalog_hashes};
use instructions::import::{self, EntryError, Existing, ImportMode, Prune, PruneRefused};
use instructions::{Rules, Stored};
use platform::{failpoints, sha256};
use serde_json::{Value, json};
use store::instructions::{
    CatalogState, Change, DocumentRow, EntryHashes, EntryWrite, changes, documents, entries, state,
};
use store::postgres::INSTRUCTIONS;
use store::{Access, Project, ProjectTx, Store};

use super::read::Document;
use super::rows;

/// Entries written by one statement.
const BATCH: usize = 500;
const SYNC_HINT: &str = "Read the catalog again with `instructions_list` or `instructions_diff`, and repeat the call with its hash.";

/// A writer of a catalog: its principal, rules and time.
pub(crate) struct Writer<'a> {
    /// The database.
    pub(crate) store: &'a Store,
    /// The project.
    pub(crate) project: &'a Project,
    /// Recorded with the change.
    pub(crate) principal: &'a str,
    /// Limits of the operator.
    pub(crate) rules: Rules,
    /// Revisions to keep in the change log.
    pub(crate) changes_keep: u32,
    /// Time of the change, milliseconds since the epoch.
    pub(crate) now_ms: i64,
}

/// A catalog after a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CatalogChange {
    /// Its hash.
    pub(crate) hash: Hash,
    /// Its revision; as before if nothing changed.
    pub(crate) revision: i64,
    /// Rows that were written or removed, and documents.
    pub(crate) changed: usize,
}

/// An import that was requested.
#[derive(Debug)]
pub(crate) struct Import {
    /// The entries, unchecked.
    pub(crate) entries: Vec<Value>,
    /// The treatment of existing entries.
    pub(crate) mode: ImportMode,
    /// `true` if entries that are not given are removed.
    pub(crate) prune: bool,
    /// Documents to store, checked already.
    pub(crate) documents: Vec<(Document, String)>,
    /// The hash that the catalog must have.
    pub(crate) if_hash: Option<String>,
    /// The revision that the catalog must have.
    pub(crate) if_revision: Option<i64>,
    /// `true` if an entry with an error makes the whole import fail.
    pub(crate) is_all_or_nothing: bool,
    /// The method that the change log names.
    pub(crate) action: &'static str,
}

/// The result of an import.
#[derive(Debug)]
pub(crate) struct ImportReport {
    /// New entries.
    pub(crate) imported: usize,
    /// Existing entries that stayed.
    pub(crate) skipped: usize,
    /// Existing entries that were given again.
    pub(crate) overwritten: usize,
    /// Entries that were given.
    pub(crate) total: usize,
    /// Entries that break a rule.
    pub(crate) errors: Vec<EntryError>,
    /// Removed entries.
    pub(crate) removed: Vec<String>,
    /// The catalog afterwards.
    pub(crate) catalog: CatalogChange,
}

/// The result of a removal.
#[derive(Debug)]
pub(crate) struct RemoveReport {
    /// Removed entries.
    pub(crate) removed: Vec<String>,
    /// Ids without an entry.
    pub(crate) missing: Vec<String>,
    /// The catalog afterwards.
    pub(crate) catalog: CatalogChange,
}

/// A change that is under way: the transaction that holds the lock.
struct Open {
    tx: ProjectTx,
    state: CatalogState,
    existing: BTreeMap<String, Existing>,
}

impl Writer<'_> {
    /// Imports entries and documents.
    ///
    /// # Errors
    /// `ILLEGAL_STATE` if the catalog does not have the hash of `if_hash` or the revision `if_revision`, and if a prune is refused; storage
    /// faults. Then nothing is written.
    pub(crate) async fn import(&self, import: Import) -> Result<ImportReport, Fault> {
        store::provision_module(self.store, self.project, &INSTRUCTIONS).await?;
        let mut open = self.open(import.if_hash.as_deref(), import.if_revision).await?;
        let is_confirmed = import.if_hash.is_some() || import.if_revision.is_some();
        let prune = match (import.prune, is_confirmed) {
            (false, _) => Prune::No,
            (true, false) => Prune::Guarded,
            (true, true) => Prune::Confirmed,
        };
        let planned =
            import::plan(import.entries, &open.existing, import.mode, prune, &self.rules, self.now_ms);
        let plan = match planned {
            Ok(plan) if import.is_all_or_nothing && !plan.errors.is_empty() => {
                open.tx.rollback().await?;
                return Err(entries_refused(&plan.errors));
            }
            Ok(plan) => plan,
            Err(refused) => {
                open.tx.rollback().await?;
                return Err(prune_refused(refused));
            }
        };
        let mut due = Vec::new();
        for (document, text) in import.documents {
            let row = DocumentRow { hash: sha256::digest(text.as_bytes()), content: text };
            if documents::load(&mut open.tx, document.as_str()).await?.is_none_or(|known| known != row) {
                due.push((document, row));
            }
        }
        let revision = open.state.revision + 1;
        for (document, row) in &due {
            documents::put(&mut open.tx, document.as_str(), row, revision, self.now_ms).await?;
        }
        let mut change = self.change(import.action, revision);
        for batch in plan.writes.chunks(BATCH) {
            let rows: Vec<_> = batch.iter().map(|write| rows::written(write, self.now_ms)).collect();
            entries::put(&mut open.tx, &rows, revision, self.principal).await?;
            failpoints::reach("catalog.batch_written");
            for EntryWrite { row, .. } in rows {
                let is_new = open.set(row.id.clone(), row.source_hash, row.meta_hash, row.created_ms);
                if is_new { &mut change.added } else { &mut change.updated }.push(row.id);
            }
        }
        change.removed = open.remove(&plan.removed).await?;
        if !plan.writes.is_empty() {
            self.require_room(&mut open).await?;
        }
        let removed = change.removed.clone();
        let changed = plan.writes.len() + removed.len() + due.len();
        let catalog = self.finish(open, change, changed).await?;
        Ok(ImportReport {
            imported: plan.imported,
            skipped: plan.skipped,
            overwritten: plan.overwritten,
            total: plan.total,
            errors: plan.errors,
            removed,
            catalog,
        })
    }

    /// Removes entries.
    ///
    /// # Errors
    /// `ILLEGAL_STATE` if the catalog does not have the hash `if_hash` or the revision `if_revision`; storage faults.
    pub(crate) async fn remove(
        &self,
        ids: &[String],
        if_hash: Option<&str>,
        if_revision: Option<i64>,
    ) -> Result<RemoveReport, Fault> {
        store::provision_module(self.store, self.project, &INSTRUCTIONS).await?;
        let mut open = self.open(if_hash, if_revision).await?;
        let mut change = self.change("instructions/remove", open.state.revision + 1);
        change.removed = open.remove(ids).await?;
        let removed = change.removed.clone();
        let mut missing: Vec<String> =
            ids.iter().filter(|id| removed.binary_search(id).is_err()).cloned().collect();
        missing.sort();
        missing.dedup();
        let catalog = self.finish(open, change, removed.len()).await?;
        Ok(RemoveReport { removed, missing, catalog })
    }

    /// Stores the hashes of entries whose stored hashes are wrong; returns their ids.
    ///
    /// # Errors
    /// Storage faults.
    pub(crate) async fn repair(&self) -> Result<(Vec<String>, CatalogChange), Fault> {
        store::provision_module(self.store, self.project, &INSTRUCTIONS).await?;
        let mut open = self.open(None, None).await?;
        let mut wrong: Vec<EntryHashes> = Vec::new();
        let mut after = String::new();
        loop {
            let page = entries::page(&mut open.tx, &after, 1000).await?;
            let Some(last) = page.last() else { break };
            after.clone_from(&last.id);
            for row in page {
                let Stored { instruction, source_hash, meta_hash, created_ms, .. } = rows::stored(row)?;
                let actual = (instruction.source_hash(), instruction.meta_hash());
                if actual != (source_hash, meta_hash) {
                    let (source_hash, meta_hash) = actual;
                    wrong.push(EntryHashes { id: instruction.id, source_hash, meta_hash, created_ms });
                }
            }
        }
        let mut change = self.change("instructions/repair", open.state.revision + 1);
        entries::put_hashes(&mut open.tx, &wrong, change.revision, self.now_ms, self.principal).await?;
        for entry in &wrong {
            open.set(entry.id.clone(), entry.source_hash, entry.meta_hash, entry.created_ms);
        }
        change.updated = wrong.into_iter().map(|entry| entry.id).collect();
        let repaired = change.updated.clone();
        // The stored hash of the catalog may be wrong as well, without any entry being so.
        let is_wrong = open.hashes() != (open.state.hash, open.state.meta_hash);
        let changed = repaired.len() + usize::from(is_wrong && repaired.is_empty());
        let catalog = self.finish(open, change, changed).await?;
        Ok((repaired, catalog))
    }

    fn change(&self, action: &'static str, revision: i64) -> Change {
        Change {
            revision,
            at_ms: self.now_ms,
            principal: self.principal.to_owned(),
            action,
            added: Vec::new(),
            updated: Vec::new(),
            removed: Vec::new(),
            hash: [0; 32],
        }
    }

    /// Refuses a change after which the texts of the catalog have too many bytes. Dropping the transaction undoes it.
    async fn require_room(&self, open: &mut Open) -> Result<(), Fault> {
        let bytes = entries::text_bytes(&mut open.tx).await?;
        let bytes_max = self.rules.catalog_bytes_max;
        if usize::try_from(bytes).is_ok_and(|bytes| bytes <= bytes_max) {
            return Ok(());
        }
        let message = format!(
            "The texts of the catalog would have {bytes} bytes; at most {bytes_max} are allowed. Nothing was changed."
        );
        Err(Fault::new(ErrorCode::IllegalState, message)
            .with_details(json!({ "bytes": bytes, "bytesMax": bytes_max }))
            .with_hint("Remove entries or shorten them; the operator sets `instructions.catalog_bytes_max`."))
    }

    /// Takes the lock, and checks the hash and the revision that the caller expects.
    async fn open(&self, if_hash: Option<&str>, if_revision: Option<i64>) -> Result<Open, Fault> {
        let mut tx = ProjectTx::begin(self.store, self.project, Access::Write).await?;
        let state = state::lock(&mut tx).await?;
        if let Some(expected) = if_hash
            && parse_hash(expected) != Some(state.hash)
        {
            tx.rollback().await?;
            let message =
                format!("The catalog does not have the hash {}: it was changed meanwhile.", echo(expected));
            return Err(Fault::new(ErrorCode::IllegalState, message)
                .with_details(json!({ "hash": sha256::to_hex(&state.hash), "revision": state.revision }))
                .with_hint(SYNC_HINT));
        }
        if let Some(expected) = if_revision
            && expected != state.revision
        {
            tx.rollback().await?;
            let message =
                format!("The catalog has the revision {}: it was changed since {expected}.", state.revision);
            return Err(Fault::new(ErrorCode::IllegalState, message)
                .with_details(json!({ "hash": sha256::to_hex(&state.hash), "revision": state.revision }))
                .with_hint(SYNC_HINT));
        }
        let row = |row: EntryHashes| {
            let EntryHashes { id, source_hash, meta_hash, created_ms } = row;
            (id, Existing { source_hash, meta_hash, created_ms })
        };
        let existing = entries::hashes(&mut tx).await?.into_iter().map(row).collect();
        Ok(Open { tx, state, existing })
    }

    /// Commits the change with the new hashes, or rolls back if nothing changed.
    async fn finish(
        &self,
        mut open: Open,
        mut change: Change,
        changed: usize,
    ) -> Result<CatalogChange, Fault> {
        if changed == 0 {
            let CatalogState { hash, revision, .. } = open.state;
            open.tx.rollback().await?;
            return Ok(CatalogChange { hash, revision, changed });
        }
        let (hash, meta_hash) = open.hashes();
        let revision = change.revision;
        let entries = i32::try_from(open.existing.len()).unwrap_or(i32::MAX);
        state::store(&mut open.tx, &CatalogState { revision, entries, hash, meta_hash }, self.now_ms).await?;
        change.hash = hash;
        changes::append(&mut open.tx, &change, self.changes_keep.into()).await?;
        failpoints::reach("catalog.before_commit");
        open.tx.commit().await?;
        Ok(CatalogChange { hash, revision, changed })
    }
}

impl Open {
    /// Notes a written entry; whether it is new.
    fn set(&mut self, id: String, source_hash: Hash, meta_hash: Hash, created_ms: i64) -> bool {
        self.existing.insert(id, Existing { source_hash, meta_hash, created_ms }).is_none()
    }

    /// Removes entries; returns those that existed.
    async fn remove(&mut self, ids: &[String]) -> Result<Vec<String>, Fault> {
        let removed = entries::remove(&mut self.tx, ids).await?;
        self.existing.retain(|id, _| removed.binary_search(id).is_err());
        Ok(removed)
    }

    /// The hashes of the catalog as it is now.
    fn hashes(&self) -> (Hash, Hash) {
        let hashes = |known: &Existing| Hashes { source: known.source_hash, meta: known.meta_hash };
        let all: CatalogHashes =
            self.existing.iter().map(|(id, known)| (id.clone(), hashes(known))).collect();
        catalog_hashes(&all)
    }
}

/// The fault of a prune that does not happen.
pub(crate) fn prune_refused(refused: PruneRefused) -> Fault {
    match refused {
        PruneRefused::Errors(errors) => entries_refused(&errors),
        PruneRefused::TooMany { removed, of } => {
            let message = format!("This would remove {removed} of {of} entries; nothing was changed.");
            Fault::new(ErrorCode::IllegalState, message)
                .with_details(json!({ "removed": removed, "entries": of }))
                .with_hint(
                    "If that is right, repeat the call with `ifHash`, the current hash of the catalog.",
                )
        }
    }
}

fn entries_refused(errors: &[EntryError]) -> Fault {
    let message = format!(
        "{} of the entries cannot be imported, so nothing was changed. The first is {}: {}",
        errors.len(),
        errors[0].id,
        errors[0].error
    );
    Fault::new(ErrorCode::IllegalState, message)
        .with_details(json!({ "errors": errors }))
        .with_hint("Correct the entries, or import without removing others.")
}
