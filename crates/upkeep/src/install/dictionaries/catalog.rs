//! The entries of `dictionaries.json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::install::catalog::DownloadEntry;

/// Name of the catalog's file.
pub const CATALOG: &str = "dictionaries.json";

/// One installed dictionary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DictionaryEntry {
    /// What it is called.
    pub name: String,
    /// Where it came from: an address, or a package of the product's own manifest.
    pub url: String,
    /// Its file, in the folder of dictionaries.
    pub file: String,
    /// Of the file.
    pub sha256: String,
    /// Whether its sha256 was known before it was fetched.
    pub verified: bool,
    /// The server's validator, for a later conditional request.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub etag: Option<String>,
    /// The same, for servers without an `ETag`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub last_modified: Option<String>,
    /// When it was fetched, ISO-8601, UTC.
    pub downloaded_at: String,
    /// Length of the file.
    pub bytes: u64,
    /// Words in it.
    pub words: u64,
}

impl DownloadEntry for DictionaryEntry {
    const FILE_NAME: &'static str = CATALOG;
    const FIELD: &'static str = "dictionaries";

    fn key(&self) -> (&str, &str) {
        (&self.name, "")
    }

    fn file(&self) -> &str {
        &self.file
    }

    fn sha256(&self) -> &str {
        &self.sha256
    }
}
