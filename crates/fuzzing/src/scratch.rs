//! Temporary files and folders for targets, in memory if `/dev/shm` exists.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A unique temporary path; dropping it removes the file or folder.
struct ScratchPath(PathBuf);

impl ScratchPath {
    fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let memory = Path::new("/dev/shm");
        let above = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self(above.join(format!("pairofcleats-fuzz-{}-{number}", std::process::id())))
    }
}

impl Drop for ScratchPath {
    fn drop(&mut self) {
        let removed = if self.0.is_dir() { fs::remove_dir_all(&self.0) } else { fs::remove_file(&self.0) };
        drop(removed);
    }
}

/// Runs `read` on a file with these bytes.
pub(super) fn in_file(bytes: &[u8], read: fn(&Path)) {
    let scratch = ScratchPath::new();
    assert!(fs::write(&scratch.0, bytes).is_ok(), "{} cannot be written", scratch.0.display());
    read(&scratch.0);
}

/// Runs `fill` on an empty folder.
pub(super) fn in_folder(fill: impl FnOnce(&Path)) {
    let scratch = ScratchPath::new();
    assert!(fs::create_dir(&scratch.0).is_ok(), "{} cannot be made", scratch.0.display());
    fill(&scratch.0);
}
