//! `catalog.json`: the record of an export, so that a later export distinguishes its own files from those of people.

use std::collections::BTreeMap;

use contract::{echo, parse_unique};
use platform::sha256;
use serde::{Deserialize, Serialize};

use super::{CATALOG_FILE, CATALOG_FILE_BYTES_MAX, CRITERIA_FILE, GATES_FILE, entry_file_id, pretty};
use crate::canonical::parse_hash;
use crate::diff::{CatalogHashes, catalog_hashes};
use crate::entry::is_id;

/// The record of an exported folder in `catalog.json`. After a merge that changes an entry's body without its hash, or loses an entry,
/// it no longer fits the folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CatalogFile {
    /// Hash of the catalog, hexadecimal.
    pub hash: String,
    /// Hash over the metadata, hexadecimal.
    pub meta_hash: String,
    /// Number of entries.
    pub count: usize,
    /// Version of the entry format.
    pub schema_version: String,
    /// The other files that this export wrote, with the [`file_hash`] of each. A later export replaces and removes no others.
    /// `None` in files of earlier versions, which wrote `ids`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<BTreeMap<String, String>>,
    /// The ids of the entries. Only read: earlier versions wrote them.
    #[serde(default, skip_serializing)]
    pub ids: Vec<String>,
}

/// Returns the hash of a file's text, hexadecimal. Line ends do not count, because git and editors change them.
#[must_use]
pub fn file_hash(text: &str) -> String {
    sha256::digest_hex(text.replace("\r\n", "\n").as_bytes())
}

impl CatalogFile {
    /// Returns its text.
    #[must_use]
    pub fn to_text(&self) -> String {
        pretty(self)
    }

    /// Parses the text of a `catalog.json`.
    ///
    /// # Errors
    /// The mistake, as one sentence. A name in `files` that an export cannot have written is an error, and so is a malformed id in
    /// `ids`, because files with these names are removed.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.len() > CATALOG_FILE_BYTES_MAX {
            return Err(format!(
                "`{CATALOG_FILE}` has {} bytes; at most {CATALOG_FILE_BYTES_MAX} are allowed.",
                text.len()
            ));
        }
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let unreadable = |error: String| {
            format!("`{CATALOG_FILE}` cannot be read: {}.", echo(error.trim_end_matches('.')))
        };
        let value = parse_unique(text.as_bytes()).map_err(|error| unreadable(error.to_string()))?;
        let file: Self = serde_json::from_value(value).map_err(|error| unreadable(error.to_string()))?;
        if let Some(id) = file.ids.iter().find(|id| !is_id(id)) {
            return Err(format!("`ids` of `{CATALOG_FILE}` has {:?}, which is not an id.", echo(id)));
        }
        let is_valid =
            |(name, hash): &(&String, &String)| is_exported_name(name) && parse_hash(hash).is_some();
        match file.files.iter().flatten().find(|named| !is_valid(named)) {
            Some((name, _)) => {
                Err(format!("`files` of `{CATALOG_FILE}` has {:?}, which no export writes so.", echo(name)))
            }
            None => Ok(file),
        }
    }

    /// Checks whether it was written for entries with these hashes.
    #[must_use]
    pub fn fits(&self, hashes: &CatalogHashes) -> bool {
        let (source, meta) = catalog_hashes(hashes);
        self.count == hashes.len()
            && parse_hash(&self.hash) == Some(source)
            && parse_hash(&self.meta_hash) == Some(meta)
    }
}

/// Checks whether an export writes files with this name, beside `catalog.json`.
fn is_exported_name(name: &str) -> bool {
    // The folder's README, in any case, belongs to its owner.
    let is_readme = name.eq_ignore_ascii_case("readme.md");
    (entry_file_id(name).is_some() && !is_readme) || matches!(name, GATES_FILE | CRITERIA_FILE)
}
