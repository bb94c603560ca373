//! Dictionaries: word lists that split unsegmented identifiers such as `getusername`.
//!
//! Each is a file `<name>.txt` in one folder with the catalog `dictionaries.json`. A file that is not in the catalog,
//! or whose sha256 differs from the recorded one, is not used.

mod catalog;
mod install;
mod load;
mod validate;

pub use catalog::{CATALOG, DictionaryEntry};
pub use install::{InstalledDictionaries, InstalledDictionary, SkippedDictionary, install_dictionaries};
pub use load::load_dictionary;

use std::path::PathBuf;

use contract::config::{Dictionaries, Layout};

/// Returns the folder of an installation's dictionaries.
#[must_use]
pub fn dictionaries_folder(layout: &Layout, settings: &Dictionaries) -> PathBuf {
    settings.dir.clone().unwrap_or_else(|| layout.dictionaries())
}
