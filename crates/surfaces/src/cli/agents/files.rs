//! The only module that reads and writes the files of agents.
//!
//! They are other programs' files: a path may be a link, a pipe or another user's file, and its program may write at any moment.
//! A file is replaced as a whole, and only if it still holds the text from which the edit was computed.

use std::fs::{self, File, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, RenameFlags};
use rustix::io::Errno;

use crate::answer::unguessable_id;
use platform::safe_open;

/// Size limit of a file that is edited. Claude Code keeps its configuration in one file with its history.
const FILE_BYTES_MAX: u64 = 8 * 1024 * 1024;
/// The number of backups that are kept of a file, besides the first.
const BACKUPS_MAX: usize = 9;

/// A file as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileState {
    /// The path with links resolved: links are followed, so that files of a dotfiles repository stay there.
    pub(super) target: PathBuf,
    /// The text; `None` if there is no file.
    pub(super) text: Option<String>,
}

/// Why a file was not written.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum WriteError {
    /// The file is not as it was read.
    Changed,
    /// The file cannot be written; holds the reason.
    Failed(String),
}

/// Reads a file that may be replaced; a file of a repository must be below its root.
///
/// # Errors
/// The reason why the file must not or cannot be edited.
pub(super) fn read(path: &Path, root: Option<&Path>) -> Result<FileState, String> {
    let target = resolve(path)?;
    if let Some(root) = root {
        let root = root.canonicalize().map_err(|error| error.to_string())?;
        if !target.starts_with(root) {
            return Err(format!("it is a link out of the repository, to {}", target.display()));
        }
    }
    let user = rustix::process::geteuid().as_raw();
    let metadata = match fs::symlink_metadata(&target) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let folder = existing_ancestor(&target);
            require_writable(folder, user)?;
            return Ok(FileState { target, text: None });
        }
        metadata => metadata.map_err(|error| format!("it cannot be read: {error}"))?,
    };
    if !metadata.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    if metadata.uid() != user {
        return Err("it belongs to another user".to_owned());
    }
    if metadata.permissions().mode() & 0o200 == 0 {
        return Err("it is read-only".to_owned());
    }
    if metadata.nlink() > 1 {
        return Err("it has a second name (a hard link), which would keep the old text".to_owned());
    }
    require_writable(target.parent().unwrap_or(&target), user)?;
    let text = read_text(&target)?;
    Ok(FileState { target, text: Some(text) })
}

/// Replaces, creates or removes a file that is still as it was read.
pub(super) fn write(before: &FileState, text: Option<&str>) -> Result<(), WriteError> {
    let failed = |error: io::Error| WriteError::Failed(format!("it cannot be written: {error}"));
    let target = &before.target;
    let folder = target.parent().ok_or_else(|| WriteError::Failed("it is no file".to_owned()))?;
    let unguessable = unguessable_id().map_err(|error| WriteError::Failed(error.to_string()))?;
    // The name has an extension that no agent looks for in its folders.
    let temporary = folder.join(format!(".pairofcleats-{unguessable}.part"));
    let Some(text) = text else {
        // Renamed first, so that a text that was written meanwhile can be put back; a link never replaces a newer file.
        fs::rename(target, &temporary).map_err(failed)?;
        if read_text(&temporary).ok() != before.text {
            fs::hard_link(&temporary, target).map_err(failed)?;
            fs::remove_file(&temporary).map_err(failed)?;
            return Err(WriteError::Changed);
        }
        return fs::remove_file(&temporary).map_err(failed);
    };
    fs::create_dir_all(folder).map_err(failed)?;
    // A new file gets the mode that the user's umask allows.
    let mode = fs::metadata(target).ok().map(|found| found.permissions().mode() & 0o7777);
    let written = write_new(&temporary, text, mode).map_err(failed).and_then(|()| match &before.text {
        None => place_new(&temporary, target),
        Some(old) => exchange(&temporary, target, old),
    });
    let _ = fs::remove_file(&temporary);
    written?;
    // The rename has succeeded; only its durability after a power failure is still open.
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
    Ok(())
}

/// Gives the file `temporary` the name `target`, unless there is such a file by now.
fn place_new(temporary: &Path, target: &Path) -> Result<(), WriteError> {
    match rustix::fs::renameat_with(CWD, temporary, CWD, target, RenameFlags::NOREPLACE) {
        Ok(()) => return Ok(()),
        Err(Errno::EXIST) => return Err(WriteError::Changed),
        // The file system may support links even if it lacks this kind of rename.
        Err(_) => {}
    }
    match fs::hard_link(temporary, target) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(WriteError::Changed),
        linked => linked.map_err(|error| WriteError::Failed(format!("it cannot be written: {error}"))),
    }
}

/// Puts the file `temporary` in the place of `target`, and takes it back if `target` was not `old`.
fn exchange(temporary: &Path, target: &Path, old: &str) -> Result<(), WriteError> {
    let failed = |error: io::Error| WriteError::Failed(format!("it cannot be written: {error}"));
    let is_old = |path: &Path| read_text(path).is_ok_and(|text| text == old);
    if !is_old(target) {
        return Err(WriteError::Changed);
    }
    let swap = || rustix::fs::renameat_with(CWD, temporary, CWD, target, RenameFlags::EXCHANGE);
    match swap() {
        // The replaced file now has the temporary name, which reveals a change since the comparison.
        Ok(()) if is_old(temporary) => Ok(()),
        Ok(()) => {
            swap().map_err(|error| failed(error.into()))?;
            Err(WriteError::Changed)
        }
        // The file system does not support exchanges.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => fs::rename(temporary, target).map_err(failed),
        Err(Errno::NOENT) => Err(WriteError::Changed),
        Err(error) => Err(failed(error.into())),
    }
}

/// Keeps a copy of a file below the data directory: agents scan their own folders, and in a dotfiles repository a file beside the
/// original would show up as new. Returns the path of the copy.
pub(super) fn back_up(folder: &Path, before: &FileState) -> io::Result<Option<PathBuf>> {
    let Some(text) = &before.text else { return Ok(None) };
    let digest = blake3::hash(before.target.as_os_str().as_encoded_bytes()).to_hex();
    let folder = folder.join("backups").join(&digest[..16]);
    create_private(&folder)?;
    let mut numbers: Vec<(u64, PathBuf)> = fs::read_dir(&folder)?
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let number = path.file_name()?.to_str()?.split_once('-')?.0.parse().ok()?;
            Some((number, path))
        })
        .collect();
    numbers.sort();
    if let Some((_, last)) = numbers.last()
        && fs::read(last).is_ok_and(|kept| kept == text.as_bytes())
    {
        return Ok(Some(last.clone()));
    }
    let number = numbers.last().map_or(1, |(number, _)| number.saturating_add(1));
    let name = before.target.file_name().unwrap_or_default().to_string_lossy();
    let path = folder.join(format!("{number}-{name}"));
    write_new(&path, text, Some(0o600))?;
    // The first backup holds what was there before this program was installed, and is kept.
    let surplus = numbers.len().saturating_sub(BACKUPS_MAX);
    for (_, old) in numbers.iter().skip(1).take(surplus) {
        let _ = fs::remove_file(old);
    }
    Ok(Some(path))
}

/// Creates a folder that only this user may enter.
pub(super) fn create_private(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Replaces a file of this program.
pub(super) fn replace_own(path: &Path, text: &str) -> io::Result<()> {
    let unguessable = unguessable_id().map_err(io::Error::other)?;
    let temporary = path.with_extension(format!("{unguessable}.part"));
    let replaced = write_new(&temporary, text, Some(0o600)).and_then(|()| fs::rename(&temporary, path));
    if replaced.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    replaced
}

/// Returns the folders that have to be created for a file, the outermost first.
pub(super) fn missing_folders(target: &Path) -> Vec<PathBuf> {
    let folders = target.ancestors().skip(1).take_while(|folder| !folder.exists());
    let mut folders: Vec<PathBuf> = folders.map(Path::to_owned).collect();
    folders.reverse();
    folders
}

fn write_new(path: &Path, text: &str, mode: Option<u32>) -> io::Result<()> {
    // Private until it has the old mode, because the text may contain keys.
    let first = if mode.is_some() { 0o600 } else { 0o666 };
    let mut file = File::options().write(true).create_new(true).mode(first).open(path)?;
    file.write_all(text.as_bytes())?;
    if let Some(mode) = mode {
        file.set_permissions(Permissions::from_mode(mode))?;
    }
    file.sync_all()
}

pub(super) fn read_text(path: &Path) -> Result<String, String> {
    let unreadable = |error: io::Error| format!("it cannot be read: {error}");
    let file = safe_open::open_regular_file(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(format!("it has more than {FILE_BYTES_MAX} bytes"));
    }
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())
}

/// Resolves all links of the path. The file itself, and folders above it, need not exist.
fn resolve(path: &Path) -> Result<PathBuf, String> {
    match path.canonicalize() {
        Ok(target) => return Ok(target),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(format!("it cannot be read: {error}")),
    }
    if path.symlink_metadata().is_ok() {
        return Err("it is a link to nothing".to_owned());
    }
    let existing = existing_ancestor(path);
    if existing.symlink_metadata().is_ok_and(|found| found.is_symlink()) && !existing.exists() {
        return Err(format!("{} is a link to nothing", existing.display()));
    }
    let folder = existing.canonicalize().map_err(|error| format!("it cannot be read: {error}"))?;
    Ok(folder.join(path.strip_prefix(existing).unwrap_or(path)))
}

/// Returns the nearest ancestor that exists, if only as a link.
fn existing_ancestor(path: &Path) -> &Path {
    path.ancestors().skip(1).find(|folder| folder.symlink_metadata().is_ok()).unwrap_or(Path::new("/"))
}

fn require_writable(folder: &Path, user: u32) -> Result<(), String> {
    let shown = folder.display();
    let metadata = fs::metadata(folder).map_err(|error| format!("{shown} cannot be read: {error}"))?;
    if !metadata.is_dir() {
        return Err(format!("{shown} is not a folder"));
    }
    if metadata.uid() != user {
        return Err(format!("{shown} belongs to another user"));
    }
    rustix::fs::accessat(CWD, folder, Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS)
        .map_err(|_| format!("{shown} is read-only"))
}
