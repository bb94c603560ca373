//! The record source of the catalog: one document per entry, so that search finds entries by meaning.

use contract::Fault;
use engine::indexing::{Document, Documents, RecordSource};
use futures::future::BoxFuture;
use instructions::{Stored, entry};
use store::instructions::entries;
use store::postgres::INSTRUCTIONS;
use store::{Access, Project, ProjectTx, Store};

use super::read::Catalog;
use super::rows;

/// The root under which entries are indexed, in place of a repository's path.
pub(crate) const RECORDS_ROOT: &str = "instructions:catalog";

/// The record source through which the index job and `show_file` read entries.
pub(crate) static RECORDS: RecordSource = RecordSource {
    root: RECORDS_ROOT,
    prepare: |store, project| Box::pin(store::provision_module(store, project, &INSTRUCTIONS)),
    has_any: |store, project| Box::pin(has_entries(store, project)),
    documents: |store, project, _| Box::new(EntryDocuments { store, project }),
    document: |store, project, path, _| Box::pin(document_at(store, project, path)),
};

const FOLDER: &str = "instructions/";
const EXTENSION: &str = ".md";

/// The id of the entry whose document has this path.
#[must_use]
pub(crate) fn entry_id_of_path(path: &str) -> Option<&str> {
    path.strip_prefix(FOLDER)?.strip_suffix(EXTENSION).filter(|id| entry::is_id(id))
}

/// Reads the documents of a project's entries.
struct EntryDocuments<'a> {
    store: &'a Store,
    project: &'a Project,
}

impl Documents for EntryDocuments<'_> {
    // In the order of ids. That of paths differs where an id begins with another one, which does not matter: each page begins
    // after the id in `after`.
    fn page<'a>(&'a self, after: &'a str, limit: usize) -> BoxFuture<'a, Result<Vec<Document>, Fault>> {
        Box::pin(async move {
            let after = entry_id_of_path(after).unwrap_or_default();
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let mut tx = ProjectTx::begin(self.store, self.project, Access::Write).await?;
            let page = entries::page(&mut tx, after, limit).await?;
            tx.commit().await?;
            page.into_iter().map(|row| rows::stored(row).map(|stored| document(&stored))).collect()
        })
    }
}

async fn has_entries(store: &Store, project: &Project) -> Result<bool, Fault> {
    if !store::has_module(store, project, &INSTRUCTIONS).await? {
        return Ok(false);
    }
    let mut tx = ProjectTx::begin(store, project, Access::Search).await?;
    let any = entries::any(&mut tx).await?;
    tx.commit().await?;
    Ok(any)
}

async fn document_at(store: &Store, project: &Project, path: &str) -> Result<Option<Document>, Fault> {
    let Some(id) = entry_id_of_path(path) else { return Ok(None) };
    let mut catalog = Catalog::open(store, project).await?;
    let stored = catalog.get(id).await?;
    catalog.close().await?;
    Ok(stored.as_ref().map(document))
}

fn document(stored: &Stored) -> Document {
    let entry = &stored.instruction;
    let rationale = entry.rationale.as_ref().map(|text| format!("\n\n{text}")).unwrap_or_default();
    let mut meta = vec![
        "recordtype=instruction".to_owned(),
        format!("requirement={}", entry.requirement.as_str()),
        format!("audience={}", entry.audience.as_str()),
        format!("priority={}", entry.priority),
    ];
    meta.extend(entry.categories.iter().map(|category| format!("category={category}")));
    Document {
        path: format!("{FOLDER}{}{EXTENSION}", entry.id),
        text: format!("# {}\n\n{}{rationale}\n", entry.title, entry.body),
        mode: "records",
        meta,
        modified_ns: stored.updated_ms.saturating_mul(1_000_000),
    }
}
