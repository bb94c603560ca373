//! The files that an earlier export wrote to a folder: only those that are unchanged since are replaced and removed.

use std::collections::BTreeMap;

use super::folder::read_catalog_file;
use super::writable_folder::{Occupant, WritableFolder};
use instructions::diff::{CatalogHashes, Hashes};
use instructions::files::{
    CRITERIA_FILE, CatalogFile, EntryForm, GATES_FILE, entry_file_name, entry_of_file, file_hash,
};
use instructions::gates::Gates;
use instructions::review::Criteria;

/// A file with this name, in any case, is the folder's own description and not an entry.
pub(super) const README: &str = "readme.md";

/// The files that the last export of a folder wrote.
#[derive(Debug, Default)]
pub(super) struct EarlierExport {
    /// The hash of each file, by name; empty if it is unknown.
    files: BTreeMap<String, String>,
}

impl EarlierExport {
    /// Reads the list in `catalog.json`. Without that file, no export has written anything.
    ///
    /// # Errors
    /// The reason why `catalog.json` is not the file of an export, as one sentence.
    pub(super) fn read(folder: &WritableFolder) -> Result<Self, String> {
        let Some(mut file) = read_catalog_file(folder.folder())? else { return Ok(Self::default()) };
        let files = file.files.take().unwrap_or_else(|| files_of_ids(folder, &file));
        Ok(Self { files })
    }

    /// Checks whether the file is as the export left it. Anyone may have written `catalog.json`, and it may name any file, so the
    /// file must also hold what its name implies.
    pub(super) fn wrote(&self, name: &str, text: &str) -> bool {
        let recorded = self.files.get(name);
        recorded.is_some_and(|hash| hash.eq_ignore_ascii_case(&file_hash(text))) && is_of_catalog(name, text)
    }

    /// Returns `true` if the export wrote a file with this name, whatever it contains now.
    pub(super) fn lists(&self, name: &str) -> bool {
        self.files.contains_key(name)
    }

    /// Returns the names of the files.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }
}

/// Checks whether a file holds what its name implies: an entry, gates or criteria.
pub(super) fn is_of_catalog(name: &str, text: &str) -> bool {
    match name {
        GATES_FILE => Gates::parse(text).is_ok(),
        CRITERIA_FILE => Criteria::with_project(text).is_ok(),
        _ => entry_of_file(name, text).is_some(),
    }
}

/// Returns the files of an export by an earlier version, which recorded ids and the hash of all entries together. If an entry has
/// been changed since, the hash of no file is known.
fn files_of_ids(folder: &WritableFolder, file: &CatalogFile) -> BTreeMap<String, String> {
    let (mut files, mut hashes) = (BTreeMap::new(), CatalogHashes::new());
    let names = file
        .ids
        .iter()
        .flat_map(|id| [EntryForm::Markdown, EntryForm::Json].map(|form| entry_file_name(id, form)));
    for name in names.filter(|name| name != README) {
        let Occupant::File(bytes) = folder.occupant(&name) else { continue };
        let Ok(text) = String::from_utf8(bytes) else { continue };
        let Some(entry) = entry_of_file(&name, &text) else { continue };
        let own = Hashes { source: entry.source_hash(), meta: entry.meta_hash() };
        files.insert(name, file_hash(&text));
        hashes.insert(entry.id, own);
    }
    // The same entry in both formats is one too many.
    if !file.fits(&hashes) || files.len() != hashes.len() {
        files.values_mut().for_each(String::clear);
    }
    files
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn read(path: &Path) -> EarlierExport {
        EarlierExport::read(&WritableFolder::open(&path.canonicalize().unwrap()).unwrap()).unwrap()
    }

    #[test]
    fn a_file_that_a_stranger_lists_must_be_of_a_catalog() {
        let root = tempfile::tempdir().unwrap();
        let texts = [
            ("changelog.md", "# Changelog\n"),
            ("package.json", "{\"name\": \"x\"}"),
            ("gates.json", "{\"doors\": []}"),
        ];
        let files = texts.map(|(name, text)| (name.to_owned(), file_hash(text)));
        let file = CatalogFile {
            hash: String::new(),
            meta_hash: String::new(),
            count: 0,
            schema_version: "1".into(),
            files: Some(files.into()),
            ids: Vec::new(),
        };
        fs::write(root.path().join("catalog.json"), file.to_text()).unwrap();
        let earlier = read(root.path());
        assert_eq!(earlier.names().count(), 3);
        for (name, text) in texts {
            assert!(!earlier.wrote(name, text), "{name}");
        }
    }

    #[test]
    fn without_a_catalog_file_nothing_was_written() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(read(root.path()).names().count(), 0);
    }
}
