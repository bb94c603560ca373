//! The lists of a folder as one dictionary. What is damaged is left out and said in the log.

use std::fs;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::catalog::{Catalog, Entry};
use contract::config::Dictionaries;
use languages::Dictionary;

/// The dictionary of the lists that `settings` names; none when no list can be used. Blocks, for about 0.2 s.
#[must_use]
pub fn load(folder: &Path, settings: &Dictionaries) -> Option<Dictionary> {
    let catalog = Catalog::read(folder);
    let chosen = |entry: &&Entry| settings.languages.is_empty() || settings.languages.contains(&entry.name);
    let texts: Vec<String> =
        catalog.dictionaries.iter().filter(chosen).filter_map(|entry| text(folder, entry)).collect();
    let dictionary = Dictionary::of(texts.iter().map(String::as_str), settings.words_max);
    (!dictionary.is_empty()).then_some(dictionary)
}

fn text(folder: &Path, entry: &Entry) -> Option<String> {
    let path = folder.join(&entry.file);
    // The size first, so that no more is read than was checked when it came.
    let bytes = match fs::metadata(&path) {
        Ok(found) if found.len() == entry.bytes => fs::read(&path).unwrap_or_default(),
        _ => Vec::new(),
    };
    let text = String::from_utf8(bytes).ok().filter(|text| sha256(text.as_bytes()) == entry.sha256);
    if text.is_none() {
        tracing::warn!(
            name = entry.name,
            "the dictionary is missing or altered and is not used; download it again"
        );
    }
    text
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
