//! The dictionary of this installation: the words by which joined identifiers are split. It is reloaded when the catalog of word
//! lists changes, even if another process changed it.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::Mutex;

use contract::config::{self, Enabled, Layout};
use languages::Dictionary;
use upkeep::install::dictionaries::{CATALOG, dictionaries_folder, load_dictionary};

/// Distinguishes versions of the catalog file: each change renames a new file into its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CatalogVersion {
    inode: u64,
    modified_ns: i128,
    bytes: u64,
}

/// The installed word lists.
pub struct Dictionaries {
    folder: PathBuf,
    settings: config::Dictionaries,
    loaded: Mutex<(Option<CatalogVersion>, Option<Arc<Dictionary>>)>,
}

impl Dictionaries {
    pub(super) fn new(layout: &Layout, settings: &config::Dictionaries) -> Self {
        let folder = dictionaries_folder(layout, settings);
        Self { folder, settings: settings.clone(), loaded: Mutex::new((None, None)) }
    }

    /// The folder of the word lists.
    #[must_use]
    pub fn folder(&self) -> &std::path::Path {
        &self.folder
    }

    /// The current dictionary; `None` if no list is installed or lists are disabled.
    pub async fn current(&self) -> Option<Arc<Dictionary>> {
        if self.settings.enabled == Enabled::Off {
            return None;
        }
        let version = self.catalog_version().await;
        let mut loaded = self.loaded.lock().await;
        if loaded.0 != version {
            let (folder, settings) = (self.folder.clone(), self.settings.clone());
            let dictionary =
                platform::task::spawn_blocking(move || load_dictionary(&folder, &settings)).await;
            // A panic is printed by Rust's default hook; the program also works without a dictionary.
            *loaded = (version, dictionary.ok().flatten().map(Arc::new));
        }
        loaded.1.clone()
    }

    async fn catalog_version(&self) -> Option<CatalogVersion> {
        let found = tokio::fs::metadata(self.folder.join(CATALOG)).await.ok()?;
        let modified_ns = i128::from(found.mtime()) * 1_000_000_000 + i128::from(found.mtime_nsec());
        Some(CatalogVersion { inode: found.ino(), modified_ns, bytes: found.len() })
    }
}
