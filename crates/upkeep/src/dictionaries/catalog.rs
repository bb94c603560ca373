//! `dictionaries.json`: which lists there are and where each came from.

use std::fs;
use std::io;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Name of the file.
pub const CATALOG: &str = "dictionaries.json";

/// The lists of a folder, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Catalog {
    /// One a list.
    pub dictionaries: Vec<Entry>,
}

/// One list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
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

impl Catalog {
    /// The record of a folder; an empty one where there is none, or none that can be read.
    #[must_use]
    pub fn read(folder: &Path) -> Self {
        fs::read(folder.join(CATALOG))
            .ok()
            .and_then(|json| serde_json::from_slice(&json).ok())
            .unwrap_or_default()
    }

    /// The list called `name`.
    #[must_use]
    pub fn entry(&self, name: &str) -> Option<&Entry> {
        self.dictionaries.iter().find(|entry| entry.name == name)
    }

    /// Adds a list, in the place of one of the same name.
    pub(super) fn put(&mut self, entry: Entry) {
        self.dictionaries.retain(|known| known.name != entry.name);
        self.dictionaries.push(entry);
        self.dictionaries.sort_by(|a, b| a.name.cmp(&b.name));
    }

    /// Writes the record aside and renames it into its place.
    pub(super) fn write(&self, folder: &Path) -> io::Result<()> {
        let aside = folder.join(format!(".{CATALOG}.new"));
        fs::write(&aside, serde_json::to_vec_pretty(self)?)?;
        fs::rename(aside, folder.join(CATALOG))
    }
}
