//! Reads of a catalog: one snapshot, in which hashes and entries belong together.

use std::collections::BTreeMap;

use contract::Fault;
use instructions::diff::{CatalogHashes, Hashes};
use instructions::{Stored, Usage};
use platform::sha256;
use serde_json::Value;
use store::instructions::{
    CatalogState, EntryRow, EntrySummaryRow, Since, changes, documents, entries, state, usage,
};
use store::postgres::INSTRUCTIONS;
use store::{Access, Project, ProjectTx, Store};

use super::rows;

/// Entries read at a time.
const PAGE: i64 = 1000;
/// Entries read at a time until they fill an answer.
const FIRST: usize = 64;

/// A document of the catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Document {
    /// The gates.
    Gates,
    /// The project's criteria of prompt reviews.
    Criteria,
}

impl Document {
    /// Its name in the database and in answers.
    #[must_use]
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Gates => "gates",
            Self::Criteria => "criteria",
        }
    }
}

/// A snapshot of a project's catalog. A project that never had one has an empty catalog.
pub(crate) struct Catalog {
    /// `None` if the project does not have the module.
    tx: Option<ProjectTx>,
    /// Revision and hashes of the snapshot.
    pub(crate) state: CatalogState,
}

impl Catalog {
    /// Begins a snapshot.
    ///
    /// # Errors
    /// Storage faults.
    pub(crate) async fn open(store: &Store, project: &Project) -> Result<Self, Fault> {
        Self::open_for(store, project, Access::Search).await
    }

    /// As [`Catalog::open`], for reads that take longer than a search may.
    ///
    /// # Errors
    /// Storage faults.
    pub(crate) async fn open_long(store: &Store, project: &Project) -> Result<Self, Fault> {
        Self::open_for(store, project, Access::Snapshot).await
    }

    async fn open_for(store: &Store, project: &Project, access: Access) -> Result<Self, Fault> {
        if !store::has_module(store, project, &INSTRUCTIONS).await? {
            return Ok(Self { tx: None, state: empty() });
        }
        let mut tx = ProjectTx::begin(store, project, access).await?;
        let state = state::load(&mut tx).await?;
        Ok(Self { tx: Some(tx), state })
    }

    /// The catalog hash as text.
    #[must_use]
    pub(crate) fn hash(&self) -> String {
        sha256::to_hex(&self.state.hash)
    }

    /// The metadata hash as text.
    #[must_use]
    pub(crate) fn meta_hash(&self) -> String {
        sha256::to_hex(&self.state.meta_hash)
    }

    /// The entry with this id.
    ///
    /// # Errors
    /// Storage faults.
    pub(crate) async fn get(&mut self, id: &str) -> Result<Option<Stored>, Fault> {
        Ok(self.with_ids(&[id.to_owned()]).await?.pop())
    }

    /// The entries with these ids, in the order of ids; ids without an entry are left out.
    ///
    /// # Errors
    /// Storage faults.
    pub(crate) async fn with_ids(&mut self, ids: &[String]) -> Result<Vec<Stored>, Fault> {
        let Some(tx) = &mut self.tx else { return Ok(Vec::new()) };
        to_stored(entries::with_ids(tx, ids).await?)
    }

    /// The first of the entries with these ids, until their bodies have more than `bytes_max` bytes.
    ///
    /// # Errors
    /// Storage faults.
    pub(crate) async fn first_with_ids(
        &mut self,
        ids: &[String],
        bytes_max: usize,
    ) -> Result<Vec<Stored>, Fault> {
        let (mut first, mut bytes) = (Vec::new(), 0);
        for ids in ids.chunks(FIRST) {
            let part = self.with_ids(ids).await?;
            bytes += part.iter().map(|stored| stored.instruction.body.len()).sum::<usize>();
            first.extend(part);
            if bytes > bytes_max {
                break;
            }
        }
        Ok(first)
    }

    /// The entries with these ids without their texts, in the order of ids.
    ///
    /// # Errors
    /// Storage faults.
    pub(crate) async fn summaries(&mut self, ids: &[String]) -> Result<Vec<EntrySummaryRow>, Fault> {
        let Some(tx) = &mut self.tx else { return Ok(Vec::new()) };
        entries::summaries(tx, ids).await
    }

    /// At most [`PAGE`] entries with ids after `after`, in the order of ids; none after the last.
    ///
    /// # Errors
    /// Storage faults.
    pub(crate) async fn page(&mut self, after: &str) -> Result<Vec<Stored>, Fault> {
        let Some(tx) = &mut self.tx else { return Ok(Vec::new()) };
        to_stored(entries::page(tx, after, PAGE).await?)
    }

    /// All entries, in the order of ids.
    ///
    /// # Errors
    /// Storage faults.
    pub(crate) async fn all(&mut self) -> Result<Vec<Stored>, Fault> {
        let mut all: Vec<Stored> = Vec::new();
        loop {
            let after = all.last().map(|entry| entry.instruction.id.clone()).unwrap_or_default();
            let page = self.page(&after).await?;
            let is_last = i64::try_from(page.len()).unwrap_or(PAGE) < PAGE;
            all.extend(page);
            if is_last {
                return Ok(all);
            }
        }
    }

    /// The ids of the entries whose title or body contains `text`, ignoring case, in the order of ids.
    ///
    /// # Errors
    /// Storage faults.
    pub(crate) async fn containing(&mut self, text: &str) -> Result<Vec<String>, Fault> {
        let Some(tx) = &mut self.tx else { return Ok(Vec::new()) };
        entries::containing(tx, &text.to_lowercase()).await
    }

    /// The ids of the entries in a category, or of all, in the order of ids.
    ///
    /// # Errors
    /// Storage faults.
    pub(crate) async fn ids(&mut self, category: Option<&str>) -> Result<Vec<String>, Fault> {
        let Some(tx) = &mut self.tx else { return Ok(Vec::new()) };
        entries::ids(tx, category).await
    }

    /// Those of these ids that have an entry, in the order of ids.
    ///
    /// # Errors
    /// Storage faults.
    pub(crate) async fn existing_ids(&mut self, ids: &[String]) -> Result<Vec<String>, Fault> {
        let Some(tx) = &mut self.tx else { return Ok(Vec::new()) };
        entries::existing(tx, ids).await
    }

    /// The hashes of all entries.
    ///
    /// # Errors
    /// Storage faults.
    pub(crate) async fn hashes(&mut self) -> Result<CatalogHashes, Fault> {
        let Some(tx) = &mut self.tx else { return Ok(CatalogHashes::new()) };
        let rows = entries::hashes(tx).await?.into_iter();
        Ok(rows.map(|row| (row.id, Hashes { source: row.source_hash, meta: row.meta_hash })).collect())
    }

    /// The stored usage of these entries, or of all that were ever used.
    ///
    /// # Errors
    /// Storage faults.
    pub(crate) async fn usage(&mut self, ids: Option<&[String]>) -> Result<BTreeMap<String, Usage>, Fault> {
        let Some(tx) = &mut self.tx else { return Ok(BTreeMap::new()) };
        let rows = usage::load(tx, ids).await?.into_iter();
        let used = |count: i64, last_ms| Usage { count: u64::try_from(count).unwrap_or(0), last_ms };
        Ok(rows.map(|row| (row.id, used(row.count, row.last_ms))).collect())
    }

    /// A document as JSON.
    ///
    /// # Errors
    /// `INTERNAL` if the stored text was changed by other means and is not JSON any more; storage faults.
    pub(crate) async fn document_json(&mut self, document: Document) -> Result<Option<Value>, Fault> {
        let text = self.document(document).await?;
        let parse = |text: String| {
            serde_json::from_str(&text)
                .map_err(|error| Fault::internal("A document of the catalog is malformed.", error))
        };
        text.map(parse).transpose()
    }

    /// The text of a document.
    ///
    /// # Errors
    /// Storage faults.
    pub(crate) async fn document(&mut self, document: Document) -> Result<Option<String>, Fault> {
        let Some(tx) = &mut self.tx else { return Ok(None) };
        Ok(documents::load(tx, document.as_str()).await?.map(|row| row.content))
    }

    /// Returns what became of the entries that changed after a revision; `None` if that is no longer known.
    ///
    /// # Errors
    /// Storage faults.
    pub(crate) async fn changed_since(
        &mut self,
        revision: i64,
    ) -> Result<Option<BTreeMap<String, Since>>, Fault> {
        let newest = self.state.revision;
        let Some(tx) = &mut self.tx else { return Ok((revision == 0).then(BTreeMap::new)) };
        changes::since(tx, revision, newest).await
    }

    /// Ends the snapshot.
    ///
    /// # Errors
    /// Storage faults.
    pub(crate) async fn close(self) -> Result<(), Fault> {
        match self.tx {
            Some(tx) => tx.commit().await,
            None => Ok(()),
        }
    }
}

fn to_stored(rows: Vec<EntryRow>) -> Result<Vec<Stored>, Fault> {
    rows.into_iter().map(rows::stored).collect()
}

/// The state of a catalog without entries.
fn empty() -> CatalogState {
    let hash = sha256::digest(b"");
    CatalogState { revision: 0, entries: 0, hash, meta_hash: hash }
}
