//! Dictionaries: word lists that split unsegmented identifiers such as `getusername`.
//!
//! Each is `<name>.txt` in one folder, with `dictionaries.json` beside it. A file that the catalog does not list, or whose bytes
//! differ from what it records, is not used.

mod catalog;
mod install;
mod load;
mod validate;

pub use catalog::{CATALOG, DictionaryEntry};
pub use install::{InstalledDictionaries, InstalledDictionary, SkippedDictionary, install_dictionaries};
pub use load::load_dictionary;

use std::path::PathBuf;

use contract::config::{Dictionaries, Layout};

/// The folder of an installation's dictionaries.
#[must_use]
pub fn dictionaries_folder(layout: &Layout, settings: &Dictionaries) -> PathBuf {
    settings.dir.clone().unwrap_or_else(|| layout.dictionaries())
}
