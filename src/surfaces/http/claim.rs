//! Which address a server of this data directory has: a file below it that the server holds locked for as long as it serves, so that
//! another process of the same installation does not take it for a stranger.

use std::fs::{self, File, TryLockError};
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;

use super::listen::{bind_address, unbound};
use super::tls::Tls;
use crate::app::App;
use contract::Fault;

/// The lock of one address; given up with it.
pub(super) struct Claim {
    _file: File,
    path: PathBuf,
}

impl Claim {
    /// Of an address that was chosen and is bound. None where nobody could look for it, or no file can be made: a server serves all
    /// the same.
    pub(super) fn new(app: &App, address: SocketAddr) -> Option<Self> {
        let path = path(app, address);
        fs::create_dir_all(path.parent()?).ok()?;
        let file = File::create(&path).ok()?;
        file.try_lock().ok()?;
        Some(Self { _file: file, path })
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

fn path(app: &App, address: SocketAddr) -> PathBuf {
    app.layout.serving().join(format!("{}.lock", address.to_string().replace([':', '[', ']', '%'], "_")))
}

/// The URL of the server of this data directory that has the configured address; none where there is none.
#[must_use]
pub fn serving_already(app: &App) -> Option<String> {
    let server = &app.config.server;
    let address = SocketAddr::new(bind_address(&server.bind).ok()?, server.port);
    let file = File::open(path(app, address)).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => {
            let scheme = if Tls::configured(server).ok()?.is_some() { "https" } else { "http" };
            Some(format!("{scheme}://{address}"))
        }
        _ => None,
    }
}

/// Whether the configured address can be had, before work is done that ends in serving: the URL of the server of this data directory
/// that has it already, or none where it is free.
///
/// # Errors
/// `ILLEGAL_STATE` when somebody else has it; `INVALID_INPUT` for what is no address.
pub fn look_at_address(app: &App) -> Result<Option<String>, Fault> {
    let server = &app.config.server;
    let address = SocketAddr::new(bind_address(&server.bind)?, server.port);
    match TcpListener::bind(address) {
        Ok(_) => Ok(None),
        Err(error) => serving_already(app).map(Some).ok_or_else(|| unbound(address, &error)),
    }
}
