//! The identity of a mirror, and the packs that it had after its last fetch: a mirror that lost one is damaged.

use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use contract::RepositoryAddress;
use history::MIRROR_FILE;

/// The content of the file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AddressFile {
    /// The address.
    pub(super) address: String,
    /// The spelling that the host accepted last.
    pub(super) url: String,
    /// Names and sizes of the packs.
    packs: Vec<String>,
}

/// Reads the file of a mirror; `None` if it is missing.
pub(super) fn read(git_dir: &Path) -> Option<AddressFile> {
    let text = fs::read_to_string(git_dir.join(MIRROR_FILE)).ok()?;
    let mut lines = text.lines().map(str::to_owned);
    Some(AddressFile { address: lines.next()?, url: lines.next()?, packs: lines.collect() })
}

/// Writes the file of a mirror.
pub(super) fn write(git_dir: &Path, address: &RepositoryAddress, url: &str) -> io::Result<()> {
    let packs: String = packs(git_dir).into_iter().map(|pack| format!("{pack}\n")).collect();
    replace(git_dir, &format!("{address}\n{url}\n{packs}"))
}

/// Replaces the file of any mirror atomically, so that no reader sees a part of the text.
pub(super) fn replace(git_dir: &Path, text: &str) -> io::Result<()> {
    let next = git_dir.join("pairofcleats.next");
    fs::write(&next, text)?;
    fs::rename(next, git_dir.join(MIRROR_FILE))
}

/// Returns the time when a run last used the mirror.
pub(super) fn used_at(git_dir: &Path) -> io::Result<SystemTime> {
    fs::metadata(git_dir.join(MIRROR_FILE))?.modified()
}

/// Returns `true` if a run has used the mirror during `kept`.
pub(super) fn is_recent(git_dir: &Path, kept: Duration) -> bool {
    // A time in the future, by another clock, is recent.
    used_at(git_dir).is_ok_and(|at| at.elapsed().map_or(true, |ago| ago < kept))
}

/// Returns `true` if the mirror has the packs that it had after its last fetch.
pub(super) fn has_all_packs(git_dir: &Path) -> bool {
    let now = packs(git_dir);
    read(git_dir).is_some_and(|file| file.packs.iter().all(|pack| now.contains(pack)))
}

/// Returns the packs of a mirror, as `name bytes`, sorted.
pub(super) fn packs(git_dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(git_dir.join("objects/pack")).into_iter().flatten().flatten();
    let packs = entries.filter_map(|entry| {
        let (name, bytes) = (entry.file_name().into_string().ok()?, entry.metadata().ok()?.len());
        name.ends_with(".pack").then(|| format!("{name} {bytes}"))
    });
    let mut packs: Vec<String> = packs.collect();
    packs.sort();
    packs
}
