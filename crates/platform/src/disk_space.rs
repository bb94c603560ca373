//! Free disk space. Bulk writers check it before each batch and stop below `server.disk_free_bytes_min`: a Postgres that cannot
//! extend its write-ahead log stops for all clients.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;

use crate::task::blocking;
use contract::config::Layout;
use contract::{ErrorCode, Fault};

/// File systems, and the number of bytes that must stay free on each. Cheap to clone; the default is an empty set.
#[derive(Debug, Clone, Default)]
pub struct DiskSpace {
    free_bytes_min: u64,
    volumes: Arc<[Volume]>,
}

#[derive(Debug, Clone)]
struct Volume {
    /// The name of what is stored on the file system, for messages: `the data directory`.
    holds: &'static str,
    path: PathBuf,
}

impl DiskSpace {
    /// Creates an empty set that requires `free_bytes_min` free bytes on each file system that [`DiskSpace::with_volume`] adds.
    #[must_use]
    pub fn new(free_bytes_min: u64) -> Self {
        Self { free_bytes_min, volumes: Arc::default() }
    }

    /// Adds the file system of `path`, which need not exist yet; `holds` names its content in messages.
    #[must_use]
    pub fn with_volume(&self, holds: &'static str, path: &Path) -> Self {
        let volume = Volume { holds, path: path.to_owned() };
        Self {
            free_bytes_min: self.free_bytes_min,
            volumes: self.volumes.iter().cloned().chain([volume]).collect(),
        }
    }

    /// Returns the file system of the data directory, with the configured minimum.
    #[must_use]
    pub fn for_home(layout: &Layout) -> Self {
        Self::new(layout.disk_free_bytes_min()).with_volume("the data directory", layout.home())
    }

    /// Checks that another batch may be written: one system call per file system, which takes microseconds.
    ///
    /// # Errors
    /// `STORAGE_UNAVAILABLE` if a file system has too little free space ([`is_disk_space_fault`]).
    pub fn check(&self) -> Result<(), Fault> {
        self.check_for(0)
    }

    /// Checks that `bytes`, which may be an estimate, can be written without falling below the minimum, so that large work fails
    /// before it begins.
    ///
    /// # Errors
    /// See [`DiskSpace::check`].
    pub fn check_for(&self, bytes: u64) -> Result<(), Fault> {
        let needed = self.free_bytes_min.saturating_add(bytes);
        for volume in self.volumes.iter() {
            match free_bytes(&volume.path) {
                Ok(free) if free < needed => return Err(disk_space_fault(volume, free, needed)),
                Ok(_) => {}
                // The write that follows reports the actual error.
                Err(error) => {
                    tracing::debug!(path = %volume.path.display(), %error, "free disk space is unknown")
                }
            }
        }
        Ok(())
    }

    /// Like [`DiskSpace::check_for`], on a thread for blocking work, because a network file system may respond slowly.
    ///
    /// # Errors
    /// See [`DiskSpace::check`].
    pub async fn require(&self, bytes: u64) -> Result<(), Fault> {
        let disk_space = self.clone();
        blocking(move || disk_space.check_for(bytes)).await
    }
}

/// Returns the bytes that unprivileged users may still write to the file system of `path`, or of its nearest existing ancestor.
///
/// # Errors
/// Those of `statvfs`.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    free_and_total_bytes(path).map(|(free, _)| free)
}

/// Returns the free bytes like [`free_bytes`], and the size of the whole file system in bytes.
///
/// # Errors
/// Those of `statvfs`.
pub fn free_and_total_bytes(path: &Path) -> io::Result<(u64, u64)> {
    let mut ancestor = Some(path);
    while let Some(path) = ancestor {
        // The parent of a relative path of one component is the empty path.
        let existing = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        match rustix::fs::statvfs(existing) {
            Ok(stat) => {
                let bytes = |blocks: u64| blocks.saturating_mul(stat.f_frsize);
                return Ok((bytes(stat.f_bavail), bytes(stat.f_blocks)));
            }
            Err(rustix::io::Errno::NOENT) => ancestor = path.parent(),
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::ErrorKind::NotFound.into())
}

/// The source of the faults of [`DiskSpace`]; [`is_disk_space_fault`] recognises them by it.
#[derive(Debug)]
pub struct TooLittleSpace;

impl fmt::Display for TooLittleSpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("too little disk space")
    }
}

impl Error for TooLittleSpace {}

/// Checks whether [`DiskSpace::check`] returned this fault.
#[must_use]
pub fn is_disk_space_fault(fault: &Fault) -> bool {
    fault.source.as_ref().is_some_and(|source| source.is::<TooLittleSpace>())
}

fn disk_space_fault(volume: &Volume, free: u64, needed: u64) -> Fault {
    let message = format!(
        "Only {} MiB are free on the file system of {}; {} MiB are needed.",
        free >> 20,
        volume.holds,
        needed.div_ceil(1 << 20)
    );
    let advice =
        "Free disk space there, or lower server.disk_free_bytes_min; what was committed stays searchable";
    Fault::new(ErrorCode::StorageUnavailable, message)
        .with_hint(format!("{advice}."))
        .with_local_hint(format!("{advice} (the file system of {}).", volume.path.display()))
        .with_details(json!({ "holds": volume.holds, "freeBytes": free, "neededBytes": needed }))
        .with_source(TooLittleSpace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_file_system_is_named_and_an_unknown_one_passes() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("not/yet");
        assert!(free_bytes(&missing).unwrap() > 0, "the nearest existing ancestor counts");
        assert!(DiskSpace::new(u64::MAX).check().is_ok(), "an empty set");
        assert!(DiskSpace::new(1).with_volume("the data directory", &missing).check().is_ok());
        let disk_space = DiskSpace::new(1).with_volume("the data directory", &missing);
        let fault = disk_space.check_for(u64::MAX).unwrap_err();
        assert!(is_disk_space_fault(&fault) && fault.message.contains("the data directory"), "{fault:?}");
        assert!(!fault.hint.as_ref().unwrap().contains("not/yet"), "a path is for this machine only");
        assert!(fault.local_hint.as_ref().unwrap().contains("not/yet"));
        assert!(!is_disk_space_fault(&Fault::new(
            ErrorCode::StorageUnavailable,
            "The database's disk is full."
        )));
    }
}
