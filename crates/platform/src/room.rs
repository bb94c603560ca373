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

/// File systems, and how much space must stay free on each. Cheap to clone; the default has no file system and is never short.
#[derive(Debug, Clone, Default)]
pub struct Room {
    free_bytes_min: u64,
    volumes: Arc<[Volume]>,
}

#[derive(Debug, Clone)]
struct Volume {
    /// What is stored there, for messages: `the data directory`.
    holds: &'static str,
    path: PathBuf,
}

impl Room {
    /// Requires `free_bytes_min` free bytes on each file system that [`Room::and`] adds.
    #[must_use]
    pub fn new(free_bytes_min: u64) -> Self {
        Self { free_bytes_min, volumes: Arc::default() }
    }

    /// Adds the file system of `path`, which need not exist yet; `holds` names in messages what is stored there.
    #[must_use]
    pub fn and(&self, holds: &'static str, path: &Path) -> Self {
        let more = Volume { holds, path: path.to_owned() };
        Self {
            free_bytes_min: self.free_bytes_min,
            volumes: self.volumes.iter().cloned().chain([more]).collect(),
        }
    }

    /// The requirement for writing below the data directory.
    #[must_use]
    pub fn of_home(layout: &Layout) -> Self {
        Self::new(layout.disk_free_bytes_min()).and("the data directory", layout.home())
    }

    /// Checks that another batch may be written. One system call per file system, which takes microseconds.
    ///
    /// # Errors
    /// `STORAGE_UNAVAILABLE` when a file system has too little free space; its source is a [`Short`].
    pub fn check(&self) -> Result<(), Fault> {
        self.check_for(0)
    }

    /// Checks that `bytes` can be written besides, so that a large piece of work is refused before it begins. An estimate is
    /// enough.
    ///
    /// # Errors
    /// As [`Room::check`].
    pub fn check_for(&self, bytes: u64) -> Result<(), Fault> {
        let needed = self.free_bytes_min.saturating_add(bytes);
        for volume in self.volumes.iter() {
            match free(&volume.path) {
                Ok(free) if free < needed => return Err(short(volume, free, needed)),
                Ok(_) => {}
                // Not a full disk: the write that follows reports what is wrong.
                Err(error) => {
                    tracing::debug!(path = %volume.path.display(), %error, "free disk space is unknown")
                }
            }
        }
        Ok(())
    }

    /// As [`Room::check_for`], off the async threads: a network file system may take long to answer.
    ///
    /// # Errors
    /// As [`Room::check`].
    pub async fn require(&self, bytes: u64) -> Result<(), Fault> {
        let room = self.clone();
        blocking(move || room.check_for(bytes)).await
    }
}

/// Bytes that unprivileged users may still write to the file system of `path`, or of the nearest directory above it.
///
/// # Errors
/// As `statvfs`.
pub fn free(path: &Path) -> io::Result<u64> {
    sizes(path).map(|(free, _)| free)
}

/// Free bytes as [`free`], and the size of the whole file system in bytes.
///
/// # Errors
/// As `statvfs`.
pub fn sizes(path: &Path) -> io::Result<(u64, u64)> {
    let mut at = Some(path);
    while let Some(path) = at {
        // The parent of a relative path of one component is the empty path.
        let existing = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        match rustix::fs::statvfs(existing) {
            Ok(facts) => {
                let bytes = |blocks: u64| blocks.saturating_mul(facts.f_frsize);
                return Ok((bytes(facts.f_bavail), bytes(facts.f_blocks)));
            }
            Err(rustix::io::Errno::NOENT) => at = path.parent(),
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::ErrorKind::NotFound.into())
}

/// The source of the faults of [`Room`], by which [`is_short`] recognises them.
#[derive(Debug)]
pub struct Short;

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("too little disk space")
    }
}

impl Error for Short {}

/// Whether `fault` was caused by too little disk space.
#[must_use]
pub fn is_short(fault: &Fault) -> bool {
    fault.source.as_ref().is_some_and(|source| source.is::<Short>())
}

fn short(volume: &Volume, free: u64, needed: u64) -> Fault {
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
        .with_source(Short)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_short_is_named_and_nothing_else_fails() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("not/yet");
        assert!(free(&missing).unwrap() > 0, "the nearest directory above answers");
        assert!(Room::new(u64::MAX).check().is_ok(), "no place, no limit");
        assert!(Room::new(1).and("the data directory", &missing).check().is_ok());
        let short = Room::new(1).and("the data directory", &missing).check_for(u64::MAX).unwrap_err();
        assert!(is_short(&short) && short.message.contains("the data directory"), "{short:?}");
        assert!(!short.hint.as_ref().unwrap().contains("not/yet"), "a path is for this machine only");
        assert!(short.local_hint.as_ref().unwrap().contains("not/yet"));
        assert!(!is_short(&Fault::new(ErrorCode::StorageUnavailable, "The database's disk is full.")));
    }
}
