//! The private directory of the server's socket.
//!
//! It is not below the cluster, because a socket's path is limited to 107 bytes and a home directory may be longer. Every user who may
//! enter the directory can reach the server, so only the server's user may.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use contract::Fault;

use super::account::Account;
use super::place::{self, Place};
use super::{failure, postmaster};

pub(super) const PORT: u16 = 5432;

/// Creates the directory, or reuses an existing one if its owner and mode are right.
pub(super) fn prepare(place: &Place) -> Result<PathBuf, Fault> {
    let candidates = candidates(place);
    let mut last = None;
    for candidate in candidates {
        match private_directory(&place.account, &candidate) {
            Ok(()) => return Ok(candidate),
            Err(error) => last = Some(failure::io("make its socket directory", &candidate, error)),
        }
    }
    Err(last.unwrap_or_else(|| failure::unavailable("There is no usable directory for the server's socket.")))
}

fn candidates(place: &Place) -> Vec<PathBuf> {
    let digest = place::path_digest(&place.root);
    let mut candidates = Vec::new();
    if place.account.switched {
        // Only root can create this one, so no other user can have created it first.
        candidates.push(Path::new("/run/pairofcleats").join(&digest));
    }
    candidates.push(PathBuf::from(format!("/tmp/pairofcleats-{}-{digest}", place.account.uid)));
    candidates
}

fn private_directory(account: &Account, path: &Path) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        place::make_directories(parent, 0o711)?;
        if account.barrier(parent).is_some() {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
    }
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => account.own(path)?,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    // Does not follow symlinks: in /tmp any user can have created one first.
    let metadata = fs::symlink_metadata(path)?;
    if metadata.is_dir() && metadata.uid() == account.uid && metadata.mode() & 0o077 == 0 {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::PermissionDenied, "other users can enter the socket directory"))
}

/// Removes the socket and its lock file, which a crash leaves behind. The caller must hold the server lock.
pub(super) fn remove_stale(directory: &Path) -> io::Result<()> {
    let socket = postmaster::socket(directory, PORT);
    let mut lock = socket.clone().into_os_string();
    lock.push(".lock");
    for path in [socket, PathBuf::from(lock)] {
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn refuses_symlinks_and_directories_that_others_can_enter() {
        let parent = tempfile::tempdir().unwrap();
        let metadata = fs::metadata(parent.path()).unwrap();
        let account = Account { name: "x".into(), uid: metadata.uid(), gid: metadata.gid(), switched: false };

        let fresh = parent.path().join("fresh");
        private_directory(&account, &fresh).unwrap();
        private_directory(&account, &fresh).unwrap();

        fs::set_permissions(&fresh, PermissionsExt::from_mode(0o750)).unwrap();
        assert!(private_directory(&account, &fresh).is_err());

        let target = parent.path().join("target");
        DirBuilder::new().mode(0o700).create(&target).unwrap();
        let link = parent.path().join("link");
        std::os::unix::fs::symlink(&target, &link).unwrap();
        assert!(private_directory(&account, &link).is_err());
    }

    #[test]
    fn the_longest_path_fits_into_a_socket_address() {
        let account = Account { name: "x".into(), uid: u32::MAX, gid: 0, switched: true };
        let place = Place {
            root: "/deep".repeat(100).into(),
            account,
            install: PathBuf::new(),
            install_source: None,
        };
        for directory in candidates(&place) {
            assert!(postmaster::socket(&directory, PORT).as_os_str().len() <= 107);
        }
    }
}
