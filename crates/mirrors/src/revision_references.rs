//! The references of a mirror to the branches and tags that were fetched beside the default branch. They show git which objects need not be
//! sent again, and that their objects are in use.
//!
//! They are files with names of our own, because names of a host may be too long for a file, differ only in their case, or be a name and a
//! folder at once, which would make the whole fetch fail.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use history::{Revision, RevisionKind};

/// The folder of the references.
const FOLDER: &str = "refs/pairofcleats/revisions";
/// Time for which a reference is kept after the last fetch that asked for it. Projects share a mirror, and each has its own patterns.
const KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The name of the reference on the host.
pub(super) fn name_on_host(revision: &Revision) -> String {
    let folder = match revision.kind {
        RevisionKind::Branch => "heads",
        RevisionKind::Tag => "tags",
    };
    format!("refs/{folder}/{}", revision.name)
}

/// Writes the references of revisions that the mirror has, and removes those that no fetch has asked for during [`KEPT`].
///
/// # Errors
/// If one cannot be written.
pub(super) fn update(git_dir: &Path, revisions: &[Revision]) -> io::Result<()> {
    let folder = git_dir.join(FOLDER);
    if !revisions.is_empty() {
        fs::create_dir_all(&folder)?;
    }
    for revision in revisions {
        let hash = blake3::hash(name_on_host(revision).as_bytes()).to_hex();
        // Git would mistake an incomplete file for a broken reference. The time of the file is that of this fetch.
        let next = git_dir.join("pairofcleats.reference");
        fs::write(&next, format!("{}\n", revision.commit))?;
        fs::rename(next, folder.join(&hash[..32]))?;
    }
    remove_old(&folder);
    Ok(())
}

fn remove_old(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let written_at = entry.metadata().and_then(|file| file.modified());
        if written_at.is_ok_and(|at| at.elapsed().is_ok_and(|ago| ago > KEPT)) {
            let _ = fs::remove_file(entry.path());
        }
    }
}
