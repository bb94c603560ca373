//! The entries of `extensions.json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::install::catalog::DownloadEntry;

/// One installed library.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExtensionEntry {
    /// What it is called.
    pub name: String,
    /// What it runs on: linux-x86_64.
    pub platform: String,
    /// Where it came from: an address, or a package of the product's own manifest.
    pub url: String,
    /// Its file, in the folder of extensions.
    pub file: String,
    /// Of the file.
    pub sha256: String,
    /// Of what was fetched, which may be an archive.
    pub source_sha256: String,
    /// Whether that was known before it was fetched.
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
}

impl DownloadEntry for ExtensionEntry {
    const FILE_NAME: &'static str = "extensions.json";
    const FIELD: &'static str = "extensions";

    fn key(&self) -> (&str, &str) {
        (&self.name, &self.platform)
    }

    fn file(&self) -> &str {
        &self.file
    }

    fn sha256(&self) -> &str {
        &self.sha256
    }
}
