//! Paths of the files in the data directory, `PAIROFCLEATS_HOME`.

use std::path::{Path, PathBuf};

/// The directories of one installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    home: PathBuf,
    disk_free_bytes_min: u64,
}

/// Locations of clusters that the server's user cannot reach below the data directory.
pub const RELOCATED_CLUSTERS: [&str; 2] =
    ["/var/lib/pairofcleats/clusters", "/var/lib/pairofcleats-clusters"];

/// The folder with the mirrors of archives, in [`Layout::mirrors`].
pub const ARCHIVES_FOLDER: &str = "archives";

impl Layout {
    /// Creates the layout of the data directory `home`, which should be absolute.
    #[must_use]
    pub fn new(home: PathBuf) -> Self {
        Self { home, disk_free_bytes_min: 0 }
    }

    /// Returns the same layout with the minimum of free disk space.
    #[must_use]
    pub fn with_disk_free_bytes_min(self, bytes: u64) -> Self {
        Self { disk_free_bytes_min: bytes, ..self }
    }

    /// Bytes that must stay free on the file system of the data directory (`server.disk_free_bytes_min`).
    #[must_use]
    pub fn disk_free_bytes_min(&self) -> u64 {
        self.disk_free_bytes_min
    }

    /// The data directory.
    #[must_use]
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// The operator's configuration file.
    #[must_use]
    pub fn config_file(&self) -> PathBuf {
        self.home.join("config.toml")
    }

    /// A lock file for each address on which a server with this data directory listens.
    #[must_use]
    pub fn address_locks(&self) -> PathBuf {
        self.home.join("serving")
    }

    /// Downloaded archives, kept so that a repair needs no network.
    #[must_use]
    pub fn downloads(&self) -> PathBuf {
        self.home.join("downloads")
    }

    /// Installed programs and libraries: Postgres, ONNX Runtime.
    #[must_use]
    pub fn runtime(&self) -> PathBuf {
        self.home.join("runtime")
    }

    /// Installed models, one directory each.
    #[must_use]
    pub fn models(&self) -> PathBuf {
        self.home.join("models")
    }

    /// Cached results of comparing installed files with their hashes.
    #[must_use]
    pub fn integrity_checks(&self) -> PathBuf {
        self.home.join("compared")
    }

    /// Installed word lists.
    #[must_use]
    pub fn dictionaries(&self) -> PathBuf {
        self.home.join("dictionaries")
    }

    /// Records of the session configurations that the user trusts.
    #[must_use]
    pub fn trusted_sessions(&self) -> PathBuf {
        self.home.join("trusted")
    }

    /// The changes that `install` made to the configuration of agents, and copies of the files before.
    #[must_use]
    pub fn agents(&self) -> PathBuf {
        self.home.join("agents")
    }

    /// Installed SQLite extensions.
    #[must_use]
    pub fn extensions(&self) -> PathBuf {
        self.home.join("extensions")
    }

    /// Mirrors of repositories that were given by their address.
    #[must_use]
    pub fn mirrors(&self) -> PathBuf {
        self.home.join("mirrors")
    }

    /// Mirrors of archives that are indexed as repositories: beside the others, because both are on the same volume.
    #[must_use]
    pub fn archives(&self) -> PathBuf {
        self.mirrors().join(ARCHIVES_FOLDER)
    }

    /// The directory of a project: portable index files, exports, context packs. `id` must be well-formed.
    #[must_use]
    pub fn project(&self, id: &str) -> PathBuf {
        self.home.join("projects").join(id)
    }

    /// The embedded Postgres cluster: data directory, locks, log.
    #[must_use]
    pub fn cluster(&self) -> PathBuf {
        self.home.join("postgres")
    }
}

/// The default data directory: `/var/lib/pairofcleats` for root, else the platform's directory for data of the user.
///
/// For root it is a system directory, because Postgres must run as another user, who cannot enter root's home.
#[must_use]
pub fn default_home() -> PathBuf {
    if rustix::process::geteuid().is_root() {
        return PathBuf::from("/var/lib/pairofcleats");
    }
    directories::ProjectDirs::from("", "", "pairofcleats")
        .map_or_else(|| PathBuf::from(".pairofcleats"), |dirs| dirs.data_dir().to_path_buf())
}
