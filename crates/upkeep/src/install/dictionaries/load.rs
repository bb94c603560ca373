//! Reads the installed dictionaries of a folder into one [`Dictionary`].

use std::fs;
use std::path::Path;

use super::catalog::DictionaryEntry;
use crate::install::catalog::DownloadCatalog;
use contract::config::Dictionaries;
use languages::Dictionary;
use platform::sha256;

/// Returns a dictionary of the lists that `settings` selects; `None` if no list is usable. Logs a warning for each
/// damaged list and ignores the list. Blocks for about 0.2 s.
#[must_use]
pub fn load_dictionary(folder: &Path, settings: &Dictionaries) -> Option<Dictionary> {
    let catalog = DownloadCatalog::<DictionaryEntry>::read(folder);
    let is_selected =
        |entry: &&DictionaryEntry| settings.languages.is_empty() || settings.languages.contains(&entry.name);
    let texts: Vec<String> =
        catalog.entries.iter().filter(is_selected).filter_map(|entry| read_list(folder, entry)).collect();
    let dictionary = Dictionary::from_lists(texts.iter().map(String::as_str), settings.words_max);
    (!dictionary.is_empty()).then_some(dictionary)
}

fn read_list(folder: &Path, entry: &DictionaryEntry) -> Option<String> {
    let path = folder.join(&entry.file);
    // The size is compared first, so that a file that grew after its installation is not read into memory.
    let bytes = match fs::metadata(&path) {
        Ok(metadata) if metadata.len() == entry.bytes => fs::read(&path).unwrap_or_default(),
        _ => Vec::new(),
    };
    let text =
        String::from_utf8(bytes).ok().filter(|text| sha256::digest_hex(text.as_bytes()) == entry.sha256);
    if text.is_none() {
        tracing::warn!(
            name = entry.name,
            "the dictionary is missing or altered and is not used; download it again"
        );
    }
    text
}
