//! The catalog of a folder: a JSON file that records origin and sha256 of each downloaded file.

use std::fs;
use std::io;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// An entry of a catalog: one installed file.
pub trait DownloadEntry: Clone + Serialize + DeserializeOwned {
    /// Name of the catalog's file.
    const FILE_NAME: &'static str;
    /// Field of the JSON object that holds the entries.
    const FIELD: &'static str;

    /// Returns name and platform, which identify the entry; the platform is empty for files that fit all platforms.
    fn key(&self) -> (&str, &str);

    /// Returns the path of the installed file, relative to the catalog's folder.
    fn file(&self) -> &str;

    /// Returns the SHA-256 of the installed file, hexadecimal.
    fn sha256(&self) -> &str;
}

/// The installed files of a folder, sorted by key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DownloadCatalog<E> {
    /// One entry for each installed file.
    pub entries: Vec<E>,
}

impl<E: DownloadEntry> DownloadCatalog<E> {
    /// Reads the catalog of `folder`. A missing or malformed catalog counts as empty.
    #[must_use]
    pub fn read(folder: &Path) -> Self {
        let entries = fs::read(folder.join(E::FILE_NAME)).ok().and_then(|json| {
            let mut object: Map<String, Value> = serde_json::from_slice(&json).ok()?;
            serde_json::from_value(object.remove(E::FIELD)?).ok()
        });
        Self { entries: entries.unwrap_or_default() }
    }

    /// Returns the entry of `name` for `platform`.
    #[must_use]
    pub fn find(&self, name: &str, platform: &str) -> Option<&E> {
        self.entries.iter().find(|entry| entry.key() == (name, platform))
    }

    /// Like [`DownloadCatalog::find`], but only if the installed file has the recorded bytes. Reads the file.
    #[must_use]
    pub fn find_intact(&self, folder: &Path, name: &str, platform: &str) -> Option<&E> {
        self.find(name, platform).filter(|entry| super::is_intact(&folder.join(entry.file()), entry.sha256()))
    }

    /// Adds an entry, or replaces the one with its key.
    pub(super) fn insert(&mut self, entry: E) {
        self.entries.retain(|known| known.key() != entry.key());
        self.entries.push(entry);
        self.entries.sort_by(|a, b| a.key().cmp(&b.key()));
    }

    /// Replaces the catalog of `folder` atomically.
    pub(super) fn write(&self, folder: &Path) -> io::Result<()> {
        let new = folder.join(format!(".{}.new", E::FILE_NAME));
        let object = Map::from_iter([(E::FIELD.to_owned(), serde_json::to_value(&self.entries)?)]);
        fs::write(&new, serde_json::to_vec_pretty(&object)?)?;
        fs::rename(new, folder.join(E::FILE_NAME))
    }
}
