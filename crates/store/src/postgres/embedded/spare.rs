//! Room that is kept for the worst moment: a file with real blocks beside the data directory. Without any room on the disk
//! Postgres takes no new connections, breaks off as soon as its log must grow, and cannot even recover, since that writes.
//! So the first part of the file goes when nothing is left, the rest when the server does not start for want of room; it is made
//! anew once there is room again.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use platform::room;

const MIB: u64 = 1024 * 1024;
/// Its size.
const BYTES: u64 = 64 * MIB;
/// Of these the first part: a segment of the server's log (16 MiB), and less than another one besides, so that the log leaves
/// something for small files. What remains has room for the two segments that a recovery writes at most.
const FIRST_PART: u64 = 24 * MIB;
/// With less room than this nothing is left.
const NOTHING: u64 = 4 * MIB;
/// Bytes written at a time where the file system cannot reserve blocks.
const BLOCK: usize = 1024 * 1024;

/// Makes the file whole if it is not, and if `least` bytes stay free beside it. Where nothing is to stay free, there is none.
pub(super) fn keep(file: &Path, least: u64) -> io::Result<()> {
    if least == 0 || length(file) == Some(BYTES) || room::free(file)? < least.saturating_add(BYTES) {
        return Ok(());
    }
    // Made aside: a process that dies in the middle leaves nothing that looks like a spare file.
    let draft = file.with_extension("new");
    let made = fill(&draft, BYTES).and_then(|()| fs::rename(&draft, file));
    if made.is_err() {
        let _ = fs::remove_file(&draft);
    }
    made
}

/// Its length; none where there is no such file.
fn length(file: &Path) -> Option<u64> {
    fs::symlink_metadata(file).ok().filter(fs::Metadata::is_file).map(|facts| facts.len())
}

/// Gives its first part to the server if nothing else is left; whether it did.
pub(super) fn give_first_part(file: &Path) -> io::Result<bool> {
    if length(file) != Some(BYTES) || room::free(file)? >= NOTHING {
        return Ok(false);
    }
    OpenOptions::new().write(true).open(file)?.set_len(BYTES - FIRST_PART)?;
    Ok(true)
}

fn fill(draft: &Path, bytes: u64) -> io::Result<()> {
    match fs::remove_file(draft) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(draft)?;
    if !reserve(&file, bytes)? {
        // Nothing that compresses: some file systems would keep no blocks for it.
        let mut noise = blake3::Hasher::new().finalize_xof();
        let mut block = vec![0; BLOCK];
        let mut left = bytes;
        while left > 0 {
            let size = usize::try_from(left).unwrap_or(BLOCK).min(BLOCK);
            noise.fill(&mut block[..size]);
            file.write_all(&block[..size])?;
            left -= size as u64;
        }
    }
    file.sync_all()
}

/// Whether the file system reserved the blocks.
#[cfg(target_os = "linux")]
fn reserve(file: &File, bytes: u64) -> io::Result<bool> {
    match rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, bytes) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(target_os = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "Linux can fail")]
fn reserve(_: &File, _: u64) -> io::Result<bool> {
    Ok(false)
}

/// Gives all that is left of it to the server; whether there was any to give.
pub(super) fn give(file: &Path) -> bool {
    length(file).is_some() && fs::remove_file(file).is_ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn it_has_blocks_and_goes_once() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("spare");
        keep(&file, MIB).unwrap();
        let facts = fs::metadata(&file).unwrap();
        assert_eq!(facts.len(), BYTES);
        assert!(facts.blocks() * 512 >= facts.len(), "real blocks");
        assert!(!give_first_part(&file).unwrap(), "there is room");
        File::options().write(true).open(&file).unwrap().set_len(BYTES - FIRST_PART).unwrap();
        keep(&file, u64::MAX).unwrap();
        assert_eq!(length(&file), Some(BYTES - FIRST_PART), "only where enough stays free");
        keep(&file, MIB).unwrap();
        assert_eq!(length(&file), Some(BYTES), "whole again");
        assert!(give(&file) && !give(&file));
        keep(&file, 0).unwrap();
        assert!(!file.exists(), "nothing is to stay free");
    }
}
