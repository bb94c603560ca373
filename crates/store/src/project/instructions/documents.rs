//! `instruction_documents`: the gates and the review criteria of a project, as the texts that people wrote.

use super::state::hash;
use crate::postgres::sql;
use crate::transaction::ProjectTx;
use contract::Fault;

/// A document as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentRow {
    /// Its text.
    pub content: String,
    /// SHA-256 of the text.
    pub hash: [u8; 32],
}

/// The document with this name: `gates` or `criteria`.
pub async fn load(tx: &mut ProjectTx, name: &str) -> Result<Option<DocumentRow>, Fault> {
    let text = format!("SELECT content, hash FROM {} WHERE name = $1", tx.table("instruction_documents"));
    let row = tx.tx.first(sql(text).bind(name)).await?;
    row.map(|row| Ok(DocumentRow { content: row.try_get("content")?, hash: hash(&row, "hash")? })).transpose()
}

/// Stores a document in place of the one with this name.
pub async fn put(
    tx: &mut ProjectTx,
    name: &str,
    document: &DocumentRow,
    revision: i64,
    now_ms: i64,
) -> Result<(), Fault> {
    let text = format!(
        "INSERT INTO {} (name, content, hash, revision, updated_ms) VALUES ($1, $2, $3, $4, $5) \
         ON CONFLICT (name) DO UPDATE SET content = excluded.content, hash = excluded.hash, \
           revision = excluded.revision, updated_ms = excluded.updated_ms",
        tx.table("instruction_documents")
    );
    let query = sql(text).bind(name).bind(document.content.as_str()).bind(document.hash.as_slice());
    tx.execute(query.bind(revision).bind(now_ms)).await.map(drop)
}
