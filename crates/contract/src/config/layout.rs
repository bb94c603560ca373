//! Where files live below `PAIROFCLEATS_HOME`.

use std::path::{Path, PathBuf};

/// The folders of one installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    home: PathBuf,
    disk_free_bytes_min: u64,
}

impl Layout {
    /// The layout below `home`, which should be absolute.
    #[must_use]
    pub fn new(home: PathBuf) -> Self {
        Self { home, disk_free_bytes_min: 0 }
    }

    /// The same, where at least `bytes` of the disk are to stay free.
    #[must_use]
    pub fn with_disk_free_bytes_min(self, bytes: u64) -> Self {
        Self { disk_free_bytes_min: bytes, ..self }
    }

    /// Bytes of its file system that are to stay free (`server.disk_free_bytes_min`).
    #[must_use]
    pub fn disk_free_bytes_min(&self) -> u64 {
        self.disk_free_bytes_min
    }

    /// The data directory itself.
    #[must_use]
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// The operator's settings.
    #[must_use]
    pub fn config_file(&self) -> PathBuf {
        self.home.join("config.toml")
    }

    /// A file for each address that a server of this data directory has now.
    #[must_use]
    pub fn serving(&self) -> PathBuf {
        self.home.join("serving")
    }

    /// Downloaded archives, kept so that a repair needs no network.
    #[must_use]
    pub fn downloads(&self) -> PathBuf {
        self.home.join("downloads")
    }

    /// Installed runtime files: Postgres, ONNX Runtime.
    #[must_use]
    pub fn runtime(&self) -> PathBuf {
        self.home.join("runtime")
    }

    /// Installed models, a folder each.
    #[must_use]
    pub fn models(&self) -> PathBuf {
        self.home.join("models")
    }

    /// What was found when installed files were compared with what was installed.
    #[must_use]
    pub fn compared(&self) -> PathBuf {
        self.home.join("compared")
    }

    /// Word lists.
    #[must_use]
    pub fn dictionaries(&self) -> PathBuf {
        self.home.join("dictionaries")
    }

    /// Which session configurations the user has confirmed.
    #[must_use]
    pub fn trusted(&self) -> PathBuf {
        self.home.join("trusted")
    }

    /// Database extensions.
    #[must_use]
    pub fn extensions(&self) -> PathBuf {
        self.home.join("extensions")
    }

    /// Files of the project with this (well-formed) id: portable indexes, exports, context packs. Nobody else's.
    #[must_use]
    pub fn project(&self, id: &str) -> PathBuf {
        self.home.join("projects").join(id)
    }

    /// The embedded cluster: data directory, locks, log.
    #[must_use]
    pub fn cluster(&self) -> PathBuf {
        self.home.join("postgres")
    }
}

/// The platform's data directory: `/var/lib/pairofcleats` for root, else the user's own.
///
/// Root gets a system directory because Postgres must run as another user, who cannot enter root's home.
#[must_use]
pub fn default_home() -> PathBuf {
    if rustix::process::geteuid().is_root() {
        return PathBuf::from("/var/lib/pairofcleats");
    }
    directories::ProjectDirs::from("", "", "pairofcleats")
        .map_or_else(|| PathBuf::from(".pairofcleats"), |dirs| dirs.data_dir().to_path_buf())
}
