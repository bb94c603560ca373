//! The dictionary of this installation, read once and again only when somebody changed it, also from another process.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::Mutex;

use contract::config::{self, Enabled, Layout};
use languages::Dictionary;
use upkeep::dictionaries;

/// What tells one state of the folder from another: the record of its lists is replaced with each change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    modified_ns: i128,
    bytes: u64,
}

/// The installed word lists.
pub struct Dictionaries {
    folder: PathBuf,
    settings: config::Dictionaries,
    loaded: Mutex<(Option<Stamp>, Option<Arc<Dictionary>>)>,
}

impl Dictionaries {
    pub(super) fn new(layout: &Layout, settings: &config::Dictionaries) -> Self {
        let folder = dictionaries::folder(layout, settings);
        Self { folder, settings: settings.clone(), loaded: Mutex::new((None, None)) }
    }

    /// Where the lists are.
    #[must_use]
    pub fn folder(&self) -> &std::path::Path {
        &self.folder
    }

    /// The dictionary as of now; none where no list is installed, or lists are switched off.
    pub async fn current(&self) -> Option<Arc<Dictionary>> {
        if self.settings.enabled == Enabled::Off {
            return None;
        }
        let stamp = self.stamp().await;
        let mut loaded = self.loaded.lock().await;
        if loaded.0 != stamp {
            let (folder, settings) = (self.folder.clone(), self.settings.clone());
            let dictionary =
                tokio::task::spawn_blocking(move || dictionaries::load(&folder, &settings)).await;
            // A panic there is logged by the runtime; without a dictionary all else works.
            *loaded = (stamp, dictionary.ok().flatten().map(Arc::new));
        }
        loaded.1.clone()
    }

    async fn stamp(&self) -> Option<Stamp> {
        let found = tokio::fs::metadata(self.folder.join(dictionaries::CATALOG)).await.ok()?;
        let modified_ns = i128::from(found.mtime()) * 1_000_000_000 + i128::from(found.mtime_nsec());
        Some(Stamp { inode: found.ino(), modified_ns, bytes: found.len() })
    }
}
