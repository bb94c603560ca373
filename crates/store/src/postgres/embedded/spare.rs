//! Reserves disk space for recovery: a spare file with allocated blocks next to the data directory. On a full disk Postgres
//! accepts no connections, crashes as soon as its WAL must grow, and cannot even recover, because recovery writes. So the first
//! part of the file is released when the disk is full, and the rest when the server cannot start on a full disk. It is created
//! again once there is enough free space.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use platform::disk_space;

const MIB: u64 = 1024 * 1024;
/// Size of the file in bytes.
const BYTES: u64 = 64 * MIB;
/// Bytes of the part that is released first: one WAL segment (16 MiB), plus less than a second one, so that WAL cannot use all
/// of it and small files still fit. The rest has room for the two segments that a recovery writes at most.
const FIRST_PART: u64 = 24 * MIB;
/// With less free space than this, in bytes, the first part of the file is released.
const FREE_BYTES_MIN: u64 = 4 * MIB;
/// Bytes written at a time where the file system cannot reserve blocks.
const BLOCK: usize = 1024 * 1024;

/// Creates the file, or restores its full size, if `reserve` further bytes stay free. With a `reserve` of 0 there is no file.
pub(super) fn ensure(file: &Path, reserve: u64) -> io::Result<()> {
    if reserve == 0
        || length(file) == Some(BYTES)
        || disk_space::free_bytes(file)? < reserve.saturating_add(BYTES)
    {
        return Ok(());
    }
    // Written to a draft and renamed, so that a process that dies midway leaves no incomplete spare file.
    let draft = file.with_extension("new");
    let made = fill(&draft, BYTES).and_then(|()| fs::rename(&draft, file));
    if made.is_err() {
        let _ = fs::remove_file(&draft);
    }
    made
}

/// Length of the file in bytes; `None` if it does not exist.
fn length(file: &Path) -> Option<u64> {
    fs::symlink_metadata(file).ok().filter(fs::Metadata::is_file).map(|facts| facts.len())
}

/// Releases the first part of the file if the disk is full. Returns whether it did.
pub(super) fn release_first_part(file: &Path) -> io::Result<bool> {
    if length(file) != Some(BYTES) || disk_space::free_bytes(file)? >= FREE_BYTES_MIN {
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
        // Random bytes, because some file systems compress and would allocate no blocks for zeros.
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

/// Allocates blocks without writing them. Returns false if the file system does not support that.
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

/// Releases the whole file. Returns whether there was one.
pub(super) fn release(file: &Path) -> bool {
    length(file).is_some() && fs::remove_file(file).is_ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn the_file_has_blocks_and_is_released_once() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("spare");
        ensure(&file, MIB).unwrap();
        let facts = fs::metadata(&file).unwrap();
        assert_eq!(facts.len(), BYTES);
        assert!(facts.blocks() * 512 >= facts.len(), "real blocks");
        assert!(!release_first_part(&file).unwrap(), "there is room");
        File::options().write(true).open(&file).unwrap().set_len(BYTES - FIRST_PART).unwrap();
        ensure(&file, u64::MAX).unwrap();
        assert_eq!(length(&file), Some(BYTES - FIRST_PART), "only where enough stays free");
        ensure(&file, MIB).unwrap();
        assert_eq!(length(&file), Some(BYTES), "whole again");
        assert!(release(&file) && !release(&file));
        ensure(&file, 0).unwrap();
        assert!(!file.exists(), "nothing is to stay free");
    }
}
