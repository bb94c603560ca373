//! An editable copy of the measured files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use contract::{ErrorCode, Fault};

/// A copy of a folder, without `.git`.
#[derive(Debug)]
pub(crate) struct Corpus {
    pub(super) root: PathBuf,
    /// Relative to the root, sorted.
    pub(super) files: Vec<PathBuf>,
    pub(super) bytes: u64,
}

/// Replaces `into` by a copy of at most `files_max` files, spread evenly over the folder.
///
/// # Errors
/// `INVALID_INPUT` for a folder without files; file system errors.
pub(crate) fn copy_corpus(folder: &Path, into: &Path, files_max: Option<usize>) -> Result<Corpus, Fault> {
    let copied = || -> io::Result<Corpus> {
        match fs::remove_dir_all(into) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut corpus = Corpus { root: into.to_owned(), files: Vec::new(), bytes: 0 };
        for file in spread_evenly(list_files(folder)?, files_max) {
            let target = into.join(&file);
            if let Some(parent) = target.parent() {
                fs::create_dir_all(parent)?;
            }
            corpus.bytes += fs::copy(folder.join(&file), target)?;
            corpus.files.push(file);
        }
        Ok(corpus)
    };
    let corpus = copied()
        .map_err(|error| Fault::internal(format!("{} could not be copied.", folder.display()), error))?;
    if corpus.files.is_empty() {
        return Err(Fault::new(ErrorCode::InvalidInput, format!("{} contains no files.", folder.display())));
    }
    Ok(corpus)
}

/// Files below a folder, relative to it, sorted.
pub(crate) fn list_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let (mut files, mut open) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(below) = open.pop() {
        for entry in fs::read_dir(folder.join(&below))? {
            let entry = entry?;
            let (kind, path) = (entry.file_type()?, below.join(entry.file_name()));
            if kind.is_dir() && entry.file_name() != ".git" {
                open.push(path);
            } else if kind.is_file() {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// At most `most` elements of `all`, spread evenly.
pub(crate) fn spread_evenly<T>(all: Vec<T>, most: Option<usize>) -> Vec<T> {
    let (count, most) = (all.len(), most.unwrap_or(all.len()).min(all.len()));
    let taken = |at: usize| (at + 1) * most / count > at * most / count;
    all.into_iter().enumerate().filter(|(at, _)| taken(*at)).map(|(_, one)| one).collect()
}

impl Corpus {
    /// The text of a file; empty if it cannot be read as UTF-8.
    pub(super) fn text(&self, file: &Path) -> String {
        fs::read_to_string(self.root.join(file)).unwrap_or_default()
    }

    /// The folder whose number of files is nearest to `share` of all, with a trailing `/`.
    pub(super) fn folder_with(&self, share: f64) -> Option<String> {
        let mut folders = std::collections::BTreeMap::<&Path, usize>::new();
        for file in &self.files {
            for folder in file.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty()) {
                *folders.entry(folder).or_default() += 1;
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "counts of files")]
        let distance = |files: usize| (files as f64 / self.files.len() as f64 / share).ln().abs();
        let nearest = folders.into_iter().min_by(|a, b| distance(a.1).total_cmp(&distance(b.1)));
        nearest.map(|(folder, _)| format!("{}/", folder.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_the_files_comes_from_all_of_them() {
        assert_eq!(spread_evenly((0..10).collect(), Some(5)), [1, 3, 5, 7, 9]);
        assert_eq!(spread_evenly((0..10).collect(), Some(3)).len(), 3);
        assert_eq!(spread_evenly((0..3).collect(), Some(9)), [0, 1, 2]);
        assert_eq!(spread_evenly((0..3).collect(), None), [0, 1, 2]);
        assert!(spread_evenly(Vec::<u8>::new(), Some(1)).is_empty());
    }

    #[test]
    fn a_copy_leaves_git_out_and_replaces_the_one_before() {
        let place = tempfile::tempdir().unwrap();
        let (from, into) = (place.path().join("from"), place.path().join("into"));
        for (file, text) in [("a/one.rs", "1"), ("a/two.rs", "22"), ("b/c/three.rs", "333"), (".git/x", "")] {
            fs::create_dir_all(from.join(file).parent().unwrap()).unwrap();
            fs::write(from.join(file), text).unwrap();
        }
        fs::create_dir_all(&into).unwrap();
        fs::write(into.join("old.rs"), "old").unwrap();
        let corpus = copy_corpus(&from, &into, None).unwrap();
        assert_eq!((corpus.files.len(), corpus.bytes), (3, 6));
        assert!(!into.join("old.rs").exists() && !into.join(".git").exists());
        assert_eq!(corpus.text(Path::new("a/two.rs")), "22");
        assert_eq!(corpus.folder_with(0.6).as_deref(), Some("a/"));
        assert_eq!(
            copy_corpus(&into.join("b/c/none"), &from.join("d"), None).unwrap_err().code,
            ErrorCode::Internal
        );
    }
}
