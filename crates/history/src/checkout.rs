//! Writes the files of a commit into a directory, so that benchmarks can index repositories at pinned commits.

use std::fs;
use std::path::{Component, Path};

use gix::bstr::ByteSlice;
use gix::object::tree::EntryKind;
use gix::objs::tree::EntryMode;

/// Writes the regular files of `commit` into the directory `into`, under their paths in the repository; with `root`,
/// only those below that folder. `git_dir` may be a work tree or a bare repository; it is only read. Links, submodules
/// and files that a partial clone lacks are omitted.
///
/// Returns false if the repository, the commit or the folder does not exist.
///
/// # Errors
/// Faults of the file system.
pub fn checkout(git_dir: &Path, commit: &str, root: Option<&str>, into: &Path) -> std::io::Result<bool> {
    let Ok(repository) = gix::open_opts(git_dir, gix::open::Options::isolated()) else { return Ok(false) };
    let tree = repository.rev_parse_single(commit).ok().and_then(|id| id.object().ok()?.peel_to_tree().ok());
    let Some(tree) = tree else { return Ok(false) };
    let Some(root) = root else { return write_tree(&tree, into).map(|()| true) };
    let Ok(Some(entry)) = tree.lookup_entry_by_path(root) else { return Ok(false) };
    let Some(tree) = entry.object().ok().and_then(|object| object.try_into_tree().ok()) else {
        return Ok(false);
    };
    write_tree(&tree, &into.join(root)).map(|()| true)
}

fn write_tree(tree: &gix::Tree<'_>, into: &Path) -> std::io::Result<()> {
    fs::create_dir_all(into)?;
    for entry in tree.iter() {
        let entry = entry.map_err(std::io::Error::other)?;
        let Some(name) = safe_name(entry.filename().to_str().ok()) else { continue };
        let path = into.join(name);
        match EntryMode::kind(&entry.mode()) {
            EntryKind::Tree => {
                let object = entry.object().map_err(std::io::Error::other)?;
                write_tree(&object.try_into_tree().map_err(std::io::Error::other)?, &path)?;
            }
            EntryKind::Blob | EntryKind::BlobExecutable => {
                match entry.id().try_object().map_err(std::io::Error::other)? {
                    Some(blob) => fs::write(path, &blob.data)?,
                    None => tracing::warn!(path = %path.display(), "a partial clone lacks the file"),
                }
            }
            EntryKind::Link | EntryKind::Commit => {}
        }
    }
    Ok(())
}

/// Returns the name, unless it leads out of its directory: untrusted trees may contain `..`.
fn safe_name(name: Option<&str>) -> Option<&str> {
    let name = name?;
    let mut components = Path::new(name).components();
    let is_safe = matches!((components.next(), components.next()), (Some(Component::Normal(_)), None));
    is_safe.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::safe_name;

    #[test]
    fn names_that_lead_out_of_their_directory_are_refused() {
        assert_eq!(safe_name(Some("a.rs")), Some("a.rs"));
        for name in ["..", ".", "/etc", "a/b", ""] {
            assert_eq!(safe_name(Some(name)), None, "{name}");
        }
    }
}
