//! Files that git tracks, so that a walk finds them although a rule of `.gitignore` matches.

use std::path::{Path, PathBuf};

use super::file_tree::FileTree;
use contract::RepositoryAddress;
use history::TrackedFiles;
use tenancy::AllowedRoots;

/// The files that git tracks in the tree of a walk, if known.
pub(super) enum Tracked<'a> {
    /// Everything: a commit of a repository that is given by its address.
    All,
    /// Unknown: an archive may contain ignored files.
    Nothing,
    /// The files in the indexes of the work trees: that of the root, and those of the repositories in it that are walked now.
    WorkTrees {
        root: PathBuf,
        allowed: &'a AllowedRoots,
        /// The innermost last.
        work_trees: Vec<WorkTree>,
    },
}

/// A work tree, by its path below the root. Its index is read once something in it is ignored.
pub(super) struct WorkTree {
    path: String,
    files: Option<TrackedFiles>,
}

impl WorkTree {
    fn new(path: &str) -> Self {
        Self { path: path.to_owned(), files: None }
    }
}

impl<'a> Tracked<'a> {
    pub(super) fn new(root: &Path, tree: &FileTree, allowed: &'a AllowedRoots) -> Self {
        let is_address = || root.to_str().and_then(RepositoryAddress::parse).is_some();
        match tree {
            FileTree::Commit { .. } if is_address() => Self::All,
            FileTree::Commit { .. } => Self::Nothing,
            FileTree::Directory => {
                Self::WorkTrees { root: root.to_owned(), allowed, work_trees: vec![WorkTree::new("")] }
            }
        }
    }

    /// Enters the repository at a path below the root.
    pub(super) fn enter(&mut self, path: &str) {
        if let Self::WorkTrees { work_trees, .. } = self {
            work_trees.push(WorkTree::new(path));
        }
    }

    /// Leaves the repository that was entered last.
    pub(super) fn leave(&mut self) {
        if let Self::WorkTrees { work_trees, .. } = self {
            work_trees.pop();
        }
    }

    /// Returns whether the file at a path below the root is tracked, or a file in the folder there.
    pub(super) fn has(&mut self, path: &str, is_folder: bool) -> bool {
        match self.work_tree_of(path) {
            Some((files, path)) if is_folder => files.has_below(path),
            Some((files, path)) => files.contains(path),
            None => matches!(self, Self::All),
        }
    }

    /// Returns whether the folder at a path below the root is that of a submodule.
    pub(super) fn is_submodule(&mut self, path: &str) -> bool {
        self.work_tree_of(path).is_some_and(|(files, path)| files.is_submodule(path))
    }

    /// Returns the tracked files of the innermost repository, and the path in it.
    fn work_tree_of<'p>(&mut self, path: &'p str) -> Option<(&TrackedFiles, &'p str)> {
        let Self::WorkTrees { root, allowed, work_trees } = self else { return None };
        let work_tree = work_trees.last_mut()?;
        let within = match work_tree.path.as_str() {
            "" => path,
            top => path.strip_prefix(top)?.strip_prefix('/')?,
        };
        let top = root.join(&work_tree.path);
        let read = || TrackedFiles::read(&top, &|directory| allowed.contains(directory));
        Some((work_tree.files.get_or_insert_with(read), within))
    }
}
