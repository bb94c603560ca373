//! A copy of the installed Postgres for a user who cannot read the original.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use contract::Fault;

use super::account::Account;
use super::failure;
use super::place::Place;

/// The directories of the installation that the server needs.
const PARTS: [&str; 3] = ["bin", "lib", "share"];
/// Permission bits of "others", who will use the copy.
const READ: u32 = 0o4;
const EXECUTE: u32 = 0o1;

/// The path below `root` of the copy of `install` that the account needs; `None` if it can use the original.
pub(super) fn needed_path(account: &Account, install: &Path, root: &Path) -> Option<PathBuf> {
    let programs = install.join("bin");
    let server = programs.join("postgres");
    let usable = !account.switched
        || (account.barrier(&programs).is_none()
            && account.barrier(&install.join("lib")).is_none()
            && account.barrier(&install.join("share")).is_none()
            && account.has_permission(&server, READ | EXECUTE));
    if usable {
        return None;
    }
    // A newer installation at the same path gets a copy of its own.
    let stamp = fs::metadata(&server).map_or(0, |metadata| metadata.mtime() ^ metadata.len().cast_signed());
    let mut identity = install.as_os_str().to_owned();
    identity.push(format!("|{stamp}"));
    let directory = root.join(format!("install-{}", super::place::path_digest(Path::new(&identity))));
    // The programs find their libraries by relative paths, so the last two path components are kept.
    Some(directory.join(install.parent()?.file_name()?).join(install.file_name()?))
}

/// Makes the copy if `place` needs one and it does not exist yet. Called only by the supervisor, which runs once for each cluster.
pub(super) fn ensure(place: &Place) -> Result<(), Fault> {
    let Some(source) = &place.install_source else { return Ok(()) };
    if place.install.is_dir() {
        return Ok(());
    }
    make(source, &place.install, &place.root)
        .map_err(|error| failure::io("copy its programs for the user it runs as", &place.root, error))
}

fn make(source: &Path, target: &Path, root: &Path) -> io::Result<()> {
    remove_old_copies(root)?;
    let grandparent = |path: &Path| path.parent().and_then(Path::parent).map(Path::to_path_buf);
    let (Some(outer_source), Some(outer_target)) = (grandparent(source), grandparent(target)) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let draft = outer_target.with_extension("new");
    let inner = target.strip_prefix(&outer_target).map_err(io::Error::other)?;
    for part in PARTS {
        copy_tree(&source.join(part), &draft.join(inner).join(part))?;
    }
    // Shared libraries that the package keeps next to its own directory, in `<package>.libs`.
    for entry in fs::read_dir(&outer_source)? {
        let entry = entry?;
        if entry.file_name().as_encoded_bytes().ends_with(b".libs") {
            copy_tree(&entry.path(), &draft.join(entry.file_name()))?;
        }
    }
    open_directories(&draft, inner)?;
    fs::rename(&draft, &outer_target)
}

/// Removes earlier and incomplete copies. No server runs from them, because this is called before one is started.
fn remove_old_copies(root: &Path) -> io::Result<()> {
    for entry in fs::read_dir(root)? {
        let entry = entry?;
        if entry.file_name().as_encoded_bytes().starts_with(b"install-") {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

/// Makes the directories of the copy accessible to all users, whatever the umask.
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
        // Follows symlinks, so that the copy does not depend on the original.
        let metadata = fs::metadata(&from)?;
        if metadata.is_dir() {
            copy_tree(&from, &to)?;
        } else {
            link_or_copy(&from, &to, metadata.mode())?;
        }
    }
    Ok(())
}

/// Creates a hard link if everyone may read the original, which saves the space of most files; else copies.
fn link_or_copy(from: &Path, to: &Path, mode: u32) -> io::Result<()> {
    let executable = mode & 0o100 != 0;
    let needed = if executable { READ | EXECUTE } else { READ };
    if mode & needed == needed && fs::hard_link(from, to).is_ok() {
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

        let other_user = Account { name: "x".into(), uid: 54_321, gid: 54_321, switched: true };
        let copy = needed_path(&other_user, &install, home.path()).unwrap();
        make(&install, &copy, home.path()).unwrap();

        let outer = copy.parent().unwrap().parent().unwrap();
        assert_eq!(outer.parent(), Some(home.path()));
        assert!(outer.join("package.libs/lib.so").is_file());
        assert!(other_user.has_permission(&copy.join("bin/postgres"), READ | EXECUTE));
        assert!(other_user.has_permission(&copy, EXECUTE));
    }
}
