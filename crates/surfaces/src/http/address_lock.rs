//! A lock file for the address of a running server. It shows other processes with the same data directory that their own server
//! uses the address.

use std::fs::{self, File, TryLockError};
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;

use super::address::{bind_address, bind_fault};
use super::tls::Tls;
use contract::Fault;
use gate::app::App;
use platform::file_lock::FileLock;

/// The lock of one address; dropping it removes the file.
pub(super) struct AddressLock {
    _file: FileLock,
    path: PathBuf,
}

impl AddressLock {
    /// Locks a bound address. Returns `None` if the file cannot be created; the server works without it.
    pub(super) fn new(app: &App, address: SocketAddr) -> Option<Self> {
        let path = lock_path(app, address);
        fs::create_dir_all(path.parent()?).ok()?;
        let file = FileLock::try_new(File::create(&path).ok()?).ok()??;
        Some(Self { _file: file, path })
    }
}

impl Drop for AddressLock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

fn lock_path(app: &App, address: SocketAddr) -> PathBuf {
    let name = address.to_string().replace([':', '[', ']', '%'], "_");
    app.layout.address_locks().join(format!("{name}.lock"))
}

/// Returns the URL of the server of this data directory that is running at the configured address, if there is one.
#[must_use]
pub fn running_server_url(app: &App) -> Option<String> {
    let server = &app.config.server;
    let address = SocketAddr::new(bind_address(&server.bind).ok()?, server.port);
    let file = File::open(lock_path(app, address)).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => {
            let scheme = if Tls::from_config(server).ok()?.is_some() { "https" } else { "http" };
            Some(format!("{scheme}://{address}"))
        }
        _ => None,
    }
}

/// Checks that the configured address is free before long work that ends in serving. Returns the URL of this data directory's own
/// server if that already uses it.
///
/// # Errors
/// `ILLEGAL_STATE` if another program uses the address; `INVALID_INPUT` for an invalid address.
pub fn check_address(app: &App) -> Result<Option<String>, Fault> {
    let server = &app.config.server;
    let address = SocketAddr::new(bind_address(&server.bind)?, server.port);
    match TcpListener::bind(address) {
        Ok(_) => Ok(None),
        Err(error) => running_server_url(app).map(Some).ok_or_else(|| bind_fault(address, &error)),
    }
}
