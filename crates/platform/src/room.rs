//! Free room on disk. Whatever writes in bulk asks here before each batch and stops below `server.disk_free_bytes_min`, so
//! that the database keeps what it needs to answer: a Postgres that cannot extend its log stops for everybody.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;

use contract::config::Layout;
use contract::{ErrorCode, Fault};

/// The file systems that must keep room, and how much. Cheap to clone; one without a place is never short.
#[derive(Debug, Clone, Default)]
pub struct Room {
    least: u64,
    places: Arc<[Place]>,
}

#[derive(Debug, Clone)]
struct Place {
    /// What lies there, for people: `the data directory`.
    holds: &'static str,
    path: PathBuf,
}

impl Room {
    /// At least `least` bytes are to stay free in each place that [`Room::and`] adds.
    #[must_use]
    pub fn new(least: u64) -> Self {
        Self { least, places: Arc::default() }
    }

    /// The same with the file system of `path`, which holds what `holds` says. The path need not exist yet.
    #[must_use]
    pub fn and(&self, holds: &'static str, path: &Path) -> Self {
        let more = Place { holds, path: path.to_owned() };
        Self { least: self.least, places: self.places.iter().cloned().chain([more]).collect() }
    }

    /// The room of whatever is written below the data directory.
    #[must_use]
    pub fn of_home(layout: &Layout) -> Self {
        Self::new(layout.disk_free_bytes_min()).and("the data directory", layout.home())
    }

    /// Whether there is room for another batch. Asks the kernel once a place, which takes microseconds.
    ///
    /// # Errors
    /// `STORAGE_UNAVAILABLE` when a place has less than the least; its source is a [`Short`].
    pub fn check(&self) -> Result<(), Fault> {
        self.check_for(0)
    }

    /// Whether `bytes` can be written and the least is still free. `bytes` is an estimate, so that a large piece of work is
    /// refused before it begins.
    ///
    /// # Errors
    /// As [`Room::check`].
    pub fn check_for(&self, bytes: u64) -> Result<(), Fault> {
        let needed = self.least.saturating_add(bytes);
        for place in self.places.iter() {
            match free(&place.path) {
                Ok(free) if free < needed => return Err(short(place, free, needed)),
                Ok(_) => {}
                // A file system that cannot be asked is no full one; writing to it says what is wrong with it.
                Err(error) => tracing::debug!(path = %place.path.display(), %error, "free room is not known"),
            }
        }
        Ok(())
    }

    /// The same off the async threads: a network file system may take its time.
    ///
    /// # Errors
    /// As [`Room::check`].
    pub async fn require(&self, bytes: u64) -> Result<(), Fault> {
        let room = self.clone();
        match tokio::task::spawn_blocking(move || room.check_for(bytes)).await {
            Ok(checked) => checked,
            Err(error) => Err(Fault::internal("The disk could not be asked.", error)),
        }
    }
}

/// Bytes that unprivileged users may still write to the file system of `path`, or of the nearest directory above it.
///
/// # Errors
/// As `statvfs`.
pub fn free(path: &Path) -> io::Result<u64> {
    sizes(path).map(|(free, _)| free)
}

/// The same, and the size of the whole file system in bytes.
///
/// # Errors
/// As `statvfs`.
pub fn sizes(path: &Path) -> io::Result<(u64, u64)> {
    let mut at = Some(path);
    while let Some(path) = at {
        // An empty path is what stands before a relative one.
        let asked = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        match rustix::fs::statvfs(asked) {
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

/// A file system has too little room: the source of the faults of [`Room`].
#[derive(Debug)]
pub struct Short;

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("too little room on disk")
    }
}

impl Error for Short {}

/// Whether `fault` says that there is too little room to go on.
#[must_use]
pub fn is_short(fault: &Fault) -> bool {
    fault.source.as_ref().is_some_and(|source| source.is::<Short>())
}

fn short(place: &Place, free: u64, needed: u64) -> Fault {
    let message = format!(
        "Only {} MiB are free on the file system of {}; {} MiB are needed.",
        free >> 20,
        place.holds,
        needed.div_ceil(1 << 20)
    );
    let advice =
        "Free disk space there, or lower server.disk_free_bytes_min; what was committed stays searchable";
    Fault::new(ErrorCode::StorageUnavailable, message)
        .with_hint(format!("{advice}."))
        .with_local_hint(format!("{advice} (the file system of {}).", place.path.display()))
        .with_details(json!({ "holds": place.holds, "freeBytes": free, "neededBytes": needed }))
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
