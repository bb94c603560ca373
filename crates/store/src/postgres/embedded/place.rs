//! The paths of a cluster, the user that runs its server, and the installation that it runs from.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::account::Account;

/// Everything about a cluster that does not change while it runs.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Place {
    /// The directory of the cluster: data, locks, logs.
    pub(super) root: PathBuf,
    /// The user that runs the server.
    pub(super) account: Account,
    /// The directory with `bin/`, `lib/` and `share/` that the account can read.
    pub(super) install: PathBuf,
    /// The original installation, if `install` is a copy of it because the account cannot read the original.
    pub(super) install_source: Option<PathBuf>,
}

impl Place {
    pub(super) fn data(&self) -> PathBuf {
        self.root.join("data")
    }

    /// The data directory while it is being created.
    pub(super) fn data_draft(&self) -> PathBuf {
        self.root.join("data.new")
    }

    pub(super) fn hba_file(&self) -> PathBuf {
        self.root.join("pg_hba.conf")
    }

    pub(super) fn ident_file(&self) -> PathBuf {
        self.root.join("pg_ident.conf")
    }

    pub(super) fn start_lock(&self) -> PathBuf {
        self.root.join("start.lock")
    }

    pub(super) fn users_lock(&self) -> PathBuf {
        self.root.join("users.lock")
    }

    pub(super) fn supervisor_lock(&self) -> PathBuf {
        self.root.join("supervisor.lock")
    }

    pub(super) fn server_lock(&self) -> PathBuf {
        self.root.join("server.lock")
    }

    pub(super) fn server_log(&self) -> PathBuf {
        self.root.join("server.log")
    }

    pub(super) fn supervisor_log(&self) -> PathBuf {
        self.root.join("supervisor.log")
    }

    /// The server's configuration file, for limits that change with the free disk space; all else is on its command line.
    pub(super) fn limits_file(&self) -> PathBuf {
        self.root.join("postgresql.conf")
    }

    /// Disk space reserved for a recovery.
    pub(super) fn spare_file(&self) -> PathBuf {
        self.root.join("spare")
    }

    pub(super) fn program(&self, name: &str) -> PathBuf {
        self.install.join("bin").join(name)
    }
}

/// The mode of the cluster's directories: traversable by others only if the server runs as another user.
pub(super) fn directory_mode(account: &Account) -> u32 {
    if account.switched { 0o711 } else { 0o700 }
}

/// Creates `path` and its missing parents with exactly `mode`; existing directories keep theirs.
pub(super) fn make_directories(path: &Path, mode: u32) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        make_directories(parent, mode)?;
    }
    match fs::create_dir(path) {
        // The umask may be stricter than `mode`.
        Ok(()) => fs::set_permissions(path, Permissions::from_mode(mode)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        Err(error) => Err(error),
    }
}

/// The first 16 hex digits of a path's hash, for names that depend on the path.
pub(super) fn path_digest(path: &Path) -> String {
    let hash = blake3::hash(path.as_os_str().as_encoded_bytes());
    hash.to_hex()[..16].to_owned()
}
