//! Paths that an index omits although the repository may have them. No page may be called wrong for naming one.

use std::collections::{BTreeSet, HashSet};
use std::fmt::Debug;

use languages::{TOOL_FOLDERS, VENDORED_FOLDERS};

/// The file in which git names the folders of submodules.
const SUBMODULES_FILE: &str = ".gitmodules";
/// Maximum number of submodules that are kept.
const SUBMODULES_MAX: usize = 10_000;

/// Names of other folders that index runs omit with everything below them.
const OTHER_LEFT_OUT: &[&str] = &[".git", "vendor"];

/// Looks for files of a repository that its index does not have.
pub trait UnindexedPaths: Debug + Send + Sync {
    /// Checks whether the repository has a file or folder at a path, or may have one because a parent, such as a link, cannot be followed.
    fn exists(&self, path: &str) -> bool;
}

/// The omitted paths that are known.
#[derive(Debug, Default)]
pub(super) struct LeftOut {
    /// Folders of submodules.
    submodules: BTreeSet<String>,
    /// The files of the repository itself, if they are available.
    pub(super) files: Option<Box<dyn UnindexedPaths>>,
}

impl LeftOut {
    /// Returns `true` if the text of a file is needed to find omitted paths.
    pub(super) fn needs_text(path: &str) -> bool {
        path == SUBMODULES_FILE
    }

    /// Notes the submodules that a file names, if it is the file of submodules.
    pub(super) fn read(&mut self, path: &str, text: &str) {
        if path == SUBMODULES_FILE {
            self.submodules.extend(submodules(text).take(SUBMODULES_MAX));
        }
    }

    /// Checks whether a path is omitted. `indexed` are the paths of the index.
    pub(super) fn contains(&self, path: &str, indexed: &HashSet<String>) -> bool {
        let is_folder_left_out = |folder: &str| {
            let name = folder.rsplit('/').next().unwrap_or(folder);
            let is_skipped =
                [VENDORED_FOLDERS, TOOL_FOLDERS, OTHER_LEFT_OUT].iter().any(|names| names.contains(&name));
            self.submodules.contains(folder) || (is_skipped && !indexed.contains(folder))
        };
        let ends = path.match_indices('/').map(|(end, _)| end).chain([path.len()]);
        ends.filter_map(|end| path.get(..end)).any(is_folder_left_out)
            || self.files.as_ref().is_some_and(|files| files.exists(path))
    }
}

/// The paths of submodules: lines such as `path = vendor/library`.
fn submodules(text: &str) -> impl Iterator<Item = String> {
    text.lines().filter_map(|line| {
        let (key, path) = line.split_once('=')?;
        let path = path.trim().trim_matches('"').trim_matches('/');
        (key.trim() == "path" && !path.is_empty()).then(|| path.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Link;

    impl UnindexedPaths for Link {
        fn exists(&self, path: &str) -> bool {
            path == "docs/link.md"
        }
    }

    #[test]
    fn what_an_index_leaves_out_may_exist() {
        let mut left_out = LeftOut::default();
        left_out.read("other", "path = x");
        left_out.read(".gitmodules", "[submodule \"a\"]\n\tpath = libs/a\n\turl = https://example.com/a\n");
        let indexed = HashSet::from(["src", "src/vendor", "src/vendor/a.rs"].map(str::to_owned));
        for path in ["libs/a", "libs/a/README.md", "third_party/x/LICENSE", "web/node_modules/x", "vendor"] {
            assert!(left_out.contains(path, &indexed), "{path}");
        }
        for path in ["libs", "libs/ab", "x", "src/vendor/b.rs", "src/third_party.rs", "docs/link.md", ""] {
            assert!(!left_out.contains(path, &indexed), "{path}");
        }
        left_out.files = Some(Box::new(Link));
        assert!(left_out.contains("docs/link.md", &indexed) && !left_out.contains("docs/gone.md", &indexed));
    }
}
