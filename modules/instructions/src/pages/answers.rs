//! Answers of the catalog's tools that several of its pages read.

use serde::Deserialize;
use serde_json::{Value, json};

use contract::{ErrorCode, echo};
use surfaces::http::pages::frame::{Asker, PageError};

/// An entry of the catalog; most fields are absent in an abbreviated entry.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Entry {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) requirement: String,
    pub(super) priority: u8,
    pub(super) source_hash: String,
    #[serde(default)]
    pub(super) body: String,
    #[serde(default)]
    pub(super) categories: Vec<String>,
    pub(super) rationale: Option<String>,
    pub(super) audience: Option<String>,
    pub(super) deprecated_by: Option<String>,
    pub(super) created_at: Option<String>,
    pub(super) updated_at: Option<String>,
    pub(super) usage_count: Option<u64>,
    pub(super) last_used_at: Option<String>,
    pub(super) risk_score: Option<i32>,
    /// Relevance of the entry in a search by meaning, 0 to 1.
    pub(super) score: Option<f64>,
}

#[derive(Debug, Deserialize)]
struct Got {
    hash: Option<String>,
    item: Option<Entry>,
}

/// Returns an entry, and the hash of the catalog that contains it.
pub(super) async fn entry(asker: &Asker, project: &str, id: &str) -> Result<(Entry, String), PageError> {
    let got = asker.tool::<Got>("instructions_get", json!({ "id": id, "project_id": project })).await?.result;
    let Some(entry) = got.item else {
        let message = format!("There is no entry `{}` in the catalog.", echo(id));
        let hint = "It may have been removed; the page of the entries lists those that exist.".to_owned();
        return Err(PageError { hint: Some(hint), ..PageError::new(ErrorCode::NotFound, message) });
    };
    Ok((entry, got.hash.unwrap_or_default()))
}

/// The documents of the catalog.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Documents {
    /// Conditions on the catalog.
    pub(super) gates: Option<Value>,
    /// Rules for reviews of texts.
    pub(super) criteria: Option<Value>,
}

/// An id that no entry can have, so that an export of it contains only the documents.
const NO_ENTRY: &str = "-";

/// Returns the documents of the catalog.
pub(super) async fn documents(asker: &Asker, project: &str) -> Result<Documents, PageError> {
    let arguments = json!({ "ids": [NO_ENTRY], "gates": true, "criteria": true, "project_id": project });
    Ok(asker.tool::<Documents>("instructions_export", arguments).await?.result)
}

/// Formats a document as people write it.
pub(super) fn document_text(document: &Value) -> String {
    serde_json::to_string_pretty(document).unwrap_or_default()
}
