//! A folder of entries, as the user or an export left it.

use std::path::{Path, PathBuf};

use super::import_calls::RefusedEntry;
use crate::catalog::{self, FolderContent};
use contract::{ErrorCode, Fault, echo};
use instructions::diff::{CatalogHashes, Hashes};
use instructions::files::{CATALOG_FILE, CATALOG_FILE_BYTES_MAX, CatalogFile};
use instructions::{Instruction, Rules};
use platform::safe_open::{Folder, ReadError};

/// The contents of a folder.
pub(super) struct EntryFolder {
    /// The entries and documents.
    pub(super) content: FolderContent,
    /// The hashes of the entries.
    pub(super) hashes: CatalogHashes,
    /// Entries that violate a rule or repeat an id.
    pub(super) errors: Vec<RefusedEntry>,
    /// A remark about `catalog.json`, as a sentence.
    pub(super) note: Option<String>,
}

/// Reads a folder and checks its entries. Blocks the thread.
///
/// # Errors
/// `INVALID_INPUT` if the folder or one of its files cannot be read.
pub(super) fn read_entry_folder(path: &Path, rules: &Rules) -> Result<EntryFolder, Fault> {
    let path = canonical_folder(path)?;
    let content = catalog::read_folder(&path)?;
    let (hashes, errors) = check(&content, rules);
    let file = Folder::open(&path).map_err(|error| unreadable(&path, &error))?;
    let note = match read_catalog_file(&file) {
        Ok(None) => None,
        Ok(Some(file)) => (errors.is_empty() && !file.fits(&hashes)).then(|| {
            format!(
                "The files are not those of the last export: {CATALOG_FILE} says {} entries and the hash {}.",
                file.count,
                echo(&file.hash)
            )
        }),
        Err(why) => Some(format!("{why} It is passed over.")),
    };
    Ok(EntryFolder { content, hashes, errors, note })
}

/// Returns the path of an existing folder with links resolved.
///
/// # Errors
/// `INVALID_INPUT` if the folder does not exist.
pub(super) fn canonical_folder(path: &Path) -> Result<PathBuf, Fault> {
    path.canonicalize().map_err(|error| unreadable(path, &error))
}

fn unreadable(path: &Path, error: &std::io::Error) -> Fault {
    let message = format!("The folder {} cannot be read: {error}.", path.display());
    Fault::new(ErrorCode::InvalidInput, message)
}

/// Reads the `catalog.json` of a folder, if there is one.
///
/// # Errors
/// The reason why it is not the file of an export, as one sentence.
pub(super) fn read_catalog_file(folder: &Folder) -> Result<Option<CatalogFile>, String> {
    let bytes = match folder.read(CATALOG_FILE, CATALOG_FILE_BYTES_MAX as u64) {
        Ok(bytes) => bytes,
        Err(ReadError::NotFound) => return Ok(None),
        Err(ReadError::Link) => {
            return Err(format!("`{CATALOG_FILE}` is a link, and links are not followed."));
        }
        Err(_) => return Err(format!("`{CATALOG_FILE}` cannot be read.")),
    };
    let text = String::from_utf8(bytes).map_err(|_| format!("`{CATALOG_FILE}` is not UTF-8."))?;
    CatalogFile::parse(&text).map(Some)
}

/// Returns the hashes of the valid entries of a folder, and the errors of the others.
fn check(content: &FolderContent, rules: &Rules) -> (CatalogHashes, Vec<RefusedEntry>) {
    let (mut hashes, mut errors) = (CatalogHashes::new(), Vec::new());
    for entry in &content.entries {
        let id = entry["id"].as_str().map(echo).unwrap_or_default();
        let checked = Instruction::check(entry.clone(), rules);
        match checked.map(|checked| checked.instruction) {
            Err(error) => errors.push(RefusedEntry { id, error }),
            Ok(entry) if hashes.contains_key(&entry.id) => {
                errors.push(RefusedEntry { id, error: "Two files have this id.".to_owned() });
            }
            Ok(entry) => {
                let of_entry = Hashes { source: entry.source_hash(), meta: entry.meta_hash() };
                hashes.insert(entry.id, of_entry);
            }
        }
    }
    (hashes, errors)
}
