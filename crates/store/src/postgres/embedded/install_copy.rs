//! A copy of the installed Postgres for a user who cannot read the original.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use contract::Fault;

use super::account::Account;
use super::failure;
use super::place::Place;

/// What of the installation the server needs.
const PARTS: [&str; 3] = ["bin", "lib", "share"];
/// Read by others, as the copy will be.
const READ: u32 = 0o4;
const EXECUTE: u32 = 0o1;

/// Where the copy of `install` belongs, below `root`; `None` when the account can use the original.
pub(super) fn needed(account: &Account, install: &Path, root: &Path) -> Option<PathBuf> {
    let programs = install.join("bin");
    let server = programs.join("postgres");
    let usable = !account.switched
        || (account.barrier(&programs).is_none()
            && account.barrier(&install.join("lib")).is_none()
            && account.barrier(&install.join("share")).is_none()
            && account.has(&server, READ | EXECUTE));
    if usable {
        return None;
    }
    // A newer installation at the same path is another copy.
    let stamp = fs::metadata(&server).map_or(0, |metadata| metadata.mtime() ^ metadata.len().cast_signed());
    let mut identity = install.as_os_str().to_owned();
    identity.push(format!("|{stamp}"));
    let directory = root.join(format!("install-{}", super::place::path_digest(Path::new(&identity))));
    // The programs find their libraries by relative paths, so the last two names stay as they are.
    Some(directory.join(install.parent()?.file_name()?).join(install.file_name()?))
}

/// Makes the copy that `place` asks for, if it asks for one and there is none yet. Called by the one supervisor.
pub(super) fn ensure(place: &Place) -> Result<(), Fault> {
    let Some(source) = &place.install_source else { return Ok(()) };
    if place.install.is_dir() {
        return Ok(());
    }
    make(source, &place.install, &place.root)
        .map_err(|error| failure::io("copy its programs for the user it runs as", &place.root, error))
}

fn make(source: &Path, target: &Path, root: &Path) -> io::Result<()> {
    remove_others(root)?;
    let nesting = |path: &Path| path.parent().and_then(Path::parent).map(Path::to_path_buf);
    let (Some(outer_source), Some(outer_target)) = (nesting(source), nesting(target)) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let draft = outer_target.with_extension("new");
    let inner = target.strip_prefix(&outer_target).map_err(io::Error::other)?;
    for part in PARTS {
        copy_tree(&source.join(part), &draft.join(inner).join(part))?;
    }
    for entry in fs::read_dir(&outer_source)? {
        let entry = entry?;
        if entry.file_name().as_encoded_bytes().ends_with(b".libs") {
            copy_tree(&entry.path(), &draft.join(entry.file_name()))?;
        }
    }
    open_directories(&draft, inner)?;
    fs::rename(&draft, &outer_target)
}

/// Earlier copies and halves of copies: no server runs from them, since this is called before one is started.
fn remove_others(root: &Path) -> io::Result<()> {
    for entry in fs::read_dir(root)? {
        let entry = entry?;
        if entry.file_name().as_encoded_bytes().starts_with(b"install-") {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

fn open_directories(draft: &Path, inner: &Path) -> io::Result<()> {
    let mut path = draft.to_path_buf();
    fs::set_permissions(&path, Permissions::from_mode(0o755))?;
    for step in inner {
        path.push(step);
        fs::set_permissions(&path, Permissions::from_mode(0o755))?;
    }
    Ok(())
}

fn copy_tree(source: &Path, target: &Path) -> io::Result<()> {
    fs::create_dir_all(target)?;
    fs::set_permissions(target, Permissions::from_mode(0o755))?;
    for entry in fs::read_dir(source)? {
        let entry = entry?;
        let (from, to) = (entry.path(), target.join(entry.file_name()));
        // Follows links: the copy stands alone.
        let metadata = fs::metadata(&from)?;
        if metadata.is_dir() {
            copy_tree(&from, &to)?;
        } else {
            link_or_copy(&from, &to, metadata.mode())?;
        }
    }
    Ok(())
}

/// Links where that gives everyone the file, so that most copies take no space.
fn link_or_copy(from: &Path, to: &Path, mode: u32) -> io::Result<()> {
    let executable = mode & 0o100 != 0;
    let wanted = if executable { READ | EXECUTE } else { READ };
    if mode & wanted == wanted && fs::hard_link(from, to).is_ok() {
        return Ok(());
    }
    fs::copy(from, to)?;
    fs::set_permissions(to, Permissions::from_mode(if executable { 0o755 } else { 0o644 }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_copy_is_open_to_all_and_keeps_its_libraries() {
        let home = tempfile::tempdir().unwrap();
        let install = home.path().join("tree/package/server");
        for part in PARTS {
            fs::create_dir_all(install.join(part)).unwrap();
        }
        fs::create_dir_all(home.path().join("tree/package.libs")).unwrap();
        fs::write(home.path().join("tree/package.libs/lib.so"), "x").unwrap();
        fs::write(install.join("bin/postgres"), "program").unwrap();
        fs::set_permissions(install.join("bin/postgres"), Permissions::from_mode(0o700)).unwrap();

        let stranger = Account { name: "x".into(), uid: 54_321, gid: 54_321, switched: true };
        let copy = needed(&stranger, &install, home.path()).unwrap();
        make(&install, &copy, home.path()).unwrap();

        let outer = copy.parent().unwrap().parent().unwrap();
        assert_eq!(outer.parent(), Some(home.path()));
        assert!(outer.join("package.libs/lib.so").is_file());
        assert!(stranger.has(&copy.join("bin/postgres"), READ | EXECUTE));
        assert!(stranger.has(&copy, EXECUTE));
    }
}
