//! Copies repositories at a pinned commit out of a read-only folder of checkouts.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use contract::Fault;
use history::checkout;

/// File beside each copy with the copy's commit and root. A copy with the wanted ones is reused.
const STAMP_FILE: &str = "commit";

/// A repository at a commit.
pub(super) struct Checkout<'a> {
    /// Its name in the benchmark, and the first folder name to try.
    pub(super) name: &'a str,
    /// `owner/name`.
    pub(super) repository: &'a str,
    pub(super) commit: &'a str,
    /// The only folder to copy; `None`: all.
    pub(super) root: Option<&'a str>,
}

/// Copies the checkout below `copies` and returns the copy's folder; `None` if `corpus` does not contain it.
///
/// `corpus` may contain it in a folder `NAME` (its name in the benchmark), `owner/name`, `owner__name`, `owner+name` or `name`,
/// also with the suffix `.git` or in a subfolder `repo`: as a work tree, a bare repository, or plain files of that commit.
///
/// # Errors
/// File system errors.
pub(super) fn copy_checkout(
    corpus: &Path,
    wanted: &Checkout<'_>,
    copies: &Path,
) -> Result<Option<PathBuf>, Fault> {
    let into = copies.join(wanted.name);
    // The folder has the repository's name, because an index names a repository after its folder.
    let (files, stamp) =
        (into.join(wanted.repository.rsplit('/').next().unwrap_or_default()), into.join(STAMP_FILE));
    let state = format!("{} {}", wanted.commit, wanted.root.unwrap_or("."));
    if files.is_dir() && fs::read_to_string(&stamp).is_ok_and(|made_of| made_of == state) {
        return Ok(Some(files));
    }
    for from in candidate_folders(corpus, wanted) {
        let made = remove_if_exists(&into).and_then(|()| copy_one(&from, wanted, &files));
        if made.map_err(|error| copy_failed(&from, error))? {
            fs::write(&stamp, &state).map_err(|error| copy_failed(&stamp, error))?;
            return Ok(Some(files));
        }
    }
    Ok(None)
}

fn candidate_folders(corpus: &Path, wanted: &Checkout<'_>) -> Vec<PathBuf> {
    let (owner, name) = wanted.repository.split_once('/').unwrap_or(("", wanted.repository));
    let names = [
        wanted.name.to_owned(),
        wanted.repository.to_owned(),
        format!("{owner}__{name}"),
        format!("{owner}+{name}"),
        name.to_owned(),
    ];
    let with = |name: String| {
        [corpus.join(&name).join("repo"), corpus.join(format!("{name}.git")), corpus.join(name)]
    };
    names.into_iter().flat_map(with).filter(|folder| folder.is_dir()).collect()
}

fn copy_one(from: &Path, wanted: &Checkout<'_>, into: &Path) -> io::Result<bool> {
    if from.join(".git").exists() || (from.join("HEAD").is_file() && from.join("objects").is_dir()) {
        return checkout(from, wanted.commit, wanted.root, into);
    }
    let root = wanted.root.unwrap_or("");
    let folder = from.join(root);
    if !folder.is_dir() {
        return Ok(false);
    }
    copy_folder(&folder, &into.join(root)).map(|()| true)
}

fn copy_folder(from: &Path, into: &Path) -> io::Result<()> {
    fs::create_dir_all(into)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (kind, target) = (entry.file_type()?, into.join(entry.file_name()));
        if kind.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

fn remove_if_exists(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn copy_failed(path: &Path, error: io::Error) -> Fault {
    Fault::internal(format!("The checkout {} could not be copied.", path.display()), error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_files_are_copied_once_and_only_below_the_root() {
        let folder = tempfile::tempdir().unwrap();
        let corpus = folder.path().join("corpus");
        fs::create_dir_all(corpus.join("lib/src")).unwrap();
        fs::write(corpus.join("lib/src/a.rs"), "a").unwrap();
        fs::write(corpus.join("lib/README"), "r").unwrap();
        let wanted = Checkout { name: "lib", repository: "who/lib", commit: "c1", root: Some("src") };
        let copies = folder.path().join("copies");
        let copied = copy_checkout(&corpus, &wanted, &copies).unwrap().unwrap();
        assert!(copied.join("src/a.rs").is_file() && !copied.join("README").exists());
        fs::write(copied.join("src/b.rs"), "kept").unwrap();
        copy_checkout(&corpus, &wanted, &copies).unwrap();
        assert!(copied.join("src/b.rs").exists(), "the same state is not copied again");
        copy_checkout(&corpus, &Checkout { commit: "c2", ..wanted }, &copies).unwrap();
        assert!(!copied.join("src/b.rs").exists(), "another state is");
    }

    #[test]
    fn a_missing_checkout_is_not_copied() {
        let folder = tempfile::tempdir().unwrap();
        let wanted = Checkout { name: "lib", repository: "who/lib", commit: "c1", root: None };
        assert_eq!(copy_checkout(folder.path(), &wanted, &folder.path().join("copies")).unwrap(), None);
    }
}
