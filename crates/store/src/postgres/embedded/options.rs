//! The options of an embedded cluster, and the paths and the user that follow from them.

use std::fs;
use std::path::PathBuf;

use contract::Fault;
use contract::config::Embedded;

use super::account::Account;
use super::place::{Place, directory_mode, make_directories};
use super::{failure, install_copy, relocation};

/// Location and settings of the embedded cluster.
#[derive(Debug, Clone)]
pub struct EmbeddedOptions {
    /// The installed Postgres: the directory that holds `bin/`, `lib/` and `share/`.
    pub install: PathBuf,
    /// The directory of the cluster; created if missing.
    pub cluster: PathBuf,
    /// The program to run as supervisor; its `main` must call [`super::hidden_mode`]. Outside of tests it is this program.
    pub supervisor: PathBuf,
    /// The operator's choices.
    pub settings: Embedded,
    /// `server.disk_free_bytes_min`: bytes of disk space to keep free.
    pub disk_free_bytes_min: u64,
}

/// Decides where the cluster of `options` is and which user runs it, and creates its directory.
pub(super) fn resolve_place(options: &EmbeddedOptions) -> Result<Place, Fault> {
    let account = Account::choose(options.settings.run_as.as_deref())?;
    make_directories(&options.cluster, directory_mode(&account))
        .map_err(|error| failure::io("make its directory", &options.cluster, error))?;
    let cluster = fs::canonicalize(&options.cluster)
        .map_err(|error| failure::io("find its directory", &options.cluster, error))?;
    let root = relocation::reachable_root(&account, cluster)?;
    let account = account.or_owner_of(&root.join("data"))?;
    let original = fs::canonicalize(&options.install)
        .map_err(|error| failure::io("find its programs", &options.install, error))?;
    let (install, install_source) = match install_copy::needed_path(&account, &original, &root) {
        Some(copy) => (copy, Some(original)),
        None => (original, None),
    };
    Ok(Place { root, account, install, install_source })
}
