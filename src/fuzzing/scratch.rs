//! Files and folders of one run of a target, in memory where the machine has such a place.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A place of its own, removed when it is dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let memory = Path::new("/dev/shm");
        let above = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self(above.join(format!("pairofcleats-fuzz-{}-{number}", std::process::id())))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let removed = if self.0.is_dir() { fs::remove_dir_all(&self.0) } else { fs::remove_file(&self.0) };
        drop(removed);
    }
}

/// Runs `read` on a file of these bytes.
pub(super) fn in_file(bytes: &[u8], read: fn(&Path)) {
    let scratch = Scratch::new();
    assert!(fs::write(&scratch.0, bytes).is_ok(), "{} cannot be written", scratch.0.display());
    read(&scratch.0);
}

/// Runs `fill` on an empty folder.
pub(super) fn in_folder(fill: impl FnOnce(&Path)) {
    let scratch = Scratch::new();
    assert!(fs::create_dir(&scratch.0).is_ok(), "{} cannot be made", scratch.0.display());
    fill(&scratch.0);
}
