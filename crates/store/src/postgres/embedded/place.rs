//! Where one cluster lives: its files, its user, the programs it runs.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use contract::Fault;

use super::account::Account;
use super::shared_server::EmbeddedOptions;
use super::{failure, install_copy, relocation};

/// Everything about a cluster that does not change while it runs.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Place {
    /// The directory of the cluster: data, locks, logs.
    pub(super) root: PathBuf,
    /// Who runs the server.
    pub(super) account: Account,
    /// The directory with `bin/`, `lib/` and `share/` that the account can read.
    pub(super) install: PathBuf,
    /// What `install` is to be a copy of, when the account cannot read the original.
    pub(super) install_source: Option<PathBuf>,
}

impl Place {
    /// Finds the place for `options`, and makes its directory.
    pub(super) fn resolve(options: &EmbeddedOptions) -> Result<Self, Fault> {
        let account = Account::choose(options.settings.run_as.as_deref())?;
        make_directories(&options.cluster, directory_mode(&account))
            .map_err(|error| failure::io("make its directory", &options.cluster, error))?;
        let cluster = fs::canonicalize(&options.cluster)
            .map_err(|error| failure::io("find its directory", &options.cluster, error))?;
        let root = relocation::reachable_root(&account, cluster)?;
        let account = account.owner_of(&root.join("data"))?;
        let original = fs::canonicalize(&options.install)
            .map_err(|error| failure::io("find its programs", &options.install, error))?;
        let (install, install_source) = match install_copy::needed(&account, &original, &root) {
            Some(copy) => (copy, Some(original)),
            None => (original, None),
        };
        Ok(Self { root, account, install, install_source })
    }

    pub(super) fn data(&self) -> PathBuf {
        self.root.join("data")
    }

    /// Where a data directory is made before it is whole.
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

    /// What the server's own configuration file says besides its command line: limits that change with the room on disk.
    pub(super) fn limits_file(&self) -> PathBuf {
        self.root.join("postgresql.conf")
    }

    /// Room for a recovery.
    pub(super) fn spare_file(&self) -> PathBuf {
        self.root.join("spare")
    }

    pub(super) fn program(&self, name: &str) -> PathBuf {
        self.install.join("bin").join(name)
    }
}

/// Directories that another user has to pass are open for passing, all others closed.
pub(super) fn directory_mode(account: &Account) -> u32 {
    if account.switched { 0o711 } else { 0o700 }
}

/// Makes `path` and its missing parents with exactly `mode`; leaves those that exist as they are.
pub(super) fn make_directories(path: &Path, mode: u32) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        make_directories(parent, mode)?;
    }
    match fs::create_dir(path) {
        // Against the umask, which may be stricter.
        Ok(()) => fs::set_permissions(path, Permissions::from_mode(mode)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        Err(error) => Err(error),
    }
}

/// 16 hex digits that stand for a path.
pub(super) fn path_digest(path: &Path) -> String {
    let hash = blake3::hash(path.as_os_str().as_encoded_bytes());
    hash.to_hex()[..16].to_owned()
}
